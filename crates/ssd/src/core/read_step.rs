//! Requests of other components to the reads, and work that the reads leave for later.

use crate::core::ids::{EncodeId, LazyId};
use crate::core::target::Target;
use ftl::UnitId;
use protect::code_zones::CodeGroupId;
use vocab::{Cause, Ppn};

/// Who gets sums of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SumsFor {
    /// One sum, the contents of a lost page. Sources that cannot be read are replaced by others, if there are any.
    Lost(Target),
    /// One sum, the contents of a slot of a lost page of a block group, which is pinned in the meantime. Sources that cannot be
    /// read are replaced by others, if there are any.
    LostInGroup { target: Target, lost: (Ppn, u32), group: UnitId },
    /// The code pages of a group that is being encoded. One source that cannot be read ends the encoding.
    Code { encode: EncodeId },
}

/// How fast the pages of a solve are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    /// All reads are queued at once.
    #[default]
    AllAtOnce,
    /// One read of each die at a time; the next one is queued when the page is added.
    OneADie,
}

/// A page of a solve: what it adds to which sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub ppn: Ppn,
    /// The slot of the page that is read.
    pub slot: u8,
    /// For each sum that the slot is added to: the number of the sum, and the coefficient.
    pub adds: Vec<(u16, u8)>,
}

impl Term {
    /// A page that is added to the only sum.
    pub fn once(ppn: Ppn, slot: u32, coefficient: u8) -> Self {
        Self { ppn, slot: slot as u8, adds: vec![(0, coefficient)] }
    }
}

/// Pages to be read and added up.
#[derive(Clone, Debug)]
pub(crate) struct NewSolve<P> {
    pub wanted_by: SumsFor,
    pub cause: Cause,
    pub pace: Pace,
    /// Initial terms of the sums, before anything is read.
    pub sums: Vec<P>,
    pub terms: Vec<Term>,
    /// Pages that could not be read in earlier attempts.
    pub failed: Vec<Ppn>,
}

/// A step of the reads.
#[derive(Clone, Debug)]
pub(crate) enum ReadStep<P> {
    /// Some sources of a lost page could not be read: other sources are looked up.
    SolveAgain { target: Target, failed: Vec<Ppn> },
    /// The same for a page of a block group.
    SolveAgainInGroup { target: Target, lost: (Ppn, u32), failed: Vec<Ppn> },
    /// Pages are read and added up.
    Sum(NewSolve<P>),
    /// Reads that decode with the code of the group go on without it.
    DropCode { group: CodeGroupId },
    /// One of these reads, if it is still under way.
    DropCodeOf { read: LazyId, group: CodeGroupId },
}
