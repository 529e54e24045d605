//! Garbage collection: a collector for each log reads the valid pages of a victim, has them moved,
//! and erases the victim once nothing depends on it.

use crate::care::{Care, DriveIs};
use crate::core::flash::FlashPayload;
use crate::core::owner::Owner;
use crate::core::{Command, Core};
use crate::rules::SafetyRule;
use crate::write::Writer;
use device::command::Verb;
use ftl::{LogKind, UnitId, UnitState};
use nand::{FlashArray, OobTag, PageRole};
use vocab::{BlockAddr, Cause, DieId, Ppn, Slot, StripeId, SuperblockId};

/// The collector of one log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collector {
    pub victim: Option<UnitId>,
    /// Next page of the victim to look at; of a superblock, counted row by row.
    cursor: u32,
    /// The victim before, or this one, whose pages have all moved: its blocks are being erased. And why it was collected.
    emptied: Option<(UnitId, Cause)>,
    /// Erases of `emptied` under way.
    erasing: u32,
    /// The log's die is dead.
    pub halted: bool,
    /// A page of the victim found no room: bad blocks ate the reserve.
    pub stuck: bool,
    /// Victims erased since anything was written for the host, or the log had as many free units as it is to have.
    fruitless: u32,
}

impl Collector {
    pub fn is_busy(&self) -> bool {
        self.victim.is_some() || self.emptied.is_some()
    }

    pub fn is_erasing(&self) -> bool {
        self.erasing > 0
    }

    /// Whether it erases this unit.
    pub fn erases(&self, unit: UnitId) -> bool {
        self.emptied.is_some_and(|(emptied, _)| emptied == unit)
    }

    /// Whether it moves or erases a unit for this reason; `moving` is why it moves its victim.
    pub fn works_for(&self, cause: Cause, moving: Cause) -> bool {
        self.victim.is_some() && moving == cause || self.emptied.is_some_and(|(_, of)| of == cause)
    }

    /// Its victim, if nothing of that is valid any more and only a pin keeps it from being erased.
    pub fn waits_for_a_pin<P: FlashPayload>(&self, core: &Core<P>, log: usize) -> Option<UnitId> {
        let is_pinned = |unit: &UnitId| core.map.unit(*unit).valid == 0 && core.map.unit(*unit).pins > 0;
        self.victim.filter(is_pinned).filter(|_| self.erasing == 0 && !self.halted && core.moving[log].under_way == 0)
    }

    /// Whether it has nothing to do and could take a victim now.
    pub fn is_free(&self) -> bool {
        !self.is_busy() && !self.halted
    }
}

/// Next victim of a log's collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextVictim {
    /// Nothing.
    None,
    /// This unit, which is condemned already.
    Condemned(UnitId, Cause),
    /// This unit, a superblock that is still being written: its rows have to be ended first.
    CloseFirst(UnitId, Cause),
}

/// How far a GC run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collecting {
    /// It waits for reads, programs or erases, or there is nothing to collect.
    Waits,
    /// The next page is the host's open one: it has to be sent before it can be read. Then GC goes on.
    SendOpenPage,
    /// All pages of this victim were read, and what was put into pages is in flash.
    AllRead(UnitId),
}

/// Next use of a unit whose last erase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterErase {
    Reuse,
    /// The erase failed.
    Retire,
}

impl<P: FlashPayload> Care<P> {
    /// The log's next victim: one that is wanted, where there is room for what it may hold, or
    /// the policy's choice.
    pub fn next_victim(&mut self, core: &mut Core<P>, writer: &Writer<P>, drive: DriveIs, log: usize) -> NextVictim {
        // Units that a mount found unneeded only have to be erased. They come before all others.
        let dirty = core.map.condemn_dirty(log);
        if dirty.is_some() || drive == DriveIs::Mounting {
            return gc(dirty);
        }
        if core.is_mountable() && !self.commits_have_room(core, writer) {
            // Cuts may have left write pointers with hardly anything in them: what they waste comes first.
            return gc(core.map.condemn_unpinned(log));
        }
        if core.is_mountable() && core.map.free_units(log) == 0 {
            // Cuts in a row took the unit that GC moves pages to. The open one may have no room for all that the
            // policy's choice holds, which would then be read and wait for ever: first the unit that needs the least room.
            let least = core.map.condemn_unpinned(log);
            if least.is_some() {
                return gc(least);
            }
        }
        if core.map.free_units(log) > 1 {
            let wanted = self.condemn_wanted(core, writer, log);
            if wanted != NextVictim::None {
                return wanted;
            }
        }
        // Folding takes room, so GC that gains some comes first.
        let must_fold = core.map.has_slc() && core.map.must_fold(log);
        if must_fold
            && !core.map.lacks_free(log)
            && let Some(unit) = core.map.condemn_slc(log)
        {
            return NextVictim::Condemned(unit, Cause::Fold);
        }
        if let Some((unit, for_wear)) = core.map.condemn(log) {
            let cause = match for_wear {
                true => Cause::WearLevel,
                false if core.map.is_slc(unit) => Cause::Fold,
                false => Cause::Gc,
            };
            return NextVictim::Condemned(unit, cause);
        }
        if must_fold && let Some(unit) = core.map.condemn_slc(log) {
            return NextVictim::Condemned(unit, Cause::Fold);
        }
        if core.map.free_units(log) > 0 { self.condemn_wanted(core, writer, log) } else { NextVictim::None }
    }

    /// Whether parity that GC may come to wait for finds room on any die.
    pub fn commits_have_room(&self, core: &Core<P>, writer: &Writer<P>) -> bool {
        writer.commits_have_room(core, |log| !self.collectors[log].halted)
    }

    /// The stripe that has to get parity before this page of a victim moves.
    #[inline]
    pub fn must_build_first(&self, core: &mut Core<P>, writer: &Writer<P>, log: usize, tag: OobTag) -> Option<StripeId> {
        let stripe = writer.lacks_parity_to_move(core, log, tag)?;
        // Power cuts may have eaten the room that the parity needs: it is built once there is some.
        let has_room = !core.is_mountable() || self.commits_have_room(core, writer);
        has_room.then_some(stripe)
    }

    /// Condemns the first wanted unit of the log; an open one, which is closed for that, only
    /// where others are left to write to. Units collected in the meantime are wanted no more.
    fn condemn_wanted(&mut self, core: &mut Core<P>, writer: &Writer<P>, log: usize) -> NextVictim {
        // A segment seldom has two: what is in the open block moves to the last one, and the host waits in the meantime.
        let is_segment = core.limits.is_on() && writer.facts.has_segments;
        let may_close = core.map.free_units(log) > if is_segment { 0 } else { 1 };
        let mut at = 0;
        while let Some(&(unit, cause)) = self.wanted.get(at) {
            let is_open = core.map.unit(unit).state == UnitState::Open;
            if core.map.log_of(unit) != log || is_open && !may_close || writer.lacks_room_for(core, unit) {
                at += 1;
                continue;
            }
            self.wanted.remove(at);
            if is_open {
                return NextVictim::CloseFirst(unit, cause);
            }
            if core.map.condemn_unit(unit) {
                return NextVictim::Condemned(unit, cause);
            }
        }
        NextVictim::None
    }

    /// Whether the log's collector could take a victim now: it has none, and the last one is erased. Where that is set, the
    /// way of writing lets GC move pages beside an erase, and a write waits for room, it takes a victim if the log would be short with the last one
    /// erased, too, and has a unit for the pages.
    pub fn may_take_victim(&self, core: &Core<P>, writer: &Writer<P>, write_waits: bool, log: usize) -> bool {
        let collector = &self.collectors[log];
        let beside_erase = || {
            let is_wanted = self.moves_during_erase && writer.facts.collects_beside_erases;
            let may_gain = is_wanted && write_waits && core.device.timed;
            may_gain && core.map.free_units(log) > 0 && core.map.lacks_free_beside(log, 1)
        };
        collector.victim.is_none() && !collector.halted && (collector.emptied.is_none() || beside_erase())
    }

    /// The collector takes a condemned victim.
    pub fn begin(&mut self, core: &mut Core<P>, log: usize, victim: UnitId, cause: Cause) {
        let collector = &mut self.collectors[log];
        (collector.victim, collector.cursor, collector.stuck) = (Some(victim), 0, false);
        core.moving[log].cause = cause;
    }

    /// Page moves that the log's collector may have under way.
    #[inline]
    fn moves_at_most(&self, core: &Core<P>, log: usize, victim: UnitId) -> u32 {
        let cause = core.moving[log].cause;
        match core.map.kind() {
            _ if cause == Cause::Rebuild => self.rebuild.at_once,
            _ if crate::care::limits::hurries(core, victim, cause) => victim_pages(core),
            LogKind::Regions => self.moves_in_flight,
            // One collector serves all dies, and a die programs no sooner than a unit of its pages is there.
            LogKind::Group => self.moves_in_flight.max(core.device.latencies.unit.pages()) * core.device.grid.dies(),
        }
    }

    /// Whether GC gains nothing, however often it moves what is there: narrow rows take more room for their parity than
    /// the wide ones that they replace. Each victim should gain a page, so that as many as the log has pages fill it.
    pub fn gains_nothing(&self, core: &Core<P>, log: usize) -> bool {
        !self.host_wrote && self.collectors[log].fruitless > core.device.grid.blocks_per_die() * victim_pages(core)
    }

    /// Advances the log's GC as far as it goes without waiting.
    #[inline(always)]
    pub fn collect(&mut self, core: &mut Core<P>, writer: &Writer<P>, log: usize) -> Collecting {
        let collector = &self.collectors[log];
        let Some(victim) = collector.victim.filter(|_| !collector.halted) else { return Collecting::Waits };
        let at_most = self.moves_at_most(core, log, victim);
        let under_way = core.moving[log].under_way;
        if under_way > 0 && under_way >= at_most {
            return Collecting::Waits;
        }
        self.read_on(core, writer, log, victim, at_most)
    }

    /// Reads the next pages of the victim, up to this many moves under way.
    fn read_on(&mut self, core: &mut Core<P>, writer: &Writer<P>, log: usize, victim: UnitId, at_most: u32) -> Collecting {
        let pages = victim_pages(core);
        let collector = &mut self.collectors[log];
        // Nothing valid is left to be found: spare the walk over the rest of the victim.
        if core.map.unit(victim).valid == 0 {
            collector.cursor = pages;
        }
        while core.moving[log].under_way < at_most && collector.cursor < pages {
            if core.map.kind() == LogKind::Regions {
                collector.cursor = next_valid_page(core, victim, collector.cursor);
                if collector.cursor == pages {
                    break;
                }
            }
            let ppn = victim_page(core, victim, collector.cursor);
            let valid = valid_slots(core, ppn);
            if valid > 0 && !core.device.is_displaced(ppn) {
                if writer.is_open_and_unsent(core, ppn) {
                    return Collecting::SendOpenPage;
                }
                read_to_move(core, log, ppn, valid);
            }
            collector.cursor += 1;
        }
        if collector.cursor < pages || core.moving[log].under_way > 0 {
            return Collecting::Waits;
        }
        // Nothing in the open page is needed any more, so that no read asked for it.
        let is_program_due = !core.device.timed && writer.has_unsent_page_in(core, victim);
        if is_program_due { Collecting::SendOpenPage } else { Collecting::AllRead(victim) }
    }

    /// All pages of the victim were read, and what waited to fill a page was sent. Erases the victim if nothing
    /// depends on it any more.
    pub fn erase_if_free(&mut self, core: &mut Core<P>, log: usize, victim: UnitId) {
        if !core.map.may_erase(victim) || core.moving[log].under_way > 0 || self.collectors[log].erasing > 0 {
            self.give_up_if_stuck(core, log, victim);
            return;
        }
        let cause = core.moving[log].cause;
        self.collectors[log].emptied = self.collectors[log].victim.take().map(|unit| (unit, cause));
        let superblock = matches!(core.map.kind(), LogKind::Group).then_some(victim);
        let is_of_victim = |block: &BlockAddr| Some(core.device.grid.split_block(*block).1.0) == superblock;
        let bad: Vec<BlockAddr> = self.damage.uncleared.iter().copied().filter(is_of_victim).collect();
        self.damage.uncleared.retain(|block| !bad.contains(block));
        for block in core.map.blocks_of(victim).chain(bad) {
            self.collectors[log].erasing += 1;
            core.safe.erasing.insert(block, false);
            if !core.breaks(SafetyRule::StrikeOut)
                && let Some(checkpoint) = &mut core.safe.checkpoint
            {
                checkpoint.strike_out(block);
            }
            let (owner, ppn) = (Owner::Erase { log: log as u16 }, core.device.grid.ppn(block, 0));
            core.submit(Command { owner, ppn, verb: Verb::Erase, cause, ..Command::default() });
        }
    }

    /// Spares a victim whose last pages found no room; it is wanted again once there is some.
    fn give_up_if_stuck(&mut self, core: &mut Core<P>, log: usize, victim: UnitId) {
        let collector = &mut self.collectors[log];
        if collector.stuck && core.moving[log].under_way == 0 && core.map.unit(victim).valid > 0 {
            (collector.victim, collector.stuck) = (None, false);
            core.map.reprieve(victim);
            self.queue_wanted(victim, core.moving[log].cause);
        }
    }

    /// The erase of a block of the victim ended. The victim, if that was the last; it is free then, or retired.
    pub fn block_erased(&mut self, core: &mut Core<P>, log: usize, then: AfterErase) -> Option<UnitId> {
        let collector = &mut self.collectors[log];
        collector.erasing -= 1;
        if collector.erasing > 0 || collector.halted {
            return None;
        }
        let (victim, _) = collector.emptied.take().expect("an erase belongs to a victim");
        self.replacements.unit_emptied(victim);
        let ftl = &core.map;
        core.safe.erasing.retain(|&block, erased| !*erased || ftl.unit_of_block(block) != victim);
        if !core.device.losses.failed_programs.is_empty() {
            for cursor in 0..victim_pages(core) {
                let ppn = victim_page(core, victim, cursor);
                core.device.losses.failed_programs.remove(&ppn.0);
            }
        }
        match then {
            AfterErase::Reuse => {
                core.map.erased(victim);
                if core.map.has_slc() {
                    let pe = core.map.blocks_of(victim).map(|block| core.device.array.block(block).pe).max();
                    core.map.set_pe(victim, pe.unwrap_or(0));
                }
            }
            AfterErase::Retire => core.map.retire_unit(victim),
        }
        let has_enough = !core.map.is_short(log) && !self.wants_more_free(core, log);
        if std::mem::take(&mut self.host_wrote) {
            self.collectors.iter_mut().for_each(|collector| collector.fruitless = 0);
        }
        let collector = &mut self.collectors[log];
        collector.fruitless = if has_enough { 0 } else { collector.fruitless + 1 };
        Some(victim)
    }

    /// Whether the log's collector, which erased a victim just now, takes another at once.
    pub fn goes_on(&self, core: &Core<P>, log: usize) -> bool {
        let in_background = self.wants_more_free(core, log) && core.device.is_idle();
        core.map.is_short(log) || in_background || self.is_wanted(core, log)
    }

    /// Whether the log has fewer free units than it is to have on an idle drive.
    pub fn wants_more_free(&self, core: &Core<P>, log: usize) -> bool {
        core.map.free_units(log) < self.idle_free_blocks
    }

    /// Collectors that move the units, or wait for the erase of one of them, leave these when they find no room
    /// for their pages.
    pub fn collectors_of_are_stuck(&mut self, units: [UnitId; 2]) {
        let is_one = |collector: &&mut Collector| collector.victim.is_some_and(|unit| units.contains(&unit));
        self.collectors.iter_mut().filter(is_one).for_each(|collector| collector.stuck = true);
    }
}

/// A victim for garbage collection.
fn gc(unit: Option<UnitId>) -> NextVictim {
    unit.map_or(NextVictim::None, |unit| NextVictim::Condemned(unit, Cause::Gc))
}

/// Reads a page with this many valid slots, to be moved.
#[inline]
fn read_to_move<P: FlashPayload>(core: &mut Core<P>, log: usize, ppn: Ppn, valid: u32) {
    if core.device.is_programmed(ppn) {
        match core.device.array.tags(ppn).first().map(|tag| tag.role()) {
            Some(PageRole::Data(lpn)) => core.map.prefetch(lpn),
            Some(PageRole::Parity(stripe)) => core.map.prefetch_parity(stripe),
            _ => {}
        }
    }
    core.moving[log].under_way += 1;
    let (owner, cause) = (Owner::Collect { log: log as u16 }, core.moving[log].cause);
    core.submit(Command { owner, ppn, count: valid as u8, cause, ..Command::default() });
}

/// Pages of a victim in GC order.
fn victim_pages<P: FlashPayload>(core: &Core<P>) -> u32 {
    match core.map.kind() {
        LogKind::Regions => core.device.grid.pages_per_block(),
        LogKind::Group => core.device.grid.pages_per_block() * core.device.grid.dies(),
    }
}

#[inline]
fn victim_page<P: FlashPayload>(core: &Core<P>, victim: UnitId, cursor: u32) -> Ppn {
    let grid = &core.device.grid;
    match core.map.kind() {
        LogKind::Regions => grid.ppn(BlockAddr(victim), cursor),
        LogKind::Group => {
            let (page, die) = (cursor / grid.dies(), cursor % grid.dies());
            grid.ppn(grid.block(DieId(die as u16), SuperblockId(victim).0), page)
        }
    }
}

/// The first page with valid slots of a block that is collected, from page `from` on; the number of its pages where
/// there is none.
#[inline]
fn next_valid_page<P: FlashPayload>(core: &Core<P>, victim: UnitId, from: u32) -> u32 {
    let grid = &core.device.grid;
    let first = grid.slot(grid.ppn(BlockAddr(victim), 0), 0);
    let slot = |page| Slot(first.0 + page * grid.slots_per_page());
    let found = core.map.next_valid(slot(from)..slot(grid.pages_per_block())).0 - first.0;
    // Most drives have one slot in a page and need no division.
    if grid.slots_per_page() == 1 { found } else { found / grid.slots_per_page() }
}

#[inline]
fn valid_slots<P: FlashPayload>(core: &Core<P>, ppn: Ppn) -> u32 {
    let grid = &core.device.grid;
    if grid.slots_per_page() == 1 {
        return u32::from(core.map.is_valid(grid.slot(ppn, 0)));
    }
    (0..grid.slots_per_page()).filter(|&index| core.map.is_valid(grid.slot(ppn, index))).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::care::testing::Bench;
    use ftl::Stream;

    /// Log 0 with pages 0 to 3 in the first block, of which 0 and 2 are obsolete, and 4 to 7 in the second.
    fn bench(change: impl FnOnce(&mut crate::config::Setup)) -> (Bench, UnitId, UnitId) {
        let mut bench = Bench::new("none", change);
        bench.write(0, 0..8);
        let (first, second) = (bench.unit_of(0), bench.unit_of(4));
        bench.write(0, [0, 2]);
        (bench, first, second)
    }

    fn next(bench: &mut Bench) -> NextVictim {
        bench.care.next_victim(&mut bench.core, &bench.writer, DriveIs::Up, 0)
    }

    fn collect(bench: &mut Bench) -> Collecting {
        bench.care.collect(&mut bench.core, &bench.writer, 0)
    }

    /// Catches a cursor that skips a page or counts one twice, and moves of obsolete pages.
    #[test]
    fn the_collector_reads_the_valid_pages_of_the_victim_that_the_map_condemns() {
        let (mut bench, first, _) = bench(|_| {});
        assert_eq!(next(&mut bench), NextVictim::Condemned(first, Cause::Gc));
        bench.care.begin(&mut bench.core, 0, first, Cause::Gc);
        assert_eq!(collect(&mut bench), Collecting::Waits);
        let block = BlockAddr(first);
        let expected = [1, 3].map(|page| bench.core.device.grid.ppn(block, page));
        let reads = bench.carry_out();
        assert_eq!(reads.iter().map(|read| read.ppn).collect::<Vec<_>>(), expected);
        assert!(
            reads.iter().all(|read| (read.verb, read.cause, read.owner) == (Verb::Read, Cause::Gc, Owner::Collect { log: 0 }))
        );
        assert_eq!(bench.core.moving[0].under_way, 2);
        assert_eq!(collect(&mut bench), Collecting::Waits, "both are under way");
        assert!(bench.carry_out().is_empty(), "nothing is read twice");
    }

    /// Catches a collector that ignores how many moves it may have under way.
    #[test]
    fn moves_in_flight_are_limited() {
        let (mut bench, first, _) = bench(|setup| setup.gc.moves_in_flight = 1);
        next(&mut bench);
        bench.care.begin(&mut bench.core, 0, first, Cause::Gc);
        collect(&mut bench);
        assert_eq!(bench.carry_out().len(), 1);
        bench.core.moving[0].under_way -= 1;
        collect(&mut bench);
        assert_eq!(bench.carry_out().len(), 1);
    }

    /// Catches an erase while an old version is all that a cut would leave, and an erase that is forgotten.
    #[test]
    fn a_victim_is_erased_when_its_pins_are_gone() {
        let mut bench = Bench::new("none", |_| {});
        bench.write(0, 0..4);
        let first = bench.unit_of(0);
        bench.write(0, [0, 1, 2]);
        let pinned = bench.write_pinned(0, Stream::Host, 3).1;
        assert_eq!(pinned, Some(first));
        assert_eq!(next(&mut bench), NextVictim::Condemned(first, Cause::Gc));
        bench.care.begin(&mut bench.core, 0, first, Cause::Gc);
        assert_eq!(collect(&mut bench), Collecting::AllRead(first));
        bench.care.erase_if_free(&mut bench.core, 0, first);
        assert!(bench.carry_out().is_empty(), "the new version of page 3 may not be durable");
        assert!(bench.core.map.release(first), "the unit waits for nothing else");
        assert_eq!(collect(&mut bench), Collecting::AllRead(first));
        bench.care.erase_if_free(&mut bench.core, 0, first);
        let erases = bench.carry_out();
        assert_eq!(erases.iter().map(|erase| (erase.verb, erase.ppn.0)).collect::<Vec<_>>(), [(Verb::Erase, first * 4)]);
        assert!(bench.care.collectors[0].is_erasing());
        assert_eq!(bench.care.block_erased(&mut bench.core, 0, AfterErase::Reuse), Some(first));
        assert_eq!(bench.core.map.unit(first).state, UnitState::Free);
        assert!(bench.care.collectors[0].is_free());
    }

    /// Catches a unit that is used again although its erase failed.
    #[test]
    fn a_unit_whose_erase_failed_is_retired() {
        let mut bench = Bench::new("none", |_| {});
        bench.write(0, (0..4).chain(0..4));
        let NextVictim::Condemned(first, _) = next(&mut bench) else { panic!("the first block is empty") };
        bench.care.begin(&mut bench.core, 0, first, Cause::Gc);
        collect(&mut bench);
        bench.care.erase_if_free(&mut bench.core, 0, first);
        bench.carry_out();
        bench.care.block_erased(&mut bench.core, 0, AfterErase::Retire);
        assert_eq!(bench.core.map.unit(first).state, UnitState::Bad);
    }

    /// Catches a host page that is overtaken by the read that is to move it.
    #[test]
    fn the_open_page_of_the_host_is_sent_before_it_is_read() {
        let mut bench = Bench::new("none", |setup| setup.drive.geometry.page_size.0 *= 2);
        let job = bench.core.jobs.take();
        let page =
            crate::core::jobs::PageWrite { lpn: vocab::Lpn(0), version: 1, payload: Default::default(), from: 0, to: 8, rank: 0 };
        bench.core.jobs[job].pages.push(page);
        bench.writer.pages.place(&mut bench.core, job);
        let unit = bench.unit_of(0);
        bench.core.map.abandon(unit);
        assert!(bench.core.map.condemn_unit(unit));
        let log = bench.core.map.log_of(unit);
        bench.care.begin(&mut bench.core, log, unit, Cause::Rebuild);
        let step = bench.care.collect(&mut bench.core, &bench.writer, log);
        assert_eq!(step, Collecting::SendOpenPage);
        bench.writer.pages.send_open_page(&mut bench.core);
        let step = bench.care.collect(&mut bench.core, &bench.writer, log);
        assert_eq!(step, Collecting::Waits);
        let verbs: Vec<Verb> = bench.carry_out().iter().map(|command| command.verb).collect();
        assert_eq!(verbs, [Verb::Program, Verb::Read]);
    }

    /// Each eighth victim is the least worn unit where P/E cycles differ too much. Catches a cause that is not
    /// told apart: reports would count wear levelling as garbage collection.
    #[test]
    fn a_victim_for_wear_levelling_has_that_cause() {
        let (mut bench, first, second) = bench(|setup| setup.wear.static_threshold = 1);
        bench.core.map.set_pe(first, 9);
        for turn in 1..8 {
            assert_eq!(next(&mut bench), NextVictim::Condemned(first, Cause::Gc), "victim {turn}");
            bench.core.map.reprieve(first);
        }
        assert_eq!(next(&mut bench), NextVictim::Condemned(second, Cause::WearLevel));
    }

    /// Catches wanted units that wait behind garbage, and those that take the last free unit from GC.
    #[test]
    fn wanted_units_come_before_the_policys_choice_while_there_is_room() {
        let (mut bench, first, second) = bench(|_| {});
        bench.care.queue_wanted(second, Cause::Rebuild);
        assert_eq!(next(&mut bench), NextVictim::Condemned(second, Cause::Rebuild));
        assert!(!bench.care.is_wanted(&bench.core, 0), "it is wanted no more");
        bench.core.map.reprieve(second);
        bench.care.queue_wanted(second, Cause::Rebuild);
        while bench.core.map.free_units(0) > 1 {
            let pinned = bench.write_pinned(0, Stream::Gc, 8).1;
            pinned.map(|unit| bench.core.map.release(unit));
        }
        let NextVictim::Condemned(unit, Cause::Gc) = next(&mut bench) else { panic!("the policy has a choice") };
        assert_ne!(unit, second, "a full block frees nothing");
        assert_eq!(bench.core.map.unit(first).state == UnitState::Condemned, unit == first);
        assert!(bench.care.is_wanted(&bench.core, 0));
    }

    /// Three blocks are full: the oldest holds two pages that are needed, the second none, and the third four. Catches a drive
    /// without a free unit that moves what the policy chooses, for which there may be no room, while a unit only has to be erased
    /// (torture, seeds 450205 and 450207, 58320 and 23856); and one that leaves the policy no choice while there is room.
    #[test]
    fn where_no_unit_is_free_the_one_that_needs_the_least_room_goes_first() {
        for is_full in [false, true] {
            let mut bench = Bench::new("none", |setup| (setup.gc.policy, setup.power.mountable) = ("fifo".into(), true));
            bench.write(0, 0..8);
            let (oldest, empty) = (bench.unit_of(0), bench.unit_of(4));
            bench.write(0, [4, 5, 6, 7].into_iter().chain([0, 1]));
            while is_full && bench.core.map.free_units(0) > 0 {
                let pinned = bench.write_pinned(0, Stream::Gc, 8).1;
                pinned.map(|unit| bench.core.map.release(unit));
            }
            let held = [oldest, empty].map(|unit| bench.core.map.unit(unit).valid);
            assert_eq!(held, [2, 0]);
            let first = if is_full { empty } else { oldest };
            assert_eq!(next(&mut bench), NextVictim::Condemned(first, Cause::Gc), "full: {is_full}");
        }
    }

    /// While the blocks of a victim are erased, GC of block groups takes the next one if that is set and the log is short with these, too.
    /// Catches GC that keeps all dies waiting for the one that programs a parity before it erases, GC that takes victims earlier
    /// than one at a time would, and two victims whose erases are mixed up.
    #[test]
    fn block_groups_move_the_next_victim_while_the_last_one_is_erased() {
        let cases = [
            ("mds-groups", 2, true, true),
            ("mds-groups", 1, true, false),
            ("ds-raid", 2, true, false),
            ("mds-groups", 2, false, false),
        ];
        for (scheme, wanted, is_set, takes) in cases {
            let free = 4;
            let mut bench =
                Bench::new(scheme, |setup| (setup.gc.free_blocks, setup.gc.moves_during_erase) = (free + wanted, is_set));
            let units: Vec<UnitId> = (0..2).map(|_| emptied_unit(&mut bench)).collect();
            while bench.core.map.free_units(0) > free {
                emptied_unit(&mut bench);
            }
            assert!(bench.core.map.is_short(0));
            bench.care.begin(&mut bench.core, 0, units[0], Cause::Gc);
            assert_eq!(collect(&mut bench), Collecting::AllRead(units[0]));
            bench.care.erase_if_free(&mut bench.core, 0, units[0]);
            assert!(bench.care.collectors[0].erases(units[0]));
            assert!(!bench.care.may_take_victim(&bench.core, &bench.writer, true, 0), "an erase takes no time");
            bench.core.device.timed = true;
            assert!(!bench.care.may_take_victim(&bench.core, &bench.writer, false, 0), "no write waits");
            assert_eq!(bench.care.may_take_victim(&bench.core, &bench.writer, true, 0), takes, "{scheme}, {wanted}");
            bench.core.device.timed = false;
            if takes {
                bench.care.begin(&mut bench.core, 0, units[1], Cause::Rebuild);
                assert_eq!(collect(&mut bench), Collecting::AllRead(units[1]));
                bench.care.erase_if_free(&mut bench.core, 0, units[1]);
                assert!(!bench.care.collectors[0].erases(units[1]), "one erase after the other");
                assert_eq!([Cause::Gc, Cause::Rebuild].map(|cause| bench.care.collectors_at(&bench.core, cause)), [1, 1]);
            }
            let erases = bench.carry_out();
            let ended = erases.iter().filter_map(|_| bench.care.block_erased(&mut bench.core, 0, AfterErase::Reuse));
            assert_eq!(ended.collect::<Vec<_>>(), [units[0]]);
            assert_eq!(bench.care.collectors[0].is_free(), !takes);
        }
    }

    /// A superblock of which nothing is needed, condemned.
    fn emptied_unit(bench: &mut Bench) -> UnitId {
        let (SuperblockId(unit), _) = bench.core.map.open_row(Stream::Gc).expect("a free superblock");
        bench.core.map.abandon(unit);
        assert!(bench.core.map.condemn_unit(unit));
        unit
    }

    /// Catches a collector that stays with a victim whose pages find no room, for ever.
    #[test]
    fn a_stuck_victim_is_spared_and_wanted_again() {
        let (mut bench, first, _) = bench(|_| {});
        next(&mut bench);
        bench.care.begin(&mut bench.core, 0, first, Cause::WearLevel);
        bench.care.collectors_of_are_stuck([first, first]);
        bench.care.erase_if_free(&mut bench.core, 0, first);
        assert!(bench.care.collectors[0].is_free());
        assert_eq!(bench.core.map.unit(first).state, UnitState::Closed);
        assert_eq!(bench.care.wanted, [(first, Cause::WearLevel)]);
    }

    /// During a mount nothing is collected: what would count without the pages that are being written again stays.
    #[test]
    fn a_mount_collects_nothing() {
        let (mut bench, ..) = bench(|_| {});
        let found = bench.care.next_victim(&mut bench.core, &bench.writer, DriveIs::Mounting, 0);
        assert_eq!(found, NextVictim::None);
    }

    /// Catches GC in idle time that never begins, or never ends.
    #[test]
    fn an_idle_drive_wants_as_many_free_units_as_it_is_told() {
        for (more, wants) in [(0, false), (1, true)] {
            let (mut bench, ..) = bench(|_| {});
            bench.care.idle_free_blocks = bench.core.map.free_units(0) + more;
            assert_eq!(bench.care.wants_more_free(&bench.core, 0), wants);
        }
    }
}
