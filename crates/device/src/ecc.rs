//! Page ECC at work: a page that was read is decoded, and what the decoder says decides whether
//! the read is clean, whether the policy and the refresh are told, and how long decoding takes.
//!
//! Errors are drawn when a page is read (`nand::Cells`). Where pages carry all their bytes, they
//! really flip and the real decoder runs; else the count alone decides, which is the same under BCH: t
//! errors or fewer are corrected, and more never pass, because each codeword's data have a
//! CRC-32C (a decoder of t = 1 takes half of its overloads for corrections). Of LDPC a measured curve decides
//! whatever pages carry, and where they carry bytes the decoder runs besides: words at which it gives up are counted.
//!
//! A decoder serves the dies of one channel in order. While it works the die goes on, except
//! that an erase waits: what is decoded is still the page's contents to everybody else.

use crate::codec::Codec;
use crate::config::{CodecTiming, Ecc, EccError, Errors};
use crate::ladder::Ladder;
use crate::ldpc::WordRead;
use crate::slab::CommandId;
use ecc::ldpc::{ITERATIONS_MAX, LdpcCurves};
use ecc::{CellModel, CodeKind, Codeword, EccPolicy, EccShape, Layout, OOB_WORD};
use nand::rber::{RberModel, Stages, Stress, TlcSet};
use nand::{CellSettings, Cells, ReadOutcome, StoredWord};
use std::collections::VecDeque;
use std::sync::Arc;
use vocab::SchemeChoice;
use vocab::{Capability, DieId, Geometry, Nanos, SimTime, Stream, Streams};

/// The nominal cells of a drive, as its controller knows them.
#[derive(Debug)]
struct Nominal(RberModel);

impl CellModel for Nominal {
    fn rber(&self, pe: f64, hours: f64) -> f64 {
        self.0.rber(&Stress { pe, retention_hours: hours, reads: 0.0 })
    }

    fn best_rber(&self, pe: f64, hours: f64) -> f64 {
        self.0.best_rber(&Stress { pe, retention_hours: hours, reads: 0.0 })
    }
}

/// A read whose page is being decoded.
#[derive(Clone, Copy, Debug)]
pub struct Decoding {
    /// The command that read the page.
    pub command: CommandId,
    /// Outcome of the read once it is decoded.
    pub outcome: ReadOutcome,
    /// When the decoder is done.
    pub until: SimTime,
}

/// Which pages the engine is told to write again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrites {
    /// Those of which the policy says that they soon cannot be read.
    pub on_advice: bool,
    /// Those that could not be decoded, where something else brings their contents back.
    pub unreadable: bool,
}

/// Inputs from which page ECC is built.
#[derive(Clone, Copy, Debug)]
pub struct EccSetup<'a> {
    /// Policy and codec.
    pub ecc: &'a Ecc,
    /// The cells.
    pub errors: &'a Errors,
    /// The drive.
    pub geometry: &'a Geometry,
    /// Neighbouring pages that are of the same bit of their word line.
    pub sensed: u32,
    /// Bits of a cell, and by how many times fewer errors pages have in SLC mode.
    pub slc: (u32, f64),
    /// Which pages the engine is told to write again.
    pub rewrites: Rewrites,
}

/// Bits that a policy flushes of each page; `None`: it keeps nothing of pages in RAM.
///
/// # Errors
/// Names the setting at fault and what would be valid.
pub fn partial_bits(ecc: &Ecc, errors: &Errors, geometry: &Geometry) -> Result<Option<u32>, EccError> {
    let setup = EccSetup { ecc, errors, geometry, sensed: 1, slc: (1, 1.0), rewrites: Rewrites::default() };
    let codeword = find_codeword(ecc)?;
    let policy = build_policy(&setup, codeword, cell_settings(errors)?.model)?;
    let codewords = geometry.page_size.0 / u64::from(codeword.bytes());
    Ok(policy.partial_bits(codewords.max(1) as u32))
}

fn find_codeword(ecc: &Ecc) -> Result<Codeword, EccError> {
    let kind = match ecc.own {
        Some(_) => CodeKind::Bch,
        None => ecc::find(&ecc.policy).map_err(|e| EccError::new(e.to_string()))?.kind,
    };
    let codeword = Codeword::find(&ecc.codeword).map_err(|e| EccError::new(format!("ecc.codeword: {e}")))?;
    Ok(Codeword { kind, ..codeword })
}

fn build_policy(setup: &EccSetup<'_>, codeword: Codeword, model: RberModel) -> Result<Box<dyn EccPolicy>, EccError> {
    if let Some(own) = &setup.ecc.own {
        return Ok(own.build());
    }
    let choice = SchemeChoice { name: setup.ecc.policy.clone(), options: setup.ecc.options.clone() };
    let (pages_per_block, cells) = (setup.geometry.pages_per_block, Arc::new(Nominal(model)));
    ecc::build(&choice, &EccShape { codeword, pages_per_block, cells }).map_err(|e| EccError::new(e.to_string()))
}

/// ECC of one drive.
#[derive(Clone)]
pub struct PageEcc {
    /// Decides how strong the code of each page is.
    pub policy: Box<dyn EccPolicy>,
    /// Where codewords lie in a page.
    pub layout: Layout,
    /// Draws the errors of each read.
    pub cells: Cells,
    timing: CodecTiming,
    /// Encoder and decoder.
    pub codec: Codec,
    /// For each channel's decoder what it has to do, in order.
    pub decoders: Vec<VecDeque<Decoding>>,
    /// Reads of each die that are being decoded.
    pub of_die: Vec<u16>,
    /// How the errors of the OOB bytes are distributed over their words.
    oob_words: Stream,
    /// Whether a miscorrection passes for a correction. Drawn only where pages carry no bytes, so
    /// nothing else may draw from it.
    pub miscorrections: Stream,
    /// Errors that LDPC codes correct; `None`: the codes are BCH.
    curves: Option<&'static LdpcCurves>,
    /// How sure soft reads are of each bit. Drawn only where pages carry bytes, so nothing else may draw from it.
    pub(crate) sureness: Stream,
    /// Which codewords an LDPC decoder fails at, of those with as many errors.
    pub(crate) luck: Stream,
    /// Reads after one that cannot be decoded.
    pub ladder: Ladder,
    /// Which pages the engine is told to write again.
    pub rewrites: Rewrites,
}

fn cell_settings(errors: &Errors) -> Result<CellSettings, EccError> {
    let model = nand::rber::find(&errors.model).map_err(|e| EccError::new(format!("errors.model: {e}")))?.model;
    let model = in_stages(model, errors)?;
    let check = |name: &str, value: f64, valid: std::ops::RangeInclusive<f64>| {
        if valid.contains(&value) {
            return Ok(value);
        }
        Err(EccError::new(format!("errors.{name}: found {value}, valid are {} to {}", valid.start(), valid.end())))
    };
    Ok(CellSettings {
        model,
        celsius: check("celsius", errors.celsius, -40.0..=125.0)?,
        reference_celsius: check("reference_celsius", errors.reference_celsius, -40.0..=125.0)?,
        activation_ev: check("activation_ev", errors.activation_ev, 0.0..=3.0)?,
        page_sigma: check("page_sigma", errors.page_sigma, 0.0..=3.0)?,
        block_sigma: check("block_sigma", errors.block_sigma, 0.0..=3.0)?,
        recharge_rber: check("recharge_rber", errors.recharge_rber, 0.0..=0.5)?,
        persistent: errors.persistent,
        unaccelerated: check("unaccelerated", errors.unaccelerated, 0.0..=1.0)?,
        cross_shift: {
            let programmed = check("program_celsius", errors.program_celsius.unwrap_or(errors.celsius), -40.0..=125.0)?;
            let read = check("read_celsius", errors.read_celsius.unwrap_or(programmed), -40.0..=125.0)?;
            check("cross_shift", errors.cross_shift, 0.0..=2.0)? * (read - programmed) / 10.0
        },
        cross_step: errors.cross_shift / 10.0,
    })
}

/// A model with stages of retention gets those of the settings.
fn in_stages(model: RberModel, errors: &Errors) -> Result<RberModel, EccError> {
    let Errors { stage_1_hours: first_hours, stage_6_hours: last_hours, .. } = *errors;
    if !(first_hours > 0.0 && first_hours < last_hours && last_hours <= 1e6) {
        let found = format!("errors.stage_1_hours, errors.stage_6_hours: found {first_hours} and {last_hours}");
        return Err(EccError::new(format!("{found}, valid are above 0, the second above the first, up to 1000000")));
    }
    Ok(match model {
        RberModel::TlcSet(_) => RberModel::TlcSet(TlcSet { stages: Stages { first_hours, last_hours } }),
        other => other,
    })
}

fn cells(setup: &EccSetup<'_>, settings: CellSettings, streams: &Streams) -> Cells {
    let cells = Cells::new(settings, setup.geometry.dies(), setup.geometry.pages_per_block, streams);
    cells.sensed_together(setup.sensed).with_slc(setup.slc.0, setup.slc.1)
}

impl PageEcc {
    /// Whether the setup asks for codes or has errors to correct.
    pub fn is_wanted(ecc: &Ecc, errors: &Errors) -> bool {
        ecc.policy != "none" || errors.model != "none"
    }

    /// ECC of a drive; `None` where there is nothing to correct and no code to pay for.
    ///
    /// # Errors
    /// Names the setting at fault and what would be valid.
    pub fn new(setup: &EccSetup<'_>, streams: &Streams) -> Result<Option<Box<Self>>, EccError> {
        let settings = cell_settings(setup.errors)?;
        let geometry = setup.geometry;
        let codeword = find_codeword(setup.ecc)?;
        let policy = build_policy(setup, codeword, settings.model)?;
        let ladder = Ladder::new(setup.ecc, settings.model.retry_entries(), streams)?;
        if !Self::is_wanted(setup.ecc, setup.errors) {
            return Ok(None);
        }
        let layout = Layout::new(codeword, geometry, policy.strongest())
            .map_err(|e| EccError::new(format!("ecc {}: {e}", setup.ecc.policy)))?;
        let dies = geometry.dies();
        Ok(Some(Box::new(Self {
            codec: Codec::new(codeword, policy.strongest()),
            policy,
            layout,
            cells: cells(setup, settings, streams),
            timing: setup.ecc.codec,
            decoders: vec![VecDeque::new(); geometry.channels as usize],
            of_die: vec![0; dies as usize],
            oob_words: streams.stream("ecc/oob-words"),
            miscorrections: streams.stream("ecc/miscorrections"),
            curves: if codeword.kind == CodeKind::Ldpc { LdpcCurves::of(codeword.code.data_bits) } else { None },
            sureness: streams.stream("ecc/ldpc-sureness"),
            luck: streams.stream("ecc/ldpc"),
            ladder,
            rewrites: setup.rewrites,
        })))
    }

    /// Power was cut: codes and what is known of them stay.
    pub fn restart(&mut self, setup: &EccSetup<'_>, streams: &Streams) {
        self.policy.power_cut();
        let warmth = self.cells.warmth().clone();
        self.cells = cells(setup, cell_settings(setup.errors).expect("it was built before"), streams);
        self.cells.set_warmth(warmth);
        self.decoders.iter_mut().for_each(VecDeque::clear);
        self.of_die.fill(0);
        (self.luck, self.sureness) = (streams.stream("ecc/ldpc"), streams.stream("ecc/ldpc-sureness"));
        self.ladder.restart(streams);
        (self.oob_words, self.miscorrections) = (streams.stream("ecc/oob-words"), streams.stream("ecc/miscorrections"));
    }

    /// Bytes pass through encoder and decoder one in 20 ns: at t = 1 the paper's decoder needs
    /// 83.9 us for 4098 bytes.
    const BYTE: u64 = 20;

    /// Time to decode a codeword (FLARES section 4.1: 83.9 us at t = 1 to 194 us at t = 50 at
    /// worst for 4 KiB; in between a straight line). The paper says that the time also depends on
    /// the errors found and gives no figures: the search counts in proportion to them.
    pub fn decode_time(&self, t: Capability, errors: u32) -> Nanos {
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

    /// An LDPC codeword with this many errors: whether it fails, of those that fail less often than `luck` none, and the time that
    /// the decoder takes; `None`: the code is BCH.
    pub(crate) fn decode_ldpc(&self, read: &WordRead, errors: u32, luck: f64) -> Option<(bool, Nanos)> {
        let curves = self.curves?;
        let curve = curves.curve(read.t, read.stage);
        let failed = curve.failure(errors, read.rber) > luck;
        let time = match self.timing {
            CodecTiming::Instant => Nanos(0),
            CodecTiming::Flares => curves.decode_time(curve.iterations(errors, read.rber, !failed)),
            CodecTiming::FlaresWorst => curves.decode_time(ITERATIONS_MAX),
        };
        Some((failed, time))
    }

    /// How far a codeword is from the mean of those at its rate, in standard deviations of their errors.
    pub(crate) fn deviation(bits: u32, rber: f64, errors: u32) -> f64 {
        let mean = f64::from(bits) * rber;
        let deviation = (mean * (1.0 - rber)).sqrt();
        if deviation > 0.0 { (f64::from(errors) - mean) / deviation } else { 0.0 }
    }

    /// Failure curves of the LDPC codes; `None`: the codes are BCH.
    pub(crate) fn curves(&self) -> Option<&'static LdpcCurves> {
        self.curves
    }

    /// Whether the codes are LDPC.
    pub fn is_ldpc(&self) -> bool {
        self.curves.is_some()
    }

    /// Time to encode this many logical pages. An encoder of quasi-cyclic LDPC codes keeps up with the bus.
    pub fn encode_time(&self, slots: u32) -> Nanos {
        if self.timing == CodecTiming::Instant || self.is_ldpc() || self.policy.strongest().0 == 0 {
            return Nanos(0);
        }
        Nanos(u64::from(slots * self.layout.per_slot * self.layout.codeword.bytes()) * Self::BYTE)
    }

    /// An LDPC codeword's place in the distribution of outcomes, from 0 to 1; 0 under BCH, where the count of errors decides.
    pub(crate) fn luck_of(&mut self, word: &StoredWord) -> f64 {
        if !self.is_ldpc() {
            return 0.0;
        }
        self.cells.of_word("ecc/word/ldpc", word).as_mut().unwrap_or(&mut self.luck).unit()
    }

    /// Whether the out-of-band bytes of a page can be read at this rate: each of their words has
    /// a code of its own. The words' errors are drawn together, and apart only if that matters. Under LDPC they are part of
    /// the codewords.
    pub(crate) fn oob_is_readable(&mut self, oob: &StoredWord, rber: f64) -> bool {
        if self.is_ldpc() {
            return true;
        }
        let (data, parity, t) = OOB_WORD;
        let (words, bits) = (self.layout.oob_words, data + parity);
        let errors = self.cells.errors(oob, words * bits, rber);
        if errors <= t {
            return true;
        }
        if self.cells.are_persistent() {
            let positions = self.cells.positions(oob, words * bits, errors);
            return positions.chunk_by(|a, b| a / bits == b / bits).all(|word| word.len() as u32 <= t);
        }
        let mut left = errors;
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
    pub fn queue(&mut self, channel: usize, die: DieId, decoding: Decoding, time: Nanos) -> SimTime {
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
