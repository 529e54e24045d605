//! The table of verdicts, one line a mutant, written as they come: a run that was ended goes on from there.

use crate::copy::text_if_there;
use crate::judging::Verdict;
use crate::points::Point;
use crate::sources::Source;
use crate::suites::End;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const HEAD: &str = "mutant,file,line,column,what,verdict,by,judges,seconds";

/// The file of the table.
pub struct Table {
    path: PathBuf,
    writing: Mutex<()>,
}

impl Table {
    /// The table, with what is there already.
    pub fn open(path: &Path) -> Self {
        let table = Self { path: path.to_owned(), writing: Mutex::new(()) };
        table.finish();
        table
    }

    /// The verdicts by number; a later one replaces an earlier.
    pub fn rows(&self) -> BTreeMap<usize, Row> {
        text_if_there(&self.path).lines().filter_map(Row::read).collect()
    }

    pub fn add(&self, line: &str) {
        let _turn = self.writing.lock().expect("no one panicked");
        let mut file = fs::OpenOptions::new().append(true).open(&self.path).expect("the table is there");
        file.write_all(format!("{line}\n").as_bytes()).expect("room for a line");
    }

    /// Writes the lines in order of number.
    pub fn finish(&self) -> BTreeMap<usize, Row> {
        let rows = self.rows();
        let lines: String = rows.values().map(|row| format!("{}\n", row.line)).collect();
        fs::write(&self.path, format!("{HEAD}\n{lines}")).unwrap_or_else(|e| panic!("{}: {e}", self.path.display()));
        rows
    }
}

/// A line of the table.
pub struct Row {
    pub line: String,
    pub verdict: String,
}

impl Row {
    fn read(line: &str) -> Option<(usize, Self)> {
        let number = line.split(',').next()?.parse().ok()?;
        let verdict = line.rsplit(',').nth(3)?.to_owned();
        Some((number, Self { line: line.to_owned(), verdict }))
    }

    /// Whether a judge of safety noticed.
    pub fn noticed(&self) -> bool {
        !["survived", "never reached", "figures"].contains(&self.verdict.as_str())
    }
}

/// The line of a mutant. Commas of code become semicolons: no one runs what stands here.
pub fn line(number: usize, point: &Point, source: &Source, verdict: &Verdict) -> String {
    let plain = |text: &str| text.replace(',', ";");
    let (kind, by) = match &verdict.noticed {
        Some((kind, by, end)) => (kind.name(), plain(by) + if *end == End::TimedOut { " (no end)" } else { "" }),
        None if verdict.asked == 0 => ("never reached", String::new()),
        None => ("survived", String::new()),
    };
    let (at, what) = (format!("{},{},{}", source.path, point.line, point.column), plain(&point.what));
    format!("{number},{at},{what},{kind},{by},{},{:.1}", verdict.asked, verdict.seconds)
}
