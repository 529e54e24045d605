//! Conclusions of a hurried reader from the verdict are true: situations in which tables alone mislead.

#[path = "../../lab/tests/small/mod.rs"]
mod small;

use experiment::{Experiment, Overrides};
use lab::{Bench, Comparison, SchemeVerdict, compare};
use report::{to_table, write_report};
use small::SMALL;
use std::fmt::Write as _;
use std::path::PathBuf;

fn compared(experiment: &Experiment) -> Comparison {
    let bench = Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
    compare(experiment, &bench).unwrap_or_else(|e| panic!("{e}"))
}

fn run(settings: &str) -> Comparison {
    compared(&Experiment::parse("test.toml", settings).unwrap_or_else(|e| panic!("{e}")))
}

fn of<'a>(comparison: &'a Comparison, scheme: &str) -> &'a SchemeVerdict {
    comparison.verdict.of_scheme(scheme).unwrap_or_else(|| panic!("{scheme} was compared"))
}

/// Pages that a scheme cannot read when a die dies in mid-run: what its drive survives, found by trying.
fn lost_with_a_die(settings: &str) -> u64 {
    let comparison = run(&format!("{settings}\n[faults]\ndead_die = 3\ndead_die_at_request = 1500\nrebuild = false\n"));
    comparison.outcomes[0].result.host.media_errors
}

/// A file of this test, in SPC format: seconds, and whether it is a write, of a page each.
fn spc(name: &str, requests: impl Iterator<Item = (f64, bool)>) -> PathBuf {
    let mut text = String::new();
    for (number, (at, is_write)) in requests.enumerate() {
        let (lba, op) = (number * 7919 % 4096 * 8, if is_write { 'w' } else { 'r' });
        writeln!(text, "0,{lba},4096,{op},{at:.6}").expect("a text takes anything");
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the directory of tests can be written");
    path
}

fn replayed(path: &std::path::Path, more: &[&str]) -> Comparison {
    let set = more.iter().map(ToString::to_string).collect();
    let options = vec![("--drive".into(), "drive.preset".into(), "mlc-2014".into())];
    let trace = Some(path.display().to_string());
    compared(&Experiment::with(&Overrides { trace, set, options, ..Overrides::default() }).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn what_is_said_to_survive_a_die_does_and_what_is_said_not_to_does_not() {
    for (scheme, options) in [
        ("none", ""),
        ("raid5", ""),
        ("ppc", ""),
        ("ds-raid", ""),
        ("mds-groups", ""),
        ("da-raid5", ""),
        ("da-raid5", "stage = 3"),
        ("code-zones", ""),
    ] {
        let named = SMALL.replace(r#""none", "raid5", "ds-raid""#, &format!("\"{scheme}\""));
        let settings = if options.is_empty() { named } else { format!("{named}[scheme.{scheme}]\n{options}\n") };
        let comparison = run(&settings);
        let said = of(&comparison, scheme);
        let lost = lost_with_a_die(&settings);
        assert_eq!(said.survives.dies > 0, lost == 0, "{scheme} {options}: {lost} pages lost, {}", said.sentence);
    }
}

#[test]
fn a_young_da_raid5_is_said_to_survive_nothing_and_to_be_young() {
    let settings =
        SMALL.replace(r#""raid5", "ds-raid""#, r#""raid5", "da-raid5""#).replace("requests = 3000", "requests = 60000");
    let comparison = run(&settings);
    let young = of(&comparison, "da-raid5");
    assert_eq!((young.survives.dies, young.survives.life.map(|life| life.stage)), (0, Some(1)));
    assert!(young.sentence.contains("survives no loss now") && young.sentence.contains("life stage 1 of 3"));
    assert!(comparison.verdict.answer[0].contains("Only `raid5` survives"), "{:?}", comparison.verdict.answer);
    let assumed = "Its endurance assumes the current stage";
    assert!(young.sentence.contains(assumed), "{}", young.sentence);
    // Old, in stage 3, it is protected, and costs what that costs.
    let old = run(&format!("{settings}[scheme.da-raid5]\nstage = 3\n"));
    let aged = of(&old, "da-raid5");
    assert_eq!((aged.survives.dies, aged.survives.life.map(|life| life.stage)), (1, Some(3)));
    assert!(!aged.sentence.contains(assumed) && aged.costs.tbw_tb < young.costs.tbw_tb, "{}", aged.sentence);
    assert!(aged.costs.waf > young.costs.waf, "parity is written: {:?}, {:?}", aged.costs.waf, young.costs.waf);
}

#[test]
fn after_a_lost_die_nothing_that_lost_data_or_protection_is_ranked() {
    let comparison = run(&format!("capacity.over_provisioning = \"60% of raw\"\n{SMALL}\n[faults]\ndead_die = 3\n"));
    let (none, raid5, ds_raid) = (of(&comparison, "none"), of(&comparison, "raid5"), of(&comparison, "ds-raid"));
    assert!(comparison.outcomes[0].result.host.media_errors > 0, "none lost pages");
    assert_eq!(none.not_comparable, ["pages that could not be read"]);
    assert!(none.survives.lost_share > 0.0 && none.sentence.contains("of its pages are lost"), "{}", none.sentence);
    // Stripes over all dies find no die to rebuild onto: a second loss takes data.
    assert_eq!((raid5.survives.dies, raid5.survives.dead_dies, raid5.not_comparable.as_slice()), (0, 1, &["not rebuilt"][..]));
    // Rows become narrower: what was lost is rebuilt, and one more die may go.
    assert_eq!((ds_raid.survives.dies, ds_raid.survives.dead_dies, ds_raid.is_comparable()), (1, 1, true));
    // One of eight dies wears no more: life is that of the others.
    let outcome = &comparison.outcomes[2];
    let cycles = &outcome.result.wear.pe_cycles;
    let used = cycles.iter().map(|&pe| f64::from(pe)).sum::<f64>() / cycles.len() as f64;
    let all = outcome.planned.drive.geometry.raw_size().0 as f64 * (f64::from(comparison.experiment.drive.endurance.0) - used);
    let written = ds_raid.costs.tbw_tb.expect("it writes") * 1e12 * ds_raid.costs.waf.expect("it writes");
    assert!((written / all - 7.0 / 8.0).abs() < 1e-9, "{written} of {all}");
    assert_eq!(comparison.verdict.baseline.as_deref(), Some("ds-raid"));
    assert!(comparison.verdict.answer[0].contains("Only `ds-raid` survives"), "{:?}", comparison.verdict.answer);
    let text = to_table(&comparison);
    assert!(text.contains("none !") && text.contains(" warnings at the end, to read before any figure is believed"), "{text}");
    // The verdict, where the time goes, all figures: each says why.
    let reasons =
        text.lines().filter(|line| line.starts_with("! not comparable  ") && line.contains("pages that could not be read"));
    assert_eq!(reasons.count(), 3, "{text}");
}

/// A drive with 2 % of its blocks bad costs no more than one whose flash is 4 % smaller, under every scheme.
#[test]
fn factory_bad_blocks_cost_their_own_space_and_nothing_else() {
    let bad = run("drive.preset = \"mlc-2014\"\n[age]\nbad_blocks = 0.02\n");
    let smaller = run("drive.preset = \"mlc-2014\"\n[capacity]\nover_provisioning = \"25% of raw\"\n");
    for one in &bad.verdict.schemes {
        assert!(one.is_comparable(), "{}: {:?}", one.scheme, one.not_comparable);
        let (waf, more) = (one.costs.waf, of(&smaller, &one.scheme).costs.waf);
        assert!(waf <= more, "{}: {waf:?} with bad blocks, {more:?} with less flash", one.scheme);
    }
    assert!(of(&bad, "ds-raid").survives.dies == 1 && of(&bad, "raid5").survives.dies == 1);
}

#[test]
fn more_bad_blocks_than_the_spare_are_refused_before_the_run() {
    let settings = format!("{}\n[age]\nbad_blocks = 0.25\n", SMALL.replace("16MiB", "256MiB"));
    let experiment = Experiment::parse("test.toml", &settings).expect("each setting is valid by itself");
    let ran = std::sync::atomic::AtomicBool::new(false);
    let note = |progress| {
        let began = matches!(progress, lab::Progress::Preparing { .. });
        ran.fetch_or(began, std::sync::atomic::Ordering::Relaxed);
    };
    let problem = compare(&experiment, &Bench { threads: 1, clock: &|| 0.0, progress: &note }).expect_err("too many");
    assert_eq!(problem.field, "capacity.over_provisioning");
    for part in ["age.bad_blocks takes 25.0 %", "capacity.over_provisioning from 0.", "capacity.size of at most"] {
        assert!(problem.message.contains(part), "{part}: {problem}");
    }
    assert!(!ran.into_inner(), "before anything was prepared");
    // The value that the error names as valid is valid.
    let spare: f64 = problem
        .message
        .split("capacity.over_provisioning from ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .expect("a number");
    let valid = Experiment::parse("test.toml", &format!("capacity.over_provisioning = {spare}\n{settings}")).expect("valid");
    experiment::plan(&valid, 65_536).unwrap_or_else(|e| panic!("{e}"));
}

/// Random writes of a page fill program units under every scheme, on the drive that is the default: what parity costs is its share,
/// and nothing is padded but rows that a superblock ends with.
#[test]
fn no_scheme_refuses_a_drive_of_today_and_rows_pad_nothing_on_it() {
    let settings = "schemes = [\"none\", \"raid5\", \"ppc\", \"da-raid5\", \"ds-raid\", \"mds-groups\", \"code-zones\"]\n\
                    [trace]\nsource = \"uniform\"\n[generate]\nrequests = 30000\nrange = \"1GiB\"\n\
                    [capacity]\nfairness = \"equal-op\"\n";
    let comparison = run(settings);
    assert!(comparison.verdict.schemes.iter().all(SchemeVerdict::is_comparable));
    let waf = |scheme: &str| of(&comparison, scheme).costs.waf.expect("it wrote");
    let parity_share = 8.0 / 7.0;
    assert!(waf("ds-raid") <= 1.3 * parity_share * waf("none"), "{} and {}", waf("ds-raid"), waf("none"));
    for outcome in &comparison.outcomes {
        let flash = &outcome.result.flash;
        let programs: u64 = flash.programs.values().sum();
        assert!(flash.programs.get("padding").copied().unwrap_or(0) * 1000 < programs, "{}", outcome.label);
        assert_eq!(outcome.result.oracle.mismatches, 0, "{}", outcome.label);
    }
}

#[test]
fn schemes_that_cannot_run_on_a_drive_are_left_out_unless_asked_for() {
    let on_tlc = |schemes: Option<&str>| {
        let options = vec![("--drive tlc".into(), "drive.preset".into(), "tlc-ganged".into())];
        let set = ["generate.requests=500", "generate.range=32MiB"].map(String::from).to_vec();
        let overrides = Overrides { trace: Some("zipf".into()), options, schemes: schemes.map(String::from), set };
        Experiment::with(&overrides).unwrap_or_else(|e| panic!("{e}"))
    };
    let comparison = compared(&on_tlc(None));
    let names: Vec<&str> = comparison.verdict.schemes.iter().map(|one| one.scheme.as_str()).collect();
    assert_eq!(names, ["none", "ds-raid", "mds-groups"]);
    let note = comparison.notes.iter().find(|note| note.contains("`raid5` is left out")).expect("it is said");
    assert!(note.contains("slots per page"), "with the reason: {note}");
    let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
    let problem = compare(&on_tlc(Some("none,raid5")), &bench).expect_err("asked for by name");
    assert!(problem.message.contains("slots per page"), "{problem}");
    // The list says the same of every scheme as a run of it.
    for listed in flashkeep_studies::schemes_on("tlc-ganged").expect("a preset") {
        let runs = compare(&on_tlc(Some(&listed.name)), &bench).is_ok();
        assert_eq!(listed.details[0].starts_with("runs on tlc"), runs, "{}: {:?}", listed.name, listed.details);
    }
}

#[test]
fn a_gap_of_six_days_is_named_and_can_be_clipped() {
    let days = 6.0 * 86_400.0;
    let at = |number: u32| f64::from(number) * 0.01 + if number < 1000 { 0.0 } else { days };
    let trace = spc("gap.spc", (0..2000).map(|number| (at(number), number % 2 == 0)));
    let plain = replayed(&trace, &["trace.format=spc"]);
    assert!((plain.trace.longest_gap_s - days).abs() < 1.0, "{}", plain.trace.longest_gap_s);
    let warned = |comparison: &Comparison| comparison.warnings().iter().any(|warning| warning.contains("trace.max_gap"));
    assert!(warned(&plain) && plain.warnings().iter().any(|warning| warning.contains("6.00 days")), "{:?}", plain.warnings());
    let clipped = replayed(&trace, &["trace.format=spc", "trace.max_gap=10s"]);
    assert!(!warned(&clipped), "{:?}", clipped.warnings());
    let told = |comparison: &Comparison| {
        comparison.verdict.answer.iter().any(|one| one.contains("endurance at this load are those of waiting"))
    };
    assert!(told(&plain) && !told(&clipped), "{:?}", plain.verdict.answer);
    assert!(clipped.notes.iter().any(|note| note.contains("one gap between requests is clipped")), "{:?}", clipped.notes);
    assert!((clipped.trace.duration_s - (20.0 + 10.0)).abs() < 0.1, "{}", clipped.trace.duration_s);
    assert_eq!((clipped.trace.clipped_gaps, clipped.trace.requests), (1, 2000));
    // The load is that of 30 s: hundreds of requests a second fewer would be the load of the gap.
    let per_second = |comparison: &Comparison| of(comparison, "none").costs.requests_per_s.expect("time passed");
    assert!(per_second(&clipped) > 60.0 && per_second(&plain) < 0.01);
}

#[test]
fn a_burst_of_ten_times_the_mean_is_told_from_a_mean_load() {
    // 30 000 requests in 3 s, and as many in the 57 s after: the burst is ten times the mean and more.
    let at = |number: u32| if number < 30_000 { f64::from(number) * 1e-4 } else { 3.0 + f64::from(number - 30_000) * 1.9e-3 };
    let trace = spc("burst.spc", (0..60_000).map(|number| (at(number), true)));
    let comparison = replayed(&trace, &["trace.format=spc"]);
    for outcome in &comparison.outcomes {
        let (name, r) = (&outcome.label, &outcome.result);
        assert!(!r.replay.saturated && r.flash.die_utilisation < 0.7, "{name} is not overloaded on average");
        // By the distribution, which knows nothing of the count.
        let within = r.host.write_cdf.iter().take_while(|(us, _)| *us <= 1e6).last().map_or(0.0, |point| point.1);
        let late = r.host.completed_late as f64 / r.host.latency_us.count as f64;
        assert!((late - (1.0 - within)).abs() < 0.01, "{name}: {late} late, {within} within a second");
        let warned =
            comparison.warnings().iter().any(|w| w.contains(&format!("of the requests of `{name}` waited behind a backlog")));
        let told = of(&comparison, name).sentence.contains("of its requests waited behind a backlog of more than a second");
        assert_eq!((warned, told), (late >= 0.001, late >= 0.001), "{name}: {late}, {:?}", comparison.warnings());
    }
    assert!(comparison.outcomes.iter().any(|o| o.result.host.completed_late > 0), "some scheme is behind for a while");
    let clock = comparison.fairness.iter().find(|line| line.starts_with("arrival")).expect("the clock is explained");
    assert!(clock.contains("measured: dies busy") && clock.contains("waited behind a backlog of more than a second"), "{clock}");
}

#[test]
fn terminal_page_and_document_say_the_same() {
    let comparison = run(&SMALL.replace("\"zipf\"", "\"zipf\"\narrival = \"scaled=0.001\""));
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("verdict-report");
    let page = std::fs::read_to_string(write_report(&comparison, &directory).expect("written")).expect("readable");
    let (text, json) = (to_table(&comparison).split_whitespace().collect::<Vec<_>>().join(" "), comparison.to_json());
    let plain = |text: &str| text.replace('`', "").replace(" us ", " \u{b5}s ").replace(" us;", " \u{b5}s;");
    let bare = page.replace("<b>", "").replace("</b>", "");
    assert!(comparison.warnings().len() >= 3);
    for warning in comparison.warnings() {
        assert!(text.contains(&warning) && page.contains(&warning), "{warning}");
        assert!(json["warnings"].as_array().expect("a list").contains(&warning.clone().into()), "{warning}");
    }
    for sentence in comparison.verdict.answer.iter().chain(comparison.verdict.schemes.iter().map(|one| &one.sentence)) {
        assert!(text.contains(sentence.as_str()) && bare.contains(&plain(sentence)), "{sentence}");
    }
    for (one, scheme) in comparison.verdict.schemes.iter().zip(json["schemes"].as_array().expect("a list")) {
        assert_eq!(scheme["not_comparable"], "saturated");
        assert_eq!(json["verdict"]["answer"][0], "No scheme can be compared with another.");
        assert!(page.contains("not comparable: saturated") && text.contains(&format!("{} !", one.scheme)));
    }
    let first = |mark: &str| page.find(mark).unwrap_or_else(|| panic!("{mark}"));
    assert!(
        first("class=\"verdict\"") < first("class=\"toolbar\"") && first("data-panel=") < first("<table"),
        "the verdict comes first"
    );
}

/// A small buffer holds the host up, although the dies have time.
#[test]
fn idle_dies_that_the_host_waits_for_are_named() {
    let settings = "schemes = [\"none\", \"raid5\"]\ncapacity.size = \"128MiB\"\nprecondition.fill = 0.0\nwarmup = \"none\"\npayload = \"none\"\n\
                    [trace]\nsource = \"uniform\"\narrival = \"closed=256\"\n[generate]\nrequests = 20000\nrange = \"128MiB\"\n";
    let warned = |comparison: &Comparison| -> Vec<String> {
        let idle = comparison.cautions.iter().filter(|caution| caution.kind == "idle dies");
        idle.filter_map(|caution| caution.scheme.clone()).collect()
    };
    let small = run(&format!("buffer.size = \"32KiB\"\n{settings}"));
    assert_eq!(warned(&small), ["raid5"]);
    let usual = run(settings);
    assert!(
        warned(&usual).is_empty(),
        "{:?}",
        usual.outcomes.iter().map(|one| one.result.flash.die_utilisation).collect::<Vec<_>>()
    );
}

/// Fails if anything is concluded of flash from requests that stay in the write buffer, or from a run that collects hardly anything.
#[test]
fn a_run_that_does_not_bear_figures_of_flash_is_said_to_and_nothing_is_concluded_from_them() {
    let settings = "drive.preset = \"mlc-2014\"\nschemes = [\"raid5\", \"ds-raid\"]\nbuffer.size = \"4MiB\"\nwarmup = \"none\"\n[trace]\n\
                    source = \"zipf\"\n[generate]\nrequests = 2000\nrange = \"16MiB\"\nread_fraction = 0.5\n";
    let comparison = run(settings);
    let (raid5, ds_raid) = (&comparison.outcomes[0].result, of(&comparison, "ds-raid"));
    // Pages that were overwritten there left the host, and took nothing.
    assert_eq!((raid5.flash.programs.values().sum::<u64>(), raid5.flash.waf), (0, Some(0.0)), "all is in the buffer");
    assert!(raid5.flash.buffered_pages > 0 && ds_raid.costs.tbw_tb.is_none());
    let answer = comparison.verdict.answer.join(" ");
    for word in ["energy", "endurance", "Dominated"] {
        assert!(!answer.contains(word), "{answer}");
    }
    assert!(ds_raid.sentence.contains("too short") && !ds_raid.sentence.contains("energy 0"), "{}", ds_raid.sentence);
    assert_eq!(comparison.cautions.iter().filter(|caution| caution.kind == "unborne").count(), 2);
    // Reads alone bear the energy of reads.
    let reads = run(&settings.replace("read_fraction = 0.5", "read_fraction = 1.0"));
    assert!(reads.cautions.iter().all(|caution| caution.kind != "unborne"), "{:?}", reads.cautions);
    assert!(reads.verdict.answer.join(" ").contains("in energy"), "{:?}", reads.verdict.answer);
    // A picture marks write amplification and energy of both schemes, and no latency.
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("verdict_picture.svg");
    let marks = |comparison: &lab::Comparison| {
        report::write_headline(comparison, "", &file).expect("room");
        std::fs::read_to_string(&file).expect("written").matches(" !</text>").count()
    };
    assert_eq!((marks(&comparison), marks(&reads)), (4, 0));
}
