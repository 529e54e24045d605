//! Serving a drive.

use crate::options::{NewDrive, ServeOptions};
use crate::say;
use common::Problem;
use experiment::{Experiment, Overrides};
use serve::{DASHBOARD_PORT, DriveDirectory, Kept, Launch, ServeError};
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

pub fn problem(error: ServeError) -> Problem {
    match error {
        ServeError::Settings(problem) => problem,
        other => Problem::new("", other.to_string()),
    }
}

pub fn run(options: &ServeOptions) -> Result<ExitCode, Problem> {
    make_and_serve(options).map_err(as_typed)
}

/// Here the option has one scheme and its name; other commands take several.
fn as_typed(mut problem: Problem) -> Problem {
    if let Some(place) = &mut problem.place
        && let Some(names) = place.source.strip_prefix("--schemes ")
    {
        place.source = format!("--scheme {names}");
    }
    problem
}

fn make_and_serve(options: &ServeOptions) -> Result<ExitCode, Problem> {
    let drive = DriveDirectory::at(&options.drive);
    let path = options.drive.display();
    let kept = if options.memory { Kept::Memory } else { Kept::Files };
    let is_new =
        options.create.is_some() || options.only_create || options.filled || options.new.overrides() != Overrides::default();
    if is_new && drive.is_there() {
        return Err(Problem::new(
            "",
            format!(
                "{path}: there is a drive already; its settings are in {path}/drive.toml. It is served without options that say what a new \
                 drive is; a new one needs another directory"
            ),
        ));
    }
    if !is_new && kept == Kept::Memory && drive.image().exists() {
        return Err(Problem::new("--memory", format!("{path} is kept in files ({}): serve it without", drive.image().display())));
    }
    // All options are judged before anything is made, and what is wrong is said before nbdkit starts.
    let experiment = if is_new { Some(new_drive(options)?) } else { None };
    let setup = match &experiment {
        Some(experiment) => DriveDirectory::setup_of(experiment, options.filled),
        None => drive.setup(),
    };
    let setup = setup.map_err(problem)?;
    let launch = launch(options, drive.clone(), kept)?;
    match &launch.schedule {
        _ if !options.only_create => launch.check(&setup).map_err(problem)?,
        Some(file) => drop(DriveDirectory::planned(&setup, file).map_err(problem)?),
        None => {}
    }
    if let Some(experiment) = &experiment {
        drive.create(experiment, options.filled, kept).map_err(problem)?;
        say(&format!("made a drive: {}", drive.settings_file().display()));
    }
    if options.only_create {
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(warning) = launch.warning() {
        say(&warning);
    }
    let mut command = launch.command().map_err(problem)?;
    // From here on this process is nbdkit: what ends it is a power cut. It says where it serves when clients can connect.
    Err(Problem::new("", format!("nbdkit cannot be started: {}", command.exec())))
}

fn launch(options: &ServeOptions, drive: DriveDirectory, kept: Kept) -> Result<Launch, Problem> {
    Ok(Launch {
        kept,
        pace: options.time.parse().map_err(|error| Problem::new("--time", error))?,
        socket: options.socket.clone(),
        port: options.port,
        control: options.control.clone(),
        schedule: options.schedule.clone(),
        dashboard: options.dashboard.map(|port| port.unwrap_or(DASHBOARD_PORT)),
        plugin: options.plugin.clone(),
        syncs: !options.no_sync,
        ages_while_closed: options.age_while_closed,
        ready: options.ready_fd,
        more: options.nbdkit.clone(),
        ..Launch::of(drive)
    })
}

fn new_drive(options: &ServeOptions) -> Result<Experiment, Problem> {
    let overrides = options.new.overrides();
    match options.create.iter().flatten().next() {
        Some(file) => Experiment::load(file, &overrides),
        None => Experiment::with(&overrides),
    }
}

impl NewDrive {
    /// Settings of a new drive.
    pub fn overrides(&self) -> Overrides {
        let model = self.model.as_ref().map(common::path_text);
        let named = [
            ("--drive", "drive.preset", &model),
            ("--size", "capacity.size", &self.size),
            ("--ecc", "ecc.policy", &self.ecc),
            ("--error-model", "errors.model", &self.errors),
        ];
        let given = |(option, path, value): (&str, &str, &Option<String>)| {
            value.as_ref().map(|value| (option.to_owned(), path.to_owned(), value.clone()))
        };
        Overrides {
            trace: None,
            options: named.into_iter().filter_map(given).collect(),
            schemes: self.scheme.clone(),
            set: self.set.clone(),
        }
    }
}
