//! Which unit garbage collection takes next. Each policy is a struct and an entry of [`POLICIES`].

use crate::unit::{Unit, UnitState};
use std::sync::Arc;
use vocab::Stream;

/// View of a policy: the units of one log. Only closed units can be victims.
pub struct Candidates<'a> {
    /// All units of the log.
    pub units: &'a [Unit],
    /// Slots that can hold data in a unit that is opened now.
    pub unit_slots: u32,
    /// Slots that are written together: those of a page, or the data slots of a row.
    pub granule: u32,
    /// Number of units closed so far, which is the log's clock.
    pub clock: u64,
}

impl Candidates<'_> {
    /// Whether collecting the unit gains at least one page (or row). What is valid moves to whole
    /// pages, of which the last may be partly empty.
    #[must_use]
    pub fn gains(&self, unit: &Unit) -> bool {
        let slots = self.slots(unit).min(self.unit_slots);
        unit.state == UnitState::Closed && unit.valid.div_ceil(self.granule) < slots / self.granule
    }

    /// Slots of a unit that can hold data.
    #[must_use]
    pub fn slots(&self, unit: &Unit) -> u32 {
        if unit.slots > 0 { unit.slots } else { self.unit_slots }
    }
}

/// A victim policy. It only chooses: the engine collects.
pub trait VictimPolicy: Send + Sync {
    /// Index of the victim among the candidates; `None` where the policy wants none of them.
    fn pick(&mut self, candidates: &Candidates<'_>) -> Option<usize>;
    /// A copy for a fork of the drive.
    fn boxed_clone(&self) -> Box<dyn VictimPolicy>;
}

/// A policy that is in no registry: the program that runs the experiment brings it. Each drive gets a copy.
#[derive(Clone)]
pub struct OwnPolicy(Arc<dyn VictimPolicy>);

impl OwnPolicy {
    /// This policy.
    #[must_use]
    pub fn new(policy: impl VictimPolicy + 'static) -> Self {
        Self(Arc::new(policy))
    }

    pub(crate) fn build(&self) -> Box<dyn VictimPolicy> {
        self.0.boxed_clone()
    }
}

impl PartialEq for OwnPolicy {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for OwnPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnPolicy")
    }
}

/// One entry of the registry.
pub struct PolicyEntry {
    /// Name in experiments.
    pub name: &'static str,
    /// Which unit it chooses.
    pub summary: &'static str,
    /// Where it is described.
    pub source: &'static str,
    build: fn(choices: u32, draws: Stream) -> Box<dyn VictimPolicy>,
}

/// All policies.
pub const POLICIES: &[PolicyEntry] = &[
    PolicyEntry {
        name: "greedy",
        summary: "the unit with the fewest valid pages",
        source: "Bux and Iliadis, Performance Evaluation 67(11), 2010",
        build: |_, _| Box::new(Greedy),
    },
    PolicyEntry {
        name: "fifo",
        summary: "the unit closed longest ago",
        source: "Desnoyers, SYSTOR 2012 (LRU cleaning)",
        build: |_, _| Box::new(Fifo),
    },
    PolicyEntry {
        name: "random",
        summary: "any closed unit",
        source: "Van Houdt, SIGMETRICS 2013 (d = 1)",
        build: |_, draws| Box::new(Choices { choices: 1, draws }),
    },
    PolicyEntry {
        name: "d-choices",
        summary: "the fewest valid pages among `choices` random closed units",
        source: "Van Houdt, SIGMETRICS 2013",
        build: |choices, draws| Box::new(Choices { choices, draws }),
    },
    PolicyEntry {
        name: "cost-benefit",
        summary: "the highest age * (1 - u) / 2u, u being the share of valid pages",
        source: "Rosenblum and Ousterhout, SOSP 1991; Kawaguchi et al., USENIX 1995",
        build: |_, _| Box::new(CostBenefit),
    },
];

/// Builds the policy called `name`; `None` if there is none.
#[must_use]
pub fn build(name: &str, choices: u32, draws: Stream) -> Option<Box<dyn VictimPolicy>> {
    POLICIES.iter().find(|entry| entry.name == name).map(|entry| (entry.build)(choices, draws))
}

fn closed<'a>(candidates: &'a Candidates<'_>) -> impl Iterator<Item = (usize, &'a Unit)> {
    candidates.units.iter().enumerate().filter(|(_, unit)| unit.state == UnitState::Closed)
}

#[derive(Clone)]
struct Greedy;

impl VictimPolicy for Greedy {
    fn pick(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        // Of units with equally few valid slots, the one that was closed first.
        let best = closed(candidates).min_by_key(|(_, unit)| (unit.valid, unit.closed_at));
        best.filter(|(_, unit)| candidates.gains(unit)).map(|(index, _)| index)
    }

    fn boxed_clone(&self) -> Box<dyn VictimPolicy> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
struct Fifo;

impl VictimPolicy for Fifo {
    fn pick(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        // Full units too: a log is a queue only if each unit is rewritten in its turn.
        closed(candidates).min_by_key(|(_, unit)| unit.closed_at).map(|(index, _)| index)
    }

    fn boxed_clone(&self) -> Box<dyn VictimPolicy> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
struct Choices {
    choices: u32,
    draws: Stream,
}

impl VictimPolicy for Choices {
    fn pick(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        let mut best: Option<usize> = None;
        let mut drawn = 0;
        // Nearly all units are closed, so few draws are rejected. The bound ends the loop where hardly any is.
        for _ in 0..self.choices as usize * 64 + candidates.units.len() * 8 {
            let index = self.draws.below(candidates.units.len() as u64) as usize;
            let unit = &candidates.units[index];
            if unit.state != UnitState::Closed {
                continue;
            }
            if best.is_none_or(|b| unit.valid < candidates.units[b].valid) {
                best = Some(index);
            }
            drawn += 1;
            if drawn == self.choices {
                break;
            }
        }
        best
    }

    fn boxed_clone(&self) -> Box<dyn VictimPolicy> {
        Box::new(self.clone())
    }
}

#[derive(Clone)]
struct CostBenefit;

impl VictimPolicy for CostBenefit {
    fn pick(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        let score = |unit: &Unit| {
            let u = f64::from(unit.valid) / f64::from(candidates.slots(unit));
            let age = (candidates.clock - unit.closed_at + 1) as f64;
            if unit.valid == 0 { f64::INFINITY } else { age * (1.0 - u) / (2.0 * u) }
        };
        let gainful = closed(candidates).filter(|(_, unit)| candidates.gains(unit));
        let best = gainful.max_by(|a, b| score(a.1).total_cmp(&score(b.1)).then(b.0.cmp(&a.0)));
        best.map(|(index, _)| index)
    }

    fn boxed_clone(&self) -> Box<dyn VictimPolicy> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::Streams;

    fn pick(name: &str, units: &[(u32, u64)]) -> Option<usize> {
        let unit = |&(valid, closed_at): &(u32, u64)| Unit { valid, closed_at, state: UnitState::Closed, ..Unit::default() };
        let mut units: Vec<_> = units.iter().map(unit).collect();
        units.push(Unit { state: UnitState::Open, ..Unit::default() });
        let draws = Streams::new(1).stream("test");
        let candidates = Candidates { units: &units, unit_slots: 64, granule: 4, clock: 100 };
        build(name, 200, draws).unwrap().pick(&candidates)
    }

    #[test]
    fn each_policy_takes_what_its_definition_says() {
        let units = [(30, 50), (10, 90), (10, 80), (60, 1)];
        assert_eq!(pick("greedy", &units), Some(2));
        assert_eq!(pick("fifo", &units), Some(3));
        // Of 200 draws with replacement among 4, the emptiest is missed with (1/2)^200.
        assert!(matches!(pick("d-choices", &units), Some(1 | 2)));
        // age (1-u)/2u: 51*.53/.94 = 28.9; 11*.84/.31 = 29.7; 21*2.7 = 56.7; 100*.0625/1.875 = 3.3.
        assert_eq!(pick("cost-benefit", &units), Some(2));
    }

    #[test]
    fn full_units_gain_nothing_for_greedy() {
        assert_eq!(pick("greedy", &[(64, 1), (64, 2)]), None);
        // Three free slots of four are still a page each when moved: nothing is won.
        assert_eq!(pick("greedy", &[(61, 1), (62, 2)]), None);
        assert_eq!(pick("greedy", &[(61, 1), (60, 2)]), Some(1));
        assert_eq!(pick("fifo", &[(64, 2), (64, 1)]), Some(1));
    }
}
