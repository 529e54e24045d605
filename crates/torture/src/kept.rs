//! A campaign in a directory: `campaign.json` says which, `pieces/` has a part for each piece that is done, and what all
//! of them gave is in `results.parquet` and `violations.parquet`.

use crate::campaign::Summary;
use crate::pieces::Campaign;
use common::parts::{CAMPAIGN, Directory};
use common::{Columns, Problem, Row, SETTINGS_MAX, in_parallel, printable, read_text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use vocab::Streams;

/// Makes the bytes of a file of a table: which format it is, is the business of the program.
pub type Encode = fn(&Columns) -> Vec<u8>;

/// How a campaign is run; it changes no number.
pub struct Crew<'a> {
    /// Pieces at the same time.
    pub threads: usize,
    /// Order of the pieces. Processes that share a directory do little twice where each has another one.
    pub turn: u64,
    /// Is called with the number of scenarios done and of all; first with those that the directory had.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    /// Makes the files of the two tables.
    pub encode: Encode,
}

/// A campaign that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Results of all pieces.
    pub summary: Summary,
    /// Pieces that were there.
    pub found: usize,
    /// Scenarios that were run now.
    pub run: u64,
    /// Parts in the directory that belong to no piece: of a campaign of another length.
    pub others: usize,
}

impl Campaign {
    /// The directory of this campaign; makes it.
    ///
    /// # Errors
    /// A directory that cannot be made, or is that of another campaign or of other work.
    pub fn open(&self, path: &Path) -> Result<Directory, Problem> {
        let directory = Directory::open(path, &CAMPAIGN)?;
        let file = directory.file("campaign.json");
        if !file.exists() {
            let text = serde_json::to_string_pretty(&self.identity()).expect("plain data") + "\n";
            directory.write(&file, text.as_bytes())?;
        }
        // Another process may have been first.
        let fail = |message: String| Problem::new("", format!("{} {message}", file.display()));
        let text = read_text(&file, SETTINGS_MAX).map_err(|e| fail(format!("cannot be read: {e}")))?;
        let elsewhere = CAMPAIGN.elsewhere;
        let found: Row =
            serde_json::from_str(&text).map_err(|_| fail(format!("does not name a campaign: move it, or {elsewhere}")))?;
        let differs = differences(&found, &self.identity());
        if differs.is_empty() { Ok(directory) } else { Err(fail(format!("is of another campaign, {differs}: {elsewhere}"))) }
    }

    /// Pieces without a part, and the number of parts that belong to no piece.
    ///
    /// # Errors
    /// A file that is no part, or a part of a piece that is damaged.
    pub fn missing(&self, directory: &Directory) -> Result<(Vec<usize>, usize), Problem> {
        let known = directory.look(&self.keys())?;
        let missing = (0..self.pieces()).filter(|&piece| !known.found.contains(&self.key(piece)));
        Ok((missing.collect(), known.others))
    }

    fn keys(&self) -> BTreeSet<u64> {
        (0..self.pieces()).map(|piece| self.key(piece)).collect()
    }

    /// Merges the parts of all pieces into the two tables, whose files `encode` makes.
    ///
    /// # Errors
    /// A part that is not there or is damaged, or a file that cannot be written.
    pub fn merge(&self, directory: &Directory, encode: Encode) -> Result<Summary, Problem> {
        let summary = self.merged(|piece| directory.part(self.key(piece)))?;
        directory.write(&directory.file("violations.parquet"), &encode(&summary.violations()))?;
        directory.write(&directory.results(), &encode(&summary.columns(self.scope().seed)))?;
        directory.tidy(&self.keys())?;
        Ok(summary)
    }

    /// Runs the pieces that have no part in the directory, and merges all parts.
    ///
    /// # Errors
    /// A file in the directory that is no part, or is damaged, or cannot be written.
    pub fn run_into(&self, directory: &Directory, with: &Crew<'_>) -> Result<Kept, Problem> {
        let (missing, others) = self.missing(directory)?;
        let found = self.pieces() - missing.len();
        let length = |piece: usize| self.range(piece).end - self.range(piece).start;
        let done = AtomicU64::new(self.scenarios() - missing.iter().map(|&piece| length(piece)).sum::<u64>());
        let (run, over) = (AtomicU64::new(0), AtomicBool::new(false));
        (with.progress)(done.load(Relaxed), self.scenarios());
        let keep = |piece: usize| {
            if over.load(Relaxed) {
                return Ok(());
            }
            // Another process may have done it in the meantime.
            if !directory.has(self.key(piece)) {
                let kept = directory.keep(&self.part(piece));
                over.fetch_or(kept.is_err(), Relaxed);
                kept?;
                run.fetch_add(length(piece), Relaxed);
            }
            (with.progress)(done.fetch_add(length(piece), Relaxed) + length(piece), self.scenarios());
            Ok(())
        };
        in_parallel(with.threads, in_turn(missing, with.turn), keep)?;
        Ok(Kept { summary: self.merge(directory, with.encode)?, found, run: run.into_inner(), others })
    }
}

/// The pieces in an order of their own for each turn. It is no rotation: two processes that go through the same order from
/// different beginnings do the same piece at the same time from when one has caught up with the other.
fn in_turn(mut pieces: Vec<usize>, turn: u64) -> Vec<usize> {
    let mut draws = Streams::new(turn).stream("torture/turn");
    for left in (1..pieces.len()).rev() {
        pieces.swap(left, draws.below(left as u64 + 1) as usize);
    }
    pieces
}

/// Names whose values differ, with both.
fn differences(found: &Row, wanted: &Row) -> String {
    let names: BTreeSet<&String> = found.keys().chain(wanted.keys()).collect();
    let differ = names.into_iter().filter(|name| found.get(*name) != wanted.get(*name));
    let text = |name: &String| format!("{} is {}, wanted {}", printable(name), shown(found.get(name)), shown(wanted.get(name)));
    differ.map(text).collect::<Vec<_>>().join("; ")
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "missing".into(),
        Some(Value::String(text)) => printable(text),
        // There are no more names than registries have, unless someone else wrote the file.
        Some(Value::Array(names)) => names.iter().take(32).map(|name| shown(Some(name))).collect::<Vec<_>>().join(","),
        Some(value) => printable(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if processes that begin together, and are as fast, do many pieces twice.
    #[test]
    fn processes_of_one_speed_do_few_pieces_together() {
        let orders = [in_turn((0..1000).collect(), 1), in_turn((0..1000).collect(), 2)];
        let (mut done, mut run) = (BTreeSet::new(), 0);
        while done.len() < 1000 {
            let next = orders.each_ref().map(|order| order.iter().copied().find(|piece| !done.contains(piece)));
            run += next.iter().flatten().count();
            done.extend(next.into_iter().flatten());
        }
        assert!(run < 1020, "{run} pieces were run instead of 1000");
        let sorted: BTreeSet<usize> = orders[0].iter().copied().collect();
        assert_eq!(sorted.len(), 1000);
    }
}
