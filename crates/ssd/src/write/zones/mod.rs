//! Writing under code zones: each page has its segment, and so its die; code is written in idle time, and a
//! write to data makes its code stale. What is coded, and which code is valid, `protect::code_zones` says;
//! `encode` writes code, `read::lines` reads.

mod answers;
mod audit;
pub(crate) mod encode;
pub(crate) mod over;
pub(crate) mod seam;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use crate::core::effects::{Effect, Parcel};
use crate::core::flash::FlashPayload;
use crate::core::ids::EncodeId;
use crate::core::owner::{Holds, Owner};
use crate::core::read_step::ReadStep;
use crate::core::target::Target;
use crate::core::zone_step::ZoneStep;
use crate::core::{Core, data_of, oob_covering};
use crate::write::sources::Sources;
use crate::write::ways::{CoverageMoves, WayFacts};
use crate::write::zones::encode::Encoder;
use device::image::Contents;
use device::slab::JobId;
use ftl::{Place, Segments, Stream};
use nand::OobTag;
use protect::Protection;
use protect::code_zones::{CodeGroupId, CodeLine, CodeStamp, CodeZones, LineRead};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use vocab::{Cause, DieId, Lpn, Slot, StripSet};

/// Segments of zones.
pub(crate) const FACTS: WayFacts = WayFacts {
    brings_pages_back: true,
    coverage: CoverageMoves::Always,
    has_segments: true,
    no_slc: Some("code zones have a few blocks for each zone, none to spare for a cache"),
    ..WayFacts::PLAIN
};

/// Work that waits for room in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// A page of a job.
    Page { job: JobId, index: u32 },
    /// A code page.
    Code { encode: EncodeId, which: u32 },
    /// All code pages of a group, over another way of writing.
    CodeJob { job: JobId },
}

/// Why what waits for room in a segment will never be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeverWritten {
    /// There is no room in the segment, and there never will be.
    NoRoom,
    /// The die of the segment is dead.
    DeadDie,
}

/// A drive of code zones: which code is valid, what waits for room, and the encoder.
#[derive(Clone, Debug)]
pub(crate) struct Zones<P> {
    /// The scheme. `Writer::protection` only has it as it was when the drive was built.
    pub scheme: CodeZones,
    /// Whether another way of writing finds the places of pages.
    over: bool,
    /// Work that waits for room, by log, each in order.
    waiting: BTreeMap<usize, VecDeque<Waiting>>,
    pub encoder: Encoder<P>,
}

impl<P> Zones<P> {
    /// Code zones that are the drive's way of writing, or `over` another one.
    pub fn new(protection: &Protection, over: Option<CodeZones>) -> Option<Box<Self>> {
        let own = protection.zones().cloned();
        let (over, scheme) = (own.is_none(), own.or(over)?);
        let encoder = Encoder::new(&scheme);
        Some(Box::new(Self { scheme, over, waiting: BTreeMap::new(), encoder }))
    }

    /// Whether the code is valid, and the very same as when it was looked up.
    pub fn is_current_code(&self, stamp: &CodeStamp) -> bool {
        self.scheme.is_current(stamp)
    }

    /// Whether anything waits for room in a segment.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// How dies are divided, and the logical pages in all, those of code included.
pub(crate) fn space(protection: &Protection, over: Option<&CodeZones>, user_slots: u32) -> (Option<Segments>, u32) {
    let Some(zones) = protection.zones() else {
        return (None, over.map_or(user_slots, |code| code.layout().pages()));
    };
    let layout = zones.layout();
    (Some(Segments { per_die: layout.zones(), blocks: layout.zone_blocks() }), layout.pages())
}

impl<P: FlashPayload> Zones<P> {
    /// The log of a logical page's segment, and its die.
    pub(crate) fn segment_of(&self, core: &Core<P>, lpn: Lpn) -> (usize, DieId) {
        let place = self.scheme.layout().place(lpn);
        (core.map.logs_of_die(place.die).start + place.zone.0 as usize, place.die)
    }

    /// The pages of the host that a request touches: of whole stripe blocks, where the drive maps these.
    pub(crate) fn touched(&self, asked: Range<u32>, user_slots: u32) -> Range<u32> {
        let touched = self.scheme.touched(Lpn(asked.start), asked.len() as u32);
        touched.start..touched.end.min(user_slots)
    }

    /// Refuses a drive with a segment that its bad blocks leave no room to collect in.
    pub(crate) fn check_segments(&self, core: &Core<P>) -> Result<(), String> {
        for die in (0..core.device.grid.dies()).map(|die| DieId(die as u16)) {
            for (zone, log) in core.map.logs_of_die(die).enumerate() {
                if core.map.live_max(log) <= self.scheme.layout().segment_pages() {
                    return Err(format!(
                        "scheme code-zones: bad blocks leave the segment of zone {zone} on die {} too few to collect garbage in; \
                         spare_blocks must be 2 and one for each bad block of a segment",
                        die.0
                    ));
                }
            }
        }
        Ok(())
    }

    /// Where every page of valid code lies, and the logical pages that it is the sum of.
    pub(crate) fn code_pages(&self, core: &Core<P>) -> Vec<(Place, Vec<Lpn>)> {
        let layout = self.scheme.layout();
        let groups = (0..layout.data_zones() * layout.zone_groups()).map(CodeGroupId);
        let coded = groups.filter_map(|group| self.scheme.stamp(group));
        let pages = coded.flat_map(|stamp| {
            let lines = (0..layout.stripe_pages()).map(move |page| CodeLine { group: stamp.group, page });
            lines.flat_map(move |line| {
                layout.graph().code().iter().enumerate().map(move |(i, sum)| {
                    let page = |block| layout.block_page(line, stamp.code_zone, block);
                    let is_user = |lpn: &Lpn| lpn.0 < core.map.user_slots();
                    let place = core.map.lookup(page(layout.graph().data() + i));
                    (place, sum.iter().map(page).filter(is_user).collect())
                })
            })
        });
        pages.collect()
    }

    /// Sources that bring back the lost page of the target.
    pub(crate) fn sources(&self, core: &Core<P>, target: Target) -> Sources<P> {
        let (lpn, failed) = lost_page(core, target);
        if !matches!(target, Target::Move { .. }) && core.map.lookup(lpn) == Place::Unmapped {
            return Sources::Discarded;
        }
        if lpn.0 >= self.scheme.layout().user_pages() {
            return Sources::NoneOfCodePage { lpn };
        }
        let (line, block) = self.scheme.layout().line(lpn);
        let code = self.scheme.stamp(line.group);
        Sources::Line { line: LineRead { line, wanted: [block].into_iter().collect(), code }, lpn, failed }
    }

    /// The page gets other contents in the map, now: its code becomes stale.
    pub(crate) fn contents_change(&mut self, core: &mut Core<P>, lpn: Lpn) {
        core.out.push(Effect::ForgetReadAhead { lpn });
        let line = self.scheme.layout().line(lpn).0;
        let stamp = self.scheme.stamp(line.group);
        self.scheme.on_write(lpn, 1);
        if let Some(stamp) = stamp {
            code_is_stale(core, stamp);
        }
    }

    /// The pages of code that no one decodes with any more are garbage.
    pub(crate) fn forget_code(&self, core: &mut Core<P>, stamp: CodeStamp) {
        for lpn in self.scheme.layout().code_pages(stamp.group, stamp.code_zone) {
            core.out.send(Parcel::Zones(ZoneStep::ForgetCodePage { lpn, only_at: None }));
        }
    }

    /// A code page cannot be read: its group does without code until it is encoded again.
    pub(crate) fn lose_code_page(&mut self, core: &mut Core<P>, lpn: Lpn) {
        match self.scheme.lose_code(lpn) {
            Some(stamp) => code_is_stale(core, stamp),
            None => forget_code_page(core, lpn, None),
        }
    }

    /// Writes a page of a job to its segment, if that has room.
    pub(crate) fn write_page(&mut self, core: &mut Core<P>, job: JobId, index: u32, log: usize) -> bool {
        let page = &core.jobs[job].pages[index as usize];
        let (lpn, payload) = (page.lpn, page.payload.clone());
        let Some(ppn) = core.map.take_page(log, Stream::Host) else {
            core.collect_if_short(log);
            return false;
        };
        let pin = core.map.publish(lpn, core.device.grid.slot(ppn, 0)).pinned;
        let image = core.device.images.open(ppn, oob_covering(StripSet::EMPTY));
        let contents = Contents { tag: OobTag::data(lpn), payload, update: core.rank_for(job, index as usize) };
        core.device.images.fill(image, contents, Some(job), pin);
        core.submit_program(image, Owner::Page { log: log as u16, holds: Holds::Data }, Cause::Host);
        core.collect_if_short(log);
        true
    }
}

/// Code was valid and is not any more: no one decodes with it from now on, and then its pages are garbage.
fn code_is_stale<P: FlashPayload>(core: &mut Core<P>, stamp: CodeStamp) {
    core.out.send(Parcel::Reads(ReadStep::DropCode { group: stamp.group }));
    core.out.send(Parcel::Zones(ZoneStep::ForgetCode { stamp }));
}

/// A code page is garbage. With `only_at`: unless it lies elsewhere by now.
pub(crate) fn forget_code_page<P: FlashPayload>(core: &mut Core<P>, lpn: Lpn, only_at: Option<Slot>) {
    if only_at.is_none_or(|slot| core.map.lookup(lpn) == Place::At(slot))
        && let Some(unit) = core.map.forget(lpn).pinned
    {
        core.release(unit);
    }
}

/// The logical page that a target wants, and where it could not be read.
fn lost_page<P: FlashPayload>(core: &Core<P>, target: Target) -> (Lpn, Option<Slot>) {
    match target {
        Target::HostRead { lpn, failed, .. } => (lpn, failed),
        Target::Merge { failed, .. } => (core.lpn_wanted(target).expect("a host page"), failed),
        Target::Move { slot, .. } => {
            let (ppn, index) = core.device.grid.page_of(slot);
            (data_of(core.device.tags(ppn)[index as usize]).expect("zones hold data and code"), Some(slot))
        }
        Target::StripeMerge { .. } | Target::Strip { .. } => unreachable!("zones have no stripes"),
    }
}
