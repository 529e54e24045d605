//! The ladder of reads under schemes with parity, end to end: pages that no step of the ladder can decode are solved for with parity.

use crate::common::{MIX, drive, read_all, run, seeds, setup, workload};
use flashkeep_ssd as ssd;
use ssd::{Age, Ecc, Errors, Pace, PayloadKind, Precondition, ReadRetry, RunResult, Session, Setup};
use vocab::{Bytes, Nanos, PeCycles};

const HOUR: u64 = 3_600_000_000_000;

/// A filled drive at 7000 cycles, pages of which differ by a third from each other; a soft read of 2 bits bears
/// about 1e-2 at rate 0.928, so that after a year a few pages in a hundred are beyond all steps.
fn aged(scheme: &str, payload: PayloadKind, ladder: ReadRetry, hours: u64) -> Setup {
    let mut setup = setup(scheme, drive(4, 16, 24, 1), 0.6);
    setup.drive.geometry.oob_size = Bytes(512);
    let precondition = Precondition { fill: 1.0, ..setup.precondition };
    let age = Age { pe_cycles: PeCycles(7000), retention: Nanos(hours * HOUR), ..Age::default() };
    let errors = Errors { model: "tlc-128l".into(), page_sigma: 0.3, ..Errors::default() };
    let options = [("rate".to_owned(), "0.928".to_owned())].into();
    let ecc = Ecc { policy: "ldpc".into(), options, read_retry: ladder, soft_bits: 2, ..Ecc::default() };
    Setup { payload, age, errors, ecc, precondition, ..setup }
}

fn of_step(result: &RunResult, step: &str) -> u64 {
    result.ladder.reads.get(step).copied().unwrap_or(0)
}

/// Every page is read back right: most of them after retries, some after a soft read, and those beyond all steps by parity.
/// Without a ladder hardly any page can be read, and parity of one page in a stripe cannot help.
#[test]
fn what_no_step_brings_back_parity_does() {
    for scheme in ["raid5", "ds-raid"] {
        for payload in [PayloadKind::Tag, PayloadKind::Page] {
            let name = format!("{scheme}, {payload:?}");
            let setup = aged(scheme, payload, ReadRetry::Table, 8760);
            let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{name}: {e}"));
            let all: Vec<_> = read_all(setup.user_slots).collect();
            let result = run(&mut session, &all, Pace::Closed { depth: 4 });
            assert_eq!((result.oracle.mismatches, result.oracle.checked_reads), (0, u64::from(setup.user_slots)), "{name}");
            let steps = ["hard", "retry", "soft_2_bit", "parity"].map(|step| of_step(&result, step));
            assert!(steps[1..].iter().all(|&reads| reads > 0), "{name}: {steps:?}");
            assert!(result.redundancy.rebuilt_reads > 0, "{name}: {steps:?}");
            assert!(result.host.media_errors <= u64::from(setup.user_slots) / 50, "{name}: {}", result.host.media_errors);

            let bare = aged(scheme, payload, ReadRetry::None, 8760);
            let mut session = Session::new(&bare).unwrap_or_else(|e| panic!("{name}: {e}"));
            let result = run(&mut session, &all, Pace::Closed { depth: 4 });
            assert_eq!(result.oracle.mismatches, 0, "{name}");
            assert!(result.host.media_errors > u64::from(setup.user_slots) / 2, "{name}: {}", result.host.media_errors);
        }
    }
}

/// The payload of pages changes no event, also on the ladder; and policies that know more retry less.
#[test]
fn better_references_save_retries_whatever_pages_carry() {
    for seed in seeds(2) {
        let mut means = Vec::new();
        for ladder in [ReadRetry::Table, ReadRetry::Tracked, ReadRetry::Predicted] {
            let found = [PayloadKind::Tag, PayloadKind::Page].map(|payload| {
                let setup = Setup { seed, ..aged("ds-raid", payload, ladder, 1000) };
                let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{e}"));
                let commands = workload(seed, setup.user_slots, 400, MIX);
                run(&mut session, &commands, Pace::Closed { depth: 8 })
            });
            let digests = found.each_ref().map(|result| (result.replay.event_digest, result.oracle.mismatches));
            assert_eq!(digests[0], digests[1], "{ladder:?}, seed {seed}: run with seed {seed} again");
            assert_eq!(digests[0].1, 0);
            // Retries end where a curve just lets a word decode: there curve and decoder, each by chance, differ now and then.
            let (of_tags, of_pages) = (found[0].ecc.ldpc_disagreements, found[1].ecc.ldpc_disagreements);
            assert!(of_tags == 0 && of_pages * 6 < found[1].ecc.codewords, "{ladder:?}, seed {seed}: {of_tags}, {of_pages}");
            means.push(found[0].ladder.retries_mean().unwrap());
        }
        assert!(means[1] < means[0] / 2.0 && means[2] < means[0] / 2.0, "seed {seed}: {means:?}");
    }
}

/// Where pages carry bytes, the real decoder corrects what the curve lets decode: flipped bits of words of which less than one in
/// 1000 fails by the curve. Without bytes no decoder runs.
#[test]
fn the_decoder_corrects_what_the_curve_lets_decode() {
    for (payload, rate) in [(PayloadKind::Tag, "0.901"), (PayloadKind::Page, "0.901"), (PayloadKind::Page, "0.928")] {
        let mut setup = aged("none", payload, ReadRetry::Predicted, 100);
        setup.age.pe_cycles = PeCycles(3000);
        setup.ecc.options = [("rate".to_owned(), rate.to_owned())].into();
        setup.errors.page_sigma = 0.0;
        setup.drive.geometry.oob_size = Bytes(1024);
        let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{rate}: {e}"));
        let all: Vec<_> = read_all(setup.user_slots).collect();
        let result = run(&mut session, &all, Pace::Closed { depth: 4 });
        let ecc = &result.ecc;
        assert_eq!(result.oracle.mismatches, 0);
        assert!(ecc.codewords > 500 && ecc.corrected_bits > 20 * ecc.codewords, "{rate}: {ecc:?}");
        assert!(1000 * ecc.failed_codewords <= ecc.codewords, "{rate}: {ecc:?}");
        assert!(500 * ecc.ldpc_disagreements <= ecc.codewords, "{rate}: {ecc:?}");
        assert!(payload == PayloadKind::Page || ecc.ldpc_disagreements == 0);
    }
}
