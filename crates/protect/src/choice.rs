//! How a scheme is named and configured from outside.

use std::collections::BTreeMap;

/// A scheme by registry name with its options as written (`key = "value"`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeChoice {
    /// Registry name.
    pub name: String,
    /// Options by name; a scheme refuses those it does not know.
    pub options: BTreeMap<String, String>,
}

impl SchemeChoice {
    /// The scheme called `name` with its default options.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), options: BTreeMap::new() }
    }
}
