//! Reads a document with serde, so that the drive's own types say what is valid, and keeps
//! for each complaint the place and path of the setting.

use super::{Entry, Node, Origin, Value};
use common::{Problem, printable};
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};
use std::collections::btree_map;
use std::fmt;

/// A node as serde reads it.
pub(super) struct NodeDe<'a>(pub(super) &'a Node);

/// A complaint that gathers its place and path on the way up.
#[derive(Debug)]
pub(super) struct NodeError {
    message: String,
    unknown: Option<Box<Unknown>>,
    origin: Option<Origin>,
    /// Keys from the inside out.
    path: Vec<String>,
}

/// A name that is none of the known ones.
#[derive(Debug)]
struct Unknown {
    noun: &'static str,
    found: String,
    known: &'static [&'static str],
}

impl NodeError {
    fn new(message: String) -> Self {
        Self { message, unknown: None, origin: None, path: Vec::new() }
    }

    fn at(mut self, origin: &Origin) -> Self {
        self.origin.get_or_insert_with(|| origin.clone());
        self
    }

    fn inside(mut self, key: &str) -> Self {
        self.path.push(key.to_owned());
        self
    }

    /// The complaint as shown to the user; `root` is the place where none is nearer.
    pub(super) fn problem(mut self, root: &Origin) -> Problem {
        self.path.reverse();
        let path = printable(&self.path.join("."));
        let problem = match self.unknown {
            Some(unknown) => Problem::unknown(path, unknown.noun, &unknown.found, unknown.known),
            None => Problem::new(path, self.message),
        };
        problem.at(self.origin.unwrap_or_else(|| root.clone()).place())
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NodeError {}

/// Name of a serde type, in the words of a user.
fn wanted(expected: &dyn de::Expected) -> String {
    match expected.to_string().as_str() {
        "u8" => "a whole number from 0 to 255".into(),
        "u16" => "a whole number from 0 to 65535".into(),
        "u32" => "a whole number from 0 to 4294967295".into(),
        "u64" => "a whole number, not negative".into(),
        "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "a text".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        other if other.starts_with("struct ") => "a table".into(),
        other if other.starts_with("enum ") => "one of its names".into(),
        other => other.into(),
    }
}

impl de::Error for NodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!("found {found}, wanted {}", wanted(expected)))
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let unknown = Some(Box::new(Unknown { noun: "key", found: field.to_owned(), known: expected }));
        Self { unknown, ..Self::new("unknown key".into()) }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let unknown = Some(Box::new(Unknown { noun: "name", found: variant.to_owned(), known: expected }));
        Self { unknown, ..Self::new("unknown name".into()) }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("`{field}` is missing"))
    }
}

impl<'de> de::Deserializer<'de> for NodeDe<'de> {
    type Error = NodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
        let read = match &self.0.value {
            Value::Text(text) => visitor.visit_str(text),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Float(x) => visitor.visit_f64(*x),
            Value::Integer(n) => match (u64::try_from(*n), i64::try_from(*n)) {
                (Ok(n), _) => visitor.visit_u64(n),
                (_, Ok(n)) => visitor.visit_i64(n),
                _ => Err(NodeError::new("a whole number too large to read".into())),
            },
            Value::List(items) => visitor.visit_seq(Items { items: items.iter().enumerate() }),
            Value::Table(table) => visitor.visit_map(Entries { entries: table.iter(), value: None }),
        };
        read.map_err(|e| e.at(&self.0.origin))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, NodeError> {
        let origin = &self.0.origin;
        visitor.visit_newtype_struct(NodeDe(self.0)).map_err(|e| e.at(origin))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NodeError> {
        let read = match &self.0.value {
            Value::Text(name) => visitor.visit_enum(name.as_str().into_deserializer()),
            Value::Table(table) if table.len() == 1 => {
                let (name, entry) = table.iter().next().expect("one entry");
                visitor.visit_enum(Choice { name, entry })
            }
            other => Err(NodeError::new(format!("found {}, wanted one of {}", other.kind(), known.join(", ")))),
        };
        read.map_err(|e| e.at(&self.0.origin))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'a> {
    items: std::iter::Enumerate<std::slice::Iter<'a, Node>>,
}

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = NodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, NodeError> {
        let Some((index, item)) = self.items.next() else { return Ok(None) };
        seed.deserialize(NodeDe(item)).map(Some).map_err(|e| e.at(&item.origin).inside(&index.to_string()))
    }
}

struct Entries<'a> {
    entries: btree_map::Iter<'a, String, Entry>,
    value: Option<(&'a String, &'a Entry)>,
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = NodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, NodeError> {
        let Some((key, entry)) = self.entries.next() else { return Ok(None) };
        self.value = Some((key, entry));
        seed.deserialize(key.as_str().into_deserializer()).map(Some).map_err(|e: NodeError| e.at(&entry.key).inside(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, NodeError> {
        let (key, entry) = self.value.take().expect("serde asks for a key before its value");
        // A text that is no quantity is found out when serde has taken it for a text.
        seed.deserialize(NodeDe(&entry.node)).map_err(|e| e.at(&entry.node.origin).inside(key))
    }
}

/// A choice written as a table of one key: `{ mt-per-s = 333 }`.
struct Choice<'a> {
    name: &'a String,
    entry: &'a Entry,
}

impl<'de> de::EnumAccess<'de> for Choice<'de> {
    type Error = NodeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), NodeError> {
        let variant = seed
            .deserialize(self.name.as_str().into_deserializer())
            .map_err(|e: NodeError| e.at(&self.entry.key).inside(self.name))?;
        Ok((variant, self))
    }
}

impl<'de> de::VariantAccess<'de> for Choice<'de> {
    type Error = NodeError;

    fn unit_variant(self) -> Result<(), NodeError> {
        Err(NodeError::new("takes no value".into()).at(&self.entry.key).inside(self.name))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, NodeError> {
        seed.deserialize(NodeDe(&self.entry.node)).map_err(|e| e.at(&self.entry.node.origin).inside(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, NodeError> {
        de::Deserializer::deserialize_any(NodeDe(&self.entry.node), visitor).map_err(|e| e.inside(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, NodeError> {
        de::Deserializer::deserialize_any(NodeDe(&self.entry.node), visitor).map_err(|e| e.inside(self.name))
    }
}
