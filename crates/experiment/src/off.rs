//! Settings that may be left out, and are unset by the word `off`: also where a preset, a drive file or an earlier layer sets them.
//!
//! Such are the settings whose type is `Option`, as their structs say, and the tables below.

use crate::document::{Document, OFF};
use crate::schema;
use common::Problem;
use std::sync::LazyLock;

/// Tables whose absence means that there is nothing of their kind.
const TABLES: [&str; 6] = ["age", "drive.controller", "drive.slc", "errors", "faults", "refresh"];

/// A table without which there is a buffer of the usual kind; the setting in it says that there is none.
const BUFFER: (&str, &str) = ("buffer", "buffer.kind");

/// An optional type that is filled in where it is missing, so that nothing would be off.
const FILLED_IN: &str = "generate";

static OPTIONAL: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut found = schema::optional();
    found.retain(|path| path != FILLED_IN);
    found.extend(TABLES.map(String::from));
    found
});

/// Whether `off` unsets the setting at a path.
pub(crate) fn is_optional(path: &str) -> bool {
    OPTIONAL.iter().any(|optional| optional == path)
}

/// The tables that `off` unsets as a whole.
pub(crate) fn tables() -> Vec<&'static str> {
    let of_type = OPTIONAL.iter().map(String::as_str).filter(|path| schema::is_table(path));
    let mut found: Vec<&str> = of_type.chain([BUFFER.0]).collect();
    found.sort_unstable();
    found
}

/// Unsets what a document says is off. Its paths begin behind `prefix`: a drive file has none of the `drive.` in front.
///
/// # Errors
/// None that a document could cause.
pub(crate) fn unset(document: &mut Document, prefix: &str) -> Result<(), Problem> {
    let is_off = |document: &Document, path: &str| matches!(document.text(path), Ok(Some(OFF)));
    for path in OPTIONAL.iter().filter_map(|path| path.strip_prefix(prefix)) {
        if is_off(document, path) {
            document.remove(path);
        }
    }
    let (table, kind) = BUFFER;
    if prefix.is_empty() && is_off(document, table) {
        let said = document.clone();
        document.graft(kind, &said, table)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    fn read(settings: &str) -> Experiment {
        Experiment::parse("test.toml", settings).unwrap_or_else(|e| panic!("{settings}: {e}"))
    }

    /// A table is only then rightly off when it is gone if what is left has nothing of its kind.
    #[test]
    fn without_a_table_that_may_be_off_there_is_nothing_of_its_kind() {
        let off = read(
            "age = \"off\"\nerrors = \"off\"\nfaults = \"off\"\nrefresh = \"off\"\nbuffer = \"off\"\ndrive.slc = \"off\"\ndrive.controller = \"off\"",
        );
        assert_eq!((off.age.pe_cycles.0, off.age.retention.0, off.age.reads), (0, 0, 0));
        assert_eq!((off.age.bad_blocks, off.age.worn_blocks), (0.0, 0.0));
        assert_eq!(off.errors.model, "none");
        assert_eq!((off.faults.dead_die, off.faults.uncorrectable_reads, off.faults.wear_out), (None, 0.0, 0.0));
        assert_eq!(off.refresh.policy, ssd::RefreshPolicy::None);
        assert_eq!(off.buffer.kind, ssd::BufferKind::Off);
        assert_eq!(off.drive.slc.mode, ssd::SlcMode::Off);
        assert!(off.drive.controller.is_free());
        assert_ne!(read("").errors.model, "none", "the preset sets it");
    }

    #[test]
    fn off_unsets_what_a_preset_a_file_or_an_earlier_layer_sets() {
        let with = |file: &str, set: &[&str]| {
            let set = set.iter().map(ToString::to_string).collect();
            let overrides = crate::Overrides { set, ..Default::default() };
            Experiment::from_document(Document::parse("test.toml", file).expect("TOML"), &overrides)
                .unwrap_or_else(|e| panic!("{e}"))
        };
        assert!(with("", &[]).drive.timing.suspend.is_some(), "the preset sets it");
        for (file, set) in [
            ("drive.timing.suspend = \"off\"", &[][..]),
            ("", &["drive.timing.suspend=off"]),
            ("drive.timing.suspend = \"9us\"", &["drive.timing.suspend=off"]),
        ] {
            let off = with(file, set);
            assert_eq!(off.drive.timing.suspend, None, "{file} {set:?}");
            assert_eq!(off.drive.name, "tlc (changed)");
            assert_eq!(
                Experiment::parse("again.toml", &off.to_toml()).expect("valid"),
                off,
                "it is its own effective experiment"
            );
        }
        assert_eq!(with("trace.first = 9", &["trace.first=off"]).trace.first, None);
        assert_eq!(with("drive.preset = \"mlc-fl\"", &["drive.timing.worn=off"]).drive.timing.worn, None);
    }

    #[test]
    fn what_is_off_may_be_set_again_by_a_later_layer() {
        let set = vec!["drive.timing.suspend=30us".to_owned(), "errors.model=flares".into(), "faults.dead_die=1".into()];
        let file = "drive.timing.suspend = \"off\"\nerrors = \"off\"\nfaults = \"off\"";
        let overrides = crate::Overrides { set, ..Default::default() };
        let document = Document::parse("test.toml", file).expect("TOML");
        let on = Experiment::from_document(document, &overrides).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(on.drive.timing.suspend.map(|time| time.0), Some(30_000));
        assert_eq!((on.errors.model.as_str(), on.faults.dead_die), ("flares", Some(1)));
    }

    #[test]
    fn off_is_refused_where_a_setting_is_needed() {
        for needed in [
            "gc = \"off\"",
            "drive.timing = \"off\"",
            "drive.timing.erase = \"off\"",
            "gc.policy = \"off\"",
            "generate = \"off\"",
        ] {
            let refused = Experiment::parse("test.toml", needed).expect_err(needed).to_string();
            assert!(refused.contains("test.toml:1:"), "{refused}");
        }
    }
}
