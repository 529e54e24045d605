//! The verdict of a comparison: the failures that each scheme survives, what it costs against the baseline, and which to
//! take. It is made once, from the results; terminal, HTML, JSON and Python show it.

mod costs;
mod standing;
#[cfg(test)]
mod tests;
pub(crate) mod words;

use crate::cautions::late_share;
use crate::interval::{Interval, Ratio};
use crate::outcome::Outcome;
pub(crate) use costs::measure;
pub use costs::{Better, Costs, MEASURES, Measure};
use experiment::{Caution, Experiment};
pub use standing::{PowerCuts, Survives};

/// Verdict on one scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeVerdict {
    /// The scheme, as the experiment names it.
    pub scheme: String,
    /// The failures that it survives at the end of its run.
    pub survives: Survives,
    /// Its costs.
    pub costs: Costs,
    /// Its costs over those of the baseline, in the order of [`MEASURES`]; `None` where one of them is missing or cannot be
    /// compared.
    pub ratios: Vec<Option<f64>>,
    /// Why its run cannot be compared with others, each in a few words; empty where it can.
    pub not_comparable: Vec<&'static str>,
    /// A compared scheme that survives no less, costs no more in anything and less in something.
    pub dominated_by: Option<String>,
    /// Share of its reads and writes that waited behind a backlog of more than a second, where that is worth a caution.
    pub late_share: Option<f64>,
    /// Share of the time of all latencies that the slowest 1 % of reads and of writes took; `None` where no one watched.
    pub stalled_share: Option<f64>,
    /// All of that in a sentence or two.
    pub sentence: String,
    /// Where the comparison was repeated: the intervals. Costs above are then means, ratios those of geometric means, and
    /// what is survived is that of the seed under which it is least.
    pub over: Option<OverSeeds>,
}

impl SchemeVerdict {
    /// Whether its run can be compared with those of other schemes.
    #[must_use]
    pub fn is_comparable(&self) -> bool {
        self.not_comparable.is_empty()
    }

    /// A cost as text, in the unit that fits; with the half-width of its interval where there is one.
    #[must_use]
    pub fn shown(&self, measure: &Measure) -> String {
        let shown = match self.over.as_ref().and_then(|over| over.cost(measure)) {
            Some(interval) => interval.show(measure.quantity),
            None => match (measure.of)(&self.costs) {
                Some(value) => measure.quantity.show(value),
                None => return "-".into(),
            },
        };
        // No number that bears nothing stands there as if it did.
        if measure.may_judge(&self.costs) { shown } else { format!("{shown} !") }
    }

    /// The ratio of a cost, by its place in [`MEASURES`], to that of the baseline as text, with its interval where there is one.
    #[must_use]
    pub fn times(&self, index: usize) -> Option<String> {
        match self.over.as_ref().and_then(|over| over.ratios[index]) {
            Some(ratio) => Some(format!("{} x", common::quantity::ratio_span(ratio.low, ratio.high))),
            None => self.ratios[index].map(common::quantity::times),
        }
    }

    /// Why it cannot be compared, in one line; `None`: it can.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let under = self.over.as_ref().map_or(String::new(), |over| format!(", under {} of {} seeds", over.apart, over.seeds));
        (!self.is_comparable()).then(|| format!("{}{under}", self.not_comparable.join(", ")))
    }
}

/// The costs of a scheme over several seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct OverSeeds {
    /// How many seeds.
    pub seeds: usize,
    /// Under this many of them its run cannot be compared with those of other schemes.
    pub apart: usize,
    /// Its costs with their intervals, in the order of [`MEASURES`]; `None` where one is missing under a seed.
    pub costs: Vec<Option<Interval>>,
    /// Their ratios to those of the baseline, paired by seed; `None` where one is missing or cannot be compared.
    pub ratios: Vec<Option<Ratio>>,
}

impl OverSeeds {
    /// A cost with its interval.
    #[must_use]
    pub fn cost(&self, measure: &Measure) -> Option<Interval> {
        self.costs[costs::measure(measure.key).0]
    }
}

/// The verdict of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Which scheme to take, in sentences.
    pub answer: Vec<String>,
    /// Reference of costs: `none`, or the first scheme that can be compared; `None`: no scheme can.
    pub baseline: Option<String>,
    /// The schemes, in the experiment's order.
    pub schemes: Vec<SchemeVerdict>,
}

impl Verdict {
    /// Whether no scheme is marked as not comparable.
    #[must_use]
    pub fn is_comparable(&self) -> bool {
        self.schemes.iter().all(SchemeVerdict::is_comparable)
    }

    /// The verdict on these outcomes, of which `cautions` were found.
    pub(crate) fn of(experiment: &Experiment, outcomes: &[Outcome], cautions: &[Caution]) -> Self {
        let one = |outcome: &Outcome| {
            let own = cautions.iter().filter(|caution| caution.scheme.as_ref() == Some(&outcome.label));
            SchemeVerdict {
                scheme: outcome.label.clone(),
                survives: Survives::of(experiment, outcome),
                costs: Costs::of(experiment, outcome, own.clone().any(|caution| caution.kind == crate::bearing::KIND)),
                ratios: vec![None; MEASURES.len()],
                not_comparable: own.clone().filter_map(|caution| caution.not_comparable).collect(),
                dominated_by: None,
                late_share: own.clone().any(|caution| caution.kind == "late").then(|| late_share(&outcome.result)),
                stalled_share: crate::waits::stalled_share(outcome.result.waits.as_ref()),
                sentence: crate::waits::sentence(outcome.result.waits.as_ref()),
                over: None,
            }
        };
        let mut verdict = Self::judge(outcomes.iter().map(one).collect());
        verdict.answer.extend(words::stalls(&verdict.schemes));
        verdict.answer.extend(words::gap(cautions));
        verdict
    }

    /// Fills in what depends on the other schemes, and the words.
    fn judge(mut schemes: Vec<SchemeVerdict>) -> Self {
        let comparable: Vec<SchemeVerdict> = schemes.iter().filter(|verdict| verdict.is_comparable()).cloned().collect();
        let baseline = baseline(&comparable);
        for verdict in schemes.iter_mut().filter(|verdict| verdict.is_comparable()) {
            let ratio = |measure: &Measure| {
                let (own, base) = (measure.judged(&verdict.costs)?, measure.judged(&baseline?.costs)?);
                (base > 0.0).then_some(own / base)
            };
            verdict.ratios = MEASURES.iter().map(ratio).collect();
            let better = comparable.iter().find(|other| other.scheme != verdict.scheme && dominates(other, verdict));
            verdict.dominated_by = better.map(|other| other.scheme.clone());
        }
        let baseline = baseline.map(|verdict| verdict.scheme.clone());
        for verdict in &mut schemes {
            let costs = words::sentence(verdict, baseline.as_deref());
            verdict.sentence = format!("{costs} {}", verdict.sentence).trim_end().to_owned();
        }
        Self { answer: words::answer(&schemes, baseline.as_deref(), &is_better, Seeded::Once), baseline, schemes }
    }

    /// Title of a cost in reports: a life says of how much flash it is.
    #[must_use]
    pub fn title(&self, measure: &Measure) -> String {
        let sizes = || self.schemes.iter().map(|verdict| verdict.costs.flash_bytes);
        match (sizes().min(), sizes().max()) {
            (Some(least), Some(most)) => measure.title_of(least, most),
            _ => measure.title.into(),
        }
    }

    /// Verdict on a scheme.
    #[must_use]
    pub fn of_scheme(&self, label: &str) -> Option<&SchemeVerdict> {
        self.schemes.iter().find(|verdict| verdict.scheme == label)
    }
}

/// How often a comparison was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seeded {
    /// Under one seed: an equivalence band tells costs apart.
    Once,
    /// Under several: intervals do.
    Often,
}

/// Reference of costs.
pub(crate) fn baseline(schemes: &[SchemeVerdict]) -> Option<&SchemeVerdict> {
    let comparable = || schemes.iter().filter(|verdict| verdict.is_comparable());
    comparable().find(|verdict| verdict.scheme == "none").or_else(|| comparable().next())
}

/// Costs that differ by less than this share count as equal where there is one seed: most of what chance makes of them stays below.
const EQUIVALENCE_BAND: f64 = 0.03;

/// Whether a cost of `one` is better than that of `other` by more than the equivalence band, and by more than both may be off. `None` where
/// one of them lacks it.
fn is_lower(measure: &Measure, one: &Costs, other: &Costs, of: impl Fn(&Costs) -> Option<f64>) -> Option<bool> {
    let band = EQUIVALENCE_BAND.max(measure.off(one).hypot(measure.off(other)));
    let (own, others) = of(one).zip(of(other))?;
    Some(match measure.better {
        Better::Less => own < others * (1.0 - band),
        Better::More => others < own * (1.0 - band),
    })
}

/// Whether a cost of one scheme is better than that of another by more than the equivalence band.
fn is_better(one: &SchemeVerdict, other: &SchemeVerdict, measure: &Measure) -> bool {
    is_lower(measure, &one.costs, &other.costs, |costs| measure.judged(costs)).unwrap_or(false)
}

/// Whether a scheme survives no less than another, costs no more in anything, and is better in something, each beyond the equivalence
/// band. Where one of them lacks a figure, that figure says nothing.
fn dominates(one: &SchemeVerdict, other: &SchemeVerdict) -> bool {
    let (survives_no_less, mut is_better) = one.survives.against(&other.survives);
    // Of a run that is too short no one knows what it would take.
    if !survives_no_less || one.costs.unborne || other.costs.unborne {
        return false;
    }
    for measure in MEASURES.iter().filter(|measure| measure.decides) {
        if is_lower(measure, &other.costs, &one.costs, measure.of).unwrap_or(false) {
            return false;
        }
        is_better |= is_lower(measure, &one.costs, &other.costs, measure.of).unwrap_or(false);
    }
    is_better
}
