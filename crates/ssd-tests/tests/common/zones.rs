//! Drives of code zones with code in place.

use super::codewords::protection;
use super::ssd::protect::Protection;
use super::ssd::protect::code_zones::{CodeGroupId, ZoneLayout};
use super::ssd::{Pace, Session, Setup};
use super::{drive, nand, run, setup_of};
use std::collections::BTreeSet;
use vocab::{Fua, HostCommand, HostOp, Lba, Lpn, Nanos, SimTime, StreamId};

pub const COMMAND: u64 = 300;
pub const READ: u64 = 40_000;
pub const PROGRAM: u64 = 700_000;
/// 4096 bytes at 400 MT/s.
pub const TRANSFER: u64 = 10_240;
pub const WRITE: HostOp = HostOp::Write(Fua::No);

/// When the drives of [`coded`] go off line: by then the reads of the run have said what is hot.
pub const OFF_LINE: u64 = 5_000_000;

/// 8 dies on 2 channels in two groups of four, zones of 4 blocks and 2 spare ones, of 256 pages: one page
/// kind, so that times do not depend on the page number; all of it written once.
pub fn zones(options: &[(&str, &str)]) -> Setup {
    zones_on(8, options)
}

pub fn zones_on(dies: u32, options: &[(&str, &str)]) -> Setup {
    let mut choice = super::protect::SchemeChoice::named("code-zones");
    let usual = [("group", "4"), ("zone_blocks", "6"), ("offline", "5ms"), ("hysteresis", "10000"), ("read_ahead_threads", "0")];
    choice.options = usual.iter().chain(options).map(|&(key, value)| (key.into(), value.into())).collect();
    let mut drive = drive(dies, 24, 8, 1);
    drive.timing.page = vec![nand::PageKind { name: "page".into(), read: Nanos(READ), program: Nanos(PROGRAM) }];
    let mut setup = setup_of(&choice, drive, 1.0);
    setup.precondition.fill = 1.0;
    setup
}

pub fn layout(setup: &Setup) -> ZoneLayout {
    match protection(setup) {
        Protection::Zones(zones) => zones.layout().clone(),
        _ => unreachable!("the setup is of code zones"),
    }
}

/// This many pages from `lpn` on.
pub fn command(at: u64, op: HostOp, lpn: u32, pages: u32) -> HostCommand {
    HostCommand { at: SimTime(at), op, lba: Lba(u64::from(lpn) * 8), sectors: pages * 8, stream: StreamId::default() }
}

/// A drive that has read some of these zones, the first of them most, and was off line after that.
pub fn coded(setup: &Setup, zones: &[u32]) -> Session {
    let mut session = Session::new(setup).unwrap();
    warm_up(&mut session, setup, zones, 1);
    session
}

/// Reads zones, and lets the drive go off line this many times; the last request is long after that.
pub fn warm_up(session: &mut Session, setup: &Setup, zones: &[u32], times: u32) {
    let pages = layout(setup).zone_pages();
    let reads = zones.iter().zip((1..=zones.len() as u32).rev());
    let mut all: Vec<HostCommand> =
        reads.flat_map(|(zone, count)| (0..count).map(move |i| command(0, HostOp::Read, zone * pages + 4 * i, 4))).collect();
    all.push(command(1_000_000_000 * u64::from(times), HostOp::Read, zones[0] * pages, 1));
    run(session, &all, Pace::Open);
}

/// Groups with valid code.
pub fn coded_groups(session: &Session, layout: &ZoneLayout) -> BTreeSet<CodeGroupId> {
    session.inventory().code.iter().flat_map(|page| page.of.first().map(|lpn| layout.line(*lpn).0.group)).collect()
}

/// Logical pages of groups with valid code.
pub fn coded_pages(session: &Session, setup: &Setup) -> BTreeSet<Lpn> {
    let layout = layout(setup);
    let groups = coded_groups(session, &layout);
    (0..setup.user_slots).map(Lpn).filter(|lpn| groups.contains(&layout.line(*lpn).0.group)).collect()
}
