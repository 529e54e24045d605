//! Paper: Indaco et al., FLARES: An Aging Aware Algorithm to Autonomously Adapt the Error
//! Correction Capability in NAND Flash Memories, ACM TACO, Eq. 2 to 5 and Table III.
//! Idea: `RBER(t, PE) = [A exp(B PE) + C] + Bo (PE^n t)^m`: errors of wear grow exponentially,
//! errors of retention as a power law of wear and time.
//! Differs: units are fixed to cycles and hours, which the paper leaves open: only these give its
//! correction capabilities 3 to 50. Read disturb is an addition of ours, zero in [`Flares::PAPER`].
//! The constants are a fit: `C` is below zero and `m` outside of the paper's own "1 to 2".

use super::Stress;

/// Constants of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flares {
    /// A, errors of wear.
    pub a: f64,
    /// B, per cycle.
    pub b: f64,
    /// C.
    pub c: f64,
    /// Bo, errors of retention.
    pub bo: f64,
    /// m, the power of the retention term.
    pub m: f64,
    /// n, the power of cycles in the retention term.
    pub n: f64,
    /// Errors of reads.
    pub reads: ReadDisturb,
}

/// Errors of reads: `coefficient PE^power` for each read of the block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadDisturb {
    /// RBER per read at one cycle.
    pub coefficient: f64,
    /// Power of cycles.
    pub power: f64,
}

impl ReadDisturb {
    /// Reads add no errors.
    pub const NONE: Self = Self { coefficient: 0.0, power: 0.0 };

    /// Cai et al., Read Disturb Errors in MLC NAND Flash Memory, DSN 2015: linear in reads, with
    /// a slope that grows with wear. The power law is fitted to the slopes they print for 2 000
    /// to 15 000 cycles (1.00e-9 to 1.90e-8 per read), quoted from memory.
    pub const DSN15: Self = Self { coefficient: 1.335e-14, power: 1.468 };

    fn rber(self, pe: f64, reads: f64) -> f64 {
        if reads == 0.0 || self.coefficient == 0.0 { 0.0 } else { self.coefficient * pe.powf(self.power) * reads }
    }
}

impl Flares {
    /// Table III of the paper.
    pub const PAPER: Self =
        Self { a: 1.059e-5, b: 8.634e-6, c: -1.009e-5, bo: 1.691e-11, m: 0.6027, n: 2.167, reads: ReadDisturb::NONE };

    /// Bo and the slope of reads scaled (by .496 and .702) to the limits that DA-RAID-5 states
    /// for 15 000 cycles: RBER reaches 5.842966e-4, where its Eq. 3 gives a yield of 99.9 %,
    /// after 381 days unread, or after 46 000 reads at once.
    pub const DA_RAID5: Self = Self {
        bo: 8.386_993_938e-12,
        reads: ReadDisturb { coefficient: 9.373_700_532e-15, power: ReadDisturb::DSN15.power },
        ..Self::PAPER
    };

    /// RBER_wr (Eq. 4): errors right after programming.
    #[must_use]
    pub fn written(&self, pe: f64) -> f64 {
        self.a * (self.b * pe).exp() + self.c
    }

    /// RBER_rd (the second half of Eq. 5): errors that `hours` of retention add.
    #[must_use]
    pub fn retained(&self, pe: f64, hours: f64) -> f64 {
        // Power by power: the product of large stresses may exceed what a number can hold.
        if pe == 0.0 || hours == 0.0 { 0.0 } else { self.bo * pe.powf(self.n * self.m) * hours.powf(self.m) }
    }

    pub(super) fn rber(&self, stress: &Stress) -> f64 {
        self.written(stress.pe) + self.retained(stress.pe, stress.retention_hours) + self.reads.rber(stress.pe, stress.reads)
    }
}
