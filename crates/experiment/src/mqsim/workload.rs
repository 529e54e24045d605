//! Flows of MQSim as a workload.

use super::{element, fields, parse, without_late_declaration};
use crate::document::Foreign;
use crate::experiment::Experiment;
use crate::parameters::{Fields, UNKNOWN, whole};
use crate::source::trace_problem;
use common::{Problem, path_of};
use roxmltree::Node;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use trace::TraceSource;
use trace::flows::{Amount, Flow, Flows, Manner, Pacing, Place, Rate, Requests, Sizes, Synthetic, Zone};
use vocab::{Nanos, SECTOR_BYTES};

/// Name of the format.
pub(crate) const NAME: &str = "mqsim";

/// One line on it.
pub(crate) const ABOUT: &str = "workload.xml of MQSim: the flows of its first scenario (docs/mqsim.md)";

/// Elements of a scenario that are flows.
const FLOWS: &[&str] = &["IO_Flow_Parameter_Set_Synthetic", "IO_Flow_Parameter_Set_Trace_Based"];

/// Most places of a flow: channels times chips times dies times planes.
const PLACES_MAX: usize = 1 << 20;

const COMMON: &str = "Priority_Class Device_Level_Data_Caching_Mode Channel_IDs Chip_IDs Die_IDs Plane_IDs \
    Initial_Occupancy_Percentage";

const SYNTHETIC: &str = "Working_Set_Percentage Synthetic_Generator_Type Read_Percentage Address_Distribution \
    Percentage_of_Hot_Region Generated_Aligned_Addresses Address_Alignment_Unit Request_Size_Distribution Average_Request_Size \
    Variance_Request_Size Seed Average_No_of_Reqs_in_Queue Bandwidth Intensity Stop_Time Total_Requests_To_Generate";

const RECORDED: &str = "File_Path Percentage_To_Be_Executed Relay_Count Time_Unit";

/// Whether a file begins like one.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    head.trim_start_matches('\u{feff}').trim_start().starts_with('<') && head.contains("<MQSim_IO_Scenarios")
}

/// A place of a flow: channel, chip, die, plane.
type Spot = (u64, u64, u64, u64);

/// The workload of a file.
///
/// # Errors
/// A problem of the file, with its place.
pub(crate) fn read(experiment: &Experiment, name: &str, text: &str) -> Result<Flows, Problem> {
    let file = Foreign::new(name, text);
    let text = without_late_declaration(text);
    let xml = parse(&file, &text)?;
    let root = element(&file, xml.root(), "MQSim_IO_Scenarios")?;
    let scenario = element(&file, root, "IO_Scenario")?;
    let scenarios = root.children().filter(|child| child.has_tag_name("IO_Scenario")).count();
    let mut notes = Vec::new();
    if scenarios > 1 {
        notes.push(format!(
            "IO_Scenario: the first of {scenarios}; MQSim runs each on a drive of its own, so give each a file of its own"
        ));
    }
    let all = scenario.children().filter(Node::is_element);
    let (nodes, others): (Vec<Node<'_, '_>>, Vec<_>) = all.partition(|node| FLOWS.contains(&node.tag_name().name()));
    if !others.is_empty() && !nodes.is_empty() {
        let names: Vec<String> = others.iter().map(|node| common::printable(node.tag_name().name())).collect();
        notes.push(format!("IO_Scenario: MQSim{UNKNOWN}{}", names.join(", ")));
    }
    // A scenario without a flow that is known says which are.
    let nodes = if nodes.is_empty() { others } else { nodes };
    let sets: Vec<(bool, Fields<'_>)> = nodes.iter().map(|node| set(&file, *node)).collect::<Result<_, _>>()?;
    let spots: Vec<Vec<Spot>> = sets.iter().map(|(_, fields)| spots(fields)).collect::<Result<_, _>>()?;
    let shares = shares(experiment, &spots, &mut notes);
    let mut flows = Flows { format: NAME, ..Flows::default() };
    let mut without = Vec::new();
    for (index, ((is_synthetic, fields), share)) in sets.iter().zip(&shares).enumerate() {
        let requests = if *is_synthetic { synthetic(fields, *share, &mut notes)? } else { recorded(fields, name)? };
        flows.extents.push(if *is_synthetic { *share } else { 0 });
        flows.flows.push(Flow {
            name: format!("flow {}", index + 1),
            devices: vec![index as u32],
            stage: 0,
            delay: Nanos(0),
            requests,
        });
        without.extend(fields.unread());
        notes.extend(fields.notes());
    }
    if flows.flows.is_empty() {
        return Err(Problem::new("", "the scenario has no flow").at(file.place(&scenario.range())));
    }
    without.sort();
    without.dedup();
    if !without.is_empty() {
        notes.push(format!("has no counterpart here: {}", without.join(", ")));
    }
    notes.dedup();
    Ok(Flows { notes, ..flows })
}

fn set<'a>(file: &'a Foreign, node: Node<'a, 'a>) -> Result<(bool, Fields<'a>), Problem> {
    let read = |set, own: &str| fields(file, set, node, &format!("{COMMON} {own}"), &[]);
    match node.tag_name().name() {
        "IO_Flow_Parameter_Set_Synthetic" => Ok((true, read("IO_Flow_Parameter_Set_Synthetic", SYNTHETIC))),
        "IO_Flow_Parameter_Set_Trace_Based" => Ok((false, read("IO_Flow_Parameter_Set_Trace_Based", RECORDED))),
        other => Err(Problem::unknown("", "element of a scenario", other, FLOWS).at(file.place(&node.range()))),
    }
}

/// Where on the device a flow lies.
fn spots(fields: &Fields<'_>) -> Result<Vec<Spot>, Problem> {
    let list = |name: &str| -> Result<Vec<u64>, Problem> {
        let field = fields.get(name).ok_or_else(|| fields.missing(name))?;
        let numbers: Option<Vec<u64>> = field
            .value
            .split(',')
            .map(str::trim)
            // MQSim splits by strtok, to which nothing between two commas is no number.
            .filter(|one| !one.is_empty())
            .map(whole)
            .collect();
        numbers
            .filter(|list| !list.is_empty() && list.len() <= 4096)
            .ok_or_else(|| fields.bad(name, "whole numbers with commas between them"))
    };
    let lists = [list("Channel_IDs")?, list("Chip_IDs")?, list("Die_IDs")?, list("Plane_IDs")?];
    if lists.iter().map(Vec::len).product::<usize>() > PLACES_MAX {
        return Err(fields.bad("Channel_IDs", &format!("at most {PLACES_MAX} planes in all")));
    }
    let [channels, chips, dies, planes] = &lists;
    let mut spots = Vec::new();
    for &channel in channels {
        for &chip in chips {
            for &die in dies {
                spots.extend(planes.iter().map(|&plane| (channel, chip, die, plane)));
            }
        }
    }
    spots.sort_unstable();
    spots.dedup();
    Ok(spots)
}

/// Bytes of the address space of each flow: flows on the same planes share what these hold.
fn shares(experiment: &Experiment, spots: &[Vec<Spot>], notes: &mut Vec<String>) -> Vec<u64> {
    let geometry = &experiment.drive.geometry;
    let user = geometry.raw_size().0 as f64 * (1.0 - experiment.capacity.over_provisioning.of_raw());
    let all = (u64::from(geometry.dies()) * u64::from(geometry.planes)) as f64;
    let mut crowd = BTreeMap::<Spot, u32>::new();
    spots.iter().flatten().for_each(|spot| *crowd.entry(*spot).or_default() += 1);
    if spots.iter().any(|spots| (spots.len() as f64) < all) {
        notes.push(
            "Channel_IDs, Chip_IDs, Die_IDs, Plane_IDs: a flow has its own part of MQSim's device; here it has as large an address \
             space, on all dies"
                .into(),
        );
    }
    let is_beyond = |&(channel, .., plane): &Spot| channel >= u64::from(geometry.channels) || plane >= u64::from(geometry.planes);
    if let Some((channel, .., plane)) = spots.iter().flatten().find(|spot| is_beyond(spot)) {
        notes.push(format!(
            "Channel_IDs, Plane_IDs: channel {channel}, plane {plane} is not on this drive, which has {} channels and {} planes a die; MQSim \
             refuses numbers that its device has not, here they only count in the size of the flow's address space",
            geometry.channels, geometry.planes
        ));
    }
    let slot = geometry.slot_size.0;
    let share = |spots: &Vec<Spot>| spots.iter().map(|spot| 1.0 / f64::from(crowd[spot])).sum::<f64>() / all;
    spots.iter().map(|spots| ((share(spots) * user) as u64 / slot).max(1) * slot).collect()
}

fn synthetic(fields: &Fields<'_>, share: u64, notes: &mut Vec<String>) -> Result<Requests, Problem> {
    const PERCENT: RangeInclusive<u64> = 0..=100;
    let reads = fields.number("Read_Percentage", PERCENT)? as f64 / 100.0;
    let working_set = fields.number("Working_Set_Percentage", 1..=100)?;
    let length = share / 100 * working_set / SECTOR_BYTES * SECTOR_BYTES;
    let mean = fields.number("Average_Request_Size", 1..=trace::REQUEST_LIMIT.0 / SECTOR_BYTES)? * SECTOR_BYTES;
    let deviation = fields.number_or("Variance_Request_Size", 0..=1 << 21, 0)? * SECTOR_BYTES;
    let is_normal = fields.choice("Request_Size_Distribution", &[("FIXED", false), ("NORMAL", true)])?.unwrap_or(false);
    let sizes = match is_normal {
        true => Sizes::Normal { mean: mean as f64, deviation: deviation as f64 },
        false => Sizes::Weighted(vec![(mean, 1.0)]),
    };
    let unit = match fields.flag("Generated_Aligned_Addresses", false)? {
        true => fields.number("Address_Alignment_Unit", 1..=1 << 21)? * SECTOR_BYTES,
        false => SECTOR_BYTES,
    };
    let hot = fields.number_or("Percentage_of_Hot_Region", PERCENT, 0)? as f64 / 100.0;
    let known = [("RANDOM_UNIFORM", 0), ("STREAMING", 1), ("RANDOM_HOTCOLD", 2)];
    let place = match fields.choice("Address_Distribution", &known)?.ok_or_else(|| fields.missing("Address_Distribution"))? {
        0 => Place::Uniform,
        1 => Place::Sequential,
        _ => {
            let zones = vec![Zone { share: 1.0 - hot, from: 0.0, to: hot }, Zone { share: hot, from: hot, to: 1.0 }];
            Place::Zones([zones.clone(), zones.clone(), zones])
        }
    };
    if length < mean.max(unit) {
        return Err(
            fields.bad("Working_Set_Percentage", &format!("room for a request of {mean} bytes in {share} bytes of this flow"))
        );
    }
    let (pacing, amount) = pace(fields, mean, notes)?;
    Ok(Requests::Synthetic(Box::new(Synthetic {
        range: (0, length),
        shares: [reads, 1.0 - reads, 0.0],
        sizes: [sizes.clone(), sizes.clone(), sizes],
        units: [unit; 3],
        place,
        placed: [1.0; 3],
        pacing,
        pauses: None,
        amount,
        flush_every: Vec::new(),
        fua: false,
        manner: Manner::default(),
        seed: Some(fields.number_or("Seed", 0..=u64::from(u32::MAX), 0)?),
    })))
}

fn pace(fields: &Fields<'_>, mean: u64, notes: &mut Vec<String>) -> Result<(Pacing, Amount), Problem> {
    // Of a flow that goes by its queue MQSim itself does not use it; `Intensity` is what older files called it.
    let _ = (fields.get("Bandwidth"), fields.get("Intensity"), fields.get("Average_No_of_Reqs_in_Queue"));
    let stop = fields.number_or("Stop_Time", 0..=trace::SPAN_LIMIT.0, 0)?;
    let total = fields.number_or("Total_Requests_To_Generate", 0..=1_000_000_000_000, 0)?;
    let is_timed = fields
        .choice("Synthetic_Generator_Type", &[("QUEUE_DEPTH", false), ("BANDWIDTH", true)])?
        .ok_or_else(|| fields.missing("Synthetic_Generator_Type"))?;
    if stop == 0 && total == 0 {
        return Err(fields.bad("Total_Requests_To_Generate", "1 at least, or a Stop_Time"));
    }
    if is_timed {
        let bandwidth = fields.number("Bandwidth", SECTOR_BYTES..=1 << 50)?;
        let rate = Rate { per_request: mean as f64 * 1e9 / bandwidth as f64, per_byte: 0.0, poisson: true };
        let amount = match stop {
            0 => Amount { requests: Some(total), ..Amount::default() },
            stop => Amount { until: Some(Nanos(stop)), ..Amount::default() },
        };
        return Ok((Pacing::All(rate), amount));
    }
    let depth = fields.number("Average_No_of_Reqs_in_Queue", 1..=65_536)? as u32;
    if stop == 0 {
        return Ok((Pacing::Queue(depth), Amount { requests: Some(total), ..Amount::default() }));
    }
    notes.push(
        "Stop_Time: how many requests come until then depends on the drive; sums of the workload are those of 100 000".into(),
    );
    Ok((Pacing::Queue(depth), Amount { until: Some(Nanos(stop)), ..Amount::default() }))
}

fn recorded(fields: &Fields<'_>, name: &str) -> Result<Requests, Problem> {
    let path = &*fields.get("File_Path").ok_or_else(|| fields.missing("File_Path"))?.value;
    let beside = path_of(name).parent().unwrap_or(Path::new("")).join(path_of(path));
    // MQSim opens the path from where it is run.
    let path = if beside.is_file() || !path_of(path).is_file() { beside } else { path_of(path) };
    let formats =
        [("NANOSECOND", "disksim-ns-sectors"), ("MICROSECOND", "disksim-us-sectors"), ("PICOSECOND", "disksim-ps-sectors")];
    let format = fields.choice("Time_Unit", &formats)?.unwrap_or("disksim-ns-sectors");
    let source = TraceSource::path(path).with_format(format).map_err(|error| trace_problem(&error))?;
    let percent = fields.number_or("Percentage_To_Be_Executed", 1..=100, 100)?;
    let times = fields.number_or("Relay_Count", 1..=1 << 32, 1)?;
    let requests = match percent {
        100 => u64::MAX,
        percent => {
            let mut count = 0u64;
            for record in source.open().map_err(|error| trace_problem(&error))? {
                record.map_err(|error| trace_problem(&error))?;
                count += 1;
            }
            (count * percent / 100).max(1)
        }
    };
    Ok(Requests::Recorded { source, requests, times, depth: None })
}
