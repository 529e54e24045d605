//! The drive as a plugin of nbdkit.
//!
//! nbdkit (BSD licence) loads this library, asks for [`plugin_init`], and calls the functions that it finds in the struct
//! that this returns, from as many threads as it likes. What they do is in the crate `serve`; here they only
//! turn C values into ours. The struct is that of version 2 of nbdkit's API (`nbdkit-plugin.h`); nbdkit reads as much
//! of it as `struct_size` says.
#![allow(unsafe_code, reason = "nbdkit is a C library")]

mod abi;
mod clients;
mod device;
mod heap;
mod settings;
mod signals;

use abi::Plugin;
use std::ffi::c_int;

/// Entry that nbdkit calls when it has loaded the library.
///
/// # Safety
/// The struct lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_init() -> *const Plugin {
    &raw const PLUGIN.0
}

/// The struct names functions and texts by pointers.
struct Shared(Plugin);

// SAFETY: all pointers are to constants and functions.
unsafe impl Sync for Shared {}

/// Parallel requests of all connections.
const THREAD_MODEL_PARALLEL: c_int = 3;

static PLUGIN: Shared = Shared(Plugin {
    struct_size: size_of::<Plugin>() as u64,
    api_version: 2,
    thread_model: THREAD_MODEL_PARALLEL,
    name: c"flashkeep".as_ptr(),
    longname: c"Flashkeep: a drive that ages, fails and loses power like flash".as_ptr(),
    version: c"0.1.0".as_ptr(),
    config: Some(settings::config),
    config_complete: Some(settings::config_complete),
    config_help: settings::HELP.as_ptr(),
    magic_config_key: c"drive".as_ptr(),
    get_ready: Some(settings::get_ready),
    after_fork: Some(settings::after_fork),
    unload: Some(settings::unload),
    open: Some(device::open),
    close: Some(device::close),
    get_size: Some(device::get_size),
    can_write: Some(device::can_write),
    can_flush: Some(device::yes),
    is_rotational: Some(device::no),
    can_trim: Some(device::yes),
    can_zero: Some(device::yes),
    can_fast_zero: Some(device::yes),
    can_fua: Some(device::can_fua),
    can_multi_conn: Some(device::yes),
    can_extents: Some(device::yes),
    pread: Some(device::pread),
    pwrite: Some(device::pwrite),
    flush: Some(device::flush),
    trim: Some(device::trim),
    zero: Some(device::zero),
    extents: Some(device::extents),
    block_size: Some(device::block_size),
    ..Plugin::EMPTY
});
