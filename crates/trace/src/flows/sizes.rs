//! Kinds of requests, and the sizes that are drawn for them.

use super::{Kind, Sizes, Synthetic};
use vocab::{SECTOR_BYTES, Stream};

impl Kind {
    pub(super) fn index(self) -> usize {
        match self {
            Kind::Read => 0,
            Kind::Write => 1,
            Kind::Discard => 2,
        }
    }
}

/// Places for requests of a kind: multiples of its unit from which the smallest fits.
pub(super) fn places(flow: &Synthetic, kind: usize) -> u64 {
    zone_places(flow, kind, flow.range.1)
}

/// Places for requests of a kind in a zone of this many bytes.
pub(super) fn zone_places(flow: &Synthetic, kind: usize, zone: u64) -> u64 {
    zone.checked_sub(smallest(&flow.sizes[kind])).map_or(0, |room| room / flow.units[kind] + 1)
}

/// The smallest request.
pub(crate) fn smallest(sizes: &Sizes) -> u64 {
    match sizes {
        Sizes::Weighted(sizes) => sizes.iter().map(|(size, _)| *size).min().unwrap_or(SECTOR_BYTES),
        Sizes::Multiples { low, .. } => *low,
        Sizes::Normal { .. } => SECTOR_BYTES,
    }
}

/// The largest request; that of a normal distribution has no bound of its own.
pub(crate) fn largest(sizes: &Sizes) -> u64 {
    match sizes {
        Sizes::Weighted(sizes) => sizes.iter().map(|(size, _)| *size).max().unwrap_or(0),
        Sizes::Multiples { high, .. } => *high,
        Sizes::Normal { .. } => 0,
    }
}

/// A size of at most `room`, where the smallest is not larger than that.
pub(super) fn draw_size(sizes: &Sizes, room: u64, stream: &mut Stream) -> u64 {
    match sizes {
        Sizes::Weighted(weighted) => match weighted[..] {
            [(size, _)] => size,
            _ => {
                let fitting = || weighted.iter().filter(|(size, _)| *size <= room);
                let mut left = stream.unit() * fitting().map(|(_, weight)| weight).sum::<f64>();
                let chosen = fitting().find(|(_, weight)| {
                    left -= weight;
                    left < 0.0
                });
                chosen.or(fitting().next_back()).map_or_else(|| smallest(sizes), |(size, _)| *size)
            }
        },
        Sizes::Multiples { low, high } => low * (1 + stream.below((high.min(&room) / low).max(1))),
        Sizes::Normal { mean, deviation } => {
            let sectors = ((mean + deviation * stream.normal()) / SECTOR_BYTES as f64).round().max(1.0) as u64;
            (sectors * SECTOR_BYTES).min(crate::REQUEST_LIMIT.0).min(room / SECTOR_BYTES * SECTOR_BYTES)
        }
    }
}
