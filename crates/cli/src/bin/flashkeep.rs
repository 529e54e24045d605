//! The program `flashkeep`.

use std::process::ExitCode;

fn main() -> ExitCode {
    flashkeep_cli::command_line(std::env::args_os().skip(1))
}
