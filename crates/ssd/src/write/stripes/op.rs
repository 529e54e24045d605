//! An update of one stripe, and how far it is.

use crate::core::target::Target;
use device::slab::JobId;
use ftl::Place;
use vocab::{Slot, StripSet, StripeId};

/// Purpose of an update of a stripe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Work {
    /// New contents of the host, or of the write buffer.
    #[default]
    Write,
    /// Full parity from a partial one.
    Commit,
    /// Parity where there is none. A collector may wait for it to move a page.
    Build { waiter: Option<Target> },
}

/// Fate of the parity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It goes to flash.
    #[default]
    Program,
    /// It goes to the parity cache, with the strips it covers.
    Hold(StripSet),
    /// There is none any more.
    Forget,
}

/// How far an update is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Progress {
    /// Old contents are being read. The map still shows the old stripe, whole.
    #[default]
    Reading,
    /// New contents are being programmed. Old ones are pinned until all are durable.
    Programming,
}

/// Which contents of strips an update reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Contents {
    /// Those that the host would read.
    #[default]
    Current,
    /// Those that the stored parity sums, where a partial parity has newer ones.
    Old,
}

/// A strip that a read of an update missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missed {
    pub strip: u32,
    /// Where it lay.
    pub slot: Slot,
    /// Which contents it was to read.
    pub contents: Contents,
}

/// Old contents that an update reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OldReads {
    /// Strips to add up.
    pub add: StripSet,
    /// Which contents of these.
    pub contents: Contents,
    /// Strips whose old contents complete a partly written page.
    pub merge: StripSet,
}

/// Effect of an update on the parity of its stripe.
#[derive(Clone, Debug, Default)]
pub(super) struct ParityPlan {
    pub outcome: Outcome,
    /// Whether room in the parity cache was promised.
    pub promised: bool,
    /// Written strips that the plan expects on worn blocks.
    pub worn_after: StripSet,
    /// Old versions of strips that join the partial parity.
    pub joined: Vec<(u32, Place)>,
    /// Whether a partial parity gives way to this update.
    pub replaces_partial: bool,
}

/// Pages that an update could not read or write.
#[derive(Clone, Debug, Default)]
pub(super) struct Lost {
    /// Written strips that no flash took.
    pub untaken: StripSet,
    /// Strips whose current versions could not be read when it was planned, or since.
    pub unreadable: StripSet,
    /// Strips whose old versions, which a partial parity needs, could not.
    pub unreadable_old: StripSet,
    /// Pages that its reads missed.
    pub missed: Vec<Missed>,
    /// How often a commit has read again what it missed.
    pub attempts: u8,
    /// Whether old contents that were to complete a page are lost: there is nothing to write.
    pub lacks_contents: bool,
}

impl Lost {
    /// Strips of which these contents could not be read.
    pub fn unreadable_of(&mut self, contents: Contents) -> &mut StripSet {
        match contents {
            Contents::Current => &mut self.unreadable,
            Contents::Old => &mut self.unreadable_old,
        }
    }
}

/// An update of one stripe.
#[derive(Clone, Debug)]
pub(crate) struct StripeOp<P> {
    pub(super) stripe: StripeId,
    pub work: Work,
    /// The job that brings new contents, if any.
    pub(super) job: Option<JobId>,
    /// First page of the job in this stripe; `strips` has one entry for it and each that follows.
    pub(super) first_page: usize,
    /// The strip of each page.
    pub(super) strips: Vec<u32>,
    pub(super) written: StripSet,
    pub(super) reads: OldReads,
    pub(super) parity: ParityPlan,
    pub(super) lost: Lost,
    pub(super) sum: P,
    pub(super) progress: Progress,
    /// Rank of the contents that it writes.
    pub(super) rank: u64,
    /// Reads or programs under way.
    pub(super) under_way: u32,
    /// Units that it keeps from being erased until it is durable, once for each reason.
    pub(super) pins: Vec<u32>,
    /// Whether the drive recovers and the stripe lacked something: until this is durable it does.
    pub heals: bool,
}

impl<P: Default> Default for StripeOp<P> {
    fn default() -> Self {
        Self {
            stripe: StripeId(0),
            work: Work::Write,
            job: None,
            first_page: 0,
            strips: Vec::new(),
            written: StripSet::EMPTY,
            reads: OldReads::default(),
            parity: ParityPlan::default(),
            lost: Lost::default(),
            sum: P::default(),
            progress: Progress::Reading,
            rank: 0,
            under_way: 0,
            pins: Vec::new(),
            heals: false,
        }
    }
}

impl<P: Default> StripeOp<P> {
    /// Makes a recycled update new, keeping its buffers.
    pub(super) fn reset(&mut self, stripe: StripeId, work: Work) {
        let (mut strips, mut pins) = (std::mem::take(&mut self.strips), std::mem::take(&mut self.pins));
        strips.clear();
        pins.clear();
        *self = Self { stripe, work, strips, pins, ..Self::default() };
    }

    /// The job of an update that writes new contents.
    pub(super) fn job(&self) -> JobId {
        self.job.expect("a job brings new contents")
    }

    /// Whether it writes new contents, rather than parity alone.
    pub(super) fn is_write(&self) -> bool {
        self.work == Work::Write
    }
}
