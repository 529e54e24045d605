//! Block groups that lose more pages than their code can solve for.

use super::*;
use crate::core::owner::Holds;
use crate::write::moves::Move;
use crate::write::testing::kill;
use device::image::Contents;

/// Logical page 0, of version 1 and rank 9, is on its way from a victim to a new group; the program that moves it.
fn moving(alone: &mut Alone<Tag>) -> Command {
    let (_, data) = alone.write(&[(0, 1)]);
    alone.end_all(&data);
    let Place::At(from) = alone.core.map.lookup(Lpn(0)) else { panic!("it was written") };
    let contents = Contents { tag: OobTag::data(Lpn(0)), payload: Tag::stamp(Lpn(0), 1, 8), update: 9 };
    alone.moves.queue.push_back(Move { contents, from });
    assert_eq!(alone.groups.place_moves(&mut alone.core, &mut alone.moves, Feed::All), Placed::All);
    let moved = programs(&mut alone.core);
    assert!(matches!(moved[0].owner, Owner::GroupPage { holds: Holds::MovedData, .. }));
    moved[0]
}

fn die(alone: &Alone<Tag>, command: &Command) -> DieId {
    alone.core.device.grid.die_of(command.ppn)
}

/// The dies beside that of the program.
fn others(alone: &Alone<Tag>, command: &Command) -> Vec<DieId> {
    (0..5).map(DieId).filter(|&other| other != die(alone, command)).collect()
}

/// A moved page was answered long ago. Fails if its loss is not noted, so that after a cut an older version could be
/// taken for it; if the map still has a place for it; or if it is given up while its codeword brings it back.
#[test]
fn a_moved_page_that_dies_with_too_many_others_is_noted_as_lost() {
    for (dead_beside_it, lost) in [(1, false), (2, true)] {
        let mut alone = Alone::mountable(&[("m", "2")]);
        let command = moving(&mut alone);
        let (own, others) = (die(&alone, &command), others(&alone, &command));
        others[..dead_beside_it].iter().chain([&own]).for_each(|&die| kill(&mut alone.core, die));
        alone.end(&command, ProgramOutcome::Failed);
        let noted: Vec<_> = alone.core.safe.lost.iter().map(|(&lpn, &rank)| (lpn, rank)).collect();
        assert_eq!(noted, if lost { vec![(Lpn(0), 9)] } else { vec![] });
        assert_eq!(alone.core.map.lookup(Lpn(0)) == Place::Missing, lost);
    }
}

/// The host was never answered. Fails if the loss of what is not durable is noted, or the job is told that it is.
#[test]
fn a_page_of_the_host_that_dies_with_too_many_others_fails_its_job() {
    let mut alone = Alone::mountable(&[("m", "2")]);
    let (job, data) = alone.write(&[(0, 1)]);
    let (own, others) = (die(&alone, &data[0]), others(&alone, &data[0]));
    others[..2].iter().chain([&own]).for_each(|&die| kill(&mut alone.core, die));
    alone.end(&data[0], ProgramOutcome::Failed);
    assert_eq!((alone.core.jobs[job].failed, alone.core.safe.lost.len()), (true, 0));
    assert_eq!(alone.core.map.lookup(Lpn(0)), Place::Missing);
}

/// Fails if a page is given up that the controller still has and that finds a place on a living die.
#[test]
fn a_page_that_failed_on_a_living_die_is_rescued_however_many_dies_are_dead() {
    let mut alone = Alone::mountable(&[("m", "2")]);
    let (job, data) = alone.write(&[(0, 1)]);
    let others = others(&alone, &data[0]);
    others[..3].iter().for_each(|&die| kill(&mut alone.core, die));
    alone.end(&data[0], ProgramOutcome::Failed);
    assert_eq!((alone.moves.queue.len(), alone.moves.waiting.len(), alone.core.jobs[job].failed), (1, 1, false));
    assert!(matches!(alone.core.map.lookup(Lpn(0)), Place::At(_)), "it is to be written to another place");
}

/// Fails if a codeword whose data are in flash while its parity is neither there nor in the cache counts as sound.
#[test]
fn an_audit_counts_parities_that_are_nowhere() {
    let mut alone = Alone::<Tag>::new(&[("m", "2")]);
    let (_, data) = alone.write(&[(0, 1), (1, 2), (2, 3)]);
    alone.end_all(&data);
    let parities = programs(&mut alone.core);
    alone.groups.held.clear();
    let found = alone.groups.audit(&alone.core).expect("no parity is wrong");
    assert_eq!((found.sound, found.broken), (0, 2));
    assert!(alone.core.device.program(&parities[0]).is_done());
    let found = alone.groups.audit(&alone.core).expect("the parity is right");
    assert_eq!((found.sound, found.broken), (1, 1));
}
