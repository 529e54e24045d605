//! Studies of reliability as commands of their own, each with the options that it takes.

use crate::names::names;
use crate::{pretty, print};
use clap::{Arg, ArgMatches, Args, FromArgMatches, Subcommand};
use common::Problem;
use std::path::PathBuf;
use std::process::ExitCode;
use studies::reliability::{OPTIONS, STUDIES, StudyEntry};

/// A study as typed.
#[derive(Debug)]
pub struct StudyCommand {
    name: String,
    /// Options that were given: name and value.
    options: Vec<(String, String)>,
    output: Output,
}

/// Forms of the output of a study.
#[derive(Args, Debug, Default)]
struct Output {
    /// One JSON document on stdout
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// CSV on stdout; further tables follow after an empty line
    #[arg(long)]
    csv: bool,
    /// Write tables and plots to one HTML file
    #[arg(long, value_name = "FILE.html")]
    plot: Option<PathBuf>,
}

impl StudyCommand {
    /// Runs the study and prints it.
    ///
    /// # Errors
    /// An unknown study, an invalid value, or a file that cannot be written.
    pub fn run(&self) -> Result<ExitCode, Problem> {
        if let Some(file) = &self.output.plot {
            report::check_ending("--plot", file, &["html"])?;
        }
        let study = studies::reliability::study(&self.name, &self.options)?;
        if let Some(file) = &self.output.plot {
            report::write_study(&study, file)?;
        }
        print(&match (self.output.json, self.output.csv) {
            (true, _) => pretty(&study.to_json()),
            (_, true) => study.to_csv(),
            _ => study.to_text(),
        });
        Ok(ExitCode::SUCCESS)
    }
}

/// The command of a study.
fn command_of(study: &StudyEntry) -> clap::Command {
    let command = Output::augment_args(clap::Command::new(study.name));
    let command = command.about(study.summary).after_help(format!("Formulas: {}", study.source));
    let taken = |name: &str| study.options.iter().find(|(known, _)| *known == name);
    let options = OPTIONS.iter().filter_map(|option| taken(option.name).map(|(_, default)| (option, default)));
    options.fold(command, |command, (option, default)| {
        let known = if option.name == "model" { format!(": {}", names("errors")) } else { String::new() };
        let text = format!("{}{known} [default: {default}]", option.help);
        command.arg(Arg::new(option.name).long(option.name).value_name(option.value).help(text))
    })
}

// By hand, as studies and their options are those of a registry.
impl Subcommand for StudyCommand {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        // The registry of studies refuses an unknown one, and names those that exist.
        let command = command.allow_external_subcommands(true).subcommand_value_name("STUDY").subcommand_help_heading("Studies");
        STUDIES.iter().fold(command, |command, study| command.subcommand(command_of(study)))
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(_: &str) -> bool {
        true
    }
}

impl FromArgMatches for StudyCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (name, matches) = matches.subcommand().ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingSubcommand))?;
        let name = name.to_owned();
        let Some(study) = STUDIES.iter().find(|study| study.name == name) else {
            return Ok(Self { name, options: Vec::new(), output: Output::default() });
        };
        let given = |(option, _): &(&str, &str)| Some(((*option).to_owned(), matches.get_one::<String>(option)?.clone()));
        let options = study.options.iter().filter_map(given).collect();
        Ok(Self { name, options, output: Output::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
