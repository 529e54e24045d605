//! The ways of writing: one folder each.

pub(crate) mod groups;
pub(crate) mod pages;
pub(crate) mod rows;
pub(crate) mod stripes;
pub(crate) mod zones;
