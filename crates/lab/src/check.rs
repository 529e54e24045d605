//! What an experiment must keep to beyond the types of its fields.
//!
//! A problem names the dotted path of its field; the document turns that into a place.

use crate::experiment::{Experiment, Options, scheme_and_policy};
use crate::problem::Problem;
use crate::workload;
use ssd::ecc::{CODEWORDS, ECC_POLICIES};
use ssd::ftl::victim::POLICIES;
use ssd::protect::registry::SCHEMES;

/// Names of all schemes.
pub(crate) fn scheme_names() -> Vec<&'static str> {
    SCHEMES.iter().map(|s| s.name).collect()
}

fn policy_names() -> Vec<&'static str> {
    ECC_POLICIES.iter().map(|entry| entry.name).collect()
}

/// Checks a whole experiment; the first problem found is returned.
pub(crate) fn experiment(experiment: &Experiment) -> Result<(), Problem> {
    if experiment.seed > i64::MAX as u64 {
        return Err(Problem::new("seed", format!("found {}, the largest is {}", experiment.seed, i64::MAX)));
    }
    schemes(experiment)?;
    drive(experiment)?;
    policies(experiment)?;
    ecc(experiment)?;
    shares(experiment)?;
    workload::check(experiment)
}

fn schemes(experiment: &Experiment) -> Result<(), Problem> {
    let names = scheme_names();
    if experiment.schemes.is_empty() {
        let mut problem = Problem::new("schemes", "found none, at least one scheme is needed");
        problem.known = names.iter().map(ToString::to_string).collect();
        return Err(problem);
    }
    for (index, name) in experiment.schemes.iter().enumerate() {
        let field = format!("schemes.{index}");
        let (scheme, policy) = scheme_and_policy(name);
        if !names.contains(&scheme) {
            return Err(Problem::unknown(field, "scheme", scheme, &names));
        }
        if let Some(policy) = policy.filter(|policy| !policy_names().contains(policy)) {
            return Err(Problem::unknown(field, "ECC policy", policy, &policy_names()));
        }
        if experiment.schemes[..index].contains(name) {
            return Err(Problem::new(field, format!("scheme `{name}` is named twice")));
        }
    }
    for (name, options) in &experiment.scheme {
        let Some(entry) = SCHEMES.iter().find(|s| s.name == name) else {
            return Err(Problem::unknown(format!("scheme.{name}"), "scheme", name, &names));
        };
        let known: Vec<&str> = entry.options.iter().map(|o| o.0).collect();
        known_options(&format!("scheme.{name}"), &format!("option of scheme {name}"), options, &known)?;
    }
    Ok(())
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
    drive.timing.check().map_err(|text| {
        let (field, reason) = text.split_once(": ").unwrap_or(("timing", &text));
        Problem::new(format!("drive.{field}"), reason)
    })?;
    if drive.endurance.0 == 0 {
        return Err(Problem::new("drive.endurance", "found 0, a block needs at least 1 cycle"));
    }
    let dies = drive.geometry.dies();
    if experiment.faults.rebuild_at_once == 0 {
        return Err(Problem::new("faults.rebuild_at_once", "found 0, at least 1 is needed"));
    }
    match experiment.faults.dead_die {
        Some(die) if u32::from(die) >= dies => {
            Err(Problem::new("faults.dead_die", format!("found {die}, the drive has dies 0 to {}", dies - 1)))
        }
        _ => Ok(()),
    }
}

fn policies(experiment: &Experiment) -> Result<(), Problem> {
    let gc = &experiment.gc;
    let known: Vec<&str> = POLICIES.iter().map(|p| p.name).collect();
    if !known.contains(&gc.policy.as_str()) {
        return Err(Problem::unknown("gc.policy", "policy", &gc.policy, &known));
    }
    for (field, value, least) in
        [("choices", gc.choices, 1), ("free_blocks", gc.free_blocks, 2), ("moves_in_flight", gc.moves_in_flight, 1)]
    {
        if value < least {
            return Err(Problem::new(format!("gc.{field}"), format!("found {value}, at least {least} is needed")));
        }
    }
    Ok(())
}

fn ecc(experiment: &Experiment) -> Result<(), Problem> {
    let known = policy_names();
    let named = |field: &str, noun: &str, name: &str, known: &[&str]| {
        if known.contains(&name) { Ok(()) } else { Err(Problem::unknown(field.to_owned(), noun, name, known)) }
    };
    named("ecc.policy", "policy", &experiment.ecc.policy, &known)?;
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
    let (precondition, age) = (&experiment.precondition, &experiment.age);
    let ranges = [
        ("capacity.spare", experiment.capacity.spare, 0.95),
        ("precondition.fill", precondition.fill, 1.0),
        ("precondition.working_set", precondition.working_set, 1.0),
        ("precondition.converge_within", precondition.converge_within, 1.0),
        ("precondition.overwrite_at_most", precondition.overwrite_at_most, 1e6),
        ("age.pe_deviation", age.pe_deviation, 1e9),
        ("age.worn_blocks", age.worn_blocks, 1.0),
        ("age.bad_blocks", age.bad_blocks, 0.5),
        ("faults.uncorrectable_reads", experiment.faults.uncorrectable_reads, 1.0),
        ("faults.wear_out", experiment.faults.wear_out, 1.0),
        ("faults.silent", experiment.faults.silent, 1.0),
    ];
    match ranges.into_iter().find(|(_, value, most)| !(0.0..=*most).contains(value)) {
        Some((field, value, most)) => Err(Problem::new(field, format!("found {value}, valid is 0 to {most}"))),
        None => Ok(()),
    }
}
