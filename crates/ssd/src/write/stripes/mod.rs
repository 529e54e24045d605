//! Writing static stripes: the scheme says what to add up, this part reads it, adds, and programs data and
//! parity as one update, or leaves the parity in the parity cache. Commits of partial parity and the building
//! of missing parity are updates that write no data. Updates of one stripe are serial.
//!
//! | file | what it has |
//! |---|---|
//! | `update` | an update from its start to its end: locks, order, failure |
//! | `plan` | what an update reads, as the scheme decides |
//! | `program` | space for an update, and the programs of its strips |
//! | `partial` | the parity cache: partial parities in PLP memory |
//! | `commit` | how partial parities become full parity, and missing parity is built |
//! | `map` | places, homes and states of strips; wear; discards |
//! | `names` | what the pages of a stripe say of each other, for a mount |
//! | `audit` | for tests: every parity is computed again, every strip lies where it is to lie |
//! | `repair` | what brings a lost strip back |
//! | `mount` | which state of a stripe is the newest consistent one after a cut |
//!
//! A handler changes stripes and the core, and pushes effects for whatever else is to happen. Where it has to
//! go on behind such an effect it pushes a [`StripeStep`]; the engine gives that back to [`Stripes::go_on`].

mod answers;
pub(crate) mod audit;
pub(crate) mod commit;
pub(crate) mod locks;
pub(crate) mod map;
pub(crate) mod mount;
pub(crate) mod names;
pub(crate) mod op;
pub(crate) mod partial;
pub(crate) mod plan;
pub(crate) mod program;
pub(crate) mod repair;
#[cfg(unix)]
pub(crate) mod saved;
pub(crate) mod seam;
#[cfg(test)]
mod tests;
pub(crate) mod update;

use crate::config::Power;
use crate::core::Core;
use crate::core::effects::Effect;
use crate::core::flash::FlashPayload;
use crate::core::ids::{OfOp, OpId};
use crate::core::stripe_step::StripeStep;
use crate::write::stripes::locks::StripeLocks;
use crate::write::stripes::op::StripeOp;
use crate::write::stripes::partial::ParityCache;
use crate::write::ways::{CoverageMoves, WayFacts};
use crate::write::{RebuiltBy, WithoutReserve};
use device::slab::Slab;
use protect::StripeScheme;
use std::collections::{BTreeSet, VecDeque};
use vocab::{Divider, PeCycles, SimTime, StripeId};

/// Static stripes.
pub(crate) const FACTS: WayFacts = WayFacts {
    brings_pages_back: true,
    coverage: CoverageMoves::WhereMountable,
    rebuilt_by: RebuiltBy::Stripes,
    without_reserve: WithoutReserve::Park,
    reads_to_write: true,
    keeps_discarded: true,
    ..WayFacts::PLAIN
};

/// A drive's own copy of its scheme.
struct Scheme(Box<dyn StripeScheme>);

impl Clone for Scheme {
    fn clone(&self) -> Self {
        Self(self.0.boxed_clone())
    }
}

/// Static stripes being written.
#[derive(Clone)]
pub(crate) struct Stripes<P> {
    scheme: Scheme,
    /// Data strips of a stripe: logical pages are divided by this number.
    by_width: Divider,
    pub ops: Slab<StripeOp<P>, OfOp>,
    pub locks: StripeLocks,
    /// Updates that wait for space, in order.
    pub stalled: VecDeque<OpId>,
    /// Partial parities.
    pub held: ParityCache<P>,
    /// P/E cycles above which the scheme takes a block for worn.
    pub worn_above: Option<PeCycles>,
    /// Whether any block is: as long as none is, no one has to look.
    any_worn: bool,
    /// Stages of life that began since the drive has its age, and when.
    pub stages: Vec<(u8, SimTime)>,
    /// Rank of the contents of each logical page, of a drive that is to be mounted.
    pub versions: Vec<u64>,
    /// The same for the parity of each stripe; 0: none.
    pub parity_versions: Vec<u64>,
    /// Stripes of which no page names the newest consistent state: one that is written again does.
    pub unnamed: BTreeSet<StripeId>,
}

impl<P: FlashPayload> Stripes<P> {
    /// Stripes of `scheme` over this many logical pages.
    pub fn new(scheme: Box<dyn StripeScheme>, power: &Power, user_slots: u32) -> Self {
        let width = scheme.data_strips();
        let (pages, stripes) = if power.mountable { (user_slots, user_slots.div_ceil(width)) } else { (0, 0) };
        let mut held = ParityCache::new(scheme.parity_cache(), scheme.write_back());
        if power.mountable {
            held.expect_cuts();
        }
        Self {
            ops: Slab::default(),
            locks: StripeLocks::default(),
            stalled: VecDeque::new(),
            held,
            worn_above: scheme.worn_above(),
            any_worn: false,
            stages: Vec::new(),
            versions: vec![0; pages as usize],
            parity_versions: vec![0; stripes as usize],
            unnamed: BTreeSet::new(),
            by_width: Divider::new(width),
            scheme: Scheme(scheme),
        }
    }

    /// The scheme as it is now.
    #[inline]
    pub fn scheme(&self) -> &dyn StripeScheme {
        &*self.scheme.0
    }

    #[inline]
    pub fn scheme_mut(&mut self) -> &mut dyn StripeScheme {
        &mut *self.scheme.0
    }

    /// Data strips of a stripe; the strip of this number is its parity.
    #[inline]
    pub fn data_strips(&self) -> u32 {
        self.by_width.divisor()
    }

    /// Goes on with what was left for later, behind an effect.
    #[inline(always)]
    pub fn go_on(&mut self, core: &mut Core<P>, step: StripeStep) {
        match step {
            StripeStep::Start { op } => self.start(core, op),
            StripeStep::FindSpace { op, from, lacks, attempt } => self.find_space(core, op, from, lacks, attempt),
            StripeStep::Programmed { op } => self.programmed(core, op),
            StripeStep::HandLockOn { stripe } => self.hand_lock_on(core, stripe),
            StripeStep::Ended { stripe } => self.ended(core, stripe),
            StripeStep::ServeWaiting => self.serve_waiting_for_room(core),
            StripeStep::Commit { stripe } => self.commit(core, stripe),
            StripeStep::CommitIfDue { stripe } => self.commit_if_due(core, stripe),
            StripeStep::RetryStalled => self.retry_stalled(core),
            StripeStep::BuildInIdleTime => self.build_in_idle_time(core),
            StripeStep::FreeDiscarded { first, end } => self.free_discarded(core, first, end),
            StripeStep::FailWaitingForCommit { op } => self.fail_waiting_for_commit(core, op),
            StripeStep::Fail { op } => self.fail(core, op),
        }
    }

    /// Leaves a step to be done behind the effects pushed so far.
    fn later(core: &mut Core<P>, step: StripeStep) {
        core.out.push(Effect::Stripes(step));
    }
}
