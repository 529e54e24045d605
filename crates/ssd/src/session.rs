//! A drive ready for work, whatever its pages carry: the way in for everybody outside.

use crate::boot;
use crate::boot::precondition::Steady;
use crate::config::{Drive, Pace, PayloadKind, Setup};
use crate::engine::Engine;
use crate::power::cut::Remains;
use crate::result::RunResult;
use crate::write::commit_reserve;
use device::contents::{HostPayload, Nothing, PageBuf, Tag};
use device::ecc::PageEcc;
use device::facts::Folds;
use ftl::{Ftl, FtlError, GcConfig, LogKind};
use nand::{Faulty, FlashArray, MemoryArray};
use protect::{Protection, SchemeChoice, SchemeError, Shape};
use std::fmt;
use vocab::{BlockAddr, DieId, Grid, HostCommand, Nanos, SimTime, Streams};

/// A setup that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupError(String);

impl SetupError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetupError {}

impl From<FtlError> for SetupError {
    fn from(error: FtlError) -> Self {
        Self(error.to_string())
    }
}

impl From<SchemeError> for SetupError {
    fn from(error: SchemeError) -> Self {
        Self(error.to_string())
    }
}

pub(crate) fn check_drive(drive: &Drive) -> Result<Grid, SetupError> {
    drive.geometry.check().map_err(|e| SetupError::new(e.to_string()))?;
    drive.timing.check().map_err(SetupError::new)?;
    if drive.geometry.slots_per_page() > 255 {
        return Err(SetupError::new(format!("geometry: {} slots a page, at most 255", drive.geometry.slots_per_page())));
    }
    Ok(Grid::new(drive.geometry))
}

/// What a scheme may know of a drive.
#[must_use]
pub fn shape(drive: &Drive) -> Shape {
    let geometry = &drive.geometry;
    Shape {
        dies: geometry.dies(),
        blocks_per_die: geometry.blocks() / geometry.dies(),
        pages_per_block: geometry.pages_per_block,
        page_size: geometry.page_size,
        slots_per_page: geometry.slots_per_page(),
        endurance: drive.endurance,
    }
}

pub(crate) fn build_scheme(drive: &Drive, scheme: &SchemeChoice) -> Result<Protection, SetupError> {
    let protection = protect::registry::build(scheme, shape(drive))?;
    if let Protection::Groups(groups) = &protection
        && drive.geometry.pages_per_block < 2
        && groups.codes().iter().any(|code| code.block)
    {
        let name = &scheme.name;
        return Err(SetupError::new(format!("scheme {name}, block_parity: blocks have 1 page, valid are 2 and more")));
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
    let (kind, spread) = match &protection {
        Protection::Zones(zones) => return Ok(zones.layout().user_pages()),
        Protection::Rows(_) | Protection::Groups(_) => (LogKind::Group, 1),
        _ => (LogKind::Regions, u64::from(grid.dies())),
    };
    // One page of play for each log: a new version is placed before the old one is given up.
    let reserve = commit_reserve(&protection, &grid) + recovery;
    let space = group_space(&grid, &protection);
    let play = spread * u64::from(grid.slots_per_page());
    let slots = Ftl::capacity(&grid, kind, space, reserve, gc).saturating_sub(play);
    let user = match &protection {
        Protection::Stripes(scheme) => slots / u64::from(scheme.data_strips() + 1) * u64::from(scheme.data_strips()),
        _ => slots,
    };
    Ok(user as u32)
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
    Ok(match build_scheme(drive, scheme)? {
        Protection::None => 0.0,
        Protection::Zones(zones) => zones.layout().redundancy_share(),
        Protection::Stripes(scheme) => 1.0 / f64::from(scheme.data_strips() + 1),
        Protection::Rows(_) => 1.0 / f64::from(grid.dies()),
        Protection::Groups(scheme) => {
            let group = f64::from(grid.dies() * grid.pages_per_block() * grid.slots_per_page());
            1.0 - f64::from(ftl::GroupSpace::new(&grid, &*scheme).least_slots) / group
        }
    })
}

/// What commands ask of a drive if nothing ever waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Sum of the time dies are busy.
    pub dies: Nanos,
    /// Sum of the time channels carry commands or data.
    pub channels: Nanos,
    /// Sum of the time decoders work; each channel has one.
    pub decoders: Nanos,
    /// Number of dies.
    pub of_dies: u32,
    /// Number of channels.
    pub of_channels: u32,
}

impl Demand {
    /// Least time in seconds in which the drive can do it: its busiest kind of part never rests.
    #[must_use]
    pub fn least_s(&self) -> f64 {
        let dies = self.dies.as_secs_f64() / f64::from(self.of_dies);
        dies.max(self.channels.max(self.decoders).as_secs_f64() / f64::from(self.of_channels))
    }
}

/// A drive in its initial state: built, preconditioned, aged. A clone is a fork: it goes its
/// own way from here.
#[derive(Clone)]
pub struct Session(pub(crate) Inner);

#[derive(Clone)]
pub(crate) enum Inner {
    None(Prepared<Nothing>),
    Tag(Prepared<Tag>),
    Page(Prepared<PageBuf>),
}

/// `$body` with `$prepared` being what is inside the session.
macro_rules! inside {
    ($session:expr, $prepared:ident => $body:expr) => {
        match $session {
            $crate::session::Inner::None($prepared) => $body,
            $crate::session::Inner::Tag($prepared) => $body,
            $crate::session::Inner::Page($prepared) => $body,
        }
    };
}
pub(crate) use inside;

/// A machine with its setup and what preconditioning found.
#[derive(Clone)]
pub(crate) struct Prepared<P: HostPayload> {
    pub(crate) engine: Engine<P, Faulty<MemoryArray<P>>>,
    pub(crate) setup: Setup,
    pub(crate) steady: Steady,
    pub(crate) pe_before: Vec<u32>,
}

impl Session {
    /// Builds a drive, preconditions and ages it.
    ///
    /// # Errors
    /// Names the setting at fault and what would be valid.
    pub fn new(setup: &Setup) -> Result<Self, SetupError> {
        Ok(Self(match setup.payload {
            PayloadKind::None => Inner::None(Prepared::new(setup)?),
            PayloadKind::Tag => Inner::Tag(Prepared::new(setup)?),
            PayloadKind::Page => Inner::Page(Prepared::new(setup)?),
        }))
    }

    /// Replays host commands and says what that gave. `progress` hears the number of requests
    /// that have arrived, now and then.
    pub fn run(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        progress: &mut dyn FnMut(u64),
    ) -> RunResult {
        inside!(&mut self.0, prepared => prepared.run(commands, pace, progress))
    }

    /// Replays as [`Self::run`] does and stops before the event for which `go_on`, which hears its
    /// number, says no: commands are in flight then, and the power may go.
    pub fn run_until(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> RunResult {
        let mut number = 0;
        let mut step = || {
            number += 1;
            go_on(number - 1)
        };
        inside!(&mut self.0, prepared => prepared.run_stepwise(commands, pace, &mut |_| {}, |_| step()))
    }

    /// Under code zones: chooses zones and encodes them, between two runs, and off the clock. Under other
    /// schemes nothing happens.
    pub fn go_off_line(&mut self) {
        inside!(&mut self.0, prepared => prepared.engine.go_off_line());
    }

    /// What these commands would ask of the drive: executed in order, without time, on a fork.
    #[must_use]
    pub fn demand(&self, commands: &mut dyn Iterator<Item = HostCommand>) -> Demand {
        inside!(&mut self.clone().0, prepared => prepared.engine.dry_run(commands))
    }

    /// Recounts every derived count of the map; for tests.
    ///
    /// # Panics
    /// If one is off.
    pub fn check_counts(&self) {
        inside!(&self.0, prepared => prepared.engine.check_counts())
    }

    /// P/E cycles of every block, as the drive knows them, in block order.
    #[must_use]
    pub fn pe_cycles(&self) -> Vec<u32> {
        inside!(&self.0, prepared => prepared.engine.pe_cycles())
    }

    /// The first wrong read so far, in words.
    #[must_use]
    pub fn first_mismatch(&self) -> Option<&str> {
        inside!(&self.0, prepared => prepared.engine.host.first_mismatch.as_deref())
    }

    /// Since when the drive is read-only; `None`: it takes writes.
    #[must_use]
    pub fn read_only_since(&self) -> Option<SimTime> {
        inside!(&self.0, prepared => prepared.engine.host.requests.read_only_since)
    }
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

impl<P: HostPayload> Prepared<P> {
    fn new(setup: &Setup) -> Result<Self, SetupError> {
        let (grid, protection) = check_setup(setup)?;
        let streams = Streams::new(setup.seed);
        let mut array = MemoryArray::new(setup.drive.geometry, !matches!(protection, Protection::None));
        boot::age::mark_bad_blocks(&mut array, setup, &streams);
        let faults = streams.stream("nand/uncorrectable");
        let array = if PageEcc::is_wanted(&setup.ecc, &setup.errors) { array.keeping_ecc() } else { array };
        let array = if setup.power.mountable { array.keeping_updates() } else { array };
        let array = Faulty::new(array, grid.dies(), setup.faults.uncorrectable_reads, faults);
        let mut engine = Engine::new(setup, protection, array)?;
        let none = (None, Remains::default());
        let steady = boot::bring_up(&mut engine, setup, none, boot::new_drive())?.steady;
        if setup.faults.wear_out > 0.0 {
            engine.core.device.array.tire(setup.faults.wear_out, streams.stream("nand/wear-out"));
        }
        if setup.faults.silent > 0.0 {
            engine.core.device.array.hush(setup.faults.silent, streams.stream("nand/silent"));
        }
        let pe_before = engine.pe_cycles();
        Ok(Self { engine, setup: setup.clone(), steady, pe_before })
    }

    fn run(&mut self, commands: &mut dyn Iterator<Item = HostCommand>, pace: Pace, progress: &mut dyn FnMut(u64)) -> RunResult {
        self.run_stepwise(commands, pace, progress, |_| true)
    }

    /// As [`Self::run`]; `step` looks at the drive before every event, and stops the run with false.
    pub(crate) fn run_stepwise(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        progress: &mut dyn FnMut(u64),
        step: impl FnMut(&Engine<P, Faulty<MemoryArray<P>>>) -> bool,
    ) -> RunResult {
        let engine = &mut self.engine;
        engine.core.device.folds = Folds::with_responses(engine.core.device.grid.slots_per_page());
        let events = engine.core.device.calendar.scheduled();
        (engine.host.requests.first_arrival, engine.host.requests.last_answer) = (None, engine.core.device.now);
        let faults = self.setup.faults;
        let mut doomed = faults.dead_die.map(DieId);
        let mut each = |engine: &mut Engine<P, Faulty<MemoryArray<P>>>, request: u64| {
            if request.is_multiple_of(4096) {
                progress(request);
            }
            if doomed.is_some() && request >= faults.dead_die_at_request {
                let die = doomed.take().expect("checked");
                engine.kill(die);
            }
        };
        engine.replay_stepwise(commands, pace, &mut each, step);
        let events = engine.core.device.calendar.scheduled() - events;
        self.result(events, pace)
    }
}

impl<P: HostPayload> Engine<P, Faulty<MemoryArray<P>>> {
    /// The die stops answering, for good.
    pub fn kill(&mut self, die: DieId) {
        self.core.device.array.kill(die);
        self.die_died(die);
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// P/E cycles of every block, in block order.
    pub fn pe_cycles(&self) -> Vec<u32> {
        (0..self.core.device.grid.geometry().blocks()).map(|block| self.core.device.array.block(BlockAddr(block)).pe).collect()
    }

    pub(crate) fn check_counts(&self) {
        self.core.map.check_counts();
        self.check_parity_cache();
        if self.writer.stripes.worn_above.is_some() {
            self.check_worn_strips();
        }
    }
}
