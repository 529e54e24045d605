//! Speed of the LDPC codes on one thread, by kernel, beside two layered decoders of `ldpc-toolbox` in the same run, on the
//! same words and the same matrix, which is handed over as alist. All take turns; of many rounds the best one counts, as neighbours on a
//! shared machine only ever slow a round down. Microseconds a word, and MB/s of its data, 10^6 bytes. *decode* is the whole of it:
//! from data and parity as read to the corrected bytes. The peer takes a float for each bit and gives a byte for each; making
//! the floats is not counted. Every word that either side decodes is compared with what was written.
//!
//! `ldpc-toolbox` has an encoder for any matrix, but it inverts a dense one of a byte for each element, which takes hours at these
//! sizes: encoding has no peer.

use flashkeep_coding::ldpc::{Channel, Code, Curve, Kernel, Limits, Stage, Workspace};
use ldpc_toolbox::decoder::LdpcDecoder;
use ldpc_toolbox::decoder::factory::{DecoderFactory, DecoderImplementation};
use ldpc_toolbox::sparse::SparseMatrix;
use std::hint::black_box;
use std::time::Instant;

const CODES: [&str; 6] =
    ["ldpc-4k-0.889-2", "ldpc-4k-0.901-2", "ldpc-4k-0.928-2", "ldpc-2k-0.901-2", "ldpc-1k-0.889-2", "ldpc-1k-0.928-2"];
/// Reads, and their error rates.
const READS: [(Stage, f64); 4] = [(Stage::Hard, 0.0), (Stage::Hard, 2e-3), (Stage::Hard, 4e-3), (Stage::TwoBit, 8e-3)];
/// The peer's fastest layered decoders.
const PEERS: [DecoderImplementation; 2] = [DecoderImplementation::HLMinstarapproxi8, DecoderImplementation::HLAminstari8];
const WORDS: usize = 48;
const ROUNDS: usize = 40;
/// Rounds of the peers, which take a thousand times as long.
const PEER_ROUNDS: usize = 2;
const PEER_WORDS: usize = 8;

struct Word {
    written: Vec<u8>,
    read: Vec<u8>,
    planes: [Vec<u8>; 2],
    ratios: Vec<f64>,
}

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn words(code: &Code, channel: &Channel, clean: bool) -> Vec<Word> {
    let mut state = 7;
    let word = |_| {
        let mut written = vec![0; code.bits() / 8];
        let (data, parity) = written.split_at_mut(code.data_bytes());
        data.fill_with(|| random(&mut state) as u8);
        code.encode(data, parity, &mut Workspace::default());
        let mut word = Word { read: written.clone(), planes: [written.clone(), written.clone()], ratios: Vec::new(), written };
        for at in (0..word.read.len()).step_by(8) {
            let wrong = if clean { 0 } else { channel.draw_wrong(&mut || random(&mut state)) };
            let degrees = channel.draw_degrees(wrong, &mut || random(&mut state));
            for (i, byte) in wrong.to_le_bytes().into_iter().enumerate() {
                word.read[at + i] ^= byte;
                word.planes[0][at + i] = degrees[0].to_le_bytes()[i];
                word.planes[1][at + i] = degrees[1].to_le_bytes()[i];
            }
        }
        let bit = |bytes: &[u8], at: usize| usize::from(bytes[at / 8] >> (at % 8) & 1);
        let ratio = |at: usize| {
            let [wrong, right] = channel.odds[bit(&word.planes[0], at) + 2 * bit(&word.planes[1], at)];
            let ratio = (right / wrong).ln();
            if bit(&word.read, at) == 1 { -ratio } else { ratio }
        };
        word.ratios = (0..code.bits()).map(ratio).collect();
        word
    };
    (0..WORDS).map(word).collect()
}

/// Seconds a word that something takes over some of them: the best of some rounds.
fn best(rounds: usize, words: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64() / words as f64);
    }
    best
}

fn ours(code: &Code, kernel: &Kernel, channel: &Channel, words: &[Word], limits: &Limits) -> f64 {
    let mut workspace = Workspace::default();
    let mut reads: Vec<Vec<u8>> = words.iter().map(|word| word.read.clone()).collect();
    let mut fastest = f64::INFINITY;
    for _ in 0..ROUNDS {
        for (read, word) in reads.iter_mut().zip(words) {
            read.copy_from_slice(&word.read);
        }
        fastest = fastest.min(best(1, WORDS, || {
            for (read, word) in reads.iter_mut().zip(words) {
                let (data, parity) = read.split_at_mut(code.data_bytes());
                let soft = channel.soft(&word.planes[0], &word.planes[1]);
                let _ = black_box(code.decode_with(kernel, data, parity, soft, limits, &mut workspace));
            }
        }));
        let right = |(read, word): (&Vec<u8>, &Word)| *read == word.written || *read == word.read;
        assert!(reads.iter().zip(words).all(right), "a word is what was written, or stays as it was read");
    }
    fastest
}

fn peer(decoder: &mut dyn LdpcDecoder, words: &[Word]) -> f64 {
    best(PEER_ROUNDS, PEER_WORDS, || {
        for word in &words[..PEER_WORDS] {
            let Ok(decoded) = decoder.decode(black_box(&word.ratios), 30) else { continue };
            let same = |(at, bit): (usize, &u8)| word.written[at / 8] >> (at % 8) & 1 == *bit;
            assert!(decoded.codeword.iter().enumerate().all(same), "the peer finds what was written");
        }
    })
}

fn encode(code: &Code, kernel: &Kernel, words: &[Word]) -> f64 {
    let (mut workspace, mut parity) = (Workspace::default(), vec![0; code.parity_bytes()]);
    best(4 * ROUNDS, WORDS, || {
        for word in words {
            code.encode_with(kernel, black_box(&word.written[..code.data_bytes()]), &mut parity, &mut workspace);
        }
    })
}

fn print(code: &Code, what: &str, who: &str, seconds: f64) {
    println!(
        "{:<14} {what:<22} {who:<20} {:>10.2} us {:>8.0} MB/s",
        code.name(),
        seconds * 1e6,
        code.data_bytes() as f64 / seconds / 1e6
    );
}

fn main() {
    for name in CODES {
        let code = Code::find(name).expect("a name of a code");
        let matrix = SparseMatrix::from_alist(&code.alist()).expect("an alist");
        for (stage, rber) in READS {
            // Beyond what the code bears it is failures that would be timed.
            if rber * code.bits() as f64 > 0.9 * Curve::of(code, stage).bears(1e-3) {
                continue;
            }
            let channel = Channel::new(stage, rber);
            let words = words(code, &channel, rber == 0.0);
            if rber == 0.0 {
                for kernel in Kernel::available() {
                    print(code, "encode", kernel.name(), encode(code, kernel, &words));
                }
            }
            let what = if rber == 0.0 { "decode, clean".to_owned() } else { format!("decode, {} {rber:.0e}", stage.name()) };
            for kernel in Kernel::available() {
                print(code, &what, kernel.name(), ours(code, kernel, &channel, &words, &Limits::default()));
            }
            if rber > 0.0 {
                let plain = Limits { flipping: false, ..Limits::default() };
                let kernel = Kernel::fastest();
                let who = format!("{}, min-sum only", kernel.name());
                print(code, &what, &who, ours(code, kernel, &channel, &words, &plain));
                for implementation in PEERS {
                    let mut decoder = implementation.build_decoder(matrix.clone());
                    print(code, &what, &implementation.to_string(), peer(&mut *decoder, &words));
                }
            }
        }
    }
}
