//! A run of several flows, and of each of them alone.

use common::Problem;
use experiment::flow::host_clock;
use experiment::{Arrival, CommandStream, Flow, Workload};
use ssd::{FlowResult, HostFlow, RequestLog, RunResult, RunSeries, Session};
use std::cell::RefCell;
use trace::AddressMap;
use vocab::HostCommand;

/// All that a run of flows needs.
#[derive(Clone, Copy)]
pub(crate) struct Playing<'a> {
    pub workload: &'a Workload,
    pub map: &'a AddressMap,
    pub arrival: Arrival,
    /// Factor of all times.
    pub factor: f64,
}

/// The commands of a flow; what is wrong with them is told where they end.
struct Told<'a> {
    stream: Option<CommandStream<'a>>,
    wrong: &'a RefCell<Option<Problem>>,
}

impl Iterator for Told<'_> {
    type Item = HostCommand;

    fn next(&mut self) -> Option<HostCommand> {
        let next = self.stream.as_mut()?.next();
        if next.is_none()
            && let Err(problem) = self.stream.take()?.finish()
        {
            self.wrong.borrow_mut().get_or_insert(problem);
        }
        next
    }
}

impl<'a> Playing<'a> {
    fn flow(&self, flow: &Flow, stage: u32, wrong: &'a RefCell<Option<Problem>>) -> Result<HostFlow<'a>, Problem> {
        let stream = Some(self.workload.commands_of(flow, self.map, self.factor)?);
        Ok(HostFlow { commands: Box::new(Told { stream, wrong }), clock: host_clock(flow, self.arrival), stage })
    }
}

/// Runs all flows of a workload at once.
///
/// # Errors
/// A trace that cannot be read again.
pub(crate) fn played(
    playing: Playing<'_>,
    session: &mut Session,
    is_explained: bool,
    progress: &mut dyn FnMut(u64),
    log: Option<RequestLog<'_>>,
) -> Result<RunResult, Problem> {
    let wrong = RefCell::new(None);
    let playing = Playing { workload: playing.workload, map: playing.map, ..playing };
    let flows = playing.workload.flows().iter().map(|flow| playing.flow(flow, flow.stage, &wrong)).collect::<Result<_, _>>()?;
    let mut result = session.run_flows(flows, is_explained, progress, log);
    if playing.workload.flows().len() == 1 {
        result.flows.clear();
    }
    wrong.take().map_or(Ok(result), Err)
}

/// Result of a flow alone, and its time series, where that was asked for.
type Alone = (FlowResult, Option<RunSeries>);

/// Runs each flow alone, on a fork of the drive.
///
/// # Errors
/// As [`played`].
pub(crate) fn played_alone(playing: Playing<'_>, session: &Session, is_recorded: bool) -> Result<Vec<Alone>, Problem> {
    let alone = |flow: &Flow| {
        let wrong = RefCell::new(None);
        let flows = vec![playing.flow(flow, 0, &wrong)?];
        let mut fork = session.clone();
        if is_recorded {
            fork.begin_series();
        }
        let mut result = fork.run_flows(flows, false, &mut |_| {}, None);
        let alone = (result.flows.remove(0), fork.end_series());
        wrong.take().map_or(Ok(alone), Err)
    };
    playing.workload.flows().iter().map(alone).collect()
}
