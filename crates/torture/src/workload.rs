//! Requests of scenarios and of lives.

use crate::shape::pick;
use vocab::{Fua, HostCommand, HostOp, Lba, SimTime, Stream, StreamId};

/// Random requests; a tenth of the pages take half of them. Each page has this many sectors, and a share of the requests are of parts
/// of pages.
pub(super) fn workload(
    pages: u32,
    sectors_per_page: u32,
    count: u64,
    partial_at_most: f64,
    draws: &mut Stream,
) -> Vec<HostCommand> {
    let (reads, discards, partial) = (0.3 * draws.unit(), 0.08 * draws.unit(), partial_at_most * draws.unit());
    let (most, every) = (1 + draws.below(6), *pick(&[20_000, 100_000, 500_000], draws));
    let per = u64::from(sectors_per_page);
    let mut at = 0;
    let mut next = |_| {
        at += draws.below(2 * every + 1);
        let kind = draws.unit();
        let op = match kind {
            k if k < reads => HostOp::Read,
            k if k < reads + discards => HostOp::Discard,
            k if k < reads + discards + 0.06 => HostOp::Flush,
            _ => HostOp::Write(if draws.chance(0.15) { Fua::Yes } else { Fua::No }),
        };
        if op == HostOp::Flush {
            return HostCommand { at: SimTime(at), op, lba: Lba(0), sectors: 0, stream: StreamId::default() };
        }
        let hot = if draws.chance(0.5) { (pages / 10).max(1) } else { pages };
        let length = 1 + draws.below(most.min(u64::from(pages)));
        let first = draws.below(u64::from(hot)).min(u64::from(pages) - length);
        let (mut lba, mut sectors) = (first * per, length * per);
        if draws.chance(partial) {
            let cut = draws.below(per).min(sectors - 1);
            (lba, sectors) = (lba + cut, sectors - cut);
            sectors -= draws.below(per).min(sectors - 1);
        }
        HostCommand { at: SimTime(at), op, lba: Lba(lba), sectors: sectors as u32, stream: StreamId::default() }
    };
    (0..count).map(&mut next).collect()
}
