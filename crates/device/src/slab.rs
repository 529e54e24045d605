//! Recycled objects with small identities: the engine allocates nothing in its steady state.

use std::ops::{Index, IndexMut};

/// Identity of an object in a [`Slab`].
pub type Id = u32;

/// No object.
pub const NONE: Id = u32::MAX;

/// A pool of objects. A recycled object keeps its buffers; whoever takes it resets it.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<Id>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> Slab<T> {
    /// Takes an object: a recycled one, or a new default one.
    #[inline]
    pub fn take(&mut self) -> Id {
        self.free.pop().unwrap_or_else(|| {
            self.items.push(T::default());
            (self.items.len() - 1) as Id
        })
    }

    /// Gives an object back.
    #[inline]
    pub fn give(&mut self, id: Id) {
        debug_assert!(!self.free.contains(&id) || self.free.len() > 64, "given back twice");
        self.free.push(id);
    }

    /// Whether any object, recycled ones included, is as described.
    pub fn any(&self, is: impl FnMut(&T) -> bool) -> bool {
        self.items.iter().any(is)
    }

    /// Objects in use.
    pub fn in_use(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

impl<T> Index<Id> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, id: Id) -> &T {
        &self.items[id as usize]
    }
}

impl<T> IndexMut<Id> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, id: Id) -> &mut T {
        &mut self.items[id as usize]
    }
}
