//! The ways of writing: one folder each.

pub(crate) mod ahead;
pub(crate) mod found;
pub(crate) mod group_log;
pub(crate) mod groups;
pub(crate) mod moves;
pub(crate) mod pages;
pub(crate) mod rescue;
pub(crate) mod rows;
pub(crate) mod sources;
pub(crate) mod stripes;
pub(crate) mod ways;
pub(crate) mod zones;

use crate::config::Setup;
use crate::core::{Core, data_of};
use crate::write::groups::Groups;
use crate::write::moves::Moves;
use crate::write::pages::PageWriter;
use crate::write::rows::Rows;
use crate::write::stripes::Stripes;
pub(crate) use crate::write::ways::Way;
use crate::write::ways::{CoverageMoves, WayFacts};
use crate::write::zones::Zones;
use crate::write::zones::over::code_over;
use device::contents::HostPayload;
use device::slab::ImageId;
use ftl::{Stream, UnitId};
use nand::{FlashArray, Member, OobTag, PageRole};
use protect::code_zones::CodeZones;
use protect::{DisturbLimits, Protection, StripeScheme, WriteCache};
use std::ops::Range;
use vocab::{BlockAddr, Grid, Lpn, Nanos, Ppn, Slot, StripSet, StripeId};

/// The coverage in the OOB bytes of a page that moves away from `from`: that of the page, where a mount or a decoder needs it.
pub(crate) fn coverage_to_keep<P: HostPayload, A: FlashArray<P>>(way: Way, core: &Core<P, A>, from: Slot) -> StripSet {
    let kept = match way.facts().coverage {
        CoverageMoves::Always => true,
        CoverageMoves::WhereMountable => core.is_mountable(),
        CoverageMoves::Never => false,
    };
    let ppn = core.device.grid.page_of(from).0;
    if kept && core.device.is_programmed(ppn) { core.device.array.page(ppn).oob.coverage } else { StripSet::EMPTY }
}

/// The ways of writing. Of those for which a scheme decides, only the one in use has its scheme.
#[derive(Clone)]
pub(crate) struct Writer<P: HostPayload> {
    pub way: Way,
    /// Blocks of each die kept free for parity: see [`commit_reserve`].
    pub commit_reserve: u32,
    pub pages: PageWriter,
    pub rows: Rows<P>,
    /// Pages on their way from a victim, or from a failed program, to a row or block group.
    pub moves: Moves<P>,
    pub groups: Groups<P>,
    pub stripes: Stripes<P>,
    /// Limits on reads and age that the scheme has beside it.
    limits: Option<DisturbLimits>,
    /// What a drive of code zones has beside its map, be they a way of writing or over one; `None` without them.
    pub zones: Option<Box<Zones<P>>>,
}

impl<P: HostPayload> Writer<P> {
    /// Nothing written yet.
    ///
    /// # Errors
    /// A parity cache that is too small for block groups, in words.
    pub fn new(setup: &Setup, protection: Protection, grid: &Grid, logs: usize) -> Result<Self, String> {
        let code = code_over(&setup.drive, &setup.scheme).map_err(|error| error.to_string())?;
        let (way, commit_reserve) = (Way::of(&protection), commit_reserve(&protection, grid));
        let streams = 1 + u32::from(setup.gc.separate_frontier);
        let scheme = protection.stripes().map(StripeScheme::boxed_clone);
        let groups = Groups::new(protection.groups(), grid.blocks_per_die(), streams, &setup.scheme.name)?;
        Ok(Self {
            way,
            commit_reserve,
            pages: PageWriter::new(logs, &setup.gc.streams),
            rows: Rows::new(protection.rows()),
            moves: Moves::default(),
            groups,
            stripes: Stripes::new(scheme, &setup.power, setup.user_slots),
            limits: protect::registry::limits(&setup.scheme).map_err(|error| error.to_string())?,
            zones: Zones::new(&protection, code),
        })
    }

    /// The scheme of static stripes, at the stage of its life that it is in, where the drive has one.
    pub fn stripe_scheme(&self) -> Option<&dyn StripeScheme> {
        (self.way == Way::Stripes).then(|| self.stripes.scheme())
    }

    /// Dies whose loss at a time loses no acknowledged data, as the scheme promises it in its present stage; and whether the
    /// promise needs memory that outlives a loss of power.
    pub fn promise(&self) -> (u32, bool) {
        match self.way {
            Way::Pages | Way::Zones => (0, false),
            Way::Stripes => {
                let scheme = self.stripes.scheme();
                // In its first stage a scheme of stages has no parity to hold.
                (scheme.survives_dies(), scheme.parity_cache() > 0 && scheme.life_stage() != Some(1))
            }
            Way::Rows => (1, false),
            Way::Groups => (self.groups.scheme().survives_dies(), true),
        }
    }

    /// Whether the controller has the sum of the codeword that the page is in.
    pub fn has_sum_of<A: FlashArray<P>>(&self, core: &Core<P, A>, ppn: Ppn) -> bool {
        match self.way {
            Way::Rows => self.rows.is_open(core.map.rows().row_of(ppn).0),
            Way::Groups => self.groups.is_held(core, ppn),
            Way::Pages | Way::Stripes | Way::Zones => false,
        }
    }

    /// The scheme of a drive of code zones.
    fn zone_scheme(&self) -> &CodeZones {
        &self.zones.as_ref().expect("a drive of code zones").scheme
    }

    /// Whether parity that collection may come to wait for finds room in every log that is `alive`.
    pub fn commits_have_room<A: FlashArray<P>>(&self, core: &Core<P, A>, alive: impl Fn(usize) -> bool) -> bool {
        let may_wait = self.way == Way::Stripes && self.stripes.may_keep_collection_waiting();
        !may_wait || (0..core.map.logs()).filter(|&log| alive(log)).all(|log| core.map.has_room(log, Stream::Commit))
    }

    /// Whether there is no room for what the unit holds, though the log has free units: a block group may hold
    /// more than one group of the code now in use.
    pub fn lacks_room_for<A: FlashArray<P>>(&self, core: &Core<P, A>, unit: UnitId) -> bool {
        self.way == Way::Groups && !core.map.has_room_for_group(unit)
    }

    /// What is true of the way of writing.
    #[inline]
    pub fn facts(&self) -> &'static WayFacts {
        self.way.facts()
    }

    /// Whether pages may lie on any die.
    pub fn places_pages_anywhere(&self) -> bool {
        self.facts().without_reserve == WithoutReserve::OtherDie
    }

    /// Whether the other strips of a page's stripe bring it back, so that the controller may keep it until there is
    /// room for it.
    pub fn may_park<A: FlashArray<P>>(&self, core: &Core<P, A>, role: PageRole) -> bool {
        let Some((stripe, _)) = self.stripes.strip_of_role(role) else { return false };
        self.stripes.stripe_state(core, stripe).1.is_empty() && self.stripes.is_protected(core, stripe)
    }

    /// Whether all that a block holds may be kept in the controller until the block is erased.
    fn may_park_all<A: FlashArray<P>>(&self, core: &Core<P, A>, block: BlockAddr) -> bool {
        let (device, grid) = (&core.device, &core.device.grid);
        let has_ended = |ppn: Ppn| device.is_programmed(ppn) || device.losses.failed_programs.contains_key(&ppn.0);
        let pages = (0..grid.pages_per_block()).map(|page| grid.ppn(block, page));
        let mut slots = pages.flat_map(|ppn| (0..grid.slots_per_page()).map(move |index| (ppn, index)));
        slots.all(|(ppn, index)| {
            let stays = core.map.is_valid(grid.slot(ppn, index)) && has_ended(ppn);
            !stays || self.may_park(core, device.tags(ppn)[index as usize].role())
        })
    }

    /// Whether the victim holds pages for which there is no room at all.
    pub fn has_nowhere_to_go<A: FlashArray<P>>(&self, core: &Core<P, A>, log: usize, victim: UnitId) -> bool {
        let of_host = |log| core.map.host_frontiers().any(|stream| core.map.has_room(log, stream));
        let of_gc = |log| core.map.gc_frontiers().any(|stream| core.map.has_room(log, stream));
        if of_gc(log) || of_host(log) || core.map.unit(victim).valid == 0 {
            return false;
        }
        match self.facts().without_reserve {
            WithoutReserve::OtherDie => !(0..core.map.logs()).any(of_host),
            WithoutReserve::Park => !self.may_park_all(core, BlockAddr(victim)),
            WithoutReserve::Nothing => true,
        }
    }

    /// The stripe of a page that would come to lie on a worn block while its stripe lacks the parity it
    /// needs then.
    #[inline]
    pub fn lacks_parity_to_move<A: FlashArray<P>>(&self, core: &mut Core<P, A>, log: usize, tag: OobTag) -> Option<StripeId> {
        let (limit, lpn) = (self.stripes.worn_above?, data_of(tag)?);
        let (stripe, _) = self.stripes.strip_of(lpn);
        let worn = core.map.next_pe(log, Stream::Gc).is_some_and(|pe| pe > limit.0);
        (worn && self.stripes.can_build(core, stripe) && self.wants_parity_when_worn(stripe)).then_some(stripe)
    }

    /// Limits on reads and age that blocks have now.
    pub fn limits(&self) -> Option<DisturbLimits> {
        self.stripe_scheme().and_then(|scheme| scheme.limits()).or(self.limits)
    }

    /// Whether the stripe is to have parity once one of its strips lies on a worn block.
    pub fn wants_parity_when_worn(&self, stripe: StripeId) -> bool {
        self.stripe_scheme().is_some_and(|scheme| scheme.wants_parity(stripe, true))
    }

    /// Whether the stripes on a block with so many P/E cycles have parity because the block is worn.
    pub fn has_parity_for_worn(&self, pe: u32) -> bool {
        self.stripes.worn_above.is_some_and(|limit| pe > limit.0) && self.wants_parity_when_worn(StripeId(0))
    }

    /// Time between two rows that the patrol reads; `None`: there is no patrol.
    pub fn patrol_interval(protection: &Protection) -> Option<Nanos> {
        let pace = protection.rows().map_or(0, |scheme| scheme.patrol_rows_per_s());
        (pace > 0).then(|| Nanos(1_000_000_000 / u64::from(pace)))
    }

    /// A unit was erased: parity that found no room may find some now, and the unit may be worn from now on.
    pub fn unit_erased<A: FlashArray<P>>(&mut self, core: &Core<P, A>, unit: UnitId) {
        self.stripes.unit_erased(core, unit);
    }

    /// What a page that moves away from `from` keeps of its codeword's members.
    pub fn members_to_keep<A: FlashArray<P>>(&self, core: &Core<P, A>, tag: OobTag, from: Slot) -> KeptMembers {
        let members = core.device.array.members(core.device.grid.page_of(from).0);
        let (stripe, is_data) = match (self.way, tag.role()) {
            (Way::Stripes, PageRole::Data(lpn)) => (Some(self.stripes.strip_of(lpn).0), true),
            (Way::Stripes, PageRole::Parity(stripe)) => (Some(stripe), false),
            _ => (None, false),
        };
        match stripe {
            // Its program failed, so it has no members in flash; or it names strips that a mount dropped.
            Some(stripe) if members.is_empty() || is_data && self.stripes.unnamed.contains(&stripe) => {
                KeptMembers::OfStripeNow(stripe)
            }
            _ if members.is_empty() => KeptMembers::None,
            _ => KeptMembers::These(members.to_vec()),
        }
    }
}

/// Blocks of each die kept free so that every partial parity can be committed, and stripes that
/// come to need parity can get it, while collection waits for it.
pub(crate) fn commit_reserve(protection: &Protection, grid: &Grid) -> u32 {
    protection.stripes().map_or(0, |scheme| {
        let build = u32::from(scheme.worn_above().is_some());
        scheme.parity_cache().div_ceil(grid.pages_per_block()) + build
    })
}

/// How the contents of a dead die are rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RebuiltBy {
    /// Not at all.
    Nothing,
    /// Every superblock is collected.
    Collection,
    /// Lost strips are solved for and get another place.
    Stripes,
}

/// Where a page may go when its log has no page for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithoutReserve {
    /// To any die.
    OtherDie,
    /// Into the controller, as long as its stripe stands in for it.
    Park,
    /// Nowhere.
    Nothing,
}

/// The members of its codeword that a page which moves has beside it at its new place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeptMembers {
    None,
    These(Vec<Member>),
    /// Those that the stripe has by now.
    OfStripeNow(StripeId),
}

/// The pages that leave the write buffer together with a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EvictedWith {
    /// The oldest ones, `most` with the page itself.
    Oldest { most: usize },
    /// Those of the page's stripe, the page among them.
    Stripe(Range<u32>),
}

/// Questions of the host: what it has to know of the scheme.
impl<P: HostPayload> Writer<P> {
    /// The pages of the host that a request touches: of whole stripe blocks, where the drive maps these.
    #[inline]
    pub fn touched(&self, pages: Range<u32>, user_slots: u32) -> Range<u32> {
        if self.way != Way::Zones {
            return pages;
        }
        let touched = self.zone_scheme().touched(Lpn(pages.start), pages.len() as u32);
        touched.start..touched.end.min(user_slots)
    }

    /// Pages that are written to flash at once so that it costs the scheme least: what fills a row.
    pub fn full_write(&self, grid: &Grid) -> u32 {
        let slots = grid.slots_per_page();
        match self.way {
            Way::Rows => (grid.dies() - 1) * slots,
            Way::Stripes => self.stripes.data_strips(),
            Way::Groups => {
                let code = self.groups.scheme().codes()[0];
                code.codewords * code.data * slots
            }
            Way::Pages => slots,
            Way::Zones => self.zone_scheme().layout().stripe_pages(),
        }
    }

    /// Random pages that a write history overwrites with one request. Rows take a row's worth: sub-stripe parity is
    /// the workload's to cause, not the history's. Block groups take a page at a time: stripes wait, and are not padded.
    pub fn overwritten_at_once(&self, grid: &Grid) -> u32 {
        match self.way {
            Way::Rows => self.full_write(grid),
            Way::Groups => grid.slots_per_page(),
            Way::Pages | Way::Stripes | Way::Zones => 1,
        }
    }

    /// Data strips of a static stripe, where the drive has such.
    pub fn data_strips(&self) -> Option<u32> {
        self.stripe_scheme().map(StripeScheme::data_strips)
    }

    /// What leaves the write buffer together with a page.
    pub fn evicted_with(&self, lpn: Lpn, grid: &Grid) -> EvictedWith {
        match self.way {
            // A page on every die: what keeps all of them at work.
            Way::Pages => EvictedWith::Oldest { most: (grid.dies() * grid.slots_per_page()) as usize },
            Way::Stripes => {
                let n = self.stripes.data_strips();
                EvictedWith::Stripe(lpn.0 / n * n..lpn.0 / n * n + n)
            }
            Way::Rows | Way::Groups => EvictedWith::Oldest { most: self.full_write(grid) as usize },
            // Each page has its own place to go to.
            Way::Zones => EvictedWith::Oldest { most: 1 },
        }
    }

    /// The scheme's own write cache, or its rules for the drive's, as it is now.
    pub fn write_cache(&self) -> Option<WriteCache> {
        self.stripe_scheme().and_then(|scheme| scheme.write_cache())
    }

    /// Whether pages can be discarded now: no update of their stripes is under way, and nothing waits for room in
    /// its segment.
    pub fn may_discard(&self, pages: Range<u32>) -> bool {
        match self.way {
            Way::Stripes => !self.stripes.is_any_locked(pages),
            Way::Zones => !self.has_waiting_in_segments(),
            Way::Pages | Way::Rows | Way::Groups => true,
        }
    }

    /// Whether pages or code wait for room under code zones.
    pub fn has_waiting_in_segments(&self) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.has_waiting())
    }

    /// The image of a page that is not on its way to flash yet: reads of the page are served from memory.
    #[inline]
    pub fn unsent<A: FlashArray<P>>(&self, core: &Core<P, A>, ppn: Ppn) -> Option<ImageId> {
        self.pages.unsent(core, ppn)
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod toy;
