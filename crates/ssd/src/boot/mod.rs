//! Bringing a drive up, as tables of named steps: a new drive, a drive mounted after a power cut, and a drive
//! reopened from its files. A step is written once; the tables say which steps a drive needs, in which order.

pub(crate) mod age;
pub(crate) mod demand;
pub(crate) mod faults;
pub(crate) mod precondition;
pub(crate) mod warm_up;

use crate::boot::precondition::{HearHistory, Steady};
use crate::config::SetupError;
use crate::config::{BufferKind, Setup};
use crate::core::Core;
use crate::engine::Engine;
use crate::power::cut::Remains;
use crate::power::mount::Mounted;
use device::contents::HostPayload;
use nand::{FlashArray, Scan};
use std::fmt;
use vocab::{BlockAddr, SimTime, Streams};

/// A drive on its way up, and what its steps work on.
pub(crate) struct Boot<'a, P: HostPayload, A: FlashArray<P>> {
    engine: &'a mut Engine<P, A>,
    setup: &'a Setup,
    streams: Streams,
    /// What the write history found.
    steady: Steady,
    /// The controller as the power cut found it, where the process still has it.
    before: Option<&'a mut Engine<P, A>>,
    /// What outlived the cut beside flash.
    remains: Remains<P>,
    mounted: Mounted,
    /// Hears how far the write history has come.
    hear: HearHistory<'a>,
}

/// One step.
pub(crate) struct Step<'a, P: HostPayload, A: FlashArray<P>> {
    name: &'static str,
    run: fn(&mut Boot<'a, P, A>) -> Result<(), SetupError>,
}

impl<P: HostPayload, A: FlashArray<P>> fmt::Debug for Step<'_, P, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Steps of a drive that was just built over erased flash.
pub(crate) fn new_drive<'a, P: HostPayload, A: FlashArray<P>>() -> Vec<Step<'a, P, A>> {
    let mut steps = written_drive();
    steps.extend(aged_drive());
    steps
}

/// The first of these: a drive with its write history, which a workload may still add to.
pub(crate) fn written_drive<'a, P: HostPayload, A: FlashArray<P>>() -> Vec<Step<'a, P, A>> {
    vec![Step { name: "room beside bad blocks", run: Boot::check_room }, Step { name: "write history", run: Boot::write_history }]
}

/// The others: what was written grows old, and the drive is ready.
pub(crate) fn aged_drive<'a, P: HostPayload, A: FlashArray<P>>() -> Vec<Step<'a, P, A>> {
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
pub(crate) fn mounted<'a, P: HostPayload, A: Scan<P>>() -> Vec<Step<'a, P, A>> {
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
pub(crate) fn reopened<'a, P: HostPayload, A: Scan<P>>() -> Vec<Step<'a, P, A>> {
    vec![
        Step { name: "mount", run: Boot::mount },
        Step { name: "page ECC and refresh", run: Boot::restart_ecc },
        Step { name: "page profiles", run: Boot::restore_profiles },
        Step { name: "limits on reads and age", run: Boot::start_limits },
    ]
}

/// What bringing a drive up found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BroughtUp {
    pub steady: Steady,
    pub mounted: Mounted,
}

/// Takes the steps in order.
///
/// # Errors
/// Of the first step that fails.
pub(crate) fn bring_up<'a, P: HostPayload, A: FlashArray<P>>(
    engine: &'a mut Engine<P, A>,
    setup: &'a Setup,
    (before, remains): (Option<&'a mut Engine<P, A>>, Remains<P>),
    steps: Vec<Step<'a, P, A>>,
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

impl<P: HostPayload, A: FlashArray<P>> Boot<'_, P, A> {
    /// Refuses a drive whose bad blocks leave too little room.
    fn check_room(&mut self) -> Result<(), SetupError> {
        self.engine.check_room(&self.setup.scheme.name)
    }

    fn write_history(&mut self) -> Result<(), SetupError> {
        self.steady = self.engine.precondition(&self.setup.precondition, &self.streams, self.hear);
        Ok(())
    }

    fn wear(&mut self) -> Result<(), SetupError> {
        self.engine.wear(&self.setup.age, &self.streams);
        Ok(())
    }

    fn build_parity(&mut self) -> Result<(), SetupError> {
        if self.engine.writer.stripes.worn_above.is_some() {
            self.engine.age_stripes();
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
        self.engine.start_limits(self.setup);
        Ok(())
    }

    fn start_ecc(&mut self) -> Result<(), SetupError> {
        self.engine.start_ecc(self.setup, &self.streams)
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
        let doubtful = self.remains.lose(outage, |stripe| before.lpns_of_stripe(stripe));
        doubtful.into_iter().for_each(|lpn| engine.host.oracle.doubt(lpn));
        Ok(())
    }

    /// Counts of reads never come back lower than they were (I5), except of blocks erased by the cut.
    fn check_read_counts(&mut self) -> Result<(), SetupError> {
        let before = self.before.as_ref().expect("a cut in this process");
        if self.mounted.lost.reads {
            self.engine.assume_read_often();
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
        self.engine.resume_ecc(before, self.setup, &self.streams);
        Ok(())
    }

    /// Codes are built anew; pages say how they are encoded.
    fn restart_ecc(&mut self) -> Result<(), SetupError> {
        self.engine.resume_ecc(None, self.setup, &self.streams);
        Ok(())
    }
}

impl<P: HostPayload, A: Scan<P>> Boot<'_, P, A> {
    /// Rebuilds what the controller knows from flash and power-safe memory.
    fn mount(&mut self) -> Result<(), SetupError> {
        self.mounted = self.engine.mount(std::mem::take(&mut self.remains));
        Ok(())
    }

    /// The policy of page ECC hears what reserved pages have of what it knew.
    fn restore_profiles(&mut self) -> Result<(), SetupError> {
        self.engine.care.restore_profiles(&mut self.engine.core);
        Ok(())
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Refuses a drive whose bad blocks leave too little room.
    fn check_room(&self, scheme: &str) -> Result<(), SetupError> {
        let map = &self.core.map;
        let code = self.writer.zones.as_ref().filter(|zones| zones.is_over());
        let code = code.map_or(0, |zones| zones.scheme.layout().all_code_pages());
        if let Some(zones) = self.writer.zones.as_ref().filter(|zones| !zones.is_over()) {
            return zones.check_segments(&self.core).map_err(SetupError::new);
        }
        let live: u64 = (0..map.logs()).map(|log| u64::from(map.live_max(log))).sum();
        let stripes_of = |data: u32| (u64::from(map.user_slots().div_ceil(data)), u64::from(data) + 1);
        let (stripes, width) = self.writer.data_strips().map_or((0, 0), stripes_of);
        let least = (0..map.logs()).map(|log| u64::from(map.live_max(log))).min().unwrap_or(0);
        // Stripes put as many strips on one die as on another.
        let strips = stripes * width;
        let too_many = strips.div_ceil(u64::from(self.core.device.grid.dies())) >= least.max(1) && stripes > 0;
        if u64::from(map.user_slots()) + u64::from(code) >= live || too_many {
            let kept_out =
                if self.care.profiles.is_some() { "bad blocks, and those that ecc.flush reserves," } else { "bad blocks" };
            return Err(SetupError::new(format!(
                "scheme {scheme}: {kept_out} leave room for {live} slots, fewer than {} logical pages with their redundancy need",
                map.user_slots()
            )));
        }
        Ok(())
    }
}
