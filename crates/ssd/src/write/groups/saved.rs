//! Block groups and their sums as bytes, and back: their part of `docs/spec/memory.md`.

use crate::core::Core;
use crate::core::bytes::{Read, Reader, Writer};
use crate::write::groups::{BlockSums, CodewordKey, GroupInfo, Groups, Layout, OpenSums, Redo};
use device::contents::PageBuf;
use std::sync::Arc;
use vocab::{Ppn, SuperblockId};

/// Writes a group.
pub(crate) fn put_group(to: &mut Writer, group: &GroupInfo) {
    let GroupInfo { code, members, written } = group;
    to.u32(*code as u32);
    to.set(*members);
    to.u64(*written);
}

/// Reads it back; the scheme has this many codes.
pub(crate) fn get_group(from: &mut Reader<'_>, codes: usize) -> Read<GroupInfo> {
    let code = from.below(codes as u32, "code of a group")? as usize;
    let group = GroupInfo { code, members: from.set("dies of a group")?, written: from.u64("pages written")? };
    from.end()?;
    Ok(group)
}

/// Writes the sums of a page stripe's codeword.
pub(crate) fn put_held(to: &mut Writer, key: CodewordKey, held: &OpenSums<PageBuf>) {
    let (row, codeword) = key;
    to.u32(row);
    to.u32(codeword);
    to.u32(held.stream as u32);
    to.list(held.members.iter(), Writer::member);
    to.set(held.data);
    to.u32(held.missing);
    to.u64(held.first);
    to.behind.extend(held.sums.iter().cloned());
}

/// Writes the sums of a group's blocks.
pub(crate) fn put_blocks(to: &mut Writer, group: u32, blocks: &BlockSums<PageBuf>) {
    to.u32(group);
    to.list(blocks.members.iter(), Writer::member);
    blocks.done.iter().for_each(|&done| to.set(done));
    to.u32(blocks.codewords_left);
    to.behind.extend(blocks.sums.iter().cloned());
}

/// Writes a page on its way to flash.
pub(crate) fn put_redo(to: &mut Writer, redo: &Redo<PageBuf>) {
    to.u32(redo.ppn.0);
    to.u32(redo.key.0);
    to.u32(redo.key.1);
    to.payloads_behind(redo.payload.iter());
}

/// Where the pages of groups lie.
pub(crate) struct Layouts<'a> {
    pub groups: &'a Groups<PageBuf>,
    pub core: &'a Core<PageBuf>,
    pub info: &'a [Option<GroupInfo>],
}

impl Layouts<'_> {
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

    /// Sums of a page stripe's codeword.
    pub fn held(&self, from: &mut Reader<'_>) -> Read<(CodewordKey, OpenSums<PageBuf>)> {
        let (key, layout) = self.codeword(from)?;
        let stream = from.below(2, "stream")? as usize;
        let members = from.list("members of sums", Reader::member)?;
        let data = from.set("dies in sums")?;
        let (missing, first) = (from.u32("pages missing")?, from.u64("first write")?);
        let slots = self.core.device.grid.slots_per_page();
        let sums = from.payloads(self.groups.codes[layout.code].0.parity * slots, "sum")?;
        from.end()?;
        Ok((key, OpenSums { layout, stream, sums, members, data, missing, parities: None, stay: true, first }))
    }

    /// Sums of a group's blocks.
    pub fn blocks(&self, from: &mut Reader<'_>) -> Read<(u32, BlockSums<PageBuf>)> {
        let group = from.below(self.info.len() as u32, "group of sums")?;
        let layout = self.of(from, group)?;
        let members = from.list("members of sums", Reader::member)?;
        let block = self.groups.codes[layout.code].0.block;
        let done = (0..block).map(|_| from.set("strips done")).collect::<Read<Vec<_>>>()?;
        let codewords_left = from.u32("codewords left")?;
        let slots = self.core.device.grid.slots_per_page();
        let sums = from.payloads(layout.stripe.data * block * slots, "sum")?;
        from.end()?;
        Ok((group, BlockSums { sums, members, done, codewords_left }))
    }

    /// A page on its way to flash.
    pub fn redo(&self, from: &mut Reader<'_>) -> Read<Redo<PageBuf>> {
        let grid = &self.core.device.grid;
        let ppn = Ppn(from.below(grid.geometry().pages(), "page under way")?);
        let (key, layout) = self.codeword(from)?;
        let die = grid.die_of(ppn);
        if layout.stripe.strip_on(die).is_none() || self.core.map.rows().row_of(ppn).0 != key.0 {
            return from.refuse(8, "row of sums", format!("found {}, {ppn} is in another", key.0));
        }
        let slots = from.u32("slots of a page")?;
        if slots > grid.slots_per_page() {
            return from.refuse(4, "slots of a page", format!("found {slots}"));
        }
        let payload = from.payloads(slots, "contents of a page")?;
        from.end()?;
        Ok(Redo { ppn, key, payload })
    }
}
