//! `docs/answers.md`: what `flashkeep advise` answers for each recording and drive. The small questions of the page are asked again here;
//! the large ones only on request, because they take minutes each:
//!
//!     FLASHKEEP_BLESS=1 FLASHKEEP_ANSWERS=all cargo test --release -p flashkeep-cli --test answers large
//!
//! `FLASHKEEP_ANSWERS=qlc` asks those of which recording or drive has that in its name, `FLASHKEEP_ANSWERS="pgbench qlc"` one.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/answers.md");

/// Budget of the answers, and the one of the small answers.
const BUDGET: &str = "--first 40000 --capacity 512MiB --timed 0 --epochs 4 --lives 40 --finalists 3 --seeds 3";
const SMALL: &str = "--first 2000 --capacity 32MiB --timed 0 --epochs 1 --lives 8 --finalists 1 --seeds 1 --vary scheme=raid5,ds-raid \
                     --vary over-provisioning=28%,60%,100% --fix refresh=none --years 0.5";

/// Recordings: the first is bundled, the others are files beside it.
const RECORDINGS: [&str; 5] = ["pgbench", "varmail", "postmark", "webserver", "videoserver"];

/// Drives and what is asked of each.
const DRIVES: [(&str, &str); 3] = [("tlc", "--dwpd 1"), ("qlc", "--dwpd 0.3"), ("mlc-2014", "--dwpd 1 --plp no")];

/// A table of the page, without its head: the lines between two comments.
fn table<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!("<!-- {name}: begin -->");
    let mut lines = page.lines().skip_while(|line| *line != begin).skip(3);
    lines.by_ref().take_while(|line| *line != format!("<!-- {name}: end -->")).collect()
}

/// The recording as an argument; `None`: its file is not there.
fn source(recording: &str) -> Option<String> {
    if recording == RECORDINGS[0] {
        return Some(recording.into());
    }
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces");
    let folder = std::env::var_os("FLASHKEEP_TRACES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let file = folder.join(format!("recorded/{recording}.blkparse.xz"));
    file.exists().then(|| file.to_string_lossy().into_owned())
}

/// Asks a question, a small or a large one; its row of the table.
fn ask(size: &str, recording: &str, drive: &str, needs: &str, budget: &str) -> Option<String> {
    let Some(source) = source(recording) else {
        eprintln!("SKIPPED: no {recording} (set FLASHKEEP_TRACES)");
        return None;
    };
    let here = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("answers_{size}_{recording}_{drive}"));
    let _ = std::fs::remove_dir_all(&here);
    std::fs::create_dir_all(&here).expect("the target directory can be written");
    let words = needs.split_whitespace().chain(budget.split_whitespace());
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashkeep"));
    let command = command.current_dir(&here).args(["advise", &source, "--drive", drive, "-q", "-o", "report"]).args(words);
    let output = command.output().expect("the program starts");
    let screen = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stderr));
    let json = std::fs::read_to_string(here.join("report/results.json")).expect("a report was written");
    Some(row(recording, &format!("{drive} {needs}"), &screen, &serde_json::from_str(&json).expect("JSON")))
}

/// A row: the design to take, or the nearest one with the needs that it breaks.
fn row(recording: &str, question: &str, screen: &str, json: &Value) -> String {
    let answer = &json["answer"];
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let end = |design: &Value| {
        let all = json["tables"]["designs"].as_array().expect("designs");
        let found = all.iter().find(|row| row["design"] == design["design"]).and_then(|row| row["pe_of_rated"].as_f64());
        found.map_or_else(|| "-".into(), |share| format!("{:.0} %", 100.0 * share))
    };
    let raw = |design: &Value| design["raw_by_user"].as_f64().map_or_else(|| "-".into(), |raw| format!("{raw:.2}"));
    let take = &answer["take"];
    if take.is_null() {
        let nearest = &answer["nearest"];
        let breaks: Vec<String> = nearest["breaks"].as_array().into_iter().flatten().map(word).collect();
        let (design, raw, end) = (word(&nearest["design"]), raw(nearest), end(nearest));
        return format!(
            "| {recording} | `{question}` | none; nearest: {design} | {raw} | - | {end} | breaks {} | - |",
            breaks.join(", ")
        );
    }
    let corners = take["corners"].as_array().expect("corners");
    let met = corners.iter().filter(|corner| corner["meets"] == true).count();
    let sure = format!("{} of {}; {met} of {}", take["seeds_met"], take["seeds"], corners.len());
    let lines: Vec<&str> = screen.lines().collect();
    let binds = lines.iter().position(|line| line.trim_start().starts_with("What binds: "));
    let binds = binds.map_or_else(String::new, |at| {
        let rest = lines[at + 1..].iter().take_while(|line| line.starts_with("    ")).map(|line| line.trim());
        let first = lines[at].trim_start().trim_start_matches("What binds: ");
        std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ")
    });
    let second = match &answer["second"] {
        Value::Null => "-".into(),
        second => format!("{} ({})", word(&second["design"]), raw(second)),
    };
    format!(
        "| {recording} | `{question}` | {} | {} | {sure} | {} | {binds} | {second} |",
        word(&take["design"]),
        raw(take),
        end(take)
    )
}

#[test]
fn small_questions_have_the_answers_of_the_page() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let asked: Vec<String> =
        DRIVES.iter().filter_map(|(drive, needs)| ask("small", RECORDINGS[0], drive, needs, SMALL)).collect();
    if std::env::var_os("FLASHKEEP_BLESS").is_some() {
        return write("small", &asked);
    }
    assert_eq!(
        table(&page, "small"),
        asked,
        "if the change is meant: FLASHKEEP_BLESS=1 cargo test -p flashkeep-cli --test answers"
    );
}

#[test]
fn large_questions_have_the_answers_of_the_page() {
    let Ok(only) = std::env::var("FLASHKEEP_ANSWERS") else {
        eprintln!("SKIPPED: minutes for each answer (set FLASHKEEP_ANSWERS=all, or to a recording or drive)");
        return;
    };
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let mut found = Vec::new();
    for (recording, (drive, needs)) in RECORDINGS.iter().flat_map(|recording| DRIVES.map(|drive| (recording, drive))) {
        let begin = format!("| {recording} | `{drive} ");
        let before = table(&page, "answers").iter().find(|line| line.starts_with(&begin)).map(|line| (*line).to_owned());
        let is_asked = format!("all {recording} {drive}").contains(&only);
        let now = if is_asked { ask("large", recording, drive, needs, BUDGET).or(before) } else { before };
        now.iter().for_each(|row| eprintln!("{row}"));
        found.extend(now);
    }
    if std::env::var_os("FLASHKEEP_BLESS").is_some() {
        return write("answers", &found);
    }
    assert_eq!(table(&page, "answers"), found);
}

/// Puts the rows into the page.
fn write(name: &str, rows: &[String]) {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let (head, rest) = page.split_once(&begin).expect("the table begins");
    let (_, tail) = rest.split_once(&end).expect("the table ends");
    let titles = "| recording | drive and needs | take | raw/user | meets all needs in seeds; corners | P/E of rated at the end | what binds | \
                  runner-up (raw/user) |\n|---|---|---|---|---|---|---|---|\n";
    let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(PAGE, format!("{head}{begin}{titles}{rows}{end}{tail}")).expect("the page can be written");
}
