//! The seam of a mount: what the scan of flash and PLP memory know goes to the way of writing, and its choice comes back.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::journal::Journal;
use crate::write::found::{self, Found, Lost, Newests, PagesSeen, ScanSeen};
use crate::write::groups::GroupRemains;
use crate::write::groups::mount::GroupsSeen;
use crate::write::rows::Rows;
use crate::write::rows::mount::RowsSeen;
use crate::write::stripes::mount::{self as stripes, StripeFound};
use crate::write::stripes::partial::PartialParityRemains;
use crate::write::{InUse, Writer};
use std::collections::{BTreeMap, BTreeSet};
use vocab::{BlockAddr, Lpn, Ppn};

/// The evidence of a mount: the scan of flash, and what survived the cut beside it.
pub(crate) struct Evidence<'a, P> {
    pub scan: &'a dyn ScanSeen,
    /// Blocks whose erase was asked for and had not ended.
    pub erasing: &'a BTreeSet<BlockAddr>,
    /// True if `erasing` is complete; false if the outage took the list of erases from PLP memory.
    pub erases_known: bool,
    /// Contents known to be lost permanently, with their ranks.
    pub lost: &'a BTreeMap<Lpn, u64>,
    /// The partial parities of PLP memory.
    pub partials: &'a [PartialParityRemains<P>],
    /// True if the outage took the partial parities and the sums of block groups from PLP memory.
    pub lost_sums: bool,
}

impl<'a, P: FlashPayload> Evidence<'a, P> {
    fn of_stripes(&self, core: &Core<P>, journal: &'a Journal) -> stripes::Evidence<'a, P> {
        let grid = &core.device.grid;
        // Half an erase makes a block unreadable, too, but nothing in it was needed.
        let losing = self.scan.lost().into_iter().filter(|&ppn| !self.erasing.contains(&grid.split(ppn).0));
        stripes::Evidence {
            readable: self.scan.valid(),
            losing_dies: losing.map(|ppn| grid.die_of(ppn)).collect(),
            journal,
            lost: self.lost,
            partials: self.partials,
            lost_partials: self.lost_sums,
        }
    }

    fn of_groups(&self) -> GroupsSeen<'a> {
        GroupsSeen { seen: self.scan, erasing: self.erasing, erases_known: self.erases_known }
    }
}

/// The condition of a choice.
#[derive(Clone, Copy)]
pub(crate) struct Condition<'a> {
    /// Pages that are taken for unreadable.
    pub but: &'a BTreeSet<Ppn>,
    /// Treatment of lost pages in rows and groups.
    pub lost: Lost,
}

impl<P: FlashPayload> Writer<P> {
    /// Pages that only summaries vouch for and that a mount looks at nonetheless, beside these suspects.
    pub fn doubted(&self, core: &Core<P>, evidence: &Evidence<'_, P>, suspects: &BTreeSet<Ppn>) -> Vec<Ppn> {
        match &self.in_use {
            InUse::Pages | InUse::Zones => Vec::new(),
            InUse::Stripes(stripes) => {
                let seen = evidence.of_stripes(core, &core.safe.journal);
                stripes.doubted(core, &seen, suspects, |ppn| evidence.scan.is_believed(ppn))
            }
            InUse::Rows(_) => {
                let doubted = Rows::doubted(core, evidence.scan, suspects);
                let mut bare = Rows::bare_copies(core, evidence.scan);
                bare.retain(|ppn| !doubted.contains(ppn));
                [doubted, bare].concat()
            }
            // Block groups prefer copies with parity.
            InUse::Groups(_) => Rows::doubted(core, evidence.scan, suspects),
        }
    }

    /// The newest consistent state by the evidence, given what was durable, under a condition: of the logical pages that are sought, or of
    /// all.
    pub fn choose(
        &self,
        core: &Core<P>,
        evidence: &Evidence<'_, P>,
        durable: &Journal,
        Condition { but, lost }: Condition<'_>,
        sought: Newests,
    ) -> Found {
        match &self.in_use {
            InUse::Pages | InUse::Zones => choose_pages(core, evidence.scan, but, sought),
            InUse::Stripes(stripes) => {
                let chosen = stripes.choose(core, &evidence.of_stripes(core, durable), but);
                Found { stripes: chosen.stripes, ..Found::new(Newests::All(chosen.pages)) }
            }
            // Durable contents stay durable, whatever the suspects are: the choice needs no parity that is one of them.
            InUse::Rows(rows) => {
                let view = RowsSeen { seen: evidence.scan, without: but };
                rows.choose(core, view, &core.safe.journal, lost, sought)
            }
            InUse::Groups(groups) => groups.choose(core, evidence.of_groups(), but, lost),
        }
    }

    /// Logical pages whose newest contents may differ if these suspects cannot be read, or if lost pages are not solved for; `None`: all
    /// may.
    pub fn may_change(&self, core: &Core<P>, seen: &dyn PagesSeen, suspects: &BTreeSet<Ppn>) -> Option<BTreeSet<Lpn>> {
        match &self.in_use {
            InUse::Pages | InUse::Zones => {
                Some(suspects.iter().flat_map(|&ppn| found::data_in(core, ppn)).map(|(lpn, _)| lpn).collect())
            }
            InUse::Stripes(_) | InUse::Groups(_) => None,
            InUse::Rows(_) => Rows::in_parts(core, seen, suspects),
        }
    }

    /// Takes over the table of groups and the sums, before anything is chosen.
    pub fn mount_groups(
        &mut self,
        core: &mut Core<P>,
        kept: Option<GroupRemains<P>>,
        evidence: &Evidence<'_, P>,
        suspects: &BTreeSet<Ppn>,
    ) {
        let (InUse::Groups(groups), Some(kept)) = (&mut self.in_use, kept) else { return };
        groups.mount(core, kept, evidence.of_groups());
        // The sums of a parity stay until it is durable. Where they are gone no one knows whether it was.
        let none = BTreeSet::new();
        groups.note_groups_without_parity(core, evidence.scan, if evidence.lost_sums { suspects } else { &none });
    }

    /// Takes over what belongs to the way, once the map has what was chosen.
    pub fn take_over(
        &mut self,
        core: &mut Core<P>,
        seen: &dyn PagesSeen,
        chosen: &[StripeFound],
        partials: Vec<PartialParityRemains<P>>,
    ) {
        match &mut self.in_use {
            InUse::Pages | InUse::Zones => {}
            InUse::Stripes(stripes) => stripes.take_over(core, chosen, partials),
            InUse::Rows(rows) => rows.mount(core, seen),
            InUse::Groups(groups) => groups.settle_mounted(core),
        }
    }

    /// Pages of rows that lean on these suspects.
    pub fn leaning(&self, core: &Core<P>, suspects: &BTreeSet<Ppn>) -> Vec<Ppn> {
        if let InUse::Rows(_) = self.in_use { Rows::leaning(core, suspects).collect() } else { Vec::new() }
    }

    /// Pages of rows that a parity sums together with one of these suspects.
    pub fn summed_with(&self, core: &Core<P>, suspects: &BTreeSet<Ppn>) -> BTreeSet<Ppn> {
        if let InUse::Rows(_) = self.in_use { Rows::summed_with(core, suspects) } else { BTreeSet::new() }
    }
}

/// Without redundancy every page stands for itself. Code of code zones is derived data: none
/// is believed after a cut.
fn choose_pages<P: FlashPayload>(core: &Core<P>, scan: &dyn ScanSeen, but: &BTreeSet<Ppn>, sought: Newests) -> Found {
    let mut found = Found::new(sought);
    for ppn in scan.valid().into_iter().filter(|ppn| !but.contains(ppn)) {
        for (lpn, newest) in found::data_in(core, ppn) {
            found.offer(lpn, newest);
        }
    }
    found
}
