//! Flows of reads: reads around busy dies, reads of code zones, and what a dead die ends.

use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::engine::reads::reads;
use crate::host::read::PageRead;
use crate::read::Below;
use device::slab::JobId;
use ftl::LogKind;
use vocab::{DieId, Lpn};

impl<P: FlashPayload> Engine<P> {
    /// Reads for the host under a scheme of stripes or rows: pages of busy dies with the rest of their
    /// stripe or row as alternatives, all others as ever, in the order as ever.
    pub(crate) fn read_around(&mut self, job: JobId, first: u32, end: u32) {
        let mut wanted = Vec::new();
        let mut lpn = first;
        while lpn < end {
            let found = Below { writer: &self.writer, host: &self.host }.alternatives_of(&self.core, Lpn(lpn), end - lpn);
            lpn += found.as_ref().map_or(1, |(_, count)| *count);
            wanted.extend(found.map(|(wanted, _)| wanted));
        }
        let around = reads!(self.read_around(job, wanted.into_iter()));
        let mut lpn = first;
        while lpn < end {
            lpn += if around.binary_search(&lpn).is_ok() { 1 } else { self.read_from(job, Lpn(lpn), end - lpn) };
        }
        self.reads.lazy.queue_alternatives(&mut self.core);
    }

    /// Reads the page and those after it that the same flash read gives; how many that were.
    fn read_from(&mut self, job: JobId, lpn: Lpn, most: u32) -> u32 {
        match self.host.read_from(&mut self.core, &self.writer, job, lpn, most) {
            PageRead::Begun(count) => count,
            PageRead::Lost(target) => {
                self.repair(target);
                1
            }
        }
    }

    /// The die stops answering, permanently. Its data stay in the map; reads solve for them.
    pub(crate) fn die_died(&mut self, die: DieId) {
        self.core.device.losses.die_died(die);
        self.leave_die_out(die);
        self.begin_rebuild();
    }

    /// A dead die takes part in nothing new.
    pub(crate) fn leave_die_out(&mut self, die: DieId) {
        if self.core.map.kind() == LogKind::Group {
            self.drop_die_from_rows(die);
        } else {
            for log in self.core.map.logs_of_die(die) {
                self.writer.send_moved(&mut self.core, log);
                self.care.collectors[log].halted = true;
            }
            self.core.map.retire_die(die);
            self.core.map.logs_of_die(die).for_each(|log| self.fail_waiting_of(log));
        }
    }
}
