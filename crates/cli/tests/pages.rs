//! Pages for people: the commands of tutorials and pages print the output shown there, examples run, links lead to headings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Commands of a tutorial that install something, or are Python's: `python/tests/test_docs.py` runs the latter.
const NOT_OURS: [&str; 6] = ["git clone ", "cd ", "cargo install ", "python ", ". ", "pip "];

/// A directory of one test with nothing in it but the examples.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pages_{test}"));
    let _ = std::fs::remove_dir_all(&path);
    let examples = path.join("examples");
    std::fs::create_dir_all(&examples).expect("the target directory can be written");
    for entry in std::fs::read_dir(Path::new(ROOT).join("examples")).expect("there are examples") {
        let from = entry.expect("an entry").path();
        if from.is_file() {
            std::fs::copy(&from, examples.join(from.file_name().expect("a file has a name"))).expect("copied");
        }
    }
    path
}

/// The output of a command line, with the program built from these sources in the path.
fn typed(directory: &Path, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_flashkeep")).parent().expect("it is in a directory");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([program.to_owned()].into_iter().chain(std::env::split_paths(&path))).expect("a path");
    let mut command = Command::new("sh");
    let command = command.args(["-c", line]).current_dir(directory).env("PATH", path).env_remove("COLUMNS");
    let output = command.output().expect("`sh` is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{line}`: {said}");
    String::from_utf8(output.stdout).expect("text")
}

/// Fenced blocks of a page, in order: their language and lines.
fn blocks(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            found.push((language, lines.by_ref().take_while(|line| *line != "```").collect()));
        }
    }
    found
}

/// The first line that is shown and not printed in its turn. Between two lines nothing is left out but where `...` says so.
fn missing<'a>(shown: &[&'a str], printed: &str) -> Option<&'a str> {
    let mut printed = printed.lines();
    let mut anywhere = true;
    for line in shown {
        if *line == "..." {
            anywhere = true;
            continue;
        }
        let is_there = if anywhere { printed.any(|other| other == *line) } else { printed.next() == Some(line) };
        if !is_there {
            return Some(line);
        }
        anywhere = false;
    }
    None
}

/// Runs the commands of a page and compares what it shows of their output; how many commands there were, and how many lines.
fn run_page(name: &str, here: &Path) -> (usize, usize) {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs").join(name)).expect("there is such a page");
    let (mut printed, mut run, mut compared) = (None, 0, 0);
    for (language, lines) in blocks(&page) {
        match language {
            "sh" => {
                printed = None;
                let commands = lines.join("\n").replace("\\\n", "");
                for line in commands.lines().filter(|line| !NOT_OURS.iter().any(|other| line.starts_with(other))) {
                    printed = Some((line.to_owned(), typed(here, line)));
                    run += 1;
                }
            }
            "text" => {
                // Output of Python is compared there.
                let Some((line, printed)) = &printed else { continue };
                let missing = missing(&lines, printed);
                assert_eq!(missing, None, "`{line}` does not print it; it prints\n{printed}");
                compared += lines.len();
            }
            other => assert!(["python", "toml"].contains(&other), "a block of {name}: {other}"),
        }
    }
    (run, compared)
}

/// Compares a picture that a page's command made with the one that the page shows; `FLASHKEEP_BLESS=1` writes the latter again.
fn check_picture(made: &Path, shown: &str) {
    let kept = Path::new(ROOT).join("docs").join(shown);
    if std::env::var("FLASHKEEP_BLESS").is_ok() {
        std::fs::copy(made, &kept).expect("written");
    }
    let [made, kept] = [made, &kept].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    assert!(made == kept && made.starts_with("<svg"), "{shown} is another; if that is meant: FLASHKEEP_BLESS=1");
}

#[test]
fn the_tutorial_of_compare_does_what_it_says() {
    let here = directory("compare");
    let (run, compared) = run_page("tutorials/compare.md", &here);
    assert!(run > 6 && compared > 30, "{run} commands, {compared} lines");
    check_picture(&here.join("compare.svg"), "tutorials/compare.svg");
}

#[test]
fn the_tutorial_of_advise_does_what_it_says() {
    let (run, compared) = run_page("tutorials/advise.md", &directory("advise"));
    assert!(run == 1 && compared > 15, "{run} commands, {compared} lines");
}

#[test]
fn the_page_about_life_does_what_it_says() {
    let (run, compared) = run_page("life.md", &directory("life"));
    assert!(run >= 1 && compared > 20, "{run} commands, {compared} lines");
}

/// Figures and pictures of the page about flows; `FLASHKEEP_BLESS=1` writes the pictures again.
#[test]
fn the_page_about_flows_does_what_it_says() {
    let here = directory("flows");
    let (run, compared) = run_page("flows.md", &here);
    assert!(run >= 2 && compared > 12, "{run} commands, {compared} lines");
    for picture in ["flows-tenants.svg", "flows-reader.svg"] {
        check_picture(&here.join(picture), picture);
    }
}

#[test]
fn shown_output_is_compared_line_by_line() {
    assert_eq!(missing(&["b", "c"], "a\nb\nc\nd"), None);
    assert_eq!(missing(&["b", "d"], "a\nb\nc\nd"), Some("d"));
    assert_eq!(missing(&["a", "...", "d"], "a\nb\nc\nd"), None);
    assert_eq!(missing(&["...", "d", "a"], "a\nb\nc\nd"), Some("a"));
}

#[test]
fn every_example_is_listed_and_every_experiment_and_grid_among_them_runs() {
    let here = directory("examples");
    let readme = std::fs::read_to_string(here.join("examples/README.md")).expect("a page");
    for entry in std::fs::read_dir(here.join("examples")).expect("copied") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        assert!(name == "README.md" || readme.contains(&format!("]({name})")), "{name} is not on the page");
        if name.ends_with(".toml") {
            let text = std::fs::read_to_string(here.join("examples").join(&name)).expect("text");
            let command = if text.contains("[[sweep.axes]]") { "sweep" } else { "run" };
            assert!(text.contains(&format!("`flashkeep {command} examples/{name}`")), "{name} says how it is run");
            typed(&here, &format!("flashkeep {command} examples/{name}"));
        }
    }
}

/// The name that a heading has in links, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let plain: String = heading.trim().to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect();
    plain.replace(' ', "-")
}

fn markdown(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match (path.is_dir(), name) {
            (true, ".git" | "target" | "report" | "out") => {}
            (true, _) => markdown(&path, found),
            (false, _) if name.ends_with(".md") => found.push(path),
            _ => {}
        }
    }
}

/// Lines of a page that are not in fenced blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Names of the headings of a page; equal ones are numbered.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in prose(page).filter(|line| line.starts_with('#')) {
        // A link in a heading counts with its text.
        let mut text = line.trim_start_matches('#').to_owned();
        while let Some((before, rest)) = text.split_once("](") {
            text = format!("{before}{}", rest.split_once(')').map_or("", |(_, after)| after));
        }
        let name = anchor(&text);
        let free = (0..).map(|n| if n == 0 { name.clone() } else { format!("{name}-{n}") }).find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}

#[test]
fn every_link_to_a_heading_leads_to_one() {
    let (mut pages, mut wrong, mut followed) = (Vec::new(), Vec::new(), 0);
    markdown(Path::new(ROOT), &mut pages);
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    for page in &pages {
        let text = read(page);
        for line in prose(&text) {
            let targets = line.match_indices("](").filter_map(|(at, _)| line[at + 2..].split(')').next());
            for (file, heading) in targets.filter(|target| !target.contains("://")).filter_map(|target| target.split_once('#')) {
                let to = if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
                if to.extension().is_some_and(|extension| extension == "md") && !anchors(&read(&to)).contains(heading) {
                    wrong.push(format!("{}: {file}#{heading}", page.display()));
                }
                followed += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "no such headings:\n{}", wrong.join("\n"));
    assert!(followed > 30, "{followed} links to headings");
}
