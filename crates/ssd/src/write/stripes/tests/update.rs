//! Updates: order, space, failure.

use super::*;
use crate::core::oob_covering;
use device::image::Contents;
use nand::ReadOutcome;

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

/// Catches pages of a request that share a parity although each is to have its own, or the other way round. What is read is
/// what an update of one page reads: its old contents and the old parity.
#[test]
fn the_parity_rule_says_which_pages_of_a_request_share_a_parity() {
    const RULES: [(&str, &[u32], &[u32]); 3] = [
        ("request", &[0, 1, N], &[0, 1, 2, 3, N]),
        ("page", &[0, N, 1, N], &[0, N, 1, N, 2, N, 3, N]),
        ("page-unless-full", &[0, N, 1, N], &[0, 1, 2, 3, N]),
    ];
    for (rule, two, all) in RULES {
        let mut drive = Drive::new("raid5", &[("parity_rule", rule)]);
        drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
        let (_, filled) = drive.commands();
        assert_eq!(filled, all, "{rule}");
        drive.parts_done();
        let job = drive.write(&[(0, 2), (1, 2)]);
        let parts = two.iter().filter(|&&strip| strip == N).count();
        assert_eq!(drive.parts_done(), vec![job; parts], "{rule}");
        let (read, programmed) = drive.commands();
        assert_eq!(programmed, two, "{rule}");
        assert_eq!(read, if parts == 1 { vec![2, 3] } else { vec![0, N, 1, N] }, "{rule}");
        assert_eq!(drive.stored(STRIPE, N), sum([page(0, 2), page(1, 2), page(2, 1), page(3, 1)]), "{rule}");
        drive.check();
    }
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
    assert!(
        drive
            .wanted
            .iter()
            .any(|effect| matches!(effect, Popped::Effect(Effect::StripLost { tag }) if data_of(*tag) == Some(Lpn(1))))
    );
    drive.commands();
    drive.parts_done();
    let job = drive.job(&[(1, 2)], 0..4);
    drive.stripes.place(&mut drive.core, job);
    drive.go_on();
    drive.settle();
    let target = Target::StripeMerge { op: OpId::new(0), strip: 1 };
    assert!(matches!(drive.wanted[..], [Popped::Parcel(Parcel::Solve { target: asked })] if asked == target));
    assert_eq!(drive.commands(), (vec![0, 2, 3], vec![]), "the rest of the stripe, for its parity");
    drive.stripes.merge_repaired(&mut drive.core, OpId::new(0), 1, Some(&page(1, 1)));
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
    drive.commands();
    drive.parts_done();
    let job = drive.job(&[(1, 2)], 0..4);
    drive.stripes.place(&mut drive.core, job);
    drive.go_on();
    drive.settle();
    drive.stripes.merge_repaired(&mut drive.core, OpId::new(0), 1, None);
    drive.go_on();
    drive.settle();
    assert!(drive.core.jobs[job].failed && drive.commands().1.is_empty());
    assert_eq!(drive.parts_done(), [job]);
    assert!(!drive.stripes.locks.is_held(STRIPE));
}

/// Catches an update that programs some of its strips though another has no space; one that does not ask for
/// GC of the die that is full; and later updates that overtake it.
#[test]
fn an_update_without_space_changes_nothing_and_goes_on_when_there_is_some() {
    let mut drive = Drive::new("raid5", &[]);
    let full = drive.stripes.home_of(&drive.core, STRIPE, 2).expect("all dies live").index();
    drive.fill(full);
    let first = drive.begin(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    assert!(matches!(drive.wanted[..], [Popped::Effect(Effect::CollectIfShort { log })] if usize::from(log) == full));
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
        assert!(drive.stripes.is_being_programmed(STRIPE), "until the last program has ended");
        let (id, _) = drive.core.device.next_ready().expect("five programs");
        drive.complete(id);
    }
    let asked = |effect: &Popped<Tag>| matches!(effect, Popped::Parcel(Parcel::Solve { target: asked }) if *asked == target);
    assert!(drive.wanted.iter().any(asked) && drive.stripes.locks.is_held(STRIPE));
    assert!(!drive.stripes.is_being_programmed(STRIPE), "the next update reads");
    drive.settle();
    assert!(!drive.stripes.locks.is_held(STRIPE));
}

/// Catches an update that says that it is durable though a die took neither the page nor a parity of it.
#[test]
fn a_strip_without_a_die_is_left_to_its_parity() {
    let mut drive = Drive::new("raid5", &[]);
    let dead = drive.stripes.home_of(&drive.core, STRIPE, 1).expect("all dies live");
    drive.core.device.losses.die_died(dead);
    let job = drive.write(&[(0, 1), (1, 1)]);
    assert_eq!(drive.commands(), (vec![], vec![0, N]));
    assert_eq!(drive.stripes.place_of_strip(&drive.core, STRIPE, 1), Place::Missing);
    assert!(!drive.core.jobs[job].failed);
    assert_eq!(solved(&drive, STRIPE, 1), Some(page(1, 1)));
}

/// The logs of both strips become short with a page of the update. Catches GC that is asked for under another cause, before the pages of
/// the update are taken, or of a log that is not short.
#[test]
fn gc_is_asked_for_behind_the_programs_of_an_update() {
    let mut drive = Drive::new("raid5", &[]);
    let logs = [0, N].map(|strip| drive.stripes.home_of(&drive.core, STRIPE, strip).expect("all dies live").index());
    for log in logs {
        let becomes_short = |mut map: ftl::Ftl| map.take_page(log, Stream::Host).is_some() && map.is_short(log);
        while !becomes_short(drive.core.map.clone()) {
            assert!(drive.core.map.take_page(log, Stream::Host).is_some() && !drive.core.map.is_short(log));
        }
    }
    let job = drive.begin(&[(0, 1)]);
    let asked: Vec<usize> = drive
        .wanted
        .iter()
        .map(|effect| if let Popped::Effect(Effect::CollectIfShort { log }) = effect { usize::from(*log) } else { usize::MAX })
        .collect();
    assert_eq!(asked, logs);
    drive.settle();
    assert!(drive.done.iter().map(|command| command.cause).eq([Cause::Host, Cause::Parity]));
    assert_eq!(drive.parts_done(), [job]);
}

/// Catches an update that says that it is done though no die took one of its pages and there is no parity, and one that
/// does not note which version is lost: a mount would take an older one for the newest.
#[test]
fn a_page_that_no_die_took_fails_its_job_where_there_is_no_parity() {
    let mut setup = tiny_setup("da-raid5", BufferKind::Off);
    setup.power.mountable = true;
    let mut drive = Drive::with(setup);
    let dead = drive.stripes.home_of(&drive.core, STRIPE, 1).expect("all dies live");
    drive.core.device.losses.die_died(dead);
    let job = drive.write(&[(0, 1), (1, 1)]);
    assert_eq!(drive.commands(), (vec![], vec![0]), "no block is worn, so there is no parity");
    assert!(drive.core.jobs[job].homeless && !drive.core.jobs[job].failed, "what it writes to other stripes goes on");
    let is_lost = |lpn: u32| drive.core.safe.lost.contains_key(&Lpn(lpn));
    assert_eq!((is_lost(0), is_lost(1)), (false, true));
}

/// While a drive recovers, an update of a stripe heals it if it lacks a strip, and recovery is not over before that. Catches
/// whole stripes that count as incomplete, and incomplete ones that count as whole.
#[test]
fn a_stripe_lacks_a_strip_once_the_page_of_one_is_lost() {
    for strip in [0, 3] {
        let mut drive = Drive::new("raid5", &[]);
        drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
        drive.commands();
        assert!(!drive.stripes.lacks_a_strip(&drive.core, STRIPE));
        drive.core.map.publish_missing(Lpn(STRIPE.0 * N + strip));
        assert!(drive.stripes.lacks_a_strip(&drive.core, STRIPE), "strip {strip} is lost");
    }
}

/// A block failed while an update waited to read from it, and what the block held moved. Catches an update that takes the
/// strip for lost, or reads where it has failed already.
#[test]
fn a_strip_that_moved_while_its_read_waited_is_read_where_it_is_now() {
    let mut drive = Drive::new("raid5", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive.commands();
    drive.parts_done();
    let from = drive.core.device.grid.page_of(drive.place(STRIPE, 3).expect("stored")).0;
    let job = drive.begin(&[(0, 2), (1, 2), (2, 2)]);
    let (id, _) = drive.core.device.next_ready().expect("strip 3 is read: the parity is of what is new and of it");
    let read = drive.core.device.commands[id];
    assert_eq!((read.ppn, read.verb), (from, Verb::Read));
    assert_eq!(drive.stripes.went_elsewhere(&drive.core, STRIPE, 3, from), None, "it lies there");
    let to = drive.move_strip(3);
    assert_eq!(drive.stripes.went_elsewhere(&drive.core, STRIPE, 3, from), Some(to));
    let Owner::Stripe { op, strip } = read.owner else { panic!("{:?} reads for the update", read.owner) };
    drive.stripes.read_done(&mut drive.core, read.ppn, op, u32::from(strip), ReadOutcome::Uncorrectable);
    assert!(drive.stripes.ops[op].lost.missed.is_empty(), "the update does not miss it");
    drive.core.device.commands.give(id);
    drive.go_on();
    drive.settle();
    assert_eq!(drive.done[0].ppn, to);
    assert_eq!(drive.commands(), (vec![3], vec![0, 1, 2, N]), "nothing else is read");
    assert_eq!(drive.stored(STRIPE, N), sum([page(0, 2), page(1, 2), page(2, 2), page(3, 1)]));
    assert_eq!(drive.parts_done(), [job]);
    drive.check();
}

/// An update waited for its reads while the strip that it writes, which was lost, was rebuilt; then another die of its stripe
/// died. Catches a plan that still counts the first as lost: nothing could be summed, the stripe was left without parity, and
/// the page of the dead die was gone (torture, seed 701, 722648).
#[test]
fn what_was_rebuilt_while_an_update_waited_is_not_lost_to_it() {
    let mut drive = Drive::new("raid5", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive.lose(STRIPE, 1);
    drive.commands();
    let job = drive.begin(&[(1, 2)]);
    let die = drive.stripes.home_of(&drive.core, STRIPE, 1).expect("all dies live");
    drive.place_strip(1, page(1, 1), die.index());
    drive.parts_done();
    drive.settle_without_reading(2);
    assert_eq!(drive.commands(), (vec![0, 3, 1, N], vec![1, N]), "strip 2 is lost, the old contents are there");
    assert_eq!(drive.stored(STRIPE, N), sum([page(0, 1), page(1, 2), page(2, 1), page(3, 1)]));
    assert_eq!(drive.parts_done(), [job]);
    drive.check();
}

impl Drive {
    /// A strip of stripe 0 moves to another page of its log.
    fn move_strip(&mut self, strip: u32) -> Ppn {
        let slot = self.place(STRIPE, strip).expect("a stored strip");
        let log = self.core.map.log_of(self.core.map.unit_of(slot));
        self.place_strip(strip, self.stored(STRIPE, strip), log)
    }

    /// Writes a strip of stripe 0 to a page of the log.
    fn place_strip(&mut self, strip: u32, contents: Tag, log: usize) -> Ppn {
        let ppn = self.core.map.take_page(log, Stream::Gc).expect("the log has room");
        let image = self.core.device.images.open(ppn, oob_covering(vocab::StripSet::EMPTY));
        let lpn = Lpn(STRIPE.0 * N + strip);
        let update = self.core.device.next_rank();
        self.core.device.images.fill(image, Contents { tag: OobTag::data(lpn), payload: contents, update }, None, None);
        self.core.device.images.seal(image, update);
        assert!(self.core.device.program(&Command { ppn, image, verb: Verb::Program, ..Command::default() }).is_done());
        self.core.device.images.give(image);
        let pinned = self.core.map.publish(lpn, self.core.device.grid.slot(ppn, 0)).pinned;
        pinned.into_iter().for_each(|unit| self.core.release(unit));
        ppn
    }
}
