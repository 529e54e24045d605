//! What other components call of block groups.

use crate::core::audit::{Audit, HeldSum};
use crate::core::flash::FlashPayload;
use crate::core::owner::Holds;
use crate::engine::Engine;
use crate::write::groups::GroupStats;
use device::slab::ImageId;
use ftl::UnitId;
use nand::ProgramOutcome;

impl<P: FlashPayload> Engine<P> {
    /// Whether the drive writes block groups.
    pub(crate) fn has_groups(&self) -> bool {
        self.writer.groups.is_in_use()
    }

    /// See [`crate::write::groups::Groups::settle_space`].
    pub(crate) fn settle_group_space(&mut self) {
        self.writer.groups.settle_space(&mut self.core);
    }

    /// See [`crate::write::groups::Groups::program_ended`].
    pub(crate) fn strip_program_done(&mut self, image: ImageId, key: (u32, u32), holds: Holds, outcome: ProgramOutcome) {
        self.writer.groups.program_ended(&mut self.core, &mut self.writer.moves, (image, key), holds, outcome);
        self.hand_on();
    }

    /// See [`crate::write::groups::Groups::group_erased`].
    pub(crate) fn group_erased(&mut self, unit: UnitId) {
        self.writer.groups.group_erased(&mut self.core, unit);
    }

    /// See [`crate::write::groups::Groups::settle_mounted`].
    pub(crate) fn settle_mounted_groups(&mut self) {
        self.writer.groups.settle_mounted(&mut self.core);
    }

    /// See [`crate::write::groups::Groups::stats`].
    pub(crate) fn group_stats(&self) -> GroupStats {
        self.writer.groups.stats(&self.core)
    }

    /// See [`crate::write::groups::Groups::audit`].
    pub(crate) fn audit_groups(&self) -> Result<Audit, String> {
        self.writer.groups.audit(&self.core)
    }

    /// See [`crate::write::groups::Groups::held_sums`].
    pub(crate) fn held_sums(&self) -> Vec<HeldSum> {
        self.writer.groups.held_sums(&self.core)
    }
}
