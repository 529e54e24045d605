//! Speed of the erasure codes, one thread, against ISA-L in the same run where that library is installed
//! (Debian: libisal2): the two take turns, and the best of many rounds counts, as neighbours on a shared
//! machine only ever slow a round down.
//!
//! GB/s of the k strips that are read, 10^9 bytes. *encode* writes m parity strips. *rebuild* writes m
//! lost data strips from what is left, with the coefficients at hand; *solve + rebuild* computes these
//! too. For one parity ISA-L has both `xor_gen` and `ec_encode_data`: the faster one counts.

#![allow(unsafe_code, reason = "the peer is a C library")]

use flashkeep_coding::ErasureCode;
use flashkeep_coding::gf256::{Kernel, Sums};
use libloading::{Library, Symbol};
use std::ffi::{c_int, c_uchar, c_void};
use std::time::Instant;

const CODES: [(usize, usize); 3] = [(8, 2), (7, 1), (16, 4)];
const STRIPS: [usize; 2] = [4 << 10, 16 << 10];
const ROUNDS: u32 = 300;
/// Bytes of data a round passes over: enough to hide the clock, short enough to find quiet moments.
const ROUND_BYTES: usize = 8 << 20;

/// Strips one after the other on page boundaries, as page buffers lie in memory.
struct Arena {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Arena {
    fn new(strips: usize, len: usize) -> Self {
        let bytes: Vec<u8> = (0..strips * len + 4096).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let start = bytes.as_ptr().align_offset(4096);
        Arena { bytes, start, len }
    }

    fn strips(&mut self) -> Vec<&mut [u8]> {
        self.bytes[self.start..].chunks_exact_mut(self.len).collect()
    }
}

/// The functions of ISA-L that are compared with.
struct Peer {
    tables: unsafe extern "C" fn(c_int, c_int, *const c_uchar, *mut c_uchar),
    encode: unsafe extern "C" fn(c_int, c_int, c_int, *const c_uchar, *const *const c_uchar, *const *mut c_uchar),
    invert: unsafe extern "C" fn(*mut c_uchar, *mut c_uchar, c_int) -> c_int,
    xor: unsafe extern "C" fn(c_int, c_int, *const *const c_void) -> c_int,
    _library: Library,
}

impl Peer {
    fn load() -> Option<Self> {
        // SAFETY: the library has no initialiser with requirements; the types are those of its headers.
        unsafe {
            let library = Library::new("libisal.so.2").ok()?;
            fn function<T: Copy>(library: &Library, name: &str) -> Option<T> {
                // SAFETY: as above.
                let symbol: Symbol<T> = unsafe { library.get(name.as_bytes()) }.ok()?;
                Some(*symbol)
            }
            Some(Peer {
                tables: function(&library, "ec_init_tables")?,
                encode: function(&library, "ec_encode_data")?,
                invert: function(&library, "gf_invert_matrix")?,
                xor: function(&library, "xor_gen")?,
                _library: library,
            })
        }
    }

    /// Tables that `ec_encode_data` takes for a matrix.
    fn tables(&self, inputs: usize, rows: &[u8]) -> Vec<u8> {
        let mut tables = vec![0; 32 * rows.len()];
        // SAFETY: 32 bytes a coefficient.
        unsafe { (self.tables)(inputs as c_int, (rows.len() / inputs) as c_int, rows.as_ptr(), tables.as_mut_ptr()) };
        tables
    }

    /// `ec_encode_data` on these strips, its arrays of pointers made beforehand.
    fn encode<'a>(&'a self, inputs: &'a [&[u8]], outputs: &'a mut [&mut [u8]]) -> impl FnMut(&[u8]) + 'a {
        let from: Vec<*const u8> = inputs.iter().map(|strip| strip.as_ptr()).collect();
        let to: Vec<*mut u8> = outputs.iter_mut().map(|strip| strip.as_mut_ptr()).collect();
        let (len, k, m) = (inputs[0].len() as c_int, inputs.len() as c_int, outputs.len() as c_int);
        move |tables| {
            // SAFETY: all strips have that length, and the tables are for as many of them.
            unsafe { (self.encode)(len, k, m, tables.as_ptr(), from.as_ptr(), to.as_ptr()) };
        }
    }

    /// `xor_gen` likewise.
    fn xor<'a>(&'a self, inputs: &'a [&[u8]], output: &'a mut [u8]) -> impl FnMut() + 'a {
        let mut all: Vec<*const c_void> = Vec::with_capacity(inputs.len() + 1);
        all.extend(inputs.iter().map(|strip| strip.as_ptr().cast::<c_void>()));
        all.push(output.as_mut_ptr().cast_const().cast());
        let len = output.len() as c_int;
        move || {
            // SAFETY: all strips have that length and lie on page boundaries.
            unsafe { (self.xor)(all.len() as c_int, len, all.as_ptr()) };
        }
    }

    /// The rows that give the first `m` data symbols from all others: as its examples do it.
    fn decode_rows(&self, code: &ErasureCode) -> Vec<u8> {
        let (k, m) = (code.data(), code.parity());
        let row = |s: usize| (0..k).map(move |j| if s < k { u8::from(s == j) } else { code.coefficient(s - k, j) });
        let mut matrix: Vec<u8> = (m..k + m).flat_map(row).collect();
        let mut inverse = vec![0; k * k];
        // SAFETY: both matrices are of order k.
        let failed = unsafe { (self.invert)(matrix.as_mut_ptr(), inverse.as_mut_ptr(), k as c_int) };
        assert_eq!(failed, 0, "ISA-L inverts the matrix");
        inverse.truncate(m * k);
        inverse
    }
}

/// Wall-clock seconds of something done `times` times.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the wall clock")]
fn seconds(times: usize, work: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..times {
        work();
    }
    start.elapsed().as_secs_f64()
}

/// GB/s of each of `works`, which take turns; the best round of each.
fn race(bytes: usize, works: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let times = ROUND_BYTES / bytes;
    let mut best = vec![f64::INFINITY; works.len()];
    for _ in 0..ROUNDS {
        for (work, best) in works.iter_mut().zip(&mut best) {
            *best = best.min(seconds(times, &mut **work));
        }
    }
    best.iter().map(|seconds| (times * bytes) as f64 / seconds / 1e9).collect()
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn row(code: &ErasureCode, len: usize, what: &str, speeds: &[f64]) {
    let (k, m) = (code.data(), code.parity());
    let theirs = speeds[1..].iter().copied().fold(f64::NAN, f64::max);
    let peer = if theirs.is_nan() { String::new() } else { format!("{theirs:>10.1} {:>8.2}", speeds[0] / theirs) };
    println!("{:<8} {:>4} KiB  {what:<16} {:>8.1} {peer}", format!("{k}+{m}"), len >> 10, speeds[0]);
}

/// Strips of the arena as they are used.
struct Split<'a> {
    read: Vec<&'a [u8]>,
    ours: Vec<&'a mut [u8]>,
    theirs: Vec<&'a mut [u8]>,
    /// For the peer's other function.
    xored: Vec<&'a mut [u8]>,
}

impl<'a> Split<'a> {
    fn new(arena: &'a mut Arena, code: &ErasureCode) -> Self {
        let mut strips = arena.strips().into_iter();
        let mut take = |n: usize| -> Vec<&'a mut [u8]> { strips.by_ref().take(n).collect() };
        let read = take(code.data()).into_iter().map(|strip| &*strip).collect();
        Split { read, ours: take(code.parity()), theirs: take(code.parity()), xored: take(1) }
    }
}

fn compare_encode(code: &ErasureCode, len: usize, peer: Option<&Peer>) {
    let (k, m) = (code.data(), code.parity());
    let mut arena = Arena::new(k + 2 * m + 1, len);
    let Split { read: data, mut ours, mut theirs, mut xored } = Split::new(&mut arena, code);
    let rows: Vec<u8> = (0..m).flat_map(|i| (0..k).map(move |j| code.coefficient(i, j))).collect();
    let tables = peer.map_or(Vec::new(), |peer| peer.tables(k, &rows));
    let mut works: Vec<Box<dyn FnMut()>> = vec![Box::new(|| code.encode(&data, &mut ours))];
    if let Some(peer) = peer {
        let mut encode = peer.encode(&data, &mut theirs);
        works.push(Box::new(move || encode(&tables)));
        if m == 1 {
            works.push(Box::new(peer.xor(&data, &mut *xored[0])));
        }
    }
    let speeds = race(k * len, &mut works);
    drop(works);
    if peer.is_some() {
        assert_eq!(ours, theirs, "parity is that of ISA-L");
    }
    row(code, len, "encode", &speeds);
}

fn compare_rebuild(code: &ErasureCode, len: usize, peer: Option<&Peer>) {
    let (k, m) = (code.data(), code.parity());
    let lost: Vec<usize> = (0..m).collect();
    let available: Vec<usize> = (m..k + m).collect();
    let mut arena = Arena::new(k + 2 * m + 1, len);
    let Split { read: present, mut ours, mut theirs, mut xored } = Split::new(&mut arena, code);
    let plan = code.plan(&lost, &available).expect("k symbols are there");
    let tables = peer.map_or(Vec::new(), |peer| peer.tables(k, &peer.decode_rows(code)));
    let mut works: Vec<Box<dyn FnMut()>> = vec![Box::new(|| plan.run(&present, &mut ours))];
    if let Some(peer) = peer {
        let mut encode = peer.encode(&present, &mut theirs);
        works.push(Box::new(move || encode(&tables)));
        if m == 1 {
            works.push(Box::new(peer.xor(&present, &mut *xored[0])));
        }
    }
    let speeds = race(k * len, &mut works);
    drop(works);
    if peer.is_some() {
        assert_eq!(ours, theirs, "what is rebuilt is what ISA-L rebuilds");
    }
    row(code, len, "rebuild", &speeds);
    let with: Vec<(usize, &[u8])> = available.iter().copied().zip(present.iter().copied()).collect();
    let mut works: Vec<Box<dyn FnMut()>> = vec![Box::new(|| {
        let mut lost: Vec<(usize, &mut [u8])> = lost.iter().copied().zip(ours.iter_mut().map(|strip| &mut **strip)).collect();
        code.rebuild(&with, &mut lost).expect("k symbols are there");
    })];
    if let Some(peer) = peer {
        works.push(Box::new(|| peer.encode(&present, &mut theirs)(&peer.tables(k, &peer.decode_rows(code)))));
        if m == 1 {
            // Nothing to solve, but the strips have to be lined up, as above.
            works.push(Box::new(|| peer.xor(&present, &mut *xored[0])()));
        }
    }
    row(code, len, "solve + rebuild", &race(k * len, &mut works));
}

/// Speed of each instruction set of this machine: encoding 8+2 and 7+1, 4 KiB strips.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn kernels() {
    for kernel in Kernel::available() {
        let mut speeds = Vec::new();
        for (k, m) in [(8, 2), (7, 1)] {
            let code = ErasureCode::new(k, m);
            let rows: Vec<u8> = (0..m).flat_map(|i| (0..k).map(move |j| (i, j))).map(|(i, j)| code.coefficient(i, j)).collect();
            let sums = Sums::new(k, &rows);
            let mut arena = Arena::new(k + 2 * m + 1, 4096);
            let Split { read, mut ours, .. } = Split::new(&mut arena, &code);
            speeds.extend(race(k * 4096, &mut [Box::new(|| sums.apply_with(kernel, &read, &mut ours))]));
        }
        println!("{:<12} 8+2 {:>8.1} GB/s   7+1 {:>8.1} GB/s", kernel.name(), speeds[0], speeds[1]);
    }
}

/// The coefficients for one symbol, without any bytes: nanoseconds a call.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn solve(code: &ErasureCode) {
    let (k, m, times) = (code.data(), code.parity(), 100_000);
    for lost in [1, m] {
        let available: &[usize] = &(lost..k + lost).collect::<Vec<_>>();
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            best = best.min(seconds(times, &mut || assert!(code.solve(0, std::hint::black_box(available)).is_some())));
        }
        println!("solve for one of {lost} lost, {k}+{m} {:>24.0} ns", best / times as f64 * 1e9);
    }
}

/// The 8 bytes of a tag: nanoseconds a call.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn tags() {
    let (mut sum, other, times) = ([0u8; 8], [1u8, 2, 3, 4, 5, 6, 7, 8], 1_000_000);
    for kernel in Kernel::available() {
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            best = best.min(seconds(times, &mut || kernel.mul_add(std::hint::black_box(&mut sum), &other, 0x53)));
        }
        println!("8 bytes += c * 8 bytes, {:<12} {:>6.1} ns", kernel.name(), best / times as f64 * 1e9);
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let peer = Peer::load();
    println!("kernel {}; {}", Kernel::fastest().name(), if peer.is_some() { "ISA-L found" } else { "no libisal.so.2: no peer" });
    println!("{:<8} {:>8}  {:<16} {:>8} {:>10} {:>8}", "code", "strip", "GB/s", "ours", "ISA-L", "ratio");
    for (k, m) in CODES {
        let code = ErasureCode::new(k, m);
        for len in STRIPS {
            compare_encode(&code, len, peer.as_ref());
            compare_rebuild(&code, len, peer.as_ref());
        }
    }
    kernels();
    for (k, m) in CODES {
        solve(&ErasureCode::new(k, m));
    }
    tags();
}
