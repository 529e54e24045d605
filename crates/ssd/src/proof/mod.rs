//! Access that proofs have to a drive: stop it between any two events, fork it, break the fork, read all of it back,
//! recompute every parity from flash, and list which page each PPN holds. For tests; no run uses it.

pub(crate) mod profiles;
pub(crate) mod raw;
pub(crate) mod watch;
pub(crate) mod whole;
mod zones;

use crate::config::Pace;
use crate::core::flash::FlashPayload;
use crate::proof::zones::{alternatives_in_flight, code_pages};

pub use crate::core::audit::{Audit, HeldSum};
use crate::engine::Engine;
use crate::result::RunResult;
use crate::session::{Asked, Inner, Prepared, Session, inside, kill};
use crate::write::stripes::partial::PartialParity;
use device::folds::Folds;
use ftl::Place;
use nand::{FlashArray, OobTag, PageRole};
use protect::code_zones::CodeGroupId;
use std::cell::Cell;
use vocab::{BlockAddr, DieId, HostCommand, HostOp, Lba, Lpn, Ppn, SimTime, StreamId, StripSet, StripeId};

/// A permanent loss, as the fault model of `nand` describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A die stops answering.
    Die(DieId),
    /// A block keeps nothing and takes nothing.
    Block(BlockAddr),
    /// A page is uncorrectable until its block is erased.
    Page(Ppn),
    /// A plane of a die keeps nothing and takes nothing: all its blocks are lost. Where the die has one
    /// plane, or its planes work as one, planes 0 and 1 stand for its even and odd blocks.
    Plane {
        /// The die.
        die: DieId,
        /// Which, below the number of planes and below 2 where there is one.
        plane: u32,
    },
    /// The programmed pages that share cells with this one, and itself, are uncorrectable until their block is erased.
    WordLine(Ppn),
    /// A block takes nothing any more; what it holds stays until an erase is tried.
    WornOut(BlockAddr),
}

/// Result of reading every logical page back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadBack {
    /// Pages that answered with a media error, in order.
    pub lost: Vec<Lpn>,
    /// The first wrong read in the life of the drive, in words. Anything here is a defect.
    pub wrong: Option<String>,
    /// Whether a read did not end within [`EVENTS_OF_A_READ`] events: those after it were not sent. This, too, is a defect.
    pub stuck: bool,
}

/// More events than any read takes.
const EVENTS_OF_A_READ: u64 = 200_000;

/// A programmed page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct StoredPage {
    /// Where it lies.
    pub ppn: Ppn,
    /// Contents of each slot, and whether they are current.
    pub slots: Vec<(PageRole, bool)>,
    /// Strips, or dies, that the page covers by its own account.
    pub coverage: StripSet,
    /// Whether a permanent loss took it.
    pub lost: bool,
}

/// Which page each PPN holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Inventory {
    /// Every programmed page, in order.
    pub pages: Vec<StoredPage>,
    /// Where the map has each logical page.
    pub places: Vec<Place>,
    /// Logical pages that the host is not answered from there: those in the buffer or in a page
    /// that is still being filled, and discarded ones that a stripe still holds.
    pub elsewhere: Vec<bool>,
    /// Partial parities.
    pub held: Vec<HeldParity>,
    /// Sums of pages of block groups.
    pub sums: Vec<HeldSum>,
    /// Valid code pages of code zones.
    pub code: Vec<CodePage>,
    /// Logical pages in rows that are being written: the controller still has their sum.
    pub in_open_row: Vec<bool>,
}

/// A partial parity in the parity cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeldParity {
    /// Its stripe.
    pub stripe: StripeId,
    /// Strips whose current versions it sums.
    pub covers: StripSet,
    /// Where these lay when the stored parity was written.
    pub old: Vec<(u32, Place)>,
}

/// A page of valid code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodePage {
    /// Where it lies.
    pub place: Place,
    /// The logical pages whose current contents it is the sum of.
    pub of: Vec<Lpn>,
}

/// Extra resources of reads in progress, beyond the wanted pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlternativesInFlight {
    /// Sub-requests for other pages, queued or in service.
    pub extra_reads: u32,
    /// Groups whose code reads may decode with, once for each read.
    pub code_of: Vec<CodeGroupId>,
}

impl Session {
    /// Replays as [`Session::run`] does, and stops before every event: `each` hears its number
    /// and may fork the drive as it is, commands in flight and all.
    pub fn run_stepwise(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        each: &mut dyn FnMut(u64, &mut dyn FnMut() -> Session),
    ) -> RunResult {
        match self.inner_mut() {
            Inner::Tag(prepared) => prepared.forks(commands, pace, each, |prepared| Inner::Tag(prepared.into())),
            Inner::Page(prepared) => prepared.forks(commands, pace, each, |prepared| Inner::Page(prepared.into())),
        }
    }

    /// Loses a part of the flash, permanently.
    pub fn fail(&mut self, failure: Failure) {
        inside!(self.inner_mut(), prepared => fail(&mut prepared.engine, failure));
    }

    /// Whether the die is dead, and no spare die has its place.
    #[must_use]
    pub fn is_dead(&self, die: DieId) -> bool {
        inside!(self.inner(), prepared => prepared.engine.core.device.is_dead(die))
    }

    /// A spare die is to take the place of a dead one, as soon as nothing is under way that knows its pages; of a group log once no
    /// superblock is left that was written before the death. Of a die that is not dead nothing is replaced.
    pub fn replace_die(&mut self, die: DieId) {
        inside!(self.inner_mut(), prepared => prepared.engine.replace_from(die, prepared.engine.core.device.now));
    }

    /// Whether such a replacement has not come yet.
    #[must_use]
    pub fn is_replacing(&self) -> bool {
        inside!(self.inner(), prepared => prepared.engine.care.replacements.is_any_asked())
    }

    /// Starts nothing more of a rebuild; what is in flight still completes.
    pub fn stop_rebuild(&mut self) {
        inside!(self.inner_mut(), prepared => prepared.engine.care.stop_rebuild());
    }

    /// Completes what is in flight, background work included, without new host commands.
    pub fn drain(&mut self) -> RunResult {
        self.run(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_| {})
    }

    /// Reads every logical page, one after the other.
    pub fn read_back(&mut self) -> ReadBack {
        let (lost, stuck) = inside!(self.inner_mut(), prepared => read_back(&mut prepared.engine));
        ReadBack { lost, wrong: self.first_mismatch().map(Into::into), stuck }
    }

    /// As [`Self::read_back`]; what is found is what every later read must find, unless it is written
    /// again: after a power cut a page may have one of several versions, but it has one.
    pub fn take_stock(&mut self) -> ReadBack {
        inside!(self.inner_mut(), prepared => prepared.engine.host.observation.settles_versions = true);
        let mut found = self.read_back();
        inside!(self.inner_mut(), prepared => {
            prepared.engine.host.observation.settles_versions = false;
            let oracle = &prepared.engine.host.oracle;
            found.lost.retain(|&lpn| !oracle.floor(lpn).discarded);
        });
        found
    }

    /// Recomputes the parity of every codeword from flash and compares it with the parity
    /// stored, and what flash says of each logical page with the map. The drive must be drained.
    /// Contents that a permanent loss took count as if they could be read: this checks what was
    /// written, [`Session::read_back`] what can be read.
    ///
    /// # Errors
    /// Says what differs.
    pub fn audit(&self) -> Result<Audit, String> {
        inside!(self.inner(), prepared => audit(&prepared.engine))
    }

    /// Extra resources of reads in progress, beyond the wanted pages.
    #[must_use]
    pub fn alternatives_in_flight(&self) -> AlternativesInFlight {
        inside!(self.inner(), prepared => alternatives_in_flight(&prepared.engine))
    }

    /// Which page each PPN holds.
    #[must_use]
    pub fn inventory(&self) -> Inventory {
        inside!(self.inner(), prepared => inventory(&prepared.engine))
    }
}

impl<P: FlashPayload> Prepared<P> {
    fn forks(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        each: &mut dyn FnMut(u64, &mut dyn FnMut() -> Session),
        wrap: fn(Prepared<P>) -> Inner,
    ) -> RunResult {
        let (setup, pe_before) = (self.setup.clone(), self.pe_before.clone());
        let (steady, warmed, buffered_before) = (self.steady, self.warmed, self.buffered_before);
        let mut number = 0;
        self.run_stepwise(Asked::One(commands, pace), &mut |_| {}, |engine| {
            let (setup, pe_before) = (&setup, &pe_before);
            each(number, &mut || {
                let (engine, setup, pe_before) = (engine.clone(), setup.clone(), pe_before.clone());
                Session::over(wrap(Prepared { engine, setup, steady, warmed, pe_before, buffered_before }))
            });
            number += 1;
            true
        })
    }
}

pub(crate) fn fail<P: FlashPayload>(engine: &mut Engine<P>, failure: Failure) {
    match failure {
        Failure::Die(die) => kill(engine, die),
        Failure::Block(block) => engine.core.device.array.lose_block(block),
        Failure::Plane { die, plane } => {
            let geometry = *engine.core.device.grid.geometry();
            let planes = (geometry.blocks_per_die() / geometry.blocks_per_plane).max(2);
            assert!(plane < planes, "{die} has planes 0 to {}, asked for {plane}", planes - 1);
            let blocks = (0..engine.core.device.grid.blocks_per_die()).filter(|block| block % planes == plane);
            blocks.for_each(|block| engine.core.device.array.lose_block(engine.core.device.grid.block(die, block)));
        }
        Failure::WornOut(block) => engine.core.device.array.wear_out(block),
        Failure::Page(ppn) => {
            assert!(engine.core.device.is_programmed(ppn), "{ppn} holds nothing that could be lost");
            engine.core.device.array.lose_page(ppn);
        }
        Failure::WordLine(ppn) => {
            let (grid, pairing) = (engine.core.device.grid.clone(), engine.core.safe.power.pairing);
            let (block, page) = grid.split(ppn);
            let line = pairing.word_line(page, grid.pages_per_block()).map(|page| grid.ppn(block, page));
            let programmed: Vec<Ppn> = line.filter(|&ppn| engine.core.device.is_programmed(ppn)).collect();
            programmed.into_iter().for_each(|ppn| engine.core.device.array.lose_page(ppn));
        }
    }
}

/// Logical pages that answered with a media error, and whether a read did not end.
fn read_back<P: FlashPayload>(engine: &mut Engine<P>) -> (Vec<Lpn>, bool) {
    engine.core.device.folds = Folds::new(engine.core.device.grid.slots_per_page());
    let (pages, per) = (engine.core.map.user_slots(), engine.host.requests.sectors_per_slot);
    let read = |lpn: u32| HostCommand {
        at: SimTime(0),
        op: HostOp::Read,
        lba: Lba(u64::from(lpn) * u64::from(per)),
        sectors: per,
        stream: StreamId::default(),
    };
    // One request at a time: what failed before the next arrives belongs to the last.
    let (mut lost, mut seen) = (Vec::new(), 0);
    let mut count = |errors: u64, next: u64| {
        if errors > seen {
            lost.push(Lpn(next as u32 - 1));
        }
        seen = errors;
    };
    let (sent, events) = (Cell::new(0), Cell::new(0));
    let mut each = |engine: &mut Engine<P>, next| {
        count(engine.core.device.folds.media_errors, next);
        sent.set(next + 1);
        events.set(0);
    };
    engine.replay_stepwise(&mut (0..pages).map(read), Pace::Closed { depth: 1 }, &mut each, |_| {
        events.set(events.get() + 1);
        events.get() < EVENTS_OF_A_READ
    });
    count(engine.core.device.folds.media_errors, sent.get());
    (lost, events.get() >= EVENTS_OF_A_READ)
}

fn is_in_open_row<P: FlashPayload>(engine: &Engine<P>, lpn: Lpn) -> bool {
    let page = engine.core.page_of(engine.core.map.lookup(lpn));
    page.is_some_and(|ppn| engine.writer.in_use(&engine.core).has_sum_of(&engine.core, ppn))
}

fn is_elsewhere<P: FlashPayload>(engine: &Engine<P>, lpn: Lpn) -> bool {
    let unsent = |slot| engine.writer.unsent(&engine.core, engine.core.device.grid.page_of(slot).0).is_some();
    let in_controller = matches!(engine.core.map.lookup(lpn), Place::At(slot) if unsent(slot));
    in_controller || engine.host.buffer.get(lpn).is_some() || engine.core.is_hidden(lpn)
}

fn inventory<P: FlashPayload>(engine: &Engine<P>) -> Inventory {
    let pages = (0..engine.core.device.grid.geometry().pages()).map(Ppn).filter(|&ppn| engine.core.device.is_programmed(ppn));
    let page = |ppn: Ppn| {
        let view = engine.core.device.array.page(ppn);
        let valid = |index: usize| engine.core.map.is_valid(engine.core.device.grid.slot(ppn, index as u32));
        let slots = view.tags.iter().enumerate().map(|(index, tag)| (tag.role(), valid(index))).collect();
        StoredPage { ppn, slots, coverage: view.oob.coverage, lost: engine.core.device.array.is_lost(ppn) }
    };
    let lpns = || (0..engine.core.map.user_slots()).map(Lpn);
    Inventory {
        pages: pages.map(page).collect(),
        places: lpns().map(|lpn| engine.core.map.lookup(lpn)).collect(),
        in_open_row: lpns().map(|lpn| is_in_open_row(engine, lpn)).collect(),
        elsewhere: lpns().map(|lpn| is_elsewhere(engine, lpn)).collect(),
        held: held_parities(engine),
        sums: engine.writer.groups_if_any().map(|groups| groups.held_sums(&engine.core)).unwrap_or_default(),
        code: code_pages(engine),
    }
}

pub(crate) fn audit<P: FlashPayload>(engine: &Engine<P>) -> Result<Audit, String> {
    assert!(engine.core.device.is_idle() && engine.core.device.commands.in_use() == 0, "audit the drive after it was drained");
    assert!(engine.writer.zones.is_none() || engine.reads.lazy.is_empty(), "audit the drive after it was drained");
    for lpn in (0..engine.core.map.user_slots()).map(Lpn) {
        audit_place(engine, lpn)?;
    }
    engine.writer.audit(&engine.core, engine.host.requests.read_only_since.is_some())
}

/// Checks the page's own account of itself against the map.
fn audit_place<P: FlashPayload>(engine: &Engine<P>, lpn: Lpn) -> Result<(), String> {
    let Place::At(slot) = engine.core.map.lookup(lpn) else { return Ok(()) };
    let (ppn, index) = engine.core.device.grid.page_of(slot);
    if !engine.core.device.is_stored(ppn) {
        return Ok(());
    }
    let tag = engine.core.device.array.tags(ppn)[index as usize];
    if tag == OobTag::data(lpn) { Ok(()) } else { Err(format!("{lpn} is mapped to {slot}, which holds {:?}", tag.role())) }
}

fn held_parities<P: FlashPayload>(engine: &Engine<P>) -> Vec<HeldParity> {
    let Some(stripes) = engine.writer.stripes_if_any() else { return Vec::new() };
    let held = |stripe| (stripe, stripes.held.get(stripe).expect("listed entries exist"));
    let parity =
        |(stripe, held): (StripeId, &PartialParity<P>)| HeldParity { stripe, covers: held.covers, old: held.old.clone() };
    stripes.held.stripes().map(held).map(parity).collect()
}
