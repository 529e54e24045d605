//! Names of compared schemes.
//!
//! `ds-raid+limits` is a scheme with an addition, `ds-raid+limits+flares` one under an ECC policy of its own. Behind a colon each may
//! have options of its own, so that one scheme is compared with itself: `raid5:data_strips=7`, `mds-groups:k=6:m=2`. Options of an
//! addition or of the policy have its name in front: `ds-raid+limits:limits.yield=0.99`.
//!
//! Any of them may have a name of the user's own in front, by which results call it: `wide=raid5:data_strips=15`.

use crate::experiment::{Experiment, Options};
use crate::textual::OptionText;
use common::{Problem, printable};
use ssd::Ecc;
use ssd::ecc::ECC_POLICIES;
use ssd::protect::SchemeChoice;
use ssd::protect::registry::{ADDITIONS, SCHEMES, additions, scheme_of};
use std::collections::BTreeMap;

/// A name of the user's own, if there is one, and the compared scheme behind it.
fn named(label: &str) -> (Option<&str>, &str) {
    match label.split_once('=') {
        Some((name, scheme)) if !name.contains(':') => (Some(name), scheme),
        _ => (None, label),
    }
}

/// Name of a compared scheme in results: the user's own name, or the scheme with its options.
#[must_use]
pub fn shown(label: &str) -> &str {
    named(label).0.unwrap_or(label)
}

/// The name of a scheme, and what is behind its colon.
fn parted(label: &str) -> (&str, &str) {
    let scheme = named(label).1;
    scheme.split_once(':').unwrap_or((scheme, ""))
}

/// Checks the user's own name of a compared scheme.
///
/// # Errors
/// Characters that tables, files or queries would trip over, or the name of a scheme.
pub(crate) fn check_name(field: &str, label: &str) -> Result<(), Problem> {
    let Some(name) = named(label).0 else { return Ok(()) };
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_allowed) {
        let message = format!(
            "found `{}` as the name of a compared scheme, valid are 1 to {LONGEST_NAME} letters, digits, `-`, `_` and `.`",
            printable(name)
        );
        return Err(Problem::new(field, message));
    }
    if SCHEMES.iter().any(|entry| entry.name == name) {
        return Err(Problem::new(field, format!("found `{name}` as a name, which is that of a scheme")));
    }
    Ok(())
}

/// Characters of a name of the user's own, at most: a column of a table.
const LONGEST_NAME: usize = 24;

/// The scheme with its additions and, where it has one of its own, the ECC policy of a compared scheme: the last of
/// its names, where that is none of an addition.
#[must_use]
pub fn scheme_and_policy(label: &str) -> (&str, Option<&str>) {
    let name = parted(label).0;
    match name.rsplit_once('+') {
        Some((scheme, policy)) if ADDITIONS.iter().all(|entry| entry.name != policy) => (scheme, Some(policy)),
        _ => (name, None),
    }
}

/// The options of a scheme or of an addition.
pub(crate) fn options_of(name: &str) -> Option<&'static [(&'static str, &'static str, &'static str)]> {
    let scheme = SCHEMES.iter().find(|entry| entry.name == name).map(|entry| entry.options);
    scheme.or_else(|| ADDITIONS.iter().find(|entry| entry.name == name).map(|entry| entry.options))
}

/// The options that a compared scheme has of its own.
fn own(label: &str) -> impl Iterator<Item = (&str, &str)> {
    parted(label).1.split(':').filter_map(|option| option.split_once('=')).map(|(name, value)| (name.trim(), value.trim()))
}

/// Lays the options that a compared scheme has of its own upon those of all of its name.
pub(crate) fn choose(label: &str, choice: &mut SchemeChoice) {
    let policy = scheme_and_policy(label).1;
    let of_scheme = own(label).filter(|(name, _)| owner(name).is_none_or(|owner| Some(owner) != policy));
    choice.options.extend(of_scheme.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

/// The same of its ECC policy.
pub(crate) fn policy_options<'a>(label: &'a str, policy: &'a str) -> impl Iterator<Item = (String, String)> + 'a {
    let of_policy = move |(name, value): (&str, &str)| {
        (owner(name) == Some(policy)).then(|| (name[policy.len() + 1..].to_owned(), value.to_owned()))
    };
    own(label).filter_map(of_policy)
}

/// The addition or policy whose option it is; `None`: the scheme's own.
fn owner(option: &str) -> Option<&str> {
    option.split_once('.').map(|(owner, _)| owner)
}

/// Checks the options that a compared scheme has of its own.
///
/// # Errors
/// An unknown option, an option given twice, or one without a value.
pub(crate) fn check(field: &str, label: &str) -> Result<(), Problem> {
    if !named(label).1.contains(':') {
        return Ok(());
    }
    let mut found = Options::new();
    for option in parted(label).1.split(':') {
        let parts = option.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        let Some((name, value)) = parts.filter(|(name, value)| !name.is_empty() && !value.is_empty()) else {
            let message = format!(
                "found `{}` behind a colon, wanted an option with its value, such as `raid5:data_strips=7`",
                printable(option)
            );
            return Err(Problem::new(field, message));
        };
        if found.insert(name.to_owned(), OptionText(value.to_owned())).is_some() {
            return Err(Problem::new(field, format!("option `{}` is there twice", printable(name))));
        }
    }
    let (scheme, policy) = scheme_and_policy(label);
    let of = |options: &[(&'static str, &str, &str)], prefix: &str| -> Vec<String> {
        options.iter().map(|(option, ..)| format!("{prefix}{option}")).collect()
    };
    let mut known = of(options_of(scheme_of(scheme)).unwrap_or_default(), "");
    for addition in additions(scheme) {
        known.extend(of(options_of(addition).unwrap_or_default(), &format!("{addition}.")));
    }
    if let Some(entry) = ECC_POLICIES.iter().find(|entry| Some(entry.name) == policy) {
        known.extend(of(entry.options, &format!("{}.", entry.name)));
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let noun = format!("option of `{}`", parted(label).0);
    known_options(field, &noun, &found, &known).map_err(|problem| Problem { field: field.to_owned(), ..problem })
}

/// Refuses two names of one and the same scheme.
///
/// # Errors
/// Options that make no difference.
pub(crate) fn check_differ(experiment: &Experiment) -> Result<(), Problem> {
    let settled = |label: &str| {
        let mut choice = experiment.choice(label);
        let own = std::iter::once((String::new(), scheme_of(&choice.name)));
        let of_additions = additions(&choice.name).map(|addition| (format!("{addition}."), addition));
        let defaults: Vec<(String, String)> = own
            .chain(of_additions)
            .flat_map(|(prefix, name)| {
                let options = options_of(name).unwrap_or_default().iter();
                options.map(move |(option, default, _)| (format!("{prefix}{option}"), (*default).to_owned()))
            })
            .collect();
        for (option, default) in defaults {
            choice.options.entry(option).or_insert(default);
        }
        (choice, experiment.ecc_setup(label))
    };
    for (index, label) in experiment.schemes.iter().enumerate().filter(|(_, label)| label.contains([':', '='])) {
        let same = |other: &&String| *other != label && parted(other).0 == parted(label).0 && settled(other) == settled(label);
        if let Some(other) = experiment.schemes.iter().find(same) {
            let message = format!("`{label}` and `{other}` are the same scheme with the same options");
            return Err(Problem::new(format!("schemes.{index}"), message));
        }
    }
    Ok(())
}

impl Experiment {
    /// Page ECC of a compared scheme, with the options of its policy.
    #[must_use]
    pub fn ecc_setup(&self, label: &str) -> Ecc {
        let mut ecc = self.ecc.clone();
        let of_label = scheme_and_policy(label).1;
        ecc.own = ecc.own.filter(|_| of_label.is_none());
        let policy = of_label.map_or_else(|| ecc.policy.clone(), str::to_owned);
        let options = ecc.options.get(&policy).into_iter().flatten().map(|(key, value)| (key.clone(), value.0.clone()));
        let options = options.chain(policy_options(label, &policy)).collect();
        ecc.for_policy(policy, options)
    }

    /// A compared scheme with its additions, and the options of all of them.
    #[must_use]
    pub fn choice(&self, label: &str) -> ssd::protect::SchemeChoice {
        let name = scheme_and_policy(label).0;
        let own = self.scheme.get(scheme_of(name)).into_iter().flatten();
        let mut options: BTreeMap<String, String> = own.map(|(key, value)| (key.clone(), value.0.clone())).collect();
        for addition in additions(name) {
            let of = self.scheme.get(addition).into_iter().flatten();
            options.extend(of.map(|(key, value)| (format!("{addition}.{key}"), value.0.clone())));
        }
        let mut choice = ssd::protect::SchemeChoice { name: name.to_owned(), options };
        choose(label, &mut choice);
        choice
    }
}

/// Checks the names of options.
pub(crate) fn known_options(path: &str, noun: &str, options: &Options, known: &[&str]) -> Result<(), Problem> {
    match options.keys().find(|option| !known.contains(&option.as_str())) {
        Some(option) => Err(Problem::unknown(format!("{path}.{option}"), noun, option, known)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(settings: &str) -> Result<Experiment, Problem> {
        Experiment::parse("test.toml", settings)
    }

    #[test]
    fn options_behind_a_colon_are_laid_upon_those_of_all_of_the_name() {
        let experiment = parse(
            "schemes = [\"raid5:data_strips=3\", \"raid5\", \"ds-raid+limits+fixed:limits.yield=0.9:sub_stripe=defer:fixed.t=9\", \
             \"mds-groups:then=2+1+block\"]\n\
             [scheme]\nraid5 = { data_strips = 5, parity_rule = \"page\" }\n[ecc.options.fixed]\nt = 12",
        );
        let experiment = experiment.unwrap_or_else(|e| panic!("{e}"));
        let option = |label: &str, name: &str| experiment.choice(label).options[name].clone();
        let [narrow, usual, both, groups] = [0, 1, 2, 3].map(|at| experiment.schemes[at].as_str());
        assert_eq!((option(narrow, "data_strips"), option(usual, "data_strips")), ("3".into(), "5".into()));
        assert_eq!(option(narrow, "parity_rule"), "page", "what its own options do not say is that of all");
        assert_eq!((option(both, "limits.yield"), option(both, "sub_stripe")), ("0.9".into(), "defer".into()));
        assert!(!experiment.choice(both).options.contains_key("fixed.t"));
        assert_eq!(
            (experiment.ecc_setup(both).policy.as_str(), experiment.ecc_setup(both).options["t"].as_str()),
            ("fixed", "9")
        );
        assert_eq!((scheme_and_policy(groups), option(groups, "then")), (("mds-groups", None), "2+1+block".into()));
        let again = parse(&experiment.to_toml()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again, experiment, "the effective experiment is the same again");
    }

    /// Catches a name that is taken for a part of the scheme, and options of a named scheme that get lost.
    #[test]
    fn a_name_of_the_users_own_is_what_results_call_the_scheme() {
        let experiment = parse("schemes = [\"wide=raid5:data_strips=7\", \"raid5:data_strips=3\", \"coded=ds-raid+flares\"]");
        let experiment = experiment.unwrap_or_else(|e| panic!("{e}"));
        let [wide, narrow, coded] = [0, 1, 2].map(|at| experiment.schemes[at].as_str());
        assert_eq!([wide, narrow, coded].map(shown), ["wide", "raid5:data_strips=3", "coded"]);
        assert_eq!(
            (experiment.choice(wide).name.as_str(), experiment.choice(wide).options["data_strips"].as_str()),
            ("raid5", "7")
        );
        assert_eq!(scheme_and_policy(coded), ("ds-raid", Some("flares")));
        let again = parse(&experiment.to_toml()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again, experiment, "the effective experiment is the same again");
    }

    #[test]
    fn what_is_no_option_is_refused_and_so_is_one_that_makes_no_difference() {
        for (schemes, wanted) in [
            ("\"raid5:\"", "wanted an option with its value"),
            ("\"raid5:data_strips\"", "wanted an option with its value"),
            ("\"raid5:data_strips=\"", "wanted an option with its value"),
            ("\"raid5:data_strip=7\"", "did you mean `data_strips`"),
            ("\"raid5:data_strips=7:data_strips=8\"", "there twice"),
            ("\"raid5:limits.yield=1\"", "option of `raid5`"),
            ("\"raid5:data_strips=7\", \"raid5:data_strips=7\"", "named twice"),
            ("\"raid5\", \"raid5:data_strips=auto\"", "the same scheme"),
            ("\"mds-groups:k=6:m=2\", \"mds-groups:m=2:k=6\"", "the same scheme"),
            ("\"raid5\", \"wide=raid5\"", "the same scheme"),
            ("\"wide=raid5\", \"wide=ds-raid\"", "`wide` is there twice"),
            ("\"wide one=raid5\"", "letters, digits"),
            ("\"=raid5\"", "letters, digits"),
            ("\"none=raid5\"", "that of a scheme"),
            ("\"wide=raid7\"", "did you mean `raid5`"),
            ("\"wide=raid5:data_strip=7\"", "did you mean `data_strips`"),
        ] {
            let refused = parse(&format!("schemes = [{schemes}]")).expect_err(schemes);
            assert!(refused.to_string().contains(wanted) && refused.field.starts_with("schemes."), "{schemes}: {refused}");
        }
    }
}
