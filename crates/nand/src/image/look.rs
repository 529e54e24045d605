//! What a mount finds in an image: the OOB bytes of all pages, and the members that they name, block by block.

use super::header::Layout;
use super::{Store, complement, named, read_flash};
use crate::array::restore::Found;
use crate::{Member, OobError, OobPage};
use std::io;
use vocab::{BlockAddr, Grid, Ppn};

/// Bytes of members that are read at once, or those of one page.
const NAMED_AT_ONCE: usize = 1 << 20;

/// Blocks below which another thread is not worth it.
const BLOCKS_A_THREAD: u32 = 64;
/// Threads above which a disk is the limit.
const THREADS_MOST: usize = 8;

/// By how many threads so many blocks are looked at.
pub(super) fn threads(blocks: u32) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MOST);
    (blocks / BLOCKS_A_THREAD).clamp(1, cores as u32)
}

/// A look at an image, block after block.
pub(super) struct Look<'a, S> {
    store: &'a S,
    layout: &'a Layout,
    grid: Grid,
    /// OOB bytes of the block.
    besides: Vec<u8>,
    /// Members that some pages name, as the image has them: those of a page begin at its number times what a page may name. What
    /// stands behind the last that is named is left over from other pages.
    entries: Vec<u8>,
}

impl<'a, S: Store> Look<'a, S> {
    pub fn new(store: &'a S, layout: &'a Layout, grid: Grid) -> Self {
        let besides = vec![0; layout.beside() * grid.pages_per_block() as usize];
        Self { store, layout, grid, besides, entries: Vec::new() }
    }

    /// What the pages of a block say.
    pub fn at_block(&mut self, block: BlockAddr) -> io::Result<Vec<Found>> {
        let (first, pages, size) = (self.grid.ppn(block, 0), self.grid.pages_per_block(), self.layout.beside());
        read_flash(self.store, &mut self.besides, self.layout.beside_at(first))?;
        let mut found = Vec::with_capacity(pages as usize);
        let at_once = (NAMED_AT_ONCE / self.layout.named().max(1)).max(1);
        while found.len() < pages as usize {
            let lot = found.len()..(found.len() + at_once).min(pages as usize);
            self.read_entries(self.grid.ppn(block, lot.start as u32), lot.start * size..lot.end * size)?;
            for page in lot.clone() {
                let oob = &self.besides[page * size + self.layout.tail()..(page + 1) * size];
                found.push(match OobPage::decode(oob, self.layout.slots()) {
                    Ok(oob) => self.named(page, page - lot.start).map_or(Found::Unreadable, |members| Found::Valid(oob, members)),
                    Err(OobError::Erased) => Found::Erased,
                    Err(_) => Found::Unreadable,
                });
            }
        }
        // A program that did not end may have written data and no OOB.
        let end = found.iter().rposition(|page| *page != Found::Erased).map_or(0, |last| last + 1);
        if end < found.len() && !self.is_blank(self.grid.ppn(block, end as u32))? {
            found[end] = Found::Unreadable;
        }
        Ok(found)
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
        if layout.members == 0 {
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

    /// The members that a page of the block names, `at` of those whose members were read; `None` if their checksum fails.
    fn named(&mut self, page: usize, at: usize) -> Option<Vec<Member>> {
        let tail = &self.besides[page * self.layout.beside()..][..self.layout.tail()];
        if tail.is_empty() {
            return Some(Vec::new());
        }
        let count = named::count(tail, self.layout.members)?;
        let entries = &mut self.entries[if count > 0 { at * self.layout.named() } else { 0 }..][..count * named::ENTRY];
        complement(entries);
        named::decode(entries, tail, self.layout.geometry.slots())
    }
}
