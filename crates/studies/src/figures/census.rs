//! Figures of a workload itself: how much of it each bank and each zone gets, no drive needed.

use super::run::Ran;
use super::sheet::Sheet;
use super::spec::{CensusSpec, Figure};
use common::Problem;
use std::collections::BTreeMap;
use std::path::Path;
use trace::{Record, TraceSource};
use vocab::{HostOp, SECTOR_BYTES};

/// Sectors by kind of place, place and operation.
type Counts = BTreeMap<(&'static str, u64, &'static str), u64>;

/// The figures' traces counted; those whose files are absent are left out.
///
/// # Errors
/// A trace that cannot be read.
pub(super) fn census(figure: &Figure, spec: &CensusSpec) -> Result<Ran, Problem> {
    let heads = ["trace", "of", "place", "operation", "sectors", "share"].map(str::to_owned).to_vec();
    let mut rows = Vec::new();
    for (trace, file) in figure.spec.traces.iter().zip(&figure.files) {
        let Some(file) = file.as_ref().filter(|file| file.exists()) else { continue };
        let counts = counts(file, spec)?;
        for ((of, place, operation), sectors) in &counts {
            let all: u64 = counts.iter().filter(|((o, _, p), _)| (o, p) == (of, operation)).map(|(_, sectors)| sectors).sum();
            let share = *sectors as f64 / all as f64;
            let cells = [trace.name.clone(), (*of).into(), place.to_string(), (*operation).into()];
            rows.push(cells.into_iter().chain([sectors.to_string(), share.to_string()]).collect());
        }
    }
    Ok(Ran { sheet: Sheet { heads, rows }, warnings: Vec::new() })
}

fn counts(file: &Path, spec: &CensusSpec) -> Result<Counts, Problem> {
    let fail = |e: trace::TraceError| Problem::new("figure.traces", e.to_string());
    let mut counts = Counts::new();
    for record in TraceSource::path(file).open().map_err(fail)? {
        add(&mut counts, &record.map_err(fail)?, spec);
    }
    Ok(counts)
}

/// Stripe blocks go round the banks; zones lie one after the other.
fn add(counts: &mut Counts, record: &Record, spec: &CensusSpec) {
    let operation = match record.op {
        HostOp::Read => "reads",
        HostOp::Write(_) => "writes",
        HostOp::Flush | HostOp::Discard => return,
    };
    let (block, zone) = ((spec.stripe_block.0 / SECTOR_BYTES).max(1), (spec.zone.0 / SECTOR_BYTES).max(1));
    let (mut at, end) = (record.lba.0, record.lba.0 + u64::from(record.sectors));
    while at < end {
        // Whole stripe blocks lie in one zone, where zones are of whole stripe blocks.
        let next = ((at / block + 1) * block).min(end);
        *counts.entry(("bank", at / block % u64::from(spec.banks.get()), operation)).or_default() += next - at;
        *counts.entry(("zone", at / zone, operation)).or_default() += next - at;
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::{Bytes, Fua, Lba, SimTime};

    #[test]
    fn sectors_go_to_the_banks_and_zones_they_lie_in() {
        let spec = CensusSpec {
            banks: std::num::NonZeroU32::new(4).expect("not 0"),
            stripe_block: Bytes(8 << 10),
            zone: Bytes(1 << 20),
        };
        let mut counts = Counts::new();
        let mut asked = |op, lba, sectors| {
            add(
                &mut counts,
                &Record { at: SimTime(0), device: 0, op, lba: Lba(lba), sectors, stream: vocab::StreamId::default() },
                &spec,
            );
        };
        // From the middle of stripe block 3 into block 5: banks 3, 0, 1; all in zone 0.
        asked(HostOp::Read, 3 * 16 + 8, 32);
        asked(HostOp::Write(Fua::No), 2048, 16);
        asked(HostOp::Flush, 0, 0);
        let all = [
            (("bank", 0, "reads"), 16),
            (("bank", 0, "writes"), 16),
            (("bank", 1, "reads"), 8),
            (("bank", 3, "reads"), 8),
            (("zone", 0, "reads"), 32),
            (("zone", 1, "writes"), 16),
        ];
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), all);
    }
}
