//! The schemes: what is written beside the data, where, and what brings lost data back.
//!
//! A scheme decides and nothing else (decision D3): it sees addresses and says what to read,
//! what to program and what covers what. It holds no bytes, no clock and no device, so each is
//! one file that reads like its paper. Two seams cover the two kinds of log (decision D4):
//! [`StripeScheme`] for stripes of logical pages, [`RowScheme`] for stripes that are physical
//! rows of a superblock.

mod canary;
mod choice;
mod da_raid5;
mod ds_raid;
mod ppc;
mod raid5;
pub mod registry;
mod seam;

pub use choice::{Options, SchemeChoice, SchemeError};
pub use seam::{
    CommitPlan, DisturbLimits, OpenRow, Protection, RowScheme, RowStep, Shape, StripeCommit, StripePlan, StripeScheme,
    StripeWrite, WriteCache,
};
