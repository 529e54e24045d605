//! Completions of shells and man pages, from the one definition of commands and options.

use crate::{help, print};
use common::Problem;
use std::path::Path;
use std::process::ExitCode;

/// Prints the completions of a shell.
pub fn completions(shell: clap_complete::Shell) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut help::command(), "flashkeep", &mut text);
    print(&String::from_utf8_lossy(&text));
    ExitCode::SUCCESS
}

/// Writes `flashkeep.1` and a page for each command into a directory.
///
/// # Errors
/// A directory or file that cannot be written.
pub fn pages(directory: &Path) -> Result<ExitCode, Problem> {
    let written = std::fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(help::command(), directory));
    written.map_err(|error| Problem::new("man", format!("pages cannot be written to {}: {error}", directory.display())))?;
    print(&format!("man pages: {}\n", directory.join("flashkeep.1").display()));
    Ok(ExitCode::SUCCESS)
}
