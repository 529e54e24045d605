//! Work that is done in parts, and outlives any process that does it.
//!
//! A part is what one run of a sweep gave, one piece of a campaign of torture, or one life: a file of its own, named by all that
//! it depends on, written under another name and renamed, so a part is there wholly or not at all. Whoever goes on does
//! what has no part, then merges all parts in their order. Who did what, when and how often cannot be seen in that.

mod directory;
mod part;

pub use directory::{Directory, Known};
pub use part::{PROBLEM, Part};

/// Work of one kind, in the words of its complaints.
#[derive(Debug, PartialEq, Eq)]
pub struct Work {
    /// With its article.
    pub name: &'static str,
    /// Unit of a part.
    pub unit: &'static str,
    /// Folder of the parts. A directory that has a folder of other work is refused.
    pub folder: &'static str,
    /// Advice where a directory is unsuitable.
    pub elsewhere: &'static str,
}

/// Runs of a grid.
pub const SWEEP: Work = Work { name: "a sweep", unit: "run", folder: "runs", elsewhere: "sweep into another directory" };

/// Pieces of a campaign of torture.
pub const CAMPAIGN: Work =
    Work { name: "a campaign of torture", unit: "piece", folder: "pieces", elsewhere: "run the campaign into another directory" };

/// Lives of drives. A directory may have those of several questions: the name of a part says of which one it is.
pub const LIVES: Work = Work { name: "lives", unit: "life", folder: "lives", elsewhere: "keep the lives in another directory" };

/// All work that is done in parts.
const WORKS: &[Work] = &[SWEEP, CAMPAIGN, LIVES];
