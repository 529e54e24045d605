//! A comparison under several seeds: what each repetition is, what is made of them, and that nothing is said which the
//! intervals do not show.

#[path = "../../lab/tests/small/mod.rs"]
mod small;

use common::Row;
use experiment::Experiment;
use flashkeep_report::{to_table, write_report};
use lab::{Bench, Comparison, MEASURES, Progress, Seeds, compare, t_quantile};
use serde_json::Value;
use small::SMALL;
use std::path::PathBuf;
use std::sync::Mutex;

fn experiment(settings: &str) -> Experiment {
    let small = if settings.contains("drive.preset") { "" } else { "drive.preset = \"mlc-2014\"\n" };
    Experiment::parse("test.toml", &format!("{small}{settings}")).unwrap_or_else(|e| panic!("{e}"))
}

fn on(experiment: &Experiment, threads: usize) -> Comparison {
    let bench = Bench { threads, clock: &|| 0.0, progress: &|_| {} };
    compare(experiment, &bench).unwrap_or_else(|e| panic!("{e}"))
}

fn run(settings: &str) -> Comparison {
    on(&experiment(settings), 2)
}

fn seeds(comparison: &Comparison) -> &Seeds {
    comparison.seeds.as_ref().expect("it was repeated")
}

/// Documents without what depends on the machine.
fn portable(comparison: &Comparison) -> Value {
    let mut json = comparison.to_json();
    for scheme in json["schemes"].as_array_mut().expect("a list") {
        scheme.as_object_mut().expect("an object").remove("peak_rss_mib");
    }
    json
}

/// Rows without the hash of the experiment, which names the clock in other words.
fn without_hash(mut rows: Vec<Row>) -> Vec<Row> {
    for row in &mut rows {
        row.remove("config_hash");
    }
    rows
}

/// Requests so dense that the clock must be slowed down.
fn dense() -> String {
    SMALL.replace("2ms", "20us")
}

#[test]
fn the_first_repetition_is_the_run_without_repetitions() {
    for settings in [SMALL.to_owned(), dense()] {
        let (repeated, alone) = (run(&format!("seeds = 3\nseed = 7\n{settings}")), run(&format!("seed = 7\n{settings}")));
        let first = &seeds(&repeated).repetitions()[0];
        assert_eq!(portable(first), portable(&alone));
        assert_eq!((repeated.rows(), repeated.clock.clone()), (alone.rows(), alone.clock.clone()));
        assert_eq!(portable(&repeated)["schemes"], portable(&alone)["schemes"]);
        // And one seed is no repetition, to the last letter of every document.
        let one = run(&format!("seeds = 1\nseed = 7\n{settings}"));
        assert_eq!((portable(&one), to_table(&one)), (portable(&alone), to_table(&alone)));
    }
}

#[test]
fn each_repetition_is_the_run_of_its_seed_at_the_clock_of_the_first() {
    let repeated = run(&format!("seeds = 3\nseed = 7\n{}", dense()));
    let factor = repeated.clock.factor;
    assert!(factor > 1.0, "the clock was slowed down: {factor}");
    assert_eq!(seeds(&repeated).seeds(), [7, 8, 9]);
    for (index, own) in seeds(&repeated).repetitions().iter().enumerate().skip(1) {
        let scaled = dense().replace("\"zipf\"", &format!("\"zipf\"\narrival = \"scaled={factor}\""));
        let alone = run(&format!("seed = {}\n{scaled}", 7 + index));
        assert_eq!(own.rows(), alone.rows(), "seed {}", 7 + index);
        // Its own experiment says so.
        assert_eq!(on(&own.experiment, 1).rows(), own.rows());
    }
    let factors: Vec<f64> = (8..10).map(|seed| run(&format!("seed = {seed}\n{}", dense())).clock.factor).collect();
    assert!(factors.iter().any(|own| *own != factor), "seeds by themselves choose clocks of their own: {factors:?}");
}

#[test]
fn threads_change_no_number_and_progress_counts_all_runs() {
    let experiment = experiment(&format!("seeds = 4\n{SMALL}"));
    let (one, two, many) = (on(&experiment, 1), on(&experiment, 2), on(&experiment, 12));
    assert_eq!((portable(&one), to_table(&one)), (portable(&two), to_table(&two)));
    assert_eq!((portable(&one), to_table(&one)), (portable(&many), to_table(&many)));
    let heard = Mutex::new(Vec::new());
    let note = |progress| {
        if let Progress::Finished(run) = progress {
            heard.lock().expect("no panic").push(run);
        }
    };
    compare(&experiment, &Bench { threads: 3, clock: &|| 0.0, progress: &note }).expect("runs");
    let mut heard = heard.into_inner().expect("no panic");
    heard.sort_unstable();
    assert_eq!(heard, (0..12).collect::<Vec<_>>(), "three schemes, four seeds");
}

#[test]
fn a_generated_workload_differs_by_seed_and_a_recorded_one_does_not() {
    let digests = |comparison: &Comparison| {
        let mut digests: Vec<u64> = seeds(comparison).repetitions().iter().map(|one| one.trace.digest).collect();
        digests.dedup();
        digests.len()
    };
    let events = |comparison: &Comparison| {
        let mut events: Vec<u64> =
            seeds(comparison).repetitions().iter().map(|one| one.outcomes[0].result.replay.event_digest).collect();
        events.dedup();
        events.len()
    };
    let generated = run(&format!("seeds = 3\n{SMALL}"));
    assert_eq!((digests(&generated), events(&generated)), (3, 3));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("seeds.spc");
    let line = |number: u64| {
        let op = if number.is_multiple_of(3) { 'r' } else { 'w' };
        format!("0,{},4096,{op},{:.6}\n", number * 7919 % 2048 * 8, number as f64 * 0.002)
    };
    std::fs::write(&path, (0..3000).map(line).collect::<String>()).expect("written");
    let recorded =
        run(&format!("seeds = 3\nschemes = [\"none\", \"raid5\"]\n[trace]\nsource = {:?}\nformat = \"spc\"\n", path.display()));
    assert_eq!((digests(&recorded), events(&recorded)), (1, 3), "the requests stay, the drives do not");
    assert!(recorded.notes[0].contains("the recorded requests stay the same"), "{}", recorded.notes[0]);
    assert!(generated.notes[0].contains("the requests that are drawn"), "{}", generated.notes[0]);
}

/// Values of a column of a scheme, from the rows of each repetition.
fn values(comparison: &Comparison, scheme: &str, column: &str) -> Vec<f64> {
    let of_scheme = |row: &&Row| row["scheme"] == scheme;
    let rows = seeds(comparison).rows();
    rows.iter().filter(of_scheme).map(|row| row[column].as_f64().expect("a number")).collect()
}

/// Mean and half-width by the book, with t of 3 degrees from a printed table.
fn by_hand(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, 3.182_446_3 * (squares / (n - 1.0) / n).sqrt())
}

fn near(found: &Value, wanted: f64) {
    let found = found.as_f64().expect("a number");
    assert!((found - wanted).abs() <= 1e-4 * wanted.abs().max(1e-9), "{found}, wanted {wanted}");
}

#[test]
fn intervals_and_differences_are_those_computed_by_hand() {
    let comparison = run(&format!("seeds = 4\n{SMALL}"));
    let json = comparison.to_json();
    let over = &json["seeds"];
    near(&over["t"], 3.182_446);
    assert_eq!(over["t"].as_f64(), Some(t_quantile(3)));
    let find = |list: &str, wanted: &[(&str, &str)]| {
        let rows = over[list].as_array().expect("a list");
        let is_it = |row: &&Value| wanted.iter().all(|(key, value)| row[key] == *value);
        rows.iter().find(is_it).unwrap_or_else(|| panic!("{wanted:?}")).clone()
    };
    for (scheme, column) in [("raid5", "latency_us_mean"), ("ds-raid", "flash_reads_gc"), ("none", "energy_j")] {
        let row = find("intervals", &[("scheme", scheme), ("column", column)]);
        let (mean, half) = by_hand(&values(&comparison, scheme, column));
        for (key, wanted) in [("mean", mean), ("half_width", half), ("low", mean - half), ("high", mean + half)] {
            near(&row[key], wanted);
        }
    }
    for column in ["latency_us_mean", "tbw_tb", "write_latency_us_p99"] {
        let row = find("differences", &[("scheme", "ds-raid"), ("against", "raid5"), ("column", column)]);
        let (own, others) = (values(&comparison, "ds-raid", column), values(&comparison, "raid5", column));
        let pairs = || own.iter().zip(&others);
        let (difference, half) = by_hand(&pairs().map(|(own, other)| own - other).collect::<Vec<_>>());
        near(&row["difference"], difference);
        near(&row["difference_low"], difference - half);
        near(&row["difference_high"], difference + half);
        let (log, half) = by_hand(&pairs().map(|(own, other)| own.ln() - other.ln()).collect::<Vec<_>>());
        near(&row["ratio"], log.exp());
        near(&row["ratio_low"], (log - half).exp());
        near(&row["ratio_high"], (log + half).exp());
    }
    // The verdict shows the same numbers.
    let raid5 = comparison.verdict.of_scheme("raid5").expect("compared");
    let row = find("differences", &[("scheme", "raid5"), ("against", "none"), ("column", "latency_us_mean")]);
    assert_eq!(raid5.ratios[0], row["ratio"].as_f64());
    let interval = raid5.over.as_ref().and_then(|over| over.cost(&MEASURES[0])).expect("an interval");
    assert_eq!(raid5.costs.latency_us_mean, Some(interval.mean));
}

/// `a to b` before a word of a sentence, as numbers.
fn span(sentence: &str, before: &str) -> (f64, f64) {
    let text = sentence.split(before).next().expect("there is a part before");
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |from_end: usize| words[words.len() - from_end].parse().unwrap_or_else(|e| panic!("{sentence}: {e}"));
    (number(3), number(1))
}

#[test]
fn the_answer_says_by_how_much_with_the_ends_of_the_interval() {
    let comparison = run(&format!("seeds = 4\n{}", SMALL.replace("requests = 3000", "requests = 12000")));
    let sentence = &comparison.verdict.answer[1];
    assert!(sentence.starts_with("`ds-raid` has") && sentence.contains("lower mean latency than `raid5`"), "{sentence}");
    let (least, most) = span(sentence, " % lower");
    let ratio = seeds(&comparison).paired(2, 1, "latency_us_mean").and_then(|paired| paired.ratio).expect("a ratio");
    let [low, high] = [(1.0 - ratio.high) * 100.0, (1.0 - ratio.low) * 100.0];
    assert!((least - low).abs() <= 0.5 && (most - high).abs() <= 0.5, "{sentence}: {low} to {high}");
    // In every place where the verdict is shown.
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("seeds-report");
    let page = std::fs::read_to_string(write_report(&comparison, &directory).expect("written")).expect("readable");
    let bare = page.replace("<b>", "").replace("</b>", "");
    let text = to_table(&comparison).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(bare.contains(&sentence.replace('`', "")) && text.contains(sentence.as_str()));
    assert!(page.contains("class=\"whisker\"") && page.contains("data-half-width=") && page.contains("class=\"pairs\""));
    assert!(text.contains(" +- ") && page.contains(" \u{b1} ") && !page.contains(" +- "));
    // The experiment written beside the report repeats it.
    let again = Experiment::load(&directory.join("experiment.toml"), &experiment::Overrides::default()).expect("valid");
    assert_eq!(portable(&on(&again, 2)), portable(&comparison));
}

#[test]
fn a_scheme_that_some_seeds_set_apart_is_named_with_how_many_and_not_ranked() {
    let settings = format!("seeds = 6\n{SMALL}\n[faults]\nuncorrectable_reads = 2e-4\n");
    let comparison = run(&settings);
    let (none, raid5) = (&comparison.verdict.schemes[0], &comparison.verdict.schemes[1]);
    let apart = seeds(&comparison).repetitions().iter().filter(|one| one.outcomes[0].result.host.media_errors > 0).count();
    assert!((1..6).contains(&apart), "under {apart} of 6 seeds: wanted some, not all");
    let reason = none.reason().expect("not comparable");
    assert_eq!(reason, format!("pages that could not be read, under {apart} of 6 seeds"));
    assert!(raid5.is_comparable(), "{:?}", raid5.reason());
    assert_eq!(comparison.verdict.baseline.as_deref(), Some("raid5"));
    assert!(none.ratios.iter().all(Option::is_none) && none.dominated_by.is_none());
    let left = comparison.verdict.answer.iter().find(|said| said.starts_with("Not comparable")).expect("it is said");
    assert!(left.contains(&reason), "{left}");
    let rows = seeds(&comparison).differences();
    assert!(rows.iter().all(|row| row["scheme"] != "none" && row["against"] != "none"), "no difference to what is set apart");
    let caution = comparison.warnings().into_iter().find(|said| said.contains("`none` could not read")).expect("a caution");
    assert!(caution.contains(&format!("under {apart} of 6 seeds")), "{caution}");
    assert!(to_table(&comparison).contains("none !") && to_table(&comparison).contains(&format!("{apart} of 6 seeds")));
}

#[test]
fn seeds_beyond_the_bounds_are_refused() {
    let problem = |settings: &str| Experiment::parse("test.toml", settings).expect_err("refused").to_string();
    assert!(problem("seeds = 0").contains("found 0, valid is 1 to 100"), "{}", problem("seeds = 0"));
    assert!(problem("seeds = 101").contains("found 101, valid is 1 to 100"));
    let last = problem("seed = 9223372036854775806\nseeds = 3");
    assert!(last.contains("the largest that 3 seeds can begin with is 9223372036854775805"), "{last}");
    assert_eq!(experiment("seed = 9223372036854775805\nseeds = 3").seeds, 3);
}

#[test]
fn rows_of_repetitions_name_their_seeds_and_repeat_them() {
    let comparison = run(&format!("seeds = 2\n{SMALL}"));
    let rows = seeds(&comparison).rows();
    let named: Vec<(u64, &str)> =
        rows.iter().map(|row| (row["seed"].as_u64().expect("a seed"), row["scheme"].as_str().expect("a name"))).collect();
    assert_eq!(named, [(1, "none"), (1, "raid5"), (1, "ds-raid"), (2, "none"), (2, "raid5"), (2, "ds-raid")]);
    let alone = run(&format!("seed = 2\n{SMALL}"));
    assert_eq!(without_hash(rows[3..].to_vec()), without_hash(alone.rows()));
}

/// The same scheme under other options beside itself: each is what it is alone, and they are compared as any two.
#[test]
fn a_scheme_is_compared_with_itself_under_other_options() {
    let settings = SMALL.replace("schemes = [\"none\", \"raid5\", \"ds-raid\"]", "");
    let settings = settings.replace("[trace]", "[trace]\narrival = \"closed=8\"");
    // With room for either, so that both have the same flash alone as beside each other.
    let fixed = "seeds = 3\ncapacity.over_provisioning = \"60% of raw\"";
    let labels = ["raid5:data_strips=4", "raid5:data_strips=6:parity_rule=page"];
    let both = run(&format!("schemes = {labels:?}\n{fixed}\n{settings}"));
    let alone = [
        run(&format!("schemes = [\"raid5\"]\n{fixed}\nscheme.raid5.data_strips = 4\n{settings}")),
        run(&format!("schemes = [\"raid5\"]\n{fixed}\nscheme.raid5 = {{ data_strips = 6, parity_rule = \"page\" }}\n{settings}")),
    ];
    for (scheme, alone) in alone.iter().enumerate() {
        let digest = |of: &Comparison, at: usize| -> Vec<u64> {
            seeds(of).repetitions().iter().map(|one| one.outcomes[at].result.replay.event_digest).collect()
        };
        assert_eq!(digest(&both, scheme), digest(alone, 0), "{}", labels[scheme]);
    }
    let json = both.to_json();
    let names: Vec<&str> = json["schemes"].as_array().expect("a list").iter().filter_map(|one| one["scheme"].as_str()).collect();
    assert_eq!(names, labels);
    let differences = seeds(&both).differences();
    let waf = differences.iter().find(|row| row["column"] == "waf" && row["scheme"] == labels[0]).expect("compared");
    assert_eq!(waf["against"], labels[1]);
    let of = |scheme: usize| alone[scheme].seeds.as_ref().and_then(|seeds| seeds.values(0, "waf")).expect("numbers");
    let mean = of(0).iter().zip(of(1)).map(|(one, other)| one - other).sum::<f64>() / 3.0;
    assert!((waf["difference"].as_f64().expect("a number") - mean).abs() < 1e-12 && mean != 0.0, "{waf:?} {mean}");
}
