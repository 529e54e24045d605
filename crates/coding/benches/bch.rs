//! Speed of the page codes, one thread, against the Linux kernel's codec in the same run if the variable
//! `FLASHKEEP_BCH_PEER` names a shared library of it: with the functions `bch_init(m, t, polynomial,
//! swap_bits)`, `bch_encode`, `bch_decode` and `bch_free` of `lib/bch.c`, and with room for m = 16 (the
//! C file of pip's `bchlib` has it). The two take turns on the same words, each passes over them twice and
//! the second time counts, when the caches hold its own tables; of many rounds the best one, as neighbours
//! on a shared machine only ever slow a round down.
//!
//! Microseconds a word, and MB/s of its data, 10^6 bytes. *decode* is the whole of it: from data and
//! parity as read to the corrected bits; both sides then get the errors back for the next turn, which
//! counts in both. *uncorrectable* has t + 1 errors.

#![allow(unsafe_code, reason = "the peer is a C library")]

use flashkeep_coding::bch::Kernel;
use flashkeep_coding::{Bch, Uncorrectable, crc32c};
use libloading::{Library, Symbol};
use std::ffi::{c_int, c_uint, c_void};
use std::hint::black_box;
use std::time::Instant;
use vocab::splitmix64;

/// m, t and bytes of data.
const CODES: [(u32, usize, usize); 5] = [(13, 8, 512), (14, 24, 1024), (14, 40, 1024), (16, 16, 4096), (16, 50, 4096)];
/// Words with different data and errors that a round passes over, so that no branch is learnt by heart.
const WORDS: usize = 64;
const ROUNDS: usize = 60;

type Init = unsafe extern "C" fn(c_int, c_int, c_uint, bool) -> *mut c_void;
type Encode = unsafe extern "C" fn(*mut c_void, *const u8, c_uint, *mut u8);
type Decode = unsafe extern "C" fn(*mut c_void, *const u8, c_uint, *const u8, *const u8, *const c_uint, *mut c_uint) -> c_int;
type Free = unsafe extern "C" fn(*mut c_void);

struct Peer {
    init: Init,
    encode: Encode,
    decode: Decode,
    free: Free,
    _library: Library,
}

impl Peer {
    fn load() -> Option<Self> {
        let path = std::env::var_os("FLASHKEEP_BCH_PEER")?;
        // SAFETY: the library has no initialiser with requirements; the types are those of its header.
        unsafe {
            let library = Library::new(&path).unwrap_or_else(|e| panic!("FLASHKEEP_BCH_PEER: {e}"));
            fn function<T: Copy>(library: &Library, name: &str) -> T {
                // SAFETY: as above.
                let symbol: Symbol<T> =
                    unsafe { library.get(name.as_bytes()) }.unwrap_or_else(|e| panic!("FLASHKEEP_BCH_PEER: {e}"));
                *symbol
            }
            Some(Peer {
                init: function(&library, "bch_init"),
                encode: function(&library, "bch_encode"),
                decode: function(&library, "bch_decode"),
                free: function(&library, "bch_free"),
                _library: library,
            })
        }
    }

    fn code(&self, m: u32, t: usize) -> PeerCode<'_> {
        let polynomial = if m == 16 { 0x1002d } else { 0 };
        // SAFETY: plain numbers.
        let control = unsafe { (self.init)(m as c_int, t as c_int, polynomial, false) };
        assert!(!control.is_null(), "the peer has a code with m = {m}, t = {t}");
        PeerCode { peer: self, control }
    }
}

struct PeerCode<'a> {
    peer: &'a Peer,
    control: *mut c_void,
}

impl PeerCode<'_> {
    fn encode(&self, data: &[u8], parity: &mut [u8]) {
        parity.fill(0);
        // SAFETY: the parity is as long as the code says.
        unsafe { (self.peer.encode)(self.control, data.as_ptr(), data.len() as c_uint, parity.as_mut_ptr()) }
    }

    fn decode(&self, data: &mut [u8], parity: &mut [u8]) -> Option<u32> {
        let mut places = [0; 64];
        let (length, no_parity, no_syndromes) = (data.len() as c_uint, std::ptr::null(), std::ptr::null());
        // SAFETY: there is room for t places.
        let found = unsafe {
            (self.peer.decode)(self.control, data.as_ptr(), length, parity.as_ptr(), no_parity, no_syndromes, places.as_mut_ptr())
        };
        let found = usize::try_from(found).ok()?;
        for place in &places[..found] {
            let (byte, bit) = ((place / 8) as usize, place % 8);
            let bytes = if byte < data.len() { &mut data[byte] } else { &mut parity[byte - data.len()] };
            *bytes ^= 1 << bit;
        }
        Some(found as u32)
    }
}

impl Drop for PeerCode<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `bch_init`, and freed once.
        unsafe { (self.peer.free)(self.control) }
    }
}

/// A word as written, and where it is going to be read wrongly.
struct Word {
    data: Vec<u8>,
    parity: Vec<u8>,
    places: Vec<usize>,
}

impl Word {
    fn flip(&mut self) {
        for place in &self.places {
            let byte = place / 8;
            let bytes = if byte < self.data.len() { &mut self.data[byte] } else { &mut self.parity[byte - self.data.len()] };
            *bytes ^= 0x80 >> (place % 8);
        }
    }
}

fn words(code: &Bch, errors: usize) -> Vec<Word> {
    let mut state = errors as u64;
    let word = |_| {
        let data: Vec<u8> = (0..code.data_bytes()).map(|_| splitmix64(&mut state) as u8).collect();
        let mut parity = vec![0; code.parity_bytes()];
        code.encode(&data, &mut parity);
        let mut places = Vec::new();
        while places.len() < errors {
            let place = splitmix64(&mut state) as usize % (code.data_bits() + code.parity_bits());
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Word { data, parity, places }
    };
    (0..WORDS).map(word).collect()
}

/// Wall-clock seconds of something.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the wall clock")]
fn seconds(work: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Microseconds a word of each of `works`, which take turns; the best round of each.
fn race(works: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; works.len()];
    for _ in 0..ROUNDS {
        for (work, best) in works.iter_mut().zip(&mut best) {
            work();
            *best = best.min(seconds(&mut **work));
        }
    }
    best.iter().map(|seconds| seconds / WORDS as f64 * 1e6).collect()
}

/// Ours, by kernel, then the peer's.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn row(code: &Bch, what: &str, kernels: usize, times: &[f64]) {
    let bytes = code.data_bytes() as f64;
    let mut line = format!("{:>4} B t={:<3} {what:<16}", code.data_bytes(), code.t());
    for time in times {
        line += &format!("{time:>9.2} us {:>7.0} MB/s", bytes / time);
    }
    for ours in times[..kernels].iter().filter(|_| times.len() > kernels) {
        line += &format!("{:>8.1}x", times[kernels] / ours);
    }
    println!("{line}");
}

fn compare_encode(codes: &[Bch], peer: Option<&PeerCode>) {
    let words = words(&codes[0], 0);
    let mut works: Vec<Box<dyn FnMut()>> = Vec::new();
    for code in codes {
        let mut parity = vec![0; code.parity_bytes()];
        let words = &words;
        works.push(Box::new(move || {
            words.iter().for_each(|word| code.encode(black_box(&word.data), &mut parity));
        }));
    }
    if let Some(peer) = peer {
        let mut parity = vec![0; codes[0].parity_bytes()];
        for word in &words {
            peer.encode(&word.data, &mut parity);
            assert_eq!(parity, word.parity, "parity is the peer's");
        }
        let words = &words;
        works.push(Box::new(move || {
            words.iter().for_each(|word| peer.encode(black_box(&word.data), &mut parity));
        }));
    }
    row(&codes[0], "encode", codes.len(), &race(&mut works));
}

fn compare_decode(codes: &[Bch], peer: Option<&PeerCode>, errors: usize) {
    let t = codes[0].t();
    let expected = (errors <= t).then_some(errors as u32);
    let mut works: Vec<Box<dyn FnMut()>> = Vec::new();
    for code in codes {
        let mut words = words(code, errors);
        works.push(Box::new(move || {
            for word in &mut words {
                word.flip();
                let found = code.decode(&mut word.data, &mut word.parity);
                assert_eq!(found, expected.ok_or(Uncorrectable));
                if expected.is_none() {
                    word.flip();
                }
            }
        }));
    }
    if let Some(peer) = peer {
        let mut words = words(&codes[0], errors);
        works.push(Box::new(move || {
            for word in &mut words {
                word.flip();
                assert_eq!(peer.decode(&mut word.data, &mut word.parity), expected);
                if expected.is_none() {
                    word.flip();
                }
            }
        }));
    }
    let what = match errors {
        0 => "decode, clean".to_owned(),
        errors if errors > t => "uncorrectable".to_owned(),
        1 => "decode, 1 error".to_owned(),
        errors => format!("decode, {errors} errors"),
    };
    row(&codes[0], &what, codes.len(), &race(&mut works));
}

/// Milliseconds to make a code.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn construction() {
    for (m, t, bytes) in CODES {
        let make = || drop(black_box(Bch::new(m, t, 8 * bytes)));
        let best = (0..20).map(|_| seconds(&mut { make })).fold(f64::INFINITY, f64::min);
        println!("{bytes:>4} B t={t:<3} made in {:.2} ms", best * 1e3);
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let peer = Peer::load();
    let kernels = Kernel::available();
    println!("kernels {kernels:?}; {}", if peer.is_some() { "then the peer, and its ratios" } else { "no peer" });
    for (m, t, bytes) in CODES {
        let codes: Vec<Bch> = kernels.iter().map(|kernel| Bch::with_kernel(m, t, 8 * bytes, kernel).expect("it fits")).collect();
        let peer = peer.as_ref().map(|peer| peer.code(m, t));
        compare_encode(&codes, peer.as_ref());
        let mut counts = vec![0, 1, 2, 3, 4, t / 2, t, t + 1];
        counts.dedup();
        for errors in counts {
            compare_decode(&codes, peer.as_ref(), errors);
        }
    }
    construction();
    let page = words(&Bch::new(13, 8, 4096).expect("it fits"), 0).iter().flat_map(|word| word.data.clone()).collect::<Vec<u8>>();
    let mut work = || {
        black_box(crc32c(black_box(&page[..4096])));
    };
    let best = (0..1000).map(|_| seconds(&mut work)).fold(f64::INFINITY, f64::min);
    println!("crc32c of 4 KiB: {:.2} us", best * 1e6);
}
