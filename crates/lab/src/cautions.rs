//! Cautions that follow from the result of one run.

use common::quantity::{percent, seconds, short};
use common::table::grouped;
use experiment::{Caution, Level};
use ssd::RunResult;

/// Share of their time below which dies that the host waits for are called idle.
const BUSY_SHARE: f64 = 0.5;

/// In a closed loop, whose host never pauses: it waited for the drive while most of the dies were idle.
pub(crate) fn idle_dies(name: &str, run: &RunResult) -> Option<Caution> {
    let held_up = crate::waits::held_up(run.waits.as_ref()?, run.replay.simulated_s);
    let busy = run.flash.die_utilisation;
    (held_up >= 1.0 && busy < BUSY_SHARE).then(|| Caution {
        level: Level::Warning,
        scheme: Some(name.into()),
        not_comparable: None,
        kind: "idle dies",
        text: format!(
            "the host waited for `{name}` while its dies were idle: busy {} of the time, and {} requests on average waited for room or \
             for earlier updates. Its speed is that of a setting (buffer.size, the scheme's caches), not of the flash",
            percent(busy),
            short(held_up)
        ),
    })
}

/// Share of requests that may wait for more than a second before a caution says so.
const LATE_SHARE: f64 = 0.001;

/// The cautions that follow from the result of one run, gravest first.
#[must_use]
pub fn implied(name: &str, run: &RunResult) -> Vec<Caution> {
    let mut cautions = lost_work(name, run);
    cautions.extend(pace(name, run));
    let mut warn = |applies: bool, kind, text: String| {
        if applies {
            cautions.push(Caution { level: Level::Warning, scheme: Some(name.into()), not_comparable: None, kind, text });
        }
    };
    warn(
        run.precondition.overwrites > 0.0 && !run.precondition.converged,
        "unsettled",
        format!(
            "preconditioning of `{name}` stopped after {} overwrites of the working set before write amplification settled; \
             garbage collection may still be changing",
            short(run.precondition.overwrites)
        ),
    );
    warn(
        run.oracle.checked_reads == 0 && run.host.read_pages > 0,
        "unchecked",
        format!("no read of `{name}` was checked (payload \"none\"): times and counts only, no proof of correct data"),
    );
    cautions
}

/// Work that was not done, or done wrong: its cost is not that of the whole work.
fn lost_work(name: &str, run: &RunResult) -> Vec<Caution> {
    let (host, left) = (&run.host, run.redundancy.rebuild_left);
    let since = host.read_only_s.unwrap_or_default();
    let found: [(bool, &'static str, String); 5] = [
        (run.oracle.mismatches > 0, "wrong data", {
            let (wrong, checked) = (grouped(run.oracle.mismatches), grouped(run.oracle.checked_reads));
            format!(
                "`{name}` returned wrong data for {wrong} of {checked} reads checked. This is a defect; none of its numbers can be \
                 trusted"
            )
        }),
        (
            host.media_errors > 0,
            "pages that could not be read",
            format!("`{name}` could not read {} pages and reported media errors", grouped(host.media_errors)),
        ),
        (
            host.write_errors > 0,
            "pages that could not be written",
            format!(
                "`{name}` could not write {} pages for lack of space; the work compared is not the same",
                grouped(host.write_errors)
            ),
        ),
        (
            left > 0,
            "not rebuilt",
            format!(
                "`{name}` could not rebuild all that was lost: {} strips or superblocks are left, for lack of space, of a die to \
                 write to, or of pages to rebuild from. Another loss may take data; more room for a rebuild is a larger \
                 capacity.over_provisioning",
                grouped(left)
            ),
        ),
        (
            host.read_only_s.is_some(),
            "read-only",
            format!(
                "`{name}` turned read-only {} after the first request, because bad blocks or dead dies left no room to work, and \
                 refused {} requests since; what it had acknowledged can be read",
                seconds(since),
                grouped(host.refused_requests)
            ),
        ),
    ];
    let caution = |(_, reason, text)| Caution {
        level: Level::Error,
        scheme: Some(name.into()),
        not_comparable: Some(reason),
        kind: reason,
        text,
    };
    found.into_iter().filter(|(applies, ..)| *applies).map(caution).collect()
}

/// Share of reads and writes that were answered more than a second after they came.
pub(crate) fn late_share(run: &RunResult) -> f64 {
    run.host.completed_late as f64 / (run.host.latency_us.count as f64).max(1.0)
}

/// Requests that piled up: permanently, or for a while.
fn pace(name: &str, run: &RunResult) -> Option<Caution> {
    let caution = |level, not_comparable: Option<&'static str>, text| {
        let kind = not_comparable.unwrap_or("late");
        Some(Caution { level, scheme: Some(name.into()), not_comparable, kind, text })
    };
    if run.replay.saturated {
        let text = format!(
            "`{name}` could not keep up with the requests (offered load {}): they piled up to the end, so its latencies say \
             how long the trace is and nothing about the drive. Slow the clock (--arrival scaled=FACTOR) or close the loop \
             (--arrival closed=QD)",
            percent(run.replay.offered_load)
        );
        return caution(Level::Error, Some("saturated"), text);
    }
    let late = late_share(run);
    if late < LATE_SHARE {
        return None;
    }
    let text = format!(
        "{} of the requests of `{name}` waited behind a backlog of more than a second: bursts exceed what the drive can do, \
         although the mean load ({}) does not. Its mean and upper percentiles say how long the bursts are; the median says \
         more of the drive; the report shows when they came",
        percent(late),
        percent(run.flash.die_utilisation)
    );
    caution(Level::Warning, None, text)
}
