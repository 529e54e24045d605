//! The first screen of the default comparison, as README.md and docs/first-screen.md show it; `FLASHKEEP_BLESS=1` writes the page again.

use experiment::{Experiment, Overrides};
use flashkeep_report::to_screen;
use lab::{Bench, compare};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Columns of the terminals that the page shows.
const WIDTHS: [usize; 2] = [120, 80];

/// The lines of the first block below a heading, and where they lie in the page.
fn block<'a>(page: &'a str, heading: &str) -> &'a str {
    let below = page.split_once(heading).unwrap_or_else(|| panic!("{heading}")).1;
    below.split_once("```text\n").expect("a block").1.split_once("```\n").expect("its end").0
}

/// The first line that is shown and not printed in its turn; `...` stands for lines that are left out.
fn missing<'a>(shown: &[&'a str], printed: &str) -> Option<&'a str> {
    let mut printed = printed.lines();
    let mut anywhere = false;
    for line in shown {
        let is_there = match *line {
            "..." => true,
            _ if anywhere => printed.any(|other| other == *line),
            _ => printed.next() == Some(line),
        };
        if !is_there {
            return Some(line);
        }
        anywhere = *line == "...";
    }
    None
}

/// Fails if a bare `flashkeep compare` prints another screen than the documents show, or one that is wider than the terminal or longer
/// than a screen.
#[test]
fn the_documents_show_the_first_screen() {
    let experiment = Experiment::with(&Overrides::default()).expect("the default");
    let bench = Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
    let comparison = compare(&experiment, &bench).unwrap_or_else(|e| panic!("{e}"));
    let screen = |width| to_screen(&comparison, false, width) + "report: report/index.html\n";

    let readme = std::fs::read_to_string(format!("{ROOT}/README.md")).expect("the page exists");
    let shown: Vec<&str> = block(&readme, "## Quick start").lines().collect();
    let printed = screen(None);
    assert_eq!(missing(&shown, &printed), None, "README.md shows another screen than\n{printed}");
    assert!(shown.len() > 20 && printed.lines().count() <= 40, "one screen: {printed}");

    let path = format!("{ROOT}/docs/first-screen.md");
    let mut page = std::fs::read_to_string(&path).expect("the page exists");
    for width in WIDTHS {
        let printed = screen(Some(width));
        assert!(printed.lines().all(|line| line.chars().count() <= width), "{width}: {printed}");
        let heading = format!("## {width} columns");
        if std::env::var("FLASHKEEP_BLESS").is_ok() {
            let from = block(&page, &heading).as_ptr() as usize - page.as_ptr() as usize;
            let to = from + block(&page, &heading).len();
            page.replace_range(from..to, &printed);
            std::fs::write(&path, &page).expect("written");
        }
        assert_eq!(block(&page, &heading), printed, "{width} columns; if that is meant: FLASHKEEP_BLESS=1");
    }
}

#[test]
fn lines_left_out_are_marked() {
    assert_eq!(missing(&["a", "b"], "a\nb\nc"), None);
    assert_eq!(missing(&["b"], "a\nb\nc"), Some("b"));
    assert_eq!(missing(&["a", "...", "c"], "a\nb\nc"), None);
    assert_eq!(missing(&["...", "c", "b"], "a\nb\nc"), Some("b"));
}
