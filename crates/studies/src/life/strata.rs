//! Loss by the number of die failures within the life: strata with exact weights.
//!
//! Dies fail by a Poisson process while they have power, so that k of them fail within T years of that at a rate r with the probability e^(-rT) (rT)^k / k!, each at a time that is
//! uniform on the years. Given k, a life without a loss is one whose bits and blocks, each lost die, and each rebuild held. Beyond
//! [`COUNTED`] failures every life counts as lost, which bounds what is left. Nothing is drawn.

use super::{Epoch, Life, SchemeLife};
use report::study::{Cell, Column, Layout, Table};

/// Die failures that have a stratum of their own, at most.
const COUNTED: u32 = 3;

/// The least probability that is stated: below it the model says nothing.
const LEAST: f64 = 1e-30;

const HOURS_A_YEAR: f64 = 8760.0;

/// Lives with the same number of die failures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stratum {
    /// Die failures; of the last stratum so many or more.
    pub failures: u32,
    /// Probability of that many.
    pub weight: f64,
    /// Upper bound on the probability that such a life loses data.
    pub loss: f64,
}

/// Figures that strata are made of, over some years with power.
#[derive(Clone, Copy, Debug)]
struct Over {
    years: f64,
    /// Die failures by drive and year.
    rate: f64,
    rebuild_hours: f64,
    dies: f64,
    /// Dies whose loss at a time the scheme survives.
    survives: u32,
    /// Expected events of loss by bit errors and lost blocks, and with dies that died at ages that were asked for.
    others: f64,
    /// Mean probability that a lost die loses data.
    with_a_die: f64,
}

impl Over {
    fn strata(&self) -> Vec<Stratum> {
        let expected = self.rate * self.years;
        let mut weight = (-expected).exp();
        let mut strata = Vec::new();
        for failures in 0..=COUNTED {
            strata.push(Stratum { failures, weight, loss: self.loss(failures) });
            weight *= expected / f64::from(failures + 1);
        }
        strata.push(Stratum { failures: COUNTED + 1, weight: at_least(COUNTED + 1, expected), loss: 1.0 });
        strata
    }

    /// Of a life in which so many dies fail.
    fn loss(&self, failures: u32) -> f64 {
        let held = -self.others + f64::from(failures) * (-self.with_a_die).ln_1p() + (-self.overlap(failures)).ln_1p();
        (-held.exp_m1()).max(LEAST)
    }

    /// Probability that more dies than the scheme survives are lost before the first is rebuilt; from two survived dies on an upper bound.
    fn overlap(&self, failures: u32) -> f64 {
        if failures <= self.survives || self.survives == 0 {
            return 0.0;
        }
        let (of, window) = (f64::from(failures), (self.rebuild_hours / HOURS_A_YEAR / self.years).min(1.0));
        let other = (self.dies - 1.0) / self.dies;
        if self.survives == 1 {
            // No two of n uniform times are so near: (1 - (n - 1) w)^n.
            let apart = of * (-((of - 1.0) * window).min(1.0)).ln_1p();
            return -apart.exp_m1() * other;
        }
        let together = self.survives + 1;
        let ways: f64 = (0..together).map(|at| (of - f64::from(at)) / f64::from(at + 1)).product();
        (ways * f64::from(together) * window.powi(self.survives as i32)).min(1.0)
    }
}

/// Probability that a Poisson number is so great or greater, as a sum of its terms: the complement of the others would cancel.
fn at_least(least: u32, expected: f64) -> f64 {
    let mut term = (1..=least).fold((-expected).exp(), |term, k| term * expected / f64::from(k));
    let (mut sum, mut k) = (0.0, f64::from(least));
    while term > sum * f64::EPSILON && k < 1e6 {
        sum += term;
        k += 1.0;
        term *= expected / k;
    }
    sum.min(1.0)
}

impl Life {
    /// Strata of a life of this scheme within the years that loss is told for, or those that it lived; and these years.
    #[must_use]
    pub fn strata(&self, life: &SchemeLife) -> (f64, Vec<Stratum>) {
        let years = self.settings.told_years().min(life.last().years);
        let by_cause = life.losses_by_cause(years);
        let rates = &self.settings.rates;
        let powered = self.powered(life, years);
        let failures = rates.dies * powered;
        // A scheme that protects by age is told by its weakest age.
        let survives = life.epochs.iter().filter(|epoch| epoch.years <= years).map(|epoch| epoch.survives).min().unwrap_or(0);
        let over = Over {
            years: powered,
            rate: rates.dies,
            rebuild_hours: rates.rebuild_hours,
            dies: f64::from(self.experiment.drive.geometry.dies()),
            survives,
            others: by_cause.bits + by_cause.blocks + by_cause.deaths,
            with_a_die: if failures > 0.0 { (by_cause.dies / failures).min(1.0 - f64::EPSILON) } else { 0.0 },
        };
        (years, over.strata())
    }

    /// The part of these years in which the drive has power. Each phase ends with an age.
    pub(super) fn powered(&self, life: &SchemeLife, years: f64) -> f64 {
        let calendar = self.settings.calendar();
        let begins = std::iter::once(0.0).chain(life.epochs.iter().map(|epoch| epoch.years));
        let powered = |(begin, epoch): (f64, &Epoch)| {
            let phase = epoch.phase.map_or(0, |phase| phase as usize - 1);
            (epoch.years.min(years) - begin.min(years)) * calendar[phase].powered()
        };
        begins.zip(&life.epochs).map(powered).sum()
    }

    pub(super) fn table_of_strata(&self) -> Option<Table> {
        if self.settings.rates.dies <= 0.0 {
            return None;
        }
        let column = |key, name, unit| Column { key, name, unit };
        let columns = vec![
            column("scheme", "scheme", ""),
            column("die_failures", "die failures", "the last: so many or more"),
            column("weight", "probability of so many", ""),
            column("loss_at_most", "loss given so many, at most", ""),
            column("share_at_most", "part of the loss, at most", ""),
            column("within_years", "within years", ""),
        ];
        let rows = self.schemes.iter().filter(|life| life.last().years > 0.0).flat_map(|life| {
            let (years, strata) = self.strata(life);
            let row = move |one: Stratum| {
                let numbers = [one.weight, one.loss, one.weight * one.loss, years].map(Cell::Rate);
                [vec![Cell::Text(life.label.clone()), Cell::Count(one.failures.into())], numbers.into()].concat()
            };
            strata.into_iter().map(row).collect::<Vec<_>>()
        });
        let layouts = vec![Layout::Plain {
            title: "Loss by number of die failures".into(),
            part: Some(0),
            columns: (1..columns.len()).collect(),
        }];
        Some(Table { key: "strata", rows: rows.collect(), columns, layouts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: Over =
        Over { years: 5.0, rate: 0.01, rebuild_hours: 24.0, dies: 8.0, survives: 1, others: 1e-9, with_a_die: 0.3 };

    fn sum(over: &Over) -> f64 {
        over.strata().iter().map(|one| one.weight * one.loss).sum()
    }

    /// Weights are those of a Poisson distribution, a sum of 1; four and more die failures in five years at 1 % a year have 2.5e-7. Catches weights
    /// that are one off.
    #[test]
    fn weights_are_poisson() {
        let strata = FIVE.strata();
        let weights: Vec<f64> = strata.iter().map(|one| one.weight).collect();
        for (weight, expected) in weights.iter().zip([0.951229, 0.0475615, 0.00118904, 1.98173e-5, 2.50214e-7]) {
            assert!((weight / expected - 1.0).abs() < 1e-5, "{weights:?}");
        }
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        assert_eq!(strata.last().map(|one| (one.failures, one.loss)), Some((4, 1.0)));
    }

    /// Without overlapping rebuilds the sum over all strata is 1 - (1 - p0) e^(-r T p): die failures that lose data are Poisson, too. The strata are above it
    /// by no more than the weight of the last one.
    #[test]
    fn strata_add_up_to_the_closed_formula() {
        for (others, with_a_die, rate) in [(1e-9, 0.3, 0.01), (0.02, 1e-6, 0.0181), (0.0, 0.9, 0.3)] {
            let over = Over { others, with_a_die, rate, rebuild_hours: 0.0, ..FIVE };
            let closed = -(-(others + rate * over.years * with_a_die)).exp_m1();
            let above = sum(&over) - closed;
            assert!(above >= -1e-15 && above <= at_least(4, rate * over.years), "{others} {with_a_die} {rate}: {above}");
        }
    }

    /// Two or three uniform times within a rebuild of each other, counted on a grid of times. Catches a window that counts on one side only.
    #[test]
    fn rebuilds_overlap_as_often_as_times_on_a_grid_do() {
        // So many dies that each failure is of another one.
        let over = Over { rebuild_hours: 0.04 * 5.0 * 8760.0, dies: 1e18, ..FIVE };
        let steps = 250;
        let at = |step: u32| (f64::from(step) + 0.5) / f64::from(steps);
        let near = |a: u32, b: u32| (at(a) - at(b)).abs() < 0.04;
        let (mut two, mut three) = (0.0, 0.0);
        for a in 0..steps {
            for b in 0..steps {
                two += f64::from(u8::from(near(a, b)));
                for c in 0..steps {
                    three += f64::from(u8::from(near(a, b) || near(b, c) || near(a, c)));
                }
            }
        }
        let n = f64::from(steps);
        let (two, three) = (two / n.powi(2), three / n.powi(3));
        // A step of the grid is a tenth of the window.
        assert!((over.overlap(2) - two).abs() < 1.0 / n && (over.overlap(3) - three).abs() < 3.0 / n, "{two} {three}");
        let second = Over { survives: 2, ..over };
        assert_eq!((over.overlap(1), second.overlap(2)), (0.0, 0.0));
        assert!(second.overlap(3) > 0.0 && second.overlap(3) < over.overlap(3));
    }

    /// Never 0, whatever the rates.
    #[test]
    fn no_stratum_says_never() {
        let never = Over { others: 0.0, with_a_die: 0.0, survives: 7, ..FIVE };
        assert!(never.strata().iter().all(|one| one.loss >= LEAST && one.weight > 0.0));
    }
}
