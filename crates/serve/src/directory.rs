//! A drive in a directory: `drive.toml` has its settings, `flash` its image and `flash.memory` its PLP memory.

use crate::time::nanos;
use common::Problem;
use experiment::{Experiment, Overrides};
use ssd::Setup;
use ssd::disk::{Disk, DiskError, Planned};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use vocab::Nanos;

/// Why a drive cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Settings.
    #[error(transparent)]
    Settings(#[from] Problem),
    /// The drive.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A file or socket.
    #[error("{path}: cannot {doing}: {error}", path = .0.display(), doing = .1, error = .2)]
    File(PathBuf, &'static str, std::io::Error),
    /// Something else, in words.
    #[error("{0}")]
    Other(String),
}

/// Where a drive is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// In files.
    Files,
    /// In memory: its directory has settings and sockets only, and its data end with the process.
    Memory,
}

/// The directory of a drive.
#[derive(Clone, Debug)]
pub struct DriveDirectory {
    path: PathBuf,
}

impl DriveDirectory {
    /// This directory, which need not be there.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Settings of the drive.
    #[must_use]
    pub fn settings_file(&self) -> PathBuf {
        self.path.join("drive.toml")
    }

    /// Its flash.
    #[must_use]
    pub fn image(&self) -> PathBuf {
        self.path.join("flash")
    }

    /// Where NBD clients find it, unless they are told otherwise.
    #[must_use]
    pub fn nbd_socket(&self) -> PathBuf {
        self.path.join("nbd.sock")
    }

    /// Its control socket, unless told otherwise.
    #[must_use]
    pub fn control_socket(&self) -> PathBuf {
        self.path.join("control.sock")
    }

    /// Whether a drive has been made here.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.settings_file().exists()
    }

    /// The setup of a drive that [`Self::create`] would make.
    ///
    /// # Errors
    /// If the settings are of no drive.
    pub fn setup_of(experiment: &Experiment, filled: bool) -> Result<Setup, ServeError> {
        Ok(experiment::disk_setup(&experiment::one_drive(experiment, filled)?)?)
    }

    /// Makes the directory with a new drive. Its settings are written last: without them there is none.
    ///
    /// # Errors
    /// If there is a drive, or the directory cannot be written, or the settings are of no drive.
    pub fn create(&self, experiment: &Experiment, filled: bool, kept: Kept) -> Result<(), ServeError> {
        let one = experiment::one_drive(experiment, filled)?;
        let setup = experiment::disk_setup(&one)?;
        if self.is_there() {
            return Err(ServeError::Other(format!("{}: there is a drive already", self.path.display())));
        }
        let file = |path: &Path, doing| {
            let path = path.to_owned();
            move |error| ServeError::File(path, doing, error)
        };
        std::fs::create_dir_all(&self.path).map_err(file(&self.path, "create"))?;
        if kept == Kept::Files {
            for unfinished in [self.image(), self.path.join("flash.memory")].iter().filter(|path| path.exists()) {
                std::fs::remove_file(unfinished).map_err(file(unfinished, "remove"))?;
            }
            Disk::create(&setup, &self.image())?.sync()?;
        }
        let (settings, unfinished) = (self.settings_file(), self.path.join("drive.toml.new"));
        std::fs::write(&unfinished, one.to_toml()).map_err(file(&unfinished, "write"))?;
        std::fs::rename(&unfinished, &settings).map_err(file(&settings, "write"))
    }

    /// The setup that the settings describe.
    ///
    /// # Errors
    /// If there is no drive, or its settings are damaged.
    pub fn setup(&self) -> Result<Setup, ServeError> {
        if !self.is_there() {
            let path = self.path.display();
            return Err(ServeError::Other(format!(
                "{path}: there is no drive here; make one with `flashkeep serve {path} --create`"
            )));
        }
        let experiment = Experiment::load(&self.settings_file(), &Overrides::default())?;
        Ok(experiment::disk_setup(&experiment)?)
    }

    /// Plan of a schedule file for the drive.
    ///
    /// # Errors
    /// As of [`Self::setup`], or what is wrong with the file.
    pub fn schedule(&self, file: &Path) -> Result<Vec<Planned>, ServeError> {
        Self::planned(&self.setup()?, file)
    }

    /// Plan of a schedule file for a drive of this setup.
    ///
    /// # Errors
    /// A problem of the file.
    pub fn planned(setup: &Setup, file: &Path) -> Result<Vec<Planned>, ServeError> {
        let geometry = setup.drive.geometry;
        let text = std::fs::read_to_string(file).map_err(|error| ServeError::File(file.to_owned(), "read", error))?;
        Ok(experiment::schedule(&file.display().to_string(), &text, &geometry)?)
    }

    /// How long no one has written to the files of the drive, on the wall clock: since they were closed, or since the last
    /// answer before that. Nothing, if that lies in the future.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "a server lives on the wall clock")]
    pub fn closed_for(&self) -> Nanos {
        let written = std::fs::metadata(self.path.join("flash.memory")).and_then(|file| file.modified());
        let passed = written.ok().and_then(|written| SystemTime::now().duration_since(written).ok());
        passed.map_or(Nanos(0), nanos)
    }

    /// Removes snapshots that a killed process had not finished: each is as large as the drive. Whoever opened the drive is alone here.
    fn remove_unfinished_snapshots(&self) {
        let is_unfinished = |name: &str| name.starts_with("flash.") && name.contains(".snapshot") && name.ends_with(".new");
        for entry in std::fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(is_unfinished) {
                // A copy that stays takes room and does no harm.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// The drive.
    ///
    /// # Errors
    /// As of [`Self::setup`], or files that are missing or damaged.
    pub fn open(&self, kept: Kept) -> Result<Disk, ServeError> {
        let (setup, image) = (self.setup()?, self.image());
        match kept {
            Kept::Memory => Ok(Disk::in_memory(&setup)?),
            Kept::Files if image.exists() => {
                let disk = Disk::open(&setup, &image)?;
                self.remove_unfinished_snapshots();
                Ok(disk)
            }
            Kept::Files => {
                let path = image.display();
                Err(ServeError::Other(format!("{path} is missing; a drive that was made with --memory is served with it")))
            }
        }
    }
}
