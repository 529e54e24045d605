//! Changes since the last query, for the code that saves them.

/// Things that changed, in order and perhaps more than once; nothing is noted before someone watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changes<T>(Option<Vec<T>>);

impl<T> Default for Changes<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Changes<T> {
    /// Someone saves what changes from now on.
    pub fn watch(&mut self) {
        self.0 = Some(Vec::new());
    }

    /// This changed.
    #[inline]
    pub fn note(&mut self, what: T) {
        if let Some(changed) = &mut self.0 {
            changed.push(what);
        }
    }

    /// Takes the changes since the last call.
    pub fn take(&mut self) -> Vec<T> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
