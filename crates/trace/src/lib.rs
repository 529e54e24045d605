//! The tape: what a host asked of a drive, read from recordings or generated.
//!
//! ```text
//! file or bytes -> decompress -> lines -> format (one file each) -> reorder, rebase -> Record
//! Record -> looped, time-scaled -> AddressMap (compact or fold) -> vocab::HostCommand
//! Workload + vocab::Stream -> generate -> vocab::HostCommand
//! all of them as a Tape: scanned once, then HostCommands for each drive
//! ```
//!
//! Everything read here is hostile input: no file can panic, hang or exhaust memory. Bad input
//! is a [`TraceError`] that names the file and, where there is one, line and field.
//!
//! Units: times are nanoseconds since the first request, addresses 512-byte sectors.

#![warn(missing_docs)]

mod address_map;
mod bundled;
mod decompress;
mod digest;
mod error;
mod field;
pub mod flows;
mod footprint;
mod foreign;
pub mod format;
pub mod generate;
mod joined;
mod lines;
mod profile;
mod reader;
mod record;
mod reorder;
mod replay;
mod reuse;
mod slot_set;
mod source;
mod tape;
mod tape_file;

pub use address_map::{AddressMap, Commands, MappedRecords};
pub use bundled::{BUNDLED, Bundled};
pub use decompress::WINDOW_LIMIT;
pub use digest::digest;
pub use error::TraceError;
pub use footprint::{Footprint, RUNS_LIMIT, Run, TraceCounts};
pub use format::columns::Columns;
pub use format::{BlkAction, FORMATS, Format, ReadOptions, SORTED_LIMIT};
pub use joined::{JOINED_LIMIT, Joined, JoinedReader, Ranges};
pub use lines::LINE_LIMIT;
pub use profile::{BINS, Bin, Hot, Profile, SIZE_BUCKETS};
pub use reader::{ReadCounts, TraceReader};
pub use record::{DEVICES_LIMIT, LBA_LIMIT, REQUEST_LIMIT, Record, SPAN_LIMIT};
pub use replay::{Looped, Scaled, TimeScale, looped};
pub use reuse::{REUSE_BUCKETS, Reuse, SAMPLED_SLOTS};
pub use source::TraceSource;
pub use tape::{Clip, HostCommands, LeftOut, Met, Part, Pick, Records, Scanned, Tape};
pub use tape_file::TapeWriter;
