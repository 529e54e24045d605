//! Static stripes at a mount: what the scan of flash and PLP memory know goes to the stripes, and their
//! choice comes back.

use crate::core::flash::FlashPayload;
use crate::core::journal::Journal;
use crate::engine::Engine;
use crate::power::cut::Remains;
use crate::power::mount::choice::{Choice, Chosen};
use crate::power::mount::looks::Looks;
use crate::write::found::Newests;
use crate::write::stripes::mount::Evidence;
use crate::write::stripes::partial::PartialParityRemains;
use std::collections::BTreeSet;
use vocab::Ppn;

impl<P: FlashPayload> Engine<P> {
    fn evidence_of_stripes<'a>(&self, looks: &Looks, remains: &'a Remains<P>, journal: &'a Journal) -> Evidence<'a, P> {
        let grid = &self.core.device.grid;
        // Half an erase makes a block unreadable, too, but nothing in it was needed.
        let losing = looks.lost().filter(|&ppn| !remains.erasing.contains(&grid.split(ppn).0));
        Evidence {
            readable: looks.valid().collect(),
            losing_dies: losing.map(|ppn| grid.die_of(ppn)).collect(),
            journal,
            lost: &remains.lost,
            partials: &remains.held,
            lost_partials: remains.outage.memory.sums,
        }
    }

    pub(crate) fn choose_stripes(&self, looks: &Looks, remains: &Remains<P>, durable: &Journal, but: &BTreeSet<Ppn>) -> Chosen {
        let chosen = self.writer.stripes.choose(&self.core, &self.evidence_of_stripes(looks, remains, durable), but);
        Chosen { pages: Newests::All(chosen.pages), stripes: chosen.stripes, solved: Vec::new() }
    }

    pub(crate) fn doubted_in_stripes(&self, looks: &Looks, remains: &Remains<P>, suspects: &BTreeSet<Ppn>) -> Vec<Ppn> {
        let evidence = self.evidence_of_stripes(looks, remains, &self.core.safe.journal);
        self.writer.stripes.doubted(&self.core, &evidence, suspects, |ppn| looks.is_believed(ppn))
    }

    pub(crate) fn mount_stripes(&mut self, with: &Choice, partials: Vec<PartialParityRemains<P>>) {
        self.writer.stripes.take_over(&mut self.core, &with.stripes, partials);
    }
}
