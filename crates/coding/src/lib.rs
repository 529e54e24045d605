//! Flashkeep: coding.
