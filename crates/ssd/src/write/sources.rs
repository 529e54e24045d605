//! From what a page can be computed that cannot be read. Each way of writing answers that in its folder; the reads read what it
//! names and add it up.

use crate::core::Core;
use crate::core::audit::Audit;
use crate::core::flash::FlashPayload;
use crate::core::target::Target;
use crate::write::pages::PageWriter;
use crate::write::{KeptMembers, Writer};
use ftl::UnitId;
use nand::{FlashArray, Member, OobTag};
use protect::code_zones::LineRead;
use vocab::{Lpn, Ppn, Slot, StripeId};

/// From what a page is computed that cannot be read.
#[derive(Clone, Debug)]
pub(crate) enum Sources<P> {
    /// The sum of what the controller has and one slot of each of these pages.
    Sum { held: P, pages: Vec<Ppn>, slot: u32 },
    /// The code of its line. The page itself may still be read, unless it lies where a read `failed`.
    Line { line: LineRead, lpn: Lpn, failed: Option<Slot> },
    /// The sum of what the parity cache of block groups has and these pages, each times its coefficient. `lost` is
    /// the page and its slot; its group must not be erased in the meantime.
    Weighted { held: P, pages: Vec<(Ppn, u8)>, lost: (Ppn, u32), group: UnitId },
    /// Nothing does, because it is a code page.
    NoneOfCodePage { lpn: Lpn },
    /// Nothing does.
    None,
    /// Its row, as soon as a parity that is on its way is programmed.
    AfterParity,
    /// Its stripe, as soon as the update under way has ended.
    AfterUpdate(StripeId),
    /// There is nothing to bring back: the page was discarded.
    Discarded,
}

/// How a way of writing computes pages that cannot be read. The defaults are the answers of a way without redundancy.
pub(crate) trait Redundancy<P: FlashPayload> {
    /// From what the page that `target` asks for can be computed. Reads of the pages in `failed` failed, so that they cannot be used.
    fn brings_back(&self, core: &Core<P>, target: Target, failed: &[Ppn]) -> Sources<P>;

    /// The flash pages from which the contents of a logical page can be computed. `place`: the flash page and the slot that hold
    /// these contents, or held them before they were lost.
    fn pages_that_bring_back(&self, _core: &Core<P>, _lpn: Lpn, _place: Option<(Ppn, u32)>) -> Option<Vec<Ppn>> {
        None
    }

    /// The flash pages whose sum the page `ppn` is, so that they can be read instead while its die is busy. `pages` knows which
    /// pages still wait to be sent to flash: none of those is named.
    fn stand_ins(&self, _core: &Core<P>, _pages: &PageWriter, _lpn: Lpn, _ppn: Ppn) -> Option<Vec<Ppn>> {
        None
    }

    /// Whether the controller has the sum of the codeword that the page is in.
    fn has_sum_of(&self, _core: &Core<P>, _ppn: Ppn) -> bool {
        false
    }

    /// Computes every parity again and compares it with what is stored. `is_read_only`: there may be no room for parity.
    ///
    /// # Errors
    /// A parity that is wrong, in words.
    fn audit(&self, _core: &Core<P>, _is_read_only: bool) -> Result<Audit, String> {
        Ok(Audit::default())
    }

    /// A page moves that names these members in its OOB bytes. The stripe whose present strips it names at its new place instead;
    /// `None`: it keeps the names that it has.
    fn stripe_to_name(&self, _tag: OobTag, _named: &[Member]) -> Option<StripeId> {
        None
    }
}

impl<P: FlashPayload> Writer<P> {
    /// See [`Redundancy::audit`]; code over the way of writing is checked as well.
    ///
    /// # Errors
    /// A parity or code that is wrong, in words.
    pub fn audit(&self, core: &Core<P>, is_read_only: bool) -> Result<Audit, String> {
        if let Some(zones) = self.zones.as_ref().filter(|zones| zones.is_over()) {
            zones.audit(core)?;
        }
        self.in_use(core).audit(core, is_read_only)
    }

    /// From what a page of a block group is computed: of the slot that was lost, wherever its contents are now.
    pub fn brings_back_in_group(&self, core: &Core<P>, lost: Ppn, index: u32, failed: &[Ppn]) -> Sources<P> {
        self.groups_if_any().map_or(Sources::None, |groups| groups.sources_of(core, lost, index, failed))
    }

    /// See [`Redundancy::stand_ins`].
    pub fn stand_ins(&self, core: &Core<P>, lpn: Lpn, ppn: Ppn) -> Option<Vec<Ppn>> {
        self.in_use(core).stand_ins(core, &self.pages, lpn, ppn)
    }

    /// The members of its codeword that a page names at its new place; `from`: the slot that it leaves.
    pub fn members_to_keep(&self, core: &Core<P>, tag: OobTag, from: Slot) -> KeptMembers {
        let members = core.device.array.members(core.device.grid.page_of(from).0);
        match self.in_use(core).stripe_to_name(tag, members) {
            Some(stripe) => KeptMembers::OfStripeNow(stripe),
            None if members.is_empty() => KeptMembers::None,
            None => KeptMembers::These(members.to_vec()),
        }
    }
}
