//! Power cuts between two events of a run.

use crate::boot;
use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::engine::flows::recovery::is_recovering;
use crate::fit::build_scheme;
use crate::power::cut::{Begun, Fate, Remains, begun, cut};
use crate::power::mount::Mounted;
use crate::power::outage::Outage;
use crate::session::{Prepared, Session, inside};

impl Session {
    /// Commands that dies work on and a power cut would interrupt, in order of dies. Reads leave
    /// nothing behind, and a program is begun when its page has been transferred.
    #[must_use]
    pub fn begun(&self) -> Vec<Begun> {
        inside!(self.inner(), prepared => begun(&prepared.engine).into_iter().map(|(begun, _)| begun).collect())
    }

    /// Cuts the power between two events of a run that [`Session::run_until`] left, and mounts the
    /// drive again. `fates` are those of [`Session::begun`], in its order. Requests that were not
    /// answered are forgotten; recovery goes on with the next run.
    ///
    /// # Panics
    /// If the drive was not set up to be mounted.
    pub fn cut_power(&mut self, fates: &[Fate]) -> Mounted {
        self.cut_power_with(fates, Outage::default())
    }

    /// As [`Self::cut_power`], and the outage takes more than that.
    ///
    /// # Panics
    /// As [`Self::cut_power`].
    pub fn cut_power_with(&mut self, fates: &[Fate], outage: Outage) -> Mounted {
        inside!(self.inner_mut(), prepared => prepared.cut_power(fates, outage))
    }

    /// Whether the drive still recovers from a cut: what the cut left without redundancy gets it back
    /// first.
    #[must_use]
    pub fn is_recovering(&mut self) -> bool {
        inside!(self.inner_mut(), prepared => is_recovering(&mut prepared.engine))
    }
}

impl<P: FlashPayload> Prepared<P> {
    pub(crate) fn cut_power(&mut self, fates: &[Fate], outage: Outage) -> Mounted {
        assert!(self.setup.power.mountable, "the drive keeps nothing that it could be mounted from");
        let remains = Remains { outage, ..cut(&mut self.engine, fates) };
        let array = self.engine.core.device.array.clone();
        let protection = build_scheme(&self.setup.drive, &self.setup.scheme).expect("it was built before");
        let mut engine = Engine::new(&self.setup, protection, array).expect("it was built before");
        let found = boot::bring_up(&mut engine, &self.setup, Some(&mut self.engine), remains, boot::mounted(), &mut |_| {});
        let found = found.expect("it was built before");
        self.engine = engine;
        found.mounted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BufferKind, Pace};
    use crate::core::owner::Owner;
    use crate::core::testing::{tiny_setup, tiny_setup_with_profiles};
    use crate::session::Inner;
    use ftl::Place;
    use nand::FlashArray;
    use vocab::{BlockAddr, Cause, Fua, HostCommand, HostOp, Lba, Lpn, SimTime};

    /// Two dies died, and a stripe has a page on each. Catches pages that are lost permanently and that memory does not know of: the
    /// next mount would go back to older contents of them.
    #[test]
    fn what_a_mount_finds_lost_is_kept_as_lost() {
        let mut setup = tiny_setup("raid5", BufferKind::Off);
        (setup.user_slots, setup.power.mountable) = (40, true);
        let Inner::Tag(mut prepared) = Session::new(&setup).expect("a tiny drive").into_inner() else {
            panic!("its payload is tags")
        };
        let (stream, op) = (vocab::StreamId::default(), HostOp::Write(Fua::No));
        let write = HostCommand { at: SimTime::ZERO, op, lba: Lba(0), sectors: 32, stream };
        prepared.engine.replay(&mut [write].into_iter(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        let die_of = |engine: &Engine<_>, lpn| match engine.core.map.lookup(lpn) {
            Place::At(slot) => engine.core.device.grid.die_of(engine.core.device.grid.page_of(slot).0),
            place => panic!("{place:?}"),
        };
        for lpn in [Lpn(1), Lpn(2)] {
            let die = die_of(&prepared.engine, lpn);
            prepared.engine.core.device.array.kill(die);
        }
        prepared.cut_power(&[], Outage::default());
        assert_eq!(prepared.engine.core.safe.lost.keys().copied().collect::<Vec<_>>(), [Lpn(1), Lpn(2)]);
    }

    /// Catches a cut that heals what reads have done to cells, and a controller that knows more of that than it saved: only a drive
    /// with limits counts reads, in steps.
    #[test]
    fn cells_stay_as_often_read_as_they_were_whatever_the_controller_counts() {
        // Saved were 62 steps of 16, and one more counts as read.
        for (scheme, counted) in [("none", None), ("da-raid5", Some(63 * 16))] {
            let mut setup = tiny_setup(scheme, BufferKind::Off);
            (setup.user_slots, setup.power.mountable, setup.age.reads) = (12, true, 1000);
            setup.precondition.fill = 1.0;
            let Inner::Tag(mut prepared) = Session::new(&setup).expect("a tiny drive").into_inner() else {
                panic!("its payload is tags")
            };
            let grid = &prepared.engine.core.device.grid;
            let blocks: Vec<BlockAddr> = (0..grid.geometry().blocks()).map(BlockAddr).collect();
            let before: Vec<u32> = blocks.iter().map(|&block| prepared.engine.core.device.array.block(block).reads).collect();
            prepared.cut_power(&[], Outage::default());
            let core = &prepared.engine.core;
            // The mount itself reads a few pages.
            let now: Vec<u32> = blocks.iter().map(|&block| core.device.array.block(block).reads).collect();
            let kept = now.iter().zip(&before).filter(|(now, before)| **before == 1000 && (1000..1020).contains(*now));
            let written = before.iter().filter(|&&before| before == 1000).count();
            assert!(written > 0 && kept.count() == written, "{scheme}: {before:?}, then {now:?}");
            let known =
                blocks.iter().filter(|block| before[block.index()] == 1000).map(|b| core.limits.reads().get(b.index()).copied());
            assert!(known.clone().all(|known| known == counted), "{scheme}: {:?}", known.collect::<Vec<_>>());
        }
    }

    /// Blocks for page profiles belong to no log, so that the mount leaves their pages out. Catches such a block that counts as
    /// the most worn of all, though its page says how worn it is.
    #[test]
    fn reserved_blocks_are_as_worn_as_their_pages_say() {
        let setup = tiny_setup_with_profiles();
        let Inner::Tag(mut prepared) = Session::new(&setup).expect("a tiny drive").into_inner() else {
            panic!("its payload is tags")
        };
        let core = &mut prepared.engine.core;
        let reserved = prepared.engine.care.profiles.as_ref().expect("it flushes them").blocks()[0];
        for block in (0..core.device.grid.geometry().blocks()).map(BlockAddr) {
            core.device.array.set_age(block, |info| info.pe = if block == reserved { 7 } else { 20 });
        }
        let image = core.device.images.open(core.device.grid.ppn(reserved, 0), nand::Oob::default());
        core.submit_program(image, Owner::NoOne, Cause::Meta);
        prepared.engine.replay(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_, _| {});
        prepared.cut_power(&[], Outage::default());
        assert_eq!(prepared.engine.core.device.array.block(reserved).pe, 7);
    }
}
