//! Time that the commands occupy a drive if nothing ever waits.

use vocab::Nanos;

/// Time that the commands occupy a drive if nothing ever waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Sum of the time dies are busy.
    pub dies: Nanos,
    /// Sum of the time channels carry commands or data.
    pub channels: Nanos,
    /// Sum of the time decoders work; each channel has one.
    pub decoders: Nanos,
    /// Number of dies that work at the end.
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
