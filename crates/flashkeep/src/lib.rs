//! Flashkeep as a library: drives that differ in how they protect data, replayed, served and tortured.
//!
//! [`drive`] begins with a preset, [`torture()`] with a seed; every setting of an experiment file can be set, and what is not set has
//! the default that the program has. Results are deterministic: equal settings give equal results on any number of threads.
//!
//! From a preset and a scheme to a replayed trace:
//!
//! ```
//! # fn main() -> Result<(), flashkeep::Problem> {
//! let run = flashkeep::drive("mlc-2014")
//!     .schemes(["none", "raid5"])
//!     .replay("uniform")
//!     .closed(16)
//!     .set("generate.requests", 500)
//!     .set("generate.range", "8MiB")
//!     .run()?;
//! let waf = |scheme| run.figure(scheme, "waf").expect("the host wrote");
//! assert!(waf("none") < waf("raid5"), "parity is written, too");
//! print!("{}", run.to_table());
//! # Ok(())
//! # }
//! ```
#![cfg_attr(
    unix,
    doc = r#"
From a drive to a served one, here without a network: [`serve::Launch`] gives it to nbdkit.

```
# fn main() -> Result<(), Box<dyn std::error::Error>> {
use flashkeep::serve::{DiskRequest, Fua, Pace, Server};

let disk = flashkeep::drive("mlc-2014").scheme("raid5").capacity("32MiB").disk()?;
let server = Server::new(disk, Pace::Still, false);
let data = vec![7; 4096].into();
server.call(DiskRequest::Write { sector: 8, data, fua: Fua::Yes }).expect("written");
let read = server.call(DiskRequest::Read { sector: 8, sectors: 8 }).expect("read");
assert_eq!(read, vec![7; 4096]);
server.stop()?;
# Ok(())
# }
```
"#
)]
//! From a seed to tortured drives: random power cuts and losses, each followed by a check of every acknowledged write.
//!
//! ```
//! # fn main() -> Result<(), flashkeep::Problem> {
//! let summary = flashkeep::torture(7).schemes(["raid5", "canary"]).scenarios(200).run()?;
//! let violations = |at: usize| summary.schemes[at].1.violations;
//! assert_eq!(violations(0), 0);
//! assert!(violations(1) > 0, "canary loses data on purpose, and is caught");
//! # Ok(())
//! # }
//! ```
//!
//! The page `docs/rust.md` of the repository has each beside its twin in Python. The crates below this one are passed on: [`experiment`] has all settings,
//! [`lab`] comparisons, [`report`] their tables and pages, [`studies`] sweeps, lives and advice, [`ssd`] the engine with drives of its own making.

mod drive;
mod torture;

/// Campaigns of torture.
pub use ::torture as campaigns;
pub use ::torture::Summary;
pub use common::{Problem, VERSION};
pub use drive::{Drive, Replay, Run, drive};
pub use experiment::{Experiment, Overrides};
pub use lab::Comparison;
#[cfg(unix)]
pub use ssd::disk::Disk;
pub use torture::{Torture, torture};
pub use {common, experiment, lab, report, serve, ssd, studies, trace};
