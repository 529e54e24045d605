//! Result of a read: the page, its errors, and the outcome of decoding.

use crate::Device;
use crate::codec::Word;
use crate::command::{Command, Verb};
use crate::contents::HostPayload;
use crate::ecc::PageEcc;
use crate::facts::{Fact, Step};
use crate::ladder::OpenWord;
use crate::ldpc::WordRead;
use ecc::ldpc::Stage;
use ecc::{Advice, Decoded, Profile};
use nand::{Arrived, FlashArray, PageCells, ReadOutcome, StoredWord};
use vocab::{Capability, Cause, DieId, Nanos, PeCycles, Ppn};

/// Result of a read of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sensed {
    /// Whether its contents are right.
    pub verdict: Verdict,
    /// Time in the decoder; of a page that is read again, after the first read.
    pub time: Nanos,
}

/// Whether a page could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The contents are right.
    Clean,
    /// Its program failed: no one knows whether there is anything to be read.
    Failed,
    /// The medium does not give it.
    Unanswered,
    /// Another page arrived than was asked for, or an erased one.
    Astray,
    /// It was decoded: whether that succeeded, and whether it is to be written again.
    Decoded {
        /// Whether that succeeded.
        clean: bool,
        /// Whether the page is to be written again.
        rewrite: bool,
    },
}

impl Verdict {
    /// Whether the contents are right.
    #[inline]
    pub fn outcome(self) -> ReadOutcome {
        match self {
            Verdict::Clean | Verdict::Decoded { clean: true, .. } => ReadOutcome::Clean,
            _ => ReadOutcome::Uncorrectable,
        }
    }
}

/// Result of decoding the codewords of a page.
#[derive(Clone, Copy, Debug)]
struct Words {
    decoded: Decoded,
    /// Codewords that came back wrong, and only their checksum says so.
    miscorrected: u32,
    /// Codewords that the curve lets decode and the decoder does not.
    disagreed: u32,
    /// Whether a codeword came back wrong and its checksum did not tell.
    undetected: bool,
    /// Time in the decoder, of all reads of the page.
    time: Nanos,
    /// Of this, after the first read.
    first: Nanos,
}

impl Default for Words {
    fn default() -> Self {
        let decoded = Decoded { codewords: 0, errors: 0, failed: 0 };
        Self { decoded, miscorrected: 0, disagreed: 0, undetected: false, time: Nanos(0), first: Nanos(0) }
    }
}

/// Whether a controller compares the OOB bytes of a read with what it expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compares {
    /// It compares: another page is noticed.
    Yes,
    /// It takes what comes (a broken drive, for tests).
    No,
}

/// A page that is read.
struct ReadPage<'a, O> {
    command: &'a Command<O>,
    die: DieId,
    /// Number of its program.
    sequence: u64,
    t: Capability,
    cells: PageCells,
}

impl<O> ReadPage<'_, O> {
    /// Codeword `word` of slot `slot`; each slot has `per_slot` codewords.
    fn word(&self, slot: u8, word: u32, per_slot: u32) -> StoredWord {
        self.numbered(u32::from(slot) * per_slot + word)
    }

    /// The OOB bytes of the page.
    fn oob(&self) -> StoredWord {
        self.numbered(StoredWord::OOB)
    }

    fn numbered(&self, number: u32) -> StoredWord {
        StoredWord { die: self.die, ppn: self.command.ppn, sequence: self.sequence, number }
    }
}

/// A codeword with the errors that were drawn for it.
struct DrawnWord {
    slot: u8,
    /// Its number in the slot.
    word: u32,
    errors: u32,
    /// Its place in the distribution of outcomes of LDPC codes, from 0 to 1.
    luck: f64,
}

impl<P: HostPayload, A: FlashArray<P>, O: Copy + Default> Device<P, A, O> {
    /// Reads the page of a command and decodes it.
    #[inline(always)]
    pub fn sense(&mut self, command: &Command<O>, compares: Compares) -> Sensed {
        let at_once = |verdict| Sensed { verdict, time: Nanos(0) };
        if !self.losses.failed_programs.is_empty() && self.losses.failed_programs.contains_key(&command.ppn.0) {
            self.record(Fact::Read { ppn: command.ppn.0, cause: command.cause });
            return at_once(Verdict::Failed);
        }
        let answered = self.array.read(command.ppn) == ReadOutcome::Clean;
        self.record(Fact::Read { ppn: command.ppn.0, cause: command.cause });
        if !self.losses.remembered.is_empty() && self.losses.remembered.contains(&command.ppn) {
            return at_once(Verdict::Clean);
        }
        if !answered {
            return at_once(Verdict::Unanswered);
        }
        if self.is_astray(command.ppn) && compares == Compares::Yes {
            self.record(Fact::Astray);
            return at_once(Verdict::Astray);
        }
        if self.is_gathered(command.ppn) {
            return at_once(Verdict::Clean);
        }
        if self.ecc.is_some() { self.sense_and_decode(command) } else { at_once(Verdict::Clean) }
    }

    #[inline(never)]
    fn sense_and_decode(&mut self, command: &Command<O>) -> Sensed {
        let mut ecc = self.ecc.take().expect("only a page with a code is decoded");
        let sensed = self.decode(&mut ecc, command);
        self.ecc = Some(ecc);
        sensed
    }

    /// Whether the OOB bytes that arrived are not those of the page: they name logical pages and the rank of
    /// the program, and the controller knows both. A controller compares with every read, while the data come
    /// in; only an array with such faults can give anything to find.
    fn is_astray(&self, ppn: Ppn) -> bool {
        match self.array.arrived() {
            Arrived::AsAsked => false,
            Arrived::Erased => true,
            Arrived::Other(other) => {
                let (came, wanted) = (self.array.page(other), self.array.page(ppn));
                (came.tags, came.oob.sequence) != (wanted.tags, wanted.oob.sequence)
            }
        }
    }

    /// Decodes what was read. A page that cannot be decoded is to be rewritten where a scheme brings its
    /// contents back; where none does, a later read may still succeed, unless errors are persistent.
    fn decode(&mut self, ecc: &mut PageEcc, command: &Command<O>) -> Sensed {
        let ppn = command.ppn;
        let view = self.array.page(ppn);
        let info = *self.array.block(self.grid.split(ppn).0);
        let (t, sequence) = (view.oob.ecc, view.oob.sequence);
        let cells = ecc.cells.page_at(ppn, &info, sequence, view.written, self.now);
        let page = ReadPage { command, die: self.grid.die_of(ppn), sequence, t, cells };
        let unreadable = Verdict::Decoded { clean: false, rewrite: ecc.rewrites.unreadable };
        let Words { decoded, miscorrected, disagreed, undetected, time, first } = if ecc.ladder.is_on() {
            self.climb(ecc, &page)
        } else {
            let rber = ecc.cells.rber_with(&page.cells, 0.0);
            if !ecc.oob_is_readable(&page.oob(), rber) {
                // Not even how the page is encoded can be told.
                self.record(Fact::Decoded { codewords: 0, errors: 0, failed: 1, miscorrected: 0, disagreed: 0, time: Nanos(0) });
                return Sensed { verdict: unreadable, time: Nanos(0) };
            }
            let mut words = Words::default();
            self.decode_words(ecc, &page, rber, &mut words);
            Words { first: words.time, ..words }
        };
        if undetected {
            // In a drive these would be wrong bytes. Here the page counts as unreadable besides.
            self.record(Fact::Checked { mismatch: true });
        }
        let Decoded { codewords, errors, failed } = decoded;
        self.record(Fact::Decoded { codewords, errors, failed, miscorrected, disagreed, time });
        let advice = ecc.policy.read(
            ppn,
            &Profile { capability: t, pe: PeCycles(info.pe), hours: page.cells.stress.retention_hours },
            decoded,
        );
        let rewrite = advice == Advice::Rewrite && ecc.rewrites.on_advice;
        let verdict = if failed > 0 { unreadable } else { Verdict::Decoded { clean: true, rewrite } };
        Sensed { verdict, time: first }
    }

    /// Reads a page step by step until it is decoded, or nothing is left to try. Reads after the first are planned.
    fn climb(&mut self, ecc: &mut PageEcc, page: &ReadPage<'_, O>) -> Words {
        let (command, ppn, t) = (page.command, page.command.ppn, page.t);
        let block = self.block_of(ppn);
        let first = ecc.ladder.first_entry(&ecc.cells, &page.cells, ppn, block, page.sequence);
        let rate = |ecc: &PageEcc, entry| ecc.cells.rber_with(&page.cells, ecc.cells.model().entry(entry));
        let mut words = Words::default();
        let mut best = (rate(ecc, first), first);
        ecc.ladder.begin();
        self.decode_words(ecc, page, best.0, &mut words);
        words.first = words.time;
        self.step(&mut ecc.ladder, command, Step::Hard, words.time);
        let (mut ended, mut retries) = (None, 0);
        if ecc.ladder.open.is_empty() && ecc.oob_is_readable(&page.oob(), best.0) {
            ended = Some(Step::Hard);
        }
        for entry in ecc.ladder.entries_after(first) {
            if ended.is_some() {
                break;
            }
            let rber = rate(ecc, entry);
            best = if rber < best.0 { (rber, entry) } else { best };
            retries += 1;
            let time = self.decode_open(ecc, page, WordRead { t, rber, stage: Stage::Hard }, &mut words);
            self.step(&mut ecc.ladder, command, Step::Retry, time);
            if ecc.ladder.open.is_empty() && ecc.oob_is_readable(&page.oob(), rber) {
                (ended, best) = (Some(Step::Retry), (rber, entry));
            }
        }
        let finest = if ecc.is_ldpc() { ecc.ladder.soft_bits } else { 1 };
        let soft = [(2, Step::Soft2, Stage::TwoBit), (3, Step::Soft3, Stage::ThreeBit)];
        for (_, step, stage) in soft.into_iter().filter(|(bits, ..)| *bits <= finest) {
            if ended.is_none() {
                let time = self.decode_open(ecc, page, WordRead { t, rber: best.0, stage }, &mut words);
                self.step(&mut ecc.ladder, command, step, time);
                ended = ecc.ladder.open.is_empty().then_some(step);
            }
        }
        if ended.is_some() {
            ecc.ladder.remember(block, best.1);
        }
        self.record(Fact::LadderEnded { step: ended, retries });
        // Where all codewords are right, the out-of-band bytes are what cannot be read.
        words.decoded.failed = if ended.is_some() { 0 } else { ecc.ladder.open.len().max(1) as u32 };
        words
    }

    /// Decodes all codewords of a page that arrived.
    fn decode_words(&mut self, ecc: &mut PageEcc, page: &ReadPage<'_, O>, rber: f64, words: &mut Words) {
        let (command, per_slot) = (page.command, ecc.layout.per_slot);
        let (bits, read) = (ecc.layout.codeword.bits(page.t), WordRead { t: page.t, rber, stage: Stage::Hard });
        for slot in command.first..command.first + command.count {
            for word in 0..per_slot {
                let stored = page.word(slot, word, per_slot);
                let errors = ecc.cells.errors(&stored, bits, rber);
                let luck = ecc.luck_of(&stored);
                let drawn = DrawnWord { slot, word, errors, luck };
                let failed = self.decode_word(ecc, page, &read, drawn, words);
                words.decoded.codewords += 1;
                words.decoded.failed += u32::from(failed);
                if failed && ecc.ladder.is_on() {
                    ecc.ladder.open.push(OpenWord { slot, word, deviates: PageEcc::deviation(bits, rber, errors), luck });
                }
            }
        }
    }

    /// Decodes what is not decoded yet of a page that was read again: the time it takes.
    fn decode_open(&mut self, ecc: &mut PageEcc, page: &ReadPage<'_, O>, read: WordRead, words: &mut Words) -> Nanos {
        let (bits, before) = (ecc.layout.codeword.bits(read.t), words.time);
        let mut open = std::mem::take(&mut ecc.ladder.open);
        open.retain(|word| {
            let errors = if ecc.cells.are_persistent() {
                ecc.cells.errors(&page.word(word.slot, word.word, ecc.layout.per_slot), bits, read.rber)
            } else {
                word.errors(bits, read.rber)
            };
            let drawn = DrawnWord { slot: word.slot, word: word.word, errors, luck: word.luck };
            self.decode_word(ecc, page, &read, drawn, words)
        });
        ecc.ladder.open = open;
        Nanos(words.time.0 - before.0)
    }

    /// Decodes a codeword with the errors that were drawn for it. Whether that fails.
    fn decode_word(
        &self,
        ecc: &mut PageEcc,
        page: &ReadPage<'_, O>,
        read: &WordRead,
        drawn: DrawnWord,
        words: &mut Words,
    ) -> bool {
        let DrawnWord { slot, word, errors, luck } = drawn;
        let (t, at) = (read.t, page.word(slot, word, ecc.layout.per_slot));
        let bits = ecc.layout.codeword.bits(t);
        let stored = || self.array.payload(page.command.ppn).get(usize::from(slot)).and_then(P::bytes);
        if errors == 0 && !ecc.is_ldpc() {
            // It is as it was encoded: nothing is looked at.
            words.time += ecc.decode_time(t, 0);
            return false;
        }
        let (failed, found) = if let Some((failed, time)) = ecc.decode_ldpc(read, errors, luck) {
            // The curve decides whatever pages carry, so that this changes no event; the decoder is checked against it.
            words.time += time;
            if P::BYTES && !failed {
                let positions = ecc.cells.positions(&at, bits, errors);
                words.disagreed += u32::from(!ecc.codec.corrects(read, stored(), word, &positions, &mut ecc.sureness));
            }
            (failed, if failed { Word::Failed } else { Word::Corrected })
        } else {
            let failed = errors > u32::from(t.0);
            let found = if P::BYTES {
                let positions = ecc.cells.positions(&at, bits, errors);
                ecc.codec.decode(t, stored(), word, &positions)
            } else if failed && ecc.miscorrections.chance(ecc.codec.miscorrects(t)) {
                Word::Miscorrected
            } else {
                Word::Failed
            };
            words.time += ecc.decode_time(t, errors);
            (failed, found)
        };
        words.miscorrected += u32::from(failed && found == Word::Miscorrected);
        words.undetected |= found == Word::Undetected;
        words.decoded.errors += if failed { 0 } else { errors };
        failed
    }

    /// Time that a command's page is encoded before it is sent.
    #[inline]
    pub fn encode_time(&self, verb: Verb) -> Nanos {
        match (&self.ecc, verb) {
            (Some(ecc), Verb::Program | Verb::Recharge) => ecc.encode_time(self.grid.slots_per_page()),
            _ => Nanos(0),
        }
    }

    /// How strong a code the page of a program gets now. The drive's own pages always have the strongest: nothing but the
    /// medium brings them back.
    #[inline]
    pub fn capability_of(&mut self, command: &Command<O>) -> Capability {
        match &self.ecc {
            Some(ecc) if command.cause == Cause::Meta => ecc.policy.strongest(),
            _ => self.capability(command.ppn),
        }
    }

    /// How strong a code the page gets if it is programmed now.
    pub fn capability(&mut self, ppn: Ppn) -> Capability {
        let pe = PeCycles(self.array.block(self.grid.split(ppn).0).pe);
        self.ecc.as_mut().map_or(Capability(0), |ecc| ecc.policy.program(ppn, pe))
    }
}
