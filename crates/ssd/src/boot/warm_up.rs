//! The workload's own history: before it is measured, its writes are replayed until write amplification no longer moves
//! (decision 15). Preconditioning writes all pages alike; a workload that does not makes another mixture of full and empty blocks, and
//! needs some times its spare to get there.

use crate::boot::precondition::{HearHistory, HistoryProgress};
use crate::config::Pace;
use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use device::facts::{Folds, RequestKind};
use vocab::{HostCommand, HostOp, SECTOR_BYTES};

/// How much of a workload is replayed before it is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WarmUp {
    /// Until write amplification is steady: while as much as the spare is written it is what it was before, while as much was written.
    /// Windows are a quarter of that; half of it hides a slow drift.
    /// Where the workload repeats itself after this many pages, the last half of that is checked against the same half of the time before: its
    /// phases are no change of the drive. It ends where the workload begins again: what was written last would be written again at once.
    UntilSteady {
        /// How much they may differ.
        within: f64,
        /// Logical pages written until the workload repeats itself; 0: it has no phases.
        period: u64,
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
    /// Write amplification of the last period, or while the last spare was written.
    pub waf: f64,
    /// Whether it was a period's.
    pub is_phased: bool,
    /// Whether it was steady then; `None`: that was not asked.
    pub is_steady: Option<bool>,
}

/// Windows of a warm-up at most: eight times the spare is written. A workload with phases gets whole periods, three at least.
const WINDOWS_MAX: usize = 32;

/// Windows of the longest period that is waited for. A longer one writes the spare several times whenever it is measured, so half as much
/// as that makes the drive its own, and no one asks whether it is steady.
const PERIOD_MAX: u64 = 16;

/// When a warm-up is looked at, and what is checked against each other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plan {
    /// Logical pages of a window.
    window: u64,
    /// Windows after which the workload repeats itself, at least those that are compared.
    period: usize,
    /// Windows that are compared with those a period before.
    compared: usize,
    within: f64,
    /// Windows at most.
    at_most: usize,
    /// Whether steadiness is asked for.
    is_asked: bool,
    /// Whether a period is one of the workload, whose end counts.
    is_phased: bool,
}

impl Plan {
    /// For a drive with this many spare slots.
    fn new(until: WarmUp, spare: u64) -> Self {
        let window = (spare / 4).max(1);
        let plan = Self { window, period: 4, compared: 4, within: 0.0, at_most: WINDOWS_MAX, is_asked: true, is_phased: false };
        match until {
            WarmUp::All => Self { at_most: usize::MAX, is_asked: false, ..plan },
            WarmUp::UntilSteady { within, period } => match (period + window / 2) / window {
                0 => Self { within, ..plan },
                1 => Self { within, window: period, ..plan },
                windows @ 2..=PERIOD_MAX => {
                    let (period, window) = (windows as usize, period / windows);
                    let at_most = (WINDOWS_MAX / period).max(3) * period;
                    Self { within, window, period, compared: (period / 2).max(2), at_most, is_phased: true, ..plan }
                }
                _ => Self { at_most: PERIOD_MAX as usize / 2, is_asked: false, ..plan },
            },
        }
    }

    /// Write amplification of the last period.
    fn waf(&self, past: &[f64]) -> f64 {
        mean(&past[past.len().saturating_sub(self.period)..])
    }

    fn is_steady(&self, past: &[f64]) -> bool {
        let is_at_end = !self.is_phased || past.len().is_multiple_of(self.period);
        let before = past.len().checked_sub(self.period + self.compared).filter(|_| self.is_asked && is_at_end);
        let Some(before) = before else { return false };
        let (earlier, last) = (mean(&past[before..before + self.compared]), mean(&past[past.len() - self.compared..]));
        (last - earlier).abs() <= self.within * earlier
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Commands until they have written this many pages.
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
pub(crate) fn warm_up<P: FlashPayload>(
    drive: &mut Engine<P>,
    commands: &mut dyn Iterator<Item = HostCommand>,
    until: WarmUp,
    depth: u32,
    hear: HearHistory<'_>,
) -> Warmed {
    let geometry = *drive.core.device.grid.geometry();
    let plan = Plan::new(until, u64::from(geometry.slots().saturating_sub(drive.core.map.user_slots())));
    let sectors_per_page = geometry.slot_size.0 / SECTOR_BYTES;
    let (mut warmed, mut past) = (Warmed { is_phased: plan.is_phased, ..Warmed::default() }, Vec::new());
    loop {
        let mut taken = Window { commands, sectors_per_page, pages_left: plan.window, taken: 0 };
        drive.core.device.folds = Folds::new(drive.core.device.grid.slots_per_page());
        drive.replay(&mut taken, Pace::Closed { depth }, &mut |_, _| {});
        warmed.requests += taken.taken;
        let is_whole = taken.pages_left == 0;
        let folds = &drive.core.device.folds;
        let pages = folds.pages[RequestKind::Write as usize];
        warmed.pages += pages;
        past.push(folds.programmed_slots() as f64 / (pages as f64).max(1.0));
        let is_steady = plan.is_steady(&past);
        (warmed.waf, warmed.is_steady) = (plan.waf(&past), plan.is_asked.then_some(is_steady));
        if !is_whole || is_steady || past.len() >= plan.at_most {
            return warmed;
        }
        let warmed_at_most = plan.window.saturating_mul(plan.at_most as u64);
        hear(HistoryProgress { warmed: warmed.pages, warmed_at_most, ..HistoryProgress::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(period: u64) -> Plan {
        Plan::new(WarmUp::UntilSteady { within: 0.02, period }, 4000)
    }

    #[test]
    fn the_spare_is_held_against_the_spare_before() {
        let plan = plan(0);
        assert!(!plan.is_steady(&[2.0; 7]), "eight windows are needed");
        assert!(plan.is_steady(&[9.0, 2.1, 1.9, 1.9, 2.1, 1.9, 2.1, 2.1, 1.9]), "what scatters has a mean");
        let drift = |each: f64| (0..8).map(|at| 2.0 * (1.0 + each * f64::from(at))).collect::<Vec<_>>();
        assert!(plan.is_steady(&drift(0.004)) && !plan.is_steady(&drift(0.007)), "2 % from four windows to the next four");
        assert!(!Plan::new(WarmUp::All, 4000).is_steady(&[2.0; 8]));
    }

    /// Fails if phases of a recording are taken for a drive that changes, or a drive that changes for one in another phase.
    #[test]
    fn phases_are_held_against_themselves() {
        let plan = plan(4100);
        assert_eq!((plan.window, plan.period, plan.compared), (1025, 4, 2));
        let phases = [1.0, 2.0, 3.0, 4.0];
        let steady: Vec<f64> = phases.iter().cycle().take(8).copied().collect();
        assert!(plan.is_steady(&steady));
        assert!(!plan.is_steady(&steady[..7]), "in the midst of a period");
        assert!((plan.waf(&steady) - 2.5).abs() < 1e-12, "of a whole period");
        let falling: Vec<f64> = steady.iter().enumerate().map(|(at, waf)| waf * (1.0 - 0.01 * at as f64)).collect();
        assert!(!plan.is_steady(&falling));
        // A period of a window and less has no phases that windows could show; one of many is not waited for.
        assert_eq!((self::plan(900).window, self::plan(900).is_phased, self::plan(90).window), (900, false, 1000));
        assert!(!self::plan(40_000).is_asked && self::plan(40_000).at_most == 8);
    }
}
