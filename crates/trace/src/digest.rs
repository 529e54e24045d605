//! Digests of workloads: two with the same one are taken for the same.

use crate::Record;
use vocab::{HostOp, fnv_word};

/// FNV-1a over the fields of a record, behind others.
#[must_use]
pub fn digest(hash: u64, record: &Record) -> u64 {
    let op = match record.op {
        HostOp::Read => 0,
        HostOp::Write(vocab::Fua::No) => 1,
        HostOp::Write(vocab::Fua::Yes) => 2,
        HostOp::Flush => 3,
        HostOp::Discard => 4,
    };
    let words = [record.at.0, u64::from(record.device), op, record.lba.0, u64::from(record.sectors)];
    let hash = words.into_iter().fold(hash, fnv_word);
    // The digests of traces without streams stay what they were.
    if record.stream == vocab::StreamId::default() { hash } else { fnv_word(hash, u64::from(record.stream.0)) }
}
