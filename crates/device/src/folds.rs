//! Folds over facts: every figure of a report is one, so two reports cannot disagree.

use crate::batches::{Batches, Mark};
use crate::facts::{Fact, RequestKind, Step, StreamWork};
use crate::flows::FlowFolds;
use crate::series::{Counts, Gauges, Series, SoFar};
use hdrhistogram::Histogram;
use vocab::{Bytes, Cause, ChannelId, Nanos, SimTime, StreamId};

/// Logical pages of one stream of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFolds {
    /// Sent, written, moved: by [`StreamWork`].
    pub pages: [u64; 3],
}

/// Counters of the ladder of reads: empty where pages are read once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LadderFolds {
    /// Page reads that ended on each step, then those that nothing helped: what is left to the scheme's parity.
    pub ended: [u64; Step::ALL.len() + 1],
    /// Times that cells were sensed after the first read of a page.
    pub further_sensings: u64,
    /// Page reads by how often they were read with other references.
    pub retries: std::collections::BTreeMap<u32, u64>,
    /// Time of dies and channels on each step, without waiting.
    pub flash: [Nanos; Step::ALL.len()],
    /// Time of decoders on each step.
    pub decode: [Nanos; Step::ALL.len()],
}

/// Counters of page ECC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EccFolds {
    /// Codewords decoded.
    pub codewords: u64,
    /// Errors corrected in them.
    pub corrected_bits: u64,
    /// Codewords that could not be corrected.
    pub failed_codewords: u64,
    /// Failed codewords that the decoder miscorrected: their checksum detects it.
    pub miscorrected_codewords: u64,
    /// Codewords of LDPC that their curve lets decode and the decoder does not: only where pages carry bytes.
    pub ldpc_disagreements: u64,
    /// Page reads with such a codeword.
    pub unreadable_pages: u64,
    /// Page reads whose codewords were all corrected, by their errors: none, 1, 2 to 3, 4 to 7, and so on.
    pub reads_by_errors: [u64; Self::CLASSES],
    /// Time spent decoding.
    pub decode: Nanos,
    /// Time spent encoding.
    pub encode: Nanos,
    /// Pages programmed by the capability of their code.
    pub programs_by_t: std::collections::BTreeMap<u8, u64>,
}

impl EccFolds {
    /// Classes of reads by their errors: the last has all from 32768 up.
    pub const CLASSES: usize = 17;

    /// The fewest errors of a class.
    #[must_use]
    pub fn fewest_errors(class: usize) -> u32 {
        if class == 0 { 0 } else { 1 << (class - 1) }
    }

    /// The codewords of a page were decoded.
    #[inline]
    fn decoded(&mut self, fact: Fact) {
        let Fact::Decoded { codewords, errors, failed, miscorrected, disagreed, time } = fact else { return };
        self.codewords += u64::from(codewords);
        self.corrected_bits += u64::from(errors);
        self.failed_codewords += u64::from(failed);
        self.miscorrected_codewords += u64::from(miscorrected);
        self.ldpc_disagreements += u64::from(disagreed);
        self.unreadable_pages += u64::from(failed > 0);
        if failed == 0 {
            self.reads_by_errors[((u32::BITS - errors.leading_zeros()) as usize).min(Self::CLASSES - 1)] += 1;
        }
        self.decode += time;
    }
}

/// Counters of reads with alternatives and of read-ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AroundFolds {
    /// Reads (of a stripe, row or line of code) that had alternatives.
    pub reads: u64,
    /// Sub-requests queued for them.
    pub extra: u64,
    /// Sub-requests of any kind that left their queues unserved.
    pub withdrawn: u64,
    /// Wanted pages computed from others.
    pub derived: u64,
    /// Pages read ahead.
    pub ahead: u64,
    /// Host pages found there.
    pub ahead_hits: u64,
    /// Groups encoded.
    pub encoded_groups: u64,
}

/// Counters of blocks in SLC mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlcFolds {
    /// Logical pages of the host that were programmed into them.
    pub host: u64,
    /// Logical pages of the host that were programmed into other blocks: past the cache.
    pub past: u64,
    /// Slots of any kind that were programmed into them.
    pub slots: u64,
    /// Logical pages that were moved out of them.
    pub folded: u64,
    /// Their erases.
    pub erases: u64,
}

impl SlcFolds {
    /// A page was programmed on a drive that has such blocks, beside what is recorded on all drives.
    pub(crate) fn programmed(&mut self, is_slc: bool, cause: Cause, filled: u32) {
        let filled = u64::from(filled);
        self.slots += if is_slc { filled } else { 0 };
        match cause {
            Cause::Host if is_slc => self.host += filled,
            Cause::Host => self.past += filled,
            Cause::Fold => self.folded += filled,
            _ => {}
        }
    }
}

/// Counters and histograms over all facts since the last reset.
#[derive(Clone, Debug)]
pub struct Folds {
    /// Page reads by cause.
    pub reads: [u64; Cause::ALL.len()],
    /// Page programs by cause.
    pub programs: [u64; Cause::ALL.len()],
    /// Block erases by cause.
    pub erases: [u64; Cause::ALL.len()],
    /// Reads of pages that were in a register of their die still.
    pub in_register: u64,
    /// Reads of pages in the memory where their program unit was being gathered.
    pub in_gathering: u64,
    /// Programs of a die's cells: one for all pages that are programmed together.
    pub program_pulses: u64,
    /// Pages that the host read from the write buffer.
    pub buffer_hits: u64,
    /// Work of blocks in SLC mode.
    pub slc: SlcFolds,
    /// Pages recharged in place.
    pub recharges: u64,
    /// The run in batches; of runs that count latencies.
    pub batches: Batches,
    /// Slots programmed with something in them.
    pub filled_slots: u64,
    /// Slots programmed empty.
    pub padded_slots: u64,
    /// Requests that arrived, by kind.
    pub arrived: [u64; 4],
    /// Requests answered, by kind.
    pub requests: [u64; 4],
    /// Sum of the times at which requests arrived: with that of answers, how many are outstanding over time.
    pub arrival_times: u128,
    /// Sum of the times at which they were answered.
    pub answer_times: u128,
    /// Logical pages sent, by kind.
    pub pages: [u64; 4],
    /// Pages of each stream; empty where streams are not told apart.
    pub streams: Vec<StreamFolds>,
    /// Latencies in ns, by kind (reads, writes), where someone asks for them.
    pub latencies: Option<Box<[Histogram<u64>; 2]>>,
    /// Sum of latencies in ns, by kind: means are exact.
    pub latency_sum: [u128; 2],
    /// Longest latency in ns, by kind: exact too.
    pub latency_max: [u64; 2],
    /// Work of page ECC.
    pub ecc: EccFolds,
    /// Steps of the read ladder.
    pub ladder: LadderFolds,
    /// Sum of the time dies were busy.
    pub busy: Nanos,
    /// Sum of the time channels carried something.
    pub carried: Nanos,
    /// Data and OOB bytes that each channel carried, up to the last that carried any.
    pub moved: Vec<Bytes>,
    /// Reads compared.
    pub checked: u64,
    /// Checked reads that returned wrong data.
    pub mismatches: u64,
    /// Reads with alternatives, and what became of them.
    pub around: AroundFolds,
    /// Host pages solved from a stripe.
    pub rebuilt: u64,
    /// Host pages lost.
    pub media_errors: u64,
    /// Host pages not written.
    pub write_errors: u64,
    /// Reads that gave another page than they were asked for.
    pub astray: u64,
    /// Host requests refused because the drive is read-only.
    pub refused: u64,
    /// Digest of all facts with their times.
    pub digest: u64,
    /// The same by time, where someone asks for it: nothing else depends on it.
    pub(crate) series: Option<Box<Series>>,
    /// Each flow of requests, where there are several.
    pub flows: Vec<FlowFolds>,
    /// When the open bin of the series is over: never without one.
    pub(crate) bin_end: SimTime,
    slots_per_page: u32,
}

impl Folds {
    /// Folds over nothing yet, latencies included.
    pub fn with_latencies(slots_per_page: u32) -> Self {
        let histogram = || Histogram::new(3).expect("3 significant digits are valid");
        Self { latencies: Some(Box::new([histogram(), histogram()])), ..Self::new(slots_per_page) }
    }

    /// Folds over nothing yet, of all but latencies: these take more than the rest.
    pub fn new(slots_per_page: u32) -> Self {
        Self {
            reads: [0; Cause::ALL.len()],
            programs: [0; Cause::ALL.len()],
            erases: [0; Cause::ALL.len()],
            in_register: 0,
            in_gathering: 0,
            program_pulses: 0,
            buffer_hits: 0,
            slc: SlcFolds::default(),
            recharges: 0,
            batches: Batches::default(),
            filled_slots: 0,
            padded_slots: 0,
            arrived: [0; 4],
            requests: [0; 4],
            arrival_times: 0,
            answer_times: 0,
            pages: [0; 4],
            streams: Vec::new(),
            latencies: None,
            latency_sum: [0; 2],
            latency_max: [0; 2],
            ecc: EccFolds::default(),
            ladder: LadderFolds::default(),
            busy: Nanos(0),
            carried: Nanos(0),
            moved: Vec::new(),
            checked: 0,
            mismatches: 0,
            around: AroundFolds::default(),
            rebuilt: 0,
            media_errors: 0,
            write_errors: 0,
            refused: 0,
            astray: 0,
            digest: 0,
            series: None,
            flows: Vec::new(),
            bin_end: SimTime(u64::MAX),
            slots_per_page,
        }
    }

    /// Slots programmed, with something in them or empty.
    pub fn programmed_slots(&self) -> u64 {
        self.filled_slots + self.padded_slots
    }

    /// Records one fact.
    #[inline(always)]
    pub fn record(&mut self, at: SimTime, fact: Fact) {
        if matches!(fact, Fact::Served { .. } | Fact::Answered { .. })
            && let Some(series) = &mut self.series
        {
            series.record(at, fact);
        }
        match fact {
            Fact::Read { ppn, cause } => {
                self.reads[cause as usize] += 1;
                self.digest(at, 1, u64::from(ppn) << 8 | cause as u64);
            }
            Fact::Programmed { ppn, cause, filled } => {
                self.programs[cause as usize] += 1;
                self.filled_slots += u64::from(filled);
                self.padded_slots += u64::from(self.slots_per_page - filled);
                self.digest(at, 2, u64::from(ppn) << 8 | cause as u64);
            }
            Fact::Recharged { ppn } => {
                self.recharges += 1;
                self.digest(at, 6, u64::from(ppn));
            }
            Fact::Erased { block, cause } => {
                self.erases[cause as usize] += 1;
                self.digest(at, 3, u64::from(block) << 8 | cause as u64);
            }
            // The payload decides if a decoder runs and if miscorrections are drawn: neither is part of the digest.
            Fact::Decoded { errors, failed, .. } => {
                self.ecc.decoded(fact);
                self.digest(at, 5, u64::from(errors) << 8 | u64::from(failed));
            }
            Fact::Climbed { .. } | Fact::LadderEnded { .. } => self.climbed(at, fact),
            Fact::Encoded { capability, time } => {
                *self.ecc.programs_by_t.entry(capability).or_default() += 1;
                self.ecc.encode += time;
            }
            Fact::Served { busy, channel, carried, moved, .. } => {
                self.busy += busy;
                self.carried += carried;
                self.moved_on(channel, moved);
            }
            // No part of the digest: the workload says when requests arrive.
            Fact::Arrived { kind } => self.arrived(at, kind),
            Fact::Answered { kind, latency } => self.answered(at, kind, latency),
            // No part of the digest: that has the same of all requests.
            Fact::FlowArrived { flow, .. } | Fact::FlowAnswered { flow, .. } => self.of_flow(flow, at, fact),
            Fact::Pages { kind, pages } => self.pages[kind as usize] += u64::from(pages),
            Fact::OfStream { stream, work, pages } => self.of_stream(stream, work, pages),
            // The payload decides if a read can be checked: no part of the digest.
            Fact::Checked { mismatch } => {
                self.checked += 1;
                self.mismatches += u64::from(mismatch);
            }
            Fact::ReadAround { extra } => {
                self.around.reads += 1;
                self.around.extra += u64::from(extra);
            }
            Fact::InRegister => self.in_register += 1,
            Fact::Withdrawn => self.around.withdrawn += 1,
            Fact::Derived { pages } => self.around.derived += u64::from(pages),
            Fact::ReadAhead => self.around.ahead += 1,
            Fact::AheadHit => self.around.ahead_hits += 1,
            Fact::GroupEncoded => self.around.encoded_groups += 1,
            Fact::Rebuilt => self.rebuilt += 1,
            Fact::MediaError => self.media_errors += 1,
            Fact::WriteError => self.write_errors += 1,
            Fact::Astray => self.astray += 1,
            Fact::Refused => self.refused += 1,
        }
    }

    /// Counts a fact of the read ladder. Out of line: most drives have none.
    #[inline(never)]
    fn climbed(&mut self, at: SimTime, fact: Fact) {
        match fact {
            Fact::Climbed { step, sensings, flash, decode } => {
                self.ladder.further_sensings += if step == Step::Hard { 0 } else { u64::from(sensings) };
                self.ladder.flash[step as usize] += flash;
                self.ladder.decode[step as usize] += decode;
            }
            Fact::LadderEnded { step, retries } => {
                let which = step.map_or(Step::ALL.len(), |step| step as usize);
                self.ladder.ended[which] += 1;
                *self.ladder.retries.entry(retries).or_default() += 1;
                self.digest(at, 7, (which as u64) << 8 | u64::from(retries));
            }
            _ => {}
        }
    }

    /// Out of line: most runs have one flow.
    #[inline(never)]
    fn of_flow(&mut self, flow: u16, at: SimTime, fact: Fact) {
        if self.flows.len() <= flow as usize {
            self.flows.resize_with(flow as usize + 1, FlowFolds::default);
        }
        self.flows[flow as usize].record(at, fact);
        if let Some(series) = &mut self.series {
            series.of_flow(flow, fact);
        }
    }

    #[inline]
    fn moved_on(&mut self, channel: ChannelId, bytes: Bytes) {
        if self.moved.len() <= channel.index() {
            self.moved.resize(channel.index() + 1, Bytes(0));
        }
        self.moved[channel.index()].0 += bytes.0;
    }

    /// Out of line: most drives do not tell streams apart. No part of the digest: where pages lie is in it.
    #[inline(never)]
    fn of_stream(&mut self, stream: StreamId, work: StreamWork, pages: u32) {
        if self.streams.len() <= stream.index() {
            self.streams.resize(stream.index() + 1, StreamFolds::default());
        }
        self.streams[stream.index()].pages[work as usize] += u64::from(pages);
    }

    #[inline]
    fn arrived(&mut self, at: SimTime, kind: RequestKind) {
        self.arrived[kind as usize] += 1;
        self.arrival_times += u128::from(at.0);
    }

    fn answered(&mut self, at: SimTime, kind: RequestKind, latency: Nanos) {
        self.requests[kind as usize] += 1;
        self.answer_times += u128::from(at.0);
        self.digest(at, 4, latency.0 << 2 | kind as u64);
        let which = kind as usize;
        if let Some(latencies) = self.latencies.as_mut().filter(|_| which < 2) {
            latencies[which].record(latency.0).expect("histograms grow");
            self.latency_sum[which] += u128::from(latency.0);
            self.latency_max[which] = self.latency_max[which].max(latency.0);
            self.answered_in_batch();
        }
    }

    #[inline]
    fn answered_in_batch(&mut self) {
        let answers = self.requests[RequestKind::Read as usize] + self.requests[RequestKind::Write as usize];
        if self.batches.ends_at(answers) {
            self.batches.end(Mark {
                answers,
                latency_ns: self.latency_sum.iter().sum(),
                slots: self.programmed_slots(),
                pages: self.pages[RequestKind::Write as usize],
            });
        }
    }

    #[inline]
    fn digest(&mut self, at: SimTime, what: u64, value: u64) {
        let mixed = (self.digest ^ at.0).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.digest = (mixed ^ value ^ what << 60).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }

    /// Flash commands executed.
    pub fn flash_ops(&self) -> u64 {
        [&self.reads, &self.programs, &self.erases].into_iter().flatten().sum()
    }
}

impl Folds {
    /// True if the open bin of the series is over: it must be closed before an event of this instant is recorded.
    #[inline]
    #[must_use]
    pub fn is_bin_over(&self, now: SimTime) -> bool {
        now >= self.bin_end
    }

    /// Closes all bins of the series that are over. Nothing has happened since the last event: gauges are those of all.
    pub fn close_bins(&mut self, now: SimTime, gauges: Gauges) {
        if let Some(mut series) = self.series.take() {
            series.close_until(now, gauges, &self.so_far());
            self.bin_end = series.end_of_bin();
            self.series = Some(series);
        }
    }

    /// Records a series from now on; none without one.
    pub fn record_series(&mut self, series: Option<Box<Series>>) {
        self.bin_end = series.as_ref().map_or(SimTime(u64::MAX), |series| series.end_of_bin());
        self.series = series;
    }

    /// The series, which is recorded no more.
    pub fn take_series(&mut self) -> Option<Box<Series>> {
        self.bin_end = SimTime(u64::MAX);
        self.series.take()
    }

    /// Ends the series, and a bin with it.
    pub fn end_series(&mut self, now: SimTime, gauges: Gauges) -> Option<Box<Series>> {
        let mut series = self.take_series()?;
        series.end(now, gauges, &self.so_far());
        Some(series)
    }

    fn so_far(&self) -> SoFar {
        let counts = Counts {
            arrived: self.arrived,
            pages: self.pages,
            answered: self.requests,
            reads: self.reads,
            programs: self.programs,
            erases: self.erases,
            ladder: self.ladder.ended,
        };
        SoFar { counts, times: [self.arrival_times, self.answer_times] }
    }
}
