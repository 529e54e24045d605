//! Power cuts: a workload is stopped before some event, every die meets a fate of its own, the drive
//! is mounted again, and nothing that was acknowledged is lost, not even if the power goes again
//! while it recovers.

use crate::common::{MIX, Mix, drive, promise, schemes, seeds, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::protect::SchemeChoice;
use ssd::{Buffer, BufferKind, Failure, Fate, Pace, Power, Session, Setup};
use vocab::{BlockAddr, Bytes, DieId, HostCommand, Stream, Streams};

const DIES: u32 = 5;
const BLOCKS: u32 = 12;
const PAGES: u32 = 4;
const SMALL: Mix = Mix { reads: 0.2, discards: 0.05, max_pages: 5, every: 100_000, partial: 0.0, ..MIX };

fn again(test: &str, seed: u64) -> String {
    format!("repeat with: FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test conformance power_cuts::{test}")
}

fn small(scheme: &SchemeChoice, buffer: Buffer, slots: u64, seed: u64) -> Setup {
    let mut scheme = scheme.clone();
    if scheme.name == "code-zones" {
        scheme.options.insert("spare_blocks".into(), "3".into());
    }
    let scheme = &scheme;
    let mut setup = Setup { buffer, seed, ..setup_of(scheme, drive(DIES, BLOCKS, PAGES, slots), 0.7) };
    setup.precondition.fill = 0.75;
    setup.precondition.converge_within = 1e-9;
    setup.precondition.overwrite_at_most = 1.5;
    setup.power = Power { mountable: true, ..Power::default() };
    setup
}

fn cut(session: &mut Session, draws: &mut Stream) -> Vec<Fate> {
    let fates: Vec<Fate> = session.begun().into_iter().map(|begun| begun.draw(draws)).collect();
    session.cut_power(&fates);
    fates
}

/// Loses one part of the drive, if the scheme survives that.
fn lose(session: &mut Session, choice: &SchemeChoice, draws: &mut Stream) -> Option<Failure> {
    if promise(choice, &drive(DIES, BLOCKS, PAGES, 1)) == 0 {
        return None;
    }
    // A cut may use up redundancy until the drive has recovered from it, which erases pages.
    while session.is_recovering() {
        session.run_until(&mut std::iter::empty(), Pace::Closed { depth: 4 }, &mut |event| event < 5);
    }
    let failure = match draws.below(3) {
        0 => Failure::Die(DieId(draws.below(u64::from(DIES)) as u16)),
        1 => Failure::Block(BlockAddr(draws.below(u64::from(DIES * BLOCKS)) as u32)),
        _ => {
            let pages = session.inventory().pages;
            Failure::Page(pages[draws.below(pages.len() as u64) as usize].ppn)
        }
    };
    session.fail(failure);
    Some(failure)
}

/// Cuts the power again and again, and loses a part of the drive before, amid or after one of the
/// cuts if `loses` says so; says what was lost.
fn campaign(name: &str, setup: &Setup, seed: u64, cuts: u32, loses: bool) -> Result<(), String> {
    let mut draws = Streams::new(seed).stream("test/cuts");
    let mut session = Session::new(setup).map_err(|e| format!("{name}: {e}"))?;
    let pace = Pace::Closed { depth: 4 };
    for number in 0..cuts {
        let commands: Vec<HostCommand> = workload(seed * 1000 + u64::from(number), setup.user_slots, 60, SMALL);
        let stop = draws.below(250);
        session.run_until(&mut commands.iter().copied(), pace, &mut |event| event < stop);
        let mut log = vec![format!("cut {number} at {stop}: {:?}", cut(&mut session, &mut draws))];
        let mut may_lose = loses && number == cuts - 2;
        while draws.chance(0.5) {
            if may_lose && draws.chance(0.5) {
                log.push(format!("lost {:?}", lose(&mut session, &setup.scheme, &mut draws)));
                may_lose = false;
            }
            let stop = draws.below(40);
            session.run_until(&mut std::iter::empty(), pace, &mut |event| event < stop);
            log.push(format!("again at {stop}: {:?}", cut(&mut session, &mut draws)));
        }
        session.drain();
        session.check_counts();
        let found = session.take_stock();
        let audit = session.audit();
        if found.wrong.is_some() || !found.lost.is_empty() || audit.is_err() {
            return Err(format!("{name}, seed {seed}: {found:?}, audit {audit:?}\n{}", log.join("\n")));
        }
    }
    Ok(())
}

#[test]
fn neither_is_it_where_a_part_of_the_drive_is_lost_as_well() {
    for seed in seeds(12) {
        for choice in schemes() {
            let slots = if choice.name == "ds-raid" || choice.name == "mds-groups" { 1 + seed % 2 } else { 1 };
            let setup = small(&choice, Buffer::OFF, slots, seed);
            campaign(&choice.to_string(), &setup, seed, 3, true)
                .unwrap_or_else(|e| panic!("{e}\n{}", again("neither_is_it_where_a_part_of_the_drive_is_lost_as_well", seed)));
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost() {
    for seed in seeds(6) {
        for choice in schemes() {
            for (name, kind) in [("", BufferKind::Off), ("volatile", BufferKind::Volatile), ("plp", BufferKind::Plp)] {
                let buffer = Buffer { kind, size: Bytes(8 * 4096), ..Buffer::default() };
                let setup = small(&choice, buffer, 1, seed);
                campaign(&format!("{choice} {name}"), &setup, seed, 12, false)
                    .unwrap_or_else(|e| panic!("{e}\n{}", again("nothing_acknowledged_is_lost", seed)));
            }
        }
    }
}

/// Cuts two drives alike, one of which has a checkpoint: what they find is the same, and one looks at less.
fn found_alike(choice: &SchemeChoice, seed: u64) -> Result<[u64; 2], String> {
    let buffer = Buffer { kind: BufferKind::Plp, size: Bytes(6 * 4096), ..Buffer::default() };
    let name = &choice.name;
    let drives = [false, true].map(|checkpoint| {
        let mut setup = small(choice, buffer, 1, seed);
        setup.power.checkpoint = checkpoint;
        Session::new(&setup).expect("a valid setup")
    });
    let mut looks = [0; 2];
    let mut drives = drives;
    let mut draws = Streams::new(seed).stream("test/checkpoint");
    let slots = small(choice, buffer, 1, seed).user_slots;
    for number in 0..12 {
        let commands: Vec<HostCommand> = workload(seed * 1000 + number, slots, 60, SMALL);
        let stop = draws.below(200);
        let mut found = Vec::new();
        let fate = draws.bits();
        for (drive, looks) in drives.iter_mut().zip(&mut looks) {
            drive.run_until(&mut commands.iter().copied(), Pace::Closed { depth: 4 }, &mut |event| event < stop);
            let mut draws = Streams::new(fate).stream("test/fates");
            let fates: Vec<Fate> = drive.begun().into_iter().map(|begun| begun.draw(&mut draws)).collect();
            let mounted = drive.cut_power(&fates);
            *looks += mounted.looks;
            let inventory = drive.inventory();
            found.push((mounted.mapped, format!("{inventory:?}"), drive.take_stock()));
        }
        if found[0] != found[1] {
            return Err(format!("{name}: cut {number} at {stop}: {:?} and {:?}", found[0], found[1]));
        }
    }
    Ok(looks)
}

#[test]
fn a_checkpoint_and_a_full_scan_find_the_same() {
    for choice in schemes() {
        for seed in seeds(4) {
            let looks = found_alike(&choice, seed);
            let again = again("a_checkpoint_and_a_full_scan_find_the_same", seed);
            let [all, few] = looks.unwrap_or_else(|e| panic!("{e}; {again}"));
            assert!(few < all, "{}: a checkpoint saved no look: {few} of {all}; {again}", choice.name);
        }
    }
}

/// I14: blocks without a page to tell their wear are bounded by what PLP memory knows, however often the
/// power goes between an erase and the next program. The bound does not rise by itself.
#[test]
fn wear_never_comes_back_lower_and_does_not_rise_by_cuts_alone() {
    for seed in seeds(1) {
        for choice in schemes() {
            let setup = small(&choice, Buffer::OFF, 1, seed);
            let mut draws = Streams::new(seed).stream("test/wear");
            let mut session = Session::new(&setup).unwrap();
            for number in 0..40 {
                let commands: Vec<HostCommand> = workload(seed * 1000 + number, setup.user_slots, 40, SMALL);
                // Often before anything is programmed.
                let events = if number % 4 == 0 { draws.below(200) } else { draws.below(12) };
                session.run_until(&mut commands.into_iter(), Pace::Closed { depth: 4 }, &mut |event| event < events);
                let before = session.pe_cycles();
                cut(&mut session, &mut draws);
                let after = session.pe_cycles();
                let name = format!("{choice}, cut {number}; {}", again("wear_never_comes_back", seed));
                let lower = before.iter().zip(&after).position(|(before, after)| after < before);
                assert_eq!(lower, None, "{name}: {before:?}, then {after:?}");
                let most = |pe: &[u32]| pe.iter().copied().max().expect("a drive has blocks");
                assert!(most(&after) <= most(&before) + 1, "{name}: {before:?}, then {after:?}");
                assert!(session.begun().is_empty(), "{name}");
                cut(&mut session, &mut draws);
                assert_eq!(session.pe_cycles(), after, "{name}: nothing was erased in the meantime");
            }
        }
    }
}
