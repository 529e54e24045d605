//! Telling a served drive what is to happen to it, and asking it how it is.

use crate::serve::problem;
use crate::{print, say};
use common::Problem;
use serde_json::Value;
use serve::DriveDirectory;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

/// The drive does not do what was asked.
const REFUSED: u8 = 1;

/// How a status is shown.
enum Shown<'a> {
    Json,
    Text,
    /// One value.
    Field(&'a str),
}

pub fn run(socket: &Path, command: &[String]) -> Result<ExitCode, Problem> {
    let drive = DriveDirectory::at(socket);
    let path = if socket.is_dir() { drive.control_socket() } else { socket.to_owned() };
    let words: Vec<&str> = command.iter().flat_map(|word| word.split_whitespace()).collect();
    // The list is the same for every drive, so that no drive has to be served.
    if words == ["help"] || words.is_empty() && socket == Path::new("help") {
        print(&help());
        return Ok(ExitCode::SUCCESS);
    }
    if words.is_empty() {
        return Err(Problem::new("", format!("no command for {}; `flashkeep ctl help` lists the commands", socket.display())));
    }
    let shown = shown(&words)?;
    let asked = if words.first() == Some(&"status") { "status".to_owned() } else { words.join(" ") };
    let answer = serve::ask(&path, &asked).map_err(problem)?;
    let is_done = answer["ok"].as_bool() == Some(true);
    if let Some(error) = answer["error"].as_str().filter(|_| !is_done) {
        say(&format!("error: {error}"));
        return Ok(ExitCode::from(REFUSED));
    }
    let text = match shown {
        Shown::Json => serde_json::to_string_pretty(&answer).expect("a JSON document prints"),
        Shown::Text => summary(&answer),
        Shown::Field(name) => field(&answer, name)?,
    };
    print(&format!("{text}\n"));
    Ok(ExitCode::SUCCESS)
}

/// A status is text on a terminal and JSON in a pipe, unless the words say otherwise; all other answers are JSON.
fn shown<'a>(words: &[&'a str]) -> Result<Shown<'a>, Problem> {
    match *words {
        ["status"] if std::io::stdout().is_terminal() => Ok(Shown::Text),
        ["status", "--text"] => Ok(Shown::Text),
        ["status"] | ["status", "--json"] => Ok(Shown::Json),
        ["status", name] if !name.starts_with('-') => Ok(Shown::Field(name)),
        ["status", ..] => Err(Problem::new("", format!("found `{}`, valid is `status [FIELD|--json|--text]`", words.join(" ")))),
        _ => Ok(Shown::Json),
    }
}

/// All commands, for people.
fn help() -> String {
    format!(
        "Usage: flashkeep ctl DRIVE COMMAND, where DRIVE is the drive's directory or its control socket\n\nCommands:\n{}\nThe answer is JSON; \
         that of `status` is a summary on a terminal. Exit codes: 0 done, 1 the drive refused, 2 bad input or no drive is served there. \
         docs/serve.md has the fields and more on each command.\n",
        commands()
    )
}

/// The commands, one a line.
pub fn commands() -> String {
    let widest = serve::commands().map(|(form, _)| form.len()).max().unwrap_or_default();
    serve::commands().map(|(form, about)| format!("  {form:<widest$}  {about}\n")).collect()
}

/// A value of a status: `read_only`, or `dies.3.alive`. A text is printed as it is, anything else as JSON.
fn field(status: &Value, name: &str) -> Result<String, Problem> {
    let mut value = status;
    for part in name.split('.') {
        let inner = match value {
            Value::Array(list) => part.parse().ok().and_then(|at: usize| list.get(at)),
            other => other.get(part),
        };
        value = inner.ok_or_else(|| {
            let known: Vec<String> = match value {
                Value::Object(fields) => fields.keys().filter(|key| *key != "ok").cloned().collect(),
                Value::Array(list) => vec![format!("0 to {}", list.len().saturating_sub(1))],
                _ => vec!["no fields of it".to_owned()],
            };
            Problem::new("", format!("status has no `{name}`: `{part}` is unknown; known: {}", known.join(", ")))
        })?;
    }
    Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// A status for people.
fn summary(status: &Value) -> String {
    let number = |name: &str| status[name].as_f64().unwrap_or(0.0);
    let count = |name: &str| status[name].as_u64().unwrap_or(0);
    let percent = |name: &str| format!("{:.1} %", 100.0 * number(name));
    let state = match (&status["broken"], status["read_only"] == true, status["recovering"] == true) {
        (Value::String(why), _, _) => format!("broken: {why}"),
        (_, true, _) => "read-only: writes are refused".to_owned(),
        (_, _, true) => "recovering from a power cut".to_owned(),
        _ => "reads and writes are taken".to_owned(),
    };
    let mut lines = vec![
        ("drive", format!("{} MiB, {}, {:.1} s of virtual time", count("size") >> 20, text(&status["scheme"]), number("time_s"))),
        ("state", state),
        ("dies", dies(&status["dies"])),
        ("spare", format!("{}, {} blocks are not used any more", percent("spare"), count("bad_blocks"))),
        ("wear", format!("{:.1} P/E cycles of {} on average, {} at most", number("pe_mean"), count("pe_rated"), count("pe_max"))),
        (
            "requests",
            format!(
                "{} reads, {} writes, {} flushes, {} discards; {} under way",
                count("reads"),
                count("writes"),
                count("flushes"),
                count("discards"),
                count("outstanding")
            ),
        ),
        (
            "pages",
            format!(
                "{} lost, {} not written, {} brought back by their codewords",
                count("media_errors"),
                count("write_errors"),
                count("rebuilt_reads")
            ),
        ),
        ("wrong reads", format!("{} of {} that were compared", count("mismatches"), count("checked_reads"))),
        ("flash", format!("write amplification {}, {} free", text(&status["write_amplification"]), percent("free_share"))),
        ("temperature", format!("{} C", text(&status["temperature"]))),
        ("power cuts", count("power_cuts").to_string()),
        ("snapshots", listed(&status["snapshots"])),
    ];
    if let Some(requests) = status["recording"].as_u64() {
        lines.push(("recording", format!("{requests} requests so far")));
    }
    let events = status["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    for event in events.iter().rev().take(5).rev() {
        let refused = event["refused"].as_str().map(|why| format!(" (refused: {why})")).unwrap_or_default();
        lines.push(("event", format!("{:.3} s  {}{refused}", event["time_s"].as_f64().unwrap_or(0.0), text(&event["what"]))));
    }
    lines.into_iter().map(|(name, what)| format!("{name:<12}{what}")).collect::<Vec<_>>().join("\n")
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        Value::Number(number) if number.is_f64() => format!("{:.2}", number.as_f64().unwrap_or(0.0)),
        other => other.to_string(),
    }
}

fn listed(names: &Value) -> String {
    let names: Vec<String> = names.as_array().into_iter().flatten().map(text).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// How many dies there are, and which are not as others.
fn dies(dies: &Value) -> String {
    let dies: Vec<&Value> = dies.as_array().into_iter().flatten().collect();
    let of = |is_so: &dyn Fn(&Value) -> bool| {
        let numbers = dies.iter().enumerate().filter(|(_, die)| is_so(die)).map(|(number, _)| number.to_string());
        numbers.collect::<Vec<_>>()
    };
    let dead = of(&|die| die["alive"] == false);
    let slow = of(&|die| die["slow"].as_f64().is_some_and(|factor| factor > 1.0));
    let mut said = format!("{} of {} work", dies.len() - dead.len(), dies.len());
    for (what, which) in [("dead", dead), ("slow", slow)] {
        if !which.is_empty() {
            said += &format!("; {what}: {}", which.join(", "));
        }
    }
    said
}
