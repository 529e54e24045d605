//! A drive's life under each scheme, from its first write to its end.
//!
//! The workload is repeated at a given number of drive writes per day. A life is a series of *epochs*: a stretch of which every program is simulated in
//! the map, then odds of loss by formula and, at some ages, a timed run of the workload; then a *leap* that adds P/E cycles
//! (`ssd::Session::live`, `leap`, `odds`). Blocks wear out at thresholds that they are born with (`endurance.rs`), dies and blocks that fail
//! by themselves enter the odds by their rates (`loss.rs`).

mod age;
mod deaths;
mod drive;
mod endurance;
mod kept;
mod lives;
mod loss;
mod options;
mod phases;
mod screen;
mod seeds;
mod settings;
mod smart;
mod strata;
mod study;
#[cfg(test)]
mod tests;
mod tornado;

pub use deaths::Death;
pub use endurance::Endurance;
use experiment::{Experiment, Workload};
pub use kept::Kept;
pub(crate) use kept::question;
pub use lives::{life, life_until, lives};
pub use loss::{Hazard, Rates};
pub(crate) use options::number_of;
pub use phases::{AskedPhase, phases_of};
pub(crate) use screen::probability;
pub use seeds::SeedLives;
use serde::{Deserialize, Deserializer, Serialize};
pub use settings::{CELSIUS, CLASSES, Class, LifeSettings, SIGMA, YEARS_MAX, bytes_of, days_of, micros_of, years_of};
pub(crate) use settings::{check, check_count};
use ssd::Latency;
pub use strata::Stratum;
pub(crate) use study::AGES;
pub use tornado::{Outcome, PARAMETERS, Parameter, Swing};
use vocab::Cause;

/// A requirement, or the drive, that ended a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Years that were asked for are over; the drive lives.
    Years,
    /// Worn-out blocks leave no room: it is read-only.
    ReadOnly,
    /// UBER is above the limit of its class while it works.
    Uber,
    /// UBER would be above it after the time without power that its class asks for, or is so after a phase without power.
    Retention,
    /// Reads take longer than was asked for.
    ReadP99,
    /// A die died at an age that was asked for, and data were lost with it.
    Die,
    /// It was stopped (Ctrl-C); the drive lives.
    Stopped,
}

impl End {
    /// Its name in tables of data.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            End::Years => "alive",
            End::ReadOnly => "read-only",
            End::Uber => "uber",
            End::Retention => "retention",
            End::ReadP99 => "read-p99",
            End::Die => "die",
            End::Stopped => "stopped",
        }
    }

    /// Whether the drive lives.
    #[must_use]
    pub fn is_alive(self) -> bool {
        matches!(self, End::Years | End::Stopped)
    }

    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            End::Years => "alive",
            End::ReadOnly => "read-only",
            End::Uber => "UBER in use",
            End::Retention => "retention",
            End::ReadP99 => "reads p99",
            End::Die => "a dead die",
            End::Stopped => "stopped",
        }
    }
}

/// Reads and writes of the workload at an age, replayed in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// Reads.
    pub read: Latency,
    /// Writes.
    pub write: Latency,
    /// Reads of a page with other references, after its first read.
    pub retries: f64,
    /// Write amplification in time, which the map alone has to agree with; NaN where the host wrote nothing.
    #[serde(deserialize_with = "or_nan")]
    pub waf: f64,
    /// Joules of flash and codecs for each GB (1e9 bytes) that the host read or wrote; NaN where it did neither.
    #[serde(deserialize_with = "or_nan")]
    pub energy_j_per_gb: f64,
}

/// JSON has no NaN: it is written as null.
fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// A drive at an age.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Years since its first write.
    pub years: f64,
    /// Data that the host has written, in multiples of the user capacity.
    pub drive_writes: f64,
    /// By how much `drive_writes` may be off, either way, because of leaps: half the difference between the sums with the write
    /// amplification before and after each.
    pub drive_writes_off: f64,
    /// Mean P/E cycles of a block of a living die, and those that 1 % and 99 % of blocks have at most.
    pub pe: [f64; 3],
    /// The fewest and the most P/E cycles of a block.
    pub pe_ends: [u32; 2],
    /// P/E cycles that all blocks have taken so far, those of dead and of replaced dies among them, by block of the drive.
    pub pe_taken: f64,
    /// Write amplification.
    pub waf: f64,
    /// Of this, what refresh writes: by formula where the drive leaps, else in the map.
    pub refreshed: f64,
    /// Logical pages programmed in the map for each page of the host, by cause.
    pub by_cause: [f64; Cause::ALL.len()],
    /// Share of the blocks with more P/E cycles than are rated.
    pub above_rated: f64,
    /// The stage of life under a scheme that protects by age, from 1 on, and the share of the stripes with contents that have parity.
    pub stage: Option<(u8, f64)>,
    /// Blocks that have worn out.
    pub worn_blocks: u32,
    /// Dies that are dead and not replaced.
    pub dead_dies: u32,
    /// Flash of good blocks beyond the user capacity, as a share of that.
    pub over_provisioning: f64,
    /// Blocks that are bad, those from the factory among them.
    pub bad_blocks: u32,
    /// Dies whose loss at a time the drive survives: those of its scheme, less the dead ones while they are not rebuilt.
    pub survives: u32,
    /// Logical pages that the host reads for each that it writes.
    pub reads_by_write: f64,
    /// Reads of its block since the erase, of the mean page that holds data.
    pub block_reads: f64,
    /// Mean age of data in days.
    pub data_days: f64,
    /// Mean raw bit error rate with the default references, in the best read of the ladder, and the worst page's in that.
    pub rber: [f64; 3],
    /// Pages that their page code does not give back, of all the drive.
    pub unreadable: f64,
    /// The same after the time without power of its class.
    pub unreadable_off: f64,
    /// Logical pages that are lost permanently with a die: the scheme cannot reconstruct them. Mean over the dies.
    pub lost_with_die: f64,
    /// Uncorrectable errors by bits read, of what the host reads: after the scheme's redundancy. One for each lost logical page.
    pub uber: f64,
    /// The same after the time without power of its class.
    pub uber_off: f64,
    /// Expected events of loss in a year, by cause.
    pub hazard: Hazard,
    /// Expected events of loss so far.
    pub losses: f64,
    /// The same by cause.
    pub losses_by_cause: Hazard,
    /// The phase of the calendar from 1 on, where there are several; that of a phase without power is at its end.
    pub phase: Option<u32>,
    /// The workload in time; where that was due.
    pub timed: Option<Timed>,
}

impl Epoch {
    /// Probability that data were lost by now; an upper bound, because events that come together count one by one.
    #[must_use]
    pub fn loss_probability(&self) -> f64 {
        -(-self.losses).exp_m1()
    }

    /// Percentage Used of the SMART log (NVMe 2.0, 5.16.1.3): P/E cycles by those rated, at most 255.
    #[must_use]
    pub fn percentage_used(&self, rated: f64) -> u8 {
        (self.pe[0] / rated * 100.0).min(255.0) as u8
    }
}

/// A life under a scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemeLife {
    /// The scheme.
    pub label: String,
    /// Ages in order; the first is of the new drive.
    pub epochs: Vec<Epoch>,
    /// Cause of its end.
    pub end: End,
    /// Blocks of the drive.
    pub blocks: u32,
    /// Dies that died at ages that were asked for, in order.
    pub deaths: Vec<Death>,
    /// Drive writes by a straight line from the new drive: rated cycles of all flash, by its write amplification.
    pub straight_line: f64,
    /// Reads that were checked.
    pub verified: Verified,
}

/// Runs in time in which every read is compared with what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Runs, those among them that lie past the end that was found.
    pub runs: usize,
    /// Host reads whose data differed from what was written: a defect of ours.
    pub mismatches: u64,
}

impl Verified {
    /// Adds other runs.
    pub(super) fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.mismatches += other.mismatches;
    }
}

impl SchemeLife {
    /// The drive at its end.
    #[must_use]
    pub fn last(&self) -> &Epoch {
        self.epochs.last().expect("a life has its first epoch")
    }
}

/// Lives under all schemes.
#[derive(Clone, Debug, PartialEq)]
pub struct Life {
    /// The experiment as it was run.
    pub experiment: Experiment,
    /// The other settings.
    pub settings: LifeSettings,
    /// The workload.
    pub workload: String,
    /// Bytes that the host may use.
    pub user_bytes: u64,
    /// How commands come in timed runs.
    pub clock: String,
    /// In the order of the experiment's schemes; under its first seed.
    pub schemes: Vec<SchemeLife>,
    /// The same under its further seeds, which are not replayed in time unless an end depends on that.
    pub seeds: Vec<SeedLives>,
    /// How much the lives under the first seed depend on numbers that are not known well; empty unless that was asked for.
    pub swings: Vec<Swing>,
    /// Reads that were checked in all lives, those of further seeds and of the tornado among them.
    pub verified: Verified,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// How far a life has come: its number of [`lives`], which for those of the first seed is the index of the scheme; years, and its P/E
/// cycles by those rated.
pub type HearLife<'a> = &'a (dyn Fn(usize, f64, f64) + Sync);

fn notes(experiment: &Experiment, settings: &LifeSettings, workload: &Workload, user_slots: u32) -> Vec<String> {
    let mut notes = experiment.left_out.clone();
    let knows_reads = ssd::nand::rber::find(&experiment.errors.model).is_ok_and(|entry| entry.model.knows_reads());
    let touched = workload.touched() as f64 / f64::from(user_slots.max(1));
    if touched < 0.99 {
        notes.push(format!(
            "workload: it touches {} of the user capacity; the rest is cold data that age with the drive",
            common::quantity::percent(touched)
        ));
    }
    if experiment.errors.model == "none" {
        notes.push("errors.model is none: no bit errors, so that neither UBER nor retention ends a life".into());
    }
    if experiment.refresh.policy != ssd::RefreshPolicy::None {
        notes.push("refresh.policy works in timed runs only: a life refreshes by age (--refresh)".into());
    }
    if settings.sigma == (0.0, 0.0) {
        notes.push("pages and blocks do not vary: losses by bit errors are far too low".into());
    }
    if !knows_reads && experiment.errors.model != "none" {
        notes.push(format!("errors.model {} has no errors of reads: read disturb is left out", experiment.errors.model));
    }
    if let Some(bytes) = settings.represents {
        notes.push(format!(
            "loss is that of a drive of {}, of as many and larger dies: bit errors and what a die holds grow by its size; rates of dies and \
             blocks by drive, and the hours of a rebuild, are as given",
            common::quantity::bytes(bytes as f64)
        ));
    }
    notes.extend(settings.calendar_words());
    notes.push(
        "not in the model: controller, firmware and PLP capacitors, of which data sheets say 0.44 % of drives a year".into(),
    );
    notes
}
