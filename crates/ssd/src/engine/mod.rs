//! The engine: it alone knows all components. It builds them, takes one event after the other, routes what the
//! device completed to whoever waits for it, and hands from one component to another what they ask for.

pub(crate) mod clocks;
pub(crate) mod complete;
pub(crate) mod effects;
pub(crate) mod flows;
pub(crate) mod online;
pub(crate) mod reads;
pub(crate) mod run;
pub(crate) mod series;
pub(crate) mod space;
#[cfg(test)]
pub(crate) mod testing;

use crate::care::Care;
use crate::care::profiles::Profiles;
use crate::config::Setup;
use crate::config::SetupError;
use crate::core::Core;
use crate::core::flash::{Array, FlashPayload};
use crate::core::mounting::Recovery;
use crate::core::streams::PageStreams;
use crate::core::timer::Timer;
use crate::fit::{RECOVERY_UNITS, cycles_a_cycle, group_space, rows_side_by_side, slc_space};
use crate::host::Host;
use crate::read::Reads;
use crate::rules::SafetyRule;
use crate::write::zones::over::code_over;
use crate::write::{Way, Writer, commit_reserve};
use device::Device;
use ftl::{Ftl, FtlSetup};
use nand::FlashArray;
use protect::Protection;
use vocab::{BlockAddr, Grid, Streams};

/// One drive in motion.
#[derive(Clone)]
pub struct Engine<P: FlashPayload> {
    pub(crate) core: Core<P>,
    pub(crate) host: Host<P>,
    pub(crate) writer: Writer<P>,
    pub(crate) reads: Reads<P>,
    pub(crate) care: Care<P>,
    pub(crate) power: Recovery,
}

/// The map of a drive that holds nothing yet.
fn empty_map(
    setup: &Setup,
    grid: &Grid,
    protection: &Protection,
    streams: &Streams,
    bad: impl Fn(BlockAddr) -> bool,
) -> Result<Ftl, SetupError> {
    let kind = Way::of(protection).facts().log;
    let stripes = protection.stripes().map_or(0, |scheme| setup.user_slots.div_ceil(scheme.data_strips()));
    let code = code_over(&setup.drive, &setup.scheme)?;
    let (segments, slots) = crate::write::zones::space(protection, code.as_ref(), setup.user_slots);
    let reserve = commit_reserve(protection, grid);
    let groups = group_space(grid, protection);
    let slc = slc_space(&setup.drive, protection, &setup.gc)?;
    let (user_slots, gc, wear) = (setup.user_slots, &setup.gc, &setup.wear);
    let keeps = setup.power.mountable && setup.power.without != Some(SafetyRule::Reserve);
    let recovery = if keeps { RECOVERY_UNITS } else { 0 };
    let side_by_side = rows_side_by_side(protection);
    let setup = FtlSetup { kind, user_slots, slots, segments, stripes, reserve, recovery, side_by_side, groups, slc, gc, wear };
    let mut map = Ftl::new(grid, &setup, streams, bad)?;
    map.retire_incomplete_superblocks();
    Ok(map)
}

impl<P: FlashPayload> Engine<P> {
    /// A drive with empty map over `array`.
    ///
    /// # Errors
    /// Settings of the map that are out of range.
    pub fn new(setup: &Setup, protection: Protection, array: Array<P>) -> Result<Self, SetupError> {
        let grid = array.grid().clone();
        let streams = Streams::new(setup.seed);
        let profiles = Profiles::new(setup, &grid, |block| array.block(block).bad)?;
        let is_kept_out = |block| array.block(block).bad || profiles.as_ref().is_some_and(|profiles| profiles.holds(block));
        let map = empty_map(setup, &grid, &protection, &streams, is_kept_out)?;
        let logs = map.logs();
        let mut device = Device::new(array, &setup.drive.timing, setup.scheduler, Timer::count(&grid));
        device.gc_occupies = setup.gc.occupies_die;
        if map.has_slc() {
            device.latencies = device.latencies.with_slc(setup.drive.slc.times());
        }
        let slc_cycles_a_cycle = if map.has_slc() { cycles_a_cycle(&setup.drive)? } else { 0 };
        let mut core = Core::new(device, map, setup.power);
        core.streams = PageStreams::new(&setup.gc.streams, setup.user_slots);
        core.slc_cycles_a_cycle = slc_cycles_a_cycle;
        let mut engine = Self {
            core,
            host: Host::new(setup, &protection),
            reads: Reads::new(&protection),
            care: Care { profiles, ..Care::new(setup, &protection, logs) },
            power: Recovery::default(),
            writer: Writer::new(setup, protection, &grid, logs).map_err(SetupError::new)?,
        };
        if let Some(zones) = &engine.writer.zones {
            engine.reads.read_code_of(&zones.scheme);
            engine.host.reads_ahead = engine.reads.ahead.is_some();
        }
        if engine.core.breaks(SafetyRule::Pins) {
            engine.core.map.break_pins();
        }
        engine.writer.settle_space(&mut engine.core);
        Ok(engine)
    }
}
