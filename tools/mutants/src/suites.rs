//! Suites that judge: single tests of the crates, and torture. Each is one process, cheap ones first.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// More memory than this (KiB) no test takes; a mutant that fills the machine is stopped here.
const MEMORY: u32 = 6_000_000;

/// Campaigns of torture: some 60 s on a core that has other things to do.
const TORTURE: &[(&str, &str)] = &[
    ("torture, start", "--seed 20261128 --scenarios 5000"),
    ("torture, end of life", "--seed 1 --fault wear-out --scenarios 10000"),
    ("torture, beyond promise", "--seed 1 --beyond-promise --scenarios 15000"),
    ("torture", "--seed 20261128 --scenarios 120000"),
];

/// A program that was built.
#[derive(Clone)]
pub struct Program {
    pub path: PathBuf,
    pub folder: PathBuf,
    pub krate: String,
    pub name: String,
    /// Of its bytes: what was noted of a program holds until it is another.
    pub digest: u64,
}

impl Program {
    pub fn new(path: PathBuf, folder: PathBuf, krate: String, name: String) -> Self {
        let mut hasher = DefaultHasher::new();
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).hash(&mut hasher);
        Self { path, folder, krate, name, digest: hasher.finish() }
    }
}

/// Where a judge stands in the order of judging.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Tests of the mutant's own crate, then those of the engine.
    Unit,
    Conformance,
    Torture,
    /// Figures of runs, golden ones and those of theory: what only they notice changes no promise.
    Figures,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unit => "unit tests",
            Kind::Conformance => "conformance",
            Kind::Torture => "torture",
            Kind::Figures => "figures",
        }
    }
}

/// One test or campaign.
#[derive(Clone)]
pub struct Judge {
    pub kind: Kind,
    pub program: Program,
    pub name: String,
    pub arguments: Vec<String>,
    /// Of the copy with no mutant on.
    pub seconds: f64,
}

/// How a judge ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Passed,
    Failed,
    TimedOut,
}

impl Judge {
    /// Runs it with a `variable` of this `value` set, for at most `limit`.
    pub fn run(&self, variable: &str, value: &str, limit: Duration) -> (End, f64) {
        #[expect(clippy::disallowed_methods, reason = "how long judges take is what is measured")]
        let start = Instant::now();
        let mut child = limited(&self.program).args(&self.arguments).env(variable, value).spawn().expect("a judge runs");
        let end = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break ended(status);
            }
            if start.elapsed() > limit {
                // Its children as well: it is a process group of its own.
                let group = format!("-{}", child.id());
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
                let _ = child.wait();
                break End::TimedOut;
            }
            std::thread::sleep(Duration::from_millis(3));
        };
        (end, start.elapsed().as_secs_f64())
    }
}

fn ended(status: ExitStatus) -> End {
    if status.success() { End::Passed } else { End::Failed }
}

/// The program, with little priority and not too much memory, silent.
fn limited(program: &Program) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY}; exec nice \"$@\""), "sh"]).arg(&program.path);
    command.current_dir(&program.folder).process_group(0).env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The test of the laboratory that runs again what once broke a rule. Its other tests draw scenarios, as campaigns do.
const ONCE_BROKEN: &str = "scenarios_that_once_broke_a_rule_do_not_any_more";

/// Every test of a program.
pub fn tests_of(program: &Program) -> Vec<Judge> {
    let mut command = limited(program);
    let mut child = command.arg("--list").stdout(Stdio::piped()).spawn().expect("a test program runs");
    let mut said = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_to_string(&mut said).expect("names of tests");
    child.wait().expect("a child");
    let kind = match (program.krate.as_str(), program.name.as_str()) {
        ("ssd-tests", "figures") | ("ssd", "golden") => Kind::Figures,
        ("ssd-tests", _) => Kind::Conformance,
        ("torture", _) => Kind::Torture,
        _ => Kind::Unit,
    };
    let names = said.as_bytes().lines().map_while(Result::ok).filter_map(|line| line.strip_suffix(": test").map(str::to_owned));
    let names = names.filter(|name| program.krate != "torture" || name == ONCE_BROKEN);
    let judge = |test: String| Judge {
        kind,
        program: program.clone(),
        name: format!("{}/{}: {test}", program.krate, program.name),
        arguments: [&test, "--exact", "--test-threads=1"].map(str::to_owned).to_vec(),
        seconds: 0.0,
    };
    names.map(judge).collect()
}

/// The campaigns.
pub fn torture(product: &Program) -> Vec<Judge> {
    let judge = |(name, options): &(&str, &str)| Judge {
        kind: Kind::Torture,
        program: product.clone(),
        name: (*name).to_owned(),
        arguments: format!("torture --threads 1 {options}").split(' ').map(str::to_owned).collect(),
        seconds: 0.0,
    };
    TORTURE.iter().map(judge).collect()
}
