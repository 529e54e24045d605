//! Every setting of an experiment with meaning, type, values, default: from the schema that its structs derive.

use crate::experiment::Experiment;
use crate::off;
use crate::schema::{self, Node};
use common::Problem;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Path in an experiment file, as `--set` takes it.
    pub key: String,
    /// Meaning of the setting.
    pub meaning: String,
    /// Kind of value: a number, a size, a time ..
    pub kind: &'static str,
    /// Names it may have, each with its meaning; empty where it is no name.
    pub names: Vec<(String, String)>,
    /// Bounds of its values; empty where none are stated beyond those of its kind.
    pub valid: String,
    /// Its value where nothing is said; `None`: it is not set.
    pub default: Option<Value>,
    /// Whether `off` unsets it.
    pub is_optional: bool,
}

/// The defaults, and where there is none a value that is not said.
fn defaults() -> Result<Value, Problem> {
    let mut experiment = Experiment::with(&crate::Overrides::default())?;
    experiment.scheme = BTreeMap::new();
    let mut value = json!(experiment);
    value["generate"] = json!(crate::GenerateSpec::default());
    value["drive"]["preset"] = json!("default");
    // Left out of an effective experiment where they are the default.
    value["seeds"] = json!(experiment.seeds);
    value["warmup"] = json!(experiment.warmup);
    value["alone"] = json!(experiment.alone);
    value["trace"]["flows"] = json!(experiment.trace.flows);
    value["drive"]["controller"] = json!(experiment.drive.controller);
    value["drive"]["slc"] = json!(experiment.drive.slc);
    value["gc"]["occupies_die"] = json!(experiment.gc.occupies_die);
    value["gc"]["streams"] = json!(experiment.gc.streams);
    value["generate"]["streams"] = json!(crate::GenerateSpec::default().streams);
    Ok(value)
}

/// Adds the settings of a table and those below it.
pub(crate) fn add(found: &mut Vec<Setting>, prefix: &str, of: Node<'_>, defaults: &Value) {
    for (name, field) in of.fields() {
        let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        let default = defaults.get(name);
        if field.is_table() {
            add(found, &key, field, default.unwrap_or(&Value::Null));
            continue;
        }
        found.push(Setting {
            meaning: field.meaning(),
            kind: field.kind(),
            names: field.names(),
            valid: field.valid(),
            default: default.filter(|value| !value.is_null()).cloned(),
            is_optional: off::is_optional(&key),
            key,
        });
    }
}

/// All settings, in the order of an experiment file.
///
/// # Errors
/// None that a user could cause: the default experiment is valid.
pub fn settings() -> Result<Vec<Setting>, Problem> {
    let mut found = Vec::new();
    add(&mut found, "", schema::experiment(), &defaults()?);
    Ok(found)
}

/// The settings at a path and below it.
///
/// # Errors
/// A path that no setting has; guesses what was meant.
pub fn settings_at(path: &str) -> Result<Vec<Setting>, Problem> {
    let all = settings()?;
    let below = format!("{path}.");
    let found: Vec<Setting> = all.iter().filter(|one| one.key == path || one.key.starts_with(&below)).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    if let Some((_, new)) = crate::renamed::PATHS.iter().find(|(old, _)| *old == path) {
        return Err(Problem::new("", format!("`{path}` is now `{new}`")));
    }
    let mut sections: Vec<&str> = all.iter().filter_map(|one| Some(one.key.split_once('.')?.0)).collect();
    sections.dedup();
    let section = path.split('.').next().unwrap_or_default();
    let mut problem = if sections.contains(&section) {
        let keys: Vec<&str> =
            all.iter().filter(|one| one.key.starts_with(&format!("{section}."))).map(|one| one.key.as_str()).collect();
        Problem::unknown("", "setting", path, &keys)
    } else {
        let keys: Vec<&str> = all.iter().map(|one| one.key.as_str()).chain(sections.iter().copied()).collect();
        let known = format!("sections {}; `flashkeep settings` lists all settings", sections.join(", "));
        Problem { known: vec![known], ..Problem::unknown("", "setting", path, &keys) }
    };
    if let Some(meant) = &problem.meant {
        problem.known.retain(|known| known != meant);
    }
    Err(problem)
}

impl Setting {
    /// The default as an experiment file has it.
    #[must_use]
    pub fn default_text(&self) -> String {
        self.default.as_ref().map_or("not set".into(), Value::to_string)
    }

    /// Names and bounds in one line, and `"off"` where that unsets it; empty where there are none.
    #[must_use]
    pub fn valid_text(&self) -> String {
        let names = self.names.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        let off = if self.is_optional { "\"off\"" } else { "" };
        [names, self.valid.clone(), off.into()].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

/// Settings for a terminal: all in a line each, one in full.
#[must_use]
pub fn settings_text(settings: &[Setting]) -> String {
    let width = settings.iter().map(|one| one.key.len()).max().unwrap_or(0);
    let [one] = settings else {
        return settings.iter().map(|one| format!("{:<width$}  {} [{}]\n", one.key, one.meaning, one.default_text())).collect();
    };
    let mut out = format!("{}: {}\n  is       {}\n  default  {}\n", one.key, one.meaning, one.kind, one.default_text());
    for (name, meaning) in &one.names {
        out.push_str(&format!("  \"{name}\": {meaning}\n"));
    }
    if !one.valid.is_empty() {
        out.push_str(&format!("  valid    {}\n", one.valid));
    }
    let value = one.default.as_ref().map_or("VALUE".into(), |value| value.as_str().map_or(value.to_string(), str::to_owned));
    out.push_str(&format!("  set it   --set {}={value}\n", one.key));
    if one.is_optional {
        out.push_str(&format!("  unset it --set {}=off, also where a drive or a file sets it\n", one.key));
    }
    out
}

/// The page `docs/settings.md`.
#[must_use]
pub fn settings_page(settings: &[Setting]) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let mut out = String::from(
        "# Settings\n\nEvery setting of an experiment file, which `--set KEY=VALUE` takes, too. Printed by\n\
         `flashkeep settings --markdown`; a test keeps this page so. Options of schemes and ECC policies are in\n\
         `flashkeep list schemes` and `flashkeep list ecc`.\n\n\
         Where `\"off\"` is valid, it unsets a setting that a drive or another file sets. So it does with a whole table:\n",
    );
    let tables: Vec<String> = off::tables().iter().map(|table| format!("`{table}`")).collect();
    out.push_str(&format!("{}.\n", tables.join(", ")));
    let mut section = None;
    for one in settings {
        let own = one.key.split_once('.').map_or("", |(section, _)| section);
        if section != Some(own) {
            let title = if own.is_empty() { "General" } else { own };
            out.push_str(&format!("\n## {title}\n\n| setting | means | is | default | valid |\n|---|---|---|---|---|\n"));
            section = Some(own);
        }
        out.push_str(&format!(
            "| `{}` | {} | {} | `{}` | {} |\n",
            one.key,
            cell(&one.meaning),
            one.kind,
            cell(&one.default_text()),
            cell(&one.valid_text())
        ));
    }
    out
}

/// A JSON schema (draft 2020-12) of experiment files, for editors.
#[must_use]
pub fn settings_schema(settings: &[Setting]) -> Value {
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Flashkeep experiment",
        "type": "object",
        "properties": {},
    });
    for one in settings {
        let mut place = &mut root;
        let mut parts: Vec<&str> = one.key.split('.').collect();
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            place = &mut place["properties"][part];
            place["type"] = json!("object");
        }
        let mut schema = json!({ "description": one.meaning });
        if let Some(default) = &one.default {
            schema["default"] = default.clone();
        }
        match one.kind {
            // Either a value or `off`: no one type has both.
            _ if one.is_optional => {}
            "true or false" => schema["type"] = json!("boolean"),
            "whole number" => schema["type"] = json!("integer"),
            "number" => schema["type"] = json!("number"),
            "text" => schema["type"] = json!("string"),
            "list" => schema["type"] = json!("array"),
            "table" => schema["type"] = json!("object"),
            "name" if one.default.as_ref().is_none_or(Value::is_string) && !one.names.is_empty() => {
                schema["enum"] = one.names.iter().map(|(name, _)| json!(name)).collect();
            }
            _ => {}
        }
        place["properties"][last] = schema;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths of all values that are no tables.
    fn leaves(value: &Value, prefix: &str, found: &mut Vec<String>) {
        match value.as_object() {
            Some(table) => table.iter().for_each(|(key, value)| leaves(value, &format!("{prefix}.{key}"), found)),
            None => found.push(prefix.trim_start_matches('.').to_owned()),
        }
    }

    #[test]
    fn every_key_of_the_effective_experiment_is_a_setting_or_below_one_and_has_a_meaning() {
        let all = settings().expect("the default is valid");
        let mut keys = Vec::new();
        leaves(&defaults().expect("valid"), "", &mut keys);
        for key in keys {
            let is = |one: &Setting| one.key == key || key.starts_with(&format!("{}.", one.key));
            assert!(all.iter().any(is), "{key} is no setting");
        }
        let mute: Vec<&str> = all.iter().filter(|one| one.meaning.is_empty()).map(|one| one.key.as_str()).collect();
        assert!(mute.is_empty(), "without a doc comment: {mute:?}");
    }

    #[test]
    fn the_page_of_settings_is_what_the_program_prints() {
        let page = settings_page(&settings().expect("valid"));
        let kept = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md")).unwrap_or_default();
        assert_eq!(page, kept, "docs/settings.md is made by `flashkeep settings --markdown > docs/settings.md`");
    }

    #[test]
    fn one_setting_says_all_of_it_and_a_slip_is_guessed() {
        let text = settings_text(&settings_at("buffer.kind").expect("it is one"));
        assert!(text.contains("\"plp\": DRAM with hold-up energy") && text.contains("--set buffer.kind="), "{text}");
        assert!(settings_at("gc").expect("a section").len() > 3);
        let off = |key: &str| settings_text(&settings_at(key).expect("it is one")).contains(&format!("--set {key}=off"));
        assert!(off("drive.timing.suspend") && !off("drive.timing.erase") && !off("buffer.kind"));
        assert_eq!(settings_at("gc.choises").expect_err("none").meant.as_deref(), Some("gc.choices"));
    }
}
