//! Clients that send nonsense: to the control socket, and over NBD.
#![cfg(target_os = "linux")]

mod common;

use common::client::request;
use common::{Served, have};
use serve::Kept;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

fn connect(served: &Served) -> UnixStream {
    let stream = UnixStream::connect(served.control()).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    stream
}

/// Sends bytes and reads all answers.
fn send(served: &Served, bytes: &[u8]) -> String {
    let mut stream = connect(served);
    // It may have gone before all was sent.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn nonsense_is_refused_and_the_drive_goes_on() {
    if !have("nonsense_is_refused_and_the_drive_goes_on", &["nbdkit"]) {
        return;
    }
    let served = Served::new("hostile", Kept::Memory, "schemes = [\"raid5\"]\ncapacity.size = \"16MiB\"\n");
    let lines: [&[u8]; 14] = [
        b"\n",
        b"status\n",
        b"{\"command\": 3}\n",
        b"{\"command\": \"\"}\n",
        b"{\"command\": \"kill die 70000\"}\n",
        b"{\"command\": \"kill die -1\"}\n",
        b"{\"command\": \"kill page 99999999999999999999\"}\n",
        b"{\"command\": \"age 999999999999d\"}\n",
        b"{\"command\": \"silent nan\"}\n",
        b"{\"command\": \"pause 1000d\"}\n",
        b"{\"command\": \"restore nothing\"}\n",
        b"{\"command\": \"temperature hot\"}\n",
        b"[[[[[[[[[[\n",
        b"\xff\xfe\x00\n",
    ];
    for line in lines {
        let answer = send(&served, line);
        assert!(answer.is_empty() || answer.contains("\"ok\":false"), "{:?}: {answer}", String::from_utf8_lossy(line));
    }
    assert!(send(&served, &[b'x'; 200_000]).contains("a line of more than"));
    assert!(send(&served, "[".repeat(60_000).as_bytes()).contains("no JSON"), "half a line");
    let mut draws = vocab::Streams::new(3).stream("test/garbage");
    for _ in 0..50 {
        let size = draws.below(3000) as usize;
        let garbage: Vec<u8> = (0..size).map(|_| draws.below(256) as u8).collect();
        assert!(!send(&served, &garbage).contains("\"ok\":true"));
    }
    served.ctl("status");
    served.check();
}

#[test]
fn a_thousand_connections_are_too_many_and_do_no_harm() {
    if !have("a_thousand_connections_are_too_many", &["nbdkit"]) {
        return;
    }
    let served = Served::new("many", Kept::Memory, "schemes = [\"none\"]\ncapacity.size = \"16MiB\"\n");
    let held: Vec<UnixStream> = (0..200).filter_map(|_| UnixStream::connect(served.control()).ok()).collect();
    assert!(held.len() > 64);
    let mut refused = connect(&served);
    let mut said = [0; 200];
    let read = refused.read(&mut said).expect("an answer");
    assert!(String::from_utf8_lossy(&said[..read]).contains("clients already"));
    drop(held);
    std::thread::sleep(Duration::from_millis(200));
    for _ in 0..800 {
        drop(UnixStream::connect(served.control()));
    }
    for _ in 0..100 {
        if serve::ask(&served.control(), "status").is_ok_and(|answer| answer["ok"] == true) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("nobody answers any more");
}

/// Connections at the same time, each after its handshake.
#[test]
fn a_thousand_nbd_connections_are_served_and_go_again() {
    if !have("a_thousand_nbd_connections_are_served", &["nbdkit", "nbdinfo"]) {
        return;
    }
    let served = Served::new("crowd", Kept::Memory, "schemes = [\"none\"]\ncapacity.size = \"16MiB\"\n");
    let socket = served.file("nbd.sock");
    for _ in 0..4 {
        let crowd: Vec<UnixStream> = (0..250).map(|_| common::handshake(&socket, Duration::from_secs(30))).collect();
        // All ask before anybody is heard.
        for (number, mut stream) in crowd.iter().enumerate() {
            stream.write_all(&request(0, 1, number as u64, 512 * number as u64, 512)).expect("it listens");
            stream.write_all(&[number as u8; 512]).expect("it listens");
        }
        for mut stream in crowd {
            let mut reply = [0; 16];
            stream.read_exact(&mut reply).expect("an answer");
            assert_eq!(reply[4..8], [0; 4], "no error");
        }
    }
    assert_eq!(common::run("nbdinfo", &["--size", &served.uri()]).trim(), (16 << 20).to_string());
    assert_eq!(served.ctl("status")["writes"], 1000);
    served.check();
}

/// Clients that go away in the middle of a request, or of its data: nothing of it is written.
#[test]
fn half_a_message_changes_nothing() {
    if !have("half_a_message_changes_nothing", &["nbdkit"]) {
        return;
    }
    let served = Served::new("half", Kept::Memory, "schemes = [\"none\"]\ncapacity.size = \"16MiB\"\n");
    let socket = served.file("nbd.sock");
    let whole = [request(0, 1, 1, 0, 8192), vec![7; 8192]].concat();
    for sent in [1, 4, 27, 28, 29, 4096 + 28, whole.len() - 1] {
        let mut stream = common::handshake(&socket, Duration::from_secs(20));
        stream.write_all(&whole[..sent]).expect("it listens");
    }
    // Lengths that no data follow, and more than there is: the connection may end, the drive not.
    for length in [u32::MAX, 1 << 31, 64 << 20] {
        let mut stream = common::handshake(&socket, Duration::from_secs(20));
        stream.write_all(&request(0, 1, 1, 0, length)).expect("it listens");
    }
    let mut stream = common::handshake(&socket, Duration::from_secs(20));
    stream.write_all(&request(0, 0, 5, 0, 8192)).expect("it listens");
    let mut reply = vec![0; 16 + 8192];
    stream.read_exact(&mut reply).expect("an answer");
    assert!(reply[4..8] == [0; 4] && reply[16..].iter().all(|&byte| byte == 0), "half a write was written");
    assert_eq!(served.ctl("status")["writes"], 0);
    served.check();
}

/// Half a handshake, wrong magic, and requests beyond the drive.
#[test]
fn nbd_clients_that_break_the_protocol_do_no_harm() {
    if !have("nbd_clients_that_break_the_protocol_do_no_harm", &["nbdkit", "nbdinfo"]) {
        return;
    }
    let served = Served::new("proto", Kept::Memory, "schemes = [\"raid5\"]\ncapacity.size = \"16MiB\"\n");
    let socket = served.file("nbd.sock");
    let mut draws = vocab::Streams::new(4).stream("test/garbage");
    for _ in 0..40 {
        let mut stream = UnixStream::connect(&socket).expect("it listens");
        let size = draws.below(200) as usize;
        let garbage: Vec<u8> = (0..size).map(|_| draws.below(256) as u8).collect();
        let _ = stream.write_all(&garbage);
    }
    for (flags, kind, offset, length) in
        [(0u16, 0u16, 1u64 << 63, 512u32), (0, 0, 16 << 20, 512), (0, 0, 0, u32::MAX), (9, 77, 0, 512)]
    {
        let mut stream = common::handshake(&socket, Duration::from_secs(20));
        stream.write_all(&request(flags, kind, 7, offset, length)).expect("it listens");
        let mut reply = [0; 16];
        if stream.read_exact(&mut reply).is_ok() {
            assert!(reply[4..8] != [0; 4], "an error for {offset} + {length}, command {kind}");
        }
    }
    assert_eq!(common::run("nbdinfo", &["--size", &served.uri()]).trim(), (16 << 20).to_string());
    served.check();
}
