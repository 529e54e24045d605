//! The space of designs: axes with their values, and the experiment of each point.

use common::{Problem, printable};
use experiment::label::scheme_and_policy;
use experiment::{Document, Experiment, OptionText, OverProvisioning, Overrides, Size, Workload, check};
use ssd::protect::registry::{additions, scheme_of};
use std::collections::BTreeSet;
use vocab::Bytes;

/// Schemes of a space by default: all that are no canaries and no combinations, with one parity and with two.
pub const SCHEMES: [&str; 8] = ["none", "raid5", "ppc", "da-raid5", "ds-raid", "mds-groups", "mds-groups:m=2", "code-zones"];
/// Over-provisioning by default, of the user capacity.
pub const OVER_PROVISIONING: [&str; 7] = ["7%", "14%", "28%", "40%", "60%", "80%", "100%"];
/// Ages by default at which data are refreshed.
pub const REFRESH: [&str; 4] = ["30d", "90d", "365d", "none"];
/// Rates of LDPC by default, where the drive has LDPC.
const RATES: [&str; 3] = ["ldpc:rate=0.928", "ldpc:rate=0.901", "ldpc:rate=0.889"];

/// Points of a space at most.
pub const POINTS_MAX: usize = 200_000;
/// Values of an axis at most.
const VALUES_MAX: usize = 1000;

/// The part of a design that an axis changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// The scheme, with its options.
    Scheme,
    /// Flash beyond the user capacity.
    OverProvisioning,
    /// Page code: `POLICY[:option=value]..[/CODEWORD]`.
    Code,
    /// Age at which data are refreshed.
    Refresh,
    /// Interval of scrubs.
    Scrub,
    /// Any setting, by its path.
    Setting(String),
}

impl Key {
    fn of(text: &str) -> Self {
        match text {
            "scheme" | "schemes" => Key::Scheme,
            "op" | "over-provisioning" | "capacity.over_provisioning" => Key::OverProvisioning,
            "code" | "ecc" => Key::Code,
            "refresh" => Key::Refresh,
            "scrub" => Key::Scrub,
            path => Key::Setting(path.to_owned()),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Key::Scheme => "scheme",
            Key::OverProvisioning => "over-provisioning",
            Key::Code => "code",
            Key::Refresh => "refresh",
            Key::Scrub => "scrub",
            Key::Setting(path) => path,
        }
    }

    /// True if the axis changes how often flash is programmed and erased in the map. Other axes change the odds of bit errors, and the writes of
    /// refresh and reads of scrubs, which formulas add.
    fn is_wear(&self) -> bool {
        match self {
            Key::Scheme | Key::OverProvisioning => true,
            Key::Code | Key::Refresh | Key::Scrub => false,
            Key::Setting(path) => !path.starts_with("ecc.") && !path.starts_with("errors."),
        }
    }
}

/// An axis of the space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The part that it changes.
    pub key: Key,
    /// To what.
    pub values: Vec<String>,
}

/// A design: an index into the values of each axis.
pub type Point = Vec<usize>;

/// Designs to choose from.
#[derive(Clone, Debug)]
pub struct Space {
    /// The experiment that all designs share, with a user capacity of its own.
    pub base: Experiment,
    /// Axes.
    pub axes: Vec<Axis>,
    /// The base as text, which settings are laid upon.
    text: String,
}

impl Space {
    /// The space around an experiment: axes by default, of which `vary` replaces some and to which it adds others.
    ///
    /// # Errors
    /// An axis without values or with one twice, a scheme's option without the scheme, a space that is too large.
    pub fn new(base: Experiment, vary: &[(String, String)]) -> Result<Self, Problem> {
        let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        let code = if base.ecc.policy == "ldpc" { owned(&RATES) } else { vec![code_of(&base)] };
        let mut axes = vec![
            Axis { key: Key::Scheme, values: owned(&SCHEMES) },
            Axis { key: Key::OverProvisioning, values: owned(&OVER_PROVISIONING) },
            Axis { key: Key::Code, values: code },
            Axis { key: Key::Refresh, values: owned(&REFRESH) },
        ];
        let mut seen = BTreeSet::new();
        for (name, values) in vary {
            let axis = Axis { key: Key::of(name.trim()), values: values.split(',').map(|v| v.trim().to_owned()).collect() };
            let field = format!("--vary {}", printable(name));
            if !seen.insert(axis.key.name().to_owned()) {
                return Err(Problem::new(field, "found this axis twice, valid is once in `--vary` and `--fix` together"));
            }
            if let Key::Setting(path) = &axis.key
                && let Some((_, why)) = SHARED.iter().find(|(shared, _)| path.starts_with(shared))
            {
                return Err(Problem::new(field, format!("it cannot vary: {why}")));
            }
            let distinct: BTreeSet<&String> = axis.values.iter().collect();
            if axis.values.iter().any(String::is_empty) || distinct.len() < axis.values.len() {
                return Err(Problem::new(field, "wanted values, each once, separated by commas"));
            }
            if axis.values.len() > VALUES_MAX {
                return Err(Problem::new(field, format!("found {} values, at most {VALUES_MAX}", axis.values.len())));
            }
            match axes.iter_mut().find(|known| known.key == axis.key) {
                Some(known) => *known = axis,
                None => axes.push(axis),
            }
        }
        let space = Self { text: base.to_toml(), base, axes };
        space.check()?;
        Ok(space)
    }

    /// P/E cycles that the flash of a point is rated for.
    pub(super) fn rated(&self, at: &Point) -> u32 {
        self.experiment(at).map_or(self.base.drive.endurance.0, |experiment| experiment.drive.endurance.0)
    }

    fn check(&self) -> Result<(), Problem> {
        let grid = self.axes.iter().fold(1_usize, |points, axis| points.saturating_mul(axis.values.len()));
        if grid > POINTS_MAX {
            return Err(Problem::new("--vary", format!("the space has {grid} points, at most {POINTS_MAX} are looked at")));
        }
        for axis in &self.axes {
            for (number, value) in axis.values.iter().enumerate() {
                match axis.key {
                    Key::Refresh | Key::Scrub => drop(days_of(&axis.key, value)?),
                    Key::Setting(_) => {
                        let mut at = self.first();
                        at[self.index(&axis.key)] = number;
                        let labels = &self.axes[self.index(&Key::Scheme)].values;
                        let scheme = labels.iter().position(|label| self.matters(axis, label));
                        at[self.index(&Key::Scheme)] = scheme.unwrap_or(0);
                        self.laid(&at)?;
                    }
                    Key::OverProvisioning => drop(spare_of(value)?),
                    Key::Scheme | Key::Code => {}
                }
            }
            if let (Key::Setting(path), false) = (&axis.key, self.points_of(axis).any(|_| true)) {
                let message = format!("`{path}` is a setting of a scheme or code that no point has; `--vary scheme=` names them");
                return Err(Problem::new("--vary", message));
            }
        }
        // A point that is wrong whatever its other values are is bad input; one that does not fit the drive is not.
        for key in [Key::Scheme, Key::Code] {
            let axis = &self.axes[self.index(&key)];
            for number in 0..axis.values.len() {
                let mut at = self.first();
                at[self.index(&key)] = number;
                let mut experiment = self.laid(&at)?;
                self.lay(&mut experiment, &at)?;
                check::experiment(&experiment)?;
            }
        }
        Ok(())
    }

    fn first(&self) -> Point {
        vec![0; self.axes.len()]
    }

    fn index(&self, key: &Key) -> usize {
        self.axes.iter().position(|axis| axis.key == *key).expect("an axis of the space")
    }

    /// The value of an axis at a point.
    #[must_use]
    pub fn value(&self, at: &[usize], key: &Key) -> &str {
        let axis = self.index(key);
        &self.axes[axis].values[at[axis]]
    }

    /// Values of the scheme axis to which an axis makes a difference.
    fn points_of<'a>(&'a self, axis: &'a Axis) -> impl Iterator<Item = &'a String> {
        let schemes = &self.axes[self.index(&Key::Scheme)].values;
        schemes.iter().filter(move |label| self.matters(axis, label))
    }

    /// Whether an axis makes a difference to a scheme: options of one scheme or policy do to no other.
    fn matters(&self, axis: &Axis, label: &str) -> bool {
        let Key::Setting(path) = &axis.key else { return true };
        let name = scheme_and_policy(label).0;
        match path.split('.').collect::<Vec<_>>()[..] {
            ["scheme", scheme, _] => scheme_of(name) == scheme || additions(name).any(|one| one == scheme),
            _ => true,
        }
    }

    /// All designs, each once.
    #[must_use]
    pub fn points(&self) -> Vec<Point> {
        let mut points = vec![Vec::new()];
        for axis in &self.axes {
            let count = axis.values.len();
            points = points.into_iter().flat_map(|at: Point| (0..count).map(move |v| [&at[..], &[v]].concat())).collect();
        }
        let scheme = self.index(&Key::Scheme);
        let is_canonical = |at: &Point| {
            let label = &self.axes[scheme].values[at[scheme]];
            self.axes.iter().zip(at).all(|(axis, &value)| value == 0 || self.matters(axis, label))
        };
        points.retain(is_canonical);
        points
    }

    /// The base with the settings of a point, without its scheme, code and capacity.
    fn laid(&self, at: &[usize]) -> Result<Experiment, Problem> {
        let set = self.settings(at);
        if set.is_empty() {
            return Ok(self.base.clone());
        }
        let document = Document::parse("advise", &self.text)?;
        let experiment = Experiment::from_document(document, &Overrides { set, ..Overrides::default() })?;
        Ok(Experiment { left_out: self.base.left_out.clone(), ..experiment })
    }

    /// Settings of a point as `--set` takes them.
    #[must_use]
    pub fn settings(&self, at: &[usize]) -> Vec<String> {
        let axes = self.axes.iter().zip(at);
        let label = self.value(at, &Key::Scheme);
        let set = |(axis, &value): (&Axis, &usize)| match &axis.key {
            Key::Setting(path) if self.matters(axis, label) => Some(format!("{path}={}", axis.values[value])),
            _ => None,
        };
        axes.filter_map(set).collect()
    }

    /// The experiment of a point.
    ///
    /// # Errors
    /// Values that do not go together.
    pub fn experiment(&self, at: &[usize]) -> Result<Experiment, Problem> {
        let mut experiment = self.laid(at)?;
        self.lay(&mut experiment, at)?;
        check::experiment(&experiment)?;
        Ok(experiment)
    }

    fn lay(&self, experiment: &mut Experiment, at: &[usize]) -> Result<(), Problem> {
        experiment.schemes = vec![self.value(at, &Key::Scheme).to_owned()];
        experiment.capacity.over_provisioning = spare_of(self.value(at, &Key::OverProvisioning))?;
        let code = self.value(at, &Key::Code);
        let (policy, codeword) = code.split_once('/').map_or((code, None), |(policy, word)| (policy, Some(word)));
        let mut parts = policy.split(':');
        experiment.ecc.policy = parts.next().unwrap_or_default().trim().to_owned();
        for option in parts {
            let Some((name, value)) = option.split_once('=') else {
                let message = format!("found `{}`, wanted an option with its value, such as ldpc:rate=0.901", printable(option));
                return Err(Problem::new("--vary code", message));
            };
            let options = experiment.ecc.options.entry(experiment.ecc.policy.clone()).or_default();
            options.insert(name.trim().to_owned(), OptionText(value.trim().to_owned()));
        }
        if let Some(word) = codeword {
            experiment.ecc.codeword = word.trim().to_owned();
        }
        Ok(())
    }

    /// Days after which a point refreshes data; `None`: never.
    ///
    /// # Panics
    /// Never: values were checked.
    #[must_use]
    pub fn refresh_days(&self, at: &[usize]) -> Option<f64> {
        days_of(&Key::Refresh, self.value(at, &Key::Refresh)).expect("checked when the space was made")
    }

    /// Interval of the scrubs of a point, as the axis has it: `none` where there is no such axis.
    #[must_use]
    pub fn scrub(&self, at: &[usize]) -> &str {
        let axis = self.axes.iter().position(|axis| axis.key == Key::Scrub);
        axis.map_or(NEVER, |axis| &self.axes[axis].values[at[axis]])
    }

    /// Days between two scrubs of a point; `None`: there are none.
    ///
    /// # Panics
    /// Never: values were checked.
    #[must_use]
    pub fn scrub_days(&self, at: &[usize]) -> Option<f64> {
        days_of(&Key::Scrub, self.scrub(at)).expect("checked when the space was made")
    }

    /// Points with the same key wear alike but for refresh: they share a look at the new drive.
    #[must_use]
    pub fn wear_class(&self, at: &[usize]) -> Point {
        self.axes.iter().zip(at).map(|(axis, &value)| if axis.key.is_wear() { value } else { 0 }).collect()
    }

    /// Points with the same key differ in over-provisioning, code, refresh and scrub alone.
    #[must_use]
    pub fn family(&self, at: &[usize]) -> Point {
        let is_same = |key: &Key| key.is_wear() && *key != Key::OverProvisioning;
        self.axes.iter().zip(at).map(|(axis, &value)| if is_same(&axis.key) { value } else { 0 }).collect()
    }

    /// A point in words: those of its values that other points have otherwise, and its scheme.
    #[must_use]
    pub fn name(&self, at: &[usize]) -> String {
        let label = self.value(at, &Key::Scheme);
        let mut words = vec![experiment::label::shown(label).to_owned()];
        for (axis, &value) in self.axes.iter().zip(at).filter(|(axis, _)| axis.values.len() > 1 && self.matters(axis, label)) {
            let value = &axis.values[value];
            match &axis.key {
                Key::Scheme => {}
                Key::OverProvisioning => words.push(format!("{value} over-provisioning")),
                Key::Code => words.push(value.replace(":rate=", " ")),
                Key::Refresh | Key::Scrub if value == NEVER => words.push(format!("no {}", axis.key.name())),
                Key::Refresh | Key::Scrub => words.push(format!("{} {value}", axis.key.name())),
                Key::Setting(path) => words.push(format!("{}={value}", path.rsplit('.').next().unwrap_or(path))),
            }
        }
        words.join(", ")
    }

    /// The axes with their sizes, for readers.
    #[must_use]
    pub fn words(&self) -> String {
        let axis = |axis: &Axis| format!("{} {}", axis.values.len(), axis.key.name());
        self.axes.iter().map(axis).collect::<Vec<_>>().join(" x ")
    }
}

/// The page code of an experiment as the axis has it.
fn code_of(experiment: &Experiment) -> String {
    let options = experiment.ecc.options.get(&experiment.ecc.policy).into_iter().flatten();
    let options: String = options.map(|(name, value)| format!(":{name}={}", value.0)).collect();
    format!("{}{options}", experiment.ecc.policy)
}

fn spare_of(text: &str) -> Result<OverProvisioning, Problem> {
    text.parse().map_err(|message: String| Problem::new("axis over-provisioning", message))
}

/// Settings that no axis may have: those of the question, which all designs share, and those that another axis or option sets.
const SHARED: [(&str, &str); 15] = [
    ("trace.", "the workload is that of the question"),
    ("generate.", "the workload is that of the question"),
    ("seed", "--seeds says how many seeds are looked at"),
    ("schemes", "the axis is `scheme`"),
    ("capacity.", "the user capacity is that of the question; its axis is `over-provisioning`"),
    ("faults.", "a life has faults of its own"),
    ("age.", "a life begins with a new drive"),
    ("drive.preset", "--drive names it, and designs share it"),
    ("drive.geometry.", "designs share the geometry of the drive"),
    ("drive.timing.unit", "designs share the geometry of the drive"),
    ("ecc.policy", "the axis is `code`"),
    ("errors.page_sigma", "corners of the model look at it; --page-sigma sets it"),
    ("errors.block_sigma", "corners of the model look at it; --block-sigma sets it"),
    ("errors.persistent", "--redrawn-errors turns it off"),
    ("errors.celsius", "--celsius sets it"),
];

/// The value of an axis of days for: never.
const NEVER: &str = "none";

/// Days after which a life refreshes or scrubs data at least and at most.
const DAYS: (f64, f64) = (0.01, 36_500.0);

/// Days of a value of the refresh or scrub axis.
fn days_of(key: &Key, text: &str) -> Result<Option<f64>, Problem> {
    if text == NEVER {
        return Ok(None);
    }
    let axis = format!("axis {}", key.name());
    let days = crate::life::micros_of(&axis, text)? / 86_400e6;
    if !(DAYS.0..=DAYS.1).contains(&days) {
        let message = format!("found {}, valid are {NEVER} and {} to {} days", printable(text), DAYS.0, DAYS.1);
        return Err(Problem::new(axis, message));
    }
    Ok(Some(days))
}

/// The experiment that all designs share: the user capacity is that of the drive as it is asked for, whatever the over-provisioning of a
/// design, and a recording keeps the addresses that it has there.
///
/// # Errors
/// As [`experiment::plan`].
pub(super) fn settled(experiment: &Experiment, workload: &Workload) -> Result<Experiment, Problem> {
    let mut base = experiment.clone();
    base.schemes = vec!["none".into()];
    let plan = experiment::plan(&base, workload.touched())?;
    if base.capacity.size == Size::Auto && !experiment::workload::is_drawn(&base) {
        base.trace.addresses = experiment::Addresses::Compact;
    }
    base.capacity.size = Size::User(Bytes(u64::from(plan.user_slots) * base.drive.geometry.slot_size.0));
    base.seeds = 1;
    Ok(base)
}
