//! Figures of what flash did: operations, wear, energy, page ECC, reads around busy dies.

use super::Kind::{Alarm, Cost, Fact};
use super::{Block, Figure, Group, Section, deviation, figure, mean, part, shown_alone};
use crate::bearing;
use serde_json::{Value, json};

pub(super) const FIGURES: &[Figure] = &[
    figure("flash_reads", "pages", "physical page reads", |r| json!(r.flash.reads.values().sum::<u64>()))
        .terminal(Section::Operations, "flash page reads")
        .report(Group::Reads, Cost, "total", ""),
    figure(
        "flash_reads_by_cause",
        "object",
        "the same by cause: `host`, `host-rmw`, `parity`, `gc`, `refresh`, `wear-level`, `rebuild`, `encode`, `meta`, `padding`, and `fold` where a drive has folded its SLC cache",
        |r| json!(r.flash.reads),
    )
        .terminal_each(Section::Operations, "  ")
        .report_each(Group::Reads, Cost),
    figure("flash_programs", "pages", "physical page programs", |r| json!(r.flash.programs.values().sum::<u64>()))
        .terminal(Section::Operations, "flash page programs")
        .report(Group::Programs, Cost, "total", ""),
    figure("flash_programs_by_cause", "object", "the same by cause", |r| json!(r.flash.programs))
        .terminal_each(Section::Operations, "  ")
        .report_each(Group::Programs, Cost),
    figure("flash_erases", "blocks", "block erases", |r| json!(r.flash.erases.values().sum::<u64>()))
        .terminal(Section::Operations, "flash block erases")
        .report(Group::Erases, Cost, "total", ""),
    figure("flash_erases_by_cause", "object", "the same by cause", |r| json!(r.flash.erases))
        .terminal_each(Section::Operations, "  ")
        .report_each(Group::Erases, Cost),
    figure(
        "read_waits_us",
        "object",
        "where the time of reads goes: mean of each [wait](#waits) in us; they add up to `read_latency_us_mean`; null where waits were not watched",
        |r| json!(r.waits.as_ref().map(|waits| &waits.reads.mean_us)),
    )
        .document_only(),
    figure(
        "slowest_read_waits_us",
        "object",
        "the same of the slowest 1 % of reads",
        |r| json!(r.waits.as_ref().map(|waits| &waits.slowest_reads.mean_us)),
    )
        .document_only(),
    figure(
        "write_waits_us",
        "object",
        "the same of writes; they add up to `write_latency_us_mean`",
        |r| json!(r.waits.as_ref().map(|waits| &waits.writes.mean_us)),
    )
        .document_only(),
    figure(
        "slowest_write_waits_us",
        "object",
        "the same of the slowest 1 % of writes",
        |r| json!(r.waits.as_ref().map(|waits| &waits.slowest_writes.mean_us)),
    )
        .document_only(),
    figure("flows", "objects", "", |r| r.flows().map_or(Value::Null, |[(_, flows), _]| flows)).of_flows(),
    figure("flow_fairness", "ratio", "", |r| r.flows().map_or(Value::Null, |[_, (_, fairness)]| fairness)).of_flows(),
    figure(
        "pe_cycles_min",
        "cycles",
        "P/E cycles of a block at the end: least",
        |r| json!(r.wear.pe_cycles.iter().min().unwrap_or(&0)),
    ),
    figure("pe_cycles_mean", "cycles", "mean", |r| json!(mean(&r.wear.pe_cycles).unwrap_or(0.0)))
        .measured(|r| !r.wear.pe_cycles.is_empty())
        .report(Group::Wear, Fact, "at the end, mean of blocks", "P/E").ranked(3),
    figure("pe_cycles_max", "cycles", "greatest", |r| json!(r.wear.pe_cycles.iter().max().unwrap_or(&0)))
        .measured(|r| !r.wear.pe_cycles.is_empty())
        .report(Group::Wear, Fact, "at the end, most worn block", "P/E").ranked(4),
    figure(
        "pe_added_min",
        "cycles",
        "P/E cycles added to a block by the workload: least",
        |r| json!(r.wear.pe_added.iter().min().unwrap_or(&0)),
    ),
    figure("pe_added_mean", "cycles", "mean", |r| json!(mean(&r.wear.pe_added).unwrap_or(0.0)))
        .measured(|r| !r.wear.pe_added.is_empty())
        .report(Group::Wear, Cost, "added, mean of blocks", "P/E"),
    shown_alone("pe_added_deviation", |r| json!(deviation(&r.wear.pe_added)))
        .report(Group::Wear, Cost, "added, standard deviation", "P/E")
        .ranked(1),
    figure("pe_added_max", "cycles", "greatest", |r| json!(r.wear.pe_added.iter().max().unwrap_or(&0)))
        .measured(|r| !r.wear.pe_added.is_empty())
        .report(Group::Wear, Cost, "added, most worn block", "P/E").ranked(2),
    figure(
        "die_wear_ratio",
        "ratio",
        "P/E cycles added to the blocks of the die with the most over the mean of dies; null where none were added",
        |r| json!(r.wear.die_wear_ratio),
    ),
    figure(
        "waf",
        "ratio",
        "logical pages programmed in all over logical pages written by the host, less `buffered_pages`; null without any",
        |r| json!(r.flash.waf),
    )
        .screen(Block::Amplification, "write amplification")
        .terminal(Section::Amplification, "write amplification")
        .report(Group::Work, Cost, "write amplification (WAF)", ""),
    figure(
        "waf_half_width",
        "ratio",
        "of the 95 % confidence interval of that, from this run alone ([batches](#batches)); null where they do not tell",
        |r| json!(bearing::waf(r).map(|interval| interval.half_width)),
    ),
    figure(
        "buffered_pages",
        "pages",
        "pages that are in the write buffer alone when the run ends, less those that were when it began: flash has not been asked for them. A page that was overwritten there counts once, and what it spared flash stays a part of `waf`",
        |r| json!(r.flash.buffered_pages),
    ),
    figure(
        "stream_host_bytes_by_stream",
        "object",
        "bytes of the pages that the host wrote in each [stream](../streams.md) that the drive tells apart, by its number; in rows null for others",
        |r| json!(r.by_stream(|stream| json!(stream.host_pages * r.slot))),
    ),
    figure(
        "stream_moved_bytes_by_stream",
        "object",
        "bytes of each stream that GC moved",
        |r| json!(r.by_stream(|stream| json!(stream.moved_pages * r.slot))),
    ),
    figure(
        "stream_waf_by_stream",
        "object",
        "logical pages of each stream that were written and moved over those that the host wrote in it; null without writes",
        |r| json!(r.by_stream(|stream| json!(stream.waf()))),
    )
        .terminal_each(Section::Amplification, "  of stream "),
    figure("padded_slots", "pages", "logical pages programmed without data", |r| json!(r.flash.padded_slots))
        .report(Group::Work, Cost, "slots padded", ""),
    figure(
        "energy_j",
        "J",
        "energy of all flash operations and codecs",
        |r| json!(r.flash.energy_j.values().fold(0.0, |sum, joules| sum + joules)),
    )
        .terminal(Section::Energy, "energy")
        .report(Group::Energy, Cost, "total", "J"),
    figure(
        "energy_j_by_operation",
        "object",
        "the same by `read`, `program`, `erase`; with page ECC or bit errors also `codec`, with refresh in place `recharge`",
        |r| json!(r.flash.energy_j),
    )
        .report_parts(&[
            part("read", Group::Energy, Cost, "reads", "J"),
            part("program", Group::Energy, Cost, "programs", "J"),
            part("erase", Group::Energy, Cost, "erases", "J"),
            part("codec", Group::Code, Cost, "energy of the codecs", "J").ranked(4),
        ]),
    figure("ecc_policy", "text", "policy of page ECC", |r| json!(r.outcome.map(|o| &o.ecc_policy))),
    figure("ecc_codewords", "number", "codewords decoded", |r| json!(r.ecc.codewords))
        .report(Group::Errors, Fact, "codewords decoded", ""),
    figure("ecc_corrected_bits", "bits", "bit errors corrected in them", |r| json!(r.ecc.corrected_bits)),
    shown_alone("ecc_corrected_bits_mean", |r| json!(r.corrected_per_codeword()))
        .terminal(Section::Ecc, "bits corrected per codeword")
        .report(Group::Errors, Fact, "bits corrected in a codeword, mean", "bits")
        .ranked(1),
    figure("ecc_failed_codewords", "number", "codewords that could not be corrected", |r| json!(r.ecc.failed_codewords))
        .report(Group::Errors, Cost, "codewords not corrected", "").ranked(3),
    figure(
        "ecc_miscorrected_codewords",
        "number",
        "of these, codewords that the decoder took for corrected and their checksum did not",
        |r| json!(r.ecc.miscorrected_codewords),
    )
        .report(Group::Errors, Fact, "of these, caught by their checksum alone", "").ranked(4),
    figure(
        "ecc_ldpc_disagreements",
        "number",
        "with `payload = \"page\"` and LDPC: codewords that the curve let decode and the real decoder did not; they came back as they were stored ([reading](../reading.md#codes))",
        |r| json!(r.ecc.ldpc_disagreements),
    )
        .report(Group::Data, Alarm, "decoded by the curve, not by the LDPC decoder", "codewords").ranked(1)
        .if_any(),
    figure(
        "ecc_unreadable_pages",
        "pages",
        "page reads with a codeword that could not be corrected",
        |r| json!(r.ecc.unreadable_pages),
    )
        .terminal(Section::Ecc, "unreadable pages")
        .report(Group::Errors, Cost, "unreadable pages", "reads").ranked(2),
    figure(
        "ecc_decode_us_mean",
        "us",
        "mean time in which the decoder works on a page read",
        |r| json!(r.ecc.decode_us_mean),
    )
        .terminal(Section::Ecc, "decoding a read")
        .report(Group::Code, Cost, "decoding of a page read, mean", "us").ranked(3),
    shown_alone("ecc_t_mean", |r| json!(r.mean_t()))
        .terminal(Section::Ecc, "ECC strength (t or LDPC parity rows), mean")
        .report(Group::Code, Fact, "t or parity rows, mean", ""),
    shown_alone("ecc_t_min", |r| json!(r.ecc.programs_by_t.keys().next()))
        .report(Group::Code, Fact, "t or parity rows, least", ""),
    shown_alone("ecc_t_max", |r| json!(r.ecc.programs_by_t.keys().next_back()))
        .report(Group::Code, Fact, "t or parity rows, greatest", ""),
    figure(
        "ecc_programs_by_t",
        "object",
        "pages programmed by the capability of their code: t, or of LDPC the rows of circulants that are parity (10, 14, 16: rates 0.928, 0.901, 0.889)",
        |r| json!(r.ecc.programs_by_t),
    )
        .document_only(),
    figure(
        "retry_reads_by_end",
        "object",
        "page reads by the step of read retry that they ended on: `hard`, `retry`, `soft_2_bit`, `soft_3_bit`, and `parity`, those that no step brought back; `{}` without `ecc.read_retry`",
        |r| json!(r.ladder.reads),
    )
        .terminal_parts(Section::LadderEnds, &[
            ("hard", "  decoded by hard decision"),
            ("retry", "  by read retry"),
            ("soft_2_bit", "  by 2-bit soft decision"),
            ("soft_3_bit", "  by 3-bit soft decision"),
            ("parity", "  by parity, or not at all"),
        ])
        .report_parts(&[
            part("hard", Group::Ladder, Fact, "decoded at once", "reads").ranked(1),
            part("retry", Group::Ladder, Cost, "with other references", "reads").ranked(1),
            part("soft_2_bit", Group::Ladder, Cost, "with 2 bits a cell", "reads").ranked(1),
            part("soft_3_bit", Group::Ladder, Cost, "with 3 bits a cell", "reads").ranked(1),
            part("parity", Group::Ladder, Cost, "left to parity", "reads").ranked(1),
        ]),
    figure(
        "retry_reads_by_retries",
        "object",
        "page reads by how often they were read with other references",
        |r| json!(r.ladder.reads_by_retries),
    )
        .document_only(),
    figure("read_retries_mean", "number", "that, on average; `null` without read retry", |r| json!(r.ladder.retries_mean()))
        .terminal(Section::Ladder, "read retries per page read, mean")
        .report(Group::Ladder, Cost, "retries of a page read, mean", ""),
    figure(
        "retry_flash_s_by_step",
        "object of s",
        "time of dies and channels for reads of each step, without waiting",
        |r| json!(r.ladder.flash_s),
    )
        .report_parts(&[
            part("hard", Group::Ladder, Fact, "dies and channels: first reads", "s").ranked(2),
            part("retry", Group::Ladder, Cost, "retries", "s").ranked(2),
            part("soft_2_bit", Group::Ladder, Cost, "2-bit reads", "s").ranked(2),
            part("soft_3_bit", Group::Ladder, Cost, "3-bit reads", "s").ranked(2),
        ]),
    figure(
        "retry_decode_s_by_step",
        "object of s",
        "time of decoders after reads of each step",
        |r| json!(r.ladder.decode_s),
    )
        .report_parts(&[
            part("hard", Group::Ladder, Fact, "decoders: first reads", "s").ranked(3),
            part("retry", Group::Ladder, Cost, "after retries", "s").ranked(3),
            part("soft_2_bit", Group::Ladder, Cost, "of 2 bits", "s").ranked(3),
            part("soft_3_bit", Group::Ladder, Cost, "of 3 bits", "s").ranked(3),
        ]),
    figure(
        "refreshed_units",
        "number",
        "units of GC (blocks; superblocks under a group log) refreshed because data grew old",
        |r| json!(r.ecc.refreshed_units),
    )
        .terminal(Section::Ecc, "units refreshed")
        .report(Group::Refresh, Cost, "units refreshed", ""),
    figure(
        "recharged_pages",
        "pages",
        "pages recharged in place for that; no part of `flash_programs`",
        |r| json!(r.ecc.recharged_pages),
    )
        .report(Group::Refresh, Cost, "pages recharged in place", ""),
    figure(
        "around_reads",
        "number",
        "reads (of a stripe, a row, a line of code) that had alternatives",
        |r| json!(r.around.reads),
    )
        .terminal(Section::Around, "reads with alternatives")
        .report(Group::Around, Fact, "reads of a stripe, row or line", ""),
    figure(
        "around_extra_reads",
        "pages",
        "page reads queued for them beyond the wanted pages",
        |r| json!(r.around.extra_reads),
    )
        .terminal(Section::Around, "  page reads queued for them")
        .report(Group::Around, Cost, "queued beyond the wanted pages", "page reads"),
    figure(
        "around_withdrawn_reads",
        "pages",
        "page reads, wanted ones among them, that left their queues unserved",
        |r| json!(r.around.withdrawn_reads),
    )
        .terminal(Section::Around, "  page reads withdrawn")
        .report(Group::Around, Fact, "withdrawn from queues", "page reads"),
    figure(
        "around_derived_pages",
        "pages",
        "wanted pages computed from others that came first",
        |r| json!(r.around.derived_pages),
    )
        .terminal(Section::Around, "  pages computed")
        .report(Group::Around, Fact, "computed from others", "pages"),
    figure("ahead_pages", "pages", "pages read ahead of the host", |r| json!(r.around.ahead_pages))
        .terminal(Section::Around, "pages read ahead")
        .report(Group::Ahead, Cost, "read ahead", "pages"),
    figure("ahead_hits", "pages", "pages that the host found there, or on their way", |r| json!(r.around.ahead_hits))
        .terminal(Section::Around, "  pages found there")
        .report(Group::Ahead, Fact, "found there", "pages"),
    figure("encoded_groups", "groups", "code groups that got code", |r| json!(r.around.encoded_groups))
        .terminal(Section::Around, "code groups encoded")
        .report(Group::ZoneCode, Cost, "encoded", "groups"),
    figure("valid_groups", "groups", "code groups whose code was valid at the end", |r| json!(r.around.valid_groups))
        .report(Group::ZoneCode, Fact, "valid at the end", "groups"),
    figure(
        "slc_host_pages",
        "pages",
        "pages of the host written to the SLC cache (decision 14); 0 without one",
        |r| json!(r.slc.host_pages),
    )
        .terminal(Section::SlcCache, "pages written to the SLC cache")
        .report(Group::SlcWrites, Fact, "to the cache", "pages"),
    figure(
        "slc_past_pages",
        "pages",
        "pages of the host written past it to other blocks; 0 without a cache",
        |r| json!(r.slc.past_pages),
    )
        .terminal(Section::SlcCache, "  past it")
        .report(Group::SlcWrites, Fact, "past it", "pages"),
    figure(
        "slc_folded_pages",
        "pages",
        "pages moved from it to other blocks, `fold` among `flash_programs_by_cause`",
        |r| json!(r.slc.folded_pages),
    )
        .terminal(Section::SlcCache, "  folded")
        .report(Group::Folding, Cost, "folded", "pages"),
    figure("slc_erases", "blocks", "erases of blocks in SLC mode, a part of `flash_erases`", |r| json!(r.slc.erases))
        .report(Group::Folding, Fact, "erased in SLC mode", "blocks"),
];
