//! The machine: host queue, buffers, dies and channels in virtual time; the executor of what
//! schemes decide; facts and folds.
//!
//! [`Session`] is the way in: build a drive from a [`Setup`], replay host commands, get a
//! [`RunResult`].

mod advance;
mod ahead;
mod buffer;
mod calendar;
mod codec;
mod collect;
mod commands;
mod config;
mod cut;
mod disturb;
mod ecc;
mod encode;
mod engine;
mod facts;
mod group_life;
mod group_proof;
mod group_repair;
mod group_session;
mod groups;
mod grown_bad;
mod held;
mod host;
#[cfg(unix)]
mod image;
mod jobs;
mod lazy;
mod mount;
mod oracle;
mod outage;
mod pages;
mod patrol;
mod payload;
mod precondition;
mod proof;
mod read_only;
mod rebuild;
mod refresh;
mod repair;
mod replay;
mod result;
mod row_loss;
mod rows;
mod safety;
mod session;
mod slab;
mod stripe_map;
mod stripes;
mod zone_proof;
mod zones;

pub use config::{
    Age, Buffer, BufferKind, CodecTiming, Drive, Ecc, Errors, Faults, Pace, PayloadKind, Power, Precondition, Refresh,
    RefreshPolicy, Scheduler, Setup,
};
pub use cut::{Begun, Fate};
pub use disturb::{BlockView, Recycled};
pub use groups::GroupStats;
pub use host::HostEvent;
#[cfg(unix)]
pub use image::{ImageSession, ImageSessionError, MemoryError, PageFound};
pub use mount::Mounted;
pub use outage::{MemoryLoss, Outage};
pub use payload::page_contents;
pub use proof::{AlternativesInFlight, CodePage, Failure, HeldParity, HeldSum, Inventory, ReadBack, Scrub, StoredPage};
pub use result::{AroundResult, Cdf, EccResult, Response, RunResult};
pub use safety::{SAFETY_RULES, SafetyRule};
pub use session::{Demand, Session, SetupError, mountable_slots_max, redundancy_share, shape, user_slots_max};
pub use {coding, ftl, nand, protect};
