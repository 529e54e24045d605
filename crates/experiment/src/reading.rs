//! Experiment files, and the drive that an experiment begins with.

use crate::check;
use crate::document::Document;
use crate::drives;
use crate::experiment::LISTS;
use crate::experiment::{DriveSpec, Experiment, Overrides, Own, no_preset};
use crate::label::{options_of, scheme_and_policy};
use crate::textual::OptionText;
use common::input_file::read_settings;
use common::{Problem, path_of, path_text};
use std::path::Path;

/// The document of an experiment file.
///
/// # Errors
/// The file cannot be read, or is no TOML.
pub fn read(path: &Path) -> Result<Document, Problem> {
    let name = path.display().to_string();
    let hint = match path.extension().and_then(std::ffi::OsStr::to_str) {
        Some("toml") => "",
        _ if !path.exists() => "",
        _ => "; `flashkeep compare` replays a trace, `flashkeep inspect` describes one",
    };
    let text = read_settings(path).map_err(|e| Problem::new("", format!("experiment file {name} cannot be read: {e}{hint}")))?;
    let mut document = Document::parse(&name, &text)?;
    if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        resolve_paths(&mut document, directory);
    }
    Ok(document)
}

/// Paths in an experiment file count from the file's directory.
pub fn resolve_paths(document: &mut Document, directory: &Path) {
    document.map_text("drive.preset", |preset| {
        let is_relative_file = drives::is_file(preset) && Path::new(preset).is_relative();
        is_relative_file.then(|| path_text(directory.join(path_of(preset))))
    });
    let moved = |source: &str| {
        let is_relative_file = !crate::source::is_name(source) && Path::new(source).is_relative();
        is_relative_file.then(|| path_text(directory.join(path_of(source))))
    };
    document.map_text("trace.source", moved);
    LISTS.iter().for_each(|list| document.map_texts(list, moved));
}

/// Puts the preset under the drive's fields; returns the preset where it is complete in itself, and what of its file has no
/// counterpart.
fn expand_drive(document: &mut Document, hints: &mut Vec<String>) -> Result<(Option<DriveSpec>, Vec<String>), Problem> {
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

/// In place of a list of schemes: all that run on the drive.
const ALL_SCHEMES: &str = "all";

/// Whether a setting's path lies below `drive`, whose settings are complete once the preset is read.
fn inside_drive(path: &str) -> bool {
    path.starts_with("drive.") && path != "drive.preset"
}

impl Overrides {
    /// Applies everything but `--set` inside the drive.
    fn apply(&self, document: &mut Document) -> Result<(), Problem> {
        if let Some(trace) = &self.trace {
            document.remove("generate");
            document.set_text("TRACE", "trace.source", trace)?;
        }
        if let Some(schemes) = &self.schemes {
            document.set_list(&format!("--schemes {schemes}"), "schemes", schemes)?;
        }
        for (option, path, value) in &self.options {
            if crate::load::set(document, option, value)? {
                continue;
            }
            if LISTS.contains(&path.as_str()) {
                document.add_text(&format!("{option} {value}"), path, value)?;
            } else if ["seed", "seeds", "alone", "trace.loops", "trace.device", "trace.skip", "trace.first"]
                .contains(&path.as_str())
            {
                document.set(&format!("{option} {value}"), &format!("{path}={value}"))?;
            } else {
                document.set_text(&format!("{option} {value}"), path, value)?;
            }
            if path == "drive.preset" {
                // A drive named on the command line replaces the drive of the file.
                document.keep_only("drive", "preset");
            }
        }
        self.set(document, |path| !inside_drive(path))
    }

    /// Applies those of `--set` whose path is among the wanted.
    fn set(&self, document: &mut Document, wanted: fn(&str) -> bool) -> Result<(), Problem> {
        let path = |set: &str| set.split('=').next().unwrap_or_default().trim().to_owned();
        let mut wanted = self.set.iter().filter(|set| wanted(&path(set)));
        wanted.try_for_each(|set| document.set(&format!("--set {set}"), set))
    }
}

impl Experiment {
    /// The experiment of a file, changed by `overrides`.
    ///
    /// # Errors
    /// Names the faulty setting of the file or of an override, with its place.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Self, Problem> {
        Self::from_document(read(path)?, overrides)
    }

    /// The default experiment, changed by `overrides`.
    ///
    /// # Errors
    /// Names the faulty setting of an override.
    pub fn with(overrides: &Overrides) -> Result<Self, Problem> {
        Self::from_document(Document::new(), overrides)
    }

    /// The experiment of TOML text; `name` is what complaints call it.
    ///
    /// # Errors
    /// A problem of the text, with its place.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        Self::parse_with(name, text, Own::default())
    }

    /// The experiment of TOML text, with policies that this program brings.
    ///
    /// # Errors
    /// A problem of the text, with its place.
    pub fn parse_with(name: &str, text: &str, own: Own) -> Result<Self, Problem> {
        Self::from_document_with(Document::parse(name, text)?, &Overrides::default(), own)
    }

    /// The experiment of a document, changed by `overrides`.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn from_document(document: Document, overrides: &Overrides) -> Result<Self, Problem> {
        Self::from_document_with(document, overrides, Own::default())
    }

    /// As [`Self::from_document`], with policies that this program brings.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn from_document_with(document: Document, overrides: &Overrides, own: Own) -> Result<Self, Problem> {
        match Self::judged(document, overrides, own)? {
            (_, Some(problem)) => Err(problem),
            (experiment, None) => Ok(experiment),
        }
    }

    /// As [`Self::from_document_with`]; settings that can be read and do not fit together, such as a die that the drive does not have, are
    /// a problem beside the experiment, which cannot be run then.
    ///
    /// # Errors
    /// A document that cannot be read, or has an unknown name.
    pub fn judged(mut document: Document, overrides: &Overrides, own: Own) -> Result<(Self, Option<Problem>), Problem> {
        let mut hints = crate::renamed::bring_up(&mut document)?;
        overrides.apply(&mut document)?;
        hints.extend(crate::renamed::bring_over(&mut document)?.into_iter().map(|hint| hint.text));
        let (preset, drive_notes) = expand_drive(&mut document, &mut hints)?;
        overrides.set(&mut document, inside_drive)?;
        crate::off::unset(&mut document, "")?;
        let mut experiment: Self = document.read()?;
        crate::described::settle(&mut experiment);
        (experiment.gc.own, experiment.ecc.own) = (own.gc, own.ecc);
        let is_all = experiment.schemes == [ALL_SCHEMES];
        if is_all {
            experiment.schemes = check::listed_schemes();
        }
        if is_all || !document.has("schemes") {
            experiment.leave_out();
        }
        experiment.left_out.extend(drive_notes);
        experiment.hints = hints;
        let checked = crate::load::check(&experiment, overrides).and_then(|()| check::experiment(&experiment));
        if let Err(problem) = checked.map_err(|problem| document.locate(problem)) {
            return if problem.known.is_empty() { Ok((experiment, Some(problem))) } else { Err(problem) };
        }
        experiment.trace.settle_paths();
        experiment.drive.preset = no_preset();
        if preset.is_some_and(|p| p.name == experiment.drive.name && p.drive() != experiment.drive.drive()) {
            experiment.drive.name.push_str(" (changed)");
            experiment.drive.summary = experiment.drive.summary_of_changed();
        }
        if crate::generated::is_generated(&experiment) {
            experiment.generate.get_or_insert_default();
        }
        experiment.fill_options();
        Ok((experiment, None))
    }

    /// Leaves out schemes that cannot run on the drive. Where none could, they stay, and the run says why.
    fn leave_out(&mut self) {
        let drive = self.drive.drive();
        let refusal =
            |label: &String| ssd::user_slots_max(&drive, &self.choice(label), &self.gc).err().map(|error| error.to_string());
        let judged: Vec<(String, Option<String>)> = self.schemes.iter().map(|label| (label.clone(), refusal(label))).collect();
        if judged.iter().all(|(_, refusal)| refusal.is_some()) {
            return;
        }
        let reason = |(label, refusal): &(String, Option<String>)| {
            let refusal = refusal.as_ref()?;
            Some(format!("schemes: `{label}` is left out, because it cannot run on drive {}: {refusal}", self.drive.name))
        };
        self.left_out = judged.iter().filter_map(reason).collect();
        self.schemes = judged.into_iter().filter(|(_, refusal)| refusal.is_none()).map(|(label, _)| label).collect();
    }

    /// Fills in the default of every option of every scheme compared.
    fn fill_options(&mut self) {
        let names = self.schemes.iter().flat_map(|label| scheme_and_policy(label).0.split('+'));
        for (name, known) in names.filter_map(|name| Some((name, options_of(name)?))).filter(|(_, known)| !known.is_empty()) {
            let options = self.scheme.entry(name.to_owned()).or_default();
            for (option, default, _) in known {
                options.entry((*option).to_owned()).or_insert_with(|| OptionText((*default).to_owned()));
            }
        }
        let used = |name: &str| self.schemes.iter().any(|label| self.ecc_setup(label).policy == name);
        let policies: Vec<_> = ssd::ecc::ECC_POLICIES.iter().filter(|entry| used(entry.name)).collect();
        for entry in policies.into_iter().filter(|entry| !entry.options.is_empty()) {
            let options = self.ecc.options.entry(entry.name.to_owned()).or_default();
            for (option, default, _) in entry.options {
                options.entry((*option).to_owned()).or_insert_with(|| OptionText((*default).to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests;
