//! debug
mod common;
use common::{MIX, drive, run, setup_of, workload, buffers};
use flashkeep_ssd as ssd;
use ssd::{Pace, Scheduler, Session, Setup};
#[test]
fn debug() {
    let choice = common::schemes().next().unwrap();
    for (name, buffer) in buffers() {
        for at in [0u64, 1500] { for die in 0..6u16 {
        let base = Setup { buffer, scheduler: Scheduler::Fifo, ..setup_of(&choice, drive(6, 16, 8, 1), 0.6) };
        let faults = ssd::Faults { dead_die: Some(die), dead_die_at_request: at, ..base.faults };
        let own = 100_000 + u64::from(die) * 10_000 + at;
        let setup = Setup { faults, seed: own, ..base };
        let mut n = 4000;
        let wrong = |n: u64| {
            let commands = workload(own, setup.user_slots, n, MIX);
            let mut session = Session::new(&setup).unwrap();
            run(&mut session, &commands, Pace::Closed { depth: 8 });
            session.first_mismatch().map(str::to_owned)
        };
        if wrong(n).is_none() { continue; }
        while n > 1 && wrong(n - 1).is_some() { n -= (n / 20).max(1).min(if wrong(n - (n/20).max(1)).is_some() { 4000 } else { 1 }); }
        eprintln!("{name} die {die} at {at}: {n} {:?}", wrong(n));
        let commands = workload(own, setup.user_slots, n, MIX);
        let w = wrong(n).unwrap();
        let lpn: u64 = w.split("lpn").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        for (i, c) in commands.iter().enumerate() {
            let (a, b) = (c.lba.0 / 8, (c.lba.0 + u64::from(c.sectors)).div_ceil(8));
            if (a..b).contains(&lpn) && i + 150 > n as usize { eprintln!("{i} {c:?}"); }
        }
        return;
        } }
    }
}
