//! Power cuts, what remains after them, and mounting.

pub(crate) mod cut;
pub(crate) mod mount;
pub(crate) mod outage;
