//! Settings of a device.

use ecc::OwnPolicy;
use nand::rber::Stages;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use vocab::Nanos;

/// Temperatures that drives are built for, in degrees Celsius: the least.
pub const CELSIUS_MIN: f64 = -40.0;
/// The greatest.
pub const CELSIUS_MAX: f64 = 125.0;

/// Longest time of a stage of retention: a century and more.
const HOURS_MAX: f64 = 1e6;

/// In which order a die takes up its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// In order of arrival.
    Fifo,
    /// Reads before programs and erases, as far as hazards allow.
    ReadFirst,
}

/// Page ECC. A device has the options of its policy, settings have those of several policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[serde(bound(serialize = "O: Serialize + Default + PartialEq", deserialize = "O: Deserialize<'de> + Default"))]
#[schemars(rename = "Ecc", bound = "O: JsonSchema + Serialize + Default + PartialEq")]
pub struct Ecc<O = BTreeMap<String, String>> {
    /// Policy by registry name.
    pub policy: String,
    /// Codeword by registry name.
    pub codeword: String,
    /// Duration of encoding and decoding.
    pub codec: CodecTiming,
    /// Power of a codec at work, in microwatts.
    pub codec_microwatt: u32,
    /// Interval at which the page profiles of a policy are flushed from RAM to reserved pages; 0: never.
    #[schemars(extend("x-valid" = "0 (never, the default), 100us to 18250d"))]
    pub flush: Nanos,
    /// Read-retry policy: the steps after a read that cannot be decoded, before the page is given up.
    #[serde(skip_serializing_if = "is_default")]
    pub read_retry: ReadRetry,
    /// Largest number of retry-table entries that are tried.
    #[serde(skip_serializing_if = "is_all_entries")]
    #[schemars(range(max = ENTRIES_MAX))]
    pub retries: u32,
    /// Bits of the finest sensing of a read retry: 1 (hard decision alone), 2 or 3. Only LDPC codes use more than one.
    #[serde(skip_serializing_if = "is_three")]
    #[schemars(range(min = 1, max = 3))]
    pub soft_bits: u32,
    /// Under `predicted`: standard deviation of the error of the predicted references, in units of the error model.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(range(min = 0.0, max = 3.0))]
    pub prediction_sigma: f64,
    /// Options of policies, by policy name.
    #[serde(skip_serializing_if = "is_default")]
    pub options: O,
    /// The policy itself where it is in no registry; `policy` is its name in results.
    #[serde(skip)]
    pub own: Option<OwnPolicy>,
}

/// Reads after one that cannot be decoded. Each policy chooses the references of the first read; the further reads are the same:
/// the entries of the retry table in order, then soft reads with the best references so far, of two bits, of three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadRetry {
    /// Nothing: a page is read once, with the default references.
    #[default]
    None,
    /// The default references first, every time.
    Table,
    /// Those first with which a page of the block was read last. In RAM: an erase, or a power cut, and the block starts again.
    Tracked,
    /// Those first that wear and age of the page let expect, as an entry of the table.
    Predicted,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Retry entries of the largest table that any error model has, and more.
pub const ENTRIES_MAX: u32 = 64;

fn is_all_entries(entries: &u32) -> bool {
    *entries == ENTRIES_MAX
}

fn is_three(bits: &u32) -> bool {
    *bits == 3
}

/// How long a codec takes for a codeword. There is an encoder for each die and a decoder for
/// each channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CodecTiming {
    /// No time: as if it kept up with the bus.
    Instant,
    /// The adaptable hardware of the FLARES paper (section 4.1): a byte in 20 ns, and a search
    /// for errors that grows with t and with the errors found.
    Flares,
    /// The same, as if every codeword had t errors: the paper's worst case, always.
    FlaresWorst,
}

impl<O: Default> Default for Ecc<O> {
    fn default() -> Self {
        Self {
            policy: "none".into(),
            codeword: "4KiB".into(),
            codec: CodecTiming::Flares,
            codec_microwatt: 3_500,
            flush: Nanos(0),
            read_retry: ReadRetry::None,
            retries: ENTRIES_MAX,
            soft_bits: 3,
            prediction_sigma: 0.0,
            options: O::default(),
            own: None,
        }
    }
}

impl<O> Ecc<O> {
    /// The same with these options, for this policy.
    #[must_use]
    pub fn for_policy<N>(self, policy: String, options: N) -> Ecc<N> {
        let Self { codeword, codec, codec_microwatt, flush, read_retry, retries, soft_bits, prediction_sigma, own, .. } = self;
        Ecc { policy, codeword, codec, codec_microwatt, flush, read_retry, retries, soft_bits, prediction_sigma, options, own }
    }
}

/// Bit errors of the cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Errors {
    /// Model of the raw bit error rate by registry name.
    pub model: String,
    /// Temperature at which data are kept.
    #[schemars(range(min = CELSIUS_MIN, max = CELSIUS_MAX))]
    pub celsius: f64,
    /// Temperature of the model's retention times.
    #[schemars(range(min = CELSIUS_MIN, max = CELSIUS_MAX))]
    pub reference_celsius: f64,
    /// Activation energy of charge loss in electron volts.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub activation_ev: f64,
    /// Standard deviation of the logarithm of the factor by which a page's rate differs.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub page_sigma: f64,
    /// The same for blocks.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub block_sigma: f64,
    /// Raw bit error rate that each recharge of a block in place adds.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub recharge_rber: f64,
    /// Errors of a page are drawn once for each program and grow with its raw bit error rate: a page that cannot be read stays so at this
    /// rate and above, until it is written again. Otherwise they are drawn again at each read.
    #[serde(skip_serializing_if = "is_default")]
    pub persistent: bool,
    /// Share of retention that heat does not speed up, beside the activated rest: 0 is Arrhenius alone. JESD218 names such a
    /// second mechanism, and drives were seen to age far less in heat than Arrhenius says (13 times where it says 702).
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub unaccelerated: f64,
    /// Temperature at which pages are read. Unset: that at which they were programmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = CELSIUS_MIN, max = CELSIUS_MAX))]
    pub read_celsius: Option<f64>,
    /// Temperature at which pages were programmed. Unset: `celsius`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = CELSIUS_MIN, max = CELSIUS_MAX))]
    pub program_celsius: Option<f64>,
    /// Shift of the best read reference voltages per 10 K between program and read, in units of the error model: `nand::rber::CROSS_SHIFT`.
    #[serde(skip_serializing_if = "is_cross_shift")]
    #[schemars(range(min = 0.0, max = 2.0))]
    pub cross_shift: f64,
    /// Models with stages of retention (`tlc-128l`): hours at which stage 1 is reached; the set does not say.
    #[serde(skip_serializing_if = "is_stage_1")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = HOURS_MAX, "x-valid" = "below `errors.stage_6_hours`"))]
    pub stage_1_hours: f64,
    /// The same for stage 6, the last that was measured.
    #[serde(skip_serializing_if = "is_stage_6")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = HOURS_MAX))]
    pub stage_6_hours: f64,
}

fn is_cross_shift(shift: &f64) -> bool {
    *shift == nand::rber::CROSS_SHIFT
}

fn is_stage_1(hours: &f64) -> bool {
    *hours == Stages::DEFAULT.first_hours
}

fn is_stage_6(hours: &f64) -> bool {
    *hours == Stages::DEFAULT.last_hours
}

impl Default for Errors {
    fn default() -> Self {
        Self {
            model: "none".into(),
            celsius: 25.0,
            reference_celsius: 25.0,
            activation_ev: nand::rber::JESD218_EV,
            page_sigma: 0.0,
            block_sigma: 0.0,
            recharge_rber: 0.0,
            persistent: false,
            unaccelerated: 0.0,
            read_celsius: None,
            program_celsius: None,
            cross_shift: nand::rber::CROSS_SHIFT,
            stage_1_hours: Stages::DEFAULT.first_hours,
            stage_6_hours: Stages::DEFAULT.last_hours,
        }
    }
}

/// Settings of page ECC that no drive can be built with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EccError(String);

impl EccError {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }
}
