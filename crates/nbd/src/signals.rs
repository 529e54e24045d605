//! SIGTERM and SIGINT end clients and server in order, as the command `stop` does. nbdkit's own handlers wait until clients have gone,
//! however long they stay, and the drive hears of nothing. A second signal ends the process at once: a power cut.
//!
//! The signals are blocked before any thread is begun, so that all threads inherit that, and one thread waits for them: it may do what a
//! handler must not.

use crate::abi;
use serve::Server;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::Arc;
use std::thread;

/// A set of signals, as large as that of any C library of Linux.
#[repr(C, align(16))]
struct Signals([u8; 128]);

const SIG_BLOCK: c_int = 0;
const SIGINT: c_int = 2;
const SIGTERM: c_int = 15;

unsafe extern "C" {
    fn sigemptyset(set: *mut Signals) -> c_int;
    fn sigaddset(set: *mut Signals, signal: c_int) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const Signals, old: *mut Signals) -> c_int;
    fn sigwait(set: *const Signals, signal: *mut c_int) -> c_int;
}

/// Keeps both signals from the thread that calls, and from all that it begins.
pub fn block() -> Blocked {
    let mut set = Signals([0; 128]);
    // SAFETY: all pointers are to the set, which is as large as any; no old mask is asked for.
    unsafe {
        sigemptyset(&raw mut set);
        sigaddset(&raw mut set, SIGINT);
        sigaddset(&raw mut set, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &raw const set, null_mut());
    }
    Blocked(set)
}

/// Both signals, which no thread hears any more.
pub struct Blocked(Signals);

impl Blocked {
    fn wait(&self) {
        let mut signal = 0;
        // SAFETY: the set was made by the functions above, and the number is written to memory of our own.
        unsafe { sigwait(&raw const self.0, &raw mut signal) };
    }

    /// Stops the server at the first of them.
    pub fn stop(self, server: &Arc<Server>) {
        let server = Arc::clone(server);
        thread::spawn(move || {
            self.wait();
            thread::spawn(move || {
                if let Err(why) = server.stop() {
                    abi::say(&format!("not all answered requests are durable: {why}"));
                }
                server.end();
            });
            self.wait();
            abi::end_at_once();
        });
    }
}
