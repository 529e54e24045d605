//! Requests of clients.

use crate::abi::{Errno, add_extent, fails, say};
use crate::settings::server;
use serve::{DiskRequest, Failed, Fua, SECTOR_BYTES as SECTOR};
use std::ffi::{c_int, c_void};

/// Bytes of zeros that are written at once.
const ZEROS_AT_ONCE: u32 = 1 << 20;

/// Largest request that is best sent, in bytes.
const LARGEST: u32 = 32 << 20;

/// The write must be durable when it is answered.
const FLAG_FUA: u32 = 2;

/// Only the first extent is asked for.
const FLAG_REQ_ONE: u32 = 4;

/// The client would rather be refused than wait for a write of zeros.
const FLAG_FAST_ZERO: u32 = 8;

/// A connection begins. All share the drive; its handle, which points to nothing, is a number that says which connections it was dropped
/// with, if it was.
pub extern "C" fn open(_readonly: c_int) -> *mut c_void {
    match server().map(|server| server.admit()) {
        Some(Some(generation)) => std::ptr::without_provenance_mut(generation as usize + 1),
        _ => {
            say("the drive is stopping");
            std::ptr::null_mut()
        }
    }
}

fn generation(handle: *mut c_void) -> u64 {
    handle.addr() as u64 - 1
}

/// A connection ends.
pub extern "C" fn close(_handle: *mut c_void) {}

/// Bytes of the drive.
pub extern "C" fn get_size(_handle: *mut c_void) -> i64 {
    server().map_or(-1, |server| server.shape().size as i64)
}

/// It can.
pub extern "C" fn yes(_handle: *mut c_void) -> c_int {
    1
}

/// Whether the drive takes writes: clients that come later see it.
pub extern "C" fn can_write(_handle: *mut c_void) -> c_int {
    server().and_then(|server| server.job(|core| !core.disk.is_read_only())).map_or(-1, c_int::from)
}

/// It is not so.
pub extern "C" fn no(_handle: *mut c_void) -> c_int {
    0
}

/// The drive itself makes writes durable before they are answered.
pub extern "C" fn can_fua(_handle: *mut c_void) -> c_int {
    2
}

/// Sizes that clients should keep to.
pub extern "C" fn block_size(_handle: *mut c_void, minimum: *mut u32, preferred: *mut u32, maximum: *mut u32) -> c_int {
    let Some(server) = server() else { return -1 };
    // nbdkit takes powers of two from 512 up.
    let page = server.shape().page.next_power_of_two().clamp(512, LARGEST);
    // SAFETY: nbdkit gives three places for the answer.
    unsafe { (*minimum, *preferred, *maximum) = (SECTOR as u32, page.max(4096), LARGEST) }
    0
}

/// Sectors of a range of bytes; `None`: it is not of whole sectors.
fn sectors(count: u32, offset: u64) -> Option<(u64, u32)> {
    let is_whole = u64::from(count).is_multiple_of(SECTOR) && offset.is_multiple_of(SECTOR);
    is_whole.then_some((offset / SECTOR, count / SECTOR as u32))
}

/// Has a request answered; its data, or `None` after the error was said.
fn call(handle: *mut c_void, request: DiskRequest) -> Option<Vec<u8>> {
    let Some(server) = server() else {
        fails(Errno::Io);
        return None;
    };
    match server.call_of(generation(handle), request) {
        Ok(data) => Some(data),
        Err(failed) => {
            say(failed.in_words());
            fails(match failed {
                Failed::Range => Errno::Invalid,
                Failed::NotWritten => Errno::NoSpace,
                Failed::ReadOnly => Errno::ReadOnly,
                Failed::Media | Failed::Wrong | Failed::PowerCut | Failed::Asked => Errno::Io,
            });
            None
        }
    }
}

fn on_sectors(count: u32, offset: u64, of: impl FnOnce(u64, u32) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let Some((sector, sectors)) = sectors(count, offset) else {
        say(&format!("{count} bytes at {offset}: requests are of whole sectors of {SECTOR} bytes"));
        fails(Errno::Invalid);
        return None;
    };
    if sectors == 0 { Some(Vec::new()) } else { of(sector, sectors) }
}

fn done(result: Option<Vec<u8>>) -> c_int {
    if result.is_some() { 0 } else { -1 }
}

fn fua_of(flags: u32) -> Fua {
    if flags & FLAG_FUA != 0 { Fua::Yes } else { Fua::No }
}

/// Reads.
pub extern "C" fn pread(handle: *mut c_void, buffer: *mut c_void, count: u32, offset: u64, _flags: u32) -> c_int {
    let read = on_sectors(count, offset, |sector, sectors| call(handle, DiskRequest::Read { sector, sectors }));
    if let Some(data) = read.as_ref().filter(|data| data.len() == count as usize) {
        // SAFETY: nbdkit gives a buffer of `count` bytes, which is of no one else.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), buffer.cast(), data.len()) }
    }
    done(read)
}

/// Writes.
pub extern "C" fn pwrite(handle: *mut c_void, buffer: *const c_void, count: u32, offset: u64, flags: u32) -> c_int {
    done(on_sectors(count, offset, |sector, _| {
        // SAFETY: nbdkit gives a buffer of `count` bytes, which no one changes until this returns.
        let data = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), count as usize) };
        call(handle, DiskRequest::Write { sector, data: data.into(), fua: fua_of(flags) })
    }))
}

/// Makes durable what was answered, to whatever connection.
pub extern "C" fn flush(handle: *mut c_void, _flags: u32) -> c_int {
    done(call(handle, DiskRequest::Flush))
}

/// Forgets.
pub extern "C" fn trim(handle: *mut c_void, count: u32, offset: u64, flags: u32) -> c_int {
    let trimmed = on_sectors(count, offset, |sector, sectors| call(handle, DiskRequest::Discard { sector, sectors }));
    if trimmed.is_some() && flags & FLAG_FUA != 0 {
        return done(call(handle, DiskRequest::Flush));
    }
    done(trimmed)
}

/// Writes zeros. It cannot be done as a discard: after a power cut discarded sectors may read as their old contents. So it is never
/// faster than a write, which is the answer to a client that wants it fast or not at all.
pub extern "C" fn zero(handle: *mut c_void, count: u32, offset: u64, flags: u32) -> c_int {
    if flags & FLAG_FAST_ZERO != 0 {
        fails(Errno::NotSupported);
        return -1;
    }
    done(on_sectors(count, offset, |_, _| {
        let mut at = 0;
        while at < count {
            let size = (count - at).min(ZEROS_AT_ONCE);
            let sector = (offset + u64::from(at)) / SECTOR;
            call(handle, DiskRequest::Write { sector, data: vec![0; size as usize].into(), fua: fua_of(flags) })?;
            at += size;
        }
        Some(Vec::new())
    }))
}

/// Says which pages hold nothing: of what was asked and of nothing beyond it, in whole sectors.
pub extern "C" fn extents(_handle: *mut c_void, count: u32, offset: u64, flags: u32, extents: *mut c_void) -> c_int {
    let Some(server) = server() else { return -1 };
    let (page, asked) = (u64::from(server.shape().page), u64::from(count) / SECTOR * SECTOR);
    if !offset.is_multiple_of(SECTOR) || asked == 0 {
        say(&format!("{count} bytes at {offset}: extents are of whole sectors of {SECTOR} bytes"));
        fails(Errno::Invalid);
        return -1;
    }
    let (from, end) = (offset / page * page, offset + asked);
    let found = server.job(move |core| {
        let holes = (0..(end - from).div_ceil(page)).map(|at| core.is_hole((from + at * page) / SECTOR));
        holes.collect::<Vec<bool>>()
    });
    let Some(holes) = found else { return -1 };
    let mut at = from;
    for run in holes.chunk_by(|one, next| one == next) {
        let until = (at + run.len() as u64 * page).min(end);
        if !add_extent(extents, at, until - at, run[0]) {
            return -1;
        }
        at = until;
        if flags & FLAG_REQ_ONE != 0 && at > offset {
            break;
        }
    }
    0
}
