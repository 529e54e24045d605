//! Those who share a drive: each with a clock and figures of its own, beside the others and alone.

use experiment::{Experiment, Workload};
use flashkeep_report::{flow_picture, to_screen, to_table, write_report};
use lab::{Bench, Comparison, RequestLog, compare, compare_logged, fairness};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const DRIVE: &str = "[drive]\npreset = \"mlc-2014\"\n[drive.geometry]\nblocks_per_plane = 64\npages_per_block = 32\n";

fn written(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("flows");
    std::fs::create_dir_all(&folder).expect("the target directory can be written");
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

fn experiment(text: &str) -> Experiment {
    Experiment::parse("test.toml", text).unwrap_or_else(|problem| panic!("{problem}\n{text}"))
}

/// Two generators: a reader of depth 1 beside writes at times.
fn pair(settings: &str) -> String {
    format!(
        "schemes = [\"none\", \"raid5\"]\n{settings}\n{DRIVE}\n[buffer]\nkind = \"off\"\n\
         [[flow]]\nname = \"reader\"\nsource = \"uniform\"\ndepth = 1\nspace = \"table\"\n\
         generate = {{ requests = 1500, range = \"8MiB\", read_fraction = 1.0 }}\n\
         [[flow]]\nname = \"log writer\"\nsource = \"sequential\"\nspace = \"table\"\n\
         generate = {{ requests = 300, range = \"8MiB\", arrivals = {{ every = \"2ms\" }} }}\n"
    )
}

fn compared(experiment: &Experiment) -> Comparison {
    let bench = Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
    compare(experiment, &bench).unwrap_or_else(|problem| panic!("{problem}"))
}

#[test]
fn a_reader_beside_a_writer_has_a_clock_and_figures_of_its_own() {
    let read = experiment(&pair(""));
    let again = experiment(&read.to_toml());
    assert_eq!(again, read, "the effective experiment says all");
    let comparison = compared(&read);
    assert!(comparison.clock.said.contains("`reader` queue 1; `log writer` times"), "{}", comparison.clock.said);
    assert_eq!(comparison.clock.factor, 1.0);
    for outcome in &comparison.outcomes {
        let [reader, writer] = &outcome.flows[..] else { panic!("two flows") };
        assert_eq!((reader.name.as_str(), writer.name.as_str()), ("reader", "log writer"));
        assert_eq!((reader.result.all_requests(), writer.result.all_requests()), (1500, 300));
        assert_eq!((reader.result.read_bytes, writer.result.written_bytes), (1500 * 4096, 300 * 4096));
        // One read is out at a time: they take as long as all of them together, and nothing waits between them.
        let busy = reader.result.latency_us.mean * 1500.0 / 1e6;
        assert!((busy / reader.result.simulated_s - 1.0).abs() < 1e-9, "{busy} {}", reader.result.simulated_s);
        // Writes come each 2 ms whatever the drive does.
        assert!((0.598..0.7).contains(&writer.result.simulated_s), "{}", writer.result.simulated_s);
        assert_eq!(outcome.result.host.requests.values().sum::<u64>(), 1800);
        assert!(reader.alone.is_none());
    }
    let json = comparison.to_json();
    assert_eq!(json["arrival"], "flows");
    let flows = json["schemes"][1]["flows"].as_array().expect("flows");
    assert_eq!(flows[1]["flow"], "log writer");
    assert_eq!(flows[0]["read_latency_us_mean"].as_f64(), Some(comparison.outcomes[1].flows[0].result.read_latency_us.mean));
    assert!(flows[0]["read_waits_us"]["sensing"].as_f64() > Some(1.0), "{}", flows[0]);
    assert!(flows[0].get("alone").is_none() && json["schemes"][1]["flow_fairness"].is_null());
    let rows = comparison.rows();
    assert_eq!(rows[0]["flow_log_writer_requests"], 300.0);
    let text = to_table(&comparison);
    assert!(
        text.lines().any(|line| line.starts_with("raid5") && line.contains("log writer") && line.contains("times")),
        "{text}"
    );
    assert!(comparison.series[0].column("flow_1_latency_p99_us").is_some());
}

/// A flow alone has the figures of an experiment of its own on the same drive: fails if alone it finds another drive, other
/// requests or another clock.
#[test]
fn alone_is_what_an_experiment_of_the_flow_alone_gives() {
    let both = compared(&experiment(&pair("alone = true")));
    // The drive is as large, without a warm-up: the reader alone has no writes for one.
    let only = pair("warmup = \"none\"").split("[[flow]]\nname = \"log writer\"").next().expect("two").to_owned();
    let both_cold = compared(&experiment(&pair("alone = true\nwarmup = \"none\"")));
    let mut reader = experiment(&format!(
        "{only}[[flow]]\nname = \"idle\"\nsource = \"uniform\"\nspace = \"table\"\ndepth = 1\n\
        until = \"1ns\"\ngenerate = {{ requests = 1, range = \"8MiB\", read_fraction = 1.0 }}\n"
    ));
    reader.seed = 1;
    let alone = compared(&reader);
    for (outcome, other) in both_cold.outcomes.iter().zip(&alone.outcomes) {
        let flow = &outcome.flows[0];
        let mine = flow.alone.as_ref().expect("it was asked for");
        // The idle one reads once, at the start.
        let theirs = &other.flows[0].result;
        assert_eq!(mine.all_requests(), theirs.all_requests());
        assert!((mine.latency_us.mean / theirs.latency_us.mean - 1.0).abs() < 0.01, "{mine:?} {theirs:?}");
    }
    for outcome in &both.outcomes {
        let slow: Vec<f64> = outcome.flows.iter().map(|flow| flow.slowdown().expect("both answered")).collect();
        let naive: Vec<f64> = outcome
            .flows
            .iter()
            .map(|flow| flow.result.latency_us.mean / flow.alone.as_ref().expect("asked for").latency_us.mean)
            .collect();
        assert_eq!(slow, naive);
        assert!(slow[0] > 1.0, "reads wait for writes: {slow:?}");
        let fair = slow[0].min(slow[1]) / slow[0].max(slow[1]);
        assert_eq!(fairness(&outcome.flows), Some(fair));
        assert!(outcome.flows[0].alone.as_ref().expect("asked for").latency_us.max < 200.0, "a read alone waits for no other");
    }
    let row = &both.rows()[0];
    assert!(row["flow_reader_slowdown"].as_f64() > Some(1.0) && row["flow_fairness"].is_f64(), "{row:?}");
}

#[test]
fn the_log_says_whose_a_request_is_where_there_are_several() {
    let rows = |name: &str, text: &str| {
        let path = written(name, "");
        let log = RequestLog::new(&path).unwrap_or_else(|e| panic!("{e}"));
        let bench = Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
        compare_logged(&experiment(text), &bench, Some(&log)).unwrap_or_else(|e| panic!("{e}"));
        log.finish().unwrap_or_else(|e| panic!("{e}"));
        let reader = SerializedFileReader::new(std::fs::File::open(&path).expect("written")).expect("a Parquet file");
        let mut counts = BTreeMap::<String, usize>::new();
        for row in reader.get_row_iter(None).expect("rows") {
            let row = row.expect("a row");
            let flow =
                row.get_column_iter().find(|(name, _)| *name == "flow").map_or(
                    "no column".to_owned(),
                    |(_, field)| match field {
                        Field::Str(name) => name.clone(),
                        other => other.to_string(),
                    },
                );
            *counts.entry(flow).or_default() += 1;
        }
        counts
    };
    let two = rows("two.parquet", &pair(""));
    assert_eq!(two, BTreeMap::from([("log writer".into(), 600), ("reader".into(), 3000)]));
    let one = "[trace]\nsource = \"uniform\"\n[generate]\nrequests = 50\nrange = \"8MiB\"\n";
    assert_eq!(rows("one.parquet", &format!("schemes = [\"none\"]\n{one}{DRIVE}")), BTreeMap::from([("no column".into(), 50)]));
}

#[test]
fn one_flow_is_said_nothing_of() {
    let one = format!(
        "schemes = [\"none\"]\nalone = true\n[trace]\nsource = \"uniform\"\n[generate]\nrequests = 500\nrange = \"8MiB\"\n{DRIVE}"
    );
    let comparison = compared(&experiment(&one));
    let json = comparison.to_json();
    assert!(json["schemes"][0].get("flows").is_none() && !comparison.clock.is_each);
    assert!(comparison.notes.iter().any(|note| note.starts_with("alone: ")), "{:?}", comparison.notes);
    assert!(!comparison.rows()[0].keys().any(|key| key.starts_with("flow_")));
}

/// A queue that ends in time answers as many as the drive can: with half the flash time, more.
#[test]
fn a_job_that_ends_in_time_ends_then() {
    let job = "[global]\nioengine=libaio\nsize=4m\nbs=4k\nruntime=200ms\ntime_based\n[a]\nrw=randread\niodepth=2\n[b]\nrw=randread\niodepth=8\n";
    let path = written("timed.fio", job);
    let text = |schemes: &str| format!("schemes = [{schemes}]\n[trace]\nsource = {:?}\n{DRIVE}", path.display().to_string());
    let comparison = compared(&experiment(&text("\"none\", \"raid5\"")));
    for outcome in &comparison.outcomes {
        for (flow, depth) in outcome.flows.iter().zip([2.0, 8.0]) {
            let result = &flow.result;
            assert!((0.2..0.21).contains(&result.simulated_s), "{}", result.simulated_s);
            // Little's law: as many are out as the queue is deep.
            let out = result.latency_us.mean / 1e6 * result.all_requests() as f64 / result.simulated_s;
            assert!((out / depth - 1.0).abs() < 0.02, "{out} {depth}");
        }
        assert!(outcome.flows[1].result.all_requests() > 1024, "beyond its size");
    }
}

/// Fails if a flow that finds a drive which others have written is compared with itself on a drive which they have not.
#[test]
fn the_slowdown_of_a_flow_behind_others_is_marked() {
    let job = "[global]\nioengine=libaio\nsize=2m\nbs=4k\n[fill]\nrw=write\n[a]\nstonewall\nrw=randread\n[b]\nrw=randread\n";
    let path = written("stages.fio", job);
    let source = path.display().to_string();
    let comparison =
        compared(&experiment(&format!("schemes = [\"raid5\"]\nalone = true\n[trace]\nsource = {source:?}\n{DRIVE}")));
    let doubts: Vec<bool> = comparison.outcomes[0].flows.iter().map(|flow| flow.doubt.is_some()).collect();
    assert_eq!(doubts, [false, true, true]);
    assert!(comparison.cautions.iter().any(|caution| caution.text.contains("slowdowns of flows `a`, `b` under `raid5`")));
}

#[test]
fn devices_of_a_recording_are_flows_where_that_is_asked_for() {
    let lines: String = (0..400).map(|i| format!("{} {} {} 8 {}\n", i * 1_000_000, i % 3, i * 8, i % 2)).collect();
    let path = written("devices.trace", &lines);
    let text = |flows: &str| {
        format!(
            "schemes = [\"none\"]\n[trace]\nformat = \"disksim-ns-sectors\"\nsource = {:?}\narrival = \"recorded\"\n{flows}\n{DRIVE}",
            path.display().to_string()
        )
    };
    let (plain, by) = (compared(&experiment(&text(""))), compared(&experiment(&text("flows = \"device\""))));
    let names: Vec<&str> = by.outcomes[0].flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["device 0", "device 1", "device 2"]);
    assert_eq!(by.outcomes[0].flows.iter().map(|flow| flow.result.all_requests()).collect::<Vec<_>>(), [134, 133, 133]);
    // All have times: the drive does the same.
    assert_eq!(by.outcomes[0].result.replay.event_digest, plain.outcomes[0].result.replay.event_digest);
    let by_stream = compared(&experiment(&text("flows = \"stream\"")));
    let told = by_stream.cautions.iter().filter(|caution| caution.kind == "one flow").count();
    assert!(by_stream.outcomes[0].flows.is_empty() && told == 1, "{:?}", by_stream.cautions);
    let problem = Workload::open(&experiment(&pair("trace = { flows = \"device\" }")), &|_| {}).err().expect("no recording");
    assert_eq!(problem.field, "trace.flows");
}

#[test]
fn flows_that_cannot_be_are_refused() {
    let with = |change: (&str, &str)| {
        let text = pair("");
        assert!(text.contains(change.0), "{}", change.0);
        let read =
            Experiment::parse("test.toml", &text.replacen(change.0, change.1, 1)).map_err(|problem| problem.to_string())?;
        Workload::open(&read, &|_| {}).map(drop).map_err(|problem| problem.to_string())
    };
    for (change, said) in [
        (("name = \"log writer\"", "name = \"reader\""), "each flow needs a name of its own"),
        (("depth = 1", ""), "wanted a depth, or times"),
        (("source = \"sequential\"", "source = \"sequential\"\ndepth = 2"), "a depth, or the times"),
        (("source = \"sequential\"", "source = \"sequentail\""), "did you mean `sequential`"),
        (("range = \"8MiB\"", "range = \"1KiB\""), "of flow `reader`: slots: found 0"),
        (("depth = 1", "depth = 0"), "valid is 1 to 65536"),
    ] {
        let problem = with(change).expect_err(said);
        assert!(problem.contains(said), "{said}: {problem}");
    }
}

/// Two flows that ask for more than the drive can do, at times.
fn overload(settings: &str) -> String {
    let flow = |name: &str, requests: u32| {
        format!(
            "[[flow]]\nname = \"{name}\"\nsource = \"uniform\"\n\
             generate = {{ requests = {requests}, range = \"8MiB\", read_fraction = 0.0, arrivals = {{ every = \"20us\" }} }}\n"
        )
    };
    format!("schemes = [\"raid5\"]\n{settings}\n{DRIVE}\n[buffer]\nkind = \"off\"\n{}{}", flow("a b", 100), flow("a-b", 300))
}

/// Catches a clock that slows flows down without a warning, and two flows whose figures share a column.
#[test]
fn flows_that_are_slowed_down_are_told_and_each_has_columns_of_its_own() {
    let comparison = compared(&experiment(&overload("")));
    assert!(comparison.clock.factor > 1.0, "{}", comparison.clock.said);
    let told: Vec<&str> =
        comparison.cautions.iter().filter(|caution| caution.kind == "rescaled").map(|caution| caution.text.as_str()).collect();
    let factor = format!("multiplied by {}", comparison.clock.factor);
    assert!(told.len() == 1 && told[0].contains("the flows ask for") && told[0].contains(&factor), "{told:?}");
    let rows = comparison.rows();
    assert_eq!((rows[0]["flow_a_b_requests"].as_f64(), rows[0]["flow_a_b_1_requests"].as_f64()), (Some(100.0), Some(300.0)));
    let recorded = compared(&experiment(&overload("trace.arrival = \"recorded\"")));
    assert!(recorded.cautions.iter().all(|caution| caution.kind != "rescaled"));
}

/// A load is reached for flows with times, too, within the 2 % that the page on traces states; beside a queue it is refused.
#[test]
fn a_load_of_flows_with_times_is_reached_and_one_beside_a_queue_is_refused() {
    let comparison = compared(&experiment(&overload("warmup = \"none\"\ntrace.arrival = \"load=50%\"")));
    let flash = &comparison.outcomes[0].result.flash;
    let busy = flash.die_utilisation.max(flash.channel_utilisation);
    assert!((busy / 0.5 - 1.0).abs() <= 0.02, "{busy}");
    let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
    let refused = compare(&experiment(&pair("trace.arrival = \"load=30%\"")), &bench).expect_err("a queue follows no clock");
    assert!(refused.to_string().contains("keeps a queue of requests"), "{refused}");
}

/// The clock is that of a drive without redundancy, which takes no spare die. Catches a refusal that names a scheme no one asked for, and
/// a missing warning for a die that is to fail after the last request.
#[test]
fn a_spare_die_comes_under_the_usual_clock_and_a_death_after_the_end_is_told() {
    for (at, told) in [(0, false), (5000, true)] {
        let comparison = compared(&experiment(&format!(
            "schemes = [\"raid5\"]\ntrace.source = \"uniform\"\nwarmup = \"none\"\n{DRIVE}\
             [generate]\nrequests = 400\nrange = \"8MiB\"\nread_fraction = 0.5\narrivals = {{ every = \"1ms\" }}\n\
             [faults]\ndead_die = 1\ndead_die_at_request = {at}\nreplace_after = \"10ms\"\n"
        )));
        assert_eq!(comparison.cautions.iter().any(|caution| caution.kind == "no die died"), told, "{:?}", comparison.cautions);
        assert_eq!(comparison.to_json()["schemes"][0]["replaced_s"].is_null(), told);
    }
}

/// The wait of a flow's requests, its fairness and why a slowdown is marked are on the terminal.
#[test]
fn fairness_and_waits_by_flow_are_on_the_terminal() {
    let comparison = compared(&experiment(&pair("alone = true")));
    let (first, explained) = (to_screen(&comparison, false, None), to_screen(&comparison, true, None));
    let share = fairness(&comparison.outcomes[1].flows).expect("both ran alone");
    let said = format!("`raid5` {}", common::Quantity::Plain.show(share));
    let line = |text: &str| text.lines().find(|line| line.starts_with("fairness, ")).map(str::to_owned);
    for text in [&first, &explained, &to_table(&comparison)] {
        assert!(line(text).is_some_and(|line| line.ends_with(&said)), "{said}: {text}");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("flows/report");
    let page = write_report(&comparison, &folder).unwrap_or_else(|e| panic!("{e}"));
    let page = std::fs::read_to_string(page).expect("written");
    let has_row = |label: &str| page.contains(&format!("<td>{label}</td>"));
    assert!(has_row("flow reader: reads, mean") && page.contains("fairness, the least slowdown over the greatest"));
    assert!(!first.contains("flow reader: reads, mean"), "one screen: {first}");
    assert!(explained.contains("flow reader: reads, mean") && explained.contains("flow log writer: writes, mean"), "{explained}");
    assert!(explained.contains("held equal: raw flash, user capacity, write buffer, preconditioning, the clock of each flow"));
}

/// Fails if a slowdown is shown as the cost of the others where the flow cannot keep up by itself, or where a die fails in the midst of
/// only one of the runs.
#[test]
fn a_slowdown_that_is_not_the_cost_of_the_others_is_marked() {
    let recorded = compared(&experiment(&overload("alone = true\ntrace.arrival = \"recorded\"")));
    let doubts: Vec<Option<&str>> = recorded.outcomes[0].flows.iter().map(|flow| flow.doubt).collect();
    let saturated: Vec<bool> = recorded.outcomes[0]
        .flows
        .iter()
        .map(|flow| flow.result.saturated || flow.alone.as_ref().is_some_and(|alone| alone.saturated))
        .collect();
    assert!(saturated.contains(&true), "the drive is overloaded");
    assert_eq!(doubts.iter().map(Option::is_some).collect::<Vec<_>>(), saturated);
    let failing =
        |at: u64| compared(&experiment(&pair(&format!("alone = true\nfaults = {{ dead_die = 1, dead_die_at_request = {at} }}"))));
    let died = failing(400);
    assert!(died.outcomes[1].flows.iter().all(|flow| flow.doubt.is_some_and(|doubt| doubt.contains("a die failed"))));
    let text = to_screen(&died, false, None);
    let row = text.lines().find(|line| line.starts_with("raid5") && line.contains("reader")).expect("a row");
    assert!(row.ends_with(" !") && died.cautions.iter().any(|caution| caution.kind == "slowdown"), "{text}");
    // Dead before the first request of each run, or after the last: all runs are of one drive.
    for at in [0, 1_000_000] {
        assert!(failing(at).outcomes[1].flows.iter().all(|flow| flow.doubt.is_none()), "{at}");
    }
}

/// The picture has a line for each flow alone and beside the others, from the columns of the series.
#[test]
fn latency_over_time_alone_and_together_is_a_series_and_a_picture() {
    let comparison = compared(&experiment(&pair("alone = true")));
    for (series, outcome) in comparison.series.iter().zip(&comparison.outcomes) {
        for (number, flow) in outcome.flows.iter().enumerate() {
            let answers = |column: &str| {
                let rates = series.column(&format!("flow_{number}_{column}")).expect("a column");
                (rates.iter().flatten().sum::<f64>() * series.bin_s).round() as u64
            };
            assert_eq!(answers("answers_per_s"), flow.result.all_requests());
            assert_eq!(answers("alone_answers_per_s"), flow.alone.as_ref().expect("it ran").all_requests());
        }
        let bins = series.time_s.len();
        assert!(series.columns.iter().all(|column| column.values.len() == bins));
    }
    let svg = flow_picture(&comparison).expect("two flows");
    // Two schemes, two flows, four lines, and four lines of the legend.
    assert_eq!(svg.matches("fill=\"none\"").count(), 2 * 2 * 4);
    assert!(svg.contains("median alone") && svg.contains("raid5: fairness"), "{svg}");
    let together = compared(&experiment(&pair("")));
    let svg = flow_picture(&together).expect("two flows");
    assert!(svg.matches("fill=\"none\"").count() == 2 * 2 * 2 && !svg.contains("alone"), "{svg}");
}

/// Requests that no one asked for are not counted, and loops that repeat nothing are refused and not advised.
#[test]
fn flows_that_end_in_time_are_told_by_what_was_answered() {
    let timed = pair("warmup = \"none\"").replacen("depth = 1\n", "depth = 1\nuntil = \"100ms\"\n", 1);
    let comparison = compared(&experiment(&timed));
    let text = to_screen(&comparison, false, None);
    let counts: Vec<u64> = comparison.outcomes.iter().map(|one| one.result.host.requests.values().sum()).collect();
    let (least, most) = (counts.iter().min().expect("two"), counts.iter().max().expect("two"));
    let said = if least == most { format!("flows: {most} requests") } else { format!("flows: {least} to {most} requests") };
    assert!(text.replace(' ', "").contains(&said.replace(' ', "")), "{said}: {text}");
    assert!(!text.contains("--loops") && text.contains("`until` of a"), "{text}");
    let read = experiment(&timed.replacen("[[flow]]", "[trace]\nloops = 3\n[[flow]]", 1));
    let problem = Workload::open(&read, &|_| {}).err().expect("loops repeat nothing");
    assert!(problem.field == "trace.loops" && problem.message.contains("flow `reader` ends in time"), "{problem}");
}

/// Shares are of what the host may store, also where its size follows the flows; more than all of it is refused.
#[test]
fn ranges_of_flows_in_percent_are_shares_of_what_the_host_may_store() {
    let with = |capacity: &str, ranges: [&str; 2]| {
        let flow = |name: &str, range: &str| {
            format!(
                "[[flow]]\nname = \"{name}\"\nsource = \"uniform\"\ndepth = 1\ngenerate = {{ requests = 10, range = \"{range}\" }}\n"
            )
        };
        let text = format!(
            "schemes = [\"none\"]\nwarmup = \"none\"\n{DRIVE}[capacity]\nsize = \"{capacity}\"\n{}{}",
            flow("a", ranges[0]),
            flow("b", ranges[1])
        );
        let experiment = experiment(&text);
        let workload = Workload::open(&experiment, &|_| {})?;
        Ok::<_, common::Problem>((workload.touched(), u64::from(experiment::plan(&experiment, workload.touched())?.user_slots)))
    };
    assert_eq!(with("16MiB", ["25%", "50%"]), Ok((3072, 4096)));
    // 48 MiB are three quarters of 64 MiB.
    assert_eq!(with("auto", ["25%", "48MiB"]), Ok((16_384, 16_384)));
    for (capacity, ranges) in [("16MiB", ["100%", "50%"]), ("auto", ["100%", "4KiB"])] {
        let problem = with(capacity, ranges).expect_err("too much");
        assert!(problem.field == "flow.generate.range" && problem.message.contains("what the host may store"), "{problem}");
    }
}
