//! A campaign of torture in a directory, as a user meets it: killed, gone on with, shared, refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A directory of one test, empty at its start.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("campaign").join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

fn torture(here: &Path, options: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashkeep"));
    command.current_dir(here).arg("torture").args(options.split_whitespace());
    command
}

/// Exit code, standard output, standard error.
fn run(here: &Path, options: &str) -> (i32, String, String) {
    let Output { status, stdout, stderr } = torture(here, options).output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code().expect("the program ends by itself"), text(stdout), text(stderr))
}

fn start(here: &Path, options: &str) -> Child {
    torture(here, options).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
}

/// Names of the parts, and of what else lies beside them.
fn pieces(directory: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(directory.join("pieces")) else { return BTreeSet::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn parts(directory: &Path) -> usize {
    pieces(directory).iter().filter(|name| name.ends_with(".json")).count()
}

fn tables(directory: &Path) -> [Vec<u8>; 2] {
    ["results.parquet", "violations.parquet"].map(|name| std::fs::read(directory.join(name)).expect("merged"))
}

/// The table of schemes, which says nothing of time.
fn schemes(text: &str) -> String {
    text.lines().take_while(|line| !line.contains(" power cuts, ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_campaign_in_a_directory_prints_what_one_run_prints_and_is_silent_in_a_pipe() {
    let here = directory("prints");
    let what = "--scheme none,code-zones --seed 2 --scenarios 300";
    let (code, text, said) = run(&here, &format!("{what} --into kept --piece 64 --threads 2"));
    assert_eq!((code, said.as_str()), (0, ""), "{text}");
    assert!(
        text.contains("300 scenarios run now") && text.ends_with("kept/results.parquet\nkept/violations.parquet\n"),
        "{text}"
    );
    let (_, whole, _) = run(&here, &format!("{what} --keep-going"));
    assert_eq!(schemes(&text), schemes(&whole));
    let (code, again, said) = run(&here, &format!("{what} --out kept --piece 64"));
    assert_eq!((code, said.as_str()), (0, "5 of 5 pieces were there already\n"));
    assert!(schemes(&again) == schemes(&text) && !again.contains("run now"), "{again}");
    let (code, _, said) = run(&here, "--scheme none,code-zones --seed 2 --scenarios 100 --into kept --piece 64");
    assert_eq!(code, 0);
    assert!(said.ends_with("4 parts in kept/pieces are of campaigns of another length and are left alone\n"), "{said}");
}

#[test]
fn violations_are_told_each_time_with_the_command_that_repeats_them() {
    let here = directory("violations");
    let what = "--scheme canary,none --seed 3 --scenarios 800 --into kept --piece 160";
    let (code, text, said) = run(&here, what);
    assert_eq!(code, 1, "{text}{said}");
    assert!(text.contains("made smaller:\nscheme canary") && text.contains("scenarios of this scheme ended alike"), "{text}");
    let command = said.lines().find_map(|line| line.split("repeat with: flashkeep torture ").nth(1)).expect("a command");
    assert!(command.starts_with("--seed 3 --scheme none,canary --scenario "), "{command}");
    let (code, alone, _) = run(&here, command);
    assert_eq!(code, 1, "{alone}");
    let first = |text: &str| text.lines().find(|line| line.starts_with("scenario ")).map(str::to_owned);
    assert_eq!(first(&alone), first(&text));
    assert_eq!(run(&here, what).0, 1, "it is not forgotten");
}

/// Starts a campaign, kills it once there are some parts, and counts them.
fn killed_midway(here: &Path, what: &str) -> usize {
    let _ = std::fs::remove_dir_all(here.join("killed"));
    let mut child = start(here, &format!("{what} --into killed --threads 2"));
    while parts(&here.join("killed")) < 4 && child.try_wait().expect("a child").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().expect("SIGKILL");
    child.wait().expect("it is gone");
    parts(&here.join("killed"))
}

#[test]
fn a_campaign_killed_midway_loses_nothing_and_repeats_nothing() {
    let here = directory("killed");
    let what = "--scheme none,raid5,canary --seed 1 --scenarios 1920 --piece 48";
    // A machine so busy that the campaign is done before it is killed gets another chance.
    let killed = (0..20).map(|_| killed_midway(&here, what)).find(|before| *before < 40);
    let before = killed.expect("one of twenty campaigns is killed before it is done");
    assert!(before >= 4 && !here.join("killed/results.parquet").exists(), "killed after {before} of 40 pieces");
    let (code, text, said) = run(&here, &format!("{what} --into killed"));
    assert_eq!(code, 1, "the canary loses data: {text}");
    assert!(said.lines().any(|line| line == format!("{before} of 40 pieces were there already")), "{said}");
    assert!(text.contains(&format!("{} scenarios run now", (40 - before) * 48)), "{text}");
    run(&here, &format!("{what} --into serial --threads 1"));
    assert_eq!(tables(&here.join("killed")), tables(&here.join("serial")));
    assert_eq!(pieces(&here.join("killed")), pieces(&here.join("serial")), "nothing is left of what was under way");
}

#[test]
fn two_processes_may_run_one_campaign() {
    let here = directory("together");
    let what = "--scheme none,raid5 --scenarios 1600 --piece 80 --threads 1";
    for mut child in [start(&here, &format!("{what} --into both")), start(&here, &format!("{what} --into both"))] {
        assert!(child.wait().expect("a child").success());
    }
    assert_eq!(run(&here, &format!("{what} --into alone")).0, 0);
    assert_eq!(tables(&here.join("both")), tables(&here.join("alone")));
    assert_eq!(parts(&here.join("both")), 20);
}

#[test]
fn what_cannot_be_a_campaign_in_a_directory_is_exit_code_2() {
    let here = directory("refused");
    assert_eq!(run(&here, "--scheme none --scenarios 32 --piece 16 --into kept").0, 0);
    let wrong = [
        ("--into new", "--scenarios"),
        ("--into new --scenarios 64 --minutes 3", "cannot be used with"),
        ("--into new --exhaustive", "cannot be used with"),
        ("--piece 64 --scenarios 64", "--into"),
        ("--into new --scenarios 64 --piece 100", "--piece: found 100, valid are multiples of 16 up to 1600000"),
        ("--into new --scenarios 0", "--scenarios: found 0, valid with pieces of 20000 are 1 to 2000000000"),
        ("--scheme none --scenarios 32 --piece 16 --seed 2 --into kept", "seed is 1, wanted 2"),
        ("--scheme none,raid5 --scenarios 32 --piece 16 --into kept", "schemes is none, wanted none,raid5"),
        ("--scheme none --scenarios 32 --piece 16 --into kept/campaign.json", "cannot be made"),
    ];
    for (options, part) in wrong {
        let (code, text, said) = run(&here, options);
        assert_eq!(code, 2, "{options}: {text}");
        assert!(said.contains(part), "{options}: {said}");
    }
    std::fs::write(here.join("kept/pieces/mine.txt"), "").expect("written");
    let (code, _, said) = run(&here, "--scheme none --scenarios 32 --piece 16 --into kept");
    assert_eq!(code, 2);
    assert!(said.contains("kept/pieces/mine.txt is no part of a campaign of torture"), "{said}");
}
