//! Hands effects to the components that they are for.

use crate::core::effects::Effect;
use crate::engine::Engine;
use device::contents::HostPayload;
use nand::FlashArray;

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Hands on every effect that was pushed since the last call, depth first, until none is left.
    #[inline]
    pub(crate) fn hand_on(&mut self) {
        if self.core.out.is_empty() {
            return;
        }
        while let Some(effect) = self.core.out.pop() {
            let floor = self.core.out.raise();
            self.apply(effect);
            self.hand_on();
            self.core.out.lower(floor);
        }
    }

    fn apply(&mut self, effect: Effect<P>) {
        match effect {
            Effect::PartDone { job } => self.part_done(job),
            Effect::FailBufferWaiter => self.fail_buffer_waiter(),
            Effect::LetPagesGo { job } => self.let_pages_go(job),
            Effect::CheckRead { lpn, floor, contents } => self.check_read(lpn, floor, contents.as_ref()),
            Effect::Merged { job, page, old } => self.merge_done(job, page as usize, old.as_ref()),
            Effect::CollectIfShort { log } => self.start_collecting_if_short(log),
            Effect::Collect { log } => self.collect(log),
            Effect::Moved { log } => {
                self.core.moving[log].under_way -= 1;
                self.collect(log);
            }
            Effect::Want { unit, cause } => self.want(unit, cause),
            Effect::BlockFailed { block } => self.block_failed(self.core.device.grid.ppn(block, 0)),
            Effect::MoveRepaired { log, slot, payload } => self.move_repaired(log, slot, payload),
            Effect::ParityBuilt { waiter } => self.parity_built(waiter),
            Effect::StripLost { tag } => self.strip_lost(tag),
            Effect::StripRebuilt { stripe, strip, payload } => self.strip_rebuilt(stripe, strip, payload),
            Effect::Solve { target } => self.repair(target),
            Effect::Solved { target, payload, stored } => self.repaired(target, payload.as_ref(), stored),
            Effect::Relocate { log, contents, from } => self.relocate(log, contents, from),
            Effect::SendMoved { log } => self.send_moved(log),
            Effect::CommitPinnedIn { unit } => self.commit_pinned_in(unit),
            Effect::BuildParity { stripe, waiter } => self.build_parity(stripe, waiter),
            Effect::StripeMerged { op, strip, old } => self.stripe_merge_repaired(op, strip, old.as_ref()),
            Effect::SolveAfterUpdate { stripe, target } => self.wait_for_stripe(stripe, target),
            Effect::Reads(step) => self.read_step(step),
            Effect::Zones(step) => self.zone_step(step),
        }
    }
}
