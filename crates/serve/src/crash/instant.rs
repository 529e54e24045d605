//! Instants at which the power goes, and which of them are tried.

use super::Crash;
use crate::recording::{Recorded, Recording};
use lab::served::DiskRequest;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use vocab::{Fua, Stream, Streams};

/// An instant at which the power may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    /// Requests that were answered; the next one is this, from 0.
    pub request: usize,
    /// The power goes just before this event of the drive, from 1, after that request was sent; 0: it was not sent.
    pub events: u32,
    /// Which of the fates of what dies are doing, and of later draws.
    pub fate: u32,
}

/// What is tried at a request: before it is sent, and so often while it is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tries {
    pub before: bool,
    pub within: u32,
}

/// Instants within a request that is under way: of a flush, and of a request that is drawn.
const WITHIN_FLUSH: u32 = 4;
const WITHIN_SAMPLE: u32 = 1;

impl Crash {
    /// What is tried where: before, within and after flushes and writes with FUA, and at samples of all requests that change
    /// something. Of too many, some are drawn, one from each of as many equal parts.
    pub(super) fn tries(&self, recording: &Recording) -> BTreeMap<usize, Tries> {
        let (requests, mut draws) = (&recording.requests, Streams::new(self.seed).stream("crash/instants"));
        let those = |of: fn(&Recorded) -> bool| (0..requests.len()).filter(|&index| of(&requests[index])).collect::<Vec<_>>();
        let mut tries: BTreeMap<usize, Tries> = BTreeMap::new();
        for index in stratified(&those(forces), self.flushes, &mut Streams::new(self.seed).stream("crash/flushes")) {
            *tries.entry(index).or_default() = Tries { before: true, within: WITHIN_FLUSH };
            tries.entry(index + 1).or_default().before = true;
        }
        for index in stratified(&those(Recorded::changes), self.samples, &mut draws) {
            let at = tries.entry(index).or_default();
            if draws.chance(0.5) {
                at.before = true;
            } else {
                at.within = at.within.max(WITHIN_SAMPLE);
            }
        }
        tries.entry(requests.len()).or_default().before = true;
        tries
    }
}

fn forces(recorded: &Recorded) -> bool {
    matches!(recorded.request, DiskRequest::Flush | DiskRequest::Write { fua: Fua::Yes, .. })
}

/// All of a list, or so many of it, one drawn from each of as many equal parts.
fn stratified(of: &[usize], most: usize, draws: &mut Stream) -> Vec<usize> {
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

impl FromStr for Instant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Vec<u32> = text.split(':').filter_map(|part| part.parse().ok()).collect();
        match numbers[..] {
            [request, events, fate] if text.split(':').count() == 3 => Ok(Self { request: request as usize, events, fate }),
            _ => Err(format!("found `{text}`; valid is REQUEST:EVENTS:FATE, three numbers")),
        }
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.request, self.events, self.fate)
    }
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
}
