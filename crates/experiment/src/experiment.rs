//! An experiment as data: the document that says everything a run depends on.
//!
//! An experiment file is TOML. Every key may be left out; the defaults compare `none`, `raid5`
//! and `ds-raid` on the bundled trace. Sizes are texts with IEC or SI prefixes (`"4KiB"`,
//! `"5GB"`), times are texts (`"75us"`, `"1.6ms"`, `"30d"`), energies are texts (`"3uJ"`).
//!
//! ```toml
//! seed = 1                      # of all random streams
//! seeds = 1                     # repeat with this many seeds, `seed` and those that follow it: confidence intervals
//! payload = "tag"               # none | tag | page: what pages carry; tag and page check reads
//! schemes = ["none", "raid5", "ds-raid", "mds-groups"]
//! scheduler = "read-first"      # fifo | read-first
//! warmup = "auto"               # auto | none | requests | a time: what is replayed of the workload before it is measured
//!
//! [trace]                       # what the host asks
//! source = "pgbench"            # a bundled trace, a path, or a generator
//! format = "auto"               # trace format; auto looks at the first lines
//! blk_action = "D"              # blkparse only: Q queued, D issued, C completed
//! loops = 1                     # times the trace is repeated
//! arrival = "auto"              # auto | recorded | scaled=FACTOR | closed=QUEUE_DEPTH
//! addresses = "auto"            # auto | compact | fold
//!
//! [generate]                    # fields of GenerateSpec, where trace.source is a generator
//! requests = 100000
//!
//! [drive]
//! preset = "tlc"                # a preset, a drive file (.toml), or none
//! [drive.geometry]              # any field of the preset may be overridden
//! channels = 4
//! [drive.timing]
//! transfer = { mt-per-s = 333 }
//! [drive.energy]
//!
//! [capacity]
//! size = "auto"                 # auto | drive | a size: what the host may store
//! over_provisioning = "28% of raw" # flash beyond that: 0.39 or "39%" of it, or a share of raw flash
//! fairness = "equal-raw"        # equal-raw | equal-op: what all schemes have alike
//!
//! [gc]                          # fields of ftl::GcConfig
//! [wear]                        # fields of ftl::WearConfig
//! [buffer]                      # fields of ssd::Buffer
//! [precondition]                # fields of ssd::Precondition
//! [age]                         # fields of ssd::Age
//! [faults]                      # fields of ssd::Faults
//! [errors]                      # fields of ssd::Errors: bit errors of the cells
//! [refresh]                     # fields of ssd::Refresh
//! [ecc]                         # page ECC
//! policy = "none"               # as `flashkeep list ecc` shows them
//! codeword = "4KiB"             # 512B | 1KiB | 2KiB | 4KiB
//! codec = "flares"              # instant | flares | flares-worst
//! [ecc.options.flares]          # options of a policy
//!
//! [scheme.raid5]                # options of a scheme, as `flashkeep list schemes` shows them
//! ```
//!
//! `trace.arrival` is one clock for all schemes: `auto` multiplies recorded times by one factor,
//! at least 1, such that `none` would be half busy and no compared scheme more than 60 % busy;
//! `half-busy` looks at `none` alone. `capacity.size = "auto"` maps the
//! addresses a trace touches to a compact space that fills the user capacity; any other size
//! keeps the recorded addresses, folded (modulo) into the capacity. The drive's
//! `blocks_per_plane` is scaled so that raw flash is the user capacity x (1 + over-provisioning), rounded up
//! to whole blocks, unless the size is `drive`.
//!
//! With `equal-raw`, all schemes get the same raw flash, so parity reduces over-provisioning. With `equal-op`, each scheme gets raw flash for its redundancy on top.

mod trace_spec;

use crate::buffer::BufferSpec;
use crate::flow_spec::FlowSpec;
use crate::generate::GenerateSpec;
use crate::over_provisioning::OverProvisioning;
use crate::textual::{OptionText, Size, Warmup};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::ftl::{GcConfig, WearConfig};
use ssd::nand::{Energy, Timing};
use ssd::{Age, Controller, Drive, Ecc, Errors, Faults, PayloadKind, Precondition, Refresh, Scheduler, Slc};
use std::collections::BTreeMap;
pub(crate) use trace_spec::LISTS;
pub use trace_spec::{Addresses, Order, RangesSpec, TraceSpec};
use vocab::{Bytes, Geometry, PeCycles};

/// Options by name.
pub type Options = BTreeMap<String, OptionText>;

/// An experiment with every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Seed of all random streams.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Repetitions, each with a seed of its own: `seed` and those that follow it.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    #[schemars(range(min = 1, max = 100), extend("x-valid" = "`seed` + `seeds` within 63 bits; 1 in a grid with an axis of `seed`"))]
    pub seeds: u32,
    /// Payload of pages.
    #[serde(default = "default_payload")]
    pub payload: PayloadKind,
    /// Schemes to compare, by registry name, in report order. `ds-raid+limits` is a scheme with an
    /// addition, `ds-raid+flares` or `ds-raid+limits+flares` one under an ECC policy of its own; the
    /// others are under `ecc.policy`. `raid5:data_strips=7` has an option of its own, so that one scheme can be there
    /// more than once; `:` is before each option, and the name of an addition or policy before one of theirs
    /// (`ds-raid+limits:limits.yield=0.99`). `wide=raid5:data_strips=15` has a name in front by which results call it.
    #[serde(default = "default_schemes")]
    pub schemes: Vec<String>,
    /// Die scheduler.
    #[serde(default = "default_scheduler")]
    pub scheduler: Scheduler,
    /// Part of the workload that is replayed before it is measured, at full speed and without its reads: `auto` until write
    /// amplification is steady (where preconditioning overwrites until it is), `none`, a number of requests such as `20000`, or
    /// a time of the workload such as `10s`. A recording is repeated, a generator is drawn further.
    #[serde(default, skip_serializing_if = "Warmup::is_auto")]
    #[schemars(extend("x-valid" = "`auto`, `none`, 1 to 10^12 requests, or a time above 0 up to 18250d (50 years); a time only where requests have times"))]
    pub warmup: Warmup,
    /// Run each flow of a workload of several also alone on the same drive, for slowdown and fairness.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schemars(extend("x-valid" = "up to 64 flows"))]
    pub alone: bool,
    /// Generators that share the drive, each a flow with a queue or times of its own: in place of `trace.source`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-valid" = "up to 4096, each with a name of its own and a `depth` of 1 to 65,536 or times in its `generate.arrivals`"))]
    pub flow: Vec<FlowSpec>,
    /// Requests of the host.
    #[serde(default)]
    pub trace: TraceSpec,
    /// Options of the generator, where `trace.source` is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generate: Option<GenerateSpec>,
    /// User capacity and over-provisioning.
    #[serde(default)]
    pub capacity: CapacitySpec,
    /// Garbage collection.
    #[serde(default)]
    pub gc: GcConfig,
    /// Wear levelling.
    #[serde(default)]
    pub wear: WearConfig,
    /// Write buffer.
    #[serde(default)]
    pub buffer: BufferSpec,
    /// Write history before the trace.
    #[serde(default)]
    pub precondition: Precondition,
    /// Age before the trace.
    #[serde(default)]
    pub age: Age,
    /// Faults during the trace.
    #[serde(default)]
    pub faults: Faults,
    /// Bit errors of the cells.
    #[serde(default)]
    pub errors: Errors,
    /// Refresh of old data.
    #[serde(default)]
    pub refresh: Refresh,
    /// Page ECC.
    #[serde(default)]
    pub ecc: EccSpec,
    /// Options of schemes, by scheme name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scheme: BTreeMap<String, Options>,
    /// The drive at its own size.
    pub drive: DriveSpec,
    /// Schemes that were not asked for by name and left out, because they cannot run on the drive, with the reason, and what of
    /// a drive's file has no counterpart. The effective experiment has what is left.
    #[serde(skip)]
    pub left_out: Vec<String>,
    /// Settings that were read under former names, with the present ones.
    #[serde(skip)]
    pub hints: Vec<String>,
}

/// User capacity and over-provisioning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CapacitySpec {
    /// User capacity: `auto` (the footprint of the workload), `drive` (the capacity of the drive) or a size.
    pub size: Size,
    /// Flash beyond the user capacity: a share of that, such as 0.07 or "7%", or of raw flash, such as "28% of raw".
    pub over_provisioning: OverProvisioning,
    /// Property that all schemes share.
    pub fairness: Fairness,
}

/// Quantity that all compared schemes have alike besides user capacity, seed, history and clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// Raw flash: parity reduces over-provisioning.
    EqualRaw,
    /// Over-provisioning after parity: a scheme gets raw flash for its redundancy on top.
    EqualOp,
}

/// Options of policies of page ECC, by policy name.
pub type PolicyOptions = BTreeMap<String, Options>;

/// Page ECC, with options for several policies.
pub type EccSpec = Ecc<PolicyOptions>;

/// A drive model with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// Preset, drive file, or `none`; the fields below override its values. The effective experiment says `none`, because it
    /// gives every field.
    #[serde(default = "no_preset")]
    pub preset: String,
    /// Name of the drive in reports.
    #[serde(default)]
    pub name: String,
    /// Description in one line.
    #[serde(default)]
    pub summary: String,
    /// Source of its values.
    #[serde(default)]
    pub source: String,
    /// Rated P/E cycles.
    #[schemars(range(min = 1, max = PeCycles::SETTING_MAX))]
    pub endurance: PeCycles,
    /// Shape.
    pub geometry: Geometry,
    /// Energy of each operation.
    pub energy: Energy,
    /// Latencies.
    pub timing: Timing,
    /// Time that firmware and host link add to each command.
    #[serde(default, skip_serializing_if = "Controller::is_free")]
    pub controller: Controller,
    /// Blocks written with one bit a cell before others.
    #[serde(default, skip_serializing_if = "Slc::is_usual")]
    pub slc: Slc,
}

fn default_seed() -> u64 {
    1
}

fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_once(seeds: &u32) -> bool {
    *seeds == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

fn default_payload() -> PayloadKind {
    PayloadKind::Tag
}

/// Those that are compared where nothing is said: `mds-groups` is nearest to the RAIN of products.
pub(crate) fn default_schemes() -> Vec<String> {
    ["none", "raid5", "ds-raid", "mds-groups"].map(String::from).into()
}

fn default_scheduler() -> Scheduler {
    Scheduler::ReadFirst
}

pub(crate) fn no_preset() -> String {
    "none".into()
}

impl Experiment {
    /// The effective experiment as TOML: complete, and read back it is this experiment again.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let body = toml::to_string(self).expect("an experiment is tables, texts, numbers and booleans");
        format!("# The effective experiment of a Flashkeep run; `flashkeep run` on this file repeats it.\n\n{body}")
    }
}

impl Default for CapacitySpec {
    fn default() -> Self {
        Self { size: Size::Auto, over_provisioning: OverProvisioning::OfRaw(0.28), fairness: Fairness::EqualRaw }
    }
}

impl DriveSpec {
    /// Data bytes that one program command stores in cells.
    #[must_use]
    pub fn program_bytes(&self) -> Bytes {
        let pages = self.timing.unit.as_ref().map_or(1, |unit| u64::from(unit.pages()));
        Bytes(self.geometry.program_size().0 * pages)
    }

    /// One line that says what a drive is that is no preset any more: what is asked of it, not what the preset says of itself.
    pub(crate) fn summary_of_changed(&self) -> String {
        let Geometry { channels, pages_per_block, .. } = self.geometry;
        let (dies, program, page) = (self.geometry.dies(), self.program_bytes(), self.geometry.program_size());
        let plural = |count: u32, noun: &str| if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") };
        format!(
            "{} on {}, {program} a program, blocks of {pages_per_block} pages of {page}",
            plural(dies, "die"),
            plural(channels, "channel")
        )
    }

    /// The drive model itself.
    #[must_use]
    pub fn drive(&self) -> Drive {
        Drive {
            geometry: self.geometry,
            timing: self.timing.clone(),
            energy: self.energy,
            endurance: self.endurance,
            controller: self.controller,
            slc: self.slc,
        }
    }
}

/// Further inputs of reads of an experiment's text: settings typed on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `TRACE` or its like: a bundled trace, a path, or a generator.
    pub trace: Option<String>,
    /// Named options as `(option as typed, path in the document, value)`.
    pub options: Vec<(String, String, String)>,
    /// `--schemes a,b,c`.
    pub schemes: Option<String>,
    /// `--set path=value`, in the order typed; they win over everything else.
    pub set: Vec<String>,
}

/// The seed of a repetition; `None` beyond 64 bits.
pub fn seed_of(base: u64, repetition: usize) -> Option<u64> {
    base.checked_add(repetition as u64)
}

/// Policies that are in no registry: the program that runs an experiment brings them, and the experiment names them as it
/// likes. A file of such an experiment cannot be run by another program.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// In place of `gc.policy`.
    pub gc: Option<ssd::ftl::victim::OwnPolicy>,
    /// In place of `ecc.policy`.
    pub ecc: Option<ssd::ecc::OwnPolicy>,
}
