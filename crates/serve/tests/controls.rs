//! Every command of the control socket, schedules of a served drive, and time that passes while nobody asks.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "a served drive lives on the wall clock")]

mod common;

use common::{SETTINGS, Served, disk};
use flashkeep_serve::{DiskRequest, Fua, Pace, commands};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const DOCUMENT: &str = include_str!("../../../docs/serve.md");

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what} does not happen");
}

#[test]
fn every_command_does_what_it_says() {
    let served = Served::new("ctl", disk(SETTINGS, ""), Pace::None);
    served.write(600);
    let status = || served.ctl("status");
    served.ctl("snapshot before");
    served.ctl("wear +1000");
    assert!(status()["pe_mean"].as_f64() >= Some(1000.0));
    served.ctl("temperature 55C");
    assert_eq!(status()["temperature"], 55.0);
    served.ctl("slow die 3 x 10");
    assert_eq!(status()["dies"][3]["slow"], 10.0);
    served.ctl("slow die 3 x 1");
    let aged = served.ctl("age 90d")["time_s"].as_f64().expect("a time");
    assert!(aged > 90.0 * 86_400.0 && served.ctl("idle 10s")["time_s"].as_f64() > Some(aged + 9.9));
    served.ctl("kill die 2");
    served.ctl("kill block 70");
    let dead = || status()["dies"].as_array().expect("dies").iter().filter(|die| die["alive"] == false).count();
    assert_eq!(dead(), 1);
    assert!(served.ctl("cut-power")["pages_found"].as_u64() > Some(0));
    assert_eq!((&status()["power_cuts"], dead()), (&json!(1), 1));
    let begun = Instant::now();
    served.ctl("pause 60ms");
    assert!(begun.elapsed() >= Duration::from_millis(60));
    served.ctl("silent 0.5");
    served.ctl("restore before");
    let restored = status();
    assert_eq!((dead(), &restored["temperature"], &restored["snapshots"]), (0, &json!(25.0), &json!(["before"])));
    served.ctl("kill channel 0");
    assert!(dead() > 0 && status()["spare"].as_f64() < Some(1.0));
    let told: Vec<String> = status()["events"].as_array().expect("events").iter().map(|e| e["what"].to_string()).collect();
    assert!(told.contains(&"\"kill channel 0\"".into()) && told.contains(&"\"cut-power\"".into()), "{told:?}");
    for (command, what) in [
        ("kill die 99", "die 99: valid are 0 to"),
        ("kill page 10239", "holds nothing"),
        ("temperature 500C", "temperature 500: valid are -40 to 125"),
        ("slow die 0 x 0.1", "factor 0.1: valid are 1 to 1000"),
        ("pause 1h", "valid is up to"),
        ("restore never", "no snapshot `never`"),
        ("explode", "unknown command `explode`; known: kill die|block|page|channel N"),
        ("snapshot", "valid is `snapshot NAME`"),
    ] {
        let answer = served.ask(command);
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(what)), "{command}: {answer}");
    }
}

/// Commands and fields are those of the document, all of them.
#[test]
fn commands_and_fields_are_documented() {
    let served = Served::new("doc", disk(SETTINGS, ""), Pace::None);
    served.write(8);
    let status = served.ctl("status");
    let fields = status.as_object().expect("fields").keys().chain(status["dies"][0].as_object().expect("fields").keys());
    let missing: Vec<&String> = fields.filter(|field| *field != "ok" && !DOCUMENT.contains(&format!("`{field}`"))).collect();
    assert!(missing.is_empty(), "docs/serve.md says nothing of {missing:?}");
    for (form, _) in commands() {
        let first = form.split(' ').next().expect("a word");
        assert!(DOCUMENT.contains(&format!("`{first}")), "docs/serve.md says nothing of `{form}`");
    }
    let help = served.ctl("help");
    assert_eq!(help["commands"].as_array().map(Vec::len), Some(commands().count()));
}

fn events(served: &Served) -> Vec<Value> {
    served.ctl("status")["events"].as_array().expect("events").clone()
}

#[test]
fn a_schedule_happens_to_a_served_drive() {
    let schedule = "[[control]]\nat_request = 20\ndo = \"kill die 1\"\n[[control]]\nat_request = 30\ndo = \"cut-power\"\n\
                    [[control]]\nat_request = 40\ndo = \"kill die 1\"\n";
    let served = Served::new("plan", disk(SETTINGS, schedule), Pace::None);
    // One at a time: the 30th is under way when the power goes.
    let failed: Vec<u64> = (0..50)
        .filter(|&page| {
            let request = DiskRequest::Write { sector: page * 8, data: vec![7; 4096].into(), fua: Fua::Yes };
            served.server.call(request).is_err()
        })
        .collect();
    assert_eq!(failed, [29]);
    let told: Vec<Value> =
        events(&served).iter().map(|event| json!([event["what"], event["planned"], event["refused"]])).collect();
    let dead = json!("die 1 is dead already");
    assert_eq!(told, [json!(["kill die 1", true, null]), json!(["cut-power", true, null]), json!(["kill die 1", true, dead])]);
    assert_eq!(served.ctl("status")["power_cuts"], 1);
}

/// Requests that hang are answered when they are let go: by a command, and by a schedule.
#[test]
fn requests_hang_until_they_are_let_go() {
    let schedule = "[[control]]\nat_request = 1\ndo = \"hang on\"\n[[control]]\nat = \"400ms\"\ndo = \"hang off\"\n";
    for (schedule, by_command) in [("", true), (schedule, false)] {
        let served = Served::new("hang", disk(SETTINGS, schedule), Pace::None);
        if by_command {
            served.ctl("hang on");
        } else {
            served.write(1);
        }
        let begun = Instant::now();
        let server = served.server.clone();
        let client = std::thread::spawn(move || {
            let answer = server.call(DiskRequest::Read { sector: 0, sectors: 8 });
            (answer.is_ok(), begun.elapsed())
        });
        std::thread::sleep(Duration::from_millis(150));
        assert!(!client.is_finished(), "it hangs");
        if by_command {
            served.ctl("hang off");
        }
        let (is_answered, after) = client.join().expect("it is let go");
        assert!(is_answered && after >= Duration::from_millis(150), "{after:?}");
    }
}

fn programs(served: &Served, cause: &str) -> u64 {
    let status = served.ctl("status");
    let of_cause = status["flash_programs"].as_array().expect("pairs").iter().find(|pair| pair[0] == cause);
    of_cause.and_then(|pair| pair[1].as_u64()).unwrap_or(0)
}

/// With a clock, wall time in which nobody asks is idle time of the drive: it encodes what is stale, and virtual time is what the
/// clock says.
#[test]
fn with_a_clock_a_drive_that_nobody_asks_goes_on_with_its_work() {
    let settings = "schemes = [\"code-zones\"]\ncapacity.size = \"32MiB\"\ndrive.preset = \"mlc-2014\"\n\
                    age.bad_blocks = 0.0\nscheme.code-zones.spare_blocks = 3\n";
    let served = Served::new("real", disk(settings, ""), Pace::Times(1.0));
    served.write(600);
    // Zones that are read are those that get a code.
    (0..100).for_each(|page| drop(served.read(page)));
    let (before, begun) = (served.ctl("status"), Instant::now());
    wait_until("encoding", || programs(&served, "encode") > 0);
    std::thread::sleep(Duration::from_millis(200));
    let (after, wall) = (served.ctl("status"), begun.elapsed().as_secs_f64());
    assert_eq!(after["writes"], before["writes"], "nobody asked");
    let passed = after["time_s"].as_f64().expect("a time") - before["time_s"].as_f64().expect("a time");
    assert!(passed >= 0.2 - 0.05 && passed <= wall + 0.05, "{passed} s of {wall}");
}

/// The same for data that grow old, 100 000 times as fast as the clock: in a day at 25 C nothing is due, at 85 C their years pass in
/// that time, and they are refreshed.
#[test]
fn with_a_clock_data_that_grow_old_are_refreshed() {
    let settings = format!("{SETTINGS}refresh.policy = \"joint\"\nage.pe_cycles = 10000\n");
    let served = Served::new("fresh", disk(&settings, ""), Pace::Times(1e5));
    served.write(256);
    let written = served.ctl("status")["writes"].clone();
    std::thread::sleep(Duration::from_millis(900));
    assert_eq!(programs(&served, "refresh"), 0);
    served.ctl("temperature 85C");
    wait_until("refresh", || programs(&served, "refresh") > 0);
    assert_eq!(served.ctl("status")["writes"], written, "nobody asked");
}
