//! The decoder against naive ones, and every kernel against every other.

use super::{Frame, Noise, codes, with_wrong};
use crate::naive::Matrix;
use flashkeep_coding::ldpc::{Channel, Code, Kernel, Limits, Outcome, Soft, Stage, Undecoded, Workspace};

/// Raw bit error rates at which about half of the words of the smallest code are lost, and some where few are.
fn rates(code: &Code, stage: Stage) -> [f64; 3] {
    let most = (1.0 - code.rate()) * [0.085, 0.17, 0.19][stage as usize];
    [most, 0.8 * most, 0.4 * most]
}

fn decode(
    code: &Code,
    frame: &Frame,
    channel: &Channel,
    limits: &Limits,
    kernel: &Kernel,
) -> (Result<Outcome, Undecoded>, Vec<u8>) {
    let mut word = frame.read.clone();
    let (data, parity) = word.split_at_mut(code.data_bytes());
    let outcome = code.decode_with(kernel, data, parity, frame.soft(channel), limits, &mut Workspace::default());
    (outcome, word)
}

#[test]
fn kernels_agree_to_the_bit() {
    let mut noise = Noise(21);
    for code in codes() {
        for stage in Stage::ALL {
            for rber in rates(code, stage) {
                let channel = Channel::new(stage, rber);
                let frame = Frame::new(code, &channel, &mut noise);
                for flipping in [false, true] {
                    let limits = Limits { iterations: 12, flipping, ..Limits::default() };
                    let all: Vec<_> =
                        Kernel::available().into_iter().map(|kernel| decode(code, &frame, &channel, &limits, kernel)).collect();
                    assert!(all.iter().all(|one| *one == all[0]), "{code:?} at {rber}, {}, kernels {:?}", stage.name(), all);
                }
            }
        }
    }
}

#[test]
fn min_sum_is_that_of_a_naive_decoder() {
    let mut noise = Noise(22);
    let (mut decoded, mut failed) = (0, 0);
    for code in codes().filter(|code| code.data_bytes() == 1024) {
        let matrix = Matrix::parse(&code.alist());
        for stage in Stage::ALL {
            for rber in rates(code, stage) {
                let channel = Channel::new(stage, rber);
                let frame = Frame::new(code, &channel, &mut noise);
                let limits = Limits { iterations: 8, flipping: false, doubting: false };
                let (outcome, word) = decode(code, &frame, &channel, &limits, Kernel::fastest());
                let naive = matrix.min_sum(&llrs(&frame, &channel), limits.iterations);
                let ours = outcome.ok().map(|outcome| (word.clone(), outcome.iterations));
                assert_eq!(ours, naive, "{code:?}, {} at {rber}", stage.name());
                decoded += u32::from(outcome.is_ok());
                failed += u32::from(outcome.is_err());
                if outcome.is_err() {
                    assert_eq!(word, frame.read, "a word that is lost stays as it was read");
                }
            }
        }
    }
    assert!(decoded > 5 && failed > 5, "both happen: {decoded} decoded, {failed} failed");
}

/// Further tries, on words in which a small set of former matrices is wrong: all kernels end as the naive decoder does.
#[test]
fn doubting_is_that_of_a_naive_decoder() {
    let mut noise = Noise(29);
    let (mut saved, mut failed, mut most) = (0, 0, 0);
    let code = Code::find("ldpc-1k-0.928").expect("a former name");
    let (matrix, sets) = (Matrix::parse(&code.alist()), code.small_sets(5));
    for stage in Stage::ALL {
        let channel = Channel::new(stage, 1e-3);
        for _ in 0..4 {
            let frame = with_wrong(code, &sets[noise.below(sets.len())], &mut noise);
            let limits = Limits { iterations: 8, flipping: false, doubting: true };
            let naive = matrix.min_sum_with_doubt(&llrs(&frame, &channel), limits.iterations);
            for kernel in Kernel::available() {
                let (outcome, word) = decode(code, &frame, &channel, &limits, kernel);
                assert_eq!(outcome.ok().map(|outcome| (word, outcome.iterations)), naive, "{kernel:?}, {}", stage.name());
            }
            let plain = decode(code, &frame, &channel, &Limits { doubting: false, ..limits }, Kernel::fastest());
            saved += u32::from(naive.is_some() && plain.0.is_err());
            failed += u32::from(naive.is_none());
            most = most.max(naive.map_or(0, |(_, iterations)| iterations));
        }
    }
    assert!(saved > 2 && failed > 0 && most > 16, "{saved} saved, {failed} failed, {most} iterations at most");
}

/// Channel information of each bit, in the numbers of the decoder.
fn llrs(frame: &Frame, channel: &Channel) -> Vec<i32> {
    let bit = |bytes: &[u8], at: usize| usize::from(bytes[at / 8] >> (at % 8) & 1);
    let llr = |at: usize| {
        let degree = bit(&frame.planes[0], at) + 2 * bit(&frame.planes[1], at);
        let magnitude = if channel.stage == Stage::Hard { 16 } else { i32::from(channel.magnitudes[degree]) };
        if bit(&frame.read, at) == 1 { -magnitude } else { magnitude }
    };
    (0..8 * frame.read.len()).map(llr).collect()
}

#[test]
fn sum_product_decodes_what_min_sum_decodes() {
    // Another algorithm with another schedule: where our decoder has a margin both give what was written, and
    // far above the limit of the code neither does.
    let code = Code::find("ldpc-1k-0.889").expect("it is known");
    let matrix = Matrix::parse(&code.alist());
    let mut noise = Noise(23);
    for (stage, good, bad) in [(Stage::Hard, 5.5e-3, 1.6e-2), (Stage::TwoBit, 1.25e-2, 2.8e-2), (Stage::ThreeBit, 1.5e-2, 3.1e-2)]
    {
        for (rber, decodes) in [(good, true), (bad, false)] {
            let channel = Channel::new(stage, rber);
            for _ in 0..3 {
                let frame = Frame::new(code, &channel, &mut noise);
                let ratio = |at: usize| {
                    let [wrong, right] = channel.odds[at];
                    (right / wrong).ln()
                };
                let bit = |bytes: &[u8], at: usize| usize::from(bytes[at / 8] >> (at % 8) & 1);
                let ratios: Vec<f64> = (0..code.bits())
                    .map(|at| {
                        let sure = ratio(bit(&frame.planes[0], at) + 2 * bit(&frame.planes[1], at));
                        if bit(&frame.read, at) == 1 { -sure } else { sure }
                    })
                    .collect();
                let theirs = matrix.sum_product(&ratios, 40);
                let (outcome, ours) = decode(code, &frame, &channel, &Limits::default(), Kernel::fastest());
                assert_eq!(theirs.is_some(), decodes, "{} at {rber}", stage.name());
                assert_eq!(outcome.is_ok(), decodes, "{} at {rber}", stage.name());
                if decodes {
                    assert_eq!((&ours, theirs.as_ref()), (&frame.written, Some(&frame.written)));
                }
            }
        }
    }
}

#[test]
fn corrected_bits_are_counted_and_restored() {
    let mut noise = Noise(24);
    for code in codes() {
        for flipping in [false, true] {
            let channel = Channel::new(Stage::Hard, 1e-3);
            let frame = Frame::new(code, &channel, &mut noise);
            let (outcome, word) = decode(code, &frame, &channel, &Limits { flipping, ..Limits::default() }, Kernel::fastest());
            let outcome = outcome.expect("few bits are wrong");
            assert_eq!(word, frame.written, "{code:?}");
            assert_eq!(outcome.corrected, frame.errors(), "{code:?}");
            assert_eq!(outcome.iterations > 0, !flipping || outcome.flips == 0);
        }
    }
}

#[test]
fn a_word_without_errors_takes_no_iteration() {
    for code in codes() {
        let channel = Channel::new(Stage::Hard, 1e-9);
        let mut noise = Noise(25);
        let mut frame = Frame::new(code, &channel, &mut noise);
        frame.read.copy_from_slice(&frame.written);
        let (outcome, word) = decode(code, &frame, &channel, &Limits::default(), Kernel::fastest());
        assert_eq!(outcome, Ok(Outcome { iterations: 0, flips: 0, corrected: 0 }));
        assert_eq!(word, frame.written);
    }
}

#[test]
fn bit_flipping_loses_no_word() {
    // Min-sum gets a word that bit flipping cannot correct as it was read.
    let mut noise = Noise(26);
    let (code, mut by_flips) = (Code::find("ldpc-1k-0.928").expect("it is known"), 0);
    let channel = Channel::new(Stage::Hard, 3.4e-3);
    for _ in 0..2000 {
        let frame = Frame::new(code, &channel, &mut noise);
        let (plain, _) = decode(code, &frame, &channel, &Limits { flipping: false, ..Limits::default() }, Kernel::fastest());
        let (outcome, word) = decode(code, &frame, &channel, &Limits::default(), Kernel::fastest());
        if plain.is_ok() {
            assert_eq!(word, frame.written);
        }
        by_flips += u32::from(outcome.is_ok_and(|outcome| outcome.flips > 0));
    }
    assert!(by_flips > 100, "bit flipping corrected {by_flips} of 2000 words");
}

#[test]
fn bit_flipping_is_that_of_a_naive_decoder() {
    let mut noise = Noise(28);
    let (mut flipped, mut given_up, mut most) = (0, 0, 0);
    for code in codes().filter(|code| code.data_bytes() == 1024) {
        let matrix = Matrix::parse(&code.alist());
        for share in [0.25, 0.4, 0.5, 0.6] {
            let channel = Channel::new(Stage::Hard, share * 0.085 * (1.0 - code.rate()));
            for _ in 0..100 {
                let frame = Frame::new(code, &channel, &mut noise);
                let naive = matrix.flip_bits(&frame.read).filter(|_| frame.errors() > 0);
                let (outcome, word) = decode(code, &frame, &channel, &Limits::default(), Kernel::fastest());
                let ours = outcome.ok().filter(|outcome| outcome.flips > 0).map(|outcome| (word, outcome.flips));
                assert_eq!(ours, naive, "{code:?}, {} errors", frame.errors());
                let rounds = naive.map_or(0, |(_, rounds)| rounds);
                (flipped, given_up, most) =
                    (flipped + u32::from(rounds > 0), given_up + u32::from(rounds == 0), most.max(rounds));
            }
        }
    }
    assert!(flipped > 100 && given_up > 100 && most > 7, "{flipped} within {most} rounds, {given_up} given up");
}

#[test]
#[should_panic(expected = "bytes of data and of parity of the code")]
fn data_of_another_length_is_a_defect() {
    let code = Code::find("ldpc-1k-0.901").expect("it is known");
    let (mut data, mut parity) = (vec![0; code.data_bytes() - 1], vec![0; code.parity_bytes() + 1]);
    let _ = code.decode(&mut data, &mut parity, Soft::Hard, &Limits::default(), &mut Workspace::default());
}

#[test]
fn one_workspace_serves_codes_of_every_size() {
    let (mut noise, mut workspace) = (Noise(27), Workspace::default());
    let channel = Channel::new(Stage::ThreeBit, 5e-3);
    for code in codes().chain(codes()) {
        let frame = Frame::new(code, &channel, &mut noise);
        let mut word = frame.read.clone();
        let (data, parity) = word.split_at_mut(code.data_bytes());
        let limits = Limits { flipping: false, ..Limits::default() };
        code.decode(data, parity, frame.soft(&channel), &limits, &mut workspace).expect("few bits are wrong");
        assert_eq!(word, frame.written, "{code:?}");
    }
}
