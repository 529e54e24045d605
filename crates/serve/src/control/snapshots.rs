//! The whole drive as it was, by name.

use super::command::{Done, on};
use crate::server::Server;
use serde_json::Value;

/// Snapshots that are kept at most: each may take as much memory as the drive.
const SNAPSHOTS_MAX: usize = 16;

/// Longest name, in bytes.
const NAME_MAX: usize = 64;

/// Remembers the drive. `replaces`: an earlier one of that name may go.
pub(super) fn take(server: &Server, name: String, replaces: bool) -> Done {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.starts_with('-') || name.len() > NAME_MAX || !name.bytes().all(is_letter) {
        return Err(format!("snapshot `{name}`: valid are 1 to {NAME_MAX} letters, digits, - and _, the first of which is no -"));
    }
    on(server, move |core| {
        let is_there = core.snapshots.contains_key(&name);
        if is_there && !replaces {
            return Err(format!("there is a snapshot `{name}` already; `snapshot {name} --force` replaces it"));
        }
        if core.snapshots.len() >= SNAPSHOTS_MAX && !is_there {
            return Err(format!("there are {SNAPSHOTS_MAX} snapshots already; `delete-snapshot NAME` makes room"));
        }
        let snapshot = core.disk.snapshot(&name).map_err(|error| error.to_string())?;
        core.note(&format!("snapshot {name}"), None);
        core.snapshots.insert(name, snapshot);
        Ok(Value::Null)
    })
}

/// The drive is what it was.
pub(super) fn restore(server: &Server, name: String) -> Done {
    on(server, move |core| {
        let Some(snapshot) = core.snapshots.get(&name) else { return Err(unknown(core.snapshots.keys(), &name)) };
        let answers = core.disk.restore(&snapshot.clone()).map_err(|error| error.to_string())?;
        core.deliver(answers);
        core.deceit.forget_corrupt_bytes();
        core.set_clock();
        core.note(&format!("restore {name}"), None);
        Ok(Value::Null)
    })
}

/// Forgets a snapshot.
pub(super) fn delete(server: &Server, name: String) -> Done {
    on(server, move |core| {
        if !core.snapshots.contains_key(&name) {
            return Err(unknown(core.snapshots.keys(), &name));
        }
        core.disk.delete_snapshot(&name).map_err(|error| error.to_string())?;
        core.snapshots.remove(&name);
        core.note(&format!("delete-snapshot {name}"), None);
        Ok(Value::Null)
    })
}

fn unknown<'a>(names: impl Iterator<Item = &'a String>, name: &str) -> String {
    format!("no snapshot `{name}`; known: {:?}", names.collect::<Vec<_>>())
}
