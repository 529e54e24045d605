//! Paper: Y.-B. Chang and L.-P. Chang, "An Erasure-code-based Striping Scheme for NAND-Flash Storage
//! System", master thesis, National Chiao Tung University, 2007.
//!
//! Idea: data are striped over the dies, and a zone is one segment of every die. In idle time the data
//! zones that are read most get a code zone each, whose blocks are sums of neighbouring stripe blocks, on
//! other dies than these. A read of several blocks is sent to data and code ([`lazy`](crate::lazy)), and
//! is done without whatever die is busy.
//!
//! Differs: the printed placement formula contradicts its example in Fig. 5 and is replaced
//! ([`ZoneLayout::sources`]). The paper does not say what a write to a coded zone does: here it makes the
//! code of its group stale at once, until the group is encoded again in idle time. What a read "counts",
//! the paper leaves open: here the stripe blocks that it touches. The code may be any G_n^m.
//! Invariant: code that is called valid is the sum of the current data of its group, under a generation
//! that no other contents of the group ever had (I17).

mod layout;
mod popularity;
mod settings;
mod validity;

use crate::lazy::{Ask, Blocks, ReadAround};
use crate::read_ahead::ReadAhead;
use coding::gf2::Decoder;
pub use layout::{CodeGroupId, CodeLine, ZoneId, ZoneLayout, ZonePlace};
pub use popularity::Assignment;
use popularity::Popularity;
pub(crate) use settings::{OPTIONS, build, build_over};
use std::cmp::Reverse;
use validity::Validity;
use vocab::{Lpn, Nanos};

/// The code of a group as it was looked up at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeStamp {
    /// The group.
    pub group: CodeGroupId,
    /// Which code zone it is in, from 0.
    pub code_zone: u32,
    /// Of which contents.
    pub generation: u64,
}

/// The part of a read that lies in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRead {
    /// The line.
    pub line: CodeLine,
    /// Its data blocks that are wanted.
    pub wanted: Blocks,
    /// Its code, if that is valid.
    pub code: Option<CodeStamp>,
}

/// Which blocks of a line with valid code a read may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// The wanted blocks, and code of nothing else: the paper's.
    Wanted,
    /// The wanted blocks, and all code.
    Code,
    /// All data and all code of the line, as for a repair.
    All,
}

/// When the drive takes itself off line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Never: the static striping system that the paper compares with.
    Never,
    /// When no one has asked for anything for so long, until someone does.
    Idle(Nanos),
    /// At these times of a run, until all code is written. Requests that arrive in the meantime wait.
    At(Vec<Nanos>),
}

/// The off-line phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offline {
    /// When it is.
    pub when: When,
    /// Whether its work takes time. The paper does not account for it.
    pub charged: bool,
}

/// Code to be written in idle time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encode {
    /// Contents that it is the code of.
    pub stamp: CodeStamp,
    /// The lines of the group.
    pub lines: Vec<EncodeLine>,
}

/// Code of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeLine {
    /// The data pages to read. One that was never written counts as zeros.
    pub data: Vec<Lpn>,
    /// The code pages to write, each with the data pages, by index, that it is the sum of.
    pub code: Vec<(Lpn, Blocks)>,
}

/// The scheme of one drive: what is coded, and which code is valid. The engine owns places and bytes.
///
/// Caller's duties: [`on_write`](Self::on_write) comes at the very time at which reads begin to see other
/// contents, be it by a discard. Earlier, an encoding begun in between would read what was there before;
/// later, a read would decode with code of it. From then on every read in progress whose stamp is no longer
/// current goes on without code. An [`Encode`] is ended once; the pages it reads are the current ones, and
/// those it writes are published only while [`is_encoding`](Self::is_encoding).
#[derive(Clone, Debug)]
pub struct CodeZones {
    layout: ZoneLayout,
    decoder: Decoder,
    offer: Offer,
    /// Whether reads are counted again after each choice.
    restart: bool,
    /// Whether stripe blocks are read and written as a whole.
    whole_blocks: bool,
    read_around: Option<ReadAround>,
    offline: Offline,
    read_ahead: Option<ReadAhead>,
    popularity: Popularity,
    /// For each code zone.
    validity: Vec<Validity>,
}

impl CodeZones {
    /// The shape of the drive.
    #[must_use]
    pub fn layout(&self) -> &ZoneLayout {
        &self.layout
    }

    /// How reads are decoded.
    #[must_use]
    pub fn decoder(&self) -> Decoder {
        self.decoder
    }

    /// Blocks that reads of the host may use.
    #[must_use]
    pub fn offer(&self) -> Offer {
        self.offer
    }

    /// When reads have alternatives.
    #[must_use]
    pub fn read_around(&self) -> Option<ReadAround> {
        self.read_around
    }

    /// When there is an off-line phase.
    #[must_use]
    pub fn offline(&self) -> &Offline {
        &self.offline
    }

    /// A read-ahead that has not seen a read yet, where there is one.
    #[must_use]
    pub fn read_ahead(&self) -> Option<ReadAhead> {
        self.read_ahead.clone()
    }

    /// The pages that a request for these touches: whole stripe blocks, where the drive maps these.
    #[must_use]
    pub fn touched(&self, first: Lpn, pages: u32) -> std::ops::Range<u32> {
        let end = first.0.saturating_add(pages);
        if !self.whole_blocks {
            return first.0..end;
        }
        let blocks = self.stripe_blocks(first, pages);
        blocks.start * self.layout.stripe_pages..blocks.end * self.layout.stripe_pages
    }

    /// Counts a read of the host.
    pub fn on_read(&mut self, first: Lpn, pages: u32) {
        for block in self.stripe_blocks(first, pages) {
            self.popularity.count(self.layout.place(Lpn(block * self.layout.stripe_pages)).zone, 1);
        }
    }

    /// The stripe blocks of some pages of the user; those beyond are left out.
    fn stripe_blocks(&self, first: Lpn, pages: u32) -> std::ops::Range<u32> {
        let end = first.0.saturating_add(pages).min(self.layout.user_pages());
        if first.0 >= end { 0..0 } else { first.0 / self.layout.stripe_pages..end.div_ceil(self.layout.stripe_pages) }
    }

    /// The lines of a read, in the order of their first pages.
    #[must_use]
    pub fn lines(&self, first: Lpn, pages: u32) -> Vec<LineRead> {
        let end = first.0.saturating_add(pages).min(self.layout.user_pages());
        let mut lines: Vec<LineRead> = Vec::new();
        // Only lines of the group at hand may get another page.
        let mut group_from = 0;
        for (line, block) in (first.0..end).map(|lpn| self.layout.line(Lpn(lpn))) {
            if lines.last().is_some_and(|last| last.line.group != line.group) {
                group_from = lines.len();
            }
            match lines[group_from..].iter_mut().find(|read| read.line == line) {
                Some(read) => read.wanted.insert(block),
                None => {
                    let wanted = [block].into_iter().collect();
                    lines.push(LineRead { line, wanted, code: self.stamp(line.group) });
                }
            }
        }
        lines
    }

    /// The valid code of a group.
    #[must_use]
    pub fn stamp(&self, group: CodeGroupId) -> Option<CodeStamp> {
        let code_zone = self.popularity.code_zone(self.layout.zone_of(group))?;
        let generation = self.validity[code_zone as usize].valid(self.index(group))?;
        Some(CodeStamp { group, code_zone, generation })
    }

    /// Whether the code is valid, and the very same as when it was looked up.
    #[must_use]
    pub fn is_current(&self, stamp: &CodeStamp) -> bool {
        self.stamp(stamp.group) == Some(*stamp)
    }

    fn index(&self, group: CodeGroupId) -> u32 {
        group.0 % self.layout.zone_groups()
    }

    /// Request to the line's code for a read: `held` are data blocks that need no read, such as pages never written.
    #[must_use]
    pub fn ask(&self, read: &LineRead, offer: Offer, held: Blocks) -> Ask {
        let graph = self.layout.graph();
        let (data, code) = (graph.data_symbols(), graph.code_symbols());
        let offered = match (read.code, offer) {
            (None, _) => read.wanted,
            (Some(_), Offer::Wanted) => {
                let given = read.wanted.or(&held);
                let is_covered = |(_, sum): &(usize, &Blocks)| sum.without(&given).is_empty();
                let covered = graph.code().iter().enumerate().filter(is_covered).map(|(i, _)| graph.data() + i);
                read.wanted.or(&covered.collect())
            }
            (Some(_), Offer::Code) => read.wanted.or(&code),
            (Some(_), Offer::All) => data.or(&code),
        };
        Ask { wanted: read.wanted, offered, held: held.and(&data) }
    }

    /// The logical page of a block of a line, as [`ask`](Self::ask) offers it.
    ///
    /// # Panics
    /// If it is a code block and the line has no valid code.
    #[must_use]
    pub fn page(&self, read: &LineRead, block: usize) -> Lpn {
        let is_code = block >= self.layout.graph().data();
        let code_zone = read.code.map(|stamp| stamp.code_zone);
        assert!(!is_code || code_zone.is_some(), "{:?} has no valid code", read.line);
        self.layout.block_page(read.line, code_zone.unwrap_or(0), block)
    }

    /// Pages of the user change. Answers the groups whose valid code that ends.
    pub fn on_write(&mut self, first: Lpn, pages: u32) -> Vec<CodeGroupId> {
        let mut groups: Vec<CodeGroupId> =
            self.stripe_blocks(first, pages).map(|block| CodeGroupId(block / self.layout.group_size())).collect();
        groups.dedup();
        groups.retain(|group| {
            let code_zone = self.popularity.code_zone(self.layout.zone_of(*group));
            let index = self.index(*group);
            code_zone.is_some_and(|code_zone| self.validity[code_zone as usize].make_stale(index))
        });
        groups
    }

    /// The off-line phase begins: gives the code zones to the data zones that are read most. Code of
    /// those that lose theirs is stale from now on.
    pub fn enter_offline(&mut self) -> Vec<Assignment> {
        let changes = self.popularity.assign();
        changes.iter().for_each(|change| self.validity[change.code_zone as usize].make_all_stale());
        if self.restart {
            self.popularity.restart();
        }
        changes
    }

    /// The data zone of a code zone.
    #[must_use]
    pub fn owner(&self, code_zone: u32) -> Option<ZoneId> {
        self.popularity.owner(code_zone)
    }

    /// Stripe blocks of a data zone that were read.
    #[must_use]
    pub fn reads(&self, zone: ZoneId) -> u64 {
        self.popularity.reads(zone)
    }

    /// Groups of coded zones whose code is to be written.
    #[must_use]
    pub fn stale_groups(&self) -> u64 {
        self.in_use().map(|(code_zone, _)| u64::from(self.validity[code_zone as usize].stale())).sum()
    }

    /// Groups whose code is valid.
    #[must_use]
    pub fn valid_groups(&self) -> u64 {
        self.in_use().map(|(code_zone, _)| u64::from(self.validity[code_zone as usize].valid_groups())).sum()
    }

    /// Code zones that belong to a data zone, and that.
    fn in_use(&self) -> impl Iterator<Item = (u32, ZoneId)> {
        let code_zones = 0..self.layout.code_zones;
        code_zones.filter_map(|code_zone| Some((code_zone, self.popularity.owner(code_zone)?)))
    }

    /// Next group to encode: of the zone read most that has stale groups, the next one in turn.
    pub fn next_encode(&mut self) -> Option<Encode> {
        let stale = self.in_use().filter(|(code_zone, _)| self.validity[*code_zone as usize].stale() > 0);
        let (code_zone, owner) = stale.max_by_key(|(_, zone)| (self.popularity.reads(*zone), Reverse(*zone)))?;
        let (index, generation) = self.validity[code_zone as usize].take()?;
        let group = CodeGroupId(owner.0 * self.layout.zone_groups() + index);
        let graph = self.layout.graph();
        let line = |page: u32| {
            let at = |block: usize| self.layout.block_page(CodeLine { group, page }, code_zone, block);
            EncodeLine {
                data: (0..graph.data()).map(at).collect(),
                code: graph.code().iter().enumerate().map(|(i, sum)| (at(graph.data() + i), *sum)).collect(),
            }
        };
        let lines = (0..self.layout.stripe_pages).map(line).collect();
        Some(Encode { stamp: CodeStamp { group, code_zone, generation }, lines })
    }

    /// Whether the code is still being written: its pages may become what reads see, and only then. Those
    /// that come too late would replace other code.
    #[must_use]
    pub fn is_encoding(&self, stamp: &CodeStamp) -> bool {
        self.is_mine(stamp) && self.validity[stamp.code_zone as usize].is_encoding(self.index(stamp.group), stamp.generation)
    }

    /// Whether the group has neither valid code in this code zone nor any on its way there.
    #[must_use]
    pub fn is_stale(&self, stamp: &CodeStamp) -> bool {
        self.is_mine(stamp) && self.validity[stamp.code_zone as usize].is_stale(self.index(stamp.group))
    }

    /// Whether the code zone still belongs to the group's data zone.
    fn is_mine(&self, stamp: &CodeStamp) -> bool {
        self.popularity.owner(stamp.code_zone) == Some(self.layout.zone_of(stamp.group))
    }

    /// All code pages of an [`Encode`] are durable. Whether they are valid: not if the data changed
    /// in the meantime, or the code zone went to another data zone.
    pub fn encoded(&mut self, stamp: &CodeStamp) -> bool {
        self.end_encode(stamp, true)
    }

    /// An [`Encode`] was given up: a page could not be read, or written. The group keeps its place in
    /// the turn.
    pub fn abandoned(&mut self, stamp: &CodeStamp) {
        self.end_encode(stamp, false);
    }

    fn end_encode(&mut self, stamp: &CodeStamp, is_written: bool) -> bool {
        let index = self.index(stamp.group);
        self.is_mine(stamp) && self.validity[stamp.code_zone as usize].end(index, stamp.generation, is_written)
    }

    /// A code page is lost: the code of its group is stale. Answers what it was, where it was valid.
    ///
    /// # Panics
    /// If the page is one of the user.
    pub fn lose_code(&mut self, lpn: Lpn) -> Option<CodeStamp> {
        let code_zone = self.layout.place(lpn).zone.0.checked_sub(self.layout.data_zones).expect("a page of a code zone");
        let owner = self.popularity.owner(code_zone)?;
        let index = self.layout.group_of_code(lpn);
        let stamp = self.stamp(CodeGroupId(owner.0 * self.layout.zone_groups() + index));
        self.validity[code_zone as usize].make_stale(index);
        stamp
    }

    /// Trusts no code any more, as after a loss of power without a record of generations.
    pub fn distrust(&mut self) {
        self.validity.iter_mut().for_each(Validity::make_all_stale);
    }

    fn new(layout: ZoneLayout, settings: settings::Settings) -> Self {
        let settings::Settings { decoder, offer, restart, hysteresis, whole_blocks, read_around, offline, .. } = settings;
        let read_ahead = settings.read_ahead.map(|sequences| sequences.read_ahead(&layout, settings.page_sectors));
        let popularity = Popularity::new(layout.data_zones, layout.code_zones, hysteresis);
        let validity = (0..layout.code_zones).map(|_| Validity::new(layout.zone_groups())).collect();
        Self { layout, decoder, offer, restart, whole_blocks, read_around, offline, read_ahead, popularity, validity }
    }
}
