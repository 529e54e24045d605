//! A directory of parts: `<folder>/<key>.json`, one each, and beside the folder what was merged.

use super::{Part, WORKS, Work};
use crate::input_file::{RESULTS_MAX, read_text};
use crate::problem::Problem;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Where parts are kept, and what they are merged into.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    work: &'static Work,
    /// Parts of what cannot be run: they are not kept, as what is wrong may be fixed.
    refused: Mutex<BTreeMap<u64, Part>>,
    /// Makes names of files under way differ within this process.
    written: AtomicUsize,
}

/// Contents of the directory.
#[derive(Debug, Default)]
pub struct Known {
    /// Keys of wanted parts that are there.
    pub found: BTreeSet<u64>,
    /// Parts that are not wanted.
    pub others: usize,
}

/// Kind of a file among the parts, by its name.
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
    /// The directory of this work; makes it.
    ///
    /// # Errors
    /// A directory that cannot be made, or has parts of other work.
    pub fn open(path: &Path, work: &'static Work) -> Result<Self, Problem> {
        if let Some(other) = WORKS.iter().find(|other| *other != work && path.join(other.folder).is_dir()) {
            let message = format!("{} is the directory of {}: {}", path.display(), other.name, work.elsewhere);
            return Err(Problem::new("", message));
        }
        let folder = path.join(work.folder);
        std::fs::create_dir_all(&folder).map_err(|e| fail(&folder, "made", &e))?;
        Ok(Self { path: path.to_owned(), work, refused: Mutex::default(), written: AtomicUsize::new(0) })
    }

    /// The merged results.
    #[must_use]
    pub fn results(&self) -> PathBuf {
        self.file("results.parquet")
    }

    /// A file beside the folder of the parts.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The folder of the parts.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.path.join(self.work.folder)
    }

    fn part_path(&self, key: u64) -> PathBuf {
        self.folder().join(format!("{key:016x}.json"))
    }

    /// Whether someone has kept this part by now; [`Self::part`] says whether it is sound.
    #[must_use]
    pub fn has(&self, key: u64) -> bool {
        self.part_path(key).exists()
    }

    /// Looks which of these parts are there, and reads these.
    ///
    /// # Errors
    /// A file that is no part, or one of these parts that is damaged.
    pub fn look(&self, wanted: &BTreeSet<u64>) -> Result<Known, Problem> {
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
                    let Work { name, elsewhere, .. } = self.work;
                    let message = format!("{} is no part of {name}; move it, or {elsewhere}", path.display());
                    return Err(Problem::new("", message));
                }
            }
        }
        Ok(known)
    }

    fn files(&self) -> Result<Vec<PathBuf>, Problem> {
        let folder = self.folder();
        let read = || std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>();
        let mut files = read().map_err(|e| fail(&folder, "read", &e))?;
        files.sort();
        Ok(files)
    }

    /// Reads a part.
    ///
    /// # Errors
    /// A part that is not there, or is damaged.
    pub fn part(&self, key: u64) -> Result<Part, Problem> {
        if let Some(part) = self.refused().get(&key) {
            return Ok(part.clone());
        }
        let path = self.part_path(key);
        let text = read_text(&path, RESULTS_MAX).map_err(|e| fail(&path, "read", &e))?;
        let part = Part::from_text(&path.display().to_string(), &text, self.work)?;
        if part.key != key {
            let unit = self.work.unit;
            let message = format!("{} holds the part of {unit} {:016x}: it was renamed", path.display(), part.key);
            return Err(Problem::new("", message));
        }
        Ok(part)
    }

    fn refused(&self) -> MutexGuard<'_, BTreeMap<u64, Part>> {
        self.refused.lock().expect("nothing panics while it is held")
    }

    /// Keeps a part: afterwards it is there wholly, whatever happens to this process. That of what cannot be run is there while the process is.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn keep(&self, part: &Part) -> Result<(), Problem> {
        if part.problem().is_some() {
            self.refused().insert(part.key, part.clone());
            return Ok(());
        }
        let written = self.write(&self.part_path(part.key), part.to_text().as_bytes());
        // Another process that does the same may have been first, and tidied up.
        written.or_else(|problem| self.part(part.key).map(drop).map_err(|_| problem))
    }

    /// Removes a file that is no part, if it is there.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub fn remove(&self, path: &Path) -> Result<(), Problem> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(fail(path, "removed", &e)),
            _ => Ok(()),
        }
    }

    /// Writes under another name, then renames.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Problem> {
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

    /// Removes what killed processes left of these parts, all of which are there.
    pub fn tidy(&self, wanted: &BTreeSet<u64>) -> Result<(), Problem> {
        let wanted: BTreeSet<String> = wanted.iter().map(|key| format!("{key:016x}")).collect();
        for path in self.files()? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if matches!(kind(&name), Name::UnderWay) && name.get(..16).is_some_and(|key| wanted.contains(key)) {
                match std::fs::remove_file(&path) {
                    // Another process has given it its name by now, or has tidied up itself.
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                    removed => removed.map_err(|e| fail(&path, "removed", &e))?,
                }
            }
        }
        Ok(())
    }
}
