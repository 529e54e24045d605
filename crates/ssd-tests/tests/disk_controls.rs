//! Events of a drive beside requests: its temperature, slow dies, stalls, channels, and schedules of all that.
#![cfg(unix)]

mod common;

use common::files::remove;
use common::{drive, setup};
use flashkeep_ssd as ssd;
use ssd::disk::{Control, Disk, DiskError, DiskRequest, Failed, Happened, Part, Planned, SECTOR, When};
use ssd::{Age, Ecc, Errors, Faults, PayloadKind, Power, Precondition, Setup};
use vocab::{Bytes, DieId, Fua, Nanos, PeCycles, Streams};

const HOUR: f64 = 3.6e12;
const SECOND: Nanos = Nanos(1_000_000_000);

/// An empty drive of 4 dies on 2 channels, kind of page by page 40 and 65 us to read.
fn plain(scheme: &str) -> Setup {
    let mut setup = setup(scheme, drive(4, 16, 8, 1), 0.5);
    setup.precondition = Precondition { fill: 0.0, ..setup.precondition };
    setup.power = Power { mountable: true, ..Power::default() };
    Setup { payload: PayloadKind::Page, ..setup }
}

fn fill(disk: &mut Disk) -> u64 {
    let per = u64::from(disk.sectors_per_page());
    let pages = disk.sectors() / per;
    for page in 0..pages {
        disk.write(page * per, vec![page as u8; per as usize * SECTOR], Fua::No).expect("room");
    }
    disk.flush().expect("room");
    pages
}

/// Latencies of reads of all pages, one at a time.
fn latencies(disk: &mut Disk) -> Vec<u64> {
    let per = disk.sectors_per_page();
    let pages = disk.sectors() / u64::from(per);
    let mut read = |page: u64| {
        disk.submit(DiskRequest::Read { sector: page * u64::from(per), sectors: per });
        let answers = disk.run_all().expect("a read");
        assert!(answers[0].result.is_ok());
        answers[0].latency.0
    };
    (0..pages).map(&mut read).collect()
}

/// A read of a die that is ten times as slow takes nine sensings more, 40 or 65 us each; others take what they took. A power cut
/// changes nothing of it, a factor of 1 undoes it. Catches a factor that also slows the channel, or another die.
#[test]
fn reads_of_a_slow_die_take_so_many_sensings_more() {
    let mut disk = Disk::in_memory(&plain("none")).expect("a drive");
    fill(&mut disk);
    disk.idle(SECOND).expect("time passes");
    let before = latencies(&mut disk);
    disk.slow(DieId(3), 10.0).expect("a die that is there");
    let slow = latencies(&mut disk);
    let more: Vec<u64> = before.iter().zip(&slow).map(|(before, slow)| slow - before).collect();
    assert!(more.iter().all(|more| [0, 9 * 40_000, 9 * 65_000].contains(more)), "{more:?}");
    let share = more.iter().filter(|&&more| more > 0).count() as f64 / more.len() as f64;
    assert!((0.2..0.3).contains(&share), "one die of four: {share}");
    assert_eq!(disk.status().dies.iter().map(|die| die.slow).collect::<Vec<_>>(), [1.0, 1.0, 1.0, 10.0]);
    // Recovery writes a page or two again, to other dies.
    disk.cut_power().expect("it mounts");
    let times = |latencies: Vec<u64>| latencies.into_iter().collect::<std::collections::BTreeSet<u64>>();
    assert_eq!(times(latencies(&mut disk)), times(slow));
    disk.slow(DieId(3), 1.0).expect("a die that is there");
    assert_eq!(times(latencies(&mut disk)), times(before));
    assert!(matches!(disk.slow(DieId(4), 2.0), Err(DiskError::Control(what)) if what == "die 4: valid are 0 to 3"));
    assert!(matches!(disk.slow(DieId(0), 0.5), Err(DiskError::Control(_))));
}

/// A worn drive whose pages have errors.
fn worn() -> Setup {
    let mut setup = plain("none");
    setup.drive.geometry.oob_size = Bytes(224);
    setup.errors = Errors { model: "flares".into(), ..Errors::default() };
    setup.ecc = Ecc { policy: "fixed".into(), options: [("t".into(), "60".into())].into(), ..Ecc::default() };
    setup.age = Age { pe_cycles: PeCycles(8000), ..Age::default() };
    setup
}

/// Bits that page ECC corrects when an aged drive is read once.
fn corrected(age: impl FnOnce(&mut Disk)) -> f64 {
    let mut disk = Disk::in_memory(&worn()).expect("a drive");
    fill(&mut disk);
    age(&mut disk);
    corrected_of(&mut disk)
}

fn corrected_of(disk: &mut Disk) -> f64 {
    let before = disk.status().corrected_bits;
    latencies(disk);
    let status = disk.status();
    assert_eq!(status.media_errors, 0);
    let of_reads: u64 = status.ecc_histogram.iter().map(|(_, reads)| reads).sum();
    assert!(of_reads > 0 && status.ecc_histogram.iter().any(|&(errors, _)| errors > 0));
    (status.corrected_bits - before) as f64
}

/// JESD218's 1.1 eV: an hour at 55 C does what `exp(Ea/k (1/298.15 - 1/328.15))` hours at 25 C do. So a drive that lay hot and
/// cooled down has the errors of one that lay so much longer at 25 C, also through a power cut; counts differ by their own
/// noise at most, four standard deviations. Catches an age that is taken at the present temperature as a whole.
#[test]
fn data_age_as_arrhenius_says_at_each_temperature_that_the_drive_had() {
    let faster = (1.1 / 8.617_333e-5 * (1.0 / 298.15 - 1.0 / 328.15_f64)).exp();
    let hours = |hours: f64| Nanos((hours * HOUR) as u64);
    let is_alike = |one: f64, other: f64| (one - other).abs() <= 4.0 * (one + other).sqrt();
    let short = corrected(|disk| disk.age(hours(200.0)).expect("it lies"));
    let long = corrected(|disk| disk.age(hours(200.0 * faster)).expect("it lies"));
    let hot = corrected(|disk| {
        disk.temperature(55.0).expect("a drive bears that");
        disk.age(hours(200.0)).expect("it lies");
        disk.cut_power().expect("it mounts");
        disk.temperature(25.0).expect("a drive bears that");
        assert_eq!(disk.status().temperature, 25.0);
    });
    assert!(!is_alike(short, long), "{short} and {long} bits");
    assert!(is_alike(hot, long), "{hot} and {long} bits");
    // In files, which are opened again: what lay hot stays old, and cold now it ages slowly.
    let path = std::env::temp_dir().join(format!("flashkeep-hot-{}", std::process::id()));
    let mut disk = Disk::create(&worn(), &path).expect("files");
    fill(&mut disk);
    for celsius in [55.0, 25.0] {
        disk.temperature(celsius).expect("a drive bears that");
        drop(disk);
        disk = Disk::open(&worn(), &path).expect("the files");
        assert_eq!(disk.status().temperature, celsius);
        disk.age(hours(if celsius > 30.0 { 200.0 } else { 1.0 })).expect("it lies");
    }
    disk.slow(DieId(2), 7.0).expect("a die that is there");
    drop(disk);
    disk = Disk::open(&worn(), &path).expect("the files");
    let kept = corrected_of(&mut disk);
    assert!(is_alike(kept, long), "{kept} and {long} bits");
    assert_eq!(disk.status().dies.iter().map(|die| die.slow).collect::<Vec<_>>(), [1.0, 1.0, 7.0, 1.0]);
    drop(disk);
    remove(&path);
}

#[test]
fn a_channel_goes_with_its_dies_and_the_spare_with_it() {
    let setup = plain("none");
    let mut disk = Disk::in_memory(&setup).expect("a drive");
    assert_eq!((disk.status().bad_blocks, disk.status().spare), (0, 1.0));
    disk.fail(Part::Channel(1)).expect("a channel that is there");
    let status = disk.status();
    for die in &status.dies {
        assert_eq!(die.alive, die.channel == 0);
    }
    let beyond = f64::from(4 * 16 * 8 - setup.user_slots);
    assert_eq!((status.bad_blocks, status.spare), (32, (1.0 - f64::from(32 * 8) / beyond).max(0.0)));
    assert!(matches!(disk.fail(Part::Channel(1)), Err(DiskError::Control(what)) if what.contains("dead already")));
    assert!(matches!(disk.fail(Part::Channel(2)), Err(DiskError::Control(what)) if what == "channel 2: valid are 0 to 1"));
}

/// A write that is answered within a millisecond else is answered when the firmware goes on.
#[test]
fn requests_wait_for_a_firmware_that_stalls() {
    let mut disk = Disk::in_memory(&plain("none")).expect("a drive");
    disk.submit(DiskRequest::Write { sector: 0, data: vec![1; 4096].into(), fua: Fua::Yes });
    disk.step(0).expect("it is taken");
    let from = disk.now();
    disk.pause(Nanos(300_000_000)).expect("a short time");
    let answers = disk.run_all().expect("it goes on");
    assert_eq!((answers[0].latency, answers[0].at.since(from)), (Nanos(300_000_000), Nanos(300_000_000)));
    assert!(disk.pause(Nanos(61_000_000_000)).is_err());
}

fn at(when: When, control: &str) -> Planned {
    Planned { when, control: control.parse().expect("words of the control socket") }
}

/// A planned loss is the same drive as one that is called for at that request, and time is split where something is due.
#[test]
fn what_is_planned_happens_then_and_as_if_it_were_called_for() {
    let run = |planned: bool| {
        let mut disk = Disk::in_memory(&plain("ds-raid")).expect("a drive");
        let controls = [at(When::Time(Nanos(2_000_000_000)), "wear +5"), at(When::Request(40), "kill die 2")];
        if planned {
            disk.plan(&controls);
        }
        let start = disk.now();
        let mut draws = Streams::new(7).stream("test/disk");
        for number in 1..=80 {
            let page = draws.below(disk.sectors() / 8);
            disk.submit(DiskRequest::Write { sector: page * 8, data: vec![number as u8; 4096].into(), fua: Fua::No });
            disk.step(0).expect("it is taken");
            if number == 40 && !planned {
                disk.fail(Part::Die(2)).expect("a die that is there");
            }
            disk.run_all().expect("room");
        }
        let spent = disk.now().since(start);
        disk.idle(SECOND * 2 - spent).expect("time passes");
        if !planned {
            disk.wear(5).expect("a drive in memory");
        }
        disk.idle(SECOND * 3).expect("time passes");
        assert_eq!(disk.now().since(start), SECOND * 5);
        (disk.happened(), start, disk.status())
    };
    let ((happened, start, one), (nothing, _, other)) = (run(true), run(false));
    assert_eq!(one, other);
    assert!(nothing.is_empty() && one.dies.iter().filter(|die| !die.alive).count() == 1);
    let told: Vec<(String, u64, Option<String>)> =
        happened.iter().map(|h: &Happened| (h.control.to_string(), h.requests, h.refused.clone())).collect();
    assert_eq!(told, [("kill die 2".to_owned(), 40, None), ("wear +5".to_owned(), 80, None)]);
    assert_eq!(happened[1].at.since(start), SECOND * 2);
}

/// Requests under way when a planned cut comes are told so, each once; what cannot happen is noted and the drive goes on.
#[test]
fn requests_that_a_planned_cut_meets_are_told_that_the_power_went() {
    let mut disk = Disk::in_memory(&plain("ds-raid")).expect("a drive");
    let controls = ["kill die 1", "kill die 1", "cut-power"].map(|control| at(When::Request(6), control));
    disk.plan(&controls);
    let write = |n: u64| DiskRequest::Write { sector: n * 8, data: vec![n as u8; 4096].into(), fua: Fua::Yes };
    let numbers: Vec<u64> = (0..10).map(|n| disk.submit(write(n))).collect();
    let answers = disk.run_all().expect("it goes on");
    let mut answered: Vec<u64> = answers.iter().map(|answer| answer.request).collect();
    answered.sort_unstable();
    assert_eq!(answered, numbers);
    assert!(answers.iter().any(|answer| answer.result == Err(Failed::PowerCut)));
    let refused: Vec<Option<String>> = disk.happened().into_iter().map(|happened| happened.refused).collect();
    assert_eq!(refused, [None, Some("die 1 is dead already".into()), None]);
    disk.write(0, vec![9; 4096], Fua::Yes).expect("it goes on");
    assert_eq!((disk.status().power_cuts, disk.first_mismatch()), (1, None));
    let hang: Control = "hang on".parse().expect("words");
    assert!(disk.carry_out(&hang).is_ok());
}

/// Time passes for a drive that waits for what is planned, and for nothing else.
#[test]
fn a_request_that_waits_meets_what_is_due_before_its_answer() {
    let mut disk = Disk::in_memory(&plain("none")).expect("a drive");
    disk.plan(&[at(When::Time(Nanos(100_000)), "pause 1s"), at(When::Time(SECOND * 100), "cut-power")]);
    let start = disk.now();
    // A program takes 500 us at least: the stall is in its midst.
    disk.write(0, vec![1; 4096], Fua::Yes).expect("it goes on");
    assert_eq!(disk.now().since(start), Nanos(1_000_100_000));
    assert_eq!(disk.status().power_cuts, 0);
}

/// A drive in files of an age has each die's mean P/E cycles, the most worn block and the time of the same drive in memory, also once
/// the files were opened again before anything was written; after that erases count from there. Catches an age that files forget, and
/// erased blocks that are taken for as worn as the most worn one.
#[test]
fn drives_in_files_keep_the_age_that_they_were_made_with() {
    const SINCE: Nanos = Nanos(30 * 24 * 3_600 * SECOND.0);
    let age =
        Age { pe_cycles: PeCycles(1000), pe_deviation: 90.0, worn_blocks: 0.2, worn_pe_cycles: PeCycles(2500), ..Age::default() };
    let setup = Setup { age: Age { retention: SINCE, ..age }, ..plain("ds-raid") };
    let worn = |disk: &Disk| {
        let status = disk.status();
        (status.dies.iter().map(|die| die.pe_mean).collect::<Vec<_>>(), status.pe_max, status.pe_mean)
    };
    let new = Disk::in_memory(&setup).expect("a drive");
    assert!(worn(&new).1 > 2000 && (1000.0..1700.0).contains(&worn(&new).2), "{:?}", worn(&new));
    let path = std::env::temp_dir().join(format!("flashkeep-aged-{}", std::process::id()));
    let mut disk = Disk::create(&setup, &path).expect("files");
    assert_eq!((worn(&disk), disk.now()), (worn(&new), new.now()));
    drop(disk);
    disk = Disk::open(&setup, &path).expect("the files");
    assert_eq!((worn(&disk), disk.now() >= new.now()), (worn(&new), true));
    for _ in 0..3 {
        fill(&mut disk);
    }
    let erases = worn(&disk).2 - worn(&new).2;
    assert!((0.5..8.0).contains(&erases), "{erases} cycles more");
    let before = worn(&disk);
    drop(disk);
    disk = Disk::open(&setup, &path).expect("the files");
    let (dies, most, mean) = worn(&disk);
    // Erases that may have been under way count.
    let kept = |now: f64, before: f64| (before..=before + 1.0).contains(&now);
    assert!(
        dies.into_iter().zip(&before.0).all(|(now, &before)| kept(now, before)) && kept(mean, before.2),
        "{:?} {before:?}",
        worn(&disk)
    );
    assert!((before.1..=before.1 + 1).contains(&most), "{most} {before:?}");
    drop(disk);
    remove(&path);
}

/// Writes and reads all pages of the drive this many times; all answers.
fn work(disk: &mut Disk, rounds: u32) -> Vec<ssd::disk::DiskAnswer> {
    let mut answers = Vec::new();
    for round in 0..rounds {
        fill(disk);
        for page in 0..disk.sectors() / 8 {
            disk.submit(DiskRequest::Read { sector: page * 8, sectors: 8 });
        }
        answers.extend(disk.run_all().expect("a drive that works"));
        assert_eq!(disk.first_mismatch(), None, "round {round}");
    }
    answers
}

/// A drive in files whose settings have faults fails as the same drive in memory does, request by request, and goes on to fail once its
/// files were opened again. Catches faults that files forget.
#[test]
fn drives_in_files_fail_as_they_were_made_to() {
    let path = std::env::temp_dir().join(format!("flashkeep-faults-{}", std::process::id()));
    let tired = Faults { uncorrectable_reads: 5e-3, wear_out: 5e-7, ..Faults::default() };
    for faults in [tired, Faults { dead_die: Some(1), ..Faults::default() }] {
        let setup = Setup { faults, ..plain("ds-raid") };
        let mut memory = Disk::in_memory(&setup).expect("a drive");
        let mut disk = Disk::create(&setup, &path).expect("files");
        assert_eq!(work(&mut memory, 6), work(&mut disk, 6));
        let before = disk.status();
        assert_eq!(format!("{:?}", memory.status()), format!("{before:?}"));
        assert!(before.rebuilt_reads > 5 || faults != tired, "{before:?}");
        assert_eq!((before.bad_blocks > 0, before.dies[1].alive), (true, faults == tired), "{before:?}");
        drop(disk);
        disk = Disk::open(&setup, &path).expect("the files");
        // The controller finds blocks that take nothing once it writes to them.
        work(&mut disk, 3);
        let after = disk.status();
        assert!(after.bad_blocks >= before.bad_blocks && after.dies[1].alive == (faults == tired), "{after:?}");
        assert!(after.rebuilt_reads > 0 || faults != tired, "{after:?}");
        drop(disk);
        remove(&path);
    }
    let late = Setup { faults: Faults { dead_die: Some(1), dead_die_at_request: 9, ..Faults::default() }, ..plain("ds-raid") };
    for refused in [Disk::in_memory(&late).err(), Disk::create(&late, &path).err()] {
        let said = refused.expect("requests are not counted from the beginning").to_string();
        assert!(said.contains("faults.dead_die_at_request: "), "{said}");
    }
}
