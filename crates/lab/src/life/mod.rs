//! A drive's life under each scheme, from its first write to its end.
//!
//! The workload is repeated at a given number of drive writes per day. A life is a series of *epochs*: a stretch of which every program is simulated in
//! the map, then odds of loss by formula and, at some ages, a timed run of the workload; then a *leap* that adds P/E cycles
//! (`ssd::Session::live`, `leap`, `odds`). Blocks wear out at thresholds that they are born with (`endurance.rs`), dies and blocks that fail
//! by themselves enter the odds by their rates (`loss.rs`).

mod drive;
mod endurance;
mod loss;
mod screen;
mod study;
#[cfg(test)]
mod tests;

use crate::compare::{Bench, Observe, Runs, in_parallel};
use crate::experiment::Experiment;
use crate::problem::Problem;
use crate::workload::Workload;
pub use endurance::Endurance;
pub use loss::{Hazard, Rates};
pub(crate) use screen::probability;
use ssd::{Latency, PayloadKind};
pub(crate) use study::NAME;
use vocab::{Cause, Nanos};

/// What a drive is sold as, by JESD218: its limit on UBER, and how long its data last without power at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: &'static str,
    /// Most uncorrectable bit errors, by bits read.
    pub uber: f64,
    /// Hours without power at the end of life.
    pub off_hours: f64,
    /// Temperature in the meantime, in degrees Celsius.
    pub off_celsius: f64,
}

/// The classes of JESD218 (table 1).
pub const CLASSES: [Class; 2] = [
    Class { name: "client", uber: 1e-15, off_hours: 8760.0, off_celsius: 30.0 },
    Class { name: "enterprise", uber: 1e-16, off_hours: 2190.0, off_celsius: 40.0 },
];

/// What a life depends on beside the experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct LifeSettings {
    /// Drive writes of the host a day.
    pub dwpd: f64,
    /// Years after which it is over; `None`: when the drive ends, or after [`YEARS_MAX`].
    pub years: Option<f64>,
    /// Ages up to the rated P/E cycles, at least 1; later ones are as far apart, or closer.
    pub epochs: u32,
    /// Whether the drive leaps from age to age; else every program of its life is simulated.
    pub leaps: bool,
    /// How many times until the rated P/E cycles the workload is also replayed in time; 0: never.
    pub timed: u32,
    /// Days after which data are refreshed: read and written again elsewhere; `None`: never.
    pub refresh_days: Option<f64>,
    /// Requirements.
    pub class: Class,
    /// Most microseconds of the 99th percentile of reads; `None`: no requirement.
    pub read_p99_us: Option<f64>,
    /// Share of blocks that are worn out at the rated cycles, and exponent of their distribution.
    pub worn: (f64, f64),
    /// Parts that fail by themselves.
    pub rates: Rates,
    /// Standard deviations of the logarithm of the raw bit error rate, of pages and of blocks.
    pub sigma: (f64, f64),
    /// Temperature of the drive in degrees Celsius, and the one that times of the error model are meant at.
    pub celsius: (f64, f64),
}

/// Microseconds of a time as an option says it, such as 500us.
///
/// # Errors
/// A text that is no time.
pub fn micros_of(option: &str, text: &str) -> Result<f64, Problem> {
    let time = text.parse::<Nanos>().map_err(|error| Problem::new(option, error.to_string()))?;
    Ok(time.0 as f64 / 1e3)
}

/// Years after which a life is over that nothing else ends.
pub const YEARS_MAX: f64 = 100.0;

/// Deviations of pages and blocks that a life has by default. Together 0.29: the value at which a page a year old at 3000 cycles is lost as
/// often as drives of the field have days with an uncorrectable error (Schroeder et al., FAST 2016: 2 to 6 of 1000).
pub const SIGMA: (f64, f64) = (0.25, 0.15);

/// Drive writes a day that a life may have: with fewer, a stretch of it would last longer than any drive.
const DWPD: (f64, f64) = (0.01, 1000.0);

/// Standard deviations, and temperatures in degrees Celsius, that a life may have.
const SIGMAS: (f64, f64) = (0.0, 2.0);
const TEMPERATURES: (f64, f64) = (-40.0, 125.0);

/// Temperature of the drive and of the error model by default. Measured sets of TLC do not say at which temperature their stages of
/// retention were; JESD218 asks what is rated for an enterprise to keep its data for three months at this one.
pub const CELSIUS: f64 = 40.0;

impl Default for LifeSettings {
    fn default() -> Self {
        Self {
            dwpd: 1.0,
            years: None,
            epochs: 20,
            leaps: true,
            timed: 4,
            refresh_days: Some(30.0),
            class: CLASSES[1],
            read_p99_us: None,
            worn: (0.005, 4.0),
            rates: Rates { dies: 0.01, blocks: 0.2, rebuild_hours: 24.0 },
            sigma: SIGMA,
            celsius: (CELSIUS, CELSIUS),
        }
    }
}

/// A requirement, or the drive, that ended a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Years that were asked for are over; the drive lives.
    Years,
    /// Worn-out blocks leave no room: it is read-only.
    ReadOnly,
    /// UBER is above the limit of its class while it works.
    Uber,
    /// UBER would be above it after the time without power that its class asks for.
    Retention,
    /// Reads take longer than was asked for.
    ReadP99,
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
        }
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
        }
    }
}

/// Reads and writes of the workload at an age, replayed in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed {
    /// Reads.
    pub read: Latency,
    /// Writes.
    pub write: Latency,
    /// Reads of a page with other references, after its first read.
    pub retries: f64,
    /// Write amplification in time, which the map alone has to agree with.
    pub waf: f64,
    /// Host reads whose data differed from what was written: a defect of ours.
    pub mismatches: u64,
}

/// A drive at an age.
#[derive(Clone, Debug, PartialEq)]
pub struct Epoch {
    /// Years since its first write.
    pub years: f64,
    /// What the host has written, in multiples of the user capacity.
    pub drive_writes: f64,
    /// By how much `drive_writes` may be off, either way, because of leaps: half the difference between the sums with the write
    /// amplification before and after each.
    pub drive_writes_off: f64,
    /// Mean P/E cycles of a block, and those that 1 % and 99 % of blocks have at most.
    pub pe: [f64; 3],
    /// Write amplification.
    pub waf: f64,
    /// Of this, what refresh writes: by formula, not in the map.
    pub refreshed: f64,
    /// Logical pages programmed for each page of the host, by cause, without refresh.
    pub by_cause: [f64; Cause::ALL.len()],
    /// Blocks that have worn out.
    pub worn_blocks: u32,
    /// Flash of good blocks beyond the user capacity, as a share of that.
    pub over_provisioning: f64,
    /// Mean age of data in days.
    pub data_days: f64,
    /// Mean raw bit error rate with the default references, in the best read of the ladder, and the worst page's in that.
    pub rber: [f64; 3],
    /// Pages that their page code does not give back, of all the drive.
    pub unreadable: f64,
    /// Uncorrectable errors by bits read, of what the host reads: after the scheme's redundancy. One for each lost logical page.
    pub uber: f64,
    /// The same after the time without power of its class.
    pub uber_off: f64,
    /// Expected events of loss in a year, by cause.
    pub hazard: Hazard,
    /// Expected events of loss so far.
    pub losses: f64,
    /// The workload in time; where that was due.
    pub timed: Option<Timed>,
}

impl Epoch {
    /// Probability that data were lost by now; an upper bound, because events that come together count one by one.
    #[must_use]
    pub fn loss_probability(&self) -> f64 {
        -(-self.losses).exp_m1()
    }

    /// What Percentage Used of the SMART log reads (NVMe 2.0, 5.16.1.3): P/E cycles by those rated, at most 255.
    #[must_use]
    pub fn percentage_used(&self, rated: f64) -> u8 {
        (self.pe[0] / rated * 100.0).min(255.0) as u8
    }
}

/// A life under a scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeLife {
    /// The scheme.
    pub label: String,
    /// Ages in order; the first is of the new drive.
    pub epochs: Vec<Epoch>,
    /// What ended it.
    pub end: End,
    /// Blocks of the drive.
    pub blocks: u32,
    /// Drive writes by a straight line from the new drive: rated cycles of all flash, by its write amplification.
    pub straight_line: f64,
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
    /// What else it depends on.
    pub settings: LifeSettings,
    /// The workload.
    pub workload: String,
    /// Bytes that the host may use.
    pub user_bytes: u64,
    /// How commands come in timed runs.
    pub clock: String,
    /// In the order of the experiment's schemes.
    pub schemes: Vec<SchemeLife>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// How far a life has come: index of the scheme, years, and its P/E cycles by those rated.
pub type HearLife<'a> = &'a (dyn Fn(usize, f64, f64) + Sync);

/// Simulates the lives of a drive under all schemes of an experiment.
///
/// # Errors
/// Bad input: as [`crate::compare`]; an experiment with faults, or with an age, as lives have their own; a workload without writes.
pub fn life(experiment: &Experiment, settings: &LifeSettings, bench: &Bench<'_>, hear: HearLife<'_>) -> Result<Life, Problem> {
    let mut experiment = experiment.clone();
    check(&experiment, settings)?;
    experiment.payload = PayloadKind::Tag;
    (experiment.errors.page_sigma, experiment.errors.block_sigma) = settings.sigma;
    (experiment.errors.celsius, experiment.errors.reference_celsius) = settings.celsius;
    let workload = Workload::open(&experiment, &|_| {})?;
    if workload.facts().written_bytes == 0 {
        return Err(Problem::new("life", "the workload writes nothing; a life is measured in writes"));
    }
    if settings.read_p99_us.is_some() && workload.facts().reads == 0 {
        let text = "the workload reads nothing; valid is one with reads, such as generate.read_fraction=0.5";
        return Err(Problem::new("--read-p99", text));
    }
    workload.check_space(&experiment)?;
    let plan = crate::capacity::plan(&experiment, workload.touched())?;
    let map = workload.map(&experiment, plan.user_slots)?;
    let observe = Observe::Nothing;
    let runs =
        Runs { experiment: &experiment, bench, drives: None, observe, workload: &workload, plan: &plan, map: &map, before: 0 };
    let indices: Vec<usize> = (0..experiment.schemes.len()).collect();
    let new = in_parallel(bench.threads, indices.clone(), |index| drive::New::build(&runs, index))?;
    let clock = drive::clock(&runs, &new)?;
    let work: Vec<_> = indices.into_iter().zip(new).collect();
    let each = |(index, new)| drive::life(&drive::Lived { runs: &runs, settings, clock: &clock, hear }, index, new);
    let schemes = in_parallel(bench.threads, work, each)?;
    let slot = experiment.drive.geometry.slot_size.0;
    Ok(Life {
        settings: settings.clone(),
        workload: workload.facts().name.clone(),
        user_bytes: u64::from(plan.user_slots) * slot,
        clock: clock.said.clone(),
        notes: notes(&experiment, settings, &workload, plan.user_slots),
        schemes,
        experiment,
    })
}

/// Refuses what a life decides itself.
pub(crate) fn check(experiment: &Experiment, settings: &LifeSettings) -> Result<(), Problem> {
    let within = |name: &str, value: f64, (least, most): (f64, f64)| match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(Problem::new(name, format!("found {value}, valid are {least} to {most}"))),
    };
    let ((page_sigma, block_sigma), (celsius, reference_celsius)) = (settings.sigma, settings.celsius);
    for (name, value, valid) in [
        ("--dwpd", settings.dwpd, DWPD),
        ("--page-sigma", page_sigma, SIGMAS),
        ("--block-sigma", block_sigma, SIGMAS),
        ("--celsius", celsius, TEMPERATURES),
        ("--reference-celsius", reference_celsius, TEMPERATURES),
    ] {
        within(name, value, valid)?;
    }
    let Rates { dies, blocks, rebuild_hours } = settings.rates;
    for (name, rate) in [("--die-rate", dies), ("--block-rate", blocks), ("--rebuild-hours", rebuild_hours)] {
        if !(rate.is_finite() && rate >= 0.0) {
            return Err(Problem::new(name, format!("found {rate}, valid is a number from 0 on")));
        }
    }
    settings.refresh_days.map_or(Ok(()), |days| within("--refresh", days, (0.01, 365.0 * YEARS_MAX)))?;
    settings.years.map_or(Ok(()), |years| within("--years", years, (0.001, YEARS_MAX)))?;
    let (worn, exponent) = settings.worn;
    if !(worn > 0.0 && worn < 1.0) {
        return Err(Problem::new("--worn-at-rated", format!("found {worn}, valid is a share between 0 and 1")));
    }
    within("--wear-exponent", exponent, (0.2, 100.0))?;
    let (faults, age) = (&experiment.faults, &experiment.age);
    if faults.dead_die.is_some() || faults.uncorrectable_reads > 0.0 || faults.wear_out > 0.0 || faults.silent > 0.0 {
        return Err(Problem::new("faults", "a life has faults of its own; valid is an experiment without"));
    }
    let is_old = age.pe_cycles.0 > 0 || age.worn_blocks > 0.0 || age.pe_deviation > 0.0 || age.reads > 0 || age.retention.0 > 0;
    if is_old {
        return Err(Problem::new("age", "a life begins with a new drive; of `age` only `bad_blocks` is valid"));
    }
    if settings.epochs == 0 {
        return Err(Problem::new("--epochs", "found 0, valid is a number from 1 on"));
    }
    if settings.leaps && experiment.wear.static_threshold == 0 {
        let text =
            "0 lets the wear of blocks drift apart, which leaps cannot follow; valid are other thresholds, or --every-program";
        return Err(Problem::new("wear.static_threshold", text));
    }
    Ok(())
}

fn notes(experiment: &Experiment, settings: &LifeSettings, workload: &Workload, user_slots: u32) -> Vec<String> {
    let mut notes = experiment.left_out.clone();
    let touched = workload.touched() as f64 / f64::from(user_slots.max(1));
    if touched < 0.99 {
        notes.push(format!(
            "workload: it touches {} of what the host may use; the rest is cold data that age with the drive",
            crate::quantity::percent(touched)
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
    notes.push(
        "not in the model: controller, firmware and PLP capacitors, of which data sheets say 0.44 % of drives a year; scrub"
            .into(),
    );
    notes
}
