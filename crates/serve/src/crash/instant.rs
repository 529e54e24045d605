//! Instants at which the power goes, and which of them are tried.

use super::Crash;
use super::checks::with_marks;
use super::image::Digest;
use super::state::{State, digest_of};
use super::strict::Loss;
use crate::directory::ServeError;
use crate::steps::{Recording, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use vocab::{Stream, Streams};

/// An instant at which the power may go, and what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    /// Steps that were answered; the next one is this, from 0.
    pub step: usize,
    /// The state that the cut meets.
    pub cut: Cut,
}

/// The state that a cut meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// A drive of ours.
    Drive {
        /// The power goes just before this event of the drive, from 1, after the next step was sent; 0: it was not sent.
        events: u32,
        /// Which of the fates of what dies are doing, and of later draws.
        fate: u32,
    },
    /// The strict drive.
    Strict(Loss),
}

impl Instant {
    /// Steps that have begun.
    #[must_use]
    pub fn begun(&self) -> usize {
        self.step + usize::from(self.is_within())
    }

    /// True if the next step is under way.
    #[must_use]
    pub fn is_within(&self) -> bool {
        matches!(self.cut, Cut::Drive { events: 1.., .. })
    }

    /// When and how, in words, of a recording of that many steps.
    #[must_use]
    pub fn in_words(&self, steps: usize) -> String {
        match self.cut {
            Cut::Drive { events: 0, .. } => format!("after {} of {steps} steps", self.step),
            Cut::Drive { events, .. } => format!("before event {events} of step {} of {steps}", self.step),
            Cut::Strict(loss) => format!("after {} of {steps} steps, {}", self.step, super::strict::in_words(loss)),
        }
    }
}

impl FromStr for Instant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = || format!("found `{text}`; valid is STEP:EVENTS:FATE, three numbers, or STEP:LOSS as a failure names it");
        let (step, rest) = text.split_once(':').ok_or_else(found)?;
        let step = step.parse().map_err(|_| found())?;
        let cut = match rest.split_once(':') {
            None => Cut::Strict(rest.parse().map_err(|()| found())?),
            Some((events, fate)) => {
                let number = |word: &str| word.parse().map_err(|_| found());
                Cut::Drive { events: number(events)?, fate: number(fate)? }
            }
        };
        Ok(Self { step, cut })
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cut {
            Cut::Drive { events, fate } => write!(f, "{}:{events}:{fate}", self.step),
            Cut::Strict(loss) => write!(f, "{}:{loss}", self.step),
        }
    }
}

/// Tries at a step: before it is sent, and this often while it is under way; of the strict drive, these losses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tries {
    pub before: bool,
    pub within: u32,
    pub losses: Vec<Loss>,
}

/// All tries, and how much is left out.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub tries: BTreeMap<usize, Tries>,
    /// Strict drive: instants that were looked at up to each step, each of which leaves an image.
    pub instants: BTreeMap<usize, usize>,
    /// Different images beyond the most that are to be checked.
    pub images_left_out: usize,
    /// Single writes that were neither lost nor kept alone.
    pub singles_left_out: usize,
}

/// Instants within a request that is under way: of a flush, and of a request that is drawn.
const WITHIN_FLUSH: u32 = 4;
const WITHIN_SAMPLE: u32 = 1;

impl Crash {
    /// The random stream of a draw at a step.
    pub(super) fn draws(&self, step: usize, draw: u32) -> Stream {
        Streams::new(self.seed).stream_of("crash/subsets", (step as u64) << 32 | u64::from(draw))
    }

    /// All tries, from a step on.
    pub(super) fn plan(&self, start: &State, recording: &Recording, from: usize) -> Result<Plan, ServeError> {
        match start {
            State::Strict(_) => self.plan_strict(start, recording, from),
            State::Drive(_) => Ok(Plan { tries: self.plan_drive(recording, from), ..Plan::default() }),
        }
    }

    /// Before, within and after flushes and writes with FUA, and at samples of all requests that change
    /// something. Of too many, some are drawn, one from each of as many equal parts.
    fn plan_drive(&self, recording: &Recording, from: usize) -> BTreeMap<usize, Tries> {
        let (steps, mut draws) = (&recording.steps, Streams::new(self.seed).stream("crash/instants"));
        let those = |of: fn(&Step) -> bool| (from..steps.len()).filter(|&index| of(&steps[index])).collect::<Vec<_>>();
        let mut tries: BTreeMap<usize, Tries> = BTreeMap::new();
        for index in stratified(&those(Step::forces), self.flushes, &mut Streams::new(self.seed).stream("crash/flushes")) {
            *tries.entry(index).or_default() = Tries { before: true, within: WITHIN_FLUSH, losses: Vec::new() };
            tries.entry(index + 1).or_default().before = true;
        }
        for index in stratified(&those(Step::changes), self.samples, &mut draws) {
            let at = tries.entry(index).or_default();
            if draws.chance(0.5) {
                at.before = true;
            } else {
                at.within = at.within.max(WITHIN_SAMPLE);
            }
        }
        // A check may ask more behind a mark than before it.
        for index in those(|step| matches!(step, Step::Mark(_))) {
            tries.entry(index + 1).or_default().before = true;
        }
        tries.entry(steps.len()).or_default().before = true;
        tries
    }

    /// Every way that [`super::strict`] names, after every step; each image once, at the first instant that leaves it.
    fn plan_strict(&self, start: &State, recording: &Recording, from: usize) -> Result<Plan, ServeError> {
        let State::Strict(block) = start else { return Ok(Plan::default()) };
        let (mut block, mut plan) = (block.clone(), Plan::default());
        let (mut seen, mut found): (BTreeSet<Digest>, Vec<(usize, Loss)>) = (BTreeSet::new(), Vec::new());
        let (mut marks, mut instants): (Vec<&str>, usize) = (Vec::new(), 0);
        for step in 0..=recording.steps.len() {
            let last = step.checked_sub(1).map(|last| &recording.steps[last]);
            if let Some(last) = last {
                block.take(last, step - 1)?;
            }
            if let Some(Step::Mark(name)) = last.filter(|_| step > from) {
                marks.push(name);
            }
            let is_new = step == from || last.is_some_and(|last| last.changes() || matches!(last, Step::Mark(_)));
            if step < from || !is_new {
                continue;
            }
            // A drive that is what it was lacks what it lacked then, behind marks that were told since.
            let all = step == from || matches!(last, Some(Step::Mark(_) | Step::Control { held: Some(_), .. }));
            // A subset of what is written by now is one of what is written before the next flush: unless a mark comes between, it is
            // drawn there.
            let is_last = recording.steps.get(step).is_none_or(|next| !matches!(next, Step::Request(_)) || next.forces());
            let drawn = if is_last { self.subsets } else { 0 };
            let (losses, left_out) = block.losses(all, drawn, &mut self.draws(step, u32::MAX));
            plan.singles_left_out += left_out;
            instants += losses.len();
            plan.instants.insert(step, instants);
            let is_first = |loss: &Loss| seen.insert(with_marks(digest_of(&block, self, step, *loss).0, &marks));
            found.extend(losses.into_iter().filter(is_first).map(|loss| (step, loss)));
        }
        let (all, most) = (found.len(), if self.images == 0 { usize::MAX } else { self.images });
        // Those that lose nothing come first: all programs meet them.
        let (whole, some): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, loss)| matches!(loss, Loss::All | Loss::None));
        let draws = &mut Streams::new(self.seed).stream("crash/images");
        let mut taken = stratified(&whole, most, draws);
        taken.extend(stratified(&some, most - taken.len(), draws));
        plan.images_left_out = all - taken.len();
        taken.sort_unstable();
        for (step, loss) in taken {
            plan.tries.entry(step).or_default().losses.push(loss);
        }
        Ok(plan)
    }
}

/// All of a list, or this many of it, one drawn from each of as many equal parts.
fn stratified<T: Copy>(of: &[T], most: usize, draws: &mut Stream) -> Vec<T> {
    let parts = most.min(of.len());
    if parts == of.len() && most != 0 {
        return of.to_vec();
    }
    let one = |part: usize| {
        let (from, to) = (part * of.len() / parts, (part + 1) * of.len() / parts);
        of[from + draws.below((to - from).max(1) as u64) as usize]
    };
    (0..parts).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_drawn_from_each_part() {
        let all: Vec<usize> = (100..200).collect();
        let drawn = stratified(&all, 10, &mut Streams::new(1).stream("test"));
        assert_eq!(drawn.iter().map(|found| (found - 100) / 10).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        assert!(drawn.iter().any(|found| found % 10 != 0), "not the first of each");
        assert_eq!(stratified(&all, 1000, &mut Streams::new(1).stream("test")), all);
        assert!(stratified(&all, 0, &mut Streams::new(1).stream("test")).is_empty());
    }

    #[test]
    fn instants_are_read_as_they_are_written() {
        let torn = |atoms, alone| Loss::Torn { write: 10, atoms, alone };
        let losses = [Loss::All, Loss::None, Loss::Lost(3), Loss::Kept(4), torn(4, false), torn(-1, true), Loss::Drawn(7)];
        let cuts = losses.map(Cut::Strict).into_iter().chain([Cut::Drive { events: 1, fate: 2 }]);
        for instant in cuts.map(|cut| Instant { step: 11, cut }) {
            assert_eq!(instant.to_string().parse(), Ok(instant), "{instant}");
        }
        for wrong in ["", "11", "11:", "11:1", "x:all", "11:all-3", "11:torn-3", "11:1:2:3", "11:lost-x"] {
            assert!(wrong.parse::<Instant>().is_err(), "{wrong}");
        }
    }
}
