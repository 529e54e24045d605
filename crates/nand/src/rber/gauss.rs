//! Source: Cai et al., Error Characterization, Mitigation, and Recovery in Flash-Memory-Based Solid-State Drives, Proceedings of
//! the IEEE 2017, Table 5: mean and deviation of the threshold voltage of each state of a TLC part at 2 000 P/E cycles, after a
//! day, a week, a month, three months and a year (a transcription of it that a public repository has, cell by cell).
//! Idea: the voltages of the cells of one state are normally distributed. A read compares with references between the states;
//! a cell on the wrong side is a wrong bit. The best reference between two neighbours is where they are equally likely. States move
//! and widen with the logarithm of time, so references that were best for data of a day are not for those of a year.
//! Which page has which references: reflected Gray codes, 1, 2, 4 (and 8) references for the pages of a word line.
//! References move together, along the way from those best after a day (offset 0, the default) to those best after a year
//! (offset 1) at the cycles of the table, in steps of a tenth ([`STEP`]); a step beyond needs no table.
//! Differs, where the source says nothing. Cycles: widths grow by 7.5 % of those at nominal cycles for each half of these, and
//! movement with retention is proportional to 1/5 + 4/5 of cycles over nominal ([`WIDER`], [`FASTER`]). QLC: no such table is
//! public. Its 15 programmed states are evenly spaced over the window of TLC and a little more, [`QLC_WIDTH`] times as wide as
//! those of TLC, which move as TLC states of that voltage; nominal cycles are 1 000. Before a day
//! states are those of a day, so early loss is not in it, and after ten years nothing moves. Reads: as FAST 2019's TLC.

use super::{Fast19, PageSite, Stress};
use vocab::normal_below;

/// Hours of the columns of the table.
const HOURS: [f64; 5] = [24.0, 168.0, 730.0, 2190.0, 8760.0];

/// Means, from the erased state on, by column.
const MEANS: [[f64; 8]; 5] = [
    [-92.7, 66.6, 128.1, 191.9, 254.9, 318.3, 384.3, 448.1],
    [-86.7, 67.5, 128.1, 191.4, 253.8, 316.5, 381.8, 444.9],
    [-84.4, 68.6, 128.7, 191.6, 253.5, 315.8, 380.9, 443.6],
    [-75.6, 72.8, 131.6, 193.3, 254.3, 315.7, 380.2, 442.2],
    [-69.4, 76.6, 134.2, 195.2, 255.3, 316.0, 379.6, 440.8],
];

/// Deviations.
const WIDTHS: [[f64; 8]; 5] = [
    [48.2, 9.7, 9.7, 9.4, 9.3, 9.1, 9.5, 9.1],
    [46.4, 10.7, 10.8, 10.5, 10.6, 10.3, 10.6, 10.6],
    [46.8, 11.3, 11.2, 11.0, 10.9, 10.8, 11.2, 11.1],
    [45.9, 12.0, 11.8, 11.5, 11.4, 11.4, 11.7, 11.7],
    [45.9, 12.8, 12.4, 12.0, 12.0, 11.9, 12.3, 12.4],
];

/// Width at no cycles, and what nominal cycles add, as shares of the width at nominal cycles.
const WIDER: (f64, f64) = (0.85, 0.15);
/// The same for how far states move.
const FASTER: (f64, f64) = (0.2, 0.8);
/// Width of QLC states against those of TLC.
const QLC_WIDTH: f64 = 0.55;
/// The first and last programmed state of QLC after a day.
const QLC_WINDOW: (f64, f64) = (40.0, 470.0);
/// Offset of one retry entry, and how many there are.
const STEP: f64 = 0.1;
pub(super) const ENTRIES: u32 = 15;
/// Between which hours states move.
const MOVING: (f64, f64) = (HOURS[0], 87_600.0);

/// Voltages of one state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub width: f64,
}

/// States of a word line; those beyond the last are not used.
type States = [State; 16];

/// The voltages of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauss {
    /// Bits of a cell: 3 or 4.
    pub bits: u32,
    /// Cycles at which its states are known.
    pub nominal_pe: f64,
}

impl Gauss {
    /// The part of the table.
    pub const TLC: Self = Self { bits: 3, nominal_pe: 2000.0 };
    /// One of four bits, after it.
    pub const QLC: Self = Self { bits: 4, nominal_pe: 1000.0 };

    fn count(self) -> usize {
        1 << self.bits
    }

    /// The states after this many cycles and hours.
    #[must_use]
    pub fn states(&self, pe: f64, hours: f64) -> States {
        let worn = (pe / self.nominal_pe).min(1e3);
        let (wider, faster) = (WIDER.0 + WIDER.1 * worn, FASTER.0 + FASTER.1 * worn);
        let (aged, day) = (tlc_after(hours), tlc_after(HOURS[0]));
        let mut states = States::default();
        for (number, state) in states.iter_mut().enumerate().take(self.count()) {
            let (start, width) = self.after_a_day(number, &day);
            // Of the two TLC states between which it lies, and how far from the lower one.
            let upper = (1..8).find(|&k| day[k].mean >= start).unwrap_or(7);
            let share = ((start - day[upper - 1].mean) / (day[upper].mean - day[upper - 1].mean)).clamp(0.0, 1.0);
            let between = |of: &dyn Fn(usize) -> f64| of(upper - 1) * (1.0 - share) + of(upper) * share;
            // The erased state is far wider than all others, which do not widen as it does.
            let widened = if number == 0 { aged[0].width / day[0].width } else { aged[upper].width / day[upper].width };
            let moved = between(&|k| aged[k].mean - day[k].mean);
            *state = State { mean: start + moved * faster, width: width * widened * wider };
        }
        states
    }

    /// Mean and width of a state after a day at nominal cycles.
    fn after_a_day(self, number: usize, day: &[State; 8]) -> (f64, f64) {
        if self.bits == 3 || number == 0 {
            return (day[number].mean, day[number].width);
        }
        let (first, last) = QLC_WINDOW;
        let place = (number - 1) as f64 / (self.count() - 2) as f64;
        (first + (last - first) * place, day[4].width * QLC_WIDTH)
    }

    /// The page of a word line that reference `k` (from 1 on) belongs to: the first has the fewest references.
    fn page_of(self, k: usize) -> usize {
        self.bits as usize - 1 - k.trailing_zeros() as usize
    }

    /// Rate of one page with references moved by `offset`, or with the best ones for these states.
    fn page_rate(self, states: &States, kind: usize, offset: Option<f64>) -> f64 {
        let set_for = offset.map(|offset| {
            let ln = HOURS[0].ln() + offset * (HOURS[4] / HOURS[0]).ln();
            self.states(self.nominal_pe, ln.exp())
        });
        let references = (1..self.count()).filter(|&k| self.page_of(k) == kind);
        let wrong = references.map(|k| {
            let (low, high) = (states[k - 1], states[k]);
            let at = set_for.as_ref().map_or_else(|| best_reference(low, high), |set| best_reference(set[k - 1], set[k]));
            normal_below((low.mean - at) / low.width) + normal_below((at - high.mean) / high.width)
        });
        wrong.sum::<f64>() / self.count() as f64
    }

    pub(super) fn at(&self, stress: &Stress, site: PageSite, offset: f64) -> f64 {
        let states = self.states(stress.pe, stress.retention_hours);
        self.page_rate(&states, site.kind(self.bits), Some(offset)) + of_reads(stress)
    }

    /// The mean over the pages of a word line.
    pub(super) fn rber(&self, stress: &Stress, best: bool) -> f64 {
        let states = self.states(stress.pe, stress.retention_hours);
        let offset = if best { None } else { Some(0.0) };
        let of_kind = |kind| self.page_rate(&states, kind, offset);
        (0..self.bits as usize).map(of_kind).sum::<f64>() / f64::from(self.bits) + of_reads(stress)
    }

    /// The offset at which a page has the fewest errors, to a hundredth.
    pub(super) fn optimum(&self, stress: &Stress, site: PageSite) -> f64 {
        let states = self.states(stress.pe, stress.retention_hours);
        let rate = |offset: f64| self.page_rate(&states, site.kind(self.bits), Some(offset));
        let (mut low, mut high) = (-0.5, f64::from(ENTRIES) * STEP);
        while high - low > 0.01 {
            let (one, two) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if rate(one) < rate(two) { high = two } else { low = one }
        }
        f64::midpoint(low, high)
    }

    pub(super) fn entry(entry: u32) -> f64 {
        f64::from(entry) * STEP
    }
}

/// States of the table after this many hours: straight lines over the logarithm of time, also beyond a year.
fn tlc_after(hours: f64) -> [State; 8] {
    let ln = hours.clamp(MOVING.0, MOVING.1).ln();
    let right = (1..HOURS.len() - 1).find(|&column| ln <= HOURS[column].ln()).unwrap_or(HOURS.len() - 1);
    let (from, to) = (HOURS[right - 1].ln(), HOURS[right].ln());
    let share = (ln - from) / (to - from);
    let at = |table: &[[f64; 8]; 5], k: usize| table[right - 1][k] + (table[right][k] - table[right - 1][k]) * share;
    std::array::from_fn(|k| State { mean: at(&MEANS, k), width: at(&WIDTHS, k) })
}

/// Where two neighbouring states are equally likely: between their means, fewest cells are on the wrong side.
#[must_use]
pub fn best_reference(low: State, high: State) -> f64 {
    let (a, b) = (low.width * low.width, high.width * high.width);
    let distance = high.mean - low.mean;
    if (a - b).abs() < 1e-9 * a || distance <= 0.0 {
        return f64::midpoint(low.mean, high.mean);
    }
    // (v - low)^2 / a + ln a = (v - high)^2 / b + ln b, for u = v - low.
    let (quadratic, linear) = (b - a, 2.0 * a * distance);
    let constant = -a * distance * distance + a * b * (a / b).ln();
    let root = (linear * linear - 4.0 * quadratic * constant).max(0.0).sqrt();
    low.mean + (-linear + root) / (2.0 * quadratic)
}

fn of_reads(stress: &Stress) -> f64 {
    let Fast19 { reads: (g, p, q), limit, .. } = Fast19::TLC_72L;
    if stress.reads == 0.0 { 0.0 } else { g * stress.pe.min(limit.pe).powf(p) * stress.reads.min(limit.reads).powf(q) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rber::RberModel;
    use vocab::Streams;

    fn stress(pe: f64, retention_hours: f64) -> Stress {
        Stress { pe, retention_hours, reads: 0.0 }
    }

    /// Rates computed from the same table elsewhere: with the references of a day 3.86e-4, 1.09e-3, 1.75e-3, 3.28e-3 and 6.18e-3,
    /// with those of each age 3.86e-4 and 3.77e-3.
    #[test]
    fn rates_of_the_table_are_those_computed_elsewhere() {
        let rate = |hours, best| Gauss::TLC.rber(&stress(2000.0, hours), best);
        for (hours, expected) in HOURS.into_iter().zip([3.86e-4, 1.09e-3, 1.75e-3, 3.28e-3, 6.18e-3]) {
            let found = rate(hours, false);
            assert!((found / expected - 1.0).abs() < 0.01, "{hours} hours: {found:e}, expected {expected:e}");
        }
        for (hours, expected) in [(24.0, 3.86e-4), (8760.0, 3.77e-3)] {
            let found = rate(hours, true);
            assert!((found / expected - 1.0).abs() < 0.01, "{hours} hours, best: {found:e}, expected {expected:e}");
        }
    }

    /// A cell of a random state has a random voltage; all references of all pages read it, and wrong bits are counted against
    /// the reflected Gray code of its state.
    #[test]
    fn formulas_are_what_drawn_cells_give() {
        let mut draws = Streams::new(3).stream("test/gauss");
        for (part, pe, hours, offset) in [
            (Gauss::TLC, 2000.0, 8760.0, 0.0),
            (Gauss::TLC, 5000.0, 730.0, 0.5),
            (Gauss::QLC, 1000.0, 2190.0, 0.0),
            (Gauss::QLC, 300.0, 8760.0, 0.9),
        ] {
            let states = part.states(pe, hours);
            let set_for = part.states(part.nominal_pe, (24.0_f64.ln() + offset * 365.0_f64.ln()).exp());
            let references: Vec<f64> = (1..part.count()).map(|k| best_reference(set_for[k - 1], set_for[k])).collect();
            let cells = 400_000;
            let mut wrong = vec![0u32; part.bits as usize];
            for _ in 0..cells {
                let state = draws.below(part.count() as u64) as usize;
                let voltage = states[state].mean + states[state].width * draws.normal();
                let read = references.iter().filter(|&&reference| voltage > reference).count();
                let differ = (state ^ state >> 1) ^ (read ^ read >> 1);
                (0..part.bits as usize).for_each(|kind| wrong[kind] += (differ >> (part.bits as usize - 1 - kind) & 1) as u32);
            }
            for (kind, &wrong) in wrong.iter().enumerate() {
                let site = PageSite { page: kind as u32, pages_per_block: 64 };
                let rate = part.at(&stress(pe, hours), site, offset);
                let (expected, found) = (rate * f64::from(cells), f64::from(wrong));
                // Four deviations, and two cells in a hundred that jump over a state, which the formula leaves out.
                assert!(
                    (found - expected).abs() < 4.0 * expected.sqrt() + 0.02 * expected,
                    "{part:?}, page {kind}: {found}, {expected}"
                );
            }
        }
    }

    #[test]
    fn the_best_reference_leaves_the_fewest_cells_on_the_wrong_side() {
        let pairs = [((0.0, 1.0), (6.0, 1.0)), ((-92.7, 48.2), (66.6, 9.7)), ((10.0, 2.0), (20.0, 3.0))];
        for ((mean, width), (high_mean, high_width)) in pairs {
            let (low, high) = (State { mean, width }, State { mean: high_mean, width: high_width });
            let wrong = |v: f64| normal_below((low.mean - v) / low.width) + normal_below((v - high.mean) / high.width);
            let best = best_reference(low, high);
            assert!(low.mean < best && best < high.mean);
            let step = (high.mean - low.mean) / 1000.0;
            let least = (0..1000).map(|i| low.mean + step * f64::from(i)).min_by(|a, b| wrong(*a).total_cmp(&wrong(*b))).unwrap();
            assert!((best - least).abs() <= step * 1.5, "{best}, {least}");
        }
    }

    /// Retries find their way: some entry of the table is nearly as good as the best offset, for each page and age.
    #[test]
    fn a_retry_entry_is_nearly_the_best() {
        for (part, pe) in [(Gauss::TLC, 3000.0), (Gauss::QLC, 1000.0)] {
            let model = RberModel::Gauss(part);
            for hours in [24.0, 730.0, 8760.0] {
                for page in 0..part.bits {
                    let (site, stress) = (PageSite { page, pages_per_block: 64 }, stress(pe, hours));
                    let at = |offset| model.rber_at(&stress, site, offset, 0.0);
                    let optimum = model.optimum(&stress, site);
                    let least = (0..=model.retry_entries()).map(|entry| at(model.entry(entry))).fold(1.0, f64::min);
                    assert!(least < 1.1 * at(optimum), "{part:?}, page {page}, {hours} h: {least:e}, best {:e}", at(optimum));
                    assert!(at(optimum) <= at(0.0) * 1.001);
                }
            }
        }
    }

    /// QLC has more errors than TLC at the same age, and its first page, with one reference, the fewest.
    #[test]
    fn qlc_is_weaker_than_tlc() {
        for hours in [24.0, 730.0, 8760.0] {
            let stress = stress(1000.0, hours);
            assert!(Gauss::QLC.rber(&stress, false) > 2.0 * Gauss::TLC.rber(&stress, false));
            let site = |page| PageSite { page, pages_per_block: 64 };
            assert!(Gauss::QLC.at(&stress, site(0), 0.0) < Gauss::QLC.at(&stress, site(3), 0.0) / 3.0);
        }
    }
}
