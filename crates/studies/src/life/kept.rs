//! Lives that are kept in a directory, a part for each whole life, so that none is lived twice: after Ctrl-C, a crash, or on several machines.

use super::tornado::Change;
use super::{End, LifeSettings, SchemeLife};
use common::parts::{Directory, LIVES, Part};
use common::{Problem, Row};
use experiment::Experiment;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use vocab::fnv_on;

/// Column with the clock of the timed runs.
const CLOCK: &str = "clock";

/// A directory of lives.
#[derive(Debug)]
pub struct Kept {
    directory: Directory,
    /// Where the order of lives begins. Processes that share a directory do little twice where each has another one.
    turn: u64,
    found: AtomicUsize,
}

impl Kept {
    /// The lives in a directory; makes it. `turn` changes the order of lives and no figure.
    ///
    /// # Errors
    /// A directory that cannot be made, or has parts of other work.
    pub fn open(path: &Path, turn: u64) -> Result<Self, Problem> {
        Ok(Self { directory: Directory::open(path, &LIVES)?, turn, found: AtomicUsize::new(0) })
    }

    /// How many lives were there, and were not lived again.
    #[must_use]
    pub fn found(&self) -> usize {
        self.found.load(Relaxed)
    }

    /// Puts the order of lives to begin at the turn.
    pub(super) fn turn<T>(&self, pieces: &mut [T]) {
        let by = self.turn % pieces.len().max(1) as u64;
        pieces.rotate_left(by as usize);
    }

    /// Whether all of these lives are there.
    ///
    /// # Errors
    /// A file that is no part, or one of these that is damaged.
    pub(super) fn has_all(&self, keys: &BTreeSet<u64>) -> Result<bool, Problem> {
        Ok(self.directory.look(keys)?.found.len() == keys.len())
    }

    /// A life, if it is there.
    ///
    /// # Errors
    /// A part that is damaged.
    pub(crate) fn find(&self, key: u64) -> Result<Option<SchemeLife>, Problem> {
        if !self.directory.has(key) {
            return Ok(None);
        }
        let life = serde_json::from_value(Value::Object(self.row(key)?)).map_err(|error| {
            let name = self.directory.folder().join(format!("{key:016x}.json"));
            Problem::new("", format!("{} holds no life: {error}; remove it, and its life is run again", name.display()))
        })?;
        self.found.fetch_add(1, Relaxed);
        Ok(Some(life))
    }

    fn row(&self, key: u64) -> Result<Row, Problem> {
        Ok(self.directory.part(key)?.rows.into_iter().next().unwrap_or_default())
    }

    /// The clock of the timed runs of a life that is there.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub(super) fn clock(&self, key: u64) -> Result<String, Problem> {
        Ok(self.row(key)?.get(CLOCK).and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    /// Keeps a life. One that was stopped is not whole and is not kept.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(crate) fn keep(&self, key: u64, life: &SchemeLife, clock: &str) -> Result<(), Problem> {
        if life.end == End::Stopped {
            return Ok(());
        }
        let Value::Object(mut row) = serde_json::to_value(life).expect("a life is plain data") else {
            unreachable!("a life has fields")
        };
        row.insert(CLOCK.into(), clock.into());
        self.directory.keep(&Part { key, rows: vec![row] })
    }

    /// Removes what killed processes left of these lives, all of which are there.
    pub(super) fn tidy(&self, keys: &BTreeSet<u64>) -> Result<(), Problem> {
        self.directory.tidy(keys)
    }
}

/// Hash of what all lives of a question share: the experiment, the requests of its workload (`digest`), and the settings. The number of seeds and the
/// tornado only say which lives there are.
pub(crate) fn question(experiment: &Experiment, digest: u64, settings: &LifeSettings) -> u64 {
    let experiment = Experiment { seeds: 1, ..experiment.clone() };
    let settings = LifeSettings { tornado: false, ..settings.clone() };
    // `Debug` writes numbers so that they come back bit for bit.
    fnv_on(lab::config_hash(&experiment), format!("{digest:016x}\n{settings:?}").as_bytes())
}

/// Hash of all that a life of the question depends on: its scheme, the number of its seed from 0 on, and the changed parameter.
pub(super) fn key(question: u64, scheme: usize, repetition: usize, change: Option<&Change>) -> u64 {
    let change = change.map(|change| format!("{} {}", change.parameter.key, change.end)).unwrap_or_default();
    fnv_on(question, format!("{scheme} {repetition} {change}").as_bytes())
}
