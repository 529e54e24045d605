//! Lists of known names: every list comes from the registry that also decides.

use common::Problem;
use experiment::{DRIVES, Experiment, Overrides};

/// One entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name to type.
    pub name: String,
    /// Description of the entry.
    pub summary: String,
    /// Where it comes from, or a unit; may be empty.
    pub source: String,
    /// Further lines, such as options.
    pub details: Vec<String>,
}

/// A list by its name on the command line.
pub struct List {
    /// Name of the list.
    pub name: &'static str,
    /// Contents of the list, and the place in an experiment that uses it.
    pub about: &'static str,
    /// Its entries.
    pub entries: fn() -> Vec<Listed>,
}

/// All lists.
pub const LISTS: &[List] = &[
    List { name: "schemes", about: "protection schemes: schemes, --schemes", entries: schemes },
    List {
        name: "canaries",
        about: "schemes that lose data on purpose, to see that it is noticed: schemes, --schemes",
        entries: canaries,
    },
    List { name: "additions", about: "what goes beside a scheme, as `ds-raid+limits`: schemes, --schemes", entries: additions },
    List { name: "drives", about: "drive presets: drive.preset, --drive", entries: drives },
    List { name: "traces", about: "bundled traces: trace.source, TRACE", entries: traces },
    List { name: "generators", about: "generated workloads: trace.source, TRACE", entries: generators },
    List { name: "formats", about: "trace formats: trace.format, --format", entries: formats },
    List { name: "gc", about: "garbage collection policies: gc.policy", entries: policies },
    List { name: "schedulers", about: "die schedulers: scheduler", entries: schedulers },
    List { name: "buffers", about: "write buffers: buffer.kind", entries: buffers },
    List { name: "ecc", about: "policies of page ECC: ecc.policy, --ecc", entries: ecc },
    List { name: "errors", about: "models of bit errors: errors.model, --error-model, reliability --model", entries: errors },
    List { name: "studies", about: "studies of reliability: reliability STUDY", entries: studies },
    List { name: "payloads", about: "what pages carry: payload, --payload", entries: payloads },
];

/// The list called `name`.
///
/// # Errors
/// An unknown name; lists the known ones.
pub fn list(name: &str) -> Result<&'static List, Problem> {
    let known: Vec<&str> = LISTS.iter().map(|l| l.name).collect();
    LISTS.iter().find(|l| l.name == name).ok_or_else(|| Problem::unknown("", "list", name, &known))
}

fn entry(name: &str, summary: &str, source: &str) -> Listed {
    Listed { name: name.into(), summary: summary.into(), source: source.into(), details: Vec::new() }
}

fn with_options(listed: Listed, options: &[(&str, &str, &str)]) -> Listed {
    let details = options.iter().map(|(name, default, help)| format!("{name} = {default}: {help}")).collect();
    Listed { details, ..listed }
}

fn schemes() -> Vec<Listed> {
    let known = ssd::protect::registry::SCHEMES.iter();
    known.filter(|s| !s.canary).map(|s| with_options(entry(s.name, s.summary, s.paper), s.options)).collect()
}

/// Schemes that lose data on purpose.
fn canaries() -> Vec<Listed> {
    let known = ssd::protect::registry::SCHEMES.iter();
    known.filter(|s| s.canary).map(|s| with_options(entry(s.name, s.summary, s.paper), s.options)).collect()
}

/// Those of some compared schemes, or of some of their ECC policies, that lose data on purpose.
#[must_use]
pub fn canaries_among<'a>(schemes: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let is_canary = |label: &&str| {
        let (scheme, policy) = experiment::label::scheme_and_policy(label);
        let scheme = ssd::protect::registry::scheme_of(scheme);
        ssd::protect::registry::SCHEMES.iter().any(|entry| entry.canary && entry.name == scheme)
            || ssd::ecc::ECC_POLICIES.iter().any(|entry| entry.canary && Some(entry.name) == policy)
    };
    schemes.into_iter().filter(is_canary).collect()
}

fn additions() -> Vec<Listed> {
    ssd::protect::registry::ADDITIONS.iter().map(|a| with_options(entry(a.name, a.summary, a.paper), a.options)).collect()
}

/// The schemes, each with whether it runs on a drive: a preset, or a drive file ending in `.toml`. The reason why it does not is
/// that of the run.
///
/// # Errors
/// A drive that is not known, or is none.
pub fn schemes_on(drive: &str) -> Result<Vec<Listed>, Problem> {
    let option = ("--drive".to_owned() + " " + drive, "drive.preset".to_owned(), drive.to_owned());
    let experiment = Experiment::with(&Overrides { options: vec![option], ..Overrides::default() })?;
    let (name, drive) = (&experiment.drive.name, experiment.drive.drive());
    let on = |entry: Listed| {
        let choice = ssd::protect::SchemeChoice::named(&entry.name);
        let share = ssd::user_slots_max(&drive, &choice, &experiment.gc).and_then(|_| ssd::capacity_overhead(&drive, &choice));
        let runs = match share {
            Ok(share) => format!("runs on {name}: redundancy takes {} of its flash", common::quantity::percent(share)),
            Err(reason) => format!("does not run on {name}: {reason}"),
        };
        Listed { details: vec![runs], ..entry }
    };
    Ok(schemes().into_iter().map(on).collect())
}

fn drives() -> Vec<Listed> {
    DRIVES.iter().map(|d| entry(d.name, &d.summary(), &d.source())).collect()
}

fn traces() -> Vec<Listed> {
    let source = |b: &trace::Bundled| format!("{} requests, format {}, {}", b.requests, b.format, b.licence);
    trace::BUNDLED.iter().map(|b| entry(b.name, b.about, &source(b))).collect()
}

fn generators() -> Vec<Listed> {
    trace::generate::GENERATORS.iter().map(|g| entry(g.name, g.about, "")).collect()
}

fn formats() -> Vec<Listed> {
    let source = |f: &trace::Format| format!("{}, {}", f.time, f.ranges);
    let described = experiment::described::DESCRIPTIONS.iter().map(|known| entry(known.name, known.about, ""));
    trace::FORMATS.iter().map(|f| entry(f.name, f.about, &source(f))).chain(described).collect()
}

fn policies() -> Vec<Listed> {
    ssd::ftl::victim::POLICIES.iter().map(|p| entry(p.name, p.summary, p.source)).collect()
}

fn studies() -> Vec<Listed> {
    let listed = |s: &crate::reliability::StudyEntry| Listed {
        details: s.options.iter().map(|(name, default)| format!("--{name} {default}")).collect(),
        ..entry(s.name, s.summary, s.source)
    };
    crate::reliability::STUDIES.iter().map(listed).collect()
}

/// The name serde gives a variant: the one that experiments use.
fn named<T: serde::Serialize>(value: T, summary: &str) -> Listed {
    let name = serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned));
    entry(&name.unwrap_or_default(), summary, "")
}

fn schedulers() -> Vec<Listed> {
    use ssd::Scheduler::{Fifo, ReadFirst};
    vec![named(Fifo, "in order of arrival"), named(ReadFirst, "reads before programs and erases, as far as hazards allow")]
}

fn buffers() -> Vec<Listed> {
    use ssd::BufferKind::{Off, Plp, Volatile};
    vec![
        named(Off, "a write is answered when it is durable in flash, parity included"),
        named(Volatile, "DRAM: answered at once, lost with power until flushed"),
        named(Plp, "DRAM with hold-up energy, or NVRAM: answered at once and durable"),
    ]
}

fn ecc() -> Vec<Listed> {
    ssd::ecc::ECC_POLICIES.iter().map(|p| with_options(entry(p.name, p.summary, p.paper), p.options)).collect()
}

fn errors() -> Vec<Listed> {
    ssd::nand::rber::RBER_MODELS.iter().map(|m| entry(m.name, m.summary, m.paper)).collect()
}

fn payloads() -> Vec<Listed> {
    use ssd::PayloadKind::{None, Page, Tag};
    vec![
        named(None, "nothing: timing and endurance only, reads are not checked"),
        named(Tag, "eight bytes, logical page and version: every read is checked"),
        named(Page, "all bytes: every read is checked"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_entries_with_names_and_summaries() {
        for list in LISTS {
            let entries = (list.entries)();
            assert!(!entries.is_empty(), "{}", list.name);
            for listed in entries {
                assert!(!listed.name.is_empty() && !listed.summary.is_empty(), "{}: {listed:?}", list.name);
            }
        }
    }

    #[test]
    fn an_unknown_list_is_guessed() {
        assert_eq!(list("scheme").err().unwrap().meant.as_deref(), Some("schemes"));
    }
}
