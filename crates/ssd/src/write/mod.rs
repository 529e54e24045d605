//! The ways of writing: one folder each.

pub(crate) mod ahead;
pub(crate) mod found;
pub(crate) mod group_log;
pub(crate) mod groups;
pub(crate) mod host_side;
pub(crate) mod mount;
pub(crate) mod moves;
pub(crate) mod pages;
pub(crate) mod pins;
pub(crate) mod region;
pub(crate) mod rescue;
pub(crate) mod rows;
pub(crate) mod seam;
pub(crate) mod sources;
pub(crate) mod stripes;
pub(crate) mod ways;
pub(crate) mod zones;

use crate::config::Setup;
use crate::core::flash::FlashPayload;
use crate::core::{Core, data_of};
use crate::write::groups::{GroupStats, Groups};
use crate::write::host_side::HostSide;
use crate::write::moves::Moves;
use crate::write::pages::PageWriter;
use crate::write::rows::Rows;
use crate::write::sources::Redundancy;
use crate::write::stripes::Stripes;
pub(crate) use crate::write::ways::Way;
use crate::write::ways::{CoverageMoves, WayFacts};
use crate::write::zones::Zones;
use crate::write::zones::over::code_over;
use ftl::{Stream, UnitId};
use nand::{FlashArray, Member, OobTag, PageRole};
use protect::{DisturbLimits, Protection, StripeScheme};
use vocab::{BlockAddr, Grid, Lpn, Nanos, Ppn, Slot, StripSet, StripeId};

/// The coverage in the OOB bytes of a page that moves away from `from`: that of the page, where a mount or a decoder needs it.
pub(crate) fn coverage_to_keep<P: FlashPayload>(way: Way, core: &Core<P>, from: Slot) -> StripSet {
    let kept = match way.facts().coverage {
        CoverageMoves::Always => true,
        CoverageMoves::WhereMountable => core.is_mountable(),
        CoverageMoves::Never => false,
    };
    let ppn = core.device.grid.page_of(from).0;
    if kept && core.device.is_programmed(ppn) { core.device.array.page(ppn).oob.coverage } else { StripSet::EMPTY }
}

/// Questions that other components may ask of any way of writing.
pub(crate) trait WayInUse<P: FlashPayload>: HostSide + Redundancy<P> {}

impl<P: FlashPayload, W: HostSide + Redundancy<P>> WayInUse<P> for W {}

/// The way of writing that is in use, with its scheme and all that it keeps.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "a drive has one, and no pointer leads to it")]
enum InUse<P: FlashPayload> {
    /// [`Writer::pages`] has all of it.
    Pages,
    Stripes(Stripes<P>),
    Rows(Rows<P>),
    Groups(Groups<P>),
    /// [`Writer::zones`] has all of it.
    Zones,
}

/// The way of writing, and what it shares with others.
#[derive(Clone)]
pub(crate) struct Writer<P: FlashPayload> {
    pub way: Way,
    /// Its row of the table.
    pub facts: &'static WayFacts,
    in_use: InUse<P>,
    /// Whether the way has work for times in which the host asks for nothing.
    pub uses_idle_time: bool,
    /// Whether the way wants to know that a die has taken up one of its programs: it has a cache whose slots are free then.
    pub hears_launches: bool,
    /// Whether the drive has code zones, be they its way of writing or over one.
    pub has_code_zones: bool,
    /// Blocks of each die kept free for parity: see [`commit_reserve`].
    pub commit_reserve: u32,
    /// Pages of region logs: those that collectors move, whatever the way, and those without redundancy.
    pub pages: PageWriter,
    /// Pages on their way from a victim, or from a failed program, to a row or block group.
    pub moves: Moves<P>,
    /// Limits on reads and age that the scheme has beside it.
    limits: Option<DisturbLimits>,
    /// State that a drive of code zones has beside its map, be they a way of writing or over one; `None` without them.
    pub zones: Option<Box<Zones<P>>>,
}

impl<P: FlashPayload> Writer<P> {
    /// Nothing written yet.
    ///
    /// # Errors
    /// A parity cache that is too small for block groups, in words.
    pub fn new(setup: &Setup, protection: Protection, grid: &Grid, logs: usize) -> Result<Self, String> {
        let code = code_over(&setup.drive, &setup.scheme).map_err(|error| error.to_string())?;
        let (way, commit_reserve) = (Way::of(&protection), commit_reserve(&protection, grid));
        let streams = 1 + u32::from(setup.gc.separate_write_pointer);
        let in_use = match &protection {
            Protection::None => InUse::Pages,
            Protection::Zones(_) => InUse::Zones,
            Protection::Stripes(scheme) => InUse::Stripes(Stripes::new(scheme.boxed_clone(), &setup.power, setup.user_slots)),
            Protection::Rows(scheme) => InUse::Rows(Rows::new(&**scheme)),
            Protection::Groups(scheme) => {
                InUse::Groups(Groups::new(&**scheme, grid.blocks_per_die(), streams, &setup.scheme.name)?)
            }
        };
        let stripes = protection.stripes();
        let zones = Zones::new(&protection, code);
        Ok(Self {
            way,
            facts: way.facts(),
            in_use,
            uses_idle_time: stripes.is_some_and(|scheme| scheme.worn_above().is_some()),
            hears_launches: stripes.is_some_and(|scheme| scheme.parity_cache() > 0),
            commit_reserve,
            pages: PageWriter::new(logs, &setup.gc.streams),
            moves: Moves::default(),
            limits: protect::registry::limits(&setup.scheme).map_err(|error| error.to_string())?,
            has_code_zones: zones.is_some(),
            zones,
        })
    }

    /// The way of writing that is in use, on the core's flash.
    pub fn in_use(&self, _core: &Core<P>) -> &dyn WayInUse<P> {
        match &self.in_use {
            InUse::Pages => &self.pages,
            InUse::Stripes(stripes) => stripes,
            InUse::Rows(rows) => rows,
            InUse::Groups(groups) => groups,
            InUse::Zones => self.zones(),
        }
    }

    /// The static stripes of a drive that has them.
    #[inline]
    pub fn stripes_if_any(&self) -> Option<&Stripes<P>> {
        if let InUse::Stripes(stripes) = &self.in_use { Some(stripes) } else { None }
    }

    /// See [`Self::stripes_if_any`].
    #[inline]
    pub fn stripes_if_any_mut(&mut self) -> Option<&mut Stripes<P>> {
        if let InUse::Stripes(stripes) = &mut self.in_use { Some(stripes) } else { None }
    }

    /// The block groups of a drive that has them.
    #[inline]
    pub fn groups_if_any(&self) -> Option<&Groups<P>> {
        if let InUse::Groups(groups) = &self.in_use { Some(groups) } else { None }
    }

    /// See [`Self::groups_if_any`].
    #[inline]
    pub fn groups_if_any_mut(&mut self) -> Option<&mut Groups<P>> {
        if let InUse::Groups(groups) = &mut self.in_use { Some(groups) } else { None }
    }

    /// Counts again what the way derives from its state; for tests, which it panics in.
    pub fn check_counts(&self, core: &Core<P>) {
        let Some(stripes) = self.stripes_if_any() else { return };
        stripes.check_parity_cache(core);
        if stripes.worn_above.is_some() {
            stripes.check_worn_strips(core);
        }
    }

    /// Counts of what was written to block groups so far.
    pub fn group_stats(&self, core: &Core<P>) -> GroupStats {
        self.groups_if_any().map(|groups| groups.stats(core)).unwrap_or_default()
    }

    /// The code zones of a drive that has them.
    pub fn zones(&self) -> &Zones<P> {
        self.zones.as_ref().expect("a drive of code zones")
    }

    /// See [`Self::zones`].
    pub fn zones_mut(&mut self) -> &mut Zones<P> {
        self.zones.as_mut().expect("a drive of code zones")
    }

    /// Whether an update of the page's stripe is half in the map.
    pub fn is_being_programmed(&self, lpn: Lpn) -> bool {
        self.stripes_if_any().is_some_and(|stripes| stripes.is_being_programmed(stripes.strip_of(lpn).0))
    }

    /// The scheme of static stripes, at the stage of its life that it is in, where the drive has one.
    pub fn stripe_scheme(&self) -> Option<&dyn StripeScheme> {
        self.stripes_if_any().map(Stripes::scheme)
    }

    /// Whether parity that GC may come to wait for finds room in every log that is `alive`.
    pub fn commits_have_room(&self, core: &Core<P>, alive: impl Fn(usize) -> bool) -> bool {
        let may_wait = self.stripes_if_any().is_some_and(Stripes::may_keep_gc_waiting);
        !may_wait || (0..core.map.logs()).filter(|&log| alive(log)).all(|log| core.map.has_room(log, Stream::Commit))
    }

    /// Whether there is no room for what the unit holds, though the log has free units: a block group may hold
    /// more than one group of the code now in use.
    pub fn lacks_room_for(&self, core: &Core<P>, unit: UnitId) -> bool {
        self.way == Way::Groups && !core.map.has_room_for_group(unit)
    }

    /// Whether pages may lie on any die.
    pub fn places_pages_anywhere(&self) -> bool {
        self.facts.without_reserve == WithoutReserve::OtherDie
    }

    /// Whether the other strips of a page's stripe bring it back, so that the controller may keep it until there is
    /// room for it.
    pub fn may_park(&self, core: &Core<P>, role: PageRole) -> bool {
        let Some(stripes) = self.stripes_if_any() else { return false };
        let Some((stripe, _)) = stripes.strip_of_role(role) else { return false };
        stripes.stripe_state(core, stripe).1.is_empty() && stripes.is_protected(core, stripe)
    }

    /// Whether all that a block holds may be kept in the controller until the block is erased.
    fn may_park_all(&self, core: &Core<P>, block: BlockAddr) -> bool {
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
    pub fn has_nowhere_to_go(&self, core: &Core<P>, log: usize, victim: UnitId) -> bool {
        let of_host = |log| core.map.host_write_pointers().any(|stream| core.map.has_room(log, stream));
        let of_gc = |log| core.map.gc_write_pointers().any(|stream| core.map.has_room(log, stream));
        if of_gc(log) || of_host(log) || core.map.unit(victim).valid == 0 {
            return false;
        }
        match self.facts.without_reserve {
            WithoutReserve::OtherDie => !(0..core.map.logs()).any(of_host),
            WithoutReserve::Park => !self.may_park_all(core, BlockAddr(victim)),
            WithoutReserve::Nothing => true,
        }
    }

    /// The stripe of a page that would come to lie on a worn block while its stripe lacks the parity it
    /// needs then.
    #[inline]
    pub fn lacks_parity_to_move(&self, core: &mut Core<P>, log: usize, tag: OobTag) -> Option<StripeId> {
        let stripes = self.stripes_if_any()?;
        let (limit, lpn) = (stripes.worn_above?, data_of(tag)?);
        let (stripe, _) = stripes.strip_of(lpn);
        let worn = core.map.next_pe(log, Stream::Gc).is_some_and(|pe| pe > limit.0);
        (worn && stripes.can_build(core, stripe) && self.wants_parity_when_worn(stripe)).then_some(stripe)
    }

    /// Limits on reads and age that blocks have now.
    pub fn limits(&self) -> Option<DisturbLimits> {
        self.stripe_scheme().and_then(|scheme| scheme.limits()).or(self.limits)
    }

    /// Whether the stripe is to have parity once one of its strips lies on a worn block.
    pub fn wants_parity_when_worn(&self, stripe: StripeId) -> bool {
        self.stripe_scheme().is_some_and(|scheme| scheme.wants_parity(stripe, true))
    }

    /// Whether the stripes on a block with this many P/E cycles have parity because the block is worn.
    pub fn has_parity_for_worn(&self, pe: u32) -> bool {
        self.stripes_if_any().and_then(|stripes| stripes.worn_above).is_some_and(|limit| pe > limit.0)
            && self.wants_parity_when_worn(StripeId(0))
    }

    /// Time between two rows that the scrub reads; `None`: there is no scrub.
    pub fn scrub_interval(protection: &Protection) -> Option<Nanos> {
        let pace = protection.rows().map_or(0, |scheme| scheme.scrub_rows_per_s());
        (pace > 0).then(|| Nanos(1_000_000_000 / u64::from(pace)))
    }

    /// A unit was erased: parity that found no room may find some now, and the unit may be worn from now on.
    pub fn unit_erased(&mut self, core: &Core<P>, unit: UnitId) {
        if let Some(stripes) = self.stripes_if_any_mut() {
            stripes.unit_erased(core, unit);
        }
    }
}

/// Blocks of each die kept free so that every partial parity can be committed, and stripes that
/// come to need parity can get it, while GC waits for it.
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

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod toy;
