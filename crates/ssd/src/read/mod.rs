//! Reads that need more than one page.

pub(crate) mod ahead;
pub(crate) mod around;
pub(crate) mod solve;
