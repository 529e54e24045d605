//! Pages that were read from the file.

use crate::Member;
use std::sync::{Mutex, OnceLock};
use vocab::{Geometry, Ppn};

/// Pages of which something is kept, above which all of it is forgotten at the next read.
pub(super) const PAGES_KEPT: usize = 256;
/// Pages that have room for what is read of them once something of one of them is: few of a drive's pages ever do.
const LOT: u32 = 32;

/// Why no one who panicked held a lock.
const WHOLE: &str = "no one panics while holding it";

/// Contents of pages that were asked for, and members that they name. Those who look at pages share it; whoever changes flash
/// forgets some of it.
#[derive(Debug)]
pub(super) struct Loaded<P> {
    lots: Vec<OnceLock<Box<[OfPage<P>]>>>,
    pages: Mutex<Vec<Ppn>>,
}

#[derive(Debug)]
struct OfPage<P> {
    /// `None`: checksums fail.
    contents: OnceLock<Option<Box<[P]>>>,
    members: OnceLock<Box<[Member]>>,
}

impl<P> Default for OfPage<P> {
    fn default() -> Self {
        Self { contents: OnceLock::new(), members: OnceLock::new() }
    }
}

impl<P> Default for Loaded<P> {
    /// Of no pages.
    fn default() -> Self {
        Self { lots: Vec::new(), pages: Mutex::default() }
    }
}

impl<P> Loaded<P> {
    /// Nothing yet.
    pub fn new(geometry: &Geometry) -> Self {
        Self { lots: (0..geometry.pages().div_ceil(LOT)).map(|_| OnceLock::new()).collect(), ..Self::default() }
    }

    fn page(&self, ppn: Ppn) -> &OfPage<P> {
        let lot = self.lots[(ppn.0 / LOT) as usize].get_or_init(|| (0..LOT).map(|_| OfPage::default()).collect());
        &lot[(ppn.0 % LOT) as usize]
    }

    fn note(&self, ppn: Ppn) {
        self.pages.lock().expect(WHOLE).push(ppn);
    }

    /// The contents of a page, which `load` reads unless they are here.
    pub fn contents(&self, ppn: Ppn, load: impl FnOnce() -> Option<Box<[P]>>) -> Option<&[P]> {
        let contents = self.page(ppn).contents.get_or_init(|| {
            self.note(ppn);
            load()
        });
        contents.as_deref()
    }

    /// The members that a page names, which `load` reads unless they are here.
    pub fn members(&self, ppn: Ppn, load: impl FnOnce() -> Box<[Member]>) -> &[Member] {
        self.page(ppn).members.get_or_init(|| {
            self.note(ppn);
            load()
        })
    }

    /// These pages change.
    pub fn forget(&mut self, pages: std::ops::Range<u32>) {
        let lots = pages.start / LOT..pages.end.div_ceil(LOT);
        self.lots[lots.start as usize..lots.end as usize].iter_mut().for_each(|lot| drop(lot.take()));
    }

    /// Forgets everything if that is much.
    pub fn forget_if_much(&mut self) {
        let pages = self.pages.get_mut().expect(WHOLE);
        if pages.len() > PAGES_KEPT {
            pages.drain(..).for_each(|ppn| drop(self.lots[(ppn.0 / LOT) as usize].take()));
        }
    }

    /// Pages whose contents are here.
    #[cfg(test)]
    pub fn kept(&self) -> usize {
        let pages = self.lots.iter().filter_map(OnceLock::get).flatten();
        pages.filter(|page| page.contents.get().is_some()).count()
    }
}
