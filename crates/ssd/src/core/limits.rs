//! Counters of reads and ages of blocks, under a scheme that has limits on them; `care::limits` has the
//! blocks recycled that come near.
//!
//! Reads are counted when they are asked for, not when they are served: what waits in a long queue is as good
//! as done, because it cannot be sent elsewhere. That counter is the one that the paper keeps in DRAM, four
//! bytes a block; `BlockInfo::reads` is the medium's own.
//!
//! Limits fall as a block wears out (DA-RAID-5, Fig. 2). Blocks of nearly the same wear are a *wear class*, and share the
//! limits of its upper end. A block changes its class only while it is erased.

use crate::core::tolerance::Tolerance;
use ftl::Ftl;
use nand::BlockInfo;
use protect::DisturbLimits;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use vocab::{BlockAddr, Nanos, PeCycles, SimTime};

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
    /// Of blocks with these limits, in reads and in age.
    pub fn new(reads: u32, retention: Nanos, margin_percent: u32, pages_per_block: u32) -> Self {
        let part = |of: u64, share: u32| (u128::from(of) * u128::from(share) / 200) as u64;
        let (idle, now) = (200 - 2 * margin_percent, 200 - margin_percent);
        // A limit that the moves alone would pass leaves half of it to the host.
        let reads = u64::from(reads.saturating_sub(pages_per_block).max(reads / 2));
        Self {
            idle_reads: (part(reads, idle) as u32).max(1),
            now_reads: (part(reads, now) as u32).max(1),
            idle_age: Nanos(part(retention.0, idle)),
            now_age: Nanos(part(retention.0, now)),
        }
    }
}

/// Thresholds of each wear class, made when the first block enters it.
#[derive(Clone, Debug)]
pub(crate) struct ByWear {
    limits: DisturbLimits,
    pages_per_block: u32,
    tolerance: Tolerance,
    /// P/E cycles from one class to the next.
    step: u32,
    classes: Vec<Option<Thresholds>>,
}

/// Wear classes from a new block to one at its rated endurance: within the last of them limits differ by 2 percent.
const CLASSES: u32 = 64;

impl ByWear {
    pub fn new(limits: DisturbLimits, tolerance: Tolerance, endurance: PeCycles, pages_per_block: u32) -> Self {
        let is_constant = limits.reads.is_some() && limits.retention.is_some();
        let step = if is_constant { u32::MAX } else { endurance.0.div_ceil(CLASSES).max(1) };
        Self { limits, pages_per_block, tolerance, step, classes: Vec::new() }
    }

    /// The class of blocks with this many P/E cycles.
    fn class(&mut self, pe: PeCycles) -> u16 {
        let class = u16::try_from(pe.0 / self.step).unwrap_or(u16::MAX);
        let known = self.classes.len().max(usize::from(class) + 1);
        self.classes.resize(known, None);
        self.classes[usize::from(class)].get_or_insert_with(|| {
            let upper = PeCycles((u32::from(class) + 1).saturating_mul(self.step));
            let reads = self.limits.reads.unwrap_or_else(|| self.tolerance.reads(upper));
            let retention = self.limits.retention.unwrap_or_else(|| self.tolerance.retention(upper));
            Thresholds::new(reads, retention, self.limits.margin_percent, self.pages_per_block)
        });
        class
    }
}

/// Blocks that one log has to recycle. Entries outlive the erase of their block and are skipped then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    /// For each wear class that has any its blocks in order of their first program.
    pub order: BTreeMap<u16, VecDeque<(SimTime, BlockAddr)>>,
    /// Blocks whose reads reached the margin, and its second half, in order.
    pub tired: VecDeque<BlockAddr>,
    pub spent: VecDeque<BlockAddr>,
}

/// Counters and queues of the limits; empty under a scheme without them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// `None`: the scheme has no limits, or none any more.
    by_wear: Option<ByWear>,
    /// The wear class of each block since its first page.
    class_of: Vec<u16>,
    /// Reads asked of each block since its erase. Before the limits are on: as a mount knows them, or empty.
    pub reads: Vec<u32>,
    pub regions: Vec<Region>,
    /// Whether something happened that may let a block be recycled.
    pub stirred: bool,
    pub recycled: Recycled,
}

impl Limits {
    /// Limits on the blocks of a drive of this many logs; `reads` are the counts so far.
    pub fn new(by_wear: ByWear, reads: Vec<u32>, logs: usize) -> Self {
        Self {
            by_wear: Some(by_wear),
            class_of: vec![0; reads.len()],
            reads,
            regions: vec![Region::default(); logs],
            stirred: true,
            recycled: Recycled::default(),
        }
    }

    /// The scheme has no limits any more; what was recycled stays known.
    pub fn end(&mut self) {
        *self = Self { recycled: self.recycled, ..Self::default() };
    }

    /// Reads asked of each block since its erase; empty without limits.
    pub fn reads(&self) -> &[u32] {
        &self.reads
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.by_wear.is_some()
    }

    /// The thresholds of each class of a region, with its blocks.
    pub fn by_class<'a>(
        &'a self,
        region: &'a Region,
    ) -> impl Iterator<Item = (&'a Thresholds, &'a VecDeque<(SimTime, BlockAddr)>)> {
        let thresholds = |class: u16| self.by_wear.as_ref()?.classes[usize::from(class)].as_ref();
        region.order.iter().filter_map(move |(&class, order)| Some((thresholds(class)?, order)))
    }

    /// The thresholds of a block that has data.
    #[inline]
    pub fn of_block(&self, block: BlockAddr) -> Option<Thresholds> {
        let by_wear = self.by_wear.as_ref()?;
        by_wear.classes.get(usize::from(self.class_of[block.index()])).copied().flatten()
    }

    /// Puts a block with data into the class of its P/E cycles.
    pub fn classify(&mut self, block: BlockAddr, pe: PeCycles) -> u16 {
        let class = self.by_wear.as_mut().expect("limits are on").class(pe);
        self.class_of[block.index()] = class;
        class
    }

    /// Counts a read of a block that is asked for.
    #[inline]
    pub fn count_read(&mut self, map: &Ftl, block: BlockAddr) {
        let Some(at) = self.of_block(block) else { return };
        let count = &mut self.reads[block.index()];
        *count = count.saturating_add(1);
        if *count != at.idle_reads && *count != at.now_reads {
            return;
        }
        let is_spent = *count == at.now_reads;
        let region = &mut self.regions[map.log_of(map.unit_of_block(block))];
        if is_spent {
            region.spent.push_back(block)
        } else {
            region.tired.push_back(block)
        }
        self.stirred = true;
    }

    /// A block of this many P/E cycles, of this log of this many blocks, got its first page. `is_since` says whether a block
    /// was not erased since a time.
    pub fn note_first_program(
        &mut self,
        now: SimTime,
        log: usize,
        blocks: usize,
        block: BlockAddr,
        pe: PeCycles,
        is_since: impl Fn(BlockAddr, SimTime) -> bool,
    ) {
        let class = self.classify(block, pe);
        let order = self.regions[log].order.entry(class).or_default();
        order.push_back((now, block));
        // One entry in two at least is of a block that was erased since.
        if order.len() > 2 * blocks {
            order.retain(|&(at, block)| is_since(block, at));
        }
    }

    /// A block was erased: its cells start again, and the next one may have its turn.
    pub fn note_erase(&mut self, block: BlockAddr) {
        self.reads[block.index()] = 0;
        self.stirred = true;
    }

    /// Whether the block can wait no longer.
    pub fn is_pressing(&self, block: BlockAddr, info: &BlockInfo, now: SimTime) -> bool {
        let Some(at) = self.of_block(block) else { return false };
        let old = info.next_page > 0 && age_of(now, info.first_program) >= at.now_age;
        old || self.reads[block.index()] >= at.now_reads
    }

    /// Whether a block of these logs can wait no longer for its erase. Reads that go first would hold the erase off as
    /// long as the host has any.
    pub fn is_any_pressing(&self, logs: Range<usize>, now: SimTime) -> bool {
        let is_old = |at: &Thresholds, first: SimTime| age_of(now, first) >= at.now_age;
        let holds_old =
            |region| self.by_class(region).any(|(at, order)| order.front().is_some_and(|&(first, _)| is_old(at, first)));
        self.is_on() && self.regions[logs].iter().any(|region| !region.spent.is_empty() || holds_old(region))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_has_two_halves_and_the_moves_are_set_aside() {
        let retention = Nanos(1_000_000);
        let at = Thresholds::new(46_000, retention, 10, 256);
        assert_eq!((at.idle_reads, at.now_reads), (45_744 * 90 / 100, 45_744 * 95 / 100));
        assert_eq!((at.idle_age, at.now_age), (Nanos(900_000), Nanos(950_000)));
        let least = Thresholds::new(16, retention, 10, 256);
        assert_eq!((least.idle_reads, least.now_reads), (7, 7));
    }

    #[test]
    fn counters_of_a_256_gb_drive_with_1_mb_blocks_take_1_mb() {
        let blocks = (256u64 << 30) / (1 << 20);
        let counter = size_of_val(&Limits { reads: vec![0], ..Limits::default() }.reads[0]) as u64;
        assert_eq!(blocks * counter, 1 << 20);
    }
}
