//! The dashboard: one page, on a port of the loopback device, that shows how the drive is and has buttons for what may happen to
//! it. Anyone on this machine may look and press; pages of other places may not ([`http`]).

mod http;

use crate::control::command::{run, status};
use crate::directory::ServeError;
use crate::server::Server;
use http::Request;
use serde_json::{Value, json};
use ssd::disk::Control;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// Its port, unless another is named.
pub const DASHBOARD_PORT: u16 = 9345;

/// Between two samples.
const SAMPLE: Duration = Duration::from_millis(500);

/// Connections at the same time, at most.
const CLIENTS_MAX: usize = 32;

const PAGE: &str = include_str!("../../assets/dashboard.html");
const STYLE: &str = include_str!("../../assets/dashboard.css");
const SCRIPT: &str = include_str!("../../assets/dashboard.js");

/// The page, with all that it needs.
#[must_use]
pub fn page() -> String {
    PAGE.replace("{{style}}", STYLE).replace("{{script}}", SCRIPT)
}

/// Data for the page, as of the last sample: a drive that does nothing for a while is shown nevertheless.
#[derive(Default)]
struct Live {
    status: Value,
    samples: Vec<Value>,
    events: Vec<Value>,
}

/// A dashboard.
pub struct Dashboard;

impl Dashboard {
    /// Whether the port is free.
    ///
    /// # Errors
    /// If someone has it.
    pub fn check(port: u16) -> Result<(), ServeError> {
        bind(port).map(drop)
    }

    /// Serves the page on this port of 127.0.0.1 from now on, until the process ends; 0: on any. Which one it is.
    ///
    /// # Errors
    /// If someone has it.
    pub fn listen(port: u16, server: &Arc<Server>) -> Result<u16, ServeError> {
        let listener = bind(port)?;
        let port = listener.local_addr().map_or(port, |address| address.port());
        let live = Arc::new(Mutex::new(Live::default()));
        server.job(crate::core::Core::watch);
        let (weak, into) = (Arc::downgrade(server), live.clone());
        thread::spawn(move || keep_looking(&weak, &into));
        let (server, clients) = (server.clone(), Arc::new(AtomicUsize::new(0)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS_MAX {
                    clients.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let (server, live, clients) = (server.clone(), live.clone(), clients.clone());
                thread::spawn(move || {
                    // A client that goes away is no failure.
                    let _ = serve(stream, port, &server, &live);
                    clients.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Ok(port)
    }
}

fn bind(port: u16) -> Result<TcpListener, ServeError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        ServeError::Other(format!("127.0.0.1:{port}: no dashboard there: {error}; another port is named with --dashboard PORT"))
    })
}

/// Takes samples.
fn keep_looking(server: &Weak<Server>, live: &Mutex<Live>) {
    while let Some(server) = server.upgrade() {
        let looked = server.job(|core| {
            core.sample();
            let samples = core.history.as_ref().map(|history| history.since(0)).unwrap_or_default();
            Live { status: status(core), samples, events: core.events.since(0) }
        });
        if let Some(looked) = looked {
            *live.lock().unwrap_or_else(PoisonError::into_inner) = looked;
        }
        drop(server);
        thread::sleep(SAMPLE);
    }
}

fn serve(mut stream: TcpStream, port: u16, server: &Server, live: &Mutex<Live>) -> io::Result<()> {
    stream.set_read_timeout(Some(http::PATIENCE))?;
    stream.set_write_timeout(Some(http::PATIENCE))?;
    let (status, kind, body) = match http::read(&mut stream, port)? {
        Err((status, reason)) => (status, "text/plain", format!("{reason}\n")),
        Ok(request) => respond(&request, server, live),
    };
    http::answer(&mut stream, status, &format!("{kind}; charset=utf-8"), body.as_bytes())?;
    stream.shutdown(Shutdown::Write)
}

fn respond(request: &Request, server: &Server, live: &Mutex<Live>) -> (u16, &'static str, String) {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/") => (200, "text/html", page()),
        ("GET", "/live") => (200, "application/json", told(live, &request.query).to_string()),
        ("POST", "/control") => match control(&request.body, server) {
            Ok(answer) => (200, "application/json", answer.to_string()),
            Err(error) => (400, "application/json", json!({ "ok": false, "error": error }).to_string()),
        },
        _ => (404, "text/plain", "there is a page at /\n".to_owned()),
    }
}

/// Events after the sample and the event that the query names.
fn told(live: &Mutex<Live>, query: &str) -> Value {
    let number = |name: &str| {
        let of_name = |pair: &str| pair.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok();
        query.split('&').find_map(of_name).unwrap_or(0)
    };
    let (sample, event) = (number("sample"), number("event"));
    let live = live.lock().unwrap_or_else(PoisonError::into_inner);
    let after = |list: &[Value], number: u64| -> Vec<Value> {
        list.iter().filter(|value| value["number"].as_u64() > Some(number)).cloned().collect()
    };
    let last = live.samples.last().map_or(0, |sample| sample["number"].as_u64().unwrap_or(0));
    json!({ "last": last, "status": live.status, "samples": after(&live.samples, sample), "events": after(&live.events, event) })
}

/// Carries out what a button says. Recordings make files, and are for those who may open the control socket.
fn control(body: &[u8], server: &Server) -> Result<Value, String> {
    let asked: Value = serde_json::from_slice(body).map_err(|error| format!("no JSON: {error}"))?;
    let command = asked["command"].as_str().ok_or("found no text `command`")?;
    let is_memory = matches!(command.split_whitespace().next(), Some("snapshot" | "restore"));
    if !is_memory {
        command.parse::<Control>()?;
    }
    match run(command, server)? {
        Value::Object(mut fields) => {
            fields.insert("ok".into(), true.into());
            Ok(Value::Object(fields))
        }
        _ => Ok(json!({ "ok": true })),
    }
}
