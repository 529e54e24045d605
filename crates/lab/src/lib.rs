//! The bench: comparisons of schemes at one clock, under one or several seeds, and their verdict.
//!
//! ```text
//! Experiment -> Plan (capacity) -> one Session per scheme, one thread each -> Comparison -> JSON, rows
//! ```
//!
//! Wall-clock time and progress are the caller's business. Crate `report` shows a comparison, `studies` makes many.

mod bearing;
mod cautions;
mod clock;
mod compare;
mod comparison;
mod convert;
mod dry_run;
pub mod figure;
pub mod flows;
pub mod forks;
mod interval;
mod outcome;
mod request_log;
mod results;
pub mod rows;
pub mod seeds;
mod series;
mod verdict;
pub mod waits;
pub mod warm_up;

pub use bearing::told_on_screen;
pub use cautions::implied;
pub use clock::{Clock, clock, needs_demand, of_flows};
pub use compare::{Bench, Observe, Progress, Runs, buffer_words, compare, compare_logged, compare_on};
pub use comparison::{Comparison, Seeds};
pub use convert::{CONVERSIONS, Converted, convert};
pub use dry_run::dry_run;
pub use interval::{CONFIDENCE, Interval, Paired, Ratio, show_runs, t_quantile};
pub use outcome::{FLOWS_SHOWN, FlowOutcome, Outcome, fairness};
pub use request_log::{RequestLog, forget_log};
pub use rows::config_hash;
pub use verdict::{Better, Costs, MEASURES, Measure, OverSeeds, PowerCuts, SchemeVerdict, Survives, Verdict};
