//! What the table of promises in `docs/torture.md` leaves open, measured: of the scenarios in which one reason alone
//! lets pages be lost, how many lose some. By hand:
//!
//!     cargo run --release -p flashkeep-lab --example torture_promises

use flashkeep_torture::{Befalls, Losses, Promise, Rule, Scope, promise, quiet_panics};
use std::collections::BTreeMap;

type WithoutReason = fn(&mut Befalls);

/// What is in the way of a promise, each taken out of what befalls a drive by itself.
const REASONS: &[(&str, WithoutReason)] = &[
    ("untimely losses", |befalls| befalls.losses = Losses::InTime),
    ("memory and losses", |befalls| befalls.memory = false),
    ("wear-out with others", |befalls| befalls.wear_out = false),
    ("random reads", |befalls| befalls.random = false),
    ("partners taken along", |befalls| befalls.takes_partners = false),
];

/// The reason without which nothing might be lost.
fn only_reason(befalls: Befalls) -> Option<&'static str> {
    let helps = |(_, without): &&(&str, fn(&mut Befalls))| {
        let mut rest = befalls;
        without(&mut rest);
        promise(1, &rest) == Promise::NothingLost
    };
    REASONS.iter().find(helps).map(|(name, _)| *name)
}

fn main() {
    let usual = std::panic::take_hook();
    quiet_panics();
    let scope = Scope::named(20_261_210, &[], &[], false).expect("no names");
    let mut counts: BTreeMap<(&str, String), (u32, u32)> = BTreeMap::new();
    for number in 0..20_000 {
        let (Some(mut scenario), _) = scope.replay(number) else { continue };
        if scenario.promise() == Promise::NothingLost {
            continue;
        }
        let Some(reason) = only_reason(scenario.befalls()) else { continue };
        scenario.may_lose = false;
        let lost = scenario.run().broken().is_some_and(|violation| violation.rule == Rule::Lost);
        let options: Vec<String> = scenario.setup.scheme.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let of_stage =
            if options.iter().any(|option| option == "stage=3" || option == "m=2") { options.join(" ") } else { String::new() };
        let count = counts.entry((reason, format!("{} {of_stage}", scenario.setup.scheme.name))).or_default();
        *count = (count.0 + 1, count.1 + u32::from(lost));
    }
    std::panic::set_hook(usual);
    for ((reason, scheme), (of, lost)) in &counts {
        eprintln!("{reason:22} {scheme:34} {lost:6} of {of:6} lose pages");
    }
    assert!(!counts.is_empty(), "nothing was measured");
}
