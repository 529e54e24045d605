//! The version.

/// Version of the program, as results state it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
