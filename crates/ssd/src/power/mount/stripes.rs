//! Static stripes at a mount: what the scan of flash and PLP memory know goes to the stripes, and their
//! choice comes back.

use crate::core::flash::FlashPayload;
use crate::core::journal::Journal;
use crate::engine::Engine;
use crate::power::cut::Remains;
use crate::power::mount::choice::{Choice, Chosen};
use crate::power::mount::scanned::ScannedPages;
use crate::write::found::Newests;
use crate::write::stripes::mount::Evidence;
use crate::write::stripes::partial::PartialParityRemains;
use std::collections::BTreeSet;
use vocab::Ppn;

fn evidence_of_stripes<'a, P: FlashPayload>(
    engine: &Engine<P>,
    scanned: &ScannedPages,
    remains: &'a Remains<P>,
    journal: &'a Journal,
) -> Evidence<'a, P> {
    let grid = &engine.core.device.grid;
    // Half an erase makes a block unreadable, too, but nothing in it was needed.
    let losing = scanned.lost().filter(|&ppn| !remains.erasing.contains(&grid.split(ppn).0));
    Evidence {
        readable: scanned.valid().collect(),
        losing_dies: losing.map(|ppn| grid.die_of(ppn)).collect(),
        journal,
        lost: &remains.lost,
        partials: &remains.held,
        lost_partials: remains.outage.memory.sums,
    }
}

pub(crate) fn choose_stripes<P: FlashPayload>(
    engine: &Engine<P>,
    scanned: &ScannedPages,
    remains: &Remains<P>,
    durable: &Journal,
    but: &BTreeSet<Ppn>,
) -> Chosen {
    let chosen = engine.writer.stripes().choose(&engine.core, &evidence_of_stripes(engine, scanned, remains, durable), but);
    Chosen { pages: Newests::All(chosen.pages), stripes: chosen.stripes, solved: Vec::new() }
}

pub(crate) fn doubted_in_stripes<P: FlashPayload>(
    engine: &Engine<P>,
    scanned: &ScannedPages,
    remains: &Remains<P>,
    suspects: &BTreeSet<Ppn>,
) -> Vec<Ppn> {
    let evidence = evidence_of_stripes(engine, scanned, remains, &engine.core.safe.journal);
    engine.writer.stripes().doubted(&engine.core, &evidence, suspects, |ppn| scanned.is_believed(ppn))
}

pub(crate) fn mount_stripes<P: FlashPayload>(engine: &mut Engine<P>, with: &Choice, partials: Vec<PartialParityRemains<P>>) {
    engine.writer.stripes_mut().take_over(&mut engine.core, &with.stripes, partials);
}
