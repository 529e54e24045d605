//! The command that repeats the life of a design.

use super::search::life_settings;
use super::{Advice, Key, Stage};
use crate::life::{Class, LifeSettings};
use common::{Problem, quoted};
use experiment::{EccSpec, Experiment, Overrides};
use serde_json::{Value, json};

/// Settings that advice decides itself.
const OWN: [&str; 3] = ["capacity.size", "trace.arrival", "capacity.over_provisioning"];

impl Advice {
    /// The experiment of a design, as its life in full ran it.
    ///
    /// # Errors
    /// None of a design that was looked at.
    pub fn experiment(&self, index: usize) -> Result<Experiment, Problem> {
        let mut experiment = self.space.experiment(&self.designs[index].at)?;
        experiment.trace.arrival = self.arrival;
        Ok(experiment)
    }

    /// The overrides that make the experiment of a design of the default one, where `asked` made the one that was asked about.
    ///
    /// # Errors
    /// As [`Self::experiment`].
    pub fn overrides(&self, index: usize, asked: &Overrides) -> Result<Overrides, Problem> {
        let (experiment, base) = (self.experiment(index)?, &self.space.base);
        let at = &self.designs[index].at;
        let mut options: Vec<_> = asked.options.iter().filter(|(_, path, _)| !OWN.contains(&path.as_str())).cloned().collect();
        options.push(("--capacity".into(), "capacity.size".into(), experiment.capacity.size.to_string()));
        options.push(("--arrival".into(), "trace.arrival".into(), self.arrival.to_string()));
        let path = |set: &String| set.split('=').next().unwrap_or_default().trim().to_owned();
        let mut set: Vec<String> = asked.set.iter().filter(|one| !OWN.contains(&path(one).as_str())).cloned().collect();
        if experiment.trace.addresses == experiment::Addresses::Compact {
            set.push("trace.addresses=compact".into());
        }
        set.push(format!("capacity.over_provisioning={}", experiment.capacity.over_provisioning));
        if experiment.ecc != base.ecc || asked.options.iter().any(|(_, path, _)| path == "ecc.policy") {
            options.retain(|(_, path, _)| path != "ecc.policy");
            set.extend(ecc_settings(&experiment.ecc));
        }
        set.extend(self.space.settings(at));
        let schemes = Some(self.space.value(at, &Key::Scheme).to_owned());
        Ok(Overrides { trace: asked.trace.clone(), options, schemes, set })
    }

    /// The command that repeats the life in full of a design.
    ///
    /// # Errors
    /// As [`Self::experiment`].
    pub fn command(&self, index: usize, asked: &Overrides) -> Result<String, Problem> {
        let overrides = self.overrides(index, asked)?;
        let mut words = vec!["flashkeep life".to_owned()];
        words.extend(overrides.trace.as_deref().map(quoted));
        for (option, path, value) in &overrides.options {
            // A switch stands for its setting.
            words.push(if value == "true" && path.starts_with("trace.") {
                option.clone()
            } else {
                format!("{option} {}", quoted(value))
            });
        }
        words.push(format!("--schemes {}", quoted(overrides.schemes.as_deref().unwrap_or_default())));
        words.extend(overrides.set.iter().map(|set| format!("--set {}", quoted(set))));
        let at = &self.designs[index].at;
        let settings = life_settings(&self.space, &self.needs, &self.budget, at, Stage::Full, self.settings.clone());
        words.push(format!(
            "--class {} --dwpd {} --years {} --epochs {} --timed {}",
            self.needs.class.name, settings.dwpd, self.needs.years, settings.epochs, settings.timed
        ));
        if Class::named("--class", self.needs.class.name)?.uber != settings.class.uber {
            words.push(format!("--uber {:e}", settings.class.uber));
        }
        words.push(format!("--refresh {}", self.space.value(at, &Key::Refresh)));
        if self.space.scrub_days(at).is_some() {
            words.push(format!("--scrub {}", self.space.scrub(at)));
        }
        words.extend(model_options(&settings));
        Ok(words.join(" "))
    }
}

/// Settings of a page code that differ from the default, as `--set` takes them.
fn ecc_settings(ecc: &EccSpec) -> Vec<String> {
    fn below(path: &str, value: &Value, usual: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(table) => {
                for (key, value) in table {
                    below(&format!("{path}.{key}"), value, usual.get(key).unwrap_or(&Value::Null), found);
                }
            }
            value if path == "ecc.policy" || value != usual => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                found.push(format!("{path}={text}"));
            }
            _ => {}
        }
    }
    // Options of policies that are not used are left out.
    let mut own = ecc.clone();
    own.options.retain(|policy, _| *policy == ecc.policy);
    let mut found = Vec::new();
    below("ecc", &json!(own), &json!(EccSpec::default()), &mut found);
    found
}

/// Options of the model that differ from their defaults.
fn model_options(settings: &LifeSettings) -> Vec<String> {
    let usual = LifeSettings::default();
    let figures = [
        ("--worn-at-rated", settings.worn.0, usual.worn.0),
        ("--wear-exponent", settings.worn.1, usual.worn.1),
        ("--die-rate", settings.rates.dies, usual.rates.dies),
        ("--block-rate", settings.rates.blocks, usual.rates.blocks),
        ("--rebuild-hours", settings.rates.rebuild_hours, usual.rates.rebuild_hours),
        ("--page-sigma", settings.sigma.0, usual.sigma.0),
        ("--block-sigma", settings.sigma.1, usual.sigma.1),
        ("--celsius", settings.celsius.0, usual.celsius.0),
        ("--reference-celsius", settings.celsius.1, usual.celsius.1),
    ];
    let numbers = figures.into_iter().filter(|(_, own, usual)| own != usual).map(|(option, own, _)| format!("{option} {own}"));
    numbers.chain(settings.redrawn_errors.then(|| "--redrawn-errors".to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_model_are_repeated_where_they_are_not_the_default() {
        let settings = LifeSettings { redrawn_errors: true, sigma: (0.3, 0.15), ..LifeSettings::default() };
        assert_eq!(model_options(&settings), ["--page-sigma 0.3", "--redrawn-errors"]);
        assert!(model_options(&LifeSettings::default()).is_empty());
    }
}
