//! On an idle drive every latency is a sum of data-sheet times, to the nanosecond.

use crate::common::{drive, run, setup};
use flashkeep_ssd as ssd;
use ssd::{Pace, Session, Setup, nand};
use vocab::{BusRate, Fua, HostCommand, HostOp, Lba, Nanos, PeCycles, SimTime, StreamId};

const COMMAND: u64 = 300;
const READ: u64 = 40_000;
const PROGRAM: u64 = 700_000;
/// 4096 bytes at 400 MT/s, OOB bytes for nothing.
const TRANSFER: u64 = 10_240;
/// Far enough apart that nothing is left of the request before.
const APART: u64 = 100_000_000;

/// One page kind, so that times do not depend on the page number; 6 dies on 2 channels.
fn plain(scheme: &str) -> Setup {
    let mut setup = setup(scheme, drive(6, 64, 64, 1), 0.5);
    setup.drive.timing.page = vec![nand::PageKind { name: "page".into(), read: Nanos(READ), program: Nanos(PROGRAM) }];
    assert_eq!(setup.drive.timing.transfer, nand::Transfer::DataMtPerS(BusRate(400)));
    setup
}

fn requests(list: &[(HostOp, u64, u64)]) -> Vec<HostCommand> {
    let one = |(i, &(op, page, pages)): (usize, &(HostOp, u64, u64))| HostCommand {
        at: SimTime(i as u64 * APART),
        op,
        lba: Lba(page * 8),
        sectors: (pages * 8) as u32,
        stream: StreamId::default(),
    };
    list.iter().enumerate().map(one).collect()
}

const WRITE: HostOp = HostOp::Write(Fua::No);

/// Latency in ns of the last of some requests.
fn last_latency(setup: &Setup, list: &[(HostOp, u64, u64)]) -> (u64, ssd::RunResult) {
    let mut session = Session::new(setup).unwrap();
    let all = requests(list);
    let (before, last) = all.split_at(all.len() - 1);
    run(&mut session, before, Pace::Open);
    let result = run(&mut session, &[HostCommand { at: SimTime(APART), ..last[0] }], Pace::Open);
    ((result.host.latency_us.mean * 1e3).round() as u64, result)
}

#[test]
fn a_read_takes_command_sense_and_transfer() {
    let (latency, _) = last_latency(&plain("none"), &[(WRITE, 3, 1), (HostOp::Read, 3, 1)]);
    assert_eq!(latency, COMMAND + READ + TRANSFER);
}

#[test]
fn a_write_takes_command_transfer_and_program() {
    let (latency, _) = last_latency(&plain("none"), &[(WRITE, 3, 1)]);
    assert_eq!(latency, COMMAND + TRANSFER + PROGRAM);
}

/// 5000 cycles of 100 us for each thousand.
#[test]
fn a_program_takes_longer_on_a_block_that_is_worn_where_that_is_asked_for() {
    let mut worn = plain("none");
    worn.age.pe_cycles = PeCycles(5000);
    assert_eq!(last_latency(&worn, &[(WRITE, 3, 1)]).0, COMMAND + TRANSFER + PROGRAM);
    worn.drive.timing.program_growth = Nanos(100_000);
    assert_eq!(last_latency(&worn, &[(WRITE, 3, 1)]).0, COMMAND + TRANSFER + PROGRAM + 500_000);
}

#[test]
fn two_pages_on_one_channel_share_the_bus_and_nothing_else() {
    // Dies 0 and 2 are on channel 0; pages go to dies 0, 1, 2 in turn.
    let (latency, _) = last_latency(&plain("none"), &[(WRITE, 0, 3), (HostOp::Read, 0, 3)]);
    // Both sense at once, but for the command cycles; the second transfer waits for the first.
    assert_eq!(latency, COMMAND + READ + 2 * TRANSFER);
}

#[test]
fn a_partial_write_reads_its_page_first() {
    let setup = plain("none");
    let mut session = Session::new(&setup).unwrap();
    run(&mut session, &requests(&[(WRITE, 3, 1)]), Pace::Open);
    let part = HostCommand { at: SimTime(APART), op: WRITE, lba: Lba(3 * 8 + 2), sectors: 3, stream: StreamId::default() };
    let result = run(&mut session, &[part], Pace::Open);
    let expected = (COMMAND + READ + TRANSFER) + (COMMAND + TRANSFER + PROGRAM);
    assert_eq!((result.host.latency_us.max * 1e3).round() as u64, expected);
    assert_eq!(result.flash.reads["host-rmw"], 1);
}

#[test]
fn a_raid5_small_write_is_two_reads_and_two_programs_as_the_dies_allow() {
    let setup = plain("raid5");
    // Stripe 0: parity on die 5, strip i on die i. The whole stripe exists.
    let fill = (WRITE, 0, 5);
    // Strip 0 on die 0 (channel 0), parity on die 5 (channel 1): all in parallel.
    let (latency, result) = last_latency(&setup, &[fill, (WRITE, 0, 1)]);
    assert_eq!(latency, (COMMAND + READ + TRANSFER) + (COMMAND + TRANSFER + PROGRAM));
    assert_eq!((result.flash.reads["parity"], result.flash.programs["host"], result.flash.programs["parity"]), (2, 1, 1));
    // Strip 1 on die 1 shares channel 1 with the parity: commands and transfers queue up.
    let (latency, _) = last_latency(&setup, &[fill, (WRITE, 1, 1)]);
    assert_eq!(latency, (COMMAND + READ + 2 * TRANSFER) + (2 * (COMMAND + TRANSFER) + PROGRAM));
}

#[test]
fn a_full_stripe_is_written_without_a_read() {
    let setup = plain("raid5");
    let (latency, result) = last_latency(&setup, &[(WRITE, 0, 5), (WRITE, 0, 5)]);
    assert_eq!(result.flash.reads.values().sum::<u64>(), 0);
    // Six programs, three on each channel.
    assert_eq!(latency, 3 * (COMMAND + TRANSFER) + PROGRAM);
}

#[test]
fn a_ds_raid_write_is_never_preceded_by_a_read() {
    let setup = plain("ds-raid");
    let (latency, result) = last_latency(&setup, &[(WRITE, 0, 5), (WRITE, 0, 1)]);
    assert_eq!(result.flash.reads.values().sum::<u64>(), 0);
    assert_eq!((result.flash.programs["host"], result.flash.programs["parity"]), (1, 1));
    // Row 1 starts on die 1: data on channel 1, sub-stripe parity on die 2, channel 0.
    assert_eq!(latency, COMMAND + TRANSFER + PROGRAM);
}

#[test]
fn worn_blocks_take_the_worn_times() {
    let mut setup = plain("none");
    setup.drive.timing.worn =
        Some(nand::Worn { above_pe: vocab::PeCycles(1000), erase: Nanos(9_000_000), program: vec![Nanos(5_000_000)] });
    let at = |setup: &Setup| last_latency(setup, &[(WRITE, 3, 1)]).0;
    setup.age.pe_cycles = vocab::PeCycles(1000);
    assert_eq!(at(&setup), COMMAND + TRANSFER + PROGRAM);
    setup.age.pe_cycles = vocab::PeCycles(1001);
    assert_eq!(at(&setup), COMMAND + TRANSFER + 5_000_000);
}

#[test]
fn a_plp_buffer_answers_at_its_own_latency() {
    let mut setup = plain("none");
    setup.buffer = crate::common::buffers()[2].1;
    assert_eq!(last_latency(&setup, &[(WRITE, 3, 1)]).0, setup.buffer.latency.0);
    assert_eq!(last_latency(&setup, &[(WRITE, 3, 1), (HostOp::Read, 3, 1)]).0, setup.buffer.latency.0);
    // A volatile buffer makes a forced write wait for flash.
    setup.buffer = crate::common::buffers()[1].1;
    assert_eq!(last_latency(&setup, &[(WRITE, 3, 1)]).0, setup.buffer.latency.0);
    assert_eq!(last_latency(&setup, &[(HostOp::Write(Fua::Yes), 3, 1)]).0, COMMAND + TRANSFER + PROGRAM);
}
