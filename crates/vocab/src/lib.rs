//! The words of the house: addresses, geometry, quantities, time, commands and outcomes.
//!
//! Nothing here decides or computes beyond converting one word into another. Units and
//! addresses are types, so that a block can never be taken for a page, nor a time for a size.

mod address;
mod buckets;
mod choice;
mod geometry;
mod grid;
mod hash;
mod host;
mod nearest;
mod normal;
mod quantity;
mod random;
mod shared_bytes;
mod table;

pub use address::{BlockAddr, ChannelId, DieId, Lba, Lpn, Ppn, SECTOR_BYTES, Slot, StripSet, StripeId, SuperblockId};
pub use buckets::{bucket_of, values_of};
pub use choice::{Options, SchemeChoice, SchemeError, find_named};
pub use geometry::{Geometry, GeometryError, PlaneUse};
pub use grid::{Divider, Grid};
pub use hash::{FNV_START, fnv, fnv_on, fnv_word, splitmix64};
pub use host::{Cause, Fua, HostCommand, HostOp, StreamId};
pub use nearest::nearest;
pub use normal::normal_below;
pub use quantity::{BusRate, Bytes, Capability, Nanojoules, Nanos, PeCycles, QuantityError, SimTime};
pub use random::{Stream, Streams};
pub use shared_bytes::SharedBytes;
pub use table::{Table, prefetch};
