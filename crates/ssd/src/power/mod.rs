//! Power cuts, what remains after them, and mounting.

pub(crate) mod cut;
pub(crate) mod mount;
pub(crate) mod outage;

use crate::power::mount::Mounting;

/// Where the recovery from a power cut is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    /// What a mount has still to do before the host is heard.
    pub mounting: Option<Box<Mounting>>,
}
