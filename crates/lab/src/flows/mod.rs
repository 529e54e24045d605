//! Figures of flows: of each beside the others and alone, as tables and as a picture.

mod cautions;
mod picture;
mod played;
mod shown;

pub(crate) use cautions::{cautions, ends_apart};
pub use picture::picture;
pub(crate) use played::{Playing, played, played_alone};
pub(crate) use shown::{fairness_text, keys, row_keys, table};
