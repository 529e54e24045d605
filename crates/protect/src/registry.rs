//! All schemes: one line adds one. Drives `--help`, `list schemes` and the test suites.

use crate::{Options, Protection, SchemeChoice, SchemeError, Shape, canary, ds_raid, mds_groups, raid5};

/// One scheme.
pub struct SchemeEntry {
    /// Its name in experiments and on the command line.
    pub name: &'static str,
    /// Where it is published.
    pub paper: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Options: `(name, default, help)`.
    pub options: &'static [(&'static str, &'static str, &'static str)],
    /// Dies whose loss loses no acknowledged data, with default options; [`promise`] for others.
    pub survives_dies: u32,
    /// Whether it loses data on purpose, for the test suites.
    pub canary: bool,
    build: fn(&Options<'_>, Shape) -> Result<Protection, SchemeError>,
}

/// All schemes.
pub const SCHEMES: &[SchemeEntry] = &[
    SchemeEntry {
        name: "none",
        paper: "-",
        summary: "no redundancy; a page goes to the die with the least waiting",
        options: &[],
        survives_dies: 0,
        canary: false,
        build: |_, _| Ok(Protection::None),
    },
    SchemeEntry {
        name: "raid5",
        paper: "the papers' common baseline",
        summary: "static stripes of logical pages over all dies, rotating parity",
        options: raid5::OPTIONS,
        survives_dies: 1,
        canary: false,
        build: raid5::build,
    },
    SchemeEntry {
        name: "ds-raid",
        paper: "Kim et al., DS-RAID, 2011",
        summary: "dynamic stripes on physical rows, sub-stripe parity, no reads for parity",
        options: ds_raid::OPTIONS,
        survives_dies: 1,
        canary: false,
        build: ds_raid::build,
    },
    SchemeEntry {
        name: "mds-groups",
        paper: "Greenan et al., HotDep 2009",
        summary: "block groups with a (k, m) code each, parity held in a power-safe cache until it is whole",
        options: mds_groups::OPTIONS,
        survives_dies: 1,
        canary: false,
        build: mds_groups::build,
    },
    SchemeEntry {
        name: "canary",
        paper: "-",
        summary: "RAID-5 that corrupts its parity on purpose: the test suites must catch it",
        options: canary::OPTIONS,
        survives_dies: 1,
        canary: true,
        build: canary::build,
    },
];

/// The entry called `name`.
///
/// # Errors
/// Lists the known schemes.
pub fn find(name: &str) -> Result<&'static SchemeEntry, SchemeError> {
    SCHEMES.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = SCHEMES.iter().map(|entry| entry.name).collect();
        SchemeError {
            scheme: name.into(),
            setting: "name".into(),
            reason: format!("unknown scheme; known are {}", known.join(", ")),
        }
    })
}

/// Builds a scheme for a drive.
///
/// # Errors
/// Names the setting at fault and what would be valid.
pub fn build(choice: &SchemeChoice, shape: Shape) -> Result<Protection, SchemeError> {
    let entry = find(&choice.name)?;
    let options = Options::new(entry.name, &choice.options, entry.options)?;
    (entry.build)(&options, shape)
}

/// Dies whose loss loses no acknowledged data, with these options.
///
/// # Errors
/// As [`build`].
pub fn promise(choice: &SchemeChoice, shape: Shape) -> Result<u32, SchemeError> {
    Ok(match build(choice, shape)? {
        Protection::Groups(scheme) => scheme.survives_dies(),
        _ => find(&choice.name)?.survives_dies,
    })
}
