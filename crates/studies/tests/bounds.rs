//! A small version of the table of bounds: what a hurried reader concludes from speeds alone must be true.

use flashkeep_studies::bounds::{BoundRow, Bounds, Load, bounds};

/// Presets whose dies have a channel each, or share one by four, and gather program units behind capacitors or do not. The whole table is
/// `flashkeep figures bounds`.
const DRIVES: &[&str] = &["tlc", "zn540", "mlc-mqsim-16g"];
const SCHEMES: &[&str] = &["none", "raid5", "ds-raid", "mds-groups"];

fn table() -> Vec<BoundRow> {
    let drives: Vec<String> = DRIVES.iter().map(|&name| name.to_owned()).collect();
    let wanted = Bounds { drives: &drives, schemes: SCHEMES, bytes: 64 << 20, threads: 2, progress: &|_, _| {} };
    bounds(&wanted).expect("presets")
}

/// Fails if the buffer, a queue or a scheme's cache starves the dies: sequential writes of `pm9a3` once had 5 % of their bound, and
/// parity made them eight times as fast. Fails, too, if reads keep each other from their cells: with commands that wait for all
/// transfers that are booked on their channel, the dies of a channel sense in step, and reads of `mlc-mqsim-16g` have 70 %.
#[test]
fn without_redundancy_a_drive_attains_its_bound_and_parity_makes_no_write_faster() {
    for row in table().iter().filter(|row| row.load != Load::Mixture) {
        let of = |at: usize| row.attained[at].as_ref().map(|attained| attained.mb_per_s);
        let none = of(0).expect("every drive takes it");
        let share = none / row.bound.mb_per_s;
        // More than all of it by what the buffer still holds when the last write is answered.
        assert!(share >= 0.9, "{} under {}: {share:.3} of {:?}", row.drive, row.load.name(), row.bound);
        for (at, scheme) in SCHEMES.iter().enumerate().skip(1) {
            let Some(attained) = of(at) else { continue };
            assert!(attained <= 1.03 * none, "{} under {}: {scheme} {attained:.0}, none {none:.0}", row.drive, row.load.name());
        }
    }
}
