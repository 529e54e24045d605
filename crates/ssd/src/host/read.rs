//! Reads of the host: served from the write buffer, from pages that are still being put together, or from flash;
//! and held against what the host was told before.

use crate::core::effects::Effect;
use crate::core::owner::Owner;
use crate::core::target::{Floor, Target};
use crate::core::{Command, Core};
use crate::device::contents::HostPayload;
use crate::device::facts::Fact;
use crate::device::slab::Id;
use crate::host::Host;
use crate::power::rules::SafetyRule;
use crate::write::Writer;
use ftl::Place;
use nand::{Arrived, FlashArray};
use std::ops::Range;
use vocab::{Lpn, Slot};

/// What is done with what host reads find, beside checking it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observation<P> {
    /// Whether the version that a read finds is the page's only one from then on. After a power cut a page may have
    /// one of several versions.
    pub settles_versions: bool,
    /// Pages that were read, while somebody collects them; `None` inside stands for an unmapped page.
    pub pages: Option<Vec<(Lpn, Option<P>)>>,
}

/// What reading a page for the host came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum PageRead {
    /// The page, and those after it that the same flash read gives: so many were read, or their read was begun.
    Begun(u32),
    /// The page is lost where the map has it: this is to be solved for.
    Lost(Target),
}

impl<P: HostPayload> Host<P> {
    /// Reads pages, and takes them off the range, up to one that is lost: what is to be solved for.
    #[inline]
    pub fn read_up_to_lost<A: FlashArray<P>>(
        &mut self,
        core: &mut Core<P, A>,
        writer: &Writer<P>,
        job: Id,
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

    /// Reads the page and those after it that the same flash read gives, at most so many.
    #[inline]
    pub fn read_from<A: FlashArray<P>>(
        &mut self,
        core: &mut Core<P, A>,
        writer: &Writer<P>,
        job: Id,
        lpn: Lpn,
        most: u32,
    ) -> PageRead {
        let floor = self.oracle.floor(lpn);
        if let Some(payload) = self.buffer.get(lpn) {
            let payload = payload.clone();
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
        let count = self.run_of(core, lpn, slot, most);
        core.jobs[job].remaining += 1;
        let owner = Owner::HostRead { job };
        let command = Command { owner, ppn, lpn: lpn.0, first: index as u8, count: count as u8, ..Command::default() };
        let id = core.submit(command);
        for i in 0..count {
            core.floors.set(id, i as usize, self.oracle.floor(Lpn(lpn.0 + i)));
        }
        PageRead::Begun(count)
    }

    /// How many of the pages from `lpn` lie side by side in the same flash page.
    #[inline]
    pub fn run_of<A: FlashArray<P>>(&self, core: &Core<P, A>, lpn: Lpn, slot: Slot, most: u32) -> u32 {
        let (_, index) = core.device.grid.page_of(slot);
        let room = (core.device.grid.slots_per_page() - index).min(most);
        let beside = |i: u32| {
            let lpn = Lpn(lpn.0 + i);
            core.map.lookup(lpn) == Place::At(Slot(slot.0 + i)) && self.buffer.get(lpn).is_none() && !core.is_hidden(lpn)
        };
        (1..room).take_while(|&i| beside(i)).count() as u32 + 1
    }

    /// A flash page was read for the host.
    pub fn host_read_done<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>, id: Id, command: &Command, job: Id, clean: bool) {
        if !clean {
            return self.solve_pages_of(core, id, command, job);
        }
        let brought = match core.device.array.arrived() {
            Arrived::Other(other) if core.breaks(SafetyRule::Compare) => other,
            _ => command.ppn,
        };
        for i in 0..u32::from(command.count) {
            let floor = core.floors.get(id, i as usize);
            let at = u32::from(command.first) + i;
            let payload = core.device.array.page(brought).payload[at as usize].clone();
            self.check_read(core, Lpn(command.lpn + i), floor, Some(&payload));
        }
        self.part_done(core, job);
    }

    /// A flash page could not be read: each logical page that was wanted of it is solved for.
    fn solve_pages_of<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>, id: Id, command: &Command, job: Id) {
        for i in 0..u32::from(command.count) {
            core.jobs[job].remaining += 1;
            let floor = core.floors.get(id, i as usize);
            let failed = Some(core.device.grid.slot(command.ppn, u32::from(command.first) + i));
            core.out.push(Effect::Solve { target: Target::HostRead { job, lpn: Lpn(command.lpn + i), floor, failed } });
        }
        core.part_done(job);
    }

    /// Holds what a host read returned against the oracle.
    pub fn check_read<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>, lpn: Lpn, floor: Floor, found: Option<&P>) {
        if !P::CHECKED {
            return;
        }
        let result = self.oracle.check(lpn, floor, found);
        core.device.record(Fact::Checked { mismatch: result.is_err() });
        if let Some(pages) = &mut self.observation.pages {
            pages.push((lpn, found.cloned()));
        }
        if self.observation.settles_versions
            // What a volatile buffer holds may be gone with the next cut.
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
