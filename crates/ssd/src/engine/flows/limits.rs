//! Limits on reads and age, refresh and scrub: care says which unit is due, the flow has it collected.

use crate::care::{HostUse, limits};
use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use ftl::UnitState;
use vocab::{Cause, DieId};

impl<P: FlashPayload> Engine<P> {
    /// Whether the host uses the drive.
    pub(crate) fn host_is(&self) -> HostUse {
        if self.host.requests.outstanding > 0 || self.core.more_arrives() { HostUse::Busy } else { HostUse::Away }
    }

    /// Recycles what is due, in every log.
    pub(crate) fn recycle_due(&mut self) {
        if self.host_is() == HostUse::Away || limits::end_if_over(&mut self.core, &self.writer) {
            return;
        }
        for log in 0..self.core.map.logs() {
            self.recycle(log);
        }
        limits::set_timer(&mut self.core);
    }

    /// The die has nothing to do, and blocks have limits.
    pub(crate) fn recycle_when_idle(&mut self, die: DieId) {
        if limits::may_recycle_when_idle(&self.core, die) && self.host_is() == HostUse::Busy && self.writer.limits().is_some() {
            self.core.map.logs_of_die(die).for_each(|log| self.recycle(log));
        }
    }

    /// Gives the log's collector the unit of the next block that is due, unless one waits for it already.
    fn recycle(&mut self, log: usize) {
        let Some((block, reason)) = self.care.next_due(&mut self.core, &self.writer, log) else { return };
        let unit = self.core.map.unit_of_block(block);
        self.want(unit, Cause::Refresh);
        if self.care.is_wanted(&self.core, log) || self.core.map.unit(unit).state == UnitState::Condemned {
            limits::count(&mut self.core.limits.recycled, reason);
        }
    }

    /// Has what is due for a refresh collected or recharged, while the host uses the drive, and sets the timer.
    pub(crate) fn refresh_due(&mut self) {
        if self.host_is() == HostUse::Away {
            return;
        }
        self.care.refresh.stirred = false;
        for log in 0..self.care.refresh.logs() {
            while let Some(unit) = self.care.unit_to_refresh(&self.core, log) {
                if let Some(unit) = self.care.refresh_unit(&mut self.core, &self.writer, log, unit) {
                    self.want(unit, Cause::Refresh);
                }
            }
        }
        self.care.set_refresh_timer(&mut self.core);
    }
}
