//! Frame errors of the LDPC codes, measured. Kinds of rows, as CSV on standard output:
//!
//!     cargo run --release -p flashkeep-coding --example ldpc -- rber [OPTION=VALUE ...]
//!     cargo run --release -p flashkeep-coding --example ldpc -- errors [OPTION=VALUE ...]
//!     cargo run --release -p flashkeep-coding --example ldpc -- planted [OPTION=VALUE ...]
//!     cargo run --release -p flashkeep-coding --example ldpc -- fit
//!     cargo run --release -p flashkeep-coding --example ldpc -- reach
//!     cargo run --release -p flashkeep-coding --example ldpc -- draw [codes=NAME,...]
//!
//! `rber` draws every bit on its own at a raw bit error rate, `errors` puts a given number of wrong bits into each
//! word, `planted` a part of a small set (`plant.rs`). `fit` makes the curves of simulations of what `errors` and `planted` have
//! measured, `reach` says how far they hold (`fit.rs`), and `draw` draws the matrices again. Points start where nearly every word fails and go down by `step` until one has been measured below `until`,
//! or at `from` and `to` if given. Each point ends with `failures` failures or `frames` frames.
//!
//! Options: `codes` and `stages` (names, comma between; all), `failures` (60), `frames` (1000000), `until` (1e-3), `step` (0.03),
//! `from` and `to` (the first and the last point, instead of `until`), `at` (of `errors`: the points, comma between), `cells` (of `errors`:
//! the raw bit error rate that degrees of sureness are drawn at, instead of the one that the errors stand for), `flipping` (`no`, `yes`), `parts` (of
//! `planted`: the bits of a part, 5; its points are raw bit error rates), `seed` (1), `threads` (1).
//! Random words are encoded; a decoder that returns another codeword counts as failed, and under `wrong`. Rows are the same for
//! any number of threads. Intervals are those of Clopper and Pearson, 95 %.

mod fit;
mod plant;

use flashkeep_coding::ldpc::{Channel, Code, Limits, Soft, Stage, Workspace};
use flashkeep_coding::odds::binomial;
use std::sync::atomic::{AtomicU64, Ordering};

/// Frames that one stream of random numbers draws.
const CHUNK: u64 = 256;
/// Odd checks of the sets of which parts are planted.
const ODD: usize = 6;
/// Chunks between two looks at the count of failures.
const ROUND: u64 = 16;

/// xoshiro256**, seeded by SplitMix64.
struct Random([u64; 4]);

impl Random {
    fn new(seed: &[u64]) -> Self {
        let mut state = 0_u64;
        let mut next = || vocab::splitmix64(&mut state);
        let _ = next();
        let mut mixed = [next(), next(), next(), next()];
        for part in seed {
            let mut random = Random(mixed);
            mixed = [random.next() ^ part, random.next(), random.next(), random.next().wrapping_add(*part)];
        }
        let mut random = Random(mixed);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// Measurement of one point.
struct Point {
    code: &'static Code,
    channel: Channel,
    /// Wrong bits of every word, or as many as the channel makes.
    errors: Option<usize>,
    flipping: bool,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    frames: u64,
    failures: u64,
    wrong: u64,
    /// Iterations of the words that were decoded, and their number.
    iterations: u64,
}

/// A word as written and as read, and the planes of a soft read.
struct Frame {
    written: Vec<u8>,
    read: Vec<u8>,
    planes: [Vec<u8>; 2],
    workspace: Workspace,
}

impl Frame {
    fn new(code: &Code) -> Self {
        let bytes = || vec![0; code.bits() / 8];
        Frame { written: bytes(), read: bytes(), planes: [bytes(), bytes()], workspace: Workspace::default() }
    }

    /// A random codeword, read without errors.
    fn encode(&mut self, code: &Code, random: &mut Random) {
        let (data, parity) = self.written.split_at_mut(code.data_bytes());
        for bytes in data.chunks_exact_mut(8) {
            bytes.copy_from_slice(&random.next().to_le_bytes());
        }
        code.encode(data, parity, &mut self.workspace);
        self.read.copy_from_slice(&self.written);
    }

    fn draw(&mut self, point: &Point, random: &mut Random) {
        self.encode(point.code, random);
        for _ in 0..point.errors.unwrap_or(0) {
            loop {
                let place = random.below(point.code.bits());
                if is_set(&self.read, place) == is_set(&self.written, place) {
                    self.read[place / 8] ^= 1 << (place % 8);
                    break;
                }
            }
        }
        for at in (0..self.read.len()).step_by(8) {
            let wrong = match point.errors {
                Some(_) => word(&self.read, at) ^ word(&self.written, at),
                None => point.channel.draw_wrong(&mut || random.next()),
            };
            self.read_wrongly(at, wrong, &point.channel, random);
        }
    }

    /// With some bits wrong and sure of themselves, and all others drawn on their own.
    fn draw_around(&mut self, code: &Code, channel: &Channel, part: &[usize], random: &mut Random) {
        self.encode(code, random);
        for at in (0..self.read.len()).step_by(8) {
            let planted = part.iter().filter(|bit| **bit / 64 == at / 8).fold(0_u64, |planted, bit| planted | 1 << (bit % 64));
            let wrong = channel.draw_wrong(&mut || random.next()) | planted;
            self.read_wrongly(at, wrong, channel, random);
            for plane in &mut self.planes {
                let sure = word(plane, at) | planted;
                plane[at..at + 8].copy_from_slice(&sure.to_le_bytes());
            }
        }
    }

    fn read_wrongly(&mut self, at: usize, wrong: u64, channel: &Channel, random: &mut Random) {
        let read = word(&self.written, at) ^ wrong;
        self.read[at..at + 8].copy_from_slice(&read.to_le_bytes());
        let degrees = channel.draw_degrees(wrong, &mut || random.next());
        for (plane, degree) in self.planes.iter_mut().zip(degrees) {
            plane[at..at + 8].copy_from_slice(&degree.to_le_bytes());
        }
    }

    /// By bit: whether it is wrong and as sure as can be.
    fn sure_and_wrong(&self, stage: Stage) -> Vec<bool> {
        let planes = &self.planes[..stage.degrees().ilog2() as usize];
        let is_wrong = |bit: usize| is_set(&self.read, bit) != is_set(&self.written, bit);
        (0..8 * self.read.len()).map(|bit| is_wrong(bit) && planes.iter().all(|plane| is_set(plane, bit))).collect()
    }

    fn decode(&mut self, code: &Code, channel: &Channel, limits: &Limits, counts: &mut Counts) {
        let (data, parity) = self.read.split_at_mut(code.data_bytes());
        let soft: Soft = channel.soft(&self.planes[0], &self.planes[1]);
        counts.frames += 1;
        match code.decode(data, parity, soft, limits, &mut self.workspace) {
            Ok(outcome) if self.read == self.written => counts.iterations += u64::from(outcome.iterations),
            Ok(_) => (counts.failures, counts.wrong) = (counts.failures + 1, counts.wrong + 1),
            Err(_) => counts.failures += 1,
        }
    }
}

fn is_set(bytes: &[u8], bit: usize) -> bool {
    bytes[bit / 8] >> (bit % 8) & 1 == 1
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn chunk(point: &Point, seed: &[u64]) -> Counts {
    let limits = Limits { flipping: point.flipping, ..Limits::default() };
    let (mut frame, mut counts, mut random) = (Frame::new(point.code), Counts::default(), Random::new(seed));
    for _ in 0..CHUNK {
        frame.draw(point, &mut random);
        frame.decode(point.code, &point.channel, &limits, &mut counts);
    }
    counts
}

/// Kind of output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rber,
    Errors,
    Planted,
    Fit,
    Reach,
    Draw,
}

impl Kind {
    const ALL: [(&'static str, Kind); 6] = [
        ("rber", Kind::Rber),
        ("errors", Kind::Errors),
        ("planted", Kind::Planted),
        ("fit", Kind::Fit),
        ("reach", Kind::Reach),
        ("draw", Kind::Draw),
    ];
}

/// The requested output.
struct Asked {
    kind: Kind,
    codes: Vec<&'static Code>,
    stages: Vec<Stage>,
    failures: u64,
    frames: u64,
    until: f64,
    step: f64,
    from: Option<f64>,
    to: Option<f64>,
    at: Vec<f64>,
    parts: u64,
    cells: Option<f64>,
    flipping: bool,
    seed: u64,
    threads: u64,
}

impl Asked {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let kind = arguments.next().unwrap_or_default();
        let known = Kind::ALL.iter().find(|(name, _)| *name == kind);
        let names = || Kind::ALL.map(|(name, _)| name).join(", ");
        let (_, kind) = *known.ok_or_else(|| format!("`{kind}` is no kind of rows; known: {}", names()))?;
        let mut asked = Asked {
            kind,
            codes: Code::names().filter_map(Code::find).collect(),
            stages: Stage::ALL.to_vec(),
            failures: 60,
            frames: 1_000_000,
            until: 1e-3,
            step: 0.03,
            from: None,
            to: None,
            at: Vec::new(),
            parts: 5,
            cells: None,
            flipping: false,
            seed: 1,
            threads: 1,
        };
        for argument in arguments {
            let (option, value) = argument.split_once('=').ok_or(format!("`{argument}` is not OPTION=VALUE"))?;
            asked.set(option, value).map_err(|what| format!("{option}={value}: {what}"))?;
        }
        Ok(asked)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        let number = || value.parse::<f64>().ok().filter(|n| *n > 0.0).ok_or("a positive number is wanted".to_owned());
        let whole = || value.parse::<u64>().ok().filter(|n| *n > 0).ok_or("a positive whole number is wanted".to_owned());
        let known_codes = || Code::names().collect::<Vec<_>>().join(", ");
        match option {
            "codes" => {
                let code = |name| Code::find(name).ok_or(format!("no code `{name}`; known: {}", known_codes()));
                self.codes = value.split(',').map(code).collect::<Result<_, _>>()?;
            }
            "stages" => {
                let stage = |name| Stage::ALL.into_iter().find(|stage| stage.name() == name);
                let stage = |name| stage(name).ok_or(format!("no stage `{name}`; known: hard, 2-bit, 3-bit"));
                self.stages = value.split(',').map(stage).collect::<Result<_, _>>()?;
            }
            "failures" => self.failures = whole()?,
            "frames" => self.frames = whole()?,
            "parts" => self.parts = whole()?,
            "until" => self.until = number()?,
            "step" => self.step = number()?,
            "from" => self.from = Some(number()?),
            "to" => self.to = Some(number()?),
            "at" => {
                let positive = |text: &str| text.parse::<f64>().ok().filter(|number| *number > 0.0);
                let positive = |text| positive(text).ok_or("positive numbers are wanted, comma between".to_owned());
                self.at = value.split(',').map(positive).collect::<Result<_, _>>()?;
            }
            "cells" => self.cells = Some(number()?),
            "flipping" => self.flipping = value == "yes",
            "seed" => self.seed = whole()?,
            "threads" => self.threads = whole()?,
            _ => return Err("no such option".to_owned()),
        }
        Ok(())
    }

    /// Frames until there are failures or frames enough.
    fn measure(&self, point: &Point, seed: &[u64]) -> Counts {
        let mut counts = Counts::default();
        let mut first = 0;
        while counts.failures < self.failures && counts.frames < self.frames {
            let next = AtomicU64::new(first);
            let work = || {
                let mut mine = Vec::new();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= first + ROUND {
                        return mine;
                    }
                    mine.push(chunk(point, &[seed, &[at]].concat()));
                }
            };
            let of_round: Vec<Counts> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
                threads.into_iter().flat_map(|thread| thread.join().expect("a thread that only decodes")).collect()
            });
            for of_chunk in of_round {
                counts.frames += of_chunk.frames;
                counts.failures += of_chunk.failures;
                counts.wrong += of_chunk.wrong;
                counts.iterations += of_chunk.iterations;
            }
            first += ROUND;
        }
        counts
    }

    /// The points of one code and stage, from where nearly all fails down.
    fn sweep(&self, code: &'static Code, stage: Stage) {
        let bits = code.bits() as f64;
        // Above what can be decoded: a soft read takes about twice and three times what a hard one takes.
        let most = (1.0 - code.rate()) * [0.085, 0.17, 0.19][stage as usize];
        if self.kind == Kind::Errors && !self.at.is_empty() {
            for errors in &self.at {
                self.row(code, stage, errors / bits);
            }
            return;
        }
        let mut rber = self.from.map_or(most, |from| if self.kind == Kind::Errors { from / bits } else { from });
        loop {
            let (place, share) = self.row(code, stage, rber);
            let done = self.to.map_or(share < self.until, |to| place <= to * 1.000_001);
            if done || rber * bits <= 1.0 {
                return;
            }
            rber *= 1.0 - self.step;
        }
    }

    /// Words with planted parts, at the raw bit error rates of `at`.
    #[expect(clippy::print_stdout, reason = "a measuring program prints its rows")]
    fn plant(&self, code: &'static Code, stage: Stage) {
        let (bits, parts) = (self.parts as usize, plant::Parts::of(code, self.parts as usize, ODD));
        for rber in &self.at {
            let seed = [self.seed, stage as u64, self.parts, (rber * 1e12) as u64];
            let planted = parts.measure(code, stage, *rber, self.frames, &seed);
            let [share, low, high] = planted.share();
            let plant::Planted { parts, counts: Counts { frames, failures, wrong, .. }, .. } = planted;
            let name = code.name();
            let stage = stage.name();
            println!("{name},{stage},{rber:.6e},{bits},{parts},{frames},{failures},{wrong},{share:.4e},{low:.4e},{high:.4e}");
        }
    }

    /// Measures one point and prints it: where it is, and the share of words that were lost.
    #[expect(clippy::print_stdout, reason = "a measuring program prints its rows")]
    fn row(&self, code: &'static Code, stage: Stage, rber: f64) -> (f64, f64) {
        let bits = code.bits() as f64;
        let name = Code::names().position(|name| name == code.name()).unwrap_or(0) as u64;
        let errors = (rber * bits).round().max(1.0);
        let rber = if self.kind == Kind::Errors { errors / bits } else { rber };
        let cells = self.cells.unwrap_or(rber);
        let point = Point {
            code,
            channel: Channel::new(stage, cells),
            errors: (self.kind == Kind::Errors).then_some(errors as usize),
            flipping: self.flipping,
        };
        let place = if self.kind == Kind::Errors { errors as u64 } else { (rber * 1e12) as u64 };
        let counts = self.measure(&point, &[self.seed, name, stage as u64, u64::from(self.kind == Kind::Errors), place]);
        let at = if self.kind == Kind::Errors { format!("{cells:.6e},{errors}") } else { format!("{rber:.6e}") };
        let (low, high) = interval(counts.failures, counts.frames);
        let Counts { frames, failures, wrong, iterations } = counts;
        let mean = iterations as f64 / (frames - failures).max(1) as f64;
        let share = failures as f64 / frames as f64;
        println!("{},{},{at},{frames},{failures},{wrong},{share:.4e},{low:.4e},{high:.4e},{mean:.4}", code.name(), stage.name());
        (if self.kind == Kind::Errors { errors } else { rber }, share)
    }
}

/// The 95 % interval of Clopper and Pearson: the probabilities at which so few or this many failures have odds of 2.5 %.
fn interval(failures: u64, frames: u64) -> (f64, f64) {
    let bisect = |above: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (-40.0_f64, 0.0_f64);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if above(middle.exp()) { high = middle } else { low = middle }
        }
        low.exp()
    };
    let odds = 0.025_f64.ln();
    let low = if failures == 0 { 0.0 } else { bisect(&|p| binomial::ln_tail(frames, failures - 1, p) > odds) };
    let high = if failures == frames { 1.0 } else { bisect(&|p| binomial::ln_head(frames, failures, p) < odds) };
    (low, high)
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a measuring program prints its rows")]
fn main() -> std::process::ExitCode {
    let asked = match Asked::parse(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(what) => {
            eprintln!("{what}");
            return std::process::ExitCode::from(2);
        }
    };
    match asked.kind {
        Kind::Fit => return finish(fit::print_tails(&asked.codes)),
        Kind::Reach => return finish(fit::print_reach(&asked.codes)),
        Kind::Draw => {
            asked.codes.iter().filter_map(|code| Code::draw(code.name())).for_each(|lines| print!("{lines}"));
            return std::process::ExitCode::SUCCESS;
        }
        Kind::Planted => println!("code,stage,rber,bits,parts,frames,failures,wrong,share,low,high"),
        Kind::Rber => println!("code,stage,rber,frames,failures,wrong,failed,low,high,iterations"),
        Kind::Errors => println!("code,stage,cells,errors,frames,failures,wrong,failed,low,high,iterations"),
    }
    for code in &asked.codes {
        for stage in &asked.stages {
            if asked.kind == Kind::Planted { asked.plant(code, *stage) } else { asked.sweep(code, *stage) }
        }
    }
    std::process::ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "a measuring program says what is wrong")]
fn finish(result: Result<(), String>) -> std::process::ExitCode {
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("{what}");
            std::process::ExitCode::FAILURE
        }
    }
}
