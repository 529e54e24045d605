use super::*;
use std::collections::{BTreeMap, BTreeSet};

fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(name, n)| ((*name).into(), *n)).collect()
}

/// A run in which no two numbers are equal, so that a mixed-up cell shows.
fn run(scheme: &str, offset: u64) -> RunResult {
    let mut run = RunResult { scheme: scheme.into(), ..RunResult::default() };
    let x = offset as f64;
    for (i, latency) in
        [&mut run.host.latency_us, &mut run.host.read_latency_us, &mut run.host.write_latency_us].into_iter().enumerate()
    {
        let base = 1000.5 * (i as f64 + 1.0) + x;
        latency.count = 70_000 * (i as u64 + 1) + offset;
        (latency.mean, latency.p50, latency.p99) = (base + 1.25, base + 2.25, base + 3.25);
        (latency.p999, latency.p9999, latency.max) = (base + 4.25, base + 4.75, base + 5.25);
    }
    run.host.read_cdf = vec![(10.0, 0.5), (20.0, 1.0)];
    (run.host.read_pages, run.host.write_pages) = (5_001 + offset, 6_001 + offset);
    run.flash.reads = counts(&[("host", 11_000 + offset), ("gc", 12_000 + offset)]);
    run.flash.programs = counts(&[("host", 13_000 + offset), ("parity", 14_000 + offset)]);
    run.flash.erases = counts(&[("gc", 15_000 + offset)]);
    run.flash.waf = Some(1.0625 + x);
    run.flash.padded_slots = 16_000 + offset;
    run.flash.energy_j = [("read", 0.5), ("program", 0.25), ("erase", 0.125)].map(|(kind, j)| (kind.into(), j + x)).into();
    (run.oracle.checked_reads, run.oracle.mismatches, run.redundancy.rebuilt_reads) =
        (17_000 + offset, 18_000 + offset, 19_000 + offset);
    (run.host.media_errors, run.host.write_errors) = (20_000 + offset, 21_000 + offset);
    run.ecc.ldpc_disagreements = 25_000 + offset;
    (run.replay.simulated_s, run.flash.die_utilisation, run.replay.offered_load) = (22.5 + x, 0.375, 0.4375);
    (run.precondition.overwrites, run.precondition.waf, run.precondition.converged) = (2.75 + x, 1.875 + x, true);
    (run.wear.pe_added, run.wear.pe_cycles) = (vec![1, 3], vec![101, 203]);
    (run.replay.event_digest, run.flash.ops, run.replay.events) = (u64::MAX - offset, 23_000 + offset, 24_000 + offset);
    run
}

static NO_VERDICT: Verdict = Verdict { answer: Vec::new(), baseline: None, schemes: Vec::new() };

fn input(runs: &[RunResult]) -> ReportInput<'_> {
    let trace = TraceSummary {
        name: "tape",
        requests: 10,
        reads: 7,
        writes: 3,
        footprint: Bytes(4096),
        duration_s: 1.5,
        answered: None,
        lines: &[],
    };
    ReportInput {
        flows: FlowsShown::default(),
        title: "A report",
        trace,
        drive: &[],
        dies: 2,
        fairness: &[],
        notes: &[],
        cautions: &[],
        verdict: &NO_VERDICT,
        screen: &[],
        experiment: "",
        command: "flashkeep compare tape",
        runs,
        series: &[],
        speeds: &[],
        seeds: None,
    }
}

/// The cells of one metric, as (exact value, text).
fn cells(page: &str, table: &str, group: &str, metric: &str) -> Vec<(String, String)> {
    let after = |text: &str, mark: &str| text.split_once(mark).unwrap_or_else(|| panic!("no {mark}")).1.to_string();
    let rest = after(page, &format!("data-table=\"{table}\""));
    let rest = after(&rest, &format!("data-group=\"{group}\""));
    let rest = after(&rest, &format!("data-metric=\"{metric}\""));
    let row = rest.split_once("</tr>").expect("row ends").0;
    row.split("<td").skip(1).map(cell).collect()
}

fn cell(td: &str) -> (String, String) {
    let exact = td.split_once("data-value=\"").map_or("", |(_, rest)| rest.split_once('"').expect("quoted").0);
    let text = td.split_once('>').expect("tag ends").1.split_once('<').expect("cell ends").0;
    (exact.into(), text.into())
}

/// Island as the browser reads it.
fn island(page: &str) -> Value {
    let rest = page.split_once("id=\"data\">").expect("island").1;
    serde_json::from_str(rest.split_once("</script>").expect("island ends").0).expect("island is JSON")
}

/// Panics unless the cells of one metric hold, in full, what `of` says of each run.
fn check(page: &str, [table, group, metric]: [&str; 3], of: impl Fn(usize) -> String) {
    let found: Vec<String> = cells(page, table, group, metric).into_iter().map(|(exact, _)| exact).collect();
    assert_eq!(found, [of(0), of(1)], "{table} / {group} / {metric}");
}

#[test]
fn latencys_in_the_table_are_those_of_the_run() {
    let runs = [run("none", 0), run("raid5", 400)];
    let page = html(&input(&runs));
    for (group, of) in [
        ("Reads and writes", (|r| r.host.latency_us.into()) as fn(&RunResult) -> Shown),
        ("Reads", |r| r.host.read_latency_us.into()),
        ("Writes", |r| r.host.write_latency_us.into()),
    ] {
        for (i, metric) in ["requests", "mean", "median", "p99", "p99.9", "p99.99", "maximum"].into_iter().enumerate() {
            check(&page, ["Latency", group, metric], |n| of(&runs[n]).0[i].clone());
        }
    }
}

#[test]
fn flash_operations_in_the_table_are_those_of_the_run() {
    let runs = [run("none", 0), run("raid5", 400)];
    let page = html(&input(&runs));
    for (group, of) in [
        ("Page reads", (|r| &r.flash.reads) as fn(&RunResult) -> &BTreeMap<String, u64>),
        ("Page programs", |r| &r.flash.programs),
        ("Block erases", |r| &r.flash.erases),
    ] {
        check(&page, [OPERATIONS, group, "total"], |n| of(&runs[n]).values().sum::<u64>().to_string());
        for cause in of(&runs[0]).keys() {
            check(&page, [OPERATIONS, group, cause], |n| of(&runs[n])[cause].to_string());
        }
    }
}

const OPERATIONS: &str = "Flash operations by cause";

#[test]
fn costs_in_the_table_are_those_of_the_run() {
    let runs = [run("none", 0), run("raid5", 400)];
    let page = html(&input(&runs));
    check(&page, ["Cost", "Work", "host pages read"], |n| runs[n].host.read_pages.to_string());
    check(&page, ["Cost", "Work", "host pages written"], |n| runs[n].host.write_pages.to_string());
    check(&page, ["Cost", "Work", "write amplification (WAF)"], |n| runs[n].flash.waf.unwrap().to_string());
    check(&page, ["Cost", "Work", "slots padded"], |n| runs[n].flash.padded_slots.to_string());
    check(&page, ["Cost", "Energy", "total"], |n| (0.875 + 1200.0 * n as f64).to_string());
    for (metric, key) in [("reads", "read"), ("programs", "program"), ("erases", "erase")] {
        check(&page, ["Cost", "Energy", metric], |n| runs[n].flash.energy_j[key].to_string());
    }
    check(&page, ["Cost", "Wear", "added, mean of blocks"], |_| "2".into());
    check(&page, ["Cost", "Wear", "added, standard deviation"], |_| "1".into());
    check(&page, ["Cost", "Wear", "added, most worn block"], |_| "3".into());
    check(&page, ["Cost", "Wear", "at the end, mean of blocks"], |_| "152".into());
    check(&page, ["Cost", "Wear", "at the end, most worn block"], |_| "203".into());
    check(&page, ["Cost", "Load", "virtual time"], |n| runs[n].replay.simulated_s.to_string());
    check(&page, ["Cost", "Load", "die utilisation"], |n| runs[n].flash.die_utilisation.to_string());
    check(&page, ["Cost", "Load", "offered load"], |n| runs[n].replay.offered_load.to_string());
}

#[test]
fn checks_and_speed_in_the_table_are_those_of_the_run() {
    let runs = [run("none", 0), run("raid5", 400)];
    let speeds = [RunSpeed { wall_s: 1.5, flash_ops_per_s: 2.5e6 }, RunSpeed { wall_s: 3.5, flash_ops_per_s: 4.5e6 }];
    let page = html(&ReportInput { speeds: &speeds, ..input(&runs) });
    let trust = "Checks and simulator";
    check(&page, [trust, "Data", "host page reads checked"], |n| runs[n].oracle.checked_reads.to_string());
    check(&page, [trust, "Data", "mismatches"], |n| runs[n].oracle.mismatches.to_string());
    check(&page, [trust, "Data", "rebuilt from a stripe"], |n| runs[n].redundancy.rebuilt_reads.to_string());
    check(&page, [trust, "Data", "media errors"], |n| runs[n].host.media_errors.to_string());
    check(&page, [trust, "Data", "write errors"], |n| runs[n].host.write_errors.to_string());
    let row = "decoded by the curve, not by the LDPC decoder";
    check(&page, [trust, "Data", row], |n| runs[n].ecc.ldpc_disagreements.to_string());
    let mut plain = runs.clone();
    plain.iter_mut().for_each(|run| run.ecc.ldpc_disagreements = 0);
    assert!(!html(&input(&plain)).contains(row), "nothing to say");
    check(&page, [trust, "Preconditioning", "overwrites of the working set"], |n| runs[n].precondition.overwrites.to_string());
    check(&page, [trust, "Preconditioning", "write amplification when it ended"], |n| runs[n].precondition.waf.to_string());
    check(&page, [trust, "Simulator", "flash commands"], |n| runs[n].flash.ops.to_string());
    check(&page, [trust, "Simulator", "events"], |n| runs[n].replay.events.to_string());
    check(&page, [trust, "Simulator", "wall time"], |n| speeds[n].wall_s.to_string());
    check(&page, [trust, "Simulator", "flash commands per second"], |n| speeds[n].flash_ops_per_s.to_string());
}

/// Numbers of a `Latency`, in the order of the table.
struct Shown([String; 7]);

impl From<ssd::Latency> for Shown {
    fn from(r: ssd::Latency) -> Self {
        let [mean, p50, p99, p999, p9999, max] = [r.mean, r.p50, r.p99, r.p999, r.p9999, r.max].map(|x| x.to_string());
        Shown([r.count.to_string(), mean, p50, p99, p999, p9999, max])
    }
}

#[test]
fn the_island_holds_the_numbers_of_the_runs() {
    let runs = [run("none", 0), run("none", 400)];
    let found = island(&html(&input(&runs)));
    for (found, run) in found["runs"].as_array().expect("runs").iter().zip(&runs) {
        assert_eq!(found["latency_us"]["p999"], json!(run.host.latency_us.p999));
        assert_eq!(found["flash_programs"], json!(run.flash.programs));
        assert_eq!(found["read_cdf"], json!(run.host.read_cdf));
        assert_eq!(found["pe_added"], json!(run.wear.pe_added));
        assert_eq!(found["event_digest"], json!(format!("{:016x}", run.replay.event_digest)));
    }
    assert_eq!(found["causes"], json!(["host", "parity", "gc"]), "in report order");
    assert_eq!(found["runs"][1]["label"], "none (2)", "labels are unique");
}

#[test]
fn hostile_names_stay_text() {
    let evil = "</script><script>alert('\"&\u{2028}')</script><!--{{title}}";
    let lines = [evil.to_string(), format!("name: {evil}")];
    let wrong = |scheme| {
        let mut run = run(scheme, 0);
        run.oracle.mismatches = 1;
        run
    };
    let runs = [wrong(evil)];
    let clean = html(&input(&[wrong("x")]));
    let cautions = [Caution {
        level: Level::Error,
        scheme: Some(evil.into()),
        not_comparable: Some("saturated"),
        kind: "saturated",
        text: evil.into(),
    }];
    let mut given =
        ReportInput { title: evil, drive: &lines, fairness: &lines, notes: &lines, cautions: &cautions, ..input(&runs) };
    (given.experiment, given.command) = (evil, evil);
    (given.trace.name, given.trace.lines) = (evil, &lines);
    let page = html(&given);
    assert_eq!(page.matches("</script").count(), clean.matches("</script").count());
    assert_eq!(page.matches("<script").count(), clean.matches("<script").count());
    assert_eq!(page.matches("<!--").count(), clean.matches("<!--").count());
    assert_eq!(island(&page)["title"], evil);
    assert_eq!(island(&page)["runs"][0]["scheme"], evil);
}

#[test]
fn the_file_needs_nothing_else() {
    let page = html(&input(&[run("none", 0)]));
    assert!(page.contains("default-src 'none'"), "the policy forbids to load anything");
    for mark in ["src=\"http", "href=\"http", "src='http", "href='http", "url(", "@import", "<link", "src=\"//"] {
        assert!(!page.replace(LIBRARY, "").contains(mark), "{mark}");
    }
    let own = page.replace(LIBRARY, "").replace(&escape(LIBRARY_NOTICE), "");
    assert!(!own.contains("http://") && !own.contains("https://"));
    let namespaces =
        ["http://www.w3.org/", "http://www.apache.org/licenses/", "https://github.com/ecomfe/zrender/blob/master/LICENSE"];
    for (at, _) in LIBRARY.match_indices("http") {
        let text = &LIBRARY[at..];
        let is_address = text.starts_with("http://") || text.starts_with("https://");
        assert!(!is_address || namespaces.iter().any(|known| text.starts_with(known)), "{}", &text[..60]);
    }
    assert!(page.contains("Apache License") && page.contains("Baidu"), "licences go with the library");
    assert!(!LIBRARY.contains("</script"), "the library can be inlined");
}

#[test]
fn absent_numbers_are_dashes() {
    let mut odd = RunResult { scheme: "none".into(), ..RunResult::default() };
    (odd.replay.simulated_s, odd.flash.die_utilisation, odd.replay.offered_load) = (f64::NAN, f64::NAN, f64::INFINITY);
    odd.flash.reads = counts(&[("host", 0)]);
    let mut trace = input(&[]).trace;
    (trace.requests, trace.reads, trace.writes, trace.duration_s) = (0, 0, 0, f64::NAN);
    let runs = [odd];
    let page = html(&ReportInput { trace, dies: 0, ..input(&runs) });
    let text = |table, group, metric| cells(&page, table, group, metric).remove(0);
    let absent = (String::new(), "-".to_string());
    assert_eq!(text("Cost", "Work", "write amplification (WAF)"), absent);
    assert_eq!(text("Cost", "Load", "virtual time"), absent);
    assert_eq!(text("Cost", "Load", "die utilisation"), absent);
    assert_eq!(text("Cost", "Load", "offered load"), absent);
    assert_eq!(text("Cost", "Wear", "added, mean of blocks"), absent);
    assert_eq!(text("Latency", "Writes", "p99"), absent);
    assert_eq!(text("Checks and simulator", "Simulator", "wall time"), absent);
    assert_eq!(text("Flash operations by cause", "Page reads", "total"), ("0".into(), "0".into()));
    let written = page.replace(LIBRARY, "").replace(SCRIPT, "");
    assert!(!written.contains("NaN") && !written.contains("inf<"));
    assert_eq!(island(&page)["runs"][0].get("simulated_s"), Some(&Value::Null));
}

/// Scripts look figures up by name, and reports are kept: fails if a figure gets another name or a list of its own.
#[test]
fn figures_in_the_island_are_one_list_and_come_back_from_it() {
    let names = [
        "scheme",
        "ecc",
        "around",
        "requests",
        "read_pages",
        "write_pages",
        "latency_us",
        "read_latency_us",
        "write_latency_us",
        "completed_late",
        "read_cdf",
        "write_cdf",
        "media_errors",
        "write_errors",
        "read_only_s",
        "refused_requests",
        "checked_reads",
        "mismatches",
        "flash_reads",
        "ladder",
        "slc",
        "flash_programs",
        "flash_erases",
        "waf",
        "padded_slots",
        "energy_j",
        "astray_reads",
        "sensed_pages",
        "program_pulses",
        "buffer_hits",
        "rested_s",
        "die_utilisation",
        "channel_utilisation",
        "channel_bytes",
        "die_wear_ratio",
        "flash_ops",
        "rebuilt_reads",
        "rebuild_s",
        "rebuild_left",
        "precondition_overwrites",
        "precondition_waf",
        "precondition_converged",
        "warmup_requests",
        "warmup_pages",
        "warmup_waf",
        "warmup_steady",
        "pe_cycles",
        "pe_added",
        "simulated_s",
        "saturated",
        "offered_load",
        "events",
        "event_digest",
    ];
    let run = run("raid5", 3);
    let flat = serde_json::to_value(&run).expect("plain data");
    let found: BTreeSet<&str> = flat.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(found, BTreeSet::from(names));
    assert_eq!(serde_json::from_value::<RunResult>(flat).expect("what was written"), run);
}

#[test]
fn a_report_without_runs_is_a_page() {
    assert_eq!(island(&html(&input(&[])))["runs"], json!([]));
}

#[test]
fn cautions_follow_from_results_and_errors_come_first() {
    let mut tired = run("raid5", 0);
    (tired.replay.saturated, tired.precondition.converged) = (true, false);
    let mut sound = run("none", 0);
    (sound.oracle.mismatches, sound.host.media_errors, sound.host.write_errors) = (0, 0, 0);
    assert_eq!(lab::implied("none", &sound), [], "the sound run gives no caution");
    let mut cautions = lab::implied("raid5", &tired);
    cautions
        .insert(0, Caution { level: Level::Warning, scheme: None, not_comparable: None, kind: "given", text: "given".into() });
    let runs = [sound, tired];
    let page = html(&ReportInput { cautions: &cautions, ..input(&runs) });
    let found: Vec<&str> =
        page.split("class=\"caution ").skip(1).filter_map(|rest| rest.split_once('"')).map(|(level, _)| level).collect();
    let note = "warning"; // What the page says where scripts are off.
    assert_eq!(found, ["error", "error", "error", "error", "warning", "warning", note]);
    for caution in &cautions {
        assert!(page.contains(&escape(&caution.text)), "{}", caution.text);
    }
    let reasons: Vec<_> = cautions.iter().filter_map(|caution| caution.not_comparable).collect();
    assert_eq!(reasons, ["wrong data", "pages that could not be read", "pages that could not be written", "saturated"]);
}

#[test]
fn a_scheme_keeps_its_colour_in_any_company() {
    let colour = |names: &[&str], name: &str| {
        palette::assign(names.iter().copied()).into_iter().find(|(label, _)| label == name).expect("assigned").1
    };
    assert_eq!(colour(&["none", "raid5", "ds-raid"], "ds-raid"), colour(&["canary", "ds-raid"], "ds-raid"));
    let names = ["new", "raid5", "raid5", "none", "newer", "ppc", "mds", "ds-raid"];
    let mut colours: Vec<_> = palette::assign(names.into_iter()).into_iter().map(|(_, colour)| colour).collect();
    colours.sort_unstable();
    colours.dedup();
    assert_eq!(colours.len(), names.len(), "eight schemes, eight colours");
}

#[test]
fn numbers_read_well() {
    let shown = [0.0, 1.0, 87.314, 999.94, 999.96, 1234.5, 0.93123, 0.001, 0.000_12, -2500.4, f64::NAN].map(format::real);
    assert_eq!(shown, ["0", "1.000", "87.31", "999.9", "1,000", "1,235", "0.9312", "0.001000", "1.200e-4", "-2,500", "-"]);
    assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    assert_eq!([1.5, 150.0, 9_000.0, 360_000.0].map(seconds), ["1.500 s", "2.500 min", "2.500 h", "4.167 d"]);
}
