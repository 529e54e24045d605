//! Partial parities, commits, builds, discards and repair sources.

use super::*;
use crate::write::stripes::op::Work;

/// A drive with a parity cache and a full stripe 0, of which strips 1 and 2 have newer contents.
pub(super) fn with_partial_parity() -> Drive {
    let mut drive = Drive::new("ppc", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive.write(&[(1, 2)]);
    drive.write(&[(2, 2)]);
    drive.commands();
    drive.parts_done();
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
    drive.commands();
    drive.parts_done();
    let jobs = [drive.begin(&[(N + 1, 2)]), drive.begin(&[(2 * N + 1, 2)])];
    assert!(drive.stripes.held.has_waiting() && drive.parts_done().is_empty());
    drive.settle();
    assert_eq!(drive.parts_done(), jobs, "in order");
    assert_eq!(drive.stripes.held.stripes().collect::<Vec<_>>(), [StripeId(2)], "there is room for one");
    assert_eq!(drive.stored(STRIPE, N), sum([page(0, 1), page(1, 2), page(2, 1), page(3, 1)]));
    assert_eq!(drive.stored(StripeId(1), N), sum([page(4, 1), page(5, 2), page(6, 1), page(7, 1)]));
    drive.check();
}

/// Four partial parities fill the cache. Catches a cache that is written back too late, or though it was to wait for a need.
#[test]
fn above_three_quarters_the_oldest_partial_parity_is_committed() {
    for (write_back, held) in [("watermark", 1..4), ("on-demand", 0..4)] {
        let mut drive = Drive::new("ppc", &[("parity_cache", "16KiB"), ("write_back", write_back)]);
        for stripe in 0..4 {
            drive.write(&[0, 1, 2, 3].map(|strip| (stripe * N + strip, 1)));
        }
        for stripe in 0..4 {
            drive.write(&[(stripe * N + 1, 2)]);
        }
        assert_eq!(drive.stripes.held.stripes().collect::<Vec<_>>(), held.map(StripeId).collect::<Vec<_>>(), "{write_back}");
        drive.check();
    }
}

/// A commit found no space. Catches a look for updates that wait for room which begins it again although none waits.
#[test]
fn where_nobody_waits_for_room_no_commit_is_begun() {
    let mut drive = Drive::new("ppc", &[("parity_cache", "16KiB")]);
    for stripe in 0..4 {
        drive.write(&[0, 1, 2, 3].map(|strip| (stripe * N + strip, 1)));
    }
    let home = |drive: &Drive, stripe, strip| drive.stripes.home_of(&drive.core, StripeId(stripe), strip).expect("all dies live");
    let full = home(&drive, 0, N).index();
    let elsewhere = |stripe| (0..N).find(|&strip| home(&drive, stripe, strip).index() != full).expect("three more");
    let pages = [0, 1, 2, 3].map(|stripe| (stripe * N + elsewhere(stripe), 2));
    while drive.core.map.has_room(full, Stream::Commit) {
        drive.core.map.take_page(full, Stream::Commit).expect("there is room");
    }
    for page in pages {
        drive.write(&[page]);
    }
    assert!(drive.stripes.fail_first_stalled(&mut drive.core), "four are more than three quarters of the cache");
    drive.go_on();
    assert_eq!((drive.stripes.ops.in_use(), drive.stripes.held.stripes().count()), (0, 4), "it stays held");
    drive.stripes.serve_waiting_for_room(&mut drive.core);
    drive.go_on();
    assert_eq!(drive.stripes.ops.in_use(), 0);
}

/// Two stripes were written while no block was worn; now every stripe is to have parity.
fn two_stripes_that_lack_parity() -> Drive {
    let mut drive = Drive::new("da-raid5", &[("l", "0")]);
    for stripe in 0..2 {
        drive.write(&[0, 1, 2, 3].map(|strip| (stripe * N + strip, 1)));
    }
    assert_eq!(drive.commands().1, [0, 1, 2, 3, 0, 1, 2, 3], "without parity");
    drive.stripes.scheme_mut().block_wore_out();
    drive.stripes.scheme_mut().aged(STRIPE, 1);
    assert_eq!(drive.stripes.scheme().life_stage(), Some(3), "every stripe has parity from now on");
    drive
}

/// Catches parity that is not built when the drive is idle, and what is built twice.
#[test]
fn an_idle_drive_builds_the_parity_that_stripes_lack() {
    let mut drive = two_stripes_that_lack_parity();
    // Without time no die is ever busy, so the second is built as soon as the first is begun.
    for expected in [vec![N, N], vec![]] {
        drive.stripes.build_in_idle_time(&mut drive.core);
        drive.go_on();
        drive.settle();
        assert_eq!(drive.commands().1, expected);
    }
    for stripe in 0..2 {
        assert_eq!(drive.stored(StripeId(stripe), N), sum((0..N).map(|strip| page(stripe * N + strip, 1))), "stripe {stripe}");
    }
}

/// Catches a drive that builds the parity of every stripe at once, while its dies have to read for the first.
#[test]
fn an_idle_drive_builds_parity_of_one_stripe_after_the_other() {
    let mut drive = two_stripes_that_lack_parity();
    drive.core.device.timed = true;
    for _ in 0..2 {
        drive.stripes.build_in_idle_time(&mut drive.core);
        drive.go_on();
        assert_eq!(drive.stripes.ops.in_use(), 1, "the dies have work");
    }
}

/// Catches an update that waits until the parity that makes room for it is durable, and room that is given away twice.
#[test]
fn a_parity_that_its_die_has_taken_up_leaves_the_cache() {
    let mut drive = Drive::new("ppc", &[("parity_cache", "4KiB"), ("write_back", "on-demand")]);
    for stripe in 0..2 {
        drive.write(&[0, 1, 2, 3].map(|strip| (stripe * N + strip, 1)));
    }
    drive.write(&[(1, 2)]);
    drive.begin(&[(N + 1, 2)]);
    assert!(drive.stripes.held.has_waiting());
    // The commit reads what the partial parity does not cover, and programs the parity.
    let parity = loop {
        let (id, _) = drive.core.device.next_ready().expect("the commit is under way");
        let command = drive.core.device.commands[id];
        if command.verb == Verb::Program {
            break (id, command);
        }
        drive.complete(id);
    };
    let Owner::Stripe { op, strip } = parity.1.owner else { panic!("{:?}", parity.1.owner) };
    assert_eq!(u32::from(strip), N);
    assert_eq!(drive.stripes.launched(&mut drive.core, op, N), None);
    drive.go_on();
    assert!(!drive.stripes.held.has_waiting(), "not before the die is done");
    drive.complete(parity.0);
    drive.settle();
    assert_eq!(drive.stripes.held.stripes().collect::<Vec<_>>(), [StripeId(1)]);
    drive.begin(&[(2, 2)]);
    assert!(drive.stripes.held.has_waiting(), "there is room for one");
    drive.settle();
    drive.check();
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
    drive.commands();
    drive.parts_done();
    (drive, unit)
}

/// Catches a collector that waits for ever for what a partial parity keeps in its victim.
#[test]
fn a_commit_that_gc_waits_for_lets_its_victim_go() {
    let (mut drive, unit) = with_collected_old_version();
    drive.stripes.commit_pinned_in(&mut drive.core, unit);
    drive.go_on();
    assert!(drive.wanted.is_empty());
    drive.settle();
    let log = drive.core.map.log_of(unit);
    assert!(drive.core.map.may_erase(unit));
    assert!(
        matches!(drive.wanted.last_chunk(), Some([Popped::Effect(Effect::Collect { log: collected }), Popped::Effect(Effect::RetryJobs)]) if usize::from(*collected) == log)
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

/// Discards pages as far as that goes without effects of it.
pub(super) fn begin_discard(drive: &mut Drive, pages: Range<u32>) {
    let job = drive.core.jobs.take();
    drive.core.jobs[job].reset(Asker::Host, RequestKind::Discard, SimTime::ZERO);
    drive.core.jobs[job].range = (pages.start, pages.end);
    drive.stripes.discard(&mut drive.core, job);
}

fn discard(drive: &mut Drive, pages: Range<u32>) {
    begin_discard(drive, pages);
    drive.go_on();
}

/// Catches pages of a parity that are forgotten while others lean on them, and a stripe that is never freed.
#[test]
fn a_stripe_is_freed_when_all_its_pages_are_discarded() {
    let mut drive = with_partial_parity();
    drive.write(&[(4, 1), (5, 1), (6, 1), (7, 1)]);
    discard(&mut drive, 0..2);
    assert!(drive.core.is_hidden(Lpn(1)) && drive.place(STRIPE, 1).is_some(), "others are solved for with it");
    assert!(drive.stripes.held.get(STRIPE).is_some());
    discard(&mut drive, 2..6);
    assert!((0..=N).all(|strip| drive.stripes.place_of_strip(&drive.core, STRIPE, strip) == Place::Unmapped));
    assert!(drive.stripes.held.is_empty() && !drive.core.is_hidden(Lpn(1)));
    assert_eq!((0..drive.core.map.units() as u32).map(|unit| drive.pins(unit)).sum::<u32>(), 0);
    assert!((0..=N).all(|strip| drive.place(StripeId(1), strip).is_some()), "half of it is still seen");
    drive.check();
    drive.write(&[(1, 9)]);
    assert_eq!(drive.commands().1, [0, 1, 2, 3, N, 1], "it is alone in its stripe: its partial parity is held");
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
    let _ = drive.core.map.forget_parity(STRIPE);
    assert_eq!(solved(&drive, STRIPE, 3), None, "without stored parity nothing stands in for it");
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

/// The program of an old version fails after a newer one was placed, and it goes to another block. Fails if the partial parity
/// goes on naming the page that failed (torture, seed 1001, 1353105), or if its pin stays behind.
#[test]
fn an_old_version_that_goes_elsewhere_is_found_there_and_pinned_there() {
    let mut drive = with_partial_parity();
    let unit_of = |drive: &Drive, slot| drive.core.map.unit_of(slot);
    let from = drive.stripes.held.get(STRIPE).expect("held").pinned().next().expect("an old version");
    let grid = drive.core.device.grid.clone();
    let to = grid.slot(grid.ppn(grid.block(vocab::DieId(0), grid.blocks_per_die() - 1), 0), 0);
    assert_ne!(unit_of(&drive, from), unit_of(&drive, to));
    let (map, held) = (&drive.core.map, &mut drive.stripes.held);
    assert!(!held.old_goes_to(STRIPE, 3, from, to, |slot| map.unit_of(slot)), "another strip lay there");
    assert!(!held.old_goes_to(STRIPE, 1, to, from, |slot| map.unit_of(slot)), "it lay elsewhere");
    assert!(!held.old_goes_to(StripeId(1), 1, from, to, |slot| map.unit_of(slot)), "no partial parity");
    assert!(held.old_goes_to(STRIPE, 1, from, to, |slot| map.unit_of(slot)));
    assert_eq!(held.get(STRIPE).expect("held").old_place(1), Some(Place::At(to)));
    let others: Vec<Slot> = held.get(STRIPE).expect("held").pinned().filter(|&slot| slot != to).collect();
    assert_eq!(held.pinned_in(map.unit_of(to)), [STRIPE]);
    let left = others.iter().filter(|&&slot| map.unit_of(slot) == map.unit_of(from)).count();
    assert_eq!(held.pinned_in(map.unit_of(from)).len(), left);
}

/// Catches a build over a stripe that has parity, and a collector that is never told.
#[test]
fn parity_is_built_once_and_its_waiter_goes_on() {
    let mut drive = Drive::new("raid5", &[]);
    drive.write(&[(0, 1), (1, 1)]);
    drive.lose(STRIPE, N);
    let unit = drive.core.map.forget_parity(STRIPE).pinned;
    assert_eq!(unit, None, "a lost parity pins nothing");
    drive.commands();
    drive.parts_done();
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
        .filter_map(|effect| if let Popped::Parcel(Parcel::ParityBuilt { waiter }) = effect { Some(*waiter) } else { None })
        .collect();
    assert_eq!(built, [waiter, None]);
}

/// Catches a flush that leaves partial parities which it is to commit, or commits those which it is to keep.
#[test]
fn a_flush_commits_partial_parities_where_the_scheme_says_so() {
    for (on_flush, is_held) in [("keep", true), ("commit", false)] {
        let mut drive = Drive::new("ppc", &[("on_flush", on_flush)]);
        drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
        drive.write(&[(1, 2)]);
        drive.stripes.flush_parity_cache(&mut drive.core);
        drive.go_on();
        drive.settle();
        assert_eq!(drive.stripes.held.get(STRIPE).is_some(), is_held, "on_flush={on_flush}");
        drive.check();
    }
}

/// All blocks of a die are gone and no one knows it before the parity of a commit finds no place there. Catches a partial
/// parity that is gone then: it was all that brought back a page that was lost in the meantime (torture, seed 505, 826708).
/// Where the die is dead the stripe does without, as before.
#[test]
fn a_parity_that_no_block_takes_stays_in_the_parity_cache() {
    for dead in [false, true] {
        let mut drive = with_partial_parity();
        drive.stripes.commit(&mut drive.core, STRIPE);
        drive.go_on();
        while let Some((id, _)) = drive.core.device.next_ready() {
            let command = drive.core.device.commands[id];
            let Owner::Stripe { op, strip } = command.owner else { panic!("{:?}", command.owner) };
            if command.verb == Verb::Read {
                drive.complete(id);
                continue;
            }
            assert_eq!(u32::from(strip), N);
            if dead {
                let die = drive.core.device.grid.die_of(command.ppn);
                drive.core.device.losses.die_died(die);
            }
            drive.stripes.program_done(&mut drive.core, command.image, op, N, ProgramOutcome::Failed);
            drive.core.device.images.give(command.image);
            drive.core.device.commands.give(id);
            drive.go_on();
        }
        let held = drive.stripes.held.get(STRIPE).map(|partial| (partial.covers, partial.sum));
        let all = sum([page(0, 1), page(1, 2), page(2, 2), page(3, 1)]);
        assert_eq!(held, (!dead).then_some((strips(0..N), all)));
        let parity = if dead { Place::Missing } else { Place::Unmapped };
        assert_eq!(drive.stripes.place_of_strip(&drive.core, STRIPE, N), parity);
        assert_eq!(drive.stripes.ops.in_use(), 0, "the commit is over");
        if !dead {
            drive.lose(STRIPE, 2);
            assert_eq!(solved(&drive, STRIPE, 2), Some(page(2, 2)));
        }
        drive.check();
    }
}

/// An update waits for room, and nothing is on its way to make any. Catches a look for updates that wait which begins no commit.
#[test]
fn where_an_update_waits_for_room_a_commit_is_begun() {
    let mut drive = Drive::new("ppc", &[("parity_cache", "4KiB"), ("write_back", "on-demand")]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive.write(&[(1, 2)]);
    let waiting = drive.stripes.ops.take();
    assert!(!drive.stripes.held.promise_or_wait(waiting), "the cache is full");
    drive.stripes.serve_waiting_for_room(&mut drive.core);
    drive.go_on();
    assert_eq!(drive.stripes.ops.in_use(), 2, "the update that waits, and the commit");
}

/// Catches a cache of one page that counts as none, and none that counts as one.
#[test]
fn the_least_cache_has_one_page() {
    assert!(Drive::new("ppc", &[("parity_cache", "4KiB")]).stripes.held.promise_if_room());
    assert!(!Drive::new("raid5", &[]).stripes.held.promise_if_room());
}

/// Catches a block that counts as worn while it may yet be programmed once more without parity.
#[test]
fn a_block_is_worn_above_the_limit() {
    let mut drive = Drive::new("da-raid5", &[]);
    drive.stripes.worn_above = Some(vocab::PeCycles(1));
    for _ in 0..20 {
        let ppn = drive.core.map.take_page(0, Stream::Host).expect("a die with room");
        let unit = drive.core.map.unit_of_block(drive.core.device.block_of(ppn));
        drive.core.map.abandon(unit);
        assert!(drive.core.map.condemn_unit(unit));
        drive.core.map.erased(unit);
        drive.stripes.unit_erased(&drive.core, unit);
        let most = (0..drive.core.map.units() as UnitId).map(|unit| drive.core.map.unit(unit).pe).max();
        assert_eq!(drive.stripes.any_worn, most > Some(1), "{most:?} cycles");
    }
    assert!(drive.stripes.any_worn);
}

/// Strip 1 cannot be read, so that the parity of the stripe cannot be had. Catches a drive that never looks again for what lacks
/// parity, and one that looks at all stripes again after every update that was to have none.
#[test]
fn parity_that_could_not_be_had_is_looked_for_again() {
    for fails in [false, true] {
        // Every stripe is to have parity from the first worn strip on, or only those that have one.
        let mut drive = Drive::new("da-raid5", &[("l", if fails { "0" } else { "5" })]);
        drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
        let stripes = drive.stripes.stripe_count(&drive.core);
        drive.stripes.scheme_mut().block_wore_out();
        if fails {
            drive.stripes.scheme_mut().aged(STRIPE, 1);
        }
        while drive.stripes.scheme_mut().next_unprotected(stripes).is_some() {}
        drive.commands();
        drive.begin(&[(0, 2)]);
        drive.settle_without_reading(1);
        assert_eq!(drive.commands().1, [0], "without parity");
        if !fails {
            drive.stripes.scheme_mut().aged(STRIPE, 1);
        }
        assert_eq!(drive.stripes.scheme_mut().next_unprotected(stripes), fails.then_some(STRIPE), "fails: {fails}");
    }
}

/// Catches an old parity whose loss is taken for that of the one that is stored.
#[test]
fn a_parity_is_lost_where_the_map_has_it() {
    let mut drive = Drive::new("raid5", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    let old = drive.place(STRIPE, N).expect("stored");
    drive.write(&[(0, 2), (1, 2), (2, 2), (3, 2)]);
    let now = drive.place(STRIPE, N);
    assert_ne!(now, Some(old));
    drive.stripes.lose(&mut drive.core, OobTag::parity(STRIPE), old);
    assert_eq!(drive.place(STRIPE, N), now);
    drive.lose(STRIPE, N);
    assert_eq!(drive.stripes.place_of_strip(&drive.core, STRIPE, N), Place::Missing);
}

/// The die of strip 1 is full of pages that nothing can erase, because partial parities keep old versions there. Catches a stripe
/// whose commit would free them and is left alone, so that what waits for room is given up (torture, seed 20261121, 192236); and
/// commits that would find no room themselves, free nothing, or are tried for ever.
#[test]
fn stripes_are_committed_that_keep_old_versions_where_there_is_no_room() {
    let mut drive = with_partial_parity();
    let wanted = |drive: &Drive| drive.stripes.committed_for_room(&drive.core);
    let die = |drive: &Drive, strip| drive.stripes.home_of(&drive.core, STRIPE, strip).expect("it lives").index();
    assert_eq!(wanted(&drive), [], "there is room everywhere");
    let uncovered = die(&drive, 0);
    drive.fill(uncovered);
    assert_eq!(wanted(&drive), [], "no old version lies there");
    let covered = die(&drive, 1);
    drive.fill(covered);
    assert_eq!(wanted(&drive), [STRIPE]);
    drive.stripes.held.found_no_space(STRIPE, Work::Commit);
    assert_eq!(wanted(&drive), [], "it found no room just now");
    drive.stripes.held.take_deferred();
    let parity = die(&drive, N);
    while drive.core.map.take_page(parity, Stream::Commit).is_some() {}
    assert_eq!(wanted(&drive), [], "its parity has no room");
    drive.empty(parity);
    drive.stripes.commit(&mut drive.core, STRIPE);
    drive.go_on();
    assert_eq!(wanted(&drive), [], "a commit is under way");
    drive.settle();
    assert!(drive.stripes.held.is_empty());
}
