//! Data of a client's own: bytes that writes bring in, bytes that reads take out, and answers on their way to the client. A
//! drive without a client makes up what is written (`HostPayload::stamp`).

use crate::core::flash::FlashPayload;
use crate::host::shadow::Shadow;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;
use vocab::{Lpn, Nanos, SharedBytes, SimTime};

/// Bytes of a sector.
const SECTOR: usize = vocab::SECTOR_BYTES as usize;

/// Answer to a request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientAnswer {
    pub request: u64,
    pub result: ClientResult,
    /// When.
    pub at: SimTime,
    /// Time from its arrival to its answer.
    pub latency: Nanos,
}

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClientResult {
    Done,
    /// Data of a read.
    Data(Vec<u8>),
    /// A read found other bytes than were written.
    Wrong,
    /// A page that was to be read is lost.
    Lost,
    /// A write, flush or discard failed.
    Refused,
}

/// Bytes of a request, from this sector on.
#[derive(Clone, Debug)]
struct Bytes<B> {
    first: u64,
    bytes: B,
}

/// A read under way.
#[derive(Clone, Debug)]
struct Reading {
    request: u64,
    found: Bytes<Vec<u8>>,
    /// Pages that have not come yet.
    left: u32,
    /// Something else was found than what was written.
    wrong: bool,
}

/// A client and its data.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    per_page: u32,
    pub shadow: Shadow,
    writes: FxHashMap<u64, Bytes<SharedBytes>>,
    /// By the last 32 bits of the request's number.
    reads: FxHashMap<u32, Reading>,
    /// Requests under way, from the oldest on: whether they were answered.
    window: VecDeque<bool>,
    oldest: u64,
    /// Pages that were answered while an older request was under way, and the requests that had arrived then.
    unsettled: VecDeque<(u64, Lpn)>,
    pub answers: Vec<ClientAnswer>,
}

impl Client {
    /// A client whose next request has this number.
    pub fn new(shadow: Shadow, sectors_per_page: u32, next: u64) -> Self {
        Self {
            per_page: sectors_per_page,
            shadow,
            writes: FxHashMap::default(),
            reads: FxHashMap::default(),
            window: VecDeque::new(),
            oldest: next,
            unsettled: VecDeque::new(),
            answers: Vec::new(),
        }
    }

    /// A request arrives next that brings these bytes, for sectors from `first` on.
    pub fn brings(&mut self, request: u64, first: u64, bytes: SharedBytes) {
        self.writes.insert(request, Bytes { first, bytes });
    }

    /// A request arrives next that wants this many sectors from `first` on.
    pub fn wants(&mut self, request: u64, first: u64, sectors: u32) {
        let per = u64::from(self.per_page);
        let pages = (first + u64::from(sectors)).div_ceil(per) - first / per;
        let found = Bytes { first, bytes: vec![0; sectors as usize * SECTOR] };
        self.reads.insert(request as u32, Reading { request, found, left: pages as u32, wrong: false });
    }

    /// A request has arrived.
    pub fn arrived(&mut self) {
        self.window.push_back(false);
    }

    /// Of a write that arrives: what the page gets in these sectors; the others are to be completed.
    pub fn page_sent<P: FlashPayload>(&mut self, request: u64, lpn: Lpn, sectors: Range<u32>) -> P {
        let size = self.per_page as usize * SECTOR;
        let Some(write) = self.writes.get(&request).filter(|_| !sectors.is_empty()) else {
            return P::of_host(&vec![0; size]);
        };
        let start = u64::from(lpn.0) * u64::from(self.per_page) + u64::from(sectors.start) - write.first;
        let from = start as usize * SECTOR;
        let bytes = &write.bytes[from..from + sectors.len() * SECTOR];
        self.shadow.write_sent(request, lpn, sectors.clone(), bytes);
        if bytes.len() == size {
            let is_all = bytes.len() == write.bytes.len();
            return if is_all { P::of_host_page(&write.bytes) } else { P::of_host(bytes) };
        }
        let mut page = vec![0; size];
        page[sectors.start as usize * SECTOR..sectors.end as usize * SECTOR].copy_from_slice(bytes);
        P::of_host(&page)
    }

    /// A discard of these pages arrives.
    pub fn discard_sent(&mut self, request: u64, pages: Range<u32>) {
        pages.for_each(|lpn| self.shadow.discard_sent(request, Lpn(lpn)));
    }

    /// A read found a page; `None`: it is unmapped.
    ///
    /// # Errors
    /// If that is not what was written.
    pub fn found<P: FlashPayload>(&mut self, request: u32, lpn: Lpn, found: Option<&P>) -> Result<(), String> {
        let Some(read) = self.reads.get_mut(&request) else { return Ok(()) };
        let bytes = found.and_then(P::bytes);
        let checked = self.shadow.check(read.request, lpn, &self.shadow.sums(bytes));
        read.left -= 1;
        read.wrong |= checked.is_err();
        let (page, per) = (u64::from(lpn.0) * u64::from(self.per_page), u64::from(self.per_page));
        let sectors = (read.found.bytes.len() / SECTOR) as u64;
        let (from, to) = (read.found.first.max(page), (read.found.first + sectors).min(page + per));
        if let Some(bytes) = bytes {
            let (into, of) = ((from - read.found.first) as usize * SECTOR, (from - page) as usize * SECTOR);
            let size = (to - from) as usize * SECTOR;
            read.found.bytes[into..into + size].copy_from_slice(&bytes[of..of + size]);
        }
        checked
    }

    /// A request was answered; what becomes of it.
    pub fn answered(&mut self, request: u64, is_read: bool, failed: bool, at: SimTime, latency: Nanos) {
        let result = match is_read.then(|| self.reads.remove(&(request as u32))).flatten() {
            Some(read) if read.wrong => ClientResult::Wrong,
            Some(read) if read.left == 0 && !failed => ClientResult::Data(read.found.bytes),
            _ if is_read => ClientResult::Lost,
            _ if failed => ClientResult::Refused,
            _ => ClientResult::Done,
        };
        self.writes.remove(&request);
        self.answers.push(ClientAnswer { request, result, at, latency });
    }

    /// A page of a request was written, or discarded, and that is answered when this many requests have arrived.
    pub fn page_answered(&mut self, request: u64, lpn: Lpn, arrived: u64, forced: bool) {
        self.shadow.answered(request, lpn, arrived, forced, self.oldest);
        self.unsettled.push_back((arrived, lpn));
    }

    /// A flush was answered, when this many requests had arrived.
    pub fn flushed(&mut self, flush: u64, arrived: u64) {
        let pages = self.shadow.flushed(flush, self.oldest);
        self.unsettled.extend(pages.into_iter().map(|lpn| (arrived, lpn)));
    }

    /// A request has ended: what only older ones could have found is forgotten.
    pub fn ended(&mut self, request: u64) {
        if let Some(is_over) = request.checked_sub(self.oldest).and_then(|at| self.window.get_mut(at as usize)) {
            *is_over = true;
        }
        while self.window.front() == Some(&true) {
            self.window.pop_front();
            self.oldest += 1;
        }
        while let Some(&(arrived, lpn)) = self.unsettled.front().filter(|(arrived, _)| *arrived <= self.oldest) {
            debug_assert!(arrived <= self.oldest);
            self.unsettled.pop_front();
            self.shadow.settle(lpn, self.oldest);
        }
    }

    /// Numbers of requests under way.
    pub fn under_way(&self) -> Vec<u64> {
        (self.oldest..).zip(&self.window).filter(|(_, is_over)| !**is_over).map(|(request, _)| request).collect()
    }

    /// The next request has this number; none is under way.
    pub fn starts_at(&mut self, next: u64) {
        self.oldest = next;
        self.window.clear();
    }

    /// The power went: nothing is under way any more. Pages that may have one of several contents.
    pub fn power_cut(&mut self, next: u64) -> Vec<Lpn> {
        self.writes.clear();
        self.reads.clear();
        self.window.clear();
        self.unsettled.clear();
        self.answers.clear();
        self.oldest = next;
        self.shadow.power_cut()
    }
}
