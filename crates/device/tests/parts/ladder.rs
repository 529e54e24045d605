//! The ladder of reads: which steps a page takes, when they end, and what waits in the meantime.

use crate::common::{COMMAND, ERASE, READ, TRANSFER, Tiny, erase, page, program, read, take_up};
use flashkeep_device::command::Verb;
use flashkeep_device::config::{CodecTiming, Ecc, Errors, ReadRetry, Scheduler};
use flashkeep_device::ecc::{EccSetup, PageEcc, Rewrites};
use flashkeep_device::facts::Step;
use flashkeep_device::sense::{Compares, Verdict};
use flashkeep_device::slab::CommandId;
use nand::FlashArray;
use std::collections::BTreeMap;
use vocab::{BlockAddr, Bytes, Cause, DieId, Nanos, SimTime, Streams};

const HOUR: u64 = 3_600_000_000_000;
const DECODER: usize = 2;

/// The tiny device with LDPC of one rate and room for it, its blocks at this many cycles.
fn device(ladder: ReadRetry, rate: &str, pe: u32, codec: CodecTiming) -> Tiny {
    let mut device = crate::common::device(Scheduler::ReadFirst);
    let (ecc, errors) = setup(ladder, rate, codec);
    let mut geometry = *device.grid.geometry();
    geometry.oob_size = Bytes(1024);
    let setup =
        EccSetup { ecc: &ecc, errors: &errors, geometry: &geometry, sensed: 1, slc: (1, 1.0), rewrites: Rewrites::default() };
    device.array = std::mem::replace(&mut device.array, nand::MemoryArray::new(geometry, true)).keeping_ecc();
    device.ecc = PageEcc::new(&setup, &Streams::new(5)).unwrap_or_else(|e| panic!("{e}"));
    for block in 0..geometry.blocks() {
        device.array.set_age(BlockAddr(block), |info| info.pe = pe);
    }
    device
}

fn setup(ladder: ReadRetry, rate: &str, codec: CodecTiming) -> (Ecc, Errors) {
    let options = BTreeMap::from([("rate".to_owned(), rate.to_owned())]);
    let ecc = Ecc { policy: "ldpc".into(), options, codec, read_retry: ladder, ..Ecc::default() };
    (ecc, Errors { model: "tlc-128l".into(), ..Errors::default() })
}

/// Commands in the order of their ends: the owner of a command, the time, whether it was clean.
type Ended = Vec<(u32, u64, bool)>;

fn finish(device: &mut Tiny, id: CommandId, clean: bool, ended: &mut Ended) {
    if let Some(stopwatch) = &device.stopwatch {
        let trail = stopwatch.trail().copied().expect("a host command ends");
        assert_eq!(trail.from + trail.waits.total(), device.now, "waits of command {}", device.commands[id].owner);
    }
    ended.push((device.commands[id].owner, device.now.0, clean));
    device.commands.give(id);
}

/// Runs until nothing is left to do, as the engine does.
fn run(device: &mut Tiny) -> Ended {
    let mut ended = Vec::new();
    loop {
        take_up(device);
        let Some((now, resource)) = device.calendar.next() else { return ended };
        device.now = now;
        if resource == DECODER {
            let Some((id, outcome)) = device.decoded(0, DECODER) else { continue };
            let die = device.grid.die_of(device.commands[id].ppn);
            finish(device, id, outcome.is_clean(), &mut ended);
            if !device.is_busy(die) {
                device.kick(die);
            }
            continue;
        }
        let die = DieId(resource as u16);
        let Some(id) = device.die_event(die) else { continue };
        let command = device.commands[id];
        match command.verb {
            Verb::Read => {
                let sensed = device.sense(&command, Compares::Yes);
                if sensed.time > Nanos(0) || device.reads_again() {
                    device.decode_later(id, sensed.verdict.outcome(), sensed.time, |_| DECODER);
                } else {
                    finish(device, id, sensed.verdict.outcome().is_clean(), &mut ended);
                }
            }
            Verb::Program => {
                assert!(device.program(&command).is_done());
                finish(device, id, true, &mut ended);
            }
            _ => {
                assert!(device.erase(device.block_of(command.ppn), Cause::Gc).is_done());
                finish(device, id, true, &mut ended);
            }
        }
        device.kick(die);
    }
}

/// Block 0 of die 0 holds three pages, one of each kind, of this age.
fn aged(ladder: ReadRetry, rate: &str, pe: u32, hours: u64, codec: CodecTiming) -> Tiny {
    let mut device = device(ladder, rate, pe, codec);
    for number in 0..3 {
        let ppn = page(&device, 0, 0, number);
        program(&mut device, ppn, number, 100);
    }
    run(&mut device);
    device.now = SimTime(device.now.0 + hours * HOUR);
    device.watch();
    device
}

const ONCE: u64 = COMMAND + READ + TRANSFER;

/// At 3000 cycles and a year CSB pages have 5.8e-2 with the default references: the hard decoder bears 7.7e-3. Without time in
/// the decoder, a read of k retries takes k reads more, and the best reference makes it come back.
#[test]
fn each_retry_is_a_read_of_its_die() {
    let mut device = aged(ReadRetry::Table, "0.889", 3000, 8760, CodecTiming::Instant);
    let start = device.now.0;
    let ppn = page(&device, 0, 0, 1);
    read(&mut device, ppn, 1);
    let ended = run(&mut device);
    let folds = &device.folds.ladder;
    assert_eq!(folds.ended, [0, 1, 0, 0, 0]);
    let retries = u64::from(*folds.retries.keys().next().unwrap());
    // The set takes 15 retries to 6.5e-3; the model's table is at 14 there, and this decoder bears a little more.
    assert!((9..=15).contains(&retries), "{retries}");
    assert_eq!(ended, [(1, start + (1 + retries) * ONCE, true)]);
    assert_eq!(folds.flash.map(|time| time.0), [ONCE, retries * ONCE, 0, 0]);
    assert_eq!(folds.further_sensings, retries);
    let busy = Nanos((1 + retries) * ONCE);
    assert!(device.folds.busy >= busy && device.folds.flash_ops() == 4, "a ladder is one read of the record");
}

/// At 7000 cycles and a year the best references leave about 6e-3: too much for rate 0.928 read hard, and little for 2 bits.
#[test]
fn soft_reads_follow_the_table() {
    for (soft_bits, ended_on, clean) in [(3, Step::Soft2 as usize, true), (1, Step::ALL.len(), false)] {
        let mut device = aged(ReadRetry::Table, "0.928", 7000, 8760, CodecTiming::Instant);
        let (mut ecc, errors) = setup(ReadRetry::Table, "0.928", CodecTiming::Instant);
        ecc.soft_bits = soft_bits;
        let mut geometry = *device.grid.geometry();
        geometry.oob_size = Bytes(1024);
        let setup =
            EccSetup { ecc: &ecc, errors: &errors, geometry: &geometry, sensed: 1, slc: (1, 1.0), rewrites: Rewrites::default() };
        device.ecc = PageEcc::new(&setup, &Streams::new(5)).unwrap();
        let start = device.now.0;
        let ppn = page(&device, 0, 0, 1);
        read(&mut device, ppn, 1);
        let ended = run(&mut device);
        let folds = &device.folds.ladder;
        assert_eq!(folds.ended[ended_on], 1, "{:?}", folds.ended);
        let soft = if soft_bits == 3 { COMMAND + 2 * READ + TRANSFER } else { 0 };
        assert_eq!(ended, [(1, start + 28 * ONCE + soft, clean)], "27 retries and a soft read of two sensings");
    }
}

/// Catches an erase that takes what is still being read, and a die that waits for itself.
#[test]
fn an_erase_waits_for_a_page_that_is_read_again_and_reads_of_others_do_not() {
    let mut device = aged(ReadRetry::Table, "0.889", 3000, 8760, CodecTiming::Flares);
    let start = device.now.0;
    let (old, other) = (page(&device, 0, 0, 1), page(&device, 1, 0, 0));
    read(&mut device, old, 1);
    erase(&mut device, old, 2);
    program(&mut device, other, 9, 3);
    let ended = run(&mut device);
    let at = |owner| ended.iter().find(|ended| ended.0 == owner).expect("it ended");
    assert!(at(1).2, "the page comes back, though its block is to be erased");
    assert_eq!(at(2).1, at(1).1 + COMMAND + ERASE);
    assert!(at(3).1 < start + 2 * ERASE);
    let decode: u64 = device.folds.ladder.decode.iter().map(|time| time.0).sum();
    let flash: u64 = device.folds.ladder.flash.iter().map(|time| time.0).sum();
    assert!(decode > 0 && at(1).1 >= start + flash + decode, "die, channel and decoder work one after the other for one page");
}

/// Remembered references belong to pages of the block alone, and end with an erase and with power.
#[test]
fn tracked_references_are_remembered_until_an_erase_or_a_power_cut() {
    let retries = |device: &mut Tiny, ppn| {
        device.folds.ladder = Default::default();
        read(device, ppn, 1);
        run(device);
        *device.folds.ladder.retries.keys().next().unwrap()
    };
    let mut device = aged(ReadRetry::Tracked, "0.889", 3000, 8760, CodecTiming::Instant);
    let [csb, msb] = [1, 2].map(|number| page(&device, 0, 0, number));
    let first = retries(&mut device, csb);
    assert!(first > 5, "{first}");
    // The entry that was just good enough may be just too weak the next time: errors are drawn again.
    assert!([csb, msb, csb].into_iter().all(|ppn| retries(&mut device, ppn) <= 1));
    let geometry = *device.grid.geometry();
    let (ecc, errors) = setup(ReadRetry::Tracked, "0.889", CodecTiming::Instant);
    let setup =
        EccSetup { ecc: &ecc, errors: &errors, geometry: &geometry, sensed: 1, slc: (1, 1.0), rewrites: Rewrites::default() };
    device.ecc.as_mut().unwrap().restart(&setup, &Streams::new(6));
    assert!(retries(&mut device, csb) > 5, "RAM is gone");
    erase(&mut device, csb, 2);
    for number in 0..3 {
        let ppn = page(&device, 0, 0, number);
        program(&mut device, ppn, number, 100);
    }
    run(&mut device);
    assert_eq!(retries(&mut device, csb), 0, "the page is new, and so are its references");
    assert_eq!(device.folds.ladder.ended, [1, 0, 0, 0, 0]);
}

/// Predicted references are right the first time; the more they err, the more reads follow.
#[test]
fn a_prediction_saves_retries_as_far_as_it_is_right() {
    let retries = |policy, sigma: f64| {
        let mut device = aged(policy, "0.889", 3000, 8760, CodecTiming::Instant);
        let (mut ecc, errors) = setup(policy, "0.889", CodecTiming::Instant);
        ecc.prediction_sigma = sigma;
        let mut geometry = *device.grid.geometry();
        geometry.oob_size = Bytes(1024);
        let setup =
            EccSetup { ecc: &ecc, errors: &errors, geometry: &geometry, sensed: 1, slc: (1, 1.0), rewrites: Rewrites::default() };
        let mut all = 0;
        for seed in 0..40 {
            device.ecc = PageEcc::new(&setup, &Streams::new(seed)).unwrap();
            for number in 0..3 {
                let ppn = page(&device, 0, 0, number);
                read(&mut device, ppn, number);
            }
            run(&mut device);
        }
        for (&retries, &reads) in &device.folds.ladder.retries {
            all += u64::from(retries) * reads;
        }
        all
    };
    let table = retries(ReadRetry::Table, 0.0);
    let [exact, rough] = [0.0, 1.0].map(|sigma| retries(ReadRetry::Predicted, sigma));
    assert_eq!(exact, 0);
    assert!(0 < rough && rough < table, "{rough} retries, by the table {table}");
}

/// Many reads of both dies with programs and erases among them: all end, waits add up ([`finish`]), and nothing is left behind.
#[test]
fn a_busy_device_climbs_and_its_waits_add_up() {
    for seed in 0..20 {
        let mut device = aged(ReadRetry::Table, "0.901", 3000, 8760, CodecTiming::Flares);
        let mut draws = Streams::new(seed).stream("test/ladder");
        let mut submitted = 0;
        for round in 0..20 {
            for number in 0..draws.below(6) {
                let ppn = page(&device, 0, 0, draws.below(3) as u32);
                read(&mut device, ppn, round * 100 + number as u32);
                submitted += 1;
            }
            if draws.chance(0.3) {
                let ppn = page(&device, draws.below(2) as u16, 2, 0);
                erase(&mut device, ppn, 7);
                submitted += 1;
            }
            // Some of the rounds meet what the one before left.
            if draws.chance(0.7) {
                submitted -= run(&mut device).len();
            }
        }
        submitted -= run(&mut device).len();
        assert_eq!(submitted, 0, "seed {seed}");
        assert!(device.is_idle(), "seed {seed}");
    }
}

#[test]
fn without_a_ladder_a_page_is_read_once() {
    let mut device = aged(ReadRetry::None, "0.889", 3000, 8760, CodecTiming::Instant);
    let ppn = page(&device, 0, 0, 1);
    let id = read(&mut device, ppn, 1);
    let command = device.commands[id];
    assert_eq!(device.sense(&command, Compares::Yes).verdict, Verdict::Decoded { clean: false, rewrite: false });
    assert_eq!(device.folds.ladder.ended, [0; 5]);
}
