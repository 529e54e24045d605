//! Two classes of slots: a share of the slots gets a larger share of the requests.

use super::scatter::Scatter;
use super::{GeneratorKind, Placement, Shape, Starts};
use vocab::{Stream, StreamId};

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "hot-cold",
    about: "hot_requests of all requests go to hot_pages of all slots; placement, request_size; of several streams 0 is hot, and each other one has a part of the cold slots",
    build: |workload, stream| {
        let starts = workload.starts()?;
        let scatter = match workload.placement {
            Placement::Scattered => Some(Scatter::new(starts.count, stream)),
            Placement::Clustered => None,
        };
        let hot = ((starts.count as f64 * workload.hot_pages).round() as u64).min(starts.count);
        Ok(Box::new(HotCold { starts, hot, hot_requests: workload.hot_requests, scatter, last: 0 }))
    },
};

struct HotCold {
    starts: Starts,
    /// Hot starts; the first ones before scattering.
    hot: u64,
    hot_requests: f64,
    scatter: Option<Scatter>,
    /// The slot of the last request, before scattering.
    last: u64,
}

impl Shape for HotCold {
    fn next(&mut self, stream: &mut Stream) -> (u64, u32) {
        let cold = self.starts.count - self.hot;
        let wants_hot = stream.chance(self.hot_requests);
        // A class without slots leaves its requests to the other.
        let index = if (wants_hot && self.hot > 0) || cold == 0 { stream.below(self.hot) } else { self.hot + stream.below(cold) };
        self.last = index;
        self.starts.at(self.scatter.as_ref().map_or(index, |scatter| scatter.at(index)))
    }
    /// Hot slots are the first stream's; the cold ones are divided among the others.
    fn stream(&self, streams: u32) -> Option<StreamId> {
        let Some(cold) = self.last.checked_sub(self.hot) else { return Some(StreamId(0)) };
        let among = u128::from(cold) * u128::from(streams - 1) / u128::from(self.starts.count - self.hot);
        Some(StreamId(1 + among as u8))
    }
}
