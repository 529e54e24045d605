//! A random life of flash, the same for every array that lives it.

use flashkeep_nand::{
    BlockInfo, FlashArray, Member, Oob, OobTag, PageScan, Payload, Program, ProgramOutcome, ReadOutcome, Scan, StoredPayload,
};
use vocab::{BlockAddr, Bytes, Capability, Geometry, Lpn, PlaneUse, Ppn, SimTime, Slot, Stream, Streams, StripSet, StripeId};

/// Members that a page may name.
pub const MEMBERS: u32 = 3;

/// All bytes of a slot; none: zeros.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Data(pub Vec<u8>);

impl Payload for Data {}

impl StoredPayload for Data {
    fn store(&self, slot: &mut [u8]) {
        if !self.0.is_empty() {
            slot.copy_from_slice(&self.0);
        }
    }

    fn load(slot: &[u8]) -> Self {
        Data(slot.to_vec())
    }
}

/// Eight blocks of four pages of two slots.
pub fn geometry(slot_size: u64) -> Geometry {
    Geometry {
        channels: 2,
        dies_per_channel: 1,
        planes: 1,
        plane_use: PlaneUse::Single,
        blocks_per_plane: 4,
        pages_per_block: 4,
        page_size: Bytes(2 * slot_size),
        oob_size: Bytes(128),
        slot_size: Bytes(slot_size),
    }
}

/// A change of flash.
#[derive(Clone, Debug)]
pub enum Step {
    Program {
        ppn: Ppn,
        tags: [OobTag; 2],
        payload: [Data; 2],
        updates: Option<[u64; 2]>,
        members: Vec<Member>,
        oob: Oob,
        now: SimTime,
    },
    Erase(BlockAddr),
    MarkBad(BlockAddr),
}

/// Steps that obey the rules of NAND, without end; one block at most goes bad.
pub struct Life {
    draws: Stream,
    slot_size: usize,
    next_page: [u32; 8],
    bad: Option<u32>,
    sequence: u64,
}

impl Life {
    pub fn new(seed: u64, slot_size: u64) -> Self {
        let draws = Streams::new(seed).stream("test/image");
        Self { draws, slot_size: slot_size as usize, next_page: [0; 8], bad: None, sequence: 0 }
    }

    fn data(&mut self) -> Data {
        let word = self.draws.bits();
        let bytes = (0..self.slot_size as u64 / 8).flat_map(|i| (word ^ i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes());
        Data(bytes.collect())
    }
}

impl Iterator for Life {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.bad.is_none() && self.draws.chance(0.01) {
            let block = self.draws.below(8) as u32;
            self.bad = Some(block);
            return Some(Step::MarkBad(BlockAddr(block)));
        }
        let mut block = self.draws.below(8) as u32;
        if Some(block) == self.bad {
            block = (block + 1) % 8;
        }
        let page = self.next_page[block as usize];
        if page == 4 || page > 0 && self.draws.chance(0.1) {
            self.next_page[block as usize] = 0;
            return Some(Step::Erase(BlockAddr(block)));
        }
        self.next_page[block as usize] += 1;
        self.sequence += 1 + self.draws.below(3);
        let number = self.draws.below(1 << 20) as u32;
        let second = [OobTag::parity(StripeId(number)), OobTag::FILLER][self.draws.below(2) as usize];
        let updates = self.draws.chance(0.5).then_some([self.sequence / 2, 3]);
        let named = self.draws.below(u64::from(MEMBERS) + 1);
        let member = |i: u64| Member { slot: Slot(i as u32), tag: OobTag::data(Lpn(number)), update: self.sequence << 3 | i };
        let members = (0..named).map(member).collect();
        let ecc = Capability(self.draws.below(60) as u8);
        Some(Step::Program {
            ppn: Ppn(block * 4 + page),
            tags: [OobTag::data(Lpn(number)), second],
            payload: [self.data(), self.data()],
            updates,
            members,
            oob: Oob { sequence: self.sequence, coverage: StripSet(self.draws.bits() as u32 as u128), ecc },
            now: SimTime(self.sequence * 700_000_000),
        })
    }
}

pub fn apply<A: FlashArray<Data>>(array: &mut A, step: &Step) {
    let outcome = match step {
        Step::Program { ppn, tags, payload, updates, members, oob, now } => {
            let updates = updates.as_ref().map(|updates| &updates[..]);
            array.program_page(&Program { ppn: *ppn, tags, payload, updates, members, oob: *oob, now: *now })
        }
        Step::Erase(block) => array.erase(*block),
        Step::MarkBad(block) => {
            array.set_age(*block, |info| info.bad = true);
            ProgramOutcome::Done
        }
    };
    assert_eq!(outcome, ProgramOutcome::Done);
}

/// Words and contents of a page.
#[derive(Clone, PartialEq, Debug)]
pub enum Seen {
    Erased,
    Unreadable,
    /// Its OOB and the names in it, in words; updates; contents.
    Valid(String, Vec<u64>, Vec<Data>),
}

/// All that is to be seen of a page; a valid one must be readable.
pub fn see<A: Scan<Data>>(array: &mut A, ppn: Ppn) -> Seen {
    let said = match array.scan_page(ppn) {
        PageScan::Erased => return Seen::Erased,
        PageScan::Unreadable => return Seen::Unreadable,
        PageScan::Valid(found) => format!("{found:?} {:?}", array.members(ppn)),
    };
    assert_eq!(array.read(ppn), ReadOutcome::Clean, "{ppn} is said to be valid");
    Seen::Valid(said, (0..2).map(|i| array.update(ppn, i)).collect(), array.payload(ppn).to_vec())
}

pub fn see_all<A: Scan<Data>>(array: &mut A) -> Vec<Seen> {
    (0..32).map(|ppn| see(array, Ppn(ppn))).collect()
}

pub fn infos<A: FlashArray<Data>>(array: &A) -> Vec<BlockInfo> {
    (0..8).map(|block| *array.block(BlockAddr(block))).collect()
}
