//! How much an end and a loss depend on numbers that are not known well: each goes to a low and to a high value, alone, under the first
//! seed.

use super::{End, LifeSettings, SchemeLife};
use experiment::Experiment;

/// A number that lives depend on.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// Its name in tables of data.
    pub key: &'static str,
    /// Its name for readers, with its unit.
    pub name: &'static str,
    /// Its low and its high value.
    pub ends: [f64; 2],
    /// Where these come from.
    pub source: &'static str,
    /// The value of the lives beside; `None`: it has no part in them.
    usual: fn(&LifeSettings, &Experiment) -> Option<f64>,
    set: fn(&mut LifeSettings, &mut Experiment, f64),
}

impl std::fmt::Debug for Parameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.key, self.ends)
    }
}

impl PartialEq for Parameter {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

/// Where there are bit errors.
fn with_errors(experiment: &Experiment, value: f64) -> Option<f64> {
    (experiment.errors.model != "none").then_some(value)
}

/// Pages and blocks together vary by so much.
fn set_sigma(settings: &mut LifeSettings, sigma: f64) {
    let (pages, blocks) = settings.sigma;
    let together = pages.hypot(blocks);
    settings.sigma = if together > 0.0 { (pages * sigma / together, blocks * sigma / together) } else { (sigma, 0.0) };
}

/// Parameters that are varied, with their ranges.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "sigma",
        name: "sigma of pages and blocks together",
        ends: [0.0, 0.5],
        source: "no data sheet states it; at 0.3 a page is lost as often as drives of the field have errors",
        usual: |settings, experiment| with_errors(experiment, settings.sigma.0.hypot(settings.sigma.1)),
        set: |settings, _, sigma| set_sigma(settings, sigma),
    },
    Parameter {
        key: "activation_ev",
        name: "activation energy, eV",
        ends: [0.6, 1.1],
        source: "1.1 in JESD218; reports of charge loss through defects go down to 0.6",
        // Where every temperature is that of the error model it changes nothing.
        usual: |settings, experiment| {
            let is_used = |celsius: f64| celsius != settings.celsius.1;
            let any = is_used(settings.class.off_celsius) || settings.calendar().iter().any(|phase| is_used(phase.celsius()));
            with_errors(experiment, experiment.errors.activation_ev).filter(|_| any)
        },
        set: |_, experiment, energy| experiment.errors.activation_ev = energy,
    },
    Parameter {
        key: "celsius",
        name: "temperature of the drive, C",
        ends: [30.0, 55.0],
        source: "55 C is the active use of JESD218's enterprise class, 30 C the storage of its client class",
        usual: |settings, experiment| with_errors(experiment, settings.celsius_in_use()?),
        set: |settings, _, celsius| settings.set_celsius_in_use(celsius),
    },
    Parameter {
        key: "refresh_days",
        name: "age of refresh, days",
        ends: [7.0, 90.0],
        source: "a choice: a week, or three months",
        usual: |settings, _| settings.refresh_days,
        set: |settings, _, days| settings.refresh_days = Some(days),
    },
    Parameter {
        key: "die_rate",
        name: "dies lost, by drive and year",
        ends: [0.0051, 0.0181],
        source: "2 to 7 % of drives in four years (Schroeder et al., FAST 2016)",
        usual: |settings, _| Some(settings.rates.dies),
        set: |settings, _, rate| settings.rates.dies = rate,
    },
    Parameter {
        key: "block_rate",
        name: "blocks lost, by drive and year",
        ends: [0.09, 0.4],
        source: "30 to 80 % of drives in four years (the same)",
        usual: |settings, _| Some(settings.rates.blocks),
        set: |settings, _, rate| settings.rates.blocks = rate,
    },
    Parameter {
        key: "worn_at_rated",
        name: "blocks worn out at the rated cycles, share",
        ends: [0.001, 0.02],
        source: "2 % is what vendors promise at most; the median drive has 2 to 4 bad blocks (the same)",
        usual: |settings, _| Some(settings.worn.0),
        set: |settings, _, share| settings.worn.0 = share,
    },
    Parameter {
        key: "wear_exponent",
        name: "exponent of wear",
        ends: [3.0, 6.0],
        source: "from memory of the literature",
        usual: |settings, _| Some(settings.worn.1),
        set: |settings, _, exponent| settings.worn.1 = exponent,
    },
];

/// One life with a parameter at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The requirement, or the drive, that ended it.
    pub end: End,
    /// Its years.
    pub years: f64,
    /// Writes of the host, in drive writes.
    pub drive_writes: f64,
    /// Expected events of loss within the years that are asked for, or until its end where that comes first.
    pub losses: f64,
}

impl Outcome {
    /// The end of a life, and its loss within these years.
    #[must_use]
    pub fn of(life: &SchemeLife, years: f64) -> Self {
        let last = life.last();
        let losses = life.losses_after(years).unwrap_or(last.losses);
        Self { end: life.end, years: last.years, drive_writes: last.drive_writes, losses }
    }
}

/// The life of a scheme with a parameter at both of its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Swing {
    /// Index of the scheme.
    pub scheme: usize,
    /// The parameter.
    pub parameter: Parameter,
    /// Its value in the life beside.
    pub usual: f64,
    /// The life with its low and its high value.
    pub ends: [Outcome; 2],
}

impl Swing {
    /// By how many factors of e the loss moves, and by which share the years do.
    #[must_use]
    pub fn width(&self) -> (f64, f64) {
        let [low, high] = &self.ends;
        let tiny = f64::MIN_POSITIVE;
        (
            (low.losses.max(tiny) / high.losses.max(tiny)).ln().abs(),
            (low.years - high.years).abs() / low.years.max(high.years).max(tiny),
        )
    }
}

/// A parameter at one of its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub parameter: Parameter,
    /// Of its [`Parameter::ends`].
    pub end: usize,
}

impl Change {
    /// The settings and the experiment with it. The workload is not replayed in time, unless the end depends on it.
    pub fn applied(&self, settings: &LifeSettings, experiment: &Experiment) -> (LifeSettings, Experiment) {
        let (mut settings, mut experiment) = (settings.clone(), experiment.clone());
        (self.parameter.set)(&mut settings, &mut experiment, self.parameter.ends[self.end]);
        settings.timed = 0;
        settings.vary(&mut experiment);
        (settings, experiment)
    }
}

/// The parameters that have a part in these lives, with their values there.
pub(super) fn varied(settings: &LifeSettings, experiment: &Experiment) -> Vec<(Parameter, f64)> {
    PARAMETERS.iter().filter_map(|parameter| Some((*parameter, (parameter.usual)(settings, experiment)?))).collect()
}

/// The changes among them: an end that is the usual value changes nothing.
pub(super) fn changes(settings: &LifeSettings, experiment: &Experiment) -> Vec<Change> {
    let ends = |(parameter, usual): (Parameter, f64)| {
        (0..2).filter(move |&end| parameter.ends[end] != usual).map(move |end| Change { parameter, end })
    };
    varied(settings, experiment).into_iter().flat_map(ends).collect()
}
