//! How much the host may store, and how much raw flash each scheme gets for it.

use crate::caution::{Caution, Level};
use crate::experiment::{CapacitySpec, Experiment, Fairness};
use crate::over_provisioning::{OverProvisioning, of_user};
use crate::textual::Size;
use common::Problem;
use common::quantity::percent;
use ssd::Drive;
use ssd::protect::SchemeChoice;
use vocab::{Bytes, Geometry};

/// Blocks of a die that may be added where so few blocks would do by bytes that garbage
/// collection has no room: its reserve is a number of blocks, not a share.
const RESERVE_BLOCKS: u32 = 16;

/// User capacity, and the drive of each scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Logical pages the host may use, the same for every scheme.
    pub user_slots: u32,
    /// The drive of each scheme, in the order of the experiment's schemes.
    pub drives: Vec<PlannedDrive>,
    /// The drive of a scheme without redundancy: the clock is set by it.
    pub reference: Drive,
    /// Blocks of each plane that were added to make room for garbage collection.
    pub added_blocks: u32,
}

/// The drive one scheme gets.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedDrive {
    /// The drive.
    pub drive: Drive,
    /// Share of raw flash the scheme's redundancy needs.
    pub capacity_overhead: f64,
    /// The over-provisioning that is asked for, as a share of raw flash.
    pub op_asked_of_raw: f64,
    /// Share of raw flash beyond the user capacity.
    pub op_of_raw: f64,
    /// Of the flash that is left after redundancy, the share beyond the user capacity.
    pub op_after_parity_of_raw: f64,
}

/// Slots of one block of every plane: what one more block per plane adds.
fn slots_per_row(geometry: &Geometry) -> u64 {
    u64::from(geometry.slots()) / u64::from(geometry.blocks_per_plane)
}

/// Blocks per plane for `user_slots` such that `spare` of what `redundancy` leaves is free,
/// rounded up to whole blocks.
#[must_use]
pub fn blocks_per_plane(geometry: &Geometry, user_slots: u64, spare: f64, redundancy: f64) -> u64 {
    let raw = user_slots as f64 / ((1.0 - spare) * (1.0 - redundancy));
    let rows = raw / slots_per_row(geometry) as f64;
    // 72 / (1 - 0.28) is a hair above 100 in binary; that hair must not cost a block.
    (rows - rows * 1e-12).ceil() as u64
}

/// User slots that a workload which follows the drive finds: those of `capacity.size`, or under `auto` the least that a drive has.
pub(crate) fn slots_without_workload(experiment: &Experiment) -> Result<u64, Problem> {
    user_slots(experiment, 0)
}

/// User slots of the experiment, for a trace that touches `touched` slots.
fn user_slots(experiment: &Experiment, touched: u64) -> Result<u64, Problem> {
    let geometry = &experiment.drive.geometry;
    match experiment.capacity.size {
        Size::Auto => Ok(touched.max(least_slots(experiment)).max(1)),
        Size::User(Bytes(bytes)) => Ok(bytes.div_ceil(geometry.slot_size.0)),
        Size::Drive => match (f64::from(geometry.slots()) * (1.0 - experiment.capacity.over_provisioning.of_raw()) + 1e-6) as u64
        {
            0 => Err(Problem::new("capacity.over_provisioning", "leaves no room for the host")),
            slots => Ok(slots),
        },
    }
}

/// Blocks of a die that a drive has at least: with 32, the write amplification of rows under the bundled trace is half as large again as
/// with 128, because the blocks that GC keeps free are a share of the spare. With fewer still, the spare is what those few blocks
/// leave, whatever was asked for.
const LEAST_BLOCKS: u32 = 128;

/// User slots that a drive has at least where its size follows the workload: a drive as small as that would consist of a few blocks.
/// Slots that the workload does not touch are cold data.
fn least_slots(experiment: &Experiment) -> u64 {
    let geometry = &experiment.drive.geometry;
    let planes = geometry.blocks_per_die() / geometry.blocks_per_plane;
    let blocks = u64::from(LEAST_BLOCKS.div_ceil(planes).min(geometry.blocks_per_plane));
    let slots = slots_per_row(geometry) * blocks;
    (slots as f64 * (1.0 - experiment.capacity.over_provisioning.of_raw()) + 1e-6) as u64
}

/// Plans the capacity of every scheme.
///
/// # Errors
/// A drive too large to address, or a scheme that cannot work with the spare; the problem names
/// the numbers and what would be valid.
pub fn plan(experiment: &Experiment, touched: u64) -> Result<Plan, Problem> {
    let (user, short) = match fit(experiment, touched)? {
        Fit::Fits(plan) => return Ok(*plan),
        Fit::Short(user, short) => (user, short),
    };
    let needs = short.into_iter().map(|one| (least_over_provisioning(experiment, touched, &one.label), one));
    // The flash that the neediest scheme needs is enough for all.
    let most = needs.max_by(|one, other| one.0.unwrap_or(f64::INFINITY).total_cmp(&other.0.unwrap_or(f64::INFINITY)));
    let (least, short) = most.expect("a scheme lacks room");
    Err(too_little(experiment, user, &short, least))
}

/// Outcome of planning.
enum Fit {
    Fits(Box<Plan>),
    /// The slots that the host needs, and the schemes that keep fewer.
    Short(u64, Vec<Short>),
}

/// A scheme that keeps too few slots on its drive.
struct Short {
    label: String,
    choice: SchemeChoice,
    planned: PlannedDrive,
    /// The most that it keeps.
    most: u32,
}

fn fit(experiment: &Experiment, touched: u64) -> Result<Fit, Problem> {
    let user = user_slots(experiment, touched)?;
    let choices: Vec<SchemeChoice> = experiment.schemes.iter().map(|name| experiment.choice(name)).collect();
    let base = experiment.drive.drive();
    let of = |(label, choice): (&String, _)| ssd::capacity_overhead(&base, choice).map_err(|e| refused(label, &e));
    let shares = experiment.schemes.iter().zip(&choices).map(of).collect::<Result<Vec<_>, _>>()?;
    let mut added = 0;
    loop {
        let planned = drives(experiment, user, &shares, added)?;
        let reference = drives(experiment, user, &[0.0], added)?.remove(0).drive;
        let lacking = lacking(experiment, user, &planned, &choices, |most| most)?;
        if lacking.iter().all(|&(at, _)| may_add(experiment, &planned[at], added)) && !lacking.is_empty() {
            added += 1;
            continue;
        }
        // More blocks make up for the reserve, not for those that are bad.
        let kept = |most| beside_bad_blocks(experiment, most);
        let lacking = self::lacking(experiment, user, &planned, &choices, kept)?;
        let short = |(at, most): (usize, u32)| Short {
            label: experiment.schemes[at].clone(),
            choice: choices[at].clone(),
            planned: planned[at].clone(),
            most,
        };
        let short: Vec<Short> = lacking.into_iter().map(short).collect();
        return Ok(match short.is_empty() {
            false => Fit::Short(user, short),
            true => Fit::Fits(Box::new(Plan { user_slots: user as u32, drives: planned, reference, added_blocks: added })),
        });
    }
}

/// The schemes, by index, that keep fewer than `user` slots, of which `kept` says how many of the most are left; each with what it keeps.
fn lacking(
    experiment: &Experiment,
    user: u64,
    planned: &[PlannedDrive],
    choices: &[SchemeChoice],
    kept: impl Fn(u32) -> u32,
) -> Result<Vec<(usize, u32)>, Problem> {
    let mut lacking = Vec::new();
    for (at, (drive, choice)) in planned.iter().zip(choices).enumerate() {
        let most = ssd::user_slots_max(&drive.drive, choice, &experiment.gc);
        let most = kept(most.map_err(|e| refused(&experiment.schemes[at], &e))?);
        if u64::from(most) < user {
            lacking.push((at, most));
        }
    }
    Ok(lacking)
}

/// Slots that remain of this many where blocks are bad from the factory, spread evenly: no drive keeps more.
fn beside_bad_blocks(experiment: &Experiment, most: u32) -> u32 {
    (f64::from(most) * (1.0 - experiment.age.bad_blocks)) as u32
}

/// A drive or option that a scheme refuses; `label` is the scheme as the experiment names it.
pub fn refused(label: &str, error: &dyn std::fmt::Display) -> Problem {
    let name = crate::label::shown(label);
    Problem::new("schemes", format!("scheme `{name}` refuses this drive or its settings: {error}")).of_scheme(name)
}

/// Whether another block per plane may be added: only where the reserve is what is lacking.
fn may_add(experiment: &Experiment, drive: &PlannedDrive, added: u32) -> bool {
    let geometry = &drive.drive.geometry;
    let per_die = geometry.blocks_per_die() / geometry.blocks_per_plane;
    let scaled = experiment.capacity.size != Size::Drive;
    scaled && drive.op_after_parity_of_raw > 0.0 && (added + 1) * per_die <= RESERVE_BLOCKS.max(per_die)
}

/// The drive of each scheme, with `added` more blocks per plane than the spare asks for.
fn drives(experiment: &Experiment, user: u64, shares: &[f64], added: u32) -> Result<Vec<PlannedDrive>, Problem> {
    let capacity = &experiment.capacity;
    let base = experiment.drive.drive();
    let plan_one = |&share: &f64| {
        let mut drive = base.clone();
        let on_top = if capacity.fairness == Fairness::EqualOp { share } else { 0.0 };
        if capacity.size != Size::Drive || on_top > 0.0 {
            let blocks = blocks_per_plane(&base.geometry, user, capacity.over_provisioning.of_raw(), on_top)
                .saturating_add(u64::from(added));
            drive.geometry.blocks_per_plane = u32::try_from(blocks).unwrap_or(u32::MAX).max(4);
        }
        drive.geometry.check().map_err(|e| {
            let found = Bytes(user.saturating_mul(base.geometry.slot_size.0));
            let message = format!("{found} for the host is more than this drive can be scaled to: {}", e.reason);
            Problem::new("capacity.size", message)
        })?;
        let raw = f64::from(drive.geometry.slots());
        Ok(PlannedDrive {
            capacity_overhead: share,
            op_asked_of_raw: capacity.over_provisioning.of_raw(),
            op_of_raw: 1.0 - user as f64 / raw,
            op_after_parity_of_raw: 1.0 - user as f64 / (raw * (1.0 - share)),
            drive,
        })
    };
    shares.iter().map(plan_one).collect()
}

/// How much the spare may be off what was asked for before a caution says so: whole blocks are a hundredth where there are as many.
const SPARE_OFF: f64 = 0.01;

/// A caution where a drive of few blocks has another spare than was asked for.
pub fn caution(experiment: &Experiment, planned: &[&PlannedDrive]) -> Option<Caution> {
    let got = |one: &&&PlannedDrive| match experiment.capacity.fairness {
        Fairness::EqualRaw => one.op_of_raw,
        Fairness::EqualOp => one.op_after_parity_of_raw,
    };
    let off = |one: &&&PlannedDrive| (got(one) - one.op_asked_of_raw).abs();
    let worst = planned.iter().max_by(|one, other| off(one).total_cmp(&off(other)))?;
    let text = format!(
        "capacity.over_provisioning asks for {}, and the drive has {}: it has {} blocks of {} a die, and GC needs some of them free. A larger capacity.size has the over-provisioning that is asked for",
        percent(of_user(worst.op_asked_of_raw)),
        percent(of_user(got(&worst))),
        worst.drive.geometry.blocks_per_die(),
        Bytes(u64::from(worst.drive.geometry.pages_per_block) * worst.drive.geometry.program_size().0)
    );
    (off(&worst) > SPARE_OFF).then_some(Caution {
        level: Level::Warning,
        scheme: None,
        not_comparable: None,
        kind: "spare",
        text,
    })
}

fn too_little(experiment: &Experiment, user: u64, short: &Short, least: Option<f64>) -> Problem {
    let Short { label, choice, planned, most } = short;
    let name = crate::label::shown(label);
    let geometry = &planned.drive.geometry;
    let slot = geometry.slot_size;
    let mut valid = vec![format!("capacity.size of at most {} on this much flash", Bytes(u64::from(*most) * slot.0))];
    if let Some(least) = least {
        valid.insert(0, format!("capacity.over_provisioning from {least:.3} up"));
    }
    if experiment.capacity.fairness == Fairness::EqualRaw && planned.capacity_overhead > 0.0 {
        valid.push("capacity.fairness = \"equal-op\", which adds raw flash for redundancy".into());
    }
    valid.extend(wider(planned, choice));
    let bad = experiment.age.bad_blocks;
    let bad = if bad > 0.0 { format!(", age.bad_blocks takes {:.1} % of it", bad * 100.0) } else { String::new() };
    let message = format!(
        "scheme `{name}` keeps at most {most} pages of {slot} on {} raw, the host needs {user}: \
         over-provisioning is {:.1} %, redundancy takes {:.1} % of raw flash{bad}, and garbage collection needs free blocks. \
         Valid: {}",
        geometry.raw_size(),
        of_user(planned.op_of_raw) * 100.0,
        planned.capacity_overhead * 100.0,
        valid.join("; "),
    );
    Problem::new("capacity.over_provisioning", message).of_scheme(name)
}

/// An option of the scheme that makes less of the flash redundancy, if one does on this drive.
fn wider(planned: &PlannedDrive, choice: &SchemeChoice) -> Option<String> {
    let (name, dies) = (&choice.name, planned.drive.geometry.dies());
    let entry = ssd::protect::registry::find(name).ok()?;
    let has = |option: &str| entry.options.iter().any(|known| known.0 == option);
    let stripe = (1.0 / planned.capacity_overhead).round() as u32;
    if has("data_strips") && stripe < dies {
        return Some(format!("scheme.{name}.data_strips of {} to {}: a wider stripe has less parity", stripe, dies - 1));
    }
    let given = |option: &str| choice.options.get(option).and_then(|value| value.parse::<u32>().ok());
    (has("m") && given("m") > Some(1)).then(|| format!("scheme.{name}.m below {}: less redundancy", given("m").unwrap_or(2)))
}

/// The least over-provisioning, to three digits, with which a scheme alone gets a drive for a workload that touches `touched` slots.
fn least_over_provisioning(experiment: &Experiment, touched: u64, label: &str) -> Option<f64> {
    let holds = |thousandths: u32| {
        let capacity =
            CapacitySpec { over_provisioning: OverProvisioning::OfUser(f64::from(thousandths) / 1e3), ..experiment.capacity };
        let alone = Experiment { capacity, schemes: vec![label.to_owned()], ..experiment.clone() };
        matches!(fit(&alone, touched), Ok(Fit::Fits(_)))
    };
    let (mut short, mut enough) = ((experiment.capacity.over_provisioning.of_user() * 1e3) as u32, 19_000);
    if !holds(enough) {
        return None;
    }
    while enough - short > 1 {
        let middle = short.midpoint(enough);
        if holds(middle) { enough = middle } else { short = middle }
    }
    Some(f64::from(enough) / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &str) -> Experiment {
        Experiment::parse("test.toml", &format!("drive.preset = \"mlc-2014\"\n{settings}")).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn raw_flash_is_user_capacity_over_one_less_spare_in_whole_blocks() {
        let geometry = with("").drive.geometry;
        // The drive: 8 dies x 1 plane x 128 pages x 1 slot = 1024 slots a row of blocks.
        assert_eq!(slots_per_row(&geometry), 1024);
        // 73 728 / (1 - 0.28) = 102 400 slots = exactly 100 rows.
        assert_eq!(blocks_per_plane(&geometry, 73_728, 0.28, 0.0), 100);
        assert_eq!(blocks_per_plane(&geometry, 73_729, 0.28, 0.0), 101);
        // No spare at all: 1025 slots need two rows.
        assert_eq!(blocks_per_plane(&geometry, 1025, 0.0, 0.0), 2);
        // Equal spare with one die in eight for parity: 100 rows become 114.29.
        assert_eq!(blocks_per_plane(&geometry, 73_728, 0.28, 0.125), 115);
    }

    #[test]
    fn equal_raw_gives_all_schemes_the_same_flash_and_equal_op_the_same_spare() {
        let equal_raw = plan(&with("capacity.size = \"288MiB\""), 5).unwrap();
        assert_eq!(equal_raw.user_slots, 73_728);
        for planned in &equal_raw.drives {
            assert_eq!(planned.drive.geometry.blocks_per_plane, 100);
            assert!((planned.op_of_raw - 0.28).abs() < 1e-9);
        }
        // 1 - 0.72 / 0.875
        assert!((equal_raw.drives[1].op_after_parity_of_raw - 0.177_142_857).abs() < 1e-6);
        let equal_op = plan(&with("capacity = { size = \"288MiB\", fairness = \"equal-op\" }"), 5).unwrap();
        let blocks: Vec<u32> = equal_op.drives.iter().map(|d| d.drive.geometry.blocks_per_plane).collect();
        assert_eq!(blocks, [100, 115, 115, 115]);
        for planned in &equal_op.drives {
            assert!((planned.op_after_parity_of_raw - 0.28).abs() < 0.006, "{planned:?}");
        }
    }

    #[test]
    fn a_given_size_counts_in_slots_and_the_drives_own_size_stays() {
        let sized = plan(&with("capacity.size = \"288MiB\""), 5).unwrap();
        assert_eq!((sized.user_slots, sized.drives[0].drive.geometry.blocks_per_plane), (73_728, 100));
        let own = plan(&with("capacity.size = \"drive\""), 5).unwrap();
        // 1024 rows x 1024 slots x 0.72 = 754 974.72
        assert_eq!((own.user_slots, own.drives[0].drive.geometry.blocks_per_plane), (754_974, 1024));
    }

    #[test]
    fn too_little_for_redundancy_names_numbers_and_what_would_do() {
        let problem = plan(&with("capacity.over_provisioning = \"10% of raw\""), 400_000).unwrap_err();
        assert_eq!(problem.field, "capacity.over_provisioning");
        for part in ["scheme `", "redundancy takes 12.5 %", "the host needs 400000", "capacity.over_provisioning from 0.1"] {
            assert!(problem.message.contains(part), "{part}: {problem}");
        }
    }

    /// 64 MiB on eight dies of blocks of 512 KiB are 23 blocks a die, whose reserve is 0.3 of raw flash.
    const TINY: u64 = 16_384;

    fn raid5(over: &str, rest: &str) -> Experiment {
        with(&format!("schemes = [\"raid5\"]\ncapacity.over_provisioning = \"{over}\"\n{rest}"))
    }

    /// Fails if a drive has so few blocks that another spare comes of them, the same for each that is asked for.
    #[test]
    fn each_spare_that_is_asked_for_is_got_whatever_the_workload_touches() {
        for spare in [0.16, 0.20, 0.24, 0.28, 0.30, 0.55] {
            let experiment = raid5(&format!("{:.0}% of raw", spare * 100.0), "");
            let planned = plan(&experiment, TINY).unwrap_or_else(|e| panic!("{e}")).drives.remove(0);
            assert!((planned.op_of_raw - spare).abs() < 0.005 && planned.op_asked_of_raw == spare, "{planned:?}");
            assert!(caution(&experiment, &[&planned]).is_none());
        }
        // Who insists on a small drive is told.
        let experiment = raid5("16% of raw", "capacity.size = \"64MiB\"");
        let planned = plan(&experiment, TINY).unwrap().drives.remove(0);
        let caution = caution(&experiment, &[&planned]).expect("23 blocks a die").text;
        assert!(
            caution
                .contains("capacity.over_provisioning asks for 19 %, and the drive has 44 %: it has 23 blocks of 512KiB a die"),
            "{caution}"
        );
    }

    #[test]
    fn a_spare_that_is_said_to_do_does_and_one_less_does_not() {
        for rest in ["", "capacity.size = \"64MiB\"", "age.bad_blocks = 0.02"] {
            let problem = plan(&raid5("5% of raw", rest), TINY).expect_err("parity takes an eighth");
            let said = problem
                .message
                .split("capacity.over_provisioning from ")
                .nth(1)
                .expect("a bound")
                .split(' ')
                .next()
                .expect("a number");
            let least: f64 = said.parse().unwrap_or_else(|e| panic!("{e}: {problem}"));
            plan(&raid5(&least.to_string(), rest), TINY).unwrap_or_else(|e| panic!("{rest}: {e}"));
            assert!(plan(&raid5(&(least - 0.001).to_string(), rest), TINY).is_err(), "{rest}: {least}");
        }
    }

    #[test]
    fn a_tiny_drive_gets_the_few_blocks_that_garbage_collection_needs() {
        let tiny = plan(&with("capacity.size = \"40KiB\""), 10).unwrap();
        assert!(tiny.added_blocks > 0 || tiny.drives[0].drive.geometry.blocks_per_plane == 4);
        let shapes: Vec<_> = tiny.drives.iter().map(|d| d.drive.geometry).collect();
        assert!(shapes.windows(2).all(|pair| pair[0] == pair[1]), "equal raw flash");
    }

    #[test]
    fn a_capacity_no_address_reaches_is_refused() {
        let problem = plan(&with("capacity.size = \"100TiB\""), 5).unwrap_err();
        assert!(problem.message.contains("100TiB for the host"), "{problem}");
    }
}
