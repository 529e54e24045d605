//! Read-ahead: `protect::read_ahead` says what to fetch beyond what the host asks for; the buffers here keep it.

use crate::core::Core;
use crate::core::effects::Parcel;
use crate::core::flash::FlashPayload;
use crate::core::ids::LazyId;
use crate::read::around::{Sink, WantedPage};
use crate::read::lines::ask_of_line;
use crate::read::{Below, Reads};
use device::facts::Fact;
use device::slab::JobId;
use protect::code_zones::{LineRead, Offer};
use protect::lazy::Blocks;
use protect::read_ahead::ReadAhead;
use std::ops::Range;
use vocab::{Cause, HostCommand, Lba, Lpn};

/// A page of a buffer.
#[derive(Clone, Debug, Default)]
enum Page<P> {
    #[default]
    Gone,
    /// The read that brings it.
    UnderWay(LazyId),
    /// Its contents; `None`: it was never written.
    Here(Option<P>),
}

/// The buffer of a thread: the last group it fetched.
#[derive(Clone, Debug)]
struct Buffer<P> {
    first: u32,
    pages: Vec<Page<P>>,
    /// Counts what the buffer was used for: pages on their way to an earlier use are dropped.
    serial: u32,
}

impl<P> Default for Buffer<P> {
    fn default() -> Self {
        Self { first: 0, pages: Vec::new(), serial: 0 }
    }
}

impl<P> Buffer<P> {
    fn range(&self) -> Range<u32> {
        self.first..self.first + self.pages.len() as u32
    }

    fn page(&mut self, lpn: u32) -> Option<&mut Page<P>> {
        self.pages.get_mut(lpn.checked_sub(self.first)? as usize)
    }

    fn reset(&mut self, range: Range<u32>) {
        self.first = range.start;
        self.pages = range.map(|_| Page::Gone).collect();
        self.serial = self.serial.wrapping_add(1);
    }
}

/// Read-ahead and its buffers.
#[derive(Clone, Debug)]
pub(crate) struct Ahead<P> {
    table: ReadAhead,
    buffers: Vec<Buffer<P>>,
}

impl<P> Ahead<P> {
    pub fn new(table: ReadAhead) -> Self {
        Self { table, buffers: Vec::new() }
    }
}

impl<P: FlashPayload> Ahead<P> {
    /// The page has or gets other contents: buffers forget what they hold of its group.
    pub fn forget(&mut self, lpn: Lpn, sectors_per_slot: u64) {
        self.table.on_write(Lba(u64::from(lpn.0) * sectors_per_slot), sectors_per_slot as u32);
        self.buffers.iter_mut().filter(|buffer| buffer.range().contains(&lpn.0)).for_each(|buffer| buffer.reset(0..0));
    }

    /// The page of a buffer, if the buffer still holds what it did when it had this serial number.
    fn page(&mut self, thread: u16, serial: u32, lpn: Lpn) -> Option<&mut Page<P>> {
        let buffer = &mut self.buffers[usize::from(thread)];
        if buffer.serial == serial { buffer.page(lpn.0) } else { None }
    }
}

impl<P: FlashPayload> Reads<P> {
    /// Serves a read of a thread that is followed. False: it is served as it is.
    pub(crate) fn read_ahead(
        &mut self,
        core: &mut Core<P>,
        below: Below<'_, P>,
        job: JobId,
        asked: Range<u32>,
        command: &HostCommand,
    ) -> bool {
        let per = below.sectors_per_slot();
        let Some(ahead) = &mut self.ahead else { return false };
        let Some(served) = ahead.table.on_read(command.lba, command.sectors) else { return false };
        if ahead.buffers.len() <= served.thread {
            ahead.buffers.resize_with(served.thread + 1, Buffer::default);
        }
        let missing: Vec<u32> = asked.filter(|&lpn| !self.read_from_ahead(core, below, job, Lpn(lpn), served.thread)).collect();
        let fetch = served.fetch.map_or(0..0, |extent| {
            let pages = |sectors: u64| sectors.div_ceil(per) as u32;
            (extent.lba.0 / per) as u32..pages(extent.lba.0 + extent.sectors)
        });
        let (fetched, rest): (Vec<u32>, Vec<u32>) = missing.into_iter().partition(|lpn| fetch.contains(lpn));
        for lpn in rest {
            self.read_lines(core, below, job, &(lpn..lpn + 1), lpn..lpn + 1);
        }
        if !fetch.is_empty() {
            self.fetch(core, below, job, served.thread, fetch, &fetched);
        }
        true
    }

    /// Serves a page from the thread's buffer, now or when the read that brings it ends.
    fn read_from_ahead(&mut self, core: &mut Core<P>, below: Below<'_, P>, job: JobId, lpn: Lpn, thread: usize) -> bool {
        let floor = below.host.oracle.floor(lpn);
        let Some(page) = self.ahead.as_mut().and_then(|ahead| ahead.buffers[thread].page(lpn.0)) else { return false };
        match page {
            Page::Gone => return false,
            Page::UnderWay(read) => {
                let read = *read;
                self.join_read(core, read, lpn, Sink::Host { job, floor });
            }
            Page::Here(contents) => {
                let contents = contents.clone();
                core.out.send(Parcel::CheckRead { lpn, floor, contents });
            }
        }
        core.device.record(Fact::AheadHit);
        true
    }

    /// Reads pages that the host wants along with those of the last group, which becomes the buffer's.
    fn fetch(&mut self, core: &mut Core<P>, below: Below<'_, P>, job: JobId, thread: usize, fetch: Range<u32>, wanted: &[u32]) {
        let scheme = &below.zones().scheme;
        let group = scheme.layout().group_size() * scheme.layout().stripe_pages();
        let kept = (fetch.end - 1) / group * group..fetch.end;
        let buffer = &mut self.ahead.as_mut().expect("a thread is followed").buffers[thread];
        buffer.reset(kept.clone());
        let serial = buffer.serial;
        for line in scheme.lines(Lpn(fetch.start), fetch.len() as u32) {
            let mut wants = Vec::new();
            for block in line.wanted.iter() {
                let lpn = scheme.page(&line, block);
                let want = |sink| WantedPage { block: block as u8, slot: 0, lpn, sink };
                if wanted.binary_search(&lpn.0).is_ok() {
                    let floor = below.host.oracle.floor(lpn);
                    wants.push(want(Sink::Host { job, floor }));
                }
                if kept.contains(&lpn.0) {
                    core.device.record(Fact::ReadAhead);
                    wants.push(want(Sink::Ahead { thread: thread as u16, serial }));
                }
            }
            self.fetch_line(core, below, &line, wants);
        }
    }

    /// Reads what is wanted of a line, with its code if that is admitted.
    fn fetch_line(&mut self, core: &mut Core<P>, below: Below<'_, P>, line: &LineRead, wants: Vec<WantedPage>) {
        let (at_hand, wants): (Vec<WantedPage>, Vec<WantedPage>) =
            wants.into_iter().partition(|want| below.is_at_hand(core, want.lpn));
        at_hand.iter().for_each(|want| self.take_at_hand(core, below, want));
        if wants.is_empty() {
            return;
        }
        let (zones, wanted): (_, Blocks) = (below.zones(), wants.iter().map(|want| usize::from(want.block)).collect());
        let mut line = LineRead { wanted, ..*line };
        let mut asked = ask_of_line(core, below, &line, zones.scheme.offer());
        let dies: Vec<_> = wants.iter().filter_map(|want| zones.die_of(core, want.lpn)).collect();
        if line.code.is_none() || !self.admits(core, dies.into_iter(), asked.extra()) {
            line.code = None;
            asked = ask_of_line(core, below, &line, Offer::Wanted);
        }
        let ahead = wants.iter().filter(|want| matches!(want.sink, Sink::Ahead { .. }));
        let fetched: Vec<(Lpn, Sink)> = ahead.map(|want| (want.lpn, want.sink)).collect();
        let Some(read) = self.start_line(core, below, &line, asked, wants, Cause::Host) else { return };
        for (lpn, sink) in fetched {
            if let Some(page) = self.page_of_sink(sink, lpn) {
                *page = Page::UnderWay(read);
            }
        }
    }

    /// Takes a page that is in the write buffer, or was never written.
    fn take_at_hand(&mut self, core: &mut Core<P>, below: Below<'_, P>, want: &WantedPage) {
        let contents = below.host.buffer.get(want.lpn).cloned();
        match want.sink {
            Sink::Host { floor, .. } => core.out.send(Parcel::CheckRead { lpn: want.lpn, floor, contents }),
            sink => {
                if let Some(page) = self.page_of_sink(sink, want.lpn) {
                    *page = Page::Here(contents);
                }
            }
        }
    }

    fn page_of_sink(&mut self, sink: Sink, lpn: Lpn) -> Option<&mut Page<P>> {
        let Sink::Ahead { thread, serial } = sink else { return None };
        self.ahead.as_mut()?.page(thread, serial, lpn)
    }

    /// The read that was to bring a page ahead has ended; `None`: the page is lost.
    pub(crate) fn read_ahead_done(&mut self, thread: u16, serial: u32, lpn: Lpn, contents: Option<P>) {
        if let Some(page) = self.page_of_sink(Sink::Ahead { thread, serial }, lpn) {
            *page = contents.map_or(Page::Gone, |contents| Page::Here(Some(contents)));
        }
    }
}
