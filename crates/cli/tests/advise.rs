//! `flashkeep advise` as a user runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("advise_{test}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

fn flashkeep(here: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashkeep")).current_dir(here).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// A small drive that is asked for little: some seconds.
const SMALL: [&str; 14] = [
    "advise",
    "zipf",
    "--capacity",
    "16MiB",
    "--set",
    "generate.requests=1500",
    "--set",
    "drive.geometry.pages_per_block=48",
    "--set",
    "drive.endurance=300",
    "--years",
    "0.1",
    "--vary",
    "scheme=none,ds-raid,mds-groups",
];

#[test]
fn an_answer_has_at_most_thirty_lines_a_report_and_a_command_that_runs() {
    let here = directory("answer");
    let rest = ["--set", "generate.read_fraction=0.5", "--fix", "over-provisioning=150%", "--fix", "code=ldpc:rate=0.901"];
    let more = ["--fix", "refresh=30d", "--seeds", "2", "--epochs", "2", "--timed", "1", "--lives", "12"];
    let typed: Vec<&str> = SMALL.into_iter().chain(rest).chain(more).collect();
    let found = flashkeep(&here, &typed);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    let screen = text(&found.stdout);
    assert!(screen.lines().count() <= 30, "{screen}");
    for part in
        ["Take  ", "It meets every need in 2 of 2 seeds", "What binds", "Looked at 3 designs", "report: report/advise/index.html"]
    {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    let page = std::fs::read_to_string(here.join("report/advise/index.html")).expect("written");
    assert!(page.starts_with("<!") && page.contains("advise-p99"));
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(here.join("report/advise/results.json")).expect("written")).expect("JSON");
    assert_eq!(json["answer"]["take"]["seeds_met"], 2);
    let command = screen.lines().find_map(|line| line.strip_prefix("Repeat: flashkeep ")).expect("a command");
    let words: Vec<&str> = command.split(' ').map(|word| word.trim_matches('\'')).collect();
    let again = flashkeep(&here, &words);
    assert_eq!(again.status.code(), Some(0), "{command}: {}", text(&again.stderr));
    // The same life: the last age of both tables.
    let life: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(here.join("report/life/results.json")).expect("written")).expect("JSON");
    let last = |ages: &serde_json::Value, name: Option<&str>| {
        let mut ages = ages.as_array().expect("ages").iter().filter(|age| name.is_none_or(|name| age["design"] == name));
        ages.next_back().map(|age| (age["years"].clone(), age["pe_mean"].clone(), age["read_p99_us"].clone()))
    };
    let chosen = json["answer"]["take"]["design"].as_str();
    assert_eq!(last(&json["tables"]["ages"], chosen), last(&life["tables"]["ages"], None), "{command}");
}

#[test]
fn needs_that_nothing_meets_and_bad_input_have_exit_codes_of_their_own() {
    let here = directory("none");
    let with = |more: &[&str]| flashkeep(&here, &[&SMALL[..], more].concat());
    let none = with(&["--dies", "4"]);
    assert_eq!(none.status.code(), Some(1), "{}", text(&none.stderr));
    assert!(text(&none.stdout).contains("No design of the space"), "{}", text(&none.stdout));
    std::fs::write(here.join("needs.toml"), "years = 0.1\nuper = 1e-15\n").expect("written");
    for (more, said) in [
        (["--needs", "needs.toml"], "needs.toml:2:1"),
        (["--soft", "speed"], "unknown need `speed`"),
        (["--vary", "refresh"], "wanted an axis"),
        (["--fix", "refresh=1d,2d"], "`--vary` takes them"),
    ] {
        let wrong = with(&more);
        assert_eq!(wrong.status.code(), Some(2), "{more:?}");
        assert!(text(&wrong.stderr).contains(said), "{more:?}: {}", text(&wrong.stderr));
    }
    let space = with(&["--dry-run"]);
    assert!(text(&space.stdout).contains("designs: 3 scheme x 7 over-provisioning"), "{}", text(&space.stdout));
}
