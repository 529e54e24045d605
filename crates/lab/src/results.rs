//! A comparison as one JSON document. `docs/spec/results.md` says what each key means.

use crate::bearing;
use crate::compare::{Comparison, Outcome};
use crate::over_provisioning::of_user;
use crate::seeds::Seeds;
use crate::verdict::{MEASURES, SchemeVerdict};
use serde_json::{Map, Value, json};
use ssd::{Latency, Pace, RunResult, SlcResult, StreamResult};
use std::collections::BTreeMap;
use vocab::SECTOR_BYTES;

/// Version of the program, as results state it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl Comparison {
    /// The comparison as one JSON document.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let slot = self.experiment.drive.geometry.slot_size.0;
        json!({
            "version": VERSION,
            "verdict": self.verdict_json(),
            "trace": self.trace_json(),
            "drive": self.drive_json(),
            "user_capacity_mib": mib(u64::from(self.user_slots) * slot),
            "touched_share": self.touched_share,
            "arrival": match self.clock.pace {
                _ if self.clock.is_each => "flows".to_owned(),
                Pace::Open => "open".to_owned(),
                Pace::Closed { depth } => format!("closed={depth}"),
            },
            "clock_factor": self.clock.factor,
            "fairness": self.fairness,
            "notes": self.notes,
            "warnings": self.warnings(),
            "schemes": self.schemes_json(slot),
            "seeds": self.seeds.as_ref().map(Seeds::to_json),
            "experiment": serde_json::to_value(&self.experiment).expect("an experiment is plain data"),
            "experiment_toml": self.experiment.to_toml(),
        })
    }

    /// The flat keys of each scheme; `slot` bytes are one logical page.
    pub(crate) fn schemes_json(&self, slot: u64) -> Vec<Value> {
        // Over several seeds, the verdict of the first by itself.
        let pairs = self.outcomes.iter().zip(&self.repetitions()[0].verdict.schemes);
        pairs.map(|(outcome, verdict)| outcome.to_json(slot, verdict)).collect()
    }

    fn verdict_json(&self) -> Value {
        let scheme = |verdict: &SchemeVerdict| {
            let ratios = MEASURES.iter().zip(&verdict.ratios).map(|(measure, ratio)| (measure.key.to_owned(), json!(ratio)));
            json!({
                "scheme": verdict.scheme,
                "sentence": verdict.sentence,
                "ratios": ratios.collect::<Map<_, _>>(),
                "programs_for": verdict.costs.programs_for,
            })
        };
        json!({
            "answer": self.verdict.answer,
            "baseline": self.verdict.baseline,
            "schemes": self.verdict.schemes.iter().map(scheme).collect::<Vec<_>>(),
        })
    }

    fn trace_json(&self) -> Value {
        let t = &self.trace;
        json!({
            "name": t.name,
            "format": t.format,
            "loops": t.loops,
            "requests": t.requests,
            "reads": t.reads,
            "writes": t.writes,
            "fua_writes": t.fua_writes,
            "flushes": t.flushes,
            "discards": t.discards,
            "read_mib": mib(t.read_bytes),
            "written_mib": mib(t.written_bytes),
            "unaligned": t.unaligned,
            "duration_s": t.duration_s,
            "footprint_mib": mib(t.footprint_bytes),
            "written_footprint_mib": mib(t.written_footprint_bytes),
            "ignored_lines": t.ignored_lines,
            "clamped": t.clamped,
            "longest_gap_s": t.longest_gap_s,
            "clipped_gaps": t.clipped_gaps,
            "clipped_s": t.clipped_s,
            "digest": format!("{:016x}", t.digest),
        })
    }

    fn drive_json(&self) -> Value {
        let drive = &self.experiment.drive;
        let geometry = &drive.geometry;
        json!({
            "name": drive.name,
            "summary": drive.summary,
            "source": drive.source,
            "dies": geometry.dies(),
            "channels": geometry.channels,
            "program_bytes": drive.program_bytes().0,
            "slot_bytes": geometry.slot_size.0,
            "slot_sectors": geometry.slot_size.0 / SECTOR_BYTES,
            "pages_per_block": geometry.pages_per_block,
            "endurance_cycles": drive.endurance.0,
        })
    }
}

/// How busy the drive was, and with what.
fn of_work(run: &RunResult) -> [(&'static str, Value); 6] {
    [
        ("sensed_pages", json!(run.flash.sensed_pages)),
        ("program_pulses", json!(run.flash.program_pulses)),
        ("buffer_hits", json!(run.host.buffer_hits)),
        ("rested_s", json!(run.flash.rested_s)),
        ("die_utilisation", json!(run.flash.die_utilisation)),
        ("channel_utilisation", json!(run.flash.channel_utilisation)),
    ]
}

/// What was written before the run, by the names of results.
fn of_warm_up(run: &RunResult) -> [(&'static str, Value); 8] {
    let (history, warm_up) = (&run.precondition, &run.warm_up);
    [
        ("precondition_overwrites", json!(history.overwrites)),
        ("precondition_waf", json!(history.waf)),
        ("precondition_converged", json!(history.converged)),
        ("warmup_requests", json!(warm_up.requests)),
        ("warmup_pages", json!(warm_up.pages)),
        ("warmup_waf", json!(warm_up.waf)),
        ("warmup_steady", json!(warm_up.steady)),
        ("measured_share", json!(measured_share(run))),
    ]
}

/// Of the requests that were replayed, warm-up included, the share that was measured; `None` without any.
fn measured_share(run: &RunResult) -> Option<f64> {
    let measured: u64 = run.host.requests.values().sum();
    (measured > 0).then(|| measured as f64 / (measured + run.warm_up.requests) as f64)
}

fn put_latency(keys: &mut Map<String, Value>, prefix: &str, latency: &Latency) {
    let values = [
        ("mean", latency.mean),
        ("p50", latency.p50),
        ("p99", latency.p99),
        ("p999", latency.p999),
        ("p9999", latency.p9999),
        ("max", latency.max),
    ];
    for (name, value) in values {
        keys.insert(format!("{prefix}_{name}"), json!(value));
    }
}

fn put_counts(keys: &mut Map<String, Value>, name: &str, counts: &BTreeMap<String, u64>) {
    keys.insert(name.to_owned(), json!(counts.values().sum::<u64>()));
    keys.insert(format!("{name}_by_cause"), json!(counts));
}

/// Least, mean and greatest of a list; zeros where it is empty.
fn put_spread(keys: &mut Map<String, Value>, name: &str, values: &[u32]) {
    let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / values.len().max(1) as f64;
    keys.insert(format!("{name}_min"), json!(values.iter().min().unwrap_or(&0)));
    keys.insert(format!("{name}_mean"), json!(mean));
    keys.insert(format!("{name}_max"), json!(values.iter().max().unwrap_or(&0)));
}

/// What an SLC cache took and gave, by the names of results.
fn of_slc(slc: &SlcResult) -> [(&'static str, u64); 4] {
    [
        ("slc_host_pages", slc.host_pages),
        ("slc_past_pages", slc.past_pages),
        ("slc_folded_pages", slc.folded_pages),
        ("slc_erases", slc.erases),
    ]
}

impl Outcome {
    /// The flat keys of one scheme; `slot` bytes are one logical page.
    #[must_use]
    pub fn to_json(&self, slot: u64, verdict: &SchemeVerdict) -> Value {
        let (r, planned) = (&self.result, &self.planned);
        let mut keys = Map::new();
        let mut put = |name: &str, value: Value| keys.insert(name.to_owned(), value);
        put("scheme", json!(self.label));
        put("options", json!(self.choice.options));
        put("raw_capacity_mib", json!(mib(u64::from(planned.drive.geometry.slots()) * slot)));
        put("capacity_overhead", json!(planned.capacity_overhead));
        put("over_provisioning", json!(of_user(planned.op_of_raw)));
        put("over_provisioning_of_raw", json!(planned.op_of_raw));
        put("over_provisioning_after_parity", json!(of_user(planned.op_after_parity_of_raw)));
        put("over_provisioning_asked", json!(of_user(planned.op_asked_of_raw)));
        put("requests", json!(r.host.requests.values().sum::<u64>()));
        put("requests_by_kind", json!(r.host.requests));
        put("read_pages", json!(r.host.read_pages));
        put("write_pages", json!(r.host.write_pages));
        put_latency(&mut keys, "latency_us", &r.host.latency_us);
        keys.insert("latency_us_mean_half_width".into(), json!(bearing::latency_us(r).map(|interval| interval.half_width)));
        put_latency(&mut keys, "read_latency_us", &r.host.read_latency_us);
        put_latency(&mut keys, "write_latency_us", &r.host.write_latency_us);
        put_counts(&mut keys, "flash_reads", &r.flash.reads);
        put_counts(&mut keys, "flash_programs", &r.flash.programs);
        put_counts(&mut keys, "flash_erases", &r.flash.erases);
        keys.extend(crate::waits::keys(r.waits.as_ref()).map(|(key, value)| (key.to_owned(), value)));
        let of_flows = crate::flows::keys(&self.flows).into_iter().flatten();
        keys.extend(of_flows.map(|(key, value)| (key.to_owned(), value)));
        self.put_rest(&mut keys, slot);
        self.put_verdict(&mut keys, verdict);
        Value::Object(keys)
    }

    fn put_verdict(&self, keys: &mut Map<String, Value>, verdict: &SchemeVerdict) {
        let (survives, costs) = (&verdict.survives, &verdict.costs);
        let mut put = |name: &str, value: Value| keys.insert(name.to_owned(), value);
        put("survives_dies", json!(survives.dies));
        put("exposed_share", json!(survives.exposed_share));
        put("lost_share", json!(survives.lost_share));
        put("dead_dies", json!(survives.dead_dies));
        let life = survives.life.as_ref();
        let began = |stage: usize| life.and_then(|life| life.began_s[stage - 2]);
        put("life_stage", json!(life.map(|life| life.stage)));
        put("stage_2_s", json!(began(2)));
        put("stage_3_s", json!(began(3)));
        put("stripes_with_parity_share", json!(life.map(ssd::Life::parity_share)));
        put("power_cuts", json!(survives.power_cuts.words()));
        put("requests_per_s", json!(costs.requests_per_s));
        put("mb_per_s", json!(costs.mb_per_s));
        put("completed_late_share", json!(crate::caution::late_share(&self.result)));
        put("tbw_tb", json!(costs.tbw_tb));
        put("endurance_years", json!(costs.endurance_years));
        put("dwpd", json!(costs.dwpd));
        put("not_comparable", json!(verdict.reason()));
        put("dominated_by", json!(verdict.dominated_by));
    }

    fn put_rest(&self, keys: &mut Map<String, Value>, slot: u64) {
        let r = &self.result;
        put_spread(keys, "pe_cycles", &r.wear.pe_cycles);
        put_spread(keys, "pe_added", &r.wear.pe_added);
        let mut put = |name: &str, value: Value| keys.insert(name.to_owned(), value);
        put("die_wear_ratio", json!(r.wear.die_wear_ratio));
        put("waf", json!(r.flash.waf));
        put("waf_half_width", json!(bearing::waf(r).map(|interval| interval.half_width)));
        put("buffered_pages", json!(r.flash.buffered_pages));
        let by_stream = |of: &dyn Fn(&StreamResult) -> Value| {
            let streams = r.streams.iter().enumerate().map(|(stream, result)| (stream.to_string(), of(result)));
            streams.collect::<Map<_, _>>()
        };
        put("stream_host_bytes_by_stream", json!(by_stream(&|stream| json!(stream.host_pages * slot))));
        put("stream_moved_bytes_by_stream", json!(by_stream(&|stream| json!(stream.moved_pages * slot))));
        put("stream_waf_by_stream", json!(by_stream(&|stream| json!(stream.waf()))));
        put("padded_slots", json!(r.flash.padded_slots));
        put("energy_j", json!(r.flash.energy_j.values().fold(0.0, |sum, joules| sum + joules)));
        put("energy_j_by_operation", json!(r.flash.energy_j));
        put("ecc_policy", json!(self.ecc_policy));
        put("ecc_codewords", json!(r.ecc.codewords));
        put("ecc_corrected_bits", json!(r.ecc.corrected_bits));
        put("ecc_failed_codewords", json!(r.ecc.failed_codewords));
        put("ecc_miscorrected_codewords", json!(r.ecc.miscorrected_codewords));
        put("ecc_ldpc_disagreements", json!(r.ecc.ldpc_disagreements));
        put("ecc_unreadable_pages", json!(r.ecc.unreadable_pages));
        put("ecc_decode_us_mean", json!(r.ecc.decode_us_mean));
        put("ecc_programs_by_t", json!(r.ecc.programs_by_t));
        put("retry_reads_by_end", json!(r.ladder.reads));
        put("retry_reads_by_retries", json!(r.ladder.reads_by_retries));
        put("read_retries_mean", json!(r.ladder.retries_mean()));
        put("retry_flash_s_by_step", json!(r.ladder.flash_s));
        put("retry_decode_s_by_step", json!(r.ladder.decode_s));
        put("refreshed_units", json!(r.ecc.refreshed_units));
        put("recharged_pages", json!(r.ecc.recharged_pages));
        put("around_reads", json!(r.around.reads));
        put("around_extra_reads", json!(r.around.extra_reads));
        put("around_withdrawn_reads", json!(r.around.withdrawn_reads));
        put("around_derived_pages", json!(r.around.derived_pages));
        put("ahead_pages", json!(r.around.ahead_pages));
        put("ahead_hits", json!(r.around.ahead_hits));
        put("encoded_groups", json!(r.around.encoded_groups));
        put("valid_groups", json!(r.around.valid_groups));
        of_slc(&r.slc).into_iter().for_each(|(name, count)| drop(put(name, json!(count))));
        put("checked_reads", json!(r.oracle.checked_reads));
        put("mismatches", json!(r.oracle.mismatches));
        put("rebuilt_reads", json!(r.redundancy.rebuilt_reads));
        put("media_errors", json!(r.host.media_errors));
        put("write_errors", json!(r.host.write_errors));
        put("astray_reads", json!(r.flash.astray_reads));
        put("read_only_s", json!(r.host.read_only_s));
        put("refused_requests", json!(r.host.refused_requests));
        put("replaced_s", json!(r.redundancy.replaced_s));
        put("rebuild_s", json!(r.redundancy.rebuild_s));
        put("rebuild_left", json!(r.redundancy.rebuild_left));
        put("saturated", json!(r.replay.saturated));
        put("offered_load", json!(r.replay.offered_load));
        of_work(r).into_iter().for_each(|(name, value)| drop(put(name, value)));
        put("simulated_s", json!(r.replay.simulated_s));
        of_warm_up(r).into_iter().for_each(|(name, value)| drop(put(name, value)));
        put("read_cdf_us", json!(r.host.read_cdf));
        put("write_cdf_us", json!(r.host.write_cdf));
        put("prepare_wall_s", json!(self.prepare_wall_s));
        put("wall_s", json!(self.wall_s));
        put("flash_ops", json!(r.flash.ops));
        put("flash_ops_per_s", json!((self.wall_s > 0.0).then(|| r.flash.ops as f64 / self.wall_s)));
        put("events", json!(r.replay.events));
        put("peak_rss_mib", json!(self.peak_rss_mib));
        put("event_digest", json!(format!("{:016x}", r.replay.event_digest)));
    }
}
