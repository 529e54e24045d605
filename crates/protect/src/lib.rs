//! The schemes: what is written beside the data, where, and what brings lost data back.
//!
//! A scheme decides and nothing else (decision D3): it sees addresses and says what to read,
//! what to program and what covers what. It holds no bytes, no clock and no device, so each is
//! one file that reads like its paper. Three seams cover the two kinds of log (decision D4):
//! [`StripeScheme`] for stripes of logical pages, [`RowScheme`] for stripes that are physical
//! rows of a superblock, [`GroupScheme`] for rows of superblocks with a code each. Code zones
//! ([`code_zones`]) protect nothing they promise to and have no seam: the engine asks them. [`lazy`] reads
//! around busy dies under any scheme.

mod canary;
pub mod code_zones;
mod da_raid5;
mod ds_raid;
mod group_seam;
pub mod lazy;
mod limits;
mod mds_groups;
mod ppc;
mod product;
mod protection;
mod raid5;
pub mod read_ahead;
pub mod registry;
mod seam;

pub use group_seam::{Across, GroupCode, GroupHistory, GroupPage, GroupScheme, PageState, PageStripe, Strip};
pub use protection::Protection;
pub use seam::{
    CommitPlan, DisturbLimits, OpenRow, ParityRule, RowScheme, RowStep, Shape, StripeCommit, StripePlan, StripeScheme,
    StripeWrite, WriteBack, WriteCache,
};
pub use vocab::{Options, SchemeChoice, SchemeError};
