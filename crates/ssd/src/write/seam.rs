//! The one seam to change a way of writing, whichever is in use: what the engine tells it. The seam to ask it is
//! [`WayInUse`](crate::write::WayInUse). A way that has nothing to do for an event does nothing.
//!
//! A handler changes the way and the core, and pushes effects; the engine hands these on when it has returned.

use crate::core::Core;
use crate::core::effects::Effect;
use crate::core::flash::FlashPayload;
use crate::core::ids::OpId;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::write::group_log::{Feed, Placed};
use crate::write::groups::{GroupRemains, Groups};
use crate::write::rescue::AwaitsRescue;
use crate::write::rows::loss::Uncovered;
use crate::write::stripes::partial::PartialParityRemains;
use crate::write::{InUse, Writer};
use device::slab::{ImageId, JobId};
use ftl::{Place, Stream, UnitId};
use nand::{PageRole, ProgramOutcome, ReadOutcome};
use protect::GroupScheme;
use std::collections::BTreeSet;
use vocab::{DieId, Lpn, Ppn, Slot, StripSet, StripeId};

/// Pages get places.
impl<P: FlashPayload> Writer<P> {
    /// Hands the job's pages to logs, as far as that goes without effects of it.
    #[inline]
    pub fn place(&mut self, core: &mut Core<P>, job: JobId) -> Placed {
        match &mut self.in_use {
            InUse::Pages => self.pages.place(core, job),
            InUse::Stripes(stripes) => {
                stripes.place(core, job);
                Placed::All
            }
            InUse::Rows(rows) => rows.place(core, job),
            InUse::Groups(groups) => groups.place(core, job),
            InUse::Zones => unreachable!("pages of code zones wait in their segments one by one"),
        }
    }

    /// Writes moved pages to the group log.
    pub fn place_moves(&mut self, core: &mut Core<P>, feed: Feed) -> Placed {
        match &mut self.in_use {
            InUse::Rows(rows) => rows.place_moves(core, &mut self.moves, feed),
            InUse::Groups(groups) => groups.place_moves(core, &mut self.moves, feed),
            InUse::Pages | InUse::Stripes(_) | InUse::Zones => Placed::All,
        }
    }

    /// Data that wait for company get the parity that is due without it. True if there were any.
    pub fn cover_open(&mut self, core: &mut Core<P>) -> bool {
        if let InUse::Rows(rows) = &mut self.in_use { rows.cover_open_rows(core) } else { false }
    }

    /// Pages of a discard that stay in the map are hidden.
    pub fn discard(&mut self, core: &mut Core<P>, job: JobId) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.discard(core, job);
        }
    }

    /// A stripe gets the parity that it lacks; then the target goes on that waits for it.
    pub fn build_parity(&mut self, core: &mut Core<P>, stripe: StripeId, waiter: Option<Target>) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.build_parity(core, stripe, waiter);
        }
    }

    /// The page gets other contents in the map, now.
    #[inline]
    pub fn contents_change(&mut self, core: &mut Core<P>, lpn: Lpn) {
        if let Some(zones) = &mut self.zones {
            zones.contents_change(core, lpn);
        }
    }

    /// The contents lay there and have another place in the map now.
    #[inline]
    pub fn note_move_of(&mut self, core: &Core<P>, role: PageRole, from: Place) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.note_move_of(core, role, from);
        }
    }

    /// The drive has its age: its life begins now.
    pub fn life_begins(&mut self) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.stages.clear();
        }
    }

    /// The current contents of a page have this rank.
    pub fn note_version(&mut self, role: PageRole, rank: u64) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.note_version(role, rank);
        }
    }

    /// The old version of a page that a partial parity needs will not lie in slot `from` but in `to`, which is pinned. The unit that
    /// needs no pin for it any more.
    pub fn old_goes_to(&mut self, core: &mut Core<P>, role: PageRole, from: Slot, to: Slot) -> Option<UnitId> {
        let stripes = self.stripes_if_any_mut().filter(|stripes| !stripes.held.is_empty())?;
        let (stripe, strip) = stripes.strip_of_role(role)?;
        let map = &mut core.map;
        let goes = stripes.held.old_goes_to(stripe, strip, from, to, |slot| map.unit_of(slot));
        goes.then(|| {
            map.pin(map.unit_of(to));
            map.unit_of(from)
        })
    }

    /// A page moves that names the strips of its stripe which are present.
    pub fn name_strips(&mut self, core: &mut Core<P>, image: ImageId, stripe: StripeId) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.tell_strips(core, image, stripe, StripSet::EMPTY, 0);
        }
    }
}

/// Commands end, and what was left for later is done.
impl<P: FlashPayload> Writer<P> {
    /// A page that the way reads to write others was read, or cannot be.
    #[inline]
    pub fn read_ended(&mut self, core: &mut Core<P>, owner: Owner, ppn: Ppn, outcome: ReadOutcome) {
        match (&mut self.in_use, owner) {
            (InUse::Stripes(stripes), Owner::Stripe { op, strip }) => {
                stripes.read_done(core, ppn, op, u32::from(strip), outcome);
            }
            (_, owner) => unreachable!("{owner:?} reads nothing"),
        }
    }

    /// The program of a page of the way has ended: with the page in flash, or lost.
    #[inline]
    pub fn program_ended(&mut self, core: &mut Core<P>, owner: Owner, image: ImageId, outcome: ProgramOutcome) {
        match (&mut self.in_use, owner) {
            (InUse::Rows(rows), Owner::Cover { cover, holds }) => {
                rows.program_ended(core, &mut self.moves, image, cover, holds, outcome);
            }
            (InUse::Groups(groups), Owner::GroupPage { row, codeword, holds }) => {
                groups.program_ended(core, &mut self.moves, image, (row, u32::from(codeword)), holds, outcome);
            }
            (InUse::Stripes(stripes), Owner::Stripe { op, strip }) => {
                stripes.program_done(core, image, op, u32::from(strip), outcome);
            }
            (InUse::Zones, Owner::Code { encode }) => self.zones().code_programmed(core, image, encode, outcome),
            (_, Owner::NoOne) => {}
            (_, owner) => unreachable!("{owner:?} programs nothing"),
        }
    }

    /// A die has taken up a program. The logical page that the write buffer need not keep any longer.
    pub fn launched(&mut self, core: &mut Core<P>, owner: Owner) -> Option<Lpn> {
        match (&mut self.in_use, owner) {
            (InUse::Stripes(stripes), Owner::Stripe { op, strip }) => stripes.launched(core, op, u32::from(strip)),
            _ => None,
        }
    }

    /// The old contents of a partly written strip are known, or lost permanently.
    pub fn merged(&mut self, core: &mut Core<P>, op: OpId, strip: u32, old: Option<&P>) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.merge_repaired(core, op, strip, old);
        }
    }

    /// A page of the stripe is solved for when the update under way has ended.
    pub fn wait_for_update(&mut self, stripe: StripeId, target: Target) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.wait_for_stripe(stripe, target);
        }
    }

    /// The timer of sums is due.
    pub fn summing_due(&mut self, core: &mut Core<P>) {
        if let InUse::Groups(groups) = &mut self.in_use {
            groups.summing_due(core);
        }
    }

    /// Goes on with what was left for later, behind an effect.
    #[inline(always)]
    pub fn go_on(&mut self, core: &mut Core<P>, step: &Effect) {
        match (&mut self.in_use, step) {
            (InUse::Stripes(stripes), Effect::Stripes(step)) => stripes.go_on(core, *step),
            (InUse::Rows(rows), Effect::AnswerCovered) => {
                rows.answer_covered(core);
            }
            (InUse::Rows(rows), Effect::FinishCover { cover }) => rows.finish_cover(core, &mut self.moves, *cover),
            (InUse::Rows(rows), Effect::EndCover { cover }) => rows.end_cover(core, &mut self.moves, *cover),
            (InUse::Groups(groups), Effect::GroupDataEnded { row, codeword, ppn }) => {
                groups.data_ended(core, (*row, *codeword), *ppn);
            }
            (_, Effect::SettleRescued) => self.settle_rescued(core),
            (_, step) => unreachable!("{step:?} is for another component"),
        }
    }
}

/// Units are condemned and emptied, dies and blocks fail.
impl<P: FlashPayload> Writer<P> {
    /// A unit is a victim from now on: what keeps old versions in it is to let them go.
    pub fn unit_condemned(&mut self, core: &mut Core<P>, unit: UnitId) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.commit_pinned_in(core, unit);
        }
    }

    /// A victim has nothing any more: it was erased, or is bad.
    pub fn unit_emptied(&mut self, core: &mut Core<P>, unit: UnitId) {
        match &mut self.in_use {
            InUse::Stripes(stripes) => stripes.commit_deferred(core),
            InUse::Rows(rows) => rows.superblock_was_emptied(core, unit),
            InUse::Groups(groups) => groups.group_erased(core, unit),
            InUse::Pages | InUse::Zones => {}
        }
    }

    /// The die takes no further page that this write pointer writes: of any row, or of those of the superblock whose block failed.
    /// Block groups are narrowed all together, with the first write pointer.
    pub fn narrow(&mut self, core: &mut Core<P>, write_pointer: usize, die: DieId, superblock: Option<u32>) {
        match &mut self.in_use {
            InUse::Rows(rows) => rows.narrow(core, &mut self.moves, write_pointer, die, superblock),
            InUse::Groups(groups) if write_pointer == 0 => groups.narrow(core, die, superblock),
            InUse::Groups(_) | InUse::Pages | InUse::Stripes(_) | InUse::Zones => {}
        }
    }

    /// The open row or group of the stream ends, with parity over all its data; only in `superblock`, if one is given. Of block groups only that
    /// superblock ends: which groups end with a die is decided when they are narrowed.
    pub fn end_open(&mut self, core: &mut Core<P>, stream: Stream, superblock: Option<u32>) {
        match (&mut self.in_use, superblock) {
            (InUse::Rows(rows), _) => rows.end_open_row(core, stream, superblock),
            (InUse::Groups(groups), Some(group)) if stream == Stream::Host => groups.abandon(core, group),
            _ => {}
        }
    }

    /// Lets one go that waits for rescued pages, if they are safe by now.
    pub fn settle_rescued(&mut self, core: &mut Core<P>) {
        match &mut self.in_use {
            InUse::Rows(rows) => rows.settle_rescued(core, &mut self.moves),
            InUse::Groups(groups) => groups.settle_rescued(core, &mut self.moves),
            InUse::Pages | InUse::Stripes(_) | InUse::Zones => false,
        };
    }

    /// Rescued pages find no room: their codewords stand in for them where they can. True if that changed anything.
    pub fn give_up_rescue(&mut self, core: &mut Core<P>, waiting: AwaitsRescue) -> bool {
        let in_use = &self.in_use;
        self.moves.give_up(core, waiting, |core, lpn| match in_use {
            InUse::Rows(rows) => rows.is_solvable(core, lpn),
            InUse::Groups(groups) => groups.is_solvable(core, lpn),
            InUse::Pages | InUse::Stripes(_) | InUse::Zones => false,
        })
    }
}

/// Writes and answers of the way that wait for room, or for parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnRoom {
    /// Updates of stripes, for room in the parity cache.
    ParityCache,
    /// Updates of stripes, for space.
    StripeUpdates,
}

impl<P: FlashPayload> Writer<P> {
    /// Whether anything waits there.
    pub fn has_waiting(&self, room: OwnRoom) -> bool {
        let Some(stripes) = self.stripes_if_any() else { return false };
        match room {
            OwnRoom::ParityCache => stripes.held.has_waiting(),
            OwnRoom::StripeUpdates => !stripes.stalled.is_empty(),
        }
    }

    /// Tries again what waits there, in order.
    pub fn retry(&mut self, core: &mut Core<P>, room: OwnRoom) {
        let Some(stripes) = self.stripes_if_any_mut() else { return };
        match room {
            OwnRoom::ParityCache => stripes.serve_waiting_for_room(core),
            OwnRoom::StripeUpdates => stripes.retry_stalled(core),
        }
    }

    /// The first one there will never get what it waits for. True if there was anything.
    pub fn give_up_first(&mut self, core: &mut Core<P>, room: OwnRoom) -> bool {
        let Some(stripes) = self.stripes_if_any_mut() else { return false };
        match room {
            OwnRoom::ParityCache => stripes.fail_first_waiting_for_room(core),
            OwnRoom::StripeUpdates => stripes.fail_first_stalled(core),
        }
    }

    /// Whether answers wait for another parity of their data.
    pub fn has_uncovered(&self) -> bool {
        if let InUse::Rows(rows) = &self.in_use { rows.has_uncovered() } else { false }
    }

    /// Those answers.
    pub fn take_uncovered(&mut self) -> Vec<Uncovered> {
        if let InUse::Rows(rows) = &mut self.in_use { rows.take_uncovered() } else { Vec::new() }
    }

    /// No parity will come for these data: their jobs are answered.
    pub fn give_up_uncovered(&mut self, core: &mut Core<P>, given_up: &Uncovered) {
        if let InUse::Rows(rows) = &mut self.in_use {
            rows.give_up_uncovered(core, given_up);
        }
    }
}

/// Requests come, or none does.
impl<P: FlashPayload> Writer<P> {
    /// A run of requests begins.
    pub fn run_begins(&mut self, core: &mut Core<P>) {
        if let Some(zones) = &mut self.zones {
            zones.run_begins(core);
        }
    }

    /// A request arrives: work of idle times begins nothing more.
    #[inline]
    pub fn request_arrives(&mut self, core: &mut Core<P>) {
        if let Some(zones) = &mut self.zones {
            zones.request_arrives(core);
        }
    }

    /// The last request of a run was answered.
    pub fn host_is_done(&mut self, core: &mut Core<P>) {
        if let Some(zones) = &mut self.zones {
            zones.host_is_done(core);
        }
    }

    /// The time of an off-line phase has come.
    pub fn offline_due(&mut self, core: &mut Core<P>) {
        if let Some(zones) = &mut self.zones {
            zones.offline_due(core);
        }
    }

    /// Whether the way takes no requests now.
    #[inline]
    pub fn is_off_line(&self) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.encoder.is_off_line())
    }

    /// The host flushes.
    pub fn flush(&mut self, core: &mut Core<P>) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.flush_parity_cache(core);
        }
    }

    /// The host asks for nothing.
    pub fn use_idle_time(&mut self, core: &mut Core<P>) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.build_in_idle_time(core);
        }
    }

    /// The drive was aged: blocks may be worn that were not.
    pub fn blocks_aged(&mut self, core: &Core<P>) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.tell_worn_strips(core);
            // A life asks more than once.
            stripes.scheme_mut().look_again();
        }
    }

    /// Builds the parity of the next stripe that lacks it, whether there is time or not; false if none does.
    pub fn build_next(&mut self, core: &mut Core<P>) -> bool {
        let Some(stripes) = self.stripes_if_any_mut() else { return false };
        let count = stripes.stripe_count(core);
        let next = stripes.scheme_mut().next_unprotected(count);
        next.into_iter().for_each(|stripe| stripes.build_parity(core, stripe, None));
        next.is_some()
    }

    /// Whether units of a code that is no longer in use may be left.
    pub fn is_migrating(&self) -> bool {
        self.groups_if_any().is_some_and(Groups::is_migrating)
    }

    /// No such unit can be collected now. Looks whether there may be one later.
    pub fn settle_migration(&mut self, core: &Core<P>) {
        if let InUse::Groups(groups) = &mut self.in_use {
            groups.settle_migration(core);
        }
    }
}

/// Around a power cut and a mount.
impl<P: FlashPayload> Writer<P> {
    /// PLP memory of block groups, where the drive has such.
    pub fn group_remains(&self, core: &Core<P>) -> Option<GroupRemains<P>> {
        self.groups_if_any().map(|groups| groups.remains(core))
    }

    /// Whether an update restores redundancy that a cut or a loss took.
    pub fn is_healing(&self) -> bool {
        self.stripes_if_any().is_some_and(|stripes| stripes.ops.any(|op| op.heals))
    }

    /// Partial parities, which are in PLP memory.
    pub fn held_remains(&self) -> Vec<PartialParityRemains<P>> {
        self.stripes_if_any().map(|stripes| stripes.held.remains()).unwrap_or_default()
    }

    /// Stripes of which no page names the newest consistent state that a mount found.
    pub fn found_unnamed(&mut self, unnamed: BTreeSet<StripeId>) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.unnamed = unnamed;
        }
    }

    /// The drive has more dies, and a scheme and room for sums to suit them.
    pub fn grow(&mut self, scheme: &dyn GroupScheme, room: u32) {
        if let InUse::Groups(groups) = &mut self.in_use {
            groups.grow(scheme, room);
        }
    }

    /// Groups get room for what the drive has now.
    pub fn settle_space(&mut self, core: &mut Core<P>) {
        if let InUse::Groups(groups) = &mut self.in_use {
            groups.settle_space(core);
        }
    }

    /// Whether contents of the page may count at a mount.
    pub fn may_count(&self, core: &Core<P>, ppn: Ppn) -> bool {
        match &self.in_use {
            InUse::Groups(groups) => groups.is_known(core, ppn),
            InUse::Pages | InUse::Stripes(_) | InUse::Rows(_) | InUse::Zones => true,
        }
    }

    /// Units whose parity is not all in flash.
    pub fn take_unsettled(&mut self, core: &Core<P>) -> BTreeSet<UnitId> {
        let pages = core.device.grid.pages_per_block();
        self.groups_if_any_mut().map(|groups| groups.take_unsettled(pages)).unwrap_or_default()
    }

    /// The host is heard from now on: pages that were there are members of their sums like any other, since the host may have read them.
    pub fn mount_ended(&mut self) {
        match &mut self.in_use {
            InUse::Stripes(stripes) => stripes.unnamed.clear(),
            InUse::Groups(groups) => groups.redo.clear(),
            InUse::Pages | InUse::Rows(_) | InUse::Zones => {}
        }
    }

    /// All pages that might not have lasted are written again.
    pub fn all_settled(&mut self) {
        if let InUse::Stripes(stripes) = &mut self.in_use {
            stripes.held.all_settled();
        }
    }
}
