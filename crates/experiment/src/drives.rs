//! Drive presets: one file each, and one line here.

use crate::document::Document;
use crate::simulators;
use common::input_file::read_settings;
use common::{Problem, SETTINGS_MAX, path_of, read_text};

/// A drive preset.
#[derive(Clone, Copy, Debug)]
pub struct DriveEntry {
    /// Registry name.
    pub name: &'static str,
    /// The preset's TOML text: `summary`, `source`, the fields of [`ssd::Drive`], and under `usual` settings of the experiment.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$(DriveEntry { name: $name, text: include_str!(concat!("../drives/", $name, ".toml")) }),*]
    };
}

/// All presets, in the order in which they are listed.
pub const DRIVES: &[DriveEntry] = presets![
    "tlc",
    "qlc",
    "tlc-ganged",
    "qlc-ganged",
    "mlc-2014",
    "slc-gr",
    "greenan",
    "mlc-fl",
    "mlc-da",
    "ds-raid",
    "code-zones",
    "mlc-mqsim",
    "mlc-mqsim-16g",
    "970pro",
    "zn540",
    "xg6",
    "p4500",
    "pm9a3",
    "enterprise-tlc",
    "qlc-p5430",
];

/// The drive of an experiment that names none.
pub const DEFAULT_DRIVE: &str = "tlc";

/// Tables of an experiment that a drive file may have under `usual`: what drives of its kind usually have. A table of the
/// drive file is used where the experiment has no such table; [`DECISIVE`] has the exceptions.
const USUAL: &[&str] = &["buffer", "ecc", "errors"];

/// Tables that an experiment may change one setting at a time, each with the setting that replaces the whole table: `errors.celsius`
/// alone changes the temperature of the drive's error model, while an experiment with `errors.model` has none of the drive's `errors`.
const DECISIVE: &[(&str, &str)] = &[("ecc", "ecc.policy"), ("errors", "errors.model")];

/// The same of a device of another simulator: its file says more than what flash is.
const USUAL_OF_DEVICES: &[&str] = &["buffer", "capacity", "gc", "precondition", "wear"];

/// True where a drive is a file of another simulator.
pub(crate) fn is_device(name: &str) -> bool {
    name.ends_with(MQSIM) || simulators::is_device(name)
}

/// Device files of MQSim end so.
const MQSIM: &str = ".xml";

/// Whether a drive is a file.
pub(crate) fn is_file(name: &str) -> bool {
    name.ends_with(".toml") || is_device(name)
}

impl DriveEntry {
    /// The preset as a document.
    #[must_use]
    pub fn document(&self) -> Document {
        // A test reads every preset, so this cannot fail on any input.
        Document::parse(&format!("drives/{}.toml", self.name), self.text).expect("bundled presets are valid TOML")
    }

    /// Description in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        self.line("summary")
    }

    /// Source of its values.
    #[must_use]
    pub fn source(&self) -> String {
        self.line("source")
    }

    fn line(&self, key: &str) -> String {
        self.document().text(key).ok().flatten().unwrap_or_default().to_owned()
    }
}

/// Takes what such drives usually have out of a drive file, into an experiment that does not say otherwise.
pub(crate) fn take_usual(name: &str, drive: &mut Document, experiment: &mut Document) -> Result<(), Problem> {
    for table in if is_device(name) { USUAL_OF_DEVICES } else { USUAL } {
        let path = format!("usual.{table}");
        let is_changed = DECISIVE.iter().any(|(of, setting)| of == table && !experiment.has(setting));
        if !experiment.has(table) {
            experiment.graft(table, drive, &path)?;
        } else if is_changed && drive.has(&path) {
            experiment.rebase(table, drive.part(&path)?)?;
        }
        drive.remove(&path);
    }
    if drive.part("usual")?.is_empty() {
        drive.remove("usual");
    }
    Ok(())
}

/// The preset called `name`, a drive file, or nothing (`none`: every field must be given); and as notes what of a file has no
/// counterpart here.
///
/// # Errors
/// An unknown name, or a file that cannot be read.
pub(crate) fn load(name: &str) -> Result<(Document, Vec<String>), Problem> {
    const FIELD: &str = "drive.preset";
    if name == "none" {
        return Ok((Document::new(), Vec::new()));
    }
    if let Some(entry) = DRIVES.iter().find(|d| d.name == name) {
        return Ok((entry.document(), Vec::new()));
    }
    let fail = |e| Problem::new(FIELD, format!("drive file {name} cannot be read: {e}"));
    if is_device(name) {
        let text = read_text(&path_of(simulators::path(name)), SETTINGS_MAX).map_err(fail)?;
        return if name.ends_with(MQSIM) { crate::mqsim::drive(name, &text) } else { simulators::drive(name, &text) };
    }
    if is_file(name) {
        return Ok((Document::parse(name, &read_settings(&path_of(name)).map_err(fail)?)?, Vec::new()));
    }
    let known: Vec<&str> = DRIVES.iter().map(|d| d.name).collect();
    let mut problem = Problem::unknown(FIELD, "drive", name, &known);
    problem.known.push(
        "or the path of a drive file ending in .toml, or of another simulator: MQSim .xml, SimpleSSD .cfg, NVMeVirt .h, FEMU .sh"
            .into(),
    );
    Err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::DriveSpec;

    fn drive(entry: &DriveEntry) -> ssd::Drive {
        let (mut drive, mut experiment) = (entry.document(), Document::new());
        take_usual("mine", &mut drive, &mut experiment).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        drive.read::<DriveSpec>().unwrap_or_else(|e| panic!("{}: {e}", entry.name)).drive()
    }

    /// Catches settings of a preset that override those of an experiment, and a key that is silently ignored.
    #[test]
    fn what_a_drive_usually_has_counts_where_the_experiment_says_nothing_of_it() {
        let read = |settings: &str| crate::Experiment::parse("test.toml", settings).unwrap_or_else(|e| panic!("{e}"));
        let size = |settings: &str| {
            let experiment = read(settings);
            experiment.buffer.on(&experiment.drive.drive()).size.to_string()
        };
        assert_eq!(size(""), "3MiB", "8 dies x 192 KiB x 2");
        assert_eq!(size("drive.preset = \"pm9a3\""), "24MiB", "64 dies x 192 KiB x 2");
        assert_eq!(size("drive.preset = \"970pro\""), "1MiB", "NVMeVirt: 8 x 2 x 32 KiB x 2");
        assert_eq!(size("drive.preset = \"mlc-2014\""), "1MiB", "the least");
        assert_eq!(size("buffer.size = \"5MiB\""), "5MiB");
        assert_eq!(read("drive.preset = \"code-zones\"").buffer.kind, ssd::BufferKind::Off, "the thesis has none");
        let own = read("[buffer]\nkind = \"volatile\"").buffer;
        assert_eq!((own.kind, own.size), (ssd::BufferKind::Volatile, crate::textual::BufferSize::Auto));
        // One setting of a table leaves the others as they usually are, unless it decides what they are of.
        let hot = read("errors.celsius = 60.0\necc.read_retry = \"none\"");
        assert_eq!((hot.errors.model.as_str(), hot.errors.celsius), ("tlc-128l", 60.0));
        assert_eq!((hot.ecc.policy.as_str(), hot.ecc.read_retry), ("ldpc", ssd::ReadRetry::None));
        assert_eq!(hot.ecc.options["ldpc"]["rate"].0, "0.901");
        let fixed = read("ecc = { policy = \"fixed\", options.fixed.t = 40 }\nerrors.model = \"none\"");
        assert_eq!((fixed.ecc.read_retry, fixed.ecc.options.len()), (ssd::ReadRetry::None, 1));
        assert_eq!(read("drive.preset = \"mlc-2014\"\nerrors.celsius = 60.0").errors.model, "none", "the drive says nothing");
        let mut drive = Document::parse("mine.toml", "usual.gc.policy = \"fifo\"").expect("valid TOML");
        take_usual("mine", &mut drive, &mut Document::new()).expect("a table");
        assert!(drive.has("usual.gc"), "what is not known there stays, and is refused with the drive");
    }

    #[test]
    fn every_preset_parses_and_checks() {
        for entry in DRIVES {
            let drive = drive(entry);
            drive.geometry.check().unwrap_or_else(|e| panic!("{}: {e}", entry.name));
            drive.timing.check(&drive.geometry).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
            assert_eq!(drive.geometry.pages_per_block as usize % drive.timing.page.len(), 0, "{}", entry.name);
            assert!(!entry.summary().is_empty() && !entry.source().is_empty(), "{}", entry.name);
        }
    }

    #[test]
    fn every_value_of_a_preset_names_its_source() {
        for entry in DRIVES {
            for line in entry.text.lines().filter(|l| !l.starts_with('#') && l.contains(" = ")) {
                let comment = line.split_once(" # ").map(|(_, comment)| comment.trim());
                assert!(comment.is_some_and(|c| c.len() > 3), "{}: {line}", entry.name);
            }
        }
    }

    #[test]
    fn the_paper_drives_have_the_papers_sizes() {
        let drive = |name: &str| drive(DRIVES.iter().find(|d| d.name == name).expect("a preset")).geometry;
        // FLARES, section 5.2: "the target 2GB memory".
        assert_eq!(drive("mlc-fl").raw_size().to_string(), "2GiB");
        // Greenan et al.: 8 cards x 8 banks x 64 blocks x 64 pages x 4 KiB.
        assert_eq!(drive("slc-gr").raw_size().to_string(), "1GiB");
        // Chang and Chang, section 4.2.1: 20 GB in all.
        assert_eq!(drive("code-zones").raw_size().to_string(), "20GiB");
        // DiskSim SSD extension: 16384 blocks per element.
        assert_eq!(drive("ds-raid").blocks_per_die(), 16_384);
        // MQSim: 512 GiB raw, 67.1 M pages; the variant 16 GiB.
        assert_eq!(drive("mlc-mqsim").raw_size().to_string(), "512GiB");
        assert_eq!(drive("mlc-mqsim").pages(), 67_108_864);
        assert_eq!(drive("mlc-mqsim-16g").raw_size().to_string(), "16GiB");
        // Guo et al., Table II: 1 MB blocks.
        assert_eq!(drive("mlc-da").pages_per_block * 8, 1024);
    }
}
