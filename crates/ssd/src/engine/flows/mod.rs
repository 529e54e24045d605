//! Flows: what several components do in turn. Each step is a handler of one component; the engine hands on its
//! effects before the next step.

pub(crate) mod group_log_mount;
pub(crate) mod group_session;
pub(crate) mod groups;
pub(crate) mod rows;
