//! Tests of the map alone: each part against a naive model, a formula, or a tiny drive worked out by hand.

mod drive;
mod groups;
mod mount;
mod naive;
mod random;
mod retire;
mod room;
mod rows;
mod setup;
mod slc;
mod victims;
mod wear;
