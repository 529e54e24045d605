//! The machine: host queue, buffers, dies and channels in virtual time; the executor of what
//! schemes decide; facts and folds.
//!
//! [`Session`] is the way in: build a drive from a [`Setup`], replay host commands, get a
//! [`RunResult`].

mod boot;
mod care;
mod config;
mod core;
#[cfg(unix)]
pub mod disk;
mod engine;
#[cfg(unix)]
mod files;
mod fit;
mod host;
mod power;
mod proof;
mod read;
mod result;
mod rules;
mod session;
mod write;

pub use boot::demand::Demand;
pub use boot::precondition::HistoryProgress;
pub use boot::warm_up::WarmUp;
pub use config::SetupError;
pub use config::{
    Age, Buffer, BufferKind, CodecTiming, Controller, Drive, ENTRIES_MAX, Ecc, Errors, Faults, Pace, PayloadKind, Power,
    Precondition, ReadRetry, Refresh, RefreshPolicy, Scheduler, Setup, Slc, SlcFold, SlcFull, SlcMode, shape,
};
pub use core::limits::Recycled;
pub use device::batches::Mark;
pub use device::contents::page_contents;
pub use device::waits::{Wait, Waits};
pub use engine::clocks::{FLOWS_MAX, FlowClock, HostFlow, Think};
#[cfg(unix)]
pub use files::{DriveFiles, ImageSession, ImageSessionError, PageFound};
pub use fit::{capacity_overhead, mountable_slots_max, takes_spare_dies, user_slots_max};
pub use host::explain::AnsweredRequest;
pub use host::requests::HostEvent;
#[cfg(unix)]
pub use nand::Store;
pub use power::cut::{Begun, Fate};
pub use power::mount::Mounted;
pub use power::outage::{MemoryLoss, Outage};
pub use proof::profiles::PageProfiles;
pub use proof::raw::{ParityMap, RawFlash, RawPage};
pub use proof::watch::BlockView;
pub use proof::whole::Standing;
pub use proof::{AlternativesInFlight, Audit, CodePage, Failure, HeldParity, HeldSum, Inventory, ReadBack, StoredPage};
pub use result::series::{SeriesColumn, SeriesResult};
pub use result::{
    AroundResult, Cdf, EccResult, ExplainedResult, FlashResult, FlowResult, HostResult, LadderResult, Latency, Life,
    OracleResult, PreconditionResult, RedundancyResult, ReplayResult, RunResult, SlcResult, StreamResult, WaitsResult,
    WarmUpResult, WearResult,
};
pub use rules::{SAFETY_RULES, SafetyRule};
pub use session::deaths::AfterDeath;
pub use session::life::{Odds, Stretch};
pub use session::series::RunSeries;
pub use session::{RequestLog, Session};
pub use write::groups::GroupStats;
pub use {coding, ecc, ftl, nand, protect};
