//! Writing and reading the fields of PLP memory (`docs/spec/memory.md`). Each component that keeps something there writes
//! and reads its own part.

use device::contents::PageBuf;
use ftl::Place;
use nand::{Member, OobTag, StoredPayload};
use vocab::{Slot, StripSet};

/// A field that no drive of this setup could have written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Where it stands in the file.
    pub at: usize,
    pub field: &'static str,
    pub reason: String,
}

/// Fields one after the other.
pub(crate) struct Writer {
    pub bytes: Vec<u8>,
    /// Payloads that stand behind all else.
    pub behind: Vec<PageBuf>,
    slot: usize,
}

impl Writer {
    /// Payloads have this many bytes.
    pub fn new(slot: usize) -> Self {
        Self { bytes: Vec::new(), behind: Vec::new(), slot }
    }

    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// A set of dies or strips, of which a drive in files has at most 32.
    pub fn set(&mut self, set: StripSet) {
        self.u64(u64::try_from(set.0).expect("drives in files have at most 32 dies"));
    }

    /// How many follow, then each.
    pub fn list<T>(&mut self, list: impl ExactSizeIterator<Item = T>, mut each: impl FnMut(&mut Self, T)) {
        self.u32(list.len() as u32);
        list.for_each(|item| each(self, item));
    }

    /// Zeros take one byte.
    pub fn payload(&mut self, payload: &PageBuf) {
        let is_there = !device::contents::HostPayload::is_zero(payload);
        self.u8(is_there.into());
        if is_there {
            let from = self.bytes.len();
            self.bytes.resize(from + self.slot, 0);
            payload.store(&mut self.bytes[from..]);
        }
    }

    /// Writes payloads behind all else.
    pub fn payloads_behind<'a>(&mut self, payloads: impl ExactSizeIterator<Item = &'a PageBuf>) {
        self.u32(payloads.len() as u32);
        self.behind.extend(payloads.cloned());
    }

    pub fn member(&mut self, member: &Member) {
        self.u32(member.slot.0);
        self.u32(member.tag.word());
        self.u64(member.update);
    }

    /// Where something lies, if anywhere.
    pub fn place(&mut self, place: Place) {
        self.u32(match place {
            Place::At(slot) => slot.0,
            Place::Unmapped => UNMAPPED,
            Place::Missing => MISSING,
        });
    }
}

const UNMAPPED: u32 = u32::MAX;
const MISSING: u32 = u32::MAX - 1;

/// Upper bounds of the numbers that a drive may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of a payload.
    pub slot: usize,
    pub dies: u32,
    /// Slots of flash.
    pub slots: u32,
    /// Logical pages.
    pub pages: u32,
}

/// Reads what a [`Writer`] wrote, believing nothing.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the bytes stand in the file.
    begins: usize,
    pub limits: Limits,
}

/// A value that was read, or the reason why it cannot be.
pub(crate) type Read<T> = Result<T, Malformed>;

impl<'a> Reader<'a> {
    /// Of bytes that stand there in the file.
    pub fn at(bytes: &'a [u8], begins: usize, limits: Limits) -> Self {
        Self { bytes, at: 0, begins, limits }
    }

    /// Where the next byte stands in the file.
    pub fn place(&self) -> usize {
        self.begins + self.at
    }

    /// A field of this many bytes, read before, has an impossible value.
    pub fn refuse<T>(&self, size: usize, field: &'static str, reason: String) -> Read<T> {
        Err(Malformed { at: self.place() - size, field, reason })
    }

    fn take(&mut self, count: usize, field: &'static str) -> Read<&'a [u8]> {
        let left = &self.bytes[self.at..];
        if left.len() < count {
            return self.refuse(0, field, format!("found the end after {} bytes, {count} are needed", left.len()));
        }
        self.at += count;
        Ok(&left[..count])
    }

    pub fn u8(&mut self, field: &'static str) -> Read<u8> {
        Ok(self.take(1, field)?[0])
    }

    pub fn u32(&mut self, field: &'static str) -> Read<u32> {
        Ok(u32::from_le_bytes(self.take(4, field)?.try_into().expect("4 bytes")))
    }

    pub fn u64(&mut self, field: &'static str) -> Read<u64> {
        Ok(u64::from_le_bytes(self.take(8, field)?.try_into().expect("8 bytes")))
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u32, field: &'static str) -> Read<u32> {
        let found = self.u32(field)?;
        if found < end {
            Ok(found)
        } else {
            self.refuse(4, field, format!("found {found}, valid are 0 to {}", end.saturating_sub(1)))
        }
    }

    /// One of the kinds 0 to `kinds - 1`.
    pub fn kind(&mut self, kinds: u8, field: &'static str) -> Read<u8> {
        let found = self.u8(field)?;
        if found < kinds { Ok(found) } else { self.refuse(1, field, format!("found {found}, valid are 0 to {}", kinds - 1)) }
    }

    /// As many as are said to follow: no more than there are bytes for.
    pub fn list<T>(&mut self, field: &'static str, mut each: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let count = self.u32(field)? as usize;
        let left = self.bytes.len() - self.at;
        if count > left {
            return self.refuse(4, field, format!("found {count}, {left} bytes follow"));
        }
        (0..count).map(|_| each(self)).collect()
    }

    pub fn payload(&mut self, field: &'static str) -> Read<PageBuf> {
        match self.kind(2, field)? {
            0 => Ok(PageBuf::default()),
            _ => Ok(PageBuf::load(self.take(self.limits.slot, field)?)),
        }
    }

    /// This many payloads, which stand behind all else.
    pub fn payloads(&mut self, count: u32, field: &'static str) -> Read<Vec<PageBuf>> {
        (0..count).map(|_| self.payload(field)).collect()
    }

    /// A set of dies or strips.
    pub fn set(&mut self, field: &'static str) -> Read<StripSet> {
        let found = StripSet(self.u64(field)?.into());
        let most = self.limits.dies;
        if found.minus(StripSet::first(most)).is_empty() {
            return Ok(found);
        }
        self.refuse(8, field, format!("found {:x}, the drive has {} dies", found.0, self.limits.dies))
    }

    pub fn member(&mut self) -> Read<Member> {
        let field = "member";
        let slot = self.u32(field)?;
        if slot >= self.limits.slots && slot != u32::MAX {
            return self.refuse(4, field, format!("found slot {slot}, the drive has {}", self.limits.slots));
        }
        let word = self.u32(field)?;
        let Some(tag) = OobTag::from_word(word) else { return self.refuse(4, field, format!("found tag {word:08x} of no role")) };
        Ok(Member { slot: Slot(slot), tag, update: self.u64(field)? })
    }

    pub fn place_in_flash(&mut self, field: &'static str) -> Read<Place> {
        match self.u32(field)? {
            UNMAPPED => Ok(Place::Unmapped),
            MISSING => Ok(Place::Missing),
            slot if slot < self.limits.slots => Ok(Place::At(Slot(slot))),
            slot => self.refuse(4, field, format!("found slot {slot}, the drive has {}", self.limits.slots)),
        }
    }

    /// All has been read.
    pub fn end(&self) -> Read<()> {
        let left = self.bytes.len() - self.at;
        if left == 0 { Ok(()) } else { self.refuse(0, "end", format!("found {left} bytes more")) }
    }
}
