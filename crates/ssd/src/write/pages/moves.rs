//! Moving pages within a region log, whatever protects them: they go to the collector's write pointer of their log.

use crate::core::flash::FlashPayload;
use crate::core::owner::{Holds, Owner};
use crate::core::{Core, oob_covering};
use crate::write::pages::PageWriter;
use device::image::Contents;
use device::slab::ImageId;
use ftl::{Published, Stream};
use vocab::{Ppn, StreamId, StripSet};

/// The image that a moved page goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MovedImage {
    pub image: ImageId,
    /// Whether nothing is in it yet.
    pub is_new: bool,
    /// Whether it is of the host's write pointer. The host's next page must not overtake it, so it is sent at once.
    borrowed: bool,
}

impl PageWriter {
    /// The image for the next page of the stream that is moved within the log: the open one, or a new one that has this `coverage`
    /// in its OOB bytes. `None` if no write pointer of the log has a page.
    #[inline]
    pub fn image_for_moved<P: FlashPayload>(
        &mut self,
        core: &mut Core<P>,
        log: usize,
        stream: StreamId,
        coverage: impl FnOnce(&Core<P>) -> StripSet,
    ) -> Option<MovedImage> {
        let at = self.moved_of(log, stream);
        if let Some(image) = self.moved[at] {
            core.also_beside(image, stream);
            return Some(MovedImage { image, is_new: false, borrowed: false });
        }
        let own = core.map.take_page(log, Stream::GcOf(stream));
        let borrowed = own.is_none();
        let ppn = own.or_else(|| self.borrowed_page(core, log, stream))?;
        let oob = oob_covering(coverage(core).or(core.beside_stream(stream)));
        let image = core.device.images.open(ppn, oob);
        self.moved[at] = Some(image);
        Some(MovedImage { image, is_new: true, borrowed })
    }

    /// A page for moved contents whose own write pointer has none: of the host's write pointer of the stream, or else, where streams are
    /// isolated, of any.
    #[cold]
    fn borrowed_page<P: FlashPayload>(&mut self, core: &mut Core<P>, log: usize, stream: StreamId) -> Option<Ppn> {
        self.send_waiting(core, log);
        let others = core.map.gc_write_pointers().chain(core.map.host_write_pointers());
        std::iter::once(Stream::HostIn(stream)).chain(others).find_map(|stream| core.map.take_page(log, stream))
    }

    /// Puts a moved page, which the map has there already, into the image.
    #[inline]
    pub fn put_moved<P: FlashPayload>(
        &mut self,
        core: &mut Core<P>,
        log: usize,
        stream: StreamId,
        to: MovedImage,
        contents: Contents<P>,
        published: Published,
    ) {
        core.device.images.fill(to.image, contents, None, published.pinned);
        if core.device.images.is_full(to.image) || to.borrowed {
            self.send_moved_at(core, log, self.moved_of(log, stream));
        }
    }

    /// Queues the programs of what was moved within the log so far.
    #[inline]
    pub fn send_moved<P: FlashPayload>(&mut self, core: &mut Core<P>, log: usize) {
        for at in log * self.kept_apart..(log + 1) * self.kept_apart {
            self.send_moved_at(core, log, at);
        }
    }

    #[inline]
    fn send_moved_at<P: FlashPayload>(&mut self, core: &mut Core<P>, log: usize, at: usize) {
        if let Some(image) = self.moved[at].take() {
            core.moving[log].under_way += 1;
            let cause = core.moving[log].cause;
            core.submit_program(image, Owner::Page { log: log as u16, holds: Holds::MovedData }, cause);
        }
    }

    /// A page of the region log for contents that failed to be programmed there; of either stream.
    pub fn page_for_displaced<P: FlashPayload>(&mut self, core: &mut Core<P>, log: usize, streams: [Stream; 2]) -> Option<Ppn> {
        self.send_waiting(core, log);
        streams.into_iter().find_map(|stream| core.map.take_page(log, stream))
    }
}
