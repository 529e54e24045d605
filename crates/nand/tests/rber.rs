//! Error models against tables that were made elsewhere, and against what the papers state.

use flashkeep_nand::rber::{Fast19, Flares, RberModel, Stress, find};

const FLARES: &str = include_str!("../../coding/tests/oracles/flares_required_p.csv");
const FAST19: &str = include_str!("oracles/fast19_rber_reference.csv");

fn number(field: &str) -> f64 {
    field.parse().unwrap_or_else(|e| panic!("`{field}`: {e}"))
}

fn assert_near(found: f64, expected: f64, relative: f64, of: &str) {
    assert!((found - expected).abs() <= relative * expected.abs(), "{of}: {found:e}, the table has {expected:e}");
}

#[test]
fn flares_gives_every_row_of_its_table() {
    let mut rows = 0;
    for line in FLARES.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let (pe, hours) = (number(fields[0]), number(fields[2]));
        // The table has eight digits.
        assert_near(Flares::PAPER.written(pe), number(fields[3]), 1e-7, line);
        assert_near(Flares::PAPER.retained(pe, hours), number(fields[4]), 1e-7, line);
        let model = find("flares").unwrap().model;
        assert_near(model.rber(&Stress { pe, retention_hours: hours, reads: 1e5 }), number(fields[5]), 1e-7, line);
        rows += 1;
    }
    assert_eq!(rows, 42);
}

#[test]
fn fast19_gives_every_row_of_its_table_and_stops_at_its_limits() {
    let (mut rows, mut within) = (0, 0);
    for line in FAST19.lines().skip(1) {
        let (chip, rest) = match line.strip_prefix('"') {
            Some(quoted) => quoted.split_once("\",").expect("a closed quotation"),
            None => line.split_once(',').expect("fields"),
        };
        let name = ["fast19-3x-mlc", "fast19-2y-mlc", "fast19-72l-tlc"]
            .into_iter()
            .zip(["3x-nm MLC (from memory, unverified)", "2y-nm MLC", "72-layer TLC"])
            .find_map(|(name, known)| (known == chip).then_some(name))
            .unwrap_or_else(|| panic!("unknown chip `{chip}`"));
        let RberModel::Fast19(law) = find(name).unwrap().model else { panic!("{name} is another law") };
        let fields: Vec<f64> = rest.split(',').map(number).collect();
        let stress = Stress { pe: fields[0], retention_hours: fields[1] * 24.0, reads: fields[2] };
        // The table has six digits.
        assert_near(law.power_laws(&stress), fields[3], 1e-5, line);
        let rate = RberModel::Fast19(law).rber(&stress);
        if law.is_within(&stress) {
            assert_near(rate, fields[3], 1e-5, line);
            within += 1;
        }
        assert!(rate <= law.power_laws(&law.limit).min(0.5), "{line}: {rate}");
        rows += 1;
    }
    assert_eq!(rows, 432);
    assert!(within > 200, "only {within} rows inside of the limits");
}

/// RBER at which 4 200 bits with eight corrected have a yield of 99.9 % (Eq. 3 of DA-RAID-5).
const YIELD_THRESHOLD: f64 = 5.842_965_779e-4;

#[test]
fn da_raid5_bears_what_its_paper_states() {
    let model = find("da-raid5").unwrap().model;
    let at = |days: f64, reads: f64| model.rber(&Stress { pe: 15_000.0, retention_hours: days * 24.0, reads });
    assert!(at(380.9, 0.0) < YIELD_THRESHOLD && at(381.1, 0.0) > YIELD_THRESHOLD);
    assert!(at(0.0, 45_990.0) < YIELD_THRESHOLD && at(0.0, 46_010.0) > YIELD_THRESHOLD);
    // Errors add: half of either limit is fine, half of both is not far below the threshold.
    assert!(at(190.5, 23_000.0) > 0.9 * YIELD_THRESHOLD);
    // The scales, as the theory has them.
    assert_near(Flares::DA_RAID5.bo / Flares::PAPER.bo, 0.496, 1e-3, "scale of Bo");
    let slope = Flares::DA_RAID5.reads.coefficient * 15_000f64.powf(Flares::DA_RAID5.reads.power);
    assert_near(slope, 1.266e-8, 1e-3, "slope of reads");
}

#[test]
fn read_disturb_follows_the_slopes_that_were_measured() {
    let model = find("flares-disturb").unwrap().model;
    let slope = |pe: f64| {
        let at = |reads: f64| model.rber(&Stress { pe, retention_hours: 0.0, reads });
        (at(10_000.0) - at(0.0)) / 10_000.0
    };
    // A power law through seven measured slopes: within 15 % of each.
    for (pe, measured) in
        [(2e3, 1.00e-9), (3e3, 1.63e-9), (4e3, 2.37e-9), (5e3, 3.74e-9), (8e3, 7.50e-9), (10e3, 9.10e-9), (15e3, 1.90e-8)]
    {
        assert_near(slope(pe), measured, 0.15, &format!("{pe} cycles"));
    }
}

#[test]
fn without_limits_the_2y_chip_would_explode() {
    let stress = Stress { pe: 3_000.0, retention_hours: 8_760.0, reads: 0.0 };
    assert!(Fast19::MLC_2Y.power_laws(&stress) > 0.08);
    assert!(RberModel::Fast19(Fast19::MLC_2Y).rber(&stress) < 0.01);
}
