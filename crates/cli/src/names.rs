//! Names of the registries, for help.

/// The names of a list, for help.
pub(crate) fn names(list: &str) -> String {
    let entries = studies::list(list).map(|list| (list.entries)()).unwrap_or_default();
    entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ")
}
