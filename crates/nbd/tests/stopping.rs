//! How a served drive and its clients part: an end in order, a cut that clients feel, and a drive that takes no writes any more.
#![cfg(target_os = "linux")]

mod common;

use common::client::{Client, FLUSH, Modern, READ, READ_ONLY, WRITE};
use common::{Served, have};
use serve::Kept;
use std::time::Duration;

/// Its buffer loses what was not flushed.
const VOLATILE: &str =
    "schemes = [\"none\"]\ncapacity.size = \"16MiB\"\ndrive.preset = \"mlc-2014\"\nbuffer.kind = \"volatile\"\n";

/// Waits for the process to end by itself.
fn ends_well(served: &mut Served) -> bool {
    for _ in 0..1000 {
        if let Some(status) = served.ended() {
            return status.success();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the process goes on");
}

/// After `stop`, data that a client wrote and did not flush are on the drive, its connection is closed, and no socket
/// is left.
#[test]
fn stop_ends_clients_and_server_in_order() {
    if !have("stop_ends_clients_and_server_in_order", &["nbdkit"]) {
        return;
    }
    let mut served = Served::new("stop", Kept::Files, VOLATILE);
    let mut client = Client::connect(&served);
    client.ask(0, WRITE, 8192, 4096, &[7; 4096]).expect("room");
    assert_eq!(served.ctl("stop")["clients"], 1);
    assert!(client.hear().is_err(), "its connection has ended");
    assert!(ends_well(&mut served));
    assert!(!served.file("nbd.sock").exists() && !served.control().exists(), "sockets are removed");
    served.start();
    let found = Client::connect(&served).ask(0, READ, 8192, 4096, &[]);
    assert!(found == Ok(vec![7; 4096]), "what was answered is durable");
    // Without `stop` it is not.
    let mut client = Client::connect(&served);
    client.ask(0, WRITE, 8192, 4096, &[8; 4096]).expect("room");
    served.kill();
    assert!(served.file("nbd.sock").exists());
    served.start();
    let found = Client::connect(&served).ask(0, READ, 8192, 4096, &[]);
    assert!(found == Ok(vec![7; 4096]), "a killed process is a power cut");
}

/// The process is asked to end, by a service manager or on a terminal.
fn signal(served: &Served, name: &str) {
    assert!(
        std::process::Command::new("kill").args([name, &served.pid().to_string()]).status().is_ok_and(|status| status.success())
    );
}

/// A signal ends the server as `stop` does although a client stays and a request hangs: what was answered is durable, and no socket is left.
#[test]
fn a_signal_ends_clients_and_server_as_stop_does() {
    if !have("a_signal_ends_clients_and_server_as_stop_does", &["nbdkit", "kill"]) {
        return;
    }
    let mut served = Served::new("signal", Kept::Files, VOLATILE);
    for (round, name) in (1..).zip(["-TERM", "-INT"]) {
        let (mut client, mut hanging) = (Client::connect(&served), Client::connect(&served));
        client.ask(0, WRITE, 8192, 4096, &[round; 4096]).expect("room");
        served.ctl("hang on");
        hanging.send(0, WRITE, 5, 0, 512, &[7; 512]).expect("it listens");
        std::thread::sleep(Duration::from_millis(50));
        signal(&served, name);
        assert!(ends_well(&mut served), "{name}");
        assert!(client.hear().is_err(), "its connection has ended");
        assert_eq!(hanging.hear().expect("an answer"), (5, Ok(Vec::new())));
        assert!(!served.file("nbd.sock").exists() && !served.control().exists(), "sockets are removed");
        served.start();
        let found = Client::connect(&served).ask(0, READ, 8192, 4096, &[]);
        assert!(found == Ok(vec![round; 4096]), "what was answered is durable");
    }
}

/// Requests that hang are answered, and then the server ends.
#[test]
fn stop_lets_go_what_hangs() {
    if !have("stop_lets_go_what_hangs", &["nbdkit"]) {
        return;
    }
    let mut served = Served::new("stop-hang", Kept::Memory, VOLATILE);
    let mut client = Client::connect(&served);
    served.ctl("hang on");
    client.send(0, WRITE, 5, 0, 512, &[7; 512]).expect("it listens");
    std::thread::sleep(Duration::from_millis(50));
    served.ctl("stop");
    assert_eq!(client.hear().expect("an answer"), (5, Ok(Vec::new())));
    assert!(ends_well(&mut served));
}

/// A cut that clients feel: they are gone, what they had not flushed is lost, and what they had asked and the drive had not taken is never
/// carried out. Without `--disconnect` the same client goes on.
#[test]
fn a_power_cut_may_drop_the_clients() {
    if !have("a_power_cut_may_drop_the_clients", &["nbdkit"]) {
        return;
    }
    let served = Served::new("disconnect", Kept::Memory, VOLATILE);
    let (mut client, mut other) = (Client::connect(&served), Client::connect(&served));
    client.ask(0, WRITE, 0, 4096, &[1; 4096]).expect("room");
    client.ask(0, FLUSH, 0, 0, &[]).expect("it is durable");
    served.ctl("cut-power");
    client.ask(0, WRITE, 0, 4096, &[2; 4096]).expect("it goes on");
    served.ctl("hang on");
    other.send(0, WRITE, 9, 8192, 512, &[9; 512]).expect("it listens");
    std::thread::sleep(Duration::from_millis(50));
    let cut = served.ctl("cut-power --disconnect");
    served.ctl("hang off");
    assert_eq!(cut["clients"], 2);
    assert!(client.hear().is_err(), "its connection has ended");
    assert_eq!(other.hear().map_or(Err(5), |(_, reply)| reply), Err(5), "the drive never takes it");
    assert!(other.hear().is_err(), "its connection has ended");
    let mut later = Client::connect(&served);
    assert!(later.ask(0, READ, 0, 4096, &[]) == Ok(vec![1; 4096]), "what was flushed, and no more");
    assert!(
        later.ask(0, READ, 8192, 512, &[]) == Ok(vec![0; 512]),
        "a write that came before the cut is not carried out after it"
    );
    assert_eq!(served.ctl("status")["power_cuts"], 2);
    served.check();
}

/// Linux mounts a drive read-only that says so: clients that come after the drive has become read-only are told.
#[test]
fn a_drive_that_takes_no_writes_says_so_to_new_clients() {
    if !have("a_drive_that_takes_no_writes_says_so", &["nbdkit"]) {
        return;
    }
    let settings = "schemes = [\"none\"]\ncapacity.size = \"16MiB\"\ndrive.preset = \"mlc-2014\"\n";
    let served = Served::new("read-only", Kept::Memory, settings);
    let mut early = Modern::connect(&served);
    assert_eq!(early.flags & READ_ONLY, 0);
    early.ask(0, WRITE, 0, 4096, &[7; 4096]).expect("room");
    let mut block = 0;
    while serve::ask(&served.control(), &format!("wear-out {block}")).expect("it listens")["ok"] == true {
        block += 1;
    }
    // It finds out when it wants to write.
    let writes = (0..4096).map(|page| early.ask(0, WRITE, page * 4096, 4096, &[8; 4096])).filter(Result::is_err).count();
    assert!(writes > 0 && served.ctl("status")["read_only"] == true);
    let late = Modern::connect(&served);
    assert_eq!(late.flags & READ_ONLY, READ_ONLY);
    served.ctl("cut-power");
    assert_eq!(served.ctl("status")["read_only"] == true, Modern::connect(&served).flags & READ_ONLY != 0, "after a mount, too");
}
