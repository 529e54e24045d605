//! Help: commands in groups, options under headings.

use crate::args::Cli;
use crate::names::names;
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;

/// The kinds of faults, for help.
fn fault_kinds() -> String {
    torture::FAULT_KINDS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
}

/// Headings of the help of `compare`, with the options below each; the rest is below "Options".
const HEADINGS: [(&str, &[&str]); 4] = [
    (
        "Workload",
        &[
            "trace_option",
            "loops",
            "arrival",
            "iodepth",
            "rate",
            "read_share",
            "format",
            "columns",
            "device",
            "since",
            "until",
            "skip",
            "first",
            "then",
            "beside",
            "alone",
        ],
    ),
    ("Drive and schemes", &["schemes", "drive", "capacity", "ecc", "errors", "payload", "set"]),
    ("Repetition", &["seed", "seeds", "threads", "strict"]),
    ("Output", &["report", "force", "full", "explain", "json", "plot", "log", "series", "dry_run"]),
];

/// Options that the short help of a command leaves out: `--help` has them.
const ONLY_LONG: [&str; 40] = [
    "alone",
    "beside",
    "block_rate",
    "block_sigma",
    "celsius",
    "columns",
    "csv",
    "device",
    "die_rate",
    "energy",
    "epochs",
    "every_program",
    "finalists",
    "first",
    "force",
    "log",
    "page_sigma",
    "payload",
    "plot",
    "read_p999",
    "rebuild_hours",
    "redrawn_errors",
    "reference_celsius",
    "represents",
    "samples",
    "fates",
    "flushes",
    "subsets",
    "series",
    "since",
    "skip",
    "soft",
    "strict",
    "then",
    "timed",
    "until",
    "wear_exponent",
    "worn_at_rated",
    "write_p99",
    "trace_option",
];

/// Defaults of `compare` that settings have: option, setting and default. An experiment file has its own. The texts stand here, because
/// the schema of all settings would else be built at every start.
const DEFAULTS: [(&str, &str, &str); 10] = [
    ("loops", "trace.loops", "1"),
    ("arrival", "trace.arrival", "auto"),
    ("format", "trace.format", "auto"),
    ("schemes", "schemes", "none,raid5,ds-raid,mds-groups"),
    ("drive", "drive", "tlc"),
    ("payload", "payload", "tag"),
    ("ecc", "ecc", "that of the drive"),
    ("errors", "errors", "that of the drive"),
    ("capacity", "capacity.size", "auto"),
    ("seed", "seed", "1"),
];

/// Appends a default to the help of an option, long and short.
fn with_default(command: clap::Command, option: &'static str, default: &'static str) -> clap::Command {
    command.mut_arg(option, |a| {
        let both = [a.get_help(), a.get_long_help()].map(|help| help.map(|help| format!("{help} [default: {default}]")));
        let [short, long] = both;
        let a = a.help(short.unwrap_or_default());
        if let Some(long) = long { a.long_help(long) } else { a }
    })
}

/// Leaves rare options out of the short help of all commands.
fn with_short_help(command: clap::Command) -> clap::Command {
    let commands: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    // `sweep` has so few options that its short help shows all.
    commands.into_iter().filter(|name| name != "sweep").fold(command, |command, name| {
        command.mut_subcommand(name, |command| {
            command.mut_args(|arg| if ONLY_LONG.contains(&arg.get_id().as_str()) { arg.hide_short_help(true) } else { arg })
        })
    })
}

/// Names the entries of a registry in the long help of an option.
fn listing(command: clap::Command, option: &'static str, list: &str) -> clap::Command {
    let known = names(list);
    command.mut_arg(option, |a| {
        let short = a.get_help().map(ToString::to_string).unwrap_or_default();
        let short = short.split(": ").next().unwrap_or_default().to_owned();
        a.long_help(format!("{short}: {known}"))
    })
}

fn with_names(command: clap::Command) -> clap::Command {
    let named = [("schemes", "schemes"), ("drive", "drives"), ("payload", "payloads"), ("ecc", "ecc"), ("errors", "errors")];
    let command = named.into_iter().fold(command, |command, (option, list)| listing(command, option, list));
    let headed = |command: clap::Command, (heading, options): (&'static str, &'static [&'static str])| {
        // `run` lacks some options of `compare`.
        let known: Vec<&str> = options.iter().copied().filter(|id| command.get_arguments().any(|a| a.get_id() == *id)).collect();
        known.into_iter().fold(command, |command, option| command.mut_arg(option, |a| a.help_heading(heading)))
    };
    HEADINGS.into_iter().fold(with_formats(command), headed)
}

fn with_formats(command: clap::Command) -> clap::Command {
    listing(command, "format", "formats").mut_arg("trace", |a| a.long_help(trace_help()))
}

fn trace_help() -> String {
    let (traces, generators) = (names("traces"), names("generators"));
    format!(
        "Path of a trace or experiment file (.toml), `-` for standard input, a bundled trace ({traces}) or a generator ({generators})"
    )
}

/// Commands by purpose, as the help of the program lists them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Compare", &["compare", "run", "sweep", "life", "advise", "inspect", "convert"]),
    ("Test", &["torture", "crash"]),
    ("Serve", &["serve", "ctl"]),
    ("Models and papers", &["reliability", "figures"]),
    ("Reference", &["list", "settings", "completions", "man", "help"]),
];

/// Command lines to begin with.
const EXAMPLES: &str = "\
Examples:
  flashkeep compare                                        a recorded PostgreSQL benchmark under four schemes
  flashkeep compare my.trace --schemes all --drive qlc     your own trace
  flashkeep serve disk --scheme ds-raid --dashboard        a block device whose dies you can kill
  flashkeep crash --run './prog {disk}' --check './verify {image}'

Documents: README.md and docs/ of the source. `flashkeep COMMAND --help` lists all options of a command.
";

/// Command lines of each command, and its page. They follow all options; the short help of few options has them as well.
const EXAMPLES_OF: [(&str, &str); 14] = [
    (
        "compare",
        "  flashkeep compare                                              the bundled trace under four schemes
  flashkeep compare my.trace --schemes none,raid5,ds-raid --seeds 5
  flashkeep compare my.csv --columns time=us,op,lba=bytes,size=bytes
  flashkeep compare zipf --read-share 70% --iodepth 32           a generator; `flashkeep list generators`
  flashkeep compare -- --rw=randwrite --bs=4k --size=1g          options of fio
  flashkeep compare --set faults.dead_die=3 --set faults.dead_die_at_request=10000
Documents: docs/first-screen.md, docs/experiments.md, docs/methodology.md",
    ),
    (
        "run",
        "  flashkeep run examples/orders.toml\n  flashkeep run examples/orders.toml --seeds 5 -o report/five\nDocument: docs/experiments.md",
    ),
    ("sweep", "  flashkeep sweep examples/load.toml -o report/load\nDocument: docs/sweeps.md"),
    (
        "life",
        "  flashkeep life --schemes none,ds-raid --dwpd 1\n  flashkeep life my.trace --drive qlc --years 5 --full\nDocument: docs/life.md",
    ),
    (
        "advise",
        "  flashkeep advise my.trace --class enterprise --dwpd 1 --years 5\n  flashkeep advise --dry-run\nDocument: docs/advise.md",
    ),
    (
        "inspect",
        "  flashkeep inspect pgbench\n  flashkeep inspect my.csv --columns time=us,op,lba=bytes,size=bytes -o report/trace\nDocument: docs/traces.md",
    ),
    (
        "convert",
        "  flashkeep convert pgbench --to fio-iolog -o pgbench.log\n  flashkeep convert my.trace --to csv\nDocument: docs/traces.md",
    ),
    (
        "torture",
        "  flashkeep torture --minutes 10\n  flashkeep torture --scheme ds-raid --fault cut,die --scenarios 10000\n  \
         flashkeep torture --exhaustive --scheme raid5\nDocument: docs/torture.md",
    ),
    (
        "crash",
        "  flashkeep crash --run './prog {disk}' --check './verify {image}'\n  \
         flashkeep crash --mount ext4 --run './prog {dir}' --check './verify {dir}'\n  \
         flashkeep crash session.log --check './verify {image}'\n\
         Exit codes: 0 no image failed, 1 an image failed, 2 nothing was judged, 3 no image failed, and that is no proof, because the\n\
         simulated drive hides missing flushes\nDocument: docs/crash.md",
    ),
    (
        "serve",
        "  flashkeep serve disk --create --memory --size 256MiB --dashboard\n  flashkeep serve disk --scheme mds-groups\n  \
         flashkeep ctl disk kill die 3\nDocument: docs/serve.md",
    ),
    ("figures", "  flashkeep figures ds-raid\n  flashkeep figures bounds --only tlc\nDocument: docs/reproduction.md"),
    ("list", "  flashkeep list schemes\n  flashkeep list schemes ds-raid\n  flashkeep list drives"),
    ("settings", "  flashkeep settings gc\n  flashkeep settings buffer.size\nDocument: docs/settings.md"),
    (
        "reliability",
        "  flashkeep reliability required-t\n  flashkeep reliability retention --help\nDocument: docs/reliability.md",
    ),
];

/// Commands of many options: their short help has no examples.
const WITHOUT_EXAMPLES_IN_SHORT: [&str; 5] = ["compare", "run", "life", "advise", "crash"];

/// Appends the examples of each command to its help.
fn with_examples(command: clap::Command) -> clap::Command {
    EXAMPLES_OF.into_iter().fold(command, |command, (name, lines)| {
        let text = format!("Examples:\n{lines}");
        command.mut_subcommand(name, |one| match WITHOUT_EXAMPLES_IN_SHORT.contains(&name) {
            true => one.after_long_help(text),
            false => one.after_help(text),
        })
    })
}

/// The help of the program: commands in groups.
fn grouped(command: clap::Command) -> clap::Command {
    let about = |name: &str| match name {
        "help" => "Print this help or that of a command".to_owned(),
        _ => command.find_subcommand(name).and_then(clap::Command::get_about).map(ToString::to_string).unwrap_or_default(),
    };
    let lines = |(heading, names): &(&str, &[&str])| {
        let lines: String = names.iter().map(|name| format!("  {name:<11}  {}\n", about(name))).collect();
        format!("{heading}:\n{lines}\n")
    };
    let groups: String = GROUPS.iter().map(lines).collect();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}\n\n{EXAMPLES}"
    ))
}

/// All commands with their options, whose help has the names of the registries.
#[must_use]
pub fn command() -> clap::Command {
    let lists: Vec<&str> = studies::LISTS.iter().map(|list| list.name).collect();
    with_examples(with_short_help(with_signs(grouped(Cli::command()))))
        .mut_subcommand("compare", |c| {
            let add = |command, (option, _, default)| with_default(command, option, default);
            DEFAULTS.into_iter().fold(with_names(c), add)
        })
        .mut_subcommand("run", with_names)
        .mut_subcommand("torture", |c| {
            c.mut_arg("scheme", |a| a.help(format!("Schemes, separated by commas: {}", names("schemes"))))
                .mut_arg("fault", |a| a.help(format!("Kinds of faults, separated by commas: {}", fault_kinds())))
        })
        .mut_subcommand("inspect", with_formats)
        .mut_subcommand("convert", |c| {
            let known: Vec<&str> = lab::CONVERSIONS.iter().map(|(name, _)| *name).collect();
            with_formats(c).mut_arg("to", |a| a.help(format!("Format to write: {}", known.join(", "))))
        })
        .mut_subcommand("crash", |c| {
            let usage = "flashkeep crash --run COMMAND --check COMMAND [OPTIONS]\n       flashkeep crash RECORDING --check COMMAND [OPTIONS]";
            let c = c.override_usage(usage);
            let strict =
                "that of the recording; with --run 32MiB, or 320MiB for xfs and 128MiB for btrfs; 1GiB on a simulated drive";
            c.mut_arg("size", |a| {
                a.help(format!("Size of the drive, strict or simulated [default: {strict}]")).help_heading("Recording")
            })
        })
        .mut_subcommand("ctl", |c| c.after_help(format!("Commands:\n{}", crate::ctl::commands())))
        .mut_subcommand("list", |c| c.mut_arg("what", |a| a.help(format!("One of: {}", lists.join(", ")))))
}

/// Options whose value may begin with `-`: a negative number reaches the check of its option, which says what is valid.
fn with_signs(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let is_value =
            arg.get_action().takes_values() && !arg.is_positional() && arg.get_num_args().is_none_or(|n| n == 1.into());
        if is_value { arg.allow_negative_numbers(true) } else { arg }
    });
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_signs))
}

/// Reads the words of a command line.
///
/// # Errors
/// The fault in them, or the help that they ask for.
pub fn parse(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    let words = [OsString::from("flashkeep")].into_iter().chain(words);
    let matches = command().try_get_matches_from(words).map_err(|mut error| {
        // Behind `--` there are options of fio: a misspelt option of ours is none of them.
        if error.kind() == clap::error::ErrorKind::UnknownArgument {
            error.remove(clap::error::ContextKind::Suggested);
        }
        error
    })?;
    Cli::from_arg_matches(&matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_help_of_each_command_fits_a_screen() {
        let mut command = command();
        for one in command.get_subcommands_mut().filter(|one| one.get_name() != "help") {
            let lines = one.render_help().to_string().lines().count();
            assert!(lines <= 45, "{}: {lines} lines", one.get_name());
        }
    }

    /// Fails if an example is no valid command line, or is of another command.
    #[test]
    fn examples_of_help_are_command_lines() {
        let all = EXAMPLES_OF.iter().map(|(_, lines)| *lines).chain([EXAMPLES]).flat_map(str::lines);
        let mut lines = 0;
        for line in all.filter_map(|line| line.trim_start().strip_prefix("flashkeep ")) {
            let line = line.split("   ").next().expect("one at least");
            let words: Vec<std::ffi::OsString> = match line.split_once('\'') {
                None => line.split_whitespace().map(Into::into).collect(),
                Some(_) => line.split('\'').enumerate().flat_map(|(at, part)| quoted(at, part)).collect(),
            };
            // An example may ask for help.
            let wrong = super::parse(words).err().filter(clap::Error::use_stderr);
            assert!(wrong.is_none(), "{line}: {}", wrong.map(|error| error.to_string()).unwrap_or_default());
            lines += 1;
        }
        assert!(lines > 25, "{lines}");
    }

    /// Words of a part of a command line; parts of odd numbers are in quotation marks.
    fn quoted(at: usize, part: &str) -> Vec<std::ffi::OsString> {
        if at % 2 == 1 { vec![part.into()] } else { part.split_whitespace().map(Into::into).collect() }
    }

    #[test]
    fn defaults_in_help_are_those_of_settings() {
        for (option, path, shown) in DEFAULTS {
            let default = experiment::settings_at(path).expect("a setting")[0].default_text();
            let default = default.replace(['"', '[', ']', ' '], "");
            // A drive has its own codes and errors; the preset is called `default` there.
            let is_of_drive = ["drive", "ecc", "errors"].contains(&option);
            assert!(is_of_drive || default == shown, "{option}: {default}");
        }
        assert_eq!(experiment::Experiment::with(&experiment::Overrides::default()).expect("the default").drive.name, "tlc");
    }

    #[test]
    fn each_command_is_in_one_group_of_the_help() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = command();
        for name in command.get_subcommands().map(clap::Command::get_name).filter(|name| *name != "help") {
            assert_eq!(grouped.iter().filter(|known| **known == name).count(), 1, "{name}");
        }
        assert_eq!(grouped.len(), command.get_subcommands().filter(|one| one.get_name() != "help").count() + 1);
    }
}
