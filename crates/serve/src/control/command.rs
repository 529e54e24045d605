//! Commands to a drive beside requests, as words.

use super::snapshots;
use crate::core::Core;
use crate::record::{Recorder, is_empty};
use crate::server::Server;
use crate::steps::{MARK_MAX, Step};
use serde_json::{Value, json};
use ssd::disk::{CONTROLS, Control, SECTOR};
use std::path::Path;

/// Commands beside [`CONTROLS`]: what they look like, and what they do.
const COMMANDS: &[(&str, &str)] = &[
    ("status", "health: a summary on a terminal, else JSON; `status FIELD` prints one value, such as `status dies.3.alive`"),
    ("cut-power --disconnect", "cut-power, and all clients are disconnected, as if their machine had crashed with the drive"),
    ("snapshot NAME [--force]", "saves the whole drive; `--force` replaces a snapshot of that name"),
    ("snapshots", "the names of all snapshots"),
    ("restore NAME", "the drive returns to the snapshot; outstanding requests fail"),
    ("delete-snapshot NAME", "removes the snapshot and its files"),
    ("record FILE|off", "records the requests of clients: FILE, a fio log, and FILE.data, the bytes of all writes"),
    ("mark NAME", "adds a mark to the recording, which a check of `flashkeep crash` finds"),
    ("stop", "outstanding requests complete and become durable, clients are disconnected, and the process ends"),
    ("help", "this list"),
];

/// All commands: what they look like, and what they do.
pub fn commands() -> impl Iterator<Item = (&'static str, &'static str)> {
    let (status, others) = COMMANDS.split_at(1);
    status.iter().chain(CONTROLS).chain(others).copied()
}

/// Result of a command.
pub(super) type Done = Result<Value, String>;

/// How a command of [`COMMANDS`] is written.
fn form_of(first: &str) -> &'static str {
    COMMANDS.iter().map(|(form, _)| *form).find(|form| form.split(' ').next() == Some(first)).unwrap_or_default()
}

/// Carries out a command.
pub(crate) fn run(command: &str, server: &Server) -> Done {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words[..] {
        ["status"] => on(server, |core| Ok(status(core))),
        ["help"] => Ok(json!({ "commands": commands().map(|(form, about)| json!([form, about])).collect::<Vec<_>>() })),
        ["cut-power", "--disconnect"] => cut_with_clients(server),
        ["cut-power", _, ..] => Err("valid is `cut-power [--disconnect]`".into()),
        ["errors", "--down", down, "--up", up] => run(&format!("errors --up {up} --down {down}"), server),
        ["stop"] => server.stop().map(|clients| json!({ "clients": clients })),
        ["snapshots"] => on(server, |core| Ok(json!({ "snapshots": core.snapshots.keys().collect::<Vec<_>>() }))),
        ["snapshot", name] => snapshots::take(server, name.to_owned(), false),
        ["snapshot", name, "--force"] | ["snapshot", "--force", name] => snapshots::take(server, name.to_owned(), true),
        ["restore", name] => snapshots::restore(server, name.to_owned()),
        ["delete-snapshot", name] => snapshots::delete(server, name.to_owned()),
        ["stop" | "snapshots" | "delete-snapshot", ..] => Err(format!("valid is `{}`", form_of(words[0]))),
        ["record", "off"] => on(server, record_off),
        ["record", file] => record(server, file.to_owned()),
        ["mark", ref name @ ..] if !name.is_empty() => mark(server, name.join(" ")),
        [first @ ("status" | "help" | "snapshot" | "restore" | "record" | "mark"), ..] => {
            Err(format!("valid is `{}`", form_of(first)))
        }
        _ => match command.parse::<Control>() {
            Ok(control) => carry_out(server, control),
            Err(what) if what.starts_with("unknown command") => {
                let own: Vec<&str> = COMMANDS.iter().map(|(form, _)| *form).collect();
                Err(format!("{what}, {}", own.join(", ")))
            }
            Err(what) => Err(what),
        },
    }
}

/// Does something between two requests.
pub(super) fn on(server: &Server, job: impl FnOnce(&mut Core) -> Done + Send + 'static) -> Done {
    server.job(job).unwrap_or_else(|| Err("the drive is broken".into()))
}

/// Lets something happen to the drive.
fn carry_out(server: &Server, control: Control) -> Done {
    if let Control::Hang(hangs) = control {
        server.hang(hangs);
    }
    on(server, move |core| {
        let done = match &control {
            Control::CutPower => cut_power(core),
            _ => plainly(core, &control),
        };
        core.note(&control.to_string(), done.as_ref().err().cloned());
        done
    })
}

fn plainly(core: &mut Core, control: &Control) -> Done {
    core.disk.carry_out(control).map_err(|error| error.to_string())?;
    match control {
        Control::Pause(time) => core.stall(*time),
        Control::Lie(..) | Control::Errors(_) | Control::Corrupt(_) => core.deceit.begin(control, core.disk.now()),
        Control::Age(_) | Control::Idle(_) | Control::Replace(_) => {
            core.set_clock();
            return Ok(json!({ "time_s": core.disk.now().0 as f64 * 1e-9 }));
        }
        _ => {}
    }
    Ok(Value::Null)
}

/// The power goes, in the machine of the clients, too.
fn cut_with_clients(server: &Server) -> Done {
    let server_of_job = server.itself();
    on(server, move |core| {
        // No request that comes after the cut is of a client that was there before it.
        let clients = server_of_job.disconnect(core)?;
        let done = cut_power(core).map(|mut told| {
            told["clients"] = json!(clients);
            told
        });
        core.note("cut-power", done.as_ref().err().cloned());
        done
    })
}

fn cut_power(core: &mut Core) -> Done {
    let (mounted, answers) = core.disk.cut_power().map_err(|error| error.to_string())?;
    let cut = answers.iter().filter(|answer| answer.result == Err(ssd::disk::Failed::PowerCut)).count();
    core.deliver(answers);
    core.set_clock();
    Ok(json!({
        "requests_cut": cut,
        "pages_found": mounted.mapped,
        "unreadable_pages": mounted.unreadable,
        "mount_s": mounted.time.0 as f64 * 1e-9,
        "read_only": mounted.read_only,
    }))
}

fn record(server: &Server, file: String) -> Done {
    on(server, move |core| {
        if core.recorder.is_some() {
            return Err("a recording is under way; `record off` ends it".into());
        }
        let size = core.disk.sectors() * SECTOR as u64;
        let recorder = Recorder::new(Path::new(&file), Some(size), !is_empty(&core.disk));
        core.recorder = Some(recorder.map_err(|error| format!("{file}: {error}"))?);
        Ok(Value::Null)
    })
}

fn mark(server: &Server, name: String) -> Done {
    if name.len() > MARK_MAX {
        return Err(format!("a mark of {} bytes; valid are up to {MARK_MAX}", name.len()));
    }
    on(server, move |core| {
        let Some(recorder) = &mut core.recorder else {
            return Err("nothing is recorded: a mark is one of a recording; `record FILE` begins one".into());
        };
        recorder.note(&Step::Mark(name));
        Ok(Value::Null)
    })
}

fn record_off(core: &mut Core) -> Done {
    let Some(recorder) = core.recorder.take() else { return Err("nothing is recorded".into()) };
    recorder.finish().map(|requests| json!({ "requests": requests })).map_err(|error| error.to_string())
}

pub(crate) fn status(core: &Core) -> Value {
    let status = core.disk.status();
    let mut value = serde_json::to_value(&status).expect("numbers and texts");
    let (answers, late) = (core.lateness.answers, core.lateness.late);
    value["late_share"] = if answers > 0 { json!(late as f64 / answers as f64) } else { Value::Null };
    value["first_mismatch"] = json!(core.disk.first_mismatch());
    value["broken"] = json!(core.broken);
    value["recording"] = json!(core.recorder.as_ref().map(|recorder| recorder.requests));
    value["events"] = json!(core.events.last());
    core.deceit.tell(&mut value);
    value["snapshots"] = json!(core.snapshots.keys().collect::<Vec<_>>());
    value
}
