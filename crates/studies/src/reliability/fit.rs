//! Paper: Di Carlo et al., FLARES, Eqs. 2 and 5, Table III.
//! Idea: the constants of an error model come from a least squares fit to measured rates: A, B and C to those
//! right after programming, Bo, m and n to what retention adds.
//! Differs: the paper's measured points are not printed. The points here are those of its own model, each
//! multiplied by a log-normal factor, so what the study tells is how well such points determine the constants.

use super::WEAR;
use super::settings::Settings;
use common::Problem;
use report::study::{Axis, Cell, Column, Layout, Plot, Series, Study, Table};
use ssd::nand::rber::Flares;
use vocab::Streams;

pub(super) const OPTIONS: &[(&str, &str)] = &[
    ("pe", "10,100,500,1000,2000,3000,4000,5000,6000,7000,8000,9000,10000"),
    ("retention", "1d,3d,1w,2w,1mo,3mo,6mo,1y"),
    ("noise", "0,0.02,0.1"),
    ("seed", "1"),
];

/// A rate at an age: cycles, hours, rate.
type Point = (f64, f64, f64);

/// Solves three linear equations; nothing where they have no single solution.
fn solve(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for pivot in 0..3 {
        let best = (pivot..3).max_by(|&a, &b| rows[a][pivot].abs().total_cmp(&rows[b][pivot].abs()))?;
        rows.swap(pivot, best);
        if rows[pivot][pivot] == 0.0 {
            return None;
        }
        let from = rows[pivot];
        for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != pivot) {
            let factor = row[pivot] / from[pivot];
            row.iter_mut().zip(from).skip(pivot).for_each(|(cell, from)| *cell -= factor * from);
        }
    }
    Some([0, 1, 2].map(|i| rows[i][3] / rows[i][i]))
}

/// The weights of three functions whose sum is nearest to the values: `(functions, value, weight)`.
fn least_squares(points: impl Iterator<Item = ([f64; 3], f64, f64)>) -> Option<[f64; 3]> {
    let mut rows = [[0.0; 4]; 3];
    for (functions, value, weight) in points {
        for (i, row) in rows.iter_mut().enumerate() {
            (0..3).for_each(|j| row[j] += weight * functions[i] * functions[j]);
            row[3] += weight * functions[i] * value;
        }
    }
    solve(rows)
}

/// For one B the best A and C of Eq. 2, and the sum of squares that is left.
fn given_b(points: &[Point], b: f64) -> (f64, f64, f64) {
    // A (exp(B x) - 1) + (A + C): the two functions stay apart however small B x is.
    let mean = |of: &dyn Fn(&Point) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let grown = |point: &Point| (b * point.0).exp_m1();
    let (x, y) = (mean(&grown), mean(&|point| point.2));
    let covariance = mean(&|point| (grown(point) - x) * (point.2 - y));
    let variance = mean(&|point| (grown(point) - x).powi(2));
    let a = if variance > 0.0 { covariance / variance } else { 0.0 };
    let at_zero = y - a * x;
    let left = points.iter().map(|point| (at_zero + a * grown(point) - point.2).powi(2)).sum();
    (a, at_zero - a, left)
}

/// A, B and C from rates right after programming.
fn fit_wear(points: &[Point]) -> (f64, f64, f64) {
    let left = |ln_b: f64| given_b(points, ln_b.exp()).2;
    let grid: Vec<f64> = super::ratios(1e-8, 1e-2, 400).map(f64::ln).collect();
    let best = (0..grid.len()).min_by(|&i, &j| left(grid[i]).total_cmp(&left(grid[j]))).expect("a grid has points");
    let (mut low, mut high) = (grid[best.saturating_sub(1)], grid[(best + 1).min(grid.len() - 1)]);
    for _ in 0..200 {
        let (one, two) = (low + (high - low) * 0.381_966, low + (high - low) * 0.618_034);
        if left(one) < left(two) { high = two } else { low = one }
    }
    let b = f64::midpoint(low, high).exp();
    let (a, c, _) = given_b(points, b);
    (a, b, c)
}

/// Bo, m and n from what retention adds: a line in logarithms, weighted so that errors count as in rates.
fn fit_retention(points: &[Point], written: impl Fn(f64) -> f64) -> Option<(f64, f64, f64)> {
    let added = points.iter().map(|&(pe, hours, rate)| (pe, hours, rate - written(pe))).filter(|point| point.2 > 0.0);
    let [ln_scale, of_pe, m] =
        least_squares(added.map(|(pe, hours, rate)| ([1.0, pe.ln(), hours.ln()], rate.ln(), rate * rate)))?;
    Some((ln_scale.exp(), m, of_pe / m))
}

fn r_squared(points: &[Point], model: impl Fn(f64, f64) -> f64) -> f64 {
    let mean = points.iter().map(|point| point.2).sum::<f64>() / points.len() as f64;
    let left: f64 = points.iter().map(|&(pe, hours, rate)| (model(pe, hours) - rate).powi(2)).sum();
    1.0 - left / points.iter().map(|point| (point.2 - mean).powi(2)).sum::<f64>()
}

/// A fit: the model, and R^2 of its two halves.
struct Fit {
    model: Flares,
    r2: [f64; 2],
}

fn fit(wear: &[Point], retention: &[Point]) -> Option<Fit> {
    let (a, b, c) = fit_wear(wear);
    let written = Flares { a, b, c, ..Flares::PAPER };
    let (bo, m, n) = fit_retention(retention, |pe| written.written(pe))?;
    let model = Flares { bo, m, n, ..written };
    let r2 = [
        r_squared(wear, |pe, _| model.written(pe)),
        r_squared(retention, |pe, hours| model.written(pe) + model.retained(pe, hours)),
    ];
    Some(Fit { model, r2 })
}

/// Constants in the order of Table III, with R^2 of either half behind them.
fn constants(model: &Flares, r2: [f64; 2]) -> [(&'static str, f64); 8] {
    let Flares { a, b, c, bo, m, n, .. } = *model;
    [("A", a), ("B", b), ("C", c), ("R1^2", r2[0]), ("Bo", bo), ("m", m), ("n", n), ("R2^2", r2[1])]
}

pub(super) fn study(settings: &Settings) -> Result<Study, Problem> {
    let (ages, times) = (settings.cycles()?, settings.retentions()?);
    if ages.len() < 4 || ages.contains(&0.0) || times.len() < 2 || times.iter().any(|time| time.0 == 0.0) {
        return Err(Problem::new("--pe, --retention", "a fit takes at least 4 ages and 2 times, all above 0"));
    }
    let streams = Streams::new(settings.seed()?);
    let (mut rows, mut series) = (Vec::new(), Vec::new());
    for noise in settings.noises()? {
        let mut draws = streams.stream(&format!("lab/fit/{noise}"));
        let mut point = |pe: f64, hours: f64| {
            let rate = Flares::PAPER.written(pe) + Flares::PAPER.retained(pe, hours);
            (pe, hours, rate * (noise * draws.normal()).exp())
        };
        let wear: Vec<Point> = ages.iter().map(|&pe| point(pe, 0.0)).collect();
        let retention: Vec<Point> =
            ages.iter().flat_map(|&pe| times.iter().map(move |time| (pe, time.0))).map(|(pe, hours)| point(pe, hours)).collect();
        let found = fit(&wear, &retention).ok_or_else(|| Problem::new("--noise", "points that determine no fit"))?;
        let printed = constants(&Flares::PAPER, [1.0; 2]);
        for ((name, value), (_, printed)) in constants(&found.model, found.r2).into_iter().zip(printed) {
            rows.push(vec![
                Cell::Rate(noise),
                Cell::Text(name.into()),
                Cell::Rate(printed),
                Cell::Rate(value),
                Cell::Rate(value / printed),
            ]);
        }
        series.push(Series {
            name: format!("points, noise {noise}"),
            points: wear.iter().map(|point| (point.0, point.2)).collect(),
        });
        series.push(Series {
            name: format!("fit, noise {noise}"),
            points: ages.iter().map(|&pe| (pe, found.model.written(pe))).collect(),
        });
    }
    let column = |key, name| Column { key, name, unit: "" };
    let columns = vec![
        column("noise", "noise"),
        column("constant", "constant"),
        column("model", "of the model"),
        column("fitted", "fitted"),
        column("ratio", "fitted / model"),
    ];
    let title = "Constants of Eqs. 2 and 5, fitted to points of the model";
    let layouts = vec![Layout::Plain { title: title.into(), part: Some(0), columns: vec![1, 2, 3, 4] }];
    Ok(Study {
        name: "fit",
        title: title.into(),
        settings: settings.values(),
        facts: settings.facts()?,
        tables: vec![Table { key: "fit", columns, rows, layouts }],
        plots: vec![Plot {
            id: "fit-wear",
            title: "Rates right after programming, and their fit".into(),
            hint: "Two curves for each noise.".into(),
            axes: [WEAR, Axis { name: "raw bit error rate", log: true }],
            series,
            marks: Vec::new(),
            categories: Vec::new(),
        }],
        notes: vec![
            "noise is the deviation of the logarithm of each point; 0 tells whether the fit finds what made the points".into(),
            "A exp(B PE) + C is nearly a line, of slope A B, as long as B PE is small: points then determine A B and A + C, not A, B and C".into(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points_is_found_and_singular_equations_are_not_solved() {
        let points = [(1.0, 2.0), (2.0, 1.0), (3.0, 5.0), (4.0, 4.0)];
        let values = points.map(|(x, y)| ([1.0, x, y], 7.0 - 2.0 * x + 0.5 * y, 1.0));
        let found = least_squares(values.into_iter()).expect("one solution");
        assert!(found.iter().zip([7.0, -2.0, 0.5]).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
        assert_eq!(least_squares([([1.0, 1.0, 1.0], 1.0, 1.0)].into_iter()), None);
    }

    #[test]
    fn points_without_noise_give_table_3_and_noise_loses_a_b_and_c_but_not_a_times_b() {
        let given = |noise: &str| vec![("noise".to_owned(), noise.to_owned())];
        let ratio = |noise: &str, constant: &str| {
            let study = super::super::study("fit", &given(noise)).unwrap();
            let row = study.tables[0].rows.iter().find(|row| row[1] == Cell::Text(constant.into())).expect("a row").clone();
            let Cell::Rate(ratio) = row[4] else { panic!("{row:?}") };
            ratio
        };
        for constant in ["A", "B", "C", "R1^2", "Bo", "m", "n", "R2^2"] {
            assert!((ratio("0", constant) - 1.0).abs() < 1e-4, "{constant}: {}", ratio("0", constant));
        }
        assert!((ratio("0.02", "B") - 1.0).abs() > 0.1, "B is lost at a noise that R^2 hardly shows");
        assert!((ratio("0.02", "A") * ratio("0.02", "B") - 1.0).abs() < 0.2 && ratio("0.02", "R1^2") > 0.99);
    }
}
