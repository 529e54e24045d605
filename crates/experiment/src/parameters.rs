//! Parameters in a file of another program, each read by name and with its place: what is not read has no counterpart here.

use crate::document::{Document, Foreign};
use common::Problem;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Stands in what is said of parameters that the program itself does not know.
pub(crate) const UNKNOWN: &str = " does not know, and neither do we: ";

/// A whole number. Programs that compute with fractions write one as `1200.0`; a fraction that is not zero is not cut off.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let (digits, zeros) = text.split_once('.').unwrap_or((text, "0"));
    (!zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0')).then_some(())?;
    digits.parse().ok()
}

/// One parameter.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    pub value: Cow<'a, str>,
    pub span: Range<usize>,
}

/// The parameters of one set, each read by name; those that are not read have no counterpart.
pub(crate) struct Fields<'a> {
    file: &'a Foreign,
    program: &'static str,
    set: &'static str,
    pub span: Range<usize>,
    pub fields: BTreeMap<&'a str, Field<'a>>,
    /// Those that the program itself does not know: forks have them.
    unknown: Vec<&'a str>,
    /// Those that the file lacks, with what the program has for them.
    defaults: RefCell<BTreeMap<&'static str, String>>,
    read: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Fields<'a> {
    /// The parameters of a set of a program; `known` are all that it knows there.
    pub fn new(
        file: &'a Foreign,
        program: &'static str,
        set: &'static str,
        span: Range<usize>,
        found: impl IntoIterator<Item = (&'a str, Field<'a>)>,
        known: &str,
    ) -> Self {
        let (mut fields, mut unknown) = (BTreeMap::new(), Vec::new());
        for (name, field) in found {
            if known.split_whitespace().any(|one| one == name) {
                fields.insert(name, field);
            } else {
                unknown.push(name);
            }
        }
        let (defaults, read) = (RefCell::default(), RefCell::default());
        Self { file, program, set, span, fields, unknown, defaults, read }
    }

    pub fn get(&self, name: &str) -> Option<&Field<'a>> {
        let (name, field) = self.fields.get_key_value(name)?;
        self.read.borrow_mut().insert(name);
        Some(field)
    }

    pub fn missing(&self, name: &str) -> Problem {
        Problem::new("", format!("{} lacks {name}", self.set)).at(self.file.place(&self.span))
    }

    /// A complaint about a parameter, or about what the program has for it.
    pub fn bad(&self, name: &str, wanted: &str) -> Problem {
        let (found, span) = match self.fields.get(name) {
            Some(field) => (common::printable(&field.value), &field.span),
            None => (self.defaults.borrow().get(name).cloned().unwrap_or_default(), &self.span),
        };
        Problem::new(name, format!("found `{found}`, wanted {wanted}")).at(self.file.place(span))
    }

    pub fn number(&self, name: &str, (least, most): (u64, u64)) -> Result<u64, Problem> {
        let field = self.get(name).ok_or_else(|| self.missing(name))?;
        let number = whole(&field.value).filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.bad(name, &format!("a whole number from {least} to {most}")))
    }

    /// A number, or what the program has where the file says nothing.
    pub fn number_or(&self, name: &'static str, bounds: (u64, u64), default: u64) -> Result<u64, Problem> {
        if self.fields.contains_key(name) {
            return self.number(name, bounds);
        }
        self.defaults.borrow_mut().insert(name, default.to_string());
        Ok(default)
    }

    pub fn share_or(&self, name: &'static str, default: f64) -> Result<f64, Problem> {
        let Some(field) = self.get(name) else {
            self.defaults.borrow_mut().insert(name, default.to_string());
            return Ok(default);
        };
        let share = field.value.parse::<f64>().ok().filter(|share| (0.0..1.0).contains(share));
        share.ok_or_else(|| self.bad(name, "a share from 0 to less than 1"))
    }

    pub fn flag(&self, name: &str, default: bool) -> Result<bool, Problem> {
        match self.get(name).map(|field| field.value.to_ascii_lowercase()) {
            None => Ok(default),
            Some(text) if text == "true" => Ok(true),
            Some(text) if text == "false" => Ok(false),
            Some(_) => Err(self.bad(name, "true or false")),
        }
    }

    /// One of several words, in capitals, and what each stands for.
    pub fn choice<T: Copy>(&self, name: &str, known: &[(&str, T)]) -> Result<Option<T>, Problem> {
        let Some(field) = self.get(name) else { return Ok(None) };
        let word = field.value.to_ascii_uppercase();
        let found = known.iter().find(|(one, _)| *one == word).map(|(_, value)| Some(*value));
        found.ok_or_else(|| {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            let unknown = Problem::unknown(name, "value", &field.value, &words);
            unknown.at(self.file.place(&field.span))
        })
    }

    /// Notes on parameters that the program does not know, and on those that the file lacks.
    pub fn notes(&self) -> Vec<String> {
        let defaults = self.defaults.borrow();
        let lacking: Vec<String> = defaults.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let unknown: Vec<String> = self.unknown.iter().map(|name| common::printable(name)).collect();
        let mut notes = Vec::new();
        if !unknown.is_empty() {
            notes.push(format!("{}: {}{UNKNOWN}{}", self.set, self.program, unknown.join(", ")));
        }
        if !lacking.is_empty() {
            notes.push(format!("{}: not in the file, as {} has it: {}", self.set, self.program, lacking.join(", ")));
        }
        notes
    }

    /// Parameters that were not read.
    pub fn unread(&self) -> Vec<String> {
        let read = self.read.borrow();
        self.fields.keys().filter(|name| !read.contains(**name)).map(ToString::to_string).collect()
    }
}

/// A drive that is being written down: each setting has the place of the parameter it comes from.
pub(crate) struct Writing<'a> {
    pub file: &'a Foreign,
    pub document: Document,
}

impl Writing<'_> {
    pub fn set(&mut self, from: &Fields<'_>, name: &str, path: &str, toml: &str) -> Result<(), Problem> {
        let span = from.fields.get(name).map_or_else(|| from.span.clone(), |field| field.span.clone());
        self.document.set_from(self.file, &span, path, toml)
    }
}
