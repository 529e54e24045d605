//! Flashkeep: ssd.
