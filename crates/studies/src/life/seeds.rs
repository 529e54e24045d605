//! One life under several seeds: how far its end, the writes of the host and its loss are chance.
//!
//! A seed decides which blocks are weak or bad, the write history, victims and, where the workload is generated, its requests. A
//! recording stays the same.

use super::{End, Life, SchemeLife};
use lab::{Interval, Ratio};

/// Lives of all schemes under a further seed.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedLives {
    /// The seed.
    pub seed: u64,
    /// In the order of the experiment's schemes.
    pub schemes: Vec<SchemeLife>,
}

impl Life {
    /// Lives of a scheme, that of the first seed first.
    pub fn of_all_seeds(&self, scheme: usize) -> impl Iterator<Item = &SchemeLife> {
        std::iter::once(&self.schemes[scheme]).chain(self.seeds.iter().filter_map(move |one| one.schemes.get(scheme)))
    }

    /// The seeds, the first one first.
    #[must_use]
    pub fn all_seeds(&self) -> Vec<u64> {
        std::iter::once(self.experiment.seed).chain(self.seeds.iter().map(|one| one.seed)).collect()
    }

    /// A value of a scheme under all seeds.
    pub(super) fn over_seeds(&self, scheme: usize, of: impl Fn(&SchemeLife) -> f64) -> Vec<f64> {
        self.of_all_seeds(scheme).map(of).collect()
    }

    /// How many lives of a scheme ended in each way, most often first.
    #[must_use]
    pub fn ends_of(&self, scheme: usize) -> Vec<(End, usize)> {
        let mut ends: Vec<(End, usize)> = Vec::new();
        for one in self.of_all_seeds(scheme) {
            match ends.iter_mut().find(|(end, _)| *end == one.end) {
                Some((_, times)) => *times += 1,
                None => ends.push((one.end, 1)),
            }
        }
        ends.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        ends
    }
}

/// The geometric mean of values above zero with its interval, that of their logarithms: losses differ by decades. `None` of fewer than
/// two values, or where one is zero.
#[must_use]
pub(super) fn geometric(values: &[f64]) -> Option<Ratio> {
    if values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let log = Interval::of(&values.iter().map(|value| value.ln()).collect::<Vec<_>>())?;
    Some(Ratio { ratio: log.mean.exp(), low: log.low().exp(), high: log.high().exp() })
}
