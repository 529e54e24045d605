//! Tiny drives with all components, for tests of what one alone does not do.

use crate::config::Setup;
use crate::core::testing::tiny_array;
use crate::engine::Engine;
use crate::fit::build_scheme;
use device::contents::Tag;
use nand::MemoryArray;

/// A tiny drive.
pub(crate) type TinyDrive = Engine<Tag>;

/// The drive of this setup, nothing written.
pub(crate) fn tiny_drive(setup: &Setup) -> TinyDrive {
    let protection = build_scheme(&setup.drive, &setup.scheme).expect("a scheme for this drive");
    let memory: MemoryArray<Tag> = MemoryArray::new(setup.drive.geometry, true);
    let memory = if setup.power.mountable { memory.keeping_updates() } else { memory };
    TinyDrive::new(setup, protection, tiny_array(memory)).expect("settings in range")
}
