//! A small drive that is served within the test.
#![allow(dead_code, reason = "each test program uses a part of it")]

use flashkeep_serve::{Control, Disk, DiskRequest, Fua, Pace, Server, ask};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// Settings of a drive of 16 MiB whose cells have errors and whose pages have a code.
pub const SETTINGS: &str = "schemes = [\"ds-raid\"]\ncapacity.size = \"16MiB\"\ndrive.preset = \"mlc-2014\"\n\
                            errors.model = \"flares\"\necc.policy = \"fixed\"\n";

/// The drive of these settings, with what a schedule plans.
pub fn disk(settings: &str, schedule: &str) -> Disk {
    let experiment = experiment::Experiment::parse("test.toml", settings).unwrap_or_else(|error| panic!("{error}"));
    let one = experiment::one_drive(&experiment, false).unwrap_or_else(|error| panic!("{error}"));
    let setup = experiment::disk_setup(&one).unwrap_or_else(|error| panic!("{error}"));
    let mut disk = Disk::in_memory(&setup).unwrap_or_else(|error| panic!("{error}"));
    disk.plan(&experiment::schedule("test", schedule, &setup.drive.geometry).unwrap_or_else(|error| panic!("{error}")));
    disk
}

/// A drive with a control socket.
pub struct Served {
    pub server: Arc<Server>,
    pub socket: PathBuf,
}

impl Served {
    pub fn new(name: &str, disk: Disk, pace: Pace) -> Self {
        let socket = std::env::temp_dir().join(format!("flashkeep-{name}-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&socket);
        let server = Server::new(disk, pace, false);
        Control::listen(&socket, &server).unwrap_or_else(|error| panic!("{error}"));
        Self { server, socket }
    }

    /// A command that must be done.
    pub fn ctl(&self, command: &str) -> Value {
        let answer = self.ask(command);
        assert_eq!(answer["ok"], true, "{command}: {answer}");
        answer
    }

    pub fn ask(&self, command: &str) -> Value {
        ask(&self.socket, command).unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// Writes pages one after the other, over and over.
    pub fn write(&self, pages: u64) {
        let all = self.server.shape().size / 4096;
        for page in 0..pages {
            let request = DiskRequest::Write { sector: page % all * 8, data: vec![page as u8; 4096].into(), fua: Fua::No };
            self.server.call(request).unwrap_or_else(|failed| panic!("{failed:?}"));
        }
    }

    pub fn read(&self, page: u64) -> Result<Vec<u8>, flashkeep_serve::Failed> {
        self.server.call(DiskRequest::Read { sector: page * 8, sectors: 8 })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}
