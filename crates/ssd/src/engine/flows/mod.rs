//! Flows: what spans several components. Each is short; the work is done by handlers of components.

pub(crate) mod reads;
pub(crate) mod zones;
