//! What an experiment must keep to beyond the types of its fields.
//!
//! A problem names the dotted path of its field; the document turns that into a place.

use crate::experiment::{DriveSpec, Experiment, Options};
use crate::label::{self, options_of, scheme_and_policy};
use crate::over_provisioning::{MOST_OF_RAW, OverProvisioning};
use crate::problem::Problem;
use crate::textual::BufferSize;
use crate::workload;
use ssd::ENTRIES_MAX;
use ssd::ecc::{CODEWORDS, ECC_POLICIES};
use ssd::ftl::victim::POLICIES;
use ssd::nand::{MOST_CYCLES_A_CYCLE, Transfer};
use ssd::protect::registry::{ADDITIONS, SCHEMES, additions, scheme_of};
use std::fmt::Display;
use vocab::{Bytes, Nanojoules, Nanos, StreamId};

/// Names of all schemes.
pub(crate) fn scheme_names() -> Vec<&'static str> {
    SCHEMES.iter().map(|s| s.name).collect()
}

/// Names of the schemes that keep data safe: all but canaries.
pub(crate) fn listed_schemes() -> Vec<String> {
    SCHEMES.iter().filter(|one| !one.canary).map(|one| one.name.to_owned()).collect()
}

/// Names of all that goes beside a scheme.
fn addition_names() -> Vec<&'static str> {
    ADDITIONS.iter().map(|entry| entry.name).collect()
}

fn policy_names() -> Vec<&'static str> {
    ECC_POLICIES.iter().map(|entry| entry.name).collect()
}

/// Checks a whole experiment; the first problem found is returned.
pub(crate) fn experiment(experiment: &Experiment) -> Result<(), Problem> {
    if experiment.seed > i64::MAX as u64 {
        return Err(Problem::new("seed", format!("found {}, the largest is {}", experiment.seed, i64::MAX)));
    }
    seeds(experiment)?;
    schemes(experiment)?;
    drive(experiment)?;
    times(experiment)?;
    transfer(&experiment.drive)?;
    slc(&experiment.drive)?;
    amounts(experiment)?;
    policies(experiment)?;
    ecc(experiment)?;
    shares(experiment)?;
    workload::check(experiment)
}

/// Most repetitions: the results of all of them are kept.
const SEEDS_MAX: u32 = 100;

fn seeds(experiment: &Experiment) -> Result<(), Problem> {
    within("seeds", experiment.seeds, (1, SEEDS_MAX))?;
    let last = crate::seeds::seed_of(experiment.seed, experiment.seeds as usize - 1);
    if last.is_none_or(|last| last > i64::MAX as u64) {
        let most = i64::MAX as u64 - u64::from(experiment.seeds) + 1;
        return Err(Problem::new(
            "seed",
            format!("found {}, the largest that {} seeds can begin with is {most}", experiment.seed, experiment.seeds),
        ));
    }
    Ok(())
}

/// Longest operation of flash, and longest answer of a buffer. NAND needs 20 ms at worst, NOR erases in a second.
/// One after the other, 10^10 of these are what virtual time has room for behind trace and retention.
const OPERATION_MAX: Nanos = Nanos(1_000_000_000);

/// Longest time of a stage of retention: a century and more.
const HOURS_MAX: f64 = 1e6;

/// Least time between two flushes of page profiles: in less no page is programmed.
const FLUSH_MIN: Nanos = Nanos(100_000);

/// Most energy of an operation: ten thousand times what a block needs to be erased.
const ENERGY_MAX: Nanojoules = Nanojoules(1_000_000_000);

/// Most P/E cycles, and their greatest deviation. SLC bears 10^5. Nine deviations above the mean still fit 32 bits.
const CYCLES_MAX: u32 = 100_000_000;

/// By how many times fewer errors SLC mode may have.
const FEWER_ERRORS_MAX: u32 = 1_000_000;

/// Most reads that a block has seen before the workload: three times as many may follow.
const READS_MAX: u32 = 1_000_000_000;

/// Most blocks that a log may keep free: those of a plane.
const BLOCKS_MAX: u32 = 1 << 24;

/// Most moves of a collector under way: times 65,536 dies, they fit 32 bits.
const MOVES_MAX: u32 = 4096;

/// Largest write buffer.
const BUFFER_MAX: Bytes = Bytes(1 << 40);

fn within<T: PartialOrd + Display>(field: impl Into<String>, found: T, (least, most): (T, T)) -> Result<(), Problem> {
    if least <= found && found <= most {
        return Ok(());
    }
    Err(Problem::new(field, format!("found {found}, valid is {least} to {most}")))
}

/// Bounds that keep sums of virtual time below its end.
fn times(experiment: &Experiment) -> Result<(), Problem> {
    let (timing, operation) = (&experiment.drive.timing, (Nanos(0), OPERATION_MAX));
    within("drive.timing.command", timing.command, operation)?;
    within("drive.timing.erase", timing.erase, operation)?;
    for (index, page) in timing.page.iter().enumerate() {
        within(format!("drive.timing.page.{index}.read"), page.read, operation)?;
        within(format!("drive.timing.page.{index}.program"), page.program, operation)?;
    }
    if let Some(worn) = &timing.worn {
        within("drive.timing.worn.erase", worn.erase, operation)?;
        for (index, &program) in worn.program.iter().enumerate() {
            within(format!("drive.timing.worn.program.{index}"), program, operation)?;
        }
    }
    within("drive.timing.program_growth", timing.program_growth, operation)?;
    within("drive.timing.suspend", timing.suspend.unwrap_or_default(), operation)?;
    within("drive.timing.cache_read", timing.cache_read.unwrap_or_default(), operation)?;
    let controller = &experiment.drive.controller;
    let costs = [
        ("read", controller.read),
        ("write", controller.write),
        ("per_4k", controller.per_4k),
        ("read_every", controller.read_every),
        ("write_every", controller.write_every),
    ];
    for (name, cost) in costs {
        within(format!("drive.controller.{name}"), cost, operation)?;
    }
    if let Some(gap) = experiment.trace.max_gap {
        within("trace.max_gap", gap, (Nanos(1_000), Nanos::SETTING_MAX))?;
    }
    for (name, time) in [("trace.since", experiment.trace.since), ("trace.until", experiment.trace.until)] {
        within(name, time.unwrap_or_default(), (Nanos(0), trace::SPAN_LIMIT))?;
    }
    within("buffer.latency", experiment.buffer.latency, operation)?;
    if experiment.ecc.flush > Nanos(0) {
        within("ecc.flush", experiment.ecc.flush, (FLUSH_MIN, Nanos::SETTING_MAX))?;
    }
    within("age.retention", experiment.age.retention, (Nanos(0), Nanos::SETTING_MAX))
}

/// A page moves within the time of any other operation.
fn transfer(drive: &DriveSpec) -> Result<(), Problem> {
    match drive.timing.transfer {
        Transfer::PerPage(time) => within("drive.timing.transfer.per-page", time, (Nanos(0), OPERATION_MAX)),
        Transfer::MtPerS(rate) | Transfer::DataMtPerS(rate) => {
            let page = drive.geometry.program_size();
            // Bytes of a page in a second, as a rate, rounded up.
            let least = page.0.div_ceil(1_000_000).max(1);
            let valid = (least, u64::from(u32::MAX));
            let name = if matches!(drive.timing.transfer, Transfer::MtPerS(_)) { "mt-per-s" } else { "data-mt-per-s" };
            within(format!("drive.timing.transfer.{name}"), u64::from(rate.0), valid)
                .map_err(|problem| Problem { message: format!("{} for pages of {page}", problem.message), ..problem })
        }
    }
}

/// Bounds that keep counts within their types, and memory and time for them within reason.
fn amounts(experiment: &Experiment) -> Result<(), Problem> {
    let Experiment { drive, age, gc, buffer, faults, .. } = experiment;
    let energies = [("read", drive.energy.read), ("program", drive.energy.program), ("erase", drive.energy.erase)];
    for (field, energy) in energies {
        within(format!("drive.energy.{field}"), energy, (Nanojoules(0), ENERGY_MAX))?;
    }
    for (field, cycles, least) in [
        ("drive.endurance", drive.endurance, 1),
        ("age.pe_cycles", age.pe_cycles, 0),
        ("age.worn_pe_cycles", age.worn_pe_cycles, 0),
    ] {
        within(field, cycles.0, (least, CYCLES_MAX))?;
    }
    if let BufferSize::Of(size) = buffer.size {
        within("buffer.size", size, (Bytes(0), BUFFER_MAX))?;
    }
    for (field, count, valid) in [
        ("age.reads", age.reads, (0, READS_MAX)),
        ("ecc.retries", experiment.ecc.retries, (0, ENTRIES_MAX)),
        ("ecc.soft_bits", experiment.ecc.soft_bits, (1, 3)),
        ("gc.choices", gc.choices, (1, 65_536)),
        ("gc.free_blocks", gc.free_blocks, (2, BLOCKS_MAX)),
        ("gc.idle_free_blocks", gc.idle_free_blocks, (0, BLOCKS_MAX)),
        ("gc.moves_in_flight", gc.moves_in_flight, (1, MOVES_MAX)),
        ("gc.streams.count", gc.streams.count, (1, StreamId::COUNT_MAX as u32)),
        ("generate.streams", experiment.generate.as_ref().map_or(1, |spec| spec.streams), (1, StreamId::COUNT_MAX as u32)),
        ("faults.rebuild_at_once", faults.rebuild_at_once, (1, 65_536)),
    ] {
        within(field, count, valid)?;
    }
    Ok(())
}

fn schemes(experiment: &Experiment) -> Result<(), Problem> {
    let names = scheme_names();
    if experiment.schemes.is_empty() {
        let mut problem = Problem::new("schemes", "found none, at least one scheme is needed");
        problem.known = listed_schemes();
        return Err(problem);
    }
    for (index, name) in experiment.schemes.iter().enumerate() {
        let field = format!("schemes.{index}");
        label::check_name(&field, name)?;
        let (scheme, policy) = scheme_and_policy(name);
        if !names.contains(&scheme_of(scheme)) {
            return Err(Problem::unknown(field, "scheme", scheme_of(scheme), &listed_schemes()));
        }
        if let Some(addition) = additions(scheme).find(|addition| !addition_names().contains(addition)) {
            return Err(Problem::unknown(field, "addition to a scheme", addition, &addition_names()));
        }
        if let Some(policy) = policy.filter(|policy| !policy_names().contains(policy)) {
            let known = [policy_names(), addition_names()].concat();
            return Err(Problem::unknown(field, "ECC policy or addition to a scheme", policy, &known));
        }
        if experiment.schemes[..index].contains(name) {
            return Err(Problem::new(field, format!("scheme `{name}` is named twice")));
        }
        if experiment.schemes[..index].iter().any(|other| label::shown(other) == label::shown(name)) {
            return Err(Problem::new(field, format!("name `{}` is there twice", label::shown(name))));
        }
        label::check(&field, name)?;
    }
    for (name, options) in &experiment.scheme {
        let Some(known) = options_of(name) else {
            return Err(Problem::unknown(format!("scheme.{name}"), "scheme", name, &listed_schemes()));
        };
        let known: Vec<&str> = known.iter().map(|o| o.0).collect();
        known_options(&format!("scheme.{name}"), &format!("option of scheme {name}"), options, &known)?;
    }
    label::check_differ(experiment)
}

/// Checks the names of options.
pub(crate) fn known_options(path: &str, noun: &str, options: &Options, known: &[&str]) -> Result<(), Problem> {
    match options.keys().find(|option| !known.contains(&option.as_str())) {
        Some(option) => Err(Problem::unknown(format!("{path}.{option}"), noun, option, known)),
        None => Ok(()),
    }
}

fn drive(experiment: &Experiment) -> Result<(), Problem> {
    let drive = &experiment.drive;
    drive.geometry.check().map_err(|e| Problem::new(format!("drive.geometry.{}", e.field), e.reason))?;
    drive.timing.check(&drive.geometry).map_err(|text| {
        let (field, reason) = text.split_once(": ").unwrap_or(("timing", &text));
        Problem::new(format!("drive.{field}"), reason)
    })?;
    let dies = drive.geometry.dies();
    let every = experiment.faults.dead_die_every;
    match experiment.faults.dead_die {
        Some(die) if u32::from(die) >= dies => {
            Err(Problem::new("faults.dead_die", format!("found {die}, the drive has dies 0 to {}", dies - 1)))
        }
        None if every > 0 => {
            Err(Problem::new("faults.dead_die_every", format!("found {every}, and no `faults.dead_die` that it starts from")))
        }
        None if experiment.faults.replace_after.is_some() => {
            Err(Problem::new("faults.replace_after", "found a time, and no `faults.dead_die` that could be replaced"))
        }
        _ if u32::from(every) > dies || every == 1 => {
            Err(Problem::new("faults.dead_die_every", format!("found {every}, valid are 0 and 2 to {dies}")))
        }
        _ => Ok(()),
    }
}

/// The SLC cache; how many blocks it takes, and how it wears them, matters where there is one.
fn slc(drive: &DriveSpec) -> Result<(), Problem> {
    let slc = &drive.slc;
    for (name, time) in [("read", slc.read), ("program", slc.program), ("erase", slc.erase)] {
        within(format!("drive.slc.{name}"), time, (Nanos(0), OPERATION_MAX))?;
    }
    within("drive.slc.fewer_errors", slc.fewer_errors, (1, FEWER_ERRORS_MAX))?;
    if slc.is_on() {
        within("drive.slc.blocks", slc.blocks, (1, drive.geometry.blocks_per_die() - 1))?;
        let most = drive.endurance.0.saturating_mul(u32::from(MOST_CYCLES_A_CYCLE) + 1) - 1;
        within("drive.slc.endurance", slc.endurance.0, (drive.endurance.0, most))?;
    }
    Ok(())
}

fn policies(experiment: &Experiment) -> Result<(), Problem> {
    let gc = &experiment.gc;
    let known: Vec<&str> = POLICIES.iter().map(|p| p.name).collect();
    if gc.own.is_none() && !known.contains(&gc.policy.as_str()) {
        return Err(Problem::unknown("gc.policy", "policy", &gc.policy, &known));
    }
    Ok(())
}

fn ecc(experiment: &Experiment) -> Result<(), Problem> {
    let known = policy_names();
    let named = |field: &str, noun: &str, name: &str, known: &[&str]| {
        if known.contains(&name) { Ok(()) } else { Err(Problem::unknown(field.to_owned(), noun, name, known)) }
    };
    if experiment.ecc.own.is_none() {
        named("ecc.policy", "policy", &experiment.ecc.policy, &known)?;
    }
    let codewords: Vec<&str> = CODEWORDS.iter().map(|word| word.name).collect();
    named("ecc.codeword", "codeword", &experiment.ecc.codeword, &codewords)?;
    let models: Vec<&str> = ssd::nand::rber::RBER_MODELS.iter().map(|entry| entry.name).collect();
    named("errors.model", "model", &experiment.errors.model, &models)?;
    for (name, options) in &experiment.ecc.options {
        let path = format!("ecc.options.{name}");
        named(&path, "policy", name, &known)?;
        let entry = ECC_POLICIES.iter().find(|entry| entry.name == name).expect("checked above");
        let options_known: Vec<&str> = entry.options.iter().map(|o| o.0).collect();
        known_options(&path, &format!("option of ECC policy {name}"), options, &options_known)?;
    }
    let refresh = &experiment.refresh;
    if !(refresh.uber > 0.0 && refresh.uber < 1.0) {
        return Err(Problem::new("refresh.uber", format!("found {}, valid is above 0 and below 1", refresh.uber)));
    }
    if !(refresh.at_share > 0.0 && refresh.at_share <= 1.0) {
        return Err(Problem::new("refresh.at_share", format!("found {}, valid is above 0, up to 1", refresh.at_share)));
    }
    Ok(())
}

fn shares(experiment: &Experiment) -> Result<(), Problem> {
    if let Some(share) = experiment.trace.keep_writes {
        within("trace.keep_writes", share, (0.0, 1.0))?;
    }
    let Experiment { precondition, age, errors, capacity, .. } = experiment;
    match capacity.over_provisioning {
        OverProvisioning::OfUser(share) => {
            within("capacity.over_provisioning", share, (0.0, OverProvisioning::OfRaw(MOST_OF_RAW).of_user().round()))?
        }
        OverProvisioning::OfRaw(share) if !(0.0..=MOST_OF_RAW).contains(&share) => {
            let message = format!("found {}, valid is 0% to {} % of raw", capacity.over_provisioning, MOST_OF_RAW * 100.0);
            return Err(Problem::new("capacity.over_provisioning", message));
        }
        OverProvisioning::OfRaw(_) => {}
    }
    let ranges = [
        ("precondition.fill", precondition.fill, 1.0),
        ("precondition.working_set", precondition.working_set, 1.0),
        ("precondition.converge_within", precondition.converge_within, 1.0),
        ("precondition.overwrite_at_most", precondition.overwrite_at_most, 1e6),
        ("age.pe_deviation", age.pe_deviation, f64::from(CYCLES_MAX)),
        ("age.worn_blocks", age.worn_blocks, 1.0),
        ("age.bad_blocks", age.bad_blocks, 0.5),
        ("faults.uncorrectable_reads", experiment.faults.uncorrectable_reads, 1.0),
        ("faults.wear_out", experiment.faults.wear_out, 1.0),
        ("faults.silent", experiment.faults.silent, 1.0),
        ("errors.activation_ev", errors.activation_ev, 3.0),
        ("errors.page_sigma", errors.page_sigma, 3.0),
        ("errors.block_sigma", errors.block_sigma, 3.0),
        ("errors.recharge_rber", errors.recharge_rber, 0.5),
        ("errors.unaccelerated", errors.unaccelerated, 1.0),
        ("errors.cross_shift", errors.cross_shift, 2.0),
        ("errors.stage_1_hours", errors.stage_1_hours, HOURS_MAX),
        ("errors.stage_6_hours", errors.stage_6_hours, HOURS_MAX),
        ("ecc.prediction_sigma", experiment.ecc.prediction_sigma, 3.0),
    ];
    for (field, value, most) in ranges {
        within(field, value, (0.0, most))?;
    }
    if errors.stage_1_hours <= 0.0 || errors.stage_6_hours <= errors.stage_1_hours {
        let found = format!("found {}, valid is above 0 and below errors.stage_6_hours", errors.stage_1_hours);
        return Err(Problem::new("errors.stage_1_hours", found));
    }
    for (field, celsius) in [("errors.read_celsius", errors.read_celsius), ("errors.program_celsius", errors.program_celsius)] {
        within(field, celsius.unwrap_or(0.0), (-40.0, 125.0))?;
    }
    within("errors.celsius", errors.celsius, (-40.0, 125.0))?;
    within("errors.reference_celsius", errors.reference_celsius, (-40.0, 125.0))
}
