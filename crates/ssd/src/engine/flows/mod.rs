//! Flows: work that passes through several components, one file a topic. Each step is a component's own; a flow only
//! says what follows what.

pub(crate) mod collect;
pub(crate) mod displaced;
pub(crate) mod host;
pub(crate) mod limits;
pub(crate) mod pages;
pub(crate) mod rebuild;
pub(crate) mod stripes_mount;
