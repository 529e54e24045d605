//! The map: where each logical page lies, and how space is won back.
//!
//! The map holds no device and no payload: it hands out places, records what was put there,
//! chooses victims, and knows what may be erased. Decision D4 gives it two kinds of log:
//! region logs (one for each die) and one group log (superblocks over all dies).

mod config;
mod groups;
mod log;
mod map;
mod mount;
mod retire;
mod rows;
pub mod victim;

pub use config::{GcConfig, WearConfig};
pub use groups::{GroupSpace, slots_of};
pub use log::{LogKind, Segments, Stream, Unit, UnitId, UnitState};
pub use map::{Ftl, FtlError, FtlSetup, Place, Published};
pub use rows::{RowPlace, Rows};
