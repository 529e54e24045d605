//! Saved fields, each with a key, so that changed fields can be told from unchanged ones: `docs/spec/memory.md`.
//!
//! Bytes of pages are shared with the drive, and compared by where they are before they are compared byte by byte. So what a
//! change costs is what changed, and a look at each field.

use crate::core::bytes::{Limits, Malformed, Read, Reader, Writer};
use device::contents::PageBuf;
use std::collections::BTreeMap;

/// Kind of a field, and its number within the kind.
pub(super) type Key = (u8, u64);

/// Value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(u64),
    /// A page of the write buffer.
    Page(PageBuf),
    /// Bytes, and payloads behind them.
    Bytes(Vec<u8>, Vec<PageBuf>),
}

/// Fields in the order of their keys.
pub(super) type Fields = Vec<(Key, Value)>;

/// The length of a field that is gone.
const GONE: u32 = u32::MAX;
/// Bytes before those of a field.
const HEAD: usize = 13;

/// All fields as bytes. Payloads have this many bytes.
pub(super) fn all(fields: &Fields, slot: usize) -> Vec<u8> {
    let mut to = Writer::new(slot);
    changes(&Vec::new(), fields, &mut to);
    to.bytes
}

/// Writes what makes other fields of `before`.
pub(super) fn changes(before: &Fields, now: &Fields, to: &mut Writer) {
    let (mut old, mut new) = (before.iter().peekable(), now.iter().peekable());
    loop {
        match (old.peek(), new.peek()) {
            (Some((key, was)), Some((same, is))) if key == same => {
                if was != is {
                    put(to, *key, Some(is));
                }
                old.next();
                new.next();
            }
            (Some((key, _)), next) if next.is_none_or(|(next, _)| key < next) => {
                put(to, *key, None);
                old.next();
            }
            (_, Some((key, is))) => {
                put(to, *key, Some(is));
                new.next();
            }
            (_, None) => return,
        }
    }
}

/// Whether fields differ in another one than this.
pub(super) fn differ_but(before: &Fields, now: &Fields, but: Key) -> bool {
    let others = |fields: &Fields| fields.iter().position(|(key, _)| *key == but);
    let (was, is) = (others(before), others(now));
    match (was, is) {
        (Some(was), Some(is)) => before[..was] != now[..is] || before[was + 1..] != now[is + 1..],
        _ => before != now,
    }
}

/// Writes a field; `None`: it is gone.
pub(super) fn put(to: &mut Writer, key: Key, value: Option<&Value>) {
    let (kind, number) = key;
    to.u8(kind);
    to.u64(number);
    let at = to.bytes.len();
    to.u32(GONE);
    let Some(value) = value else { return };
    match value {
        Value::Number(number) => to.u64(*number),
        Value::Page(payload) => to.payload(payload),
        Value::Bytes(bytes, payloads) => {
            to.bytes.extend(bytes);
            payloads.iter().for_each(|payload| to.payload(payload));
        }
    }
    let length = (to.bytes.len() - at - 4) as u32;
    to.bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

/// Fields as they were read, with where each stands in the file.
#[derive(Debug, Default)]
pub(super) struct Found(BTreeMap<Key, (u64, Vec<u8>)>);

impl Found {
    /// Takes in fields or changes of them, which stand at `at` of the file.
    pub fn apply(&mut self, bytes: &[u8], at: u64) -> Read<()> {
        let mut from = 0;
        while from < bytes.len() {
            let malformed = |field, reason| Malformed { at: at as usize + from, field, reason };
            let Some(head) = bytes.get(from..from + HEAD) else {
                return Err(malformed("field", format!("found the end after {} bytes, {HEAD} are needed", bytes.len() - from)));
            };
            let key = (head[0], u64::from_le_bytes(head[1..9].try_into().expect("8 bytes")));
            let length = u32::from_le_bytes(head[9..].try_into().expect("4 bytes"));
            if length == GONE {
                self.0.remove(&key);
                from += HEAD;
                continue;
            }
            let left = bytes.len() - from - HEAD;
            let Some(value) = bytes[from + HEAD..].get(..length as usize) else {
                return Err(malformed("length of a field", format!("found {length}, {left} bytes follow")));
            };
            self.0.insert(key, ((at as usize + from + HEAD) as u64, value.to_vec()));
            from += HEAD + length as usize;
        }
        Ok(())
    }

    /// Fields of a kind: their numbers, and readers of what they hold.
    pub fn of<'a>(&'a self, kind: u8, limits: Limits) -> impl Iterator<Item = (u64, Reader<'a>)> {
        let fields = self.0.range((kind, 0)..=(kind, u64::MAX));
        fields.map(move |((_, number), (at, bytes))| (*number, Reader::at(bytes, *at as usize, limits)))
    }

    /// A number that must be there.
    pub fn number(&self, key: Key, field: &'static str, limits: Limits) -> Read<u64> {
        let found = self.0.get(&key).map(|(at, bytes)| Reader::at(bytes, *at as usize, limits));
        found.map_or_else(|| Err(Malformed { at: 0, field, reason: "it is missing".into() }), |mut from| whole(&mut from, field))
    }

    /// Whether the field is this number.
    pub fn has_number(&self, key: Key, number: u64) -> bool {
        self.0.get(&key).is_some_and(|(_, bytes)| **bytes == number.to_le_bytes())
    }

    /// Where a field stands in the file.
    pub fn place_of(&self, key: Key) -> usize {
        self.0.get(&key).map_or(0, |(at, _)| *at as usize)
    }

    /// Changes that turn the found fields into `now`, but for those of kind `but`.
    pub fn changes_to(&self, now: &Fields, but: u8, slot: usize) -> Vec<u8> {
        let mut to = Writer::new(slot);
        for (key, value) in now {
            let from = to.bytes.len();
            put(&mut to, *key, Some(value));
            if self.0.get(key).is_some_and(|(_, was)| **was == to.bytes[from + HEAD..]) {
                to.bytes.truncate(from);
            }
        }
        let is_there = |key: &Key| now.binary_search_by_key(key, |(key, _)| *key).is_ok();
        let gone = self.0.keys().filter(|key| key.0 != but && !is_there(key));
        gone.for_each(|key| put(&mut to, *key, None));
        to.bytes
    }

    /// Kinds below `end` are known.
    pub fn check_kinds(&self, end: u8) -> Read<()> {
        let unknown = self.0.range((end, 0)..).next();
        unknown.map_or(Ok(()), |((kind, _), (at, _))| {
            let reason = format!("found {kind}, valid are 0 to {}", end - 1);
            Err(Malformed { at: *at as usize - HEAD, field: "kind of a field", reason })
        })
    }
}

/// A number that is all of a field.
pub(super) fn whole(from: &mut Reader<'_>, field: &'static str) -> Read<u64> {
    let number = from.u64(field)?;
    from.end()?;
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::StoredPayload;

    const LIMITS: Limits = Limits { slot: 8, dies: 4, slots: 64, pages: 64 };

    fn fields(list: &[(Key, Value)]) -> Fields {
        list.to_vec()
    }

    /// Catches a change that is left out, and one that is written for what stayed.
    #[test]
    fn changes_on_top_of_what_was_give_what_is() {
        let page = |byte: u8| PageBuf::load(&[byte; 8]);
        let shared = page(7);
        let was = fields(&[
            ((0, 0), Value::Number(1)),
            ((1, 3), Value::Page(shared.clone())),
            ((1, 4), Value::Page(page(2))),
            ((2, 0), Value::Bytes(vec![1, 2], vec![PageBuf::default()])),
        ]);
        let is = fields(&[
            ((0, 0), Value::Number(1)),
            ((1, 2), Value::Page(page(1))),
            ((1, 3), Value::Page(shared)),
            ((2, 0), Value::Bytes(vec![1, 2, 3], vec![page(4)])),
        ]);
        let changes = |was: &Fields, is: &Fields| {
            let mut to = Writer::new(8);
            super::changes(was, is, &mut to);
            to.bytes
        };
        let delta = changes(&was, &is);
        assert_eq!(delta.len(), (HEAD + 1 + 8) + HEAD + (HEAD + 3 + 1 + 8), "a new page, one that is gone, bytes that changed");
        let (mut found, mut expected) = (Found::default(), Found::default());
        let first = all(&was, 8);
        found.apply(&first, 100).unwrap();
        found.apply(&delta, 1000).unwrap();
        expected.apply(&all(&is, 8), 0).unwrap();
        let bytes = |found: &Found| found.0.iter().map(|(key, (_, bytes))| (*key, bytes.clone())).collect::<Vec<_>>();
        assert_eq!(bytes(&found), bytes(&expected));
        assert_eq!(found.number((0, 0), "first", LIMITS), Ok(1));
        assert_eq!(found.number((0, 1), "second", LIMITS).unwrap_err().reason, "it is missing");
        let mut later = Found::default();
        later.apply(&first, 0).unwrap();
        let same = later.changes_to(&is, u8::MAX, 8);
        later.apply(&same, 0).unwrap();
        assert_eq!((bytes(&later), same.len()), (bytes(&expected), delta.len()));
        assert!(changes(&is, &is).is_empty() && !differ_but(&was, &was, (0, 0)) && differ_but(&was, &is, (0, 0)));
        let error = found.apply(&first[..first.len() - 1], 100).unwrap_err();
        assert_eq!((error.field, error.reason.as_str()), ("length of a field", "found 3, 2 bytes follow"));
        let error = found.apply(&first[..5], 100).unwrap_err();
        assert_eq!((error.at, error.reason.as_str()), (100, "found the end after 5 bytes, 13 are needed"));
    }
}
