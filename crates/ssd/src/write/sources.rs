//! What brings a lost page back, and what can stand in for one. The ways of writing answer that, each in its folder; the
//! reads read it.

use crate::core::Core;
use crate::core::target::Target;
use crate::write::pages::PageWriter;
use crate::write::{KeptMembers, Way, Writer};
use device::contents::HostPayload;
use ftl::UnitId;
use nand::{FlashArray, OobTag};
use protect::code_zones::LineRead;
use vocab::{Lpn, Ppn, Slot, StripeId};

/// What brings a lost page back.
#[derive(Clone, Debug)]
pub(crate) enum Sources<P> {
    /// The sum of what the controller has and one slot of each of these pages.
    Sum { held: P, pages: Vec<Ppn>, slot: u32 },
    /// The code of its line. The page itself may still be read, unless it lies where a read `failed`.
    Line { line: LineRead, lpn: Lpn, failed: Option<Slot> },
    /// The sum of what the parity cache of block groups has and these pages, each times its coefficient. `lost` is
    /// the page and its slot; its group must not be erased meanwhile.
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

/// What a way of writing says of pages that sum up to others. Without an answer of its own it has no such sums.
pub(crate) trait Redundancy<P: HostPayload, A: FlashArray<P>> {
    /// What brings back the page that the target wants, without the pages of which reads `failed`.
    fn brings_back(&self, core: &Core<P, A>, target: Target, failed: &[Ppn]) -> Sources<P>;

    /// The pages in flash that bring back a logical page, wherever they lie; `place`: where it is, or was.
    fn pages_that_bring_back(&self, _core: &Core<P, A>, _lpn: Lpn, _place: Option<(Ppn, u32)>) -> Option<Vec<Ppn>> {
        None
    }

    /// Pages whose sum the page is as they are now; none of them is still to be sent to flash, which the writer of pages knows.
    fn stand_ins(&self, _core: &Core<P, A>, _pages: &PageWriter, _lpn: Lpn, _ppn: Ppn) -> Option<Vec<Ppn>> {
        None
    }

    /// Whether the controller has the sum of the codeword that the page is in.
    fn has_sum_of(&self, _core: &Core<P, A>, _ppn: Ppn) -> bool {
        false
    }

    /// The stripe whose strips the page is to name at its new place, though those that it names now are none or others.
    fn stripe_to_name(&self, _tag: OobTag, _names_any: bool) -> Option<StripeId> {
        None
    }
}

impl<P: HostPayload> Writer<P> {
    /// What the way of writing says of its redundancy.
    fn redundancy<A: FlashArray<P>>(&self) -> &dyn Redundancy<P, A> {
        match self.way {
            Way::Pages => &self.pages,
            Way::Stripes => &self.stripes,
            Way::Rows => &self.rows,
            Way::Groups => &self.groups,
            Way::Zones => &**self.zones.as_ref().expect("a drive of code zones"),
        }
    }

    /// What brings back the page that the target wants, without the pages of which reads `failed`.
    pub fn sources<A: FlashArray<P>>(&self, core: &Core<P, A>, target: Target, failed: &[Ppn]) -> Sources<P> {
        self.redundancy().brings_back(core, target, failed)
    }

    /// See [`Redundancy::pages_that_bring_back`].
    pub fn pages_that_bring_back<A: FlashArray<P>>(
        &self,
        core: &Core<P, A>,
        lpn: Lpn,
        place: Option<(Ppn, u32)>,
    ) -> Option<Vec<Ppn>> {
        self.redundancy().pages_that_bring_back(core, lpn, place)
    }

    /// Pages whose sum the page is as they are now, where the scheme has such sums: reads of a busy die go to them.
    pub fn stand_ins<A: FlashArray<P>>(&self, core: &Core<P, A>, lpn: Lpn, ppn: Ppn) -> Option<Vec<Ppn>> {
        self.redundancy().stand_ins(core, &self.pages, lpn, ppn)
    }

    /// See [`Redundancy::has_sum_of`].
    pub fn has_sum_of<A: FlashArray<P>>(&self, core: &Core<P, A>, ppn: Ppn) -> bool {
        self.redundancy().has_sum_of(core, ppn)
    }

    /// What a page that moves away from `from` keeps of its codeword's members.
    pub fn members_to_keep<A: FlashArray<P>>(&self, core: &Core<P, A>, tag: OobTag, from: Slot) -> KeptMembers {
        let members = core.device.array.members(core.device.grid.page_of(from).0);
        match self.redundancy::<A>().stripe_to_name(tag, !members.is_empty()) {
            Some(stripe) => KeptMembers::OfStripeNow(stripe),
            None if members.is_empty() => KeptMembers::None,
            None => KeptMembers::These(members.to_vec()),
        }
    }
}
