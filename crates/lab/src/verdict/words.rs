//! The verdict in sentences, made from its figures.

use super::costs::measure;
use super::{Measure, SchemeVerdict, Seeded};
use common::quantity::{percent, seconds, times};
use common::table::{grouped, listed};
use experiment::Caution;

/// Costs that sentences name: the key of the measure, and its words.
const TOLD: [(&str, &str); 4] =
    [("latency_us_mean", "mean latency"), ("waf", "write amplification"), ("tbw_tb", "endurance"), ("energy_j", "energy")];

/// A sentence or two on one scheme.
pub(crate) fn sentence(verdict: &SchemeVerdict, baseline: Option<&str>) -> String {
    let scheme = &verdict.scheme;
    let survives = format!("`{scheme}` {}.", verdict.survives.words());
    if let Some(reason) = verdict.reason() {
        return format!("{survives} Its costs cannot be compared: {reason}.{}", late(verdict));
    }
    let is_baseline = baseline == Some(scheme.as_str());
    let told: Vec<String> = TOLD.iter().filter_map(|(key, name)| told(verdict, key, name, is_baseline)).collect();
    let against = match baseline {
        Some(baseline) if !is_baseline => format!(" Against `{baseline}`: {}.", told.join(", ")),
        _ => format!(" It is the baseline: {}.", told.join(", ")),
    };
    let dominated = verdict.dominated_by.as_ref().map(|better| {
        format!(
            " It is dominated by `{better}`, which survives no less and is no worse in mean latency, endurance, capacity overhead or energy."
        )
    });
    let short = if verdict.costs.unborne { " Its run is too short for endurance, energy and write amplification." } else { "" };
    let dominated = dominated.unwrap_or_default();
    format!("{survives}{against}{}{}{dominated}{short}{}", stage(verdict), rebuild(verdict), late(verdict))
}

/// From this many times the user capacity of a die on, a rebuild writes more than the die held.
const MORE_THAN_A_DIE: f64 = 2.0;

/// How long a rebuild took and how much it programmed. Under a log-structured scheme the codewords of a dead die span the drive, so that
/// every superblock is written again.
fn rebuild(verdict: &SchemeVerdict) -> String {
    let Some(rebuild) = verdict.costs.rebuild else { return String::new() };
    let again = if rebuild.of_a_die >= MORE_THAN_A_DIE { ": it writes all superblocks of the drive again" } else { "" };
    format!(
        " Its rebuild took {} and {} page programs, {} the user capacity of a die{again}.",
        seconds(rebuild.seconds),
        grouped(rebuild.programs),
        times(rebuild.of_a_die)
    )
}

/// That endurance is computed as if the present stage lasted, where it does not.
fn stage(verdict: &SchemeVerdict) -> &'static str {
    match (verdict.survives.life, verdict.costs.tbw_tb) {
        (Some(life), Some(_)) if life.stage < 3 && !verdict.costs.unborne => {
            " Its endurance assumes the current stage; later stages write more parity."
        }
        _ => "",
    }
}

/// Where requests waited behind a long backlog, that its mean says less of the drive than it seems to.
fn late(verdict: &SchemeVerdict) -> String {
    let Some(share) = verdict.late_share else { return String::new() };
    let most = if verdict.over.is_some() { "Up to " } else { "" };
    format!(
        " {most}{} of its requests waited behind a backlog of more than a second: its mean says how long that lasted.",
        percent(share)
    )
}

/// From this share of the time of all latencies on, the mean is that of few requests.
const STALLS: f64 = 0.5;

/// That the mean latency is made of few long ones, and that one seed says little of those; `None` where it is not.
pub(crate) fn stalls(schemes: &[SchemeVerdict]) -> Option<String> {
    let shares = schemes.iter().filter(|verdict| verdict.is_comparable()).filter_map(|one| Some((one, one.stalled_share?)));
    let (most, share) = shares.filter(|(_, share)| *share >= STALLS).max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(format!(
        "Means are made by stalls: the slowest 1 % of reads and of writes take {} of all latency under `{}`. This is one \
         seed: `--seeds 5` says what is chance.",
        percent(share),
        most.scheme
    ))
}

/// That figures by time are those of a gap, where there is such a caution.
pub(crate) fn gap(cautions: &[Caution]) -> Option<String> {
    cautions.iter().any(|caution| caution.kind == "gap").then(|| {
        "One gap takes much of the time of this workload: requests/s, MB/s and endurance at this load are those of \
         waiting; `--set trace.max_gap=10s` clips it."
            .into()
    })
}

/// A cost in a sentence; `None` where it is missing.
fn told(verdict: &SchemeVerdict, key: &str, name: &str, is_baseline: bool) -> Option<String> {
    let (index, measure) = measure(key);
    measure.judged(&verdict.costs)?;
    let mut value = verdict.shown(measure);
    if key == "tbw_tb" {
        value.push_str(" written");
        if verdict.costs.endurance_years.is_some() {
            value.push_str(&format!(" or {} at this load", verdict.shown(super::costs::measure("endurance_years").1)));
        }
        if is_baseline && verdict.costs.flash_bytes > 0 {
            value.push_str(&format!(", of {} of flash", common::quantity::mib(vocab::Bytes(verdict.costs.flash_bytes))));
        }
    }
    match verdict.times(index).filter(|_| !is_baseline) {
        Some(times) => Some(format!("{name} {times} ({value})")),
        None => Some(format!("{name} {value}")),
    }
}

/// Whether a scheme is shown to be better than another in a cost that both have.
pub(crate) type IsShown<'a> = dyn Fn(&SchemeVerdict, &SchemeVerdict, &Measure) -> bool + 'a;

/// Which scheme to take: by the costs that decide, among the schemes that survive a die failure.
pub(crate) fn answer(schemes: &[SchemeVerdict], baseline: Option<&str>, is_shown: &IsShown<'_>, seeded: Seeded) -> Vec<String> {
    let mut answer = Vec::new();
    let comparable = || schemes.iter().filter(|verdict| verdict.is_comparable());
    let survivors: Vec<&SchemeVerdict> = comparable().filter(|verdict| verdict.survives.dies > 0).collect();
    match survivors.as_slice() {
        [] if comparable().next().is_none() => answer.push("No scheme can be compared with another.".into()),
        [] => answer.push("None of the schemes that can be compared survives a die failure.".into()),
        [_] if schemes.len() == 1 => {}
        [only] => answer.push(format!(
            "Only `{}` survives a die failure, among the schemes that can be compared{}.",
            only.scheme,
            price(only, baseline)
        )),
        several => {
            answer.push(winners(several, baseline, is_shown));
            answer.extend(alike(several, is_shown).filter(|_| seeded == Seeded::Once));
        }
    }
    let names = |of: &dyn Fn(&&SchemeVerdict) -> bool| -> Vec<String> {
        schemes.iter().filter(of).map(|verdict| format!("`{}`", verdict.scheme)).collect()
    };
    let bare = names(&|verdict| verdict.is_comparable() && verdict.survives.dies == 0);
    if !bare.is_empty() && !survivors.is_empty() {
        let verb = if bare.len() == 1 { "has" } else { "have" };
        answer.push(format!("{} {verb} no protection against a die failure.", listed(&bare)));
    }
    let left: Vec<String> =
        schemes.iter().filter_map(|verdict| Some(format!("`{}` ({})", verdict.scheme, verdict.reason()?))).collect();
    if !left.is_empty() {
        answer.push(format!("Not comparable, and not ranked: {}.", listed(&left)));
    }
    let dominated: Vec<String> = comparable()
        .filter_map(|verdict| Some(format!("`{}` by `{}`", verdict.scheme, verdict.dominated_by.as_ref()?)))
        .collect();
    if !dominated.is_empty() {
        let how = match seeded {
            Seeded::Once => " (one seed; differences within 3 % or intervals do not count)",
            Seeded::Often => "",
        };
        answer.push(format!("Dominated in this run{how}: {}.", listed(&dominated)));
    }
    answer
}

/// The best by each cost that decides, schemes that win several times named once.
fn winners(several: &[&SchemeVerdict], baseline: Option<&str>, is_shown: &IsShown<'_>) -> String {
    const PRAISE: [(&str, &str); 3] = [("latency_us_mean", "mean latency"), ("tbw_tb", "endurance"), ("energy_j", "energy")];
    let mut praised: Vec<(&SchemeVerdict, Vec<&str>)> = Vec::new();
    // The best of some is not the best where others are too short to tell.
    let is_judged = |(key, _): &(&str, &str)| several.iter().all(|verdict| measure(key).1.may_judge(&verdict.costs));
    let judged: Vec<(&str, &str)> = PRAISE.into_iter().filter(is_judged).collect();
    for &(key, praise) in &judged {
        let (_, measure) = measure(key);
        let known: Vec<&&SchemeVerdict> = several.iter().filter(|verdict| (measure.of)(&verdict.costs).is_some()).collect();
        let is_best =
            |one: &&&&SchemeVerdict| known.iter().all(|other| other.scheme == one.scheme || is_shown(one, other, measure));
        let Some(best) = known.iter().find(is_best) else { continue };
        match praised.iter_mut().find(|(verdict, _)| verdict.scheme == best.scheme) {
            Some((_, praises)) => praises.push(praise),
            None => praised.push((best, vec![praise])),
        }
    }
    let names: Vec<String> = several.iter().map(|verdict| format!("`{}`", verdict.scheme)).collect();
    if praised.is_empty() {
        let judged: Vec<&str> = judged.iter().map(|(_, praise)| *praise).collect();
        let (last, others) = judged.split_last().expect("latency is judged of any run");
        let costs = if others.is_empty() { (*last).to_owned() } else { format!("{} or {last}", others.join(", ")) };
        return format!(
            "Among the schemes that survive a die failure ({}), none is shown to be best in {costs}.",
            names.join(", ")
        );
    }
    let told: Vec<String> = praised
        .iter()
        .map(|(verdict, praises)| {
            let praises: Vec<String> = praises.iter().map(|praise| (*praise).to_owned()).collect();
            format!("`{}` is best in {}{}", verdict.scheme, listed(&praises), price(verdict, baseline))
        })
        .collect();
    format!("Among the schemes that survive a die failure ({}), {}.", names.join(", "), told.join("; "))
}

/// Costs in which several schemes share the lead, in a sentence.
fn alike(several: &[&SchemeVerdict], is_shown: &IsShown<'_>) -> Option<String> {
    const COSTS: [(&str, &str); 3] = [("latency_us_mean", "mean latency"), ("tbw_tb", "endurance"), ("energy_j", "energy")];
    let mut told: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for (key, noun) in COSTS {
        let (_, measure) = measure(key);
        if several.iter().any(|verdict| measure.judged(&verdict.costs).is_none()) {
            continue;
        }
        let leads = |one: &&&SchemeVerdict| !several.iter().any(|other| is_shown(other, one, measure));
        let leaders: Vec<String> = several.iter().filter(leads).map(|one| format!("`{}`", one.scheme)).collect();
        match told.iter_mut().find(|(known, _)| *known == leaders) {
            _ if leaders.len() < 2 => {}
            Some((_, nouns)) => nouns.push(noun.to_owned()),
            None => told.push((leaders, vec![noun.to_owned()])),
        }
    }
    let told: Vec<String> = told.iter().map(|(leaders, nouns)| format!("{} in {}", listed(leaders), listed(nouns))).collect();
    (!told.is_empty()).then(|| format!("As good as the best, as far as one run tells: {}.", told.join("; ")))
}

/// Costs of a scheme against the baseline, in brackets.
fn price(verdict: &SchemeVerdict, baseline: Option<&str>) -> String {
    let Some(baseline) = baseline.filter(|baseline| *baseline != verdict.scheme) else { return String::new() };
    let ratio = |key: &str, name: &str| Some(format!("{} the {name}", verdict.times(measure(key).0)?));
    let told: Vec<String> =
        [ratio("latency_us_mean", "mean latency"), ratio("tbw_tb", "endurance")].into_iter().flatten().collect();
    if told.is_empty() { String::new() } else { format!(" ({} of `{baseline}`)", told.join(", ")) }
}
