//! The plan of a comparison, without its simulation: workload, drives, work and memory.

use common::quantity::{mib, percent};
use common::table::{Row, aligned, grouped, wrapped};
use common::{Problem, plural};
use experiment::over_provisioning::of_user;
use experiment::workload::is_drawn;
use experiment::{Experiment, Workload, plan};
use ssd::PayloadKind;
use vocab::Bytes;

/// Bytes of memory for each logical page of flash, without payload and with tags (`docs/performance.md`).
const BYTES_A_SLOT: (f64, f64) = (10.0, 20.0);

/// Most requests of a drawn workload that a plan reads: more can take hours to draw.
const DRAWN_REQUESTS: u64 = 20_000_000;

/// The plan as text, for a comparison of which this many runs go on at a time. `progress` hears the requests read so far.
///
/// # Errors
/// Problems that the comparison itself would refuse before it simulates.
pub fn dry_run(experiment: &Experiment, threads: usize, progress: &dyn Fn(u64)) -> Result<String, Problem> {
    plan_of_first(experiment, DRAWN_REQUESTS, threads, progress)
}

/// The workload, cut to this many requests where it is drawn and can be, with the experiment that has such a workload.
fn opened(experiment: &Experiment, most: u64, progress: &dyn Fn(u64)) -> Result<(Experiment, Workload, bool), Problem> {
    let mut short = experiment.clone();
    if is_drawn(experiment) && experiment.trace.first.is_none() {
        short.trace.first = Some(most);
        match Workload::open(&short, progress) {
            // Several flows have no first requests.
            Err(problem) if problem.field == "trace.first" => short.trace.first = None,
            opened => return Ok((short, opened?, true)),
        }
    }
    let workload = Workload::open(&short, progress)?;
    Ok((short, workload, false))
}

/// As [`dry_run`], of at most this many requests of a drawn workload.
fn plan_of_first(experiment: &Experiment, most: u64, threads: usize, progress: &dyn Fn(u64)) -> Result<String, Problem> {
    let (experiment, workload, is_cut) = &opened(experiment, most, progress)?;
    workload.check_space(experiment)?;
    let plan = plan(experiment, workload.touched())?;
    let (facts, drive) = (workload.facts(), &experiment.drive);
    let mut out = wrapped(&format!(
        "workload {}: {} requests ({} reads, {} writes, {} flushes) in {:.1} s, footprint {}",
        facts.name,
        grouped(facts.requests),
        grouped(facts.reads),
        grouped(facts.writes),
        grouped(facts.flushes),
        facts.duration_s,
        mib(Bytes(facts.footprint_bytes))
    ));
    if *is_cut && facts.requests == most {
        let first = grouped(most);
        out.push_str(&wrapped(&format!("this is the plan of the first {first} requests; the run draws all of them")));
    }
    if facts.ends_in_time {
        out.push_str(
            "its flows end in time: these are the requests of one pass over its size, a run has as many as the drive answers\n",
        );
    }
    out.push_str(&wrapped(&format!("drive {}: {}", drive.name, drive.summary)));
    let slot = drive.geometry.slot_size;
    out.push_str(&format!("user capacity {}\n\n", mib(Bytes(u64::from(plan.user_slots) * slot.0))));
    let mut rows = vec![Row {
        label: "scheme".into(),
        cells: experiment.schemes.iter().map(|label| experiment::label::shown(label).to_owned()).collect(),
    }];
    let mut each = |label: &str, cell: &dyn Fn(&experiment::PlannedDrive) -> String| {
        rows.push(Row { label: label.into(), cells: plan.drives.iter().map(cell).collect() });
    };
    each("raw flash", &|one| mib(one.drive.geometry.raw_size()));
    each("capacity overhead", &|one| common::quantity::tenths(one.capacity_overhead));
    each("over-provisioning after parity", &|one| percent(of_user(one.op_after_parity_of_raw)));
    out.push_str(&aligned(&rows));
    let slots: f64 = plan.drives.iter().map(|one| f64::from(one.drive.geometry.slots())).sum();
    let count = experiment.schemes.len();
    let a_slot = match experiment.payload {
        PayloadKind::None => BYTES_A_SLOT.0,
        PayloadKind::Tag => BYTES_A_SLOT.1,
        PayloadKind::Page => BYTES_A_SLOT.1 + slot.0 as f64,
    };
    let pages =
        slots + (facts.read_bytes + facts.written_bytes) as f64 / slot.0 as f64 * count as f64 * f64::from(experiment.seeds);
    let preconditioned = slots * experiment.precondition.fill.min(1.0);
    out.push('\n');
    out.push_str(&wrapped(&format!(
        "{} run{}: {count} scheme{} under {} seed{}, {} in parallel; memory about {}; at least {} page operations, {} of them to \
         precondition the drives, and more where GC runs",
        count * experiment.seeds as usize,
        plural((count * experiment.seeds as usize) as u64),
        plural(count as u64),
        experiment.seeds,
        plural(experiment.seeds.into()),
        threads.min(count * experiment.seeds as usize),
        mib(Bytes((slots * a_slot) as u64)),
        grouped(pages as u64),
        grouped(preconditioned as u64)
    )));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(text: &str) -> String {
        let experiment = Experiment::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}"));
        dry_run(&experiment, 2, &|_| {}).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn a_plan_has_the_drives_that_the_run_has() {
        let text = "schemes = [\"none\", \"raid5\"]\nseeds = 3\n[trace]\nsource = \"uniform\"\n[generate]\nrequests = 1000\nrange = \"64MiB\"\n\
                    [drive]\npreset = \"mlc-2014\"\n";
        let experiment = Experiment::parse("test.toml", text).expect("valid");
        let comparison = crate::compare(&experiment, &crate::Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} })
            .unwrap_or_else(|e| panic!("{e}"));
        let told = planned(text);
        let raw: Vec<String> = comparison.outcomes.iter().map(|o| mib(o.planned.drive.geometry.raw_size())).collect();
        for part in
            [&raw[0], &raw[1], "6 runs: 2 schemes under 3 seeds, 2 in parallel", "workload uniform: 1 000 requests", "12.5 %"]
        {
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    #[test]
    fn a_plan_of_endless_requests_is_of_the_first() {
        let text =
            "schemes = [\"none\"]\n[trace]\nsource = \"uniform\"\n[generate]\nrequests = 1000000000000\nrange = \"1MiB\"\n";
        let experiment = Experiment::parse("test.toml", text).expect("valid");
        let told = plan_of_first(&experiment, 2000, 1, &|_| {}).expect("a plan");
        assert!(told.contains("this is the plan of the first 2 000 requests"), "{told}");
    }

    #[test]
    fn a_plan_of_several_flows_is_of_all_they_ask_for() {
        let flow = |name: &str, end: &str| {
            format!(
                "[[flow]]\nname = \"{name}\"\nsource = \"uniform\"\ndepth = 1\n{end}\ngenerate = {{ requests = 70, range = \"1MiB\" }}\n"
            )
        };
        let told = |end: &str| {
            let text = format!("schemes = [\"none\"]\n{}{}", flow("a", end), flow("b", ""));
            dry_run(&Experiment::parse("test.toml", &text).expect("valid"), 1, &|_| {}).expect("a plan")
        };
        assert!(told("").contains("140 requests") && !told("").contains("end in time"));
        assert!(told("until = \"1ms\"").contains("its flows end in time"));
    }

    #[test]
    fn a_plan_refuses_as_the_run_does() {
        let text = "[trace]\nsource = \"uniform\"\n[capacity]\nsize = \"64MiB\"\nover_provisioning = \"1% of raw\"\n[drive]\npreset = \"mlc-2014\"\n\
                    [generate]\nrange = \"32MiB\"\n";
        let experiment = Experiment::parse("test.toml", text).expect("valid");
        assert_eq!(dry_run(&experiment, 1, &|_| {}).expect_err("no room").field, "capacity.over_provisioning");
    }
}
