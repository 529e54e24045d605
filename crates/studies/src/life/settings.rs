//! Settings of a life beside its experiment.

use super::loss::Rates;
use super::options::number_of;
use super::phases::AskedPhase;
use common::Problem;
use experiment::Experiment;
use std::ops::RangeInclusive;
use vocab::{Bytes, Nanos};

/// Class of a drive by JESD218: its limit on UBER, and the retention without power at its end.
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

impl Class {
    /// The class of this name.
    ///
    /// # Errors
    /// An unknown name, which stands in `field`.
    pub fn named(field: &str, name: &str) -> Result<Self, Problem> {
        let known = CLASSES.map(|class| class.name);
        CLASSES.into_iter().find(|class| class.name == name).ok_or_else(|| Problem::unknown(field, "class", name, &known))
    }
}

/// Settings of a life beside the experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct LifeSettings {
    /// Drive writes of the host a day.
    pub dwpd: f64,
    /// Years after which it is over; `None`: when the drive ends, or after [`YEARS_MAX`].
    pub years: Option<f64>,
    /// Ages up to the rated P/E cycles, 1 to 1000; later ones are as far apart, or closer.
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
    /// Whether the bit errors of a page are drawn at each read, and not once for each program, so that a page that cannot be read stays so.
    pub redrawn_errors: bool,
    /// Temperature of the drive in degrees Celsius, and the one that times of the error model are meant at.
    pub celsius: (f64, f64),
    /// Whether each number that is not known well is also varied, alone ([`super::PARAMETERS`]).
    pub tornado: bool,
    /// Days in which all data are read once and what cannot be read is written again; `None`: never.
    pub scrub_days: Option<f64>,
    /// Bytes for the host of the drive that this one stands for; `None`: itself.
    pub represents: Option<u64>,
    /// Phases of the calendar, again and again; empty: one, as the other settings say.
    pub phases: Vec<AskedPhase>,
    /// Years at which a die dies, in ascending order: the last one, then the one before.
    pub die_dies: Vec<f64>,
    /// Spare dies, which take the places of the first dies that die at these ages.
    pub spare_dies: u32,
}

impl LifeSettings {
    /// Applies the settings that an experiment has, too.
    pub(crate) fn vary(&self, experiment: &mut Experiment) {
        experiment.errors.persistent = !self.redrawn_errors;
        (experiment.errors.page_sigma, experiment.errors.block_sigma) = self.sigma;
        (experiment.errors.celsius, experiment.errors.reference_celsius) = self.celsius;
    }

    /// The years within which loss is told.
    #[must_use]
    pub fn told_years(&self) -> f64 {
        self.years.map_or(SOLD_FOR, |years| years.min(SOLD_FOR))
    }
}

/// Years within which loss is told at most: what drives are sold for.
const SOLD_FOR: f64 = 5.0;

/// Microseconds of a time as an option says it, such as 500us.
///
/// # Errors
/// A text that is no time.
pub fn micros_of(option: &str, text: &str) -> Result<f64, Problem> {
    let time = text.parse::<Nanos>().map_err(|error| Problem::new(option, error.to_string()))?;
    Ok(time.0 as f64 / 1e3)
}

/// Days of a time as an option says it, such as 30d; `none`: never.
///
/// # Errors
/// A text that is neither.
pub fn days_of(option: &str, text: &str) -> Result<Option<f64>, Problem> {
    if text == "none" { Ok(None) } else { Ok(Some(micros_of(option, text)? / 86_400e6)) }
}

/// Bytes of a size as an option says it, such as 3.84TB.
///
/// # Errors
/// A text that is no size.
pub fn bytes_of(option: &str, text: &str) -> Result<u64, Problem> {
    let size = text.parse::<Bytes>().map_err(|error| Problem::new(option, error.to_string()))?;
    if size.0 == 0 { Err(Problem::new(option, "found 0, valid is a size such as 3.84TB")) } else { Ok(size.0) }
}

/// Years after which a life is over that nothing else ends.
pub const YEARS_MAX: f64 = 100.0;

/// Deviations of pages and blocks that a life has by default. Together 0.29: the value at which a page a year old at 3000 cycles is lost as
/// often as drives of the field have days with an uncorrectable error (Schroeder et al., FAST 2016: 2 to 6 of 1000).
pub const SIGMA: (f64, f64) = (0.25, 0.15);

/// Drive writes a day that a life may have: with fewer, a stretch of it would last longer than any drive.
const DWPD: (f64, f64) = (0.01, 1000.0);

/// Limits on UBER that a life may have; the last of them ends no life.
const UBER: (f64, f64) = (1e-30, 1.0);

/// Ages, and timed runs, until the rated P/E cycles at most: each keeps its figures.
const AGES_MAX: u32 = 1000;

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
            redrawn_errors: false,
            celsius: (CELSIUS, CELSIUS),
            tornado: false,
            scrub_days: None,
            represents: None,
            phases: Vec::new(),
            die_dies: Vec::new(),
            spare_dies: 0,
        }
    }
}

/// Refuses a count that its option does not take.
pub(crate) fn check_count(option: &str, found: u32, valid: RangeInclusive<u32>) -> Result<(), Problem> {
    if valid.contains(&found) {
        return Ok(());
    }
    Err(Problem::new(option, format!("found {found}, valid are whole numbers from {} to {}", valid.start(), valid.end())))
}

/// Years as an option says them, with commas between them.
///
/// # Errors
/// A text that has none, or something else.
pub fn years_of(option: &str, text: &str) -> Result<Vec<f64>, Problem> {
    text.split(',').map(|years| number_of(option, years.trim())).collect()
}

/// Refuses deaths of dies that a drive of this many dies cannot have in these years.
fn check_deaths(settings: &LifeSettings, dies: u32) -> Result<(), Problem> {
    let (deaths, most) = (&settings.die_dies, settings.years.unwrap_or(YEARS_MAX));
    let fail = |message: String| Err(Problem::new("--die-dies", message));
    if let Some(found) = deaths.iter().find(|years| !(**years >= 0.0 && **years < most)) {
        return fail(format!("found {found}, valid are years from 0 to below {most}, the years of the life"));
    }
    if let Some(pair) = deaths.windows(2).find(|pair| pair[0] >= pair[1]) {
        return fail(format!("found {} after {}, valid are years in ascending order", pair[1], pair[0]));
    }
    if deaths.len() >= dies as usize {
        let found = deaths.len();
        return fail(format!("found {found} deaths on a drive of {dies} dies, valid are at most {}", dies - 1));
    }
    if settings.spare_dies as usize > deaths.len() {
        let (found, deaths) = (settings.spare_dies, deaths.len());
        let text = format!("found {found}, valid are 0 to {deaths}, as many as dies die (--die-dies)");
        return Err(Problem::new("--spare-dies", text));
    }
    Ok(())
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
    let warm_phase = settings.phases.iter().find(|phase| !phase.is_off && phase.celsius.is_some());
    let fixed =
        [("errors.read_celsius", experiment.errors.read_celsius), ("errors.program_celsius", experiment.errors.program_celsius)];
    if let (Some(_), Some((field, Some(found)))) = (warm_phase, fixed.into_iter().find(|(_, celsius)| celsius.is_some())) {
        let text = format!("found {found}, and --phases has temperatures of its own; valid is one of both");
        return Err(Problem::new(field, text));
    }
    settings.check_phases(DWPD.0..=DWPD.1, TEMPERATURES.0..=TEMPERATURES.1)?;
    let Rates { dies, blocks, rebuild_hours } = settings.rates;
    for (name, rate) in [("--die-rate", dies), ("--block-rate", blocks), ("--rebuild-hours", rebuild_hours)] {
        if !(rate.is_finite() && rate >= 0.0) {
            return Err(Problem::new(name, format!("found {rate}, valid is a number from 0 on")));
        }
    }
    within("--uber", settings.class.uber, UBER)?;
    settings.refresh_days.map_or(Ok(()), |days| within("--refresh", days, (0.01, 365.0 * YEARS_MAX)))?;
    settings.scrub_days.map_or(Ok(()), |days| within("--scrub", days, (0.01, 365.0 * YEARS_MAX)))?;
    settings.years.map_or(Ok(()), |years| within("--years", years, (0.001, YEARS_MAX)))?;
    let (worn, exponent) = settings.worn;
    if !(worn > 0.0 && worn < 1.0) {
        return Err(Problem::new("--worn-at-rated", format!("found {worn}, valid is a share between 0 and 1")));
    }
    within("--wear-exponent", exponent, (0.2, 100.0))?;
    check_deaths(settings, experiment.drive.geometry.dies())?;
    let (faults, age) = (&experiment.faults, &experiment.age);
    if faults.dead_die.is_some() || faults.uncorrectable_reads > 0.0 || faults.wear_out > 0.0 || faults.silent > 0.0 {
        return Err(Problem::new("faults", "a life has faults of its own; valid is an experiment without"));
    }
    let is_old = age.pe_cycles.0 > 0 || age.worn_blocks > 0.0 || age.pe_deviation > 0.0 || age.reads > 0 || age.retention.0 > 0;
    if is_old {
        return Err(Problem::new("age", "a life begins with a new drive; of `age` only `bad_blocks` is valid"));
    }
    check_count("--epochs", settings.epochs, 1..=AGES_MAX)?;
    check_count("--timed", settings.timed, 0..=AGES_MAX)?;
    if settings.leaps && experiment.wear.static_threshold == 0 {
        let text =
            "0 lets the wear of blocks drift apart, which leaps cannot follow; valid are other thresholds, or --every-program";
        return Err(Problem::new("wear.static_threshold", text));
    }
    Ok(())
}
