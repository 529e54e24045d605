//! Rows: pages of all dies at the same place, the last of them the parity of those before.
//!
//! The scheme says what comes next in a row ([`write`]). A write is answered once its page and a parity that
//! covers it are in flash ([`cover`]). Where pages or parities fail on the way, [`loss`] says what happens to
//! those that wait. [`solve`] names the pages that sum up to one that cannot be read.

mod answers;
pub(crate) mod audit;
pub(crate) mod cover;
pub(crate) mod loss;
pub(crate) mod mount;
pub(crate) mod solve;
mod whole;
pub(crate) mod write;

use crate::core::ids::{CoverId, OfCover};
use crate::write::RebuiltBy;
use crate::write::rows::cover::Cover;
use crate::write::rows::loss::Uncovered;
use crate::write::ways::WayFacts;
use device::slab::Slab;
use ftl::{LogKind, RowPlace};
use nand::Member;
use protect::RowScheme;
use std::sync::Arc;
use vocab::StripSet;

/// Rows of a group log.
pub(crate) const FACTS: WayFacts = WayFacts {
    log: LogKind::Group,
    brings_pages_back: true,
    rebuilt_by: RebuiltBy::Collection,
    keeps_copies: true,
    slc_wants_own_write_pointer: true,
    ..WayFacts::PLAIN
};

/// The row that a write pointer writes.
#[derive(Clone, Debug)]
pub(crate) struct RowWriter<P> {
    /// Places of the row in writing order; empty: no row is open.
    places: Vec<RowPlace>,
    /// Whether the collector began it while there was no room for the host: then only moves are written to it until there is some.
    is_for_moves: bool,
    /// Places used so far.
    used: u32,
    /// Data pages that no parity covers yet.
    uncovered: u32,
    /// Sum of all data of the row, slot by slot.
    sum: Vec<P>,
    /// Dies of the row that hold data.
    data: StripSet,
    /// The logical pages in the sum, on a drive that is to be mounted.
    members: Vec<Member>,
    /// The cover that ends with the row's next parity.
    cover: Option<CoverId>,
    /// The cover before it, unless that has ended.
    before: Option<CoverId>,
}

impl<P> Default for RowWriter<P> {
    fn default() -> Self {
        let (sum, members) = (Vec::new(), Vec::new());
        let (places, data) = (Vec::new(), StripSet::EMPTY);
        Self { places, is_for_moves: false, used: 0, uncovered: 0, sum, members, data, cover: None, before: None }
    }
}

impl<P> RowWriter<P> {
    /// Whether this is the row being written.
    fn writes(&self, row: u32) -> bool {
        self.places.first().is_some_and(|place| place.row == row)
    }

    fn waits_for_parity(&self) -> bool {
        self.uncovered > 0
    }

    fn has_room(&self) -> bool {
        (self.used as usize) < self.places.len()
    }

    /// All data of the row need another parity.
    fn uncover(&mut self) {
        self.uncovered = self.data.len();
    }
}

/// Rows being written.
#[derive(Clone)]
pub(crate) struct Rows<P> {
    /// Scheme that chooses the places of data and parity.
    scheme: Arc<dyn RowScheme>,
    /// One for the host, and one for the collector where that has a write pointer of its own.
    open: [RowWriter<P>; 2],
    covers: Slab<Cover, OfCover>,
    /// Jobs whose data are in flash without a parity.
    uncovered: Vec<Uncovered>,
}

impl<P> Rows<P> {
    /// No row is open.
    pub fn new(scheme: &dyn RowScheme) -> Self {
        Self {
            scheme: Arc::from(scheme.boxed_clone()),
            open: [RowWriter::default(), RowWriter::default()],
            covers: Slab::default(),
            uncovered: Vec::new(),
        }
    }

    /// Whether jobs wait for another parity of their data.
    pub fn has_uncovered(&self) -> bool {
        !self.uncovered.is_empty()
    }

    /// Whether a write pointer writes the row now.
    pub fn is_open(&self, row: u32) -> bool {
        self.open.iter().any(|writer| writer.writes(row))
    }
}

#[cfg(test)]
mod tests;
