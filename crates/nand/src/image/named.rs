//! The members that a page names, as bytes of its record: `docs/spec/image.md`.

use crate::{Member, OobTag};
use vocab::Slot;

/// Bytes of one member.
pub(super) const ENTRY: usize = 16;
/// Bytes behind the members: how many they are, and a checksum.
pub(super) const TAIL: usize = 8;

/// The members as bytes, without their tail.
pub(super) fn encode(members: &[Member]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(members.len() * ENTRY);
    for member in members {
        bytes.extend(member.slot.0.to_le_bytes());
        bytes.extend(member.tag.word().to_le_bytes());
        bytes.extend(member.update.to_le_bytes());
    }
    bytes
}

/// Count and checksum behind these members.
pub(super) fn tail(entries: &[u8]) -> [u8; TAIL] {
    let count = ((entries.len() / ENTRY) as u32).to_le_bytes();
    let crc = crc32c::crc32c_append(crc32c::crc32c(&count), entries).to_le_bytes();
    [count, crc].concat().try_into().expect("4 and 4 bytes")
}

/// How many members stand before a tail, if that is one of at most `most`.
pub(super) fn count(tail: &[u8], most: u32) -> Option<usize> {
    let count = u32::from_le_bytes(tail[..4].try_into().expect("4 bytes"));
    (count <= most).then_some(count as usize)
}

/// Appends the members of a drive of this many slots; false if their checksum fails, or one is none.
#[must_use]
pub(super) fn decode(entries: &[u8], found: &[u8], slots: u32, to: &mut Vec<Member>) -> bool {
    let member = |entry: &[u8]| {
        let word = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().expect("4 bytes"));
        let slot = Slot(word(0));
        let update = u64::from_le_bytes(entry[8..].try_into().expect("8 bytes"));
        let is_there = slot.0 < slots || slot.0 == u32::MAX;
        let tag = OobTag::from_word(word(4)).filter(|_| is_there)?;
        Some(Member { slot, tag, update })
    };
    found == tail(entries) && entries.chunks_exact(ENTRY).all(|entry| member(entry).map(|member| to.push(member)).is_some())
}
