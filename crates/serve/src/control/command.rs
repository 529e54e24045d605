//! What may be asked of a drive beside requests, as words.

use crate::core::{Core, nanos};
use crate::record::Recorder;
use crate::server::Server;
use lab::served::Part;
use serde_json::{Value, json};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use vocab::Nanos;

/// Commands: what they look like, and what they do.
pub const COMMANDS: &[(&str, &str)] = &[
    ("status", "health: the fields are those of docs/serve.md"),
    ("kill die|block|page N", "the part is lost for good; a page until its block is erased"),
    ("wear-out N", "block N takes nothing any more; what it holds stays until an erase of it is tried"),
    ("cut-power", "what is volatile is gone; requests under way fail; the drive mounts and recovers"),
    ("age TIME", "the drive lies switched off for so long: 90d"),
    ("idle TIME", "nobody asks anything for so long: collection, refresh and patrol go on"),
    ("wear CYCLES", "every block has so many P/E cycles more"),
    ("silent CHANCE", "page reads return another page and report success with this probability: 1e-4"),
    ("pause TIME", "the drive does nothing for so long, on the wall clock: 300ms; at most 60s"),
    ("hang on|off", "requests that come from now on are not answered, until `off`"),
    ("snapshot NAME", "remembers the whole drive"),
    ("restore NAME", "the drive is what it was; requests under way fail"),
    ("record FILE|off", "records what clients ask: a fio log, and FILE.data with what they wrote"),
    ("help", "these lines"),
];

/// Known, and not there yet.
const MISSING: &[&str] = &["temperature", "slow", "dashboard"];

/// Snapshots that are kept at most: each may take as much memory as the drive.
const SNAPSHOTS_MAX: usize = 16;

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(60);

type Done = Result<Value, String>;

/// Carries out a command.
pub(super) fn run(command: &str, server: &Arc<Server>) -> Done {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words[..] {
        ["status"] => on(server, |core| Ok(status(core))),
        ["help"] => Ok(json!({ "commands": COMMANDS.iter().map(|(form, about)| json!([form, about])).collect::<Vec<_>>() })),
        ["kill", "die", n] => fail(server, number(n)?, Part::Die),
        ["kill", "block", n] => fail(server, number(n)?, Part::Block),
        ["kill", "page", n] => fail(server, number(n)?, Part::Page),
        ["kill", what, _] => Err(format!("kill {what}: not supported; valid are die, block, page")),
        ["wear-out", n] => fail(server, number(n)?, Part::WornOut),
        ["cut-power"] => on(server, cut_power),
        ["age", time] => span(server, time, |core, time| core.disk.age(time)),
        ["idle", time] => span(server, time, |core, time| core.disk.idle(time)),
        ["wear", cycles] => {
            let cycles = number::<u32>(cycles.trim_start_matches('+'))?;
            on(server, move |core| core.disk.wear(cycles).map(|()| Value::Null).map_err(|error| error.to_string()))
        }
        ["silent", chance] => {
            let chance: f64 = number(chance)?;
            on(server, move |core| core.disk.silent(chance).map(|()| Value::Null).map_err(|error| error.to_string()))
        }
        ["pause", time] => pause(server, time),
        ["hang", "on"] => Ok(hang(server, true)),
        ["hang", "off"] => Ok(hang(server, false)),
        ["snapshot", name] => snapshot(server, name.to_owned()),
        ["restore", name] => restore(server, name.to_owned()),
        ["record", "off"] => on(server, record_off),
        ["record", file] => record(server, file.to_owned()),
        [] => Err("no command; `help` lists them".into()),
        [first, ..] => Err(unknown(first)),
    }
}

fn unknown(first: &str) -> String {
    let known: Vec<&str> = COMMANDS.iter().map(|(form, _)| *form).collect();
    if let Some((form, _)) = COMMANDS.iter().find(|(form, _)| form.split(' ').next() == Some(first)) {
        return format!("valid is `{form}`");
    }
    if MISSING.contains(&first) {
        return format!("{first}: not supported");
    }
    let first: String = first.chars().take(40).collect();
    format!("unknown command `{first}`; known: {}", known.join(", "))
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    let shown: String = text.chars().take(40).collect();
    text.parse().map_err(|_| format!("found `{shown}`, wanted a number"))
}

/// Does something between two requests.
fn on(server: &Server, job: impl FnOnce(&mut Core) -> Done + Send + 'static) -> Done {
    server.job(job).unwrap_or_else(|| Err("the drive is broken".into()))
}

fn fail<N: Send + 'static>(server: &Server, number: N, part: fn(N) -> Part) -> Done {
    on(server, move |core| core.disk.fail(part(number)).map(|()| Value::Null).map_err(|error| error.to_string()))
}

fn time_of(text: &str) -> Result<Nanos, String> {
    text.parse::<Nanos>().map_err(|error| error.to_string())
}

/// Lets time of the drive pass.
fn span(server: &Server, time: &str, pass: fn(&mut Core, Nanos) -> Result<(), lab::served::DiskError>) -> Done {
    let time = time_of(time)?;
    on(server, move |core| {
        pass(core, time).map_err(|error| error.to_string())?;
        core.set_clock();
        Ok(json!({ "time_s": core.disk.now().0 as f64 * 1e-9 }))
    })
}

fn cut_power(core: &mut Core) -> Done {
    let (mounted, answers) = core.disk.cut_power().map_err(|error| error.to_string())?;
    let cut = answers.iter().filter(|answer| answer.result == Err(lab::served::Failed::PowerCut)).count();
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

fn pause(server: &Server, time: &str) -> Done {
    let time = Duration::from_nanos(time_of(time)?.0);
    if time > PAUSE_MAX {
        return Err(format!("found {} s, at most {} s", time.as_secs(), PAUSE_MAX.as_secs()));
    }
    on(server, move |core| {
        thread::sleep(time);
        core.disk.idle(nanos(time)).map(|()| Value::Null).map_err(|error| error.to_string())
    })
}

fn hang(server: &Server, hangs: bool) -> Value {
    server.hang(hangs);
    Value::Null
}

fn snapshot(server: &Server, name: String) -> Done {
    on(server, move |core| {
        if core.snapshots.len() >= SNAPSHOTS_MAX && !core.snapshots.contains_key(&name) {
            return Err(format!("there are {SNAPSHOTS_MAX} snapshots already"));
        }
        let snapshot = core.disk.snapshot(&name).map_err(|error| error.to_string())?;
        core.snapshots.insert(name, snapshot);
        Ok(Value::Null)
    })
}

fn restore(server: &Server, name: String) -> Done {
    on(server, move |core| {
        let Some(snapshot) = core.snapshots.get(&name) else {
            let known: Vec<&String> = core.snapshots.keys().collect();
            return Err(format!("no snapshot `{name}`; known: {known:?}"));
        };
        let answers = core.disk.restore(&snapshot.clone()).map_err(|error| error.to_string())?;
        core.deliver(answers);
        core.set_clock();
        Ok(Value::Null)
    })
}

fn record(server: &Server, file: String) -> Done {
    let recorder = Recorder::new(Path::new(&file)).map_err(|error| format!("{file}: {error}"))?;
    on(server, move |core| {
        if core.recorder.is_some() {
            return Err("a recording is under way; `record off` ends it".into());
        }
        core.recorder = Some(recorder);
        Ok(Value::Null)
    })
}

fn record_off(core: &mut Core) -> Done {
    let Some(recorder) = core.recorder.take() else { return Err("nothing is recorded".into()) };
    recorder.finish().map(|requests| json!({ "requests": requests })).map_err(|error| error.to_string())
}

fn status(core: &Core) -> Value {
    let status = core.disk.status();
    let mut value = serde_json::to_value(&status).expect("numbers and texts");
    let (answers, late) = (core.lateness.answers, core.lateness.late);
    value["late_share"] = if answers > 0 { json!(late as f64 / answers as f64) } else { Value::Null };
    value["first_mismatch"] = json!(core.disk.first_mismatch());
    value["broken"] = json!(core.broken);
    value["recording"] = json!(core.recorder.as_ref().map(|recorder| recorder.requests));
    value["snapshots"] = json!(core.snapshots.keys().collect::<Vec<_>>());
    value
}
