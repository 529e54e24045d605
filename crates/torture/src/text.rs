//! Scenarios as text that a reader can follow.

use crate::flows;
use crate::run::{Happened, Outcome};
use crate::scenario::{Scenario, Strike, When, die_of};
use ssd::nand::{EraseFate, Pairing, Partners, ProgramFate};
use ssd::{BufferKind, Drive, Failure, Fate, FlowClock, MemoryLoss, Pace, RefreshPolicy};
use std::fmt::Write as _;
use vocab::{DieId, Fua, HostCommand, HostOp, Nanos};

impl Scenario {
    /// Drive, requests, and what happened when.
    #[must_use]
    pub fn to_text(&self, outcome: &Outcome) -> String {
        let mut text = self.drive_text();
        for (number, round) in self.rounds.iter().enumerate() {
            let happened = outcome.happened.get(number).map_or(&[][..], Vec::as_slice);
            if happened.is_empty() && outcome.violation.as_ref().is_some_and(|(broken, _)| *broken < number) {
                break;
            }
            let _ = writeln!(text, "round {}, requests: {}", number + 1, round.commands.len());
            let sectors = self.setup.drive.geometry.sectors_per_slot();
            for line in wrapped(round.commands.iter().map(|command| self.command_text(command, sectors))) {
                let _ = writeln!(text, "  {line}");
            }
            for (stop, happened) in round.stops.iter().zip(happened) {
                let _ = writeln!(text, "  {} events later{} {}", stop.after, waited_text(&stop.strike), happened_text(happened));
            }
            let _ = writeln!(text, "  then the drive becomes idle and everything is read back");
        }
        if let Some((number, violation)) = &outcome.violation {
            let _ = writeln!(text, "broken in round {}: {violation}", number + 1);
        }
        text
    }

    /// The request, and whether it is of the second flow.
    fn command_text(&self, command: &HostCommand, sectors_per_page: u32) -> String {
        let is_second = flows::is_of_second(self, command);
        let has_times = if is_second { self.second == Some(FlowClock::Times) } else { self.pace == Pace::Open };
        let of = if is_second { "second: " } else { "" };
        format!("{of}{}", command_text(command, has_times, sectors_per_page))
    }

    fn drive_text(&self) -> String {
        let (setup, geometry) = (&self.setup, &self.setup.drive.geometry);
        let mut text = format!(
            "scheme {}\ndies {}, channels {}, blocks per die {}, pages per block {}, logical pages per page {}, logical pages for the host {}\n",
            setup.scheme,
            geometry.dies(),
            geometry.channels,
            geometry.blocks_per_die(),
            geometry.pages_per_block,
            geometry.slots_per_page(),
            setup.user_slots,
        );
        let _ = match setup.buffer.kind {
            BufferKind::Off => writeln!(text, "buffer none"),
            kind => {
                let kind = if kind == BufferKind::Volatile { "volatile" } else { "plp" };
                writeln!(text, "buffer {kind}, {}", setup.buffer.size)
            }
        };
        text += &units_and_modes(&setup.drive);
        let pairing = match setup.power.pairing {
            Pairing::Alone => "pages have cells of their own".into(),
            pairing => format!("pages share cells, {pairing:?}"),
        };
        let hold_up = if setup.power.hold_up { ", programs end on stored energy" } else { "" };
        let _ = writeln!(text, "power {pairing}{hold_up}");
        let history = &setup.precondition;
        let _ = writeln!(
            text,
            "history filled to {:.3}, overwritten {:.3} times at most; seed {}",
            history.fill, history.overwrite_at_most, setup.seed
        );
        let pace = match self.pace {
            Pace::Open => "at times of their own".into(),
            Pace::Closed { depth } => format!("{depth} at a time"),
        };
        let pace = pace + &self.second.map_or_else(String::new, |clock| format!(", beside a second flow {}", clock_text(clock)));
        let (gc, aside) = (&setup.gc, if setup.gc.moves_during_erase { ", moves during erases" } else { "" });
        let _ = writeln!(
            text,
            "requests {pace}; scheduler {:?}; payload {:?}; victims {}, {} write pointer for moves, idle GC below {}{aside}",
            setup.scheduler,
            setup.payload,
            gc.policy,
            if gc.separate_write_pointer { "own" } else { "no own" },
            gc.idle_free_blocks,
        );
        if setup.ecc.policy != "none" || setup.errors.model != "none" || setup.refresh.policy != RefreshPolicy::None {
            let (policy, refresh) = (&setup.ecc.policy, setup.refresh.policy);
            let _ = writeln!(
                text,
                "page ECC {policy}, errors {}, refresh {refresh:?}, {} cycles",
                setup.errors.model, setup.age.pe_cycles.0
            );
        }
        if let Some(lived) = &self.lived {
            let _ = writeln!(text, "{}", lived.text());
        }
        if setup.faults.silent > 0.0 {
            let _ = writeln!(text, "share of reads that return another page {}", setup.faults.silent);
        }
        if setup.faults.wear_out > 0.0 {
            let _ = writeln!(text, "blocks wear out, each command by {} likelier than the one before", setup.faults.wear_out);
        }
        if setup.age.bad_blocks > 0.0 || setup.faults.uncorrectable_reads > 0.0 {
            let (bad, reads) = (setup.age.bad_blocks, setup.faults.uncorrectable_reads);
            let _ = writeln!(text, "share of bad blocks {bad}, of reads that fail {reads}");
        }
        text
    }
}

/// How a drive programs several pages together, and its SLC cache; nothing where it has neither.
fn units_and_modes(drive: &Drive) -> String {
    let mut text = String::new();
    if let Some(unit) = drive.timing.unit {
        let suspends = if drive.timing.suspend.is_some() { ", programs and erases give way to reads" } else { "" };
        let _ = writeln!(text, "{} pages a program, gathered in PLP memory{suspends}", unit.pages());
    }
    let slc = &drive.slc;
    if slc.is_on() {
        let (mode, fold, full) = (slc.mode, slc.fold, slc.full);
        let _ = writeln!(text, "SLC cache {mode:?}, {} blocks a die, fold {fold:?}, full {full:?}", slc.blocks);
    }
    text
}

/// Pieces in lines of a readable length.
fn wrapped(pieces: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if line.len() + piece.len() < 110 => {
                line.push_str("; ");
                line.push_str(&piece);
            }
            _ => lines.push(piece),
        }
    }
    lines
}

/// When the requests of the second flow come.
fn clock_text(clock: FlowClock) -> String {
    let FlowClock::Queue { depth, delay, think, .. } = clock else { return "at times of its own".into() };
    let delay = if delay == Nanos(0) { String::new() } else { format!(", {} us later", delay.0 / 1000) };
    let think = think.map_or_else(String::new, |think| format!(", {} us of pause each {}", think.pause.0 / 1000, think.every));
    format!("{depth} at a time{delay}{think}")
}

fn command_text(command: &HostCommand, has_times: bool, sectors_per_page: u32) -> String {
    let at = if has_times { format!("{} us ", command.at.0 / 1000) } else { String::new() };
    let op = match command.op {
        HostOp::Read => "read",
        HostOp::Write(Fua::No) => "write",
        HostOp::Write(Fua::Yes) => "write, forced,",
        HostOp::Discard => "discard",
        HostOp::Flush => return format!("{at}flush"),
    };
    let (first, per) = (command.lba.0, u64::from(sectors_per_page));
    let end = first + u64::from(command.sectors);
    if !first.is_multiple_of(per) || !end.is_multiple_of(per) {
        return format!("{at}{op} sectors {first} to {}", end - 1);
    }
    match (first / per, end / per - 1) {
        (first, last) if first == last => format!("{at}{op} page {first}"),
        (first, last) => format!("{at}{op} pages {first} to {last}"),
    }
}

fn waited_text(strike: &Strike) -> &'static str {
    match strike {
        Strike::Loss { when, .. } => when_text(*when),
        Strike::Cut(..) | Strike::Replace => "",
    }
}

pub(super) fn when_text(when: When) -> &'static str {
    match when {
        When::Recovered => ", when the drive has recovered,",
        When::Whole => ", when all is rebuilt,",
        When::AtOnce => "",
    }
}

fn happened_text(happened: &Happened) -> String {
    match happened {
        Happened::Cut(commands, lost) if commands.is_empty() => {
            format!("the power goes, while no die writes{}", lost_text(*lost))
        }
        Happened::Cut(commands, lost) => {
            let each: Vec<String> = commands.iter().map(|&(begun, fate)| fate_text(die_of(begun), fate)).collect();
            format!("the power goes: {}{}", each.join(", "), lost_text(*lost))
        }
        Happened::Loss(Some(Failure::Die(die))) => format!("{die} dies"),
        Happened::Loss(Some(Failure::Block(block))) => format!("{block} is lost"),
        Happened::Loss(Some(Failure::Page(page))) => format!("{page} is lost"),
        Happened::Loss(Some(Failure::Plane { die, plane })) => format!("plane {plane} of {die} is lost"),
        Happened::Loss(Some(Failure::WordLine(page))) => format!("the word line of {page} is lost"),
        Happened::Loss(Some(Failure::WornOut(block))) => format!("{block} takes nothing any more"),
        Happened::Loss(None) => "nothing is lost".into(),
        Happened::Replaced(Some(die)) => format!("a spare die takes the place of {die}"),
        Happened::Replaced(None) => "no die is replaced".into(),
    }
}

fn lost_text(lost: MemoryLoss) -> String {
    let of = [(lost.buffer, "buffer"), (lost.sums, "sums"), (lost.reads, "counts of reads"), (lost.checkpoint, "checkpoint")];
    let gone: Vec<&str> = of.into_iter().filter(|(gone, _)| *gone).map(|(_, name)| name).collect();
    if gone.is_empty() { String::new() } else { format!("; memory lost: {}", gone.join(", ")) }
}

pub(super) fn fate_text(die: DieId, fate: Fate) -> String {
    let took = |partners| if partners == Partners::Torn { " and took its partners along" } else { "" };
    let fate = match fate {
        Fate::Program(ProgramFate::NotBegun) => "program not begun".into(),
        Fate::Program(ProgramFate::Blank) => "program left its page blank".into(),
        Fate::Program(ProgramFate::Torn(partners)) => format!("program torn{}", took(partners)),
        Fate::Program(ProgramFate::Weak { reads, partners }) => {
            format!("program weak, readable {reads} times{}", took(partners))
        }
        Fate::Program(ProgramFate::Ended) => "program ended".into(),
        Fate::Erase(EraseFate::NotBegun) => "erase not begun".into(),
        Fate::Erase(EraseFate::Unchanged) => "half an erase, pages unchanged".into(),
        Fate::Erase(EraseFate::Mixed { .. }) => "half an erase, pages mixed".into(),
        Fate::Erase(EraseFate::Blank) => "half an erase, pages blank".into(),
        Fate::Erase(EraseFate::Ended) => "erase ended".into(),
    };
    format!("{die} {fate}")
}
