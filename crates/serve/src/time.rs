//! The wall clock.

use std::time::{Duration, Instant};
use vocab::Nanos;

/// The server is a driver: the wall clock comes in here.
#[expect(clippy::disallowed_methods, reason = "a server lives on the wall clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
