//! Curves and bars from rows: of runs by trace, point and arm, of a study by its columns.

use super::sheet::Sheet;
use super::spec::{Place, PlotSpec, Published, Spec};
use common::Problem;
use lab::{Interval, Paired};
use report::study::span;

/// A plot: its axes, curves and what the paper states.
#[derive(Debug)]
pub(crate) struct Drawing {
    pub title: String,
    pub x: String,
    /// Base of a logarithmic x axis.
    pub base: Option<u32>,
    pub y: String,
    pub is_log: bool,
    /// Names along the x axis where x is no number; x is then an index of these.
    pub categories: Vec<String>,
    pub curves: Vec<Curve>,
    pub published: Vec<Published>,
}

/// A curve of a plot.
#[derive(Debug)]
pub(crate) struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    /// Where runs were repeated: place, lower and upper end of the interval.
    pub ends: Vec<(f64, f64, f64)>,
}

impl Curve {
    fn new(name: String, shown: Vec<(f64, Shown)>) -> Self {
        let ends = |(x, shown): &(f64, Shown)| shown.ends.map(|(low, high)| (*x, low, high));
        Self {
            name,
            points: shown.iter().map(|(x, shown)| (*x, shown.y)).collect(),
            ends: shown.iter().filter_map(ends).collect(),
        }
    }

    pub fn at(&self, x: f64) -> Option<f64> {
        self.points.iter().find(|(place, _)| *place == x).map(|(_, y)| *y)
    }

    /// The interval at a place.
    pub fn ends_at(&self, x: f64) -> Option<(f64, f64)> {
        self.ends.iter().find(|(place, ..)| *place == x).map(|(_, low, high)| (*low, *high))
    }
}

/// Name of the category that is the mean of those before it.
const MEAN: &str = "mean";

impl Drawing {
    /// Where on the x axis something stated is, if that is one place.
    pub fn place(&self, stated: &Published) -> Option<f64> {
        match stated.x.as_ref()? {
            Place::At(x) => Some(*x),
            Place::Named(name) => self.categories.iter().position(|known| known == name).map(|at| at as f64),
        }
    }

    /// All places on the x axis, in order.
    pub fn places(&self) -> Vec<f64> {
        let mut places: Vec<f64> = self.curves.iter().flat_map(|curve| curve.points.iter().map(|(x, _)| *x)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    pub fn place_name(&self, x: f64) -> String {
        match self.categories.get(x as usize) {
            Some(name) => name.clone(),
            None if x != 0.0 && x.abs() < 1e-3 => format!("{x:e}"),
            None => x.to_string(),
        }
    }

    /// Values found at a statement's place, at its place or at any.
    pub fn found(&self, stated: &Published) -> Vec<f64> {
        let curves = self.curves.iter().filter(|curve| stated.of.as_ref().is_none_or(|name| *name == curve.name));
        let place = self.place(stated);
        let at = |curve: &Curve| match place {
            Some(x) => curve.at(x).into_iter().collect::<Vec<_>>(),
            None => curve.points.iter().map(|(_, y)| *y).collect(),
        };
        if stated.x.is_some() && place.is_none() { Vec::new() } else { curves.flat_map(at).collect() }
    }
}

/// The drawing of a plot of a figure.
///
/// # Errors
/// A column that the rows do not have.
pub(super) fn drawing(spec: &Spec, plot: &PlotSpec, sheet: &Sheet) -> Result<Drawing, Problem> {
    let (categories, curves) = match &spec.x {
        _ if !spec.has_runs() => of_study(spec, plot, sheet)?,
        Some(_) => (Vec::new(), of_runs(spec, plot, sheet)),
        None => of_traces(spec, plot, sheet),
    };
    Ok(Drawing {
        title: plot.title.clone(),
        x: spec.x.as_ref().map_or(String::new(), |x| x.name.clone()),
        base: spec.x.as_ref().and_then(|x| x.log),
        y: plot.y.clone(),
        is_log: plot.log,
        categories,
        curves,
        published: plot.published.clone(),
    })
}

/// The column called `name`.
fn column(sheet: &Sheet, name: &str) -> Result<usize, Problem> {
    sheet.column(name).ok_or_else(|| Problem::unknown("figure.plots", "column", name, &sheet.heads))
}

/// Looks up what runs gave.
struct Runs<'a> {
    sheet: &'a Sheet,
    columns: [usize; 3],
    x: Option<usize>,
    over: Option<&'a String>,
}

impl<'a> Runs<'a> {
    fn new(spec: &Spec, plot: &'a PlotSpec, sheet: &'a Sheet) -> Option<Self> {
        let columns = [sheet.column("trace")?, sheet.column("arm")?, sheet.column(&plot.value)?];
        let x = spec.x.as_ref().and_then(|x| sheet.column(&x.key));
        Some(Self { sheet, columns, x, over: plot.over.as_ref() })
    }

    /// The value under each seed.
    fn values(&self, trace: &str, arm: &str, x: f64) -> Option<Vec<f64>> {
        let [of_trace, of_arm, value] = self.columns;
        let is_there = |row: &&Vec<String>| self.x.is_none_or(|column| row[column].parse() == Ok(x));
        let rows = self.sheet.rows.iter().filter(|row| row[of_trace] == trace && row[of_arm] == arm).filter(is_there);
        let values: Vec<f64> = rows.map(|row| row[value].parse().ok()).collect::<Option<_>>()?;
        (!values.is_empty()).then_some(values)
    }

    /// The value, or the ratio that the plot shows; nothing where there was nothing to measure.
    fn shown(&self, trace: &str, arm: &str, x: f64) -> Option<Shown> {
        let found = self.values(trace, arm, x)?;
        let over = match self.over {
            Some(over) => Some(self.values(trace, over, x)?),
            None => None,
        };
        let shown = match (found.as_slice(), over.as_deref()) {
            ([found], None) => Shown { y: *found, ends: None },
            ([found], Some([over])) => Shown { y: found / over, ends: None },
            (found, None) => {
                let interval = Interval::of(found)?;
                Shown { y: interval.mean, ends: Some((interval.low(), interval.high())) }
            }
            (found, Some(over)) if found.len() == over.len() => {
                let ratio = Paired::of(found, over)?.ratio?;
                Shown { y: ratio.ratio, ends: Some((ratio.low, ratio.high)) }
            }
            _ => return None,
        };
        shown.y.is_finite().then_some(shown)
    }
}

/// Value that a plot shows in one place.
#[derive(Clone, Copy)]
struct Shown {
    y: f64,
    /// Of its interval, where runs were repeated.
    ends: Option<(f64, f64)>,
}

fn traces<'a>(spec: &'a Spec, plot: &PlotSpec) -> Vec<&'a str> {
    let names = spec.traces.iter().map(|trace| trace.name.as_str());
    names.filter(|name| plot.traces.is_empty() || plot.traces.iter().any(|wanted| wanted == name)).collect()
}

fn arms<'a>(spec: &'a Spec, plot: &PlotSpec) -> Vec<&'a str> {
    let is_shown = |name: &&str| match plot.arms.as_slice() {
        [] => plot.over.as_deref() != Some(*name),
        arms => arms.iter().any(|wanted| wanted == name),
    };
    spec.arms.iter().map(|arm| arm.name.as_str()).filter(is_shown).collect()
}

/// A curve over the points for each trace, and for each of its arms.
fn of_runs(spec: &Spec, plot: &PlotSpec, sheet: &Sheet) -> Vec<Curve> {
    let Some(runs) = Runs::new(spec, plot, sheet) else { return Vec::new() };
    let (traces, arms) = (traces(spec, plot), arms(spec, plot));
    let name = |trace: &str, arm: &str| match (traces.len(), arms.len()) {
        (_, 1) => trace.to_owned(),
        (1, _) => arm.to_owned(),
        _ => format!("{trace}, {arm}"),
    };
    let pairs = traces.iter().flat_map(|trace| arms.iter().map(move |arm| (*trace, *arm)));
    let curve = |(trace, arm): (&str, &str)| {
        let point = |x: f64| Some((x, runs.shown(trace, arm, x)?));
        Curve::new(name(trace, arm), spec.points.iter().filter_map(|spec| point(spec.x)).collect())
    };
    pairs.map(curve).filter(|curve| !curve.points.is_empty()).collect()
}

/// Bars for each arm, beside each other by trace.
fn of_traces(spec: &Spec, plot: &PlotSpec, sheet: &Sheet) -> (Vec<String>, Vec<Curve>) {
    let Some(runs) = Runs::new(spec, plot, sheet) else { return (Vec::new(), Vec::new()) };
    let x = spec.points[0].x;
    let (mut categories, arms) = (traces(spec, plot), arms(spec, plot));
    categories.retain(|trace| arms.iter().any(|arm| runs.shown(trace, arm, x).is_some()));
    let curve = |arm: &str| {
        let values = categories.iter().map(|trace| runs.shown(trace, arm, x)).enumerate();
        let mut points: Vec<(f64, Shown)> = values.filter_map(|(at, shown)| Some((at as f64, shown?))).collect();
        if plot.mean && !points.is_empty() {
            let mean = points.iter().map(|(_, shown)| shown.y).sum::<f64>() / points.len() as f64;
            points.push((categories.len() as f64, Shown { y: mean, ends: None }));
        }
        Curve::new(arm.to_owned(), points)
    };
    let curves = arms.iter().map(|arm| curve(arm)).filter(|curve| !curve.points.is_empty()).collect();
    if plot.mean {
        categories.push(MEAN);
    }
    (categories.into_iter().map(str::to_owned).collect(), curves)
}

/// Name of a cell of a study's column in a legend.
fn label(key: &str, cell: &str) -> String {
    match cell.parse::<f64>() {
        Ok(hours) if key.ends_with("_h") => span(hours),
        Ok(_) => format!("{} {cell}", key.replace('_', " ")),
        Err(_) => cell.to_owned(),
    }
}

/// Of a study or a census: a curve for each combination of the columns that tell curves apart.
fn of_study(spec: &Spec, plot: &PlotSpec, sheet: &Sheet) -> Result<(Vec<String>, Vec<Curve>), Problem> {
    let (key, value) = (&spec.x.as_ref().expect("checked: what has no runs comes with x").key, column(sheet, &plot.value)?);
    let x = column(sheet, key)?;
    let by = plot.by.iter().map(|name| column(sheet, name)).collect::<Result<Vec<_>, _>>()?;
    let mut shown = sheet.clone();
    for (name, text) in &plot.only {
        let column = column(sheet, name)?;
        shown.rows.retain(|row| row[column] == *text);
    }
    let places = shown.distinct(x);
    let is_numbers = places.iter().all(|place| place.parse::<f64>().is_ok());
    let categories: Vec<String> =
        if is_numbers { Vec::new() } else { places.into_iter().map(|place| label(key, place)).collect() };
    let mut curves: Vec<Curve> = Vec::new();
    for row in &shown.rows {
        let names: Vec<String> = by.iter().map(|&at| label(&sheet.heads[at], &row[at])).collect();
        let name = if names.is_empty() { plot.title.clone() } else { names.join(", ") };
        let place = match row[x].parse() {
            Ok(place) if is_numbers => place,
            _ => categories.iter().position(|known| *known == label(key, &row[x])).expect("taken from the rows") as f64,
        };
        let Some(y) = row[value].parse().ok().filter(|y: &f64| y.is_finite()) else { continue };
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push((place, y)),
            None => curves.push(Curve { name, points: vec![(place, y)], ends: Vec::new() }),
        }
    }
    Ok((categories, curves))
}
