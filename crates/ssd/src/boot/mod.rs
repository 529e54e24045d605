//! Bringing a drive up.

pub(crate) mod precondition;
