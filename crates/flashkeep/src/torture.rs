//! Random drives under random faults.

use ::torture::{Runner, Scope, Summary, campaign};
use common::Problem;
use std::fmt::Display;

/// A campaign of torture that is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Torture {
    seed: u64,
    schemes: Vec<String>,
    faults: Vec<String>,
    scenarios: u64,
    threads: usize,
    keep_going: bool,
}

/// Scenarios where nothing is said: some seconds.
const SCENARIOS: u64 = 1_000;

/// Scenarios drawn from a seed, of all schemes that keep data safe and all kinds of faults.
pub fn torture(seed: u64) -> Torture {
    Torture { seed, schemes: Vec::new(), faults: Vec::new(), scenarios: SCENARIOS, threads: 1, keep_going: true }
}

fn texts(names: impl IntoIterator<Item = impl Display>) -> Vec<String> {
    names.into_iter().map(|name| name.to_string()).collect()
}

impl Torture {
    /// Only these schemes.
    pub fn schemes(mut self, schemes: impl IntoIterator<Item = impl Display>) -> Self {
        self.schemes = texts(schemes);
        self
    }

    /// Only these kinds of faults, as `flashkeep torture --faults` names them.
    pub fn faults(mut self, faults: impl IntoIterator<Item = impl Display>) -> Self {
        self.faults = texts(faults);
        self
    }

    /// This many scenarios; 1000 where it is not set.
    pub fn scenarios(mut self, scenarios: u64) -> Self {
        self.scenarios = scenarios;
        self
    }

    /// Threads that work at a time; 1 where it is not set. They change no result.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Ends with the first scenario that breaks a rule, instead of counting all.
    pub fn until_one_fails(mut self) -> Self {
        self.keep_going = false;
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// Unknown schemes or faults.
    pub fn run(&self) -> Result<Summary, Problem> {
        let scope = Scope::named(self.seed, &self.schemes, &self.faults, false)?;
        let with = Runner {
            threads: self.threads,
            first: 0,
            scenarios: Some(self.scenarios),
            keep_going: self.keep_going,
            go_on: &|| true,
            progress: &|| {},
        };
        Ok(campaign(&scope, &with))
    }
}
