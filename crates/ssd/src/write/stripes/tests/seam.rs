//! Static stripes through the seam of their way of writing, and the order in which discarded stripes are freed.

use super::parity::{begin_discard, with_partial_parity};
use super::*;
use crate::write::Writer;
use device::image::Contents;
use nand::{Oob, PageRole};

/// A writer with the stripes of the drive.
fn writer(drive: &Drive, scheme: &str) -> Writer<Tag> {
    let setup = tiny_setup(scheme, BufferKind::Off);
    let (grid, logs) = (&drive.core.device.grid, drive.core.map.logs());
    let mut writer = Writer::new(&setup, tiny_scheme(&setup), grid, logs).expect("a tiny drive has room");
    *writer.stripes_if_any_mut().expect("static stripes") = drive.stripes.clone();
    writer
}

/// Stages that preconditioning went through are none of the drive's life. Catches figures that name the times of those.
#[test]
fn stages_count_from_the_beginning_of_life() {
    let drive = Drive::new("da-raid5", &[]);
    let mut writer = writer(&drive, "da-raid5");
    writer.stripes_if_any_mut().expect("static stripes").stages.push((2, SimTime(5)));
    writer.life_begins();
    assert_eq!(writer.stripes_if_any().expect("static stripes").stages, []);
}

/// The program of an old version that a partial parity needs failed. Catches one that is found, or pinned, where it does not lie any more.
#[test]
fn an_old_version_takes_its_pin_along() {
    let mut drive = with_partial_parity();
    let mut writer = writer(&drive, "ppc");
    let from = drive.stripes.held.get(STRIPE).expect("held").pinned().next().expect("an old version");
    let grid = drive.core.device.grid.clone();
    let to = grid.slot(grid.ppn(grid.block(DieId(0), grid.blocks_per_die() - 1), 0), 0);
    let (unit_from, unit_to) = (drive.core.map.unit_of(from), drive.core.map.unit_of(to));
    assert_ne!(unit_from, unit_to);
    let pins = drive.pins(unit_to);
    assert_eq!(writer.old_goes_to(&mut drive.core, PageRole::Data(Lpn(3)), from, to), None, "no old version lay there");
    assert_eq!(writer.old_goes_to(&mut drive.core, PageRole::Data(Lpn(1)), from, to), Some(unit_from));
    assert_eq!(drive.pins(unit_to), pins + 1);
    let old = writer.stripes_if_any().expect("static stripes").held.get(STRIPE).expect("held").old_place(1);
    assert_eq!(old, Some(Place::At(to)));
}

/// Strip 0 finds no room on its die, and its stripe cannot do without it: strip 1 is lost. Catches a strip that goes back to the log that it
/// could not be written to, or to one that takes nothing.
#[test]
fn a_strip_that_its_stripe_needs_goes_to_another_log() {
    let mut drive = Drive::new("raid5", &[]);
    drive.write(&[(0, 1), (1, 1), (2, 1), (3, 1)]);
    drive.lose(STRIPE, 1);
    let mut writer = writer(&drive, "raid5");
    let role = PageRole::Data(Lpn(0));
    assert!(!writer.may_park(&drive.core, role));
    let ppn = drive.core.device.grid.page_of(drive.place(STRIPE, 0).expect("stored")).0;
    let image = drive.core.device.images.open(ppn, Oob::default());
    let contents = Contents { tag: OobTag::data(Lpn(0)), payload: page(0, 1), update: 1 };
    drive.core.device.images.fill(image, contents, None, None);
    let command = Command { ppn, image, verb: Verb::Program, ..Command::default() };
    let own = drive.core.log_of_page(ppn);
    let all: Vec<usize> = (0..drive.core.map.logs()).collect();
    for open in all.iter().copied().filter(|&log| log != own) {
        let page = writer.page_anywhere(&mut drive.core, &command, |log| log != open && log != own);
        let (log, ppn) = page.expect("the log has room");
        assert_eq!((log, drive.core.log_of_page(ppn)), (open, open));
    }
    assert_eq!(writer.page_anywhere(&mut drive.core, &command, |log| log != own), None, "its own log has no room for it");
}

/// Two stripes are discarded. Catches a second one that is freed before the collector goes on with a unit that the first one kept, and one
/// that waits though no one has anything to do.
#[test]
fn a_discarded_stripe_waits_only_for_the_collector_of_what_the_one_before_kept() {
    for keeps in [false, true] {
        let mut drive = with_partial_parity();
        let old = drive.stripes.held.get(STRIPE).expect("held").pinned().next().expect("an old version");
        let unit = drive.core.map.unit_of(old);
        drive.core.map.abandon(unit);
        drive.write(&[(4, 1), (5, 1), (6, 1), (7, 1)]);
        if keeps {
            // The unit of an old version is a victim that waits for its pin.
            assert!(drive.core.map.condemn_unit(unit));
        }
        begin_discard(&mut drive, 0..8);
        let is_there = |drive: &Drive, stripe: u32| drive.place(StripeId(stripe), 0).is_some();
        assert_eq!([0, 1].map(|stripe| is_there(&drive, stripe)), [false, keeps], "a unit is kept: {keeps}");
        drive.go_on();
        assert!(!is_there(&drive, 1));
        let collected = drive.wanted.iter().filter(|wanted| matches!(wanted, Popped::Effect(Effect::Collect { .. }))).count();
        assert_eq!(collected, usize::from(keeps));
    }
}
