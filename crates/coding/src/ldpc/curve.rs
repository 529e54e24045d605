//! How decoding goes with a number of wrong bits, as measured: what a simulation needs that stores no bits.
//!
//! The points are in `curves.csv`, made by `examples/ldpc.rs` (`errors`, 30 iterations, without bit flipping): words with
//! exactly so many wrong bits at random places, degrees of sureness drawn at the raw bit error rate that this number stands
//! for. Wrong bits are those of the read in the middle, for soft reads as well.

use super::{Code, Stage};
use std::sync::OnceLock;

/// Failures that a point must have seen to count: fewer say little.
const FAILURES: f64 = 3.0;

/// Below the first point the slope is that up to the first point that fails so many times as often: of nearer ones, with few
/// failures each, chance would make it.
const DECADE: f64 = 10.0;

/// The curve of one code and stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Wrong bits of a word, ascending, and the probability that decoding fails.
    pub fail: Vec<(f64, f64)>,
    /// Wrong bits of a word, ascending, and the mean iterations of min-sum where it succeeds; failing takes all of them.
    pub iterations: Vec<(f64, f64)>,
}

impl Curve {
    /// The measured curve of a code at a stage.
    #[must_use]
    pub fn of(code: &Code, stage: Stage) -> &'static Curve {
        static CURVES: OnceLock<Vec<[Curve; 3]>> = OnceLock::new();
        let curves = CURVES.get_or_init(|| {
            let of_name = |name| Stage::ALL.map(|stage| Curve::parse(include_str!("curves.csv"), name, stage));
            Code::names().map(of_name).collect()
        });
        let at = Code::names().position(|name| name == code.name()).unwrap_or(0);
        &curves[at][stage as usize]
    }

    /// The rows of a code and stage in a table with the columns of `examples/ldpc.rs`; rows that are not so are left out.
    fn parse(table: &str, name: &str, stage: Stage) -> Self {
        let mut curve = Curve::default();
        for line in table.lines() {
            let fields: Vec<&str> = line.split(',').collect();
            let [code, of_stage, errors, frames, failures, .., iterations] = fields[..] else { continue };
            let number = |field: &str| field.parse::<f64>().ok();
            let numbers = (number(errors), number(frames), number(failures), number(iterations));
            let (Some(errors), Some(frames), Some(failures), Some(iterations)) = numbers else { continue };
            if code != name || of_stage != stage.name() {
                continue;
            }
            if failures >= FAILURES {
                curve.fail.push((errors, failures / frames));
            }
            if failures < frames {
                curve.iterations.push((errors, iterations));
            }
        }
        curve.fail.sort_by(|a, b| a.0.total_cmp(&b.0));
        curve.iterations.sort_by(|a, b| a.0.total_cmp(&b.0));
        curve
    }

    /// The probability that a word with so many wrong bits is not decoded: its logarithm is a line between points, goes on above
    /// them with the slope of the last two, up to 1, and below them with the slope of the first tenfold rise. That is where
    /// nothing was measured. No error floor is added.
    #[must_use]
    pub fn failure(&self, errors: f64) -> f64 {
        if errors <= 0.0 {
            return 0.0;
        }
        if let Some(&(first, least)) = self.fail.first()
            && errors < first
            && let Some(&decade) = self.fail.iter().find(|(_, rate)| *rate >= DECADE * least)
        {
            return line(&[(first, least), decade], errors, f64::ln).map_or(1.0, f64::exp);
        }
        line(&self.fail, errors, f64::ln).map_or(1.0, |ln| ln.exp().min(1.0))
    }

    /// The most wrong bits at which words fail with at most this probability.
    #[must_use]
    pub fn bears(&self, probability: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.fail.last().map_or(0.0, |(errors, _)| 2.0 * errors));
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.failure(middle) > probability { high = middle } else { low = middle }
        }
        low
    }

    /// Mean iterations of a word with so many wrong bits that is decoded: 0 without any, else at least 1.
    #[must_use]
    pub fn mean_iterations(&self, errors: f64) -> f64 {
        if errors <= 0.0 {
            return 0.0;
        }
        let (Some(first), Some(last)) = (self.iterations.first(), self.iterations.last()) else { return 1.0 };
        line(&self.iterations, errors.clamp(first.0, last.0), |mean| mean).map_or(1.0, |mean| mean.max(1.0))
    }
}

/// The line through the two points nearest to a place, on a scale of the values.
fn line(points: &[(f64, f64)], at: f64, scale: impl Fn(f64) -> f64) -> Option<f64> {
    if let [(_, only)] = points {
        return Some(scale(*only));
    }
    let above = points.partition_point(|(place, _)| *place < at).clamp(1, points.len().checked_sub(1)?);
    let ((a, va), (b, vb)) = (points[above - 1], points[above]);
    Some(scale(va) + (scale(vb) - scale(va)) * (at - a) / (b - a))
}
