//! Page ECC at work: a page that was read is decoded, and what the decoder says decides whether
//! it is clean, who hears of it, and how long that takes.
//!
//! Errors are drawn when a page is read (`nand::Cells`). Where pages carry all their bytes, they
//! really flip and the real decoder runs; else the count alone decides, which is the same: t
//! errors or fewer are corrected, and more never pass, because each codeword's data have a
//! CRC-32C (a decoder of t = 1 takes half of its overloads for corrections).
//!
//! A decoder serves the dies of one channel in order. While it works the die goes on, except
//! that an erase waits: what is decoded is still the page's contents to everybody else.

use crate::config::{CodecTiming, RefreshPolicy, Setup};
use crate::device::codec::{Codec, Word};
use crate::device::commands::{Command, Verb};
use crate::device::contents::HostPayload;
use crate::device::facts::Fact;
use crate::device::slab::Id;
use crate::engine::Engine;
use crate::power::rules::SafetyRule;
use crate::session::SetupError;
use nand::rber::Stress;
use nand::{Arrived, CellSettings, Cells, FlashArray, ReadOutcome, hours};
use protect::ecc::{Advice, CellModel, Codeword, Decoded, EccPolicy, EccShape, Layout, OOB_WORD, Profile};
use protect::{Protection, SchemeChoice};
use std::collections::VecDeque;
use std::sync::Arc;
use vocab::{BlockAddr, Capability, DieId, Nanos, PeCycles, Ppn, SimTime, Stream, Streams};

/// The nominal cells of a drive, as its controller knows them.
#[derive(Debug)]
struct Nominal(nand::rber::RberModel);

impl CellModel for Nominal {
    fn rber(&self, pe: f64, hours: f64) -> f64 {
        self.0.rber(&Stress { pe, retention_hours: hours, reads: 0.0 })
    }
}

/// A read whose page is being decoded.
#[derive(Clone, Copy, Debug)]
struct Decoding {
    command: Id,
    clean: bool,
    until: SimTime,
}

/// ECC of one drive.
#[derive(Clone)]
pub(crate) struct PageEcc {
    pub policy: Box<dyn EccPolicy>,
    pub layout: Layout,
    pub cells: Cells,
    timing: CodecTiming,
    codec: Codec,
    /// For each channel's decoder what it has to do, in order.
    decoders: Vec<VecDeque<Decoding>>,
    /// Reads of each die that are being decoded.
    of_die: Vec<u16>,
    /// How the errors of out-of-band bytes fall upon their words.
    oob_words: Stream,
    /// Whether a miscorrection passes for a correction. Drawn only where pages carry no bytes, so
    /// nothing else may draw from it.
    miscorrections: Stream,
    /// Whether pages are refreshed on the policy's advice.
    pub heeds_advice: bool,
}

fn cell_settings(setup: &Setup) -> Result<CellSettings, SetupError> {
    let errors = &setup.errors;
    let model = nand::rber::find(&errors.model).map_err(|e| SetupError::new(format!("errors.model: {e}")))?.model;
    let check = |name: &str, value: f64, valid: std::ops::RangeInclusive<f64>| {
        if valid.contains(&value) {
            return Ok(value);
        }
        Err(SetupError::new(format!("errors.{name}: found {value}, valid are {} to {}", valid.start(), valid.end())))
    };
    Ok(CellSettings {
        model,
        celsius: check("celsius", errors.celsius, -40.0..=125.0)?,
        reference_celsius: check("reference_celsius", errors.reference_celsius, -40.0..=125.0)?,
        activation_ev: check("activation_ev", errors.activation_ev, 0.0..=3.0)?,
        page_sigma: check("page_sigma", errors.page_sigma, 0.0..=3.0)?,
        block_sigma: check("block_sigma", errors.block_sigma, 0.0..=3.0)?,
        recharge_rber: check("recharge_rber", errors.recharge_rber, 0.0..=0.5)?,
    })
}

impl PageEcc {
    /// Whether the setup asks for codes or has errors to correct.
    pub fn is_wanted(setup: &Setup) -> bool {
        setup.ecc.policy != "none" || setup.errors.model != "none"
    }

    /// ECC of a drive; `None` where there is nothing to correct and no code to pay for.
    ///
    /// # Errors
    /// Names the setting at fault and what would be valid.
    pub fn new(setup: &Setup, streams: &Streams) -> Result<Option<Box<Self>>, SetupError> {
        let settings = cell_settings(setup)?;
        let geometry = &setup.drive.geometry;
        let codeword = Codeword::find(&setup.ecc.codeword).map_err(|e| SetupError::new(format!("ecc.codeword: {e}")))?;
        let choice = SchemeChoice { name: setup.ecc.policy.clone(), options: setup.ecc.options.clone() };
        let cells = Arc::new(Nominal(settings.model));
        let policy = protect::ecc::build(&choice, &EccShape { codeword, pages_per_block: geometry.pages_per_block, cells })?;
        if !Self::is_wanted(setup) {
            return Ok(None);
        }
        let layout = Layout::new(codeword, geometry, policy.strongest())
            .map_err(|e| SetupError::new(format!("ecc {}: {e}", choice.name)))?;
        let dies = geometry.dies();
        Ok(Some(Box::new(Self {
            codec: Codec::new(codeword, policy.strongest()),
            policy,
            layout,
            cells: Cells::new(settings, dies, geometry.pages_per_block, streams),
            timing: setup.ecc.codec,
            decoders: vec![VecDeque::new(); geometry.channels as usize],
            of_die: vec![0; dies as usize],
            oob_words: streams.stream("ecc/oob-words"),
            miscorrections: streams.stream("ecc/miscorrections"),
            heeds_advice: setup.refresh.policy == RefreshPolicy::Alarm,
        })))
    }

    /// Power was cut: codes and what is known of them stay.
    fn restart(&mut self, setup: &Setup, streams: &Streams) {
        self.policy.power_cut();
        let geometry = &setup.drive.geometry;
        self.cells =
            Cells::new(cell_settings(setup).expect("it was built before"), geometry.dies(), geometry.pages_per_block, streams);
        self.decoders.iter_mut().for_each(VecDeque::clear);
        self.of_die.fill(0);
        (self.oob_words, self.miscorrections) = (streams.stream("ecc/oob-words"), streams.stream("ecc/miscorrections"));
    }

    /// Bytes pass through encoder and decoder one in 20 ns: at t = 1 the paper's decoder needs
    /// 83.9 us for 4098 bytes.
    const BYTE: u64 = 20;

    /// Time to decode a codeword (FLARES section 4.1: 83.9 us at t = 1 to 194 us at t = 50 at
    /// worst for 4 KiB; in between a straight line). The paper says that the time also depends on
    /// the errors found and gives no figures: the search counts in proportion to them.
    fn decode_time(&self, t: Capability, errors: u32) -> Nanos {
        let t = u64::from(t.0);
        if self.timing == CodecTiming::Instant || t == 0 {
            return Nanos(0);
        }
        let codeword = &self.layout.codeword;
        let bytes = u64::from(codeword.bytes() + codeword.parity_bytes(Capability(t as u8)));
        let worst_4k = 83_900 + (t - 1) * (194_000 - 83_900) / 49;
        let search_4k = worst_4k.saturating_sub((4096 + 2 * t) * Self::BYTE);
        let search = search_4k * u64::from(codeword.bytes()) / 4096;
        let found = if self.timing == CodecTiming::FlaresWorst { t } else { u64::from(errors).min(t) };
        Nanos(bytes * Self::BYTE + search * found / t)
    }

    /// Time to encode so many logical pages.
    pub fn encode_time(&self, slots: u32) -> Nanos {
        if self.timing == CodecTiming::Instant || self.policy.strongest().0 == 0 {
            return Nanos(0);
        }
        Nanos(u64::from(slots * self.layout.per_slot * self.layout.codeword.bytes()) * Self::BYTE)
    }

    /// Whether the out-of-band bytes of a page can be read at this rate: each of their words has
    /// a code of its own. The words' errors are drawn together, and apart only if that matters.
    fn oob_is_readable(&mut self, die: DieId, rber: f64) -> bool {
        let (data, parity, t) = OOB_WORD;
        let words = self.layout.oob_words;
        let mut left = self.cells.errors(die, words * (data + parity), rber);
        if left <= t {
            return true;
        }
        for others in (0..words).rev() {
            let here = self.oob_words.binomial(left, 1.0 / f64::from(others + 1));
            if here > t {
                return false;
            }
            left -= here;
        }
        true
    }

    /// The command's page goes to its channel's decoder; when that is done with it. The decoder
    /// is free at once if nothing takes time.
    fn queue(&mut self, channel: usize, die: DieId, decoding: Decoding, time: Nanos) -> SimTime {
        let start = self.decoders[channel].back().map_or(decoding.until, |last| last.until.max(decoding.until));
        let until = start + time;
        self.decoders[channel].push_back(Decoding { until, ..decoding });
        self.of_die[die.index()] += 1;
        until
    }

    /// Whether the die's erases have to wait for its decoder.
    pub fn is_decoding(&self, die: DieId) -> bool {
        self.of_die[die.index()] > 0
    }

    /// Whether any decoder is at work.
    pub fn is_idle(&self) -> bool {
        self.of_die.iter().all(|&reads| reads == 0)
    }

    /// More dies and channels.
    pub fn grow(&mut self, channels: u32, dies: u32) {
        self.decoders.resize(channels as usize, VecDeque::new());
        self.of_die.resize(dies as usize, 0);
        self.cells.grow(dies);
    }
}

/// What decoding the codewords of a page said.
struct Verdict {
    decoded: Decoded,
    /// Codewords that came back wrong, and only their checksum says so.
    miscorrected: u32,
    /// Whether a codeword came back wrong and its checksum did not tell.
    undetected: bool,
    time: Nanos,
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// The decoder of a channel, in the calendar.
    pub(crate) fn decoder(&self, channel: usize) -> usize {
        self.refreshes() + 1 + channel
    }

    /// Reads the page of a command and decodes it: whether it is clean, and how long that took.
    #[inline]
    pub(crate) fn sense(&mut self, command: &Command) -> (bool, Nanos) {
        if !self.core.device.failed_programs.is_empty() && self.core.device.failed_programs.contains_key(&command.ppn.0) {
            // Nobody knows whether there is anything to be read.
            self.record(Fact::Read { ppn: command.ppn.0, cause: command.cause });
            return (false, Nanos(0));
        }
        let answered = self.core.device.array.read(command.ppn) == ReadOutcome::Clean;
        self.record(Fact::Read { ppn: command.ppn.0, cause: command.cause });
        if !self.power.remembered.is_empty() && self.power.remembered.contains(&command.ppn) {
            return (true, Nanos(0));
        }
        if !answered {
            let block = self.core.device.grid.split(command.ppn).0;
            self.power.checkpoint.iter_mut().for_each(|checkpoint| checkpoint.strike_out(block));
            return (false, Nanos(0));
        }
        if self.is_astray(command.ppn) && !self.breaks(SafetyRule::Compare) {
            self.record(Fact::Astray);
            self.care.damage.astray.insert(self.core.device.grid.split(command.ppn).0);
            self.core.retry = true;
            return (false, Nanos(0));
        }
        match self.core.device.ecc.take() {
            None => (true, Nanos(0)),
            Some(ecc) => self.sense_coded(ecc, command),
        }
    }

    /// Whether the out-of-band bytes that arrived are not those of the page: they name logical pages and the
    /// rank of the program, and the controller knows both. A controller compares with every read, while the
    /// data come in; only an array with such faults can give anything to find.
    fn is_astray(&self, ppn: Ppn) -> bool {
        match self.core.device.array.arrived() {
            Arrived::AsAsked => false,
            Arrived::Erased => true,
            Arrived::Other(other) => {
                let (came, wanted) = (self.core.device.array.page(other), self.core.device.array.page(ppn));
                (came.tags, came.oob.sequence) != (wanted.tags, wanted.oob.sequence)
            }
        }
    }

    fn sense_coded(&mut self, mut ecc: Box<PageEcc>, command: &Command) -> (bool, Nanos) {
        let (clean, time, advice) = self.decode(&mut ecc, command);
        let heeded = if clean { ecc.heeds_advice } else { !matches!(self.writer.protection, Protection::None) };
        self.core.device.ecc = Some(ecc);
        self.note_read(command.ppn);
        if advice == Advice::Rewrite && heeded {
            self.refresh_at(self.core.device.grid.split(command.ppn).0, self.core.device.now);
        }
        (clean, time)
    }

    /// Decodes what was read. A page that cannot be is to be rewritten where a scheme brings it
    /// back; where none does, a later read may still succeed.
    fn decode(&mut self, ecc: &mut PageEcc, command: &Command) -> (bool, Nanos, Advice) {
        let ppn = command.ppn;
        let view = self.core.device.array.page(ppn);
        let info = *self.core.device.array.block(self.core.device.grid.split(ppn).0);
        let (t, age) = (view.oob.ecc, self.core.device.now.since(view.written.min(self.core.device.now)));
        let rber = ecc.cells.rber(ppn, &info, view.oob.sequence, age);
        if !ecc.oob_is_readable(self.core.device.grid.die_of(ppn), rber) {
            // Not even how the page is encoded can be told.
            self.record(Fact::Decoded { codewords: 0, errors: 0, failed: 1, miscorrected: 0, time: Nanos(0) });
            return (false, Nanos(0), Advice::Rewrite);
        }
        let Verdict { decoded, miscorrected, undetected, time } = self.decode_words(ecc, command, t, rber);
        if undetected {
            // In a drive these would be wrong bytes. Here the page counts as unreadable besides.
            self.record(Fact::Checked { mismatch: true });
        }
        let Decoded { codewords, errors, failed } = decoded;
        self.record(Fact::Decoded { codewords, errors, failed, miscorrected, time });
        let hours = ecc.cells.reference_hours(hours(age));
        let advice = ecc.policy.read(ppn, &Profile { capability: t, pe: PeCycles(info.pe), hours }, decoded);
        if failed > 0 { (false, time, Advice::Rewrite) } else { (true, time, advice) }
    }

    fn decode_words(&mut self, ecc: &mut PageEcc, command: &Command, t: Capability, rber: f64) -> Verdict {
        let die = self.core.device.grid.die_of(command.ppn);
        let bits = ecc.layout.codeword.bits(t);
        let payload = self.core.device.array.page(command.ppn).payload;
        let mut verdict = Verdict {
            decoded: Decoded { codewords: 0, errors: 0, failed: 0 },
            miscorrected: 0,
            undetected: false,
            time: Nanos(0),
        };
        for slot in command.first..command.first + command.count {
            for word in 0..ecc.layout.per_slot {
                let errors = ecc.cells.errors(die, bits, rber);
                let failed = errors > u32::from(t.0);
                let found = if P::BYTES {
                    let positions = ecc.cells.positions(die, bits, errors);
                    let stored = payload.get(usize::from(slot)).and_then(P::bytes);
                    ecc.codec.decode(t, stored, word, &positions)
                } else if failed && ecc.miscorrections.chance(ecc.codec.miscorrects(t)) {
                    Word::Miscorrected
                } else {
                    Word::Failed
                };
                verdict.time += ecc.decode_time(t, errors);
                verdict.miscorrected += u32::from(failed && found == Word::Miscorrected);
                verdict.undetected |= found == Word::Undetected;
                verdict.decoded.codewords += 1;
                verdict.decoded.failed += u32::from(failed);
                verdict.decoded.errors += if failed { 0 } else { errors };
            }
        }
        verdict
    }

    /// The transfer of a command's page ended; a read is decoded. True if that command is taken
    /// care of.
    pub(crate) fn decode_later(&mut self, id: Id) -> bool {
        let command = self.core.device.commands.slab[id];
        if command.verb != Verb::Read {
            return false;
        }
        let (clean, time) = self.sense(&command);
        if time == Nanos(0) {
            self.read_done(id, &command, clean);
            self.core.device.commands.slab.give(id);
            return true;
        }
        let die = self.core.device.grid.die_of(command.ppn);
        let channel = self.core.device.grid.channel_of(die).index();
        let (resource, now) = (self.decoder(channel), self.core.device.now);
        let ecc = self.core.device.ecc.as_mut().expect("checked above");
        let until = ecc.queue(channel, die, Decoding { command: id, clean, until: now }, time);
        if !self.core.device.calendar.is_pending(resource) {
            self.core.device.calendar.schedule(resource, until);
        }
        true
    }

    /// A decoder is done with a page.
    pub(crate) fn decoded(&mut self, channel: usize) {
        let resource = self.decoder(channel);
        let ecc = self.core.device.ecc.as_mut().expect("decoders belong to ECC");
        let Decoding { command: id, clean, .. } = ecc.decoders[channel].pop_front().expect("a decoder works on something");
        match ecc.decoders[channel].front() {
            Some(next) => self.core.device.calendar.schedule(resource, next.until),
            None => self.core.device.calendar.clear(resource),
        }
        let command = self.core.device.commands.slab[id];
        let die = self.core.device.grid.die_of(command.ppn);
        ecc.of_die[die.index()] -= 1;
        self.read_done(id, &command, clean);
        self.core.device.commands.slab.give(id);
        // An erase may have waited for this.
        if self.core.device.dies[die.index()].service.is_none() {
            self.core.device.kicks.push(die);
        }
    }

    /// Time that a command's page is encoded before it is sent.
    pub(crate) fn encode_time(&self, verb: Verb) -> Nanos {
        match (&self.core.device.ecc, verb) {
            (Some(ecc), Verb::Program | Verb::Recharge) => ecc.encode_time(self.core.device.grid.slots_per_page()),
            _ => Nanos(0),
        }
    }

    /// The page was programmed with this code.
    pub(crate) fn note_encoded(&mut self, ppn: Ppn, t: Capability) {
        let time = self.encode_time(Verb::Program);
        self.record(Fact::Encoded { capability: t.0, time });
        self.note_programmed(ppn);
    }

    /// How the page is programmed, now.
    pub(crate) fn capability(&mut self, ppn: Ppn) -> Capability {
        let pe = PeCycles(self.core.device.array.block(self.core.device.grid.split(ppn).0).pe);
        self.core.device.ecc.as_mut().map_or(Capability(0), |ecc| ecc.policy.program(ppn, pe))
    }

    /// The drive was mounted: codes are those that the pages say, policies begin anew. What the drive had
    /// `before` says what was built for it.
    pub(crate) fn resume_ecc(&mut self, before: Option<&mut Self>, setup: &Setup, streams: &Streams) {
        if let Some(before) = before {
            self.core.device.ecc = before.core.device.ecc.take();
            if let Some(ecc) = &mut self.core.device.ecc {
                ecc.restart(setup, streams);
                self.resume_refresh(&before.care.refresh, setup);
            }
            return;
        }
        self.core.device.ecc = PageEcc::new(setup, streams).expect("it was built before");
        if self.core.device.ecc.is_some() {
            self.start_refresh(setup);
        }
    }

    /// The drive has its age: from now on its pages have errors, and a code that suits their age.
    pub(crate) fn start_ecc(&mut self, setup: &Setup, streams: &Streams) -> Result<(), SetupError> {
        self.core.device.ecc = PageEcc::new(setup, streams)?;
        if self.core.device.ecc.is_none() {
            return Ok(());
        }
        for block in (0..self.core.device.grid.geometry().blocks()).map(BlockAddr) {
            if self.core.device.array.block(block).next_page > 0 {
                let t = self.capability(self.core.device.grid.ppn(block, 0));
                self.core.device.array.set_ecc(block, t);
            }
        }
        self.start_refresh(setup);
        Ok(())
    }
}
