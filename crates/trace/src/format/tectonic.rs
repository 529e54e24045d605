//! Block traces of Meta's stores (CacheLib, Tectonic): csv `op_time,block_id,block_id_size,io_size,io_offset,..,op_name,op_count,..`.
//!
//! They name blocks of a store, not places of a drive: each block gets 8 MiB of its own, in the order of appearance.
//! Trace: Wong et al., Baleen: ML admission and prefetching for flash caches, FAST 2024; cachelib.org.

use super::spc::keep;
use super::{Format, Parser, Taken};
use crate::error::Bad;
use crate::field::{Counted, Field, Fields, Separator, TimeUnit, counted_range};
use crate::record::Raw;
use rustc_hash::FxHashMap;
use vocab::{Fua, HostOp};

pub(super) const FORMAT: Format = Format {
    name: "tectonic",
    about: "block traces of CacheLib and Tectonic, csv; each block of the store has 8 MiB of its own",
    time: "times in s",
    ranges: "offsets in a block and sizes in bytes",
    columns: "",
    detect: |lines| lines.first().is_some_and(|line| line.starts_with(HEAD)),
    open: |_| Box::new(Tectonic::default()),
    binary: None,
};

const HEAD: &[u8] = b"op_time,block_id,block_id_size,io_size,io_offset,";

/// Room of a block of the store.
const BLOCK: u64 = 8 << 20;

/// Most blocks of a recording, and the longest of their names.
const BLOCKS_MAX: usize = 1 << 20;
const NAME_MAX: usize = 256;

#[derive(Default)]
struct Tectonic {
    blocks: FxHashMap<Vec<u8>, u64>,
    /// Column of the operation.
    op: usize,
}

impl Tectonic {
    fn block(&mut self, field: Field<'_>) -> Result<u64, Bad> {
        if let Some(number) = self.blocks.get(field.bytes) {
            return Ok(*number);
        }
        if field.bytes.is_empty() || field.bytes.len() > NAME_MAX || self.blocks.len() == BLOCKS_MAX {
            return Err(field.bad(format!("at most {BLOCKS_MAX} blocks with names of up to {NAME_MAX} bytes")));
        }
        let number = self.blocks.len() as u64;
        self.blocks.insert(field.bytes.to_vec(), number);
        Ok(number)
    }
}

impl Parser for Tectonic {
    fn line(&mut self, line: &[u8], out: &mut Vec<Raw>) -> Result<Taken, Bad> {
        if line.starts_with(HEAD) {
            self.op = line.split(|byte| *byte == b',').position(|name| name == b"op_name").unwrap_or(0);
            return Ok(Taken::NoRequest);
        }
        let mut fields = Fields::new(line, Separator::Byte(b','));
        let at = fields.take("op_time")?.time(TimeUnit::Seconds)?;
        let block = fields.take("block_id")?;
        fields.take("block_id_size")?;
        let (size, offset) = (fields.take("io_size")?, fields.take("io_offset")?);
        let mut name = offset;
        for _ in 4..self.op.max(7) {
            name = fields.take("op_name")?;
        }
        let op = match name.bytes {
            name if name.starts_with(b"getChunk") => HostOp::Read,
            name if name.starts_with(b"putChunk") => HostOp::Write(Fua::No),
            _ => return Ok(Taken::Ignored),
        };
        let (start, count) = (offset.number()?, size.number()?);
        if start.checked_add(count).is_none_or(|end| end > BLOCK) {
            return Err(size.bad(format!("a request that ends within the {BLOCK} bytes of a block")));
        }
        let first = u128::from(self.block(block)?) * u128::from(BLOCK) + u128::from(start);
        let (lba, sectors) =
            counted_range(Counted { field: offset, bytes: first }, Counted { field: size, bytes: u128::from(count) })?;
        Ok(keep(Raw { at, device: 0, op, lba, sectors, stream: vocab::StreamId::default() }, out))
    }

    fn looks_for(&self) -> String {
        String::from("it looks for operations getChunk.. and putChunk..")
    }
}
