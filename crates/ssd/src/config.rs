//! Everything that defines a drive and its state before the first host command.

pub use device::config::{CodecTiming, ENTRIES_MAX, Ecc, Errors, ReadRetry, Scheduler};

use crate::rules::SafetyRule;
use ftl::FtlError;
use ftl::{GcConfig, WearConfig};
use nand::{Energy, Pairing, SlcTimes, Timing};
use protect::SchemeChoice;
use protect::{SchemeError, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use vocab::{Bytes, DieId, Geometry, Nanos, PeCycles};

/// Temperatures that drives are built for, in degrees Celsius.
pub(crate) const CELSIUS: RangeInclusive<f64> = device::config::CELSIUS_MIN..=device::config::CELSIUS_MAX;

/// By what the array times of a slow die may be multiplied.
pub(crate) const SLOWER: RangeInclusive<f64> = 1.0..=1000.0;

/// Most reads that a block has seen before the workload: three times as many may follow.
const READS_MAX: u32 = 1_000_000_000;

/// A drive model: shape, timing, energy, endurance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Shape.
    pub geometry: Geometry,
    /// Latencies.
    pub timing: Timing,
    /// Energy of each operation.
    pub energy: Energy,
    /// Rated P/E cycles.
    pub endurance: PeCycles,
    /// Time that firmware and host link add to each command.
    #[serde(default, skip_serializing_if = "Controller::is_free")]
    pub controller: Controller,
    /// Blocks written with one bit a cell before others.
    #[serde(default, skip_serializing_if = "Slc::is_usual")]
    pub slc: Slc,
}

/// Which blocks the host writes with one bit a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlcMode {
    /// None.
    Off,
    /// Some of each die that are used for nothing else.
    Static,
    /// Any free ones.
    Dynamic,
}

/// When full blocks in SLC mode are moved to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlcFold {
    /// While the host asks for nothing.
    Idle,
    /// As soon as the cache is full, and until it has a free block.
    Full,
}

/// Handling of host writes while the cache is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlcFull {
    /// They go to other blocks.
    Bypass,
    /// They wait until a block was folded.
    Wait,
}

/// The SLC cache (decision 14): blocks that the host writes with one bit a cell, and that are folded into others later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Slc {
    /// Blocks that the cache takes.
    pub mode: SlcMode,
    /// Number of its blocks on each die, as the map counts blocks: reserved ones, or the maximum. Superblocks under schemes of
    /// rows.
    #[schemars(extend("x-valid" = "1 to one fewer than a die has, where there is a cache"))]
    pub blocks: u32,
    /// Time of folding.
    pub fold: SlcFold,
    /// Policy for host writes while the cache is full.
    pub full: SlcFull,
    /// Array read time in SLC mode.
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub read: Nanos,
    /// Program time in SLC mode.
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub program: Nanos,
    /// Erase time in SLC mode.
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub erase: Nanos,
    /// Rated P/E cycles in SLC mode: an erase in that mode wears a block less, by the ratio to `drive.endurance`.
    #[schemars(extend("x-valid" = "1 to 127 times `drive.endurance`, where there is a cache"))]
    pub endurance: PeCycles,
    /// Factor by which a page in SLC mode has fewer bit errors.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub fewer_errors: u32,
}

impl Slc {
    /// Whether nothing was set.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Its latencies.
    pub(crate) fn times(&self) -> SlcTimes {
        SlcTimes { read: self.read, program: self.program, erase: self.erase }
    }

    /// Whether there is a cache.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.mode != SlcMode::Off
    }
}

impl Default for Slc {
    fn default() -> Self {
        Self {
            mode: SlcMode::Off,
            blocks: 8,
            fold: SlcFold::Idle,
            full: SlcFull::Bypass,
            read: Nanos(25_000),
            program: Nanos(200_000),
            erase: Nanos(1_500_000),
            endurance: PeCycles(30_000),
            fewer_errors: 100,
        }
    }
}

/// Time that firmware and host link add to each command, beside the work of the flash. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Controller {
    /// Time that firmware and host interface add to a read.
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub read: Nanos,
    /// The same for a write, flush or discard.
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub write: Nanos,
    /// Time added per 4 KiB of a command's data.
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub per_4k: Nanos,
    /// Time that a read occupies the processor: the least distance of two commands.
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub read_every: Nanos,
    /// The same for a write, flush or discard.
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub write_every: Nanos,
    /// Rate of the host link in each direction, in MB/s; 0: no limit.
    pub link_mb_per_s: u32,
}

impl Controller {
    /// Whether it adds nothing.
    #[must_use]
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }
}

/// Facts of a drive that a scheme may know.
#[must_use]
pub fn shape(drive: &Drive) -> Shape {
    let geometry = &drive.geometry;
    Shape {
        dies: geometry.dies(),
        blocks_per_die: geometry.blocks() / geometry.dies(),
        pages_per_block: geometry.pages_per_block,
        page_size: geometry.page_size,
        slots_per_page: geometry.slots_per_page(),
        unit_pages: drive.timing.unit.as_ref().map_or(1, nand::ProgramUnit::pages),
        endurance: drive.endurance,
    }
}

/// Memory that acknowledges a write before flash does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferKind {
    /// None: a write is answered when it is durable in flash, parity included.
    Off,
    /// DRAM: answered at once, lost with power until flushed.
    Volatile,
    /// DRAM with hold-up energy, or NVRAM: answered at once and durable.
    Plp,
}

/// The write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Buffer {
    /// Kind of the write buffer.
    pub kind: BufferKind,
    /// Data it holds.
    pub size: Bytes,
    /// Time to answer a request from it.
    pub latency: Nanos,
}

impl Buffer {
    /// Program units of each die in a buffer of the usual size: one for the host's open block, one for the collector's.
    pub const UNITS_PER_DIE: u64 = 2;
    /// The least usual size, whatever the drive.
    pub const USUAL_LEAST: Bytes = Bytes(1 << 20);

    /// The size that a buffer of this drive has where no other is asked for: [`Self::UNITS_PER_DIE`] program units for each die,
    /// so that one of them is programmed while another one fills, and [`Self::USUAL_LEAST`] at least. So it is in NVMeVirt's
    /// model of a Samsung 970 PRO (`ssd_config.h`: 8 channels x 2 dies x 32 KiB x 2).
    #[must_use]
    pub fn usual_size(drive: &Drive) -> Bytes {
        Bytes(u64::from(drive.geometry.dies()) * Self::program_unit(drive).0 * Self::UNITS_PER_DIE).max(Self::USUAL_LEAST)
    }

    /// Data that one program of a die stores.
    #[must_use]
    pub fn program_unit(drive: &Drive) -> Bytes {
        let pages = drive.timing.unit.as_ref().map_or(1, nand::ProgramUnit::pages);
        Bytes(drive.geometry.program_size().0 * u64::from(pages))
    }

    /// No buffer.
    pub const OFF: Self = Self { kind: BufferKind::Off, size: Bytes(1 << 20), latency: Nanos(2_000) };
}

impl Default for Buffer {
    /// The buffer that every drive has.
    fn default() -> Self {
        Self { kind: BufferKind::Plp, ..Self::OFF }
    }
}

/// Write history before the workload: a fill and random overwrites until steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Precondition {
    /// Share of the logical space that is written, in ascending order, once.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fill: f64,
    /// Share of the filled space that random overwrites then touch.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub working_set: f64,
    /// Overwrite until the write amplification of a window (a quarter of the working set) is
    /// within this of the mean of the two windows before; 0 switches overwriting off. Windows count from when GC has
    /// run in every log.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub converge_within: f64,
    /// At most this many times the working set is overwritten.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub overwrite_at_most: f64,
}

impl Default for Precondition {
    fn default() -> Self {
        Self { fill: 1.0, working_set: 1.0, converge_within: 0.02, overwrite_at_most: 8.0 }
    }
}

/// The age at which the workload finds the drive (decision D12). Added after preconditioning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Age {
    /// Mean P/E cycles of a block.
    #[schemars(range(max = PeCycles::SETTING_MAX))]
    pub pe_cycles: PeCycles,
    /// Standard deviation over blocks of the P/E cycles (normal, clamped at 0).
    #[schemars(range(min = 0.0, max = f64::from(PeCycles::SETTING_MAX)))]
    pub pe_deviation: f64,
    /// Share of blocks, scattered at random, that have seen `worn_pe_cycles` instead.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub worn_blocks: f64,
    /// Mean P/E cycles of those blocks.
    #[schemars(range(max = PeCycles::SETTING_MAX))]
    pub worn_pe_cycles: PeCycles,
    /// Age of all data written before the workload.
    #[schemars(extend("formatMaximum" = Nanos::SETTING_MAX))]
    pub retention: Nanos,
    /// Reads each block has seen since its erase.
    #[schemars(range(max = READS_MAX))]
    pub reads: u32,
    /// Share of blocks that are bad from the factory.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub bad_blocks: f64,
}

impl Default for Age {
    fn default() -> Self {
        Self {
            pe_cycles: PeCycles(0),
            pe_deviation: 0.0,
            worn_blocks: 0.0,
            worn_pe_cycles: PeCycles(0),
            retention: Nanos(0),
            reads: 0,
            bad_blocks: 0.0,
        }
    }
}

impl Age {
    /// Whether blocks have P/E cycles that no program or erase of the drive gave them.
    pub(crate) fn adds_cycles(&self) -> bool {
        self.pe_cycles.0 > 0 || self.pe_deviation > 0.0 || self.worn_blocks > 0.0
    }
}

/// Faults injected while the workload runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Die that fails before the request `dead_die_at_request`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-valid" = "a die of the drive"))]
    pub dead_die: Option<u16>,
    /// Distance of further dies that fail with `dead_die`, before and after it, such as the banks of a card where cards take
    /// dies in turn. 0: that die alone.
    #[serde(skip_serializing_if = "is_none_of_dies")]
    #[schemars(extend("x-valid" = "0, or 2 to the number of dies; beside `faults.dead_die`"))]
    pub dead_die_every: u16,
    /// Request of the workload before which the die fails; 0: from the start.
    pub dead_die_at_request: u64,
    /// Time after the failure at which a spare die, erased and without cycles, takes the place of the dead one; its contents
    /// are rebuilt, also after the last request. Unset: no replacement. Under `ds-raid` and `mds-groups` it comes once they
    /// have rebuilt everything into spare room, which it gives back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-valid" = "beside `faults.dead_die`; `none` and `code-zones` are refused, because they have lost its contents"))]
    pub replace_after: Option<Nanos>,
    /// Probability that one page read is uncorrectable.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub uncorrectable_reads: f64,
    /// End of life: growth, with each program and erase, of the probability that the operation finds its block worn out, up to
    /// one in ten (`nand::faults`).
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub wear_out: f64,
    /// Probability that a page read returns another page and reports success; a program does not happen with a
    /// tenth of it (`nand::silent`).
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub silent: f64,
    /// Rebuild the contents of a dead die onto the others, where the scheme can.
    pub rebuild: bool,
    /// Pages that a rebuild has in progress at a time, at least 1: its pace.
    #[schemars(range(min = 1, max = 65_536))]
    pub rebuild_at_once: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none_of_dies(every: &u16) -> bool {
    *every == 0
}

impl Faults {
    /// The dies of a drive of so many that die together, in order.
    #[must_use]
    pub fn dead_dies(&self, dies: u32) -> Vec<DieId> {
        let Some(die) = self.dead_die else { return Vec::new() };
        match self.dead_die_every {
            0 => vec![DieId(die)],
            every => (0..dies as u16).filter(|other| other % every == die % every).map(DieId).collect(),
        }
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            dead_die: None,
            dead_die_every: 0,
            dead_die_at_request: 0,
            replace_after: None,
            uncorrectable_reads: 0.0,
            wear_out: 0.0,
            silent: 0.0,
            rebuild: true,
            rebuild_at_once: 4,
        }
    }
}

/// When data are written again because they grew old.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefreshPolicy {
    /// Never (a scheme may have limits of its own).
    None,
    /// When the ECC policy raises its alarm: at an access, or when the time comes.
    Alarm,
    /// When the modelled rate, reads included, nears what the page's code bears.
    Joint,
}

/// Refresh of old data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Refresh {
    /// Policy: when blocks are refreshed.
    pub policy: RefreshPolicy,
    /// Target UBER of `joint`.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub uber: f64,
    /// Share of the limit at which a block is refreshed.
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1.0))]
    pub at_share: f64,
    /// Times a block is recharged in place before it is remapped; 0: always remapped.
    pub in_place_at_most: u32,
}

impl Default for Refresh {
    fn default() -> Self {
        Self { policy: RefreshPolicy::None, uber: 1e-11, at_share: 0.95, in_place_at_most: 0 }
    }
}

/// Possible effects of power cuts on the drive, and whether it is to be mounted after one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Power {
    /// Whether what a mount reads is kept beside each page. It takes memory.
    pub mountable: bool,
    /// Whether whole blocks have summaries, so that a mount need not look at their pages.
    pub checkpoint: bool,
    /// Pages that an interrupted program takes with it.
    pub pairing: Pairing,
    /// Whether a capacitor lets programs that were begun end. Where pages share cells a drive
    /// without it may lose what it acknowledged (theory.md section 5, gap 12).
    pub hold_up: bool,
    /// A rule to break, so that tests can show that they would notice.
    pub without: Option<SafetyRule>,
}

/// Contents of a page (decision D1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PayloadKind {
    /// Nothing: timing and endurance only.
    None,
    /// Eight bytes: logical page and version. Every read is checked.
    Tag,
    /// All bytes. Every read is checked.
    Page,
}

/// One drive under one scheme, ready to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The drive.
    pub drive: Drive,
    /// Logical pages the host may use.
    pub user_slots: u32,
    /// The protection scheme and its options.
    pub scheme: SchemeChoice,
    /// Garbage collection.
    pub gc: GcConfig,
    /// Wear levelling.
    pub wear: WearConfig,
    /// Write buffer.
    pub buffer: Buffer,
    /// Die scheduler.
    pub scheduler: Scheduler,
    /// Write history before the workload.
    pub precondition: Precondition,
    /// Age before the workload.
    pub age: Age,
    /// Faults during the workload.
    pub faults: Faults,
    /// Page ECC.
    pub ecc: Ecc,
    /// Bit errors.
    pub errors: Errors,
    /// Refresh.
    pub refresh: Refresh,
    /// Power cuts.
    pub power: Power,
    /// Payload of pages.
    pub payload: PayloadKind,
    /// Seed of all random streams.
    pub seed: u64,
}

/// How host commands arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// At their own times, whatever the drive does.
    Open,
    /// As soon as fewer than this many are unanswered; times are ignored.
    Closed {
        /// Queue depth.
        depth: u32,
    },
}

/// A setup that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct SetupError {
    text: String,
    passed_checks: bool,
}

impl SetupError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), passed_checks: false }
    }

    /// As [`Self::new`], of a setup in which no check found a fault.
    pub(crate) fn despite_checks(text: impl Into<String>) -> Self {
        Self { text: text.into(), passed_checks: true }
    }

    /// Whether all checks of the setup passed, so that a drive should have come of it: a defect of the engine.
    #[must_use]
    pub fn is_defect(&self) -> bool {
        self.passed_checks
    }
}

impl From<FtlError> for SetupError {
    fn from(error: FtlError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<SchemeError> for SetupError {
    fn from(error: SchemeError) -> Self {
        Self::new(error.to_string())
    }
}
