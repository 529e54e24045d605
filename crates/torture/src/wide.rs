//! Drives of more dies than a stripe needs: 33 to 128, with few blocks each.

use crate::shape::{pick, shaped};
use ssd::Drive;
use ssd::protect::SchemeChoice;
use vocab::Stream;

/// Numbers of dies: the least that is wide, ones that 32 divides and does not divide, and the most. What a scenario costs grows with
/// them, so wider ones are drawn more seldom.
const DIES: &[u32] = &[33, 33, 40, 40, 64, 64, 96, 128];

pub(super) fn drive(draws: &mut Stream) -> Drive {
    let dies = *pick(DIES, draws);
    let channels = if dies.is_multiple_of(8) && draws.chance(0.7) { 8 } else { 1 };
    shaped(dies, channels, 6 + draws.below(4) as u32, 2 + draws.below(2) as u32, if draws.chance(0.2) { 2 } else { 1 })
}

/// Stripes, rows and codewords of any width: mostly what the scheme chooses, else of a few dies, or of all of them, so that
/// sets of more than 32 and more than 64 dies come about.
pub(super) fn stripes(mut choice: SchemeChoice, dies: u32, draws: &mut Stream) -> SchemeChoice {
    choice.options.remove("data_strips");
    let divisors: Vec<u32> = (2..=dies).filter(|&width| dies.is_multiple_of(width)).collect();
    let (any, divisor, wanted) = (2 + draws.below(u64::from(dies) - 1) as u32, *pick(&divisors, draws), draws.chance(0.6));
    let parities = choice.options.get("m").and_then(|m| m.parse().ok()).unwrap_or(1);
    let (option, value) = match choice.name.as_str() {
        "raid5" | "ppc" | "da-raid5" => ("data_strips", any - 1),
        "ds-raid" => ("row_dies", divisor),
        "mds-groups" if divisor > parities && !choice.options.contains_key("then") => ("k", divisor - parities),
        _ => return choice,
    };
    if wanted {
        choice.options.insert(option.into(), value.to_string());
    }
    choice
}
