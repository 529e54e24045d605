//! Flows: work that passes through several components, one file a topic. Each step is a component's own; a flow only
//! says what follows what.

pub(crate) mod collect;
pub(crate) mod displaced;
pub(crate) mod host;
pub(crate) mod limits;
pub(crate) mod logs;
pub(crate) mod pages;
pub(crate) mod reads;
pub(crate) mod rebuild;
pub(crate) mod recovery;
pub(crate) mod replace;
pub(crate) mod zones;
