//! Limits of a block's cells: the reads and the age at which codewords still come back with a given yield, by its P/E
//! cycles (DA-RAID-5, Eq. 3 and Fig. 2, section III-B).
//!
//! The error model is the drive's own, at its temperature, and the code is that of its pages, the strongest where a
//! policy adapts it. A drive without bit errors, or without page ECC, has those of the paper: model `da-raid5`, and
//! 8-bit BCH over 512 bytes.
//!
//! As in the paper either limit leaves no room for the other: a block at both has about twice the errors that its code
//! bears (theory.md, section 5, gap 3). Refresh policy `joint` adds them up.

use coding::odds::BchSize;
use device::ecc::PageEcc;
use ecc::longest_hours;
use nand::rber::{Flares, RberModel, Stress};
use nand::span_of;
use vocab::{Nanos, PeCycles};

/// The paper's code: 8-bit BCH (4200, 4096, 104).
const PAPERS_CODE: (BchSize, u32) = (BchSize::BYTES_512, 8);

/// Where no more reads, and no higher age, is borne than these, moving the data in time is hopeless: the limits of such a
/// block stop here.
const FEWEST_READS: u32 = 16;
const SHORTEST: Nanos = Nanos(3_600_000_000_000);

/// Errors of a drive's cells, and the rate of them that its code bears.
#[derive(Clone, Debug)]
pub(crate) struct Tolerance {
    model: RberModel,
    pages_per_block: u32,
    /// Hours at the model's temperature that an hour at the drive's amounts to.
    acceleration: f64,
    /// The highest raw bit error rate.
    rber: f64,
}

impl Tolerance {
    /// Of a drive with this page ECC, for a yield of codewords.
    pub fn new(page_ecc: Option<&PageEcc>, pages_per_block: u32, target_yield: f64) -> Self {
        let paper = RberModel::Flares(Flares::DA_RAID5);
        let cells = page_ecc.map(|ecc| &ecc.cells).filter(|cells| !cells.is_ideal());
        let strongest = page_ecc.map(|ecc| (ecc.layout.codeword, ecc.policy.strongest())).filter(|(_, t)| t.0 > 0);
        let (code, t) = PAPERS_CODE;
        let papers = || code.max_rber_for_yield(t, target_yield, 1);
        Self {
            model: cells.map_or(paper, |cells| *cells.model()),
            pages_per_block,
            acceleration: cells.map_or(1.0, |cells| cells.reference_hours(1.0)),
            rber: strongest.map_or_else(papers, |(codeword, t)| codeword.max_rber_for_yield(t, target_yield)),
        }
    }

    fn bears(&self, pe: PeCycles, hours: f64, reads: u32) -> bool {
        let reads = self.model.read_count().of_block(reads.into(), self.pages_per_block);
        self.model.rber(&Stress { pe: pe.0.into(), retention_hours: hours * self.acceleration, reads }) <= self.rber
    }

    /// T_read: the most reads of a block whose data are new.
    pub fn reads(&self, pe: PeCycles) -> u32 {
        let (mut borne, mut too_many) = (FEWEST_READS, u32::MAX);
        if self.bears(pe, 0.0, too_many) {
            return too_many;
        }
        while too_many - borne > 1 {
            let middle = borne + (too_many - borne) / 2;
            if self.bears(pe, 0.0, middle) { borne = middle } else { too_many = middle }
        }
        borne
    }

    /// T_retention: the highest age of data that were never read.
    pub fn retention(&self, pe: PeCycles) -> Nanos {
        span_of(longest_hours(1e-6, |hours| self.bears(pe, hours, 0)).min(1e6)).max(SHORTEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of section IV-A, and those of `flashkeep reliability thresholds` beside them, which come from formulas
    /// in another crate (experiments/da-raid5/fig2.csv). Catches hours taken for nanoseconds, and another yield.
    #[test]
    fn without_errors_of_its_own_a_drive_has_the_limits_of_the_paper() {
        let paper = Tolerance::new(None, 128, 0.999);
        let days = |pe| paper.retention(PeCycles(pe)).0 as f64 / 86.4e12;
        for (pe, reads, hours) in [(15_000, 46_000, 9144.0), (5000, 231_161, 99_149.5), (20_000, 30_126, 4894.8)] {
            assert_eq!(paper.reads(PeCycles(pe)).abs_diff(reads), 0, "{pe} cycles");
            assert!((days(pe) * 24.0 / hours - 1.0).abs() < 1e-4, "{pe} cycles: {} days", days(pe));
        }
    }

    /// A yield of 99.9 % of 512 bytes amounts to an UBER of 2.4e-7 (theory.md). Catches a yield that is not asked.
    #[test]
    fn a_higher_yield_makes_limits_shorter() {
        let [usual, higher] = [0.999, 0.999_999].map(|target| Tolerance::new(None, 128, target));
        assert!(higher.reads(PeCycles(15_000)) < usual.reads(PeCycles(15_000)) * 3 / 5);
        assert!(higher.retention(PeCycles(15_000)) < usual.retention(PeCycles(15_000)));
    }
}
