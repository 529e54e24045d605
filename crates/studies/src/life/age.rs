//! A drive at a point of its life, and what it has been through.

use super::deaths::Death;
use super::endurance::Wearing;
use super::{Epoch, Hazard};
use ssd::{Session, Stretch};
use std::collections::VecDeque;
use vocab::SimTime;

/// Write amplification of a drive that may leap at most, by that at the age before; what is within the second of the new drive's may be
/// chance.
const STEADY: (f64, f64) = (1.05, 1.25);
/// Share of blocks that have worn out before wear can become uneven for lack of room.
const WORN_TO_MATTER: f64 = 0.03;

/// A drive and its life so far. A clone of it is a fork of the life.
#[derive(Clone)]
pub(super) struct Age {
    pub session: Session,
    pub wearing: Wearing,
    pub years: f64,
    pub host_pages: f64,
    /// By how much `host_pages` may be off, either way.
    pub host_pages_off: f64,
    pub losses: f64,
    pub losses_by_cause: Hazard,
    /// The phase of the calendar, and the years at which it is over.
    pub phase: usize,
    pub phase_over: f64,
    /// Temperatures in degrees Celsius since some times on.
    pub temperatures: Vec<(SimTime, f64)>,
    /// When the last stretches began.
    pub since: VecDeque<SimTime>,
    /// The leap after the last stretch.
    pub leap: Option<Leap>,
    /// Years and hazard of the last epoch.
    pub last: Option<(f64, Hazard)>,
    /// Write amplification of the last epoch.
    pub waf: f64,
    /// All programs since the last epoch but those of its last stretch, where every program counts.
    pub lived: Stretch,
    /// True while write amplification hardly rises. Once it does, blocks wear unevenly, and the drive may not leap.
    pub is_steady: bool,
    /// True once there is an age to end at, if it is asked to stop.
    pub is_stoppable: bool,
    /// Dies that have died at ages that were asked for.
    pub deaths: Vec<Death>,
    /// P/E cycles of blocks of dies that spare dies have replaced.
    pub retired_cycles: u64,
}

impl Age {
    /// A new drive.
    pub fn new(session: Session, wearing: Wearing, celsius: f64) -> Self {
        Self {
            temperatures: vec![(SimTime::ZERO, celsius)],
            since: VecDeque::new(),
            session,
            wearing,
            years: 0.0,
            host_pages: 0.0,
            host_pages_off: 0.0,
            losses: 0.0,
            losses_by_cause: Hazard::default(),
            phase: 0,
            phase_over: f64::INFINITY,
            leap: None,
            last: None,
            waf: f64::INFINITY,
            lived: Stretch::default(),
            is_steady: true,
            is_stoppable: false,
            deaths: Vec::new(),
            retired_cycles: 0,
        }
    }

    /// The temperature of the drive in degrees Celsius.
    pub fn celsius(&self) -> f64 {
        self.temperatures.last().expect("the first of all").1
    }

    /// P/E cycles of the blocks of living dies.
    pub fn living_cycles(&self) -> Vec<u32> {
        self.wearing.living(&self.session.pe_cycles())
    }

    /// Whether the next age is the first since a die died; so many ages came before.
    pub fn has_just_lost_a_die(&self, ages: usize) -> bool {
        self.deaths.last().is_some_and(|death| death.before + 1 == ages)
    }

    /// Adds expected events of loss.
    pub fn lose(&mut self, events: &Hazard) {
        self.losses += events.all();
        self.losses_by_cause = self.losses_by_cause.plus(events);
    }

    /// Notes the write amplification of the last of these ages, without what refresh is counted to write.
    pub fn note_waf(&mut self, epochs: &[Epoch], waf: f64) {
        // The drive as it is since a die died last, or since it was new.
        let first = self.deaths.last().map_or(0, |death| death.before + 1);
        let new = epochs[first].waf - epochs[first].refreshed;
        let is_whole = f64::from(self.wearing.worn()) < WORN_TO_MATTER * f64::from(self.wearing.all());
        (self.is_steady, self.waf) = (is_whole || waf < STEADY.0 * self.waf || waf < STEADY.1 * new, waf);
    }
}

/// A leap, which is not counted before the stretch after it says with which write amplification it ended.
#[derive(Clone, Copy)]
pub(super) struct Leap {
    /// P/E cycles of all blocks together.
    pub cycles: f64,
    /// Logical pages of the host by P/E cycle of a block, before it; those of refresh count.
    pub pages_a_cycle: f64,
}
