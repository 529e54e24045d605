//! Works of many runs or of none: sweeps, whole lives, advice, figures of papers, bounds of drives, models of reliability, and
//! what there is to choose from.

pub mod advise;
pub mod bounds;
pub mod figures;
mod inspect;
pub mod life;
mod listing;
mod publish;
pub mod reliability;
pub mod sweep;

pub use inspect::inspect;
pub use listing::{LISTS, List, Listed, canaries_among, list, schemes_on};
pub use publish::{write_advice, write_life};
