//! Odds against tables that were made elsewhere with many digits, and against the papers.

use flashkeep_coding::odds::binomial::{ln_head, ln_tail};
use flashkeep_coding::odds::stripes::ln_stripe_loss;
use flashkeep_coding::odds::{BchSize, Per, ProductCode};

const TAILS: &str = include_str!("../oracles/binomial_tails.csv");
const REQUIRED: &str = include_str!("../oracles/flares_required_p.csv");
const BETA: &str = include_str!("../oracles/greenan_beta_product_code.csv");
const YIELDS: &str = include_str!("../oracles/da_raid_yield_thresholds.json");

fn number(field: &str) -> f64 {
    field.trim().parse().unwrap_or_else(|e| panic!("`{field}`: {e}"))
}

/// A logarithm is right if the number is: an absolute error of the logarithm is a relative one
/// of the number. Close to 0 it is the number's distance from 1 that must be right; far out the
/// logarithm itself has only this many digits.
fn assert_ln(found: f64, expected: f64, of: &str) {
    let error = (found - expected).abs();
    assert!(error <= 1e-12 * expected.abs().min(1.0) + 1e-14 * expected.abs(), "{of}: {found}, the table has {expected}");
}

#[test]
fn tails_are_right_over_the_whole_range() {
    let (mut rows, mut deepest) = (0, 0.0f64);
    for line in TAILS.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let (n, k, p) = (fields[0].parse().unwrap(), fields[1].parse().unwrap(), number(fields[2]));
        assert_ln(ln_tail(n, k, p), number(fields[3]), line);
        assert_ln(ln_head(n, k, p), number(fields[4]), line);
        deepest = deepest.min(number(fields[3]));
        rows += 1;
    }
    assert!(rows > 500 && deepest < -1e4, "{rows} rows down to e^{deepest}");
}

#[test]
fn flares_needs_the_capabilities_of_its_table() {
    let header: Vec<&str> = REQUIRED.lines().next().unwrap().split(',').collect();
    let codes = [
        ("p_4KB_paper_n=32768", BchSize { data_bits: 32_768, parity_per_error: 0 }),
        ("p_4KB_gf2e16_n=32768_plus_16p", BchSize::KIB_4),
        ("p_1KB_gf2e14_n=8192_plus_14p", BchSize::KIB_1),
        ("p_512B_gf2e13_n=4096_plus_13p", BchSize::BYTES_512),
        ("p_2KB_gf2e15_n=16384_plus_15p", BchSize::KIB_2),
    ];
    let mut cells = 0;
    for line in REQUIRED.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        for (name, code) in codes {
            let column = header.iter().position(|h| *h == name).expect("the table has the column");
            let found = code.required_t(number(fields[5]), 1e-11, Per::CodewordBit, 0);
            assert_eq!(found, Some(fields[column].parse().unwrap()), "{name}: {line}");
            cells += 1;
        }
    }
    assert_eq!(cells, 5 * 42);
}

#[test]
fn rber_limits_of_flares_capabilities() {
    // (t, limit at an UBER of 1e-11), to the digits of the theory.
    for (t, limit) in [(3, 1.632e-6), (8, 2.615e-5), (50, 6.859e-4), (65, 9.823e-4)] {
        let found = BchSize::KIB_4.max_rber(t, 1e-11, Per::CodewordBit);
        assert!((found / limit - 1.0).abs() < 3e-4, "t {t}: {found:e}, expected {limit:e}");
    }
    // A stricter target takes p = 50 below what 10 000 cycles and a year need (6.752e-4).
    let strict = BchSize::KIB_4.max_rber(50, 1e-15, Per::CodewordBit);
    assert!((strict / 5.13e-4 - 1.0).abs() < 1e-3, "{strict:e}");
    // The code of FLARES' page profiles, BCH(87, 52) over GF(2^7).
    let profile = BchSize { data_bits: 52, parity_per_error: 7 };
    let uber = profile.ln_uber(5, 6.752e-4, Per::CodewordBit).exp();
    assert!((uber / 5.25e-13 - 1.0).abs() < 5e-3, "{uber:e}");
    let four = profile.ln_uber(4, 6.752e-4, Per::CodewordBit).exp();
    assert!(four > 1e-11, "four would not do: {four:e}");
}

#[test]
fn da_raid5_thresholds_of_yield_and_uber() {
    // `"name": "value"` on each line.
    let value = |name: &str| {
        let line = YIELDS.lines().find(|line| line.contains(&format!("\"{name}\":"))).unwrap_or_else(|| panic!("{name}"));
        number(line.rsplit_once(": \"").expect("a value").1.trim_end_matches(['"', ',']))
    };
    let near = |found: f64, name: &str| {
        let expected = value(name);
        assert!((found / expected - 1.0).abs() < 2e-6, "{name}: {found:e}, the table has {expected:e}");
    };
    let (code, data_only) = (BchSize::BYTES_512, BchSize { data_bits: 4_096, parity_per_error: 0 });
    assert_eq!(code.length(8), 4_200);
    near(code.max_rber_for_yield(8, 0.999, 1), "n=4200 codeword bits (correct reading of m); yield 99.9% per 512B");
    near(data_only.max_rber_for_yield(8, 0.999, 1), "n=4096 data bits; yield 99.9% per 512B");
    near(code.max_rber_for_yield(8, 0.999, 16), "n=4200; yield 99.9% per 8KB page (16 codewords)");
    for uber in ["1e-11", "1e-13", "1e-15", "1e-16", "1e-17"] {
        near(code.max_rber(8, number(uber), Per::DataBit), &format!("n=4200; UBER={uber} (tail/4096)"));
    }
    let threshold = value("n=4200 codeword bits (correct reading of m); yield 99.9% per 512B");
    near(code.ln_yield(8, threshold, 16).exp(), "page_yield_8KB_16_codewords");
    near(code.ln_uber(8, threshold, Per::DataBit).exp(), "UBER_equiv");
    for t in 1..=16 {
        near(code.max_rber_for_yield(t, 0.999, 1), &t.to_string());
    }
}

#[test]
fn product_codes_lose_the_patterns_of_the_table() {
    let mut codes: Vec<((u32, u32), ProductCode)> = Vec::new();
    let mut rows = 0;
    for line in BETA.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [m, n, erasures] = [0, 1, 2].map(|i: usize| fields[i].parse::<u32>().unwrap());
        if codes.last().is_none_or(|(shape, _)| *shape != (m, n)) {
            codes.push(((m, n), ProductCode::new(m, n)));
        }
        let code = &codes.last().expect("one was just made").1;
        assert_eq!(code.recoverable(erasures).to_string(), fields[4], "{line}");
        assert_eq!(code.unrecoverable(erasures).to_string(), fields[5], "{line}");
        rows += 1;
    }
    assert_eq!(rows, 178);
    // A pattern that fits no forest of 8 + 64 vertices cannot be brought back.
    let paper = &codes.iter().find(|(shape, _)| *shape == (8, 64)).expect("the table has the paper's code").1;
    assert_eq!((paper.recoverable(71) == 0u32.into(), paper.recoverable(72) == 0u32.into()), (false, true));
}

/// RBER; then UPER of pages with 1 and 4 bits corrected, and with 1 bit of (7,1), (6,2) and
/// (7,1) + (63,1): the formulas of Greenan et al., section 4.2, to four digits.
const UPER: [[f64; 6]; 5] = [
    [1e-9, 5.368e-10, 3.147e-25, 1.009e-18, 1.083e-27, 9.157e-36],
    [1e-8, 5.367e-8, 3.146e-20, 1.008e-14, 1.082e-21, 9.150e-28],
    [1e-7, 5.357e-6, 3.139e-15, 1.004e-10, 1.076e-15, 9.078e-20],
    [1e-6, 5.253e-4, 3.063e-10, 9.637e-7, 1.012e-9, 8.393e-12],
    [1e-5, 4.328e-2, 2.398e-5, 5.509e-3, 4.816e-4, 4.113e-4],
];

#[test]
fn uncorrectable_page_error_rates_of_block_groups() {
    let page = BchSize { data_bits: 32_768, parity_per_error: 0 };
    let product = ProductCode::new(8, 64);
    for [rber, one_bit, four_bits, single, double, both] in UPER {
        let lost = page.ln_failure(1, rber).exp();
        let found = [
            lost,
            page.ln_failure(4, rber).exp(),
            ln_stripe_loss(7, 1, lost).exp() / 8.0,
            ln_stripe_loss(6, 2, lost).exp() / 8.0,
            product.ln_loss(lost).exp() / 512.0,
        ];
        for (found, expected) in found.into_iter().zip([one_bit, four_bits, single, double, both]) {
            assert!((found / expected - 1.0).abs() < 5e-4, "RBER {rber:e}: {found:e}, expected {expected:e}");
        }
    }
}

#[test]
fn two_parities_beat_the_product_code_where_pages_are_bad() {
    // Of 512 pages, 64 stripes of (6, 2) or one product code: they cross at U = .045.
    let product = ProductCode::new(8, 64);
    let better = |u: f64| {
        let stripes = -(64.0 * (-ln_stripe_loss(6, 2, u).exp()).ln_1p()).exp_m1();
        product.ln_loss(u).exp() < stripes
    };
    assert!(better(0.01) && better(0.0445));
    assert!(!better(0.0455) && !better(0.06));
}

#[test]
#[should_panic(expected = "is no probability")]
fn what_is_no_probability_is_refused() {
    let _ = ln_tail(10, 1, 1.5);
}
