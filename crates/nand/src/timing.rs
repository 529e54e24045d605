//! How long a flash command takes and what energy it needs.

use serde::{Deserialize, Serialize};
use vocab::{BusRate, Bytes, Geometry, Nanojoules, Nanos, PeCycles};

/// Latencies of one kind of page: the pages of a block repeat a pattern of kinds (LSB, MSB, ..).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageKind {
    /// Name of the kind, for example `lsb`.
    pub name: String,
    /// Array read time (tR).
    pub read: Nanos,
    /// Program time (tPROG).
    pub program: Nanos,
}

/// How data move between the controller and a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Transfer {
    /// An 8-bit bus of this many mega-transfers a second: time grows with the bytes moved.
    MtPerS(BusRate),
    /// A fixed time for each page, whatever part of it is moved.
    PerPage(Nanos),
}

/// Latencies of blocks beyond a number of P/E cycles (DA-RAID-5, Table II: a worn block takes
/// the maximum erase time of its data sheet instead of the typical one).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worn {
    /// A block with more cycles than this counts as worn (the paper's T_p).
    pub above_pe: PeCycles,
    /// Erase time of a worn block.
    pub erase: Nanos,
    /// Program times of a worn block, one for each page kind; empty: unchanged.
    #[serde(default)]
    pub program: Vec<Nanos>,
}

/// Latencies of a drive's flash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Command and address cycles before each operation; they hold die and channel.
    pub command: Nanos,
    /// Erase time (tBERS).
    pub erase: Nanos,
    /// Data transfer between die and controller.
    pub transfer: Transfer,
    /// Kinds of page, repeated over a block: page `p` is of kind `p % kinds`.
    pub page: Vec<PageKind>,
    /// Latencies of worn blocks, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worn: Option<Worn>,
    /// What each 1000 P/E cycles of its block add to the time of a program; 0: nothing.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub program_growth: Nanos,
}

fn is_nothing(time: &Nanos) -> bool {
    time.0 == 0
}

/// Energy of one operation of one plane's page or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Energy {
    /// Reading one page.
    pub read: Nanojoules,
    /// Programming one page.
    pub program: Nanojoules,
    /// Erasing one block.
    pub erase: Nanojoules,
}

impl Timing {
    /// Checks what types cannot: at least one page kind, a bus that moves, matching lists.
    ///
    /// # Errors
    /// Names the field and what would be valid.
    pub fn check(&self) -> Result<(), String> {
        if self.page.is_empty() {
            return Err("timing.page: at least one page kind is needed".into());
        }
        if self.transfer == Transfer::MtPerS(BusRate(0)) {
            return Err("timing.transfer.mt-per-s: found 0, must be positive".into());
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
    read: Vec<Nanos>,
    program: Vec<Nanos>,
    program_worn: Vec<Nanos>,
    /// What 1000 P/E cycles add to a program.
    program_growth: Nanos,
    erase: Nanos,
    erase_worn: Nanos,
    worn_above: u32,
    /// Command and address cycles.
    pub command: Nanos,
    transfer_by_slots: Vec<Nanos>,
}

impl Latencies {
    /// Latencies of each page of a block and each number of slots moved.
    #[must_use]
    pub fn new(timing: &Timing, geometry: &Geometry) -> Self {
        let kinds = timing.page.len();
        let by_page =
            |f: &dyn Fn(usize) -> Nanos| (0..geometry.pages_per_block as usize).map(|p| f(p % kinds)).collect::<Vec<_>>();
        let program: Vec<_> = by_page(&|kind| timing.page[kind].program);
        let (program_worn, erase_worn, worn_above) = match &timing.worn {
            None => (program.clone(), timing.erase, u32::MAX),
            Some(w) if w.program.is_empty() => (program.clone(), w.erase, w.above_pe.0),
            Some(w) => (by_page(&|kind| w.program[kind]), w.erase, w.above_pe.0),
        };
        let transfer = |slots: u64| match timing.transfer {
            Transfer::MtPerS(rate) => rate.transfer(Bytes(slots * geometry.slot_size.0)),
            Transfer::PerPage(time) => time,
        };
        Self {
            read: by_page(&|kind| timing.page[kind].read),
            program,
            program_worn,
            program_growth: timing.program_growth,
            erase: timing.erase,
            erase_worn,
            worn_above,
            command: timing.command,
            transfer_by_slots: (0..=u64::from(geometry.slots_per_page())).map(transfer).collect(),
        }
    }

    /// Array read time of page `page` of any block.
    #[inline]
    #[must_use]
    pub fn read(&self, page: u32) -> Nanos {
        self.read[page as usize]
    }

    /// Program time of page `page` of a block with `pe` cycles.
    #[inline]
    #[must_use]
    pub fn program(&self, page: u32, pe: u32) -> Nanos {
        let time = if pe > self.worn_above { self.program_worn[page as usize] } else { self.program[page as usize] };
        if self.program_growth.0 == 0 {
            return time;
        }
        Nanos(time.0 + self.program_growth.0 * u64::from(pe) / 1000)
    }

    /// Erase time of a block with `pe` cycles.
    #[inline]
    #[must_use]
    pub fn erase(&self, pe: u32) -> Nanos {
        if pe > self.worn_above { self.erase_worn } else { self.erase }
    }

    /// Time to move `slots` logical pages over the channel.
    #[inline]
    #[must_use]
    pub fn transfer(&self, slots: u32) -> Nanos {
        self.transfer_by_slots[slots as usize]
    }
}
