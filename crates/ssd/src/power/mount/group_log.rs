//! The group log at a mount: what the scan of flash and PLP memory know goes to rows or to block groups, and
//! their choice comes back.

use crate::core::flash::FlashPayload;
use crate::core::journal::Journal;
use crate::engine::Engine;
use crate::power::cut::Remains;
use crate::power::mount::choice::Chosen;
use crate::power::mount::scanned::ScannedPages;
use crate::write::found::{Lost, Newests, PagesSeen};
use crate::write::groups::mount::GroupsSeen;
use crate::write::rows::Rows;
use crate::write::rows::mount::RowsSeen;
use std::collections::BTreeSet;
use vocab::{BlockAddr, Lpn, Ppn};

impl PagesSeen for ScannedPages {
    fn is_valid(&self, ppn: Ppn) -> bool {
        ScannedPages::is_valid(self, ppn)
    }

    fn is_erased(&self, ppn: Ppn) -> bool {
        ScannedPages::is_erased(self, ppn)
    }

    fn is_whole(&self, block: BlockAddr) -> bool {
        ScannedPages::is_whole(self, block)
    }

    fn is_believed(&self, ppn: Ppn) -> bool {
        ScannedPages::is_believed(self, ppn)
    }
}

/// Knowledge of the mount about the pages of block groups.
fn seen_of_groups<'a, P>(scanned: &'a ScannedPages, remains: &'a Remains<P>) -> GroupsSeen<'a> {
    GroupsSeen { seen: scanned, erasing: &remains.erasing, erases_known: !remains.outage.memory.reads }
}

/// Pages that only summaries vouch for and that a mount looks at nonetheless.
pub(crate) fn doubted_in_rows<P: FlashPayload>(engine: &Engine<P>, scanned: &ScannedPages, suspects: &BTreeSet<Ppn>) -> Vec<Ppn> {
    let mut doubted = Rows::doubted(&engine.core, scanned, suspects);
    // Block groups prefer copies with parity.
    if engine.writer.facts().leans_on_rows {
        let mut bare = Rows::bare_copies(&engine.core, scanned);
        bare.retain(|ppn| !doubted.contains(ppn));
        doubted.append(&mut bare);
    }
    doubted
}

pub(crate) fn choose_in_rows<P: FlashPayload>(
    engine: &Engine<P>,
    scanned: &ScannedPages,
    but: &BTreeSet<Ppn>,
    durable: &Journal,
    lost: Lost,
    sought: Newests,
) -> Chosen {
    engine.writer.rows().choose(&engine.core, RowsSeen { seen: scanned, without: but }, durable, lost, sought).into()
}

/// See [`Rows::in_parts`].
pub(crate) fn rows_in_parts<P: FlashPayload>(
    engine: &Engine<P>,
    scanned: &ScannedPages,
    suspects: &BTreeSet<Ppn>,
) -> Option<BTreeSet<Lpn>> {
    Rows::in_parts(&engine.core, scanned, suspects)
}

pub(crate) fn choose_in_groups<P: FlashPayload>(
    engine: &Engine<P>,
    scanned: &ScannedPages,
    remains: &Remains<P>,
    but: &BTreeSet<Ppn>,
    lost: Lost,
) -> Chosen {
    engine.writer.groups().choose(&engine.core, seen_of_groups(scanned, remains), but, lost).into()
}

/// Takes over the coverage of every row.
pub(crate) fn mount_rows<P: FlashPayload>(engine: &mut Engine<P>, scanned: &ScannedPages) {
    engine.writer.rows().mount(&mut engine.core, scanned);
}

/// Takes over the table of groups and the sums.
pub(crate) fn mount_groups<P: FlashPayload>(
    engine: &mut Engine<P>,
    remains: &mut Remains<P>,
    scanned: &ScannedPages,
    suspects: &BTreeSet<Ppn>,
) {
    let Some(kept) = remains.groups.take() else { return };
    engine.writer.groups_mut().mount(&mut engine.core, kept, seen_of_groups(scanned, remains));
    // The sums of a parity stay until it is durable. Where they are gone no one knows whether it was.
    let none = BTreeSet::new();
    let suspects = if remains.outage.memory.sums { suspects } else { &none };
    engine.writer.groups_mut().note_groups_without_parity(&engine.core, scanned, suspects);
}

/// Whether two pages of block groups may be in one codeword: of their row, or of their block.
pub(crate) fn shares_codeword<P: FlashPayload>(engine: &Engine<P>, ppn: Ppn, other: Ppn) -> bool {
    let row = |ppn| engine.core.map.rows().row_of(ppn).0;
    row(ppn) == row(other) || engine.core.device.block_of(ppn) == engine.core.device.block_of(other)
}
