//! Traces that come with the crate, free to copy.

use crate::TraceError;
use crate::error::shown;

/// A trace inside the program.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// Name on the command line.
    pub name: &'static str,
    /// One line on what it is.
    pub about: &'static str,
    /// Licence of the data (SPDX).
    pub licence: &'static str,
    /// Name of its format.
    pub format: &'static str,
    /// Requests in it.
    pub requests: u64,
    /// The file, compressed.
    pub bytes: &'static [u8],
}

/// All bundled traces. How each was made is in `data/README.md`.
pub const BUNDLED: &[Bundled] = &[Bundled {
    name: "pgbench",
    about: "PostgreSQL 15, pgbench TPC-B, scale 60, 8 clients: the 60 s run, 250 MB page cache, ext4",
    licence: "CC0-1.0",
    format: "blkparse",
    requests: 180_244,
    bytes: include_bytes!("../data/pgbench.blkparse.xz"),
}];

pub(crate) fn named(name: &str) -> Result<&'static Bundled, TraceError> {
    BUNDLED.iter().find(|trace| trace.name == name).ok_or_else(|| TraceError::UnknownBundled {
        name: shown(name.as_bytes()),
        known: BUNDLED.iter().map(|trace| trace.name).collect::<Vec<_>>().join(", "),
    })
}
