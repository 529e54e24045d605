//! What waits for space: tried again, and given up where none will come.

use crate::core::jobs::Asker;
use crate::core::timer::Timer;
use crate::engine::Engine;
use device::contents::HostPayload;
use nand::FlashArray;

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// The drive fell idle: finish what only waits for company. What still waits for space then
    /// will never get it and fails. True if anything moved.
    pub(crate) fn unstick(&mut self) -> bool {
        if self.power.mounting.is_some() {
            return true;
        }
        if self.cover_open_rows() {
            return true;
        }
        for log in 0..self.core.map.logs() {
            self.start_collecting_if_short(log);
        }
        self.retry_stalled();
        if self.core.is_mountable() && self.writer.stripes.worn_above.is_some() && self.host.requests.outstanding == 0 {
            self.build_in_idle_time();
        }
        if !self.core.device.is_idle() || self.core.retry || self.core.is_pending(Timer::Answers) {
            return true;
        }
        if self.give_up_bare() {
            return true;
        }
        if self.give_up_hurt() {
            return true;
        }
        if self.has_waiting_for_space() {
            self.turn_read_only();
        }
        if let Some(command) = self.core.device.displaced.pop_front() {
            if !self.place_anywhere(&command) {
                self.program_over(&command, false);
            }
        } else if self.fail_waiting_in_zones() {
        } else if let Some(job) = self.host.stalled.pop_front() {
            if self.core.jobs[job].asker == Asker::Buffer {
                // Who waits for the room in the buffer that this was to make waits in vain, too;
                // otherwise the same pages would be sent to flash again, and so for ever.
                self.fail_buffer_waiter();
            }
            self.fail_job(job);
        } else if let Some(op) = self.writer.stripes.stalled.pop_front() {
            if self.is_eviction(op) {
                self.fail_buffer_waiter();
            }
            self.fail_waiting_for_commit(op);
            self.fail_stripe(op);
        } else if self.has_waiting_for_buffer() {
            self.fail_buffer_waiter();
        } else {
            return self.drop_parked();
        }
        true
    }

    /// Tries again what waits for space, in order.
    pub(crate) fn retry_stalled(&mut self) {
        if self.writer.stripes.held.has_waiting() {
            self.serve_waiting_for_room();
        }
        self.retry_displaced();
        self.place_rescued();
        self.want_astray();
        self.retry_zones();
        self.retry_rebuild();
        while let Some(op) = self.writer.stripes.stalled.pop_front() {
            if !self.program_stripe(op) && !self.give_way(op) {
                self.writer.stripes.stalled.push_front(op);
                break;
            }
        }
        while let Some(job) = self.host.stalled.pop_front() {
            self.drop_discarded(job);
            if !self.place(job) {
                self.host.stalled.push_front(job);
                break;
            }
        }
        self.retry_buffer();
        for target in std::mem::take(&mut self.reads.uncovered_repairs) {
            self.repair(target);
        }
    }
}
