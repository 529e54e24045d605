//! View of an image that a mount has: the OOB bytes of all pages, block by block. Where a program that did not end may have left part
//! of what it wrote, the members that pages name are checked, too.

use super::header::Layout;
use super::{Store, complement, named, read_flash};
use crate::array::restore::{Found, PageState};
use crate::{Member, OobError};
use std::sync::mpsc;
use std::{io, iter, thread};
use vocab::{BlockAddr, Grid, Ppn};

/// Bytes of members that are read at once, or those of one page.
const NAMED_AT_ONCE: usize = 1 << 20;

/// Threads above which a disk is the limit.
const THREADS_MOST: usize = 8;
/// Blocks that each of them is ahead.
const BLOCKS_AHEAD: usize = 2;

/// How many threads look at an image.
pub(super) fn threads() -> u32 {
    thread::available_parallelism().map_or(1, usize::from).min(THREADS_MOST) as u32
}

/// Tells `put` what the pages of each block say, in the order of blocks. This many threads read and decode. They allocate nothing
/// in the meantime, as they share one heap and would wait for each other: whoever keeps what was found copies it.
pub(super) fn look_at_blocks<S: Store>(
    store: &S,
    layout: &Layout,
    grid: &Grid,
    threads: u32,
    mut put: impl FnMut(BlockAddr, &[Found]),
) -> io::Result<()> {
    let pages = || iter::repeat_with(Found::default).take(grid.pages_per_block() as usize).collect::<Vec<_>>();
    let blocks = layout.geometry.blocks();
    thread::scope(|scope| {
        let lane = |first: u32| {
            let (found, told) = mpsc::sync_channel(BLOCKS_AHEAD);
            let (back, blank) = mpsc::channel();
            (0..=BLOCKS_AHEAD).for_each(|_| _ = back.send(pages()));
            scope.spawn(move || {
                let mut look = Look::new(store, layout, grid.clone());
                for (block, mut pages) in (first..blocks).step_by(threads as usize).zip(blank) {
                    let looked = look.at_block(BlockAddr(block), &mut pages);
                    // The receiver is gone once another block could not be read: this thread ends, too.
                    let Ok(()) = found.send(looked.map(|()| pages)) else { return };
                }
            });
            (told, back)
        };
        let lanes: Vec<_> = (0..threads).map(lane).collect();
        for (block, (told, back)) in (0..blocks).map(BlockAddr).zip(lanes.iter().cycle()) {
            let pages = told.recv().expect("the thread tells of all its blocks")?;
            put(block, &pages);
            let _ = back.send(pages);
        }
        Ok(())
    })
}

/// A look at an image, block after block.
struct Look<'a, S> {
    store: &'a S,
    layout: &'a Layout,
    grid: Grid,
    /// OOB bytes of the block.
    besides: Vec<u8>,
    /// Members that some pages name, as the image has them: those of a page begin at its number times what a page may name. What
    /// stands behind the last that is named is left over from other pages.
    entries: Vec<u8>,
    /// Those of one page.
    members: Vec<Member>,
}

impl<'a, S: Store> Look<'a, S> {
    fn new(store: &'a S, layout: &'a Layout, grid: Grid) -> Self {
        let besides = vec![0; layout.beside() * grid.pages_per_block() as usize];
        Self { store, layout, grid, besides, entries: Vec::new(), members: Vec::new() }
    }

    /// Replaces the entries of a block's pages in `found`.
    fn at_block(&mut self, block: BlockAddr, found: &mut [Found]) -> io::Result<()> {
        let (first, pages, size) = (self.grid.ppn(block, 0), self.grid.pages_per_block() as usize, self.layout.beside());
        read_flash(self.store, &mut self.besides, self.layout.beside_at(first))?;
        let at_once = (NAMED_AT_ONCE / self.layout.named().max(1)).max(1);
        for start in (0..pages).step_by(at_once) {
            let lot = start..(start + at_once).min(pages);
            self.read_entries(self.grid.ppn(block, start as u32), start * size..lot.end * size)?;
            lot.for_each(|page| self.look(page, page - start, &mut found[page]));
        }
        // A program that did not end may have written data and no OOB.
        let end = found.iter().rposition(|page| page.state != PageState::Erased).map_or(0, |last| last + 1);
        if end < pages && !self.is_blank(self.grid.ppn(block, end as u32))? {
            found[end].state = PageState::Unreadable;
        }
        Ok(())
    }

    /// Whether members are looked at: else they are there if the OOB bytes are.
    fn checks_members(&self) -> bool {
        self.layout.members > 0 && !self.store.writes_are_atomic()
    }

    /// Looks at a page of the block, `at` of those whose members were read.
    fn look(&mut self, page: usize, at: usize, found: &mut Found) {
        let size = self.layout.beside();
        let oob = &self.besides[page * size + self.layout.tail()..(page + 1) * size];
        found.state = match found.oob.read_from(oob, self.layout.slots()) {
            Ok(()) if self.has_members(page, at) => PageState::Valid,
            Err(OobError::Erased) => PageState::Erased,
            _ => PageState::Unreadable,
        };
    }

    /// Whether neither data nor members were written of a page.
    fn is_blank(&self, ppn: Ppn) -> io::Result<bool> {
        let layout = self.layout;
        for (offset, length) in [(layout.data_at(ppn), layout.data), (layout.members_at(ppn), layout.named())] {
            let mut bytes = vec![0; length];
            read_flash(self.store, &mut bytes, offset)?;
            if bytes.iter().any(|&byte| byte != 0xff) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the members that pages in a row from `first` name; nothing where none is.
    fn read_entries(&mut self, first: Ppn, besides: std::ops::Range<usize>) -> io::Result<()> {
        let layout = self.layout;
        if !self.checks_members() {
            return Ok(());
        }
        let count = |beside: &[u8]| named::count(&beside[..layout.tail()], layout.members).unwrap_or(0);
        let counts = self.besides[besides].chunks_exact(layout.beside()).map(count).enumerate();
        let last = counts.rev().find(|(_, count)| *count > 0);
        let length = last.map_or(0, |(page, count)| page * layout.named() + count * named::ENTRY);
        if self.entries.len() < length {
            self.entries.resize(length, 0);
        }
        self.store.read_at(&mut self.entries[..length], layout.members_at(first))
    }

    /// Whether the members that a page of the block names are right, as far as they are looked at; `at` of those whose members were read.
    fn has_members(&mut self, page: usize, at: usize) -> bool {
        if !self.checks_members() {
            return true;
        }
        let tail = &self.besides[page * self.layout.beside()..][..self.layout.tail()];
        let Some(count) = named::count(tail, self.layout.members) else { return false };
        let entries = &mut self.entries[if count > 0 { at * self.layout.named() } else { 0 }..][..count * named::ENTRY];
        complement(entries);
        self.members.clear();
        named::decode(entries, tail, self.layout.geometry.slots(), &mut self.members)
    }
}
