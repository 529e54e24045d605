//! The dashboard in a browser: that it fits, draws, and sends what its buttons say. Where no browser is installed the test says so
//! and passes; `FLASHKEEP_BROWSER` names one that is not in the path.
#![cfg(unix)]

mod common;

use common::{SETTINGS, Served, disk};
use flashkeep_serve::{Dashboard, Pace, page};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

fn browser() -> Option<OsString> {
    let answers = |name: &OsString| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let found = std::env::var_os("FLASHKEEP_BROWSER").into_iter().chain(BROWSERS.map(OsString::from)).find(answers);
    if found.is_none() {
        eprintln!("skipped: no browser found ({}); FLASHKEEP_BROWSER names one", BROWSERS.join(", "));
    }
    found
}

/// Page of an address, as the browser makes it.
fn dump(browser: &OsString, address: &str, profile: &Path, width: u32) -> String {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=3000", "--dump-dom"])
        .arg(format!("--window-size={},900", width.max(600)))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(address)
        .output()
        .expect("the browser starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A drive that something happened to, and its dashboard.
fn served(name: &str) -> (Served, u16) {
    let served = Served::new(name, disk(SETTINGS, "[[control]]\nat_request = 900\ndo = \"slow die 2 x 10\"\n"), Pace::None);
    let port = Dashboard::listen(0, &served.server).unwrap_or_else(|error| panic!("{error}"));
    served.ctl("wear +2000");
    for round in 0..3 {
        served.write(1500);
        (0..200).for_each(|page| drop(served.read(page)));
        if round == 0 {
            served.ctl("kill die 3");
            assert_eq!(served.ask("kill die 3")["ok"], false);
        }
        std::thread::sleep(Duration::from_millis(600));
    }
    (served, port)
}

fn live(port: u16) -> Value {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
    write!(stream, "GET /live HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    serde_json::from_str(answer.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
}

fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dashboard").join(name);
    std::fs::create_dir_all(&place).expect("the directory of tests can be written");
    place
}

/// Catches charts that do not draw, anything that does not fit on a telephone, buttons that send something else than the control
/// socket knows, and any error of a script.
#[test]
fn it_fits_draws_and_sends_what_its_buttons_say() {
    let Some(browser) = browser() else { return };
    let (served, port) = served("frame");
    let live = live(port);
    let script = format!("<script>\nconst LIVE = {live};\n{}</script>\n</head>", include_str!("browser.js"));
    let inside = page().replacen("</head>", &script, 1).replace('&', "&amp;").replace('"', "&quot;");
    for width in [400, 1280] {
        let directory = place(&format!("frame-{width}"));
        // A window has a least width, a frame has not.
        let frame = format!(
            "<body style=\"margin:0\"><iframe srcdoc=\"{inside}\" style=\"border:0;width:{width}px;height:900px\"></iframe>"
        );
        let around = directory.join("frame.html");
        std::fs::write(&around, frame).expect("the directory of tests can be written");
        let dom = dump(&browser, &format!("file://{}", around.display()), &directory.join("profile"), width);
        let dom = dom.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let said = dom.rsplit_once("<said>").and_then(|(_, rest)| rest.split_once("</said>")).map(|(said, _)| said.to_owned());
        let said: Value = serde_json::from_str(&said.unwrap_or_else(|| panic!("the page says nothing"))).expect("JSON");
        assert_eq!(said["wrong"], serde_json::json!([]), "at {width} pixels");
        let sent: Vec<&str> = said["sent"].as_array().expect("commands").iter().filter_map(Value::as_str).collect();
        assert_eq!(sent.first(), Some(&"kill die 3"));
        for command in sent.iter().filter(|command| !command.starts_with("snapshot") && !command.starts_with("restore")) {
            command.parse::<ssd::disk::Control>().unwrap_or_else(|error| panic!("{command}: {error}"));
        }
        assert_eq!(sent.len(), 13, "{sent:?}");
    }
    drop(served);
}

/// The page as it is served, under its own rules of what may be loaded: it shows the drive.
#[test]
fn it_shows_a_served_drive() {
    let Some(browser) = browser() else { return };
    let (served, port) = served("whole");
    let dom = dump(&browser, &format!("http://127.0.0.1:{port}/"), &place("whole").join("profile"), 1280);
    assert!(dom.contains("kill die 3: die 3 is dead already"), "{}", &dom[..dom.len().min(500)]);
    assert_eq!(dom.matches("class=\"die dead\"").count(), 1);
    assert!(dom.matches("<path").count() >= 7);
    drop(served);
}
