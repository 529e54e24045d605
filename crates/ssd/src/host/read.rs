//! Reads of the host: served from the write buffer, from pages that are still being put together, or from flash;
//! and checked against what the host was told before.

use crate::core::effects::Parcel;
use crate::core::flash::FlashPayload;
use crate::core::owner::Owner;
use crate::core::target::{Floor, Target};
use crate::core::{Command, Core};
use crate::host::Host;
use crate::rules::SafetyRule;
use crate::write::Writer;
use device::facts::Fact;
use device::slab::{CommandId, JobId};
use device::waits::Wait;
use ftl::Place;
use nand::{Arrived, FlashArray, ReadOutcome};
use std::ops::Range;
use vocab::{Lpn, Slot};

/// Uses of the pages that host reads return, beside checks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observation<P> {
    /// Whether the version that a read finds is the page's only one from then on. After a power cut a page may have
    /// one of several versions.
    pub settles_versions: bool,
    /// Pages that were read, while someone collects them; `None` inside stands for an unmapped page.
    pub pages: Option<Vec<(Lpn, Option<P>)>>,
}

/// Outcome of reading a page for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum PageRead {
    /// The page, and those after it that the same flash read gives: this many were read, or their read was begun.
    Begun(u32),
    /// The page is lost where the map has it: this is to be solved for.
    Lost(Target),
}

impl<P: FlashPayload> Host<P> {
    /// Reads pages, and takes them off the range, up to one that is lost: what is to be solved for.
    #[inline]
    pub fn read_up_to_lost(
        &mut self,
        core: &mut Core<P>,
        writer: &Writer<P>,
        job: JobId,
        pages: &mut Range<u32>,
    ) -> Option<Target> {
        while pages.start < pages.end {
            match self.read_from(core, writer, job, Lpn(pages.start), pages.len() as u32) {
                PageRead::Begun(count) => pages.start += count,
                PageRead::Lost(target) => {
                    pages.start += 1;
                    return Some(target);
                }
            }
        }
        None
    }

    /// Reads the page and those after it that the same flash read gives, at most this many.
    #[inline]
    pub fn read_from(&mut self, core: &mut Core<P>, writer: &Writer<P>, job: JobId, lpn: Lpn, most: u32) -> PageRead {
        let floor = if self.has_payload { self.oracle.floor(lpn) } else { Floor::default() };
        if let Some(payload) = self.buffer.get(lpn) {
            let payload = payload.clone();
            core.device.folds.buffer_hits += 1;
            self.check_read(core, lpn, floor, Some(&payload));
            return PageRead::Begun(1);
        }
        let place = if core.is_hidden(lpn) { Place::Unmapped } else { core.map.lookup(lpn) };
        let slot = match place {
            Place::At(slot) => slot,
            Place::Unmapped => {
                self.check_read(core, lpn, floor, None);
                return PageRead::Begun(1);
            }
            Place::Missing => {
                core.jobs[job].remaining += 1;
                return PageRead::Lost(Target::HostRead { job, lpn, floor, failed: None });
            }
        };
        let (ppn, index) = core.device.grid.page_of(slot);
        if let Some(image) = writer.unsent(core, ppn) {
            let payload = core.device.images.contents(image).1[index as usize].clone();
            self.check_read(core, lpn, floor, Some(&payload));
            return PageRead::Begun(1);
        }
        if core.device.is_gathered(ppn) && core.device.array.answers(ppn) {
            // The controller has it in the memory where its unit is gathered.
            if core.is_mountable() {
                core.safe.journal.read(lpn);
            }
            let payload = core.device.array.payload(ppn)[index as usize].clone();
            self.check_read(core, lpn, floor, Some(&payload));
            return PageRead::Begun(1);
        }
        if self.has_payload {
            // It is looked at when the read has ended, many events from now.
            core.device.array.prefetch(ppn);
        }
        let count = self.run_of(core, lpn, slot, most);
        core.jobs[job].remaining += 1;
        let owner = Owner::HostRead { job };
        let command = Command { owner, ppn, lpn: lpn.0, first: index as u8, count: count as u8, ..Command::default() };
        let id = core.submit(command);
        if self.has_payload {
            for i in 0..count {
                core.floors.set(id, i as usize, self.oracle.floor(Lpn(lpn.0 + i)));
            }
        }
        PageRead::Begun(count)
    }

    /// How many of the pages from `lpn` lie side by side in the same flash page.
    #[inline]
    pub fn run_of(&self, core: &Core<P>, lpn: Lpn, slot: Slot, most: u32) -> u32 {
        let (_, index) = core.device.grid.page_of(slot);
        let room = (core.device.grid.slots_per_page() - index).min(most);
        let beside = |i: u32| {
            let lpn = Lpn(lpn.0 + i);
            core.map.lookup(lpn) == Place::At(Slot(slot.0 + i)) && self.buffer.get(lpn).is_none() && !core.is_hidden(lpn)
        };
        (1..room).take_while(|&i| beside(i)).count() as u32 + 1
    }

    /// A flash page was read for the host.
    pub fn host_read_done(&mut self, core: &mut Core<P>, id: CommandId, command: &Command, job: JobId, outcome: ReadOutcome) {
        if !outcome.is_clean() {
            return self.solve_pages_of(core, id, command, job);
        }
        if core.is_mountable() {
            (0..u32::from(command.count)).for_each(|i| core.safe.journal.read(Lpn(command.lpn + i)));
        }
        if self.has_payload {
            self.check_pages_of(core, id, command);
        }
        self.part_done(core, job);
    }

    /// A flash page was read for the host: each logical page that was wanted of it is checked.
    fn check_pages_of(&mut self, core: &mut Core<P>, id: CommandId, command: &Command) {
        let brought = match core.device.array.arrived() {
            Arrived::Other(other) if core.breaks(SafetyRule::Compare) => other,
            _ => command.ppn,
        };
        for i in 0..u32::from(command.count) {
            let floor = core.floors.get(id, i as usize);
            let at = u32::from(command.first) + i;
            let payload = core.device.array.payload(brought)[at as usize].clone();
            self.check_read(core, Lpn(command.lpn + i), floor, Some(&payload));
        }
    }

    /// A flash page could not be read: each logical page that was wanted of it is solved for.
    fn solve_pages_of(&mut self, core: &mut Core<P>, id: CommandId, command: &Command, job: JobId) {
        core.job_worked(job, Wait::Solving);
        for i in 0..u32::from(command.count) {
            core.jobs[job].remaining += 1;
            let floor = if self.has_payload { core.floors.get(id, i as usize) } else { Floor::default() };
            let failed = Some(core.device.grid.slot(command.ppn, u32::from(command.first) + i));
            core.out.send(Parcel::Solve { target: Target::HostRead { job, lpn: Lpn(command.lpn + i), floor, failed } });
        }
        core.part_done(job);
    }

    /// A page of flash, or what its codeword gave, goes to the host.
    pub fn check_flash_read(&mut self, core: &mut Core<P>, lpn: Lpn, floor: Floor, found: Option<&P>) {
        if found.is_some() {
            core.safe.journal.read(lpn);
        }
        self.check_read(core, lpn, floor, found);
    }

    /// Holds what a host read returned against the oracle.
    pub fn check_read(&mut self, core: &mut Core<P>, lpn: Lpn, floor: Floor, found: Option<&P>) {
        if !self.has_payload {
            return;
        }
        let result = match &mut self.client {
            Some(client) => client.found(floor.request, lpn, found),
            None => self.oracle.check(lpn, floor, found),
        };
        core.device.record(Fact::Checked { mismatch: result.is_err() });
        if let Some(pages) = &mut self.observation.pages {
            pages.push((lpn, found.cloned()));
        }
        if self.observation.settles_versions
            // A page in a volatile buffer may be gone with the next cut.
            && !(self.buffer.is_volatile() && self.buffer.get(lpn).is_some())
            && result.is_ok()
            && let Some(payload) = found
        {
            self.oracle.observed(lpn, payload.version());
        }
        if let Err(what) = result {
            let at = core.device.now.0;
            self.first_mismatch.get_or_insert_with(|| format!("at {at} ns: {what}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BufferKind;
    use crate::host::testing::{HostAlone, SECTORS};
    use device::contents::HostPayload;
    use device::contents::Tag;

    use vocab::HostOp;

    /// Reads pages; the range that is left, and what is to be solved for.
    fn read(alone: &mut HostAlone<Tag>, pages: Range<u32>) -> (Range<u32>, Option<Target>) {
        let job = alone.arrive(HostOp::Read, pages.start * SECTORS..pages.end * SECTORS);
        // The fixture answered it: this one is not.
        alone.core.jobs[job].remaining = 1;
        let mut left = pages;
        let lost = alone.host.read_up_to_lost(&mut alone.core, &alone.writer, job, &mut left);
        (left, lost)
    }

    /// Catches a read that goes to flash although the buffer has the page, and one that returns what flash has.
    #[test]
    fn a_page_of_the_buffer_is_read_from_there() {
        let mut alone = HostAlone::<Tag>::new("none", BufferKind::Volatile);
        alone.core.map.publish(Lpn(3), Slot(7));
        alone.write(3..4);
        assert_eq!(read(&mut alone, 3..4), (4..4, None));
        assert_eq!(alone.core.device.commands.in_use(), 0, "no flash is read");
        assert_eq!((alone.core.device.folds.checked, alone.core.device.folds.mismatches), (1, 0));
        // The oracle notices contents that are not the buffer's.
        let floor = alone.host.oracle.floor(Lpn(3));
        alone.host.check_read(&mut alone.core, Lpn(3), floor, Some(&Tag::stamp(Lpn(3), 0, SECTORS)));
        assert_eq!(alone.core.device.folds.mismatches, 1);
        assert!(alone.host.first_mismatch.is_some());
    }

    /// Catches pages behind a lost one that are read before it is solved for.
    #[test]
    fn a_lost_page_stops_the_read() {
        let mut alone = HostAlone::<Tag>::new("none", BufferKind::Off);
        alone.core.map.publish(Lpn(2), Slot(6));
        alone.core.map.publish_missing(Lpn(3));
        alone.core.map.publish(Lpn(4), Slot(7));
        let (left, lost) = read(&mut alone, 2..5);
        assert_eq!((left, alone.core.device.commands.in_use()), (4..5, 1));
        assert!(matches!(lost, Some(Target::HostRead { lpn: Lpn(3), failed: None, .. })));
    }

    /// Catches a page still in the controller that is read from flash, where it is not yet.
    #[test]
    fn a_page_that_waits_for_another_place_is_read_from_memory() {
        let mut alone = HostAlone::<Tag>::new("none", BufferKind::Off);
        let version = alone.host.oracle.sent(Lpn(3));
        alone.host.oracle.answered(Lpn(3), version, 0, SECTORS);
        let core = &mut alone.core;
        let ppn = core.map.take_page(0, ftl::Stream::Host).expect("an empty drive has room");
        let image = core.device.images.open(ppn, nand::Oob::default());
        core.map.publish(Lpn(3), core.next_slot_of(image));
        let payload = Tag::stamp(Lpn(3), version, SECTORS);
        let contents = device::image::Contents { tag: nand::OobTag::data(Lpn(3)), payload, update: 1 };
        core.device.images.fill(image, contents, None, None);
        core.device.displaced.push_back(Command { ppn, image, ..Command::default() });
        assert_eq!(read(&mut alone, 3..4), (4..4, None));
        assert_eq!((alone.core.device.folds.checked, alone.core.device.folds.mismatches), (1, 0));
    }
}
