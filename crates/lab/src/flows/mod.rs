//! Flows of a workload: how they are played together and alone, their figures, and cautions about them.

mod cautions;
mod figures;
mod played;

pub(crate) use cautions::{cautions, ends_apart};
pub use figures::{FIGURES, FlowFigure};
pub(crate) use figures::{keys, row_keys};
pub(crate) use played::{Playing, played, played_alone};
