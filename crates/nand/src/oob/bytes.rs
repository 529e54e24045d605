//! OOB as bytes: version 1 of `docs/spec/oob.md`, without the code that protects them on flash.

use super::OobTag;
use vocab::Capability;

const MAGIC: [u8; 2] = *b"FK";
const VERSION: u8 = 1;
/// Bytes before the checksum, and before the slots.
const CHECKED: usize = 28;
const HEAD: usize = 32;
const SLOT: usize = 16;
/// Bits of the P/E cycles; those above say how the block is used as SLC.
const PE_BITS: u32 = 24;
/// Most cycles that are written down: a hundred times of what SLC bears.
const PE_MOST: u32 = (1 << PE_BITS) - 1;
/// Value of an erased cell.
const ERASED: u8 = 0xff;

/// The OOB bytes of a page, decoded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OobPage {
    /// Bits that the code of each codeword of the page corrects.
    pub ecc_profile: Capability,
    /// As [`super::Oob::coverage`].
    pub coverage: u32,
    /// Rank of this program among all programs of the drive.
    pub sequence: u64,
    /// P/E cycles of the block, the erase before this program included.
    pub pe: u32,
    /// Whether the block is in SLC mode.
    pub slc: bool,
    /// Erases in SLC mode since the cycles last rose, at most 127.
    pub slc_cycles: u8,
    /// Most P/E cycles of any block of the drive when the page was programmed.
    pub pe_max: u32,
    /// When the first page of the block was programmed, in whole seconds, rounded down.
    pub first_program_s: u32,
    /// Its slots.
    pub slots: Vec<OobSlot>,
}

/// The OOB bytes of one slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OobSlot {
    /// Contents of the slot.
    pub tag: OobTag,
    /// CRC-32C of its data.
    pub data_crc: u32,
    /// Sequence of the update that gave the slot its contents.
    pub update: u64,
}

/// Why bytes are no OOB of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OobError {
    /// All bytes read as erased: the page was not programmed.
    #[error("erased: all bytes are ff")]
    Erased,
    /// Not as many bytes as the slots need.
    #[error("{found} bytes, {needed} are needed")]
    Length {
        /// Bytes found.
        found: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// They do not begin with `FK`.
    #[error("offset 0, magic: found {:02x} {:02x}, valid is 46 4b", .0[0], .0[1])]
    Magic([u8; 2]),
    /// A version other than 1.
    #[error("offset 2, version: found {0}, valid is {VERSION}")]
    Version(u8),
    /// The checksum is that of other bytes.
    #[error("offset {CHECKED}, oob_crc: found {found:08x}, the bytes have {computed:08x}")]
    Crc {
        /// Checksum stored.
        found: u32,
        /// Checksum of the bytes.
        computed: u32,
    },
    /// A slot with a tag of no role.
    #[error("offset {}, tag of slot {slot}: found {found:08x}, valid are data, parity and filler", HEAD + SLOT * slot)]
    Tag {
        /// Slot of the page.
        slot: usize,
        /// Tag found.
        found: u32,
    },
}

/// The `N` bytes at `offset`.
fn take<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    bytes[offset..offset + N].try_into().expect("as many bytes as asked for")
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(take(bytes, offset))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(take(bytes, offset))
}

/// The checksum of everything but itself.
fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..CHECKED]), &bytes[HEAD..])
}

impl OobPage {
    /// Bytes of the OOB of a page with this many slots.
    #[must_use]
    pub fn size(slots: usize) -> usize {
        HEAD + SLOT * slots
    }

    /// The bytes as they are programmed.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::size(self.slots.len()));
        bytes.extend(MAGIC);
        bytes.extend([VERSION, self.ecc_profile.0]);
        bytes.extend(self.coverage.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        let mode = u32::from(self.slc) << 31 | u32::from(self.slc_cycles) << PE_BITS;
        bytes.extend((self.pe.min(PE_MOST) | mode).to_le_bytes());
        bytes.extend(self.pe_max.to_le_bytes());
        bytes.extend(self.first_program_s.to_le_bytes());
        bytes.extend([0; HEAD - CHECKED]);
        for slot in &self.slots {
            bytes.extend(slot.tag.word().to_le_bytes());
            bytes.extend(slot.data_crc.to_le_bytes());
            bytes.extend(slot.update.to_le_bytes());
        }
        let crc = checksum(&bytes);
        bytes[CHECKED..HEAD].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the bytes beside a page with this many slots.
    ///
    /// # Errors
    /// Says why these bytes are none that [`Self::encode`] made.
    pub fn decode(bytes: &[u8], slots: usize) -> Result<Self, OobError> {
        let mut page = Self::default();
        page.read_from(bytes, slots).map(|()| page)
    }

    /// As [`Self::decode`], in place of what it says now; where the bytes are refused, that is of no use any more.
    pub(crate) fn read_from(&mut self, bytes: &[u8], slots: usize) -> Result<(), OobError> {
        let needed = Self::size(slots);
        if bytes.len() != needed {
            return Err(OobError::Length { found: bytes.len(), needed });
        }
        if bytes.iter().all(|&byte| byte == ERASED) {
            return Err(OobError::Erased);
        }
        if bytes[..2] != MAGIC {
            return Err(OobError::Magic(take(bytes, 0)));
        }
        if bytes[2] != VERSION {
            return Err(OobError::Version(bytes[2]));
        }
        let (found, computed) = (u32_at(bytes, CHECKED), checksum(bytes));
        if found != computed {
            return Err(OobError::Crc { found, computed });
        }
        self.slots.clear();
        for (slot, entry) in bytes[HEAD..].chunks_exact(SLOT).enumerate() {
            let found = u32_at(entry, 0);
            let tag = OobTag::from_word(found).ok_or(OobError::Tag { slot, found })?;
            self.slots.push(OobSlot { tag, data_crc: u32_at(entry, 4), update: u64_at(entry, 8) });
        }
        self.ecc_profile = Capability(bytes[3]);
        self.coverage = u32_at(bytes, 4);
        self.sequence = u64_at(bytes, 8);
        self.pe = u32_at(bytes, 16) & PE_MOST;
        self.slc = u32_at(bytes, 16) >> 31 == 1;
        self.slc_cycles = (u32_at(bytes, 16) >> PE_BITS) as u8 & 0x7f;
        self.pe_max = u32_at(bytes, 20);
        self.first_program_s = u32_at(bytes, 24);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::{Lpn, Stream, Streams, StripeId};

    const SPEC: &str = include_str!("../../../../docs/spec/oob.md");

    /// The page of the example in the specification.
    fn example() -> OobPage {
        let slot = |tag, data_crc, update| OobSlot { tag, data_crc, update };
        OobPage {
            ecc_profile: Capability(8),
            coverage: 0x0000_0107,
            sequence: 0x0000_0001_0203_0405,
            pe: 1500,
            slc: false,
            slc_cycles: 0,
            pe_max: 1733,
            first_program_s: 86_400,
            slots: vec![
                slot(OobTag::data(Lpn(4711)), crc32c::crc32c(b"123456789"), 0x0000_0001_0203_0401),
                slot(OobTag::parity(StripeId(12)), 0, 0x0000_0001_0203_0405),
                slot(OobTag::FILLER, 0xffff_ffff, 0),
            ],
        }
    }

    fn random(draws: &mut Stream, slots: u64) -> OobPage {
        let slot = |draws: &mut Stream| {
            let number = draws.below(1 << 30) as u32;
            let tags = [OobTag::data(Lpn(number)), OobTag::parity(StripeId(number)), OobTag::FILLER];
            OobSlot { tag: tags[draws.below(3) as usize], data_crc: draws.bits() as u32, update: draws.bits() }
        };
        OobPage {
            ecc_profile: Capability(draws.bits() as u8),
            coverage: draws.bits() as u32,
            sequence: draws.bits(),
            pe: draws.below(1 << 24) as u32,
            slc: draws.below(2) == 1,
            slc_cycles: draws.below(128) as u8,
            pe_max: draws.bits() as u32,
            first_program_s: draws.bits() as u32,
            slots: (0..slots).map(|_| slot(draws)).collect(),
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let section = SPEC.split("\n## Example\n").nth(1).expect("the specification has an example");
        let dump = section.split("```").nth(1).expect("the example has a dump");
        // Each line is an offset and its bytes.
        let words = dump.lines().flat_map(|line| line.split_whitespace().skip(1));
        let golden: Vec<u8> = words.map(|byte| u8::from_str_radix(byte, 16).expect("a byte in hex")).collect();
        assert_eq!(golden.len(), OobPage::size(3));
        assert_eq!(example().encode(), golden);
        assert_eq!(OobPage::decode(&golden, 3), Ok(example()));
    }

    #[test]
    fn the_mode_of_a_block_stands_above_its_cycles() {
        let page = OobPage { slc: true, slc_cycles: 5, ..example() };
        assert_eq!(page.encode()[16..20], (1500u32 + (5 << 24) + (1 << 31)).to_le_bytes());
        let worn = OobPage { pe: u32::MAX, ..example() };
        assert_eq!(worn.encode()[16..20], PE_MOST.to_le_bytes(), "cycles never reach into the mode");
    }

    #[test]
    fn what_is_encoded_decodes_to_itself() {
        for seed in 0..500 {
            let mut draws = Streams::new(seed).stream("test/oob");
            let page = random(&mut draws, 1 + seed % 16);
            let bytes = page.encode();
            assert_eq!(bytes.len(), OobPage::size(page.slots.len()), "seed {seed}");
            assert_eq!(OobPage::decode(&bytes, page.slots.len()), Ok(page), "seed {seed}");
        }
    }

    #[test]
    fn every_flipped_bit_every_pair_nearby_and_every_missing_byte_is_seen() {
        for page in [example(), random(&mut Streams::new(5).stream("test/oob"), 16)] {
            let (slots, bytes) = (page.slots.len(), page.encode());
            let refused = |bytes: &[u8]| assert!(OobPage::decode(bytes, slots).is_err(), "{bytes:02x?}");
            for bit in 0..bytes.len() * 8 {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                refused(&damaged);
                // A burst of at most 32 bits.
                for second in bit + 1..(bit + 32).min(bytes.len() * 8) {
                    let mut damaged = damaged.clone();
                    damaged[second / 8] ^= 1 << (second % 8);
                    refused(&damaged);
                }
            }
            for length in 0..bytes.len() {
                refused(&bytes[..length]);
                // Cells that a program did not reach are erased.
                let mut torn = bytes.clone();
                torn[length..].fill(ERASED);
                assert!(torn == bytes || OobPage::decode(&torn, slots).is_err(), "torn at {length}");
            }
            refused(&[&bytes[..], &[0]].concat());
        }
    }

    #[test]
    fn errors_say_where_and_what() {
        let page = example();
        let damaged = |offset: usize, value: u8| {
            let mut bytes = page.encode();
            bytes[offset] = value;
            OobPage::decode(&bytes, 3).expect_err("a damaged page").to_string()
        };
        assert_eq!(OobPage::decode(&[0xff; 80], 3), Err(OobError::Erased));
        assert_eq!(damaged(0, 0x47), "offset 0, magic: found 47 4b, valid is 46 4b");
        assert_eq!(damaged(2, 2), "offset 2, version: found 2, valid is 1");
        assert!(damaged(41, 1).starts_with("offset 28, oob_crc: found "));
        // A word that no tag is, with a checksum made for it.
        let mut bytes = page.encode();
        bytes[48..52].copy_from_slice(&0x8000_0001u32.to_le_bytes());
        let crc = checksum(&bytes);
        bytes[CHECKED..HEAD].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(OobPage::decode(&bytes, 3), Err(OobError::Tag { slot: 1, found: 0x8000_0001 }));
        let said = OobPage::decode(&bytes, 3).unwrap_err().to_string();
        assert_eq!(said, "offset 48, tag of slot 1: found 80000001, valid are data, parity and filler");
    }
}
