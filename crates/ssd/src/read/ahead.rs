//! Read-ahead buffers: what `protect::read_ahead` fetches beyond what the host asks for waits here.

use crate::engine::Engine;
use crate::read::around::{Sink, Want};
use device::contents::HostPayload;
use device::facts::Fact;
use device::slab::Id;
use ftl::Place;
use nand::FlashArray;
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
    Coming(Id),
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

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    fn ahead(&mut self) -> Option<&mut Ahead<P>> {
        self.writer.zones.as_mut()?.ahead.as_mut()
    }

    /// The page has or gets other contents: buffers forget what they hold of its group.
    pub(crate) fn forget_read_ahead(&mut self, lpn: Lpn) {
        let per = u64::from(self.host.requests.sectors_per_slot);
        let Some(ahead) = self.ahead() else { return };
        ahead.table.on_write(Lba(u64::from(lpn.0) * per), per as u32);
        ahead.buffers.iter_mut().filter(|buffer| buffer.range().contains(&lpn.0)).for_each(|buffer| buffer.reset(0..0));
    }

    /// Serves a read of a thread that is followed. False: it is served as it is.
    pub(crate) fn read_ahead(&mut self, job: Id, first: u32, end: u32, command: &HostCommand) -> bool {
        let per = u64::from(self.host.requests.sectors_per_slot);
        let Some(ahead) = self.ahead() else { return false };
        let Some(served) = ahead.table.on_read(command.lba, command.sectors) else { return false };
        if ahead.buffers.len() <= served.thread {
            ahead.buffers.resize_with(served.thread + 1, Buffer::default);
        }
        let missing: Vec<u32> = (first..end).filter(|&lpn| !self.read_from_ahead(job, Lpn(lpn), served.thread)).collect();
        let fetch = served.fetch.map_or(0..0, |extent| {
            let pages = |sectors: u64| sectors.div_ceil(per) as u32;
            (extent.lba.0 / per) as u32..pages(extent.lba.0 + extent.sectors)
        });
        let (fetched, rest): (Vec<u32>, Vec<u32>) = missing.into_iter().partition(|lpn| fetch.contains(lpn));
        for lpn in rest {
            self.read_lines(job, lpn..lpn + 1, lpn..lpn + 1);
        }
        if !fetch.is_empty() {
            self.fetch(job, served.thread, fetch, &fetched);
        }
        true
    }

    /// Serves a page from the thread's buffer, now or when it comes.
    fn read_from_ahead(&mut self, job: Id, lpn: Lpn, thread: usize) -> bool {
        let floor = self.host.oracle.floor(lpn);
        let Some(page) = self.ahead().and_then(|ahead| ahead.buffers[thread].page(lpn.0)) else { return false };
        match page {
            Page::Gone => return false,
            Page::Coming(read) => {
                let read = *read;
                self.join_read(read, lpn, Sink::Host { job, floor });
            }
            Page::Here(contents) => {
                let contents = contents.clone();
                self.check_read(lpn, floor, contents.as_ref());
            }
        }
        self.core.device.record(Fact::AheadHit);
        true
    }

    /// Reads pages that the host wants along with those of the last group, which becomes the buffer's.
    fn fetch(&mut self, job: Id, thread: usize, fetch: Range<u32>, wanted: &[u32]) {
        let group = {
            let layout = self.code_zones().layout();
            layout.group_size() * layout.stripe_pages()
        };
        let kept = (fetch.end - 1) / group * group..fetch.end;
        let buffer = &mut self.ahead().expect("a thread is followed").buffers[thread];
        buffer.reset(kept.clone());
        let serial = buffer.serial;
        let lines = self.code_zones().lines(Lpn(fetch.start), fetch.len() as u32);
        for line in lines {
            let mut wants = Vec::new();
            for block in line.wanted.iter() {
                let lpn = self.code_zones().page(&line, block);
                let want = |sink| Want { block: block as u8, slot: 0, lpn, sink };
                if wanted.binary_search(&lpn.0).is_ok() {
                    let floor = self.host.oracle.floor(lpn);
                    wants.push(want(Sink::Host { job, floor }));
                }
                if kept.contains(&lpn.0) {
                    self.core.device.record(Fact::ReadAhead);
                    wants.push(want(Sink::Ahead { thread: thread as u16, serial }));
                }
            }
            self.fetch_line(&line, wants);
        }
    }

    /// Reads what is wanted of a line, with its code if that is admitted.
    fn fetch_line(&mut self, line: &LineRead, wants: Vec<Want>) {
        let (at_hand, wants): (Vec<Want>, Vec<Want>) = wants.into_iter().partition(|want| self.is_at_hand(want.lpn));
        at_hand.iter().for_each(|want| self.take_at_hand(want));
        if wants.is_empty() {
            return;
        }
        let wanted: Blocks = wants.iter().map(|want| usize::from(want.block)).collect();
        let mut line = LineRead { wanted, ..*line };
        let (mut ask, mut sources) = self.ask_of_line(&line, self.code_zones().offer());
        let dies: Vec<_> = wants.iter().map(|want| self.segment_of(want.lpn).1).collect();
        let extra = ask.offered.without(&ask.wanted).without(&ask.held).len() as u32;
        if line.code.is_none() || !self.admits(dies.into_iter(), extra) {
            line.code = None;
            (ask, sources) = self.ask_of_line(&line, Offer::Wanted);
        }
        let ahead = wants.iter().filter(|want| matches!(want.sink, Sink::Ahead { .. }));
        let coming: Vec<(Lpn, Sink)> = ahead.map(|want| (want.lpn, want.sink)).collect();
        let Some(read) = self.start_line(&line, ask, sources, wants, Cause::Host) else { return };
        for (lpn, sink) in coming {
            if let Some(page) = self.page_of_sink(sink, lpn) {
                *page = Page::Coming(read);
            }
        }
    }

    /// Whether a page needs no read: it is in the write buffer, or was never written.
    pub(crate) fn is_at_hand(&self, lpn: Lpn) -> bool {
        self.host.buffer.get(lpn).is_some() || self.core.map.lookup(lpn) == Place::Unmapped
    }

    /// A page that is in the write buffer, or was never written.
    fn take_at_hand(&mut self, want: &Want) {
        let contents = self.host.buffer.get(want.lpn).cloned();
        match want.sink {
            Sink::Host { floor, .. } => self.check_read(want.lpn, floor, contents.as_ref()),
            sink => {
                if let Some(page) = self.page_of_sink(sink, want.lpn) {
                    *page = Page::Here(contents);
                }
            }
        }
    }

    fn page_of_sink(&mut self, sink: Sink, lpn: Lpn) -> Option<&mut Page<P>> {
        let Sink::Ahead { thread, serial } = sink else { return None };
        let buffer = &mut self.ahead()?.buffers[usize::from(thread)];
        if buffer.serial == serial { buffer.page(lpn.0) } else { None }
    }

    /// A page that was read ahead has come, or is lost.
    pub(crate) fn read_ahead_done(&mut self, thread: u16, serial: u32, lpn: Lpn, contents: Option<&P>) {
        if let Some(page) = self.page_of_sink(Sink::Ahead { thread, serial }, lpn) {
            *page = contents.map_or(Page::Gone, |contents| Page::Here(Some(contents.clone())));
        }
    }
}
