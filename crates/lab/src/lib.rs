//! Flashkeep: lab.
