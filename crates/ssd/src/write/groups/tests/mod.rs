//! Block groups alone: no host, no collector, no engine. Effects for others are kept and compared.

mod life;
mod loss;
mod mount;
#[cfg(unix)]
mod saved;

use crate::config::Setup;
use crate::core::Command;
use crate::core::Core;
use crate::core::effects::{Effect, Popped};
use crate::core::flash::FlashPayload;
use crate::core::owner::{Holds, Owner};
use crate::core::target::Target;
use crate::core::timer::Timer;
use crate::write::group_log::{Feed, Placed};
use crate::write::groups::Groups;
use crate::write::moves::Moves;
use crate::write::sources::Sources;
use crate::write::testing::{end_in_flash, in_words, log_core, log_setup, page_of, programs, write_job};
use coding::ErasureCode;
use device::contents::{HostPayload, PageBuf, Tag};
use device::failed::FailedProgram;
use device::slab::JobId;
use ftl::Place;
use nand::{FlashArray, OobTag, ProgramOutcome};
use protect::Protection;
use vocab::{DieId, Lpn, SimTime, StripSet, StripeId};

/// Block groups of a tiny drive, under `mds-groups` with these options.
struct Alone<P: FlashPayload> {
    core: Core<P>,
    groups: Groups<P>,
    moves: Moves<P>,
}

impl<P: FlashPayload> Alone<P> {
    fn new(options: &[(&str, &str)]) -> Self {
        Self::with(&log_setup("mds-groups", options))
    }

    /// A drive that is to be mounted: pages and sums name their members.
    fn mountable(options: &[(&str, &str)]) -> Self {
        let mut setup = log_setup("mds-groups", options);
        setup.power.mountable = true;
        Self::with(&setup)
    }

    fn with(setup: &Setup) -> Self {
        let (mut core, protection) = log_core::<P>(setup);
        let Protection::Groups(scheme) = &protection else { unreachable!("the scheme writes block groups") };
        let mut groups = Groups::new(&**scheme, 8, 1, "mds-groups").expect("a cache that is large enough");
        groups.settle_space(&mut core);
        Self { core, groups, moves: Moves::default() }
    }

    /// Hands on effects to groups; the others, in order.
    fn effects(&mut self) -> Vec<Popped<P>> {
        let Self { core, groups, moves } = self;
        let mut others = Vec::new();
        while let Some(effect) = core.out.pop() {
            match effect {
                Popped::Effect(Effect::SettleRescued) => drop(groups.settle_rescued(core, moves)),
                Popped::Effect(Effect::GroupDataEnded { row, codeword, ppn }) => groups.data_ended(core, (row, codeword), ppn),
                Popped::Effect(Effect::Release { unit }) => core.release(unit),
                other => others.push(other),
            }
        }
        others
    }

    /// Places the job's pages as far as there is room.
    fn place(&mut self, job: JobId) -> Placed {
        loop {
            let placed = self.groups.place(&mut self.core, job);
            if placed != Placed::Again {
                return placed;
            }
        }
    }

    /// As the host writes: the job, and the programs that follow.
    fn write(&mut self, pages: &[(u32, u32)]) -> (JobId, Vec<Command>) {
        let job = write_job(&mut self.core, pages);
        assert_eq!(self.place(job), Placed::All);
        self.effects();
        (job, programs(&mut self.core))
    }

    /// The program of a page ends; what others are to do then.
    fn end(&mut self, command: &Command, outcome: ProgramOutcome) -> Vec<String> {
        end_in_flash(&mut self.core, command, outcome);
        let Owner::GroupPage { row, codeword, holds } = command.owner else { unreachable!("groups program nothing else") };
        let key = (row, u32::from(codeword));
        self.groups.program_ended(&mut self.core, &mut self.moves, command.image, key, holds, outcome);
        let effects = self.effects();
        self.core.device.images.give(command.image);
        in_words(&effects)
    }

    fn end_all(&mut self, commands: &[Command]) -> Vec<String> {
        commands.iter().flat_map(|command| self.end(command, ProgramOutcome::Done)).collect()
    }

    /// The pages of these logical pages are lost.
    fn lose(&mut self, lpns: &[u32]) {
        for &lpn in lpns {
            let ppn = page_of(&self.core, lpn);
            self.core.device.losses.failed_programs.insert(ppn.0, FailedProgram::nothing(1));
        }
    }

    /// Sum of the sources of the logical page's contents; `None`: no sources bring it back.
    fn repair(&self, lpn: u32) -> Option<P> {
        let Place::At(slot) = self.core.map.lookup(Lpn(lpn)) else { panic!("lpn{lpn} has no place") };
        match self.groups.sources(&self.core, Target::Move { log: 0, slot }) {
            Sources::Weighted { mut held, pages, lost, .. } => {
                assert_eq!(lost, self.core.device.grid.page_of(slot));
                for (ppn, coefficient) in pages {
                    held.add_scaled(&self.core.device.array.payload(ppn)[lost.1 as usize], coefficient);
                }
                Some(held)
            }
            Sources::None => None,
            _ => panic!("a page of a group is a weighted sum, or lost"),
        }
    }
}

fn is_parity(command: &Command) -> bool {
    matches!(command.owner, Owner::GroupPage { holds: Holds::Parity, .. })
}

/// Fails if a coefficient, a symbol or a sum is mixed up, or if parity covers other dies than those of the data.
#[test]
fn the_parities_of_a_page_stripe_are_those_of_the_erasure_code() {
    let mut alone = Alone::<PageBuf>::new(&[("m", "2")]);
    let (_, data) = alone.write(&[(0, 1), (1, 2), (2, 3)]);
    let strip = |die: DieId| {
        let layout = &alone.groups.held[&(0, 0)].layout;
        layout.stripe.strips[layout.stripe.strip_on(die).expect("a member") as usize]
    };
    let mut symbols = vec![Vec::new(); 3];
    for command in &data {
        let payload = &alone.core.device.images.contents(command.image).1[0];
        let symbol = strip(alone.core.device.grid.die_of(command.ppn)).symbol;
        symbols[symbol as usize] = payload.bytes().expect("pages carry bytes").to_vec();
    }
    let symbols: Vec<&[u8]> = symbols.iter().map(Vec::as_slice).collect();
    let (mut first, mut second) = (vec![0; 4096], vec![0; 4096]);
    ErasureCode::new(3, 2).encode(&symbols, &mut [&mut first, &mut second]);

    let covers: u32 = data.iter().map(|command| 1 << alone.core.device.grid.die_of(command.ppn).0).sum();
    let symbol_of: Vec<u32> = (0..5).map(|die| strip(DieId(die)).symbol).collect();
    alone.end_all(&data);
    let parities = programs(&mut alone.core);
    assert_eq!((parities.len(), parities.iter().all(is_parity)), (2, true));
    for parity in &parities {
        let (tags, payload) = alone.core.device.images.contents(parity.image);
        let symbol = symbol_of[alone.core.device.grid.die_of(parity.ppn).index()];
        let expected = if symbol == 3 { &first } else { &second };
        assert_eq!((tags[0], payload[0].bytes()), (OobTag::parity(StripeId(0)), Some(&expected[..])), "symbol {symbol}");
        assert_eq!(alone.core.device.images.slab[parity.image].oob.coverage, StripSet(covers.into()));
    }
}

/// Fails if a part is answered before its sums are made, if sums of two pages are made at once, or if a scheme whose sums
/// take no time on writes waits for any.
#[test]
fn a_write_waits_for_its_sums_one_after_the_other() {
    let options = [("m", "2"), ("sum_ns_per_page", "1000"), ("sum_writes", "yes")];
    for (options, sums) in [(&options[..], 2), (&options[..2], 0)] {
        let mut alone = Alone::<Tag>::new(options);
        let (job, data) = alone.write(&[(0, 1), (1, 2)]);
        alone.core.device.timed = true;
        let mut answered = alone.end_all(&data);
        answered.retain(|effect| effect.starts_with("PartDone"));
        let done = vec![format!("PartDone {{ job: {job} }}"); 2];
        if sums == 0 {
            assert_eq!(answered, done);
            continue;
        }
        assert_eq!((answered.len(), alone.groups.summing.waiting()), (0, 2));
        for end in [2_000, 4_000] {
            let (at, timer) = alone.core.device.calendar.next().expect("sums are being made");
            assert_eq!((at, timer), (SimTime(end), Timer::Sums.index(&alone.core.device.grid)));
            alone.core.device.now = at;
            alone.groups.summing_due(&mut alone.core);
            let effects = alone.effects();
            assert_eq!(in_words(&effects), done[..1]);
        }
        assert_eq!((alone.core.device.calendar.next(), alone.groups.summing.waiting()), (None, 0));
    }
}

/// Fails if a job waits for parity, which the cache has, or if sums leave the cache before all their parity is in
/// flash, or stay behind it.
#[test]
fn a_job_waits_for_its_page_alone_and_sums_stay_until_the_parity_is_in_flash() {
    let mut alone = Alone::<Tag>::new(&[("m", "2")]);
    let (job, data) = alone.write(&[(0, 1), (1, 1), (2, 1)]);
    let part = format!("PartDone {{ job: {job} }}");
    for command in &data {
        assert_eq!(alone.end(command, ProgramOutcome::Done), [part.clone(), "CacheHasRoom".into()]);
    }
    let parities = programs(&mut alone.core);
    assert_eq!((alone.groups.used, alone.core.map.unit(0).pins), ([2, 0], 1));
    assert_eq!(alone.end(&parities[0], ProgramOutcome::Done), Vec::<String>::new());
    assert_eq!(alone.groups.used, [2, 0]);
    assert_eq!(alone.end(&parities[1], ProgramOutcome::Done), ["CacheHasRoom"]);
    assert_eq!((alone.groups.used, alone.core.map.unit(0).pins, alone.groups.held.len()), ([0, 0], 0, 0));
}

/// Fails if more sums are held than the cache has room for, or if a job that waits for room is not told of any.
#[test]
fn a_full_parity_cache_stops_the_host_until_parity_is_in_flash() {
    let mut alone = Alone::<Tag>::new(&[("m", "2"), ("parity_cache", "2")]);
    let job = write_job(&mut alone.core, &[(0, 1), (1, 1), (2, 1), (3, 1)]);
    assert_eq!(alone.place(job), Placed::NoRoom);
    assert_eq!((alone.core.jobs[job].next, alone.groups.stats.most_held), (3, 2));
    assert_eq!(in_words(&alone.effects()).last().map(String::as_str), Some("CollectIfShort { log: 0 }"));
    let data = programs(&mut alone.core);
    alone.end_all(&data);
    assert_eq!(alone.place(job), Placed::NoRoom, "the parity is not in flash yet");
    alone.effects();
    let parities = programs(&mut alone.core);
    assert_eq!(alone.end_all(&parities), ["CacheHasRoom"]);
    assert_eq!((alone.place(job), alone.core.jobs[job].next), (Placed::All, 4));
}

/// Fails if a cache that cannot hold the sums of one page stripe is accepted: nothing could ever be written.
#[test]
fn a_cache_that_is_too_small_is_refused_with_the_least_that_would_do() {
    let (_, protection) = log_core::<Tag>(&log_setup("mds-groups", &[("m", "2"), ("parity_cache", "3")]));
    let Protection::Groups(scheme) = &protection else { unreachable!("the scheme writes block groups") };
    assert!(Groups::<Tag>::new(&**scheme, 8, 1, "x").is_ok());
    let refused = Groups::<Tag>::new(&**scheme, 8, 2, "x").err().expect("two write pointers hold two sums each");
    assert!(refused.contains("found 3, valid are 4 and more"), "{refused}");
}

/// Fails if a group that is given up keeps its data without parity, covers pages that were never written, or takes
/// more pages.
#[test]
fn a_group_that_is_given_up_gets_its_parity_as_it_stands() {
    let mut alone = Alone::<Tag>::new(&[("m", "2")]);
    let (_, data) = alone.write(&[(0, 1), (1, 1)]);
    alone.end(&data[0], ProgramOutcome::Done);
    alone.groups.abandon(&mut alone.core, 0);
    alone.effects();
    assert!(programs(&mut alone.core).is_empty(), "a page is still on its way");
    alone.end(&data[1], ProgramOutcome::Done);
    let parities = programs(&mut alone.core);
    assert_eq!(parities.len(), 2);
    for parity in &parities {
        assert_eq!(alone.core.device.images.slab[parity.image].oob.coverage.len(), 2);
    }
    alone.end_all(&parities);
    assert_eq!((alone.groups.used, alone.groups.held.len()), ([0, 0], 0));
    alone.lose(&[0, 1]);
    assert_eq!([0, 1].map(|lpn| alone.repair(lpn)), [0, 1].map(|lpn| Some(Tag::stamp(Lpn(lpn), 1, 8))));
    let (_, next) = alone.write(&[(2, 1)]);
    assert_ne!(alone.core.map.unit_of_block(alone.core.device.block_of(next[0].ppn)), 0);
}

/// Fails if a coefficient of a repair is wrong, or if pages that cannot be read are used.
#[test]
fn two_lost_pages_of_a_codeword_are_solved_for_and_a_third_is_not() {
    let mut alone = Alone::<PageBuf>::new(&[("m", "2")]);
    let (_, data) = alone.write(&[(0, 1), (1, 2), (2, 3)]);
    alone.end_all(&data);
    let expected = |lpn: u32| Some(PageBuf::stamp(Lpn(lpn), lpn + 1, 8));
    let parities = programs(&mut alone.core);
    // The sums are in the cache: nothing but the third page has to be read.
    alone.lose(&[0, 1]);
    assert_eq!([0, 1].map(|lpn| alone.repair(lpn)), [0, 1].map(expected));
    alone.end_all(&parities);
    assert_eq!([0, 1].map(|lpn| alone.repair(lpn)), [0, 1].map(expected));
    alone.lose(&[2]);
    assert_eq!(alone.repair(2), None);
}

/// Fails if a page whose program failed on a living die is forgotten, or its job answered before the page is in
/// flash elsewhere.
#[test]
fn a_page_whose_program_failed_is_written_again_and_its_job_waits() {
    let mut alone = Alone::<Tag>::new(&[("m", "2")]);
    let (job, data) = alone.write(&[(0, 1)]);
    assert_eq!(alone.end(&data[0], ProgramOutcome::Failed), ["CacheHasRoom"]);
    assert_eq!((alone.moves.queue.len(), alone.moves.waiting.len()), (1, 1));
    assert_eq!(alone.repair(0), Some(Tag::stamp(Lpn(0), 1, 8)), "its sums are in the cache");
    assert_eq!(alone.groups.place_moves(&mut alone.core, &mut alone.moves, Feed::All), Placed::All);
    let again = programs(&mut alone.core);
    let told = alone.end(&again[0], ProgramOutcome::Done);
    assert_eq!(told, [format!("PartDone {{ job: {job} }}"), "CacheHasRoom".into(), "Moved { log: 0 }".into()]);
    assert!(alone.moves.waiting.is_empty());
}

/// Fails if a page that a cut kept from flash stays in the sums: the next repair would give nonsense.
#[test]
fn a_page_that_a_cut_met_is_taken_out_of_the_sums() {
    let mut alone = Alone::<Tag>::new(&[("m", "2")]);
    let job = write_job(&mut alone.core, &[(0, 1), (1, 1)]);
    alone.place(job);
    let remains = alone.groups.remains(&alone.core);
    assert_eq!(remains.redo.len(), 0, "without time nothing is queued at dies");
    let before = alone.groups.held[&(0, 0)].sums.clone();
    let late = write_job(&mut alone.core, &[(2, 7)]);
    alone.place(late);
    let ppn = page_of(&alone.core, 2);
    let redo = crate::write::groups::Redo { ppn, key: (0, 0), payload: vec![Tag::stamp(Lpn(2), 7, 8)] };
    assert_ne!(alone.groups.held[&(0, 0)].sums, before);
    alone.groups.take_out_of_sums(&alone.core.device.grid, &redo);
    let held = &alone.groups.held[&(0, 0)];
    let dies = [0, 1].map(|lpn| u32::from(alone.core.device.grid.die_of(page_of(&alone.core, lpn)).0));
    let data = dies.iter().fold(StripSet::EMPTY, |data, &die| data.or(StripSet::one(die)));
    assert_eq!((&held.sums, held.data), (&before, data));
}

/// Fails if an audit looks at no parity, or counts a sound codeword as broken or a broken one as sound.
#[test]
fn an_audit_finds_a_parity_that_is_not_the_sum_of_its_data() {
    let mut alone = Alone::<Tag>::new(&[("m", "2")]);
    let (_, data) = alone.write(&[(0, 1), (1, 2), (2, 3)]);
    alone.end_all(&data);
    let found = alone.groups.audit(&alone.core).expect("sums are right");
    assert_eq!((found.sound, found.broken), (2, 0));
    alone.groups.held.get_mut(&(0, 0)).expect("parity is under way").sums[0].add(&Tag::stamp(Lpn(0), 9, 8));
    assert!(alone.groups.audit(&alone.core).is_err());
    alone.lose(&[0]);
    let found = alone.groups.audit(&alone.core).expect("a codeword that lacks a page is not compared");
    assert_eq!((found.sound, found.broken), (0, 1));
}

/// Fails if a page that found no room counts as written though more of its codeword is lost than the code brings back.
#[test]
fn a_page_without_room_is_given_up_where_its_codeword_does_not_bring_it_back() {
    for (lost, fails) in [(&[1][..], false), (&[1, 2], true)] {
        let mut alone = Alone::<Tag>::new(&[("m", "2")]);
        let (job, data) = alone.write(&[(0, 1), (1, 2), (2, 3)]);
        alone.end(&data[0], ProgramOutcome::Failed);
        alone.end_all(&data[1..]);
        alone.lose(lost);
        let waiting = alone.moves.waiting.remove(0);
        assert!(alone.moves.give_up(&mut alone.core, waiting, |core, lpn| alone.groups.is_solvable(core, lpn)));
        assert_eq!(alone.core.jobs[job].failed, fails, "lost beside it: {lost:?}");
    }
}

/// Under (3,2) a page adds to both parities of its codeword; with a block code to that of its block, and to those of the blocks
/// of both parities. Catches sums that take no time.
#[test]
fn with_a_block_code_a_page_adds_to_more_parities() {
    for (block_parity, sums) in [("no", 2), ("yes", 5)] {
        let mut alone = Alone::<Tag>::new(&[("m", "2"), ("block_parity", block_parity)]);
        alone.write(&[(0, 1)]);
        assert_eq!(alone.groups.sums_of_a_page((0, 0)), sums, "block parity: {block_parity}");
    }
}

/// Catches sums that go although a parity failed: the group's pages are moved only now, and until then the sums are what brings
/// them back. And sums that stay where nothing failed.
#[test]
fn sums_stay_in_the_cache_where_a_parity_failed() {
    for failing in [None, Some(0), Some(1)] {
        let mut alone = Alone::<Tag>::new(&[("m", "2")]);
        let (_, data) = alone.write(&[(0, 1), (1, 2), (2, 3)]);
        alone.end_all(&data);
        let parities = programs(&mut alone.core);
        assert_eq!(parities.iter().map(is_parity).collect::<Vec<_>>(), [true; 2]);
        for (at, parity) in parities.iter().enumerate() {
            assert!(alone.groups.held.contains_key(&(0, 0)));
            alone.end(parity, if failing == Some(at) { ProgramOutcome::Failed } else { ProgramOutcome::Done });
        }
        assert_eq!((alone.groups.used[0], alone.groups.held.contains_key(&(0, 0))), (0, failing.is_some()), "{failing:?}");
    }
}

/// A full group of four page stripes lacks one page. Catches blocks that are missed although the code has none of them.
#[test]
fn an_audit_looks_at_blocks_where_the_code_has_sums_of_blocks() {
    let mut alone = Alone::<Tag>::new(&[("m", "2")]);
    for row in 0..4 {
        let pages = [0, 1, 2].map(|strip| (3 * row + strip, 1));
        let (_, data) = alone.write(&pages);
        alone.end_all(&data);
        let parities = programs(&mut alone.core);
        alone.end_all(&parities);
    }
    let found = alone.groups.audit(&alone.core).expect("sums are right");
    assert_eq!((found.sound, found.broken), (8, 0));
    alone.lose(&[0]);
    let found = alone.groups.audit(&alone.core).expect("sums are right");
    assert_eq!((found.sound, found.broken), (6, 1), "the codeword that lacks a page");
}
