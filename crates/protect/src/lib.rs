//! Flashkeep: protect.
