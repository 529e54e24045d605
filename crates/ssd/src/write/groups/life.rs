//! The life of a block group: it is opened with a code, given up where a block goes bad, collected ahead of its
//! turn when its code is no longer the one in use, and erased.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::write::groups::{
    BlockSums, CodewordKey, GroupInfo, GroupStats, Groups, Layout, OpenGroup, codewords_of, row_of_group, with_algebra,
};
use ftl::{Stream, UnitId};
use protect::{GroupHistory, GroupScheme};
use std::sync::Arc;
use vocab::{DieId, StripSet, SuperblockId};

impl<P: FlashPayload> Groups<P> {
    /// Opens a group for the stream; false if there is no space for one, or no room for its sums.
    pub fn open_group(&mut self, core: &mut Core<P>, stream: Stream, write_pointer: usize) -> bool {
        self.choose_code(core);
        let code = self.first_code + self.now;
        let instance = self.codes[code].0;
        let blocks = instance.block * instance.codewords * (instance.data + instance.parity);
        if self.used[write_pointer] + blocks > self.room {
            return false;
        }
        let Some((group, page)) = core.map.open_row(stream) else { return false };
        debug_assert_eq!(page, 0);
        let members = core.map.rows().members(group);
        let slots = ftl::slots_of(&core.device.grid, self.scheme(), &instance, group, members);
        let stripe = self.scheme().page_stripe(&instance, group, members).expect("groups too narrow are retired");
        core.map.open_group(group, code as u8, slots);
        self.info[group.index()] = Some(GroupInfo { code, members, written: 0 });
        self.stats.opened += 1;
        if instance.block > 0 {
            let sums = vec![P::default(); (stripe.data * instance.block * core.device.grid.slots_per_page()) as usize];
            self.hold(write_pointer, instance.block * (stripe.data + stripe.codewords * instance.parity));
            core.map.pin(group.0);
            let codewords_left = stripe.codewords * instance.block;
            let done = vec![StripSet::EMPTY; instance.block as usize];
            self.blocks.insert(group.0, BlockSums { sums, members: Vec::new(), done, codewords_left });
        }
        self.open[write_pointer] = Some(OpenGroup { layout: Arc::new(Layout { group, code, stripe }), page: 0, next: 0 });
        true
    }

    /// Asks the scheme for the code of the next group.
    fn choose_code(&mut self, core: &mut Core<P>) {
        let failures = core.failed_reads + u64::from(core.grown_bad) + u64::from(core.device.losses.died().len() as u32);
        let (opened, most_pe, asked) = (self.stats.opened, core.map.most_pe(), self.asked);
        let history = GroupHistory { opened, most_pe, failures, asked };
        let code = self.scheme().code_for(self.now, &history);
        if code != self.now {
            self.now = code;
            self.migrating = true;
            self.settle_space(core);
        }
    }

    /// Tells the map what groups hold: at first, and when code or dies have changed.
    pub fn settle_space(&mut self, core: &mut Core<P>) {
        let scheme = &self.scheme;
        let code = self.codes[self.first_code + self.now].0;
        let first = self.codes.iter().map(|(other, _)| scheme.cleans_first(other, &code));
        let outdated = (0..).zip(first).fold(0, |bits, (number, first): (u32, bool)| bits | u64::from(first) << number);
        core.map.settle_groups(&**scheme, &code, outdated);
    }

    /// The drive has more dies, and a scheme and a cache to suit them. Groups keep their codes.
    pub fn grow(&mut self, scheme: &dyn GroupScheme, room: u32) {
        self.first_code = self.codes.len();
        self.codes.extend(scheme.codes().iter().copied().map(with_algebra));
        self.room = room;
        self.scheme = Arc::from(scheme.boxed_clone());
    }

    /// The die takes no further page of open groups; where `superblock` is given, it was but a block of that
    /// group that failed.
    pub fn narrow(&mut self, core: &mut Core<P>, die: DieId, superblock: Option<u32>) {
        if superblock.is_none() {
            core.map.rows_mut().keep_out(die);
        }
        self.settle_space(core);
        if superblock.is_none() {
            self.end_groups_on(core, die);
        }
    }

    /// A die died: open groups that it belongs to end where there are groups left to write to,
    /// because data written to them now would have a loss less to survive. Otherwise they go on:
    /// what the die would get is in the sums and then in the parity, unless a codeword has
    /// lost more than its code brings back.
    fn end_groups_on(&mut self, core: &mut Core<P>, die: DieId) {
        for write_pointer in 0..2 {
            let Some(open) = &self.open[write_pointer] else { continue };
            let (group, stripe) = (open.layout.group.0, &open.layout.stripe);
            let parity = self.codes[open.layout.code].0.parity;
            let dead =
                |codeword: u32| stripe.strips.iter().filter(|s| s.codeword == codeword && core.device.is_dead(s.die)).count();
            let beyond = (0..stripe.codewords).any(|codeword| dead(codeword) as u32 > parity);
            if beyond || stripe.strip_on(die).is_some() && core.map.free_units(0) > 2 {
                self.abandon(core, group);
            }
        }
    }

    /// Nothing more is written to an open group, a block of which went bad: its codewords get
    /// their parity as they are, and it is a group without a block code from now on.
    pub fn abandon(&mut self, core: &mut Core<P>, group: u32) {
        let is_it = |write_pointer: &usize| self.open[*write_pointer].as_ref().is_some_and(|open| open.layout.group.0 == group);
        let Some(write_pointer) = (0..2).find(is_it) else { return };
        let layout = self.open[write_pointer].take().expect("just found").layout;
        core.map.abandon(group);
        self.abandon_block_sums(core, &layout, write_pointer);
        let rows = codewords_of(layout.group, core.device.grid.pages_per_block());
        let keys: Vec<CodewordKey> = self.held.range(rows).map(|(key, _)| *key).collect();
        for key in &keys {
            let held = self.held.get_mut(key).expect("just listed");
            held.missing -= layout.stripe.data_of(key.1) - held.data.len();
        }
        for key in keys {
            self.put_due_parity(core, key, &layout);
        }
    }

    /// Sums of blocks whose parity was not written yet leave the cache.
    fn abandon_block_sums(&mut self, core: &mut Core<P>, layout: &Layout, write_pointer: usize) {
        let (code, pages) = (self.codes[layout.code].0, core.device.grid.pages_per_block());
        let parity = code.parity;
        let Some(blocks) = self.blocks.get_mut(&layout.group.0) else { return };
        let mut never = 0;
        for page in pages - code.block..pages {
            let row = row_of_group(&core.device.grid, layout.group, page);
            let done = &mut blocks.done[code.sum_of(page) as usize];
            for (position, strip) in (0..layout.stripe.data).zip(&layout.stripe.strips) {
                let held = self.held.get(&(row, strip.codeword));
                let written = held.is_some_and(|held| held.data.contains(u32::from(strip.die.0)));
                if !written && !done.contains(position) {
                    done.insert(position);
                    self.used[write_pointer] -= 1;
                }
            }
            // Where a parity failed the sums stay, but nothing of them is under way any more.
            let under_way = |codeword: &u32| self.held.get(&(row, *codeword)).is_some_and(|held| held.parities != Some(0));
            never += (0..layout.stripe.codewords).filter(|codeword| !under_way(codeword)).count() as u32;
        }
        // A codeword whose parity has ended already is counted out, too.
        let ended = layout.stripe.codewords * code.block - blocks.codewords_left;
        blocks.codewords_left -= never - ended;
        self.used[write_pointer] -= (never - ended) * parity;
        if blocks.codewords_left == 0 {
            self.blocks.remove(&layout.group.0);
            core.release(layout.group.0);
        }
    }

    /// A group was erased.
    pub fn group_erased(&mut self, core: &mut Core<P>, unit: UnitId) {
        if core.is_mountable() || !self.held.is_empty() {
            self.forget_sums(unit, core.device.grid.pages_per_block());
        }
        if let Some(info) = self.info[unit as usize].take() {
            let now = &self.codes[self.first_code + self.now].0;
            let outdated = self.scheme().cleans_first(&self.codes[info.code].0, now);
            self.stats.collected += 1;
            self.stats.collected_outdated += u64::from(outdated);
        }
        if !core.device.losses.spares().is_empty() {
            // The group has the spare die as a member now, and new groups may hold more.
            self.settle_space(core);
        } else if !core.device.losses.dead().is_empty() || core.grown_bad > 0 || self.first_code > 0 {
            core.map.refit_group(self.scheme(), unit);
        }
    }

    /// Whether groups of a code that is no longer in use may be left.
    pub fn is_migrating(&self) -> bool {
        self.migrating
    }

    /// There is no group to be collected for its code now. Looks whether there may be one later.
    pub fn settle_migration(&mut self, core: &Core<P>) {
        let now = self.first_code + self.now;
        let open = self.open.iter().flatten().any(|open| open.layout.code != now);
        self.migrating = open || core.map.outdated_groups() > 0;
    }

    /// The drive was mounted: groups with nothing needed are forgotten, others get back their codes.
    pub fn settle_mounted(&mut self, core: &mut Core<P>) {
        for unit in 0..self.info.len() as UnitId {
            let info = self.info[unit as usize];
            if core.map.unit(unit).state != ftl::UnitState::Closed {
                self.forget_group(unit, core.device.grid.pages_per_block());
            } else if let Some(info) = info {
                let code = self.codes[info.code].0;
                let slots = ftl::slots_of(&core.device.grid, self.scheme(), &code, SuperblockId(unit), info.members);
                core.map.open_group(SuperblockId(unit), info.code as u8, slots);
            }
        }
        self.settle_space(core);
    }

    /// Writes to block groups so far.
    pub fn stats(&self, core: &Core<P>) -> GroupStats {
        GroupStats { outdated: core.map.outdated_groups(), ..self.stats }
    }
}
