//! Checks that are ready: of a file system, of a database in it.

use crate::directory::ServeError;
use crate::program::FileSystem;
use common::quoted;
use std::fs;
use std::path::Path;

/// A check in words of the user's, and what it is put into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// `sqlite:PATH`, `postgres:PATH`, or a command.
    pub check: String,
    /// The file system whose directory the check looks at.
    pub mount: Option<FileSystem>,
}

/// Databases with a check of their own, and its script.
const DATABASES: [(&str, &str); 2] =
    [("sqlite", include_str!("ready/sqlite.sh")), ("postgres", include_str!("ready/postgres.sh"))];

impl Ready {
    /// The command that judges an image; its scripts are written to `work`.
    ///
    /// # Errors
    /// A check that looks at nothing, or no room for scripts.
    pub fn command(&self, work: &Path) -> Result<String, ServeError> {
        let refused = |what: &str| Err(ServeError::Other(format!("--check: {what}")));
        let work = std::path::absolute(work).map_err(|error| ServeError::File(work.to_owned(), "find", error))?;
        let script = |name: &str, text: &str| {
            let path = work.join(format!("{name}.sh"));
            let written = fs::create_dir_all(&work).and_then(|()| fs::write(&path, text));
            written.map_err(|error| ServeError::File(path.clone(), "write", error))?;
            Ok::<_, ServeError>(quoted(&path.display().to_string()))
        };
        let database =
            |(name, text): (&'static str, &'static str)| Some((name, text, self.check.strip_prefix(name)?.strip_prefix(':')?));
        let check = match DATABASES.into_iter().find_map(database) {
            Some((name, ..)) if self.mount.is_none() => {
                return refused(&format!("{name} lies in a file system: say which with --mount"));
            }
            Some((name, _, "")) => return refused(&format!("{name}: wants a path in the file system, {name}:PATH")),
            Some((name, text, path)) => format!("sh {} {{dir}}/{}", script(name, text)?, quoted(path.trim_start_matches('/'))),
            None => self.check.clone(),
        };
        let Some(kind) = self.mount else { return Ok(check) };
        kind.can_be_mounted()?;
        if !check.contains("{dir}") {
            return refused("it has no {dir}, for which the directory is written where an image is mounted");
        }
        Ok(format!("sh {} {kind} {{image}} {}", script("mount", include_str!("ready/mount.sh"))?, quoted(&check)))
    }
}
