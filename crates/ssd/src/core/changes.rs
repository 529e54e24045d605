//! What changed since someone last asked, for those who save it.

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

    /// What changed since this was last asked.
    pub fn take(&mut self) -> Vec<T> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
