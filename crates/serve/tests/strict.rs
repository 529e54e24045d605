//! Crash points on the strict drive: an unsafe program is found and a careful one passes, and what can prove nothing is refused.
#![cfg(unix)]

mod common;

use common::{SETTINGS, Served, disk};
use flashkeep_serve::{Crash, Cut, DiskRequest, DriveKind, Fua, Instant, Loss, Pace, Recording, Shrunk, Step, Tried};
use std::path::PathBuf;
use std::time::Duration;

const STRICT: DriveKind = DriveKind::Strict { atom: 512, size: None };

/// A directory that is gone when the test ends.
struct Work(PathBuf);

impl Work {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("flashkeep-strict-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }

    fn crash(&self, check: &str) -> Crash {
        Crash { check: check.to_owned(), work: self.0.join("crash"), threads: 2, ..Crash::default() }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn write(sector: u64, text: &str, fua: Fua) -> Step {
    let mut data = text.as_bytes().to_vec();
    data.resize(data.len().next_multiple_of(512), 0);
    Step::Request(DiskRequest::Write { sector, data: data.into(), fua })
}

fn flush() -> Step {
    Step::Request(DiskRequest::Flush)
}

fn of(steps: Vec<Step>) -> Recording {
    Recording { steps, size: Some(1 << 16), ..Recording::default() }
}

/// Record `n` lies at sector `8 n`; sector 0 says how many there are.
fn store(careful: bool) -> Recording {
    let mut steps = Vec::new();
    for n in 1..=9 {
        steps.push(write(8 * n, &format!("record {n}"), Fua::No));
        steps.extend(careful.then(flush));
        steps.extend([write(0, &n.to_string(), Fua::No), flush()]);
    }
    of(steps)
}

const COUNTED: &str = "n=$(head -c 1 {image} | tr -d '\\000'); found=$(grep -ao 'record .' {image} | wc -l); \
    [ $found -ge ${n:-0} ] || { echo \"$n counted, $found there\"; exit 1; }";

fn run(crash: &Crash, recording: &Recording) -> Tried {
    crash.run(&STRICT, recording, &mut |_, _| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(crash: &Crash, recording: &Recording) -> String {
    crash.run(&STRICT, recording, &mut |_, _| {}).map(|tried| panic!("{tried:?}")).unwrap_err().to_string()
}

#[test]
fn a_store_that_counts_before_it_flushes_is_found_in_three_requests() {
    let work = Work::new("hasty");
    let crash = work.crash(COUNTED);
    let tried = run(&crash, &store(false));
    let failure = &tried.failures[0];
    // Record 1 is at step 0, its count at step 1: with the record lost and the count kept, there is a count of nothing.
    assert_eq!(failure.instant, Instant { step: 2, cut: Cut::Strict(Loss::Lost(0)) });
    let Some(Shrunk::To(smaller)) = &failure.smaller else { panic!("{failure:?}") };
    assert_eq!((smaller.steps, smaller.lost.iter().map(|lost| (lost.start, lost.end)).collect()), (2, vec![(4096, 4608)]));
    let again = Crash { only: Some(smaller.instant), ..work.crash(COUNTED) };
    let again = run(&again, &Recording::read(&smaller.log).expect("it was written"));
    assert_eq!(again.failures[0].said, smaller.said);
    let careful = run(&work.crash(COUNTED), &store(true));
    assert!(careful.failures.is_empty() && careful.images > 10, "{careful:?}");
}

/// A record of two sectors whose check sum is its first word: a torn one is not whole in 512 bytes, and is in 4096.
#[test]
fn a_write_that_must_be_whole_is_torn_in_atoms() {
    let work = Work::new("torn");
    let both = format!("{:512}{:512}", "head", "tail");
    let recording = of(vec![write(8, &both, Fua::Yes), flush()]);
    let check = "grep -aq head {image} || exit 0; grep -aq tail {image} || { echo torn; exit 1; }";
    let tried = run(&work.crash(check), &recording);
    let torn = Loss::Torn { write: 0, atoms: 1, alone: false };
    assert_eq!(tried.failures[0].instant, Instant { step: 1, cut: Cut::Strict(torn) });
    let whole = DriveKind::Strict { atom: 4096, size: None };
    let tried = work.crash(check).run(&whole, &recording, &mut |_, _| {}).expect("it runs");
    assert!(tried.failures.is_empty(), "{tried:?}");
}

/// A check is told the marks, so what was acknowledged at each instant.
#[test]
fn a_check_knows_what_was_acknowledged() {
    let work = Work::new("marks");
    let check = "for n in $FLASHKEEP_MARKS; do grep -aq \"record $n\" {image} || { echo \"$n of $FLASHKEEP_MARK is lost\"; exit 1; }; done";
    let acknowledged = |careful: bool| {
        let one = |n: u64| {
            let write = write(8 * n, &format!("record {n}"), Fua::No);
            [Some(write), careful.then(flush), Some(Step::Mark(n.to_string()))].into_iter().flatten()
        };
        of((1..=3).flat_map(one).collect())
    };
    let tried = run(&work.crash(check), &acknowledged(false));
    assert_eq!((tried.failures[0].instant.step, &*tried.failures[0].said), (2, "1 of 1 is lost"));
    assert!(tried.failures.iter().any(|failure| failure.said.contains("1 of 2 is lost")), "{tried:?}");
    let Some(Shrunk::To(smaller)) = &tried.failures[0].smaller else { panic!("{tried:?}") };
    let left = Recording::read(&smaller.log).expect("it was written").steps;
    // Without any write the mark alone fails where no power is cut, too.
    assert!(left[0].is_write() && left[1].mark() == Some("1") && left.len() == 2, "{left:?}");
    assert!(run(&work.crash(check), &acknowledged(true)).failures.is_empty());
}

#[test]
fn what_can_prove_nothing_is_refused() {
    let work = Work::new("refused");
    let refused = |check: &str, recording: &Recording| refusal(&work.crash(check), recording);
    assert!(refused("true", &store(true)).contains("the check has no {image}"));
    assert!(refused("true {image}", &of(vec![flush()])).contains("the recording has no writes"));
    assert!(refused("there-is-no-such-check {image}", &store(true)).contains("the check cannot be run: exit status: 127"));
    assert!(refused("true {image}; exit 126", &store(true)).contains("the check cannot be run: exit status: 126"));
    let held = Recording { held: true, ..store(true) };
    assert!(refused("true {image}", &held).contains("name the image with --base"));
    let unknown = Crash { from: Some("x".into()), ..work.crash("true {image}") };
    assert!(refusal(&unknown, &store(true)).contains("--from x: no such mark"));
}

/// Three reasons of a failure that needs no power cut are three things.
/// A check that hangs on an image has failed there; one that something else ended says nothing.
#[test]
fn a_check_that_hangs_has_failed_and_one_that_is_ended_says_nothing() {
    let work = Work::new("hangs");
    let only = Some("6:all".parse().expect("an instant"));
    let check = "[ \"$(head -c 1 {image})\" != 2 ] || { sleep 600 & wait; }";
    let crash = Crash { limit: Some(Duration::from_secs(1)), only, ..work.crash(check) };
    let tried = run(&crash, &store(false));
    let said: Vec<&str> = tried.failures.iter().map(|failure| &*failure.said).collect();
    assert_eq!(said, ["the check did not end in 1 s"]);
    let ended = refusal(&Crash { only, ..work.crash("kill -TERM $$; sleep 9; true {image}") }, &store(false));
    assert!(ended.contains("the check was ended from outside, which says nothing of the image: signal: 15"), "{ended}");
}

#[test]
fn failures_without_a_cut_are_told_apart() {
    let work = Work::new("uncut");
    let needs_base = refusal(&work.crash("grep -aq record {image}"), &store(true));
    assert!(needs_base.contains("fails on the image before the first step") && needs_base.contains("is --base missing?"));
    // Before the mark it fails; from there on it does not.
    let mut made = store(true);
    made.steps.insert(2, Step::Mark("made".into()));
    let from_there = Crash { from: Some("made".into()), ..work.crash("grep -aq record {image}") };
    assert!(run(&from_there, &made).failures.is_empty());
    // The old name goes before the new one comes.
    let renamed = |last: &str| {
        of(vec![write(8, "old", Fua::Yes), Step::Mark("made".into()), write(8, "gone", Fua::Yes), write(8, last, Fua::Yes)])
    };
    let either = Crash { from: Some("made".into()), ..work.crash("grep -aq -e old -e new {image}") };
    let by_order = run(&either, &renamed("new"));
    assert!(matches!(by_order.failures[0].smaller, Some(Shrunk::ByOrder)), "{by_order:?}");
    let broken = run(&either, &renamed("other"));
    assert!(matches!(broken.failures[0].smaller, Some(Shrunk::AtTheEnd)), "{broken:?}");
}

/// More images than are to be checked: those that lose nothing come first, and what is left out is counted.
#[test]
fn the_most_images_are_counted() {
    let work = Work::new("most");
    let steps: Vec<Step> = (0..100).map(|n| write(n, &format!("{n:>400}"), Fua::No)).collect();
    let few = Crash { images: 120, ..work.crash("true {image}") };
    let tried = run(&few, &of(steps.clone()));
    assert_eq!(tried.images, 120);
    assert!(tried.images_left_out > 1000 && tried.singles_left_out > 0 && tried.instants > 1120, "{tried:?}");
    let all = Crash { images: 0, subsets: 0, ..work.crash("true {image}") };
    let some = run(&all, &of(steps[..10].to_vec()));
    // The empty drive; then after each write: all; each of the others lost; and the new one alone, which after two writes is the same
    // as the first one lost.
    let distinct = 1 + (1..=10).map(|n| 1 + (n - 1) + usize::from(n > 2)).sum::<usize>();
    assert_eq!((some.images, some.images_left_out), (distinct, 0));
}

#[test]
fn threads_and_an_interruption_change_nothing() {
    let work = Work::new("threads");
    let facts = |tried: &Tried| {
        let failures: Vec<_> = tried.failures.iter().map(|failure| (failure.instant, failure.said.clone())).collect();
        (tried.instants, tried.images, failures)
    };
    let with = |threads| Crash { threads, failures: 1000, shrink: 0, ..work.crash(COUNTED) };
    let whole = run(&with(1), &store(false));
    assert!(whole.failures.len() > 1);
    let stop = std::panic::catch_unwind(|| {
        with(3).run(&STRICT, &store(false), &mut |step, all| assert!(step < all - 2, "it is stopped here"))
    });
    assert!(stop.is_err());
    let went_on = run(&with(3), &store(false));
    assert!(went_on.known > 0, "{went_on:?}");
    assert_eq!(facts(&went_on), facts(&whole));
}

/// A power cut during a recording takes what was not flushed, in the replay as on the drive; so does a snapshot that is restored.
#[test]
fn what_ctl_did_during_a_recording_is_replayed() {
    let settings = "schemes = [\"none\"]\ncapacity.size = \"16MiB\"\ndrive.preset = \"mlc-2014\"\nbuffer.kind = \"volatile\"\n";
    for (name, command) in [("cut", "cut-power"), ("back", "restore empty")] {
        let work = Work::new(name);
        let served = Served::new(name, disk(settings, ""), Pace::None);
        let log = work.0.join("log");
        served.ctl("snapshot empty");
        served.ctl(&format!("record {}", log.display()));
        let call = |step: Step| {
            let Step::Request(request) = step else { panic!("a request") };
            served.server.call(request).expect("it is done");
        };
        call(write(0, "first", Fua::No));
        served.ctl(command);
        served.ctl("mark after");
        assert!(served.read(0).expect("it is read").iter().all(|&byte| byte == 0), "{command} takes it");
        call(write(16, "second", Fua::No));
        call(flush());
        served.ctl("record off");
        let recording = Recording::read(&log).expect("it was written");
        assert_eq!((recording.size, recording.held), (Some(16 << 20), false));
        // On the drive there never were both.
        let check = "! { grep -aq first {image} && grep -aq second {image}; }";
        let tried = run(&work.crash(check), &recording);
        assert!(tried.failures.is_empty(), "{tried:?}");
        let ours = disk_setup(settings);
        let tried = work.crash(check).run(&ours, &recording, &mut |_, _| {}).expect("it runs");
        assert!(tried.failures.is_empty(), "{tried:?}");
        let without = Recording {
            steps: recording.steps.into_iter().filter(|step| step.to_string() != format!("ctl {command}")).collect(),
            ..recording
        };
        assert!(!run(&work.crash(check), &without).failures.is_empty(), "the test sees a replay without it");
    }
}

fn disk_setup(settings: &str) -> DriveKind {
    let experiment = experiment::Experiment::parse("test.toml", settings).unwrap_or_else(|error| panic!("{error}"));
    let one = experiment::one_drive(&experiment, false).unwrap_or_else(|error| panic!("{error}"));
    DriveKind::Of(Box::new(experiment::disk_setup(&one).unwrap_or_else(|error| panic!("{error}"))))
}

/// A flush promises nothing of a write that was not answered when it was asked: in the recording that write is behind it.
#[test]
fn a_flush_does_not_count_for_a_write_under_way() {
    let work = Work::new("under-way");
    let settings = "schemes = [\"none\"]\ncapacity.size = \"16MiB\"\ndrive.preset = \"mlc-2014\"\nbuffer.kind = \"off\"\n";
    // A program of a page takes a tenth of a second and more.
    let served = Served::new("under-way", disk(settings, ""), Pace::Times(0.01));
    let log = work.0.join("log");
    served.ctl(&format!("record {}", log.display()));
    let call = |step: Step| {
        let Step::Request(request) = step else { panic!("a request") };
        served.server.call(request).expect("it is done");
    };
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| call(write(0, "slow", Fua::No)));
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(!slow.is_finished(), "it is under way");
        call(flush());
    });
    served.ctl("record off");
    let steps = Recording::read(&log).expect("it was written").steps;
    assert_eq!(steps, [flush(), write(0, "slow", Fua::No)]);
}

/// Lost dies are lost in the replay, and a command that the replayed drive cannot follow is an error.
#[test]
fn lost_parts_are_lost_in_the_replay() {
    let work = Work::new("kill");
    let kill = |n: u32| Step::Control { words: format!("kill die {n}"), held: None };
    let mut recording = store(true);
    recording.steps.insert(5, kill(3));
    let check = work.crash("true {image}");
    let ours = disk_setup(SETTINGS);
    check.run(&ours, &recording, &mut |_, _| {}).expect("it runs");
    recording.steps.insert(6, kill(3));
    let error = check.run(&ours, &recording, &mut |_, _| {}).expect_err("it is dead").to_string();
    assert!(error.starts_with("step 6 of the recording (ctl kill die 3): die 3 is dead already"), "{error}");
    // The strict drive has no dies.
    assert!(run(&check, &recording).failures.is_empty());
}

#[test]
fn a_mark_needs_a_recording_and_a_drive_with_contents_says_so() {
    let work = Work::new("held");
    let served = Served::new("held", disk(SETTINGS, ""), Pace::None);
    assert!(served.ask("mark x")["error"].as_str().is_some_and(|error| error.contains("nothing is recorded")));
    served.write(3);
    let log = work.0.join("log");
    served.ctl(&format!("record {}", log.display()));
    assert!(served.ask(&format!("mark {}", "x".repeat(480)))["error"].as_str().is_some());
    assert_eq!(served.ask("mark")["error"], "valid is `mark NAME`");
    served.ctl("mark committed 17");
    served.ctl("record off");
    let recording = Recording::read(&log).expect("it was written");
    assert!(recording.held);
    assert_eq!(recording.steps, [Step::Mark("committed 17".into())]);
}
