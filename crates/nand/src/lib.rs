//! The medium: raw flash with its rules, its wear and its faults.
//!
//! Raw flash knows neither ECC nor RAID: it keeps any payload and says what a read found.
//! [`FlashArray`] is the one seam to it (decision D2); faults and, later, power cuts are
//! wrappers around any array. [`rber`] has the literature's models of bit errors.

mod array;
mod cells;
mod faults;
mod oob;
pub mod rber;
mod timing;

pub use array::{BlockInfo, FlashArray, MemoryArray, PageView, Payload, ProgramOutcome, ReadOutcome};
pub use cells::{CellSettings, Cells, hours, span_of};
pub use faults::Faulty;
pub use oob::{Oob, OobTag, PageRole};
pub use timing::{Energy, Latencies, PageKind, Timing, Transfer, Worn};
