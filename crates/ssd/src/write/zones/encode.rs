//! The off-line phase of code zones: the zones read most get code, and groups whose data were written get
//! it anew. What is encoded next, and whether it is still the code of the data when it is in flash,
//! `protect::code_zones` says.
//!
//! A phase tries each stale group once: a group that cannot be read does not keep the drive at work. As
//! soon as the host asks for something no further group is begun, unless the phase is at a given time:
//! then the host waits.

use crate::core::owner::Owner;
use crate::core::{Command, oob_covering};
use crate::engine::Engine;
use crate::write::zones::Waiting;
use device::contents::HostPayload;
use device::facts::Fact;
use device::image::Contents;
use device::slab::{Id, NONE, Slab};
use ftl::{Place, Stream};
use nand::{FlashArray, OobTag};
use protect::code_zones::{CodeStamp, CodeZones, Encode, When};
use vocab::{Cause, Lpn, SimTime, Slot};

/// A group on its way to having code.
#[derive(Clone, Debug)]
struct EncodeOp<P> {
    encode: Option<Encode>,
    /// Reads, then programs, that have not ended.
    left: u32,
    /// The code pages, line by line, each with the data blocks that have contents.
    sums: Vec<(P, u32)>,
    /// Where code pages were put.
    places: Vec<(Lpn, Slot)>,
    failed: bool,
}

impl<P> Default for EncodeOp<P> {
    fn default() -> Self {
        Self { encode: None, left: 0, sums: Vec::new(), places: Vec::new(), failed: false }
    }
}

/// The off-line phase, and what is encoded.
#[derive(Clone, Debug)]
pub(crate) struct Encoder<P> {
    when: When,
    charged: bool,
    /// Groups that are encoded at a time: as many as there are places for in a row of stripe blocks.
    at_once: u32,
    ops: Slab<EncodeOp<P>>,
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

    fn is_at_times(&self) -> bool {
        matches!(self.when, When::At(_))
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    fn encoder(&mut self) -> &mut Encoder<P> {
        &mut self.zones().encoder
    }

    /// A run begins: its given times count from now.
    pub(crate) fn expect_offline(&mut self) {
        if self.writer.zones.is_some() {
            let now = self.core.device.now;
            let encoder = self.encoder();
            (encoder.start, encoder.next_time) = (now, 0);
            self.expect_next_time();
        }
    }

    fn expect_next_time(&mut self) {
        let encoder = self.encoder();
        let When::At(times) = &encoder.when else { return };
        if let Some(&time) = times.get(encoder.next_time) {
            let at = encoder.start + time;
            encoder.next_time += 1;
            self.core.device.calendar.schedule(self.offline_timer(), at.max(self.core.device.now));
        }
    }

    /// Whether the drive takes no requests now.
    #[inline]
    pub(crate) fn is_off_line(&self) -> bool {
        self.power.mounting.is_some()
            || self
                .writer
                .zones
                .as_ref()
                .is_some_and(|zones| zones.encoder.is_at_times() && (zones.encoder.due || zones.encoder.on))
    }

    /// The host is done: there is nothing to prepare for.
    pub(crate) fn stay_on_line(&mut self) {
        if self.writer.zones.is_some() {
            let encoder = self.encoder();
            (encoder.due, encoder.budget) = (false, 0);
            encoder.on &= encoder.in_flight > 0;
            self.core.device.calendar.clear(self.offline_timer());
        }
    }

    /// A request arrives: no further group is begun.
    pub(crate) fn stop_encoding(&mut self) {
        let Some(zones) = &mut self.writer.zones else { return };
        let encoder = &mut zones.encoder;
        if matches!(encoder.when, When::Idle(_)) {
            (encoder.on, encoder.due, encoder.rested) = (false, false, false);
            self.core.device.calendar.clear(self.offline_timer());
        }
    }

    /// The drive was idle for long enough, or a given time has come.
    pub(crate) fn offline_due(&mut self) {
        self.core.device.calendar.clear(self.offline_timer());
        self.encoder().due = true;
    }

    /// Begins a phase that is due, once the host and, where it is to take no time, all dies are idle; or
    /// waits for one.
    pub(crate) fn go_off_line_if_idle(&mut self) {
        if self.host.requests.outstanding > 0 {
            return;
        }
        let is_idle = self.core.device.is_idle();
        let encoder = self.encoder();
        if encoder.due && (encoder.charged || is_idle) {
            (encoder.due, encoder.rested) = (false, true);
            self.begin_offline();
        } else if let When::Idle(after) = encoder.when
            && !encoder.due
            && !encoder.rested
            && self.more_arrives()
            && !self.core.device.calendar.is_pending(self.offline_timer())
        {
            let at = self.core.device.now + after;
            self.core.device.calendar.schedule(self.offline_timer(), at);
        }
    }

    /// Goes off line on command, between two runs: no host waits, so it takes no time.
    pub(crate) fn go_off_line(&mut self) {
        assert!(
            self.core.device.is_idle() && self.host.requests.outstanding == 0,
            "a drive goes off line on command between runs"
        );
        if self.writer.zones.is_some() {
            self.choose_zones();
            self.encode_without_time();
        }
    }

    fn begin_offline(&mut self) {
        self.choose_zones();
        if self.encoder().charged {
            self.encode_more();
            self.kick();
        } else {
            self.encode_without_time();
        }
    }

    /// Gives code zones to the zones read most; what is stale then may be encoded.
    fn choose_zones(&mut self) {
        let changes = self.code_zones_mut().enter_offline();
        self.drop_stale_reads();
        for change in changes {
            let pages = self.code_zones().layout().code_zone_pages(change.code_zone);
            pages.for_each(|lpn| self.forget_code_page(Lpn(lpn)));
        }
        let budget = self.code_zones().stale_groups();
        let encoder = self.encoder();
        (encoder.budget, encoder.on) = (budget, true);
    }

    /// Encodes everything at once, off the clock.
    fn encode_without_time(&mut self) {
        let (busy, carried) = (self.core.device.folds.busy, self.core.device.folds.carried);
        self.core.device.timed = false;
        self.encode_more();
        self.settle();
        self.core.device.timed = true;
        (self.core.device.folds.busy, self.core.device.folds.carried) = (busy, carried);
    }

    /// Starts to encode further groups, as many as may be under way.
    fn encode_more(&mut self) {
        // A group that ends as soon as it is begun leads here again.
        if std::mem::replace(&mut self.encoder().starting, true) {
            return;
        }
        while self.encoder().on && self.encoder().budget > 0 && self.encoder().in_flight < self.encoder().at_once {
            let Some(encode) = self.code_zones_mut().next_encode() else {
                self.encoder().budget = 0;
                break;
            };
            self.encoder().budget -= 1;
            self.encoder().in_flight += 1;
            self.start_encode(encode);
        }
        let encoder = self.encoder();
        encoder.starting = false;
        if encoder.on && encoder.in_flight == 0 {
            encoder.on = false;
            self.expect_next_time();
        }
    }

    /// Reads the data of a group.
    fn start_encode(&mut self, encode: Encode) {
        let id = self.encoder().ops.take();
        let code = encode.lines.iter().map(|line| line.code.len()).sum();
        let data: Vec<Lpn> = encode.lines.iter().flat_map(|line| line.data.iter().copied()).collect();
        // One for itself, so that it does not end before all is asked for.
        self.encoder().ops[id] =
            EncodeOp { encode: Some(encode), left: 1, sums: vec![(P::default(), 0); code], places: Vec::new(), failed: false };
        for (page, &lpn) in data.iter().enumerate() {
            let slot = match self.core.map.lookup(lpn) {
                Place::Unmapped => continue,
                Place::Missing => {
                    self.encoder().ops[id].failed = true;
                    continue;
                }
                Place::At(slot) => slot,
            };
            let (ppn, index) = self.core.device.grid.page_of(slot);
            if let Some(image) = self.unsent(ppn) {
                let payload = self.core.device.images.contents(image).1[index as usize].clone();
                self.add_to_code(id, page, &payload);
                continue;
            }
            self.encoder().ops[id].left += 1;
            let owner = Owner::Encode { encode: id, page: page as u16 };
            self.core.submit(Command { owner, ppn, cause: Cause::Encode, ..Command::default() });
        }
        self.encode_part_read(id);
    }

    fn add_to_code(&mut self, id: Id, page: usize, payload: &P) {
        let op = &mut self.encoder().ops[id];
        let lines = &op.encode.as_ref().expect("a group being encoded").lines;
        let (data, code) = (lines[0].data.len(), lines[0].code.len());
        let line = page / data;
        for (i, (_, sum)) in lines[line].code.iter().enumerate() {
            if sum.contains(page % data) {
                let (sum, blocks) = &mut op.sums[line * code + i];
                sum.add(payload);
                *blocks |= 1 << (page % data);
            }
        }
    }

    /// A data page of a group was read, or could not be.
    pub(crate) fn encode_read_done(&mut self, command: &Command, id: Id, page: usize, clean: bool) {
        if clean {
            let payload = self.core.device.array.page(command.ppn).payload[0].clone();
            self.add_to_code(id, page, &payload);
        }
        self.encoder().ops[id].failed |= !clean;
        self.encode_part_read(id);
    }

    fn encode_part_read(&mut self, id: Id) {
        self.encoder().ops[id].left -= 1;
        if self.encoder().ops[id].left > 0 {
            return;
        }
        let stamp = self.stamp_of(id);
        if self.encoder().ops[id].failed || !self.code_zones().is_encoding(&stamp) {
            self.end_encode(id, false);
            return;
        }
        let code = self.encoder().ops[id].sums.len() as u32;
        self.encoder().ops[id].left = code;
        for which in 0..code {
            let lpn = self.code_page(id, which);
            let (log, _) = self.segment_of(lpn);
            if self.zones().waiting.contains_key(&log) || !self.write_code(id, which, log) {
                self.zones().waiting.entry(log).or_default().push_back(Waiting::Code { encode: id, which });
            }
        }
    }

    fn stamp_of(&mut self, id: Id) -> CodeStamp {
        self.encoder().ops[id].encode.as_ref().expect("a group being encoded").stamp
    }

    fn code_page(&mut self, id: Id, which: u32) -> Lpn {
        let lines = &self.encoder().ops[id].encode.as_ref().expect("a group being encoded").lines;
        let code = lines[0].code.len() as u32;
        lines[(which / code) as usize].code[(which % code) as usize].0
    }

    /// Writes a code page, if its segment has room; not where the data have changed meanwhile.
    pub(crate) fn write_code(&mut self, id: Id, which: u32, log: usize) -> bool {
        let (stamp, lpn) = (self.stamp_of(id), self.code_page(id, which));
        if !self.code_zones().is_encoding(&stamp) || self.core.device.is_dead(self.segment_of(lpn).1) {
            self.code_page_over(id, false);
            return true;
        }
        let Some(ppn) = self.core.map.take_page(log, Stream::Host) else {
            self.start_collecting_if_short(log);
            return false;
        };
        let (payload, blocks) = self.encoder().ops[id].sums[which as usize].clone();
        let slot = self.core.device.grid.slot(ppn, 0);
        let pin = self.core.map.publish(lpn, slot).pinned.unwrap_or(NONE);
        self.encoder().ops[id].places.push((lpn, slot));
        let oob = oob_covering(blocks);
        let image = self.core.device.images.open(ppn, oob);
        let contents = Contents { tag: OobTag::data(lpn), payload, update: self.core.device.next_rank() };
        self.core.device.images.fill(image, contents, NONE, pin);
        self.core.submit_program(image, Owner::Code { encode: id }, Cause::Encode);
        self.start_collecting_if_short(log);
        true
    }

    /// A code page was programmed, or could not be.
    pub(crate) fn code_programmed(&mut self, image: Id, id: Id, done: bool) {
        let (tag, _, pin) = self.core.device.images.slot(image, 0);
        if !done {
            self.lose(tag, self.core.device.grid.slot(self.core.device.images.slab[image].ppn, 0));
        }
        if pin != NONE {
            self.release(pin);
        }
        self.code_page_over(id, done);
    }

    pub(crate) fn code_page_over(&mut self, id: Id, done: bool) {
        let op = &mut self.encoder().ops[id];
        op.failed |= !done;
        op.left -= 1;
        if op.left == 0 {
            let written = !op.failed;
            self.end_encode(id, written);
        }
    }

    fn end_encode(&mut self, id: Id, written: bool) {
        let stamp = self.stamp_of(id);
        let op = std::mem::take(&mut self.encoder().ops[id]);
        self.encoder().ops.give(id);
        if written && self.code_zones_mut().encoded(&stamp) {
            self.core.device.record(Fact::GroupEncoded);
        } else {
            if !written {
                self.code_zones_mut().abandoned(&stamp);
            }
            // It may be encoded anew already, by another.
            let is_stale = self.code_zones().is_stale(&stamp);
            for (lpn, slot) in op.places {
                if is_stale || self.core.map.lookup(lpn) == Place::At(slot) {
                    self.forget_code_page(lpn);
                }
            }
        }
        self.encoder().in_flight -= 1;
        self.encode_more();
    }

    /// Whether no group is being encoded.
    pub(crate) fn has_no_encodes(&self) -> bool {
        self.writer.zones.as_ref().is_none_or(|zones| zones.encoder.in_flight == 0 && zones.encoder.ops.in_use() == 0)
    }
}
