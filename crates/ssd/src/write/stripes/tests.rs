//! Static stripes alone: a core on a tiny drive of five dies, no host, no collector. Each test says which mistake
//! it would catch.

use crate::config::{BufferKind, Setup};
use crate::core::effects::Effect;
use crate::core::jobs::{Asker, PageWrite};
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::core::testing::{TinyCore, tiny_core, tiny_setup};
use crate::core::{Command, data_of};
use crate::device::command::Verb;
use crate::device::contents::{HostPayload, Tag};
use crate::device::facts::RequestKind;
use crate::device::sense::Compares;
use crate::device::slab::Id;
use crate::write::stripes::Stripes;
use ftl::{Place, Stream, UnitId, UnitState};
use nand::{FlashArray, OobTag};
use protect::{Protection, SchemeChoice, Shape};
use vocab::{Bytes, Cause, DieId, Lpn, Ppn, SimTime, Slot, StripSet, StripeId};

/// Data strips of a stripe on five dies; the strip of this number is parity.
const N: u32 = 4;
const STRIPE: StripeId = StripeId(0);

/// Stripes, the core they work on, and what they wanted of others.
struct Drive {
    stripes: Stripes<Tag>,
    core: TinyCore,
    wanted: Vec<Effect<Tag>>,
    /// Flash commands that were completed.
    done: Vec<Command>,
}

fn page(lpn: u32, version: u32) -> Tag {
    Tag::stamp(Lpn(lpn), version, 8)
}

fn sum(pages: impl IntoIterator<Item = Tag>) -> Tag {
    let mut sum = Tag::default();
    pages.into_iter().for_each(|page| sum.add(&page));
    sum
}

fn strips(strips: impl IntoIterator<Item = u32>) -> StripSet {
    strips.into_iter().collect()
}

impl Drive {
    fn new(scheme: &str, options: &[(&str, &str)]) -> Self {
        let mut choice = SchemeChoice::named(scheme);
        choice.options = options.iter().map(|&(name, value)| (name.into(), value.into())).collect();
        Self::with(Setup { scheme: choice, ..tiny_setup(scheme, BufferKind::Off) })
    }

    fn with(setup: Setup) -> Self {
        let mut core = tiny_core(&setup);
        core.device.timed = false;
        let shape = Shape {
            dies: core.device.grid.dies(),
            blocks_per_die: core.device.grid.blocks_per_die(),
            pages_per_block: core.device.grid.pages_per_block(),
            page_size: Bytes(4096),
            slots_per_page: 1,
            endurance: setup.drive.endurance,
        };
        let protection = protect::registry::build(&setup.scheme, shape).expect("the scheme fits");
        let Protection::Stripes(scheme) = protection else { panic!("a scheme of static stripes") };
        let stripes = Stripes::new(Some(scheme), &setup.power, setup.user_slots);
        Self { stripes, core, wanted: Vec::new(), done: Vec::new() }
    }

    /// Does what the stripes left for later, and keeps what they want of others.
    fn go_on(&mut self) {
        while let Some(effect) = self.core.out.pop() {
            match effect {
                Effect::Stripes(step) => self.stripes.go_on(&mut self.core, step),
                other => self.wanted.push(other),
            }
        }
    }

    /// A job that writes these pages, all sectors of them or some.
    fn job(&mut self, pages: &[(u32, u32)], sectors: (u32, u32)) -> Id {
        let job = self.core.jobs.take();
        self.core.jobs[job].reset(Asker::Host, RequestKind::Write, SimTime::ZERO);
        for &(lpn, version) in pages {
            let (from, to) = sectors;
            let write = PageWrite { lpn: Lpn(lpn), version, payload: page(lpn, version), from, to };
            self.core.jobs[job].pages.push(write);
        }
        job
    }

    /// Begins to write pages in these versions.
    fn begin(&mut self, pages: &[(u32, u32)]) -> Id {
        let job = self.job(pages, (0, 8));
        self.stripes.place(&mut self.core, job);
        self.go_on();
        job
    }

    /// Writes pages in these versions, and waits.
    fn write(&mut self, pages: &[(u32, u32)]) -> Id {
        let job = self.begin(pages);
        self.settle();
        job
    }

    /// Completes flash commands until there are none.
    fn settle(&mut self) {
        while let Some((id, _)) = self.core.device.next_ready() {
            self.complete(id);
        }
    }

    fn complete(&mut self, id: Id) {
        let command = self.core.device.commands[id];
        let Owner::Stripe { op, strip } = command.owner else { panic!("{:?} asks for nothing here", command.owner) };
        if command.verb == Verb::Read {
            let clean = self.core.device.sense(&command, Compares::No).verdict.is_clean();
            self.stripes.read_done(&mut self.core, command.ppn, op, u32::from(strip), clean);
        } else {
            assert!(self.core.device.program(&command), "nothing makes programs fail here");
            self.stripes.program_done(&mut self.core, command.image, op, true);
            self.core.device.images.give(command.image);
        }
        self.done.push(command);
        self.core.device.commands.give(id);
        self.go_on();
    }

    /// Strips of a stripe that were read and programmed since the last call, in order.
    fn commands(&mut self) -> (Vec<u32>, Vec<u32>) {
        let (mut read, mut programmed) = (Vec::new(), Vec::new());
        for command in std::mem::take(&mut self.done) {
            let Owner::Stripe { strip, .. } = command.owner else { unreachable!("checked when it was completed") };
            if command.verb == Verb::Read { &mut read } else { &mut programmed }.push(u32::from(strip));
        }
        (read, programmed)
    }

    fn place(&self, stripe: StripeId, strip: u32) -> Option<Slot> {
        if let Place::At(slot) = self.stripes.place_of_strip(&self.core, stripe, strip) { Some(slot) } else { None }
    }

    fn payload(&self, ppn: Ppn) -> Tag {
        self.core.device.array.page(ppn).payload[0]
    }

    /// What flash has of a strip.
    fn stored(&self, stripe: StripeId, strip: u32) -> Tag {
        self.payload(self.core.device.grid.page_of(self.place(stripe, strip).expect("a stored strip")).0)
    }

    fn unit(&self, stripe: StripeId, strip: u32) -> UnitId {
        self.core.map.unit_of(self.place(stripe, strip).expect("a stored strip"))
    }

    fn pins(&self, unit: UnitId) -> u32 {
        self.core.map.unit(unit).pins
    }

    /// Jobs of which a part was done since the last call.
    fn parts_done(&mut self) -> Vec<Id> {
        let jobs = |effect| if let Effect::PartDone { job } = effect { Some(job) } else { None };
        std::mem::take(&mut self.wanted).into_iter().filter_map(jobs).collect()
    }

    /// The strip's page cannot be read any more and its contents are nowhere else.
    fn lose(&mut self, stripe: StripeId, strip: u32) {
        let tag = if strip == N { OobTag::parity(stripe) } else { OobTag::data(Lpn(stripe.0 * N + strip)) };
        let slot = self.place(stripe, strip).expect("a stored strip");
        self.stripes.lose(&mut self.core, tag, slot);
        self.go_on();
    }

    /// Takes every page that the host may have of a die; gives them back with [`Self::empty`].
    fn fill(&mut self, die: usize) {
        while self.core.map.has_room(die, Stream::Host) {
            self.core.map.take_page(die, Stream::Host).expect("there is room");
        }
    }

    /// Erases the full units of a die that hold nothing.
    fn empty(&mut self, die: usize) {
        for unit in 0..self.core.map.units() as u32 {
            let state = self.core.map.unit(unit);
            let is_needed = state.state != UnitState::Closed || state.valid > 0 || state.pins > 0;
            if self.core.map.log_of(unit) == die && !is_needed {
                assert!(self.core.map.condemn_unit(unit));
                self.core.map.erased(unit);
            }
        }
    }

    fn check(&self) {
        self.core.map.check_counts();
        self.stripes.check_parity_cache(&self.core);
    }
}

/// Catches parity that misses a strip, two strips on a die, and an answer before all programs are done.
#[test]
fn a_full_stripe_is_written_with_its_parity_and_nothing_is_read() {
    let mut drive = Drive::new("raid5", &[]);
    let job = drive.begin(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    for _ in 0..N {
        let (id, _) = drive.core.device.next_ready().expect("five programs are queued");
        drive.complete(id);
    }
    assert!(drive.parts_done().is_empty(), "the parity is not programmed yet");
    drive.settle();
    assert_eq!(drive.parts_done(), [job]);
    assert_eq!(drive.commands(), (vec![], vec![0, 1, 2, 3, N]));
    assert_eq!(drive.stored(STRIPE, N), sum((0..N).map(|lpn| page(lpn, 1))));
    let mut dies: Vec<DieId> = (0..=N)
        .map(|strip| drive.core.device.grid.die_of(drive.core.device.grid.page_of(drive.place(STRIPE, strip).expect("stored")).0))
        .collect();
    dies.sort_unstable();
    dies.dedup();
    assert_eq!(dies.len(), 5);
    drive.check();
}

/// Catches parity without the old contents taken out, and old contents released before the new ones are durable,
/// or never.
#[test]
fn a_small_write_reads_old_contents_and_keeps_them_until_it_is_durable() {
    let mut drive = Drive::new("raid5", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive.commands();
    let units = [drive.unit(STRIPE, 1), drive.unit(STRIPE, N)];
    drive.begin(&[(1, 2)]);
    for _ in 0..3 {
        let (id, _) = drive.core.device.next_ready().expect("two reads and a program");
        drive.complete(id);
    }
    assert_eq!(units.map(|unit| drive.pins(unit)), [1, 1], "the parity is not programmed yet");
    drive.settle();
    assert_eq!(drive.commands(), (vec![1, N], vec![1, N]));
    assert_eq!(drive.stored(STRIPE, N), sum([page(0, 1), page(1, 2), page(2, 1), page(3, 1)]));
    assert_eq!(units.map(|unit| drive.pins(unit)), [0, 0]);
    drive.check();
}

/// Catches an update that starts beside another of its stripe, or before an earlier one.
#[test]
fn updates_of_a_stripe_are_serial_and_keep_their_order() {
    let mut drive = Drive::new("raid5", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive.commands();
    drive.parts_done();
    let jobs = [drive.begin(&[(1, 2)]), drive.begin(&[(1, 3)]), drive.begin(&[(1, 4)])];
    assert!(drive.stripes.locks.is_held(STRIPE));
    drive.settle();
    assert_eq!(drive.parts_done(), jobs);
    assert_eq!(drive.commands().1, [1, N, 1, N, 1, N]);
    assert_eq!(drive.stored(STRIPE, N), sum([page(0, 1), page(1, 4), page(2, 1), page(3, 1)]));
    assert!(!drive.stripes.locks.is_held(STRIPE));
    assert_eq!(drive.stripes.ops.in_use(), 0);
}

/// Catches a job over two stripes whose second part starts first or not at all.
#[test]
fn a_job_over_two_stripes_is_two_updates() {
    let mut drive = Drive::new("raid5", &[]);
    let job = drive.write(&[(2, 1), (3, 1), (4, 1)]);
    assert_eq!(drive.commands(), (vec![], vec![2, 3, N, 0, N]));
    assert_eq!(drive.parts_done(), [job, job]);
    assert_eq!(drive.stored(STRIPE, N), sum([page(2, 1), page(3, 1)]));
    assert_eq!(drive.stored(StripeId(1), N), page(4, 1));
}

/// Catches a partly written page that is programmed without its old contents, or before they were solved for.
#[test]
fn a_partly_written_page_that_cannot_be_read_waits_for_a_repair() {
    let mut drive = Drive::new("raid5", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive.lose(STRIPE, 1);
    assert!(drive.wanted.iter().any(|effect| matches!(effect, Effect::StripLost { tag } if data_of(*tag) == Some(Lpn(1)))));
    (drive.commands(), drive.parts_done());
    let job = drive.job(&[(1, 2)], (0, 4));
    drive.stripes.place(&mut drive.core, job);
    drive.go_on();
    drive.settle();
    let target = Target::StripeMerge { op: 0, strip: 1 };
    assert!(matches!(drive.wanted[..], [Effect::Solve { target: asked }] if asked == target));
    assert_eq!(drive.commands(), (vec![0, 2, 3], vec![]), "the rest of the stripe, for its parity");
    drive.stripes.merge_repaired(&mut drive.core, 0, 1, Some(&page(1, 1)));
    drive.go_on();
    drive.settle();
    assert_eq!(drive.commands(), (vec![], vec![1, N]));
    assert_eq!(drive.parts_done(), [job]);
}

/// Catches an answer that says a page is written though its old contents, which it needs, are lost.
#[test]
fn a_partly_written_page_whose_old_contents_are_lost_fails() {
    let mut drive = Drive::new("raid5", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive.lose(STRIPE, 1);
    (drive.commands(), drive.parts_done());
    let job = drive.job(&[(1, 2)], (0, 4));
    drive.stripes.place(&mut drive.core, job);
    drive.go_on();
    drive.settle();
    drive.stripes.merge_repaired(&mut drive.core, 0, 1, None);
    drive.go_on();
    drive.settle();
    assert!(drive.core.jobs[job].failed && drive.commands().1.is_empty());
    assert_eq!(drive.parts_done(), [job]);
    assert!(!drive.stripes.locks.is_held(STRIPE));
}

/// A drive with a parity cache and a full stripe 0, of which strips 1 and 2 have newer contents.
fn with_partial_parity() -> Drive {
    let mut drive = Drive::new("ppc", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive.write(&[(1, 2)]);
    drive.write(&[(2, 2)]);
    (drive.commands(), drive.parts_done());
    drive
}

/// Catches a partial parity that reads or programs anything but the page, sums the wrong pages, or forgets where
/// the old version lies.
#[test]
fn a_partial_parity_sums_new_pages_and_keeps_the_old_ones() {
    let mut drive = Drive::new("ppc", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive.commands();
    let (parity, old) = (drive.place(STRIPE, N), drive.place(STRIPE, 1).expect("stored"));
    drive.write(&[(1, 2)]);
    assert_eq!(drive.commands(), (vec![], vec![1]));
    let partial = drive.stripes.held.get(STRIPE).expect("a partial parity");
    assert_eq!((partial.covers, partial.sum), (strips([1]), page(1, 2)));
    assert_eq!(partial.old, [(1, Place::At(old))]);
    assert_eq!(drive.pins(drive.core.map.unit_of(old)), 1, "the stored parity is of that version");
    assert_eq!(drive.place(STRIPE, N), parity);
    drive.write(&[(1, 3)]);
    assert_eq!(drive.commands(), (vec![1], vec![1]), "what it covers already has to be taken out");
    let partial = drive.stripes.held.get(STRIPE).expect("a partial parity");
    assert_eq!((partial.covers, partial.sum), (strips([1]), page(1, 3)));
    assert_eq!(partial.old, [(1, Place::At(old))], "the stored parity is still of the first version");
    drive.check();
}

/// Catches a commit that sums wrongly, or that gives old versions up before the parity is durable, or never.
#[test]
fn a_commit_makes_full_parity_and_releases_old_versions() {
    let mut drive = with_partial_parity();
    let old: Vec<UnitId> =
        drive.stripes.held.get(STRIPE).expect("held").pinned().map(|slot| drive.core.map.unit_of(slot)).collect();
    drive.stripes.commit(&mut drive.core, STRIPE);
    drive.go_on();
    assert_eq!(drive.stripes.ops.in_use(), 1);
    drive.stripes.commit(&mut drive.core, STRIPE);
    drive.go_on();
    assert_eq!(drive.stripes.ops.in_use(), 1, "one commit at a time is enough");
    assert!(old.iter().all(|&unit| drive.pins(unit) == 1));
    drive.settle();
    assert_eq!(drive.commands(), (vec![0, 3], vec![N]), "pages that the partial parity does not cover");
    assert_eq!(drive.stored(STRIPE, N), sum([page(0, 1), page(1, 2), page(2, 2), page(3, 1)]));
    assert!(drive.stripes.held.is_empty() && old.iter().all(|&unit| drive.pins(unit) == 0));
    drive.check();
}

/// Catches an update that takes room in the cache that another has, or that is forgotten while it waits.
#[test]
fn an_update_waits_for_room_in_the_parity_cache_until_another_stripe_is_committed() {
    let mut drive = Drive::new("ppc", &[("parity_cache", "4KiB")]);
    for stripe in 0..3 {
        drive.write(&[0, 1, 2, 3].map(|strip| (stripe * N + strip, 1)));
    }
    drive.write(&[(1, 2)]);
    (drive.commands(), drive.parts_done());
    let jobs = [drive.begin(&[(N + 1, 2)]), drive.begin(&[(2 * N + 1, 2)])];
    assert!(drive.stripes.held.has_waiting() && drive.parts_done().is_empty());
    drive.settle();
    assert_eq!(drive.parts_done(), jobs, "in order");
    assert_eq!(drive.stripes.held.stripes().collect::<Vec<_>>(), [StripeId(2)], "there is room for one");
    assert_eq!(drive.stored(STRIPE, N), sum([page(0, 1), page(1, 2), page(2, 1), page(3, 1)]));
    assert_eq!(drive.stored(StripeId(1), N), sum([page(4, 1), page(5, 2), page(6, 1), page(7, 1)]));
    drive.check();
}

/// Catches an update that programs some of its strips though another has no space; one that does not ask for
/// collection of the die that is full; and later updates that overtake it.
#[test]
fn an_update_without_space_changes_nothing_and_goes_on_when_there_is_some() {
    let mut drive = Drive::new("raid5", &[]);
    let full = drive.stripes.home_of(&drive.core, STRIPE, 2).expect("all dies live").index();
    drive.fill(full);
    let first = drive.begin(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    assert!(matches!(drive.wanted[..], [Effect::CollectIfShort { log }] if log == full));
    assert!(drive.core.device.next_ready().is_none());
    assert_eq!(drive.stripes.place_of_strip(&drive.core, STRIPE, 0), Place::Unmapped);
    assert!(!drive.stripes.is_being_programmed(STRIPE), "a repair may go ahead");
    let second = drive.begin(&[(4, 1)]);
    assert_eq!(drive.stripes.stalled.len(), 2, "there is space for it, but it came later");
    drive.stripes.retry_stalled(&mut drive.core);
    drive.go_on();
    assert_eq!(drive.stripes.stalled.len(), 2, "nothing changed");
    drive.empty(full);
    drive.stripes.retry_stalled(&mut drive.core);
    drive.go_on();
    drive.settle();
    assert_eq!(drive.parts_done(), [first, second]);
    assert_eq!(drive.commands().1, [0, 1, 2, 3, N, 0, N]);
}

/// Catches updates for which no space comes and that are not failed, or failed without the reason.
#[test]
fn an_update_that_never_gets_space_fails_and_unlocks_its_stripe() {
    let mut drive = Drive::new("raid5", &[]);
    drive.fill(drive.stripes.home_of(&drive.core, STRIPE, 2).expect("all dies live").index());
    let job = drive.begin(&[(2, 1)]);
    drive.wanted.clear();
    assert!(drive.stripes.fail_first_stalled(&mut drive.core));
    drive.go_on();
    assert!(drive.core.jobs[job].failed && drive.core.jobs[job].no_room);
    assert_eq!(drive.parts_done(), [job]);
    assert!(!drive.stripes.locks.is_held(STRIPE) && !drive.stripes.fail_first_stalled(&mut drive.core));
}

/// A drive with a partial parity of strip 1, whose old version lies in a unit that is being collected.
fn with_collected_old_version() -> (Drive, UnitId) {
    let mut drive = Drive::new("ppc", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    let unit = drive.unit(STRIPE, 1);
    let die = drive.core.map.log_of(unit);
    // The pages behind it go elsewhere: the unit holds the old version alone.
    drive.core.map.abandon(unit);
    drive.write(&[(1, 2)]);
    assert_eq!(drive.core.map.unit(unit).state, UnitState::Closed);
    assert!(drive.core.map.condemn_unit(unit) && !drive.core.map.may_erase(unit), "log {die}");
    (drive.commands(), drive.parts_done());
    (drive, unit)
}

/// Catches a collector that waits for ever for what a partial parity keeps in its victim.
#[test]
fn a_commit_that_collection_waits_for_lets_its_victim_go() {
    let (mut drive, unit) = with_collected_old_version();
    drive.stripes.commit_pinned_in(&mut drive.core, unit);
    drive.go_on();
    assert!(drive.wanted.is_empty());
    drive.settle();
    let log = drive.core.map.log_of(unit);
    assert!(drive.core.map.may_erase(unit));
    assert!(
        matches!(drive.wanted.last_chunk(), Some([Effect::Collect { log: collected }, Effect::RetryJobs]) if *collected == log)
    );
    assert_eq!(drive.stored(STRIPE, N), sum([page(0, 1), page(1, 2), page(2, 1), page(3, 1)]));
}

/// Catches a commit without space that is tried again for ever, or never again.
#[test]
fn a_commit_without_space_is_put_off_until_there_is_some() {
    let (mut drive, unit) = with_collected_old_version();
    let die = drive.stripes.home_of(&drive.core, STRIPE, N).expect("all dies live").index();
    while drive.core.map.take_page(die, Stream::Commit).is_some() {}
    drive.stripes.commit_pinned_in(&mut drive.core, unit);
    drive.go_on();
    drive.settle();
    assert_eq!(drive.stripes.stalled.len(), 1);
    assert!(drive.stripes.fail_first_stalled(&mut drive.core));
    drive.go_on();
    assert!(drive.stripes.stalled.is_empty() && drive.stripes.held.is_deferred(STRIPE));
    assert!(!drive.core.map.may_erase(unit), "the partial parity stays");
    drive.empty(die);
    drive.stripes.commit_deferred(&mut drive.core);
    drive.go_on();
    drive.settle();
    assert!(drive.stripes.held.is_empty() && drive.core.map.may_erase(unit));
}

/// Catches a deadlock: a write that waits for space keeps the lock that the commit needs which is to make the space.
#[test]
fn a_write_that_waits_for_space_gives_way_to_a_commit_of_its_stripe() {
    let (mut drive, unit) = with_collected_old_version();
    let full = drive.stripes.home_of(&drive.core, STRIPE, 0).expect("all dies live").index();
    drive.fill(full);
    let job = drive.begin(&[(0, 2)]);
    assert_eq!(drive.stripes.stalled.len(), 1);
    drive.wanted.clear();
    drive.stripes.commit_pinned_in(&mut drive.core, unit);
    drive.go_on();
    assert!(drive.stripes.stalled.is_empty(), "it waits behind the commit now");
    drive.settle();
    assert_eq!(drive.commands().1, [N], "the commit");
    assert!(drive.core.map.may_erase(unit));
    assert_eq!(drive.stripes.stalled.len(), 1, "it started again and lacks space again");
    assert!(drive.parts_done().is_empty());
    drive.empty(full);
    drive.stripes.retry_stalled(&mut drive.core);
    drive.go_on();
    drive.settle();
    assert_eq!(drive.parts_done(), [job]);
    drive.check();
}

/// Catches a repair that is forgotten with the lock, or that overtakes an update half in the map.
#[test]
fn a_repair_waits_for_an_update_half_in_the_map_and_goes_before_the_next_one() {
    let mut drive = Drive::new("raid5", &[]);
    let target = Target::Strip { stripe: STRIPE, strip: 0 };
    drive.begin(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    assert!(drive.stripes.is_being_programmed(STRIPE));
    drive.begin(&[(1, 2)]);
    drive.stripes.wait_for_stripe(STRIPE, target);
    drive.wanted.clear();
    for _ in 0..=N {
        let (id, _) = drive.core.device.next_ready().expect("five programs");
        drive.complete(id);
    }
    let asked = |effect: &Effect<Tag>| matches!(effect, Effect::Solve { target: asked } if *asked == target);
    assert!(drive.wanted.iter().any(asked) && drive.stripes.locks.is_held(STRIPE));
    assert!(!drive.stripes.is_being_programmed(STRIPE), "the next update reads");
    drive.settle();
    assert!(!drive.stripes.locks.is_held(STRIPE));
}

fn discard(drive: &mut Drive, range: (u32, u32)) {
    let job = drive.core.jobs.take();
    drive.core.jobs[job].reset(Asker::Host, RequestKind::Discard, SimTime::ZERO);
    drive.core.jobs[job].range = range;
    drive.stripes.discard(&mut drive.core, job);
    drive.go_on();
}

/// Catches pages of a parity that are forgotten while others lean on them, and a stripe that is never freed.
#[test]
fn a_stripe_is_freed_when_all_its_pages_are_discarded() {
    let mut drive = with_partial_parity();
    drive.write(&[(4, 1), (5, 1), (6, 1), (7, 1)]);
    discard(&mut drive, (0, 2));
    assert!(drive.core.is_hidden(Lpn(1)) && drive.place(STRIPE, 1).is_some(), "others are solved for with it");
    assert!(drive.stripes.held.get(STRIPE).is_some());
    discard(&mut drive, (2, 6));
    assert!((0..=N).all(|strip| drive.stripes.place_of_strip(&drive.core, STRIPE, strip) == Place::Unmapped));
    assert!(drive.stripes.held.is_empty() && !drive.core.is_hidden(Lpn(1)));
    assert_eq!((0..drive.core.map.units() as u32).map(|unit| drive.pins(unit)).sum::<u32>(), 0);
    assert!((0..=N).all(|strip| drive.place(StripeId(1), strip).is_some()), "half of it is still seen");
    drive.check();
    drive.write(&[(1, 9)]);
    assert_eq!(drive.commands().1, [0, 1, 2, 3, N, 1], "it is alone in its stripe: its partial parity is held");
}

/// What repair sources sum up to.
fn solved(drive: &Drive, stripe: StripeId, lost: u32) -> Option<Tag> {
    let sources = drive.stripes.sources_of(&drive.core, stripe, lost)?;
    let pages = sources.pages.iter().map(|&ppn| drive.payload(ppn));
    Some(sum(pages.chain([sources.sum])))
}

/// Catches sources that do not sum to the lost strip, with full parity and with a partial one.
#[test]
fn repair_sources_sum_to_the_lost_strip() {
    let mut drive = Drive::new("ppc", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    let old_parity = drive.stored(STRIPE, N);
    assert_eq!(solved(&drive, STRIPE, 2), Some(page(2, 1)));
    assert_eq!(solved(&drive, STRIPE, N), Some(old_parity));
    drive.write(&[(1, 2)]);
    drive.write(&[(2, 2)]);
    assert_eq!(solved(&drive, STRIPE, 1), Some(page(1, 2)), "from the partial parity and strip 2");
    assert_eq!(solved(&drive, STRIPE, 3), Some(page(3, 1)), "from the old parity and the old versions");
    assert_eq!(solved(&drive, STRIPE, N), Some(old_parity));
    drive.lose(STRIPE, 1);
    assert_eq!(solved(&drive, STRIPE, 1), Some(page(1, 2)));
    assert_eq!(solved(&drive, STRIPE, 2), None, "two strips that the partial parity covers");
    assert_eq!(solved(&drive, STRIPE, 3), Some(page(3, 1)), "the old version of strip 1 is still there");
    drive.lose(STRIPE, N);
    assert_eq!(solved(&drive, STRIPE, 3), None);
    drive.write(&[(8, 1)]);
    drive.stripes.commit(&mut drive.core, StripeId(2));
    drive.go_on();
    drive.settle();
    assert_eq!(solved(&drive, StripeId(2), 0), Some(page(8, 1)), "alone in its stripe: parity is the same");
    assert_eq!(solved(&drive, StripeId(3), 0), None, "a stripe without parity");
}

/// Catches a partial parity that keeps leaning on what no rebuild brings back.
#[test]
fn a_partial_parity_that_leans_on_a_lost_parity_is_committed() {
    let mut drive = with_partial_parity();
    drive.stripes.commit_if_leaning_on_lost(&mut drive.core, STRIPE);
    drive.go_on();
    assert_eq!(drive.stripes.ops.in_use(), 0, "nothing is lost");
    drive.lose(STRIPE, N);
    drive.stripes.commit_if_leaning_on_lost(&mut drive.core, STRIPE);
    drive.go_on();
    drive.settle();
    assert!(drive.stripes.held.is_empty());
    assert_eq!(drive.stored(STRIPE, N), sum([page(0, 1), page(1, 2), page(2, 2), page(3, 1)]));
}

/// Catches a build over a stripe that has parity, and a collector that is never told.
#[test]
fn parity_is_built_once_and_its_waiter_goes_on() {
    let mut drive = Drive::new("raid5", &[]);
    drive.write(&[(0, 1), (1, 1)]);
    drive.lose(STRIPE, N);
    let unit = drive.core.map.forget_parity(STRIPE).pinned;
    assert_eq!(unit, None, "a lost parity pins nothing");
    (drive.commands(), drive.parts_done());
    assert!(drive.stripes.can_build(&drive.core, STRIPE));
    let waiter = Some(Target::Move { log: 0, slot: Slot(0) });
    drive.stripes.build_parity(&mut drive.core, STRIPE, waiter);
    drive.stripes.build_parity(&mut drive.core, STRIPE, None);
    drive.go_on();
    drive.settle();
    assert_eq!(drive.commands(), (vec![0, 1], vec![N]));
    assert_eq!(drive.stored(STRIPE, N), sum([page(0, 1), page(1, 1)]));
    let built: Vec<Option<Target>> = drive
        .wanted
        .iter()
        .filter_map(|effect| if let Effect::ParityBuilt { waiter } = effect { Some(*waiter) } else { None })
        .collect();
    assert_eq!(built, [waiter, None]);
}

/// Catches an update that says that it is durable though a die took neither the page nor a parity of it.
#[test]
fn a_strip_without_a_die_is_left_to_its_parity() {
    let mut drive = Drive::new("raid5", &[]);
    let dead = drive.stripes.home_of(&drive.core, STRIPE, 1).expect("all dies live");
    drive.core.device.dead.insert(u32::from(dead.0));
    drive.core.device.died.push(dead);
    let job = drive.write(&[(0, 1), (1, 1)]);
    assert_eq!(drive.commands(), (vec![], vec![0, N]));
    assert_eq!(drive.stripes.place_of_strip(&drive.core, STRIPE, 1), Place::Missing);
    assert!(!drive.core.jobs[job].failed);
    assert_eq!(solved(&drive, STRIPE, 1), Some(page(1, 1)));
}

/// Catches collection that is asked for under another cause or before the pages of the update are taken.
#[test]
fn collection_is_asked_for_behind_the_programs_of_an_update() {
    let mut drive = Drive::new("raid5", &[]);
    let job = drive.begin(&[(0, 1)]);
    let logs = [0, N].map(|strip| drive.stripes.home_of(&drive.core, STRIPE, strip).expect("all dies live").index());
    let asked: Vec<usize> =
        drive.wanted.iter().map(|effect| if let Effect::CollectIfShort { log } = effect { *log } else { usize::MAX }).collect();
    assert_eq!(asked, logs);
    drive.settle();
    assert!(drive.done.iter().map(|command| command.cause).eq([Cause::Host, Cause::Parity]));
    assert_eq!(drive.parts_done(), [job]);
}
