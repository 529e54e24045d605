//! The map: where each logical page lies, and how space is reclaimed.
//!
//! The map holds no device and no payload. It hands out places for pages, records which logical
//! page was written to each, chooses victims of garbage collection, and says which units may be
//! erased. It keeps one of two kinds of log (decision D4): region logs, one or several for each
//! die, or a single group log, whose superblocks span all dies.

mod config;
mod groups;
mod log;
mod map;
mod mount;
mod renew;
mod retire;
mod rows;
mod slc;
pub mod victim;

pub use config::{GcConfig, Isolation, StreamConfig, WearConfig};
pub use groups::{GroupSpace, RowSpace, slots_of};
pub use log::{LogKind, Segments, Stream, Unit, UnitId, UnitState};
pub use map::{Ftl, FtlError, FtlSetup, Place, Published};
pub use rows::{RowPlace, Rows};
pub use slc::{SlcBlocks, SlcSpace};
