//! Commands of the user's, each with all that it starts in a group of processes of its own, so that it can be ended as a whole.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Groups at work, by the number of their first process.
static AT_WORK: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// All of them are being ended, because this process ends.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Time that a group has to let go of what it holds before it is killed, in steps.
const GRACE: (u32, Duration) = (50, Duration::from_millis(100));

/// A command that has ended.
pub(crate) struct Ended {
    pub output: Output,
    /// It was ended, because it took too long.
    pub is_late: bool,
}

/// Runs a command for `sh` to its end, or to a limit. Output that it leaves open counts as work.
pub(crate) fn run(line: &str, change: impl FnOnce(&mut Command), limit: Option<Duration>) -> io::Result<Ended> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    change(&mut command);
    let child = command.spawn()?;
    let group = child.id();
    at_work().insert(group);
    let (done, wait) = mpsc::channel::<()>();
    let watch = limit.map(|limit| {
        thread::spawn(move || {
            let is_late = wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if is_late {
                end(group);
            }
            is_late
        })
    });
    let output = child.wait_with_output();
    drop(done);
    let is_late = watch.is_some_and(|watch| watch.join().unwrap_or(false));
    at_work().remove(&group);
    // A command that was ended for that reason gives no result.
    while IS_ENDING.load(Relaxed) {
        thread::park();
    }
    output.map(|output| Ended { output, is_late })
}

/// Ends all commands, because this process is about to end.
pub(crate) fn end_all() {
    IS_ENDING.store(true, Relaxed);
    let groups = at_work().clone();
    groups.into_iter().for_each(end);
}

fn at_work() -> std::sync::MutexGuard<'static, BTreeSet<u32>> {
    AT_WORK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a group: first in a way that lets it tidy up.
fn end(group: u32) {
    let signal = |name: &str| {
        let words = format!("kill -{name} -{group}");
        Command::new("sh").args(["-c", &words]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    signal("TERM");
    let (steps, step) = GRACE;
    for _ in 0..steps {
        if !signal("0") {
            return;
        }
        thread::sleep(step);
    }
    signal("KILL");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_with_all_that_it_started() {
        let ended = run("echo said; exit 3", |_| {}, Some(Duration::from_secs(60))).expect("sh is there");
        assert_eq!((ended.output.status.code(), ended.is_late), (Some(3), false));
        assert_eq!(ended.output.stdout, b"said\n");
        let late = run("sleep 600 & echo $!; wait", |_| {}, Some(Duration::from_millis(300))).expect("sh is there");
        assert!(late.is_late);
        let child = String::from_utf8_lossy(&late.output.stdout).trim().to_owned();
        let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "its child is gone, too: {state}");
    }
}
