//! Time series: documented, equal in all their forms, and enough to see a burst.

#[path = "../../lab/tests/small/mod.rs"]
mod small;

use experiment::{Experiment, Overrides};
use flashkeep_report::{write_report, write_series};
use lab::{Bench, Comparison, compare};
use small::SMALL;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use vocab::Cause;

fn compared(experiment: &Experiment) -> Comparison {
    let bench = Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
    compare(experiment, &bench).unwrap_or_else(|e| panic!("{e}"))
}

fn of_test(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The name of a column as the documents have it: one name for all causes, one for all dies.
fn documented(column: &str) -> String {
    let cause = Cause::ALL.map(|cause| format!("_per_s_{}", cause.name().replace('-', "_")));
    match cause.iter().find(|cause| column.starts_with("flash_") && column.ends_with(*cause)) {
        Some(cause) => column.replace(cause, "_per_s_CAUSE"),
        None if column.starts_with("die_utilisation_") => "die_utilisation_N".into(),
        None if column.starts_with("retry_reads_per_s_") => "retry_reads_per_s_STEP".into(),
        None => column.into(),
    }
}

#[test]
fn columns_are_those_of_the_documents_and_a_row_is_a_bin_of_a_scheme() {
    // With a ladder of reads, which has columns of its own.
    let text = format!("{SMALL}\n[ecc]\npolicy = \"fixed\"\nladder = \"table\"\n[ecc.options.fixed]\nt = 3\n");
    let comparison = compared(&Experiment::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}")));
    let page = include_str!("../../../docs/spec/results.md");
    let table = page.split("## Time series").nth(1).expect("a section").split("\n## ").next().expect("its text");
    let first_cell = |line: &str| line.split('|').nth(1).unwrap_or_default().replace(['`', ' '], "");
    let names = table.lines().filter(|line| line.starts_with("| `")).map(first_cell);
    let names: BTreeSet<String> = names.flat_map(|cell| cell.split(',').map(str::to_owned).collect::<Vec<_>>()).collect();
    // There is one flow.
    let names: BTreeSet<String> = names.into_iter().filter(|name| !name.starts_with("flow_")).collect();
    let rows = comparison.series_rows();
    assert_eq!(rows[0].keys().map(|column| documented(column)).collect::<BTreeSet<_>>(), names);
    let widths: BTreeSet<u64> = comparison.series.iter().map(|series| series.bin_s.to_bits()).collect();
    assert_eq!(widths.len(), 1, "schemes can be checked against each other bin by bin");
    assert_eq!(rows.len(), comparison.series.iter().map(|series| series.time_s.len()).sum::<usize>());
    assert!(rows.len() <= 2_048);
    let file = of_test("series.parquet");
    write_series(&comparison, &file).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(&std::fs::read(&file).expect("written")[..4], b"PAR1");
    let problem = write_series(&comparison, &of_test("no/such/folder.parquet")).expect_err("no folder");
    assert!(problem.to_string().contains("--series") && problem.message.contains("folder.parquet"), "{problem}");
}

/// The part of a report that charts of time are drawn from.
fn island(comparison: &Comparison, name: &str) -> (serde_json::Value, usize) {
    let page = std::fs::read_to_string(write_report(comparison, &of_test(name)).expect("written")).expect("readable");
    let text = page.split_once("id=\"data\">").expect("island").1.split_once("</script>").expect("island ends").0;
    let data: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let series = data["series"].clone();
    let bytes = series.to_string().len();
    (series, bytes)
}

#[test]
fn a_report_has_the_series_of_each_scheme_in_few_bytes() {
    let schemes = "none\", \"raid5\", \"ds-raid\", \"ppc\", \"da-raid5\", \"code-zones\", \"mds-groups";
    let settings = SMALL.replace("none\", \"raid5\", \"ds-raid", schemes);
    let comparison = compared(&Experiment::parse("test.toml", &settings).unwrap_or_else(|e| panic!("{e}")));
    let (series, bytes) = island(&comparison, "series-report");
    assert_eq!(series["runs"].as_array().map(Vec::len), Some(7));
    assert!(bytes < 300_000, "{bytes} bytes");
    for (run, whole) in series["runs"].as_array().expect("a list").iter().zip(&comparison.series) {
        let drawn = run["columns"]["latency_max_us"].as_array().expect("a column");
        for (drawn, exact) in drawn.iter().zip(whole.column("latency_max_us").expect("a column")) {
            let (drawn, exact) = (drawn.as_f64().unwrap_or(0.0), exact.unwrap_or(0.0));
            assert!((drawn - exact).abs() <= 5e-4 * exact, "{drawn} for {exact}");
        }
        let busy = run["busy"].as_array().expect("rows");
        assert!(busy.iter().flat_map(|row| row.as_array().expect("bins")).all(|share| share.as_u64() <= Some(100)));
    }
}

#[test]
fn a_burst_of_ten_times_the_mean_stands_out_where_it_was() {
    // 30 000 requests in 3 s from the 20th on, and as many in the 57 s around them: ten times the mean.
    let at = |number: u32| match number {
        0..10_000 => f64::from(number) * 2e-3,
        10_000..40_000 => 20.0 + f64::from(number - 10_000) * 1e-4,
        _ => 23.0 + f64::from(number - 40_000) * 1.85e-3,
    };
    let mut text = String::new();
    for number in 0..60_000u32 {
        let (lba, at) = (u64::from(number) * 7919 % 4096 * 8, at(number));
        writeln!(text, "0,{lba},4096,w,{at:.6}").expect("a text takes anything");
    }
    let file = of_test("burst-series.spc");
    std::fs::write(&file, text).expect("the directory of tests can be written");
    let set = vec!["trace.format=spc".to_owned()];
    let options = vec![("--drive".into(), "drive.preset".into(), "mlc-2014".into())];
    let overrides = Overrides { trace: Some(file.display().to_string()), set, options, ..Overrides::default() };
    let comparison = compared(&Experiment::with(&overrides).unwrap_or_else(|e| panic!("{e}")));
    for (outcome, series) in comparison.outcomes.iter().zip(&comparison.series) {
        let column = |name: &str| series.column(name).unwrap_or_else(|| panic!("no column {name}"));
        let [from, until] = [20.0, 23.0].map(|second| second * comparison.clock.factor);
        let during = |bin: usize| (from..until).contains(&(series.time_s[bin] + series.bin_s / 2.0));
        let arrived: Vec<f64> = column("write_requests_per_s").iter().map(|rate| rate.unwrap_or(0.0)).collect();
        let mean = 60_000.0 / (60.0 * comparison.clock.factor);
        let peak = arrived.iter().copied().fold(0.0, f64::max);
        assert!(peak > 9.0 * mean && peak < 11.0 * mean, "{}: {peak}/s at most, {mean}/s on average", outcome.label);
        for (bin, &rate) in arrived.iter().enumerate() {
            let is_edge = (series.time_s[bin] - from).abs().min((series.time_s[bin] - until).abs()) <= series.bin_s;
            assert!(is_edge || (rate > 5.0 * mean) == during(bin), "{}: {rate}/s at {} s", outcome.label, series.time_s[bin]);
        }
        // Requests piled up since the burst, and the longest latency is of its time, too.
        let most = |name: &str| {
            let values = column(name).iter().map(|value| value.unwrap_or(0.0)).enumerate();
            values.max_by(|one, other| one.1.total_cmp(&other.1)).expect("bins")
        };
        for name in ["outstanding_mean", "latency_p99_us"] {
            let (bin, value) = most(name);
            assert!(series.time_s[bin] + series.bin_s > from, "{}: {name} {value} at {} s", outcome.label, series.time_s[bin]);
        }
        let quiet = series.time_s.iter().position(|time| time + series.bin_s > from).expect("a bin") - 1;
        let before = column("outstanding_mean")[..quiet].iter().flatten().copied().fold(0.0, f64::max);
        assert!(most("outstanding_mean").1 > 5.0 * before, "{}: {before} waited before", outcome.label);
    }
}
