//! Page ECC on ageing cells, end to end: what is corrected, what is not, and what that costs.

use crate::common::{MIX, drive, read_all, run, schemes, seeds, setup, setup_of, workload};
use flashkeep_ssd as ssd;
use ssd::coding::odds;
use ssd::{
    Age, CodecTiming, Ecc, Errors, Pace, PayloadKind, Precondition, ReadRetry, Refresh, RefreshPolicy, RunResult, Session, Setup,
};
use vocab::{Bytes, Fua, HostCommand, HostOp, Nanos, PeCycles};

const HOUR: u64 = 3_600_000_000_000;
const YEAR: Nanos = Nanos(8760 * HOUR);

fn ecc(policy: &str, options: &[(&str, &str)]) -> Ecc {
    let options = options.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    Ecc { policy: policy.into(), options, ..Ecc::default() }
}

/// A filled drive with FLARES' cells and its 224 bytes beside each page.
fn aged(setup: Setup, policy: Ecc, pe: u32, retention: Nanos) -> Setup {
    let mut setup = setup;
    setup.drive.geometry.oob_size = Bytes(224 * u64::from(setup.drive.geometry.slots_per_page()));
    let precondition = Precondition { fill: 1.0, ..setup.precondition };
    let age = Age { pe_cycles: PeCycles(pe), retention, ..Age::default() };
    let errors = Errors { model: "flares".into(), ..Errors::default() };
    Setup { age, errors, ecc: policy, precondition, ..setup }
}

fn read_back(setup: &Setup) -> RunResult {
    let mut session = Session::new(setup).unwrap_or_else(|e| panic!("{e}"));
    run(&mut session, &read_all(setup.user_slots).collect::<Vec<_>>(), Pace::Closed { depth: 4 })
}

/// The issue's own case: 10 000 cycles and a year, under `flares` and `ds-raid`, comes back
/// whole; with t = 3 and no parity it is lost, and says so.
#[test]
fn an_old_drive_reads_back_under_flares_and_reports_errors_without() {
    for payload in [PayloadKind::Tag, PayloadKind::Page] {
        let small = || drive(4, 16, 16, 1);
        let kept = Setup { payload, ..aged(setup("ds-raid", small(), 0.7), ecc("flares", &[]), 10_000, YEAR) };
        let result = read_back(&kept);
        assert_eq!((result.oracle.mismatches, result.host.media_errors), (0, 0), "{payload:?}");
        assert_eq!(result.oracle.checked_reads, u64::from(kept.user_slots));
        // RBER 6.75e-4 over 33 568 bits: 22.7 errors in a page.
        let mean = result.ecc.corrected_bits as f64 / result.ecc.codewords as f64;
        assert!((mean - 22.67).abs() < 4.0 * (22.67 / result.ecc.codewords as f64).sqrt(), "{mean} errors a page");

        let lost = Setup { payload, ..aged(setup("none", small(), 0.7), ecc("fixed", &[("t", "3")]), 10_000, YEAR) };
        let result = read_back(&lost);
        assert_eq!(result.oracle.mismatches, 0, "{payload:?}");
        // P[3 errors or fewer] at a mean of 22.2 is 4e-7.
        assert_eq!(result.host.media_errors, u64::from(lost.user_slots), "{payload:?}");
    }
}

/// Page failures in the machine against the tail of the distribution, at rates of about 1e-2 to
/// 1e-5, binomial and over-dispersed: within 3 standard errors, fixed beforehand.
#[test]
fn failure_rates_are_those_of_the_formula() {
    let pe = 10_000;
    for (t, sigma, rounds) in [(33u32, 0.0, 20), (38, 0.0, 20), (42, 0.0, 60), (45, 0.0, 150), (40, 0.3, 12), (60, 0.3, 30)] {
        let name = t.to_string();
        let policy = Ecc { codec: CodecTiming::Instant, ..ecc("fixed", &[("t", &name)]) };
        let mut setup = aged(setup("none", drive(4, 64, 64, 1), 0.9), policy, pe, YEAR);
        setup.errors.page_sigma = sigma;
        let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{e}"));
        let (mut failed, mut codewords) = (0, 0);
        for _ in 0..rounds {
            let result = run(&mut session, &read_all(setup.user_slots).collect::<Vec<_>>(), Pace::Closed { depth: 64 });
            failed += result.ecc.failed_codewords;
            codewords += result.ecc.codewords;
        }
        let model = ssd::nand::rber::find("flares").unwrap().model;
        let stress = ssd::nand::rber::Stress { pe: f64::from(pe), retention_hours: 8760.0, reads: 0.0 };
        let n = odds::BchSize::KIB_4.length(t);
        let expected =
            odds::binomial::ln_mixed(model.rber(&stress), sigma, |rate| odds::binomial::ln_tail(n, t.into(), rate)).exp();
        // A page keeps its factor: reads of one page are not independent then.
        let pages = f64::from(setup.user_slots);
        let independent = if sigma > 0.0 { pages } else { codewords as f64 };
        let error = (expected * (1.0 - expected) / independent).sqrt();
        let rate = failed as f64 / codewords as f64;
        assert!((rate - expected).abs() <= 3.0 * error, "t {t}, sigma {sigma}: {rate:e} of {codewords}, expected {expected:e}");
    }
}

/// Logical pages that cannot be read now, each read on its own.
fn unreadable(session: &mut Session, pages: u32) -> Vec<HostCommand> {
    let fails = |read: &HostCommand| run(session, &[*read], Pace::Closed { depth: 1 }).host.media_errors > 0;
    read_all(pages).filter(fails).collect()
}

/// Persistent errors: the pages that cannot be read are the same each time until they are written again. Drawn at each read they
/// are others. Either way as many fail as the tail of the binomial distribution says, within 3 standard errors, fixed beforehand;
/// without a ladder and with one.
#[test]
fn persistent_errors_stay_until_a_page_is_written_again() {
    for (payload, ladder) in
        [(PayloadKind::Tag, ReadRetry::None), (PayloadKind::Page, ReadRetry::None), (PayloadKind::Tag, ReadRetry::Table)]
    {
        let policy = Ecc { codec: CodecTiming::Instant, read_retry: ladder, ..ecc("fixed", &[("t", "28")]) };
        let aged = aged(setup("none", drive(4, 16, 16, 1), 0.9), policy, 10_000, YEAR);
        let lasting = |persistent| Setup { payload, errors: Errors { persistent, ..aged.errors.clone() }, ..aged.clone() };
        let what = format!("{payload:?} {ladder:?}");
        let setup = lasting(true);
        let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{e}"));
        let lost = unreadable(&mut session, setup.user_slots);
        assert_eq!(lost, unreadable(&mut session, setup.user_slots), "{what}");

        let model = ssd::nand::rber::find("flares").unwrap().model;
        let stress = ssd::nand::rber::Stress { pe: 1e4, retention_hours: 8760.0, reads: 0.0 };
        let expected = odds::binomial::ln_tail(odds::BchSize::KIB_4.length(28), 28, model.rber(&stress)).exp();
        let (pages, found) = (f64::from(setup.user_slots), lost.len() as f64);
        let error = (pages * expected * (1.0 - expected)).sqrt();
        assert!((found - pages * expected).abs() < 3.0 * error, "{what}: {found} of {pages}, expected {}", pages * expected);

        // Written again they have no year behind them.
        let again: Vec<HostCommand> = lost.iter().map(|read| HostCommand { op: HostOp::Write(Fua::No), ..*read }).collect();
        run(&mut session, &again, Pace::Closed { depth: 1 });
        assert_eq!(unreadable(&mut session, setup.user_slots), [], "{what}");

        let mut session = Session::new(&lasting(false)).unwrap_or_else(|e| panic!("{e}"));
        let first = unreadable(&mut session, setup.user_slots);
        assert_ne!(first, unreadable(&mut session, setup.user_slots), "{what}");
    }
}

/// Whatever pages carry, the same things happen at the same times; and the real decoder
/// miscorrects as often as is drawn where there is none.
#[test]
fn counting_errors_and_decoding_them_agree() {
    for (policy, pe) in [(ecc("fixed", &[("t", "1")]), 1_500), (ecc("fixed", &[("t", "12")]), 5_000), (ecc("flares", &[]), 8_000)]
    {
        for scheme in ["none", "raid5", "ds-raid", "mds-groups"] {
            let runs = [PayloadKind::None, PayloadKind::Tag, PayloadKind::Page].map(|payload| {
                let base = aged(setup(scheme, drive(5, 32, 8, 1), 0.6), policy.clone(), pe, Nanos(720 * HOUR));
                let setup = Setup { payload, seed: 3, ..base };
                let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{e}"));
                run(&mut session, &workload(3, setup.user_slots, 400, MIX), Pace::Open)
            });
            let what = format!("{scheme} under {} {:?}", policy.policy, policy.options);
            assert!(runs.iter().all(|result| result.replay.event_digest == runs[0].replay.event_digest), "{what}");
            assert!(runs.iter().all(|result| result.oracle.mismatches == 0), "{what}");
            assert_eq!(runs[1].ecc.failed_codewords, runs[2].ecc.failed_codewords, "{what}");
        }
    }
}

/// The same where even the out-of-band words have more errors than their code corrects: at a rate
/// of 3e-2 one page in two or so.
#[test]
fn counting_and_decoding_agree_where_metadata_fail_too() {
    let runs = [PayloadKind::None, PayloadKind::Tag, PayloadKind::Page].map(|payload| {
        let lost = aged(setup("none", drive(4, 16, 16, 1), 0.5), ecc("fixed", &[("t", "1")]), 200_000, YEAR);
        read_back(&Setup { payload, ..lost })
    });
    let (decoded, read) = (runs[0].ecc.codewords, runs[0].host.read_pages);
    assert!(0 < decoded && decoded < read, "{decoded} of {read} pages say how they are encoded");
    assert!(runs.iter().all(|run| run.replay.event_digest == runs[0].replay.event_digest));
}

/// A decoder takes some overloads for corrections: C(n, i) / 2^(16 t) summed, theory.md section
/// 4.2. So does the draw that stands for it; the checksum catches both. Within 4 standard errors.
#[test]
fn miscorrections_come_as_often_as_they_should_and_are_caught() {
    for (t, share) in [("1", 0.5002), ("2", 0.1252), ("3", 0.0209)] {
        for payload in [PayloadKind::Tag, PayloadKind::Page] {
            let policy = Ecc { codec: CodecTiming::Instant, ..ecc("fixed", &[("t", t)]) };
            let setup = Setup { payload, ..aged(setup("none", drive(4, 32, 32, 1), 0.9), policy, 10_000, YEAR) };
            let result = read_back(&setup);
            let (failed, wrong) = (result.ecc.failed_codewords as f64, result.ecc.miscorrected_codewords as f64);
            let error = (share * (1.0 - share) / failed).sqrt();
            assert!(failed > 3000.0 && (wrong / failed - share).abs() < 4.0 * error, "t {t} {payload:?}: {wrong} of {failed}");
            assert_eq!(result.oracle.mismatches, 0);
        }
    }
}

/// Any parity scheme under any policy, on cells bad enough that pages fail: what the scheme
/// promises holds, nothing comes back wrong.
#[test]
fn every_scheme_works_under_every_policy() {
    for seed in seeds(1) {
        for choice in schemes() {
            for policy in [ecc("fixed", &[("t", "30")]), ecc("flares", &[("wsize", "10")]), ecc("none", &[])] {
                let mut setup = aged(setup_of(&choice, drive(5, 40, 8, 1), 0.5), policy.clone(), 10_000, YEAR);
                if policy.policy == "none" {
                    setup.age.pe_cycles = PeCycles(10);
                }
                let setup = Setup { seed, ..setup };
                let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{choice}: {e}"));
                let result = run(&mut session, &workload(seed, setup.user_slots, 600, MIX), Pace::Open);
                let what = format!(
                    "{choice} under {}: FLASHKEEP_SEED={seed} FLASHKEEP_SCHEME=\"{choice}\" cargo test -p flashkeep-ssd-tests --test conformance page_ecc::every_scheme",
                    policy.policy
                );
                assert_eq!(result.oracle.mismatches, 0, "{what}");
                session.check_counts();
                if policy.policy == "flares" {
                    assert_eq!(result.host.media_errors, 0, "{what}");
                }
            }
        }
    }
}

/// An idle read takes sense, transfer and decode; an idle write encodes first. FLARES, section
/// 4.1: 83.9 us at t = 1 and 194 us at t = 50 at worst; a byte in 20 ns otherwise.
#[test]
fn coding_takes_the_time_of_the_papers_hardware() {
    let idle = |policy: Ecc| {
        let base = aged(setup("none", drive(4, 16, 16, 1), 0.5), policy, 0, Nanos(0));
        let setup = Setup { errors: Errors::default(), ..base };
        let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{e}"));
        let reads = read_all(64).collect::<Vec<_>>();
        let writes: Vec<_> = read_all(64).map(|c| HostCommand { op: HostOp::Write(Fua::No), ..c }).collect();
        let one_by_one = Pace::Closed { depth: 1 };
        let read = run(&mut session, &reads, one_by_one).host.read_latency_us.mean;
        (read, run(&mut session, &writes, one_by_one).host.write_latency_us.mean)
    };
    let plain = idle(ecc("none", &[]));
    for (codec, t, decode, encode) in [
        (CodecTiming::FlaresWorst, "1", 83.9, 81.92),
        (CodecTiming::FlaresWorst, "50", 194.0, 81.92),
        (CodecTiming::Flares, "1", 81.96, 81.92),
        (CodecTiming::Flares, "50", 83.92, 81.92),
        (CodecTiming::Instant, "50", 0.0, 0.0),
    ] {
        let (read, write) = idle(Ecc { codec, ..ecc("fixed", &[("t", t)]) });
        assert!((read - plain.0 - decode).abs() < 1e-6, "{codec:?} t {t}: {read} after {}", plain.0);
        assert!((write - plain.1 - encode).abs() < 1e-6, "{codec:?} t {t}: {write} after {}", plain.1);
    }
}

/// Codes that do not fit beside the page, and names that no one knows, are refused.
#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let refused = |policy: Ecc, change: fn(&mut Setup)| {
        let mut setup = aged(setup("none", drive(4, 16, 16, 1), 0.5), policy, 0, Nanos(0));
        change(&mut setup);
        Session::new(&setup).err().map(|e| e.to_string()).unwrap_or_default()
    };
    let keep: fn(&mut Setup) = |_| ();
    // 48 bytes of metadata in 8 words of 35 parity bits: 83; 141 are left for 2 bytes a bit.
    let said = refused(ecc("fixed", &[("t", "71")]), keep);
    assert!(said.contains("need 142 parity bytes") && said.contains("t up to 70 fits"), "{said}");
    assert_eq!(refused(ecc("fixed", &[("t", "70")]), keep), "");
    // Eight codewords of 13 bits a bit: 17 bytes each at most.
    let said = refused(Ecc { codeword: "512B".into(), ..ecc("fixed", &[("t", "16")]) }, keep);
    assert!(said.contains("t up to 10 fits"), "{said}");
    let said = refused(Ecc { codeword: "8KiB".into(), ..ecc("fixed", &[]) }, keep);
    assert!(said.contains("found `8KiB`, known are 512B, 1KiB, 2KiB, 4KiB"), "{said}");
    let said = refused(ecc("fixed", &[("t", "129")]), keep);
    assert!(said.contains("ecc fixed, t: found `129`, valid are 1 to 128"), "{said}");
    let said = refused(ecc("bch", &[]), keep);
    assert!(said.contains("unknown policy; known are none, fixed, flares"), "{said}");
    let said = refused(ecc("flares", &[("mix", "2")]), keep);
    assert!(said.contains("ecc flares, mix: found `2`, valid are 0.0 to 1.0"), "{said}");
    let said = refused(ecc("none", &[]), |setup| setup.errors.page_sigma = -1.0);
    assert!(said.contains("errors.page_sigma: found -1"), "{said}");
}

/// Data whose code bears a month, 25 days old when 60 days of a request an hour begin.
fn two_months(scheme: &str, refresh: Refresh) -> RunResult {
    let month = ecc("flares", &[("required_retention", "30d")]);
    let base = aged(setup(scheme, drive(4, 24, 16, 1), 0.5), month, 8_000, Nanos(25 * 24 * HOUR));
    let setup = Setup { refresh, ..base };
    let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{e}"));
    let mut commands: Vec<_> = (0..).flat_map(|_| read_all(setup.user_slots)).take(60 * 24).collect();
    (0u64..).zip(&mut commands).for_each(|(hour, command)| command.at = vocab::SimTime(hour * HOUR));
    let result = run(&mut session, &commands, Pace::Open);
    assert_eq!(result.oracle.mismatches, 0, "{scheme}");
    session.check_counts();
    result
}

/// Data that grow too old for their code are moved before they are lost, and only then.
#[test]
fn data_that_outlive_their_code_are_refreshed() {
    for scheme in ["none", "raid5", "ds-raid", "mds-groups"] {
        for policy in [RefreshPolicy::None, RefreshPolicy::Alarm, RefreshPolicy::Joint] {
            let result = two_months(scheme, Refresh { policy, ..Refresh::default() });
            let refreshed = policy != RefreshPolicy::None;
            assert_eq!(result.ecc.refreshed_units > 0, refreshed, "{scheme} {policy:?}");
            assert_eq!(result.flash.programs["refresh"] > 0, refreshed, "{scheme} {policy:?}");
            assert_eq!(result.host.media_errors, 0, "{scheme} {policy:?}");
        }
    }
}

/// In place nothing closed is erased and no page of it is moved, as often as that is allowed.
#[test]
fn refresh_in_place_recharges_instead_of_moving() {
    for scheme in ["none", "raid5", "ds-raid"] {
        let refresh = |in_place_at_most| Refresh { policy: RefreshPolicy::Alarm, in_place_at_most, ..Refresh::default() };
        let (moved, often, once) =
            (two_months(scheme, refresh(0)), two_months(scheme, refresh(9)), two_months(scheme, refresh(1)));
        let programs = |result: &RunResult| result.flash.programs.values().sum::<u64>();
        assert_eq!(moved.ecc.recharged_pages, 0, "{scheme}");
        // Only what is being written is moved: by the host and by the collector four blocks of 16
        // pages each, with a parity for three.
        let (erased, programmed) = (often.flash.erases["refresh"], programs(&often));
        assert!(erased <= 8 && programmed <= 8 * 16 * 4 / 3, "{scheme}: {erased} blocks erased, {programmed} pages programmed");
        assert!(often.ecc.recharged_pages > 0 && once.ecc.recharged_pages > 0, "{scheme}");
        assert!(programs(&once) > 0 && programs(&once) < programs(&moved), "{scheme}");
        assert_eq!((moved.host.media_errors, often.host.media_errors), (0, 0), "{scheme}");
    }
}

/// I3: cycles, retention and reads add up. Under `joint` no block with live pages is ever left
/// beyond what its code bears, be it read often or kept long; without refresh many are.
#[test]
fn no_page_is_left_beyond_the_joint_limit_of_its_code() {
    let t = 24;
    let limit = odds::BchSize::KIB_4.max_rber(t, 1e-11, odds::Per::CodewordBit);
    let model = ssd::nand::rber::find("flares-disturb").unwrap().model;
    for scheme in ["none", "raid5"] {
        let worst = [RefreshPolicy::None, RefreshPolicy::Joint].map(|policy| {
            let name = t.to_string();
            let mut setup = aged(setup(scheme, drive(4, 24, 16, 1), 0.5), ecc("fixed", &[("t", &name)]), 8_000, Nanos(0));
            setup.errors.model = "flares-disturb".into();
            setup.refresh = Refresh { policy, ..Refresh::default() };
            let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{e}"));
            // 90 days; each hour one page of all, and 20 reads of a hot few.
            let mut hot = (0..).flat_map(|_| read_all(8));
            let hours = (0..).flat_map(|_| read_all(setup.user_slots)).take(90 * 24);
            let reads = hours.flat_map(|c| std::iter::once(c).chain((0..20).map(|_| hot.next().unwrap())).collect::<Vec<_>>());
            let spaced = (0u64..).zip(reads).map(|(i, c)| HostCommand { at: vocab::SimTime(i * (HOUR / 21)), ..c });
            let mut worst: f64 = 0.0;
            session.run_watched(&mut spaced.collect::<Vec<_>>().into_iter(), Pace::Open, &mut |view: ssd::BlockView| {
                let stress = ssd::nand::rber::Stress {
                    pe: f64::from(view.info.pe),
                    retention_hours: view.now.since(view.info.first_program).0 as f64 / HOUR as f64,
                    reads: f64::from(view.info.reads),
                };
                worst = worst.max(if view.valid > 0 { model.rber(&stress) } else { 0.0 });
            });
            assert_eq!(session.first_mismatch(), None);
            worst
        });
        assert!(worst[0] > limit, "{scheme}: without refresh {:e} is within {limit:e}", worst[0]);
        assert!(worst[1] <= limit, "{scheme}: {:e} is beyond {limit:e}", worst[1]);
    }
}
