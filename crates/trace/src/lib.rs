//! Flashkeep: trace.
