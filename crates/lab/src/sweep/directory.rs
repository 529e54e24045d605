//! The directory of a sweep: `runs/<key>.json`, one part each, and `results.parquet`.

use super::grid::GridRun;
use super::part::Part;
use crate::columns::Columns;
use crate::input_file::{RESULTS_MAX, read_text};
use crate::parquet_file::parquet_bytes;
use crate::problem::Problem;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where a sweep keeps its parts and its results.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// Makes names of files under way differ within this process.
    written: AtomicUsize,
}

/// What is in the directory.
#[derive(Debug, Default)]
pub struct Known {
    /// Keys of runs of the grid that have a part.
    pub found: BTreeSet<u64>,
    /// Parts of other runs.
    pub others: usize,
}

/// What a file in `runs` is by its name.
enum Name {
    Part(u64),
    /// Left behind by a process that was killed, or being written by another one.
    UnderWay,
    Foreign,
}

fn kind(name: &str) -> Name {
    let hex = |text: &str| match text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        true => u64::from_str_radix(text, 16).ok(),
        false => None,
    };
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    match (hex(stem), ending) {
        (Some(key), "json") => Name::Part(key),
        (Some(_), ending) if ending.ends_with(".part") => Name::UnderWay,
        _ => Name::Foreign,
    }
}

fn fail(path: &Path, what: &str, e: &std::io::Error) -> Problem {
    Problem::new("", format!("{} cannot be {what}: {e}", path.display()))
}

impl Directory {
    /// The directory of a sweep; makes it.
    ///
    /// # Errors
    /// A directory that cannot be made.
    pub fn open(path: &Path) -> Result<Self, Problem> {
        let runs = path.join("runs");
        std::fs::create_dir_all(&runs).map_err(|e| fail(&runs, "made", &e))?;
        Ok(Self { path: path.to_owned(), written: AtomicUsize::new(0) })
    }

    /// The merged results.
    #[must_use]
    pub fn results(&self) -> PathBuf {
        self.path.join("results.parquet")
    }

    /// The directory of the parts.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    fn part_path(&self, key: u64) -> PathBuf {
        self.runs().join(format!("{key:016x}.json"))
    }

    /// Looks which of these runs have parts, and reads these.
    ///
    /// # Errors
    /// A file that is no part, or a part of these runs that is damaged.
    pub fn look(&self, runs: &[GridRun]) -> Result<Known, Problem> {
        let wanted: BTreeSet<u64> = runs.iter().map(|run| run.key).collect();
        let mut known = Known::default();
        for path in self.files()? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match kind(&name) {
                Name::Part(key) if wanted.contains(&key) => {
                    self.part(key)?;
                    known.found.insert(key);
                }
                Name::Part(_) => known.others += 1,
                Name::UnderWay => {}
                Name::Foreign => {
                    let message = "is no part of a sweep; move it, or sweep into another directory";
                    return Err(Problem::new("", format!("{} {message}", path.display())));
                }
            }
        }
        Ok(known)
    }

    fn files(&self) -> Result<Vec<PathBuf>, Problem> {
        let runs = self.runs();
        let read = || std::fs::read_dir(&runs)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>();
        let mut files = read().map_err(|e| fail(&runs, "read", &e))?;
        files.sort();
        Ok(files)
    }

    /// Reads the part of a run.
    fn part(&self, key: u64) -> Result<Part, Problem> {
        let path = self.part_path(key);
        let text = read_text(&path, RESULTS_MAX).map_err(|e| fail(&path, "read", &e))?;
        let part = Part::from_text(&path.display().to_string(), &text)?;
        if part.key != key {
            let message = format!("{} holds the part of run {:016x}: it was renamed", path.display(), part.key);
            return Err(Problem::new("", message));
        }
        Ok(part)
    }

    /// Keeps a part: afterwards it is there wholly, whatever happens to this process.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn keep(&self, part: &Part) -> Result<(), Problem> {
        let written = self.write(&self.part_path(part.key), part.to_text().as_bytes());
        // Another process that swept the same grid may have been first, and tidied up.
        written.or_else(|problem| self.part(part.key).map(drop).map_err(|_| problem))
    }

    /// Writes under another name, then renames.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Problem> {
        let write = || {
            let (mut file, under_way) = self.under_way(path)?;
            file.write_all(bytes)?;
            file.sync_data()?;
            std::fs::rename(&under_way, path)
        };
        write().map_err(|e| fail(path, "written", &e))
    }

    /// A new file beside `path`. A process of another machine may have our number.
    fn under_way(&self, path: &Path) -> std::io::Result<(std::fs::File, PathBuf)> {
        loop {
            let number = self.written.fetch_add(1, Ordering::Relaxed);
            let under_way = path.with_extension(format!("{}-{number}.part", std::process::id()));
            match std::fs::File::create_new(&under_way) {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => return made.map(|file| (file, under_way)),
            }
        }
    }

    /// Merges the parts of all runs into `results.parquet`; says which runs returned wrong data.
    ///
    /// # Errors
    /// A part that is not there or is damaged, or a file that cannot be written.
    pub fn merge(&self, runs: &[GridRun]) -> Result<(Columns, Vec<usize>), Problem> {
        let (mut columns, mut failed) = (Columns::default(), Vec::new());
        for run in runs {
            let part = self.part(run.key)?;
            run.rows(&part).iter().for_each(|row| columns.push(row));
            if !part.passed() {
                failed.push(run.index);
            }
        }
        self.write(&self.results(), &parquet_bytes(&columns))?;
        self.tidy(runs)?;
        Ok((columns, failed))
    }

    /// Removes what killed processes left of these runs: all of them have their parts.
    fn tidy(&self, runs: &[GridRun]) -> Result<(), Problem> {
        let wanted: BTreeSet<String> = runs.iter().map(|run| format!("{:016x}", run.key)).collect();
        for path in self.files()? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if matches!(kind(&name), Name::UnderWay) && name.get(..16).is_some_and(|key| wanted.contains(key)) {
                std::fs::remove_file(&path).map_err(|e| fail(&path, "removed", &e))?;
            }
        }
        Ok(())
    }
}
