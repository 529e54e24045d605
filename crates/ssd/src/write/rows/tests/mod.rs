//! Rows alone: no host, no collector, no engine. Effects for others are kept and compared.

mod mount;

use crate::config::Setup;
use crate::core::Command;
use crate::core::Core;
use crate::core::effects::{Effect, Popped};
use crate::core::owner::{Holds, Owner};
use crate::write::group_log::{Feed, Placed};
use crate::write::moves::{Move, Moves};
use crate::write::rows::Rows;
use crate::write::rows::solve::ParityOnItsWay;
use crate::write::testing::{end_in_flash, in_words, kill, log_core, log_setup, page_of, programs, sum_of, write_job};
use device::contents::{HostPayload, Tag};
use device::slab::JobId;
use ftl::Stream;
use nand::{FlashArray, OobTag, ProgramOutcome};
use protect::Protection;
use vocab::{Cause, DieId, Lpn, Ppn, StripSet, StripeId};

/// Rows of a tiny drive, under DS-RAID with these options.
struct Alone {
    core: Core<Tag>,
    rows: Rows<Tag>,
    moves: Moves<Tag>,
}

impl Alone {
    fn new(options: &[(&str, &str)]) -> Self {
        Self::with(&log_setup("ds-raid", options))
    }

    fn with(setup: &Setup) -> Self {
        let (core, protection) = log_core::<Tag>(setup);
        let Protection::Rows(scheme) = &protection else { unreachable!("DS-RAID writes rows") };
        Self { core, rows: Rows::new(&**scheme), moves: Moves::default() }
    }

    /// Hands on effects to rows; the others, in order.
    fn effects(&mut self) -> Vec<Popped<Tag>> {
        let Self { core, rows, moves } = self;
        let mut others = Vec::new();
        while let Some(effect) = core.out.pop() {
            match effect {
                Popped::Effect(Effect::SettleRescued) => drop(rows.settle_rescued(core, moves)),
                Popped::Effect(Effect::AnswerCovered) => drop(rows.answer_covered(core)),
                Popped::Effect(Effect::FinishCover { cover }) => rows.finish_cover(core, moves, cover),
                Popped::Effect(Effect::EndCover { cover }) => rows.end_cover(core, moves, cover),
                other => others.push(other),
            }
        }
        others
    }

    /// As the host writes: the job, and the programs that follow.
    fn write(&mut self, pages: &[(u32, u32)]) -> (JobId, Vec<Command>) {
        let job = write_job(&mut self.core, pages);
        while self.rows.place(&mut self.core, job) == Placed::Again {}
        assert_eq!(self.core.jobs[job].next, pages.len(), "all pages are placed");
        self.effects();
        (job, programs(&mut self.core))
    }

    /// As pages are moved: the programs that follow.
    fn move_all(&mut self) -> Vec<Command> {
        while self.rows.place_moves(&mut self.core, &mut self.moves, Feed::All) == Placed::Again {}
        self.effects();
        programs(&mut self.core)
    }

    /// The program of a page ends; what others are to do then.
    fn end(&mut self, command: &Command, outcome: ProgramOutcome) -> Vec<String> {
        end_in_flash(&mut self.core, command, outcome);
        self.tell(command, outcome)
    }

    /// The rows hear how a program has ended; what others are to do then.
    fn tell(&mut self, command: &Command, outcome: ProgramOutcome) -> Vec<String> {
        if let Owner::Cover { cover, holds } = command.owner {
            self.rows.program_ended(&mut self.core, &mut self.moves, command.image, cover, holds, outcome);
        }
        let effects = self.effects();
        self.core.device.images.give(command.image);
        in_words(&effects)
    }

    /// The program of a page fails, but the next page of its block can be programmed.
    fn spoil(&mut self, command: &Command) -> Vec<String> {
        end_in_flash(&mut self.core, command, ProgramOutcome::Done);
        self.tell(command, ProgramOutcome::Failed)
    }

    fn end_all(&mut self, commands: &[Command]) -> Vec<String> {
        commands.iter().flat_map(|command| self.end(command, ProgramOutcome::Done)).collect()
    }

    fn coverage(&self, row: u32) -> Option<(StripSet, DieId)> {
        self.core.map.rows().coverage(row)
    }

    fn die(&self, command: &Command) -> u32 {
        u32::from(self.core.device.grid.die_of(command.ppn).0)
    }
}

fn is_parity(command: &Command) -> bool {
    matches!(command.owner, Owner::Cover { holds: Holds::Parity, .. })
}

/// Fails if a page is left out of the sum, if the coverage names other dies than those of the data, or if the
/// job is answered before its parity is in flash.
#[test]
fn the_parity_of_a_row_is_the_sum_of_its_data_and_jobs_wait_for_it() {
    let mut alone = Alone::new(&[]);
    let (job, commands) = alone.write(&[(0, 1), (1, 2), (2, 4), (3, 9)]);
    let parities: Vec<bool> = commands.iter().map(is_parity).collect();
    assert_eq!(parities, [false, false, false, false, true]);
    // By hand: lpn + 1 gives 1 ^ 2 ^ 3 ^ 4 = 4, which is lpn 3; the versions 1 ^ 2 ^ 4 ^ 9 = 14.
    let parity = commands[4];
    let (tags, payload) = alone.core.device.images.contents(parity.image);
    assert_eq!((tags[0], payload[0]), (OobTag::parity(StripeId(0)), Tag::stamp(Lpn(3), 14, 8)));
    let data: u128 = commands[..4].iter().map(|command| 1 << alone.die(command)).sum();
    assert_eq!(alone.core.device.images.slab[parity.image].oob.coverage, StripSet(data));
    assert_eq!((data.count_ones(), data >> alone.die(&parity) & 1), (4, 0), "each page on a die of its own");

    assert_eq!(alone.end_all(&commands[..4]), Vec::<String>::new());
    assert_eq!(alone.coverage(0), None);
    assert_eq!(alone.end(&parity, ProgramOutcome::Done), [format!("PartDone {{ job: {job} }}")]);
    assert_eq!(alone.coverage(0), Some((StripSet(data), alone.core.device.grid.die_of(parity.ppn))));
    assert_eq!(alone.rows.covers.in_use(), 0);
}

/// Fails if the full parity leaves out the data of the sub-stripe parity, or if a job is answered although
/// data of the row before its own are not in flash: the parity that covers it sums them, too.
#[test]
fn a_cover_waits_for_the_cover_before_it_in_its_row() {
    let mut alone = Alone::new(&[]);
    let (first, sub_stripe) = alone.write(&[(0, 1), (1, 1)]);
    assert_eq!(sub_stripe.iter().map(is_parity).collect::<Vec<_>>(), [false, false, true]);
    let (second, rest) = alone.write(&[(2, 1)]);
    assert_eq!(rest.iter().map(is_parity).collect::<Vec<_>>(), [false, true]);
    let coverage = |command: &Command| alone.core.device.images.slab[command.image].oob.coverage.len();
    assert_eq!((coverage(&sub_stripe[2]), coverage(&rest[1])), (2, 3));

    // All but one page of the first job is in flash.
    alone.end_all(&sub_stripe[1..]);
    assert_eq!(alone.end_all(&rest), Vec::<String>::new(), "the second job waits for the first");
    let done = alone.end(&sub_stripe[0], ProgramOutcome::Done);
    assert_eq!(done, [format!("PartDone {{ job: {first} }}"), format!("PartDone {{ job: {second} }}")]);
    assert_eq!(alone.coverage(0).map(|(covered, _)| covered.len()), Some(3));
}

/// Fails if a row that waits for more data gets its parity at once, or none when the drive falls idle.
#[test]
fn a_row_that_waits_for_data_gets_its_parity_when_it_is_asked_for() {
    let mut alone = Alone::new(&[("sub_stripe", "defer")]);
    let (job, data) = alone.write(&[(0, 1), (1, 1)]);
    assert_eq!(data.iter().map(is_parity).collect::<Vec<_>>(), [false, false]);
    assert_eq!(alone.end_all(&data), Vec::<String>::new());
    let lost = page_of(&alone.core, 0);
    assert_eq!(alone.rows.sources(&alone.core, lost, &[]), Err(ParityOnItsWay));
    assert!(alone.rows.cover_open_rows(&mut alone.core));
    assert!(!alone.rows.cover_open_rows(&mut alone.core), "once is enough");
    let parity = programs(&mut alone.core);
    assert_eq!(alone.end_all(&parity), [format!("PartDone {{ job: {job} }}")]);
}

/// Fails if the controller forgets a page whose program failed, answers its job before the page is in flash and
/// covered elsewhere, or releases the old version before.
#[test]
fn a_page_whose_program_failed_goes_to_another_row_and_its_job_waits() {
    let mut alone = Alone::new(&[]);
    let (_, before) = alone.write(&[(0, 1), (5, 1), (6, 1), (7, 1)]);
    alone.end_all(&before);
    let old = alone.core.map.unit_of_block(alone.core.device.block_of(page_of(&alone.core, 0)));

    let (job, commands) = alone.write(&[(0, 2), (1, 2), (2, 2), (3, 2)]);
    let failed = commands[0];
    assert_eq!(alone.end(&failed, ProgramOutcome::Failed), Vec::<String>::new());
    assert_eq!(alone.end_all(&commands[1..]), Vec::<String>::new(), "the parity is in flash, the page is not");
    assert_eq!((alone.moves.queue.len(), alone.moves.waiting.len(), alone.core.retry), (1, 1, true));
    assert_eq!(alone.core.map.unit(old).pins, 1, "the old version stays");
    let lost = page_of(&alone.core, 0);
    assert_eq!(lost, failed.ppn, "the map keeps the place, and the row solves for it");
    let sources = alone.rows.sources(&alone.core, lost, &[]).expect("the parity is there").expect("no other page failed");
    assert_eq!(sum_of(&alone.core, &sources), Tag::stamp(Lpn(0), 2, 8));

    let rescue = alone.move_all();
    assert_eq!(rescue.iter().map(is_parity).collect::<Vec<_>>(), [false, true]);
    assert_eq!(alone.end(&rescue[0], ProgramOutcome::Done), ["Collect { log: 0 }"], "no parity covers the page yet");
    let done = alone.end(&rescue[1], ProgramOutcome::Done);
    assert_eq!(done, [format!("PartDone {{ job: {job} }}")]);
    assert_eq!((alone.core.map.unit(old).pins, alone.moves.waiting.len()), (0, 0));
    assert_ne!(page_of(&alone.core, 0), failed.ppn);
}

/// Fails if a job is told that all is well although no room is left for a page that is not in flash and that no
/// parity covers, or is left to wait for ever.
#[test]
fn rescued_pages_without_room_are_given_up_unless_their_row_stands_in() {
    for stands_in in [true, false] {
        let mut alone = Alone::new(&[]);
        let (job, commands) = alone.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
        alone.end(&commands[0], ProgramOutcome::Failed);
        alone.end(&commands[1], if stands_in { ProgramOutcome::Done } else { ProgramOutcome::Failed });
        alone.end_all(&commands[2..]);
        let waiting = std::mem::take(&mut alone.moves.waiting).pop().expect("the job waits");
        assert!(alone.moves.give_up(&mut alone.core, waiting, |core, lpn| alone.rows.is_solvable(core, lpn)));
        let answers = in_words(&alone.effects()).iter().filter(|effect| effect.starts_with("PartDone")).count();
        assert_eq!((answers, alone.core.jobs[job].no_room), (1, !stands_in));
        assert_eq!(alone.moves.waiting.len(), usize::from(!stands_in), "old versions stay where nothing stands in");
    }
}

/// Fails if the job of data whose parity failed is answered at once, or not when its data have moved.
#[test]
fn a_job_whose_parity_failed_waits_until_its_data_have_moved() {
    let mut alone = Alone::new(&[]);
    let (job, commands) = alone.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    alone.end_all(&commands[..4]);
    assert_eq!(alone.end(&commands[4], ProgramOutcome::Failed), Vec::<String>::new());
    assert_eq!(alone.coverage(0), None);
    alone.rows.superblock_was_emptied(&mut alone.core, 1);
    assert_eq!(in_words(&alone.effects()), Vec::<String>::new(), "another superblock");
    alone.rows.superblock_was_emptied(&mut alone.core, 0);
    assert_eq!(in_words(&alone.effects()), [format!("PartDone {{ job: {job} }}")]);
}

/// Fails if a row goes on writing to a die that left it, or if the loss of a die and that of a block are taken
/// for the same: with the die the one loss that is covered has happened, and its jobs are answered.
#[test]
fn a_row_that_loses_its_last_place_leaves_its_data_without_parity() {
    for superblock in [None, Some(0)] {
        let mut alone = Alone::new(&[("sub_stripe", "defer")]);
        let (job, data) = alone.write(&[(0, 1), (1, 1), (2, 1)]);
        alone.end_all(&data);
        let used = data.iter().fold(StripSet::EMPTY, |used, command| used.or(StripSet::one(alone.die(command))));
        let left: Vec<u32> = (0..5).filter(|&die| !used.contains(die)).collect();
        let narrow = |alone: &mut Alone, die: u32| {
            let Alone { core, rows, moves } = alone;
            rows.narrow(core, moves, 0, DieId(die as u16), superblock);
            in_words(&alone.effects())
        };
        assert_eq!(narrow(&mut alone, left[0]), Vec::<String>::new(), "a place is left for the parity");
        assert_eq!(alone.rows.open[0].places.len(), 4);
        let told = narrow(&mut alone, left[1]);
        let answered = vec![format!("PartDone {{ job: {job} }}")];
        assert_eq!(told, if superblock.is_none() { answered } else { Vec::new() });
        assert_eq!(alone.rows.uncovered.len(), usize::from(superblock.is_some()));
    }
}

/// Fails if older parities are not tried, or if what both parities cover is left in the sum.
#[test]
fn a_row_with_several_parities_gives_a_page_in_several_ways() {
    let mut alone = Alone::new(&[]);
    let (_, first) = alone.write(&[(0, 1), (1, 2)]);
    let (_, second) = alone.write(&[(2, 4)]);
    alone.end_all(&first);
    alone.end_all(&second);
    let [page0, page1, page2] = [0, 1, 2].map(|lpn| page_of(&alone.core, lpn));
    let (sub_stripe, full) = (first[2].ppn, second[1].ppn);
    let sources = |lost: Ppn, failed: &[Ppn]| {
        let mut found = alone.rows.sources(&alone.core, lost, failed).expect("no parity is on its way")?;
        let sum = sum_of(&alone.core, &found);
        assert_eq!(sum, alone.core.device.array.payload(lost)[0], "the sum is the page");
        found.sort_unstable();
        Some(found)
    };
    let sorted = |mut pages: Vec<Ppn>| {
        pages.sort_unstable();
        Some(pages)
    };
    assert_eq!(sources(page0, &[]), sorted(vec![page1, page2, full]), "the newest parity first");
    assert_eq!(sources(page0, &[page2]), sorted(vec![page1, sub_stripe]), "the parity before it needs fewer pages");
    assert_eq!(sources(page2, &[page1]), sorted(vec![sub_stripe, full]), "what both cover cancels out");
    assert_eq!(sources(page0, &[page1]), None);
    assert_eq!(sources(page2, &[full]), None, "only one parity covers the page");
}

/// The parity of a sub-stripe failed, and the row goes on. Fails if its data are not part of what the next parity is to
/// cover, or if their job waits for anything but that parity.
#[test]
fn data_whose_parity_failed_are_covered_by_the_next_one_of_their_row() {
    let mut alone = Alone::new(&[]);
    let (first, sub_stripe) = alone.write(&[(0, 1), (1, 1)]);
    alone.end_all(&sub_stripe[..2]);
    assert_eq!(alone.rows.open[0].uncovered, 0, "a parity is on its way");
    assert_eq!(alone.end(&sub_stripe[2], ProgramOutcome::Failed), Vec::<String>::new());
    assert_eq!((alone.rows.open[0].uncovered, alone.coverage(0)), (2, None));
    let (second, rest) = alone.write(&[(2, 1)]);
    assert_eq!(rest.iter().map(is_parity).collect::<Vec<_>>(), [false, true]);
    assert_eq!(alone.end(&rest[0], ProgramOutcome::Done), Vec::<String>::new());
    let answered = alone.end(&rest[1], ProgramOutcome::Done);
    assert_eq!(answered, [first, second].map(|job| format!("PartDone {{ job: {job} }}")));
    assert_eq!(alone.coverage(0).map(|(covered, _)| covered.len()), Some(3));
    assert!(!alone.rows.has_uncovered());
}

/// The row has lost the blocks that its other pages were to go to, and then its parity failed. Fails if another parity of
/// that row is waited for, or taken from the next one.
#[test]
fn a_row_without_room_for_another_parity_leaves_its_data_uncovered() {
    let mut alone = Alone::new(&[]);
    let (_, sub_stripe) = alone.write(&[(0, 1), (1, 1)]);
    alone.end_all(&sub_stripe[..2]);
    let used: StripSet = sub_stripe.iter().map(|command| alone.die(command)).collect();
    for die in (0..5).filter(|&die| !used.contains(die)) {
        let Alone { core, rows, moves } = &mut alone;
        rows.narrow(core, moves, 0, DieId(die as u16), Some(0));
        alone.effects();
    }
    alone.spoil(&sub_stripe[2]);
    assert_eq!((alone.rows.covers.in_use(), alone.rows.open[0].uncovered, alone.rows.uncovered.len()), (0, 0, 1));
}

/// The parity of a full row failed: nothing of that row can cover its data any more. Fails if a parity of the next row is
/// taken for one of the row before.
#[test]
fn the_row_after_one_whose_parity_failed_is_covered_by_its_own() {
    let mut alone = Alone::new(&[]);
    let (_, full) = alone.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    alone.end_all(&full[..4]);
    alone.spoil(&full[4]);
    assert_eq!(alone.rows.covers.in_use(), 0);
    let (second, next) = alone.write(&[(4, 1), (5, 1), (6, 1), (7, 1)]);
    assert_eq!(alone.end_all(&next), [format!("PartDone {{ job: {second} }}")]);
    assert_eq!([0, 1].map(|row| alone.coverage(row).map(|(covered, _)| covered.len())), [None, Some(4)]);
}

/// A page that failed is in flash elsewhere, and covered, before the rest of its own row is. Fails if its job is then left
/// to wait for something else to happen.
#[test]
fn a_page_that_was_rescued_before_its_row_ended_keeps_nobody_waiting() {
    let mut alone = Alone::new(&[]);
    let (job, full) = alone.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    assert_eq!(alone.spoil(&full[0]), Vec::<String>::new());
    let again = alone.move_all();
    // The dies of the row have its pages behind them; no one has heard yet.
    full[1..].iter().for_each(|command| end_in_flash(&mut alone.core, command, ProgramOutcome::Done));
    alone.end_all(&again);
    assert_eq!(alone.coverage(1).map(|(covered, _)| covered.len()), Some(1));
    assert_eq!(full[1..4].iter().flat_map(|command| alone.tell(command, ProgramOutcome::Done)).count(), 0);
    assert_eq!(alone.tell(&full[4], ProgramOutcome::Done), [format!("PartDone {{ job: {job} }}")]);
}

/// One parity covers a page that was rescued, and data whose own parity failed. Fails if who waits for the second is not told
/// because the first has gone on.
#[test]
fn one_parity_lets_go_who_waits_for_a_rescue_and_who_waits_for_another_parity() {
    let mut alone = Alone::new(&[]);
    let (rescued, full) = alone.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    alone.spoil(&full[0]);
    alone.end_all(&full[1..]);
    let (uncovered, sub_stripe) = alone.write(&[(4, 1), (5, 1)]);
    alone.end_all(&sub_stripe[..2]);
    assert_eq!(alone.spoil(&sub_stripe[2]), Vec::<String>::new());
    assert_eq!((alone.moves.waiting.len(), alone.rows.uncovered.len()), (1, 1));
    let again = alone.move_all();
    assert_eq!(again.iter().map(is_parity).collect::<Vec<_>>(), [false, true]);
    alone.end(&again[0], ProgramOutcome::Done);
    let told = alone.end(&again[1], ProgramOutcome::Done);
    assert_eq!(told, [rescued, uncovered].map(|job| format!("PartDone {{ job: {job} }}")));
}

/// Fails if a row that has ended leaves pages out, or does not say that space may be short now.
#[test]
fn a_row_that_ends_early_has_all_its_pages_programmed() {
    let mut alone = Alone::new(&[("sub_stripe", "defer")]);
    let (_, data) = alone.write(&[(0, 1)]);
    alone.end_all(&data);
    alone.rows.end_open_row(&mut alone.core, Stream::Host, Some(7));
    assert!(programs(&mut alone.core).is_empty(), "the row is of another superblock");
    alone.rows.end_open_row(&mut alone.core, Stream::Host, None);
    assert_eq!(in_words(&alone.effects()), ["CollectIfShort { log: 0 }"]);
    let rest = programs(&mut alone.core);
    let owners: Vec<bool> = rest.iter().map(|command| command.owner == Owner::NoOne).collect();
    assert_eq!((owners, is_parity(&rest[0])), (vec![false, true, true, true], true));
    assert!(rest.iter().all(|command| (command.cause == Cause::Padding) == (command.owner == Owner::NoOne)));
    let (_, next) = alone.write(&[(1, 1)]);
    assert_eq!(alone.core.map.rows().row_of(next[0].ppn).0, 1);
}

/// A cover ends without its parity, whose die is dead, and covers nothing. Fails if no one looks then who may go on: what jobs wait
/// for may have come about without a cover, as here a row that has a parity by now.
#[test]
fn a_cover_whose_parity_died_lets_go_who_waits_for_nothing_any_more() {
    let mut alone = Alone::new(&[]);
    let (uncovered, sub_stripe) = alone.write(&[(0, 1), (1, 1)]);
    alone.end_all(&sub_stripe[..2]);
    alone.spoil(&sub_stripe[2]);
    let data: StripSet = sub_stripe[..2].iter().map(|command| alone.die(command)).collect();
    let (last, rest) = alone.write(&[(2, 1)]);
    alone.end(&rest[0], ProgramOutcome::Done);
    assert_eq!(alone.rows.uncovered.len(), 1);
    alone.core.map.rows_mut().cover(0, data, alone.core.device.grid.die_of(sub_stripe[2].ppn));
    let die = alone.core.device.grid.die_of(rest[1].ppn);
    kill(&mut alone.core, die);
    let told = alone.tell(&rest[1], ProgramOutcome::Failed);
    assert_eq!(told, [last, uncovered].map(|job| format!("PartDone {{ job: {job} }}")));
}

/// Host and collector share a write pointer, and the collector has begun the last free superblock. If a cut undoes what it moved, that
/// superblock is to be erased: catches a host that writes to its open row in the meantime, which leaves none (torture, seed 771007 of
/// drives that gather pages, 30200), and one that is still kept out once there is room.
#[test]
fn the_host_leaves_the_row_of_moves_alone_as_long_as_it_has_no_room() {
    let mut alone = Alone::new(&[]);
    let (_, all) = alone.write(&[(0, 1)]);
    alone.end_all(&all);
    alone.rows.end_open_row(&mut alone.core, Stream::Host, None);
    programs(&mut alone.core);
    alone.effects();
    while alone.core.map.open_row(Stream::Host).is_some() {
        alone.core.map.next_row(Stream::Host);
    }
    let from = alone.core.device.grid.slot(page_of(&alone.core, 0), 0);
    alone.moves.queue.push_back(Move { contents: alone.core.device.contents_at(page_of(&alone.core, 0), 0), from });
    let moved = alone.move_all();
    assert_eq!(moved.iter().map(is_parity).collect::<Vec<_>>(), [false, true]);
    let job = write_job(&mut alone.core, &[(1, 1)]);
    assert_eq!(alone.rows.place(&mut alone.core, job), Placed::NoRoom);
    assert_eq!((programs(&mut alone.core).len(), in_words(&alone.effects())), (0, vec!["CollectIfShort { log: 0 }".to_owned()]));
    for unit in [1, 2] {
        assert!(alone.core.map.condemn_unit(unit));
        alone.core.map.erased(unit);
    }
    assert_ne!(alone.rows.place(&mut alone.core, job), Placed::NoRoom);
    let row = |ppn| alone.core.map.rows().row_of(ppn).0;
    assert_eq!(row(page_of(&alone.core, 1)), row(moved[0].ppn), "its pages are not wasted");
}
