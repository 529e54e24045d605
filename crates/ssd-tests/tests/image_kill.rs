//! A process with a drive in files is killed while it writes, again and again. A test program of its own: a
//! child that another test starts holds, until it runs, the locks of all files that are open here.
#![cfg(unix)]

mod common;

use common::files::{Case, Witness, all_cases, cases, remove};
use common::seeds;
use flashkeep_ssd as ssd;
use ssd::{BufferKind, HostEvent, ImageSession, Pace, SafetyRule};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use vocab::{Lpn, Stream, Streams};

/// Set in the child: its image; seed, number and life of its case, and how it breaks its promise.
const IMAGE: &str = "FLASHKEEP_TEST_IMAGE";
const LIFE: &str = "FLASHKEEP_TEST_LIFE";
/// Times that the process of a case is killed.
const KILLS: u64 = 5;

/// A child that is being started would hold the locks of another test's files.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// How a child breaks its promise, to see that this is noticed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Breaks {
    Nothing,
    /// It forgets its PLP buffer.
    Buffer,
    /// It answers writes as soon as they are sent.
    Answers,
}

fn line(event: &HostEvent) -> String {
    match event {
        HostEvent::Arrived { request } => format!("arrived {request}"),
        HostEvent::Sent { request, lpn, version, sectors } => {
            format!("sent {request} {} {version} {} {}", lpn.0, sectors.start, sectors.end)
        }
        HostEvent::Answered { request, failed } => format!("answered {request} {}", u32::from(*failed)),
    }
}

fn event(line: &str) -> Option<HostEvent> {
    let mut words = line.split(' ');
    let kind = words.next()?;
    let numbers: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    Some(match (kind, &numbers[..]) {
        ("arrived", &[request]) => HostEvent::Arrived { request },
        ("sent", &[request, lpn, version, from, to]) => {
            HostEvent::Sent { request, lpn: Lpn(lpn as u32), version: version as u32, sectors: from as u32..to as u32 }
        }
        ("answered", &[request, failed]) => HostEvent::Answered { request, failed: failed == 1 },
        _ => return None,
    })
}

/// The child: opens a drive and writes until it is killed, and says what becomes of each request. Without
/// the variables there is nothing to do.
#[test]
fn child() {
    let (Ok(image), Ok(life)) = (std::env::var(IMAGE), std::env::var(LIFE)) else { return };
    let numbers: Vec<u64> = life.split(' ').map(|word| word.parse().expect("a number")).collect();
    let [seed, number, life, breaks] = numbers[..] else { panic!("four numbers") };
    let mut case = all_cases(seed).into_iter().find(|case| case.number == number).expect("a case of the seed");
    if breaks == Breaks::Buffer as u64 {
        case.setup.power.without = Some(SafetyRule::Buffer);
    }
    let mut session = ImageSession::open(&case.setup, Path::new(&image)).unwrap_or_else(|error| panic!("{case}: {error}"));
    let mut says = std::io::stdout();
    // The first line may follow the name of the test.
    writeln!(says).expect("the parent listens");
    let mut say = |event: &HostEvent| writeln!(says, "{}", line(event)).and_then(|()| says.flush()).expect("the parent listens");
    let told = &mut |event: HostEvent| {
        say(&event);
        if let (true, HostEvent::Sent { request, .. }) = (breaks == Breaks::Answers as u64, &event) {
            say(&HostEvent::Answered { request: *request, failed: false });
        }
    };
    let pace = Pace::Closed { depth: case.depth() };
    session.advance(&mut case.commands(life).into_iter(), pace, told, &mut |_| true).expect("files that can be written");
    panic!("{case}, life {life}: no one killed the child");
}

/// One life of a process, until it is killed: while it opens its files, or when it has said so much.
fn kill_once(case: &Case, image: &Path, life: u64, breaks: Breaks, witness: &mut Witness, draws: &mut Stream) {
    witness.new_life(case.commands(life));
    let early = draws.chance(0.2);
    let (wait, lines) = (Duration::from_micros(draws.below(12_000)), 1 + draws.below(900));
    let mut child = Command::new(std::env::current_exe().expect("the test has a path"))
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(IMAGE, image)
        .env(LIFE, format!("{} {} {life} {}", case.seed, case.number, breaks as u64))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test runs itself");
    if early {
        std::thread::sleep(wait);
        child.kill().expect("a child that runs");
    }
    let mut heard = 0;
    // The child's output before it died is still in the pipe.
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        let Some(event) = event(&line.expect("the child speaks ASCII")) else { continue };
        witness.hear(&event);
        heard += 1;
        if heard == lines && !early {
            child.kill().expect("a child that runs");
        }
    }
    witness.died(case.depth());
    let status = child.wait().expect("a child that died");
    assert_eq!(status.signal(), Some(9), "{case}, life {life}: the child ended by itself after {heard} lines");
}

/// Kills the process of a drive some times; what was wrong, else how many requests were answered, and how
/// often a page was torn.
fn kill_again_and_again(case: &Case, breaks: Breaks, kills: u64) -> Result<(u64, u64), String> {
    let image = case.path(&format!("kill-{breaks:?}"));
    let mut session = ImageSession::create(&case.setup, &image).unwrap_or_else(|error| panic!("{case}: {error}"));
    let mut witness = Witness::of(case, &mut session);
    drop(session);
    let mut draws = Streams::new(case.seed).stream_of("test/kills", case.number);
    let mut torn = 0;
    for life in 0..kills {
        kill_once(case, &image, life, breaks, &mut witness, &mut draws);
        let opened = ImageSession::open(&case.setup, &image).map_err(|error| error.to_string());
        let checked = opened.and_then(|mut session| {
            torn += u64::from(session.mounted().unreadable > 0);
            witness.check(&mut session)
        });
        checked.map_err(|what| format!("{case}, life {life}: {what}"))?;
    }
    remove(&image);
    Ok((witness.answers, torn))
}

#[test]
fn a_killed_process_leaves_all_that_it_answered() {
    let _alone = ONE_AT_A_TIME.lock().expect("no test failed");
    let (mut answers, mut torn, mut kills) = (0, 0, 0);
    for seed in seeds(1) {
        for case in cases(seed) {
            let again = "cargo test -p flashkeep-ssd-tests --test image_kill a_killed_process";
            let found = kill_again_and_again(&case, Breaks::Nothing, KILLS);
            let found = found.unwrap_or_else(|what| {
                panic!("{what}; repeat with: FLASHKEEP_SEED={seed} FLASHKEEP_SCHEME=\"{}\" {again}", case.choice)
            });
            (answers, torn, kills) = (answers + found.0, torn + found.1, kills + KILLS);
        }
    }
    // For whoever runs it with --nocapture; how often a kill strikes where is up to the machine.
    let text = format!("{kills} kills, {torn} left a page torn, {answers} requests were answered");
    writeln!(std::io::stderr(), "{text}").expect("standard error");
}

#[test]
fn a_process_that_answers_too_early_or_saves_too_little_is_noticed() {
    let _alone = ONE_AT_A_TIME.lock().expect("no test failed");
    for (breaks, buffer) in [(Breaks::Buffer, BufferKind::Plp), (Breaks::Answers, BufferKind::Off)] {
        for scheme in ["none", "raid5", "ds-raid"] {
            let is_it = |case: &Case| case.choice == scheme && case.setup.buffer.kind == buffer;
            let case = all_cases(1).into_iter().find(is_it).expect("every scheme has each buffer");
            let what = kill_again_and_again(&case, breaks, 40).expect_err("a promise that was broken");
            assert!(what.contains("or newer"), "{what}");
            remove(&case.path(&format!("kill-{breaks:?}")));
        }
    }
}
