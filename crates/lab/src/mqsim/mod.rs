//! Files of MQSim: a device (`ssdconfig.xml`) as a drive, flows (`workload.xml`) as a workload.
//!
//! What has a counterpart is taken over, what has none is listed in a note, what contradicts it is refused. `docs/mqsim.md` names
//! every field and what becomes of it.

mod device;
mod workload;

use crate::document::Foreign;
use crate::problem::Problem;
use roxmltree::{Document, Node, ParsingOptions};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub(crate) use device::drive;
pub(crate) use workload::{ABOUT, NAME, looks_like, read};

/// Begins what is said of parameters that MQSim itself does not know.
pub(crate) const UNKNOWN: &str = "MQSim does not know, and neither do we: ";

/// Whether a file begins like a device.
pub(crate) fn is_device(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    head.trim_start_matches('\u{feff}').trim_start().starts_with('<') && head.contains("<Execution_Parameter_Set")
}

/// Most elements of a file.
const NODES_MAX: u32 = 65_536;

/// The elements of a file.
fn parse<'a>(file: &Foreign, text: &'a str) -> Result<Document<'a>, Problem> {
    let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| {
        let row = error.pos().row.max(1) as usize;
        let start = text.split_inclusive('\n').take(row - 1).map(str::len).sum();
        Problem::new("", format!("found no XML: {error}")).at(file.place(&(start..start)))
    })
}

/// One parameter.
#[derive(Clone, Debug)]
struct Field<'a> {
    value: &'a str,
    span: Range<usize>,
}

/// The parameters of one set, each read by name; those that are not read have no counterpart.
struct Fields<'a> {
    file: &'a Foreign,
    set: &'static str,
    span: Range<usize>,
    fields: BTreeMap<&'a str, Field<'a>>,
    /// Those that MQSim itself does not know: forks have them.
    unknown: Vec<&'a str>,
    /// Those that the file lacks, with what MQSim has for them.
    defaults: RefCell<BTreeMap<&'static str, String>>,
    read: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Fields<'a> {
    /// The parameters below an element; `known` are all that MQSim knows there, `inner` the sets.
    fn of(file: &'a Foreign, set: &'static str, node: Node<'a, 'a>, known: &str, inner: &[&str]) -> Result<Self, Problem> {
        let (mut fields, mut unknown) = (BTreeMap::new(), Vec::new());
        for child in node.children().filter(Node::is_element) {
            let name = child.tag_name().name();
            if inner.contains(&name) {
                continue;
            }
            if !known.split_whitespace().any(|one| one == name) {
                unknown.push(name);
                continue;
            }
            let text = child.children().find(Node::is_text);
            let span = text.map_or(child.range(), |text| text.range());
            fields.insert(name, Field { value: child.text().unwrap_or_default().trim(), span });
        }
        Ok(Self {
            file,
            set,
            span: node.range().start..node.range().start + 1,
            fields,
            unknown,
            defaults: RefCell::default(),
            read: RefCell::default(),
        })
    }

    fn get(&self, name: &str) -> Option<&Field<'a>> {
        let (name, field) = self.fields.get_key_value(name)?;
        self.read.borrow_mut().insert(name);
        Some(field)
    }

    fn missing(&self, name: &str) -> Problem {
        Problem::new("", format!("{} lacks {name}", self.set)).at(self.file.place(&self.span))
    }

    fn bad(&self, name: &str, wanted: &str) -> Problem {
        let field = &self.fields[name];
        let found = crate::problem::printable(field.value);
        Problem::new(name, format!("found `{found}`, wanted {wanted}")).at(self.file.place(&field.span))
    }

    fn number(&self, name: &str, (least, most): (u64, u64)) -> Result<u64, Problem> {
        let field = self.get(name).ok_or_else(|| self.missing(name))?;
        let number = field.value.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.bad(name, &format!("a whole number from {least} to {most}")))
    }

    /// A number, or what MQSim has where the file says nothing.
    fn number_or(&self, name: &'static str, bounds: (u64, u64), default: u64) -> Result<u64, Problem> {
        if self.fields.contains_key(name) {
            return self.number(name, bounds);
        }
        self.defaults.borrow_mut().insert(name, default.to_string());
        Ok(default)
    }

    fn share_or(&self, name: &'static str, default: f64) -> Result<f64, Problem> {
        let Some(field) = self.get(name) else {
            self.defaults.borrow_mut().insert(name, default.to_string());
            return Ok(default);
        };
        let share = field.value.parse::<f64>().ok().filter(|share| (0.0..1.0).contains(share));
        share.ok_or_else(|| self.bad(name, "a share from 0 to less than 1"))
    }

    fn flag(&self, name: &str, default: bool) -> Result<bool, Problem> {
        match self.get(name).map(|field| field.value.to_ascii_lowercase()) {
            None => Ok(default),
            Some(text) if text == "true" => Ok(true),
            Some(text) if text == "false" => Ok(false),
            Some(_) => Err(self.bad(name, "true or false")),
        }
    }

    /// One of several words, in capitals, and what each stands for.
    fn choice<T: Copy>(&self, name: &str, known: &[(&str, T)]) -> Result<Option<T>, Problem> {
        let Some(field) = self.get(name) else { return Ok(None) };
        let word = field.value.to_ascii_uppercase();
        let found = known.iter().find(|(one, _)| *one == word).map(|(_, value)| Some(*value));
        found.ok_or_else(|| {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            let unknown = Problem::unknown(name, "value", field.value, &words);
            unknown.at(self.file.place(&field.span))
        })
    }

    /// What is to be said of parameters that MQSim does not know, and of those that the file lacks.
    fn notes(&self) -> Vec<String> {
        let defaults = self.defaults.borrow();
        let lacking: Vec<String> = defaults.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let unknown: Vec<String> = self.unknown.iter().map(|name| crate::problem::printable(name)).collect();
        let mut notes = Vec::new();
        if !unknown.is_empty() {
            notes.push(format!("{}: {UNKNOWN}{}", self.set, unknown.join(", ")));
        }
        if !lacking.is_empty() {
            notes.push(format!("{}: not in the file, as MQSim has it: {}", self.set, lacking.join(", ")));
        }
        notes
    }

    /// Parameters that were not read.
    fn unread(&self) -> Vec<String> {
        let read = self.read.borrow();
        self.fields.keys().filter(|name| !read.contains(**name)).map(ToString::to_string).collect()
    }
}

/// The element of this name below another, or the file's root.
fn element<'a>(file: &Foreign, parent: Node<'a, 'a>, name: &'static str) -> Result<Node<'a, 'a>, Problem> {
    let found = parent.children().find(|child| child.is_element() && child.has_tag_name(name));
    found.ok_or_else(|| {
        let at = parent.range().start;
        Problem::new("", format!("found no element {name}, which MQSim's file has here")).at(file.place(&(at..at + 1)))
    })
}
