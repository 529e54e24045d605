//! scratch
mod common;
use common::{MIX, drive, prove, setup, workload};
use flashkeep_ssd as ssd;
#[test]
fn zz() {
    for scheme in ["ppc", "da-raid5"] {
        for policy in ssd::ftl::victim::POLICIES {
            for (separate_frontier, idle_free_blocks, slots) in [(false, 0, 1), (true, 6, 1), (true, 20, 1)] {
                let mut base = setup(scheme, drive(6, 24, 8, slots), 0.85);
                base.gc.policy = policy.name.into();
                (base.gc.separate_frontier, base.gc.idle_free_blocks) = (separate_frontier, idle_free_blocks);
                let commands = workload(8, base.user_slots, 4000, MIX);
                eprintln!("{scheme} {} {separate_frontier} {idle_free_blocks}", policy.name);
                prove(&format!("{} {}", scheme, policy.name), &base, &commands, ssd::Pace::Closed { depth: 16 });
            }
        }
    }
}
