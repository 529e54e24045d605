//! One fixed colour per scheme, in every report.
//!
//! Hues after Okabe and Ito (distinct for colour-blind readers), darkened where needed to keep a
//! contrast of about 3:1 against both the light and the dark page.

const COLOURS: [&str; 8] = ["#7d838c", "#0072b2", "#d55e00", "#009e73", "#c46a9f", "#2f9fdb", "#b58900", "#7a5cc4"];

/// Curves that can be told apart by colour.
pub const CURVES: usize = COLOURS.len();

/// Schemes with a colour of their own; the index is that of the colour.
const KNOWN: [&str; 7] = ["none", "raid5", "ds-raid", "ppc", "da-raid5", "code-zones", "mds-groups"];

/// The colour of the curve with that number; they repeat.
#[must_use]
pub fn of_curve(number: usize) -> &'static str {
    // The first is grey, for what has no scheme: it comes last.
    COLOURS[(number + 1) % COLOURS.len()]
}

/// The colour of what a paper states.
#[must_use]
pub fn published() -> &'static str {
    COLOURS[0]
}

/// A label and a colour for each scheme name, in order. Equal names get numbered labels; a name
/// unknown here, or seen before, gets the first colour that is still free.
#[must_use]
pub fn assign<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<(String, &'static str)> {
    let mut taken = [false; COLOURS.len()];
    let mut own: Vec<Option<usize>> = Vec::new();
    for name in names.clone() {
        let index = KNOWN.iter().position(|known| *known == name).filter(|&i| !taken[i]);
        if let Some(i) = index {
            taken[i] = true;
        }
        own.push(index);
    }
    let mut labels: Vec<(String, &'static str)> = Vec::new();
    for (position, (name, index)) in names.zip(own).enumerate() {
        let colour = index.unwrap_or_else(|| {
            let free = taken.iter().skip(1).position(|t| !t).map_or(position % COLOURS.len(), |i| i + 1);
            taken[free] = true;
            free
        });
        labels.push((unique(name, &labels), COLOURS[colour]));
    }
    labels
}

fn unique(name: &str, taken: &[(String, &'static str)]) -> String {
    let is_free = |label: &str| taken.iter().all(|(other, _)| other != label);
    if is_free(name) {
        return name.into();
    }
    (2..).map(|n| format!("{name} ({n})")).find(|label| is_free(label)).expect("some number is free")
}
