//! The verdict on a comparison that was repeated under several seeds: nothing is said that the intervals do not show.

use crate::comparison::Seeds;
use crate::interval::{Paired, Ratio};
use crate::outcome::Outcome;
use crate::verdict::{
    Better, Costs, MEASURES, Measure, OverSeeds, SchemeVerdict, Seeded, Survives, Verdict, baseline, measure, words,
};
use common::quantity::{ratio_span, span};
use common::table::listed;

/// Result of comparing a cost of one scheme with that of another by intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Better,
    Worse,
    /// The same under every seed.
    Equal,
    /// The interval includes no difference.
    Nothing,
}

fn shown(measure: &Measure, paired: &Paired) -> Shown {
    let Paired { difference, ratio } = paired;
    // Below zero and above zero, of the difference or of the logarithm of the ratio.
    let (is_less, is_more) = match ratio {
        Some(ratio) => (ratio.high < 1.0, ratio.low > 1.0),
        None => (difference.high() < 0.0, difference.low() > 0.0),
    };
    match (is_less, is_more, measure.better) {
        (true, _, Better::Less) | (_, true, Better::More) => Shown::Better,
        (true, ..) | (_, true, _) => Shown::Worse,
        _ if difference.mean == 0.0 && difference.half_width == 0.0 => Shown::Equal,
        _ => Shown::Nothing,
    }
}

/// The verdict on all repetitions.
pub(crate) fn over(seeds: &Seeds) -> Verdict {
    let count = seeds.repetitions()[0].outcomes.len();
    let mut schemes: Vec<SchemeVerdict> = (0..count).map(|scheme| joined(seeds, scheme)).collect();
    let base = baseline(&schemes).map(|base| base.scheme.clone());
    let base_at = base.as_ref().and_then(|base| schemes.iter().position(|one| one.scheme == *base));
    let comparable: Vec<usize> = (0..count).filter(|&scheme| schemes[scheme].is_comparable()).collect();
    for &scheme in &comparable {
        let ratios: Vec<Option<Ratio>> =
            MEASURES.iter().map(|measure| paired(seeds, &schemes, scheme, base_at?, measure)?.ratio).collect();
        schemes[scheme].ratios = ratios.iter().map(|ratio| Some(ratio.as_ref()?.ratio)).collect();
        let is_borne = |at: usize| !schemes[at].costs.unborne;
        let mut others = comparable.iter().filter(|&&other| other != scheme && is_borne(other) && is_borne(scheme));
        let better = others.find(|&&other| dominates(seeds, other, scheme));
        schemes[scheme].dominated_by = better.map(|&other| schemes[other].scheme.clone());
        schemes[scheme].over.as_mut().expect("joined").ratios = ratios;
    }
    for scheme in &mut schemes {
        let costs = words::sentence(scheme, base.as_deref());
        scheme.sentence = format!("{costs} {}", scheme.sentence).trim_end().to_owned();
    }
    let place = |one: &SchemeVerdict| schemes.iter().position(|scheme| scheme.scheme == one.scheme);
    let is_shown = |one: &SchemeVerdict, other: &SchemeVerdict, measure: &Measure| {
        let paired = place(one).zip(place(other)).and_then(|(one, other)| paired(seeds, &schemes, one, other, measure));
        paired.is_some_and(|paired| shown(measure, &paired) == Shown::Better)
    };
    let mut answer = words::answer(&schemes, base.as_deref(), &is_shown, Seeded::Often);
    let at = usize::from(!answer.is_empty());
    answer.splice(at..at, in_turn(seeds, &schemes));
    answer.extend(words::gap(&seeds.repetitions()[0].cautions));
    Verdict { answer, baseline: base, schemes }
}

/// A cost of two schemes seed by seed, where something may be concluded from it.
fn paired(seeds: &Seeds, schemes: &[SchemeVerdict], one: usize, other: usize, measure: &Measure) -> Option<Paired> {
    let may_judge = |at: usize| measure.may_judge(&schemes[at].costs);
    (may_judge(one) && may_judge(other)).then(|| seeds.paired(one, other, measure.key))?
}

/// Verdict on a scheme by itself.
fn joined(seeds: &Seeds, scheme: usize) -> SchemeVerdict {
    let each: Vec<&SchemeVerdict> = seeds.repetitions().iter().map(|one| &one.verdict.schemes[scheme]).collect();
    let runs: Vec<&Outcome> = seeds.repetitions().iter().map(|one| &one.outcomes[scheme]).collect();
    let mut reasons: Vec<&'static str> = Vec::new();
    for reason in each.iter().flat_map(|one| &one.not_comparable) {
        if !reasons.contains(reason) {
            reasons.push(reason);
        }
    }
    let least = |one: &&&SchemeVerdict, other: &&&SchemeVerdict| one.survives.least(&other.survives);
    SchemeVerdict {
        scheme: each[0].scheme.clone(),
        survives: each.iter().min_by(least).expect("two seeds or more").survives.clone(),
        costs: Costs::mean(&each.iter().map(|one| &one.costs).collect::<Vec<_>>()),
        ratios: vec![None; MEASURES.len()],
        not_comparable: reasons,
        dominated_by: None,
        late_share: each.iter().filter_map(|one| one.late_share).max_by(f64::total_cmp),
        stalled_share: None,
        sentence: crate::waits::sentence(crate::waits::over(&runs).as_ref()),
        over: Some(OverSeeds {
            seeds: each.len(),
            apart: each.iter().filter(|one| !one.is_comparable()).count(),
            costs: MEASURES.iter().map(|measure| seeds.interval(scheme, measure.key)).collect(),
            ratios: vec![None; MEASURES.len()],
        }),
    }
}

/// Whether a scheme is shown to be as good as another in everything that decides, and better in something: under every seed
/// it survives no less, and each cost is lower as the interval says, or the same under every seed. Where one of them lacks
/// a figure, that figure says nothing.
fn dominates(seeds: &Seeds, one: usize, other: usize) -> bool {
    let survives = |scheme: usize| seeds.repetitions().iter().map(move |run| &run.verdict.schemes[scheme].survives);
    let against: Vec<(bool, bool)> =
        survives(one).zip(survives(other)).map(|(one, other): (&Survives, _)| one.against(other)).collect();
    if !against.iter().all(|(no_less, _)| *no_less) {
        return false;
    }
    let mut is_better = against.iter().all(|(_, more)| *more);
    for measure in MEASURES.iter().filter(|measure| measure.decides) {
        let Some(paired) = seeds.paired(one, other, measure.key) else { continue };
        match shown(measure, &paired) {
            Shown::Better => is_better = true,
            Shown::Equal => {}
            Shown::Worse | Shown::Nothing => return false,
        }
    }
    is_better
}

/// Sentences on neighbours in the order of their mean latency: of the schemes that survive a lost die, if there are two or
/// more, else of all.
fn in_turn(seeds: &Seeds, schemes: &[SchemeVerdict]) -> Vec<String> {
    let latency = |scheme: &usize| seeds.interval(*scheme, "latency_us_mean").map(|interval| interval.mean);
    let among = |wanted: &dyn Fn(&SchemeVerdict) -> bool| {
        let all = (0..schemes.len()).filter(|&at| schemes[at].is_comparable() && wanted(&schemes[at]));
        let mut all: Vec<usize> = all.filter(|at| latency(at).is_some()).collect();
        all.sort_by(|one, other| latency(one).unwrap_or_default().total_cmp(&latency(other).unwrap_or_default()));
        all
    };
    let survivors = among(&|scheme| scheme.survives.dies > 0);
    let told = if survivors.len() < 2 { among(&|_| true) } else { survivors };
    told.windows(2).map(|pair| against(seeds, schemes, pair[0], pair[1])).collect()
}

/// Costs that sentences on a pair name: the key of the measure, and its words.
const TOLD: [(&str, &str); 3] = [("latency_us_mean", "mean latency"), ("tbw_tb", "endurance"), ("energy_j", "energy")];

/// Shown and unknown differences of one scheme against another.
fn against(seeds: &Seeds, schemes: &[SchemeVerdict], one: usize, other: usize) -> String {
    let (mut told, mut open) = (Vec::new(), Vec::new());
    let (name, others) = (format!("`{}`", schemes[one].scheme), format!("`{}`", schemes[other].scheme));
    for (key, noun) in TOLD {
        let (_, measure) = measure(key);
        let Some(paired) = paired(seeds, schemes, one, other, measure) else { continue };
        let Some(ratio) = paired.ratio else { continue };
        match shown(measure, &paired) {
            Shown::Equal => {}
            Shown::Nothing => open.push(format!("{noun} ({})", ratio.percent())),
            Shown::Better | Shown::Worse => {
                let (verb, joint) = phrase(key, ratio);
                // The other is named once.
                told.push(if told.is_empty() { format!("{verb} {joint} {others}") } else { verb });
            }
        }
    }
    let told = (!told.is_empty()).then(|| format!("{name} {}.", listed(&told)));
    let count = seeds.repetitions().len();
    let open = (!open.is_empty())
        .then(|| format!("No difference between {name} and {others} is shown at {count} seeds in {}.", listed(&open)));
    [told, open].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Words for a shown cost: a verb with how much, and the word before the name of the other scheme.
fn phrase(key: &str, ratio: Ratio) -> (String, &'static str) {
    let Ratio { low, high, .. } = ratio;
    if low >= 2.0 {
        let times = ratio_span(low, high);
        return match key {
            "latency_us_mean" => (format!("has {times} x the mean latency"), "of"),
            "tbw_tb" => (format!("has {times} x the endurance"), "of"),
            _ => (format!("uses {times} x the energy"), "of"),
        };
    }
    let is_less = high < 1.0;
    let percent =
        if is_less { span((1.0 - high) * 100.0, (1.0 - low) * 100.0) } else { span((low - 1.0) * 100.0, (high - 1.0) * 100.0) };
    // A shown difference is more than nothing.
    let percent = match percent.strip_prefix("0.00") {
        Some("") => "less than 0.01".to_owned(),
        Some(rest) => rest.replacen(" to ", "up to ", 1),
        None => percent,
    };
    let verb = match (key, is_less) {
        ("latency_us_mean", true) => format!("has {percent} % lower mean latency"),
        ("latency_us_mean", false) => format!("has {percent} % higher mean latency"),
        ("tbw_tb", true) => format!("has {percent} % less endurance"),
        ("tbw_tb", false) => format!("has {percent} % more endurance"),
        (_, true) => format!("uses {percent} % less energy"),
        (_, false) => format!("uses {percent} % more energy"),
    };
    (verb, "than")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(one: &[f64], other: &[f64]) -> Paired {
        Paired::of(one, other).expect("pairs")
    }

    #[test]
    fn only_what_the_interval_shows_is_said() {
        let less = measure("latency_us_mean").1;
        let more = measure("tbw_tb").1;
        let low = [4.0, 4.1, 4.2];
        let high = [5.6, 5.8, 5.9];
        assert_eq!((shown(less, &paired(&low, &high)), shown(less, &paired(&high, &low))), (Shown::Better, Shown::Worse));
        assert_eq!((shown(more, &paired(&low, &high)), shown(more, &paired(&high, &low))), (Shown::Worse, Shown::Better));
        assert_eq!(shown(less, &paired(&low, &low)), Shown::Equal);
        assert_eq!(shown(less, &paired(&low, &[3.9, 4.3, 4.2])), Shown::Nothing);
        // Without ratios, differences.
        assert_eq!(shown(less, &paired(&[0.0, 0.1, 0.0], &high)), Shown::Better);
    }

    /// Three seeds of `none`, `raid5` and `ds-raid`, whose costs are then made up.
    fn repeated() -> Seeds {
        let text = "seeds = 3\nwarmup = \"none\"\nschemes = [\"none\", \"raid5\", \"ds-raid\"]\n[trace]\nsource = \"uniform\"\n[generate]\n\
                    requests = 200\nrange = \"8MiB\"\nread_fraction = 0.5\n";
        let experiment = experiment::Experiment::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}"));
        let bench = crate::Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
        let mut seeds = crate::compare(&experiment, &bench).unwrap_or_else(|e| panic!("{e}")).seeds.expect("repeated");
        let answer = over(&seeds).answer.join(" ");
        assert!(!answer.contains("energy") && !answer.contains("endurance"), "200 requests: {answer}");
        seeds.bear();
        for scheme in [1, 2] {
            seeds.set(scheme, "latency_us_mean", &[500.0, 520.0, 540.0]);
            seeds.set(scheme, "tbw_tb", &[5.0, 5.2, 5.1]);
            seeds.set(scheme, "energy_j", &[1.0, 1.1, 1.2]);
            seeds.set(scheme, "read_latency_us_p99", &[900.0, 910.0, 905.0]);
            seeds.set(scheme, "write_latency_us_p99", &[900.0, 910.0, 905.0]);
        }
        seeds
    }

    #[test]
    fn a_scheme_is_dominated_only_where_intervals_show_it() {
        let dominated = |seeds: &Seeds| over(seeds).schemes[1].dominated_by.clone();
        let mut seeds = repeated();
        assert_eq!(dominated(&seeds), None, "equal under every seed");
        // Sooner under every seed, by much the same: the pairs show it, although the two samples overlap.
        seeds.set(2, "latency_us_mean", &[480.0, 499.0, 519.0]);
        assert_eq!(dominated(&seeds).as_deref(), Some("ds-raid"));
        // More energy on average, but not shown: that it is no worse is not shown either.
        seeds.set(2, "energy_j", &[0.9, 1.3, 1.2]);
        assert_eq!(dominated(&seeds), None);
        seeds.set(2, "energy_j", &[0.9, 1.0, 1.09]);
        assert_eq!(dominated(&seeds).as_deref(), Some("ds-raid"));
        // Sooner on average, and its slowest reads later.
        seeds.set(2, "read_latency_us_p99", &[1000.0, 1010.0, 1005.0]);
        assert_eq!(dominated(&seeds), None);
        seeds.set(2, "read_latency_us_p99", &[900.0, 910.0, 905.0]);
        // Sooner on average, and no more.
        seeds.set(2, "latency_us_mean", &[400.0, 530.0, 530.0]);
        assert_eq!(dominated(&seeds), None);
    }

    #[test]
    fn the_answer_praises_what_is_shown_and_names_what_is_not() {
        let mut seeds = repeated();
        seeds.set(2, "latency_us_mean", &[350.0, 364.0, 390.0]);
        seeds.set(2, "tbw_tb", &[4.9, 5.3, 5.2]);
        seeds.set(2, "energy_j", &[1.05, 1.155, 1.27]);
        let verdict = over(&seeds);
        let answer = &verdict.answer;
        assert!(
            answer[0].contains("`ds-raid` is best in mean latency (") && answer[0].contains("`raid5` is best in energy ("),
            "{answer:?}"
        );
        assert!(!answer[0].contains("endurance"), "{answer:?}");
        assert_eq!(
            answer[1],
            "`ds-raid` has 26 to 32 % lower mean latency than `raid5` and uses 4 to 6 % more energy. No difference between `ds-raid` \
             and `raid5` is shown at 3 seeds in endurance (-5 to +6 %)."
        );
        // Nothing to choose by.
        seeds.set(2, "latency_us_mean", &[350.0, 564.0, 600.0]);
        seeds.set(2, "energy_j", &[1.0, 1.1, 1.3]);
        let verdict = over(&seeds);
        assert!(verdict.answer[0].ends_with("none is shown to be best in mean latency, endurance or energy."));
        assert!(
            verdict.answer[1].starts_with("No difference between `ds-raid` and `raid5` is shown at 3 seeds in mean latency (")
        );
    }

    #[test]
    fn ratios_are_told_in_percent_or_as_multiples() {
        let ratio = |low, high| Ratio { ratio: (low + high) / 2.0, low, high };
        let told = |key, low, high| phrase(key, ratio(low, high)).0;
        assert_eq!(told("latency_us_mean", 0.69, 0.72), "has 28 to 31 % lower mean latency");
        assert_eq!(told("latency_us_mean", 1.05, 1.08), "has 5 to 8 % higher mean latency");
        assert_eq!(told("latency_us_mean", 3.12, 3.28), "has 3.12 to 3.28 x the mean latency");
        assert_eq!(told("tbw_tb", 0.919, 0.948), "has 5 to 8 % less endurance");
        assert_eq!(told("tbw_tb", 2.0, 2.3), "has 2.00 to 2.30 x the endurance");
        assert_eq!(told("energy_j", 1.052, 1.057), "uses 5.2 to 5.7 % more energy");
        assert_eq!(told("energy_j", 1.000_02, 1.000_3), "uses up to 0.03 % more energy");
        assert_eq!(told("tbw_tb", 0.999_99, 0.999_999), "has less than 0.01 % less endurance");
        assert_eq!(told("energy_j", 0.5, 0.6), "uses 40 to 50 % less energy");
        assert_eq!(ratio(0.97, 1.04).percent(), "-3 to +4 %");
    }
}
