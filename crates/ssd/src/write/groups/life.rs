//! The life of a block group: opened with a code, given up where a block goes bad, erased, and
//! collected ahead of its turn when its code is no longer the one in use.

use crate::engine::Engine;
use crate::write::groups::{BlockSums, GroupInfo, GroupStats, Layout, OpenGroup};
use device::contents::HostPayload;
use ftl::{Stream, UnitId};
use nand::FlashArray;
use protect::{GroupHistory, Protection};
use std::sync::Arc;
use vocab::{Cause, DieId, StripSet};

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    pub(crate) fn open_group(&mut self, stream: Stream, writer: usize) -> bool {
        self.choose_code();
        let code = self.writer.groups.first_code + self.writer.groups.now;
        let instance = self.writer.groups.codes[code].0;
        let blocks = if instance.block { instance.codewords * (instance.data + instance.parity) } else { 0 };
        if self.writer.groups.used[writer] + blocks > self.writer.groups.room {
            return false;
        }
        let Some((group, page)) = self.core.map.open_row(stream) else { return false };
        debug_assert_eq!(page, 0);
        let members = self.core.map.rows().members(group);
        let slots = ftl::slots_of(&self.core.device.grid, self.group_scheme(), &instance, group, members);
        let stripe = self.group_scheme().page_stripe(&instance, group, members).expect("groups too narrow are retired");
        self.core.map.open_group(group, code as u8, slots);
        self.writer.groups.info[group.index()] = Some(GroupInfo { code, members, written: 0 });
        self.writer.groups.stats.opened += 1;
        if instance.block {
            let sums = vec![P::default(); (stripe.data * self.core.device.grid.slots_per_page()) as usize];
            self.hold(writer, stripe.data + stripe.codewords * instance.parity);
            self.core.map.pin(group.0);
            self.writer.groups.blocks.insert(
                group.0,
                BlockSums { sums, members: Vec::new(), done: StripSet::EMPTY, codewords_left: stripe.codewords },
            );
        }
        self.writer.groups.open[writer] = Some(OpenGroup { layout: Arc::new(Layout { group, code, stripe }), page: 0, next: 0 });
        true
    }

    /// Asks the scheme for the code of the next group.
    fn choose_code(&mut self) {
        let history = GroupHistory {
            opened: self.writer.groups.stats.opened,
            most_pe: self.core.map.most_pe(),
            asked: self.writer.groups.asked,
        };
        let code = self.group_scheme().code_for(self.writer.groups.now, &history);
        if code != self.writer.groups.now {
            self.writer.groups.now = code;
            self.writer.groups.migrating = true;
            self.settle_group_space();
        }
    }

    /// Tells the map what groups hold: at first, and when code or dies have changed.
    pub(crate) fn settle_group_space(&mut self) {
        let Protection::Groups(scheme) = &self.writer.protection else { return };
        let code = self.writer.groups.codes[self.writer.groups.first_code + self.writer.groups.now].0;
        let first = self.writer.groups.codes.iter().map(|(other, _)| scheme.cleans_first(other, &code));
        let outdated = (0..).zip(first).fold(0, |bits, (number, first): (u32, bool)| bits | u64::from(first) << number);
        self.core.map.settle_groups(&**scheme, &code, outdated);
    }

    /// A die died: open groups that it belongs to end where there are groups left to write to,
    /// because data written to them now would have a loss less to survive. Otherwise they go on,
    /// what would lie on the die being in the sums and then in the parity, unless a codeword has
    /// lost more than its code brings back.
    pub(crate) fn end_groups_on(&mut self, die: DieId) {
        for writer in 0..2 {
            let Some(open) = &self.writer.groups.open[writer] else { continue };
            let (group, stripe) = (open.layout.group.0, &open.layout.stripe);
            let parity = self.writer.groups.codes[open.layout.code].0.parity;
            let dead = |codeword: u32| {
                stripe.strips.iter().filter(|s| s.codeword == codeword && self.core.device.is_dead(s.die)).count()
            };
            let beyond = (0..stripe.codewords).any(|codeword| dead(codeword) as u32 > parity);
            if beyond || stripe.strip_on(die).is_some() && self.core.map.free_units(0) > 2 {
                self.abandon_group(group);
            }
        }
    }

    /// Nothing more is written to an open group, a block of which went bad: its codewords get
    /// their parity as they stand, and it is a group without a block code from now on.
    pub(crate) fn abandon_group(&mut self, group: u32) {
        let Some(writer) = (0..2).find(|&w| self.writer.groups.open[w].as_ref().is_some_and(|open| open.layout.group.0 == group))
        else {
            return;
        };
        let layout = self.writer.groups.open[writer].take().expect("just found").layout;
        self.core.map.abandon(group);
        let pages = self.core.device.grid.pages_per_block();
        self.abandon_block_sums(&layout, writer);
        let keys: Vec<(u32, u32)> =
            self.writer.groups.held.range((group * pages, 0)..((group + 1) * pages, 0)).map(|(key, _)| *key).collect();
        for key in &keys {
            let held = self.writer.groups.held.get_mut(key).expect("just listed");
            held.missing -= layout.stripe.data_of(key.1) - held.data.len();
        }
        for key in keys {
            self.put_due_parity(key, &layout);
        }
    }

    /// Sums of blocks whose parity was not written yet leave the cache.
    fn abandon_block_sums(&mut self, layout: &Layout, writer: usize) {
        let last_row = self.row_of_group(layout.group, self.core.device.grid.pages_per_block() - 1);
        let parity = self.writer.groups.codes[layout.code].0.parity;
        let Some(blocks) = self.writer.groups.blocks.get_mut(&layout.group.0) else { return };
        for (position, strip) in (0..layout.stripe.data).zip(&layout.stripe.strips) {
            let held = self.writer.groups.held.get(&(last_row, strip.codeword));
            let written = held.is_some_and(|held| held.data.contains(u32::from(strip.die.0)));
            if !written && !blocks.done.contains(position) {
                blocks.done.insert(position);
                self.writer.groups.used[writer] -= 1;
            }
        }
        let begun = |codeword: &u32| self.writer.groups.held.contains_key(&(last_row, *codeword));
        let never = (0..layout.stripe.codewords).filter(|codeword| !begun(codeword)).count() as u32;
        // A codeword whose parity is in flash already is counted out, too.
        let ended = layout.stripe.codewords - blocks.codewords_left;
        blocks.codewords_left -= never - ended;
        self.writer.groups.used[writer] -= (never - ended) * parity;
        if blocks.codewords_left == 0 {
            self.writer.groups.blocks.remove(&layout.group.0);
            self.release(layout.group.0);
        }
    }

    /// A group was erased.
    pub(crate) fn group_erased(&mut self, unit: UnitId) {
        if self.core.is_mountable() && self.has_groups() {
            self.forget_sums(unit);
        }
        let Protection::Groups(scheme) = &self.writer.protection else { return };
        if let Some(info) = self.writer.groups.info[unit as usize].take() {
            let now = &self.writer.groups.codes[self.writer.groups.first_code + self.writer.groups.now].0;
            let outdated = scheme.cleans_first(&self.writer.groups.codes[info.code].0, now);
            self.writer.groups.stats.collected += 1;
            self.writer.groups.stats.collected_outdated += u64::from(outdated);
        }
        if !self.core.device.dead.is_empty() || self.core.grown_bad > 0 || self.writer.groups.first_code > 0 {
            self.core.map.refit_group(&**scheme, unit);
        }
    }

    /// The drive has nothing to do: a group of a code no longer in use is collected.
    pub(crate) fn migrate_when_idle(&mut self) {
        if !self.writer.groups.migrating || !self.host.stalled.is_empty() || self.care.collectors[0].is_busy() {
            return;
        }
        if let Some(victim) = self.core.map.condemn_outdated() {
            self.begin_collecting(0, victim, Cause::Gc);
            return;
        }
        let now = self.writer.groups.first_code + self.writer.groups.now;
        let open = self.writer.groups.open.iter().flatten().any(|open| open.layout.code != now);
        self.writer.groups.migrating = open || self.core.map.outdated_groups() > 0;
    }

    /// What was written to block groups so far.
    pub(crate) fn group_stats(&self) -> GroupStats {
        GroupStats { outdated: self.core.map.outdated_groups(), ..self.writer.groups.stats }
    }
}
