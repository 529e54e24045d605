//! What fits on a drive: checks of settings, and how much the host can store, before a drive is built.

use crate::config::{Drive, Setup, SetupError, shape};
use crate::write::commit_reserve;
use crate::write::zones::over::code_over;
use ftl::{Ftl, GcConfig, LogKind};
use protect::{Protection, SchemeChoice};
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
    if let Protection::Groups(groups) = &protection
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
    let (kind, spread) = match &protection {
        Protection::Zones(zones) => return Ok(zones.layout().user_pages()),
        Protection::Rows(_) | Protection::Groups(_) => (LogKind::Group, 1),
        _ => (LogKind::Regions, u64::from(grid.dies())),
    };
    // One page of play for each log: a new version is placed before the old one is given up.
    let reserve = commit_reserve(&protection, &grid) + recovery;
    let space = (rows_side_by_side(&protection), group_space(&grid, &protection));
    let play = spread * u64::from(grid.slots_per_page());
    let slots = Ftl::capacity(&grid, kind, space, reserve, gc).saturating_sub(play);
    let user = match &protection {
        Protection::Stripes(scheme) => slots / u64::from(scheme.data_strips() + 1) * u64::from(scheme.data_strips()),
        _ => slots,
    };
    // Pages of code take as much flash as pages of the user.
    let code = code_over(drive, scheme)?.map_or(0, |code| code.layout().all_code_pages().into());
    Ok(user.saturating_sub(code) as u32)
}

/// Streams are told apart only where a page has no mates in flash. Redundancy has some: a stripe, row or group would join pages
/// of several streams, and what protects them would be written and collected with each of these.
fn check_streams(scheme: &SchemeChoice, protection: &Protection, gc: &GcConfig) -> Result<(), SetupError> {
    if gc.streams.are_told_apart() && !matches!(protection, Protection::None) {
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
    if let Protection::Rows(scheme) = protection { scheme.side_by_side() } else { 1 }
}

/// What block groups hold, under a scheme that has them.
pub(crate) fn group_space(grid: &Grid, protection: &Protection) -> Option<ftl::GroupSpace> {
    let Protection::Groups(scheme) = protection else { return None };
    Some(ftl::GroupSpace::new(grid, &**scheme))
}

/// Share of raw flash that the scheme's parity takes.
///
/// # Errors
/// A drive or scheme that cannot be built.
pub fn redundancy_share(drive: &Drive, scheme: &SchemeChoice) -> Result<f64, SetupError> {
    let grid = check_drive(drive)?;
    let protection = build_scheme(drive, scheme)?;
    let code = code_over(drive, scheme)?.map_or(0, |code| code.layout().all_code_pages());
    let code = f64::from(code) / f64::from(grid.geometry().slots());
    let own = match protection {
        Protection::None => 0.0,
        Protection::Zones(zones) => zones.layout().redundancy_share(),
        Protection::Stripes(scheme) => 1.0 / f64::from(scheme.data_strips() + 1),
        Protection::Rows(scheme) => f64::from(scheme.side_by_side()) / f64::from(grid.dies()),
        Protection::Groups(scheme) => {
            let group = f64::from(grid.dies() * grid.pages_per_block() * grid.slots_per_page());
            1.0 - f64::from(ftl::GroupSpace::new(&grid, &*scheme).least_slots) / group
        }
    };
    // The parity of code is a part of the scheme's own share.
    Ok(own + code)
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
    Ok((grid, protection))
}
