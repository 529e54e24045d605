//! Values that other crates own without compiling how they are dropped.

use std::ops::{Deref, DerefMut};

/// A value behind a trait object. A crate that owns a drive, as most tests do, drops it by a call into this crate; with a plain field it
/// would compile the drop of a whole engine once more, for each payload. For the same reason what holds such a value has a `clone`
/// that is not derived: derived ones are inlined.
pub(crate) struct Apart<T: 'static>(Box<dyn Hidden<T>>);

trait Hidden<T>: Send + Sync {
    fn get(&self) -> &T;
    fn get_mut(&mut self) -> &mut T;
    fn into_value(self: Box<Self>) -> T;
}

impl<T: Send + Sync> Hidden<T> for T {
    fn get(&self) -> &T {
        self
    }

    fn get_mut(&mut self) -> &mut T {
        self
    }

    fn into_value(self: Box<Self>) -> T {
        *self
    }
}

impl<T: Send + Sync> Apart<T> {
    pub fn new(value: T) -> Self {
        Self(Box::new(value))
    }

    pub fn into_value(self) -> T {
        self.0.into_value()
    }
}

impl<T: Clone + Send + Sync> Clone for Apart<T> {
    fn clone(&self) -> Self {
        Self::new(T::clone(self))
    }
}

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        (*self.0).get()
    }
}

impl<T> DerefMut for Apart<T> {
    fn deref_mut(&mut self) -> &mut T {
        (*self.0).get_mut()
    }
}
