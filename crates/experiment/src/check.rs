//! Rules of an experiment beyond the types of its fields.
//!
//! A problem names the dotted path of its field; the document turns that into a place.

use crate::experiment::seed_of;
use crate::experiment::{DriveSpec, Experiment};
use crate::label::known_options;
use crate::label::{self, options_of, scheme_and_policy};
use crate::over_provisioning::{MOST_OF_RAW, OverProvisioning};
use crate::schema;
use crate::workload;
use common::Problem;
use serde_json::json;
use ssd::ecc::{CODEWORDS, ECC_POLICIES};
use ssd::ftl::victim::POLICIES;
use ssd::nand::{MOST_CYCLES_A_CYCLE, Transfer};
use ssd::protect::registry::{ADDITIONS, SCHEMES, additions, scheme_of};
use std::fmt::Display;
use vocab::Nanos;

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
///
/// # Errors
/// Names the setting, its value and the valid ones.
pub fn experiment(experiment: &Experiment) -> Result<(), Problem> {
    if experiment.seed > i64::MAX as u64 {
        return Err(Problem::new("seed", format!("found {}, the largest is {}", experiment.seed, i64::MAX)));
    }
    schema::experiment().check(&json!(experiment), "")?;
    seeds(experiment)?;
    schemes(experiment)?;
    drive(experiment)?;
    times(experiment)?;
    transfer(&experiment.drive)?;
    slc(&experiment.drive)?;
    policies(experiment)?;
    ecc(experiment)?;
    over_provisioning(experiment)?;
    stages(experiment)?;
    workload::check(experiment)
}

fn seeds(experiment: &Experiment) -> Result<(), Problem> {
    let last = seed_of(experiment.seed, experiment.seeds as usize - 1);
    if last.is_none_or(|last| last > i64::MAX as u64) {
        let most = i64::MAX as u64 - u64::from(experiment.seeds) + 1;
        return Err(Problem::new(
            "seed",
            format!("found {}, the largest that {} seeds can begin with is {most}", experiment.seed, experiment.seeds),
        ));
    }
    Ok(())
}

/// Least time between two flushes of page profiles: in less no page is programmed.
const FLUSH_MIN: Nanos = Nanos(100_000);

fn within<T: PartialOrd + Display>(field: impl Into<String>, found: T, least: T, most: T) -> Result<(), Problem> {
    if least <= found && found <= most {
        return Ok(());
    }
    Err(Problem::new(field, format!("found {found}, valid is {least} to {most}")))
}

/// Times whose bounds are no plain range.
fn times(experiment: &Experiment) -> Result<(), Problem> {
    for (name, time) in [("trace.since", experiment.trace.since), ("trace.until", experiment.trace.until)] {
        within(name, time.unwrap_or_default(), Nanos(0), trace::SPAN_LIMIT)?;
    }
    if experiment.ecc.flush > Nanos(0) {
        within("ecc.flush", experiment.ecc.flush, FLUSH_MIN, Nanos::SETTING_MAX)?;
    }
    Ok(())
}

/// A page moves within the time of any other operation.
fn transfer(drive: &DriveSpec) -> Result<(), Problem> {
    match drive.timing.transfer {
        Transfer::PerPage(time) => within("drive.timing.transfer.per-page", time, Nanos(0), Nanos::OPERATION_MAX),
        Transfer::MtPerS(rate) | Transfer::DataMtPerS(rate) => {
            let page = drive.geometry.program_size();
            // Bytes of a page in a second, as a rate, rounded up.
            let least = page.0.div_ceil(1_000_000).max(1);
            let name = if matches!(drive.timing.transfer, Transfer::MtPerS(_)) { "mt-per-s" } else { "data-mt-per-s" };
            within(format!("drive.timing.transfer.{name}"), u64::from(rate.0), least, u64::from(u32::MAX))
                .map_err(|problem| Problem { message: format!("{} for pages of {page}", problem.message), ..problem })
        }
    }
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
    if slc.is_on() {
        within("drive.slc.blocks", slc.blocks, 1, drive.geometry.blocks_per_die() - 1)?;
        let most = drive.endurance.0.saturating_mul(u32::from(MOST_CYCLES_A_CYCLE) + 1) - 1;
        within("drive.slc.endurance", slc.endurance.0, drive.endurance.0, most)?;
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
    Ok(())
}

fn over_provisioning(experiment: &Experiment) -> Result<(), Problem> {
    let asked = experiment.capacity.over_provisioning;
    match asked {
        OverProvisioning::OfUser(share) => {
            within("capacity.over_provisioning", share, 0.0, OverProvisioning::OfRaw(MOST_OF_RAW).of_user().round())
        }
        OverProvisioning::OfRaw(share) if !(0.0..=MOST_OF_RAW).contains(&share) => {
            let message = format!("found {asked}, valid is 0% to {} % of raw", MOST_OF_RAW * 100.0);
            Err(Problem::new("capacity.over_provisioning", message))
        }
        OverProvisioning::OfRaw(_) => Ok(()),
    }
}

/// Stages of retention follow each other.
fn stages(experiment: &Experiment) -> Result<(), Problem> {
    let errors = &experiment.errors;
    if errors.stage_6_hours <= errors.stage_1_hours {
        let found = format!("found {}, valid is above 0 and below errors.stage_6_hours", errors.stage_1_hours);
        return Err(Problem::new("errors.stage_1_hours", found));
    }
    Ok(())
}
