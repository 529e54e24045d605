//! Treatment of a drive by one row, and the results that it keeps.

use super::cases::Case;
use flashkeep_ssd as ssd;
use ssd::nand::{Energy, PageKind, Timing, Transfer, Worn};
use ssd::protect::SchemeChoice;
use ssd::{
    Age, Buffer, CodecTiming, Drive, Ecc, Errors, Failure, Faults, Pace, Power, Precondition, ReadBack, Refresh, RefreshPolicy,
    RunResult, Session, Setup,
};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use vocab::{
    BlockAddr, BusRate, Bytes, DieId, FNV_START, Fua, Geometry, HostCommand, HostOp, Lba, Nanojoules, Nanos, PeCycles, PlaneUse,
    SimTime, Stream, StreamId, Streams, fnv, fnv_on,
};

const REQUESTS: u64 = 320;
/// Events after which a run is given up: the drive does not come to rest.
const EVENTS_AT_MOST: u64 = 30_000;
const HOUR: u64 = 3_600_000_000_000;

/// FNV-1a of numbers, lowest byte first: of values, so that no name in the code is part of it.
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(FNV_START)
    }
}

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = fnv_on(self.0, bytes);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Digest {
    fn add(&mut self, value: impl Hash) {
        value.hash(self);
    }
}

/// Results of a row, over all its runs.
#[derive(Default)]
pub struct Life {
    /// How it ended, in one word.
    pub end: &'static str,
    /// Events of the engine.
    pub events: u64,
    /// Flash commands by kind: reads, programs, erases.
    pub commands: [u64; 3],
    /// Requests that were answered, and their latencies together, in microseconds.
    pub answered: (u64, f64),
    /// Requests that ended with a media error or a write error.
    pub errors: u64,
    /// Logical pages that are lost at the end.
    pub lost: usize,
    /// Digests of event logs, findings of mounts, and the page that each PPN holds in the end; or why the drive was refused.
    pub digest: Digest,
    /// How often what the conditions are there for came to pass.
    pub seen: Seen,
}

impl Life {
    /// The row as the table has it, behind its key.
    pub fn row(&self) -> String {
        let (answered, total) = self.answered;
        let mean = if answered == 0 { 0.0 } else { total / answered as f64 };
        let [reads, programs, erases] = self.commands;
        let Self { end, events, errors, lost, .. } = self;
        format!("{end},{events},{reads},{programs},{erases},{mean:.1},{errors},{lost},{:016x}", self.digest.finish())
    }

    fn add_run(&mut self, result: &RunResult) {
        self.events += result.replay.events;
        for (total, counts) in self.commands.iter_mut().zip([&result.flash.reads, &result.flash.programs, &result.flash.erases]) {
            *total += counts.values().sum::<u64>();
        }
        let latency = &result.host.latency_us;
        self.answered.0 += latency.count;
        self.answered.1 += latency.mean * latency.count as f64;
        self.errors += result.host.media_errors + result.host.write_errors;
        self.digest.add((&result.replay.event_digest, result.flash.ops, result.replay.events));
        see(&mut self.seen, result);
    }
}

/// Counts of what is rare, by name.
pub type Seen = BTreeMap<&'static str, u64>;

fn see(seen: &mut Seen, result: &RunResult) {
    let of = |by_cause: &BTreeMap<String, u64>, cause: &str| by_cause.get(cause).copied().unwrap_or(0);
    for (name, count) in [
        ("pages collected", of(&result.flash.programs, "gc")),
        ("pages refreshed", of(&result.flash.programs, "refresh")),
        ("pages rebuilt", of(&result.flash.programs, "rebuild")),
        ("pages of code", of(&result.flash.programs, "encode")),
        ("units refreshed", result.ecc.refreshed_units),
        ("pages recharged", result.ecc.recharged_pages),
        ("codewords miscorrected", result.ecc.miscorrected_codewords),
        ("pages not corrected", result.ecc.unreadable_pages),
        ("pages solved for", result.redundancy.rebuilt_reads),
        ("media errors", result.host.media_errors),
        ("write errors", result.host.write_errors),
        ("requests refused", result.host.refused_requests),
        ("reads astray", result.flash.astray_reads),
        ("pages derived", result.around.derived_pages),
        ("reads withdrawn", result.around.withdrawn_reads),
        ("pages read ahead", result.around.ahead_pages),
        ("pages found read ahead", result.around.ahead_hits),
        ("groups encoded", result.around.encoded_groups),
        ("rebuilds that ended", u64::from(result.redundancy.rebuild_s.is_some())),
        ("rebuilds that left something", u64::from(result.redundancy.rebuild_left > 0)),
    ] {
        *seen.entry(name).or_default() += count;
    }
}

/// The life of the drive of a row. Panics are the caller's.
pub fn live(case: &Case, life: &mut Life) {
    let setup = setup(case);
    life.end = "refused";
    let mut session =
        match setup.and_then(|setup| Session::new(&setup).map(|session| (setup, session)).map_err(|e| e.to_string())) {
            Ok((setup, session)) => Row { life, case, draws: Streams::new(setup.seed).stream("golden/strikes"), setup, session },
            Err(refused) => return life.digest.add(refused),
        };
    session.run();
}

struct Row<'a> {
    life: &'a mut Life,
    case: &'a Case,
    draws: Stream,
    setup: Setup,
    session: Session,
}

/// A loss of this kind; the draws of the row say where.
#[derive(Clone, Copy)]
enum Strike {
    Die(u16),
    Block,
    Page,
    Plane,
    WornOut,
}

impl Row<'_> {
    fn run(&mut self) {
        let timed = self.case.condition.timed;
        let pace = if timed {
            Pace::Open
        } else {
            [Pace::Open, Pace::Closed { depth: 1 }, Pace::Closed { depth: 8 }][self.draws.below(3) as usize]
        };
        let commands = workload(&self.setup, self.case.condition.name);
        let mut commands = commands.into_iter();
        self.life.end = "restless";
        let strikes = self.strikes();
        for strike in strikes {
            let stop = self.draws.below(400);
            self.advance(&mut commands, pace, stop);
            let failure = self.failure(*strike);
            self.session.fail(failure);
        }
        if let Some(cut) = self.case.cut {
            let mut stop = 100 + self.draws.below(500);
            for _ in 0..cut.times {
                self.advance(&mut commands, pace, stop);
                self.cut(cut.outage);
                stop = self.draws.below(60);
            }
        }
        if self.advance(&mut commands, pace, EVENTS_AT_MOST) && self.advance(&mut std::iter::empty(), pace, EVENTS_AT_MOST) {
            self.life.end = "done";
            self.take_stock();
        }
    }

    /// Goes on for this many events; whether the drive came to rest before.
    fn advance(&mut self, commands: &mut dyn Iterator<Item = HostCommand>, pace: Pace, events: u64) -> bool {
        let mut rested = true;
        let result = self.session.run_until(commands, pace, &mut |event| {
            rested = event < events;
            rested
        });
        self.life.add_run(&result);
        rested
    }

    /// Parts that are lost permanently, in order.
    fn strikes(&self) -> &'static [Strike] {
        match self.case.condition.name {
            "die" | "die-no-rebuild" => &[Strike::Die(2)],
            "two-dies" => &[Strike::Die(1), Strike::Die(4)],
            "block" => &[Strike::Block],
            "page" => &[Strike::Page, Strike::Page, Strike::Page],
            "plane" => &[Strike::Plane],
            "worn-blocks" => &[Strike::WornOut; 6],
            _ => &[],
        }
    }

    fn failure(&mut self, strike: Strike) -> Failure {
        let geometry = self.setup.drive.geometry;
        match strike {
            Strike::Die(die) => Failure::Die(DieId(die)),
            Strike::Block => Failure::Block(BlockAddr(self.draws.below(u64::from(geometry.blocks())) as u32)),
            Strike::WornOut => Failure::WornOut(BlockAddr(self.draws.below(u64::from(geometry.blocks())) as u32)),
            Strike::Plane => Failure::Plane { die: DieId(self.draws.below(u64::from(geometry.dies())) as u16), plane: 1 },
            // A page that was never programmed has nothing to lose.
            Strike::Page => {
                let pages: Vec<_> = self.session.inventory().pages.into_iter().filter(|page| !page.lost).collect();
                Failure::Page(pages[self.draws.below(pages.len() as u64) as usize].ppn)
            }
        }
    }

    fn cut(&mut self, outage: ssd::Outage) {
        let begun = self.session.begun();
        let fates: Vec<_> = begun.iter().map(|begun| begun.draw(&mut self.draws)).collect();
        let mounted = self.session.cut_power_with(&fates, outage);
        *self.life.seen.entry("commands cut").or_default() += begun.len() as u64;
        self.life.digest.add((mounted.looks, mounted.bytes, mounted.valid, mounted.unreadable, mounted.mapped, mounted.time));
    }

    /// Everything that can be known of a drive at rest.
    fn take_stock(&mut self) {
        let (life, session) = (&mut *self.life, &mut self.session);
        session.check_counts();
        let inventory = session.inventory();
        for (name, count) in [("parities held", inventory.held.len()), ("sums held", inventory.sums.len())] {
            *life.seen.entry(name).or_default() += count as u64;
        }
        life.digest.add(&inventory);
        let ReadBack { lost, wrong, stuck, .. } = session.take_stock();
        assert!(!stuck, "a read does not end");
        if wrong.is_some() {
            life.end = "wrong";
        }
        life.lost = lost.len();
        life.digest.add(&lost);
        let result = session.drain();
        life.add_run(&result);
        life.digest.add((session.read_only_since(), session.pe_cycles(), session.inventory(), session.audit()));
    }
}

/// Six dies on two channels with 12 blocks of 6 pages; conditions change that.
fn drive(condition: &str) -> Drive {
    let (channels, dies_per_channel) = if condition == "five-dies" { (1, 5) } else { (2, 3) };
    let (planes, plane_use) = match condition {
        "planes" => (2, PlaneUse::Single),
        "ganged-planes" => (2, PlaneUse::Ganged),
        _ => (1, PlaneUse::Single),
    };
    let slots = match condition {
        "slots-2" => 2,
        "slots-4" => 4,
        _ => 1,
    };
    let page = |name: &str, read, program| PageKind { name: name.into(), read: Nanos(read), program: Nanos(program) };
    let worn = Worn { above_pe: PeCycles(2_000), erase: Nanos(9_000_000), program: vec![Nanos(600_000), Nanos(1_000_000)] };
    Drive {
        geometry: Geometry {
            channels,
            dies_per_channel,
            planes,
            plane_use,
            blocks_per_plane: if plane_use == PlaneUse::Single { 12 / planes } else { 12 },
            pages_per_block: 6,
            page_size: Bytes(4096 * slots),
            oob_size: Bytes(224 * slots),
            slot_size: Bytes(4096),
        },
        timing: Timing {
            command: Nanos(300),
            erase: Nanos(3_000_000),
            transfer: Transfer::DataMtPerS(BusRate(400)),
            page: vec![page("lsb", 40_000, 500_000), page("msb", 65_000, 1_300_000)],
            worn: (condition == "aged").then_some(worn),
            ..Timing::default()
        },
        energy: Energy { read: Nanojoules(3_000), program: Nanojoules(131_000), erase: Nanojoules(289_000) },
        endurance: PeCycles(3000),
        controller: ssd::Controller::default(),
        slc: ssd::Slc::default(),
    }
}

/// Share of what fits that the host may use: losses need room.
fn share(condition: &str) -> f64 {
    match condition {
        "die" | "die-at-request" | "die-no-rebuild" | "plane" | "worn-blocks" | "wear-out" => 0.5,
        "two-dies" | "end-of-life" | "bad-blocks" => 0.4,
        "full" => 1.0,
        _ => 0.7,
    }
}

fn setup(case: &Case) -> Result<Setup, String> {
    let condition = case.condition.name;
    let drive = drive(condition);
    let mut scheme: SchemeChoice = case.scheme.clone();
    if scheme.name == "code-zones" {
        scheme.options.entry("spare_blocks".into()).or_insert("3".into());
    }
    let mut gc = ssd::ftl::GcConfig::default();
    let mut wear = ssd::ftl::WearConfig::default();
    match condition {
        "gc-shared-write-pointer" => (gc.separate_write_pointer, gc.policy) = (false, "cost-benefit".into()),
        "gc-idle" => (gc.idle_free_blocks, gc.policy, gc.moves_in_flight) = (5, "d-choices".into(), 2),
        "gc-fifo-static-wear" => (gc.policy, wear.static_threshold, wear.dynamic) = ("fifo".into(), 2, false),
        "full" => gc.policy = "random".into(),
        _ => {}
    }
    let most = if case.cut.is_some() { ssd::mountable_slots_max } else { ssd::user_slots_max };
    let most = most(&drive, &scheme, &gc).map_err(|refused| refused.to_string())?;
    let power = case.cut.map_or(Power::default(), |cut| Power {
        mountable: true,
        checkpoint: cut.checkpoint,
        pairing: cut.pairing,
        hold_up: cut.hold_up,
        without: None,
    });
    let (ecc, errors, age, refresh) = cells(condition);
    Ok(Setup {
        user_slots: (f64::from(most) * share(condition)) as u32,
        drive,
        scheme,
        gc,
        wear,
        buffer: Buffer { kind: case.buffer.1, size: Bytes(10 * 4096), ..Buffer::default() },
        scheduler: case.scheduler.1,
        precondition: Precondition { fill: 0.9, converge_within: 1e-9, overwrite_at_most: 0.8, ..Precondition::default() },
        age,
        faults: faults(condition),
        ecc,
        errors,
        refresh,
        power,
        payload: case.payload.1,
        seed: fnv(case.key().as_bytes()) >> 8,
    })
}

fn faults(condition: &str) -> Faults {
    let usual = Faults::default();
    match condition {
        "die-at-request" => Faults { dead_die: Some(2), dead_die_at_request: 100, rebuild_at_once: 2, ..usual },
        "die-no-rebuild" => Faults { rebuild: false, ..usual },
        "uncorrectable" => Faults { uncorrectable_reads: 0.01, ..usual },
        "silent" => Faults { silent: 0.01, ..usual },
        "wear-out" => Faults { wear_out: 1e-4, ..usual },
        "end-of-life" => Faults { wear_out: 1e-3, ..usual },
        _ => usual,
    }
}

/// Page ECC, bit errors, age and refresh.
fn cells(condition: &str) -> (Ecc, Errors, Age, Refresh) {
    let fixed = |t: &str| Ecc { policy: "fixed".into(), options: [("t".into(), t.into())].into(), ..Ecc::default() };
    let errors = |model: &str| Errors { model: model.into(), ..Errors::default() };
    let aged = |pe, hours: u64| Age { pe_cycles: PeCycles(pe), retention: Nanos(hours * HOUR), ..Age::default() };
    let refresh = |policy, in_place_at_most| Refresh { policy, in_place_at_most, ..Refresh::default() };
    let plain = (Ecc::default(), Errors::default(), Age::default(), Refresh::default());
    match condition {
        // A mean of 23 errors in a page: one in fifty fails.
        "ecc-fixed" => (fixed("33"), errors("flares"), aged(10_000, 8760), plain.3),
        "ecc-flares" => {
            let ecc = Ecc { policy: "flares".into(), codec: CodecTiming::FlaresWorst, ..Ecc::default() };
            (ecc, errors("flares"), aged(5_000, 720), refresh(RefreshPolicy::Alarm, 0))
        }
        "ecc-rewrite" => (fixed("24"), errors("flares-disturb"), aged(8_000, 0), refresh(RefreshPolicy::Joint, 0)),
        "ecc-recharge" => {
            let errors = Errors { recharge_rber: 1e-5, ..errors("flares-disturb") };
            (fixed("24"), errors, aged(8_000, 0), refresh(RefreshPolicy::Joint, 2))
        }
        // So weak a code takes some overloads for corrections.
        "ecc-scattered" => {
            let errors = Errors { page_sigma: 0.4, block_sigma: 0.3, celsius: 40.0, ..errors("flares") };
            (Ecc { codec: CodecTiming::Instant, ..fixed("2") }, errors, aged(1_500, 720), plain.3)
        }
        "aged" => {
            let worn = PeCycles(3_100);
            let spread = Age { pe_deviation: 200.0, worn_blocks: 0.3, worn_pe_cycles: worn, reads: 40, ..aged(2_500, 24) };
            (plain.0, plain.1, spread, plain.3)
        }
        "bad-blocks" => (plain.0, plain.1, Age { bad_blocks: 0.05, ..plain.2 }, plain.3),
        _ => plain,
    }
}

/// Requests, as the condition wants them: a tenth of the pages take half of the accesses.
fn workload(setup: &Setup, condition: &str) -> Vec<HostCommand> {
    let mut draws = Streams::new(setup.seed).stream("golden/workload");
    let (reads, every) = match condition {
        // Three months, and hours of rest.
        "ecc-flares" | "ecc-rewrite" | "ecc-recharge" => (0.6, 7 * HOUR),
        "gc-idle" => (0.3, 8_000_000),
        "reads" => (0.9, 60_000),
        _ => (0.35, 150_000),
    };
    let pages = setup.user_slots;
    let mut at = 0;
    let mut next = |_| {
        at += draws.below(2 * every + 1);
        let kind = draws.unit();
        let op = match kind {
            k if k < reads => HostOp::Read,
            k if k < reads + 0.04 => HostOp::Discard,
            k if k < reads + 0.08 => HostOp::Flush,
            _ => HostOp::Write(if draws.chance(0.1) { Fua::Yes } else { Fua::No }),
        };
        if op == HostOp::Flush {
            return HostCommand { at: SimTime(at), op, lba: Lba(0), sectors: 0, stream: StreamId::default() };
        }
        let hot = if draws.chance(0.5) { (pages / 10).max(1) } else { pages };
        let length = 1 + draws.below(6.min(u64::from(pages)));
        let first = draws.below(u64::from(hot)).min(u64::from(pages) - length);
        let (mut lba, mut sectors) = (first * 8, length * 8);
        if draws.chance(0.2) {
            let cut = draws.below(8);
            (lba, sectors) = (lba + cut, sectors - cut);
            sectors -= draws.below(8).min(sectors - 1);
        }
        HostCommand { at: SimTime(at), op, lba: Lba(lba), sectors: sectors as u32, stream: StreamId::default() }
    };
    (0..REQUESTS).map(&mut next).collect()
}
