//! The seam of code zones, be they the way of writing or over one: what the engine tells them, and what it asks. On a drive without
//! them nothing is encoded, and nothing waits in segments.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::ids::EncodeId;
use crate::core::jobs::Asker;
use crate::core::zone_step::ZoneStep;
use crate::write::Writer;
use crate::write::zones::encode::Phase;
use crate::write::zones::{Waiting, Zones, forget_code_page};
use device::slab::JobId;
use ftl::Place;
use std::ops::Range;
use vocab::{DieId, Lpn};

/// Writes that wait for room in a group log wait for its only log.
const THE_LOG: usize = 0;

/// Work that remains after a step of code zones, in which other components take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AfterStep {
    Nothing,
    /// Further groups are encoded.
    EncodeMore,
    /// Code is written to these logs, in this order.
    Write(Vec<(usize, Waiting)>),
}

/// Off-line phases.
impl<P: FlashPayload> Writer<P> {
    /// Takes a step of code zones.
    pub fn zone_step(&mut self, core: &mut Core<P>, step: ZoneStep<P>) -> AfterStep {
        let zones = self.zones_mut();
        match step {
            ZoneStep::ForgetCode { stamp } => zones.forget_code(core, stamp),
            ZoneStep::ForgetCodePage { lpn, only_at } => forget_code_page(core, lpn, only_at),
            ZoneStep::LoseCodePage { lpn } => zones.lose_code_page(core, lpn),
            ZoneStep::CodePageOver { encode, how } => zones.code_page_over(core, encode, how),
            ZoneStep::CodeSummed { encode, sums } => return AfterStep::Write(zones.code_to_write(core, encode, sums)),
            ZoneStep::EncodeMore => return AfterStep::EncodeMore,
        }
        AfterStep::Nothing
    }

    /// The host asks for nothing. The off-line phase that begins now; where one is due after some time without requests, its timer is set.
    #[inline]
    pub fn phase_due(&mut self, core: &mut Core<P>) -> Option<Phase> {
        self.zones.as_mut()?.phase_due(core)
    }

    /// Gives code zones to the zones read most: the logical pages of code that is garbage then.
    pub fn choose_zones(&mut self) -> Option<Vec<Lpn>> {
        self.zones.as_mut().map(|zones| zones.choose_zones())
    }

    /// A phase begins, with this garbage: each group that is stale now is tried once.
    pub fn begin_phase(&mut self, core: &mut Core<P>, garbage: Vec<Lpn>) {
        self.zones_mut().begin_phase(core, garbage);
    }

    /// Groups are about to be begun; false if that is done already.
    pub fn begin_encoding(&mut self) -> bool {
        self.zones_mut().encoder.begin_starting()
    }

    /// Begins to encode the next group that is stale; false if no other may be under way.
    pub fn encode_next(&mut self, core: &mut Core<P>) -> bool {
        let Some(zones) = &mut self.zones else { return false };
        let begun = zones.start_next(core, &self.pages);
        if !begun {
            zones.end_starting(core);
        }
        begun
    }
}

/// Pages and code get places.
impl<P: FlashPayload> Writer<P> {
    /// The log of a logical page's segment, and its die.
    pub fn segment_of(&self, core: &Core<P>, lpn: Lpn) -> (usize, DieId) {
        self.zones().segment_of(core, lpn)
    }

    /// Writes a page of a job, or of code, to its segment; false if that has no room.
    pub fn write_to_segment(&mut self, core: &mut Core<P>, log: usize, page: Waiting) -> bool {
        match page {
            Waiting::Page { job, index } => self.zones_mut().write_page(core, job, index, log),
            Waiting::Code { encode, which } => self.zones_mut().write_code(core, encode, which, log),
            Waiting::CodeJob { .. } => unreachable!("the way below writes the pages of a job"),
        }
    }

    /// The next pages of a job are about to get places. Whether code of what they replace becomes stale; pages of code that is stale
    /// itself get none.
    pub fn makes_code_stale(&self, core: &mut Core<P>, job: JobId) -> bool {
        let Asker::Encoder { encode } = core.jobs[job].asker else { return true };
        self.zones().drop_stale_pages(core, job, encode);
        false
    }

    /// Pages of a job have got places, and nothing has been handed on since.
    pub fn note_code_places(&mut self, core: &Core<P>, job: JobId) {
        if let Asker::Encoder { encode } = core.jobs[job].asker {
            self.zones_mut().note_code_places(core, job, encode);
        }
    }

    /// The host reads these pages: code zones count that while time passes.
    pub fn note_read(&mut self, core: &Core<P>, pages: &Range<u32>) {
        if core.device.timed {
            self.zones_mut().scheme.on_read(Lpn(pages.start), pages.len() as u32);
        }
    }
}

/// Pages and code wait for room in segments.
impl<P: FlashPayload> Writer<P> {
    /// Whether anything does.
    pub fn has_waiting_in_segments(&self) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.has_waiting())
    }

    /// Whether only code does, which no one is promised: that of code zones over another way.
    pub fn only_code_waits_in_segments(&self) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.is_over())
    }

    /// Whether anything waits for room in the segment of this log.
    pub fn is_segment_awaited(&self, log: usize) -> bool {
        self.zones().waiting.contains_key(&log)
    }

    /// Logs of segments that something waits for.
    pub fn awaited_segments(&self) -> Vec<usize> {
        self.zones.iter().flat_map(|zones| zones.waiting.keys().copied()).collect()
    }

    /// Lets something wait for the segment of the log, behind all others.
    pub fn await_segment(&mut self, log: usize, waiting: Waiting) {
        self.zones_mut().waiting.entry(log).or_default().push_back(waiting);
    }

    /// As [`Self::await_segment`], before all others.
    pub fn await_segment_first(&mut self, log: usize, waiting: Waiting) {
        self.zones_mut().waiting.entry(log).or_default().push_front(waiting);
    }

    /// The first of all that wait, with its log.
    pub fn first_in_segments(&self) -> Option<(usize, Waiting)> {
        let (&log, queue) = self.zones.as_ref()?.waiting.first_key_value()?;
        Some((log, *queue.front()?))
    }

    /// The first that waits for the segment of the log, taken out.
    pub fn take_first_of_segment(&mut self, log: usize) -> Option<Waiting> {
        let waiting = &mut self.zones.as_mut()?.waiting;
        let queue = waiting.get_mut(&log)?;
        let first = queue.pop_front();
        if queue.is_empty() {
            waiting.remove(&log);
        }
        first
    }
}

/// Code that is valid, and its room.
impl<P: FlashPayload> Writer<P> {
    /// Groups with valid code.
    pub fn valid_code_groups(&self) -> u64 {
        self.zones.as_ref().map_or(0, |zones| zones.scheme.valid_groups())
    }

    /// Where every page of valid code lies, and the logical pages that it is the sum of.
    pub fn code_pages(&self, core: &Core<P>) -> Vec<(Place, Vec<Lpn>)> {
        self.zones.as_ref().map(|zones| zones.code_pages(core)).unwrap_or_default()
    }

    /// Pages that code has in the log of the way that it is over.
    pub fn code_pages_over(&self) -> u32 {
        let over = self.zones.as_ref().filter(|zones| zones.is_over());
        over.map_or(0, |zones| zones.scheme.layout().all_code_pages())
    }

    /// Refuses a drive with a segment that its bad blocks leave no room to collect in; `None`: it has no segments.
    pub fn check_segments(&self, core: &Core<P>) -> Option<Result<(), String>> {
        let zones = self.zones.as_ref().filter(|zones| !zones.is_over())?;
        Some(zones.check_segments(core))
    }
}

impl<P: FlashPayload> Zones<P> {
    /// The code of a group is computed, or some of its data cannot be read: the code that is to be written, each page or all of it with
    /// the log that it goes to.
    fn code_to_write(&mut self, core: &mut Core<P>, encode: EncodeId, sums: Option<Vec<P>>) -> Vec<(usize, Waiting)> {
        let pages = self.code_summed(core, encode, sums);
        if self.is_over() && pages > 0 {
            return vec![(THE_LOG, Waiting::CodeJob { job: self.code_job(core, encode) })];
        }
        let page = |which| (self.log_of_code(core, encode, which), Waiting::Code { encode, which });
        (0..pages).map(page).collect()
    }
}
