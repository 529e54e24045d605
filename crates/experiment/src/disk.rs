//! Drives for someone who has data of his own: what of an experiment is one drive.

use crate::capacity::{plan, refused};
use crate::experiment::{Experiment, default_schemes};
use crate::textual::Size;
use common::Problem;
use ssd::Setup;
use vocab::Bytes;

/// User capacity where the experiment leaves that to a trace.
const SIZE: Bytes = Bytes(1 << 30);

/// Blocks of each plane that are added at most to make room for recovery from power cuts.
const RECOVERY_BLOCKS: u32 = 4;

/// The scheme where the experiment names several and this is one of them.
const SCHEME: &str = "ds-raid";

/// The experiment as that of one drive: one scheme, a size, and the drive empty unless it is to be `filled` with the write
/// history that the experiment describes.
///
/// # Errors
/// Several schemes, none of which is meant.
pub fn one_drive(experiment: &Experiment, filled: bool) -> Result<Experiment, Problem> {
    let mut one = experiment.clone();
    if let [_, _, ..] = &one.schemes[..] {
        if one.schemes != default_schemes() {
            let found = one.schemes.join(", ");
            return Err(Problem::new("schemes", format!("found {found}; a drive has one scheme")));
        }
        one.schemes = vec![SCHEME.into()];
    }
    if one.capacity.size == Size::Auto {
        one.capacity.size = Size::User(SIZE);
    }
    if !filled {
        one.precondition.fill = 0.0;
    }
    one.seeds = 1;
    Ok(one)
}

/// The setup of that drive.
///
/// # Errors
/// A scheme that cannot run on the drive, or not with that capacity.
pub fn disk_setup(one: &Experiment) -> Result<Setup, Problem> {
    let label = one.schemes.first().ok_or_else(|| Problem::new("schemes", "there is none"))?;
    let plan = plan(one, 1)?;
    let (mut drive, scheme) = (plan.drives[0].drive.clone(), one.choice(label));
    let most_of = |drive: &ssd::Drive| ssd::mountable_slots_max(drive, &scheme, &one.gc).map_err(|error| refused(label, &error));
    let mut most = most_of(&drive)?;
    // Recovery from power cuts keeps some blocks free, which counts on a small drive.
    for _ in 0..RECOVERY_BLOCKS.min(if one.capacity.size == Size::Drive { 0 } else { u32::MAX }) {
        if plan.user_slots <= most {
            break;
        }
        drive.geometry.blocks_per_plane += 1;
        most = most_of(&drive)?;
    }
    if plan.user_slots > most {
        let slot = drive.geometry.slot_size.0;
        let message = format!(
            "scheme `{}` keeps at most {} on this flash if it is to be mounted after power cuts, asked for is {}; valid is a larger \
             capacity.over_provisioning (now {}) or a smaller capacity.size",
            scheme.name,
            Bytes(u64::from(most) * slot),
            Bytes(u64::from(plan.user_slots) * slot),
            one.capacity.over_provisioning
        );
        return Err(Problem::new("capacity.over_provisioning", message));
    }
    Ok(Setup {
        buffer: one.buffer.on(&drive),
        drive,
        user_slots: plan.user_slots,
        scheme,
        gc: one.gc.clone(),
        wear: one.wear,
        scheduler: one.scheduler,
        precondition: one.precondition,
        age: one.age,
        faults: one.faults,
        ecc: one.ecc_setup(label),
        errors: one.errors.clone(),
        refresh: one.refresh,
        power: ssd::Power { mountable: true, ..ssd::Power::default() },
        payload: ssd::PayloadKind::Page,
        seed: one.seed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(settings: &str) -> Result<Setup, Problem> {
        disk_setup(&one_drive(&Experiment::parse("test.toml", settings)?, false)?)
    }

    #[test]
    fn an_experiment_without_settings_is_an_empty_drive_of_a_gibibyte() {
        let setup = drive("").expect("the default drive");
        assert_eq!((setup.user_slots, setup.scheme.name.as_str()), (1 << 18, "ds-raid"));
        assert_eq!(setup.precondition.fill, 0.0);
    }

    #[test]
    fn two_schemes_are_no_drive_and_too_little_over_provisioning_is_named() {
        let problem = drive("schemes = [\"raid5\", \"none\"]").expect_err("two schemes");
        assert!(problem.to_string().contains("raid5, none"), "{problem}");
        let problem = drive("capacity.over_provisioning = \"2% of raw\"").expect_err("too little");
        assert_eq!(problem.field, "capacity.over_provisioning");
    }

    #[test]
    fn the_effective_experiment_is_the_same_drive() {
        let one = one_drive(&Experiment::parse("test.toml", "schemes = [\"mds-groups\"]").expect("valid"), false).expect("one");
        let again = Experiment::parse("again.toml", &one.to_toml()).expect("it reads back");
        assert_eq!(disk_setup(&again).expect("a drive"), disk_setup(&one).expect("a drive"));
    }
}
