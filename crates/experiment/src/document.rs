//! An experiment document: a tree of settings in which each setting knows where it was written.
//!
//! Layers (an experiment file, command line options, `--set`) are merged into one tree before
//! anything is interpreted, and every complaint still points at the place of the layer at fault.

mod node_de;

use common::{Place, Position, Problem, printable};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The word that unsets a setting.
pub(crate) const OFF: &str = "off";

/// A text that settings come from.
#[derive(Debug)]
struct Source {
    name: String,
    text: String,
    /// Whether positions inside the text mean something to the user.
    is_file: bool,
    /// The setting that an argument stands for; empty of a file.
    setting: String,
}

impl Source {
    fn file(name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), is_file: true, setting: String::new() })
    }
}

/// Where a setting was written.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    source: Arc<Source>,
    span: Range<usize>,
}

/// A file of another kind than TOML whose values become settings, each at its place there.
pub(crate) struct Foreign(Arc<Source>);

impl Foreign {
    /// The file called `name` in complaints.
    pub fn new(name: &str, text: &str) -> Self {
        Self(Source::file(name, text))
    }

    /// A place in it.
    pub fn place(&self, span: &Range<usize>) -> Place {
        Origin { source: self.0.clone(), span: span.clone() }.place()
    }
}

/// One setting or group of settings.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    value: Value,
    origin: Origin,
}

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Integer(i128),
    Float(f64),
    Bool(bool),
    List(Vec<Node>),
    Table(BTreeMap<String, Entry>),
}

#[derive(Clone, Debug)]
struct Entry {
    key: Origin,
    node: Node,
}

/// Settings that a later layer replaces as a whole instead of key by key: choices of one of
/// several forms, where keys of two forms would contradict each other.
const REPLACED_WHOLE: [&str; 2] = ["drive.timing.transfer", "generate.arrivals"];

/// A document of settings, merged from layers.
#[derive(Clone, Debug)]
pub struct Document {
    root: Node,
}

impl Origin {
    fn place(&self) -> Place {
        let source = self.source.name.clone();
        if !self.source.is_file {
            return Place { source, position: None, setting: self.source.setting.clone() };
        }
        let text = &self.source.text;
        let floor = |mut at: usize| {
            at = at.min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (start, end) = (floor(self.span.start), floor(self.span.end));
        let line_start = text[..start].rfind('\n').map_or(0, |n| n + 1);
        let line_end = text[line_start..].find('\n').map_or(text.len(), |n| line_start + n);
        let column = text[line_start..start].chars().count() + 1;
        let marked = text[start.min(line_end)..end.clamp(start.min(line_end), line_end)].chars().count();
        let shown: String = text[line_start..line_end].chars().take(160).map(plain).collect();
        let position = Position {
            line: text[..line_start].matches('\n').count() + 1,
            column: column.min(160),
            width: marked.clamp(1, 160),
            text: shown,
        };
        Place { source, position: Some(position), setting: String::new() }
    }
}

/// A character as it is, or a space for one that would disturb a terminal.
fn plain(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "a text",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

impl Document {
    /// An empty document.
    #[must_use]
    pub fn new() -> Self {
        let origin = Self::argument("defaults", "");
        Self { root: Node { value: Value::Table(BTreeMap::new()), origin } }
    }

    /// Reads TOML text; `name` is what complaints call it.
    ///
    /// # Errors
    /// Syntax, with its place.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        let source = Source::file(name, text);
        let table = DeTable::parse(text).map_err(|error| {
            let message = error.message().trim().replace('\n', "; ");
            let span = error.span().unwrap_or(0..0);
            Problem::new("", message).at(Origin { source: source.clone(), span }.place())
        })?;
        let span = table.span();
        let value = Value::Table(read_table(table.get_ref(), &source)?);
        Ok(Self { root: Node { value, origin: Origin { source, span } } })
    }

    /// Lays `over` upon this document: tables merge key by key, anything else is replaced.
    pub fn merge(&mut self, over: Document) {
        merge(&mut self.root, over.root, "");
    }

    /// The table at `path` as a document of its own; an empty one where nothing is written.
    ///
    /// # Errors
    /// Something else than a table.
    pub fn part(&self, path: &str) -> Result<Document, Problem> {
        match self.root.find(&path.split('.').collect::<Vec<_>>()) {
            None => Ok(Document::new()),
            Some(node @ Node { value: Value::Table(_), .. }) => Ok(Document { root: node.clone() }),
            Some(node) => {
                let message = format!("found {}, wanted a table", node.value.kind());
                Err(Problem::new(path, message).at(node.origin.place()))
            }
        }
    }

    /// Sets `path` to what stands at `from` of another document, keeping its place.
    ///
    /// # Errors
    /// A path through something that holds no keys.
    pub fn graft(&mut self, path: &str, other: &Document, from: &str) -> Result<(), Problem> {
        let Some(node) = other.root.find(&from.split('.').collect::<Vec<_>>()) else { return Ok(()) };
        self.remove_rivals(path);
        self.put(path, node.clone(), &node.origin)
    }

    /// Removes the form that `path` contradicts, where it lies in a choice of one form.
    fn remove_rivals(&mut self, path: &str) {
        if let Some(whole) = REPLACED_WHOLE.iter().find(|whole| path.strip_prefix(**whole).is_some_and(|r| r.starts_with('.'))) {
            self.remove(whole);
        }
    }

    /// Lays the table at `path` of this document upon the whole of `base`, and puts the result
    /// in its place.
    pub(crate) fn rebase(&mut self, path: &str, base: Document) -> Result<(), Problem> {
        let mut merged = base.root;
        let parts: Vec<&str> = path.split('.').collect();
        if let Some(found) = self.root.find(&parts) {
            merge(&mut merged, found.clone(), path);
        }
        let origin = merged.origin.clone();
        self.root.put(&parts, merged, &origin)
    }

    /// Sets the text at `path` where nothing is written.
    pub(crate) fn default_text(&mut self, path: &str, text: &str) -> Result<(), Problem> {
        match self.root.find(&path.split('.').collect::<Vec<_>>()) {
            Some(_) => Ok(()),
            None => self.set_text("defaults", path, text),
        }
    }

    /// Changes the text at `path`, keeping its place, where `change` has another.
    pub(crate) fn map_text(&mut self, path: &str, change: impl FnOnce(&str) -> Option<String>) {
        let node = self.root.find_mut(&path.split('.').collect::<Vec<_>>());
        if let Some(Node { value: Value::Text(text), .. }) = node
            && let Some(changed) = change(text)
        {
            *text = changed;
        }
    }

    /// Replaces the number at `path` by a text, keeping its place.
    pub(crate) fn map_number(&mut self, path: &str, change: impl FnOnce(f64) -> String) {
        let Some(node) = self.root.find_mut(&path.split('.').collect::<Vec<_>>()) else { return };
        match node.value {
            Value::Float(number) => node.value = Value::Text(change(number)),
            Value::Integer(number) => node.value = Value::Text(change(number as f64)),
            Value::Text(ref text) => {
                if let Ok(number) = text.parse() {
                    node.value = Value::Text(change(number));
                }
            }
            _ => {}
        }
    }

    /// Where the value at `path` is written.
    pub(crate) fn place_of(&self, path: &str) -> Place {
        let node = self.root.find(&path.split('.').collect::<Vec<_>>());
        node.unwrap_or(&self.root).origin.place()
    }

    /// Changes the texts of the list at `path`, keeping their places, where `change` has others.
    pub(crate) fn map_texts(&mut self, path: &str, change: impl Fn(&str) -> Option<String>) {
        let Some(Node { value: Value::List(list), .. }) = self.root.find_mut(&path.split('.').collect::<Vec<_>>()) else {
            return;
        };
        for node in list {
            if let Value::Text(text) = &mut node.value
                && let Some(changed) = change(text)
            {
                *text = changed;
            }
        }
    }

    /// Removes every key of the table at `path` but `kept`.
    pub(crate) fn keep_only(&mut self, path: &str, kept: &str) {
        if let Some(Node { value: Value::Table(table), .. }) = self.root.find_mut(&path.split('.').collect::<Vec<_>>()) {
            table.retain(|key, _| key == kept);
        }
    }

    /// Applies `path=value` as typed on the command line; `argument` is what complaints quote.
    /// The value is read as TOML, and as plain text where it is no TOML value.
    ///
    /// # Errors
    /// A text without `=`, an empty path, or a path through something that holds no keys.
    pub fn set(&mut self, argument: &str, assignment: &str) -> Result<(), Problem> {
        let setting = assignment.split('=').next().unwrap_or_default().trim();
        let origin = Self::argument(argument, setting);
        let source = origin.source.clone();
        let (path, text) = assignment.split_once('=').ok_or_else(|| {
            Problem::new("", "found no `=`; wanted a setting and its value, such as gc.policy=fifo").at(origin.place())
        })?;
        let value = match DeValue::parse(text.trim()) {
            Ok(value) => read_value(value.get_ref(), &(0..0), &source)?,
            Err(_) => Value::Text(text.trim().to_owned()),
        };
        let path = path.trim();
        self.remove_rivals(path);
        self.put(path, Node { value, origin: origin.clone() }, &origin)
    }

    /// Sets `path` to a value in TOML that stands for what is written at a place of another file.
    ///
    /// # Errors
    /// A path through something that holds no keys.
    pub(crate) fn set_from(&mut self, file: &Foreign, span: &Range<usize>, path: &str, toml: &str) -> Result<(), Problem> {
        let origin = Origin { source: file.0.clone(), span: span.clone() };
        let value = DeValue::parse(toml).expect("it was written here");
        let mut node = Node { value: read_value(value.get_ref(), span, &file.0)?, origin: origin.clone() };
        node.move_to(&origin);
        self.put(path, node, &origin)
    }

    /// Sets `path` to a text, or to a list of texts, typed as a command line option.
    ///
    /// # Errors
    /// A path through something that holds no keys.
    pub fn set_text(&mut self, argument: &str, path: &str, text: &str) -> Result<(), Problem> {
        let origin = Self::argument(argument, path);
        self.put(path, Node { value: Value::Text(text.into()), origin: origin.clone() }, &origin)
    }

    /// Sets `path` to a list of texts typed as one command line option, separated by commas.
    ///
    /// # Errors
    /// A path through something that holds no keys.
    pub fn set_list(&mut self, argument: &str, path: &str, texts: &str) -> Result<(), Problem> {
        let origin = Self::argument(argument, path);
        let texts = texts.split(',').map(str::trim).filter(|t| !t.is_empty());
        let node = |text: &str| Node { value: Value::Text(text.into()), origin: origin.clone() };
        let list = Value::List(texts.map(node).collect());
        self.put(path, Node { value: list, origin: origin.clone() }, &origin)
    }

    /// Adds a text, typed as a command line option, to the list at `path`.
    ///
    /// # Errors
    /// A path through something that holds no keys.
    pub(crate) fn add_text(&mut self, argument: &str, path: &str, text: &str) -> Result<(), Problem> {
        let origin = Self::argument(argument, path);
        let node = Node { value: Value::Text(text.into()), origin: origin.clone() };
        match self.root.find_mut(&path.split('.').collect::<Vec<_>>()) {
            Some(Node { value: Value::List(list), .. }) => {
                list.push(node);
                Ok(())
            }
            _ => self.put(path, Node { value: Value::List(vec![node]), origin: origin.clone() }, &origin),
        }
    }

    /// A problem with what was typed as `argument`.
    pub(crate) fn typed(argument: &str, problem: Problem) -> Problem {
        problem.at(Self::argument(argument, "").place())
    }

    fn argument(argument: &str, setting: &str) -> Origin {
        let source = Source { name: printable(argument), text: String::new(), is_file: false, setting: setting.to_owned() };
        Origin { source: Arc::new(source), span: 0..0 }
    }

    fn put(&mut self, path: &str, node: Node, origin: &Origin) -> Result<(), Problem> {
        let parts: Vec<&str> = path.split('.').map(str::trim).collect();
        if parts.iter().any(|p| p.is_empty()) || parts.len() > 16 {
            let message = format!("`{}` is no path of a setting, such as gc.policy", printable(path));
            return Err(Problem::new("", message).at(origin.place()));
        }
        self.root.put(&parts, node, origin)
    }

    /// Removes a setting, if it is there.
    pub fn remove(&mut self, path: &str) {
        let (parents, last) = path.rsplit_once('.').unwrap_or(("", path));
        let parts: Vec<&str> = parents.split('.').filter(|p| !p.is_empty()).collect();
        if let Some(Node { value: Value::Table(table), .. }) = self.root.find_mut(&parts) {
            table.remove(last);
        }
    }

    /// Whether it has no key.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.root.value, Value::Table(table) if table.is_empty())
    }

    /// Whether anything is written at `path`.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.root.find(&path.split('.').collect::<Vec<_>>()).is_some()
    }

    /// The text at `path`, with the place to complain about; `None` where nothing is written.
    ///
    /// # Errors
    /// Something else than a text.
    pub fn text(&self, path: &str) -> Result<Option<&str>, Problem> {
        match self.root.find(&path.split('.').collect::<Vec<_>>()) {
            None => Ok(None),
            Some(Node { value: Value::Text(text), .. }) => Ok(Some(text)),
            Some(node) => {
                let message = format!("found {}, wanted a text", node.value.kind());
                Err(Problem::new(path, message).at(node.origin.place()))
            }
        }
    }

    /// Gives a problem the place of its field, or of the nearest enclosing setting written.
    #[must_use]
    pub fn locate(&self, problem: Problem) -> Problem {
        let mut parts: Vec<&str> = problem.field.split('.').collect();
        if let Some((last, parents)) = parts.split_last()
            && problem.message.contains(&format!("`{last}`"))
            && let Some(Node { value: Value::Table(table), .. }) = self.root.find(parents)
            && let Some(entry) = table.get(*last)
        {
            // The name at fault is the key itself.
            let place = entry.key.place();
            return problem.at(place);
        }
        while !parts.is_empty() && problem.place.is_none() {
            if let Some(node) = self.root.find(&parts) {
                let place = node.origin.place();
                return problem.at(place);
            }
            parts.pop();
        }
        problem
    }

    /// Reads the whole document as a `T`.
    ///
    /// # Errors
    /// The first setting that does not fit, with its place and path.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        T::deserialize(node_de::NodeDe(&self.root)).map_err(|e| e.problem(&self.root.origin))
    }
}

impl Default for Document {
    fn default() -> Self {
        Self::new()
    }
}

impl Node {
    fn find(&self, parts: &[&str]) -> Option<&Node> {
        let Some((first, rest)) = parts.split_first() else { return Some(self) };
        match &self.value {
            Value::Table(table) => table.get(*first)?.node.find(rest),
            Value::List(list) => list.get(first.parse::<usize>().ok()?)?.find(rest),
            _ => None,
        }
    }

    fn find_mut(&mut self, parts: &[&str]) -> Option<&mut Node> {
        let Some((first, rest)) = parts.split_first() else { return Some(self) };
        match &mut self.value {
            Value::Table(table) => table.get_mut(*first)?.node.find_mut(rest),
            Value::List(list) => list.get_mut(first.parse::<usize>().ok()?)?.find_mut(rest),
            _ => None,
        }
    }

    /// Gives it and all that is in it one place.
    fn move_to(&mut self, origin: &Origin) {
        self.origin = origin.clone();
        match &mut self.value {
            Value::Table(table) => table.values_mut().for_each(|entry| {
                entry.key = origin.clone();
                entry.node.move_to(origin);
            }),
            Value::List(list) => list.iter_mut().for_each(|node| node.move_to(origin)),
            _ => {}
        }
    }

    /// Puts `node` at the path, making tables on the way.
    fn put(&mut self, parts: &[&str], node: Node, origin: &Origin) -> Result<(), Problem> {
        let Some((first, rest)) = parts.split_first() else {
            *self = node;
            return Ok(());
        };
        let fail = |message: String| Err(Problem::new(*first, message).at(origin.place()));
        if matches!(&self.value, Value::Text(text) if text == OFF) {
            // A layer sets a part of what another one before it had unset.
            self.value = Value::Table(BTreeMap::new());
        }
        match &mut self.value {
            Value::Table(table) => {
                let empty = || Node { value: Value::Table(BTreeMap::new()), origin: origin.clone() };
                let entry = || Entry { key: origin.clone(), node: empty() };
                let entry = table.entry((*first).to_owned()).or_insert_with(entry);
                if rest.is_empty() {
                    entry.key = origin.clone();
                }
                entry.node.put(rest, node, origin)
            }
            Value::List(list) => {
                let count = list.len();
                match first.parse::<usize>().ok().and_then(|index| list.get_mut(index)) {
                    Some(item) => item.put(rest, node, origin),
                    None => fail(format!("no such item: the list has {count}, counted from 0")),
                }
            }
            other => fail(format!("no such setting: {} has no settings inside", other.kind())),
        }
    }
}

fn merge(base: &mut Node, over: Node, path: &str) {
    let whole = REPLACED_WHOLE.contains(&path);
    match (&mut base.value, over.value) {
        (Value::Table(into), Value::Table(from)) if !whole => {
            for (key, entry) in from {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match into.get_mut(&key) {
                    Some(existing) => {
                        existing.key = entry.key;
                        merge(&mut existing.node, entry.node, &inner);
                    }
                    None => {
                        into.insert(key, entry);
                    }
                }
            }
            base.origin = over.origin;
        }
        (_, value) => *base = Node { value, origin: over.origin },
    }
}

fn read_table(table: &DeTable<'_>, source: &Arc<Source>) -> Result<BTreeMap<String, Entry>, Problem> {
    let mut entries = BTreeMap::new();
    for (key, value) in table {
        let node = read_node(value, source)?;
        let origin = Origin { source: source.clone(), span: key.span() };
        entries.insert(key.get_ref().to_string(), Entry { key: origin, node });
    }
    Ok(entries)
}

fn read_node(value: &Spanned<DeValue<'_>>, source: &Arc<Source>) -> Result<Node, Problem> {
    let span = value.span();
    let read = read_value(value.get_ref(), &span, source)?;
    Ok(Node { value: read, origin: Origin { source: source.clone(), span } })
}

fn read_value(value: &DeValue<'_>, span: &Range<usize>, source: &Arc<Source>) -> Result<Value, Problem> {
    let fail = |message: &str| {
        let origin = Origin { source: source.clone(), span: span.clone() };
        Err(Problem::new("", message).at(origin.place()))
    };
    match value {
        DeValue::String(text) => Ok(Value::Text(text.to_string())),
        DeValue::Boolean(b) => Ok(Value::Bool(*b)),
        DeValue::Integer(n) => match i128::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Ok(Value::Integer(n)),
            Err(_) => fail("a whole number too large to read"),
        },
        DeValue::Float(x) => match x.as_str().parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(Value::Float(x)),
            _ => fail("found no finite number"),
        },
        DeValue::Datetime(_) => fail("found a date; no setting is one"),
        DeValue::Array(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(|item| read_node(item, source)).collect();
            items.map(Value::List)
        }
        DeValue::Table(table) => read_table(table, source).map(Value::Table),
    }
}

#[cfg(test)]
mod tests;
