//! Contents of a trace, and the formats that it may have: tables, curves and notes, as a study.

use common::Problem;
use common::quantity::{bytes, percent, seconds, short};
use common::table::grouped;
use experiment::doubt::Found;
use experiment::source::trace_problem;
use experiment::workload::{left_out, tape};
use experiment::{Experiment, doubt};
use report::study::{Axis, Cell, Column, Layout, Mark, Plot, Series, Study, Table};
use trace::{Met, Profile, REUSE_BUCKETS, Tape, TraceSource};
use vocab::Bytes;

/// Unit of hot shares, reuse and footprint.
const SLOT: Bytes = Bytes(4096);

/// Requests of a candidate that are read.
const CANDIDATE_REQUESTS: usize = 1_000_000;

/// Reads the trace of an experiment once and says what is in it. Where its first lines fit several formats, says what each would
/// make of it instead. `progress` hears the requests read so far.
///
/// # Errors
/// A problem of the trace, with file, line and field.
pub fn inspect(experiment: &Experiment, progress: &dyn Fn(u64)) -> Result<Study, Problem> {
    let tape = tape(experiment)?;
    let spec = &experiment.trace;
    let mut settings = vec![("trace", spec.source.clone())];
    let given = [("format", Some(spec.format.clone()).filter(|format| format != "auto")), ("columns", spec.columns.clone())];
    settings.extend(given.into_iter().filter_map(|(name, value)| Some((name, value?))));
    if let Tape::Recorded(source) = &tape
        && source.fitting().map_err(|e| trace_problem(&e))?.len() > 1
    {
        return Ok(several(source, settings));
    }
    let read = tape.read(left_out(experiment), |records| Profile::scan(records, SLOT, progress));
    let (profile, met) = read.map_err(|e| trace_problem(&e))?;
    let profile = profile.map_err(|e| trace_problem(&e))?;
    if profile.footprint().counts().requests == 0 {
        return Err(Problem::new("", "there is no request in it"));
    }
    let mut study = study(&spec.source, met.format, &profile, settings);
    study.notes.splice(0..0, notes_of(experiment, &tape, &profile, &met));
    Ok(study)
}

/// Notes on this workload that come before the tables.
fn notes_of(experiment: &Experiment, tape: &Tape, profile: &Profile, met: &Met) -> Vec<String> {
    let extent = profile.footprint().extents().iter().max().copied().unwrap_or(0) * SLOT.0;
    let columns = doubt::columns(tape, met.format, experiment.trace.columns.as_deref());
    let mut notes = Vec::new();
    if matches!(tape, Tape::Recorded(_) | Tape::Joined(_)) {
        notes.extend(
            Found::new(columns, profile.footprint().counts(), extent, met)
                .doubts()
                .into_iter()
                .map(|one| format!("WARNING: {one}")),
        );
    }
    notes.extend(doubt::met(met));
    if let Tape::Described { flows, .. } = tape {
        notes.extend(flows.notes.iter().cloned());
    }
    notes
}

fn column(key: &'static str, name: &'static str, unit: &'static str) -> Column {
    Column { key, name, unit }
}

/// A table as it is: all its columns beside each other.
fn plain(key: &'static str, title: &str, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Table {
    let all = (0..columns.len()).collect();
    Table { key, columns, rows, layouts: vec![Layout::Plain { title: title.into(), part: None, columns: all }] }
}

/// Reading of a file under each of several formats.
fn several(source: &TraceSource, settings: Vec<(&'static str, String)>) -> Study {
    let columns = vec![
        column("format", "format", ""),
        column("time", "times", ""),
        column("ranges", "addresses and sizes", ""),
        column("duration_s", "duration", "s"),
        column("requests_per_s", "requests/s", ""),
        column("mean_bytes", "mean request", "bytes"),
        column("extent_bytes", "highest address", "bytes"),
        column("verdict", "verdict", ""),
    ];
    let rows = source.fitting().unwrap_or_default().into_iter().map(|format| candidate(source, format)).collect();
    Study {
        name: report::study::INSPECT,
        title: format!("{}: several formats fit", source.name()),
        settings,
        facts: vec!["Formats: the columns alone do not tell the units".into()],
        tables: vec![plain("candidates", "What each format makes of it", columns, rows)],
        plots: Vec::new(),
        notes: vec![
            "name the format whose duration, rate and addresses are those of the recording: \
             `flashkeep inspect TRACE --format report::study::INSPECT`"
                .into(),
            format!("at most {} requests of each are read", grouped(CANDIDATE_REQUESTS as u64)),
        ],
    }
}

fn candidate(source: &TraceSource, format: &'static trace::Format) -> Vec<Cell> {
    let text = |text: &str| Cell::Text(text.to_owned());
    let names = [text(format.name), text(format.time), text(format.ranges)];
    let read = || -> Result<Vec<Cell>, trace::TraceError> {
        let (mut requests, mut bytes, mut duration, mut extent) = (0u64, 0u64, 0.0f64, 0u64);
        for record in source.clone().with_format(format.name)?.open()?.take(CANDIDATE_REQUESTS) {
            let record = record?;
            requests += 1;
            bytes = bytes.saturating_add(record.size().0);
            duration = record.at.0 as f64 * 1e-9;
            extent = extent.max((record.lba.0 + u64::from(record.sectors)) * vocab::SECTOR_BYTES);
        }
        let rate = if duration > 0.0 { requests as f64 / duration } else { 0.0 };
        let verdict = match () {
            () if duration > doubt::YEAR => "too long",
            () if !doubt::PLAUSIBLE_RATES.contains(&rate) => "rate not plausible",
            () if extent as f64 >= doubt::EXTENT_MAX => "addresses of no drive",
            () if bytes as f64 / requests.max(1) as f64 >= doubt::MEAN_MAX => "sizes not plausible",
            () => "plausible",
        };
        let numbers = [Cell::Rate(duration), Cell::Rate(rate), Cell::Count(bytes / requests.max(1)), Cell::Count(extent)];
        Ok(names.iter().cloned().chain(numbers).chain([text(verdict)]).collect())
    };
    read().unwrap_or_else(|error| {
        let absent = std::iter::repeat_n(Cell::Absent, 4);
        names.iter().cloned().chain(absent).chain([Cell::Text(error.to_string())]).collect()
    })
}

fn study(name: &str, format: &str, profile: &Profile, settings: Vec<(&'static str, String)>) -> Study {
    Study {
        name: report::study::INSPECT,
        title: format!("{name}: contents"),
        settings,
        facts: facts(format, profile),
        tables: vec![
            kinds(profile),
            sizes(profile),
            hot(profile),
            caches(profile),
            gaps(profile),
            reuse(profile),
            over_time(profile),
        ],
        plots: plots(profile),
        notes: notes(profile),
    }
}

fn share(value: Option<f64>) -> String {
    value.map_or("-".into(), percent)
}

/// Seconds from the first request to the last.
fn duration(profile: &Profile) -> f64 {
    profile.footprint().counts().duration.as_secs_f64()
}

fn facts(format: &str, profile: &Profile) -> Vec<String> {
    let (footprint, counts, duration) = (profile.footprint(), profile.footprint().counts(), duration(profile));
    let rate = |amount: f64| if duration > 0.0 { amount / duration } else { f64::NAN };
    let [reads, writes] = profile.sequential();
    let [one, ten, twenty] = profile.hot();
    let times = if duration > 0.0 {
        vec![
            format!("Duration: {}", seconds(duration)),
            format!("Mean rate: {} requests/s", short(rate(counts.requests as f64))),
            format!(
                "Mean throughput: {} MB/s read, {} MB/s written",
                short(rate(counts.read_bytes.0 as f64) / 1e6),
                short(rate(counts.written_bytes.0 as f64) / 1e6)
            ),
        ]
    } else {
        vec![
            "Times: none, all requests arrive at once; the drive sets the rate, at a queue depth".to_owned(),
            format!("Volume: {} read, {} written", bytes(counts.read_bytes.0 as f64), bytes(counts.written_bytes.0 as f64)),
        ]
    };
    let facts = vec![
        format!("Devices: {}", counts.devices),
        format!(
            "Footprint: {} in {} runs, {} of it written",
            bytes(footprint.size().0 as f64),
            grouped(footprint.runs().len() as u64),
            bytes((footprint.written_slots() * SLOT.0) as f64)
        ),
        format!("Unaligned to 4 KiB: {}", percent(counts.unaligned as f64 / counts.requests as f64)),
        format!("Sequential: {} of reads, {} of writes", share(reads), share(writes)),
        format!(
            "Hot: the hottest 1 % of the footprint take {} of accesses, 10 % take {}, 20 % take {}",
            percent(one.accesses),
            percent(ten.accesses),
            percent(twenty.accesses)
        ),
        format!(
            "Bursts: the busiest {} have {} times the mean rate; gaps vary by {} times their mean",
            seconds(profile.bin_width().as_secs_f64()),
            short(profile.peak_to_mean()),
            profile.gap_variation().map_or("-".into(), short)
        ),
    ];
    let head = vec![format!("Format: {format}"), format!("Requests: {}", grouped(counts.requests))];
    [head, times, facts].concat()
}

fn notes(profile: &Profile) -> Vec<String> {
    let rate = profile.reuse().rate();
    let sample = if rate < 1.0 {
        format!(
            "hot shares and reuse are of a sample of {} of the 4 KiB slots, drawn by the hash of their address (SHARDS, FAST 2015)",
            percent(rate)
        )
    } else {
        "hot shares and reuse are exact, in slots of 4 KiB".into()
    };
    vec![
        sample,
        "a request is sequential if it begins where one of the 32 requests before it ended".into(),
        "of a request longer than 4 MiB the first 4 MiB count for hot shares and reuse".into(),
        "gaps that vary by 1 time their mean are those of a Poisson process; more are bursts".into(),
    ]
}

fn kinds(profile: &Profile) -> Table {
    let counts = profile.footprint().counts();
    let kind = |name: &str, requests: u64, bytes: Option<u64>| {
        let mean = bytes.filter(|_| requests > 0).map_or(Cell::Absent, |bytes| Cell::Count(bytes / requests));
        let share = Cell::Rate(requests as f64 / counts.requests as f64);
        vec![Cell::Text(name.into()), Cell::Count(requests), share, bytes.map_or(Cell::Absent, Cell::Count), mean]
    };
    let rows = vec![
        kind("read", counts.reads, Some(counts.read_bytes.0)),
        kind("write", counts.writes, Some(counts.written_bytes.0)),
        kind("  of these durable when answered (FUA)", counts.fua_writes, None),
        kind("flush", counts.flushes, None),
        kind("discard", counts.discards, Some(counts.discarded_bytes.0)),
    ];
    let columns = vec![
        column("kind", "kind", ""),
        column("requests", "requests", ""),
        column("share", "share", ""),
        column("bytes", "all", "bytes"),
        column("mean_bytes", "mean", "bytes"),
    ];
    plain("kinds", "Kinds of requests", columns, rows)
}

fn sizes(profile: &Profile) -> Table {
    let [reads, writes] = profile.sizes();
    let row = |bucket: usize| {
        vec![Cell::Text(Bytes(512 << bucket).to_string()), Cell::Count(reads[bucket]), Cell::Count(writes[bucket])]
    };
    let rows = (0..reads.len()).filter(|&bucket| reads[bucket] + writes[bucket] > 0).map(row).collect();
    let columns = vec![column("up_to", "up to", ""), column("reads", "reads", ""), column("writes", "writes", "")];
    plain("sizes", "Sizes of requests, in powers of two", columns, rows)
}

fn hot(profile: &Profile) -> Table {
    let rows = profile.hot().into_iter().map(|hot| vec![Cell::Rate(hot.slots), Cell::Rate(hot.accesses)]).collect();
    plain(
        "hot",
        "Hot data",
        vec![column("slots", "share of the footprint", ""), column("accesses", "share of accesses", "")],
        rows,
    )
}

/// Slots of caches up to the footprint, as powers of two from 1 MiB on.
fn cache_slots(profile: &Profile) -> impl Iterator<Item = u64> {
    let slots = profile.footprint().slots();
    (8..40).map(|power| 1u64 << power).take_while(move |&cache| cache / 2 < slots.max(512))
}

fn caches(profile: &Profile) -> Table {
    let row = |slots: u64| vec![Cell::Text(Bytes(slots * SLOT.0).to_string()), Cell::Rate(profile.reuse().hits(slots))];
    let rows = cache_slots(profile).map(row).collect();
    plain(
        "caches",
        "What a cache of the least recently used would answer",
        vec![column("cache", "cache", ""), column("hits", "share of accesses", "")],
        rows,
    )
}

fn gaps(profile: &Profile) -> Table {
    let quantile =
        |name: &str, share: f64| vec![Cell::Text(name.into()), Cell::Text(seconds(profile.gap_quantile(share).as_secs_f64()))];
    let rows = vec![
        vec![Cell::Text("mean".into()), Cell::Text(profile.mean_gap_s().map_or("-".into(), seconds))],
        quantile("p50, at most", 0.5),
        quantile("p90, at most", 0.9),
        quantile("p99, at most", 0.99),
        vec![Cell::Text("longest".into()), Cell::Text(seconds(profile.longest_gap().as_secs_f64()))],
    ];
    plain(
        "gaps",
        "Time between two requests (percentiles to a power of two)",
        vec![column("gap", "gap", ""), column("time", "time", "")],
        rows,
    )
}

/// Distances below which the shares of reuse lie, in bytes.
fn distance(bucket: usize) -> f64 {
    (1u64 << bucket) as f64 * SLOT.0 as f64
}

fn reuse(profile: &Profile) -> Table {
    let distances = profile.reuse().distances();
    let row = |bucket: usize| vec![Cell::Rate(distance(bucket)), Cell::Rate(distances[bucket])];
    let mut rows: Vec<_> = (0..REUSE_BUCKETS).filter(|&bucket| distances[bucket] > 0.0).map(row).collect();
    rows.push(vec![Cell::NoLimit, Cell::Rate(profile.reuse().first())]);
    let columns = vec![column("below_bytes", "distinct bytes in between, below", ""), column("share", "share of accesses", "")];
    // For machines and the plot: a reader has the caches.
    Table { key: "reuse", columns, rows, layouts: Vec::new() }
}

fn over_time(profile: &Profile) -> Table {
    let width = profile.bin_width().as_secs_f64();
    let row = |(index, bin): (usize, &trace::Bin)| {
        let rates = [bin.requests as f64, bin.read.0 as f64, bin.written.0 as f64].map(|amount| Cell::Rate(amount / width));
        std::iter::once(Cell::Rate(index as f64 * width)).chain(rates).collect()
    };
    let columns = vec![
        column("start_s", "from", "s"),
        column("requests_per_s", "requests/s", ""),
        column("read_bytes_per_s", "read", "bytes/s"),
        column("written_bytes_per_s", "written", "bytes/s"),
    ];
    Table { key: "over_time", columns, rows: profile.bins().iter().enumerate().map(row).collect(), layouts: Vec::new() }
}

fn plots(profile: &Profile) -> Vec<Plot> {
    let width = profile.bin_width().as_secs_f64();
    let bins = |of: &dyn Fn(&trace::Bin) -> f64| {
        profile.bins().iter().enumerate().map(|(index, bin)| ((index as f64 + 0.5) * width, of(bin) / width)).collect::<Vec<_>>()
    };
    let linear = |name| Axis { name, log: false };
    let one = |name: &str, points| Series { name: name.into(), points };
    let plot = |id, title: &str, hint: String, axes, series| Plot {
        id,
        title: title.into(),
        hint,
        axes,
        series,
        marks: Vec::new(),
        categories: Vec::new(),
    };
    let means = format!("Means over {}.", seconds(width));
    let caches =
        |of: &dyn Fn(u64) -> f64| cache_slots(profile).map(|slots| ((slots * SLOT.0) as f64, of(slots))).collect::<Vec<_>>();
    let mut plots = vec![
        plot(
            "rate",
            "Requests over time",
            means.clone(),
            [linear("time, s"), linear("requests/s")],
            vec![one("requests", bins(&|bin| bin.requests as f64))],
        ),
        plot(
            "throughput",
            "Throughput over time",
            means,
            [linear("time, s"), linear("MB/s")],
            vec![one("read", bins(&|bin| bin.read.0 as f64 / 1e6)), one("written", bins(&|bin| bin.written.0 as f64 / 1e6))],
        ),
        plot(
            "caches",
            "What a cache would answer",
            "Share of accesses whose data is among the least recently used that fit.".into(),
            [Axis { name: "cache, bytes", log: true }, linear("share of accesses")],
            vec![one("hits", caches(&|slots| profile.reuse().hits(slots)))],
        ),
    ];
    let touched = profile.footprint().size().0 as f64;
    plots[2].marks = vec![Mark { x: touched.max(1.0), label: "footprint".into() }];
    plots
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::Overrides;

    fn inspected(trace: &str, options: &[(&str, &str)]) -> Study {
        let options = options.iter().map(|(path, value)| ("--x".into(), (*path).into(), (*value).into())).collect();
        let overrides = Overrides { trace: Some(trace.into()), options, ..Overrides::default() };
        inspect(&Experiment::with(&overrides).expect("valid"), &|_| {}).expect("it can be read")
    }

    #[test]
    fn the_bundled_trace_is_what_its_comparison_says() {
        let study = inspected("pgbench", &[]);
        let json = study.to_json();
        let kinds = &json["tables"]["kinds"];
        // As the quick start of README.md shows them.
        assert_eq!([0, 1, 3].map(|row| kinds[row]["requests"].as_u64()), [Some(77_119), Some(86_774), Some(16_351)]);
        let bins = json["tables"]["over_time"].as_array().expect("a list").clone();
        let width = bins[1]["start_s"].as_f64().expect("a number");
        let requests: f64 = bins.iter().map(|bin| bin["requests_per_s"].as_f64().expect("a number") * width).sum();
        assert!((requests - 180_244.0).abs() < 0.5, "{requests}");
        assert_eq!(study.command(), "flashkeep inspect pgbench");
        let shares: f64 =
            json["tables"]["reuse"].as_array().expect("a list").iter().map(|row| row["share"].as_f64().expect("one")).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
        assert!(study.to_text().contains("Footprint: 732 MB in"), "{}", study.to_text());
        assert!(report::html::study(&study).contains("Requests over time"));
    }

    #[test]
    fn formats_that_differ_in_units_stand_beside_each_other() {
        let path = std::env::temp_dir().join(format!("flashkeep-inspect-{}.trace", std::process::id()));
        std::fs::write(&path, "0 0 8 8 1\n1000 0 16 8 0\n2000 0 24 8 0\n").expect("written");
        let name = path.display().to_string();
        let study = inspected(&name, &[]);
        let one = inspected(&name, &[("trace.format", "disksim-us-sectors")]);
        std::fs::remove_file(&path).expect("removed");
        let rows = study.to_json()["tables"]["candidates"].as_array().expect("a list").clone();
        let duration = |format: &str| rows.iter().find(|row| row["format"] == format).and_then(|row| row["duration_s"].as_f64());
        assert_eq!(rows.len(), 5);
        assert_eq!((duration("disksim-ms-sectors"), duration("disksim-us-sectors")), (Some(2.0), Some(0.002)));
        assert!(one.to_text().contains("Format: disksim-us-sectors"), "{}", one.to_text());
    }
}
