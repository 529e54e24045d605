//! The counter: one drive for many clients at a time.
//!
//! ```text
//! directory (settings, files) -> Disk -> Server (queue, who works, the clock) <- requests of any thread
//!                                                                            <- control socket (JSON lines)
//! ```
//!
//! The drive works in the thread of whichever client has a request ([`Server`]); with a clock of its own it works in a thread that
//! lets time pass as fast as on the wall ([`Pace`]).

mod control;
mod core;
mod crash;
mod dashboard;
mod deceit;
mod directory;
mod events;
mod group;
mod history;
mod launch;
mod log_writes;
mod pace;
mod plugin;
mod program;
mod record;
mod recording;
mod server;
mod steps;
mod time;

pub use control::{Control, ask, commands};
pub use core::Core;
pub use crash::{Crash, Cut, DriveKind, Failure, Instant, Loss, Ready, Shrunk, Smaller, Tried, usual_work};
pub use dashboard::{DASHBOARD_PORT, Dashboard, page};
pub use directory::{DriveDirectory, Kept, ServeError};
pub use launch::Launch;
pub use log_writes::LeftOut;
pub use pace::Pace;
pub use plugin::PLUGIN;
pub use program::{FileSystem, MADE, Program};
pub use server::{Clients, Server};
pub use ssd::disk::{Disk, DiskError, DiskRequest, Failed};
pub use steps::{Held, Recording, Step};
pub use vocab::{Fua, Nanos, SECTOR_BYTES, SharedBytes};

/// The experiment of a file.
///
/// # Errors
/// A problem of the file.
pub fn experiment(file: &std::path::Path) -> Result<experiment::Experiment, ServeError> {
    Ok(experiment::Experiment::load(file, &experiment::Overrides::default())?)
}
