//! The curves of simulations, fitted to what was measured, and how far they hold.
//!
//! Words are lost where what the decoder bears, as it varies with the places of the errors, is less than their number: the probit of
//! the share of lost words is a line of the number of errors, for small codes with a slight bend. It is fitted by maximum
//! likelihood, with the count of an error beyond the mean of its rate ([`flashkeep_coding::ldpc::curve`]). A bend is taken where it
//! raises the logarithm of the likelihood by more than [`WORTH`]. Intervals are those of fits, with a bend, to draws of the numbers of
//! lost words.

use super::Random;
use flashkeep_coding::ldpc::curve::{Point, Tail};
use flashkeep_coding::ldpc::{Code, Curve, Stage};

/// Losses of the planted words.
const PLANTED: &str = include_str!("../../../../experiments/ldpc/planted.csv");
/// Lost words that tell a floor.
const TOLD: f64 = 10.0;
/// Least gain in the logarithm of the likelihood that justifies a bend.
const WORTH: f64 = 4.0;
/// Fits to draws, for intervals.
const DRAWS: usize = 80;
/// Frame error rates that are looked for.
const LOST: [f64; 5] = [1e-2, 1e-3, 1e-6, 1e-9, 1e-12];

#[expect(clippy::print_stdout, reason = "a measuring program prints its rows")]
pub(super) fn print_tails(codes: &[&'static Code]) -> Result<(), String> {
    println!("code,stage,middle,spread,bend,counts,power,floor");
    for (code, stage) in all(codes) {
        let tail = fit(code, stage, &Curve::of(code, stage).points, false)?;
        let Tail { middle, spread, bend, counts, power, floor } = tail;
        let name = code.name();
        println!("{name},{},{middle:.3},{spread:.3},{bend:.4},{counts:.4},{power},{floor:.3e}", stage.name());
    }
    Ok(())
}

/// For each code and stage the raw bit error rates at which this many words are lost, with intervals of 95 %, and the share of lost
/// words down to which half of them have numbers of errors at which losses were seen.
#[expect(clippy::print_stdout, reason = "a measuring program prints its rows")]
pub(super) fn print_reach(codes: &[&'static Code]) -> Result<(), String> {
    println!("code,stage,lost,rber,low,high,seen");
    for (code, stage) in all(codes) {
        let points = &Curve::of(code, stage).points;
        let tail = fit(code, stage, points, false)?;
        let mut random = Random::new(&[7, code.bits() as u64, stage as u64]);
        let mut fits = Vec::new();
        for _ in 0..DRAWS {
            let drawn: Vec<Point> = points.iter().map(|point| drawn(point, &mut random)).collect();
            fits.push(fit(code, stage, &drawn, true)?);
        }
        for lost in LOST {
            let rber = max_rber(&tail, code.bits(), lost);
            let mut draws: Vec<f64> = fits.iter().map(|tail| max_rber(tail, code.bits(), lost)).collect();
            draws.sort_by(f64::total_cmp);
            let (low, high) = (draws[DRAWS / 40], draws[DRAWS - 1 - DRAWS / 40]);
            let seen = share_seen(&tail, code.bits(), points, rber);
            println!("{},{},{lost:e},{rber:.4e},{low:.4e},{high:.4e},{seen:.2}", code.name(), stage.name());
        }
    }
    Ok(())
}

fn all(codes: &[&'static Code]) -> impl Iterator<Item = (&'static Code, Stage)> {
    codes.iter().flat_map(|code| Stage::ALL.map(|stage| (*code, stage)))
}

/// The floor: what the planted words say that had the fewest bits planted of which [`TOLD`] words were lost, or else any.
fn floor(code: &Code, stage: Stage) -> (u32, f64) {
    let (mut floor, mut best) = ((0, 0.0), (true, u32::MAX));
    for line in PLANTED.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, of_stage, rber, bits, _, _, failures, _, share, ..] = fields[..] else { continue };
        let numbers = (rber.parse::<f64>(), bits.parse::<u32>(), failures.parse::<f64>(), share.parse::<f64>());
        let (Ok(rber), Ok(bits), Ok(failures), Ok(share)) = numbers else { continue };
        let rank = (failures < TOLD, if failures < TOLD { u32::MAX - bits } else { bits });
        if name == code.name() && of_stage == stage.name() && failures > 0.0 && rank < best {
            (floor, best) = ((bits, share / rber.powi(bits as i32)), rank);
        }
    }
    floor
}

/// The likeliest tail; with a bend if it must have one, or is worth it.
fn fit(code: &Code, stage: Stage, points: &[Point], bent: bool) -> Result<Tail, String> {
    let counts = |curved: bool| -> Result<(f64, Tail), String> {
        let of = |counts: f64| {
            let (likelihood, [a, b, c]) = probit(code, points, counts, curved)?;
            Ok::<_, String>((likelihood, tail(a, b, c, counts)))
        };
        if stage == Stage::Hard {
            return of(1.0);
        }
        // The likelihood has one peak over the counts: golden section.
        let (mut low, mut high) = (0.4, 1.0);
        let golden = (5_f64.sqrt() - 1.0) / 2.0;
        for _ in 0..24 {
            let (a, b) = (high - golden * (high - low), low + golden * (high - low));
            if of(a)?.0 > of(b)?.0 { high = b } else { low = a }
        }
        of(f64::midpoint(low, high))
    };
    let (straight, curved) = (counts(false)?, counts(true)?);
    let tail = if bent || curved.0 > straight.0 + WORTH { curved.1 } else { straight.1 };
    let (power, floor) = floor(code, stage);
    Ok(Tail { power, floor, ..tail })
}

/// The tail whose probit is a + b x + c x^2.
fn tail(a: f64, b: f64, c: f64, counts: f64) -> Tail {
    let middle = if c.abs() < 1e-12 { -a / b } else { (-b - (b * b - 4.0 * a * c).sqrt()) / (2.0 * c) };
    let slope = -(b + 2.0 * c * middle);
    Tail { middle, spread: 1.0 / slope, bend: c * middle / slope, counts, power: 0, floor: 0.0 }
}

/// Coefficients of the probit that are likeliest, by Newton's method on the expected curvature, and the logarithm of the likelihood.
fn probit(code: &Code, points: &[Point], counts: f64, curved: bool) -> Result<(f64, [f64; 3]), String> {
    let scale = points.iter().map(|point| point.errors).fold(1.0, f64::max);
    let (terms, start) = if curved {
        let (_, [a, b, _]) = probit(code, points, counts, false)?;
        (3, [a, b * scale, 0.0])
    } else {
        (2, [20.0, -22.0, 0.0])
    };
    let place = |point: &Point| {
        let mean = code.bits() as f64 * point.cells;
        let x = (mean + counts * (point.errors - mean)) / scale;
        [1.0, x, x * x]
    };
    let at = |k: &[f64; 3], x: &[f64; 3]| k.iter().zip(x).map(|(k, x)| k * x).sum::<f64>();
    let likelihood = |k: &[f64; 3]| -> f64 {
        let of = |point: &Point| {
            let z = at(k, &place(point));
            let part = |count: f64, z: f64| if count > 0.0 { count * Tail::normal(z).max(1e-300).ln() } else { 0.0 };
            part(point.failures, z) + part(point.frames - point.failures, -z)
        };
        points.iter().map(of).sum()
    };
    let mut k = start;
    let mut best = likelihood(&k);
    for _ in 0..200 {
        let (mut matrix, mut gradient) = ([[0.0; 3]; 3], [0.0; 3]);
        for point in points {
            let x = place(point);
            let z = at(&k, &x).clamp(-8.0, 8.0);
            let (lost, density) = (Tail::normal(z), (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt());
            let spread = (lost * (1.0 - lost)).max(1e-300);
            let (pull, weight) =
                ((point.failures - point.frames * lost) * -density / spread, point.frames * density * density / spread);
            for i in 0..terms {
                gradient[i] += pull * x[i];
                (0..terms).for_each(|j| matrix[i][j] += weight * x[i] * x[j]);
            }
        }
        let step = solve(matrix, gradient, terms).ok_or_else(|| format!("{}: points do not tell a curve", code.name()))?;
        // Halved until it helps.
        let tried = (0..40).map(|halving| std::array::from_fn(|i| k[i] + step[i] * 0.5_f64.powi(halving)));
        let Some((next, found)) = tried.map(|next| (next, likelihood(&next))).find(|(_, found)| *found >= best) else { break };
        let gain = found - best;
        (k, best) = (next, found);
        if gain < 1e-9 {
            break;
        }
    }
    Ok((best, [k[0], k[1] / scale, k[2] / (scale * scale)]))
}

/// Solves this many equations, by elimination.
fn solve(mut matrix: [[f64; 3]; 3], mut right: [f64; 3], terms: usize) -> Option<[f64; 3]> {
    for at in 0..terms {
        let pivot = (at..terms).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
        matrix.swap(at, pivot);
        right.swap(at, pivot);
        if matrix[at][at].abs() < 1e-12 {
            return None;
        }
        for row in (0..terms).filter(|row| *row != at) {
            let factor = matrix[row][at] / matrix[at][at];
            (0..terms).for_each(|column| matrix[row][column] -= factor * matrix[at][column]);
            right[row] -= factor * right[at];
        }
    }
    Some(std::array::from_fn(|at| if at < terms { right[at] / matrix[at][at] } else { 0.0 }))
}

/// A point with as many lost words as chance may have it.
fn drawn(point: &Point, random: &mut Random) -> Point {
    let mut uniform = || (random.next() >> 11) as f64 / (1_u64 << 53) as f64 + 1e-17;
    let (mean, share) = (point.failures, point.failures / point.frames);
    let failures = if mean < 40.0 {
        // Poisson, by the product of uniform numbers.
        let (mut product, mut count) = (uniform(), 0.0);
        while product > (-mean).exp() {
            product *= uniform();
            count += 1.0;
        }
        count
    } else {
        let normal = (-2.0 * uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform()).cos();
        (mean + normal * (mean * (1.0 - share)).sqrt()).round()
    };
    Point { failures: failures.clamp(0.0, point.frames), ..point.clone() }
}

/// Numbers of errors with their probabilities, each bit being wrong on its own.
fn errors(bits: usize, rber: f64) -> impl Iterator<Item = (f64, f64)> {
    let (bits, odds) = (bits as f64, (rber / (1.0 - rber)).ln());
    let mut ln_term = bits * (-rber).ln_1p();
    // Beyond, their odds are below 1e-40.
    let mean = bits * rber;
    (0..=(mean + 14.0 * mean.sqrt() + 30.0) as usize).map(move |errors| {
        let errors = errors as f64;
        let term = (errors, ln_term.exp());
        ln_term += ((bits - errors) / (errors + 1.0)).ln() + odds;
        term
    })
}

fn lost_at(tail: &Tail, bits: usize, rber: f64) -> f64 {
    errors(bits, rber).map(|(errors, share)| share * tail.failure(tail.effective(errors, bits, rber), bits)).sum()
}

fn max_rber(tail: &Tail, bits: usize, lost: f64) -> f64 {
    let (mut low, mut high) = (1e-6_f64.ln(), 0.05_f64.ln());
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if lost_at(tail, bits, middle.exp()) < lost { low = middle } else { high = middle }
    }
    low.exp()
}

/// The share of the lost words that are as hard as words were of which some were lost.
fn share_seen(tail: &Tail, bits: usize, points: &[Point], rber: f64) -> f64 {
    let with = points.iter().filter(|point| point.failures >= 1.0);
    let least = with.map(|point| tail.effective(point.errors, bits, point.cells)).fold(f64::INFINITY, f64::min);
    let seen = errors(bits, rber).map(|(errors, share)| (tail.effective(errors, bits, rber), share));
    let seen = seen.filter(|(effective, _)| *effective >= least).map(|(effective, share)| share * tail.failure(effective, bits));
    seen.sum::<f64>() / lost_at(tail, bits, rber)
}
