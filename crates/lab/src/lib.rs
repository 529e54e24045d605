//! The bench: comparisons, sweeps, lives, advice, studies, reports.
//!
//! ```text
//! Experiment -> Plan (capacity) -> one Session per scheme, one thread each -> Comparison -> JSON, table, report
//! ```
//!
//! Wall-clock time and progress are the caller's business.

pub mod advise;
mod bearing;
pub mod bounds;
mod cautions;
mod clock;
mod compare;
mod comparison;
mod comparison_table;
mod convert;
mod dry_run;
mod figure;
pub mod figures;
mod flows;
mod forks;
mod inspect;
mod interval;
pub mod life;
mod listing;
mod outcome;
mod parquet_file;
mod publish;
pub mod reliability;
pub mod report;
mod request_log;
mod results;
mod rows;
mod screen;
mod seeds;
mod series;
pub mod study;
pub mod sweep;
mod verdict;
mod waits;
mod warm_up;

pub use clock::{Clock, clock};

pub use compare::{Bench, Progress, compare, compare_logged};
pub use comparison::{Comparison, Seeds};
pub use convert::{CONVERSIONS, Converted, convert};

pub use dry_run::dry_run;

pub use flows::picture as flow_picture;

pub use inspect::inspect;
pub use interval::{CONFIDENCE, Interval, Paired, Ratio, t_quantile};
pub use listing::{LISTS, List, Listed, canaries_among, list, schemes_on};
pub use outcome::{FlowOutcome, Outcome, fairness};

pub use parquet_file::parquet_bytes;

pub use publish::{
    check_ending, check_room, replaces_another, report_directory, write_advice, write_headline, write_life, write_report,
    write_series, write_study,
};

pub use request_log::{RequestLog, forget_log};
pub use rows::config_hash;

pub use verdict::{Better, Costs, MEASURES, Measure, OverSeeds, PowerCuts, SchemeVerdict, Survives, Verdict};
