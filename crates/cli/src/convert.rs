//! `flashkeep convert`.

use crate::options::ConvertOptions;
use crate::{progress, say};
use common::Problem;
use experiment::Experiment;
use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Standard output that ends the program, without an error, when the program that reads it ends (`| head`).
struct Quiet<W: Write>(W);

impl<W: Write> Write for Quiet<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes).inspect_err(end_if_gone)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush().inspect_err(end_if_gone)
    }
}

fn end_if_gone(error: &std::io::Error) {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
}

/// Writes a workload in another format.
///
/// # Errors
/// Bad input, or a file that cannot be written.
pub fn run(options: &ConvertOptions) -> Result<ExitCode, Problem> {
    let experiment = Experiment::with(&options.workload.overrides())?;
    if options.workload.pick.strict {
        experiment::refuse_unknown(&experiment)?;
    }
    let line = progress::Ticker::new("requests written");
    let mut out: Box<dyn Write> = match &options.out {
        Some(path) if path.as_os_str() != "-" => {
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            let file = file.map_err(|error| Problem::new("--out", format!("{} cannot be written: {error}", path.display())))?;
            Box::new(BufWriter::new(file))
        }
        _ => Box::new(Quiet(BufWriter::new(std::io::stdout().lock()))),
    };
    let converted = lab::convert(&experiment, &options.to, &mut out, &|count| line.set(count));
    line.clear();
    let converted = converted?;
    let left_out = match converted.left_out {
        0 => String::new(),
        count => format!("; {count} flushes and discards are left out, for which the format has no word"),
    };
    say(&format!("{} requests written as {}{left_out}", converted.requests, options.to));
    Ok(ExitCode::SUCCESS)
}
