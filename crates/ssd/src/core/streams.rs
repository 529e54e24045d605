//! Streams of the host's writes: which stream each logical page belongs to.
//!
//! A page is *wanted* in the stream of its newest write, and *lies* in the stream for which it got its place: these differ
//! while a newer write waits in the buffer, or for its turn. GC goes by where a page lies, so that the pages of a
//! block that is kept to one stream are of that stream.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use device::facts::{Fact, StreamWork};
use device::slab::ImageId;
use ftl::StreamConfig;
use std::ops::Range;
use vocab::{HostCommand, Lpn, StreamId, StripSet};

/// The streams of a drive that tells several apart.
#[derive(Clone, Debug)]
pub(crate) struct PageStreams {
    count: u8,
    wanted: Vec<StreamId>,
    lies: Vec<StreamId>,
}

impl PageStreams {
    /// All pages of stream 0; `None` where there is only that.
    pub fn new(config: &StreamConfig, user_slots: u32) -> Option<Box<Self>> {
        let all = || vec![StreamId::default(); user_slots as usize];
        config.are_told_apart().then(|| Box::new(Self { count: config.count as u8, wanted: all(), lies: all() }))
    }

    /// The stream that a write of this number counts as.
    fn known(&self, stream: StreamId) -> StreamId {
        if stream.0 < self.count { stream } else { StreamId::default() }
    }

    /// A mount found the page, with this beside it.
    pub fn found(&mut self, lpn: Lpn, beside: StripSet) {
        if let (true, Some(stream)) = (lpn.index() < self.lies.len(), beside.iter().next()) {
            let stream = self.known(StreamId(stream as u8));
            (self.wanted[lpn.index()], self.lies[lpn.index()]) = (stream, stream);
        }
    }
}

impl<P: FlashPayload> Core<P> {
    /// A write of the host is about to send these pages.
    #[inline]
    pub fn pages_sent_in(&mut self, command: &HostCommand, pages: Range<u32>) {
        let Some(streams) = &mut self.streams else { return };
        let stream = streams.known(command.stream);
        let sent = pages.len() as u32;
        streams.wanted[pages.start as usize..pages.end as usize].fill(stream);
        self.device.record(Fact::OfStream { stream, work: StreamWork::Sent, pages: sent });
    }

    /// The stream that a page which gets a place from the host is written in.
    #[inline]
    pub fn stream_wanted(&self, lpn: Lpn) -> StreamId {
        self.streams.as_ref().map_or(StreamId::default(), |streams| streams.wanted[lpn.index()])
    }

    /// The stream that a page which is moved lies in.
    #[inline]
    pub fn stream_of(&self, lpn: Option<Lpn>) -> StreamId {
        let of = |streams: &PageStreams| lpn.and_then(|lpn| streams.lies.get(lpn.index()).copied());
        self.streams.as_deref().and_then(of).unwrap_or_default()
    }

    /// A page got a place in this stream.
    #[inline]
    pub fn note_stream(&mut self, lpn: Lpn, stream: StreamId, work: StreamWork) {
        let Some(streams) = &mut self.streams else { return };
        streams.lies[lpn.index()] = stream;
        self.device.record(Fact::OfStream { stream, work, pages: 1 });
    }

    /// The image, which was open, gets a page of this stream.
    #[inline]
    pub fn also_beside(&mut self, image: ImageId, stream: StreamId) {
        if self.streams.is_some() {
            let coverage = &mut self.device.images.slab[image].oob.coverage;
            *coverage = coverage.or(StripSet::one(u32::from(stream.0)));
        }
    }

    /// Strips beside a page of flash that hold pages of this stream: where there is no redundancy, coverage is free for
    /// it.
    #[inline]
    pub fn beside_stream(&self, stream: StreamId) -> StripSet {
        if self.streams.is_some() { StripSet::one(u32::from(stream.0)) } else { StripSet::EMPTY }
    }
}
