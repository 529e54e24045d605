//! Settings of a device.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use vocab::Nanos;

/// In which order a die takes up its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// In order of arrival.
    Fifo,
    /// Reads before programs and erases, as far as hazards allow.
    ReadFirst,
}

/// The ECC of pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ecc {
    /// Policy by registry name: how strong each page's code is.
    pub policy: String,
    /// Options of the policy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Codeword by registry name.
    pub codeword: String,
    /// How long the codec takes.
    pub codec: CodecTiming,
    /// Power of a codec at work.
    pub codec_microwatt: u32,
    /// How often what the policy keeps of pages in RAM is flushed to reserved pages; 0: never, and a power cut takes it.
    pub flush: Nanos,
}

/// How long a codec takes for a codeword. There is an encoder for each die and a decoder for
/// each channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl Default for Ecc {
    fn default() -> Self {
        Self {
            policy: "none".into(),
            options: BTreeMap::new(),
            codeword: "4KiB".into(),
            codec: CodecTiming::Flares,
            codec_microwatt: 3_500,
            flush: Nanos(0),
        }
    }
}

/// Bit errors of the cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Errors {
    /// Model of the raw bit error rate by registry name.
    pub model: String,
    /// Temperature at which data are kept.
    pub celsius: f64,
    /// Temperature that the model's retention times are meant at.
    pub reference_celsius: f64,
    /// Activation energy of charge loss in electron volts.
    pub activation_ev: f64,
    /// Standard deviation of the logarithm of the factor by which a page's rate differs.
    pub page_sigma: f64,
    /// The same for blocks.
    pub block_sigma: f64,
    /// Raw bit error rate that each recharge of a block in place adds.
    pub recharge_rber: f64,
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
        }
    }
}
