//! RAID-5 under each rule of what gets a parity of its own.

use crate::common::{MIX, Mix, buffers, check_all, drive, run, run_both_paces, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::protect::SchemeChoice;
use ssd::{Failure, Pace, Session, Setup};
use vocab::{DieId, HostCommand};

const RULES: [&str; 3] = ["request", "page", "page-unless-full"];

/// Data strips of a stripe on five dies.
const N: u64 = 4;

fn raid5(rule: &str) -> Setup {
    let options = [("parity_rule".into(), rule.into())].into();
    setup_of(&SchemeChoice { name: "raid5".into(), options }, drive(5, 16, 6, 1), 0.6)
}

/// Parities that a rule asks for, for the pages of a write, stripe by stripe.
fn parities(rule: &str, command: &HostCommand) -> u64 {
    let (first, end) = (command.lba.0 / 8, (command.lba.0 + u64::from(command.sectors)).div_ceil(8));
    let of_stripe = |stripe: u64| end.min((stripe + 1) * N) - first.max(stripe * N);
    let each = |pages: u64| match rule {
        "request" => 1,
        "page-unless-full" if pages == N => 1,
        _ => pages,
    };
    (first / N..end.div_ceil(N)).map(|stripe| each(of_stripe(stripe))).sum()
}

/// Fails if pages share a parity that are to have one each, or have one each that are to share it, GC or not.
#[test]
fn each_rule_programs_the_parities_it_asks_for() {
    for rule in RULES {
        let setup = raid5(rule);
        let mix = Mix { reads: 0.0, discards: 0.0, flushes: 0.0, partial: 0.0, max_pages: 11, ..MIX };
        let writes = workload(1, setup.user_slots, 1500, mix);
        let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{rule}: {e}"));
        let result = run(&mut session, &writes, Pace::Closed { depth: 4 });
        let expected: u64 = writes.iter().map(|write| parities(rule, write)).sum();
        assert_eq!(result.flash.programs["parity"], expected, "{rule}");
        assert!(result.flash.programs["gc"] > 0, "{rule}: nothing was collected");
        check_all(&mut session, rule);
    }
}

/// Fails if an update of one page of a request leaves a stripe that the other pages' updates, or a lost die, break.
#[test]
fn whatever_the_rule_a_die_may_die() {
    for rule in RULES {
        for (kind, buffer) in buffers() {
            let setup = Setup { buffer, ..raid5(rule) };
            let name = format!("{rule}, buffer {kind}");
            let mut session = run_both_paces(&name, &setup, &mut |name, session, _| {
                assert_eq!(session.first_mismatch(), None, "{name}");
            });
            session.fail(Failure::Die(DieId(2)));
            let found = session.take_stock();
            assert_eq!((&found.lost, &found.wrong), (&Vec::new(), &None), "{name}");
        }
    }
}
