//! Who reaches what, and which mutants are noticed.

use crate::copy::text_if_there;
use crate::suites::{End, Judge, Kind};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// A judge and the mutants whose place it reaches.
pub struct Reach {
    pub judge: Judge,
    pub mutants: BTreeSet<usize>,
}

/// How a mutant fared.
pub struct Verdict {
    pub noticed: Option<(Kind, String, End)>,
    /// Judges that reached it.
    pub asked: usize,
    pub seconds: f64,
}

/// Does `work` for every index below `count`, on some threads, in order of index.
pub fn side_by_side(workers: usize, count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let turn = || {
        loop {
            let index = next.fetch_add(1, Relaxed);
            if index >= count {
                break;
            }
            work(index);
        }
    };
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(turn))));
}

/// Runs every judge once with nothing broken, notes its time and what it reaches, in `notes` as well: what was noted
/// of the same program is not asked for again.
pub fn survey(judges: &[Judge], workers: usize, notes: &Path) -> Vec<Reach> {
    fs::create_dir_all(notes).expect("a folder for notes");
    let found = Mutex::new(Vec::new());
    side_by_side(workers, judges.len(), |index| {
        let mut judge = judges[index].clone();
        let name: String = judge.name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let (note, cover) = (notes.join(format!("{name}.seconds")), notes.join(format!("{name}.reached")));
        let program = judge.program.digest.to_string();
        if text_if_there(&note).split(' ').nth(1) != Some(&program) {
            let _ = fs::remove_file(&cover);
            let path = cover.to_str().expect("a path in words");
            let (end, seconds) = judge.run("FLASHKEEP_MUTANT_COVER", path, Duration::from_secs(1800));
            if end != End::Passed {
                return println!("left out, as it fails with nothing broken: {}", judge.name);
            }
            fs::write(&note, format!("{seconds} {program}")).expect("room for a note");
        }
        judge.seconds = text_if_there(&note).split(' ').next().and_then(|word| word.parse().ok()).expect("seconds");
        let mutants = text_if_there(&cover).lines().filter_map(|line| line.parse().ok()).collect();
        found.lock().expect("no one panicked").push(Reach { judge, mutants });
    });
    let mut found = found.into_inner().expect("no one panicked");
    found.sort_by(|a, b| (a.judge.seconds.total_cmp(&b.judge.seconds)).then_with(|| a.judge.name.cmp(&b.judge.name)));
    found
}

/// Conformance tests of a mutant take at most so long in sum with nothing broken.
const CONFORMANCE: f64 = 60.0;

/// Judges that take at most so long with nothing broken are quick.
const QUICK: f64 = 1.0;

/// Whom a mutant is put to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Quick,
    Slow,
}

/// Asks who reaches the mutant until one notices: unit tests, those of its own crate first, then conformance and torture,
/// cheapest first. What runs ten times as long as with nothing broken has noticed as well. Those within a second are asked
/// on a turn of their own: most mutants end there, and those that are left wait until all have had it.
pub fn judge(mutant: usize, krate: &str, reaches: &[Reach], turn: Turn) -> Verdict {
    let mut asked: Vec<&Judge> = reaches.iter().filter(|r| r.mutants.contains(&mutant)).map(|r| &r.judge).collect();
    asked.sort_by_key(|judge| match judge.kind {
        Kind::Unit if judge.program.krate == krate => 0,
        Kind::Unit => 1,
        Kind::Conformance | Kind::Torture => 2,
        Kind::Figures => 3,
    });
    let mut conformance = 0.0;
    asked.retain(|judge| {
        conformance += if judge.kind == Kind::Conformance { judge.seconds } else { 0.0 };
        judge.kind != Kind::Conformance || conformance <= CONFORMANCE
    });
    let (number, mut seconds) = (mutant.to_string(), 0.0);
    for (before, judge) in asked.iter().enumerate() {
        if (judge.seconds <= QUICK) != (turn == Turn::Quick) {
            continue;
        }
        let limit = Duration::from_secs_f64(10.0 * judge.seconds + 5.0);
        let (end, took) = judge.run("FLASHKEEP_MUTANT", &number, limit);
        seconds += took;
        if end != End::Passed {
            return Verdict { noticed: Some((judge.kind, judge.name.clone(), end)), asked: before + 1, seconds };
        }
    }
    Verdict { noticed: None, asked: asked.len(), seconds }
}
