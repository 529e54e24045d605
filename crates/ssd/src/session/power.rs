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
