//! Flows: those who share a drive, each with a clock of its own and figures of its own.
//!
//! A job of fio, a flow of MQSim, one of several generators, and a device or stream of a recording where that is asked for, is a flow.
//! A workload that is one flow is played as one order by one clock, and nothing is said of flows.

use crate::experiment::Experiment;
use crate::flow_spec::FlowsBy;
use crate::textual::Arrival;
use common::Problem;
use common::quantity::seconds;
use std::collections::BTreeMap;
use trace::flows::{FlowClock, Pauses};
use trace::{Part, Scanned, Tape};
use vocab::{Nanos, StreamId};

/// Most flows of a workload that each run alone, too.
pub(crate) const ALONE_MAX: usize = 64;

/// One of several flows of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name, which no other flow has.
    pub name: String,
    /// Its own clock.
    pub clock: FlowClock,
    /// Stages follow each other.
    pub stage: u32,
    /// Which requests are its own.
    pub(crate) part: Part,
}

/// The flows of a workload; none where one order and one clock is all there is.
pub(crate) fn of(experiment: &Experiment, tape: &Tape, scanned: &Scanned) -> Result<Vec<Flow>, Problem> {
    let flows = all_of(experiment, tape, scanned)?;
    if experiment.alone && flows.len() > ALONE_MAX {
        let message = format!("the workload has {} flows, valid is up to {ALONE_MAX}: each is a run of its own", flows.len());
        return Err(Problem::new("alone", message));
    }
    Ok(flows)
}

fn all_of(experiment: &Experiment, tape: &Tape, scanned: &Scanned) -> Result<Vec<Flow>, Problem> {
    let spec = &experiment.trace;
    let recorded = |parts: Vec<Part>, name: &dyn Fn(Part) -> String| {
        let flow = |part: Part| Flow { name: name(part), clock: FlowClock::Times, stage: 0, part };
        if parts.len() > 1 { parts.into_iter().map(flow).collect() } else { Vec::new() }
    };
    match (tape, spec.flows) {
        (Tape::Described { flows, .. }, FlowsBy::One) => described_flows(experiment, flows),
        (Tape::Recorded(_), FlowsBy::Device) => {
            let devices = scanned.footprint.extents().len() as u32;
            Ok(recorded((0..devices).map(Part::Device).collect(), &|part| match part {
                Part::Device(device) => format!("device {device}"),
                _ => String::new(),
            }))
        }
        (Tape::Recorded(_), FlowsBy::Stream) => {
            let streams = scanned.streams.iter().copied().map(Part::Stream).collect();
            Ok(recorded(streams, &|part| match part {
                Part::Stream(StreamId(stream)) => format!("stream {stream}"),
                _ => String::new(),
            }))
        }
        (_, FlowsBy::One) => Ok(Vec::new()),
        (_, by) => Err(Problem::new(
            "trace.flows",
            format!(
                "found {by}, but the workload is no recording: jobs of fio, flows of MQSim and `[[flow]]` are flows by themselves"
            ),
        )),
    }
}

fn described_flows(experiment: &Experiment, flows: &trace::flows::Flows) -> Result<Vec<Flow>, Problem> {
    if !flows.has_clocks() {
        return Ok(Vec::new());
    }
    let spec = &experiment.trace;
    let names = names(flows.flows.iter().map(|flow| flow.name.as_str()));
    let is_picked = |flow: &trace::flows::Flow| spec.device.is_none_or(|device| flow.devices.contains(&device));
    let all = flows.flows.iter().zip(names).enumerate().filter(|(_, (flow, _))| is_picked(flow));
    let found: Vec<Flow> =
        all.map(|(index, (flow, name))| Flow { name, clock: flow.clock(), stage: flow.stage, part: Part::Flow(index) }).collect();
    let stages = found.iter().map(|flow| flow.stage).max().unwrap_or(0);
    if spec.loops > 1 && stages > 0 {
        return Err(Problem::new(
            "trace.loops",
            format!("found {}, but the flows of the workload follow each other", spec.loops),
        ));
    }
    let end = found.iter().find(|flow| matches!(flow.clock, FlowClock::Queue { until: Some(_), .. }));
    if let Some(flow) = end.filter(|_| spec.loops > 1) {
        let message = format!(
            "found {}, but flow `{}` ends in time, whatever is repeated; for a longer run give it a later end (`runtime` of fio, `until` \
             of a `[[flow]]`, Stop_Time of MQSim)",
            spec.loops, flow.name
        );
        return Err(Problem::new("trace.loops", message));
    }
    let parts = [
        ("trace.since", spec.since.is_some()),
        ("trace.until", spec.until.is_some()),
        ("trace.skip", spec.skip > 0),
        ("trace.first", spec.first.is_some()),
        ("trace.max_gap", spec.max_gap.is_some()),
    ];
    if let Some((field, _)) = parts.iter().find(|(_, is_given)| *is_given)
        && found.len() > 1
    {
        return Err(Problem::new(
            *field,
            "takes a part of one order of requests, and each of the flows of this workload has its own; each flow's own description says \
             how much it asks for",
        ));
    }
    if flows.ends_in_time() && spec.addresses == crate::experiment::Addresses::Compact {
        let message = "found compact, but the footprint of flows that end in time is not known; valid is fold";
        return Err(Problem::new("trace.addresses", message));
    }
    Ok(found)
}

/// Names that differ: those that several have get numbers.
fn names<'a>(all: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut times = BTreeMap::<&str, usize>::new();
    all.clone().for_each(|name| *times.entry(name).or_default() += 1);
    let mut next = BTreeMap::<&str, usize>::new();
    let name = |name: &'a str| {
        if times[name] == 1 {
            return name.to_owned();
        }
        let number = next.entry(name).or_default();
        *number += 1;
        format!("{name}.{}", *number - 1)
    };
    all.map(name).collect()
}

/// The clock of a flow under the clock of an experiment.
pub fn host_clock(flow: &Flow, arrival: Arrival) -> ssd::FlowClock {
    let think = |pauses: Option<Pauses>| pauses.map(|Pauses { pause, every }| ssd::Think { pause, every });
    match (flow.clock, arrival) {
        (FlowClock::Times, Arrival::Closed(depth)) => ssd::FlowClock::Queue { depth, delay: Nanos(0), until: None, think: None },
        (FlowClock::Times, _) => ssd::FlowClock::Times,
        (FlowClock::Queue { delay, until, pauses, .. }, Arrival::Closed(depth)) => {
            ssd::FlowClock::Queue { depth, delay, until, think: think(pauses) }
        }
        (FlowClock::Queue { depth, delay, until, pauses }, _) => {
            ssd::FlowClock::Queue { depth, delay, until, think: think(pauses) }
        }
    }
}

/// The clock of a flow in words.
pub fn clock_words(clock: ssd::FlowClock) -> String {
    let ssd::FlowClock::Queue { depth, delay, until, think } = clock else { return "times".into() };
    let time = |time: Nanos| seconds(time.as_secs_f64());
    let mut words = format!("queue {depth}");
    if delay.0 > 0 {
        words += &format!(", after {}", time(delay));
    }
    if let Some(until) = until {
        words += &format!(", for {}", time(until));
    }
    if let Some(think) = think {
        let answers = if think.every == 1 { "each answer".into() } else { format!("{} answers", think.every) };
        words += &format!(", {} of pause behind {answers}", time(think.pause));
    }
    words
}

/// Flows that are named where there are many.
const NAMED: usize = 8;

/// Which flow has which clock, in words.
pub fn said(flows: &[Flow], arrival: Arrival, factor: f64) -> String {
    let named = flows.iter().take(NAMED);
    let mut words: Vec<String> =
        named.map(|flow| format!("`{}` {}", flow.name, clock_words(host_clock(flow, arrival)))).collect();
    if flows.len() > NAMED {
        words.push(format!("and {} more", flows.len() - NAMED));
    }
    let factor = if factor == 1.0 { String::new() } else { format!(" (times x {factor})") };
    format!("a clock for each flow: {}{factor}", words.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_one_name_get_numbers() {
        assert_eq!(names(["a", "b", "a", "c", "a"].into_iter()), ["a.0", "b", "a.1", "c", "a.2"]);
    }
}
