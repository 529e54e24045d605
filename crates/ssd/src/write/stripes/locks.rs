//! Locks of stripes: updates of one stripe are serial, and repairs wait for an update that is half in the map.

use crate::core::ids::OpId;
use crate::core::target::Target;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use vocab::StripeId;

/// Waiter for the end of an update of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// The next update, to be started.
    Update(OpId),
    /// A repair, to be tried again.
    Repair(Target),
}

/// Stripes that are being updated, with what waits for each in order. Never iterated.
#[derive(Clone, Debug, Default)]
pub(crate) struct StripeLocks(FxHashMap<u32, VecDeque<Waiter>>);

impl StripeLocks {
    pub fn is_held(&self, stripe: StripeId) -> bool {
        self.0.contains_key(&stripe.0)
    }

    /// Locks the stripe; false if it is locked already.
    pub fn lock(&mut self, stripe: StripeId) -> bool {
        let Entry::Vacant(free) = self.0.entry(stripe.0) else { return false };
        free.insert(VecDeque::new());
        true
    }

    pub fn wait(&mut self, stripe: StripeId, waiter: Waiter) {
        self.0.get_mut(&stripe.0).expect("waits for a stripe that is locked").push_back(waiter);
    }

    /// As [`Self::wait`], before everything that waits already.
    pub fn wait_first(&mut self, stripe: StripeId, waiter: Waiter) {
        self.0.get_mut(&stripe.0).expect("waits for a stripe that is locked").push_front(waiter);
    }

    /// First waiter for a locked stripe.
    pub fn first_waiting(&self, stripe: StripeId) -> Option<Waiter> {
        self.0.get(&stripe.0).and_then(|queue| queue.front().copied())
    }

    /// Takes out what waits first.
    pub fn take_first(&mut self, stripe: StripeId) {
        self.0.get_mut(&stripe.0).expect("a locked stripe").pop_front();
    }

    /// Next waiter, taken out: repairs before updates, because an update may wait for space that a repair is to make.
    /// The stripe stays locked; unlocks where nothing waits.
    pub fn next(&mut self, stripe: StripeId) -> Option<Waiter> {
        let queue = self.0.get_mut(&stripe.0).expect("a locked stripe");
        let repair = queue.iter().position(|waiter| matches!(waiter, Waiter::Repair(_)));
        let next = queue.remove(repair.unwrap_or(0));
        if next.is_none() {
            self.0.remove(&stripe.0);
        }
        next
    }
}
