//! Effects: what a component wants of another, as plain data.
//!
//! Components never call each other. A handler that wants something of a sibling pushes an effect; when the
//! handler has returned, the engine takes the effects and hands each to the component it is for
//! (`engine::effects`). Effects are taken **depth first**: those that one handler pushed in the order of
//! pushing, and what an effect pushes itself before the next of them.
//!
//! A handler that has to go on after an effect pushes its own continuation behind it.

use crate::core::ids::{CoverId, OfParcel, OpId, ParcelId};
use crate::core::read_step::ReadStep;
use crate::core::stripe_step::StripeStep;
use crate::core::target::{Floor, Target};
use crate::core::zone_step::ZoneStep;
use device::slab::{JobId, Slab};
use ftl::UnitId;
use nand::OobTag;
use vocab::{Lpn, Ppn, Slot, StripeId};

/// Something that one component wants of another: plain numbers of 16 bytes at most, because effects are pushed and
/// taken several times for each flash command. What does not fit is a [`Parcel`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    /// To the host: one part of the job is done.
    PartDone { job: JobId },
    /// To the host: the job that waits first for room in the write buffer fails, because there will be none.
    FailBufferWaiter,
    /// To the host: the pages of a job are in the map, so that later jobs for them may go on.
    LetPagesGo { job: JobId },
    /// To the host: as `LetPagesGo`, from this page of the job on.
    LetPagesGoFrom { job: JobId, page: u32 },
    /// To the host: a job has its pages; those written in part are completed, from this one on, then the job is
    /// passed on.
    CompleteFrom { job: JobId, page: u32 },
    /// To the host and the way of writing: the job's pages get places, behind what already waits for space.
    Place { job: JobId },
    /// To the host: pages leave the write buffer, oldest first, until this many dirty ones are left.
    EvictDownTo { dirty: u32 },
    /// To the host: the page leaves the write buffer if it is still dirty.
    EvictIfDirty { lpn: Lpn },
    /// To the host: pages leave the write buffer while someone waits for room in it.
    MakeRoom,
    /// To the host: whoever waits first for room in the write buffer tries again, then the next.
    RetryBuffer,
    /// To reads: a page gets other contents than those that were read ahead.
    ForgetReadAhead { lpn: Lpn },
    /// To the core: a pin of a unit is taken back, after the effects before this one.
    Release { unit: UnitId },
    /// To care: the log's collector starts if it is idle and the log is short of space.
    CollectIfShort { log: u16 },
    /// To care: the log's collector goes on.
    Collect { log: u16 },
    /// To care: one page of the log's victim reached its new place; the collector goes on.
    Moved { log: u16 },
    /// To care: a strip lost its place on a living die.
    StripLost { tag: OobTag },
    /// To care: a strip was written while it has no die.
    StripHomeless { tag: OobTag },
    /// To the group log: whoever waits for rescued pages that are safe now may go on.
    SettleRescued,
    /// To rows: jobs are answered whose data have a parity after all.
    AnswerCovered,
    /// To rows: the cover's pages and parity have ended, and what waited for the parity alone has gone on.
    FinishCover { cover: CoverId },
    /// To rows: whoever waited for the cover has been told.
    EndCover { cover: CoverId },
    /// To block groups: the program of a data page has ended, and whoever waited for it has gone on.
    GroupDataEnded { row: u32, codeword: u32, ppn: Ppn },
    /// To block groups: sums may have left the parity cache; what waits for room there may go on.
    CacheHasRoom,
    /// Effects that are too large for this enum.
    Parcel(ParcelId),
    /// To stripes: goes on with what it left for later.
    Stripes(StripeStep),
    /// To the host: jobs that wait for space are tried again after this event, if there are any.
    RetryJobs,
}

/// An effect that brings contents, or a list. It waits beside the stack.
#[derive(Clone, Debug)]
pub(crate) enum Parcel<P> {
    /// To the host: a job is answered when these pages of the write buffer are durable. The last one comes first.
    AwaitDurable { job: JobId, pages: Vec<Lpn> },
    /// To the host: what a host read gets of a page is checked (`None`: it reads as unmapped).
    CheckRead { lpn: Lpn, floor: Floor, contents: Option<P> },
    /// To the host: the old contents of a partly written page are known, or lost permanently.
    Merged { job: JobId, page: u32, old: Option<P> },
    /// To care: the solve for a page of a victim has ended; without a payload the page is lost.
    MoveRepaired { log: usize, slot: Slot, payload: Option<P> },
    /// To care: the parity that a move waited for is there, or cannot be.
    ParityBuilt { waiter: Option<Target> },
    /// To care: a lost strip was solved for, or cannot be.
    StripRebuilt { stripe: StripeId, strip: u32, payload: Option<P> },
    /// To reads: a page cannot be read where the map has it; its codeword is to bring it back.
    Solve { target: Target },
    /// To stripes: the old contents of a partly written strip are known, or lost permanently.
    StripeMerged { op: OpId, strip: u32, old: Option<P> },
    /// To stripes: a page of the stripe is solved for when the update under way has ended.
    SolveAfterUpdate { stripe: StripeId, target: Target },
    /// To reads: goes on with a step.
    Reads(ReadStep<P>),
    /// To code zones: goes on with a step.
    Zones(ZoneStep<P>),
}

/// Effects that wait to be handed on. What one handler pushed is a run of neighbours, handed on from its first to its
/// last; what an effect pushes in the meantime is a run behind them, handed on before. Effects stay where they were written,
/// and are read in place: to move what was written just now costs more than to hand it on.
#[derive(Clone, Debug)]
pub(crate) struct Effects<P> {
    /// Runs, one behind the other. Entries from `end` on are left over.
    entries: Vec<Effect>,
    end: usize,
    parcels: Slab<Option<Parcel<P>>, OfParcel>,
    /// Entries from here on were pushed by the handler that ran last: they are no run yet.
    fresh: usize,
    runs: Vec<Run>,
    /// Runs and entries below these numbers belong to an earlier call of `Engine::hand_on`, which has not returned.
    floor: Below,
}

/// How many runs and entries there were when `Engine::hand_on` was called.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Below {
    runs: usize,
    entries: usize,
}

/// Effects that one handler pushed.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: usize,
    /// The one to be handed on next.
    next: usize,
    end: usize,
}

impl<P> Default for Effects<P> {
    fn default() -> Self {
        Self { entries: Vec::new(), end: 0, parcels: Slab::default(), fresh: 0, runs: Vec::new(), floor: Below::default() }
    }
}

impl<P> Effects<P> {
    /// Leaves an effect for the engine.
    #[inline]
    pub fn push(&mut self, effect: Effect) {
        match self.entries.get_mut(self.end) {
            Some(entry) => *entry = effect,
            None => self.entries.push(effect),
        }
        self.end += 1;
    }

    /// As [`Self::push`], for what does not fit into an effect.
    pub fn send(&mut self, parcel: Parcel<P>) {
        let id = self.parcels.take();
        self.parcels[id] = Some(parcel);
        self.push(Effect::Parcel(id));
    }

    /// Takes the parcel of an effect.
    pub fn open(&mut self, parcel: ParcelId) -> Parcel<P> {
        let contents = self.parcels[parcel].take().expect("a parcel is opened once");
        self.parcels.give(parcel);
        contents
    }

    /// Whether nothing waits that was pushed since the floor.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.end == self.floor.entries
    }

    /// Takes the next effect above the floor, depth first. From now on only what is pushed again is handed on, until [`Self::lower`]
    /// goes back to the floor that comes with it.
    #[inline]
    pub fn begin_next(&mut self) -> Option<(Effect, Below)> {
        let number = self.next()?;
        Some((self.entries[number], self.raise()))
    }

    /// From now on only what is pushed again is handed on; the floor before.
    #[inline]
    pub fn raise(&mut self) -> Below {
        std::mem::replace(&mut self.floor, Below { runs: self.runs.len(), entries: self.end })
    }

    /// The number of the next effect above the floor, depth first. It can be read until something is pushed.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.end > self.fresh {
            self.runs.push(Run { first: self.fresh, next: self.fresh, end: self.end });
        }
        while self.runs.len() > self.floor.runs {
            let run = self.runs.last_mut()?;
            if run.next < run.end {
                run.next += 1;
                self.fresh = self.end;
                return Some(run.next - 1);
            }
            (self.end, self.fresh) = (run.first, run.first);
            self.runs.pop();
        }
        None
    }

    /// Back to a floor before. What was pushed in the meantime and not handed on is what comes next.
    #[inline]
    pub fn lower(&mut self, floor: Below) {
        debug_assert!(self.runs.len() >= self.floor.runs, "effects below the floor were handed on");
        self.floor = floor;
    }

    /// The next effect above the floor, its parcel opened.
    #[cfg(test)]
    pub fn pop(&mut self) -> Option<Popped<P>> {
        let number = self.next()?;
        Some(match self.entries[number] {
            Effect::Parcel(parcel) => Popped::Parcel(self.open(parcel)),
            effect => Popped::Effect(effect),
        })
    }
}

/// An effect with what it brings, for tests.
#[cfg(test)]
#[derive(Clone)]
pub(crate) enum Popped<P> {
    Effect(Effect),
    Parcel(Parcel<P>),
}

#[cfg(test)]
impl<P: std::fmt::Debug> std::fmt::Debug for Popped<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Effect(effect) => effect.fmt(f),
            Self::Parcel(parcel) => parcel.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::slab::Id;

    fn jobs(effects: &mut Effects<()>, jobs: impl IntoIterator<Item = u32>) {
        jobs.into_iter().for_each(|job| effects.push(Effect::PartDone { job: Id::new(job) }));
    }

    fn next(effects: &mut Effects<()>) -> Option<u32> {
        let next = effects.pop()?;
        if let Popped::Effect(Effect::PartDone { job }) = next {
            Some(job.index() as u32)
        } else {
            unreachable!("{next:?} was not pushed")
        }
    }

    #[test]
    fn an_effect_is_small() {
        assert!(size_of::<Effect>() <= 16, "{} bytes", size_of::<Effect>());
    }

    /// Handlers of a random tree of effects against recursion: calls in the order of pushing.
    #[test]
    fn effects_run_in_the_order_of_recursion() {
        let children = |job: u32| if job < 200 { (0..job % 4).map(|n| job * 3 + n + 1).collect() } else { Vec::new() };
        fn recurse(job: u32, children: &impl Fn(u32) -> Vec<u32>, order: &mut Vec<u32>) {
            order.push(job);
            children(job).into_iter().for_each(|child| recurse(child, children, order));
        }
        let (mut expected, mut found, mut effects) = (Vec::new(), Vec::new(), Effects::default());
        (1..30).for_each(|job| recurse(job, &children, &mut expected));
        jobs(&mut effects, 1..30);
        while let Some(job) = next(&mut effects) {
            found.push(job);
            jobs(&mut effects, children(job));
        }
        assert!(expected.len() > 100, "a tree of some depth");
        assert_eq!(found, expected);
    }

    /// A handler that hands on what it pushed itself, before it returns, leaves its caller's effects alone.
    #[test]
    fn a_floor_keeps_the_effects_below_it() {
        let mut effects = Effects::default();
        jobs(&mut effects, [1, 2, 3]);
        assert_eq!(next(&mut effects), Some(1));
        let floor = effects.raise();
        assert!(effects.is_empty());
        jobs(&mut effects, [10, 11]);
        assert_eq!((next(&mut effects), next(&mut effects), next(&mut effects)), (Some(10), Some(11), None));
        effects.lower(floor);
        jobs(&mut effects, [4, 5]);
        assert_eq!([(); 5].map(|()| next(&mut effects)), [Some(4), Some(5), Some(2), Some(3), None]);
    }
}
