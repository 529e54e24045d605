//! What a reader must know before believing a number.

use super::format::{count, percent};
use ssd::RunResult;

/// How much a caution weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The results are wrong or incomplete.
    Error,
    /// The results mean something else than they seem to.
    Warning,
}

impl Level {
    pub(super) fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
        }
    }
}

/// One caution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caution {
    pub(super) level: Level,
    pub(super) text: String,
}

/// The cautions that follow from the result of one run, gravest first.
pub(super) fn implied(label: &str, run: &RunResult) -> Vec<Caution> {
    let mut cautions = Vec::new();
    let mut add = |applies: bool, level, text: String| {
        if applies {
            cautions.push(Caution { level, text: format!("{label}: {text}") });
        }
    };
    add(
        run.oracle.mismatches > 0,
        Level::Error,
        format!(
            "{} of {} checked host reads returned wrong data. This is a defect; none of its numbers can be trusted.",
            count(run.oracle.mismatches),
            count(run.oracle.checked_reads)
        ),
    );
    add(
        run.host.media_errors > 0,
        Level::Error,
        format!("{} host pages could not be read (media errors).", count(run.host.media_errors)),
    );
    add(
        run.host.write_errors > 0,
        Level::Error,
        format!(
            "{} host pages could not be written for want of space; the work compared is not the same.",
            count(run.host.write_errors)
        ),
    );
    add(
        run.host.read_only_s.is_some(),
        Level::Error,
        format!(
            "turned read-only {} s after the first request: bad blocks or dead dies left no room to work. {} requests were refused; \
             the work compared is not the same.",
            run.host.read_only_s.unwrap_or_default(),
            count(run.host.refused_requests)
        ),
    );
    add(
        run.replay.saturated,
        Level::Warning,
        format!(
            "saturated. Requests piled up faster than the drive could answer (offered load {}): response times say how \
             long the trace is, not how fast the drive is. Slow the trace down, or compare in a closed replay.",
            percent(run.replay.offered_load)
        ),
    );
    add(
        run.precondition.overwrites > 0.0 && !run.precondition.converged,
        Level::Warning,
        format!(
            "preconditioning stopped after {} overwrites of the working set before write amplification settled; \
             garbage collection may still be changing.",
            super::format::real(run.precondition.overwrites)
        ),
    );
    add(
        run.oracle.checked_reads == 0 && run.host.read_pages > 0,
        Level::Warning,
        "no host read was checked (payload \"none\"): times and counts only, no proof of correct data.".into(),
    );
    cautions
}
