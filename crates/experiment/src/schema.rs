//! The schema of settings, derived from their structs: doc comments, kinds, names, bounds.
//!
//! Keywords beside those of JSON Schema: `formatMinimum` and `formatMaximum` are bounds of a quantity that is written as a text,
//! `x-valid` says in words what bounds cannot.

use crate::experiment::Experiment;
use common::Problem;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;
use std::sync::LazyLock;
use vocab::{Bytes, Nanojoules, Nanos};

static EXPERIMENT: LazyLock<Value> = LazyLock::new(of::<Experiment>);

/// The schema of a struct of settings, without references.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// The settings of an experiment.
pub(crate) fn experiment() -> Node<'static> {
    Node::new(&EXPERIMENT)
}

/// The schema of one setting, or of a table of them.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    /// As the field states it.
    stated: &'a Value,
    /// The same without an `Option` around it.
    inner: &'a Value,
    /// Whether it may be left out.
    pub is_optional: bool,
}

impl<'a> Node<'a> {
    pub fn new(stated: &'a Value) -> Self {
        let is_null = |schema: &Value| schema["type"] == "null";
        let choices = stated["anyOf"].as_array().filter(|choices| choices.iter().any(is_null));
        let inner = choices.and_then(|choices| choices.iter().find(|schema| !is_null(schema)));
        let is_optional = inner.is_some() || stated["type"].as_array().is_some_and(|types| types.iter().any(|one| one == "null"));
        Self { stated, inner: inner.unwrap_or(stated), is_optional }
    }

    /// Settings of a table, in their order.
    pub fn fields(self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        self.inner["properties"].as_object().into_iter().flatten().map(|(name, schema)| (name.as_str(), Node::new(schema)))
    }

    /// Whether it is a table of settings.
    pub fn is_table(self) -> bool {
        self.inner.get("properties").is_some()
    }

    /// The schema of each entry of a list.
    fn entries(self) -> Option<Node<'a>> {
        self.inner.get("items").filter(|items| items.is_object()).map(Node::new)
    }

    /// A keyword of the field, or of its type.
    fn keyword(self, name: &str) -> Option<&'a Value> {
        self.stated.get(name).or_else(|| self.inner.get(name))
    }

    fn words(self, name: &str) -> &'a str {
        self.keyword(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Kind of its text, or of each entry of a list of texts.
    fn format(self) -> &'a str {
        match self.words("format") {
            "" => self.entries().map_or("", |entry| entry.words("format")),
            format => format,
        }
    }

    /// The doc comment, in one line.
    pub fn meaning(self) -> String {
        one_line(self.words("description"))
    }

    /// Names that it may have, each with its meaning.
    pub fn names(self) -> Vec<(String, String)> {
        let name = |schema: &Value| {
            let meaning = schema["description"].as_str().unwrap_or_default();
            Some((schema["const"].as_str()?.to_owned(), one_line(meaning)))
        };
        self.inner["oneOf"].as_array().into_iter().flatten().filter_map(name).collect()
    }

    /// Kind of a value, for the reader.
    pub fn kind(self) -> &'static str {
        let types = &self.inner["type"];
        let of = types.as_array().and_then(|types| types.iter().find(|one| *one != "null")).unwrap_or(types);
        match (of.as_str().unwrap_or_default(), self.words("format")) {
            ("boolean", _) => "true or false",
            ("integer", _) => "whole number",
            ("number", _) => "number",
            ("array", _) => "list",
            ("object", _) => "table",
            ("string", "") => "text",
            ("string", "size") => "size, such as \"4KiB\"",
            ("string", "time") => "time, such as \"75us\"",
            ("string", "energy") => "energy, such as \"3uJ\"",
            ("string", "over-provisioning") => "share, such as 0.07, \"7%\" or \"28% of raw\"",
            ("string", "size-or-share") => "size, such as \"4KiB\", or share of the drive, such as \"85%\"",
            _ if !self.names().is_empty() => "name",
            _ => "as it means",
        }
    }

    /// Bounds of its values beside those of its type.
    pub fn bounds(self) -> Option<Bounds> {
        let bound = |names: [&str; 2]| {
            let stated = names.iter().find_map(|name| self.keyword(name))?;
            Amount::of(stated, self.format())
        };
        // Of its type alone are the greatest of `u8` and `u16`, and a least one without a greatest: 0 of unsigned numbers.
        let of_type = match self.format() {
            "uint8" => Some(Amount::Whole(u8::MAX.into())),
            "uint16" => Some(Amount::Whole(u16::MAX.into())),
            _ => None,
        };
        let most = bound(["maximum", "formatMaximum"]).map(|most| (most, true));
        let most = most.or_else(|| Some((bound(["exclusiveMaximum"; 2])?, false))).filter(|(most, _)| Some(*most) != of_type)?;
        let least = bound(["exclusiveMinimum"; 2]).map(|least| (least, false));
        let least = least.or_else(|| Some((bound(["minimum", "formatMinimum"])?, true)));
        Some(Bounds { least: least.unwrap_or((most.0.zero(), true)), most })
    }

    /// Bounds of the fields of each entry of a list.
    fn entry_bounds(self) -> Option<String> {
        let bounded = |(name, field): (&str, Node<'_>)| Some(format!("`{name}` {:#}", field.bounds()?));
        let bounds: Vec<String> = self.entries()?.fields().filter_map(bounded).collect();
        (!bounds.is_empty()).then(|| bounds.join(", "))
    }

    /// Bounds, and words where they do not say everything; empty where there are none.
    pub fn valid(self) -> String {
        let bounds = self.bounds().map(|bounds| format!("{bounds:#}")).or_else(|| self.entry_bounds());
        let words = Some(self.words("x-valid").to_owned()).filter(|words| !words.is_empty());
        bounds.into_iter().chain(words).collect::<Vec<_>>().join("; ")
    }

    /// Checks a value, and those below it, against their bounds; `path` leads to it.
    ///
    /// # Errors
    /// The first value beyond its bounds.
    pub fn check(self, value: &Value, path: &str) -> Result<(), Problem> {
        let below = |name: &dyn fmt::Display| if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        if let Some(list) = value.as_array() {
            // Bounds of a list of quantities are those of each.
            let entry = if self.bounds().is_some() { Some(self) } else { self.entries() };
            let Some(entry) = entry else { return Ok(()) };
            return list.iter().enumerate().try_for_each(|(index, value)| entry.check(value, &below(&index)));
        }
        if self.is_table() {
            let mut fields = self.fields().filter_map(|(name, field)| Some((name, field, value.get(name)?)));
            return fields.try_for_each(|(name, field, value)| field.check(value, &below(&name)));
        }
        match (self.bounds(), Amount::of(value, self.format())) {
            (Some(bounds), Some(found)) if !bounds.hold(found) => {
                Err(Problem::new(path, format!("found {found}, valid is {bounds}")))
            }
            _ => Ok(()),
        }
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// A number or a quantity, in its base unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Amount {
    Whole(u64),
    Number(f64),
    Time(Nanos),
    Size(Bytes),
    Energy(Nanojoules),
}

impl Amount {
    /// `None` where a value is no amount, such as `auto` instead of a size.
    fn of(value: &Value, format: &str) -> Option<Self> {
        match (value, format) {
            (Value::String(text), "time") => text.parse().ok().map(Amount::Time),
            (Value::String(text), "size") => text.parse().ok().map(Amount::Size),
            (Value::String(text), "energy") => text.parse().ok().map(Amount::Energy),
            (Value::Number(number), _) => number.as_u64().map(Amount::Whole).or_else(|| number.as_f64().map(Amount::Number)),
            _ => None,
        }
    }

    /// Whether it has a unit.
    fn is_quantity(self) -> bool {
        !matches!(self, Amount::Whole(_) | Amount::Number(_))
    }

    /// Nothing of the same kind.
    fn zero(self) -> Self {
        match self {
            Amount::Whole(_) => Amount::Whole(0),
            Amount::Number(_) => Amount::Number(0.0),
            Amount::Time(_) => Amount::Time(Nanos(0)),
            Amount::Size(_) => Amount::Size(Bytes(0)),
            Amount::Energy(_) => Amount::Energy(Nanojoules(0)),
        }
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Amount::Whole(a), Amount::Whole(b)) => a.partial_cmp(b),
            (Amount::Time(a), Amount::Time(b)) => a.partial_cmp(b),
            (Amount::Size(a), Amount::Size(b)) => a.partial_cmp(b),
            (Amount::Energy(a), Amount::Energy(b)) => a.partial_cmp(b),
            (Amount::Number(a), Amount::Number(b)) => a.partial_cmp(b),
            (Amount::Number(a), Amount::Whole(b)) => a.partial_cmp(&(*b as f64)),
            (Amount::Whole(a), Amount::Number(b)) => (*a as f64).partial_cmp(b),
            _ => None,
        }
    }
}

/// `{:#}` has the digits of whole numbers in groups.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = match self {
            Amount::Whole(number) => number.to_string(),
            Amount::Number(number) => number.to_string(),
            Amount::Time(time) => return time.fmt(f),
            Amount::Size(size) => return size.fmt(f),
            Amount::Energy(energy) => return energy.fmt(f),
        };
        let is_grouped = f.alternate() && number.len() > 4 && number.chars().all(|c| c.is_ascii_digit());
        f.write_str(&if is_grouped { number_in_groups(&number) } else { number })
    }
}

fn number_in_groups(digits: &str) -> String {
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| String::from_utf8_lossy(group)).collect::<Vec<_>>().join(",")
}

/// The least and the greatest amount, each with whether it is valid itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    least: (Amount, bool),
    most: (Amount, bool),
}

impl Bounds {
    fn hold(&self, found: Amount) -> bool {
        let ((least, with_least), (most, with_most)) = (self.least, self.most);
        (least < found || with_least && least == found) && (found < most || with_most && found == most)
    }
}

/// `{:#}` is how a table shows them.
impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |amount: Amount| if f.alternate() { format!("{amount:#}") } else { amount.to_string() };
        let (least, most) = (show(self.least.0), show(self.most.0));
        if f.alternate() && self.least == (self.least.0.zero(), true) && self.least.0.is_quantity() {
            return write!(f, "up to {most}");
        }
        match (self.least.1, self.most.1) {
            (true, true) => write!(f, "{least} to {most}"),
            (true, false) => write!(f, "{least} at least, below {most}"),
            (false, true) => write!(f, "above {least}, up to {most}"),
            (false, false) => write!(f, "above {least} and below {most}"),
        }
    }
}

/// Paths of all settings, and tables of settings, that are an `Option`.
pub(crate) fn optional() -> Vec<String> {
    fn below(prefix: &str, of: Node<'_>, found: &mut Vec<String>) {
        for (name, field) in of.fields() {
            let key = format!("{prefix}{name}");
            below(&format!("{key}."), field, found);
            if field.is_optional {
                found.push(key);
            }
        }
    }
    let mut found = Vec::new();
    below("", experiment(), &mut found);
    found
}

/// Whether a path is that of a table of settings.
pub(crate) fn is_table(path: &str) -> bool {
    let at = |of: Node<'static>, part: &str| of.fields().find(|(name, _)| *name == part).map(|(_, field)| field);
    path.split('.').try_fold(experiment(), at).is_some_and(Node::is_table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::{Setting, add, settings_page, settings_schema, settings_text};
    use serde_json::json;

    /// A toy.
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Toy {
        /// How much of the toy
        /// there is.
        #[schemars(range(min = 2, max = 100_000))]
        level: u32,
        /// Time of the wait.
        #[schemars(extend("formatMaximum" = Nanos(5_000), "x-valid" = "less than a day"))]
        wait: Option<Nanos>,
        /// A table of the toy.
        part: Part,
    }

    /// A part of the toy.
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Part {
        /// Shares of each wheel.
        #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1.0))]
        share: f64,
        /// Its colour.
        colour: Colour,
        /// Small.
        small: u8,
        /// Times of rest.
        #[schemars(extend("formatMaximum" = Nanos(9)))]
        rests: Vec<Nanos>,
        /// Its wheels.
        wheels: Vec<Wheel>,
    }

    /// A wheel.
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Wheel {
        /// Spokes.
        #[schemars(range(max = 64))]
        spokes: u32,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    #[allow(dead_code)]
    enum Colour {
        /// As grass is.
        DarkGreen,
        /// As the sky is.
        Blue,
    }

    fn settings() -> Vec<Setting> {
        let (mut found, schema) = (Vec::new(), of::<Toy>());
        add(&mut found, "", Node::new(&schema), &json!({ "level": 7, "part": { "share": 0.5, "colour": "blue" } }));
        found
    }

    /// Catches an output that knows settings by another way than their structs.
    #[test]
    fn a_toy_setting_is_in_every_output() {
        let settings = settings();
        let keys: Vec<&str> = settings.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["level", "wait", "part.share", "part.colour", "part.small", "part.rests", "part.wheels"]);
        let page = settings_page(&settings);
        assert!(page.contains("| `level` | How much of the toy there is. | whole number | `7` | 2 to 100,000 |\n"), "{page}");
        assert!(
            page.contains("| `wait` | What it waits for. | time, such as \"75us\" | `not set` | up to 5us; less than a day |\n"),
            "{page}"
        );
        assert!(page.contains("| `part.share` | Shares of each wheel. | number | `0.5` | above 0, up to 1 |\n"), "{page}");
        assert!(page.contains("| `part.colour` | Its colour. | name | `\"blue\"` | \"dark-green\", \"blue\" |\n"), "{page}");
        assert!(page.contains("| `part.small` | Small. | whole number | `not set` |  |\n"), "{page}");
        assert!(page.contains("| `part.rests` | Times of rest. | list | `not set` | up to 9ns |\n"), "{page}");
        assert!(page.contains("| `part.wheels` | Its wheels. | list | `not set` | `spokes` 0 to 64 |\n"), "{page}");
        assert!(settings_text(&settings).contains("level        How much of the toy there is. [7]\n"));
        let schema = settings_schema(&settings);
        assert_eq!(schema["properties"]["level"]["description"], "How much of the toy there is.");
        assert_eq!(schema["properties"]["part"]["properties"]["colour"]["enum"], json!(["dark-green", "blue"]));
    }

    #[test]
    fn a_value_beyond_its_bounds_is_refused_with_its_path_and_what_is_valid() {
        let schema = of::<Toy>();
        let refused = |toy: Value| Node::new(&schema).check(&toy, "").err().map(|one| (one.field, one.message));
        for valid in
            [json!({}), json!({ "level": 2, "wait": "5us", "part": { "share": 1.0, "small": 255 } }), json!({ "level": 100_000 })]
        {
            assert_eq!(refused(valid.clone()), None, "{valid}");
        }
        for (toy, field, message) in [
            (json!({ "level": 1 }), "level", "found 1, valid is 2 to 100000"),
            (json!({ "level": 100_001 }), "level", "found 100001, valid is 2 to 100000"),
            (json!({ "wait": "5001ns" }), "wait", "found 5001ns, valid is 0ns to 5us"),
            (json!({ "part": { "share": 0.0 } }), "part.share", "found 0, valid is above 0, up to 1"),
            (json!({ "part": { "rests": ["9ns", "10ns"] } }), "part.rests.1", "found 10ns, valid is 0ns to 9ns"),
            (json!({ "part": { "wheels": [{ "spokes": 65 }] } }), "part.wheels.0.spokes", "found 65, valid is 0 to 64"),
            (json!({ "part": { "share": 1.5 } }), "part.share", "found 1.5, valid is above 0, up to 1"),
        ] {
            assert_eq!(refused(toy), Some((field.to_owned(), message.to_owned())));
        }
    }
}
