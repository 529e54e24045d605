//! Settings under their former names: files of experiments and drives that an earlier version wrote are read, with a hint.

use crate::document::Document;
use crate::over_provisioning::OverProvisioning;
use common::Problem;

/// Former paths of settings, and the present ones.
pub(crate) const PATHS: [(&str, &str); 6] = [
    ("capacity.spare", "capacity.over_provisioning"),
    ("usual.capacity.spare", "usual.capacity.over_provisioning"),
    ("gc.separate_frontier", "gc.separate_write_pointer"),
    ("usual.gc.separate_frontier", "usual.gc.separate_write_pointer"),
    ("ecc.ladder", "ecc.read_retry"),
    ("scheme.ds-raid.patrol_rows_per_s", "scheme.ds-raid.scrub_rows_per_s"),
];

/// Former values of settings, and the present ones.
const VALUES: [(&str, &str, &str); 3] = [
    ("buffer.kind", "power-safe", "plp"),
    ("usual.buffer.kind", "power-safe", "plp"),
    ("capacity.fairness", "equal-spare", "equal-op"),
];

/// A setting under its former name, and the text that says so.
pub struct Hint {
    /// Path of the setting as it was.
    pub former: &'static str,
    /// The sentence.
    pub text: String,
}

/// Gives settings of a document their present names; returns a hint for each.
///
/// # Errors
/// A setting under both names.
pub fn bring_up(document: &mut Document) -> Result<Vec<String>, Problem> {
    Ok(renamed(document, false)?.into_iter().map(|hint| hint.text).collect())
}

/// The same after command line options were laid over a document of present names: a former name there counts.
///
/// # Errors
/// None that a document could cause.
pub fn bring_over(document: &mut Document) -> Result<Vec<Hint>, Problem> {
    renamed(document, true)
}

fn renamed(document: &mut Document, is_over: bool) -> Result<Vec<Hint>, Problem> {
    let mut hints = Vec::new();
    for (old, new) in PATHS {
        if !document.has(old) {
            continue;
        }
        let place = document.place_of(old);
        if document.has(new) && !is_over {
            let message = format!("was renamed to {new}, which is set as well; leave it out");
            return Err(document.locate(Problem::new(old, message)));
        }
        let former = document.clone();
        document.graft(new, &former, old)?;
        document.remove(old);
        if new.ends_with("over_provisioning") {
            document.map_number(new, |share| OverProvisioning::OfRaw(share).to_string());
        }
        let value = document.text(new).ok().flatten().map_or(String::new(), |text| format!(" = \"{text}\""));
        hints.push(Hint { former: old, text: format!("{place}: `{old}` is now `{new}{value}`") });
    }
    for (path, old, new) in VALUES {
        if !matches!(document.text(path), Ok(Some(text)) if text == old) {
            continue;
        }
        let place = document.place_of(path);
        document.map_text(path, |_| Some(new.to_owned()));
        let text = format!("{place}: `{path} = \"{old}\"` is now `{path} = \"{new}\"`");
        hints.push(Hint { former: path, text });
    }
    Ok(hints)
}

#[cfg(test)]
mod tests {
    use crate::{Experiment, OverProvisioning};

    #[test]
    fn an_experiment_under_former_names_is_the_one_under_present_names() {
        let former = "[capacity]\nspare = 0.4\nfairness = \"equal-spare\"\n[gc]\nseparate_frontier = true\n[buffer]\nkind = \"power-safe\"\n\
                      [ecc]\nladder = \"table\"\n[scheme.ds-raid]\npatrol_rows_per_s = 7\n";
        let present = "[capacity]\nover_provisioning = \"40% of raw\"\nfairness = \"equal-op\"\n[gc]\nseparate_write_pointer = true\n[buffer]\n\
                       kind = \"plp\"\n[ecc]\nread_retry = \"table\"\n[scheme.ds-raid]\nscrub_rows_per_s = 7\n";
        let [one, other] = [former, present].map(|text| Experiment::parse("old.toml", text).unwrap_or_else(|e| panic!("{e}")));
        assert_eq!(one.to_toml(), other.to_toml());
        assert_eq!(one.capacity.over_provisioning, OverProvisioning::OfRaw(0.4));
        assert!(other.hints.is_empty());
        let hints = one.hints.join("\n");
        assert_eq!(one.hints.len(), 6, "{hints}");
        assert!(hints.contains("old.toml:2:9: `capacity.spare` is now `capacity.over_provisioning = \"40% of raw\"`"), "{hints}");
        assert!(hints.contains("`buffer.kind = \"power-safe\"` is now `buffer.kind = \"plp\"`"), "{hints}");
    }

    #[test]
    fn a_setting_under_both_names_is_refused_with_its_place() {
        let text = "[capacity]\nover_provisioning = 0.07\nspare = 0.28\n";
        let problem = Experiment::parse("both.toml", text).expect_err("twice").to_string();
        assert!(problem.contains("both.toml:3:") && problem.contains("capacity.over_provisioning"), "{problem}");
    }
}
