//! Where pages lie: dies, zones, segments, stripe blocks, code groups.

use coding::graph::CodeGraph;
use std::ops::Range;
use vocab::{DieId, Lpn};

/// A zone: the segments of one index of all dies. Data zones come first, then code zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneId(pub u32);

/// A code group: G neighbouring stripe blocks of data, numbered over all data zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeGroupId(pub u32);

/// Where a logical page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZonePlace {
    /// Its zone.
    pub zone: ZoneId,
    /// The stripe block within its segment.
    pub row: u32,
    /// The die of its segment.
    pub die: DieId,
    /// The page within the stripe block.
    pub page: u32,
}

/// Pages of one number of the stripe blocks of a code group: a codeword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeLine {
    /// The group.
    pub group: CodeGroupId,
    /// The page within each stripe block.
    pub page: u32,
}

/// The shape of a drive of zones. Pages of code zones have logical pages beyond those of the user.
///
/// Over another way of writing, zones are ranges of logical pages and nothing else: that way alone knows where pages lie,
/// and what is said of dies and segments here is of columns of the numbering, one for each block of a code group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneLayout {
    /// Dies, B: a multiple of the group size.
    pub(super) dies: u32,
    /// The code of a group of G data blocks.
    pub(super) graph: CodeGraph,
    /// Logical pages of a stripe block.
    pub(super) stripe_pages: u32,
    /// Flash blocks of a segment.
    pub(super) zone_blocks: u32,
    /// Flash blocks of a die.
    pub(super) die_blocks: u32,
    /// Stripe blocks of a segment.
    pub(super) rows: u32,
    pub(super) data_zones: u32,
    pub(super) code_zones: u32,
    /// Groups that dies have room for side by side.
    pub(super) side_by_side: u32,
}

impl ZoneLayout {
    /// Stripe blocks of a group, G.
    #[must_use]
    pub fn group_size(&self) -> u32 {
        self.graph.data() as u32
    }

    /// The code of a group: as blocks of a [`LazyRead`](crate::lazy::LazyRead), G data blocks, then G
    /// code blocks.
    #[must_use]
    pub fn graph(&self) -> &CodeGraph {
        &self.graph
    }

    /// Logical pages of a stripe block.
    #[must_use]
    pub fn stripe_pages(&self) -> u32 {
        self.stripe_pages
    }

    /// Flash blocks of a segment, spare ones included.
    #[must_use]
    pub fn zone_blocks(&self) -> u32 {
        self.zone_blocks
    }

    /// Logical pages of a segment.
    #[must_use]
    pub fn segment_pages(&self) -> u32 {
        self.rows * self.stripe_pages
    }

    /// All zones.
    #[must_use]
    pub fn zones(&self) -> u32 {
        self.data_zones + self.code_zones
    }

    /// Share of raw flash that code zones take.
    #[must_use]
    pub fn capacity_overhead(&self) -> f64 {
        f64::from(self.code_zones * self.zone_blocks) / f64::from(self.die_blocks)
    }

    /// Zones of data.
    #[must_use]
    pub fn data_zones(&self) -> u32 {
        self.data_zones
    }

    /// Zones of code.
    #[must_use]
    pub fn code_zones(&self) -> u32 {
        self.code_zones
    }

    /// The n-th code zone.
    #[must_use]
    pub fn code_zone(&self, nth: u32) -> ZoneId {
        ZoneId(self.data_zones + nth)
    }

    /// The flash blocks of a zone on every die, spare ones included.
    #[must_use]
    pub fn blocks(&self, zone: ZoneId) -> Range<u32> {
        zone.0 * self.zone_blocks..(zone.0 + 1) * self.zone_blocks
    }

    /// Logical pages of a zone.
    #[must_use]
    pub fn zone_pages(&self) -> u32 {
        self.rows * self.dies * self.stripe_pages
    }

    /// Logical pages of the user.
    #[must_use]
    pub fn user_pages(&self) -> u32 {
        self.data_zones * self.zone_pages()
    }

    /// All logical pages, those of code zones included.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.zones() * self.zone_pages()
    }

    /// Logical pages of all code zones.
    #[must_use]
    pub fn all_code_pages(&self) -> u32 {
        self.pages() - self.user_pages()
    }

    /// The logical pages of the n-th code zone.
    #[must_use]
    pub fn code_zone_pages(&self, nth: u32) -> Range<u32> {
        let first = self.code_zone(nth).0 * self.zone_pages();
        first..first + self.zone_pages()
    }

    /// Groups that dies have room for side by side.
    #[must_use]
    pub fn groups_at_once(&self) -> u32 {
        self.side_by_side
    }

    /// Code groups of a zone.
    #[must_use]
    pub fn zone_groups(&self) -> u32 {
        self.rows * self.dies / self.group_size()
    }

    /// The data zone of a group.
    #[must_use]
    pub fn zone_of(&self, group: CodeGroupId) -> ZoneId {
        ZoneId(group.0 / self.zone_groups())
    }

    /// Where a logical page lies: stripe blocks go from die to die.
    #[must_use]
    pub fn place(&self, lpn: Lpn) -> ZonePlace {
        let within = lpn.0 % self.zone_pages();
        let block = within / self.stripe_pages;
        ZonePlace {
            zone: ZoneId(lpn.0 / self.zone_pages()),
            row: block / self.dies,
            die: DieId((block % self.dies) as u16),
            page: lpn.0 % self.stripe_pages,
        }
    }

    /// The logical page at a place.
    #[must_use]
    pub fn lpn(&self, place: ZonePlace) -> Lpn {
        let block = place.row * self.dies + u32::from(place.die.0);
        Lpn(place.zone.0 * self.zone_pages() + block * self.stripe_pages + place.page)
    }

    /// The line of a logical page of the user, and which data block of it the page is.
    #[must_use]
    pub fn line(&self, lpn: Lpn) -> (CodeLine, usize) {
        let block = lpn.0 / self.stripe_pages;
        let line = CodeLine { group: CodeGroupId(block / self.group_size()), page: lpn.0 % self.stripe_pages };
        (line, (block % self.group_size()) as usize)
    }

    /// The dies of the data segments that segment `die` of a code zone is the sum of. With `g = i div G`,
    /// `l = i mod G` and `h = ((g+1) mod (B/G)) G`: `S_code,i = S_data,h+l + .. + S_data,h+((l+m-1) mod G)`.
    #[must_use]
    pub fn sources(&self, die: DieId) -> Vec<DieId> {
        let size = self.group_size();
        let (group, within) = (u32::from(die.0) / size, u32::from(die.0) % size);
        let first = (group + 1) % (self.dies / size) * size;
        self.graph.code()[within as usize].iter().map(|symbol| DieId((first + symbol as u32) as u16)).collect()
    }

    /// The group, by index within its zone, that a page of a code zone is code of: the inverse of
    /// [`Self::block_page`].
    pub(super) fn group_of_code(&self, lpn: Lpn) -> u32 {
        let place = self.place(lpn);
        let (size, sets) = (self.group_size(), self.dies / self.group_size());
        let set = (u32::from(place.die.0) / size + 1) % sets;
        place.row * sets + set
    }

    /// The code pages of a group.
    pub fn code_pages(&self, group: CodeGroupId, code_zone: u32) -> impl Iterator<Item = Lpn> {
        let lines = (0..self.stripe_pages).map(move |page| CodeLine { group, page });
        lines.flat_map(move |line| {
            (self.graph.data()..self.graph.blocks()).map(move |block| self.block_page(line, code_zone, block))
        })
    }

    /// The logical page of a block of a line: of its data blocks, or of code blocks in the n-th code zone.
    ///
    /// # Panics
    /// If the code has no such block.
    #[must_use]
    pub fn block_page(&self, line: CodeLine, code_zone: u32, block: usize) -> Lpn {
        let (size, page) = (self.group_size(), line.page);
        assert!(block < self.graph.blocks(), "a code of {} blocks has no block {block}", self.graph.blocks());
        let Some(code) = (block as u32).checked_sub(size) else {
            return Lpn((line.group.0 * size + block as u32) * self.stripe_pages + page);
        };
        let (index, sets) = (line.group.0 % self.zone_groups(), self.dies / size);
        // Code lies on the dies of the group before.
        let set = (index % sets + sets - 1) % sets;
        let die = DieId((set * size + code) as u16);
        self.lpn(ZonePlace { zone: self.code_zone(code_zone), row: index / sets, die, page })
    }
}
