//! Makes a scenario that breaks a rule smaller, as long as it breaks the same one.

use crate::Lived;
use crate::rule::Violation;
use crate::run::{Happened, Outcome};
use crate::scenario::{Fates, Scenario, Stop, Strike, die_of, is_ended, is_not_begun};
use ssd::nand::{EraseFate, Pairing, ProgramFate};
use ssd::protect::registry;
use ssd::{BufferKind, Fate, FlowClock, Outage, Pace, PayloadKind, Scheduler};
use vocab::{DieId, Nanos};

/// A scenario that breaks the same rule as `scenario`, and is no larger; `go_on` ends the search.
#[must_use]
pub fn shrink(scenario: &Scenario, go_on: &dyn Fn() -> bool) -> (Scenario, Outcome) {
    let outcome = scenario.run();
    let Some(violation) = outcome.broken().cloned() else { return (scenario.clone(), outcome) };
    let mut search = Search { violation, best: scenario.clone(), outcome, go_on };
    search.cut_off();
    search.explicit_fates();
    loop {
        let before = search.best.clone();
        search.rounds();
        search.stops();
        search.outages();
        search.commands();
        search.plain_drive();
        search.shape();
        search.earlier();
        search.fates();
        if search.best == before || !go_on() {
            return (search.best, search.outcome);
        }
    }
}

struct Search<'a> {
    violation: Violation,
    best: Scenario,
    outcome: Outcome,
    go_on: &'a dyn Fn() -> bool,
}

impl Search<'_> {
    /// Takes the scenario over if it still breaks the rule.
    fn offer(&mut self, candidate: Scenario) -> bool {
        if candidate == self.best || !candidate.is_within_bounds() || !(self.go_on)() {
            return false;
        }
        let outcome = candidate.run();
        let broken = outcome.broken().is_some_and(|violation| violation.is_like(&self.violation));
        if broken {
            (self.best, self.outcome) = (candidate, outcome);
        }
        broken
    }

    fn changed(&mut self, change: impl FnOnce(&mut Scenario)) -> bool {
        let mut candidate = self.best.clone();
        change(&mut candidate);
        self.offer(candidate)
    }

    /// Nothing after the round that breaks the rule.
    fn cut_off(&mut self) {
        if let Some((last, _)) = self.outcome.violation {
            self.changed(|scenario| scenario.rounds.truncate(last + 1));
        }
    }

    /// Replaces drawn fates by those that happened.
    fn explicit_fates(&mut self) {
        let happened = self.outcome.happened.clone();
        self.changed(|scenario| {
            for (round, happened) in scenario.rounds.iter_mut().zip(&happened) {
                for (stop, happened) in round.stops.iter_mut().zip(happened) {
                    if let (Strike::Cut(fates, _), Happened::Cut(commands, _)) = (&mut stop.strike, happened) {
                        *fates = Fates::Given(commands.iter().map(|&(begun, fate)| (die_of(begun), fate)).collect());
                    }
                }
            }
        });
    }

    fn rounds(&mut self) {
        for number in (0..self.best.rounds.len()).rev() {
            if self.best.rounds.len() > 1 && !self.changed(|scenario| drop(scenario.rounds.remove(number))) {
                self.merge(number);
            }
        }
    }

    /// A round without strikes becomes part of the next.
    fn merge(&mut self, number: usize) {
        if number + 1 < self.best.rounds.len() && self.best.rounds[number].stops.is_empty() {
            self.changed(|scenario| {
                let mut round = scenario.rounds.remove(number);
                round.commands.append(&mut scenario.rounds[number].commands);
                scenario.rounds[number].commands = round.commands;
            });
        }
    }

    fn stops(&mut self) {
        for number in (0..self.best.rounds.len()).rev() {
            for stop in (0..self.best.rounds[number].stops.len()).rev() {
                self.changed(|scenario| drop(scenario.rounds[number].stops.remove(stop)));
            }
        }
    }

    /// Cuts that take nothing but power.
    fn outages(&mut self) {
        for (round, stop) in self.each_stop() {
            let takes: [fn(&mut Outage); 6] = [
                |outage| *outage = Outage::default(),
                |outage| outage.clock_jump = 0,
                |outage| outage.memory.buffer = false,
                |outage| outage.memory.sums = false,
                |outage| outage.memory.reads = false,
                |outage| outage.memory.checkpoint = false,
            ];
            for less in takes {
                self.changed(|scenario| {
                    if let Strike::Cut(_, outage) = &mut scenario.rounds[round].stops[stop].strike {
                        less(outage);
                    }
                });
            }
        }
    }

    /// Delta debugging: leaves out ever smaller pieces of the requests.
    fn commands(&mut self) {
        for number in 0..self.best.rounds.len() {
            let mut piece = self.best.rounds[number].commands.len();
            while piece > 0 {
                let mut at = self.best.rounds[number].commands.len();
                while at > 0 {
                    let first = at.saturating_sub(piece);
                    self.changed(|scenario| drop(scenario.rounds[number].commands.drain(first..at)));
                    at = first.min(self.best.rounds[number].commands.len());
                }
                piece /= 2;
            }
            self.single_pages(number);
        }
    }

    /// Requests become those of one page.
    fn single_pages(&mut self, number: usize) {
        let per = self.best.setup.drive.geometry.sectors_per_slot();
        for at in 0..self.best.rounds[number].commands.len() {
            if self.best.rounds[number].commands[at].sectors > per {
                self.changed(|scenario| scenario.rounds[number].commands[at].sectors = per);
            }
        }
    }

    /// Less of the life before the first round.
    fn youth(&mut self) {
        self.changed(|scenario| scenario.lived = None);
        for at in (0..self.best.lived.as_ref().map_or(0, |lived| lived.stretches.len())).rev() {
            let less = |change: fn(&mut Lived, usize)| {
                move |scenario: &mut Scenario| scenario.lived.iter_mut().for_each(|lived| change(lived, at))
            };
            self.changed(less(|lived, at| lived.stretches[at].worn = 0));
            self.changed(less(|lived, at| lived.stretches[at].leap = 0));
            self.changed(less(|lived, at| _ = lived.stretches.remove(at)));
        }
        self.changed(|scenario| scenario.lived.iter_mut().for_each(|lived| lived.refresh = None));
    }

    fn plain_drive(&mut self) {
        self.changed(|scenario| scenario.setup.payload = PayloadKind::Tag);
        self.changed(|scenario| scenario.setup.buffer.kind = BufferKind::Off);
        self.changed(|scenario| scenario.setup.scheduler = Scheduler::Fifo);
        self.changed(|scenario| scenario.setup.faults.uncorrectable_reads = 0.0);
        self.changed(|scenario| scenario.setup.faults.wear_out = 0.0);
        self.changed(|scenario| scenario.setup.faults.silent = 0.0);
        self.changed(|scenario| scenario.setup.age.bad_blocks = 0.0);
        self.changed(|scenario| {
            let setup = &mut scenario.setup;
            (setup.ecc, setup.errors) = (ssd::Ecc::default(), ssd::Errors::default());
            (setup.age, setup.refresh) = (ssd::Age::default(), ssd::Refresh::default());
        });
        self.changed(|scenario| scenario.setup.gc = ssd::ftl::GcConfig::default());
        self.changed(|scenario| scenario.setup.wear = ssd::ftl::WearConfig::default());
        self.changed(|scenario| (scenario.setup.power.pairing, scenario.setup.power.hold_up) = (Pairing::Alone, false));
        self.plain_scheme();
        self.changed(|scenario| scenario.second = None);
        self.youth();
        self.changed(|scenario| {
            let plain = FlowClock::Queue { depth: 1, delay: Nanos(0), until: None, think: None };
            scenario.second = scenario.second.map(|_| plain);
        });
        self.changed(|scenario| scenario.pace = Pace::Closed { depth: 1 });
        self.changed(|scenario| scenario.pace = Pace::Closed { depth: 4 });
    }

    /// The scheme's defaults, unless they promise less.
    fn plain_scheme(&mut self) {
        let promise = |scenario: &Scenario| {
            let built = registry::build(&scenario.setup.scheme, ssd::shape(&scenario.setup.drive));
            built.map(|protection| protection.survives_dies()).ok()
        };
        let mut plain = self.best.clone();
        plain.setup.scheme.options.clear();
        if promise(&plain) == promise(&self.best) {
            self.offer(plain);
        }
    }

    /// Fewer dies, blocks and pages, and less history.
    fn shape(&mut self) {
        self.changed(|scenario| scenario.setup.precondition.overwrite_at_most = 0.0);
        self.changed(|scenario| scenario.setup.precondition.fill = 0.0);
        self.changed(|scenario| scenario.setup.drive.geometry.page_size = scenario.setup.drive.geometry.slot_size);
        while self.changed(|scenario| scenario.setup.drive.geometry.blocks_per_plane -= 1) {}
        while self.changed(|scenario| scenario.setup.user_slots -= 1 + scenario.setup.user_slots / 8) {}
        self.changed(|scenario| {
            let geometry = &mut scenario.setup.drive.geometry;
            (geometry.dies_per_channel, geometry.channels) = (geometry.dies(), 1);
        });
        while self.best.setup.drive.geometry.dies_per_channel > 2
            && self.changed(|scenario| scenario.setup.drive.geometry.dies_per_channel -= 1)
        {}
    }

    fn earlier(&mut self) {
        for (round, stop) in self.each_stop() {
            let mut step = self.best.rounds[round].stops[stop].after;
            while step > 0 {
                while self.best.rounds[round].stops[stop].after >= step
                    && self.changed(|scenario| scenario.rounds[round].stops[stop].after -= step)
                {}
                step /= 2;
            }
        }
    }

    /// Commands that ended, or were not begun, are simpler than others.
    fn fates(&mut self) {
        for (round, stop) in self.each_stop() {
            let Strike::Cut(Fates::Given(given), _) = self.best.rounds[round].stops[stop].strike.clone() else { continue };
            for (at, (_, fate)) in given.iter().enumerate() {
                if !is_ended(*fate) && !self.with_fate(round, stop, at, true) && !is_not_begun(*fate) {
                    self.with_fate(round, stop, at, false);
                }
            }
        }
    }

    fn with_fate(&mut self, round: usize, stop: usize, at: usize, ended: bool) -> bool {
        let simpler = |fate: &mut Fate| {
            *fate = match (&fate, ended) {
                (Fate::Program(_), true) => Fate::Program(ProgramFate::Ended),
                (Fate::Program(_), false) => Fate::Program(ProgramFate::NotBegun),
                (Fate::Erase(_), true) => Fate::Erase(EraseFate::Ended),
                (Fate::Erase(_), false) => Fate::Erase(EraseFate::NotBegun),
            };
        };
        self.changed(|scenario| {
            if let Some(given) = given_at(&mut scenario.rounds[round].stops[stop]) {
                simpler(&mut given[at].1);
            }
        })
    }

    fn each_stop(&self) -> Vec<(usize, usize)> {
        let rounds = self.best.rounds.iter().enumerate();
        rounds.flat_map(|(number, round)| (0..round.stops.len()).map(move |stop| (number, stop))).collect()
    }
}

fn given_at(stop: &mut Stop) -> Option<&mut Vec<(DieId, Fate)>> {
    match &mut stop.strike {
        Strike::Cut(Fates::Given(given), _) => Some(given),
        _ => None,
    }
}
