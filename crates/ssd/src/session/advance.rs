//! Goes on without figures: for campaigns that only ask whether data are right, and run thousands of
//! drives a second. Counting latencies and making a result of them would be half of their time.

use crate::config::Pace;
use crate::engine::clocks::HostFlow;
use crate::session::{Session, inside};
use vocab::HostCommand;

impl Session {
    /// Replays as [`Session::run_until`] does; the pages that were read and compared in the meantime.
    pub fn advance(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> u64 {
        let mut number = 0;
        inside!(self.inner_mut(), prepared => {
            let engine = &mut prepared.engine;
            let before = engine.core.device.folds.checked;
            engine.replay_stepwise(commands, pace, &mut |_, _| {}, |_| {
                number += 1;
                go_on(number - 1)
            });
            engine.core.device.folds.checked - before
        })
    }

    /// The same of several flows, each with a clock of its own. Of each flow a request may be lost that would have come next when
    /// `go_on` said no. Who goes on begins their clocks again.
    pub fn advance_flows(&mut self, flows: Vec<HostFlow<'_>>, go_on: &mut dyn FnMut(u64) -> bool) -> u64 {
        let mut number = 0;
        inside!(self.inner_mut(), prepared => {
            let engine = &mut prepared.engine;
            let before = engine.core.device.folds.checked;
            engine.replay_flows(flows, &mut |_, _| {}, |_| {
                number += 1;
                go_on(number - 1)
            });
            engine.core.device.folds.checked - before
        })
    }
}
