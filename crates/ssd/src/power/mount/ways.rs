//! The steps of a mount in which ways of writing differ: a row for each way.

use crate::core::flash::FlashPayload;
use crate::core::journal::Journal;
use crate::engine::Engine;
use crate::power::cut::Remains;
use crate::power::mount::choice::{Choice, Chosen};
use crate::power::mount::group_log::{choose_in_groups, choose_in_rows, doubted_in_rows, mount_rows, rows_in_parts};
use crate::power::mount::scanned::ScannedPages;
use crate::power::mount::stripes::{choose_stripes, doubted_in_stripes, mount_stripes};
use crate::power::mount::{choose_pages, logical_pages_in};
use crate::write::Way;
use crate::write::found::{Lost, Newests};
use std::collections::BTreeSet;
use vocab::{Lpn, Ppn};

/// The evidence of a mount: the scan of flash, and what survived the cut beside it.
pub(super) struct Evidence<'a, P: FlashPayload> {
    pub scanned: &'a ScannedPages,
    pub remains: &'a Remains<P>,
}

impl<P: FlashPayload> Clone for Evidence<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: FlashPayload> Copy for Evidence<'_, P> {}

/// The condition of a choice.
#[derive(Clone, Copy)]
pub(super) struct Condition<'a> {
    /// Pages that are taken for unreadable.
    pub but: &'a BTreeSet<Ppn>,
    /// Treatment of lost pages in rows and groups.
    pub lost: Lost,
}

/// Pages that summaries vouch for and that are looked at nonetheless, beside these suspects.
type Doubted<P> = fn(&Engine<P>, &ScannedPages, &Remains<P>, &BTreeSet<Ppn>) -> Vec<Ppn>;
/// The newest consistent state by the evidence, given what was durable, under a condition. Of the logical pages that are sought, or of all.
type Choose<P> = fn(&Engine<P>, Evidence<'_, P>, &Journal, Condition<'_>, Newests) -> Chosen;
/// Logical pages whose newest contents may differ if these suspects cannot be read, or if lost pages are not solved for; `None`:
/// all may.
type MayChange<P> = fn(&Engine<P>, &ScannedPages, &BTreeSet<Ppn>) -> Option<BTreeSet<Lpn>>;
/// Takes over what belongs to the scheme.
type TakeOver<P> = fn(&mut Engine<P>, &ScannedPages, &Choice, &mut Remains<P>);

/// The steps of one way.
pub(super) struct Steps<P: FlashPayload> {
    pub doubted: Doubted<P>,
    pub choose: Choose<P>,
    pub may_change: MayChange<P>,
    pub take_over: TakeOver<P>,
}

/// The steps of the drive's way.
pub(super) fn steps<P: FlashPayload>(engine: &Engine<P>) -> Steps<P> {
    match engine.writer.way {
        Way::Pages | Way::Zones => Steps {
            doubted: |_, _, _, _| Vec::new(),
            choose: |drive, known, _, condition, sought| choose_pages(drive, known.scanned, condition.but, sought).into(),
            may_change: |drive, _, suspects| Some(logical_pages_in(drive, suspects)),
            take_over: |_, _, _, _| (),
        },
        Way::Stripes => Steps {
            doubted: doubted_in_stripes,
            choose: |drive, known, durable, condition, _| {
                choose_stripes(drive, known.scanned, known.remains, durable, condition.but)
            },
            may_change: |_, _, _| None,
            take_over: |drive, _, with, remains| mount_stripes(drive, with, std::mem::take(&mut remains.held)),
        },
        Way::Rows => Steps {
            doubted: |drive, scanned, _, suspects| doubted_in_rows(drive, scanned, suspects),
            // Durable contents stay durable, whatever the suspects are: the choice needs no parity that is one of them.
            choose: |drive, known, _, Condition { but, lost }, sought| {
                choose_in_rows(drive, known.scanned, but, &drive.core.safe.journal, lost, sought)
            },
            may_change: |drive, scanned, suspects| rows_in_parts(drive, scanned, suspects),
            take_over: |drive, scanned, _, _| mount_rows(drive, scanned),
        },
        Way::Groups => Steps {
            doubted: |drive, scanned, _, suspects| doubted_in_rows(drive, scanned, suspects),
            choose: |drive, known, _, Condition { but, lost }, _| {
                choose_in_groups(drive, known.scanned, known.remains, but, lost)
            },
            may_change: |_, _, _| None,
            take_over: |drive, _, _, _| drive.writer.groups_mut().settle_mounted(&mut drive.core),
        },
    }
}
