//! Saved state of each block beside its pages: how often its cells were read and recharged, which is no memory of the controller,
//! and its summary where the drive keeps a checkpoint. Blocks are many and change seldom, so that they are not looked at for each
//! save.

use super::fields::{self, Fields, Value};
use super::saved::{CELLS, Drive, SUMMARIES};
use crate::core::bytes::Writer;
use crate::core::checkpoint::Summary;
use nand::{BlockInfo, FlashArray, PageScan, Scan};
use vocab::BlockAddr;

/// Page reads after which cells are looked at again. A process that dies takes no more of them with it; erases and recharges are saved at once.
const READS_UNSAVED_MAX: u64 = 1024;

/// Work that a drive has done to its cells so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Work {
    reads: u64,
    others: u64,
}

impl Work {
    fn of(drive: &Drive) -> Self {
        let folds = &drive.core.device.folds;
        Self { reads: folds.reads.iter().sum(), others: folds.erases.iter().sum::<u64>() + folds.recharges }
    }

    fn is_far_from(self, other: Self) -> bool {
        self.others != other.others || self.reads.abs_diff(other.reads) >= READS_UNSAVED_MAX
    }
}

/// Saved state of each block.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    cells: Vec<u64>,
    /// Empty where the drive keeps no checkpoint.
    summaries: Vec<u64>,
    /// When the cells were looked at.
    looked: Option<Work>,
}

/// The work on the cells of a block, as a number: reads, and recharges above them.
fn cells(info: &BlockInfo) -> u64 {
    u64::from(info.reads) | u64::from(info.recharges) << 32
}

/// Cells of a drive that was opened are read no more often than this: there is room to count on, whatever the files say.
const MOST: u32 = u32::MAX / 2;

/// A drive that was opened has cells to which so much was done.
pub(super) fn have_cells(info: &mut BlockInfo, cells: u64) {
    (info.reads, info.recharges) = ((cells as u32).min(MOST), ((cells >> 32) as u32).min(MOST));
}

/// A summary as a number; 0: there is none.
fn number_of(summary: Summary) -> u64 {
    match summary {
        Summary::None => 0,
        Summary::Struck => 1,
        Summary::Erased => 2,
        Summary::Whole(pe) => 3 + u64::from(pe),
    }
}

/// Numbers of summaries are below this.
pub(super) const SUMMARY_END: u64 = 3 + (1 << 32);

/// The summary of that number, on a drive whose flash was opened. What is not as the summary says is looked at page by page: the files
/// were damaged, or have lost something.
pub(super) fn summary_of(number: u64, block: BlockAddr, drive: &Drive) -> Summary {
    let (array, grid) = (&drive.core.device.array, &drive.core.device.grid);
    let mut pages = (0..grid.pages_per_block()).map(|page| array.scan_page(grid.ppn(block, page)));
    match number {
        0 => Summary::None,
        1 => Summary::Struck,
        2 if pages.all(|page| page == PageScan::Erased) => Summary::Erased,
        2 => Summary::None,
        _ if pages.all(|page| matches!(page, PageScan::Valid(_))) => Summary::Whole((number - 3) as u32),
        _ => Summary::Struck,
    }
}

impl Blocks {
    /// All that is to be saved of the blocks of a drive; from now on its checkpoint says what changes.
    pub fn all(drive: &mut Drive) -> Self {
        let blocks = || (0..drive.core.device.grid.geometry().blocks()).map(BlockAddr);
        let summaries = match &drive.core.safe.checkpoint {
            Some(checkpoint) => blocks().map(|block| number_of(checkpoint.of(block))).collect(),
            None => Vec::new(),
        };
        let cells = blocks().map(|block| cells(drive.core.device.array.block(block))).collect();
        let looked = Some(Work::of(drive));
        drive.core.safe.checkpoint.iter_mut().for_each(|checkpoint| checkpoint.watch());
        Self { cells, summaries, looked }
    }

    /// All of it, in the order of keys.
    pub fn list(&self) -> Fields {
        let of_kind = |kind: u8, numbers: &[u64]| -> Fields {
            let numbers = (0..).zip(numbers).filter(|(_, number)| **number > 0);
            numbers.map(|(block, &number)| ((kind, block), Value::Number(number))).collect()
        };
        [of_kind(CELLS, &self.cells), of_kind(SUMMARIES, &self.summaries)].concat()
    }

    /// Cells are looked at with the next save, however little was done to them.
    pub fn look_again(&mut self) {
        self.looked = None;
    }

    /// Takes over how the blocks are now; what changed, as fields.
    pub fn catch_up(&mut self, drive: &mut Drive, to: &mut Writer) {
        if let Some(checkpoint) = &mut drive.core.safe.checkpoint {
            for block in checkpoint.take_changed() {
                let now = number_of(checkpoint.of(block));
                change(SUMMARIES, block, &mut self.summaries[block.index()], now, to);
            }
        }
        let now = Work::of(drive);
        if self.looked.is_none_or(|looked| now.is_far_from(looked)) {
            self.looked = Some(now);
            for (block, was) in (0..).map(BlockAddr).zip(&mut self.cells) {
                change(CELLS, block, was, cells(drive.core.device.array.block(block)), to);
            }
        }
    }
}

fn change(kind: u8, block: BlockAddr, was: &mut u64, now: u64, to: &mut Writer) {
    if std::mem::replace(was, now) != now {
        let value = (now > 0).then_some(Value::Number(now));
        fields::put(to, (kind, block.0.into()), value.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::ImageSession;
    use crate::files::testing::{Files, ask, tiny};
    use vocab::{Fua, HostOp};

    fn reads(session: &ImageSession) -> Vec<u32> {
        let core = &session.drive.core;
        (0..core.device.grid.geometry().blocks()).map(|block| core.device.array.block(BlockAddr(block)).reads).collect()
    }

    /// A process that dies takes some reads with it: at most as many as are not saved. Catches reads that files forget, those of
    /// a block that was erased since, and a drive of an age whose blocks count as never read.
    #[test]
    fn files_keep_how_often_cells_were_read() {
        let (files, mut setup) = (Files::of("reads"), tiny("none"));
        setup.age.reads = 70_000;
        let mut session = files.create(&setup);
        assert!(reads(&session).contains(&70_000) && reads(&session).iter().all(|&reads| reads == 0 || reads == 70_000));
        for round in 0..3 {
            ask(&mut session, HostOp::Read, (0..3000).map(|n| n % 3));
            ask(&mut session, HostOp::Write(Fua::Yes), (0..60).map(|n| 3 + (n + round) % 9));
            ask(&mut session, HostOp::Read, (0..100).map(|n| n % 40));
            let (before, looks) = (reads(&session), 200);
            session = files.reopened(&setup, session);
            let now = reads(&session);
            for (block, (&now, &before)) in now.iter().zip(&before).enumerate() {
                // The mount reads a few pages as well.
                let kept = before.saturating_sub(READS_UNSAVED_MAX as u32)..=before + looks;
                assert!(kept.contains(&now), "round {round}, block {block}: {before} reads, then {now}");
            }
            let [all, kept] = [&before, &now].map(|reads| reads.iter().map(|&reads| u64::from(reads)).sum::<u64>());
            assert!(all < kept + READS_UNSAVED_MAX, "round {round}: {all} reads, then {kept}");
        }
    }

    /// Catches a drive at the end of its life that is young again once its files are opened.
    #[test]
    fn files_keep_how_near_the_end_of_life_is() {
        let (files, mut setup) = (Files::of("fatigue"), tiny("none"));
        setup.faults.wear_out = 1e-9;
        let mut session = files.create(&setup);
        let chance = |session: &ImageSession| session.drive.core.device.array.found().and_then(|found| found.fatigue);
        assert_eq!(chance(&session), Some(0.0));
        ask(&mut session, HostOp::Write(Fua::Yes), (0..60).map(|n| n % 40));
        let before = chance(&session).expect("it wears out");
        assert!(before >= 60e-9, "{before}");
        session = files.reopened(&setup, session);
        assert!(chance(&session).is_some_and(|chance| (before..before * 2.0).contains(&chance)), "{:?}", chance(&session));
    }
}
