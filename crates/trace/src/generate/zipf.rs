//! Zipf-distributed popularity over a finite number of items.
//!
//! Paper: Hoermann and Derflinger, Rejection-inversion to generate variates from monotone
//! discrete distributions, ACM TOMACS 6(3), 1996. Idea: invert the integral of x^-theta, round
//! to the nearest rank, and reject where the integral overshoots the probability. Exact for any
//! theta >= 0 and any count, in constant memory and less than two draws on average.

use super::scatter::Scatter;
use super::{GeneratorKind, Placement, Shape, Starts};
use vocab::Stream;

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "zipf",
    about: "Zipf popularity over slots, a share of requests in sequence; theta, placement, sequential, request_size",
    build: |workload, stream| {
        let starts = workload.starts()?;
        let scatter = match workload.placement {
            Placement::Scattered => Some(Scatter::new(starts.count, stream)),
            Placement::Clustered => None,
        };
        let (zipf, sequential) = (Zipf::new(starts.count, workload.theta), workload.sequential);
        Ok(Box::new(ZipfShape { zipf, starts, scatter, sequential, last: 0 }))
    },
};

struct ZipfShape {
    zipf: Zipf,
    starts: Starts,
    scatter: Option<Scatter>,
    sequential: f64,
    /// First slot of the request before.
    last: u64,
}

impl ZipfShape {
    /// The slot behind the request before, for the share of requests that go there.
    fn behind(&self, stream: &mut Stream) -> Option<u64> {
        let next = self.last + self.starts.slots();
        // Without the share nothing is drawn, so that it changes no other workload.
        (self.sequential > 0.0 && stream.chance(self.sequential) && next < self.starts.count).then_some(next)
    }
}

impl Shape for ZipfShape {
    fn next(&mut self, stream: &mut Stream) -> (u64, u32) {
        self.last = self.behind(stream).unwrap_or_else(|| {
            let rank = self.zipf.draw(stream) - 1;
            self.scatter.as_ref().map_or(rank, |scatter| scatter.at(rank))
        });
        self.starts.at(self.last)
    }
}

/// Ranks `1..=count`, rank k with a probability proportional to k^-theta.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    count: u64,
    theta: f64,
    /// Integral up to 1.5, less the mass of rank 1; and up to count + 1/2.
    low: f64,
    high: f64,
    /// Distance from its rank within which a draw is accepted without further ado.
    sure: f64,
}

impl Zipf {
    /// Over `count` ranks, at least 1, with skew `theta`, at least 0; panics otherwise.
    #[must_use]
    pub fn new(count: u64, theta: f64) -> Self {
        assert!(count >= 1 && theta >= 0.0, "Zipf over {count} ranks with theta {theta}");
        let mut zipf = Self { count, theta, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(count as f64 + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.mass(2.0));
        zipf
    }

    /// Draws a rank.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let area = self.high + stream.unit() * (self.low - self.high);
            let x = self.inverse(area);
            // Rounding may carry x just outside the range.
            let rank = (x + 0.5).clamp(1.0, self.count as f64).floor();
            if rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.mass(rank) {
                return (rank as u64).clamp(1, self.count);
            }
        }
    }

    /// x^-theta.
    fn mass(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// The integral of x^-theta from 1: (x^(1-theta) - 1) / (1-theta), stable near theta = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        relative_exp((1.0 - self.theta) * log) * log
    }

    /// The x up to which the integral is `area`.
    fn inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.theta)).max(-1.0);
        (relative_log(t) * area).exp()
    }
}

/// (e^x - 1) / x.
fn relative_exp(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0) }
}

/// ln(1 + x) / x.
fn relative_log(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 * (1.0 - x * 2.0 / 3.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::Streams;

    #[test]
    fn frequencies_match_the_exact_distribution() {
        const DRAWS: u64 = 400_000;
        for theta in [0.0, 0.5, 0.99, 1.0, 1.2, 3.0] {
            for count in [1u64, 2, 7, 100] {
                let zipf = Zipf::new(count, theta);
                let mut stream = Streams::new(0x5eed).stream("zipf");
                let mut seen = vec![0u64; count as usize];
                (0..DRAWS).for_each(|_| seen[zipf.draw(&mut stream) as usize - 1] += 1);
                let total: f64 = (1..=count).map(|k| (k as f64).powf(-theta)).sum();
                for (index, &hits) in seen.iter().enumerate() {
                    let p = ((index + 1) as f64).powf(-theta) / total;
                    let mean = p * DRAWS as f64;
                    let deviation = (mean * (1.0 - p)).sqrt();
                    let off = (hits as f64 - mean).abs();
                    assert!(off <= 4.5 * deviation + 1.0, "theta {theta}, rank {index} of {count}: {hits} for {mean}");
                }
            }
        }
    }

    #[test]
    fn huge_counts_and_skews_stay_in_range() {
        for (count, theta) in [(1 << 53, 0.0), (u64::MAX, 0.99), (1 << 40, 1.0), (1 << 30, 100.0)] {
            let zipf = Zipf::new(count, theta);
            let mut stream = Streams::new(1).stream("zipf");
            assert!((0..10_000).all(|_| (1..=count).contains(&zipf.draw(&mut stream))), "{count} {theta}");
        }
    }
}
