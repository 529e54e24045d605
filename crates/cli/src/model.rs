//! Assumptions about drives that lives and advice share, as options.

use clap::Args;
use lab::life::{CELSIUS, LifeSettings, Rates, SIGMA};

/// Failure rates, variation of bit errors, and temperature.
#[derive(Clone, Copy, Debug, Args)]
pub struct ModelOptions {
    /// Dies lost, by drive and year
    #[arg(long, value_name = "RATE", default_value_t = LifeSettings::default().rates.dies)]
    die_rate: f64,
    /// Single blocks lost, by drive and year
    #[arg(long, value_name = "RATE", default_value_t = LifeSettings::default().rates.blocks)]
    block_rate: f64,
    /// Hours in which a lost die is rebuilt
    #[arg(long, value_name = "N", default_value_t = LifeSettings::default().rates.rebuild_hours)]
    rebuild_hours: f64,
    /// Variation of the RBER of pages: standard deviation of its logarithm
    #[arg(long, value_name = "SIGMA", default_value_t = SIGMA.0)]
    page_sigma: f64,
    /// The same of blocks
    #[arg(long, value_name = "SIGMA", default_value_t = SIGMA.1)]
    block_sigma: f64,
    /// Temperature of the drive, in degrees Celsius
    #[arg(long, value_name = "C", default_value_t = CELSIUS)]
    celsius: f64,
}

impl ModelOptions {
    /// Settings of a life with this model, at this reference temperature of the error model in degrees Celsius, and with the defaults of
    /// all others.
    pub fn settings(self, reference_celsius: f64) -> LifeSettings {
        LifeSettings {
            rates: Rates { dies: self.die_rate, blocks: self.block_rate, rebuild_hours: self.rebuild_hours },
            sigma: (self.page_sigma, self.block_sigma),
            celsius: (self.celsius, reference_celsius),
            ..LifeSettings::default()
        }
    }
}
