//! The workload's own history: before it is measured, its writes are replayed until write amplification no longer moves
//! (decision 15). Preconditioning writes all pages alike; a workload that does not makes another mixture of full and empty blocks, and
//! needs some times its spare to get there.

use crate::boot::precondition::{HearHistory, HistoryProgress};
use crate::config::Pace;
use crate::core::flash::SessionPayload;
use crate::engine::Drive;
use device::facts::{Folds, RequestKind};
use vocab::{HostCommand, HostOp, SECTOR_BYTES};

/// How much of a workload is replayed before it is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WarmUp {
    /// Until write amplification is steady: of the last two windows together within this of the two before. A window is a quarter
    /// of the spare.
    UntilSteady {
        /// How much they may differ.
        within: f64,
    },
    /// All that is given.
    All,
}

/// How a warm-up ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Warmed {
    /// Requests replayed.
    pub requests: u64,
    /// Logical pages that they wrote.
    pub pages: u64,
    /// Write amplification of the last two windows.
    pub waf: f64,
    /// Whether it was steady then; `None`: that was not asked.
    pub is_steady: Option<bool>,
}

/// Windows of a warm-up at most: eight times the spare is written.
const WINDOWS_MAX: usize = 32;

/// Commands until they have written so many pages.
struct Window<'a> {
    commands: &'a mut dyn Iterator<Item = HostCommand>,
    sectors_per_page: u64,
    pages_left: u64,
    taken: u64,
}

impl Iterator for Window<'_> {
    type Item = HostCommand;

    fn next(&mut self) -> Option<HostCommand> {
        if self.pages_left == 0 {
            return None;
        }
        let command = self.commands.next()?;
        self.taken += 1;
        if matches!(command.op, HostOp::Write(_)) {
            let (first, end) = (command.lba.0, command.lba.0 + u64::from(command.sectors));
            let pages = end.div_ceil(self.sectors_per_page) - first / self.sectors_per_page;
            self.pages_left = self.pages_left.saturating_sub(pages);
        }
        Some(command)
    }
}

/// Replays commands `depth` at a time, in windows. A command that does not come ends it.
pub(crate) fn warm_up<P: SessionPayload>(
    drive: &mut Drive<P>,
    commands: &mut dyn Iterator<Item = HostCommand>,
    (until, depth): (WarmUp, u32),
    hear: HearHistory<'_>,
) -> Warmed {
    let geometry = *drive.core.device.grid.geometry();
    let window = (u64::from(geometry.slots().saturating_sub(drive.core.map.user_slots())) / 4).max(1);
    let sectors_per_page = geometry.slot_size.0 / SECTOR_BYTES;
    let (mut warmed, mut past) = (Warmed::default(), Vec::new());
    loop {
        let mut taken = Window { commands, sectors_per_page, pages_left: window, taken: 0 };
        drive.core.device.folds = Folds::new(drive.core.device.grid.slots_per_page());
        drive.replay(&mut taken, Pace::Closed { depth }, &mut |_, _| {});
        warmed.requests += taken.taken;
        let is_whole = taken.pages_left == 0;
        let folds = &drive.core.device.folds;
        let pages = folds.pages[RequestKind::Write as usize];
        warmed.pages += pages;
        past.push(folds.programmed_slots() as f64 / (pages as f64).max(1.0));
        let last = &past[past.len().saturating_sub(2)..];
        warmed.waf = last.iter().sum::<f64>() / last.len() as f64;
        let (is_warm, at_most) = (is_steady(&past, until), window * WINDOWS_MAX as u64);
        warmed.is_steady = if let WarmUp::All = until { None } else { Some(is_warm) };
        if !is_whole || is_warm || until != WarmUp::All && past.len() == WINDOWS_MAX {
            return warmed;
        }
        hear(HistoryProgress { warmed: warmed.pages, warmed_at_most: at_most, ..HistoryProgress::default() });
    }
}

fn is_steady(past: &[f64], until: WarmUp) -> bool {
    let (WarmUp::UntilSteady { within }, [.., a, b, c, d]) = (until, past) else { return false };
    ((c + d) - (a + b)).abs() <= within * (a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_windows_are_held_against_the_two_before() {
        let until = WarmUp::UntilSteady { within: 0.02 };
        assert!(!is_steady(&[2.0, 2.0, 2.0], until), "four are needed");
        assert!(is_steady(&[9.0, 2.1, 1.9, 1.9, 2.1], until), "what scatters has a mean");
        assert!(!is_steady(&[2.0, 2.0, 1.95, 1.94], until), "what falls does not");
        assert!(!is_steady(&[2.0; 4], WarmUp::All));
    }
}
