//! Bit errors: where the rate of a model becomes errors in a page that is read.
//!
//! The model gives the rate of a mean page of a mean block. Blocks differ from each other, and
//! pages within them, each by a log-normal factor of mean 1 (theory.md section 2.1 item 6: errors
//! per frame are over-dispersed, and a plain binomial makes ECC look too good). A block keeps its
//! factor for life, a page until it is programmed again. Given its rate, a page's bits fail
//! independently, anew at each read.
//!
//! How many errors, and where, come from streams of their own, for each die: an engine that only
//! counts meets the same errors as one that flips bits.

use crate::BlockInfo;
use crate::rber::{RberModel, Stress, acceleration};
use vocab::{DieId, Nanos, Ppn, Stream, Streams};

/// What the cells of a drive are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellSettings {
    /// Errors of a mean page.
    pub model: RberModel,
    /// Temperature at which data are kept, and the one the model's retention times are meant at.
    pub celsius: f64,
    /// Reference temperature of the model.
    pub reference_celsius: f64,
    /// Activation energy of charge loss in electron volts (JESD218: 1.1).
    pub activation_ev: f64,
    /// Standard deviation of the logarithm of a page's factor.
    pub page_sigma: f64,
    /// Standard deviation of the logarithm of a block's factor.
    pub block_sigma: f64,
    /// Rate that each recharge of a page in place adds: it disturbs the neighbours.
    pub recharge_rber: f64,
}

/// The cells of a drive.
#[derive(Clone, Debug)]
pub struct Cells {
    settings: CellSettings,
    acceleration: f64,
    pages_per_block: u32,
    streams: Streams,
    counts: Vec<Stream>,
    positions: Vec<Stream>,
}

const NANOS_PER_HOUR: f64 = 3.6e12;

/// A span of time in hours.
#[must_use]
pub fn hours(span: Nanos) -> f64 {
    span.0 as f64 / NANOS_PER_HOUR
}

/// So many hours, to the nanosecond below.
#[must_use]
pub fn span_of(hours: f64) -> Nanos {
    Nanos((hours * NANOS_PER_HOUR) as u64)
}

impl Cells {
    /// Cells of a drive with so many dies.
    #[must_use]
    pub fn new(settings: CellSettings, dies: u32, pages_per_block: u32, streams: &Streams) -> Self {
        let of_die = |what: &str| (0..dies).map(|die| streams.stream(&format!("nand/die{die}/{what}"))).collect();
        Self {
            acceleration: acceleration(settings.activation_ev, settings.celsius, settings.reference_celsius),
            settings,
            pages_per_block,
            streams: *streams,
            counts: of_die("errors"),
            positions: of_die("positions"),
        }
    }

    /// Whether there are any errors at all.
    #[must_use]
    pub fn is_ideal(&self) -> bool {
        self.settings.model == RberModel::None
    }

    /// The model that errors are drawn from.
    #[must_use]
    pub fn model(&self) -> &RberModel {
        &self.settings.model
    }

    /// Rate of a mean page of a block, its data kept for `age`: what a controller can know.
    #[must_use]
    pub fn nominal(&self, block: &BlockInfo, age: Nanos) -> f64 {
        let model = &self.settings.model;
        let recharged = f64::from(block.recharges) * self.settings.recharge_rber;
        let modelled = model.rber(&Stress {
            pe: block.pe.into(),
            retention_hours: self.reference_hours(hours(age)),
            reads: model.read_count().of_block(block.reads.into(), self.pages_per_block),
        });
        (modelled + recharged).min(0.5)
    }

    /// Hours at the model's temperature that do what `hours` at the drive's do.
    #[must_use]
    pub fn reference_hours(&self, hours: f64) -> f64 {
        hours * self.acceleration
    }

    /// Rate of this very page: programmed as number `sequence`, `age` ago.
    #[must_use]
    pub fn rber(&self, ppn: Ppn, block: &BlockInfo, sequence: u64, age: Nanos) -> f64 {
        let factor = |sigma: f64, name: &str, number: u64| {
            if sigma == 0.0 {
                return 1.0;
            }
            (sigma * self.streams.stream_of(name, number).normal() - sigma * sigma / 2.0).exp()
        };
        let of_block = factor(self.settings.block_sigma, "nand/block", u64::from(ppn.0 / self.pages_per_block));
        let of_page = factor(self.settings.page_sigma, "nand/page", sequence << 32 | u64::from(ppn.0));
        (self.nominal(block, age) * of_block * of_page).min(0.5)
    }

    /// Errors among `bits` that are read at this rate.
    #[inline]
    pub fn errors(&mut self, die: DieId, bits: u32, rber: f64) -> u32 {
        if rber == 0.0 { 0 } else { self.counts[die.index()].binomial(bits, rber) }
    }

    /// Which of `bits` are in error.
    pub fn positions(&mut self, die: DieId, bits: u32, errors: u32) -> Vec<u32> {
        self.positions[die.index()].distinct(errors, bits)
    }

    /// More dies.
    pub fn grow(&mut self, dies: u32) {
        let grown = Self::new(self.settings, dies, self.pages_per_block, &self.streams);
        let old = self.counts.len();
        self.counts.extend(grown.counts.into_iter().skip(old));
        self.positions.extend(grown.positions.into_iter().skip(old));
    }
}
