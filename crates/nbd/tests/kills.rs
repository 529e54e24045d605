//! Clients that count what they were told, and a process that is killed: nothing that was answered is lost.
#![cfg(target_os = "linux")]

mod common;

use common::client::{Client, READ, WRITE, stamped};
use common::{Served, have, kills};
use serve::Kept;
use std::collections::BTreeMap;

const PAGE: u64 = 4096;
const PAGES: u64 = 2048;
/// Requests under way.
const DEPTH: usize = 8;

fn contents(write: u64, page: u64) -> Vec<u8> {
    stamped(write, page, PAGE)
}

/// Writes in the order in which they were sent, per page: the newest answered, and those sent after it.
#[derive(Default)]
struct Page {
    answered: u64,
    sent: Vec<u64>,
}

fn killed(scheme: &str, buffer: &str, rounds: u64, seed: u64) {
    let settings = format!("schemes = [\"{scheme}\"]\ncapacity.size = \"16MiB\"\nbuffer.size = \"{buffer}\"\n");
    // The drive is to have many requests when it dies, also where nbdkit has usually one of each connection.
    let threads = |launch: &mut serve::Launch| launch.more.push("--threads=32".to_owned());
    let mut served = Served::with(&format!("kill-{scheme}-{rounds}"), Kept::Files, &settings, threads);
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
            client.send(0, WRITE, write, page * PAGE, PAGE as u32, &contents(write, page)).expect("it listens");
            pages.entry(page).or_default().sent.push(write);
            under_way.insert(write, page);
            while under_way.len() >= DEPTH {
                let (cookie, reply) = client.hear().expect("an answer");
                assert!(reply.is_ok());
                let page = pages.get_mut(&under_way.remove(&cookie).expect("it was sent")).expect("it was sent");
                page.answered = page.answered.max(cookie);
            }
        }
        served.kill();
        // Answers that it had sent before it died count.
        while let Ok((cookie, Ok(_))) = client.hear() {
            let page = pages.get_mut(&under_way.remove(&cookie).expect("it was sent")).expect("it was sent");
            page.answered = page.answered.max(cookie);
        }
        served.start();
        let mut client = Client::connect(&served);
        for (&number, page) in &mut pages {
            let data = client.ask(0, READ, number * PAGE, PAGE as u32, &[]);
            let data = data.unwrap_or_else(|error| panic!("page {number}: error {error}"));
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
