//! How long a flash command takes and what energy it needs.

use crate::BlockInfo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::{BusRate, Bytes, Divider, Geometry, Nanojoules, Nanos, PeCycles, Ppn};

/// Latencies of one kind of page: the pages of a block repeat a pattern of kinds (LSB, MSB, ..).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageKind {
    /// Name of the kind, for example `lsb`.
    pub name: String,
    /// Array read time (tR).
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub read: Nanos,
    /// Program time (tPROG).
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub program: Nanos,
}

/// How data move between the controller and a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Transfer {
    /// An 8-bit bus of this many mega-transfers a second: time grows with the bytes moved. OOB bytes, with the parity of page
    /// ECC among them, are moved with their data.
    MtPerS(BusRate),
    /// The same where the rate is that of data alone: OOB bytes take no time. So models count that have no OOB bytes.
    DataMtPerS(BusRate),
    /// A fixed time for each page, whatever part of it is moved.
    PerPage(Nanos),
}

/// Latencies of blocks beyond a number of P/E cycles (DA-RAID-5, Table II: a worn block takes
/// the maximum erase time of its data sheet instead of the typical one).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Worn {
    /// A block with more cycles than this counts as worn (the paper's T_p).
    pub above_pe: PeCycles,
    /// Erase time of a worn block.
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub erase: Nanos,
    /// Program times of a worn block, one for each page kind; empty: unchanged.
    #[serde(default)]
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub program: Vec<Nanos>,
}

/// Pages that one program stores together (decision 13): those of all planes of a die, and, where the cells are programmed
/// in one shot, of all bits of a word line. They are gathered in PLP memory until the last of them is there; only then
/// does the die work. A page of the map is a logical page here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramUnit {
    /// Planes that are programmed, erased and, for neighbouring pages, sensed together.
    #[schemars(range(min = 1, max = Self::PLANES_MAX))]
    pub planes: u32,
    /// Logical pages in the page of one plane.
    #[schemars(range(min = 1, max = Self::PLANE_PAGES_MAX))]
    pub plane_pages: u32,
    /// Bits of a cell that one program stores: 1, or as many as there are kinds of page.
    #[schemars(extend("x-valid" = "1, or as many as there are kinds of page; whole units in a block"))]
    pub bits: u32,
}

impl ProgramUnit {
    /// Most planes that work together.
    pub const PLANES_MAX: u32 = 64;
    /// Most logical pages in the page of a plane.
    pub const PLANE_PAGES_MAX: u32 = 256;

    /// Logical pages that one sensing brings into the registers of all planes.
    #[must_use]
    pub fn sensed(&self) -> u32 {
        self.planes * self.plane_pages
    }

    /// Logical pages that one program stores.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.sensed() * self.bits
    }

    /// Checks that it has pages, and that word lines fit into blocks.
    fn check(&self, kinds: usize, pages_per_block: u32) -> Result<(), String> {
        let counts = [("planes", self.planes, Self::PLANES_MAX), ("plane_pages", self.plane_pages, Self::PLANE_PAGES_MAX)];
        for (name, found, most) in counts {
            if found == 0 || found > most {
                return Err(format!("timing.unit.{name}: found {found}, valid are 1 to {most}"));
            }
        }
        if self.bits != 1 && self.bits as usize != kinds {
            return Err(format!("timing.unit.bits: found {}, valid are 1 and the number of page kinds, {kinds}", self.bits));
        }
        if !pages_per_block.is_multiple_of(self.pages()) {
            let reason = format!("pages_per_block {pages_per_block} is no multiple of its {} pages", self.pages());
            return Err(format!("timing.unit: {reason}"));
        }
        Ok(())
    }
}

/// Latencies of a drive's flash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Command and address cycles before each operation; they hold die and channel.
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub command: Nanos,
    /// Erase time (tBERS).
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub erase: Nanos,
    /// Data transfer between die and controller.
    pub transfer: Transfer,
    /// Kinds of page, repeated over a block: page `p` is of kind `p % kinds`.
    pub page: Vec<PageKind>,
    /// Latencies of worn blocks, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worn: Option<Worn>,
    /// Time added to a program per 1000 P/E cycles of its block; 0: none.
    #[serde(default, skip_serializing_if = "is_nothing")]
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub program_growth: Nanos,
    /// Pages that one program stores; absent: each page has a program of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<ProgramUnit>,
    /// Time to suspend a program or erase for a read, and again to resume it; unset: the die cannot suspend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub suspend: Option<Nanos>,
    /// Cache reads: time to move a sensed page to the cache register, after which the die senses its next page while this one
    /// leaves; unset: it senses when the page has left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("formatMaximum" = Nanos::OPERATION_MAX))]
    pub cache_read: Option<Nanos>,
    /// True if the planes of `timing.unit` sense different pages at the same time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("x-valid" = "`true` only beside `drive.timing.unit`, which says how many planes a die has"))]
    pub independent_planes: bool,
}

/// Times of zero and no page kinds, which [`Timing::check`] refuses: a drive of a program or a test names its own and leaves the rest, so
/// that a new setting touches none of them.
impl Default for Timing {
    fn default() -> Self {
        Self {
            command: Nanos(0),
            erase: Nanos(0),
            transfer: Transfer::PerPage(Nanos(0)),
            page: Vec::new(),
            worn: None,
            program_growth: Nanos(0),
            unit: None,
            suspend: None,
            cache_read: None,
            independent_planes: false,
        }
    }
}

fn is_nothing(time: &Nanos) -> bool {
    time.0 == 0
}

/// Latencies of a block in SLC mode (decision 14), where a cell stores one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcTimes {
    /// Array read time.
    pub read: Nanos,
    /// Program time.
    pub program: Nanos,
    /// Erase time.
    pub erase: Nanos,
}

/// Energy of one operation of one plane's page or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Energy {
    /// Reading one page.
    #[schemars(extend("formatMaximum" = Nanojoules::OPERATION_MAX))]
    pub read: Nanojoules,
    /// Programming one page.
    #[schemars(extend("formatMaximum" = Nanojoules::OPERATION_MAX))]
    pub program: Nanojoules,
    /// Erasing one block.
    #[schemars(extend("formatMaximum" = Nanojoules::OPERATION_MAX))]
    pub erase: Nanojoules,
}

impl Timing {
    /// Checks what types cannot: at least one page kind, a bus that moves, matching lists.
    ///
    /// # Errors
    /// Names the field and what would be valid.
    pub fn check(&self, geometry: &Geometry) -> Result<(), String> {
        if self.page.is_empty() {
            return Err("timing.page: at least one page kind is needed".into());
        }
        if let Transfer::MtPerS(BusRate(0)) | Transfer::DataMtPerS(BusRate(0)) = self.transfer {
            let name = if matches!(self.transfer, Transfer::MtPerS(_)) { "mt-per-s" } else { "data-mt-per-s" };
            return Err(format!("timing.transfer.{name}: found 0, must be positive"));
        }
        if let Some(unit) = &self.unit {
            if geometry.slots_per_page() != 1 {
                let slots = geometry.slots_per_page();
                return Err(format!("timing.unit: pages hold {slots} logical pages, gathering wants 1 (page_size = slot_size)"));
            }
            unit.check(self.page.len(), geometry.pages_per_block)?;
        }
        if self.independent_planes && self.unit.is_none() {
            return Err("timing.independent_planes: found true, wants timing.unit, which says how many planes a die has".into());
        }
        match &self.worn {
            Some(w) if !w.program.is_empty() && w.program.len() != self.page.len() => {
                Err(format!("timing.worn.program: {} times for {} page kinds", w.program.len(), self.page.len()))
            }
            _ => Ok(()),
        }
    }
}

/// Timing of one geometry with every division done beforehand; what the engine looks up.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Kind of each page of a block.
    kinds: Vec<u8>,
    /// Latencies of each kind.
    read: Vec<Nanos>,
    program: Vec<Nanos>,
    program_worn: Vec<Nanos>,
    /// Time that 1000 P/E cycles add to a program.
    program_growth: Nanos,
    erase: Nanos,
    erase_worn: Nanos,
    worn_above: u32,
    /// The same in SLC mode, where blocks may be in it.
    slc: Option<SlcTimes>,
    /// Command and address cycles.
    pub command: Nanos,
    transfer_by_slots: Vec<Nanos>,
    /// Data and OOB bytes of a logical page.
    slot_bytes: Bytes,
    /// Pages that are programmed together.
    pub unit: Unit,
    /// Time to suspend a program or erase, and again to resume it.
    pub suspend: Option<Nanos>,
}

/// How pages are programmed together, with every division done beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    pages: Divider,
    sensed: Divider,
    plane_pages: Divider,
    /// Time to move a whole unit over the channel, and one of a block in SLC mode.
    transfer: Nanos,
    transfer_slc: Nanos,
}

impl Unit {
    /// Whether pages are gathered at all.
    #[inline]
    #[must_use]
    pub fn is_gathered(&self) -> bool {
        self.pages.divisor() > 1
    }

    /// Pages that one program stores.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.pages.divisor()
    }

    /// Whether the page is the last of the page of its plane.
    #[inline]
    #[must_use]
    pub fn ends_plane_page(&self, page: u32) -> bool {
        self.plane_pages.split(page + 1).1 == 0
    }

    /// Time to move all pages that one program stores, where the drive has no SLC mode.
    #[inline]
    #[must_use]
    pub fn transfer(&self) -> Nanos {
        self.transfer
    }

    /// Pages that one program stores in a block, which may be in SLC mode: then those of one bit.
    #[inline]
    fn of(&self, slc: bool) -> &Divider {
        if slc { &self.sensed } else { &self.pages }
    }

    /// Pages that one program stores in a block, which may be in SLC mode.
    #[inline]
    #[must_use]
    pub fn pages_in(&self, slc: bool) -> u32 {
        self.of(slc).divisor()
    }

    /// Whether the page is the last of its unit: with it, the unit is programmed.
    #[inline]
    #[must_use]
    pub fn ends_with(&self, page: u32, slc: bool) -> bool {
        self.of(slc).split(page + 1).1 == 0
    }

    /// Whether a page of a block whose next page is `next` is still in the memory where its unit is gathered.
    #[inline]
    #[must_use]
    pub fn holds(&self, page: u32, next: u32, slc: bool) -> bool {
        let (unit, gathered) = self.of(slc).split(next);
        gathered > 0 && page < next && self.of(slc).split(page).0 == unit
    }

    /// Which pages of the drive come into the registers with this one, by number, and the plane that it is of.
    #[inline]
    #[must_use]
    pub fn sensing(&self, ppn: Ppn) -> (u32, u32) {
        let (group, at) = self.sensed.split(ppn.0);
        (group, self.plane_pages.split(at).0)
    }
}

impl Latencies {
    /// Latencies of each page of a block and each number of slots moved.
    #[must_use]
    pub fn new(timing: &Timing, geometry: &Geometry) -> Self {
        let alone = ProgramUnit { planes: 1, plane_pages: 1, bits: 1 };
        let unit = timing.unit.unwrap_or(alone);
        let kinds = timing.page.len() as u32;
        let program: Vec<_> = timing.page.iter().map(|kind| kind.program).collect();
        let (program_worn, erase_worn, worn_above) = match &timing.worn {
            None => (program.clone(), timing.erase, u32::MAX),
            Some(w) if w.program.is_empty() => (program.clone(), w.erase, w.above_pe.0),
            Some(w) => (w.program.clone(), w.erase, w.above_pe.0),
        };
        // Each logical page of a page has its share of the page's OOB bytes.
        let oob = |slots: u64| slots * geometry.oob_size.0 / u64::from(geometry.slots_per_page());
        let transfer = |slots: u64| match timing.transfer {
            Transfer::MtPerS(rate) => rate.transfer(Bytes(slots * geometry.slot_size.0 + oob(slots))),
            Transfer::DataMtPerS(rate) => rate.transfer(Bytes(slots * geometry.slot_size.0)),
            Transfer::PerPage(time) => time,
        };
        let slots_of = |pages: u32| u64::from(pages) * u64::from(geometry.slots_per_page());
        Self {
            kinds: (0..geometry.pages_per_block).map(|page| (page / unit.sensed() % kinds) as u8).collect(),
            read: timing.page.iter().map(|kind| kind.read).collect(),
            program,
            program_worn,
            program_growth: timing.program_growth,
            erase: timing.erase,
            erase_worn,
            worn_above,
            slc: None,
            command: timing.command,
            slot_bytes: Bytes(geometry.slot_size.0 + oob(1)),
            transfer_by_slots: (0..=u64::from(geometry.slots_per_page())).map(transfer).collect(),
            unit: Unit {
                pages: Divider::new(unit.pages()),
                sensed: Divider::new(unit.sensed()),
                plane_pages: Divider::new(unit.plane_pages),
                transfer: transfer(slots_of(unit.pages())),
                transfer_slc: transfer(slots_of(unit.sensed())),
            },
            suspend: timing.suspend,
        }
    }

    /// Which kind of page page `page` of any block is.
    #[inline]
    #[must_use]
    pub fn kind(&self, page: u32) -> usize {
        usize::from(self.kinds[page as usize])
    }

    /// Array read time of page `page` of any block.
    #[inline]
    #[must_use]
    pub fn read(&self, page: u32) -> Nanos {
        self.read[self.kind(page)]
    }

    /// The same latencies, with those of blocks in SLC mode.
    #[must_use]
    pub fn with_slc(self, slc: SlcTimes) -> Self {
        Self { slc: Some(slc), ..self }
    }

    /// Whether blocks may be in SLC mode.
    #[inline]
    #[must_use]
    pub fn have_slc(&self) -> bool {
        self.slc.is_some()
    }

    #[inline]
    fn slc_of(&self, block: &BlockInfo) -> Option<&SlcTimes> {
        self.slc.as_ref().filter(|_| block.is_slc())
    }

    /// As [`Self::read`], of a page of this block.
    #[inline]
    #[must_use]
    pub fn sense(&self, page: u32, block: &BlockInfo) -> Nanos {
        self.slc_of(block).map_or_else(|| self.read(page), |slc| slc.read)
    }

    /// Pages that the block takes in its mode: in SLC mode those of one bit of its cells.
    #[inline]
    #[must_use]
    pub fn pages_of(&self, block: &BlockInfo) -> u32 {
        let pages = self.kinds.len() as u32;
        if block.is_slc() { pages / self.read.len() as u32 } else { pages }
    }

    /// Program time of page `page` of a block.
    #[inline]
    #[must_use]
    pub fn program(&self, page: u32, block: &BlockInfo) -> Nanos {
        if let Some(slc) = self.slc_of(block) {
            return slc.program;
        }
        let pe = block.pe;
        let kind = self.kind(page);
        let time = if pe > self.worn_above { self.program_worn[kind] } else { self.program[kind] };
        if self.program_growth.0 == 0 {
            return time;
        }
        Nanos(time.0 + self.program_growth.0 * u64::from(pe) / 1000)
    }

    /// Erase time of a block.
    #[inline]
    #[must_use]
    pub fn erase(&self, block: &BlockInfo) -> Nanos {
        if let Some(slc) = self.slc_of(block) {
            return slc.erase;
        }
        if block.pe > self.worn_above { self.erase_worn } else { self.erase }
    }

    /// Time to move `slots` logical pages over the channel.
    #[inline]
    #[must_use]
    pub fn transfer(&self, slots: u32) -> Nanos {
        self.transfer_by_slots[slots as usize]
    }

    /// Data and OOB bytes of `slots` logical pages.
    #[inline]
    #[must_use]
    pub fn bytes(&self, slots: u32) -> Bytes {
        Bytes(self.slot_bytes.0 * u64::from(slots))
    }

    /// Time to move all pages that one program of the block stores.
    #[inline]
    #[must_use]
    pub fn transfer_unit(&self, block: &BlockInfo) -> Nanos {
        if block.is_slc() { self.unit.transfer_slc } else { self.unit.transfer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::{BusRate, PlaneUse};

    /// Two planes of two logical pages, three bits a cell: 12 pages a program.
    fn gathered() -> (Timing, Geometry) {
        let kind = |name: &str, read| PageKind { name: name.into(), read: Nanos(read), program: Nanos(900) };
        let timing = Timing {
            command: Nanos(0),
            erase: Nanos(5000),
            transfer: Transfer::MtPerS(BusRate(1000)),
            page: vec![kind("lsb", 10), kind("csb", 20), kind("msb", 30)],
            unit: Some(ProgramUnit { planes: 2, plane_pages: 2, bits: 3 }),
            ..Timing::default()
        };
        let geometry = Geometry {
            channels: 1,
            dies_per_channel: 1,
            planes: 1,
            plane_use: PlaneUse::Single,
            blocks_per_plane: 4,
            pages_per_block: 24,
            page_size: Bytes(4096),
            oob_size: Bytes(64),
            slot_size: Bytes(4096),
        };
        (timing, geometry)
    }

    #[test]
    fn pages_of_a_unit_have_the_kind_of_their_bit() {
        let (timing, geometry) = gathered();
        timing.check(&geometry).expect("24 pages are two units");
        let latencies = Latencies::new(&timing, &geometry);
        let kinds: Vec<usize> = (0..24).map(|page| latencies.kind(page)).collect();
        assert_eq!(kinds, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
        assert_eq!(latencies.read(9), Nanos(30));
        assert_eq!(latencies.transfer_unit(&BlockInfo::default()), Nanos(12 * (4096 + 64)));
    }

    /// Catches OOB bytes that take no time on the channel, and those of a whole page that are moved with each logical page.
    #[test]
    fn oob_bytes_are_moved_with_their_data() {
        let (timing, geometry) = gathered();
        let two_slots = Geometry { slot_size: Bytes(2048), ..geometry };
        let time = |timing: &Timing, slots| Latencies::new(timing, &two_slots).transfer(slots);
        let timing = Timing { unit: None, ..timing };
        assert_eq!([0, 1, 2].map(|slots| time(&timing, slots)), [0, 2048 + 32, 4096 + 64].map(Nanos));
        let data = Timing { transfer: Transfer::DataMtPerS(BusRate(1000)), ..timing };
        assert_eq!(time(&data, 2), Nanos(4096));
    }

    #[test]
    fn a_unit_is_held_until_its_last_page_is_there() {
        let (timing, geometry) = gathered();
        let unit = Latencies::new(&timing, &geometry).unit;
        let ends: Vec<u32> = (0..24).filter(|&page| unit.ends_with(page, false)).collect();
        assert_eq!(ends, [11, 23]);
        for next in 0..=24 {
            let held: Vec<u32> = (0..24).filter(|&page| unit.holds(page, next, false)).collect();
            assert_eq!(held, (next / 12 * 12..next).collect::<Vec<_>>(), "{next} pages are there");
        }
        let ends: Vec<u32> = (0..8).filter(|&page| unit.ends_with(page, true)).collect();
        assert_eq!(ends, [3, 7], "in SLC mode both planes take their two pages, and a block a third of its pages");
        for next in 0..=8 {
            let held: Vec<u32> = (0..8).filter(|&page| unit.holds(page, next, true)).collect();
            assert_eq!(held, (next / 4 * 4..next).collect::<Vec<_>>(), "{next} pages are there");
        }
        assert_eq!([0, 1, 2, 3, 4].map(|page| unit.sensing(Ppn(page))), [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0)]);
    }

    /// Catches a block in SLC mode that is as slow, or as large, as others.
    #[test]
    fn a_block_in_slc_mode_has_times_and_pages_of_its_own() {
        let (timing, geometry) = gathered();
        let slc = SlcTimes { read: Nanos(3), program: Nanos(70), erase: Nanos(400) };
        let latencies = Latencies::new(&timing, &geometry).with_slc(slc);
        let of = |block: &BlockInfo| {
            let times = (latencies.sense(8, block), latencies.program(8, block), latencies.erase(block));
            (latencies.pages_of(block), times, latencies.transfer_unit(block).0 / 4160)
        };
        assert_eq!(of(&BlockInfo::default()), (24, (Nanos(30), Nanos(900), Nanos(5000)), 12));
        assert_eq!(of(&BlockInfo { slc: 10, ..BlockInfo::default() }), (8, (Nanos(3), Nanos(70), Nanos(400)), 4));
    }

    #[test]
    fn a_unit_that_does_not_fit_is_refused_by_name() {
        let (timing, geometry) = gathered();
        let with = |unit| Timing { unit: Some(unit), ..timing.clone() }.check(&geometry).expect_err("it does not fit");
        let unit = timing.unit.expect("given above");
        assert!(with(ProgramUnit { planes: 0, ..unit }).starts_with("timing.unit.planes: found 0"));
        assert!(with(ProgramUnit { bits: 2, ..unit }).starts_with("timing.unit.bits: found 2, valid are 1 and"));
        assert!(with(ProgramUnit { planes: 5, ..unit }).contains("no multiple of its 30 pages"));
        let paged = Geometry { page_size: Bytes(8192), ..geometry };
        assert!(timing.check(&paged).expect_err("2 slots a page").contains("gathering wants 1"));
    }
}
