//! Recycled objects with small identities: the engine allocates nothing in its steady state.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// Identity of an object in a [`Slab`] of the same kind: its number, and one more, so that an `Option` takes no more room.
pub struct Id<K>(NonZeroU32, PhantomData<fn() -> K>);

/// Marks identities of flash commands.
pub enum OfCommand {}
/// Marks identities of page images.
pub enum OfImage {}
/// Marks identities of jobs of the host: page images say which one waits for them, and no more of it is known here.
pub enum OfJob {}

/// Identity of a flash command.
pub type CommandId = Id<OfCommand>;
/// Identity of a page image.
pub type ImageId = Id<OfImage>;
/// Identity of a job of the host.
pub type JobId = Id<OfJob>;

impl<K> Id<K> {
    /// Identity number `number`.
    ///
    /// # Panics
    /// If that is the last 32-bit number.
    #[inline]
    pub const fn new(number: u32) -> Self {
        Self(NonZeroU32::MIN.checked_add(number).expect("fewer objects than 32-bit numbers"), PhantomData)
    }

    #[inline]
    const fn number(self) -> u32 {
        self.0.get() - 1
    }

    /// Where the object is in its slab, and in tables beside that.
    #[inline]
    pub const fn index(self) -> usize {
        self.number() as usize
    }
}

impl<K> Clone for Id<K> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Id<K> {}

impl<K> PartialEq for Id<K> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<K> Eq for Id<K> {}

impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<K> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

impl<K> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// A pool of objects of kind `K`. A recycled object keeps its buffers; whoever takes it resets it.
pub struct Slab<T, K> {
    items: Vec<T>,
    free: Vec<Id<K>>,
}

impl<T: Clone, K> Clone for Slab<T, K> {
    fn clone(&self) -> Self {
        Self { items: self.items.clone(), free: self.free.clone() }
    }
}

impl<T: fmt::Debug, K> fmt::Debug for Slab<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slab").field("items", &self.items).field("free", &self.free).finish()
    }
}

impl<T, K> Default for Slab<T, K> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default, K> Slab<T, K> {
    /// Takes an object: a recycled one, or a new default one.
    #[inline]
    pub fn take(&mut self) -> Id<K> {
        self.free.pop().unwrap_or_else(|| {
            self.items.push(T::default());
            Id::new((self.items.len() - 1) as u32)
        })
    }

    /// Gives an object back.
    #[inline]
    pub fn give(&mut self, id: Id<K>) {
        debug_assert!(self.free.len() > 64 || !self.free.contains(&id), "given back twice");
        self.free.push(id);
    }

    /// Whether any object, recycled ones included, is as described.
    pub fn any(&self, is: impl FnMut(&T) -> bool) -> bool {
        self.items.iter().any(is)
    }

    /// The objects in use, in order. Looks at all of them: for questions that are rare.
    pub fn used(&self) -> impl Iterator<Item = Id<K>> {
        let mut is_free = vec![false; self.items.len()];
        self.free.iter().for_each(|id| is_free[id.index()] = true);
        (0..).zip(is_free).filter(|&(_, is_free)| !is_free).map(|(number, _)| Id::new(number))
    }

    /// How many objects are in use.
    pub fn in_use(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

impl<T, K> Index<Id<K>> for Slab<T, K> {
    type Output = T;
    #[inline]
    fn index(&self, id: Id<K>) -> &T {
        &self.items[id.index()]
    }
}

impl<T, K> IndexMut<Id<K>> for Slab<T, K> {
    #[inline]
    fn index_mut(&mut self, id: Id<K>) -> &mut T {
        &mut self.items[id.index()]
    }
}
