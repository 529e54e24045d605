//! Counters of reads and ages of blocks, under a scheme that has limits on them; `care::limits` has the
//! blocks recycled that come near.
//!
//! Reads are counted when they are asked for, not when they are served: what waits in a long queue is as good
//! as done, because it cannot be sent elsewhere. That counter is the one that the paper keeps in DRAM, four
//! bytes a block; `BlockInfo::reads` is the medium's own.

use nand::BlockInfo;
use protect::DisturbLimits;
use std::collections::VecDeque;
use vocab::{BlockAddr, DieId, Grid, Nanos, Ppn, SimTime};

/// How old a stamp is; nothing if the clock jumped to before it.
pub(crate) fn age_of(now: SimTime, stamp: SimTime) -> Nanos {
    Nanos(now.0.saturating_sub(stamp.0))
}

/// Blocks recycled since the drive was aged, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recycled {
    /// Read often, in the first half of the margin, on an idle die.
    pub reads_idle: u64,
    /// Read so often that it could not wait.
    pub reads_at_once: u64,
    /// Old, in the first half of the margin, on an idle die.
    pub retention_idle: u64,
    /// So old that it could not wait.
    pub retention_at_once: u64,
}

/// Where the halves of the margin begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thresholds {
    pub idle_reads: u32,
    pub now_reads: u32,
    pub idle_age: Nanos,
    pub now_age: Nanos,
}

impl Thresholds {
    pub fn new(limits: DisturbLimits, pages_per_block: u32) -> Self {
        let part = |of: u64, share: u32| (u128::from(of) * u128::from(share) / 200) as u64;
        let (idle, now) = (200 - 2 * limits.margin_percent, 200 - limits.margin_percent);
        // A limit that the moves alone would pass leaves half of it to the host.
        let reads = u64::from(limits.reads.saturating_sub(pages_per_block).max(limits.reads / 2));
        Self {
            idle_reads: (part(reads, idle) as u32).max(1),
            now_reads: (part(reads, now) as u32).max(1),
            idle_age: Nanos(part(limits.retention.0, idle)),
            now_age: Nanos(part(limits.retention.0, now)),
        }
    }
}

/// What one die has to recycle. Entries outlive the erase of their block and are skipped then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    /// Blocks in order of their first program.
    pub order: VecDeque<(SimTime, BlockAddr)>,
    /// Blocks whose reads reached the margin, and its second half, in order.
    pub tired: VecDeque<BlockAddr>,
    pub spent: VecDeque<BlockAddr>,
}

/// Counters and queues of the limits; empty under a scheme without them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// `None`: the scheme has no limits, or none any more.
    pub at: Option<Thresholds>,
    /// Reads asked of each block since its erase.
    pub reads: Vec<u32>,
    pub regions: Vec<Region>,
    /// Whether something happened that may let a block be recycled.
    pub stirred: bool,
    pub recycled: Recycled,
}

impl Limits {
    /// Reads asked of each block since its erase; empty without limits.
    pub fn reads(&self) -> &[u32] {
        &self.reads
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.at.is_some()
    }

    /// Counts a read that is asked for.
    #[inline]
    pub fn count_read(&mut self, grid: &Grid, ppn: Ppn) {
        let Some(at) = self.at else { return };
        let block = grid.split(ppn).0;
        let count = &mut self.reads[block.index()];
        *count = count.saturating_add(1);
        if *count != at.idle_reads && *count != at.now_reads {
            return;
        }
        let is_spent = *count == at.now_reads;
        let region = &mut self.regions[grid.split_block(block).0.index()];
        if is_spent {
            region.spent.push_back(block)
        } else {
            region.tired.push_back(block)
        }
        self.stirred = true;
    }

    /// A block got its first page. `is_since` says whether a block was not erased since a time.
    pub fn note_first_program(
        &mut self,
        (grid, now): (&Grid, SimTime),
        block: BlockAddr,
        is_since: impl Fn(BlockAddr, SimTime) -> bool,
    ) {
        let region = &mut self.regions[grid.split_block(block).0.index()];
        region.order.push_back((now, block));
        // One entry in two at least is of a block that was erased since.
        if region.order.len() > 2 * grid.blocks_per_die() as usize {
            region.order.retain(|&(at, block)| is_since(block, at));
        }
    }

    /// A block was erased: its cells start anew, and the next one may have its turn.
    pub fn note_erase(&mut self, block: BlockAddr) {
        self.reads[block.index()] = 0;
        self.stirred = true;
    }

    /// Whether the block can wait no longer.
    pub fn is_pressing(&self, block: BlockAddr, info: &BlockInfo, now: SimTime) -> bool {
        let Some(at) = self.at else { return false };
        let old = info.next_page > 0 && age_of(now, info.first_program) >= at.now_age;
        old || self.reads[block.index()] >= at.now_reads
    }

    /// Whether a block that can wait no longer waits for an erase of its die. Reads that go first would hold
    /// the erase off as long as the host has any.
    pub fn is_any_pressing(&self, die: DieId, now: SimTime) -> bool {
        let Some(at) = self.at else { return false };
        let region = &self.regions[die.index()];
        let old = || region.order.front().is_some_and(|&(first, _)| age_of(now, first) >= at.now_age);
        !region.spent.is_empty() || old()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_has_two_halves_and_the_moves_are_set_aside() {
        let limits = DisturbLimits { reads: 46_000, retention: Nanos(1_000_000), margin_percent: 10 };
        let at = Thresholds::new(limits, 256);
        assert_eq!((at.idle_reads, at.now_reads), (45_744 * 90 / 100, 45_744 * 95 / 100));
        assert_eq!((at.idle_age, at.now_age), (Nanos(900_000), Nanos(950_000)));
        let least = Thresholds::new(DisturbLimits { reads: 16, ..limits }, 256);
        assert_eq!((least.idle_reads, least.now_reads), (7, 7));
    }

    #[test]
    fn counters_of_a_256_gb_drive_with_1_mb_blocks_take_1_mb() {
        let blocks = (256u64 << 30) / (1 << 20);
        let counter = size_of_val(&Limits { reads: vec![0], ..Limits::default() }.reads[0]) as u64;
        assert_eq!(blocks * counter, 1 << 20);
    }
}
