//! How likely a drive loses data in a year, by cause, from the odds of its state (`ssd::Odds`).

use serde::{Deserialize, Serialize};
use ssd::Odds;

/// Hours of a year of 365 days.
const HOURS_A_YEAR: f64 = 8760.0;

/// Parts that fail by themselves, whatever the drive did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Dies lost, by drive and year. Default 1 %: 2 to 7 % of drives lose a chip within four years (Schroeder et al., FAST 2016).
    pub dies: f64,
    /// Single blocks lost, by drive and year: found bad by a read. Default 20 %: 30 to 80 % of drives within four years (the same).
    pub blocks: f64,
    /// Hours until what a lost die held is rebuilt.
    pub rebuild_hours: f64,
}

/// Expected events of loss in a year, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hazard {
    /// More pages of a codeword are unreadable than its scheme brings back.
    pub bits: f64,
    /// A block is lost, and with it what nothing brings back.
    pub blocks: f64,
    /// A die is lost, and with it what nothing brings back: all of it without redundancy, else what shares a codeword with an unreadable
    /// page.
    pub dies: f64,
    /// More dies than the scheme survives are lost before the first is rebuilt.
    pub more_dies: f64,
    /// Of losses so far, logical pages lost with the dies that died at ages that were asked for; no rate.
    pub deaths: f64,
}

/// Expected deaths of a first die, after which as many more as the drive survives are lost before that one is rebuilt.
fn with_further_deaths(first: f64, odds: &Odds, rates: &Rates) -> f64 {
    let dies = odds.lost_with_die.len().max(1) as f64;
    let of = |further: u32| {
        let left = (dies - f64::from(odds.dead) - f64::from(further)) / dies;
        -(-(rates.dies * left * rates.rebuild_hours / HOURS_A_YEAR)).exp_m1() / f64::from(further)
    };
    (1..=odds.survives).fold(first, |so_far, further| so_far * of(further))
}

impl Hazard {
    /// The sum.
    #[must_use]
    pub fn all(&self) -> f64 {
        self.bits + self.blocks + self.dies + self.more_dies + self.deaths
    }

    /// Causes with their names and shares.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, f64); 4] {
        [("bit errors", self.bits), ("a lost block", self.blocks), ("a lost die", self.dies), ("more lost dies", self.more_dies)]
    }

    /// The hazard of a state of a drive of this many blocks.
    ///
    /// Bit errors are persistent: a page that cannot be read stays so until it is written again. A page becomes unreadable once, when its
    /// age passes what its code bears, so that the events of an hour are what the odds grow by in it.
    ///
    /// The drive stands for one that is `scale` times larger, with as many dies and larger ones: bit errors and what a die holds
    /// grow by that, a block and the rates of parts by drive do not.
    #[must_use]
    pub(super) fn of(odds: &Odds, blocks: u32, rates: &Rates, scale: f64) -> Self {
        let dies = odds.lost_with_die.len().max(1) as f64;
        let any = |expected: f64| -(-expected).exp_m1();
        let with_a_die = odds.lost_with_die.iter().map(|&pages| any(pages * scale)).sum::<f64>() / dies;
        let with_a_block = any(odds.lost_with_blocks / f64::from(blocks.max(1)));
        // The first die, and each further one before it is rebuilt.
        let first = rates.dies * ((dies - f64::from(odds.dead)) / dies);
        let more_dies = if odds.survives == 0 { 0.0 } else { with_further_deaths(first, odds, rates) };
        Self {
            bits: odds.lost_per_hour.max(0.0) * HOURS_A_YEAR * scale,
            blocks: rates.blocks * with_a_block,
            dies: rates.dies * with_a_die,
            more_dies,
            deaths: 0.0,
        }
    }

    /// Losses because this die dies, which it does for certain: logical pages that nothing brings back, and further deaths before it is
    /// rebuilt. `odds` are those of the drive before.
    #[must_use]
    pub(super) fn of_death(odds: &Odds, die: usize, rates: &Rates, scale: f64) -> Self {
        let more_dies = if odds.survives == 0 { 0.0 } else { with_further_deaths(1.0, odds, rates) };
        Self { deaths: odds.lost_with_die[die] * scale, more_dies, ..Self::default() }
    }

    /// Events in this many years, at the end of which the hazard is `then`: in between it grows by a factor a time.
    #[must_use]
    pub(super) fn until(&self, then: &Self, years: f64) -> Self {
        let piece = |(from, to): (f64, f64)| match (from, to) {
            (from, to) if from > 0.0 && to > 0.0 && (to / from - 1.0).abs() > 1e-9 => (to - from) / (to / from).ln(),
            (from, to) => f64::midpoint(from, to),
        };
        let of = |part: fn(&Self) -> f64| piece((part(self), part(then))) * years;
        Self { bits: of(|h| h.bits), blocks: of(|h| h.blocks), dies: of(|h| h.dies), more_dies: of(|h| h.more_dies), deaths: 0.0 }
    }

    /// The sum of both, by cause.
    #[must_use]
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            bits: self.bits + other.bits,
            blocks: self.blocks + other.blocks,
            dies: self.dies + other.dies,
            more_dies: self.more_dies + other.more_dies,
            deaths: self.deaths + other.deaths,
        }
    }

    /// This share of it, by cause.
    #[must_use]
    pub(super) fn times(&self, share: f64) -> Self {
        let of = |part: f64| part * share;
        let [bits, blocks, dies, more_dies, deaths] = [self.bits, self.blocks, self.dies, self.more_dies, self.deaths].map(of);
        Self { bits, blocks, dies, more_dies, deaths }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates = Rates { dies: 0.01, blocks: 0.2, rebuild_hours: 24.0 };

    /// Five years, from the field data: 4.9 % of drives lose a die; where one die more than the scheme survives is lost within a rebuild of
    /// 24 hours, 1.2e-6 with eight dies (5 lambda^2 T = 1.37e-6 without the factor 7/8).
    #[test]
    fn dies_are_lost_as_often_as_the_formula_says() {
        let unprotected = Odds { lost_with_die: vec![1000.0; 8], lost_with_blocks: 8000.0, ..Odds::default() };
        let hazard = Hazard::of(&unprotected, 100, &RATES, 1.0);
        assert!((1.0 - (-5.0 * hazard.dies).exp() - 0.0488).abs() < 1e-4, "{hazard:?}");
        assert!((hazard.blocks - 0.2).abs() < 1e-6, "each lost block held data: {hazard:?}");
        let whole = Odds { survives: 1, lost_with_die: vec![0.0; 8], ..Odds::default() };
        let hazard = Hazard::of(&whole, 100, &RATES, 1.0);
        assert_eq!((hazard.dies, hazard.blocks, hazard.bits), (0.0, 0.0, 0.0));
        let expected = 5.0 * 0.01 * 0.01 * 7.0 / 8.0 * 24.0 / 8760.0;
        assert!((5.0 * hazard.more_dies / expected - 1.0).abs() < 1e-4, "{hazard:?} and {expected}");
    }

    /// The mean time to data loss of n dies with one parity, exponential lives and rebuilds: ((2n-1) lambda + mu) / (n (n-1) lambda^2), by the
    /// three-state Markov chain. Catches a second die that is counted twice or not at all.
    #[test]
    fn two_dies_are_lost_as_the_markov_chain_has_it() {
        let (n, hours) = (8.0, 24.0);
        let (lambda, mu) = (RATES.dies / n, 8760.0 / hours);
        let years = ((2.0 * n - 1.0) * lambda + mu) / (n * (n - 1.0) * lambda * lambda);
        let whole = Odds { survives: 1, lost_with_die: vec![0.0; 8], ..Odds::default() };
        let hazard = Hazard::of(&whole, 100, &RATES, 1.0);
        assert!((hazard.more_dies * years - 1.0).abs() < 0.02, "{} and {}", hazard.more_dies, 1.0 / years);
    }

    /// An exponential between two ages, against many small steps.
    #[test]
    fn a_hazard_that_grows_is_integrated_as_an_exponential() {
        let at = |year: f64| Hazard { bits: 1e-9 * 10f64.powf(year), ..Hazard::default() };
        let steps = 100_000;
        let small: f64 =
            (0..steps).map(|step| at(3.0 * (f64::from(step) + 0.5) / f64::from(steps)).bits * 3.0 / f64::from(steps)).sum();
        assert!((at(0.0).until(&at(3.0), 3.0).all() / small - 1.0).abs() < 1e-6);
        assert!((at(0.0).until(&at(0.0), 2.0).all() - 2e-9).abs() < 1e-20);
        assert!((Hazard::default().until(&at(0.0), 2.0).all() - 1e-9).abs() < 1e-20);
    }
}
