//! The header of an image and where everything lies behind it: `docs/spec/image.md`.

use super::{FileError, named};
use crate::OobPage;
use std::fmt::Display;
use std::path::Path;
use vocab::{BlockAddr, Bytes, Geometry, PlaneUse, Ppn};

/// Bytes of the header, and what the marks behind it are filled up to.
pub(super) const HEADER: usize = 4096;
const MAGIC: [u8; 8] = *b"FKIMAGE\0";
const VERSION: u32 = 4;
/// Members that a page may name, at most.
pub(super) const MEMBERS_AT_MOST: u32 = 1 << 16;
const CRC_AT: usize = HEADER - 4;

/// An image's shape, and with it every offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub geometry: Geometry,
    /// Members that a page may name.
    pub members: u32,
    /// Bytes of the data of a page.
    pub data: usize,
    first_data: u64,
    first_members: u64,
    first_beside: u64,
}

impl Layout {
    /// The layout of a checked geometry whose pages name at most this many members.
    pub fn new(geometry: Geometry, members: u32) -> Self {
        let data = geometry.program_size().0 as usize;
        let marks = u64::from(geometry.blocks()).next_multiple_of(HEADER as u64);
        let pages = u64::from(geometry.pages());
        let first_data = HEADER as u64 + marks;
        let first_members = first_data + pages * data as u64;
        let first_beside = first_members + pages * u64::from(members) * named::ENTRY as u64;
        Self { geometry, members, data, first_data, first_members, first_beside }
    }

    pub fn slots(&self) -> usize {
        self.geometry.slots_per_page() as usize
    }

    pub fn size(&self) -> u64 {
        self.beside_at(Ppn(self.geometry.pages()))
    }

    /// Offset of the data of a page.
    pub fn data_at(&self, ppn: Ppn) -> u64 {
        self.first_data + u64::from(ppn.0) * self.data as u64
    }

    /// Bytes of the members that a page may name.
    pub fn named(&self) -> usize {
        self.members as usize * named::ENTRY
    }

    /// Offset of the members that a page names.
    pub fn members_at(&self, ppn: Ppn) -> u64 {
        self.first_members + u64::from(ppn.0) * self.named() as u64
    }

    /// Number of OOB bytes of a page, with the tail of its members, which comes first.
    pub fn beside(&self) -> usize {
        self.tail() + OobPage::size(self.slots())
    }

    /// Offset of the OOB bytes of a page.
    pub fn beside_at(&self, ppn: Ppn) -> u64 {
        self.first_beside + u64::from(ppn.0) * self.beside() as u64
    }

    /// Bytes of the tail of the members.
    pub fn tail(&self) -> usize {
        if self.members == 0 { 0 } else { named::TAIL }
    }

    /// Offset of the mark of a block.
    pub fn mark_at(&self, block: BlockAddr) -> u64 {
        HEADER as u64 + u64::from(block.0)
    }

    pub fn header(&self) -> Vec<u8> {
        let g = &self.geometry;
        let plane_use = match g.plane_use {
            PlaneUse::Single => 0u32,
            PlaneUse::Ganged => 1,
        };
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend(MAGIC);
        for word in
            [VERSION, g.channels, g.dies_per_channel, g.planes, plane_use, g.blocks_per_plane, g.pages_per_block, self.members]
        {
            bytes.extend(word.to_le_bytes());
        }
        for word in [g.page_size.0, g.oob_size.0, g.slot_size.0, self.size()] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.resize(CRC_AT, 0);
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Reads the header of a file of `size` bytes.
    pub fn read(path: &Path, bytes: &[u8], size: u64) -> Result<Self, FileError> {
        let fail = |offset: u64, field, found: &dyn Display, valid: &dyn Display| {
            Err(FileError::field(path, offset, field, format!("found {found}, valid is {valid}")))
        };
        if bytes.len() < HEADER {
            return fail(bytes.len() as u64, "header", &format!("the end after {size} bytes"), &format!("{HEADER} bytes"));
        }
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        if bytes[..8] != MAGIC {
            return fail(0, "magic", &format!("{:02x?}", &bytes[..8]), &format!("{MAGIC:02x?}"));
        }
        if u32_at(8) != VERSION {
            return fail(8, "version", &u32_at(8), &VERSION);
        }
        let crc = crc32c::crc32c(&bytes[..CRC_AT]);
        if u32_at(CRC_AT) != crc {
            return fail(CRC_AT as u64, "header_crc", &format!("{:08x}", u32_at(CRC_AT)), &format!("{crc:08x}"));
        }
        let plane_use = match u32_at(24) {
            0 => PlaneUse::Single,
            1 => PlaneUse::Ganged,
            found => return fail(24, "plane_use", &found, &"0 (single) or 1 (ganged)"),
        };
        let geometry = Geometry {
            channels: u32_at(12),
            dies_per_channel: u32_at(16),
            planes: u32_at(20),
            plane_use,
            blocks_per_plane: u32_at(28),
            pages_per_block: u32_at(32),
            page_size: Bytes(u64_at(40)),
            oob_size: Bytes(u64_at(48)),
            slot_size: Bytes(u64_at(56)),
        };
        geometry.check().map_err(|error| FileError::field(path, offset_of(error.field), error.field, error.reason))?;
        let members = u32_at(36);
        if members > MEMBERS_AT_MOST {
            return fail(36, "members", &members, &format!("0 to {MEMBERS_AT_MOST}"));
        }
        let layout = Self::new(geometry, members);
        if u64_at(64) != layout.size() {
            return fail(64, "file_size", &u64_at(64), &format!("{} for this geometry and this many members", layout.size()));
        }
        if size != layout.size() {
            return fail(size.min(layout.size()), "length of the file", &size, &layout.size());
        }
        Ok(layout)
    }
}

/// Where a field of the geometry stands.
fn offset_of(field: &str) -> u64 {
    let at = [
        ("channels", 12),
        ("dies_per_channel", 16),
        ("planes", 20),
        ("blocks_per_plane", 28),
        ("pages_per_block", 32),
        ("page_size", 40),
        ("oob_size", 48),
    ];
    at.iter().find(|(name, _)| *name == field).map_or(56, |(_, offset)| *offset)
}
