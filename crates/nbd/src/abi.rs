//! The struct and the functions of nbdkit, version 2 of its API, as of nbdkit 1.32.

use std::ffi::{c_char, c_int, c_void};

/// A function that we never have; nbdkit does something of its own then.
type Unused = Option<extern "C" fn()>;

/// `struct nbdkit_plugin`, field by field.
#[repr(C)]
pub struct Plugin {
    pub struct_size: u64,
    pub api_version: c_int,
    pub thread_model: c_int,
    pub name: *const c_char,
    pub longname: *const c_char,
    pub version: *const c_char,
    pub description: *const c_char,
    pub load: Unused,
    pub unload: Option<extern "C" fn()>,
    pub config: Option<extern "C" fn(*const c_char, *const c_char) -> c_int>,
    pub config_complete: Option<extern "C" fn() -> c_int>,
    pub config_help: *const c_char,
    pub open: Option<extern "C" fn(c_int) -> *mut c_void>,
    pub close: Option<extern "C" fn(*mut c_void)>,
    pub get_size: Option<extern "C" fn(*mut c_void) -> i64>,
    pub can_write: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub can_flush: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub is_rotational: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub can_trim: Option<extern "C" fn(*mut c_void) -> c_int>,
    /// `pread`, `pwrite`, `flush`, `trim` and `zero` of version 1.
    pub version_1: [Unused; 5],
    pub errno_is_preserved: c_int,
    pub dump_plugin: Unused,
    pub can_zero: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub can_fua: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub pread: Option<extern "C" fn(*mut c_void, *mut c_void, u32, u64, u32) -> c_int>,
    pub pwrite: Option<extern "C" fn(*mut c_void, *const c_void, u32, u64, u32) -> c_int>,
    pub flush: Option<extern "C" fn(*mut c_void, u32) -> c_int>,
    pub trim: Option<extern "C" fn(*mut c_void, u32, u64, u32) -> c_int>,
    pub zero: Option<extern "C" fn(*mut c_void, u32, u64, u32) -> c_int>,
    pub magic_config_key: *const c_char,
    pub can_multi_conn: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub can_extents: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub extents: Option<extern "C" fn(*mut c_void, u32, u64, u32, *mut c_void) -> c_int>,
    pub can_cache: Unused,
    pub cache: Unused,
    pub thread_model_function: Unused,
    pub can_fast_zero: Option<extern "C" fn(*mut c_void) -> c_int>,
    pub preconnect: Unused,
    pub get_ready: Option<extern "C" fn() -> c_int>,
    pub after_fork: Option<extern "C" fn() -> c_int>,
    pub list_exports: Unused,
    pub default_export: Unused,
    pub export_description: Unused,
    pub cleanup: Unused,
    pub block_size: Option<extern "C" fn(*mut c_void, *mut u32, *mut u32, *mut u32) -> c_int>,
}

impl Plugin {
    /// Nothing.
    pub const EMPTY: Self = Self {
        struct_size: 0,
        api_version: 0,
        thread_model: 0,
        name: std::ptr::null(),
        longname: std::ptr::null(),
        version: std::ptr::null(),
        description: std::ptr::null(),
        load: None,
        unload: None,
        config: None,
        config_complete: None,
        config_help: std::ptr::null(),
        open: None,
        close: None,
        get_size: None,
        can_write: None,
        can_flush: None,
        is_rotational: None,
        can_trim: None,
        version_1: [None; 5],
        errno_is_preserved: 0,
        dump_plugin: None,
        can_zero: None,
        can_fua: None,
        pread: None,
        pwrite: None,
        flush: None,
        trim: None,
        zero: None,
        magic_config_key: std::ptr::null(),
        can_multi_conn: None,
        can_extents: None,
        extents: None,
        can_cache: None,
        cache: None,
        thread_model_function: None,
        can_fast_zero: None,
        preconnect: None,
        get_ready: None,
        after_fork: None,
        list_exports: None,
        default_export: None,
        export_description: None,
        cleanup: None,
        block_size: None,
    };
}

unsafe extern "C" {
    /// Says what is wrong, as `printf` does.
    fn nbdkit_error(format: *const c_char, ...);
    /// The error number that the client gets.
    fn nbdkit_set_error(error: c_int);
    /// Adds a range of the device to the answer: allocated, or a hole that reads as zeros.
    fn nbdkit_add_extent(extents: *mut c_void, offset: u64, length: u64, kind: u32) -> c_int;
    /// No connection is taken any more; the process ends when those that are there have ended.
    fn nbdkit_shutdown();
    /// Ends the process at once.
    fn _exit(code: c_int) -> !;
}

/// An error number of Linux, which those of NBD are made of.
#[derive(Clone, Copy)]
pub enum Errno {
    /// Input or output failed.
    Io = 5,
    /// It makes no sense.
    Invalid = 22,
    /// There is no room.
    NoSpace = 28,
    /// The drive takes no writes any more: no number of NBD but that of a refused operation.
    ReadOnly = 1,
    /// It is not faster than what the client would do without it.
    NotSupported = 95,
}

/// Says what is wrong, in the log of nbdkit.
pub fn say(what: &str) {
    let text = std::ffi::CString::new(what.replace('\0', " ")).unwrap_or_default();
    // SAFETY: the format takes one text, which lives until the call returns.
    unsafe { nbdkit_error(c"%s".as_ptr(), text.as_ptr()) }
}

/// Fails a request with this error.
pub fn fails(errno: Errno) {
    // SAFETY: it only takes a number.
    unsafe { nbdkit_set_error(errno as c_int) }
}

/// Adds a range to the answer of `extents`; false if nbdkit refuses it.
pub fn add_extent(extents: *mut c_void, offset: u64, length: u64, is_hole: bool) -> bool {
    // A hole that reads as zeros.
    let kind = if is_hole { 3 } else { 0 };
    // SAFETY: nbdkit gave the list to the call that this is part of.
    unsafe { nbdkit_add_extent(extents, offset, length, kind) == 0 }
}

/// Asks nbdkit to end.
pub fn shutdown() {
    // SAFETY: it sets a flag and wakes the thread that accepts connections.
    unsafe { nbdkit_shutdown() }
}

/// The process ends, and nothing that it holds is saved.
pub fn end_at_once() -> ! {
    // SAFETY: nothing is put in order, which is what is wanted.
    unsafe { _exit(1) }
}

/// All arguments are right, and nothing is to be served.
pub fn end_well() -> ! {
    // SAFETY: nothing was begun that would have to be put in order.
    unsafe { _exit(0) }
}
