//! All schemes, and what goes beside one: one line adds one. Drives `--help`, `list schemes` and the test suites.

use crate::code_zones::CodeZones;
use crate::{
    DisturbLimits, Options, Protection, SchemeChoice, SchemeError, Shape, canary, code_zones, da_raid5, ds_raid, limits,
    mds_groups, ppc, raid5,
};
use std::collections::BTreeMap;
use vocab::find_named;

/// One scheme.
pub struct SchemeEntry {
    /// Its name in experiments and on the command line.
    pub name: &'static str,
    /// Where it is published.
    pub paper: &'static str,
    /// Effect, in one line.
    pub summary: &'static str,
    /// Options: `(name, default, help)`.
    pub options: &'static [(&'static str, &'static str, &'static str)],
    /// Further sets of options that the test suites try, beside the defaults.
    pub variants: &'static [&'static [(&'static str, &'static str)]],
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
        variants: &[],
        canary: false,
        build: |_, _| Ok(Protection::None),
    },
    SchemeEntry {
        name: "raid5",
        paper: "the papers' common baseline",
        summary: "static stripes of logical pages over all dies, rotating parity",
        options: raid5::OPTIONS,
        variants: &[&[("read_around", "2")]],
        canary: false,
        build: raid5::build,
    },
    SchemeEntry {
        name: "ppc",
        paper: "Im and Shin, Flash-aware RAID techniques, 2011",
        summary: "RAID-5 with partial parity in a PLP cache, committed late",
        options: ppc::OPTIONS,
        variants: &[&[("on_flush", "commit")], &[("parity_cache", "4KiB")]],
        canary: false,
        build: ppc::build,
    },
    SchemeEntry {
        name: "da-raid5",
        paper: "Guo et al., DA-RAID-5, 2013",
        summary: "limits on disturb, then parity where wear demands it, then hybrid caching",
        options: da_raid5::OPTIONS,
        variants: &[&[("stage", "2"), ("t_p", "1")], &[("stage", "3")], &[("stage", "3"), ("n_update", "cheaper")]],
        canary: false,
        build: da_raid5::build,
    },
    SchemeEntry {
        name: "ds-raid",
        paper: "Kim et al., DS-RAID, 2011",
        summary: "dynamic stripes on physical rows, sub-stripe parity, no reads for parity",
        options: ds_raid::OPTIONS,
        variants: &[&[("sub_stripe", "defer")], &[("read_around", "0")]],
        canary: false,
        build: ds_raid::build,
    },
    SchemeEntry {
        name: "mds-groups",
        paper: "Greenan et al., HotDep 2009",
        summary: "block groups with a (k, m) code each, parity held in a PLP cache until it is whole",
        options: mds_groups::OPTIONS,
        variants: &[&[("block_parity", "yes")], &[("m", "2")]],
        canary: false,
        build: mds_groups::build,
    },
    SchemeEntry {
        name: "code-zones",
        paper: "Chang and Chang, code striping, 2007",
        summary: "read-hot zones have XOR code on other dies; a read completes from its data or from the code, whichever arrives first",
        options: code_zones::OPTIONS,
        variants: &[
            &[("decoder", "elimination"), ("offer", "all"), ("spare_blocks", "3"), ("offline_after", "50us")],
            &[
                ("offline", "10ms,300ms"),
                ("offline_cost", "free"),
                ("stripe_block", "8KiB"),
                ("degree", "3"),
                ("decoder", "elimination"),
                ("access", "blocks"),
            ],
        ],
        canary: false,
        build: |options, shape| Ok(Protection::Zones(Box::new(code_zones::build(options, shape)?))),
    },
    SchemeEntry {
        name: "da-raid5-as-printed",
        paper: "Guo et al., DA-RAID-5, 2013, Algorithm 2 as printed",
        summary: "hybrid caching that forgets covered pages: loses data, the test suites must catch it",
        options: da_raid5::OPTIONS,
        variants: &[],
        canary: true,
        build: da_raid5::build_as_printed,
    },
    SchemeEntry {
        name: "ds-raid-hasty",
        paper: "-",
        summary: "DS-RAID that answers before parity is durable: loses data, the test suites must catch it",
        options: ds_raid::OPTIONS,
        variants: &[],
        canary: true,
        build: ds_raid::build_hasty,
    },
    SchemeEntry {
        name: "canary",
        paper: "-",
        summary: "RAID-5 that corrupts its parity on purpose: the test suites must catch it",
        options: canary::OPTIONS,
        variants: &[],
        canary: true,
        build: canary::build,
    },
];

/// Schemes with code zones over them, as the test suites try them, and as torture draws them where it is asked to.
pub const JOINED: &[SchemeEntry] = &[
    SchemeEntry {
        name: "ds-raid+code-zones",
        paper: "Kim et al., DS-RAID, 2011, and Chang and Chang, code striping, 2007",
        summary: "rows with their parity, and code of the zones read most, in rows as well",
        options: ds_raid::OPTIONS,
        variants: &[
            &[
                ("code-zones.offline_after", "50us"),
                ("code-zones.offer", "all"),
                ("code-zones.decoder", "elimination"),
                ("code-zones.code_zones", "3"),
            ],
            &[("sub_stripe", "defer"), ("code-zones.offline", "10ms,300ms"), ("code-zones.offline_cost", "free")],
        ],
        canary: false,
        build: ds_raid::build,
    },
    SchemeEntry {
        name: "mds-groups+code-zones",
        paper: "Greenan et al., HotDep 2009, and Chang and Chang, code striping, 2007",
        summary: "block groups with their codes, and code of the zones read most, in groups as well",
        options: mds_groups::OPTIONS,
        variants: &[
            &[("code-zones.offline_after", "50us"), ("code-zones.offer", "all"), ("code-zones.code_zones", "3")],
            &[("m", "2"), ("code-zones.offline", "10ms,300ms"), ("code-zones.stripe_block", "8KiB"), ("code-zones.group", "3")],
        ],
        canary: false,
        build: mds_groups::build,
    },
];

/// Addition to a scheme, with a name of its own behind the scheme's: `ds-raid+limits`.
pub struct AdditionEntry {
    /// Its name.
    pub name: &'static str,
    /// Where it is published.
    pub paper: &'static str,
    /// Effect, in one line.
    pub summary: &'static str,
    /// Options: `(name, default, help)`.
    pub options: &'static [(&'static str, &'static str, &'static str)],
}

/// All additions.
pub const ADDITIONS: &[AdditionEntry] = &[
    AdditionEntry {
        name: "limits",
        paper: "Guo et al., DA-RAID-5, 2013, section III-C",
        summary: "blocks are recycled before reads or age cost what page ECC corrects",
        options: limits::OPTIONS,
    },
    AdditionEntry {
        name: "code-zones",
        paper: "Chang and Chang, code striping, 2007",
        summary: "over rows or block groups: read-hot zones have XOR code; a read completes from its data or from the code, whichever arrives first",
        options: code_zones::OPTIONS,
    },
];

/// The names of the additions of a joined name: what stands behind its first `+`.
pub fn additions(name: &str) -> impl Iterator<Item = &str> {
    name.split('+').skip(1)
}

/// The scheme of a joined name: what stands before its first `+`.
#[must_use]
pub fn scheme_of(name: &str) -> &str {
    name.split_once('+').map_or(name, |(scheme, _)| scheme)
}

impl SchemeEntry {
    /// The scheme with its defaults, and with each variant.
    pub fn choices(&self) -> impl Iterator<Item = SchemeChoice> {
        let variants = self.variants.iter().map(|options| SchemeChoice {
            name: self.name.into(),
            options: options.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        });
        std::iter::once(SchemeChoice::named(self.name)).chain(variants)
    }
}

/// The entry of the scheme called `name`, with whatever additions.
///
/// # Errors
/// Lists the known schemes.
pub fn find(name: &str) -> Result<&'static SchemeEntry, SchemeError> {
    find_named("scheme", "scheme", SCHEMES, |entry| entry.name, scheme_of(name))
}

/// Builds a scheme for a drive. Its additions are checked with it; what they are, [`limits`] and [`code_over`] say.
///
/// # Errors
/// Names the setting at fault and what would be valid.
pub fn build(choice: &SchemeChoice, shape: Shape) -> Result<Protection, SchemeError> {
    let entry = find(&choice.name)?;
    check_additions(choice)?;
    limits(choice)?;
    let given = own_options(choice);
    let protection = (entry.build)(&Options::new("scheme", entry.name, &given, entry.options)?, shape)?;
    if let (Some(_), Some(reason)) = (code_over(choice, shape)?, no_code_over(&protection)) {
        return Err(refusal(choice, format!("found code-zones, {reason}")));
    }
    Ok(protection)
}

/// The code zones over a scheme, where it has them as an addition.
///
/// # Errors
/// Names the setting at fault and what would be valid.
pub fn code_over(choice: &SchemeChoice, shape: Shape) -> Result<Option<CodeZones>, SchemeError> {
    if !additions(&choice.name).any(|name| name == "code-zones") {
        return Ok(None);
    }
    let given = options_of(choice, "code-zones");
    code_zones::build_over(&Options::new("scheme", "code-zones", &given, code_zones::OPTIONS)?, shape).map(Some)
}

/// Why a way of writing has no code zones over it (decision 12).
fn no_code_over(protection: &Protection) -> Option<&'static str> {
    match protection {
        Protection::None => Some("the scheme `code-zones` alone is that: no redundancy, and code on other dies than its data"),
        Protection::Zones(_) => Some("the scheme is that itself"),
        Protection::Stripes(_) => Some(
            "a static stripe keeps every page in its parity until the whole stripe is discarded: code, which each write \
             makes stale, could not be dropped, and cost a parity update each time; valid are schemes of rows and of \
             block groups, ds-raid and mds-groups",
        ),
        Protection::Rows(_) | Protection::Groups(_) if protection.read_around().is_some() => Some(
            "a read has one set of alternatives, and read_around of the scheme takes them from the row or codeword: valid \
             is read_around = off, code-zones.read_around says when reads go to code",
        ),
        Protection::Rows(_) | Protection::Groups(_) => None,
    }
}

/// The limits on reads and age that a scheme has beside it; `None` where it has none, or none but its own.
///
/// # Errors
/// Names the setting at fault and what would be valid.
pub fn limits(choice: &SchemeChoice) -> Result<Option<DisturbLimits>, SchemeError> {
    if !additions(&choice.name).any(|name| name == "limits") {
        return Ok(None);
    }
    let scheme = find(&choice.name)?;
    if scheme.options.contains(&limits::T_READ) {
        let reason = "found limits, the scheme has these limits itself, while it is in a stage that needs them: its options \
                      t_read, t_retention, yield and margin";
        return Err(refusal(choice, reason.into()));
    }
    let given = options_of(choice, "limits");
    DisturbLimits::new(&Options::new("scheme", "limits", &given, limits::OPTIONS)?).map(Some)
}

/// Additions that are not known, twice there, or have options without being there.
fn check_additions(choice: &SchemeChoice) -> Result<(), SchemeError> {
    let names: Vec<&str> = additions(&choice.name).collect();
    for (index, name) in names.iter().enumerate() {
        find_named("scheme", "addition to a scheme", ADDITIONS, |entry| entry.name, name)?;
        if names[..index].contains(name) {
            return Err(refusal(choice, format!("`{name}` is named twice")));
        }
    }
    let is_there = |key: &String| key.split_once('.').is_none_or(|(name, _)| names.contains(&name));
    match choice.options.keys().find(|key| !is_there(key)) {
        Some(key) => Err(refusal(choice, format!("option {key} is of an addition that `{}` does not have", choice.name))),
        None => Ok(()),
    }
}

fn refusal(choice: &SchemeChoice, reason: String) -> SchemeError {
    SchemeError { kind: "scheme", scheme: choice.name.clone(), setting: "additions".into(), reason }
}

/// The options of the scheme itself.
fn own_options(choice: &SchemeChoice) -> BTreeMap<String, String> {
    choice.options.iter().filter(|(key, _)| !key.contains('.')).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The options of an addition, without its name.
fn options_of(choice: &SchemeChoice, addition: &str) -> BTreeMap<String, String> {
    let of = |(key, value): (&String, &String)| Some((key.strip_prefix(addition)?.strip_prefix('.')?.to_owned(), value.clone()));
    choice.options.iter().filter_map(of).collect()
}
