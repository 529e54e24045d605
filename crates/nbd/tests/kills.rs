//! Clients that count what they were told, and a process that is killed: nothing that was answered is lost.
#![cfg(target_os = "linux")]

mod common;

use common::{Served, have, kills};
use serve::Kept;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const PAGE: u64 = 4096;
const PAGES: u64 = 2048;
/// Requests under way.
const DEPTH: usize = 8;

/// An NBD client of the fixed newstyle handshake that sends before it has heard.
struct Client(UnixStream);

impl Client {
    fn connect(served: &Served) -> Self {
        Self(common::handshake(&served.file("nbd.sock"), Duration::from_secs(30)))
    }

    fn send(&mut self, kind: u16, cookie: u64, page: u64, data: Option<&[u8]>) -> std::io::Result<()> {
        let mut request = 0x2560_9513_u32.to_be_bytes().to_vec();
        request.extend([0, 0]);
        request.extend(kind.to_be_bytes());
        request.extend(cookie.to_be_bytes());
        request.extend((page * PAGE).to_be_bytes());
        request.extend((PAGE as u32).to_be_bytes());
        request.extend(data.unwrap_or_default());
        self.0.write_all(&request)
    }

    /// The cookie of an answer, and whether it is an error.
    fn hear(&mut self) -> std::io::Result<(u64, bool)> {
        let mut reply = [0; 16];
        self.0.read_exact(&mut reply)?;
        let cookie = u64::from_be_bytes(reply[8..].try_into().expect("8 bytes"));
        Ok((cookie, reply[4..8] != [0; 4]))
    }

    fn read(&mut self, page: u64) -> Vec<u8> {
        self.send(0, 0, page, None).expect("it listens");
        let (_, failed) = self.hear().expect("an answer");
        assert!(!failed, "page {page} cannot be read");
        let mut data = vec![0; PAGE as usize];
        self.0.read_exact(&mut data).expect("the data");
        data
    }
}

fn contents(write: u64, page: u64) -> Vec<u8> {
    [write, page].map(u64::to_le_bytes).concat().repeat(PAGE as usize / 16)
}

/// Writes in the order in which they were sent, per page: the newest answered, and those sent after it.
#[derive(Default)]
struct Page {
    answered: u64,
    sent: Vec<u64>,
}

fn killed(scheme: &str, buffer: &str, rounds: u64, seed: u64) {
    let settings = format!("schemes = [\"{scheme}\"]\ncapacity.size = \"16MiB\"\nbuffer.size = \"{buffer}\"\n");
    let mut served = Served::new(&format!("kill-{scheme}-{rounds}"), Kept::Files, &settings);
    let mut draws = vocab::Streams::new(seed).stream("test/kills");
    let mut pages: BTreeMap<u64, Page> = BTreeMap::new();
    let mut write = 0;
    for round in 0..rounds {
        let mut client = Client::connect(&served);
        let (mut under_way, left) = (BTreeMap::new(), 50 + draws.below(1500));
        for _ in 0..left {
            let page = if draws.chance(0.7) { draws.below(64) } else { draws.below(PAGES) };
            // NBD says nothing of the order of two writes of a page that are under way.
            if under_way.values().any(|other| *other == page) {
                continue;
            }
            write += 1;
            client.send(1, write, page, Some(&contents(write, page))).expect("it listens");
            pages.entry(page).or_default().sent.push(write);
            under_way.insert(write, page);
            while under_way.len() >= DEPTH {
                let (cookie, failed) = client.hear().expect("an answer");
                assert!(!failed);
                let page = pages.get_mut(&under_way.remove(&cookie).expect("it was sent")).expect("it was sent");
                page.answered = page.answered.max(cookie);
            }
        }
        served.kill();
        // What it had said before it died counts.
        while let Ok((cookie, false)) = client.hear() {
            let page = pages.get_mut(&under_way.remove(&cookie).expect("it was sent")).expect("it was sent");
            page.answered = page.answered.max(cookie);
        }
        served.start();
        let mut client = Client::connect(&served);
        for (&number, page) in &mut pages {
            let data = client.read(number);
            let found = u64::from_le_bytes(data[..8].try_into().expect("8 bytes"));
            let valid = found == page.answered || found > page.answered && page.sent.contains(&found);
            let zeros = found == 0 && page.answered == 0 && data.iter().all(|&byte| byte == 0);
            let again = format!("{scheme}, round {round} of seed {seed}");
            assert!(zeros || valid, "{again}: page {number} has write {found}, answered was {}", page.answered);
            assert!(zeros || data == contents(found, number), "{again}: page {number} is torn");
            *page = Page { answered: found, sent: Vec::new() };
        }
        served.check();
    }
}

#[test]
fn a_killed_process_loses_nothing_that_it_answered() {
    if have("a_killed_process_loses_nothing_that_it_answered", &["nbdkit"]) {
        for (scheme, buffer) in [("ds-raid", "128KiB"), ("raid5", "64KiB"), ("mds-groups", "128KiB")] {
            killed(scheme, buffer, kills(3), 1);
        }
    }
}
