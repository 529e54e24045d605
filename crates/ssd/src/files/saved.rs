//! PLP memory as fields, and back: `docs/spec/memory.md`. Ways of writing write and read what is theirs. What the controller
//! cannot know, what has failed of its flash, is kept beside it.

use super::blocks::{SUMMARY_END, summary_of};
use super::fields::{Fields, Found, Key, Value, whole};
use crate::care::profiles::{ProfileCopy, Profiles, saved as saved_profiles};
use crate::config::{CELSIUS, SLOWER};
use crate::core::bytes::{Limits, Malformed, Read, Reader, Writer};
use crate::core::checkpoint::{Checkpoint, Summary};
use crate::core::journal::Journal;
use crate::core::sorted::sorted;
use crate::engine::Engine;
use crate::power::cut::{Remains, listed_remains};
use crate::write::groups::saved as saved_groups;
use crate::write::groups::{GroupRemains, Groups};
use crate::write::stripes::partial::PartialParityRemains;
use crate::write::stripes::saved as saved_stripes;
use device::contents::PageBuf;
use nand::FaultsFound;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use vocab::{BlockAddr, DieId, Lpn, Ppn, SimTime};

/// Everything that is saved.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    /// How often the drive was opened.
    pub opened: u64,
    pub now: SimTime,
    /// The highest rank that was given away.
    pub sequence: u64,
    pub remains: Remains<PageBuf>,
    /// Failed parts.
    pub faults: Option<FaultsFound>,
    /// Work done to the cells of each block.
    pub cells: Vec<u64>,
    /// Temperatures that the drive had, in order, if they changed.
    pub temperatures: Vec<(SimTime, f64)>,
    /// Dies that are slower than their kind, and by what.
    pub slow: Vec<(DieId, f64)>,
}

/// The field that says nothing of what changed.
pub(super) const CLOCK: Key = (NUMBERS, 0);
/// The highest rank.
pub(super) const RANK: Key = (NUMBERS, 2);

const NUMBERS: u8 = 0;
pub(super) const BUFFER: u8 = 1;
const PARTIALS: u8 = 2;
const GROUPS: u8 = 3;
const GROUP: u8 = 4;
const GROUP_SUMS: u8 = 5;
const BLOCK_SUMS: u8 = 6;
const REDO: u8 = 7;
const READS: u8 = 8;
const ERASING: u8 = 9;
const LOST: u8 = 10;
const DIED: u8 = 11;
const DEAD: u8 = 12;
const LOST_BLOCKS: u8 = 13;
const LOST_PAGES: u8 = 14;
const WORN_OUT: u8 = 15;
const SPOILED: u8 = 16;
const SILENT: u8 = 17;
const BLANK: u8 = 18;
const WEAR: u8 = 19;
pub(super) const RANKS: u8 = 20;
/// Apart from the pages: a page that leaves for flash changes its age alone.
pub(super) const BUFFER_AGES: u8 = 21;
/// How often cells were read and recharged.
pub(super) const CELLS: u8 = 22;
pub(super) const SUMMARIES: u8 = 23;
const FATIGUE: u8 = 24;
pub(super) const PROFILES: u8 = 25;
const TEMPERATURES: u8 = 26;
const SLOW: u8 = 27;
const SPARES: u8 = 28;
const KINDS: u8 = 29;

pub(super) type Drive = Engine<PageBuf>;

/// Bytes of a payload.
pub(super) fn slot_of(drive: &Drive) -> usize {
    drive.core.device.grid.geometry().slot_size.0 as usize
}

/// Fields of a drive that are listed at each save.
pub(super) fn fields(drive: &Drive, opened: u64) -> Fields {
    let remains = listed_remains(drive);
    let mut to: Fields = Vec::with_capacity(16 + remains.reads.len());
    let numbers = [
        drive.core.device.now.0,
        opened,
        drive.core.device.sequence,
        remains.most_worn.unwrap_or(0).into(),
        remains.reads.len() as u64,
        remains.keeps_ranks.into(),
    ];
    to.extend((0..).zip(numbers).map(|(number, value)| ((NUMBERS, number), Value::Number(value))));
    let mut number = |kind: u8, number: u64, value: u64| to.push(((kind, number), Value::Number(value)));
    for (block, &reads) in (0..).zip(&remains.reads).filter(|(_, reads)| **reads > 0) {
        number(READS, block, reads.into());
    }
    remains.erasing.iter().for_each(|block| number(ERASING, block.0.into(), 0));
    remains.lost.iter().for_each(|(lpn, rank)| number(LOST, lpn.0.into(), *rank));
    (0..).zip(&remains.died).for_each(|(index, die)| number(DIED, index, die.0.into()));
    remains.spares.iter().for_each(|&(die, lacks)| number(SPARES, die.0.into(), lacks.into()));
    (0..).zip(&remains.wear).for_each(|(block, &pe)| number(WEAR, block, pe.into()));
    if let Some(faults) = drive.core.device.array.found() {
        put_faults(&faults, &mut number);
    }
    drive.core.device.slowness.slow_dies().for_each(|(die, factor)| number(SLOW, die.0.into(), factor.to_bits()));
    let slot = slot_of(drive);
    let warmth = drive.core.device.ecc.as_ref().map(|ecc| ecc.cells.warmth().spells());
    for (index, (since, celsius)) in (0..).zip(warmth.into_iter().flatten()) {
        let spell = written(slot, |to| {
            to.u64(since.0);
            to.u64(celsius.to_bits());
        });
        to.push(((TEMPERATURES, index), spell));
    }
    for (held, age) in remains.held.iter().zip(drive.writer.stripes_if_any().into_iter().flat_map(|stripes| stripes.held.ages()))
    {
        to.push(((PARTIALS, age), written(slot, |to| saved_stripes::put(to, held))));
    }
    if let Some(groups) = &remains.groups {
        put_groups(groups, slot, &mut to);
    }
    // This sort makes use of what is in order already: each kind is.
    to.sort_by_key(|(key, _)| *key);
    to
}

/// Whole copies of page profiles, by their times; those that are among `known` are taken from there.
pub(super) fn profiles(drive: &Drive, known: &Fields) -> Fields {
    let copies = drive.care.profiles.iter().flat_map(|profiles| profiles.copies());
    let field = |copy: &ProfileCopy| {
        let key = (PROFILES, copy.at.0);
        let known = known.iter().find(|(of, _)| *of == key).cloned();
        known.unwrap_or_else(|| (key, written(slot_of(drive), |to| saved_profiles::put(to, copy))))
    };
    copies.map(field).collect()
}

fn written(slot: usize, write: impl FnOnce(&mut Writer)) -> Value {
    let mut to = Writer::new(slot);
    write(&mut to);
    Value::Bytes(to.bytes, to.behind)
}

fn put_faults(faults: &FaultsFound, number: &mut impl FnMut(u8, u64, u64)) {
    let FaultsFound { dies, blocks, pages, worn_out, spoiled, silent, blank, fatigue } = faults;
    dies.iter().for_each(|die| number(DEAD, die.0.into(), 0));
    blocks.iter().for_each(|block| number(LOST_BLOCKS, block.0.into(), 0));
    worn_out.iter().for_each(|block| number(WORN_OUT, block.0.into(), 0));
    for (kind, pages) in [(LOST_PAGES, pages), (SPOILED, spoiled), (BLANK, blank)] {
        pages.iter().for_each(|ppn| number(kind, ppn.0.into(), 0));
    }
    silent.iter().for_each(|chance| number(SILENT, 0, chance.to_bits()));
    fatigue.iter().for_each(|chance| number(FATIGUE, 0, chance.to_bits()));
}

fn put_groups(groups: &GroupRemains<PageBuf>, slot: usize, to: &mut Fields) {
    let state = written(slot, |to| {
        to.u32(groups.now as u32);
        to.u8(groups.asked.into());
        to.u32(groups.info.len() as u32);
    });
    to.push(((GROUPS, 0), state));
    for (number, group) in (0..).zip(&groups.info) {
        to.extend(group.iter().map(|group| ((GROUP, number), written(slot, |to| saved_groups::put_group(to, group)))));
    }
    for (key, held) in &groups.held {
        let number = u64::from(key.0) << 32 | u64::from(key.1);
        to.push(((GROUP_SUMS, number), written(slot, |to| saved_groups::put_held(to, *key, held))));
    }
    for (group, blocks) in &groups.blocks {
        to.push(((BLOCK_SUMS, (*group).into()), written(slot, |to| saved_groups::put_blocks(to, *group, blocks))));
    }
    for (number, redo) in (0..).zip(&groups.redo) {
        to.push(((REDO, number), written(slot, |to| saved_groups::put_redo(to, redo))));
    }
}

/// Reads the fields back, for a drive of the same setup with an empty map.
pub(super) fn decode(found: &Found, drive: &Drive) -> Result<Saved, Malformed> {
    found.check_kinds(KINDS)?;
    let geometry = drive.core.device.grid.geometry();
    let limits = Limits {
        slot: slot_of(drive),
        dies: drive.core.device.grid.dies(),
        slots: geometry.slots(),
        pages: drive.core.map.user_slots(),
    };
    let from = From { found, limits, drive };
    let number = |number, field| found.number((NUMBERS, number), field, limits);
    let most_worn = number(3, "most P/E cycles")?;
    let remains = Remains {
        buffer: from.buffer()?,
        held: from.partials()?,
        groups: drive.writer.groups_if_any().map(|groups| from.groups(groups)).transpose()?,
        reads: from.of_blocks(READS, number(4, "blocks whose reads are counted")?, "count of reads")?,
        most_worn: Some(u32::try_from(most_worn).unwrap_or(u32::MAX)),
        erasing: from.blocks(ERASING, "block being erased")?,
        lost: sorted(from.ranks(LOST, "lost page")?),
        died: from.numbers(DIED, drive.core.device.grid.dies().into(), "die")?.map(|(_, die)| DieId(die as u16)).collect(),
        spares: from.spares()?,
        wear: from.wear()?,
        keeps_ranks: number(5, "whether ranks are kept")? != 0,
        checkpoint: from.checkpoint()?,
        profiles: from.profiles()?,
        ..Remains::default()
    };
    let journal =
        if remains.keeps_ranks { Journal::of(limits.pages, from.ranks(RANKS, "rank of a page")?) } else { Journal::default() };
    Ok(Saved {
        opened: number(1, "times opened")?,
        now: SimTime(number(0, "clock")?),
        sequence: number(2, "rank")?,
        remains: Remains { journal, ..remains },
        faults: from.faults()?,
        cells: from.cells()?,
        temperatures: from.temperatures()?,
        slow: from.slow()?,
    })
}

/// Fields of a drive.
struct From<'a> {
    found: &'a Found,
    limits: Limits,
    drive: &'a Drive,
}

impl<'a> From<'a> {
    fn of(&self, kind: u8) -> impl Iterator<Item = (u64, Reader<'a>)> + use<'a> {
        self.found.of(kind, self.limits)
    }

    /// The number in the key of a field, which must be below `end`.
    fn below(reader: &Reader<'_>, number: u64, end: u64, field: &'static str) -> Read<u32> {
        if number < end {
            return Ok(number as u32);
        }
        reader.refuse(0, field, format!("found {number}, valid are 0 to {}", end.saturating_sub(1)))
    }

    fn buffer(&self) -> Read<Vec<(Lpn, PageBuf)>> {
        let page = |(lpn, mut from): (u64, Reader<'_>)| {
            let age = self.found.number((BUFFER_AGES, lpn), "age of a buffered page", self.limits)?;
            let lpn = Lpn(Self::below(&from, lpn, self.limits.pages.into(), "buffered page")?);
            let payload = from.payload("buffered page")?;
            from.end()?;
            Ok(((age, lpn), payload))
        };
        let mut pages: Vec<_> = self.of(BUFFER).map(page).collect::<Read<_>>()?;
        pages.sort_unstable_by_key(|(key, _)| *key);
        Ok(pages.into_iter().map(|((_, lpn), payload)| (lpn, payload)).collect())
    }

    fn partials(&self) -> Read<Vec<PartialParityRemains<PageBuf>>> {
        let Some(data_strips) = self.drive.writer.data_strips() else {
            return match self.of(PARTIALS).next() {
                None => Ok(Vec::new()),
                Some((_, from)) => from.refuse(0, "partial parity", "the scheme has none".into()),
            };
        };
        let stripes = self.drive.writer.stripe_count(&self.drive.core);
        self.of(PARTIALS).map(|(_, mut from)| saved_stripes::get(&mut from, stripes, data_strips)).collect()
    }

    fn groups(&self, groups: &Groups<PageBuf>) -> Read<GroupRemains<PageBuf>> {
        let core = &self.drive.core;
        let missing = || Malformed { at: 0, field: "table of groups", reason: "it is missing".into() };
        let (_, mut from) = self.of(GROUPS).next().ok_or_else(missing)?;
        let now = from.below(groups.codes.len() as u32, "code in use")? as usize;
        let asked = from.kind(2, "whether groups were asked for")? == 1;
        let count = from.u32("groups")? as usize;
        if count != groups.info.len() {
            return from.refuse(4, "groups", format!("found {count}, valid is {}", groups.info.len()));
        }
        let mut info = vec![None; count];
        for (number, mut from) in self.of(GROUP) {
            let number = Self::below(&from, number, count as u64, "group")?;
            info[number as usize] = Some(saved_groups::get_group(&mut from, groups.codes.len())?);
        }
        let layouts = saved_groups::Layouts { groups, core, info: &info };
        let held = self.of(GROUP_SUMS).map(|(_, mut from)| layouts.held(&mut from)).collect::<Read<Vec<_>>>()?;
        let blocks = self.of(BLOCK_SUMS).map(|(_, mut from)| layouts.blocks(&mut from)).collect::<Read<Vec<_>>>()?;
        let redo = self.of(REDO).map(|(_, mut from)| layouts.redo(&mut from)).collect::<Read<_>>()?;
        let (held, blocks) = (sorted(held), sorted(blocks));
        Ok(GroupRemains { codes: groups.codes.clone(), first_code: 0, now, asked, info, held, blocks, redo })
    }

    /// Fields that are numbers below `end`.
    fn numbers(&self, kind: u8, end: u64, field: &'static str) -> Read<impl Iterator<Item = (u64, u64)> + use<>> {
        let number = |(number, mut from): (u64, Reader<'_>)| {
            let value = whole(&mut from, field)?;
            if value < end { Ok((number, value)) } else { from.refuse(8, field, format!("found {value}, valid are below {end}")) }
        };
        Ok(self.of(kind).map(number).collect::<Read<Vec<_>>>()?.into_iter())
    }

    fn spares(&self) -> Read<Vec<(DieId, bool)>> {
        for (die, from) in self.of(SPARES) {
            Self::below(&from, die, self.limits.dies.into(), "spare die")?;
        }
        let spares = self.numbers(SPARES, 2, "whether a spare die lacks something")?;
        Ok(spares.map(|(die, lacks)| (DieId(die as u16), lacks == 1)).collect())
    }

    /// A number for each of the first `count` blocks; 0 where there is no field.
    fn of_blocks(&self, kind: u8, count: u64, field: &'static str) -> Read<Vec<u32>> {
        let blocks = u64::from(self.drive.core.device.grid.geometry().blocks());
        let mut all = vec![0; count.min(blocks) as usize];
        for (block, from) in self.of(kind) {
            Self::below(&from, block, all.len() as u64, field)?;
        }
        self.numbers(kind, 1 << 32, field)?.for_each(|(block, number)| all[block as usize] = number as u32);
        Ok(all)
    }

    fn wear(&self) -> Read<Vec<u32>> {
        let count = if self.of(WEAR).next().is_some() { u64::MAX } else { 0 };
        self.of_blocks(WEAR, count, "P/E cycles of a block")
    }

    fn cells(&self) -> Read<Vec<u64>> {
        let mut all = vec![0; self.drive.core.device.grid.geometry().blocks() as usize];
        for (block, mut from) in self.of(CELLS) {
            let block = Self::below(&from, block, all.len() as u64, "block whose cells were read")?;
            all[block as usize] = whole(&mut from, "reads and recharges of a block")?;
        }
        Ok(all)
    }

    fn checkpoint(&self) -> Read<Option<Checkpoint>> {
        if self.drive.core.safe.checkpoint.is_none() {
            return Ok(None);
        }
        let mut all = vec![Summary::None; self.drive.core.device.grid.geometry().blocks() as usize];
        self.blocks(SUMMARIES, "block with a summary")?;
        for (block, number) in self.numbers(SUMMARIES, SUMMARY_END, "summary of a block")? {
            all[block as usize] = summary_of(number, BlockAddr(block as u32), self.drive);
        }
        Ok(Some(Checkpoint::of_all(all)))
    }

    fn profiles(&self) -> Read<Option<Profiles>> {
        let Some(reserved) = &self.drive.care.profiles else { return Ok(None) };
        let pages = self.drive.core.device.grid.geometry().pages();
        let copies = self.of(PROFILES).map(|(_, mut from)| saved_profiles::get(&mut from, pages)).collect::<Read<_>>()?;
        Ok(Some(reserved.with_copies(copies)))
    }

    /// Ranks of logical pages.
    fn ranks(&self, kind: u8, field: &'static str) -> Read<impl Iterator<Item = (Lpn, u64)> + use<>> {
        for (lpn, from) in self.of(kind) {
            Self::below(&from, lpn, self.limits.pages.into(), field)?;
        }
        Ok(self.numbers(kind, u64::MAX, field)?.map(|(lpn, rank)| (Lpn(lpn as u32), rank)))
    }

    /// Which blocks have a field.
    fn blocks(&self, kind: u8, field: &'static str) -> Read<BTreeSet<BlockAddr>> {
        let end = u64::from(self.drive.core.device.grid.geometry().blocks());
        self.of(kind).map(|(block, from)| Ok(BlockAddr(Self::below(&from, block, end, field)?))).collect()
    }

    fn pages(&self, kind: u8, field: &'static str) -> Read<BTreeSet<Ppn>> {
        let end = u64::from(self.drive.core.device.grid.geometry().pages());
        self.of(kind).map(|(ppn, from)| Ok(Ppn(Self::below(&from, ppn, end, field)?))).collect()
    }

    /// A number that ends its field.
    fn within(mut from: Reader<'_>, field: &'static str, valid: &RangeInclusive<f64>) -> Read<f64> {
        let found = f64::from_bits(whole(&mut from, field)?);
        if valid.contains(&found) {
            return Ok(found);
        }
        from.refuse(8, field, format!("found {found}, valid are {} to {}", valid.start(), valid.end()))
    }

    fn chance(&self, kind: u8, field: &'static str) -> Read<Option<f64>> {
        self.of(kind).next().map(|(_, from)| Self::within(from, field, &(0.0..=1.0))).transpose()
    }

    fn temperatures(&self) -> Read<Vec<(SimTime, f64)>> {
        let mut last = SimTime::ZERO;
        let spell = |(_, mut from): (u64, Reader<'_>)| {
            let since = SimTime(from.u64("since when a temperature was")?);
            if since < std::mem::replace(&mut last, since) {
                return from.refuse(
                    8,
                    "since when a temperature was",
                    format!("found {} ns, one before it began later", since.0),
                );
            }
            Ok((since, Self::within(from, "temperature", &CELSIUS)?))
        };
        self.of(TEMPERATURES).map(spell).collect()
    }

    fn slow(&self) -> Read<Vec<(DieId, f64)>> {
        let die = |(die, from): (u64, Reader<'_>)| {
            let die = DieId(Self::below(&from, die, self.limits.dies.into(), "slow die")? as u16);
            Ok((die, Self::within(from, "slowness of a die", &SLOWER)?))
        };
        self.of(SLOW).map(die).collect()
    }

    fn faults(&self) -> Read<Option<FaultsFound>> {
        let end = u64::from(self.limits.dies);
        let dies = self.of(DEAD).map(|(die, from)| Ok(DieId(Self::below(&from, die, end, "dead die")? as u16)));
        let faults = FaultsFound {
            dies: dies.collect::<Read<_>>()?,
            blocks: self.blocks(LOST_BLOCKS, "lost block")?,
            pages: self.pages(LOST_PAGES, "lost page of flash")?,
            worn_out: self.blocks(WORN_OUT, "worn-out block")?,
            spoiled: self.pages(SPOILED, "spoiled page")?,
            silent: self.chance(SILENT, "chance of a misread")?,
            blank: self.pages(BLANK, "page that was not programmed")?,
            fatigue: self.chance(FATIGUE, "chance of a worn-out block")?,
        };
        Ok(Some(faults).filter(|faults| *faults != FaultsFound::default()))
    }
}
