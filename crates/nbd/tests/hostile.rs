//! Clients that send nonsense: to the control socket, and over NBD.
#![cfg(target_os = "linux")]

mod common;

use common::client::{FAST_ZERO, Modern, NOT_SUPPORTED, SEND_FAST_ZERO, TRIM, WRITE, ZEROES, request};
use common::{Served, have, output, run, text};
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
    panic!("no one answers any more");
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
        // All ask before anyone is heard.
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

/// The state of ranges against an array of pages: as much as was asked is told of and not a byte more, in whole sectors. A server that
/// tells more is ended by an assertion of nbdkit 1.32 when the range has 2^32 - 1 bytes.
#[test]
fn extents_end_where_the_question_ends() {
    if !have("extents_end_where_the_question_ends", &["nbdkit"]) {
        return;
    }
    let served = Served::new("extents", Kept::Memory, "schemes = [\"none\"]\ncapacity.size = \"4100MiB\"\n");
    let mut client = Modern::connect(&served);
    let mut draws = vocab::Streams::new(5).stream("test/extents");
    let mut holes = vec![true; 256];
    for _ in 0..40 {
        let page = draws.below(256);
        holes[page as usize] = false;
        client.ask(0, WRITE, page * 4096 + 512 * draws.below(8), 512, &[7; 512]).expect("room");
    }
    assert_eq!(client.ask(0, TRIM, 0, 64 * 4096, &[]), Ok(()));
    holes[..64].fill(true);
    for _ in 0..200 {
        let (first, count) = (draws.below(2000), 1 + draws.below(48));
        let uneven = draws.below(512) as u32;
        let told = client.extents(first * 512, count as u32 * 512 + uneven).expect("the range is there");
        assert!(told.iter().all(|(length, _)| length % 512 == 0), "{told:?}");
        let found: Vec<bool> = told.iter().flat_map(|&(length, is_hole)| vec![is_hole; length as usize / 512]).collect();
        let expected: Vec<bool> = (first..first + count).map(|sector| holes[sector as usize / 8]).collect();
        assert_eq!(found, expected, "{count} sectors from {first}");
    }
    let all: Vec<_> = client.extents(256 * 4096, u32::MAX).expect("the range is there");
    assert_eq!(all, [(u32::MAX / 512 * 512, true)]);
    assert_eq!(client.extents(256, 512), Err(22), "it is not of whole sectors");
    assert_eq!(client.extents(0, 511), Err(22), "there is no whole sector in it");
    served.check();
}

/// A write of zeros is as slow as any, so one that must be fast is refused, as the protocol says; an assertion of nbdkit ended the
/// server where fast ones were not offered and a client sent one.
#[test]
fn zeros_that_must_be_fast_are_refused() {
    if !have("zeros_that_must_be_fast_are_refused", &["nbdkit"]) {
        return;
    }
    let served = Served::new("zeros", Kept::Memory, "schemes = [\"none\"]\ncapacity.size = \"16MiB\"\n");
    let mut client = Modern::connect(&served);
    assert!(client.flags & SEND_FAST_ZERO != 0);
    assert_eq!(client.ask(0, WRITE, 0, 4096, &[7; 4096]), Ok(()));
    assert_eq!(client.ask(FAST_ZERO, ZEROES, 0, 4096, &[]), Err(NOT_SUPPORTED));
    assert_eq!(client.extents(0, 4096), Ok(vec![(4096, false)]));
    assert_eq!(client.ask(0, ZEROES, 0, 4096, &[]), Ok(()));
    served.check();
}

/// `nbdcopy` hangs up at the first error while its other reads are under way. nbdkit 1.32.4, 1.32.5 and 1.33.3 to 1.33.9 then abort in
/// every second run, unless they have one thread for each connection.
#[test]
fn a_client_that_hangs_up_after_an_error_does_not_end_the_server() {
    if !have("a_client_that_hangs_up_after_an_error", &["nbdkit", "nbdcopy"]) {
        return;
    }
    let served = Served::new("hang-up", Kept::Memory, "schemes = [\"ds-raid\"]\ncapacity.size = \"64MiB\"\n");
    let (image, back) = (served.file("in"), served.file("out"));
    std::fs::write(&image, vec![7; 64 << 20]).expect("room");
    run("nbdcopy", &[text(&image), &served.uri()]);
    served.ctl("silent 1e-2");
    let mut failed = 0;
    for _ in 0..20 {
        failed += u32::from(!output("nbdcopy", &[&served.uri(), text(&back)]).status.success());
    }
    // And without a word, while replies larger than the socket's buffer are under way.
    for _ in 0..20 {
        let mut stream = common::handshake(&served.file("nbd.sock"), Duration::from_secs(20));
        let reads: Vec<u8> = (0..16).flat_map(|at| request(0, 0, at, at << 20, 1 << 20)).collect();
        stream.write_all(&reads).expect("it listens");
    }
    assert!(failed > 10, "only {failed} of 20 copies met an error");
    served.check();
}
