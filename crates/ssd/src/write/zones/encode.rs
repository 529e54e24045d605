//! The off-line phase of code zones: the zones read most get code, and groups whose data were written get
//! it again. What is encoded next, and whether it is still the code of the data when it is in flash,
//! `protect::code_zones` says.
//!
//! A phase tries each stale group once: a group that cannot be read does not keep the drive at work. As
//! soon as the host asks for something no further group is begun, unless the phase is at a given time:
//! then the host waits.

use crate::core::effects::Parcel;
use crate::core::flash::FlashPayload;
use crate::core::ids::{EncodeId, OfEncode};
use crate::core::owner::Owner;
use crate::core::read_step::{NewSolve, Pace, ReadStep, SumsFor, Term};
use crate::core::timer::Timer;
use crate::core::zone_step::{CodePage, ZoneStep};
use crate::core::{Core, oob_covering};
use crate::write::pages::PageWriter;
use crate::write::zones::Zones;
use device::facts::Fact;
use device::image::Contents;
use device::slab::{ImageId, Slab};
use ftl::{Place, Stream};
use nand::{OobTag, ProgramOutcome};
use protect::code_zones::{CodeStamp, CodeZones, Encode, EncodeLine, When};
use vocab::{Cause, Lpn, Nanos, SimTime, Slot, StripSet};

/// A group that is being encoded.
#[derive(Clone, Debug)]
struct EncodeOp<P> {
    encode: Option<Encode>,
    /// Programs that have not ended.
    left: u32,
    /// The code pages, line by line.
    sums: Vec<P>,
    /// For each code page, the data blocks of its line that have contents.
    blocks: Vec<u32>,
    /// Where code pages were put.
    places: Vec<(Lpn, Slot)>,
    failed: bool,
}

impl<P> Default for EncodeOp<P> {
    fn default() -> Self {
        Self { encode: None, left: 0, sums: Vec::new(), blocks: Vec::new(), places: Vec::new(), failed: false }
    }
}

impl<P> EncodeOp<P> {
    fn lines(&self) -> &[EncodeLine] {
        &self.encode.as_ref().expect("a group being encoded").lines
    }

    fn stamp(&self) -> CodeStamp {
        self.encode.as_ref().expect("a group being encoded").stamp
    }

    /// The logical page of code page `which` of the group.
    fn code_page(&self, which: u32) -> Lpn {
        let lines = self.lines();
        let code = lines[0].code.len() as u32;
        lines[(which / code) as usize].code[(which % code) as usize].0
    }
}

/// The off-line phase, and the groups that are being encoded.
#[derive(Clone, Debug)]
pub(crate) struct Encoder<P> {
    when: When,
    charged: bool,
    /// Groups that are encoded at a time: as many as there are places for in a row of stripe blocks.
    at_once: u32,
    ops: Slab<EncodeOp<P>, OfEncode>,
    in_flight: u32,
    /// Whether groups are being begun right now.
    starting: bool,
    /// Groups that the phase may still try.
    budget: u64,
    /// Whether groups are being encoded one after the other.
    on: bool,
    /// Whether a phase waits for the drive to be idle.
    due: bool,
    /// Whether there was a phase since the host asked for something.
    rested: bool,
    /// When the run began, and which of its given times is next.
    start: SimTime,
    next_time: usize,
}

/// An off-line phase that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its work takes time.
    Charged,
    /// It takes none.
    Free,
}

/// Work of the off-line phase while the host is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// It begins now.
    Begin(Phase),
    /// It is due when the drive has been idle for so long.
    WaitFor(Nanos),
    /// Nothing.
    Nothing,
}

impl<P> Encoder<P> {
    pub fn new(zones: &CodeZones) -> Self {
        let offline = zones.offline();
        let at_once = zones.layout().groups_at_once();
        Self {
            when: offline.when.clone(),
            charged: offline.charged,
            at_once,
            ops: Slab::default(),
            in_flight: 0,
            starting: false,
            budget: 0,
            on: false,
            due: false,
            rested: false,
            start: SimTime::ZERO,
            next_time: 0,
        }
    }

    /// A run begins: its given times count from now.
    pub fn begin_run(&mut self, now: SimTime) {
        (self.start, self.next_time) = (now, 0);
    }

    /// The next of the given times, which is then over.
    pub fn take_next_time(&mut self) -> Option<SimTime> {
        let When::At(times) = &self.when else { return None };
        let &time = times.get(self.next_time)?;
        self.next_time += 1;
        Some(self.start + time)
    }

    /// Whether the drive is off line to encode, and holds requests back.
    pub fn is_off_line(&self) -> bool {
        matches!(self.when, When::At(_)) && (self.due || self.on)
    }

    /// The host is done: there is nothing to prepare for.
    pub fn stay_on_line(&mut self) {
        (self.due, self.budget) = (false, 0);
        debug_assert!(!self.on || self.in_flight > 0, "a phase ends with its last group");
    }

    /// A request arrives: no further group is begun. True if the phase is one of idle time.
    pub fn stop(&mut self) -> bool {
        let idle = matches!(self.when, When::Idle(_));
        if idle {
            (self.on, self.due, self.rested) = (false, false, false);
        }
        idle
    }

    /// The drive was idle for long enough, or a given time has come.
    pub fn set_due(&mut self) {
        self.due = true;
    }

    /// The host asks for nothing. Whether a phase begins, which takes idle dies if it is to take no time.
    pub fn idle(&mut self, dies_are_idle: bool) -> Idle {
        if self.due && (self.charged || dies_are_idle) {
            (self.due, self.rested) = (false, true);
            return Idle::Begin(if self.charged { Phase::Charged } else { Phase::Free });
        }
        match self.when {
            When::Idle(after) if !self.due && !self.rested => Idle::WaitFor(after),
            _ => Idle::Nothing,
        }
    }

    /// Whether no group is being encoded.
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.ops.in_use() == 0
    }

    /// Begins to start groups. False if that is being done already: a group that ends as soon as it is begun
    /// asks for more.
    pub fn begin_starting(&mut self) -> bool {
        !std::mem::replace(&mut self.starting, true)
    }

    /// As many groups are under way as may be. True if the phase is over.
    pub fn end_starting(&mut self) -> bool {
        self.starting = false;
        let over = self.on && self.in_flight == 0;
        self.on &= !over;
        over
    }
}

impl<P: Clone> Encoder<P> {
    /// The code pages of a group, to be written as one.
    pub fn take_code(&mut self, id: EncodeId) -> Vec<(Lpn, P)> {
        let op = &mut self.ops[id];
        op.left = 1;
        let sums = std::mem::take(&mut op.sums);
        (0..).zip(sums).map(|(which, sum)| (op.code_page(which), sum)).collect()
    }

    /// Of the code pages of a group the first this many have places: those that are new are noted.
    pub fn note_places(&mut self, id: EncodeId, placed: impl Iterator<Item = (Lpn, Place)>) {
        let places = &mut self.ops[id].places;
        let new = placed.skip(places.len()).map(|(lpn, place)| match place {
            Place::At(slot) => (lpn, slot),
            place => unreachable!("{lpn} has just got a place: {place:?}"),
        });
        let new: Vec<(Lpn, Slot)> = new.collect();
        places.extend(new);
    }
}

impl<P: FlashPayload> Zones<P> {
    /// Whether the data of a group are still those that its code was computed from.
    pub(crate) fn is_being_encoded(&self, id: EncodeId) -> bool {
        self.scheme.is_encoding(&self.encoder.ops[id].stamp())
    }

    /// A run begins: the given times of off-line phases count from now.
    pub(crate) fn run_begins(&mut self, core: &mut Core<P>) {
        self.encoder.begin_run(core.device.now);
        self.expect_next_time(core);
    }

    fn expect_next_time(&mut self, core: &mut Core<P>) {
        if let Some(at) = self.encoder.take_next_time() {
            core.schedule(Timer::OffLine, at.max(core.device.now));
        }
    }

    /// As many groups are under way as may be.
    pub(crate) fn end_starting(&mut self, core: &mut Core<P>) {
        if self.encoder.end_starting() {
            self.expect_next_time(core);
        }
    }

    /// The host is done: there is nothing to prepare for.
    pub(crate) fn host_is_done(&mut self, core: &mut Core<P>) {
        self.encoder.stay_on_line();
        core.clear(Timer::OffLine);
    }

    /// A request arrives: no further group is begun.
    pub(crate) fn request_arrives(&mut self, core: &mut Core<P>) {
        if self.encoder.stop() {
            core.clear(Timer::OffLine);
        }
    }

    /// The drive was idle for long enough, or a given time has come.
    pub(crate) fn offline_due(&mut self, core: &mut Core<P>) {
        core.clear(Timer::OffLine);
        self.encoder.set_due();
    }

    /// The host asks for nothing. The phase that begins now; where one is due after some time without requests, its timer is set.
    pub(crate) fn phase_due(&mut self, core: &mut Core<P>) -> Option<Phase> {
        match self.encoder.idle(core.device.is_idle()) {
            Idle::Begin(phase) => return Some(phase),
            Idle::WaitFor(after) if core.more_arrives() && !core.is_pending(Timer::OffLine) => {
                core.schedule(Timer::OffLine, core.device.now + after);
            }
            Idle::WaitFor(_) | Idle::Nothing => {}
        }
        None
    }

    /// Gives code zones to the zones read most. Their owners before lose their code: answers the logical pages
    /// of it.
    pub(crate) fn choose_zones(&mut self) -> Vec<Lpn> {
        let changes = self.scheme.enter_offline();
        let layout = self.scheme.layout();
        changes.iter().flat_map(|change| layout.code_zone_pages(change.code_zone)).map(Lpn).collect()
    }

    /// A phase begins: each group that is stale now is tried once.
    pub(crate) fn begin_phase(&mut self, core: &mut Core<P>, garbage: Vec<Lpn>) {
        for lpn in garbage {
            core.out.send(Parcel::Zones(ZoneStep::ForgetCodePage { lpn, only_at: None }));
        }
        (self.encoder.budget, self.encoder.on) = (self.scheme.stale_groups(), true);
    }

    /// Starts to encode the next group, if a further one may be under way. False if not.
    pub(crate) fn start_next(&mut self, core: &mut Core<P>, pages: &PageWriter) -> bool {
        let encoder = &mut self.encoder;
        if !encoder.on || encoder.budget == 0 || encoder.in_flight >= encoder.at_once {
            return false;
        }
        let Some(encode) = self.scheme.next_encode() else {
            self.encoder.budget = 0;
            return false;
        };
        self.encoder.budget -= 1;
        self.encoder.in_flight += 1;
        self.start_encode(core, pages, encode);
        true
    }

    /// Has the data of a group read and added up.
    fn start_encode(&mut self, core: &mut Core<P>, pages: &PageWriter, encode: Encode) {
        let code: usize = encode.lines.iter().map(|line| line.code.len()).sum();
        let (mut sums, mut blocks) = (vec![P::default(); code], vec![0; code]);
        let (mut terms, mut lost) = (Vec::new(), false);
        let mut first = 0;
        for line in &encode.lines {
            for (block, &lpn) in line.data.iter().enumerate() {
                let place = core.map.lookup(lpn);
                lost |= place == Place::Missing;
                let Place::At(slot) = place else { continue };
                let of_block = line.code.iter().enumerate().filter(|(_, (_, sum))| sum.contains(block));
                let adds: Vec<(u16, u8)> = of_block.map(|(i, _)| ((first + i) as u16, 1)).collect();
                adds.iter().for_each(|&(sum, _)| blocks[usize::from(sum)] |= 1 << block);
                let (ppn, index) = core.device.grid.page_of(slot);
                match pages.unsent(core, ppn) {
                    Some(image) => {
                        let payload = &core.device.images.contents(image).1[index as usize];
                        adds.iter().for_each(|&(sum, _)| sums[usize::from(sum)].add(payload));
                    }
                    None => terms.push(Term { ppn, slot: index as u8, adds }),
                }
            }
            first += line.code.len();
        }
        let id = self.encoder.ops.take();
        self.encoder.ops[id] = EncodeOp { encode: Some(encode), blocks, failed: lost, ..EncodeOp::default() };
        let (wanted_by, cause, pace) = (SumsFor::Code { encode: id }, Cause::Encode, Pace::AllAtOnce);
        let new = NewSolve { wanted_by, cause, pace, sums, terms, failed: Vec::new() };
        core.out.send(Parcel::Reads(ReadStep::Sum(new)));
    }

    /// The code pages of a group are computed, or some of its data cannot be read. Answers how many pages are
    /// to be written now.
    pub(crate) fn code_summed(&mut self, core: &mut Core<P>, id: EncodeId, sums: Option<Vec<P>>) -> u32 {
        let op = &mut self.encoder.ops[id];
        op.failed |= sums.is_none();
        if op.failed || !self.scheme.is_encoding(&op.stamp()) {
            self.end_encode(core, id, CodePage::GivenUp);
            return 0;
        }
        op.sums = sums.expect("it did not fail");
        op.left = op.sums.len() as u32;
        op.left
    }

    /// The log of the segment of a code page.
    pub(crate) fn log_of_code(&self, core: &Core<P>, id: EncodeId, which: u32) -> usize {
        self.segment_of(core, self.encoder.ops[id].code_page(which)).0
    }

    /// Writes a code page, if its segment has room; not where the data have changed in the meantime.
    pub(crate) fn write_code(&mut self, core: &mut Core<P>, id: EncodeId, which: u32, log: usize) -> bool {
        let op = &self.encoder.ops[id];
        let lpn = op.code_page(which);
        if !self.scheme.is_encoding(&op.stamp()) || core.device.is_dead(self.segment_of(core, lpn).1) {
            self.code_page_over(core, id, CodePage::GivenUp);
            return true;
        }
        let Some(ppn) = core.map.take_page(log, Stream::Host) else {
            core.collect_if_short(log);
            return false;
        };
        let op = &mut self.encoder.ops[id];
        let (payload, blocks) = (op.sums[which as usize].clone(), op.blocks[which as usize]);
        let slot = core.device.grid.slot(ppn, 0);
        let pin = core.map.publish(lpn, slot).pinned;
        op.places.push((lpn, slot));
        let image = core.device.images.open(ppn, oob_covering(StripSet(blocks.into())));
        let contents = Contents { tag: OobTag::data(lpn), payload, update: core.device.next_rank() };
        core.device.images.fill(image, contents, None, pin);
        core.submit_program(image, Owner::Code { encode: id }, Cause::Encode);
        core.collect_if_short(log);
        true
    }

    /// A code page was programmed, or could not be: then no one has it any more.
    pub(crate) fn code_programmed(&self, core: &mut Core<P>, image: ImageId, id: EncodeId, outcome: ProgramOutcome) {
        if !outcome.is_done() {
            let (tag, slot) = (core.device.images.slot(image, 0).0, core.device.grid.slot(core.device.images.slab[image].ppn, 0));
            if core.place_of(tag.role()) == Place::At(slot) {
                core.publish_missing(tag.role()).pinned.into_iter().for_each(|unit| core.release(unit));
            }
        }
        if let Some(pin) = core.device.images.slot(image, 0).2 {
            core.release(pin);
        }
        let how = if outcome.is_done() { CodePage::Written } else { CodePage::GivenUp };
        core.out.send(Parcel::Zones(ZoneStep::CodePageOver { encode: id, how }));
    }

    /// Nothing more happens to a code page of a group.
    pub(crate) fn code_page_over(&mut self, core: &mut Core<P>, id: EncodeId, how: CodePage) {
        let op = &mut self.encoder.ops[id];
        op.failed |= how == CodePage::GivenUp;
        op.left -= 1;
        if op.left == 0 {
            let how = if op.failed { CodePage::GivenUp } else { CodePage::Written };
            self.end_encode(core, id, how);
        }
    }

    /// The code of a group is all written, or given up.
    fn end_encode(&mut self, core: &mut Core<P>, id: EncodeId, how: CodePage) {
        let op = std::mem::take(&mut self.encoder.ops[id]);
        self.encoder.ops.give(id);
        let stamp = op.stamp();
        if how == CodePage::Written && self.scheme.encoded(&stamp) {
            core.device.record(Fact::GroupEncoded);
        } else {
            if how == CodePage::GivenUp {
                self.scheme.abandoned(&stamp);
            }
            // It may be encoded again already, by another.
            let is_stale = self.scheme.is_stale(&stamp);
            for (lpn, slot) in op.places {
                let only_at = if is_stale { None } else { Some(slot) };
                core.out.send(Parcel::Zones(ZoneStep::ForgetCodePage { lpn, only_at }));
            }
        }
        self.encoder.in_flight -= 1;
        core.out.send(Parcel::Zones(ZoneStep::EncodeMore));
    }
}
