//! Power cuts: what they do to flash commands that are under way.
//!
//! The fault model, after Tseng, Grupp and Swanson (DAC 2011), who cut the power of raw flash:
//!
//! * **Commands that had ended** are durable, whatever became of the controller, except where an
//!   interrupted program takes an earlier page with it (below). **Commands not begun** leave
//!   nothing. A die executes one command, so at most one command of a die was begun. A program is
//!   begun when its cells are, behind its transfer.
//! * **An interrupted program** occupies its page: until the block is erased the page cannot be
//!   programmed again. The page is *blank* if the cells hardly moved: it reads as erased and is
//!   not. It is *torn* if some did: neither data nor OOB are what was sent, and their checksums
//!   say so. It is *weak* if nearly all did: it reads back whole for some reads and then no more,
//!   because its charge is marginal. Which of them does not follow from the time that had passed:
//!   the paper found that more time is not always safer.
//! * **Its partners.** Where pages share cells ([`Pairing`]), the program of a later page moves
//!   those of earlier ones: interrupted, it may corrupt pages whose programs had ended long
//!   before. They are then torn as well. Whoever programs a row over all dies at once may lose an
//!   earlier page on several of them (invariant I12).
//! * **An interrupted erase** leaves the block *half erased*: weak, and unfit for programs until
//!   an erase ends, whatever its pages look like. Its pages read as before, as garbage, or as
//!   erased. It is no cycle yet: the erase that ends what it began counts as one.
//! * **A read** in flight leaves nothing, and **a recharge** leaves the page as it was: it only
//!   adds charge up to what the cells held, and the retention clock is not restarted.
//! * **The controller's memory** is gone: [`crate::Scan::forget_volatile`].
//!
//! Not modelled: neighbouring word lines and blocks, and dies damaged permanently.
//!
//! The caller chooses what became of each command, so that all combinations can be tried
//! ([`ProgramFate::all`], [`EraseFate::all`]) or some be drawn.

use crate::scar::Scar;
use crate::{FlashArray, MemoryArray, Pairing, Payload, Program};
use std::collections::BTreeSet;
use vocab::{BlockAddr, Ppn, Stream, Streams};

/// State of the earlier pages that share cells with an interrupted one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Partners {
    /// They stay as they were.
    Spared,
    /// All of them are torn.
    Torn,
}

/// Effect of a cut on a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramFate {
    /// Its cells were not touched.
    NotBegun,
    /// Interrupted: the page reads as erased.
    Blank,
    /// Interrupted: the page reads as garbage.
    Torn(Partners),
    /// Interrupted: the page reads back whole, for a while.
    Weak {
        /// Reads that it answers.
        reads: u32,
        /// State of its partners.
        partners: Partners,
    },
    /// It ended just before the cut.
    Ended,
}

/// Effect of a cut on an erase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EraseFate {
    /// Its cells were not touched.
    NotBegun,
    /// Interrupted: all pages read as before.
    Unchanged,
    /// Interrupted: each page reads as before, as garbage or as erased.
    Mixed {
        /// Which page does which.
        draw: u64,
    },
    /// Interrupted: all pages read as erased.
    Blank,
    /// It ended just before the cut.
    Ended,
}

/// A command that was under way when the power went, and what became of it.
#[derive(Debug)]
pub enum InFlight<'a, P> {
    /// A program.
    Program(Program<'a, P>, ProgramFate),
    /// An erase.
    Erase(BlockAddr, EraseFate),
}

// By hand: derived, these would ask it of the payload.
impl<P> Clone for InFlight<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for InFlight<'_, P> {}

/// Reads that a weak page answers where fates are listed: one to move it.
const WEAK_READS: u32 = 1;

impl ProgramFate {
    /// Every fate of a program; `paired` if it shares cells with earlier pages.
    #[must_use]
    pub fn all(paired: bool) -> Vec<Self> {
        let mut all = vec![ProgramFate::NotBegun, ProgramFate::Blank, ProgramFate::Ended];
        let partners = [Partners::Spared, Partners::Torn];
        for partners in partners.into_iter().take(1 + usize::from(paired)) {
            all.extend([ProgramFate::Torn(partners), ProgramFate::Weak { reads: WEAK_READS, partners }]);
        }
        all
    }

    /// One of them, all alike.
    pub fn draw(paired: bool, draws: &mut Stream) -> Self {
        let all = Self::all(paired);
        all[draws.below(all.len() as u64) as usize]
    }
}

impl EraseFate {
    /// Every fate of an erase, with one mixture.
    #[must_use]
    pub fn all(draw: u64) -> [Self; 5] {
        [EraseFate::NotBegun, EraseFate::Unchanged, EraseFate::Mixed { draw }, EraseFate::Blank, EraseFate::Ended]
    }

    /// One of them, all alike.
    pub fn draw(draws: &mut Stream) -> Self {
        let all = Self::all(draws.bits());
        all[draws.below(all.len() as u64) as usize]
    }
}

impl<P> InFlight<'_, P> {
    /// Whether the die worked on it.
    fn begun(&self) -> bool {
        !matches!(self, InFlight::Program(_, ProgramFate::NotBegun) | InFlight::Erase(_, EraseFate::NotBegun))
    }
}

impl<P: Payload> MemoryArray<P> {
    /// The power goes: each of these commands meets its fate. Commands that are not named here
    /// had ended, or were not begun. What the controller knew must then be forgotten with
    /// [`crate::Scan::forget_volatile`].
    ///
    /// # Panics
    /// If a die worked on more than one of them, or one breaks the rules of NAND.
    pub fn cut_power(&mut self, pairing: Pairing, in_flight: &[InFlight<'_, P>]) {
        let mut busy = BTreeSet::new();
        for command in in_flight.iter().filter(|command| command.begun()) {
            let block = match command {
                InFlight::Program(program, _) => self.grid().split(program.ppn).0,
                InFlight::Erase(block, _) => *block,
            };
            let die = self.grid().split_block(block).0;
            assert!(busy.insert(die), "{die} worked on two commands at once");
            match command {
                InFlight::Program(program, fate) => self.cut_program(pairing, program, *fate),
                InFlight::Erase(block, fate) => self.cut_erase(*block, *fate),
            }
        }
    }

    /// Whether an erase of the block was interrupted and none has ended since. What no controller
    /// knows; for tests.
    #[must_use]
    pub fn is_half_erased(&self, block: BlockAddr) -> bool {
        self.scars.is_half_erased(block)
    }

    fn cut_program(&mut self, pairing: Pairing, program: &Program<'_, P>, fate: ProgramFate) {
        let ppn = program.ppn;
        let (block, page) = self.grid().split(ppn);
        if fate == ProgramFate::Blank {
            self.assert_programmable(ppn);
            self.scars.add(ppn, Scar::Blank);
            return;
        }
        self.store(program);
        let partners = match fate {
            ProgramFate::Torn(partners) => {
                self.tear(ppn);
                partners
            }
            ProgramFate::Weak { reads, partners } => {
                self.scars.add(ppn, Scar::Weak { reads });
                partners
            }
            _ => Partners::Spared,
        };
        // In SLC mode no two pages share cells.
        if partners == Partners::Torn && !self.block(block).is_slc() {
            let earlier = pairing.earlier_partners(page, self.grid().pages_per_block());
            earlier.for_each(|page| self.tear(self.grid().ppn(block, page)));
        }
    }

    pub(crate) fn tear(&mut self, ppn: Ppn) {
        self.scars.add(ppn, Scar::Torn);
        self.wipe(ppn);
    }

    fn cut_erase(&mut self, block: BlockAddr, fate: EraseFate) {
        assert!(!self.block(block).bad, "{block} is bad and must not be erased");
        if fate == EraseFate::Ended {
            self.erase(block);
            return;
        }
        self.scars.add_half_erased(block);
        let mut draws = match fate {
            EraseFate::Unchanged => return,
            EraseFate::Mixed { draw } => Some(Streams::new(draw).stream_of("nand/half-erased", u64::from(block.0))),
            _ => None,
        };
        let mut next_page = 0;
        for page in 0..self.block(block).next_page {
            let ppn = self.grid().ppn(block, page);
            match draws.as_mut().map_or(0, |draws| draws.below(3)) {
                0 => {
                    self.scars.add(ppn, Scar::Blank);
                    self.wipe(ppn);
                }
                1 => {
                    self.tear(ppn);
                    next_page = page + 1;
                }
                _ => next_page = page + 1,
            }
        }
        self.cut_back(block, next_page);
    }
}

#[cfg(test)]
mod tests;
