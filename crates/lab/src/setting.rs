//! Every setting of an experiment with meaning, type, values, default: from the doc comments of the structs themselves.
//!
//! The source files are part of the program, so that it can print the doc comment of each field. Bounds come from
//! `docs/spec/inputs.md`, which tests hold against the checks.

use crate::experiment::Experiment;
use crate::off;
use crate::problem::Problem;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const OWN: [&str; 5] = [
    include_str!("buffer.rs"),
    include_str!("experiment.rs"),
    include_str!("experiment/trace_spec.rs"),
    include_str!("generate.rs"),
    include_str!("flows/spec.rs"),
];
/// A link to `docs/spec/inputs.md`, so that packages of this crate have it, too.
const BOUNDS: &str = include_str!("../assets/inputs.txt");

/// Each crate hands out the source of its settings: no other one has a path into it.
fn sources() -> impl Iterator<Item = &'static str> {
    OWN.into_iter().chain(ssd::SETTINGS).chain([vocab::SETTINGS])
}

/// A setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Path in an experiment file, as `--set` takes it.
    pub key: String,
    /// What it means.
    pub meaning: String,
    /// What a value is: a number, a size, a time ..
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

/// The fields of a struct: name, type and doc comment.
fn fields(name: &str) -> Vec<(String, String, String)> {
    body(&format!("pub struct {name} {{"))
        .into_iter()
        .flat_map(|body| {
            items(body, |line| {
                let (field, kind) = line.strip_prefix("pub ")?.split_once(": ")?;
                Some((field.to_owned(), kind.trim_end_matches(',').to_owned()))
            })
        })
        .map(|((field, kind), docs)| (field, kind, docs))
        .collect()
}

/// The variants of an enum as experiments name them, with their doc comments.
fn variants(name: &str) -> Vec<(String, String)> {
    let Some(body) = body(&format!("pub enum {name} {{")) else { return Vec::new() };
    items(body, |line| {
        let variant = line.strip_suffix(',')?;
        variant.chars().all(char::is_alphanumeric).then(|| kebab(variant))
    })
}

fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(c.to_lowercase());
    }
    out
}

fn body(head: &str) -> Option<&'static str> {
    let rest = sources().find_map(|source| source.split_once(head))?.1;
    rest.split_once("\n}").map(|(body, _)| body)
}

/// Items of a body, each with the doc comment before it.
fn items<T>(body: &str, read: impl Fn(&str) -> Option<T>) -> Vec<(T, String)> {
    let (mut docs, mut found, mut is_setting) = (Vec::new(), Vec::new(), true);
    for line in body.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("///") {
            docs.push(doc.trim());
        } else if line == "#[serde(skip)]" {
            is_setting = false;
        } else if let Some(item) = read(line) {
            let docs = std::mem::take(&mut docs).join(" ");
            if std::mem::replace(&mut is_setting, true) {
                found.push((item, docs));
            }
        } else if !line.starts_with("#[") {
            docs.clear();
        }
    }
    found
}

/// What a value of a Rust type is to a reader.
fn kind(of: &str) -> &'static str {
    match of {
        "bool" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "PeCycles" => "whole number",
        "f64" => "number",
        "String" | "OptionText" => "text",
        "Bytes" | "Size" | "BufferSize" => "size, such as \"4KiB\"",
        "OverProvisioning" => "share, such as 0.07, \"7%\" or \"28% of raw\"",
        "AddressRange" => "size, such as \"4KiB\", or share of the drive, such as \"85%\"",
        "Nanos" => "time, such as \"75us\"",
        "Nanojoules" => "energy, such as \"3uJ\"",
        of if of.starts_with("Vec<") => "list",
        of if of.starts_with("BTreeMap<") || of == "Options" => "table",
        _ => "name",
    }
}

/// The bounds of a setting as `docs/spec/inputs.md` states them.
fn bounds(key: &str) -> String {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.trim_end_matches(" |").splitn(2, " | ");
        let (keys, valid) = (cells.next()?, cells.next()?);
        let names = |key: &str| keys.split('`').any(|name| name == key);
        (names(key) || key.rsplit_once('.').is_some_and(|(section, _)| names(&format!("{section}.*")))).then(|| valid.to_owned())
    };
    BOUNDS.lines().find_map(row).unwrap_or_default()
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

/// A type without the `Option` around it and the path in front of it; whether it had one.
fn inner(kind: &str) -> (&str, bool) {
    let optional = kind.strip_prefix("Option<").map(|inner| inner.trim_end_matches('>'));
    let inner = optional.unwrap_or(kind);
    (inner.rsplit("::").next().unwrap_or(inner), optional.is_some())
}

/// Paths of all settings, and tables of settings, that are an `Option`.
pub(crate) fn optional() -> Vec<String> {
    fn below(prefix: &str, of: &str, found: &mut Vec<String>) {
        for (field, kind, _) in fields(of) {
            let ((inner, is_optional), key) = (inner(&kind), format!("{prefix}{field}"));
            below(&format!("{key}."), inner, found);
            if is_optional {
                found.push(key);
            }
        }
    }
    let mut found = Vec::new();
    below("", "Experiment", &mut found);
    found
}

/// Whether a path is that of a table of settings.
pub(crate) fn is_table(path: &str) -> bool {
    let of = path.split('.').try_fold("Experiment".to_owned(), |of, part| {
        fields(&of).into_iter().find(|(field, ..)| field == part).map(|(_, kind, _)| inner(&kind).0.to_owned())
    });
    of.is_some_and(|of| !fields(&of).is_empty())
}

fn add(found: &mut Vec<Setting>, prefix: &str, of: &str, defaults: &Value) {
    for (field, kind_of, meaning) in fields(of) {
        let inner = inner(&kind_of).0;
        let key = if prefix.is_empty() { field.clone() } else { format!("{prefix}.{field}") };
        let default = defaults.get(&field);
        if !fields(inner).is_empty() {
            add(found, &key, inner, default.unwrap_or(&Value::Null));
            continue;
        }
        let default = default.filter(|value| !value.is_null()).cloned();
        let names = variants(inner);
        let kind = match kind(inner) {
            "name" if names.is_empty() => "as it means",
            kind => kind,
        };
        found.push(Setting { valid: bounds(&key), is_optional: off::is_optional(&key), meaning, kind, names, default, key });
    }
}

/// All settings, in the order of an experiment file.
///
/// # Errors
/// None that a user could cause: the default experiment is valid.
pub fn settings() -> Result<Vec<Setting>, Problem> {
    let mut found = Vec::new();
    add(&mut found, "", "Experiment", &defaults()?);
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
    let keys: Vec<&str> = all.iter().map(|one| one.key.as_str()).collect();
    let mut problem = Problem::unknown("", "setting", path, &keys);
    problem.known = vec!["`flashkeep settings` lists them".into()];
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
