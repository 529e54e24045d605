//! Data of a page that the host asks for soon are brought into the processor's cache: first the page's entries in the
//! map, then, when those have come, the data they point to. A drive has more pages than any cache has entries, and
//! fetches side by side cost little more than one.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::write::{Way, Writer};
use nand::FlashArray;
use vocab::{Lpn, Slot};

/// Planned use of a page by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Read,
    Write,
}

impl<P: FlashPayload> Writer<P> {
    /// Fetches the entries of the map.
    #[inline]
    pub fn fetch_map(&self, core: &Core<P>, lpn: Lpn) {
        let Some(stripes) = self.stripes_if_any() else {
            core.map.prefetch(lpn);
            return;
        };
        let (stripe, strip) = stripes.strip_of(lpn);
        let first = lpn.0 - strip;
        // The entries of a stripe lie side by side: in one cache line, or two.
        core.map.prefetch(Lpn(first));
        core.map.prefetch(Lpn(first.saturating_add(stripes.data_strips() - 1)));
        core.map.prefetch_parity(stripe);
    }

    /// Fetches what the entries of the map point to: what is kept of a place that will be given up, and of the blocks
    /// whose pages will be read.
    #[inline]
    pub fn fetch_places(&self, core: &Core<P>, lpn: Lpn, wanted: Wanted) {
        self.each_place(core, lpn, wanted, |slot| core.device.array.prefetch_block(core.device.grid.page_of(slot).0));
    }

    /// Fetches what the pages hold that will be read.
    #[inline]
    pub fn fetch_contents(&self, core: &Core<P>, lpn: Lpn, wanted: Wanted) {
        let is_anything_read = wanted == Wanted::Read || self.way == Way::Stripes;
        // Some drives keep nothing of what pages hold, nor of their codes.
        if !is_anything_read || (size_of::<P>() == 0 && core.device.ecc.is_none()) {
            return;
        }
        self.each_place(core, lpn, wanted, |slot| core.device.array.prefetch(core.device.grid.page_of(slot).0));
    }

    /// The places of pages that will be read: of the page itself, and to write a static stripe that has parity, of the
    /// old contents and of the parity.
    #[inline]
    fn each_place(&self, core: &Core<P>, lpn: Lpn, wanted: Wanted, fetch: impl Fn(Slot)) {
        let data = core.map.prefetch_place(lpn);
        if wanted == Wanted::Read {
            data.into_iter().for_each(fetch);
        } else if let Some(stripes) = self.stripes_if_any()
            && let Some(parity) = core.map.prefetch_place_of_parity(stripes.strip_of(lpn).0)
        {
            data.into_iter().chain([parity]).for_each(fetch);
        }
    }
}
