//! Power-safe memory as bytes, and back: `docs/spec/memory.md`. Ways of writing write and read what is theirs.

use crate::core::bytes::{Limits, Malformed, Reader, Writer};
use crate::engine::Engine;
use crate::files::Flash;
use crate::power::cut::Remains;
use crate::write::groups::saved as saved_groups;
use crate::write::stripes::saved as saved_stripes;
use device::contents::PageBuf;
use vocab::{BlockAddr, SimTime};

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
    saved_stripes::put(&mut to, &held);
    to.list(groups.iter(), saved_groups::put);
    to.list(reads.iter(), |to, &reads| to.u32(reads));
    to.u32(most_worn.unwrap_or(0));
    to.list(erasing.iter(), |to, block| to.u32(block.0));
    to.list(lost.iter(), |to, (lpn, update)| {
        to.u32(lpn.0);
        to.u64(*update);
    });
    to.bytes
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
        Some(data_strips) => saved_stripes::get(&mut from, drive.stripe_count(), data_strips)?,
        None => from.exactly(0, "partial parities", |_| unreachable!("there are none"))?,
    };
    let tables = usize::from(drive.has_groups());
    let groups =
        from.exactly(tables, "table of groups", |from| saved_groups::get(from, &drive.writer.groups, &drive.core))?.pop();
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
