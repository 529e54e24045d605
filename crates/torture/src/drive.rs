//! Random drives: small, with everything that a drive may have, and of every scheme.

use crate::plan::{Focus, Plan};
use crate::shape::{SLOT, pick, shaped};
use crate::{Draws, FaultKind, Scope, gathered, ladder, slc, together, wide};
use ssd::ecc::{CodeKind, ECC_POLICIES};
use ssd::ftl::victim::POLICIES;
use ssd::nand::Pairing;
use ssd::protect::{Protection, SchemeChoice, registry};
use ssd::{
    Age, Buffer, BufferKind, CodecTiming, Drive, Ecc, Errors, Faults, PayloadKind, Power, Precondition, Refresh, RefreshPolicy,
    Scheduler, Session, Setup,
};
use vocab::{Bytes, Nanos, PeCycles, Stream, Streams};

/// Scenarios with neighbouring numbers that start from one drive: building it costs as much as what
/// is done with it.
pub const SCENARIOS_OF_A_DRIVE: u64 = 16;

/// Shapes that are tried before a scheme is given one that suits all.
const TRIES: u32 = 6;

const MONTH: Nanos = Nanos(30 * 24 * 3_600_000_000_000);

/// A drive, built, and what its scenarios bring.
#[derive(Clone)]
pub(super) struct Ready {
    pub setup: Setup,
    pub plan: Plan,
    pub session: Session,
}

/// The drive of scenarios `number * SCENARIOS_OF_A_DRIVE` and following.
pub(super) fn ready(scope: &Scope, number: u64) -> Ready {
    let mut draws = Streams::new(scope.seed).stream_of("torture/drive", number);
    let entry = scope.schemes[(number % scope.schemes.len() as u64) as usize];
    for attempt in 0.. {
        let mut choice = choice(entry, &mut draws);
        if scope.draws != Draws::Apart {
            choice = together::in_stages(choice, &mut draws);
        }
        let drive = match scope.draws {
            Draws::Wide => {
                let drive = wide::drive(&mut draws);
                choice = wide::stripes(choice, drive.geometry.dies(), &mut draws);
                drive
            }
            Draws::Gathered => gathered::drive(&mut draws),
            Draws::Ladder => ladder::drive(&mut draws),
            Draws::Slc => slc::drive(&choice, &mut draws),
            _ if attempt < TRIES => drive(&mut draws),
            _ => shaped(5, 1, 14, 6, 1),
        };
        let focus = if scope.draws == Draws::Apart { Focus::None } else { Focus::draw(scope, entry, &mut draws) };
        let choice = focus.scheme(choice, drive.geometry.dies(), &mut draws);
        if let Some(ready) = build(scope, choice, drive, focus, &mut draws) {
            return ready;
        }
        assert!(attempt < 200, "no small drive suits scheme {}", entry.name);
    }
    unreachable!("the loop returns")
}

fn build(scope: &Scope, choice: SchemeChoice, drive: Drive, focus: Focus, draws: &mut Stream) -> Option<Ready> {
    let protection = registry::build(&choice, ssd::shape(&drive)).ok()?;
    let plan = match scope.draws {
        Draws::Apart => outages(scope, plan(scope, &protection, draws), draws),
        _ => together::plan(scope, &choice, &protection, focus, draws),
    };
    let setup = setup(scope, choice, drive, &plan, draws)?;
    let at_random = setup.faults.uncorrectable_reads > 0.0 || setup.faults.silent > 0.0 || ladder::is_beyond(&setup);
    let plan = Plan { may_lose: plan.may_lose || at_random, ..plan };
    match Session::new(&setup) {
        Ok(session) => Some(Ready { setup, plan, session }),
        // A drive that passes all checks and cannot be built is no drive to be drawn again.
        Err(error) if error.is_defect() => panic!("{error}"),
        Err(_) => None,
    }
}

/// Any choice of the scheme; where it can, with stripes that leave dies to rebuild on.
fn choice(entry: &registry::SchemeEntry, draws: &mut Stream) -> SchemeChoice {
    let mut choice = pick(&entry.choices().collect::<Vec<_>>(), draws).clone();
    if entry.options.iter().any(|(name, ..)| *name == "data_strips") && draws.chance(0.3) {
        choice.options.insert("data_strips".into(), "2".into());
    }
    choice
}

fn drive(draws: &mut Stream) -> Drive {
    let dies = 3 + draws.below(4) as u32;
    let channels = if dies.is_multiple_of(2) && draws.chance(0.5) { 2 } else { 1 };
    let slots = if draws.chance(0.2) { 2 } else { 1 };
    shaped(dies, channels, 6 + draws.below(7) as u32, 2 + draws.below(5) as u32, slots)
}

/// Plan of a drive whose scheme survives this many losses.
fn plan(scope: &Scope, protection: &Protection, draws: &mut Stream) -> Plan {
    let survives = protection.survives_dies();
    let mut plan = Plan { cuts: scope.faults.contains(&FaultKind::Cut), ..Plan::default() };
    let losses: Vec<_> = FaultKind::LOSSES.iter().copied().filter(|kind| scope.faults.contains(kind)).collect();
    let beyond = scope.beyond_promise && draws.chance(0.5);
    let budget = if beyond { survives + 1 + draws.below(2) as u32 } else { survives };
    if budget == 0 || losses.is_empty() {
        return plan;
    }
    // Cuts alone, losses alone, and both.
    let with = if plan.cuts { draws.below(10) } else { 5 };
    if with >= 5 {
        (plan.losses, plan.at_most, plan.may_lose) = (losses, budget, beyond);
        plan.cuts = with >= 7 && plan.cuts;
    }
    plan
}

/// Further faults of the drive. Where nothing is lost permanently, cuts may take memory, or reads be wrong.
fn outages(scope: &Scope, plan: Plan, draws: &mut Stream) -> Plan {
    let share = of_all(scope);
    // A lost write looks to a mount like a page that was never begun: no cuts.
    if scope.faults.contains(&FaultKind::Silent) && plan.at_most == 0 && draws.chance(share) {
        return Plan { cuts: false, silent: true, ..plan };
    }
    let memory = scope.faults.contains(&FaultKind::Memory);
    let clock = scope.faults.contains(&FaultKind::Clock);
    // Memory and clock matter to mounts alone: who asks for them asks for cuts.
    let cuts = plan.cuts || !scope.faults.contains(&FaultKind::Cut) && (memory || clock);
    let memory = memory && plan.at_most == 0 && draws.chance(share);
    let clock = clock && draws.chance(share);
    Plan { cuts, memory, clock, ..plan }
}

/// Of drives that may meet a fault that needs the whole life of the drive, how many do.
fn of_all(scope: &Scope) -> f64 {
    (2.0 / scope.faults.len() as f64).min(1.0)
}

fn setup(scope: &Scope, scheme: SchemeChoice, drive: Drive, plan: &Plan, draws: &mut Stream) -> Option<Setup> {
    let mut gc = ssd::ftl::GcConfig { policy: pick(POLICIES, draws).name.into(), ..Default::default() };
    // Drawn aside, so that scenarios of earlier campaigns keep their other draws.
    gc.moves_during_erase = scheme.name == "mds-groups" && draws.clone().below(1000).is_multiple_of(2);
    gc.separate_write_pointer = draws.chance(0.7);
    gc.idle_free_blocks = if draws.chance(0.2) { 4 } else { 0 };
    let most = ssd::mountable_slots_max(&drive, &scheme, &gc).ok()?;
    let share = if plan.loses_room() { 0.3 + 0.2 * draws.unit() } else { 0.4 + 0.4 * draws.unit() };
    let survives = registry::build(&scheme, ssd::shape(&drive)).ok()?.survives_dies();
    let precondition = Precondition {
        fill: 0.5 + 0.5 * draws.unit(),
        converge_within: 1e-9,
        overwrite_at_most: 1.5 * draws.unit(),
        ..Precondition::default()
    };
    let mut setup = Setup {
        user_slots: (f64::from(most) * share) as u32,
        drive,
        scheme,
        gc,
        wear: ssd::ftl::WearConfig { static_threshold: if draws.chance(0.1) { 3 } else { 100 }, ..Default::default() },
        buffer: buffer(draws),
        scheduler: *pick(&[Scheduler::Fifo, Scheduler::ReadFirst], draws),
        precondition,
        age: Age { bad_blocks: if draws.chance(0.1) { 0.04 } else { 0.0 }, ..Age::default() },
        faults: Faults::default(),
        ecc: Ecc::default(),
        errors: Errors::default(),
        refresh: Refresh::default(),
        power: Power { without: scope.without, ..power(draws) },
        payload: if draws.chance(0.05) { PayloadKind::Page } else { PayloadKind::Tag },
        seed: draws.bits(),
    };
    match scope.draws {
        Draws::Apart => setup.faults = faults(scope, plan, survives, draws),
        _ => {
            setup.power = together::power(plan, setup.power, draws);
            setup.faults = together::faults(plan, draws);
            plan.focus.setup(&mut setup, most, plan, draws);
        }
    }
    if setup.drive.timing.unit.is_some() {
        setup.power = gathered::power(&setup);
    }
    if scope.draws == Draws::Ladder {
        ladder::age(&mut setup, draws);
    } else if draws.chance(0.06) {
        let sound: Vec<_> = ECC_POLICIES.iter().filter(|entry| !entry.canary && entry.kind == CodeKind::Bch).collect();
        let policy = sound[1 + draws.below(sound.len() as u64 - 1) as usize].name;
        age(&mut setup, policy, draws);
    }
    Some(setup)
}

/// Faults that strike at random.
fn faults(scope: &Scope, plan: &Plan, survives: u32, draws: &mut Stream) -> Faults {
    let mut faults = Faults::default();
    let uncorrectable = scope.faults.contains(&FaultKind::Uncorrectable) && survives > 0 && plan.at_most == 0;
    if uncorrectable && draws.chance(0.1) {
        faults.uncorrectable_reads = 1e-3;
    }
    if scope.faults.contains(&FaultKind::WearOut) && plan.at_most == 0 && !plan.silent && draws.chance(of_all(scope)) {
        faults.wear_out = *pick(&[3e-5, 1e-4, 3e-4, 1e-3], draws);
    }
    if plan.silent {
        faults.silent = *pick(&[1e-3, 1e-2], draws);
    }
    faults
}

fn buffer(draws: &mut Stream) -> Buffer {
    let kind = *pick(&[BufferKind::Off, BufferKind::Off, BufferKind::Volatile, BufferKind::Plp], draws);
    Buffer { kind, size: Bytes(SLOT * (2 + draws.below(12))), ..Buffer::default() }
}

/// A drive that can be mounted after a cut.
pub(super) fn mountable() -> Power {
    Power { mountable: true, ..Power::default() }
}

/// Where pages share cells the drive has the energy to end programs: without it, it may lose what it
/// acknowledged.
fn power(draws: &mut Stream) -> Power {
    let pairing =
        *pick(&[Pairing::Alone, Pairing::Alone, Pairing::Adjacent { bits: 2 }, Pairing::Shared { side_by_side: 1 }], draws);
    let hold_up = pairing != Pairing::Alone || draws.chance(0.2);
    Power { pairing, hold_up, checkpoint: draws.chance(0.5), ..mountable() }
}

/// Cells with bit errors that the policy corrects.
pub(super) fn age(setup: &mut Setup, policy: &str, draws: &mut Stream) {
    let options = if policy == "fixed" { [("t".into(), "40".into())].into() } else { Default::default() };
    let codec = *pick(&[CodecTiming::Instant, CodecTiming::Flares], draws);
    setup.ecc = Ecc { policy: policy.into(), options, codec, ..Ecc::default() };
    setup.errors.model = "flares".into();
    setup.age.pe_cycles = PeCycles(1000 + draws.below(2000) as u32);
    setup.age.retention = MONTH;
    let policies = [RefreshPolicy::None, RefreshPolicy::Alarm, RefreshPolicy::Joint];
    setup.refresh.policy = *pick(&policies, draws);
    setup.refresh.in_place_at_most = draws.below(2) as u32;
    // Decoding bytes costs more than all the rest.
    setup.payload = PayloadKind::Tag;
}
