//! The dashboard's port: what it answers, and what it refuses.
#![cfg(unix)]

mod common;

use common::{SETTINGS, Served, disk};
use flashkeep_serve::{Dashboard, Pace};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    stream
}

/// Sends bytes; status and body of the answer.
fn send(port: u16, bytes: &[u8]) -> (u16, String) {
    let mut stream = connect(port);
    // It may have gone before all was sent.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, body.to_owned())
}

fn get(port: u16, path: &str) -> (u16, String) {
    send(port, format!("GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").as_bytes())
}

fn post(port: u16, more: &str, command: &str) -> (u16, Value) {
    let body = serde_json::json!({ "command": command }).to_string();
    let head =
        format!("POST /control HTTP/1.1\r\n{more}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    let (status, body) = send(port, format!("{head}{body}").as_bytes());
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

/// The page as it is, the drive as it is twice a second, and what buttons do.
#[test]
fn it_shows_the_drive_and_its_buttons_do_what_they_say() {
    let served = Served::new("dash", disk(SETTINGS, ""), Pace::None);
    let port = Dashboard::listen(0, &served.server).unwrap_or_else(|error| panic!("{error}"));
    let (status, page) = get(port, "/");
    assert!(status == 200 && page.contains("<title>") && !page.contains("{{"));
    // Nothing is loaded from elsewhere.
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!outside.contains("http://") && !outside.contains("https://") && !outside.contains("src="));
    served.write(300);
    let host = format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n");
    let (status, answer) = post(port, &host, "kill die 3");
    assert_eq!((status, &answer["ok"]), (200, &Value::Bool(true)));
    assert!(post(port, &host, "kill die 3").1["error"].as_str().is_some_and(|error| error.contains("dead already")));
    for refused in ["record somewhere", "help me", ""] {
        assert_eq!(post(port, &host, refused).0, 400, "{refused}");
    }
    let live = || -> Value { serde_json::from_str(&get(port, "/live").1).expect("JSON") };
    let is_seen = |live: &Value| {
        let samples = live["samples"].as_array().into_iter().flatten();
        let writes: u64 = samples.map(|sample| sample["requests"]["writes"].as_u64().unwrap_or(0)).sum();
        writes == 300 && live["events"].as_array().is_some_and(|events| events.iter().any(|event| event["what"] == "kill die 3"))
    };
    let seen = (0..200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        Some(live()).filter(is_seen)
    });
    let seen = seen.expect("it is sampled");
    assert_eq!(seen["status"]["dies"][3]["alive"], false);
    let busy = seen["samples"].as_array().expect("samples").iter().find(|sample| sample["requests"]["writes"] != 0).expect("one");
    let [p50, p99, longest] = ["p50_us", "p99_us", "longest_us"].map(|key| busy[key].as_f64().expect("a time"));
    assert!(p50 > 0.0 && p50 <= p99 && p99 <= longest, "{busy}");
    let last = seen["last"].as_u64().expect("a number");
    let after: Value = serde_json::from_str(&get(port, &format!("/live?sample={last}&event=1")).1).expect("JSON");
    assert!(after["samples"].as_array().expect("samples").iter().all(|sample| sample["number"].as_u64() > Some(last)));
    assert!(after["events"].as_array().expect("events").iter().all(|event| event["number"].as_u64() > Some(1)));
}

/// A page of another place that a browser here shows presses no button, and nonsense does no harm.
#[test]
fn what_comes_from_elsewhere_is_refused_and_the_drive_goes_on() {
    let served = Served::new("evil", disk(SETTINGS, ""), Pace::None);
    let port = Dashboard::listen(0, &served.server).unwrap_or_else(|error| panic!("{error}"));
    let ours = format!("Host: localhost:{port}\r\n");
    for (more, status) in [
        (format!("Host: evil.example:{port}\r\n"), 403),
        (format!("Host: localhost:{}\r\n", port ^ 1), 403),
        (format!("{ours}Origin: http://evil.example\r\n"), 403),
        (format!("{ours}Origin: null\r\n"), 403),
        (format!("{ours}Sec-Fetch-Site: cross-site\r\n"), 403),
        (String::new(), 400),
    ] {
        assert_eq!(post(port, &more, "kill die 1").0, status, "{more}");
    }
    let form = format!(
        "POST /control HTTP/1.1\r\n{ours}Content-Type: text/plain\r\nContent-Length: 24\r\n\r\n{{\"command\":\"kill die 1\"}}"
    );
    assert_eq!(send(port, form.as_bytes()).0, 415);
    let huge = format!("GET / HTTP/1.1\r\n{ours}X: {}\r\n\r\n", "y".repeat(1 << 20));
    assert!([431, 0].contains(&send(port, huge.as_bytes()).0));
    let deep = "[".repeat(4000);
    let deep =
        format!("POST /control HTTP/1.1\r\n{ours}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{deep}", deep.len());
    assert_eq!(send(port, deep.as_bytes()).0, 400);
    let mut draws = vocab::Streams::new(4).stream("test/garbage");
    for _ in 0..60 {
        let garbage: Vec<u8> = (0..draws.below(4000)).map(|_| draws.below(256) as u8).collect();
        assert_ne!(send(port, &garbage).0, 200);
    }
    // Clients that say nothing take no room from those who come later, once they have gone.
    let held: Vec<TcpStream> = (0..100).map(|_| connect(port)).collect();
    drop(held);
    let answered = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        get(port, "/live").0 == 200
    });
    assert!(answered);
    let status = served.ctl("status");
    assert!(status["dies"].as_array().expect("dies").iter().all(|die| die["alive"] == true), "no button was pressed");
}
