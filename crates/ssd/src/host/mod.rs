//! The host's side: requests, their order, the write buffer, and what reads must return.

pub(crate) mod buffer;
pub(crate) mod oracle;
pub(crate) mod read_only;
pub(crate) mod requests;
