//! Spare dies that are to take the places of dead ones.

use crate::care::Care;
use crate::care::collect::Collector;
use crate::core::flash::FlashPayload;
use crate::core::timer::{Resource, Timer};
use crate::core::{Core, Moving};
use ftl::{LogKind, UnitId};
use std::collections::BTreeSet;
use vocab::{DieId, SimTime};

/// Which dead dies are to be replaced, and when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replacements {
    /// Dead dies whose replacement was asked for and has not come, each with the time from which on it may.
    asked: Vec<(DieId, SimTime)>,
    /// When a die was replaced last.
    last: Option<SimTime>,
    /// Strips that were lost, or away from their dies, when this was last looked at since.
    out: Option<u32>,
    /// Superblocks that were written when a die died, and not erased since.
    before: BTreeSet<UnitId>,
}

impl Replacements {
    /// The dead die is to be replaced, at this time or soon after.
    pub fn ask(&mut self, die: DieId, at: SimTime) {
        self.asked.retain(|&(other, _)| other != die);
        self.asked.push((die, at));
    }

    /// Whether a die waits to be replaced.
    #[inline]
    pub fn is_any_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// A die died that these superblocks may have pages on.
    pub fn die_died(&mut self, written: impl Iterator<Item = UnitId>) {
        self.before.extend(written);
    }

    /// The unit was erased, or is bad: it holds nothing.
    #[inline]
    pub fn unit_emptied(&mut self, unit: UnitId) {
        self.before.remove(&unit);
    }

    /// Superblocks that may have pages on dead dies.
    pub fn written_before(&self) -> &BTreeSet<UnitId> {
        &self.before
    }

    /// The dies whose time has come.
    pub fn due(&self, now: SimTime) -> Vec<DieId> {
        self.asked.iter().filter(|&&(_, at)| at <= now).map(|&(die, _)| die).collect()
    }

    /// When the next replacement to come may come.
    pub fn next(&self, now: SimTime) -> Option<SimTime> {
        self.asked.iter().map(|&(_, at)| at).filter(|&at| at > now).min()
    }

    /// The die was replaced.
    pub fn done(&mut self, die: DieId, now: SimTime) {
        self.asked.retain(|&(other, _)| other != die);
        (self.last, self.out) = (Some(now), None);
    }

    /// This many strips are lost, or away from their dies. True if there are any, and fewer than when this was last looked at.
    pub fn are_fewer(&mut self, out: u32) -> bool {
        let before = self.out.replace(out);
        out > 0 && before.is_none_or(|before| out < before)
    }

    /// When a die was replaced last.
    pub fn last(&self) -> Option<SimTime> {
        self.last
    }
}

impl<P: FlashPayload> Care<P> {
    /// The next event of the timer is the next replacement to come. One whose time has come needs none: it is tried after each event.
    pub fn expect_replacement(&self, core: &mut Core<P>) {
        match self.replacements.next(core.device.now) {
            Some(at) => core.schedule(Timer::Replace, at),
            None => core.clear(Timer::Replace),
        }
    }

    /// True if the next event of the calendar replaces a dead die and only timers of refresh and limits are pending beside it. Host requests
    /// that wait for room do not wait for that spare die.
    #[inline]
    pub fn waits_for_a_replacement(&self, core: &Core<P>, resource: Resource) -> bool {
        self.replacements.is_any_asked()
            && resource == Resource::Timer(Timer::Replace)
            && !core.has_events_beside([Timer::Replace, Timer::Refresh, Timer::Age])
    }

    /// True if no move, displaced program, queued command or decoding refers to a PPN of the dead die. Pins and partial parities may.
    pub fn may_replace(&self, core: &Core<P>, die: DieId) -> bool {
        let device = &core.device;
        let is_group_log = core.map.kind() == LogKind::Group;
        if is_group_log && !self.replacements.written_before().is_empty() {
            return false;
        }
        let moves = !is_group_log
            && core.map.logs_of_die(die).any(|log| {
                core.moving[log].under_way > 0 || self.collectors[log].is_erasing() || self.refresh.is_recharging(log)
            });
        let waits = device.displaced.iter().any(|command| device.grid.die_of(command.ppn) == die);
        !moves && !waits && device.backlog(die) == 0 && !device.is_busy(die) && !device.is_decoding(die)
    }

    /// A new die has the place of this one: nothing of its logs is under way, or wanted.
    pub fn logs_are_new(&mut self, core: &mut Core<P>, die: DieId) {
        for log in core.map.logs_of_die(die) {
            (self.collectors[log], core.moving[log]) = (Collector::default(), Moving::default());
            self.refresh.log_is_new(log);
        }
        let units = core.map.units_of_die(die);
        self.wanted.retain(|(unit, _)| !units.contains(unit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::care::testing::Bench;

    /// A dead die is to be replaced later. Catches requests that wait for the spare die though only it could bring room, and a drive that gives
    /// them up though something else is still to come, or comes first.
    #[test]
    fn a_drive_waits_for_a_spare_die_if_nothing_but_refresh_and_limits_is_to_come_beside_it() {
        let mut bench = Bench::new("raid5", |_| {});
        let at = SimTime(1_000);
        let [replace, refresh, scrub] = [Timer::Replace, Timer::Refresh, Timer::Scrub];
        let waits = |bench: &Bench, timer| bench.care.waits_for_a_replacement(&bench.core, Resource::Timer(timer));
        assert!(!waits(&bench, replace), "no die is to be replaced");
        bench.care.replacements.ask(DieId(1), at);
        bench.care.expect_replacement(&mut bench.core);
        assert_eq!(bench.core.device.calendar.next(), Some((at, replace.index(&bench.core.device.grid))));
        assert!(waits(&bench, replace));
        bench.core.schedule(Timer::Refresh, SimTime(2_000));
        bench.core.schedule(Timer::Age, SimTime(3_000));
        assert!(waits(&bench, replace));
        assert!(!waits(&bench, refresh), "something else is next");
        bench.core.schedule(Timer::Scrub, SimTime(4_000));
        assert!(!waits(&bench, replace) && !waits(&bench, scrub), "the scrub goes on");
        bench.core.clear(Timer::Scrub);
        bench.care.replacements.done(DieId(1), at);
        assert!(!waits(&bench, replace), "the spare die has taken the place of the dead one");
    }
}
