//! Capacity of a drive: checks of settings, and how much the host can store, before a drive is built.

use crate::config::{Drive, Setup, SetupError, SlcFold, SlcFull, SlcMode, shape};
use crate::write::zones::over::code_over;
use crate::write::{Way, commit_reserve, ways};
use ftl::{Ftl, GcConfig, LogKind, RowSpace, SlcBlocks, SlcSpace};
use nand::MOST_CYCLES_A_CYCLE;
use protect::{Protection, SchemeChoice, StripeScheme};
use vocab::Grid;

pub(crate) fn check_drive(drive: &Drive) -> Result<Grid, SetupError> {
    drive.geometry.check().map_err(|e| SetupError::new(e.to_string()))?;
    drive.timing.check(&drive.geometry).map_err(SetupError::new)?;
    if drive.geometry.slots_per_page() > 255 {
        return Err(SetupError::new(format!("geometry: {} slots a page, at most 255", drive.geometry.slots_per_page())));
    }
    Ok(Grid::new(drive.geometry))
}

pub(crate) fn build_scheme(drive: &Drive, scheme: &SchemeChoice) -> Result<Protection, SetupError> {
    let protection = protect::registry::build(scheme, shape(drive))?;
    if let Some(groups) = protection.groups()
        && let Some(code) = groups.codes().iter().find(|code| drive.geometry.pages_per_block < 2 * code.block)
    {
        let (name, pages) = (&scheme.name, drive.geometry.pages_per_block);
        let least = 2 * code.block;
        let found = if pages == 1 { "1 page".into() } else { format!("{pages} pages") };
        return Err(SetupError::new(format!("scheme {name}, block_parity: blocks have {found}, valid are {least} and more")));
    }
    Ok(protection)
}

/// Most logical pages that this scheme can keep on that drive, garbage collection still working.
///
/// # Errors
/// A drive or scheme that cannot be built.
pub fn user_slots_max(drive: &Drive, scheme: &SchemeChoice, gc: &GcConfig) -> Result<u32, SetupError> {
    slots_beside(drive, scheme, gc, 0)
}

/// As [`user_slots_max`], of a drive that is to be mounted after power cuts: recovery keeps a unit
/// of each log free.
///
/// # Errors
/// A drive or scheme that cannot be built.
pub fn mountable_slots_max(drive: &Drive, scheme: &SchemeChoice, gc: &GcConfig) -> Result<u32, SetupError> {
    slots_beside(drive, scheme, gc, RECOVERY_UNITS)
}

/// Units of each log kept free for recovery.
pub(crate) const RECOVERY_UNITS: u32 = 1;

fn slots_beside(drive: &Drive, scheme: &SchemeChoice, gc: &GcConfig, recovery: u32) -> Result<u32, SetupError> {
    let grid = check_drive(drive)?;
    let protection = build_scheme(drive, scheme)?;
    check_streams(scheme, &protection, gc)?;
    if let Some(zones) = protection.zones() {
        slc_space(drive, &protection, gc)?;
        return Ok(zones.layout().user_pages());
    }
    let kind = Way::of(&protection).facts().log;
    let spread = if kind == LogKind::Group { 1 } else { u64::from(grid.dies()) };
    // One page of play for each log: a new version is placed before the old one is given up.
    let reserve = commit_reserve(&protection, &grid) + recovery;
    let space = RowSpace { side_by_side: rows_side_by_side(&protection), groups: group_space(&grid, &protection) };
    let slc = slc_space(drive, &protection, gc)?;
    let play = spread * u64::from(grid.slots_per_page());
    let slots = Ftl::capacity(&grid, kind, space, reserve, slc, gc).saturating_sub(play);
    let user = protection.stripes().map_or(slots, |scheme| slots_in_stripes(scheme, grid.dies(), slots / u64::from(grid.dies())));
    // Pages of code take as much flash as pages of the user.
    let code = code_over(drive, scheme)?;
    if code.is_some() && slc.is_some() {
        return Err(SetupError::new("drive.slc.mode: code zones over another way of writing know nothing of an SLC cache"));
    }
    let code = code.map_or(0, |code| code.layout().all_code_pages().into());
    Ok(user.saturating_sub(code) as u32)
}

/// Logical pages in static stripes of which no die holds more than `most` strips. Stripes that are narrower than the drive fill its
/// dies evenly by whole runs of as many stripes as there are dies; those of a run that is not whole lie on some dies alone.
fn slots_in_stripes(scheme: &dyn StripeScheme, dies: u32, most: u64) -> u64 {
    let width = u64::from(scheme.data_strips() + 1);
    let in_runs = u32::try_from(most / width * u64::from(dies)).unwrap_or(u32::MAX - dies);
    let fits = |&more: &u32| scheme.strips_of_dies(in_runs + more, dies).into_iter().all(|strips| strips <= most);
    let others: Vec<u32> = (1..dies).collect();
    let stripes = in_runs + others.partition_point(fits) as u32;
    u64::from(stripes) * u64::from(scheme.data_strips())
}

/// Streams are told apart only where a page has no mates in flash. Redundancy has some: a stripe, row or group would join pages
/// of several streams, and what protects them would be written and collected with each of these.
fn check_streams(scheme: &SchemeChoice, protection: &Protection, gc: &GcConfig) -> Result<(), SetupError> {
    if gc.streams.are_told_apart() && Way::of(protection).facts().brings_pages_back {
        let (name, count) = (&scheme.name, gc.streams.count);
        return Err(SetupError::new(format!(
            "scheme {name}, gc.streams.count: found {count}, valid is 1: redundancy joins pages of several streams; only scheme none \
             tells streams apart"
        )));
    }
    Ok(())
}

/// Rows of one page number.
pub(crate) fn rows_side_by_side(protection: &Protection) -> u32 {
    protection.rows().map_or(1, |scheme| scheme.side_by_side())
}

/// The SLC cache of each log; `None` where the drive has none.
///
/// # Errors
/// A drive or scheme that cannot have the one that is asked for.
pub(crate) fn slc_space(drive: &Drive, protection: &Protection, gc: &GcConfig) -> Result<Option<SlcSpace>, SetupError> {
    let slc = &drive.slc;
    let blocks = match slc.mode {
        SlcMode::Off => return Ok(None),
        SlcMode::Static => SlcBlocks::Kept(slc.blocks),
        SlcMode::Dynamic => SlcBlocks::Any(slc.blocks),
    };
    let fail = |reason: String| Err(SetupError::new(format!("drive.slc.{reason}")));
    let facts = Way::of(protection).facts();
    if let Some(reason) = facts.no_slc {
        return fail(format!("mode: {reason}"));
    }
    if facts.slc_wants_own_write_pointer && !gc.separate_write_pointer {
        return fail(
            "mode: rows want gc.separate_write_pointer = true: a row that host and collector share is in one mode".into(),
        );
    }
    if gc.streams.host_write_pointers() > 1 {
        return fail("mode: streams that are isolated (gc.streams.isolation) would be mixed in it".into());
    }
    let (bits, pages) = (drive.timing.page.len() as u32, drive.geometry.pages_per_block);
    let sensed = drive.timing.unit.map_or(1, |unit| unit.sensed());
    if bits < 2 {
        return fail("mode: the drive has one kind of page: its cells store one bit already".into());
    }
    if !pages.is_multiple_of(bits * sensed) {
        let reason =
            format!("mode: {pages} pages a block are no multiple of {sensed}, a page of every plane, times {bits} bits a cell");
        return fail(reason);
    }
    let most = drive.geometry.blocks_per_die() - 1;
    if slc.blocks == 0 || slc.blocks > most {
        return fail(format!("blocks: found {}, valid are 1 to {most}, fewer than a die has", slc.blocks));
    }
    cycles_a_cycle(drive)?;
    let (folds_when_full, waits) = (slc.fold == SlcFold::Full, slc.full == SlcFull::Wait);
    Ok(Some(SlcSpace { blocks, bits, folds_when_full, waits }))
}

/// Erases in SLC mode that wear a block as one in its usual mode does.
///
/// # Errors
/// Ratings that are out of range.
pub(crate) fn cycles_a_cycle(drive: &Drive) -> Result<u8, SetupError> {
    let (usual, slc) = (drive.endurance.0, drive.slc.endurance.0);
    let cycles = u8::try_from(slc / usual.max(1)).ok().filter(|cycles| (1..=MOST_CYCLES_A_CYCLE).contains(cycles));
    cycles.ok_or_else(|| {
        let most = usual.saturating_mul(u32::from(MOST_CYCLES_A_CYCLE) + 1) - 1;
        SetupError::new(format!("drive.slc.endurance: found {slc}, valid are {usual} (drive.endurance) to {most}"))
    })
}

/// Capacity of block groups, under a scheme that has them.
pub(crate) fn group_space(grid: &Grid, protection: &Protection) -> Option<ftl::GroupSpace> {
    protection.groups().map(|scheme| ftl::GroupSpace::new(grid, scheme))
}

/// Share of raw flash that the scheme's parity takes.
///
/// # Errors
/// A drive or scheme that cannot be built.
pub fn capacity_overhead(drive: &Drive, scheme: &SchemeChoice) -> Result<f64, SetupError> {
    let grid = check_drive(drive)?;
    let protection = build_scheme(drive, scheme)?;
    let code = code_over(drive, scheme)?.map_or(0, |code| code.layout().all_code_pages());
    let code = f64::from(code) / f64::from(grid.geometry().slots());
    // The parity of code is a part of the scheme's own share.
    Ok(ways::capacity_overhead(&protection, &grid) + code)
}

/// Why a spare die cannot take the place of a dead one under a scheme.
pub(crate) const NO_SPARE_DIES: &str =
    "it cannot rebuild the contents of a dead die; schemes with parity can, and take a spare die";

/// Whether a spare die can take the place of a dead one: what that held is rebuilt on it, or elsewhere before.
#[must_use]
pub fn takes_spare_dies(protection: &Protection) -> bool {
    matches!(protection, Protection::Stripes(_) | Protection::Rows(_) | Protection::Groups(_))
}

/// Checks a setup and builds its scheme.
pub(crate) fn check_setup(setup: &Setup) -> Result<(Grid, Protection), SetupError> {
    let grid = check_drive(&setup.drive)?;
    let protection = build_scheme(&setup.drive, &setup.scheme)?;
    let most = if setup.power.mountable { mountable_slots_max } else { user_slots_max };
    let most = most(&setup.drive, &setup.scheme, &setup.gc)?;
    if setup.user_slots == 0 || setup.user_slots > most {
        return Err(SetupError::new(format!(
            "scheme {}: {} logical pages asked for on a drive of {}, 1 to {most} fit beside redundancy and reserve",
            setup.scheme.name,
            setup.user_slots,
            grid.geometry().slots(),
        )));
    }
    if setup.faults.dead_die.is_some_and(|die| u32::from(die) >= grid.dies()) {
        return Err(SetupError::new(format!("faults.dead_die: the drive has dies 0 to {}", grid.dies() - 1)));
    }
    if setup.faults.replace_after.is_some() && !takes_spare_dies(&protection) {
        return Err(SetupError::new(format!("faults.replace_after: scheme {}: {NO_SPARE_DIES}", setup.scheme.name)));
    }
    Ok((grid, protection))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BufferKind;
    use crate::core::testing::tiny_setup;
    use vocab::StripeId;

    /// This many dies and data strips, on a drive of blocks as the tiny one has.
    fn drive(dies: u32) -> Drive {
        let mut drive = tiny_setup("raid5", BufferKind::Off).drive;
        (drive.geometry.dies_per_channel, drive.geometry.blocks_per_plane) = (dies, 16);
        drive
    }

    fn choice(scheme: &str, data_strips: u32) -> SchemeChoice {
        SchemeChoice { options: [("data_strips".into(), data_strips.to_string())].into(), ..SchemeChoice::named(scheme) }
    }

    /// Strips on the fullest die, each counted by itself.
    fn fullest(scheme: &dyn StripeScheme, stripes: u32, dies: u32) -> u64 {
        let mut strips = vec![0; dies as usize];
        for stripe in (0..stripes).map(StripeId) {
            (0..=scheme.data_strips()).for_each(|strip| strips[scheme.die_of(stripe, strip).index()] += 1);
        }
        strips.into_iter().max().expect("a drive has dies")
    }

    /// A stripe over all dies puts one strip on each, so that a drive says with these how many strips a die holds. Catches a
    /// capacity for narrower stripes that leaves a die with more, or that gives room away.
    #[test]
    fn no_die_has_to_hold_more_strips_than_it_can() {
        let gc = GcConfig::default();
        for (scheme, dies, data) in [("raid5", 5, 2), ("raid5", 17, 6), ("ppc", 17, 2), ("raid5", 40, 31), ("da-raid5", 64, 31)] {
            for most in [user_slots_max, mountable_slots_max] {
                let holds = u64::from(most(&drive(dies), &choice("raid5", dies - 1), &gc).expect("a drive") / (dies - 1));
                let reserve = |name| {
                    let protection = build_scheme(&drive(dies), &choice(name, data)).expect("a scheme");
                    u64::from(commit_reserve(&protection, &Grid::new(drive(dies).geometry)) * 4)
                };
                let holds = holds - reserve(scheme);
                let protection = build_scheme(&drive(dies), &choice(scheme, data)).expect("a scheme");
                let stripes = most(&drive(dies), &choice(scheme, data), &gc).expect("a drive") / data;
                let scheme = protection.stripes().expect("static stripes");
                assert!(fullest(scheme, stripes, dies) <= holds, "{dies} dies, {data} strips: {stripes} stripes");
                assert!(fullest(scheme, stripes + 1, dies) > holds, "{dies} dies, {data} strips: one more would fit");
                let counted = scheme.strips_of_dies(stripes, dies);
                assert_eq!(counted.iter().copied().max(), Some(fullest(scheme, stripes, dies)));
                assert_eq!(counted.iter().sum::<u64>(), u64::from(stripes * (data + 1)));
            }
        }
    }
}
