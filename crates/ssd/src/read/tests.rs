//! Reads alone: no host at work, no engine. Effects for others are kept and compared.

use crate::config::{BufferKind, Setup};
use crate::core::Command;
use crate::core::effects::{Effect, Parcel, Popped};
use crate::core::owner::Owner;
use crate::core::read_step::{NewSolve, Pace, ReadStep, SumsFor, Term};
use crate::core::target::{Floor, Target};
use crate::core::testing::{TinyCore, tiny_core, tiny_scheme, tiny_setup};
use crate::core::zone_step::ZoneStep;
use crate::host::Host;
use crate::read::around::SumRead;
use crate::read::lines::ask_of_line;
use crate::read::{Below, Reads};
use crate::write::Writer;
use crate::write::sources::Sources;
use crate::write::zones::testing::{store, store_pages, zones_core, zones_setup};
use device::contents::{HostPayload, Tag};
use device::slab::{CommandId, Id, JobId};
use nand::ReadOutcome;
use protect::Protection;
use protect::code_zones::{CodeGroupId, Offer};
use vocab::{Cause, DieId, HostCommand, HostOp, Lba, Lpn, Ppn, SimTime, Slot, StreamId, StripeId};

struct Alone {
    core: TinyCore,
    reads: Reads<Tag>,
    writer: Writer<Tag>,
    host: Host<Tag>,
    /// Reads of these pages fail.
    failing: Vec<Ppn>,
    /// Plain reads that have ended.
    plain: Vec<Command>,
}

/// Calls a handler of the reads.
macro_rules! reads {
    ($alone:ident.$handler:ident($($argument:expr),*)) => {{
        let below = Below { writer: &$alone.writer, host: &$alone.host };
        $alone.reads.$handler(&mut $alone.core, below, $($argument),*)
    }};
}

impl Alone {
    fn build(setup: &Setup, core: TinyCore, protection: Protection) -> Self {
        let (reads, host) = (Reads::new(&protection), Host::new(setup, &protection));
        let writer = Writer::new(setup, protection, &core.device.grid, core.map.logs()).expect("a writer");
        Self { core, reads, writer, host, failing: Vec::new(), plain: Vec::new() }
    }

    /// Five dies, no redundancy.
    fn new() -> Self {
        let setup = tiny_setup("none", BufferKind::Off);
        let mut alone = Self::build(&setup, tiny_core(&setup), Protection::None);
        alone.core.device.timed = false;
        alone
    }

    /// Eight dies under code zones, with the pages `0..64` stored, in time.
    fn zones(options: &[(&str, &str)]) -> Self {
        let mut setup = zones_setup(options);
        let (core, protection) = zones_core(&mut setup);
        let mut alone = Self::build(&setup, core, protection);
        store_pages(&mut alone.core, alone.writer.zones.as_ref().expect("zones"), 0..64);
        alone
    }

    /// Group 0 has valid code, made by hand: each code page is the sum of its two data pages of version 1.
    fn encode(&mut self) {
        self.encode_groups(1);
    }

    /// The same of this many groups.
    fn encode_groups(&mut self, groups: u32) {
        let zones = self.writer.zones.as_mut().expect("zones");
        zones.scheme.on_read(Lpn(0), 4);
        zones.scheme.enter_offline();
        for _ in 0..groups {
            let encode = zones.scheme.next_encode().expect("a stale group");
            for (lpn, sum) in encode.lines.iter().flat_map(|line| line.code.iter().map(move |(lpn, sum)| (*lpn, (line, sum)))) {
                let mut payload = Tag::default();
                sum.1.iter().for_each(|block| payload.add(&Tag::stamp(sum.0.data[block], 1, 8)));
                let log = zones.segment_of(&self.core, lpn).0;
                store(&mut self.core, log, lpn, payload);
            }
            assert!(zones.scheme.encoded(&encode.stamp));
        }
    }

    fn job(&mut self) -> JobId {
        let job = self.core.jobs.take();
        self.core.jobs[job].remaining = 1;
        job
    }

    /// A read of two pages arrives under code zones.
    fn read(&mut self, first: u32) -> JobId {
        let job = self.job();
        let command = HostCommand {
            at: SimTime(0),
            op: HostOp::Read,
            lba: Lba(u64::from(first) * 8),
            sectors: 16,
            stream: StreamId::default(),
        };
        reads!(self.read_in_zones(job, first..first + 2, &command));
        job
    }

    /// Keeps the die of a page busy with reads of it.
    fn keep_busy(&mut self, ppn: Ppn, reads: u32) {
        (0..reads).for_each(|_| {
            self.core.submit(Command { ppn, ..Command::default() });
        });
    }

    /// The next command that ends.
    fn next_end(&mut self) -> Option<(CommandId, Command)> {
        let device = &mut self.core.device;
        if !device.timed {
            let (id, _) = device.next_ready()?;
            return Some((id, device.commands[id]));
        }
        loop {
            while let Some(die) = device.next_kick() {
                device.start_next(die);
            }
            let (time, die) = device.calendar.next()?;
            device.now = time;
            let die = DieId(die as u16);
            if let Some(id) = device.die_event(die) {
                device.kick(die);
                return Some((id, device.commands[id]));
            }
        }
    }

    /// One command ends. False if there is none.
    fn step(&mut self) -> bool {
        let Some((id, command)) = self.next_end() else { return false };
        let outcome = if self.failing.contains(&command.ppn) { ReadOutcome::Uncorrectable } else { ReadOutcome::Clean };
        match command.owner {
            Owner::Solve { solve, term } => self.reads.solve_read_done(&mut self.core, &command, solve, term, outcome),
            Owner::Lazy { read, block } => reads!(self.lazy_read_done(&command, read, usize::from(block), outcome)),
            Owner::NoOne => {}
            _ => self.plain.push(command),
        }
        self.core.device.commands.give(id);
        true
    }

    /// All commands end; the effects for others.
    fn run(&mut self) -> Vec<String> {
        while self.step() {}
        self.effects()
    }

    /// Hands on effects to the reads; the others, in words.
    fn effects(&mut self) -> Vec<String> {
        let mut others = Vec::new();
        while let Some(effect) = self.core.out.pop() {
            match effect {
                Popped::Parcel(Parcel::Reads(ReadStep::DropCode { group })) => self.reads.drop_code(&mut self.core, group),
                Popped::Parcel(Parcel::Reads(ReadStep::DropCodeOf { read, group })) => reads!(self.drop_code_of(read, group)),
                other => others.push(format!("{other:?}")),
            }
        }
        others
    }

    fn solve_from(&mut self, target: Target, sources: Sources<Tag>, failed: Vec<Ppn>) {
        reads!(self.solve_from(target, sources, failed));
    }
}

const FLOOR: Floor = Floor { version: 0, discarded: false, request: 0 };

fn host_read(job: u32) -> Target {
    Target::HostRead { job: Id::new(job), lpn: Lpn(3), floor: FLOOR, failed: None }
}

/// Check by the host of a page of which no write was ever acknowledged.
fn check(lpn: u32, contents: Option<Tag>) -> String {
    check_against(Floor { version: 0, discarded: true, request: 0 }, lpn, contents)
}

fn check_against(floor: Floor, lpn: u32, contents: Option<Tag>) -> String {
    format!("{:?}", Parcel::CheckRead { lpn: Lpn(lpn), floor, contents })
}

fn part_done(job: JobId) -> String {
    format!("{:?}", Effect::PartDone { job })
}

/// Pages 0, 1 and 2 with versions 1, 2 and 4 on three dies.
fn three_pages(alone: &mut Alone) -> Vec<Ppn> {
    let page = |(lpn, version): (u32, u32)| store(&mut alone.core, lpn as usize, Lpn(lpn), Tag::stamp(Lpn(lpn), version, 8));
    [(0, 1), (1, 2), (2, 4)].map(page).to_vec()
}

/// Fails if a source is left out, added twice, or not added to what the controller holds; or if a target gets
/// what another was to get.
#[test]
fn a_solve_gives_the_sum_of_its_sources_to_the_target() {
    // By hand: lpn + 1 gives 1 ^ 2 ^ 3 ^ 4 = 4, which is lpn 3; the versions 1 ^ 2 ^ 4 ^ 8 = 15.
    let sum = Tag::stamp(Lpn(3), 15, 8);
    let slot = Slot(9);
    let targets = [
        (host_read(0), vec![check_against(FLOOR, 3, Some(sum)), part_done(Id::new(0))]),
        (Target::Move { log: 2, slot }, vec![format!("MoveRepaired {{ log: 2, slot: {slot:?}, payload: Some({sum:?}) }}")]),
        (
            Target::Merge { job: Id::new(0), page: 1, failed: None },
            vec![format!("Merged {{ job: 0, page: 1, old: Some({sum:?}) }}")],
        ),
        (
            Target::StripeMerge { op: Id::new(4), strip: 1 },
            vec![format!("StripeMerged {{ op: 4, strip: 1, old: Some({sum:?}) }}")],
        ),
        (
            Target::Strip { stripe: StripeId(7), strip: 2 },
            vec![format!("StripRebuilt {{ stripe: {:?}, strip: 2, payload: Some({sum:?}) }}", StripeId(7))],
        ),
    ];
    for (target, expected) in targets {
        let mut alone = Alone::new();
        let pages = three_pages(&mut alone);
        alone.solve_from(target, Sources::Sum { held: Tag::stamp(Lpn(3), 8, 8), pages, slot: 0 }, Vec::new());
        assert_eq!(alone.effects(), Vec::<String>::new(), "nothing before all sources are read");
        assert_eq!(alone.run(), expected);
        assert_eq!((alone.reads.solves.in_use(), alone.core.device.commands.in_use()), (0, 0));
        assert_eq!(alone.core.device.folds.rebuilt, u64::from(matches!(target, Target::HostRead { .. })));
    }
}

/// Fails if a sum without a source that could not be read is taken for the page, if the other sources are not
/// told which page failed, or if failures of earlier attempts spoil a later one.
#[test]
fn a_source_that_cannot_be_read_leads_to_other_sources() {
    let mut alone = Alone::new();
    let pages = three_pages(&mut alone);
    alone.failing = vec![pages[1]];
    alone.solve_from(host_read(0), Sources::Sum { held: Tag::default(), pages: pages.clone(), slot: 0 }, Vec::new());
    let again: ReadStep<Tag> = ReadStep::SolveAgain { target: host_read(0), failed: vec![pages[1]] };
    assert_eq!(alone.run(), [format!("{:?}", Popped::Parcel(Parcel::Reads(again)))]);
    let others = Sources::Sum { held: Tag::default(), pages: vec![pages[0], pages[2]], slot: 0 };
    alone.solve_from(host_read(0), others, vec![pages[1]]);
    // 1 ^ 3 = 2 is lpn 1; 1 ^ 4 = 5.
    let sum = Tag::stamp(Lpn(1), 5, 8);
    assert_eq!(alone.run()[0], check_against(FLOOR, 3, Some(sum)));
    assert_eq!(alone.core.device.folds.media_errors, 0);
}

/// Fails if a lost page is answered as if it were found, or without an error; or if a discarded one is lost.
#[test]
fn a_page_without_sources_is_a_media_error_unless_it_was_discarded() {
    let mut alone = Alone::new();
    alone.solve_from(host_read(5), Sources::None, Vec::new());
    assert_eq!((alone.effects(), alone.core.device.folds.media_errors), (vec![part_done(Id::new(5))], 1));
    alone.solve_from(host_read(5), Sources::Discarded, Vec::new());
    let unmapped = check_against(FLOOR, 3, None);
    assert_eq!((alone.effects(), alone.core.device.folds.media_errors), (vec![unmapped, part_done(Id::new(5))], 1));
    let merge = Target::Merge { job: Id::new(1), page: 0, failed: None };
    alone.solve_from(merge, Sources::None, Vec::new());
    alone.solve_from(merge, Sources::Discarded, Vec::new());
    let merged = |old: Option<Tag>| format!("{:?}", Popped::Parcel(Parcel::Merged { job: Id::new(1), page: 0, old }));
    assert_eq!(alone.effects(), [merged(None), merged(Some(Tag::default()))], "a discarded page is zeros");
}

/// Fails if code is decoded with of which a page is lost.
#[test]
fn a_lost_page_of_code_is_reported_to_who_keeps_the_code() {
    let mut alone = Alone::new();
    alone.solve_from(host_read(5), Sources::NoneOfCodePage { lpn: Lpn(70) }, Vec::new());
    let lose: Parcel<Tag> = Parcel::Zones(ZoneStep::LoseCodePage { lpn: Lpn(70) });
    assert_eq!((alone.effects(), alone.core.device.folds.media_errors), (vec![format!("{lose:?}"), part_done(Id::new(5))], 1));
}

/// Fails if a page is reported lost that was written again while code was looked for, or if one that lies where its read
/// failed is read once more instead of being reported.
#[test]
fn a_page_that_was_written_again_meanwhile_is_read_and_not_given_up() {
    let mut alone = Alone::new();
    let slot = |alone: &Alone| match alone.core.map.lookup(Lpn(3)) {
        ftl::Place::At(slot) => slot,
        place => panic!("{place:?}"),
    };
    store(&mut alone.core, 0, Lpn(3), Tag::stamp(Lpn(3), 1, 8));
    let failed = slot(&alone);
    let job = alone.job();
    let target = Target::HostRead { job, lpn: Lpn(3), floor: FLOOR, failed: Some(failed) };
    let again = store(&mut alone.core, 1, Lpn(3), Tag::stamp(Lpn(3), 2, 8));
    reads!(alone.give_up(target));
    assert_eq!((alone.run(), alone.core.device.folds.media_errors), (vec![], 0));
    let read: Vec<(Ppn, bool)> =
        alone.plain.iter().map(|command| (command.ppn, command.owner == Owner::HostRead { job })).collect();
    assert_eq!(read, [(again, true)]);
    let target = Target::HostRead { job, lpn: Lpn(3), floor: FLOOR, failed: Some(slot(&alone)) };
    reads!(alone.give_up(target));
    assert_eq!((alone.run(), alone.core.device.folds.media_errors), (vec![part_done(job)], 1));
    assert_eq!(alone.plain.len(), 1);
}

/// Fails if a solve that has to wait is answered, reads anything, or is forgotten.
#[test]
fn a_solve_waits_for_the_parity_of_its_row_or_for_the_update_of_its_stripe() {
    let mut alone = Alone::new();
    alone.solve_from(host_read(1), Sources::AfterParity, Vec::new());
    assert_eq!((alone.effects(), &alone.reads.uncovered_repairs), (Vec::new(), &vec![host_read(1)]));
    alone.solve_from(host_read(2), Sources::AfterUpdate(StripeId(6)), Vec::new());
    let wait: Parcel<Tag> = Parcel::SolveAfterUpdate { stripe: StripeId(6), target: host_read(2) };
    assert_eq!(alone.effects(), [format!("{wait:?}")]);
    assert_eq!(alone.core.device.commands.in_use(), 0);
}

/// Fails if coefficients are left out, or if a die gets its second read before its first is added.
#[test]
fn a_solve_of_one_read_a_die_multiplies_by_coefficients() {
    let mut alone = Alone::new();
    let page = |alone: &mut Alone, log, lpn, version| store(&mut alone.core, log, Lpn(lpn), Tag::stamp(Lpn(lpn), version, 8));
    let (a, b, c) = (page(&mut alone, 0, 0, 1), page(&mut alone, 0, 1, 2), page(&mut alone, 1, 2, 4));
    let terms = vec![Term::once(a, 0, 2), Term::once(b, 0, 3), Term::once(c, 0, 1)];
    let (wanted_by, cause, pace) = (SumsFor::Code { encode: Id::new(1) }, Cause::Rebuild, Pace::OneADie);
    let new = NewSolve { wanted_by, cause, pace, sums: vec![Tag::default()], terms, failed: Vec::new() };
    alone.reads.start_solve(&mut alone.core, new);
    assert_eq!(alone.core.device.commands.in_use(), 2, "one on each die");
    assert!(alone.step());
    assert_eq!(alone.core.device.commands.in_use(), 2, "the next one of the first die");
    // In GF(256): 2 * 1 ^ 3 * 2 ^ 3 = 7, which is lpn 6; the versions 2 * 1 ^ 3 * 2 ^ 4 = 0.
    let sum = Tag::stamp(Lpn(6), 0, 8);
    assert_eq!(alone.run(), [format!("Zones(CodeSummed {{ encode: 1, sums: Some([{sum:?}]) }})")]);
}

/// Fails if a group may be erased while its pages are read, if it stays pinned, or if a failed read makes the reads
/// look for another page than the one that was lost.
#[test]
fn a_block_group_stays_while_a_page_of_it_is_solved_for() {
    let mut alone = Alone::new();
    let pages = three_pages(&mut alone);
    let (target, lost, group) = (host_read(4), (Ppn(99), 0), 0);
    let sources = || {
        let pages = vec![(pages[0], 2), (pages[1], 3)];
        Sources::Weighted { held: Tag::stamp(Lpn(2), 4, 8), pages, lost, group }
    };
    alone.solve_from(target, sources(), Vec::new());
    assert_eq!(alone.core.map.unit(group).pins, 1);
    // In GF(256): 3 ^ 2 * 1 ^ 3 * 2 = 7, which is lpn 6; the versions 4 ^ 2 * 1 ^ 3 * 2 = 0.
    let release = format!("{:?}", Effect::Release { unit: group });
    assert_eq!(alone.run(), [check_against(FLOOR, 3, Some(Tag::stamp(Lpn(6), 0, 8))), part_done(Id::new(4)), release.clone()]);
    alone.failing = vec![pages[1]];
    alone.solve_from(target, sources(), Vec::new());
    let again: ReadStep<Tag> = ReadStep::SolveAgainInGroup { target, lost, failed: vec![pages[1]] };
    assert_eq!(alone.run(), [format!("{:?}", Popped::Parcel(Parcel::Reads(again))), release]);
}

/// A page of a busy die, with the rest of its stripe on other dies.
fn busy_stripe(busy: u32) -> (Alone, Vec<Ppn>) {
    let mut setup = tiny_setup("raid5", BufferKind::Off);
    setup.scheme.options.insert("read_around".into(), "1".into());
    let _geometry = setup.drive.geometry;
    let protection = tiny_scheme(&setup);
    let mut alone = Alone::build(&setup, tiny_core(&setup), protection);
    let mut pages = three_pages(&mut alone);
    // 1 ^ 2 ^ 3 = 0 and 1 ^ 2 ^ 4 = 7: the rest of the stripe is that of page 3, and parity makes the sum zero.
    pages.push(store(&mut alone.core, 3, Lpn(3), Tag::stamp(Lpn(3), 8, 8)));
    pages.push(store(&mut alone.core, 4, Lpn(63), Tag::stamp(Lpn(3), 15, 8)));
    alone.keep_busy(pages[0], busy);
    (alone, pages)
}

fn wanted(pages: &[Ppn]) -> SumRead {
    let mut together = pages.to_vec();
    together.sort_unstable();
    SumRead { together, slots: (0, 1), pages: vec![(pages[0], Lpn(0))] }
}

/// Fails if a busy die is waited for although the rest of the stripe gives the page, if the sum is wrong, or if the
/// read that became useless stays in its queue.
#[test]
fn a_read_around_a_busy_die_withdraws_what_is_not_needed() {
    let (mut alone, pages) = busy_stripe(6);
    let job = alone.job();
    let around = reads!(alone.read_around(job, [wanted(&pages)].into_iter()));
    assert_eq!((around, alone.core.jobs[job].remaining), (vec![0], 2));
    assert_eq!(alone.reads.lazy.in_flight().0, 0, "alternatives go behind all that is wanted");
    alone.reads.lazy.queue_alternatives(&mut alone.core);
    assert_eq!(alone.reads.lazy.in_flight().0, 4);
    assert_eq!(alone.run(), [check(0, Some(Tag::stamp(Lpn(0), 1, 8))), part_done(job)]);
    let folds = &alone.core.device.folds;
    assert_eq!((folds.around.derived, folds.around.withdrawn, folds.around.extra), (1, 1, 4));
    assert!(alone.reads.lazy.is_empty() && !alone.core.device.has_withdrawn());
}

/// Fails if a source that cannot be read is taken for zeros, or if the page's own read is withdrawn all the same.
#[test]
fn a_read_around_a_busy_die_waits_for_it_if_the_stripe_cannot_be_read() {
    let (mut alone, pages) = busy_stripe(6);
    alone.failing = vec![pages[2]];
    let job = alone.job();
    reads!(alone.read_around(job, [wanted(&pages)].into_iter()));
    alone.reads.lazy.queue_alternatives(&mut alone.core);
    assert_eq!(alone.run(), [check(0, Some(Tag::stamp(Lpn(0), 1, 8))), part_done(job)]);
    assert_eq!(alone.core.device.folds.around.derived, 0);
    assert!(alone.reads.lazy.is_empty());
}

/// Fails if reads of idle dies have alternatives, too: they would only add load.
#[test]
fn idle_dies_are_not_read_around() {
    let (mut alone, pages) = busy_stripe(0);
    let job = alone.job();
    assert_eq!(reads!(alone.read_around(job, [wanted(&pages)].into_iter())), Vec::<u32>::new());
    assert_eq!((alone.core.device.commands.in_use(), alone.core.jobs[job].remaining), (0, 1));
}

/// Fails if alternatives are looked for although nothing is ever busy: without time.
#[test]
fn without_time_nothing_is_read_around() {
    let (mut alone, pages) = busy_stripe(6);
    alone.core.device.timed = false;
    let job = alone.job();
    assert_eq!(reads!(alone.read_around(job, [wanted(&pages)].into_iter())), Vec::<u32>::new());
}

/// Fails if a page that is read along with what the host asked for, because the drive maps both together, is not read, is
/// read twice, or is shown to the host.
#[test]
fn what_is_touched_is_read_along_and_not_shown() {
    let mut alone = Alone::zones(&[]);
    let job = alone.job();
    reads!(alone.read_lines(job, &(0..1), 0..2));
    assert_eq!(alone.core.device.commands.in_use(), 2);
    assert_eq!(alone.run().iter().filter(|effect| effect.starts_with("CheckRead")).count(), 0, "the plain read ends elsewhere");
    let read: Vec<Ppn> = alone.plain.iter().map(|command| command.ppn).collect();
    let ftl::Place::At(asked) = alone.core.map.lookup(Lpn(0)) else { panic!("it was stored") };
    assert_eq!(read, [alone.core.device.grid.page_of(asked).0]);
    assert!(alone.reads.lazy.is_empty());
}

/// Fails if code is not used for a busy die, if the page is computed wrongly, or if what the host asked for is
/// answered twice.
#[test]
fn a_line_is_read_from_its_code() {
    let mut alone = Alone::zones(&[]);
    alone.encode();
    let slot = match alone.core.map.lookup(Lpn(0)) {
        ftl::Place::At(slot) => slot,
        place => panic!("{place:?}"),
    };
    let busy = alone.core.device.grid.page_of(slot).0;
    alone.keep_busy(busy, 8);
    let job = alone.read(0);
    let mut effects = alone.run();
    effects.sort();
    let mut expected = vec![part_done(job), part_done(job)];
    expected.extend((0..2).map(|lpn| check(lpn, Some(Tag::stamp(Lpn(lpn), 1, 8)))));
    expected.sort();
    assert_eq!((effects, alone.core.device.folds.around.derived), (expected, 1));
    assert!(alone.plain.is_empty() && alone.reads.lazy.is_empty());
}

/// Fails if a read in progress decodes with code that became stale, or does not read the page itself instead.
#[test]
fn a_read_goes_on_without_code_that_becomes_stale() {
    let mut alone = Alone::zones(&[]);
    alone.encode();
    let stamp = alone.writer.zones.as_ref().expect("zones").scheme.stamp(CodeGroupId(0)).expect("valid code");
    let slot = match alone.core.map.lookup(Lpn(0)) {
        ftl::Place::At(slot) => slot,
        place => panic!("{place:?}"),
    };
    let busy = alone.core.device.grid.page_of(slot).0;
    alone.keep_busy(busy, 8);
    let job = alone.read(0);
    assert_eq!(alone.reads.lazy.in_flight().1, [stamp.group]);
    // Page 3 of the group is going to change.
    alone.writer.zones.as_mut().expect("zones").scheme.on_write(Lpn(3), 1);
    alone.reads.drop_code(&mut alone.core, stamp.group);
    assert_eq!(alone.effects(), Vec::<String>::new());
    assert_eq!(alone.reads.lazy.in_flight(), (0, vec![]), "sub-requests to code are withdrawn");
    let effects = alone.run();
    assert_eq!(effects.iter().filter(|effect| **effect == part_done(job)).count(), 2);
    assert_eq!(alone.core.device.folds.around.derived, 0);
    assert!(alone.reads.lazy.is_empty());
}

/// Fails if a lost page that the code gives is reported lost, or if the read of it that failed is sent once more.
#[test]
fn a_lost_page_is_solved_for_by_code() {
    let mut alone = Alone::zones(&[]);
    alone.encode();
    let slot = match alone.core.map.lookup(Lpn(1)) {
        ftl::Place::At(slot) => slot,
        place => panic!("{place:?}"),
    };
    let lost = alone.core.device.grid.page_of(slot).0;
    alone.failing = vec![lost];
    let target = Target::HostRead { job: Id::new(0), lpn: Lpn(1), floor: FLOOR, failed: Some(slot) };
    reads!(alone.solve(target));
    let sum = Tag::stamp(Lpn(1), 1, 8);
    let expected = [check_against(FLOOR, 1, Some(sum)), part_done(Id::new(0))];
    assert_eq!(alone.run(), expected);
    let folds = &alone.core.device.folds;
    assert_eq!((folds.rebuilt, folds.media_errors, folds.around.derived), (1, 0, 1));
}

/// Fails if what was fetched ahead is read from flash again, if it is served after a write, or if it is wrong.
#[test]
fn read_ahead_serves_what_it_fetched_until_that_is_written() {
    let mut alone = Alone::zones(&[("read_ahead_threads", "2"), ("read_ahead_over", "16"), ("read_around", "off")]);
    let mut first = 0;
    let job = loop {
        let job = alone.read(first);
        if alone.core.device.folds.around.ahead_hits > 0 {
            break job;
        }
        alone.run();
        first += 2;
        assert!(first < 32, "reads in sequence are followed");
    };
    // Half of a group of four pages was asked for and all of it fetched: the second half is there.
    assert_eq!((first % 4, alone.core.device.folds.around.ahead_hits), (2, 2));
    assert_eq!(alone.core.device.commands.in_use(), 0, "nothing is read from flash");
    let expected = [first, first + 1].map(|lpn| check(lpn, Some(Tag::stamp(Lpn(lpn), 1, 8))));
    assert_eq!((alone.effects(), alone.core.jobs[job].remaining), (expected.to_vec(), 1));
    // The next group, half of it asked for; then its other half is written.
    first += 2;
    alone.read(first);
    alone.run();
    alone.reads.ahead.as_mut().expect("read-ahead").forget(Lpn(first + 2), 8);
    alone.read(first + 2);
    assert!(alone.core.device.commands.in_use() > 0, "it is read again");
    assert_eq!(alone.core.device.folds.around.ahead_hits, 2);
}

/// Fails if what is fetched ahead waits for a busy die although its group has code, or is computed wrongly from that.
#[test]
fn read_ahead_takes_code_where_a_die_is_busy() {
    for (busy, derived) in [(0, false), (8, true)] {
        let mut alone = Alone::zones(&[("read_ahead_threads", "2"), ("read_ahead_over", "16")]);
        alone.encode_groups(8);
        let mut first = 0;
        while alone.core.device.folds.around.ahead_hits == 0 && first < 24 {
            alone.read(first);
            alone.run();
            first += 2;
        }
        assert_eq!((alone.core.device.folds.around.ahead_hits, alone.core.device.folds.around.derived), (2, 0), "followed");
        let ftl::Place::At(slot) = alone.core.map.lookup(Lpn(first)) else { panic!("it was stored") };
        alone.keep_busy(alone.core.device.grid.page_of(slot).0, busy);
        alone.read(first);
        let effects = alone.run();
        let read = [first, first + 1].map(|lpn| check(lpn, Some(Tag::stamp(Lpn(lpn), 1, 8))));
        assert!(read.iter().all(|page| effects.contains(page)), "{effects:?}");
        assert_eq!(alone.core.device.folds.around.derived > 0, derived, "{busy} reads before it");
    }
}

/// Page 0 and the code that stands in for it, moved to page 0's die as a way of writing below might. Fails if an
/// alternative is offered that waits behind what it stands in for, or if code elsewhere is not.
#[test]
fn over_another_way_of_writing_code_on_the_die_of_what_is_wanted_is_no_alternative() {
    let mut alone = Alone::zones(&[]);
    alone.encode();
    let zones = alone.writer.zones.as_mut().expect("zones");
    let line = zones.scheme.lines(Lpn(0), 1).remove(0);
    let (data, blocks) = (zones.scheme.layout().graph().data(), zones.scheme.layout().graph().blocks());
    let moved = zones.scheme.page(&line, data);
    let log = zones.segment_of(&alone.core, Lpn(0)).0;
    store(&mut alone.core, log, moved, Tag::default());
    let offered = |alone: &Alone| {
        let below = Below { writer: &alone.writer, host: &alone.host };
        ask_of_line(&alone.core, below, &line, Offer::All).ask.offered
    };
    assert_eq!(offered(&alone).iter().collect::<Vec<_>>(), (0..blocks).collect::<Vec<_>>(), "a layout sees to that");
    alone.writer.zones.as_mut().expect("zones").put_over();
    let elsewhere: Vec<usize> = (0..blocks).filter(|&block| block != data).collect();
    assert_eq!(offered(&alone).iter().collect::<Vec<_>>(), elsewhere);
}
