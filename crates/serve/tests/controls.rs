//! Every command of the control socket, schedules of a served drive, and time that passes while no one asks.
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
        ("snapshot", "valid is `snapshot NAME [--force]`"),
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

/// With a clock, wall time in which no one asks is idle time of the drive: it encodes what is stale, and virtual time is what the
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
    assert_eq!(after["writes"], before["writes"], "no one asked");
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
    assert_eq!(served.ctl("status")["writes"], written, "no one asked");
}

/// Settings of a drive whose buffer loses what was not flushed.
const VOLATILE: &str =
    "schemes = [\"none\"]\ncapacity.size = \"16MiB\"\ndrive.preset = \"mlc-2014\"\nbuffer.kind = \"volatile\"\n";

fn write(served: &Served, page: u64, byte: u8, fua: Fua) {
    let request = DiskRequest::Write { sector: page * 8, data: vec![byte; 4096].into(), fua };
    served.server.call(request).unwrap_or_else(|failed| panic!("{failed:?}"));
}

/// Flushes that are answered and dropped: what a client was told to be durable is lost at a cut, and the drive does not count that as a
/// wrong read of its own. With honest flushes the same pages are there.
#[test]
fn a_drive_that_lies_about_flushes_loses_what_it_said_was_durable() {
    for lies in [false, true] {
        let served = Served::new("lie-flushes", disk(VOLATILE, ""), Pace::Still);
        write(&served, 0, 1, Fua::Yes);
        served.ctl(if lies { "lie flushes on" } else { "lie flushes off" });
        write(&served, 0, 2, Fua::Yes);
        write(&served, 1, 2, Fua::No);
        served.server.call(DiskRequest::Flush).expect("it is answered");
        let told = served.ctl("status");
        served.ctl("cut-power");
        let found: Vec<u8> = (0..2).map(|page| served.read(page).expect("it reads")[0]).collect();
        assert_eq!(found, if lies { [1, 0] } else { [2, 2] });
        let lied = json!([told["dropped_flushes"], told["lies"]]);
        assert_eq!(lied, if lies { json!([2, ["flushes"]]) } else { json!([0, []]) });
        let status = served.ctl("status");
        assert_eq!((&status["mismatches"], &status["first_mismatch"]), (&json!(0), &Value::Null));
    }
}

/// Writes that are answered and dropped read as what was there before, with no violation counted, until the lie ends.
#[test]
fn a_drive_that_lies_about_writes_keeps_what_it_had() {
    let served = Served::new("lie-writes", disk(VOLATILE, ""), Pace::Still);
    write(&served, 0, 1, Fua::Yes);
    served.ctl("lie writes on");
    write(&served, 0, 2, Fua::Yes);
    served.server.call(DiskRequest::Discard { sector: 0, sectors: 8 }).expect("it is answered");
    assert_eq!(served.read(0), Ok(vec![1; 4096]));
    served.ctl("lie writes off");
    write(&served, 1, 3, Fua::No);
    assert_eq!((served.read(0), served.read(1)), (Ok(vec![1; 4096]), Ok(vec![3; 4096])));
    let status = served.ctl("status");
    assert_eq!((&status["dropped_writes"], &status["writes"], &status["mismatches"]), (&json!(2), &json!(2), &json!(0)));
}

/// Windows of errors against a clock of their own: one request for each second of virtual time.
#[test]
fn requests_fail_in_windows_of_virtual_time() {
    for (command, schedule) in
        [("errors --up 10s --down 2s", ""), ("", "[[control]]\nat = \"0s\"\ndo = \"errors --up 10s --down 2s\"\n")]
    {
        let served = Served::new("windows", disk(VOLATILE, schedule), Pace::Still);
        if !command.is_empty() {
            served.ctl(command);
        }
        let fails = || served.read(0).is_err();
        let found: Vec<bool> = (0..30)
            .map(|_| {
                let failed = fails();
                served.ctl("idle 1s");
                failed
            })
            .collect();
        let expected: Vec<bool> = (0..30).map(|second| second % 12 >= 10).collect();
        assert_eq!(found, expected);
        assert_eq!(served.ctl("status")["failed_as_asked"], 4);
        served.ctl("errors --up 0s --down 1h");
        assert!(fails());
        served.ctl("errors off");
        assert!(!fails());
    }
}

/// One byte of all reads as another, in whatever request it comes, until it is written or the drive is put back.
#[test]
fn a_corrupt_byte_is_another_until_it_is_written() {
    let served = Served::new("corrupt", disk(VOLATILE, ""), Pace::Still);
    write(&served, 0, 7, Fua::Yes);
    served.ctl("snapshot before");
    served.ctl("corrupt 1000");
    let mut expected = vec![7; 4096];
    expected[1000] = !7;
    assert_eq!(served.read(0), Ok(expected.clone()));
    assert_eq!(served.server.call(DiskRequest::Read { sector: 1, sectors: 1 }), Ok(expected[512..1024].to_vec()));
    served.ctl("cut-power");
    assert_eq!(served.read(0), Ok(expected.clone()), "after a cut, too");
    let other = DiskRequest::Write { sector: 0, data: vec![8; 512].into(), fua: Fua::No };
    served.server.call(other).expect("it is written");
    expected[..512].fill(8);
    assert_eq!(served.read(0), Ok(expected), "another sector was written");
    served.server.call(DiskRequest::Write { sector: 1, data: vec![8; 512].into(), fua: Fua::No }).expect("it is written");
    assert_eq!(served.read(0).map(|data| data[1000]), Ok(8));
    served.ctl("corrupt 1000");
    served.ctl("restore before");
    assert_eq!(served.read(0), Ok(vec![7; 4096]));
    let status = served.ctl("status");
    assert_eq!((&status["corrupt_bytes"], &status["mismatches"]), (&json!(0), &json!(0)));
    // A page that holds nothing is no hole for who wants to skip holes.
    let is_hole = || served.server.job(|core| core.is_hole(8 * 100));
    assert_eq!(is_hole(), Some(true));
    served.ctl(&format!("corrupt {}", 4096 * 100 + 4095));
    assert_eq!(is_hole(), Some(false));
    let refused = served.ask("corrupt 16777216");
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("byte 16777216: valid are 0 to 16777215")), "{refused}");
}
