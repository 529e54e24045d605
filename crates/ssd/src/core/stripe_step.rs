//! How the writing of static stripes goes on: `write::stripes` pushes a step behind the effects that it must wait
//! for, and the engine hands it back in its turn.

use crate::core::ids::OpId;
use vocab::StripeId;

/// Handling of an update for which a die lacks space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It joins the updates that wait for space.
    First,
    /// It waited for space already and stays the first one that waits.
    Again,
}

/// A continuation of `write::stripes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StripeStep {
    /// The update starts, once no other update of its stripe is under way.
    Start { op: OpId },
    /// Looks for space for the update's strips from strip `from` on. `lacks`: a strip before that found none.
    FindSpace { op: OpId, from: u32, lacks: bool, attempt: Attempt },
    /// One program of the update has ended.
    Programmed { op: OpId },
    /// An update of a stripe has ended: the lock passes to whoever waits for it.
    HandLockOn { stripe: StripeId },
    /// The lock was handed on to another update: what waited for room in the parity cache goes on.
    Ended { stripe: StripeId },
    /// Updates that wait for room in the parity cache go on.
    ServeWaiting,
    /// A stripe with a partial parity gets full parity.
    Commit { stripe: StripeId },
    /// The same, if GC collects a unit with old versions of the partial parity, or the drive recovers and an old version is lost.
    CommitIfDue { stripe: StripeId },
    /// Updates that wait for space are tried again.
    RetryStalled,
    /// Stripes get the parity that they lack, while the drive is idle.
    BuildInIdleTime,
    /// Stripes from `first` on whose pages are all discarded are freed.
    FreeDiscarded { first: StripeId, end: StripeId },
    /// If the update is a commit, the first update that waits for room in the parity cache fails: the commit was to
    /// make that room.
    FailWaitingForCommit { op: OpId },
    /// There is no space for the update and there never will be.
    Fail { op: OpId },
}
