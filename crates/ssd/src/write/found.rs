//! Findings of a mount in flash: which pages can be read, and which contents of each logical page are the newest.

use crate::core::flash::FlashPayload;
use crate::core::newest::Newest;
use crate::core::{Core, data_of};
use crate::rules::SafetyRule;
use crate::write::stripes::mount::StripeFound;
use device::failed::FailedProgram;
use nand::{FlashArray, Member, ReadOutcome};
use rustc_hash::FxHashMap;
use vocab::{BlockAddr, Lpn, Ppn};

/// Knowledge of the mount scan about flash pages.
pub(crate) trait PagesSeen {
    /// Whether the page can be read.
    fn is_valid(&self, ppn: Ppn) -> bool;
    /// Whether the page looks as if it was never programmed.
    fn is_erased(&self, ppn: Ppn) -> bool;
    /// Whether all pages of the block can be read.
    fn is_whole(&self, block: BlockAddr) -> bool;
    /// Whether the summary of its block is all that is known of the page.
    fn is_believed(&self, ppn: Ppn) -> bool;
}

/// All that the mount scan found.
pub(crate) trait ScanSeen: PagesSeen {
    /// All readable pages.
    fn valid(&self) -> Vec<Ppn>;
    /// Pages that no cut can have torn, and that are unreadable.
    fn lost(&self) -> Vec<Ppn>;
}

/// Handling of pages that a mount cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Their codewords give them, where they can.
    AreSolvedFor,
    /// They are left out.
    AreLeftOut,
}

/// The newest contents of the logical pages that are looked for.
#[derive(Debug)]
pub(crate) enum Newests {
    /// Of all logical pages of the drive.
    All(Vec<Option<Newest>>),
    /// Of these alone.
    These(OfThese),
}

/// The newest contents of some logical pages.
#[derive(Debug)]
pub(crate) struct OfThese {
    pub pages: FxHashMap<Lpn, Option<Newest>>,
    /// A bit for each logical page up to the last of them: a mount asks for every page that flash holds.
    bits: Vec<u64>,
}

impl OfThese {
    fn has(&self, lpn: Lpn) -> bool {
        self.bits.get(lpn.index() / 64).is_some_and(|bits| bits >> (lpn.0 % 64) & 1 > 0)
    }
}

impl Newests {
    /// Nothing is found yet of this many logical pages, which are all.
    pub fn of_all(pages: u32) -> Self {
        Self::All(vec![None; pages as usize])
    }

    /// Nothing is found yet of these logical pages.
    pub fn of_these(pages: impl IntoIterator<Item = Lpn>) -> Self {
        let pages: Vec<Lpn> = pages.into_iter().collect();
        let mut bits = vec![0; pages.iter().max().map_or(0, |last| last.index() / 64 + 1)];
        pages.iter().for_each(|lpn| bits[lpn.index() / 64] |= 1 << (lpn.0 % 64));
        let pages = pages.into_iter().map(|lpn| (lpn, None)).collect();
        Self::These(OfThese { pages, bits })
    }

    /// Whether the newest contents of the page are looked for.
    pub fn seeks(&self, lpn: Lpn) -> bool {
        match self {
            Self::All(_) => true,
            Self::These(these) => these.has(lpn),
        }
    }

    /// A copy of a page was found: see [`Newest::comes_before`].
    pub fn offer(&mut self, lpn: Lpn, found: Newest) {
        let newest = match self {
            Self::All(pages) => pages.get_mut(lpn.index()),
            Self::These(these) if these.has(lpn) => these.pages.get_mut(&lpn),
            Self::These(_) => None,
        };
        let Some(newest) = newest else { return };
        if newest.as_ref().is_none_or(|old| found.comes_before(old)) {
            *newest = Some(found);
        }
    }
}

/// Findings in flash.
#[derive(Debug)]
pub(crate) struct Found {
    /// The newest contents of logical pages.
    pub pages: Newests,
    /// The state of each static stripe.
    pub stripes: Vec<StripeFound>,
    /// Slots that the mount scan cannot read and that their codewords give, with the contents of each.
    pub solved: Vec<Member>,
}

impl Found {
    /// Nothing is found yet of these pages.
    pub fn new(pages: Newests) -> Self {
        Self { pages, stripes: Vec::new(), solved: Vec::new() }
    }

    /// A copy of a page was found.
    pub fn offer(&mut self, lpn: Lpn, found: Newest) {
        self.pages.offer(lpn, found);
    }

    /// Offers what a codeword brings back. Of equal contents a readable copy is taken before it.
    pub fn offer_solved(&mut self, members: Vec<Member>) {
        for member in members {
            if let Some(lpn) = data_of(member.tag) {
                self.offer(lpn, Newest::copy(member.update, u64::MAX, member.slot));
                self.solved.push(member);
            }
        }
    }
}

/// Reads of a page before it counts as unreadable: a fault may strike a read, and what it strikes is there nonetheless.
const READS_AT_MOST: u32 = 16;

/// Whether the page can be read, as the medium is asked by a mount: without time.
pub(crate) fn reads_back<P: FlashPayload>(core: &mut Core<P>, ppn: Ppn) -> bool {
    (0..READS_AT_MOST).any(|_| core.device.array.read(ppn) == ReadOutcome::Clean)
}

/// The data in a readable page.
pub(crate) fn data_in<P: FlashPayload>(core: &Core<P>, ppn: Ppn) -> impl Iterator<Item = (Lpn, Newest)> + '_ {
    let page = core.device.array.page(ppn);
    let sequence = page.oob.sequence;
    page.tags.iter().enumerate().filter_map(move |(index, &tag)| {
        let lpn = data_of(tag)?;
        let slot = core.device.grid.slot(ppn, index as u32);
        let update = if core.breaks(SafetyRule::Rank) { sequence } else { core.device.array.update(ppn, index as u32) };
        Some((lpn, Newest::copy(update, sequence, slot)))
    })
}

/// Assumed state of a page that cannot be read: nothing, at first.
pub(crate) fn unreadable<P: FlashPayload>(core: &mut Core<P>, ppn: Ppn) -> &mut FailedProgram {
    let slots = core.device.grid.slots_per_page() as usize;
    core.device.losses.failed_programs.entry(ppn.0).or_insert_with(|| FailedProgram::nothing(slots))
}
