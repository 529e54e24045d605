//! A value that other crates hold without compiling how it is dropped.

use std::ops::{Deref, DerefMut};

/// A value behind a table of functions. Crates that use a drive, tests among them, drop it with the code of this crate; else each of
/// them would compile that once more for each payload, as it would with a copy that is not a function of this crate.
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
