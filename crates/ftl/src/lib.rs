//! Flashkeep: ftl.
