//! Flows of reads: a lost page is brought back by the way of writing that it was written in.

use crate::core::target::Target;
use crate::engine::Engine;
use crate::engine::reads::reads;
use crate::read::around::SumRead;
use crate::read::solve::deliver;
use crate::write::sources::Sources;
use device::contents::HostPayload;
use device::slab::Id;
use ftl::{LogKind, Place};
use nand::{FlashArray, PageRole};
use protect::Protection;
use vocab::{DieId, HostCommand, Lpn, Ppn, StripSet, StripeId};

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Brings back a page that cannot be read where the map has it, and hands it to whoever wants it.
    pub(crate) fn repair(&mut self, target: Target) {
        if reads!(self.read_where_it_lies_now(target)) {
            return;
        }
        if let Some(payload) = self.rescued(target) {
            deliver(&mut self.core, target, Some(payload));
            self.hand_on();
        } else if matches!(self.writer.protection, Protection::Groups(_)) {
            self.repair_in_group(target);
        } else {
            let sources = self.sources(target, &[]);
            reads!(self.solve_from(target, sources, Vec::new()));
        }
    }

    /// Some sources of a lost page could not be read: looks for others.
    pub(crate) fn solve_again(&mut self, target: Target, failed: Vec<Ppn>) {
        let sources = self.sources(target, &failed);
        reads!(self.solve_from(target, sources, failed));
    }

    /// What brings back the page that the target wants, without the pages of which reads `failed`.
    fn sources(&self, target: Target, failed: &[Ppn]) -> Sources<P> {
        match &self.writer.protection {
            Protection::None => match self.lpn_wanted(target).map(|lpn| self.core.map.lookup(lpn)) {
                Some(Place::Unmapped) => Sources::Discarded,
                _ => Sources::None,
            },
            Protection::Stripes(_) => match self.stripe_sources(target) {
                // What could not be read may have gone elsewhere because its program failed; if not, nothing else helps.
                Sources::Sum { pages, .. } if pages.iter().any(|page| failed.contains(page)) => Sources::None,
                sources => sources,
            },
            Protection::Rows(_) => self.sources_in_rows(target, failed),
            Protection::Groups(_) => unreachable!("groups solve for themselves"),
            Protection::Zones(_) => self.code_zones().sources(&self.core, target),
        }
    }

    fn sources_in_rows(&self, target: Target, failed: &[Ppn]) -> Sources<P> {
        let place = match (target, self.lpn_wanted(target)) {
            (Target::Move { slot, .. }, _) => Place::At(slot),
            (_, Some(lpn)) => self.core.map.lookup(lpn),
            (_, None) => unreachable!("rows have no stripe updates"),
        };
        let slot = match place {
            Place::Unmapped => return Sources::Discarded,
            Place::Missing => return Sources::None,
            Place::At(slot) => slot,
        };
        let (ppn, slot) = self.core.device.grid.page_of(slot);
        match self.row_sources(ppn, failed) {
            Ok(Some(pages)) => Sources::Sum { held: P::default(), pages, slot },
            Ok(None) => Sources::None,
            Err(()) => Sources::AfterParity,
        }
    }

    fn stripe_sources(&self, target: Target) -> Sources<P> {
        let n = self.stripe_scheme().data_strips();
        let (stripe, lost) = match target {
            Target::StripeMerge { op, strip } => (self.stripe_of_op(op), strip),
            Target::Strip { stripe, strip } => (stripe, strip),
            Target::Move { slot, .. } => {
                let (ppn, index) = self.core.device.grid.page_of(slot);
                match self.core.device.tags(ppn)[index as usize].role() {
                    PageRole::Data(lpn) => self.strip_of(lpn),
                    PageRole::Parity(stripe) => (stripe, n),
                    PageRole::Filler => return Sources::Discarded,
                }
            }
            Target::HostRead { .. } | Target::Merge { .. } => {
                let lpn = self.lpn_wanted(target).expect("a host page");
                if self.core.map.lookup(lpn) == Place::Unmapped {
                    return Sources::Discarded;
                }
                self.strip_of(lpn)
            }
        };
        if self.is_being_programmed(stripe) { Sources::AfterUpdate(stripe) } else { self.sources_of_strip(stripe, lost) }
    }

    fn sources_of_strip(&self, stripe: StripeId, lost: u32) -> Sources<P> {
        let n = self.stripe_scheme().data_strips();
        if self.writer.stripes.held.get(stripe).is_some() {
            return self.sources_beside_partial(stripe, lost);
        }
        let (present, unreadable) = self.stripe_state(stripe);
        let protected = self.core.map.lookup_parity(stripe) != Place::Unmapped;
        let strips: Option<StripSet> = if protected { self.stripe_scheme().repair(lost, present, unreadable) } else { None };
        // Parity itself is the sum of what is present.
        let strips = if lost == n { strips.map(|s| s.and(present)) } else { strips };
        let Some(strips) = strips else { return Sources::None };
        let page = |strip| match self.place_of_strip(stripe, strip) {
            Place::At(slot) => self.core.device.grid.page_of(slot).0,
            place => unreachable!("a readable strip has a place, found {place:?}"),
        };
        Sources::Sum { held: P::default(), pages: strips.iter().map(page).collect(), slot: 0 }
    }

    /// A strip that the partial parity covers is the sum of that and the others it covers. Any
    /// other strip, and the old parity, is the sum of what the old parity covers: old versions
    /// where the partial parity has newer ones (theory.md, 1.1).
    fn sources_beside_partial(&self, stripe: StripeId, lost: u32) -> Sources<P> {
        let held = self.writer.stripes.held.get(stripe).expect("a partial parity");
        let n = self.stripe_scheme().data_strips();
        let inside = held.covers.contains(lost);
        let place = |strip: u32| match held.old_place(strip) {
            Some(old) if !inside => old,
            _ => self.place_of_strip(stripe, strip),
        };
        let strips = if inside { held.covers } else { StripSet::first(n + 1) };
        let mut pages = Vec::new();
        for strip in strips.iter().filter(|&strip| strip != lost) {
            match place(strip) {
                Place::Unmapped if strip == n => return Sources::None,
                Place::Unmapped => {}
                Place::At(slot) if self.core.device.array.answers(self.core.device.grid.page_of(slot).0) => {
                    pages.push(self.core.device.grid.page_of(slot).0)
                }
                _ => return Sources::None,
            }
        }
        Sources::Sum { held: if inside { held.sum.clone() } else { P::default() }, pages, slot: 0 }
    }

    /// Reads for the host under a scheme of stripes or rows: pages of busy dies with the rest of their
    /// stripe or row as alternatives, all others as ever, in the order as ever.
    pub(crate) fn read_around(&mut self, job: Id, first: u32, end: u32) {
        let mut wanted = Vec::new();
        let mut lpn = first;
        while lpn < end {
            let found = self.alternatives_of(Lpn(lpn), end - lpn);
            lpn += found.as_ref().map_or(1, |(_, count)| *count);
            wanted.extend(found.map(|(wanted, _)| wanted));
        }
        let around = reads!(self.read_around(job, wanted.into_iter()));
        let mut lpn = first;
        while lpn < end {
            lpn += if around.binary_search(&lpn).is_ok() { 1 } else { self.read_from(job, Lpn(lpn), end - lpn) };
        }
        self.reads.lazy.queue_alternatives(&mut self.core);
    }

    /// The page and those that sum up to it, with how many logical pages from `lpn` on lie in it side by
    /// side; `None` where it is not in flash, or nothing stands in for it now.
    fn alternatives_of(&self, lpn: Lpn, most: u32) -> Option<(SumRead, u32)> {
        if self.host.buffer.get(lpn).is_some() || self.core.is_hidden(lpn) {
            return None;
        }
        let Place::At(slot) = self.core.map.lookup(lpn) else { return None };
        let (ppn, index) = self.core.device.grid.page_of(slot);
        if self.unsent(ppn).is_some() || !self.core.device.array.answers(ppn) {
            return None;
        }
        let mut together = match &self.writer.protection {
            Protection::Stripes(_) => self.rest_of_stripe(lpn)?,
            Protection::Rows(_) => self.row_sources(ppn, &[]).ok()??,
            _ => return None,
        };
        if together.is_empty() || together.len() > coding::graph::BLOCKS_MAX {
            return None;
        }
        together.push(ppn);
        together.sort_unstable();
        let count = self.run_of(lpn, slot, most);
        Some((SumRead { together, slots: (index as u8, count as u8), pages: vec![(ppn, lpn)] }, count))
    }

    /// The other strips of the page's stripe, parity included, where they sum up to it as they are now.
    fn rest_of_stripe(&self, lpn: Lpn) -> Option<Vec<Ppn>> {
        let (stripe, strip) = self.strip_of(lpn);
        let (present, unreadable) = self.stripe_state(stripe);
        let parity = self.core.map.lookup_parity(stripe);
        if self.writer.stripes.locks.is_held(stripe)
            || self.writer.stripes.held.get(stripe).is_some()
            || parity == Place::Unmapped
        {
            return None;
        }
        let strips = self.stripe_scheme().repair(strip, present, unreadable)?;
        let page = |strip| match self.place_of_strip(stripe, strip) {
            Place::At(slot) => Some(self.core.device.grid.page_of(slot).0).filter(|ppn| self.unsent(*ppn).is_none()),
            _ => None,
        };
        strips.iter().map(page).collect()
    }

    /// Reads logical pages for the host under code zones.
    pub(crate) fn read_in_zones(&mut self, job: Id, first: u32, end: u32, command: &HostCommand) {
        if self.core.device.timed {
            self.code_zones_mut().scheme.on_read(Lpn(first), end - first);
        }
        reads!(self.read_in_zones(job, first..end, command));
    }

    /// The die stops answering, for good. Its data stay in the map; reads solve for them.
    pub(crate) fn die_died(&mut self, die: DieId) {
        self.core.device.dead.insert(u32::from(die.0));
        self.leave_die_out(die);
        self.rebuild_die(die);
    }

    /// A dead die takes part in nothing new.
    pub(crate) fn leave_die_out(&mut self, die: DieId) {
        if self.core.map.kind() == LogKind::Group {
            self.drop_die_from_rows(die);
        } else {
            for log in self.core.map.logs_of_die(die) {
                self.send_moved(log);
                self.care.collectors[log].halted = true;
            }
            self.core.map.retire_die(die);
            self.core.map.logs_of_die(die).for_each(|log| self.fail_waiting_of(log));
        }
    }
}
