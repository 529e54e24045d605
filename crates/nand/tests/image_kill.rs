//! A process that writes an image is killed, again and again. A test program of its own: a child
//! that another test starts holds, until it runs, the locks of all files that are open here.
#![cfg(unix)]

#[path = "image/life.rs"]
mod life;

use flashkeep_nand::{FileArray, FlashArray, MemoryArray, Scan};
use life::{Data, Life, MEMBERS, Seen, Step, apply, geometry, infos, see, see_all};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use vocab::{BlockAddr, Ppn, Streams};

/// Set in the child: its image and its seed.
const IMAGE: &str = "FLASHKEEP_TEST_IMAGE";
const SEED: &str = "FLASHKEEP_TEST_SEED";
/// Large enough that a kill can strike in the middle of a page.
const SLOT: u64 = 128 << 10;
const ROUNDS: u64 = 40;

/// The child: writes until it is killed, and says before and after each step which one. Without
/// the variable there is nothing to do.
#[test]
fn child() {
    let (Ok(path), Ok(seed)) = (std::env::var(IMAGE), std::env::var(SEED)) else { return };
    let mut file = FileArray::create(&PathBuf::from(path), geometry(SLOT), MEMBERS).expect("a new image");
    let mut says = std::io::stdout();
    for (n, step) in Life::new(seed.parse().expect("a number"), SLOT).enumerate() {
        writeln!(says, "begin {n}").and_then(|()| says.flush()).expect("the parent listens");
        apply(&mut file, &step);
        writeln!(says, "end {n}").and_then(|()| says.flush()).expect("the parent listens");
    }
}

/// Runs a child until it has said this many lines, kills it, and returns how many steps it began
/// and how many had returned.
fn kill_after(lines: u64, path: &Path, seed: u64) -> (usize, usize) {
    let this = std::env::current_exe().expect("the test has a path");
    let mut child = Command::new(this)
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(IMAGE, path)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test runs itself");
    let (mut begun, mut ended, mut heard) = (0, 0, 0);
    // The child's output before it died is still in the pipe.
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        let line = line.expect("the child speaks ASCII");
        // The first line may follow the name of the test.
        if line.contains("begin ") {
            begun += 1;
        } else if line.starts_with("end ") {
            ended += 1;
        }
        heard += 1;
        if heard == lines {
            child.kill().expect("a child that runs");
        }
    }
    child.wait().expect("a child that died");
    assert!(heard >= lines, "the child of seed {seed} ended by itself");
    (begun, ended)
}

fn see_block(array: &mut impl Scan<Data>, block: BlockAddr) -> Vec<Seen> {
    (0..4).map(|page| see(array, Ppn(block.0 * 4 + page))).collect()
}

/// Whether a block may look like this when the step that changes it from `before` to `after` was
/// cut.
fn may_be_seen(seen: &[Seen], before: &[Seen], after: &[Seen], step: &Step) -> bool {
    let page = |(i, now): (usize, &Seen)| match step {
        _ if *now == before[i] || *now == after[i] => true,
        Step::Program { ppn, .. } => i == ppn.index() % 4 && *now == Seen::Unreadable,
        Step::Erase(_) => *now == Seen::Unreadable,
        Step::MarkBad(_) => false,
    };
    seen.iter().enumerate().all(page)
}

#[test]
fn a_killed_process_leaves_every_page_that_was_told_and_nothing_wrong() {
    let (mut torn, mut in_flight) = (0, 0);
    for seed in 0..ROUNDS {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("kill-{seed}.image"));
        let _ = std::fs::remove_file(&path);
        let lines = 20 + Streams::new(seed).stream("test/kill").below(300);
        let (begun, ended) = kill_after(lines, &path, seed);
        assert!(begun == ended || begun == ended + 1, "seed {seed}: {begun} begun, {ended} ended");

        let mut expected = MemoryArray::new(geometry(SLOT), true).keeping_ecc().keeping_updates();
        let mut life = Life::new(seed, SLOT);
        life.by_ref().take(ended).for_each(|step| apply(&mut expected, &step));
        let next = life.next().expect("lives have no end");
        let block = match next {
            Step::Program { ppn, .. } => BlockAddr(ppn.0 / 4),
            Step::Erase(block) | Step::MarkBad(block) => block,
        };
        let mut changed = expected.clone();
        apply(&mut changed, &next);
        expected.forget_volatile();
        changed.forget_volatile();

        let mut file = FileArray::<Data>::open(&path).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let found = see_block(&mut file, block);
        let (before, after) = (see_block(&mut expected, block), see_block(&mut changed, block));
        assert!(may_be_seen(&found, &before, &after, &next), "seed {seed}, step {ended}: {next:?} left {found:?}");
        in_flight += usize::from(begun > ended);
        torn += usize::from(found != before && found != after);

        // Erased, the block of the step is like any other again; the rest stayed all along.
        if !file.block(block).bad {
            file.erase(block);
            expected.erase(block);
        } else if !expected.block(block).bad {
            expected.set_age(block, |info| info.bad = true);
        }
        let told =
            |infos: Vec<flashkeep_nand::BlockInfo>| infos.iter().map(|info| (info.next_page, info.bad)).collect::<Vec<_>>();
        assert_eq!(told(infos(&file)), told(infos(&expected)), "seed {seed}");
        assert_eq!(see_all(&mut file), see_all(&mut expected), "seed {seed}");
        std::fs::remove_file(&path).expect("it was there");
    }
    // For whoever runs it with --nocapture; how often a kill strikes where is up to the machine.
    writeln!(std::io::stderr(), "{ROUNDS} kills, {in_flight} in a step, {torn} left it torn").expect("standard error");
}
