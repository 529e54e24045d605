//! Flashkeep: nand.
