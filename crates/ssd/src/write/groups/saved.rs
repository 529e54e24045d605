//! The table of block groups and their sums as bytes, and back: their part of `docs/spec/memory.md`.

use crate::core::Core;
use crate::core::bytes::{Read, Reader, Writer};
use crate::write::groups::{BlockSums, GroupInfo, GroupRemains, Groups, Layout, OpenSums, Redo};
use device::contents::PageBuf;
use nand::FlashArray;
use std::collections::BTreeMap;
use std::sync::Arc;
use vocab::{Ppn, SuperblockId};

/// Writes what the table of groups and the parity cache keep.
pub(crate) fn put(to: &mut Writer, groups: &GroupRemains<PageBuf>) {
    to.u32(groups.now as u32);
    to.u8(groups.asked.into());
    to.list(groups.info.iter(), |to, info| {
        to.u8(info.is_some().into());
        if let Some(GroupInfo { code, members, written }) = info {
            to.u32(*code as u32);
            to.set(*members);
            to.u64(*written);
        }
    });
    to.list(groups.held.iter(), |to, (&(row, codeword), held)| {
        to.u32(row);
        to.u32(codeword);
        to.u32(held.stream as u32);
        to.list(held.sums.iter(), Writer::payload);
        to.list(held.members.iter(), Writer::member);
        to.set(held.data);
        to.u32(held.missing);
        to.u64(held.first);
    });
    to.list(groups.blocks.iter(), |to, (&group, blocks)| {
        to.u32(group);
        to.list(blocks.sums.iter(), Writer::payload);
        to.list(blocks.members.iter(), Writer::member);
        blocks.done.iter().for_each(|&done| to.set(done));
        to.u32(blocks.codewords_left);
    });
    to.list(groups.redo.iter(), |to, redo| {
        to.u32(redo.ppn.0);
        to.u32(redo.key.0);
        to.u32(redo.key.1);
        to.list(redo.payload.iter(), Writer::payload);
    });
}

/// Reads the table of groups, with the places of their pages.
pub(crate) fn get<A: FlashArray<PageBuf>>(
    from: &mut Reader<'_>,
    groups: &Groups<PageBuf>,
    core: &Core<PageBuf, A>,
) -> Read<GroupRemains<PageBuf>> {
    let codes = &groups.codes;
    let now = from.below(codes.len() as u32, "code in use")? as usize;
    let asked = from.kind(2, "whether groups were asked for")? == 1;
    let info = from.exactly(groups.info.len(), "groups", |from| {
        if from.kind(2, "group")? == 0 {
            return Ok(None);
        }
        let code = from.below(codes.len() as u32, "code of a group")? as usize;
        Ok(Some(GroupInfo { code, members: from.set("dies of a group")?, written: from.u64("pages written")? }))
    })?;
    let layouts = Layouts { groups, core, info: &info };
    let held = from.list("sums of page stripes", |from| layouts.held(from))?;
    let blocks = from.list("sums of blocks", |from| layouts.blocks(from))?;
    let redo = from.list("pages under way", |from| layouts.redo(from))?;
    let (held, blocks) = (BTreeMap::from_iter(held), BTreeMap::from_iter(blocks));
    Ok(GroupRemains { codes: codes.clone(), first_code: 0, now, asked, info, held, blocks, redo })
}

/// Where the pages of groups lie.
struct Layouts<'a, A: FlashArray<PageBuf>> {
    groups: &'a Groups<PageBuf>,
    core: &'a Core<PageBuf, A>,
    info: &'a [Option<GroupInfo>],
}

impl<A: FlashArray<PageBuf>> Layouts<'_, A> {
    /// The layout of a group whose number was read just now.
    fn of(&self, from: &Reader<'_>, group: u32) -> Read<Arc<Layout>> {
        let info = self.info.get(group as usize).copied().flatten();
        let group = SuperblockId(group);
        let stripe = info.and_then(|info| {
            let code = &self.groups.codes[info.code].0;
            self.groups.scheme().page_stripe(code, group, info.members)
        });
        match (info, stripe) {
            (Some(info), Some(stripe)) => Ok(Arc::new(Layout { group, code: info.code, stripe })),
            _ => from.refuse(4, "group of sums", format!("found {}, which the table does not have", group.0)),
        }
    }

    /// A codeword: its row and its number, and the layout of its group.
    fn codeword(&self, from: &mut Reader<'_>) -> Read<((u32, u32), Arc<Layout>)> {
        let pages = self.core.device.grid.pages_per_block();
        let row = from.below(self.info.len() as u32 * pages, "row of sums")?;
        let layout = self.of(from, row / pages)?;
        Ok(((row, from.below(layout.stripe.codewords, "codeword")?), layout))
    }

    fn held(&self, from: &mut Reader<'_>) -> Read<((u32, u32), OpenSums<PageBuf>)> {
        let (key, layout) = self.codeword(from)?;
        let stream = from.below(2, "stream")? as usize;
        let slots = self.core.device.grid.slots_per_page();
        let parity = self.groups.codes[layout.code].0.parity;
        let sums = from.exactly((parity * slots) as usize, "sums", |from| from.payload("sum"))?;
        let members = from.list("members of sums", Reader::member)?;
        let data = from.set("dies in sums")?;
        let (missing, first) = (from.u32("pages missing")?, from.u64("first write")?);
        Ok((key, OpenSums { layout, stream, sums, members, data, missing, parities: None, stay: true, first }))
    }

    fn blocks(&self, from: &mut Reader<'_>) -> Read<(u32, BlockSums<PageBuf>)> {
        let group = from.below(self.info.len() as u32, "group of sums")?;
        let layout = self.of(from, group)?;
        let slots = self.core.device.grid.slots_per_page();
        let block = self.groups.codes[layout.code].0.block;
        let sums = (layout.stripe.data * block * slots) as usize;
        let sums = from.exactly(sums, "sums of blocks", |from| from.payload("sum"))?;
        let members = from.list("members of sums", Reader::member)?;
        let done = (0..block).map(|_| from.set("strips done")).collect::<Read<Vec<_>>>()?;
        Ok((group, BlockSums { sums, members, done, codewords_left: from.u32("codewords left")? }))
    }

    fn redo(&self, from: &mut Reader<'_>) -> Read<Redo<PageBuf>> {
        let grid = &self.core.device.grid;
        let ppn = Ppn(from.below(grid.geometry().pages(), "page under way")?);
        let (key, layout) = self.codeword(from)?;
        let die = grid.die_of(ppn);
        if layout.stripe.strip_on(die).is_none() || self.core.map.rows().row_of(ppn).0 != key.0 {
            return from.refuse(8, "row of sums", format!("found {}, {ppn} is in another", key.0));
        }
        let payload = from.list("contents of a page", |from| from.payload("contents of a page"))?;
        if payload.len() > grid.slots_per_page() as usize {
            return from.refuse(0, "contents of a page", format!("found {} slots", payload.len()));
        }
        Ok(Redo { ppn, key, payload })
    }
}
