//! How hard a workload presses, as it is typed: `--iodepth`, `--rate` and `--read-share`.

use crate::described::is_described;
use crate::document::Document;
use crate::experiment::{Experiment, Overrides};
use crate::generated::is_generated;
use common::{Problem, printable};
use trace::generate::GENERATORS;

/// Most requests a second: gaps are whole nanoseconds, so here they are right to a part in two hundred.
const RATE_MAX: f64 = 1e7;

/// Sets what one of these options means; false: it is another option.
pub(crate) fn set(document: &mut Document, option: &str, value: &str) -> Result<bool, Problem> {
    let typed = format!("{option} {value}");
    let wrong = |path: &str, wanted: &str| {
        let message = format!("found `{}`, wanted {wanted}", printable(value));
        Err(Document::typed(&typed, Problem::new(path, message)))
    };
    match option {
        "--iodepth" => match value.parse::<u32>() {
            Ok(depth @ 1..=65_536) => document.set_text(&typed, "trace.arrival", &format!("closed={depth}"))?,
            _ => return wrong("trace.arrival", "requests that are unanswered at a time, a whole number from 1 to 65536"),
        },
        "--rate" => match value.parse::<f64>() {
            Ok(rate) if rate > 0.0 && rate <= RATE_MAX && (1e9 / rate) < u64::MAX as f64 => {
                let gap = (1e9 / rate).round() as u64;
                document.set(&typed, &format!("generate.arrivals={{ poisson = \"{}\" }}", vocab::Nanos(gap)))?;
                document.set_text(&typed, "trace.arrival", "recorded")?;
            }
            _ => return wrong("generate.arrivals", "requests a second, a number above 0 and at most 10000000"),
        },
        "--read-share" => match share(value) {
            Some(share) => document.set(&typed, &format!("generate.read_fraction={share:?}"))?,
            None => return wrong("generate.read_fraction", "a share such as 0.7 or 70%, from 0 to 1"),
        },
        _ => return Ok(false),
    }
    Ok(true)
}

/// A share as `0.7` or `70%`.
fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse::<f64>().ok()?,
    };
    (0.0..=1.0).contains(&share).then_some(share)
}

/// Refuses those of these options that the workload has no use for.
pub(crate) fn check(experiment: &Experiment, overrides: &Overrides) -> Result<(), Problem> {
    if is_generated(experiment) {
        return Ok(());
    }
    let source = printable(&experiment.trace.source);
    for (option, path, _) in &overrides.options {
        let why = match (option.as_str(), is_described(experiment)) {
            ("--rate" | "--read-share", true) => {
                format!("`{source}` describes its workload itself, rates and share of reads included")
            }
            ("--rate", false) => {
                format!(
                    "`{source}` is a recorded trace, its requests come at recorded times; `--arrival scaled=FACTOR` changes their rate"
                )
            }
            ("--read-share", false) => format!("`{source}` is a recorded trace, its reads and writes are those recorded"),
            _ => continue,
        };
        let known = GENERATORS.iter().map(|generator| generator.name.to_owned()).collect();
        return Err(Problem { known, ..Problem::new(path, format!("{option} is for generated workloads: {why}")) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrivalsSpec, Workload};

    fn with(trace: &str, options: &[(&str, &str, &str)]) -> Result<Experiment, Problem> {
        let options = options.iter().map(|(option, path, value)| ((*option).into(), (*path).into(), (*value).into())).collect();
        Experiment::with(&Overrides { trace: Some(trace.into()), options, ..Overrides::default() })
    }

    /// Counts requests and times of the tape itself: 100 000 draws are within five deviations of what was asked.
    #[test]
    fn rate_and_read_share_are_those_of_the_requests() {
        let asked = [("--rate", "generate.arrivals", "4000"), ("--read-share", "generate.read_fraction", "70%")];
        let experiment = with("uniform", &asked).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(experiment.trace.arrival.to_string(), "recorded");
        assert_eq!(experiment.generate.as_ref().map(|one| one.arrivals), Some(ArrivalsSpec::Poisson(vocab::Nanos(250_000))));
        let workload = Workload::open(&experiment, &|_| {}).unwrap_or_else(|problem| panic!("{problem}"));
        let facts = workload.facts();
        let (requests, reads) = (facts.requests as f64, facts.reads as f64);
        let deviation = (requests * 0.7 * 0.3).sqrt();
        assert!((reads - requests * 0.7).abs() < 5.0 * deviation, "{reads} of {requests}");
        // The sum of n exponential gaps has the mean n x gap, and a deviation of gap x sqrt(n).
        let gaps = facts.duration_s * 4000.0;
        assert!((gaps - requests).abs() < 5.0 * requests.sqrt(), "{gaps} mean gaps of {requests}");
    }

    #[test]
    fn a_queue_depth_is_a_closed_loop_of_any_workload() {
        for trace in ["pgbench", "zipf"] {
            let experiment = with(trace, &[("--iodepth", "trace.arrival", "32")]).unwrap_or_else(|problem| panic!("{problem}"));
            assert_eq!(experiment.trace.arrival, crate::textual::Arrival::Closed(32), "{trace}");
        }
    }

    #[test]
    fn shares_are_fractions_or_percent() {
        assert_eq!(["0.7", "70%", "0", "100%", "12.5 %"].map(share), [0.7, 0.7, 0.0, 1.0, 0.125].map(Some));
        assert_eq!(["", "%", "101%", "-0.1", "nan", "NaN%", "70 percent", "1.01"].map(share), [None; 8]);
    }
}
