//! The medium in time: dies, channels, queues, commands, page images, page ECC, facts.

pub(crate) mod calendar;
pub(crate) mod codec;
pub(crate) mod commands;
pub(crate) mod contents;
pub(crate) mod ecc;
pub(crate) mod facts;
pub(crate) mod slab;
