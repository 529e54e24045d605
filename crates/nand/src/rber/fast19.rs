//! Paper: Kim, Choi and Min, Design Tradeoffs for SSD Reliability, FAST 2019.
//! Idea: `RBER = e + a PE^k + b PE^m days^n + g PE^p reads^q`: wear, retention and reads each add
//! a power law, fitted for each chip.
//! Differs: the paper's table was not at hand. Constants come from public simulators that name
//! it (2y-nm MLC, 72-layer TLC) or from memory (3x-nm MLC). Stress beyond [`Fast19::limit`] counts
//! as the limit, because a power law explodes outside of its data: 2y-nm MLC would reach 8.6 % at
//! 3 000 cycles and a year. The limits are ours: the paper's fitted range was not at hand either.
//! The trap about reads: simulators disagree whether `reads` are those of a block or of a page.
//! With q = 1.71, 10 000 reads of each page already give 37 %, so they are taken as the mean
//! over the pages of the block.

use super::Stress;

/// Constants of one chip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fast19 {
    /// Rate of a new chip.
    pub epsilon: f64,
    /// Wear: factor and power of cycles.
    pub wear: (f64, f64),
    /// Retention: factor, power of cycles, power of days.
    pub retention: (f64, f64, f64),
    /// Reads: factor, power of cycles, power of reads per page.
    pub reads: (f64, f64, f64),
    /// Stress from which on more adds nothing.
    pub limit: Stress,
}

/// Hours of a year of 365 days.
const YEAR: f64 = 8760.0;

impl Fast19 {
    /// 3x-nm MLC. Constants from memory, unverified.
    pub const MLC_3X: Self = Self {
        epsilon: 5.06e-8,
        wear: (1.05e-14, 2.16),
        retention: (9.31e-14, 1.80, 0.80),
        reads: (4.17e-15, 1.07, 1.45),
        limit: Stress { pe: 10_000.0, retention_hours: YEAR, reads: 10_000.0 },
    };

    /// 2y-nm MLC.
    pub const MLC_2Y: Self = Self {
        epsilon: 8.34e-5,
        wear: (3.30e-11, 1.71),
        retention: (5.56e-19, 2.49, 3.33),
        reads: (6.26e-13, 1.76, 0.47),
        // From a quarter to a year the power 3.33 of days would multiply retention errors by 100.
        limit: Stress { pe: 3_000.0, retention_hours: YEAR / 4.0, reads: 10_000.0 },
    };

    /// 72-layer TLC.
    pub const TLC_72L: Self = Self {
        epsilon: 1.48e-3,
        wear: (3.90e-10, 2.05),
        retention: (6.28e-5, 0.14, 0.54),
        reads: (3.73e-9, 0.33, 1.71),
        limit: Stress { pe: 5_000.0, retention_hours: YEAR, reads: 1_000.0 },
    };

    /// The power laws, wherever they lead; may exceed 1.
    #[must_use]
    pub fn power_laws(&self, stress: &Stress) -> f64 {
        let (pe, days, reads) = (stress.pe, stress.retention_hours / 24.0, stress.reads);
        let (a, k) = self.wear;
        let (b, m, n) = self.retention;
        let (g, p, q) = self.reads;
        self.epsilon + a * pe.powf(k) + b * pe.powf(m) * days.powf(n) + g * pe.powf(p) * reads.powf(q)
    }

    /// Whether the stress is inside of [`Fast19::limit`].
    #[must_use]
    pub fn is_within(&self, stress: &Stress) -> bool {
        self.limited(stress) == *stress
    }

    fn limited(&self, stress: &Stress) -> Stress {
        Stress {
            pe: stress.pe.min(self.limit.pe),
            retention_hours: stress.retention_hours.min(self.limit.retention_hours),
            reads: stress.reads.min(self.limit.reads),
        }
    }

    pub(super) fn rber(&self, stress: &Stress) -> f64 {
        self.power_laws(&self.limited(stress))
    }
}
