//! Flows: what spans components. Each calls handlers of several components in turn and hands effects on between them.

pub(crate) mod stripes_mount;
