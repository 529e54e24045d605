//! The medium: raw flash with its rules, its wear and its faults.
//!
//! Raw flash knows neither ECC nor RAID: it keeps any payload and says what a read found.
//! [`FlashArray`] is the one seam to it (decision D2); faults are wrappers around any array.
//! [`MemoryArray::cut_power`] cuts the power, [`Scan`] is what a mount sees then;
//! [`FileArray`] keeps flash in a file. [`rber`] has the literature's models of bit errors.

mod array;
mod cells;
mod faults;
#[cfg(unix)]
mod image;
mod memory;
mod oob;
mod pairing;
mod power;
pub mod rber;
mod scan;
mod scar;
mod silent;
mod timing;
mod warmth;

pub use array::{
    Arrived, BlockInfo, FlashArray, MOST_CYCLES_A_CYCLE, MemoryArray, PageView, Payload, Program, ProgramOutcome, ReadOutcome,
};
pub use cells::{CellSettings, Cells, PageCells, StoredWord};
pub use faults::{FaultsFound, Faulty};
#[cfg(unix)]
pub use image::{FileArray, FileError, Logged, Piece, Store, StoredPayload, new_file, open_file};
pub use memory::InMemory;
pub use oob::{Member, Oob, OobError, OobPage, OobSlot, OobTag, PageRole};
pub use pairing::Pairing;
pub use power::{EraseFate, InFlight, Partners, ProgramFate};
pub use scan::{BlockScan, PageScan, Scan, ValidPage};
pub use timing::{Energy, Latencies, PageKind, ProgramUnit, SlcTimes, Timing, Transfer, Unit, Worn};
pub use warmth::{Warmth, hours, span_of};
