//! Experiments as data: settings, drive presets, workloads, and the drives that follow from them.
//!
//! ```text
//! file + options -> Document -> Experiment -> Workload (trace scanned) -> Plan (capacity) -> Setup of a drive
//! ```
//!
//! An [`Experiment`] says everything a run depends on; equal experiments give equal results on any number of threads.

mod buffer;
pub mod capacity;
pub mod caution;
pub mod check;
pub mod described;
mod disk;
mod document;
pub mod doubt;
mod drives;
mod experiment;
pub mod flow;
mod flow_spec;
mod generate;
pub mod generated;
pub mod label;
mod load;
mod mqsim;
mod off;
pub mod over_provisioning;
mod parameters;
pub mod reading;
pub mod renamed;
#[cfg(unix)]
pub mod schedule;
mod schema;
mod setting;
mod simulators;
pub mod source;
pub mod textual;
pub mod workload;

pub use capacity::{Plan, PlannedDrive, blocks_per_plane, plan};
pub use caution::{Caution, Level};
pub use described::refuse_unknown;
pub use disk::{disk_setup, one_drive};
pub use document::Document;
pub use drives::{DRIVES, DriveEntry};
pub use experiment::{
    Addresses, CapacitySpec, DriveSpec, EccSpec, Experiment, Fairness, Options, Overrides, Own, TraceSpec, seed_of,
};
pub use flow::Flow;
pub use flow_spec::{FlowSpec, FlowsBy};
pub use generate::{ArrivalsSpec, GenerateSpec, PlacementSpec};
pub use over_provisioning::OverProvisioning;
#[cfg(unix)]
pub use schedule::schedule;
pub use setting::{Setting, settings, settings_at, settings_page, settings_schema, settings_text};
pub use textual::{Arrival, OptionText, Size};
pub use trace::flows::fio_job::command_of as fio_command;
pub use workload::{CommandStream, TraceFacts, Workload};
