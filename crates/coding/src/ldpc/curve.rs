//! How decoding goes with a number of wrong bits, as measured: what a simulation needs that stores no bits.
//!
//! The points are in `curves.csv`, made by `examples/ldpc` (`errors`, 30 iterations a try, without bit flipping): words with
//! exactly this many wrong bits at random places, degrees of sureness drawn at a raw bit error rate. Wrong bits are those of the
//! read in the middle, for soft reads as well. What simulations take is fitted to them (`fit` of the same program) and in
//! `tails.csv`: a line of the probit of the share of lost words, and what the remaining small sets of the matrix lose.

use super::channel::tail;
use super::{Code, Stage};
use std::sync::OnceLock;

/// Words of a number of wrong bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Wrong bits of each word.
    pub errors: f64,
    /// Raw bit error rate that degrees of sureness were drawn at.
    pub cells: f64,
    /// Words.
    pub frames: f64,
    /// Of these, lost ones.
    pub failures: f64,
}

/// The probability that decoding fails.
///
/// Cells of one rate tell as much of the right bits however many are wrong, so in soft reads an error beyond the mean of the rate counts
/// less than one that comes with a higher rate. A word is as hard as one whose rate stands for its *effective* errors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tail {
    /// Effective errors at which half of the words are lost.
    pub middle: f64,
    /// Errors that move the probit by 1 there.
    pub spread: f64,
    /// How much steeper it is at 0 errors: the probit is u / spread (1 + bend u / middle), u below the middle.
    pub bend: f64,
    /// Count of an error beyond the mean of the rate.
    pub counts: f64,
    /// Of the floor: wrong bits that defeat the decoder, ...
    pub power: u32,
    /// ... and the share of lost words over the raw bit error rate to that power.
    pub floor: f64,
}

impl Tail {
    /// The probability that a normal variable of mean 0 and deviation 1 is above x.
    #[must_use]
    pub fn normal(x: f64) -> f64 {
        tail(x)
    }

    /// The errors of a word that stand for as hard a word of their own rate.
    #[must_use]
    pub fn effective(&self, errors: f64, bits: usize, rber: f64) -> f64 {
        let mean = bits as f64 * rber;
        (mean + self.counts * (errors - mean)).max(0.0)
    }

    /// The probability that a word with this many effective errors is lost.
    #[must_use]
    pub fn failure(&self, effective: f64, bits: usize) -> f64 {
        if effective <= 0.0 || self.spread <= 0.0 {
            return if self.spread > 0.0 { 0.0 } else { 1.0 };
        }
        let below = self.middle - effective;
        // A bend does not turn back.
        let turn = self.middle / (2.0 * self.bend).abs().max(1e-9);
        let below = below.clamp(-turn, turn);
        let waterfall = tail(below / self.spread * (1.0 + self.bend * below / self.middle));
        let of_bit = |bit: u32| (effective - f64::from(bit)).max(0.0) / (bits as f64 - f64::from(bit));
        let floor = if self.power == 0 { 0.0 } else { self.floor * (0..self.power).map(of_bit).product::<f64>() };
        (waterfall + floor).min(1.0)
    }
}

/// The curve of one code and stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Measured points.
    pub points: Vec<Point>,
    /// Wrong bits of a word, ascending, and the mean iterations of min-sum where it succeeds; failing takes all of them.
    pub iterations: Vec<(f64, f64)>,
    /// The fit to them.
    pub tail: Tail,
    bits: usize,
}

impl Curve {
    /// The measured curve of a code at a stage: one of [`Code::names`], others have that of the first.
    #[must_use]
    pub fn of(code: &Code, stage: Stage) -> &'static Curve {
        static CURVES: OnceLock<Vec<[Curve; 3]>> = OnceLock::new();
        let curves = CURVES.get_or_init(|| {
            let of = |code: &Code| Stage::ALL.map(|stage| Curve::parse(code, stage));
            Code::names().filter_map(Code::find).map(of).collect()
        });
        let at = Code::names().position(|name| name == code.name()).unwrap_or(0);
        &curves[at][stage as usize]
    }

    /// The rows of a code and stage in tables with the columns of `examples/ldpc`; rows that are not so are left out.
    fn parse(code: &Code, stage: Stage) -> Self {
        let mut curve = Curve { bits: code.bits(), ..Curve::default() };
        let mine = |line: &&str| line.strip_prefix(code.name()).is_some_and(|rest| rest[1..].starts_with(stage.name()));
        let numbers = |line: &str| line.split(',').skip(2).map_while(|field| field.parse().ok()).collect::<Vec<f64>>();
        for line in include_str!("curves.csv").lines().filter(mine) {
            let [cells, errors, frames, failures, .., iterations] = numbers(line)[..] else { continue };
            curve.points.push(Point { errors, cells, frames, failures });
            if failures < frames && (cells * code.bits() as f64 - errors).abs() < 0.5 {
                curve.iterations.push((errors, iterations));
            }
        }
        for line in include_str!("tails.csv").lines().filter(mine) {
            let [middle, spread, bend, counts, power, floor] = numbers(line)[..] else { continue };
            curve.tail = Tail { middle, spread, bend, counts, power: power as u32, floor };
        }
        curve.iterations.sort_by(|a, b| a.0.total_cmp(&b.0));
        curve
    }

    /// The probability that a word with this many wrong bits is not decoded, its cells being of the rate that these stand for.
    #[must_use]
    pub fn failure(&self, errors: f64) -> f64 {
        self.tail.failure(errors, self.bits)
    }

    /// The most wrong bits at which words fail with at most this probability.
    #[must_use]
    pub fn bears(&self, probability: f64) -> f64 {
        let (mut low, mut high) = (0.0, 2.0 * self.tail.middle);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.failure(middle) > probability { high = middle } else { low = middle }
        }
        low
    }

    /// Mean iterations of a word with this many wrong bits that is decoded: 0 without any, else at least 1.
    #[must_use]
    pub fn mean_iterations(&self, errors: f64) -> f64 {
        if errors <= 0.0 {
            return 0.0;
        }
        let (Some(first), Some(last)) = (self.iterations.first(), self.iterations.last()) else { return 1.0 };
        line(&self.iterations, errors.clamp(first.0, last.0)).map_or(1.0, |mean| mean.max(1.0))
    }
}

/// The line through the two points nearest to a place.
fn line(points: &[(f64, f64)], at: f64) -> Option<f64> {
    if let [(_, only)] = points {
        return Some(*only);
    }
    let above = points.partition_point(|(place, _)| *place < at).clamp(1, points.len().checked_sub(1)?);
    let ((a, va), (b, vb)) = (points[above - 1], points[above]);
    Some(va + (vb - va) * (at - a) / (b - a))
}
