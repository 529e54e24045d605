//! Power-safe memory as bytes, and back: `docs/spec/memory.md`.

use crate::engine::Engine;
use crate::files::Flash;
use crate::files::bytes::{Limits, Malformed, Reader, Writer};
use crate::power::cut::Remains;
use crate::write::groups::{BlockSums, GroupInfo, GroupRemains, Layout, OpenSums, Redo};
use crate::write::stripes::partial::PartialParityRemains;
use device::contents::PageBuf;
use std::collections::BTreeMap;
use std::sync::Arc;
use vocab::{BlockAddr, Ppn, SimTime, StripeId, SuperblockId};

/// Everything that is saved.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    /// How often the drive was opened.
    pub opened: u64,
    pub now: SimTime,
    /// The highest rank that was given away.
    pub sequence: u64,
    pub remains: Remains<PageBuf>,
}

/// The bytes before those that say whether anything changed: the clock.
pub(crate) const CLOCK: usize = 8;

type Drive = Engine<PageBuf, Flash>;

/// What of a drive is power-safe now, as bytes.
pub(crate) fn encode(drive: &Drive, opened: u64) -> Vec<u8> {
    let Remains {
        buffer,
        held,
        groups,
        reads,
        most_worn,
        erasing,
        lost,
        journal: _,
        died: _,
        checkpoint: _,
        profiles: _,
        outage: _,
    } = drive.remains();
    let mut to = Writer::new(drive.core.device.grid.geometry().slot_size.0 as usize);
    to.u64(drive.core.device.now.0);
    to.u64(opened);
    to.u64(drive.core.device.sequence);
    to.list(buffer.iter(), |to, (lpn, payload)| {
        to.u32(lpn.0);
        to.payload(payload);
    });
    to.list(held.iter(), |to, held| {
        to.u32(held.stripe.0);
        to.sums(&held.sums);
        to.u8(match &held.before {
            None => 0,
            Some(None) => 1,
            Some(Some(_)) => 2,
        });
        held.before.iter().flatten().for_each(|sums| to.sums(sums));
    });
    to.list(groups.iter(), put_groups);
    to.list(reads.iter(), |to, &reads| to.u32(reads));
    to.u32(most_worn.unwrap_or(0));
    to.list(erasing.iter(), |to, block| to.u32(block.0));
    to.list(lost.iter(), |to, (lpn, update)| {
        to.u32(lpn.0);
        to.u64(*update);
    });
    to.bytes
}

fn put_groups(to: &mut Writer, groups: &GroupRemains<PageBuf>) {
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
        to.set(blocks.done);
        to.u32(blocks.codewords_left);
    });
    to.list(groups.redo.iter(), |to, redo| {
        to.u32(redo.ppn.0);
        to.u32(redo.key.0);
        to.u32(redo.key.1);
        to.list(redo.payload.iter(), Writer::payload);
    });
}

/// Reads the bytes back, for a drive of the same setup with an empty map.
pub(crate) fn decode(bytes: &[u8], drive: &Drive) -> Result<Saved, Malformed> {
    let geometry = drive.core.device.grid.geometry();
    let limits = Limits {
        slot: geometry.slot_size.0 as usize,
        dies: drive.core.device.grid.dies(),
        slots: geometry.slots(),
        pages: drive.core.map.user_slots(),
    };
    let mut from = Reader::new(bytes, limits);
    let (now, opened) = (SimTime(from.u64("clock")?), from.u64("times opened")?);
    let sequence = from.u64("rank")?;
    let buffer = from.list("buffered pages", |from| Ok((from.lpn("buffered page")?, from.payload("buffered page")?)))?;
    let held = match drive.writer.data_strips() {
        Some(data_strips) => held(&mut from, drive, data_strips)?,
        None => from.exactly(0, "partial parities", |_| unreachable!("there are none"))?,
    };
    let groups = usize::from(drive.has_groups());
    let groups = from.exactly(groups, "table of groups", |from| get_groups(from, drive))?.pop();
    let reads = from.list("counts of reads", |from| from.u32("count of reads"))?;
    let most_worn = Some(from.u32("most P/E cycles")?);
    let blocks = geometry.blocks();
    let erasing = from.list("blocks being erased", |from| Ok(BlockAddr(from.below(blocks, "block being erased")?)))?;
    let lost = from.list("lost pages", |from| Ok((from.lpn("lost page")?, from.u64("rank of a lost page")?)))?;
    from.end()?;
    let (erasing, lost) = (erasing.into_iter().collect(), lost.into_iter().collect());
    let remains = Remains { buffer, held, groups, reads, most_worn, erasing, lost, ..Remains::default() };
    Ok(Saved { opened, now, sequence, remains })
}

fn held(from: &mut Reader<'_>, drive: &Drive, data_strips: u32) -> Result<Vec<PartialParityRemains<PageBuf>>, Malformed> {
    from.list("partial parities", |from| {
        let stripe = StripeId(from.below(drive.stripe_count(), "stripe")?);
        let sums = from.sums(data_strips)?;
        let before = match from.kind(3, "what was held before")? {
            0 => None,
            1 => Some(None),
            _ => Some(Some(from.sums(data_strips)?)),
        };
        Ok(PartialParityRemains { stripe, sums, before })
    })
}

/// Reads the table of groups, with the places of their pages.
fn get_groups(from: &mut Reader<'_>, drive: &Drive) -> Result<GroupRemains<PageBuf>, Malformed> {
    let codes = &drive.writer.groups.codes;
    let now = from.below(codes.len() as u32, "code in use")? as usize;
    let asked = from.kind(2, "whether groups were asked for")? == 1;
    let info = from.exactly(drive.writer.groups.info.len(), "groups", |from| {
        if from.kind(2, "group")? == 0 {
            return Ok(None);
        }
        let code = from.below(codes.len() as u32, "code of a group")? as usize;
        Ok(Some(GroupInfo { code, members: from.set("dies of a group")?, written: from.u64("pages written")? }))
    })?;
    let layouts = Layouts { drive, info: &info };
    let held = from.list("sums of page stripes", |from| layouts.held(from))?;
    let blocks = from.list("sums of blocks", |from| layouts.blocks(from))?;
    let redo = from.list("pages under way", |from| layouts.redo(from))?;
    let (held, blocks) = (BTreeMap::from_iter(held), BTreeMap::from_iter(blocks));
    Ok(GroupRemains { codes: codes.clone(), first_code: 0, now, asked, info, held, blocks, redo })
}

/// Where the pages of groups lie.
struct Layouts<'a> {
    drive: &'a Drive,
    info: &'a [Option<GroupInfo>],
}

impl Layouts<'_> {
    /// The layout of a group whose number was read just now.
    fn of(&self, from: &Reader<'_>, group: u32) -> Result<Arc<Layout>, Malformed> {
        let info = self.info.get(group as usize).copied().flatten();
        let group = SuperblockId(group);
        let stripe = info.and_then(|info| {
            let code = &self.drive.writer.groups.codes[info.code].0;
            self.drive.writer.groups.scheme().page_stripe(code, group, info.members)
        });
        match (info, stripe) {
            (Some(info), Some(stripe)) => Ok(Arc::new(Layout { group, code: info.code, stripe })),
            _ => from.refuse(4, "group of sums", format!("found {}, which the table does not have", group.0)),
        }
    }

    /// A codeword: its row and its number, and the layout of its group.
    fn codeword(&self, from: &mut Reader<'_>) -> Result<((u32, u32), Arc<Layout>), Malformed> {
        let pages = self.drive.core.device.grid.pages_per_block();
        let row = from.below(self.info.len() as u32 * pages, "row of sums")?;
        let layout = self.of(from, row / pages)?;
        Ok(((row, from.below(layout.stripe.codewords, "codeword")?), layout))
    }

    fn held(&self, from: &mut Reader<'_>) -> Result<((u32, u32), OpenSums<PageBuf>), Malformed> {
        let (key, layout) = self.codeword(from)?;
        let stream = from.below(2, "stream")? as usize;
        let slots = self.drive.core.device.grid.slots_per_page();
        let parity = self.drive.writer.groups.codes[layout.code].0.parity;
        let sums = from.exactly((parity * slots) as usize, "sums", |from| from.payload("sum"))?;
        let members = from.list("members of sums", Reader::member)?;
        let data = from.set("dies in sums")?;
        let (missing, first) = (from.u32("pages missing")?, from.u64("first write")?);
        Ok((key, OpenSums { layout, stream, sums, members, data, missing, parities: None, stay: true, first }))
    }

    fn blocks(&self, from: &mut Reader<'_>) -> Result<(u32, BlockSums<PageBuf>), Malformed> {
        let group = from.below(self.info.len() as u32, "group of sums")?;
        let layout = self.of(from, group)?;
        let slots = self.drive.core.device.grid.slots_per_page();
        let sums = from.exactly((layout.stripe.data * slots) as usize, "sums of blocks", |from| from.payload("sum"))?;
        let members = from.list("members of sums", Reader::member)?;
        let done = from.set("strips done")?;
        Ok((group, BlockSums { sums, members, done, codewords_left: from.u32("codewords left")? }))
    }

    fn redo(&self, from: &mut Reader<'_>) -> Result<Redo<PageBuf>, Malformed> {
        let grid = &self.drive.core.device.grid;
        let ppn = Ppn(from.below(grid.geometry().pages(), "page under way")?);
        let (key, layout) = self.codeword(from)?;
        let die = grid.die_of(ppn);
        if layout.stripe.strip_on(die).is_none() || self.drive.core.map.rows().row_of(ppn).0 != key.0 {
            return from.refuse(8, "row of sums", format!("found {}, {ppn} is in another", key.0));
        }
        let payload = from.list("contents of a page", |from| from.payload("contents of a page"))?;
        if payload.len() > grid.slots_per_page() as usize {
            return from.refuse(0, "contents of a page", format!("found {} slots", payload.len()));
        }
        Ok(Redo { ppn, key, payload })
    }
}
