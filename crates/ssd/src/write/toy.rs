//! A toy way of writing, for tests alone: each page lies on two dies. It shows what a way of writing consists of
//! (ARCHITECTURE.md, "Adding a way of writing"), and that it needs the core and nothing above it.

use crate::config::BufferKind;
use crate::core::effects::{Effect, Popped};
use crate::core::flash::FlashPayload;
use crate::core::jobs::{Asker, PageWrite};
use crate::core::owner::{Holds, Owner};
use crate::core::target::Target;
use crate::core::testing::{TinyCore, tiny_core, tiny_setup};
use crate::core::{Core, oob_covering};
use crate::write::host_side::{EvictedWith, HostSide, Promise};
use crate::write::sources::{Redundancy, Sources};
use device::contents::{HostPayload, Tag};
use device::facts::RequestKind;
use device::image::Contents;
use device::slab::{ImageId, JobId};
use ftl::{Place, Stream};
use nand::{FlashArray, OobTag, ProgramOutcome};
use std::collections::BTreeSet;
use vocab::{Cause, DieId, Grid, Lpn, Ppn, SimTime, StripeId};

/// Mirrors being written. The second copy is the parity of a stripe of one page.
#[derive(Default)]
struct Mirrors {
    /// Images whose other copy has failed: they must not.
    alone: BTreeSet<ImageId>,
    /// The other copy of each image under way.
    pairs: Vec<(ImageId, ImageId)>,
}

/// How far a job's pages were placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placed {
    All,
    NoRoom,
}

impl Mirrors {
    fn homes<P: FlashPayload>(core: &Core<P>, lpn: Lpn) -> [DieId; 2] {
        let dies = core.device.grid.dies();
        [0, 1].map(|copy| DieId(((lpn.0 + copy) % dies) as u16))
    }

    /// Puts the job's pages on their dies, from where it stopped before. Wishes for GC are effects.
    fn place<P: FlashPayload>(&mut self, core: &mut Core<P>, job: JobId) -> Placed {
        while let Some(page) = core.jobs[job].pages.get(core.jobs[job].next) {
            let (lpn, payload) = (page.lpn, page.payload.clone());
            let homes = Self::homes(core, lpn);
            if let Some(die) = homes.iter().find(|die| !core.map.has_room(die.index(), Stream::Host)) {
                core.collect_if_short(die.index());
                return Placed::NoRoom;
            }
            let update = core.device.next_rank();
            let tags = [OobTag::data(lpn), OobTag::parity(StripeId(lpn.0))];
            let images = [0, 1].map(|copy| {
                let ppn = core.map.take_page(homes[copy].index(), Stream::Host).expect("room was checked");
                let image = core.device.images.open(ppn, oob_covering(vocab::StripSet::one(homes[1 - copy].0.into())));
                let slot = core.next_slot_of(image);
                let published =
                    if copy == 0 { core.map.publish(lpn, slot) } else { core.map.publish_parity(StripeId(lpn.0), slot) };
                let contents = Contents { tag: tags[copy], payload: payload.clone(), update };
                core.device.images.fill(image, contents, Some(job), published.pinned);
                core.submit_program(image, Owner::Page { log: homes[copy].0, holds: Holds::Data }, Cause::Host);
                core.jobs[job].remaining += 1;
                image
            });
            self.pairs.push(images.into());
            core.jobs[job].next += 1;
        }
        Placed::All
    }

    /// A program has ended: the old copy may go, and the job has one part less to wait for. It fails with both copies.
    fn program_ended<P: FlashPayload>(&mut self, core: &mut Core<P>, image: ImageId, outcome: ProgramOutcome) {
        let (_, job, pin) = core.device.images.slot(image, 0);
        let job = job.expect("a job waits for every copy");
        if outcome == ProgramOutcome::Failed {
            core.jobs[job].failed |= self.alone.contains(&image);
            let other = self.pairs.iter().find_map(|&(a, b)| if a == image { Some(b) } else { (b == image).then_some(a) });
            self.alone.extend(other);
        }
        if let Some(pin) = pin {
            core.release(pin);
        }
        core.part_done(job);
    }

    /// The copies of a logical page on dies that live.
    fn copies_of<P: FlashPayload>(core: &Core<P>, lpn: Lpn) -> Vec<Ppn> {
        let places = [core.map.lookup(lpn), core.map.lookup_parity(StripeId(lpn.0))];
        let pages = places.into_iter().filter_map(|place| if let Place::At(slot) = place { Some(slot) } else { None });
        let pages = pages.map(|slot| core.device.grid.page_of(slot).0);
        pages.filter(|&ppn| !core.device.is_dead(core.device.grid.die_of(ppn))).collect()
    }
}

impl<P: FlashPayload> Redundancy<P> for Mirrors {
    fn brings_back(&self, core: &Core<P>, target: Target, failed: &[Ppn]) -> Sources<P> {
        let Some(lpn) = core.lpn_wanted(target) else { return Sources::None };
        if core.map.lookup(lpn) == Place::Unmapped {
            return Sources::Discarded;
        }
        let copy = Self::copies_of(core, lpn).into_iter().find(|ppn| !failed.contains(ppn));
        copy.map_or(Sources::None, |ppn| Sources::Sum { held: P::default(), pages: vec![ppn], slot: 0 })
    }

    fn pages_that_bring_back(&self, core: &Core<P>, lpn: Lpn, _place: Option<(Ppn, u32)>) -> Option<Vec<Ppn>> {
        Self::copies_of(core, lpn).first().map(|&ppn| vec![ppn])
    }
}

impl HostSide for Mirrors {
    fn promise(&self) -> Promise {
        Promise { dies: 1, needs_safe_memory: false }
    }

    fn full_write(&self, _grid: &Grid) -> u32 {
        1
    }

    fn evicted_with(&self, _lpn: Lpn, grid: &Grid, _dead: u32) -> EvictedWith {
        EvictedWith::Oldest { most: grid.dies() as usize / 2, each: 1 }
    }
}

/// Mirrors on a tiny drive without time.
fn mirrors() -> (TinyCore, Mirrors) {
    let mut core = tiny_core(&tiny_setup("none", BufferKind::Off));
    core.device.timed = false;
    (core, Mirrors::default())
}

fn job(core: &mut TinyCore, lpns: std::ops::Range<u32>, version: u32) -> JobId {
    let job = core.jobs.take();
    core.jobs[job].reset(Asker::Host, RequestKind::Write, SimTime::ZERO);
    let write = |lpn| PageWrite { lpn, version, payload: Tag::stamp(lpn, version, 8), from: 0, to: 8, rank: 0 };
    core.jobs[job].pages.extend(lpns.map(|lpn| write(Lpn(lpn))));
    job
}

/// Ends the next program, as the engine would; what the mirrors want of others.
fn end_next(core: &mut TinyCore, mirrors: &mut Mirrors, outcome: ProgramOutcome) -> Vec<Popped<Tag>> {
    let (id, _) = core.device.next_ready().expect("a program is under way");
    let command = core.device.commands[id];
    if outcome == ProgramOutcome::Done {
        assert!(core.device.program(&command).is_done());
    }
    mirrors.program_ended(core, command.image, outcome);
    core.device.commands.give(id);
    std::iter::from_fn(|| core.out.pop()).collect()
}

fn parts_done(effects: &[Popped<Tag>], job: JobId) -> usize {
    effects.iter().filter(|effect| matches!(effect, Popped::Effect(Effect::PartDone { job: done }) if *done == job)).count()
}

#[test]
fn a_page_is_on_two_dies_and_its_job_waits_for_both() {
    let (mut core, mut mirrors) = mirrors();
    let job = job(&mut core, 3..5, 1);
    // Two copies of two pages, and the placing itself.
    assert_eq!((mirrors.place(&mut core, job), core.jobs[job].remaining), (Placed::All, 5));
    let done: Vec<usize> = (0..4).map(|_| parts_done(&end_next(&mut core, &mut mirrors, ProgramOutcome::Done), job)).collect();
    assert_eq!(done, [1; 4]);
    for lpn in [3, 4].map(Lpn) {
        let mut dies = BTreeSet::new();
        for dead in Mirrors::homes(&core, lpn) {
            let before = core.device.losses.clone();
            core.device.losses.die_died(dead);
            let target = Target::Merge { job, page: lpn.0 - 3, failed: None };
            let Sources::Sum { pages, .. } = mirrors.brings_back(&core, target, &[]) else { panic!("one copy is left") };
            assert_eq!(core.device.array.payload(pages[0]), [Tag::stamp(lpn, 1, 8)]);
            assert!(matches!(mirrors.brings_back(&core, target, &pages), Sources::None), "it failed, too");
            dies.insert(core.device.grid.die_of(pages[0]));
            core.device.losses = before;
        }
        assert_eq!(dies.len(), 2, "copies on different dies");
    }
}

#[test]
fn old_copies_are_pinned_until_the_new_ones_are_in_flash() {
    let (mut core, mut mirrors) = mirrors();
    for version in [1, 2] {
        let job = job(&mut core, 0..1, version);
        mirrors.place(&mut core, job);
        let pins = |core: &TinyCore| (0..core.map.units()).map(|unit| core.map.unit(unit as u32).pins).sum::<u32>();
        let before = if version == 1 { [0, 0, 0] } else { [2, 1, 0] };
        assert_eq!(pins(&core), before[0]);
        for left in &before[1..] {
            end_next(&mut core, &mut mirrors, ProgramOutcome::Done);
            assert_eq!(pins(&core), *left);
        }
    }
}

#[test]
fn a_job_fails_with_both_copies_and_not_with_one() {
    for (ends, fails) in
        [([ProgramOutcome::Failed, ProgramOutcome::Done], false), ([ProgramOutcome::Failed, ProgramOutcome::Failed], true)]
    {
        let (mut core, mut mirrors) = mirrors();
        let job = job(&mut core, 0..1, 1);
        mirrors.place(&mut core, job);
        ends.into_iter().for_each(|outcome| drop(end_next(&mut core, &mut mirrors, outcome)));
        assert_eq!(core.jobs[job].failed, fails);
    }
}

#[test]
fn a_full_die_is_to_be_collected_and_the_job_goes_on_where_it_stopped() {
    let (mut core, mut mirrors) = mirrors();
    let placed = (0..64).find_map(|round| {
        let job = job(&mut core, 0..5, round + 1);
        (mirrors.place(&mut core, job) == Placed::NoRoom).then_some(core.jobs[job].next)
    });
    assert!(placed.is_some_and(|next| next < 5), "no one collects here");
    let wanted: Vec<_> = std::iter::from_fn(|| core.out.pop()).collect();
    assert!(matches!(wanted[..], [Popped::Effect(Effect::CollectIfShort { .. })]), "{wanted:?}");
}
