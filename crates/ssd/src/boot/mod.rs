//! Bringing a drive up, as tables of named steps: a new drive, a drive mounted after a power cut, and a drive
//! reopened from its files. A step is written once; the tables say which steps a drive needs, in which order.

pub(crate) mod age;
pub(crate) mod demand;
pub(crate) mod faults;
pub(crate) mod precondition;
pub(crate) mod warm_up;

use crate::boot::age::{age_stripes, wear};
use crate::boot::precondition::{HearHistory, Steady, precondition};
use crate::care::limits;
use crate::care::refresh::EccBefore;
use crate::config::{BufferKind, Setup, SetupError};
use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::power::cut::Remains;
use crate::power::mount::{Mounted, mount};
use nand::FlashArray;
use protect::StripeScheme;
use std::fmt;
use vocab::{BlockAddr, SimTime, Streams};

/// A drive on its way up, and what its steps work on.
pub(crate) struct Boot<'a, P: FlashPayload> {
    engine: &'a mut Engine<P>,
    setup: &'a Setup,
    streams: Streams,
    /// Result of preconditioning.
    steady: Steady,
    /// The controller as the power cut found it, where the process still has it.
    before: Option<&'a mut Engine<P>>,
    /// State that survived the cut beside flash.
    remains: Remains<P>,
    mounted: Mounted,
    /// Hears how far the write history has come.
    hear: HearHistory<'a>,
}

/// One step.
pub(crate) struct Step<'a, P: FlashPayload> {
    name: &'static str,
    run: fn(&mut Boot<'a, P>) -> Result<(), SetupError>,
}

impl<P: FlashPayload> fmt::Debug for Step<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Steps of a drive that was just built over erased flash.
pub(crate) fn new_drive<'a, P: FlashPayload>() -> Vec<Step<'a, P>> {
    let mut steps = written_drive();
    steps.extend(aged_drive());
    steps
}

/// The first of these: a drive with its write history, which a workload may still add to.
pub(crate) fn written_drive<'a, P: FlashPayload>() -> Vec<Step<'a, P>> {
    vec![Step { name: "room beside bad blocks", run: Boot::check_room }, Step { name: "write history", run: Boot::write_history }]
}

/// The others: what was written grows old, and the drive is ready.
pub(crate) fn aged_drive<'a, P: FlashPayload>() -> Vec<Step<'a, P>> {
    vec![
        Step { name: "wear", run: Boot::wear },
        Step { name: "parity that wear asks for", run: Boot::build_parity },
        Step { name: "age of data", run: Boot::age_data },
        Step { name: "page ECC and refresh", run: Boot::start_ecc },
        Step { name: "limits on reads and age", run: Boot::start_limits },
        Step { name: "durable versions", run: Boot::keep_durable },
    ]
}

/// Steps of a drive whose power was cut in this process: its flash has a controller that knows nothing yet.
pub(crate) fn mounted<'a, P: FlashPayload>() -> Vec<Step<'a, P>> {
    vec![
        Step { name: "what the host knows", run: Boot::carry_over },
        Step { name: "mount", run: Boot::mount },
        Step { name: "page ECC and refresh", run: Boot::resume_ecc },
        Step { name: "page profiles", run: Boot::restore_profiles },
        Step { name: "limits on reads and age", run: Boot::start_limits },
        Step { name: "counts of reads", run: Boot::check_read_counts },
    ]
}

/// Steps of a drive that another process left in files.
pub(crate) fn reopened<'a, P: FlashPayload>() -> Vec<Step<'a, P>> {
    vec![
        Step { name: "mount", run: Boot::mount },
        Step { name: "page ECC and refresh", run: Boot::restart_ecc },
        Step { name: "page profiles", run: Boot::restore_profiles },
        Step { name: "limits on reads and age", run: Boot::start_limits },
    ]
}

/// Outcome of bringing a drive up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BroughtUp {
    pub steady: Steady,
    pub mounted: Mounted,
}

/// Takes the steps in order.
///
/// # Errors
/// Of the first step that fails.
pub(crate) fn bring_up<'a, P: FlashPayload>(
    engine: &'a mut Engine<P>,
    setup: &'a Setup,
    before: Option<&'a mut Engine<P>>,
    remains: Remains<P>,
    steps: Vec<Step<'a, P>>,
    hear: HearHistory<'a>,
) -> Result<BroughtUp, SetupError> {
    let streams = Streams::new(setup.seed);
    let (steady, mounted) = (Steady::default(), Mounted::default());
    let mut boot = Boot { engine, setup, streams, steady, before, remains, mounted, hear };
    for step in steps {
        (step.run)(&mut boot)?;
    }
    Ok(BroughtUp { steady: boot.steady, mounted: boot.mounted })
}

impl<P: FlashPayload> Boot<'_, P> {
    /// Refuses a drive whose bad blocks leave too little room.
    fn check_room(&mut self) -> Result<(), SetupError> {
        check_room(self.engine, &self.setup.scheme.name)
    }

    fn write_history(&mut self) -> Result<(), SetupError> {
        self.steady = precondition(self.engine, &self.setup.precondition, &self.streams, self.hear);
        check_history(self.engine, &self.setup.scheme.name)
    }

    fn wear(&mut self) -> Result<(), SetupError> {
        wear(self.engine, &self.setup.age, &self.streams);
        Ok(())
    }

    fn build_parity(&mut self) -> Result<(), SetupError> {
        if self.engine.writer.uses_idle_time {
            age_stripes(self.engine);
        }
        Ok(())
    }

    /// Data written so far are as old as asked for: the clock starts there. A warm-up took time, but far less.
    fn age_data(&mut self) -> Result<(), SetupError> {
        let now = &mut self.engine.core.device.now;
        *now = SimTime(now.0 + self.setup.age.retention.0);
        Ok(())
    }

    fn start_limits(&mut self) -> Result<(), SetupError> {
        limits::start(&mut self.engine.core, &self.engine.writer, self.setup.drive.endurance);
        Ok(())
    }

    fn start_ecc(&mut self) -> Result<(), SetupError> {
        let Engine { core, care, writer, .. } = &mut *self.engine;
        care.start_ecc(core, writer.way, self.setup, &self.streams).map_err(|error| SetupError::new(error.to_string()))
    }

    /// Where answers come before flash has the data, the oracle keeps which versions are durable.
    fn keep_durable(&mut self) -> Result<(), SetupError> {
        if self.setup.power.mountable && self.setup.buffer.kind == BufferKind::Volatile {
            self.engine.host.oracle.keep_durable();
        }
        Ok(())
    }

    /// The host remembers what it was told, and goes on at the same time.
    fn carry_over(&mut self) -> Result<(), SetupError> {
        let before = self.before.as_mut().expect("a cut in this process");
        let (engine, outage) = (&mut *self.engine, self.remains.outage);
        engine.host.oracle = std::mem::take(&mut before.host.oracle);
        engine.host.oracle.power_cut();
        engine.host.first_mismatch = before.host.first_mismatch.take();
        engine.core.device.now = before.core.device.now;
        engine.host.requests.read_only_since = before.host.requests.read_only_since;
        let doubtful = self.remains.lose(outage, |stripe| before.writer.lpns_of_stripe(&before.core, stripe));
        doubtful.into_iter().for_each(|lpn| engine.host.oracle.doubt(lpn));
        Ok(())
    }

    /// Counts of reads never come back lower than they were (I5), except of blocks erased by the cut.
    fn check_read_counts(&mut self) -> Result<(), SetupError> {
        let before = self.before.as_ref().expect("a cut in this process");
        if self.mounted.lost.reads {
            limits::assume_read_often(&mut self.engine.core);
        } else {
            let Core { device, limits, .. } = &self.engine.core;
            for (block, (&before, &now)) in (0..).map(BlockAddr).zip(before.core.limits.reads().iter().zip(limits.reads())) {
                let is_written = device.array.block(block).next_page > 0;
                assert!(!is_written || now >= before, "{block} was read {before} times and comes back with {now}");
            }
        }
        Ok(())
    }

    /// Codes and what is known of them outlive the cut.
    fn resume_ecc(&mut self) -> Result<(), SetupError> {
        let before = self.before.as_deref_mut();
        let before = before.map(|before| EccBefore { ecc: before.core.device.ecc.take(), refresh: &before.care.refresh });
        let Engine { core, care, writer, .. } = &mut *self.engine;
        care.resume_ecc(core, writer.way, before, self.setup, &self.streams);
        Ok(())
    }

    /// Codes are built again; pages say how they are encoded.
    fn restart_ecc(&mut self) -> Result<(), SetupError> {
        let Engine { core, care, writer, .. } = &mut *self.engine;
        care.resume_ecc(core, writer.way, None, self.setup, &self.streams);
        Ok(())
    }
}

impl<P: FlashPayload> Boot<'_, P> {
    /// Rebuilds what the controller knows from flash and PLP memory.
    fn mount(&mut self) -> Result<(), SetupError> {
        self.mounted = mount(self.engine, std::mem::take(&mut self.remains));
        Ok(())
    }

    /// The policy of page ECC hears what reserved pages have of what it knew.
    fn restore_profiles(&mut self) -> Result<(), SetupError> {
        self.engine.care.restore_profiles(&mut self.engine.core);
        Ok(())
    }
}

/// Refuses a drive on which writes of the history still wait for space: the host would find what they were to replace, and its
/// own writes would not wait for them.
fn check_history<P: FlashPayload>(engine: &Engine<P>, scheme: &str) -> Result<(), SetupError> {
    if engine.has_waiting_for_space() {
        let slots = engine.core.map.user_slots();
        let text = format!("scheme {scheme}: the write history of {slots} logical pages finds no room, though they were to fit");
        return Err(SetupError::despite_checks(text));
    }
    Ok(())
}

/// Refuses a drive whose bad blocks leave too little room.
fn check_room<P: FlashPayload>(engine: &Engine<P>, scheme: &str) -> Result<(), SetupError> {
    let map = &engine.core.map;
    if let Some(checked) = engine.writer.check_segments(&engine.core) {
        return checked.map_err(SetupError::new);
    }
    let code = engine.writer.code_pages_over();
    let live: u64 = (0..map.logs()).map(|log| u64::from(map.live_max(log))).sum();
    let dies = engine.core.device.grid.dies();
    let strips_of = |scheme: &dyn StripeScheme| scheme.strips_of_dies(map.user_slots().div_ceil(scheme.data_strips()), dies);
    let strips = engine.writer.stripe_scheme().map_or_else(Vec::new, strips_of);
    // A new version is placed before the old one is given up.
    let too_many = (0..).zip(strips).any(|(log, strips)| strips > 0 && strips >= u64::from(map.live_max(log)));
    if u64::from(map.user_slots()) + u64::from(code) >= live || too_many {
        let kept_out =
            if engine.care.profiles.is_some() { "bad blocks, and those that ecc.flush reserves," } else { "bad blocks" };
        return Err(SetupError::new(format!(
            "scheme {scheme}: {kept_out} leave room for {live} slots, fewer than {} logical pages with their redundancy need",
            map.user_slots()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::testing::tiny_setup;
    use crate::engine::testing::tiny_drive;
    use protect::SchemeChoice;

    /// More stripes than the dies hold, on a drive that nothing has checked. Catches a drive that comes up while an update of its
    /// history waits for space (torture, seed 771008 of wide drives, 837): a partial write would be completed with what that update
    /// was to replace.
    #[test]
    fn a_drive_whose_history_finds_no_room_is_refused() {
        for (more, fits) in [(0, true), (8, false)] {
            let mut setup = tiny_setup("raid5", BufferKind::Off);
            let most = crate::fit::user_slots_max(&setup.drive, &setup.scheme, &setup.gc).expect("a drive");
            setup.user_slots = most + more;
            setup.precondition.fill = 1.0;
            let mut drive = tiny_drive(&setup);
            precondition(&mut drive, &setup.precondition, &Streams::new(1), &mut |_| {});
            let refused = check_history(&drive, "raid5");
            assert_eq!(refused.is_ok(), fits, "{more} more than fit: {refused:?}");
            assert!(refused.err().is_none_or(|error| error.is_defect() && error.to_string().contains("finds no room")));
        }
    }

    /// Blocks are bad at random, so that some dies have fewer than others. Catches a check that takes stripes to lie on all dies
    /// alike, as narrow ones do not: the history of such a drive would find no room.
    #[test]
    fn a_drive_with_bad_blocks_is_refused_or_holds_its_history() {
        let mut refused = 0;
        for seed in 0..40 {
            let mut setup = tiny_setup("raid5", BufferKind::Off);
            setup.scheme = SchemeChoice { options: [("data_strips".into(), "2".into())].into(), ..setup.scheme };
            setup.user_slots = crate::fit::user_slots_max(&setup.drive, &setup.scheme, &setup.gc).expect("a drive") * 4 / 5;
            (setup.seed, setup.age.bad_blocks, setup.precondition.fill) = (seed, 0.1, 1.0);
            (setup.precondition.converge_within, setup.precondition.overwrite_at_most) = (1e-9, 2.0);
            match crate::session::Session::new(&setup) {
                Ok(_) => {}
                Err(error) => {
                    assert!(error.to_string().contains("bad blocks leave room"), "seed {seed}: {error}");
                    refused += 1;
                }
            }
        }
        assert!((1..40).contains(&refused), "{refused} of 40 refused");
    }
}
