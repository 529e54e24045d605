//! LDPC codes: their matrices checked as text, their decoder against naive ones on the whole matrix, their channel against
//! numbers computed elsewhere, their curves against the decoder.

mod channel;
mod curves;
mod decoder;
mod matrix;
mod naive;
mod sets;

use flashkeep_coding::ldpc::{Channel, Code, Soft, Stage, Workspace};

/// Random numbers by SplitMix64, so that a seed says it all.
struct Noise(u64);

impl Noise {
    fn word(&mut self) -> u64 {
        vocab::splitmix64(&mut self.0)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }
}

/// A random codeword, and what was read of it.
struct Frame {
    written: Vec<u8>,
    read: Vec<u8>,
    planes: [Vec<u8>; 2],
}

impl Frame {
    fn new(code: &Code, channel: &Channel, noise: &mut Noise) -> Self {
        let mut written = vec![0; code.bits() / 8];
        let (data, parity) = written.split_at_mut(code.data_bytes());
        data.fill_with(|| noise.word() as u8);
        code.encode(data, parity, &mut Workspace::default());
        let mut frame = Frame { read: written.clone(), planes: [written.clone(), written.clone()], written };
        for at in (0..frame.read.len()).step_by(8) {
            let wrong = channel.draw_wrong(&mut || noise.word());
            frame.read_wrongly(at, wrong, channel, noise);
        }
        frame
    }

    /// With exactly this many wrong bits.
    fn with_errors(code: &Code, channel: &Channel, errors: usize, noise: &mut Noise) -> Self {
        let mut frame = Frame::new(code, channel, noise);
        let mut wrong = vec![0; frame.read.len() / 8];
        let mut left = errors;
        while left > 0 {
            let place = noise.below(code.bits());
            left -= usize::from(wrong[place / 64] >> (place % 64) & 1 == 0);
            wrong[place / 64] |= 1_u64 << (place % 64);
        }
        for (at, wrong) in wrong.into_iter().enumerate() {
            frame.read_wrongly(8 * at, wrong, channel, noise);
        }
        frame
    }

    fn read_wrongly(&mut self, at: usize, wrong: u64, channel: &Channel, noise: &mut Noise) {
        let degrees = channel.draw_degrees(wrong, &mut || noise.word());
        for (i, byte) in wrong.to_le_bytes().into_iter().enumerate() {
            self.read[at + i] = self.written[at + i] ^ byte;
        }
        for (plane, degrees) in self.planes.iter_mut().zip(degrees) {
            plane[at..at + 8].copy_from_slice(&degrees.to_le_bytes());
        }
    }

    fn soft(&self, channel: &Channel) -> Soft<'_> {
        channel.soft(&self.planes[0], &self.planes[1])
    }

    fn errors(&self) -> u32 {
        self.read.iter().zip(&self.written).map(|(a, b)| (a ^ b).count_ones()).sum()
    }
}

/// A word that is read with these bits wrong, sure of all its bits.
fn with_wrong(code: &Code, wrong: &[usize], noise: &mut Noise) -> Frame {
    let mut frame = Frame::new(code, &Channel::new(Stage::Hard, 1e-9), noise);
    frame.read.copy_from_slice(&frame.written);
    wrong.iter().for_each(|bit| frame.read[bit / 8] ^= 1 << (bit % 8));
    frame.planes.iter_mut().for_each(|plane| plane.fill(0xff));
    frame
}

/// Codes that only serve words stored with them.
fn former_codes() -> impl Iterator<Item = &'static Code> {
    Code::former_names().map(|name| Code::find(name).expect("its name is known"))
}

fn codes() -> impl Iterator<Item = &'static Code> {
    Code::names().map(|name| Code::find(name).expect("its name is known"))
}
