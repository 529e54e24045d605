//! Bit errors: where the rate of a model becomes errors in a page that is read.
//!
//! The model gives the rate of a mean page of a mean block. Blocks differ from each other, and
//! pages within them, each by a log-normal factor of mean 1 (theory.md section 2.1 item 6: errors
//! per frame are over-dispersed, and a plain binomial makes ECC look too good). A block keeps its
//! factor for life, a page until it is programmed again. Given its rate, a page's bits fail
//! independently: again at each read, or, where errors are persistent, once for each program. Then a codeword
//! that is read twice at the same rate has the same errors, and at a higher rate those and more.
//!
//! How many errors, and where, come from streams of their own, for each die or, where errors are persistent, for each codeword that
//! is programmed: an engine that only counts meets the same errors as one that flips bits.

use crate::BlockInfo;
use crate::rber::{PageSite, RberModel, Stress, acceleration, aged};
use crate::warmth::{Temperature, Warmth, hours};
use vocab::{DieId, Nanos, Ppn, SimTime, Stream, Streams};

/// Properties of a drive's cells.
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
    /// Share of charge loss that heat does not speed up.
    pub unaccelerated: f64,
    /// How far a read at another temperature than that of the program moves the best references, in units of the model.
    pub cross_shift: f64,
    /// Added shift for each kelvin between the temperatures of program and read, where the drive's temperature changes.
    pub cross_step: f64,
    /// Standard deviation of the logarithm of a page's factor.
    pub page_sigma: f64,
    /// Standard deviation of the logarithm of a block's factor.
    pub block_sigma: f64,
    /// Rate that each recharge of a page in place adds: it disturbs the neighbours.
    pub recharge_rber: f64,
    /// True: each program draws the bit errors of its codewords, and all reads find these. False: each read draws them again.
    pub persistent: bool,
}

impl CellSettings {
    /// How many hours of the model an hour at this temperature is.
    fn acceleration_at(&self, celsius: f64) -> f64 {
        let activated = acceleration(self.activation_ev, celsius, self.reference_celsius);
        if self.unaccelerated == 0.0 { activated } else { aged(activated, self.unaccelerated) }
    }
}

/// The cells of a drive.
#[derive(Clone, Debug)]
pub struct Cells {
    settings: CellSettings,
    acceleration: f64,
    /// Temperatures that the drive had, if it had several.
    warmth: Warmth,
    pages_per_block: u32,
    /// Pages of each bit of a word line.
    sensed: u32,
    /// Bits of a cell, and by how many times fewer errors a page has in SLC mode.
    slc: (u32, f64),
    streams: Streams,
    counts: Vec<Stream>,
    positions: Vec<Stream>,
}

/// Properties that decide the rate of one page, whatever references it is read with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageCells {
    /// Stress of its cells.
    pub stress: Stress,
    /// Where it lies in its block.
    pub site: PageSite,
    /// How far something else than age has moved its optimum references.
    extra: f64,
    /// Part of the rate that recharges add.
    recharged: f64,
    /// By which factors block and page differ from the mean.
    factors: (f64, f64),
}

/// A codeword in flash, since it was programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredWord {
    /// Its die.
    pub die: DieId,
    /// Its page.
    pub ppn: Ppn,
    /// Number of the program.
    pub sequence: u64,
    /// Its number in the page.
    pub number: u32,
}

impl StoredWord {
    /// Number of what is no codeword of data: the OOB bytes.
    pub const OOB: u32 = u32::MAX;

    /// Two codewords that are stored at the same time never have the same: that in the page is in the top bits, which
    /// numbers of programs reach after 2^25 of them at the earliest.
    fn key(&self) -> u64 {
        (self.sequence << 32 | u64::from(self.ppn.0)) ^ u64::from(self.number).reverse_bits()
    }
}

impl Cells {
    /// Cells of a drive with this many dies.
    #[must_use]
    pub fn new(settings: CellSettings, dies: u32, pages_per_block: u32, streams: &Streams) -> Self {
        let of_die = |what: &str| (0..dies).map(|die| streams.stream(&format!("nand/die{die}/{what}"))).collect();
        Self {
            acceleration: settings.acceleration_at(settings.celsius),
            warmth: Warmth::default(),
            settings,
            pages_per_block,
            sensed: 1,
            slc: (1, 1.0),
            streams: *streams,
            counts: of_die("errors"),
            positions: of_die("positions"),
        }
    }

    /// The same where this many neighbouring pages are of the same bit of their word line: they are sensed together, and to error
    /// models they are one page.
    #[must_use]
    pub fn sensed_together(self, pages: u32) -> Self {
        Self { sensed: pages, pages_per_block: self.pages_per_block / pages, ..self }
    }

    /// The same where blocks may be in SLC mode: a cell usually stores this many bits, and a page in that mode has this many times
    /// fewer errors than it would have otherwise.
    #[must_use]
    pub fn with_slc(self, bits: u32, fewer_errors: f64) -> Self {
        Self { slc: (bits, 1.0 / fewer_errors), ..self }
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
        let recharged = f64::from(block.recharges) * self.settings.recharge_rber;
        let share = if block.is_slc() { self.slc.1 } else { 1.0 };
        let stress = self.stress(block, self.reference_hours(hours(age)));
        ((self.settings.model.rber(&stress) + recharged) * share).min(0.5)
    }

    /// From now on the drive is at this temperature.
    pub fn warm(&mut self, now: SimTime, celsius: f64) {
        let before = Temperature { celsius: self.celsius(), acceleration: self.acceleration };
        self.acceleration = self.settings.acceleration_at(celsius);
        self.warmth.change(now, before, Temperature { celsius, acceleration: self.acceleration });
    }

    /// The temperature of the drive.
    #[must_use]
    pub fn celsius(&self) -> f64 {
        self.warmth.now().map_or(self.settings.celsius, |(celsius, _)| celsius)
    }

    /// Temperatures that the drive had.
    #[must_use]
    pub fn warmth(&self) -> &Warmth {
        &self.warmth
    }

    /// As [`Self::set_warmth`], of temperatures in degrees Celsius since some times on, in order.
    pub fn had_temperatures(&mut self, spells: impl Iterator<Item = (SimTime, f64)>) {
        self.set_warmth(Warmth::of(spells, |celsius| self.settings.acceleration_at(celsius)));
    }

    /// The drive had these temperatures.
    pub fn set_warmth(&mut self, warmth: Warmth) {
        self.acceleration = warmth.now().map_or(self.acceleration, |(_, acceleration)| acceleration);
        self.warmth = warmth;
    }

    /// How old data are: the time since they were written then, or, where the drive had other temperatures since, the time at the
    /// present one that does as much.
    #[inline]
    #[must_use]
    pub fn age(&self, written: SimTime, now: SimTime) -> Nanos {
        if self.warmth.is_constant() { now.since(written.min(now)) } else { self.warmth.age(written.min(now), now) }
    }

    /// Hours of the error model since data were written.
    #[inline]
    #[must_use]
    pub fn model_hours(&self, written: SimTime, now: SimTime) -> f64 {
        let written = written.min(now);
        if self.warmth.is_constant() {
            self.reference_hours(hours(now.since(written)))
        } else {
            self.warmth.model_hours(written, now)
        }
    }

    /// As [`Self::page`], of data that were written then.
    #[inline]
    #[must_use]
    pub fn page_at(&self, ppn: Ppn, block: &BlockInfo, sequence: u64, written: SimTime, now: SimTime) -> PageCells {
        let mut page = self.page_of(ppn, block, sequence, self.model_hours(written, now));
        if !self.warmth.is_constant() {
            page.extra += self.settings.cross_step * self.warmth.risen_since(written);
        }
        page
    }

    /// Hours at the model's temperature that do what `hours` at the drive's do.
    #[must_use]
    pub fn reference_hours(&self, hours: f64) -> f64 {
        hours * self.acceleration
    }

    /// Rate of this very page with the default references: programmed as number `sequence`, `age` ago.
    #[must_use]
    pub fn rber(&self, ppn: Ppn, block: &BlockInfo, sequence: u64, age: Nanos) -> f64 {
        self.rber_with(&self.page(ppn, block, sequence, age), 0.0)
    }

    /// The page at `ppn` without the factors of its page and block, which odds integrate over ([`Self::variation`]). Its wear is that of
    /// `block`; its data were written `retention_hours` ago, in hours of the error model.
    #[must_use]
    pub fn mean_page(&self, ppn: Ppn, block: &BlockInfo, retention_hours: f64) -> PageCells {
        let (page, share) = self.page_number(ppn, block);
        PageCells {
            stress: self.stress(block, retention_hours),
            site: PageSite { page, pages_per_block: self.pages_per_block },
            extra: self.settings.cross_shift,
            recharged: f64::from(block.recharges) * self.settings.recharge_rber,
            factors: (share, 1.0),
        }
    }

    /// Whether reads add errors.
    #[must_use]
    pub fn knows_reads(&self) -> bool {
        self.settings.model.knows_reads()
    }

    /// Standard deviation of the logarithm of a page's rate: that of its block and its own.
    #[must_use]
    pub fn variation(&self) -> f64 {
        self.settings.page_sigma.hypot(self.settings.block_sigma)
    }

    /// The number of a page in its block as error models see it, and the share of its errors that it has in the mode of its block. In
    /// SLC mode there is one page to each word line.
    fn page_number(&self, ppn: Ppn, block: &BlockInfo) -> (u32, f64) {
        let number = ppn.0 / self.sensed % self.pages_per_block;
        if block.is_slc() { (number * self.slc.0, self.slc.1) } else { (number, 1.0) }
    }

    /// Properties that decide the rate of this very page.
    #[must_use]
    pub fn page(&self, ppn: Ppn, block: &BlockInfo, sequence: u64, age: Nanos) -> PageCells {
        self.page_of(ppn, block, sequence, self.reference_hours(hours(age)))
    }

    fn page_of(&self, ppn: Ppn, block: &BlockInfo, sequence: u64, retention_hours: f64) -> PageCells {
        let factor = |sigma: f64, name: &str, number: u64| {
            if sigma == 0.0 {
                return 1.0;
            }
            (sigma * self.streams.stream_of(name, number).normal() - sigma * sigma / 2.0).exp()
        };
        let (page_number, share) = self.page_number(ppn, block);
        let of_block = factor(self.settings.block_sigma, "nand/block", u64::from(ppn.0 / self.pages_per_block));
        let of_page = factor(self.settings.page_sigma, "nand/page", sequence << 32 | u64::from(ppn.0));
        PageCells {
            stress: self.stress(block, retention_hours),
            site: PageSite { page: page_number, pages_per_block: self.pages_per_block },
            extra: self.settings.cross_shift,
            recharged: f64::from(block.recharges) * self.settings.recharge_rber,
            factors: (of_block * share, of_page),
        }
    }

    /// Rate of a page that is read with references moved by `offset`, in units of the model.
    #[must_use]
    pub fn rber_with(&self, page: &PageCells, offset: f64) -> f64 {
        let modelled = self.settings.model.rber_at(&page.stress, page.site, offset, page.extra);
        let (of_block, of_page) = page.factors;
        ((modelled + page.recharged).min(0.5) * of_block * of_page).min(0.5)
    }

    /// How far the best references of a page are from the default ones, in units of the model.
    #[must_use]
    pub fn optimum(&self, page: &PageCells) -> f64 {
        self.settings.model.optimum(&page.stress, page.site) + page.extra
    }

    fn stress(&self, block: &BlockInfo, retention_hours: f64) -> Stress {
        Stress {
            pe: block.pe.into(),
            retention_hours,
            reads: self.settings.model.read_count().of_block(block.reads.into(), self.pages_per_block),
        }
    }

    /// True if each program draws the bit errors of its codewords; false if each read does.
    #[must_use]
    pub fn are_persistent(&self) -> bool {
        self.settings.persistent
    }

    /// The stream called `name` of a codeword since its program, where errors are persistent.
    #[must_use]
    pub fn of_word(&self, name: &str, word: &StoredWord) -> Option<Stream> {
        self.settings.persistent.then(|| self.streams.stream_of(name, word.key()))
    }

    /// Errors among `bits` of a codeword that are read at this rate.
    #[inline]
    pub fn errors(&mut self, word: &StoredWord, bits: u32, rber: f64) -> u32 {
        if rber == 0.0 {
            return 0;
        }
        match self.of_word("nand/word/errors", word) {
            Some(mut own) => own.binomial_in_order(bits, rber),
            None => self.counts[word.die.index()].binomial(bits, rber),
        }
    }

    /// Which of `bits` of a codeword are in error.
    pub fn positions(&mut self, word: &StoredWord, bits: u32, errors: u32) -> Vec<u32> {
        match self.of_word("nand/word/positions", word) {
            Some(mut own) => own.distinct_in_order(errors, bits),
            None => self.positions[word.die.index()].distinct(errors, bits),
        }
    }

    /// More dies.
    pub fn grow(&mut self, dies: u32) {
        let grown = Self::new(self.settings, dies, self.pages_per_block, &self.streams);
        let old = self.counts.len();
        self.counts.extend(grown.counts.into_iter().skip(old));
        self.positions.extend(grown.positions.into_iter().skip(old));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rber::find;
    use crate::warmth::span_of;

    fn cells(change: impl FnOnce(&mut CellSettings)) -> Cells {
        let mut settings = CellSettings {
            model: find("tlc-128l").unwrap().model,
            celsius: 40.0,
            reference_celsius: 40.0,
            activation_ev: 1.1,
            unaccelerated: 0.0,
            cross_shift: 0.0,
            cross_step: 0.0,
            page_sigma: 0.0,
            block_sigma: 0.0,
            recharge_rber: 0.0,
            persistent: false,
        };
        change(&mut settings);
        Cells::new(settings, 1, 384, &Streams::new(1))
    }

    /// Half of retention follows Arrhenius, half the clock.
    #[test]
    fn a_share_of_retention_goes_on_whatever_the_temperature() {
        let hot = cells(|settings| settings.celsius = 55.0);
        // JESD218: 6.45 times from 40 to 55 C.
        assert!((hot.reference_hours(100.0) / 645.0 - 1.0).abs() < 1e-3);
        let mixed = cells(|settings| (settings.celsius, settings.unaccelerated) = (55.0, 0.5));
        assert!((mixed.reference_hours(100.0) / (322.5 + 50.0) - 1.0).abs() < 1e-3);
    }

    /// A codeword has its errors since its program: again the same, at a higher rate those and more, of another program others. Over
    /// many codewords their mean is that of the rate, within 4 standard errors.
    #[test]
    fn persistent_errors_belong_to_the_program() {
        let (mut drawn, mut lasting) = (cells(|_| ()), cells(|settings| settings.persistent = true));
        let (bits, rates) = (33_568, [1e-4, 6e-4, 3e-3]);
        let mut sums = [0.0; 3];
        let mut differ = (0, 0);
        for sequence in 1..=1000 {
            let word = StoredWord { die: DieId(0), ppn: Ppn(7), sequence, number: 2 };
            let errors = rates.map(|rate| lasting.errors(&word, bits, rate));
            assert_eq!(errors, rates.map(|rate| lasting.errors(&word, bits, rate)));
            let cells = errors.map(|errors| lasting.positions(&word, bits, errors));
            assert!(cells.windows(2).all(|pair| pair[0].iter().all(|at| pair[1].contains(at))), "{cells:?}");
            (0..3).for_each(|i| sums[i] += f64::from(errors[i]));
            let others =
                [StoredWord { number: 3, ..word }, StoredWord { ppn: Ppn(8), ..word }, StoredWord { sequence: 0, ..word }];
            differ.0 += others.iter().filter(|other| lasting.errors(other, bits, rates[2]) != errors[2]).count();
            differ.1 += usize::from(drawn.errors(&word, bits, rates[2]) != drawn.errors(&word, bits, rates[2]));
        }
        for (sum, rate) in sums.into_iter().zip(rates) {
            let mean = f64::from(bits) * rate;
            assert!((sum / 1000.0 - mean).abs() < 4.0 * (mean / 1000.0).sqrt(), "{rate}: {}", sum / 1000.0);
        }
        // Two numbers of a mean of 101 are equal in 2.8 % of all cases.
        assert!(differ.0 > 2850 && differ.1 > 940, "{differ:?}");
    }

    /// A page that is read hotter than it was programmed looks older, one that is read colder looks younger; the best references
    /// make up for both.
    #[test]
    fn another_temperature_moves_the_best_references() {
        let block = BlockInfo { pe: 3000, ..BlockInfo::default() };
        let age = span_of(730.0);
        let of = |cross_shift: f64| {
            let cells = cells(|settings| settings.cross_shift = cross_shift);
            let page = cells.page(Ppn(31), &block, 1, age);
            (cells.rber_with(&page, 0.0), cells.optimum(&page), cells.rber_with(&page, cells.optimum(&page)))
        };
        let (as_usual, hotter, colder) = (of(0.0), of(0.45), of(-0.45));
        assert!(hotter.0 > 1.5 * as_usual.0 && colder.0 < as_usual.0 / 1.5, "{hotter:?} {as_usual:?} {colder:?}");
        assert!((hotter.1 - as_usual.1 - 0.45).abs() < 1e-12);
        assert!((hotter.2 / as_usual.2 - 1.0).abs() < 1e-9 && (colder.2 / as_usual.2 - 1.0).abs() < 1e-9);
    }
}
