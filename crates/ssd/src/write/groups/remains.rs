//! State of block groups that survives a power cut: the table of groups and the parity cache.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::owner::{Holds, Owner};
use crate::write::groups::{BlockSums, CodewordKey, GroupInfo, Groups, OpenSums, codewords_of};
use ::coding::ErasureCode;
use ftl::UnitId;
use nand::Member;
use protect::GroupCode;
use std::collections::BTreeMap;
use std::sync::Arc;
use vocab::{Grid, Ppn, SuperblockId};

/// A data page of a group whose program was under way: the parity cache has its contents.
#[derive(Clone, Debug)]
pub(crate) struct Redo<P> {
    pub ppn: Ppn,
    /// The codeword whose sums have it.
    pub key: CodewordKey,
    /// Slot by slot.
    pub payload: Vec<P>,
}

/// Contents of the parity cache and the table of groups, both PLP, through a cut.
#[derive(Clone, Debug)]
pub(crate) struct GroupRemains<P> {
    pub codes: Vec<(GroupCode, ErasureCode)>,
    pub first_code: usize,
    pub now: usize,
    pub asked: bool,
    pub info: Vec<Option<GroupInfo>>,
    pub held: BTreeMap<CodewordKey, OpenSums<P>>,
    pub blocks: BTreeMap<u32, BlockSums<P>>,
    pub redo: Vec<Redo<P>>,
}

impl<P> GroupRemains<P> {
    /// The sums are gone, and with them the pages that they were to be corrected by.
    pub fn lose_sums(&mut self) {
        self.held.clear();
        self.blocks.clear();
        self.redo.clear();
    }
}

impl<P: FlashPayload> Groups<P> {
    /// The PLP part of the state.
    pub fn remains(&self, core: &Core<P>) -> GroupRemains<P> {
        GroupRemains {
            codes: self.codes.clone(),
            first_code: self.first_code,
            now: self.now,
            asked: self.asked,
            info: self.info.clone(),
            held: self.held.clone(),
            blocks: self.blocks.clone(),
            redo: self.redo.iter().cloned().chain(pages_in_flight(core)).collect(),
        }
    }

    /// A cut met a page before it was in flash: it is taken out of the sums, which are of pages in flash.
    pub fn take_out_of_sums(&mut self, grid: &Grid, redo: &Redo<P>) {
        let slots = grid.slots_per_page() as usize;
        let (block, page) = grid.split(redo.ppn);
        let (die, group) = grid.split_block(block);
        let Some(held) = self.held.get_mut(&redo.key) else { return };
        let layout = Arc::clone(&held.layout);
        let position = layout.stripe.strip_on(die).expect("a member of its group");
        let strip = layout.stripe.strips[position as usize];
        let (code, erasure) = &self.codes[layout.code];
        for (index, payload) in redo.payload.iter().enumerate() {
            for parity in 0..erasure.parity() {
                let c = erasure.coefficient(parity, strip.symbol as usize);
                held.sums[parity * slots + index].add_scaled(payload, c);
            }
        }
        held.data.remove(u32::from(die.0));
        let lies_there = |member: &Member| grid.page_of(member.slot).0 == redo.ppn;
        held.members.retain(|member| !lies_there(member));
        let is_block_parity = code.is_block_parity(page, grid.pages_per_block());
        if let Some(blocks) = self.blocks.get_mut(&group.0).filter(|_| !is_block_parity) {
            let at = blocks.at(code, position, page, slots as u32);
            for (index, payload) in redo.payload.iter().enumerate() {
                blocks.sums[at + index].add(payload);
            }
            blocks.members.retain(|member| !lies_there(member));
        }
    }

    /// Nothing of the group is needed any more.
    pub fn forget_group(&mut self, unit: UnitId, pages_per_block: u32) {
        self.info[unit as usize] = None;
        self.forget_sums(unit, pages_per_block);
    }

    /// The group is erased, or will be: sums that a mount kept for it are not needed.
    pub fn forget_sums(&mut self, unit: UnitId, pages_per_block: u32) {
        let keys: Vec<CodewordKey> =
            self.held.range(codewords_of(SuperblockId(unit), pages_per_block)).map(|(key, _)| *key).collect();
        keys.iter().for_each(|key| drop(self.held.remove(key)));
        self.blocks.remove(&unit);
        self.redo.retain(|redo| redo.key.0 / pages_per_block != unit);
    }
}

/// Data pages of groups on their way to flash: the parity cache has them until they are there.
fn pages_in_flight<P: FlashPayload>(core: &Core<P>) -> Vec<Redo<P>> {
    let mut redo = Vec::new();
    for id in core.device.commands_of_dies() {
        let command = &core.device.commands[id];
        let Owner::GroupPage { row, codeword, holds: Holds::Data | Holds::MovedData } = command.owner else { continue };
        let (image, key) = (command.image, (row, u32::from(codeword)));
        let filled = core.device.images.slab[image].filled as usize;
        let payload = core.device.images.contents(image).1[..filled].to_vec();
        redo.push(Redo { ppn: command.ppn, key, payload });
    }
    redo
}
