//! Experiment files, and the drive that an experiment begins with.

use super::DriveSpec;
use super::trace_spec::LISTS;
use crate::document::Document;
use crate::drives;
use crate::input_file::read_settings;
use crate::paths::{path_of, path_text};
use crate::problem::Problem;
use std::path::Path;

/// The document of an experiment file.
pub(crate) fn read(path: &Path) -> Result<Document, Problem> {
    let name = path.display().to_string();
    let hint = match path.extension().and_then(std::ffi::OsStr::to_str) {
        Some("toml") => "",
        _ if !path.exists() => "",
        _ => "; `flashkeep compare` replays a trace, `flashkeep inspect` says what is in one",
    };
    let text = read_settings(path).map_err(|e| Problem::new("", format!("experiment file {name} cannot be read: {e}{hint}")))?;
    let mut document = Document::parse(&name, &text)?;
    if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        resolve_paths(&mut document, directory);
    }
    Ok(document)
}

/// Paths in an experiment file count from the file's directory.
pub(crate) fn resolve_paths(document: &mut Document, directory: &Path) {
    document.map_text("drive.preset", |preset| {
        let is_relative_file = drives::is_file(preset) && Path::new(preset).is_relative();
        is_relative_file.then(|| path_text(directory.join(path_of(preset))))
    });
    let moved = |source: &str| {
        let is_relative_file = !crate::workload::is_name(source) && Path::new(source).is_relative();
        is_relative_file.then(|| path_text(directory.join(path_of(source))))
    };
    document.map_text("trace.source", moved);
    LISTS.iter().for_each(|list| document.map_texts(list, moved));
}

/// Puts the preset under the drive's fields; returns the preset where it is complete in itself, and what of its file has no
/// counterpart.
pub(super) fn expand_drive(
    document: &mut Document,
    hints: &mut Vec<String>,
) -> Result<(Option<DriveSpec>, Vec<String>), Problem> {
    let preset = document.text("drive.preset")?.unwrap_or(drives::DEFAULT_DRIVE).to_owned();
    let (mut base, notes) = drives::load(&preset).map_err(|problem| document.locate(problem))?;
    if preset != "none" {
        let label = Path::new(&preset).file_stem().map_or(preset.clone(), |stem| stem.to_string_lossy().into());
        base.default_text("name", &label)?;
    }
    hints.extend(crate::renamed::bring_up(&mut base)?);
    drives::take_usual(&preset, &mut base, document)?;
    crate::off::unset(&mut base, "drive.")?;
    let complete = base.read().ok();
    document.rebase("drive", base)?;
    Ok((complete, notes))
}
