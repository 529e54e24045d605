//! The control socket: JSON lines over a Unix socket. A line in is `{"command": "kill die 3"}`, a line out `{"ok": true, ..}` or
//! `{"ok": false, "error": ".."}`. Lines may come from anyone who can open the socket, and may be anything.

pub(crate) mod command;
mod snapshots;

pub use command::commands;

use crate::directory::{DriveDirectory, ServeError};
use crate::server::Server;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Longest line that is read, in bytes.
const LINE_MAX: u64 = 1 << 16;

/// Clients at the same time, at most.
const CLIENTS_MAX: usize = 64;

/// A control socket.
pub struct Control;

impl Control {
    /// Listens at `path` from now on, until the process ends. A socket that no one listens at is replaced.
    ///
    /// # Errors
    /// If someone listens there, or the socket cannot be made.
    pub fn listen(path: &Path, server: &Arc<Server>) -> Result<(), ServeError> {
        let listener = bind(path)?;
        let (server, clients) = (server.clone(), Arc::new(AtomicUsize::new(0)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS_MAX {
                    clients.fetch_sub(1, Ordering::Relaxed);
                    let _ = tell(&stream, &refusal(&format!("there are {CLIENTS_MAX} clients already")));
                    continue;
                }
                let (server, clients) = (server.clone(), clients.clone());
                thread::spawn(move || {
                    // A client that goes away is no failure.
                    let _ = serve(&stream, &server);
                    clients.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Ok(())
    }
}

/// Longest path of a Unix socket, in bytes.
const SOCKET_PATH_MAX: usize = 107;

/// Makes sure that a socket can be made at a path: it is short enough, and no one listens there.
pub(crate) fn clear(path: &Path) -> Result<(), ServeError> {
    let length = path.as_os_str().len();
    if length > SOCKET_PATH_MAX {
        let found = path.display();
        return Err(ServeError::Other(format!(
            "{found}: a path of {length} bytes; a Unix socket has {SOCKET_PATH_MAX} at most: name a shorter one"
        )));
    }
    if !path.exists() {
        return Ok(());
    }
    if UnixStream::connect(path).is_ok() {
        return Err(ServeError::Other(format!("{}: a drive is served there already", path.display())));
    }
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()));
    if !is_socket {
        return Err(ServeError::Other(format!("{}: there is something that is no socket", path.display())));
    }
    fs::remove_file(path).map_err(|error| ServeError::File(path.to_owned(), "remove", error))
}

fn bind(path: &Path) -> Result<UnixListener, ServeError> {
    clear(path)?;
    UnixListener::bind(path).map_err(|error| ServeError::File(path.to_owned(), "listen", error))
}

fn refusal(error: &str) -> Value {
    json!({ "ok": false, "error": common::without_numbers(error) })
}

fn tell(mut stream: &UnixStream, value: &Value) -> io::Result<()> {
    stream.write_all(format!("{value}\n").as_bytes())
}

/// Answers lines until the client goes.
fn serve(stream: &UnixStream, server: &Arc<Server>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let read = reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && read as u64 == LINE_MAX {
            // Where the next line begins is not known.
            return tell(stream, &refusal(&format!("a line of more than {LINE_MAX} bytes")));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let told = tell(stream, &answer(&line, server));
        if server.is_stopping() {
            server.end();
        }
        told?;
    }
}

fn answer(line: &[u8], server: &Arc<Server>) -> Value {
    let parsed: Result<Value, _> = serde_json::from_slice(line);
    let command = match &parsed {
        Ok(value) => value.get("command").and_then(Value::as_str),
        Err(error) => return refusal(&format!("no JSON: {error}")),
    };
    let Some(command) = command else { return refusal("found no text `command`; valid is {\"command\": \"status\"}") };
    match command::run(command, server) {
        Ok(Value::Object(mut fields)) => {
            fields.insert("ok".into(), true.into());
            Value::Object(fields)
        }
        Ok(_) => json!({ "ok": true }),
        Err(error) => refusal(&error),
    }
}

/// Sends a command to the socket at `path`; the answer. After `stop` the process has ended when this returns.
///
/// # Errors
/// If no drive is served there, or the answer is none.
pub fn ask(path: &Path, command: &str) -> Result<Value, ServeError> {
    let file = |doing| {
        let path: PathBuf = path.to_owned();
        move |error| ServeError::File(path, doing, error)
    };
    let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => not_served(path),
        _ => file("connect")(error),
    })?;
    tell(&stream, &json!({ "command": command })).map_err(file("write"))?;
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    reader.read_line(&mut line).map_err(file("read"))?;
    if command.trim() == "stop" {
        // The end of the process ends the connection, in whatever way.
        let _ = reader.read_to_end(&mut Vec::new());
    }
    serde_json::from_str(&line).map_err(|error| ServeError::Other(format!("{}: no answer: {error}", path.display())))
}

/// The socket is not there, or leads to a process that has ended.
fn not_served(socket: &Path) -> ServeError {
    let drive = socket.parent().map(DriveDirectory::at).filter(|drive| drive.is_there() && drive.control_socket() == socket);
    ServeError::Other(match drive {
        Some(drive) => {
            let path = drive.path().display();
            format!("{path} is not served: `flashkeep serve {path}` serves it")
        }
        None => format!("{}: no drive is served there", socket.display()),
    })
}
