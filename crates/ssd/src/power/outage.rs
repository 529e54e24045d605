//! Further losses by a power cut: PLP memory, and the right time.
//!
//! The fault model:
//!
//! * **Lost memory.** The capacitor or the battery fails, and some of what is PLP is gone when the
//!   power comes back ([`MemoryLoss`] says which). The drive notices, because what is gone has no
//!   valid checksum. The table of block groups, the list of lost pages and the journal of ranks are not part
//!   of that: they stand in reserved blocks, as bad-block marks do.
//! * **A clock that jumps.** The controller's clock comes back earlier or later than it was. All stamps
//!   in flash are against the old clock until the next mount. The medium ages as it did.
//!
//! The rules: nothing wrong is read, no invariant breaks, and what flash had at rest stays. Of the pages that a lost
//! buffer held each may have any version sent, or none. Codewords whose sums are gone are data without redundancy until
//! they have been written again, or their parity has. Blocks whose reads no one counts any more are taken for read as
//! often as they may be.

use vocab::SimTime;

/// PLP memory that does not outlive a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryLoss {
    /// The pages of a PLP write buffer.
    pub buffer: bool,
    /// Partial parities and sums of codewords.
    pub sums: bool,
    /// Counts of reads, and what is known of erases.
    pub reads: bool,
    /// Summaries of whole blocks.
    pub checkpoint: bool,
}

impl MemoryLoss {
    /// Nothing survives.
    pub const ALL: Self = Self { buffer: true, sums: true, reads: true, checkpoint: true };

    /// Whether anything is gone.
    #[must_use]
    pub fn any(self) -> bool {
        self != Self::default()
    }
}

/// How the power comes back after a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outage {
    /// Further losses.
    pub memory: MemoryLoss,
    /// How far the clock jumps, in nanoseconds; below 0 it comes back earlier than it was.
    pub clock_jump: i64,
}

impl Outage {
    /// A stamp as the clock sees it now. Before its beginning there is no time.
    pub(crate) fn seen(&self, stamp: SimTime) -> SimTime {
        let seen = i128::from(stamp.0) - i128::from(self.clock_jump);
        SimTime(seen.clamp(0, i128::from(u64::MAX)) as u64)
    }
}
