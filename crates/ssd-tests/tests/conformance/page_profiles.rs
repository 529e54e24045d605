//! Page profiles in reserved pages (FLARES section 4.2): what was flushed is found after a power cut, and nothing else suffers.

use crate::common::{MIX, Mix, drive, read_all, run, schemes, seeds, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::ecc::PartialProfile;
use ssd::protect::SchemeChoice;
use ssd::{Age, Ecc, Errors, Failure, Fate, Pace, Power, Session, Setup};
use std::collections::BTreeMap;
use vocab::{BlockAddr, Bytes, DieId, Nanos, PeCycles, Ppn, Stream, Streams};

const BLOCKS: u32 = 14;

/// A small old drive that flushes page profiles every 5 ms. Windows are of 3 reads, so that many end.
fn flushing(choice: &SchemeChoice, seed: u64) -> Setup {
    let mut choice = choice.clone();
    if choice.name == "code-zones" {
        choice.options.insert("spare_blocks".into(), "3".into());
    }
    let mut setup = Setup { seed, ..setup_of(&choice, drive(5, BLOCKS, 4, 1), 0.6) };
    setup.drive.geometry.oob_size = Bytes(224);
    setup.precondition.fill = 0.8;
    setup.power = Power { mountable: true, ..Power::default() };
    setup.age = Age { pe_cycles: PeCycles(3000), retention: Nanos(100 * 3_600_000_000_000), ..Age::default() };
    setup.errors = Errors { model: "flares".into(), ..Errors::default() };
    let options = [("wsize", "3"), ("mix", "1"), ("maxover", "0")].map(|(key, value)| (key.into(), value.into()));
    let options = options.into_iter().collect();
    setup.ecc = Ecc { policy: "flares".into(), options, flush: Nanos(5_000_000), ..Ecc::default() };
    setup
}

fn cut(session: &mut Session, draws: &mut Stream) {
    let fates: Vec<Fate> = session.begun().into_iter().map(|begun| begun.draw(draws)).collect();
    session.cut_power(&fates);
}

fn session(setup: &Setup) -> Session {
    Session::new(setup).unwrap_or_else(|error| panic!("{}: {error}", setup.scheme))
}

/// Flushed profiles and those that a mount found differ only where pages were programmed since: these keep at least
/// their code.
fn check_found(flushed: &BTreeMap<Ppn, PartialProfile>, found: &BTreeMap<Ppn, PartialProfile>, name: &str) -> usize {
    for (ppn, before) in flushed {
        let after = found.get(ppn).copied().unwrap_or_default();
        assert!(after.p_next >= before.p_next, "{name}: {ppn} had {before:?} flushed, and {after:?} is found");
        assert_eq!(PartialProfile { p_next: before.p_next, ..after }, *before, "{name}: {ppn}");
    }
    // Of what was never flushed nothing is known but the code that pages have.
    for (ppn, after) in found.iter().filter(|(ppn, _)| !flushed.contains_key(ppn)) {
        assert_eq!(PartialProfile { p_next: after.p_next, ..PartialProfile::default() }, *after, "{name}: {ppn}");
    }
    flushed.iter().filter(|&(ppn, before)| found.get(ppn) == Some(before)).count()
}

/// The oracle is the copy that the drive had before the cut, of which no page was lost. Catches a mount that takes an older copy, or
/// one that is not whole, or mixes two; and reserved pages that are taken for the host's.
#[test]
fn what_was_flushed_is_found_after_a_cut() {
    let mix = Mix { reads: 0.7, partial: 0.0, discards: 0.02, every: 100_000, ..MIX };
    let (mut same, mut cuts_in_flushes) = (0, 0);
    for choice in schemes() {
        for seed in seeds(2) {
            let (name, setup) = (format!("{choice}, seed {seed}"), flushing(&choice, seed));
            let (mut session, mut draws) = (session(&setup), Streams::new(seed).stream("test/profiles"));
            let commands = workload(seed, setup.user_slots, 1500, mix);
            let mut rest = commands.iter().copied();
            for _ in 0..4 {
                let events = 500 + draws.below(3000);
                session.run_until(&mut rest, Pace::Closed { depth: 4 }, &mut |event| event < events);
                let (before, worn_before) = (session.page_profiles(), session.pe_cycles());
                cuts_in_flushes += usize::from(before.flushed != before.in_ram);
                cut(&mut session, &mut draws);
                let after = session.page_profiles();
                assert_eq!((&after.flushed, after.at), (&before.flushed, before.at), "{name}");
                let worn = session.pe_cycles();
                let forgets_wear = |block: &BlockAddr| worn[block.index()] < worn_before[block.index()];
                assert!(!before.reserved.iter().any(forgets_wear), "{name}: {worn_before:?}, then {worn:?}");
                same += check_found(&before.flushed, &after.in_ram, &name);
                session.drain();
                session.check_counts();
                let found = session.take_stock();
                assert_eq!((&found.lost, &found.wrong), (&Vec::new(), &None), "{name}");
                session.audit().unwrap_or_else(|what| panic!("{name}: {what}"));
            }
        }
    }
    assert!(same > 1000 && cuts_in_flushes > 10, "{same} profiles found, {cuts_in_flushes} cuts found something not flushed");
}

/// Without a flush, the same cut takes everything: what the first test finds, it does not find by chance.
#[test]
fn without_a_flush_nothing_is_found() {
    let choice = SchemeChoice::named("none");
    for flush in [Nanos(0), Nanos(5_000_000)] {
        let mut setup = flushing(&choice, 1);
        setup.ecc.flush = flush;
        let mut session = session(&setup);
        (0..3).for_each(|_| {
            run(&mut session, &read_all(setup.user_slots).collect::<Vec<_>>(), Pace::Closed { depth: 4 });
        });
        let before = session.page_profiles().in_ram;
        session.cut_power(&[]);
        let after = session.page_profiles().in_ram;
        assert!(!before.is_empty());
        assert_eq!(after.is_empty(), flush == Nanos(0), "{flush:?}");
    }
}

/// Every flush costs a program for each page of a copy, and an erase for each block that is begun again, all counted as metadata.
/// Catches copies that are free, and erases that are not needed.
#[test]
fn what_flushes_cost_is_counted() {
    let choice = SchemeChoice::named("none");
    let programs = |flush: u64| {
        let mut setup = flushing(&choice, 1);
        setup.ecc.flush = Nanos(flush);
        let mut session = session(&setup);
        let reads: Vec<_> = (0..20).flat_map(|_| read_all(setup.user_slots)).collect();
        let result = run(&mut session, &reads, Pace::Closed { depth: 4 });
        let pages = u64::from(session.page_profiles().pages_of_copy);
        let of = |counts: &BTreeMap<String, u64>| counts.get("meta").copied().unwrap_or(0);
        (of(&result.flash.programs), of(&result.flash.erases), pages, (result.replay.simulated_s * 1e9) as u64)
    };
    let (never, erases, ..) = programs(0);
    assert_eq!((never, erases), (0, 0));
    let (often, erases, pages, end) = programs(5_000_000);
    // The last one ends behind the last answer.
    let flushes = end / 5_000_000;
    assert!(often > 0 && often.is_multiple_of(pages), "{often} programs, copies have {pages} pages");
    assert!((flushes..=flushes + 1).contains(&(often / pages)), "{often} programs in {end} ns");
    // Blocks have 4 pages and are fresh at first.
    assert!(erases <= often.div_ceil(4) && erases + 3 >= often / 4, "{erases} erases, {often} programs");
}

/// A die with reserved blocks dies, and one of them goes bad: profiles are lost, data are not, and the drive goes on.
#[test]
fn reserved_blocks_may_be_lost() {
    for failure in [0, 1, 2] {
        let setup = flushing(&SchemeChoice::named("raid5"), 3);
        let mut session = session(&setup);
        let (mix, mut draws) = (Mix { partial: 0.0, ..MIX }, Streams::new(3).stream("test/profiles"));
        let commands = workload(3, setup.user_slots, 600, mix);
        let (first, second) = commands.split_at(300);
        run(&mut session, first, Pace::Closed { depth: 4 });
        let reserved = session.page_profiles().reserved;
        assert!(session.page_profiles().at.is_some());
        session.fail(match failure {
            0 => Failure::Die(DieId((reserved[0].0 / BLOCKS) as u16)),
            1 => Failure::Block(reserved[0]),
            _ => Failure::WornOut(BlockAddr(reserved[0].0)),
        });
        run(&mut session, second, Pace::Closed { depth: 4 });
        let mut rest = read_all(setup.user_slots);
        session.run_until(&mut rest, Pace::Closed { depth: 4 }, &mut |event| event < 200);
        cut(&mut session, &mut draws);
        session.drain();
        let found = session.take_stock();
        assert_eq!((&found.lost, &found.wrong), (&Vec::new(), &None), "failure {failure}");
    }
}
