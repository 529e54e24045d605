//! A comparison as one JSON document. `docs/spec/results.md` says what each key means.

use crate::comparison::Comparison;
use crate::comparison::Seeds;
use crate::figure::mib;
use crate::figure::{self, Run};
use crate::outcome::Outcome;
use crate::verdict::{MEASURES, SchemeVerdict};
use common::VERSION;
use serde_json::{Map, Value, json};
use ssd::Pace;
use vocab::SECTOR_BYTES;

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

impl Outcome {
    /// The flat keys of one scheme; `slot` bytes are one logical page.
    #[must_use]
    pub fn to_json(&self, slot: u64, verdict: &SchemeVerdict) -> Value {
        let run = Run::new(self, Some(verdict), slot);
        let keys = figure::all().filter(|figure| figure.is_key(!self.flows.is_empty()));
        Value::Object(keys.map(|figure| (figure.key.to_owned(), (figure.of)(&run))).collect())
    }
}
