//! The bench: experiments as data, drive presets, comparisons, results.
//!
//! ```text
//! file + options -> Document -> Experiment -> Workload (trace scanned) -> Plan (capacity)
//!                -> one Session per scheme, one thread each -> Comparison -> JSON, table, report
//! ```
//!
//! An [`Experiment`] says everything a run depends on; equal experiments give equal results on
//! any number of threads. Wall-clock time and progress are the caller's business.

pub mod advise;
mod bearing;
pub mod bounds;
mod buffer;
mod capacity;
mod caution;
mod cautions;
mod check;
mod clock;
mod columns;
mod compare;
mod comparison;
mod comparison_table;
mod convert;
mod described;
mod disk;
mod document;
mod doubt;
mod drives;
mod dry_run;
mod experiment;
mod figure;
pub mod figures;
mod flow;
mod flow_spec;
mod flows;
mod forks;
mod generate;
mod generated;
mod input_file;
mod inspect;
mod interval;
mod label;
pub mod life;
mod listing;
mod load;
mod mqsim;
mod off;
mod outcome;
mod over_provisioning;
mod parameters;
mod parquet_file;
pub mod parts;
mod paths;
mod problem;
mod publish;
mod quantity;
mod reading;
pub mod reliability;
mod renamed;
pub mod report;
mod request_log;
mod results;
mod rows;
#[cfg(unix)]
mod schedule;
mod schema;
mod screen;
mod seeds;
mod series;
mod setting;
mod simulators;
mod source;
pub mod study;
pub mod sweep;
pub mod table;
mod textual;
mod threads;
mod verdict;
mod version;
mod waits;
mod warm_up;
mod workload;

pub use capacity::{Plan, PlannedDrive, blocks_per_plane, plan};
pub use caution::{Caution, Level};
pub use clock::{Clock, clock};
pub use columns::{Column, Columns, Row, Values};
pub use compare::{Bench, Progress, compare, compare_logged};
pub use comparison::{Comparison, Seeds};
pub use convert::{CONVERSIONS, Converted, convert};
pub use described::refuse_unknown;
pub use disk::{disk_setup, one_drive};
pub use document::Document;
pub use drives::{DRIVES, DriveEntry};
pub use dry_run::dry_run;
pub use experiment::{Addresses, CapacitySpec, DriveSpec, Experiment, Fairness, Options, Overrides, Own, TraceSpec};
pub use flow::Flow;
pub use flow_spec::{FlowSpec, FlowsBy};
pub use flows::picture as flow_picture;
pub use generate::{ArrivalsSpec, GenerateSpec, PlacementSpec};
pub use input_file::{SETTINGS_MAX, read_text};
pub use inspect::inspect;
pub use interval::{CONFIDENCE, Interval, Paired, Ratio, t_quantile};
pub use listing::{LISTS, List, Listed, canaries_among, list, schemes_on};
pub use outcome::{FlowOutcome, Outcome, fairness};
pub use over_provisioning::OverProvisioning;
pub use parquet_file::parquet_bytes;
pub use paths::{path_of, path_text};
pub use problem::{Place, Position, Problem, RecordPlace, Spot, printable, quoted};
pub use publish::{
    check_ending, check_room, replaces_another, report_directory, write_advice, write_headline, write_life, write_report,
    write_series, write_study,
};
pub use quantity::{Quantity, plural};
pub use request_log::{RequestLog, forget_log};
pub use rows::config_hash;
#[cfg(unix)]
pub use schedule::schedule;
pub use setting::{Setting, settings, settings_at, settings_page, settings_schema, settings_text};
/// A drive with a client's own data.
#[cfg(unix)]
pub use ssd::disk as served;
pub use ssd::{BufferKind, HistoryProgress, Setup};
/// What policies of page ECC and of garbage collection are, for programs that bring their own.
pub use ssd::{ecc, ftl};
pub use textual::{Arrival, OptionText, Size};
pub use threads::in_parallel;
pub use trace::flows::fio_job::command_of as fio_command;
pub use verdict::{Better, Costs, MEASURES, Measure, OverSeeds, PowerCuts, SchemeVerdict, Survives, Verdict};
pub use version::VERSION;
pub use workload::{CommandStream, TraceFacts, Workload};
