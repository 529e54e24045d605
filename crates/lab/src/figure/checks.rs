//! Figures of checks and failures, of load and history, of the simulator, and of the verdict.

use super::Kind::{Alarm, Cost, Fact};
use super::{Block, Figure, Group, Section, figure, measured_share};
use crate::verdict::SchemeVerdict;
use serde_json::json;

pub(super) const FIGURES: &[Figure] = &[
    figure(
        "checked_reads",
        "pages",
        "pages read by the host and compared with the written data",
        |r| json!(r.oracle.checked_reads),
    )
        .terminal(Section::Checks, "reads checked")
        .report(Group::Data, Fact, "host page reads checked", ""),
    figure(
        "mismatches",
        "pages",
        "of these, wrong ones; anything but 0 is a defect and makes the exit code 1",
        |r| json!(r.oracle.mismatches),
    )
        .terminal(Section::Checks, "mismatches")
        .report(Group::Data, Alarm, "mismatches", ""),
    figure("rebuilt_reads", "pages", "pages answered by solving from a stripe", |r| json!(r.redundancy.rebuilt_reads))
        .terminal(Section::Losses, "pages rebuilt")
        .report(Group::Data, Fact, "rebuilt from a stripe", ""),
    figure("media_errors", "pages", "pages that could not be read, reported to the host", |r| json!(r.host.media_errors))
        .terminal(Section::Losses, "media errors")
        .report(Group::Data, Alarm, "media errors", "pages"),
    figure("write_errors", "pages", "pages that could not be written for lack of space", |r| json!(r.host.write_errors))
        .report(Group::Data, Alarm, "write errors", "pages"),
    figure(
        "astray_reads",
        "reads",
        "flash reads that gave another page than they were asked for, or an erased one; noticed and solved for as unreadable pages are",
        |r| json!(r.flash.astray_reads),
    ),
    figure(
        "read_only_s",
        "s",
        "virtual time from the first request until the drive turned read-only, because bad blocks or dead dies left no room to work; null if it did not",
        |r| json!(r.host.read_only_s),
    )
        .report(Group::Data, Fact, "read-only after", "s"),
    figure(
        "refused_requests",
        "number",
        "requests refused since: writes, discards, and flushes of what found no room",
        |r| json!(r.host.refused_requests),
    )
        .report(Group::Data, Alarm, "requests refused since", ""),
    figure(
        "replaced_s",
        "s",
        "virtual time from the first request until a spare die took the place of a dead one (`faults.replace_after`), the last time; null if none did",
        |r| json!(r.redundancy.replaced_s),
    ),
    figure(
        "rebuild_s",
        "s",
        "virtual time from the death of a die until all it held was rebuilt onto others, or from its replacement until all is rebuilt on the spare die; null without one, or if something is left. The pages are `rebuild` of `flash_reads_by_cause` and `flash_programs_by_cause`",
        |r| json!(r.redundancy.rebuild_s),
    ),
    figure(
        "rebuild_left",
        "count",
        "left over: strips without spare die, room or sources; superblocks of a group log",
        |r| json!(r.redundancy.rebuild_left),
    ),
    figure(
        "saturated",
        "boolean",
        "whether requests piled up to the end of an open replay: latencies then mean nothing",
        |r| json!(r.replay.saturated),
    )
        .report(Group::Load, Alarm, "saturated", "").ranked(9),
    figure(
        "offered_load",
        "share",
        "of die time that the workload would need at its own pace",
        |r| json!(r.replay.offered_load),
    )
        .report(Group::Load, Fact, "offered load", "").ranked(8),
    figure(
        "sensed_pages",
        "pages",
        "of planes whose cells were sensed: flash reads and repeated sensings, less those that a register or the memory of a program unit had",
        |r| json!(r.flash.sensed_pages),
    )
        .report(Group::Load, Cost, "pages of planes sensed", "pages").ranked(5),
    figure(
        "program_pulses",
        "programs",
        "of a die's cells: one for all pages that are programmed together",
        |r| json!(r.flash.program_pulses),
    )
        .report(Group::Load, Cost, "programs of a die's cells", "").ranked(6),
    figure("buffer_hits", "pages", "that the host read from the write buffer", |r| json!(r.host.buffer_hits))
        .report(Group::Load, Fact, "read from the write buffer", "pages").ranked(7),
    figure(
        "rested_s",
        "s",
        "virtual time from the first request until the drive rests: GC and the write buffer may go on after the last answer. All counts of flash, energy, write amplification and the two shares below are about this time",
        |r| json!(r.flash.rested_s),
    )
        .report(Group::Load, Fact, "until the drive rests", "s").ranked(2),
    figure(
        "die_utilisation",
        "share",
        "of `rested_s` in which a die is busy, mean over dies",
        |r| json!(r.flash.die_utilisation),
    )
        .screen(Block::Load, "die utilisation")
        .terminal(Section::Utilisation, "die utilisation")
        .report(Group::Load, Cost, "die utilisation", "").ranked(3),
    figure(
        "channel_utilisation",
        "share",
        "of `rested_s` in which a channel carries commands, data or OOB bytes, mean over channels",
        |r| json!(r.flash.channel_utilisation),
    )
        .report(Group::Load, Cost, "channel utilisation", "").ranked(4),
    figure(
        "channel_bytes",
        "list of bytes",
        "data and OOB bytes that each channel carried, those of repeated reads and whole program units included",
        |r| json!(r.flash.channel_bytes),
    )
        .document_only(),
    figure(
        "simulated_s",
        "s",
        "virtual time from the first request to the last answer: requests/s and MB/s are about this time",
        |r| json!(r.replay.simulated_s),
    )
        .report(Group::Load, Fact, "virtual time", "s").ranked(1),
    figure(
        "precondition_overwrites",
        "ratio",
        "pages overwritten by preconditioning over pages of its working set",
        |r| json!(r.precondition.overwrites),
    )
        .report(Group::Preconditioning, Fact, "overwrites of the working set", ""),
    figure("precondition_waf", "ratio", "write amplification when preconditioning ended", |r| json!(r.precondition.waf))
        .report(Group::Preconditioning, Fact, "write amplification when it ended", ""),
    figure("precondition_converged", "boolean", "whether it had become steady", |r| json!(r.precondition.converged))
        .report(Group::Preconditioning, Fact, "settled", ""),
    figure(
        "warmup_requests",
        "number",
        "requests of the workload that were replayed before it was measured ([decision 15](../decisions/0015-a-workload-is-measured-in-its-own-steady-state.md)), reads left out",
        |r| json!(r.warm_up.requests),
    ),
    figure("warmup_pages", "pages", "logical pages that they wrote", |r| json!(r.warm_up.pages)),
    figure(
        "warmup_waf",
        "ratio",
        "write amplification when that ended, while the last amount of over-provisioning was written or, of a recording, of its last loop; null without a warm-up",
        |r| json!(r.warm_up.waf),
    ),
    figure(
        "warmup_steady",
        "boolean",
        "whether it had become steady; null where that was not asked",
        |r| json!(r.warm_up.steady),
    ),
    figure(
        "measured_share",
        "share",
        "of all requests that were replayed, those that are measured; null without any",
        |r| json!(measured_share(r)),
    ),
    figure("read_cdf_us", "pairs", "`[us, share of reads answered within]`", |r| json!(r.host.read_cdf))
        .document_only(),
    figure("write_cdf_us", "pairs", "`[us, share of writes answered within]`", |r| json!(r.host.write_cdf))
        .document_only(),
    figure(
        "prepare_wall_s",
        "s",
        "wall-clock time of preconditioning and ageing",
        |r| json!(r.outcome.map(|o| o.prepare_wall_s)),
    )
        .document_only(),
    figure("wall_s", "s", "wall-clock time of the run", |r| json!(r.speed.map(|speed| speed.wall_s)))
        .document_only()
        .report(Group::Simulator, Fact, "wall time", "s").ranked(4),
    figure("flash_ops", "number", "flash commands executed by the run", |r| json!(r.flash.ops))
        .report(Group::Simulator, Fact, "flash commands", "").ranked(1),
    figure(
        "flash_ops_per_s",
        "1/s",
        "`flash_ops` over `wall_s`; null where no time passed",
        |r| json!(r.speed.filter(|speed| speed.wall_s > 0.0).map(|speed| speed.flash_ops_per_s)),
    )
        .document_only()
        .report(Group::Simulator, Fact, "flash commands per second", "1/s").ranked(5),
    figure("events", "number", "simulator events of the run", |r| json!(r.replay.events))
        .report(Group::Simulator, Fact, "events", "").ranked(2),
    figure(
        "peak_rss_mib",
        "MiB",
        "peak resident memory of the whole process when the scheme was done; null but on Linux",
        |r| json!(r.outcome.map(|o| o.peak_rss_mib)),
    )
        .document_only(),
    figure(
        "event_digest",
        "hex",
        "64-bit digest of the event log, equal for equal runs",
        |r| json!(format!("{:016x}", r.replay.event_digest)),
    )
        .document_only()
        .report(Group::Simulator, Fact, "digest of the event log", "").ranked(3),
    figure(
        "survives_dies",
        "dies",
        "dies, or as many blocks or pages, that may be lost next, all at a time, without loss of data: what the scheme promises in its present stage, 0 where the drive as it is does not keep it",
        |r| json!(r.verdict.map(|v| v.survives.dies)),
    ),
    figure(
        "exposed_share",
        "share",
        "of logical pages looked at (all, or up to 65 536 spread evenly) that would be lost with their die at the end of the run; all of them under `code-zones`, which promises none",
        |r| json!(r.verdict.map(|v| v.survives.exposed_share)),
    ),
    figure(
        "lost_share",
        "share",
        "of logical pages looked at that are lost already",
        |r| json!(r.verdict.map(|v| v.survives.lost_share)),
    ),
    figure("dead_dies", "dies", "dies that are dead", |r| json!(r.verdict.map(|v| v.survives.dead_dies))),
    figure(
        "life_stage",
        "number",
        "stage of life of a scheme that has stages (`da-raid5`: 1 without parity, 2 with parity on worn blocks, 3 with parity everywhere); null for others",
        |r| json!(r.life().map(|life| life.stage)),
    ),
    figure(
        "stage_2_s",
        "s",
        "virtual time from the first request until stage 2 of that life began; null if it did not begin while the workload ran",
        |r| json!(r.life().and_then(|life| life.began_s[0])),
    ),
    figure("stage_3_s", "s", "likewise for stage 3", |r| json!(r.life().and_then(|life| life.began_s[1]))),
    figure(
        "stripes_with_parity_share",
        "share",
        "of the stripes with contents, the share with valid parity, for schemes with stages of life; null for others",
        |r| json!(r.life().map(ssd::Life::parity_share)),
    ),
    figure(
        "power_cuts",
        "text",
        "state of the acknowledged data after a power cut",
        |r| json!(r.verdict.map(|v| v.survives.power_cuts.words())),
    ),
    figure("requests_per_s", "1/s", "`requests` over `simulated_s`", |r| json!(r.verdict.map(|v| v.costs.requests_per_s)))
        .screen(Block::Throughput, "requests/s")
        .terminal(Section::Throughput, "requests/s")
        .report(Group::Throughput, Fact, "requests", "1/s"),
    figure(
        "mb_per_s",
        "MB/s",
        "logical pages read and written by the host over `simulated_s`, in 10^6 bytes",
        |r| json!(r.verdict.map(|v| v.costs.mb_per_s)),
    )
        .screen(Block::Throughput, "MB/s")
        .terminal(Section::Throughput, "MB/s")
        .report(Group::Throughput, Fact, "data", "MB/s"),
    figure(
        "completed_late_share",
        "share",
        "of reads and writes answered more than a second after they came",
        |r| json!(crate::cautions::late_share(r)),
    ),
    figure(
        "tbw_tb",
        "TB",
        "data that the host can still write (10^12 bytes) until the mean block has its rated P/E cycles, at this `waf`, wear even over blocks that are neither bad from the factory nor of a dead die: of the replayed flash, in its present stage of life; null without writes, or where some failed",
        |r| json!(r.verdict.map(|v| v.costs.tbw_tb)),
    ),
    figure(
        "endurance_years",
        "years",
        "how long that lasts at this load",
        |r| json!(r.verdict.map(|v| v.costs.endurance_years)),
    ),
    figure(
        "dwpd",
        "1/day",
        "`tbw_tb` over the user capacity and five years of 365 days: drive writes per day (JESD218)",
        |r| json!(r.verdict.map(|v| v.costs.dwpd)),
    )
        .screen(Block::Life, "DWPD over 5 years"),
    figure(
        "not_comparable",
        "text",
        "why the run cannot be compared with others; null: it can",
        |r| json!(r.verdict.and_then(SchemeVerdict::reason)),
    ),
    figure(
        "dominated_by",
        "text",
        "a compared scheme that is as good in everything and better in something; null without one",
        |r| json!(r.verdict.map(|v| &v.dominated_by)),
    ),
];
