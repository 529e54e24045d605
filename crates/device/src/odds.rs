//! The probability that a page cannot be read, by formula: the rate of its cells, the variation between pages and blocks, and the last
//! step of the ladder (`ladder.rs`). Nothing is drawn, so it reaches where no number of simulated reads does.

use crate::ecc::PageEcc;
use coding::odds::binomial::{ln_mixed, ln_sum};
use coding::odds::stripes::ln_page_loss;
use ecc::ldpc::Stage;
use nand::PageCells;
use std::cell::RefCell;
use std::collections::BTreeMap;
use vocab::Capability;

/// Points of a table for each factor of ten in the raw bit error rate.
const POINTS_A_DECADE: f64 = 50.0;
/// The least rate in a table, and its logarithm: no code of ours fails there within any drive's life.
const LEAST_RATE: f64 = 1e-6;

/// Probabilities that pages cannot be read.
pub struct PageOdds<'a> {
    ecc: &'a PageEcc,
    sigma: f64,
    /// For each capability the logarithm of the probability by rate.
    tables: RefCell<BTreeMap<u8, Vec<f64>>>,
}

impl PageEcc {
    /// Odds for pages whose rates vary by so much: the standard deviation of their logarithms, 0 to 3. `None`: as the cells of this drive
    /// do.
    #[must_use]
    pub fn odds(&self, sigma: Option<f64>) -> PageOdds<'_> {
        PageOdds { ecc: self, sigma: sigma.unwrap_or(self.cells.variation()), tables: RefCell::default() }
    }

    /// The rate of a page in the best read of its ladder.
    #[must_use]
    pub fn best_rber(&self, page: &PageCells) -> f64 {
        let entries = std::iter::once(0).chain(self.ladder.is_on().then(|| self.ladder.entries_after(0)).into_iter().flatten());
        entries.map(|entry| self.cells.rber_with(page, self.cells.model().entry(entry))).fold(0.5, f64::min)
    }

    /// `ln` of the probability that a codeword cannot be decoded in the last step of its ladder, at a rate that all its bits have.
    fn ln_word_failure(&self, t: Capability, rber: f64) -> f64 {
        let Some(curves) = self.curves() else {
            return self.layout.codeword.code.ln_failure(t.0.into(), rber);
        };
        let finest = if self.ladder.is_on() { self.ladder.soft_bits } else { 1 };
        let stage = match finest {
            1 => Stage::Hard,
            2 => Stage::TwoBit,
            _ => Stage::ThreeBit,
        };
        curves.curve(t, stage).failures_at(rber).min(1.0).ln()
    }
}

impl PageOdds<'_> {
    /// Probability that a logical page of this capability cannot be read, whose page has this rate on average ([`PageEcc::best_rber`]):
    /// over the variation of pages and blocks.
    #[must_use]
    pub fn unreadable(&self, t: Capability, rber: f64) -> f64 {
        if rber <= LEAST_RATE {
            return 0.0;
        }
        let mut tables = self.tables.borrow_mut();
        let table = tables.entry(t.0).or_insert_with(|| self.table(t));
        let at = (rber / LEAST_RATE).log10() * POINTS_A_DECADE;
        let (below, share) = (at as usize, at.fract());
        let last = table.len() - 1;
        let (low, high) = (table[below.min(last)], table[(below + 1).min(last)]);
        // Where nothing can fail, nothing is between two points.
        if low == f64::NEG_INFINITY { high.exp() * share } else { (low + share * (high - low)).exp() }
    }

    /// `ln` of the probability by rate.
    fn table(&self, t: Capability) -> Vec<f64> {
        let points = ((0.5 / LEAST_RATE).log10() * POINTS_A_DECADE).ceil() as usize;
        let rate = |at: usize| (LEAST_RATE * 10f64.powf(at as f64 / POINTS_A_DECADE)).min(0.5);
        let of_words: Vec<f64> = (0..=points).map(|at| self.ecc.ln_word_failure(t, rate(at))).collect();
        let of_page = |rber: f64| {
            if rber <= LEAST_RATE {
                return f64::NEG_INFINITY;
            }
            let at = (rber / LEAST_RATE).log10() * POINTS_A_DECADE;
            let (below, share) = ((at as usize).min(points), at.fract());
            let (low, high) = (of_words[below], of_words[(below + 1).min(points)]);
            let ln = if low == f64::NEG_INFINITY { f64::NEG_INFINITY } else { low + share * (high - low) };
            ln_page_loss(ln.min(0.0), self.ecc.layout.per_slot)
        };
        (0..=points).map(|at| mixed(rate(at), self.sigma, of_page)).collect()
    }
}

/// [`ln_mixed`], by trapezoids of one width: what is mixed comes from a table, whose kinks no narrower ones would smooth.
fn mixed(rber: f64, sigma: f64, ln_of: impl Fn(f64) -> f64) -> f64 {
    if sigma == 0.0 {
        return ln_mixed(rber, 0.0, ln_of);
    }
    const STEPS_A_DEVIATION: i32 = 16;
    let step = 1.0 / f64::from(STEPS_A_DEVIATION);
    let term = |at: i32| {
        let z = f64::from(at) * step;
        ln_of((rber * (sigma * z - 0.5 * sigma * sigma).exp()).min(0.5)) - 0.5 * z * z
    };
    let terms: Vec<f64> = (-20 * STEPS_A_DEVIATION..=20 * STEPS_A_DEVIATION).map(term).collect();
    (ln_sum(&terms) + step.ln() - 0.5 * std::f64::consts::TAU.ln()).min(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Ecc, Errors, ReadRetry};
    use crate::ecc::{EccSetup, Rewrites};
    use ecc::ldpc::LdpcCurves;
    use nand::BlockInfo;
    use nand::rber::find;
    use vocab::{Bytes, Geometry, PlaneUse, Ppn, Streams};

    const GEOMETRY: Geometry = Geometry {
        channels: 1,
        dies_per_channel: 1,
        planes: 1,
        plane_use: PlaneUse::Single,
        blocks_per_plane: 4,
        pages_per_block: 48,
        page_size: Bytes(4096),
        oob_size: Bytes(700),
        slot_size: Bytes(4096),
    };

    fn page_ecc(ecc: &Ecc) -> Box<PageEcc> {
        let errors = Errors { model: "tlc-128l".into(), ..Errors::default() };
        let setup =
            EccSetup { ecc, errors: &errors, geometry: &GEOMETRY, sensed: 1, slc: (3, 1.0), rewrites: Rewrites::default() };
        PageEcc::new(&setup, &Streams::new(1)).expect("valid").expect("there are errors")
    }

    /// The mean over a normal deviate, in steps of a thirtieth.
    fn expected(rber: f64, sigma: f64, ln_of: &dyn Fn(f64) -> f64) -> f64 {
        if sigma == 0.0 {
            return ln_of(rber).exp();
        }
        let density = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt() / 30.0;
        let at = |z: f64| ln_of((rber * (sigma * z - 0.5 * sigma * sigma).exp()).min(0.5)).exp() * density(z);
        (-150..=450).map(|step| at(f64::from(step) / 30.0)).sum()
    }

    /// Against the mixture of the code's own formula, as a plain sum without a table. In a table of logarithms between
    /// points 4.7 % of the rate apart a straight line is off by less than a tenth. Catches a table whose points are shifted by one, a
    /// variation that is left out, and the wrong step of the ladder.
    #[test]
    fn odds_are_those_of_the_codes() {
        let bch = Ecc { policy: "fixed".into(), options: [("t".into(), "40".into())].into(), ..Ecc::default() };
        let ldpc = Ecc { policy: "ldpc".into(), read_retry: ReadRetry::Tracked, ..Ecc::default() };
        let (bch_ecc, ldpc_ecc) = (page_ecc(&bch), page_ecc(&ldpc));
        let curves = LdpcCurves::of(32_768).expect("there are codes of 4 KiB");
        let t = ldpc_ecc.policy.strongest();
        let of_bch = |rber: f64| bch_ecc.layout.codeword.code.ln_failure(40, rber);
        let of_ldpc = |rber: f64| curves.curve(t, Stage::ThreeBit).failures_at(rber).ln();
        let check = |odds: &PageOdds<'_>, t, sigma: f64, rber: f64, ln_of: &dyn Fn(f64) -> f64| {
            let expected = expected(rber, sigma, ln_of);
            let found = odds.unreadable(t, rber);
            assert!((found / expected - 1.0).abs() < 0.1, "{sigma} {rber}: {found} and {expected}");
        };
        for sigma in [0.0, 0.3] {
            for rber in [3e-4, 1e-3, 2.1e-3] {
                check(&bch_ecc.odds(Some(sigma)), Capability(40), sigma, rber, &of_bch);
            }
            for rber in [4e-3, 9e-3, 1.3e-2] {
                check(&ldpc_ecc.odds(Some(sigma)), t, sigma, rber, &of_ldpc);
            }
        }
    }

    /// The best read of a page is that with the best entry of its table, of all that are tried; without a ladder it is the first.
    #[test]
    fn the_best_read_is_that_of_the_ladder() {
        let ldpc = |read_retry| Ecc { policy: "ldpc".into(), read_retry, ..Ecc::default() };
        let (once, table) = (page_ecc(&ldpc(ReadRetry::None)), page_ecc(&ldpc(ReadRetry::Table)));
        let block = BlockInfo { pe: 3000, next_page: 48, ..BlockInfo::default() };
        let page = once.cells.mean_page(Ppn(31), &block, 30.0 * 24.0);
        let model = find("tlc-128l").expect("a model").model;
        let rates = (0..=model.retry_entries()).map(|entry| once.cells.rber_with(&page, model.entry(entry)));
        let best = rates.fold(1.0, f64::min);
        assert_eq!(table.best_rber(&page), best);
        assert_eq!(once.best_rber(&page), once.cells.rber_with(&page, 0.0));
        assert!(best < 0.5 * once.best_rber(&page));
    }
}
