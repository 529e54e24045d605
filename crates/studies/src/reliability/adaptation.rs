//! Paper: FLARES, section 5.1 and Fig. 5: one page at operating points of growing wear; errors are
//! drawn, the algorithms answer with the capability of the next program.
//! Differs: windows count reads, and half of the operations are reads, drawn at random; the paper
//! does not say how many were. The drawn rate is that of data of the age at which they are read, and
//! varies by the paper's deviation of 5e-7.

use super::settings::{Ageing, Settings};
use super::{PE, cycles, model_notes};
use common::Problem;
use report::study::{Axis, Cell, Column, Layout, Plot, Series, Study, Table};
use ssd::ecc::{CellModel, Decoded, EccPolicy, EccShape, Flares, FlaresSettings, Profile};
use std::sync::Arc;
use vocab::{PeCycles, Ppn, Stream, Streams};

pub(super) const OPTIONS: &[(&str, &str)] = &[
    ("model", "flares"),
    ("uber", "1e-11"),
    ("codeword", "4KiB"),
    ("pe", "10,100,1000,10000,100000"),
    ("operations", "1000"),
    ("retention", "8759h"),
    ("wsize", "10,100"),
    ("mix", "0.5,0,1"),
    ("policy", "flares"),
    ("floor", "none"),
    ("p-max", "255"),
    ("seed", "1"),
];

/// The paper's deviation of the drawn rate.
const DEVIATION: f64 = 5e-7;

/// The model of a study, as a policy sees cells.
#[derive(Debug)]
struct Cells(&'static ssd::nand::rber::RberEntry);

impl CellModel for Cells {
    fn rber(&self, pe: f64, hours: f64) -> f64 {
        Ageing { model: self.0, reads: 0.0 }.rber(pe, hours)
    }
}

/// One run: a page under one policy, one window size and one MIX.
struct Run {
    as_printed: bool,
    wsize: u32,
    mix: f64,
    /// For each operating point what the page was programmed with at each operation.
    used: Vec<Vec<u8>>,
}

struct Bench<'a> {
    settings: FlaresSettings,
    shape: &'a EccShape,
    points: &'a [f64],
    operations: u32,
    /// Age of data when they are read, hours.
    age: f64,
}

impl Bench<'_> {
    fn run(&self, as_printed: bool, (wsize, mix): (u32, f64), draws: &mut Stream) -> Run {
        let mut policy = Flares::new(FlaresSettings { as_printed, wsize, mix, ..self.settings }, self.shape);
        let used = self.points.iter().map(|&pe| self.point(&mut policy, pe, draws)).collect();
        Run { as_printed, wsize, mix, used }
    }

    fn point(&self, policy: &mut Flares, pe: f64, draws: &mut Stream) -> Vec<u8> {
        let (page, cycles) = (Ppn(0), PeCycles(pe as u32));
        let hours = self.age;
        let mut t = policy.program(page, cycles);
        let operation = |_| {
            if draws.chance(0.5) {
                t = policy.program(page, cycles);
            } else {
                let noise = DEVIATION * draws.normal();
                let rber = (self.shape.cells.rber(pe, hours) + noise).clamp(0.0, 0.5);
                let errors = draws.binomial(self.shape.codeword.bits(t), rber);
                let failed = u32::from(errors > u32::from(t.0));
                let decoded = Decoded { codewords: 1, errors: if failed > 0 { 0 } else { errors }, failed };
                policy.read(page, &Profile { capability: t, pe: cycles, hours }, decoded);
            }
            t.0
        };
        (0..self.operations).map(operation).collect()
    }
}

pub(super) fn study(settings: &Settings) -> Result<Study, Problem> {
    let model = settings.model()?;
    let codeword = settings.codeword()?;
    let (points, operations) = (settings.cycles()?, settings.operations()?);
    let p_max = settings.p_max(codeword)?;
    let flares = FlaresSettings { uber: settings.uber()?, floor: settings.floor()?, p_max, ..FlaresSettings::PAPER };
    let shape = EccShape { codeword, pages_per_block: 1, cells: Arc::new(Cells(model)) };
    let age = settings.retention()?.0;
    let bench = Bench { settings: flares, shape: &shape, points: &points, operations, age };
    let (windows, mixes) = (settings.wsizes()?, settings.mixes()?);
    let streams = Streams::new(settings.seed()?);
    let mut runs = Vec::new();
    for &as_printed in &settings.policies()? {
        for (wsize, mix) in mixes.iter().flat_map(|&mix| windows.iter().map(move |&wsize| (wsize, mix))) {
            runs.push(bench.run(as_printed, (wsize, mix), &mut streams.stream(&format!("flares/{wsize}/{mix}"))));
        }
    }
    let policy = Flares::new(flares, &shape);
    let needed: Vec<u8> = points.iter().map(|&pe| policy.required(shape.cells.rber(pe, flares.required_hours)).0).collect();
    let mut notes = model_notes(model);
    notes.push(format!(
        "each operating point has {operations} operations, half of them reads of data {age} h old; required retention: a year"
    ));
    if needed.contains(&p_max) {
        notes.push(format!("where {p_max} bits are required they are the most there is, and may not do"));
    }
    Ok(Study {
        name: "adaptation",
        title: "Capability chosen by FLARES for a page, against what its wear requires".into(),
        settings: settings.values(),
        facts: settings.facts()?,
        tables: vec![table(&runs, &points, &needed)],
        plots: mixes.iter().map(|&mix| plot(&runs, mix, operations, &needed)).collect(),
        notes,
    })
}

fn table(runs: &[Run], points: &[f64], needed: &[u8]) -> Table {
    let column = |key, name| Column { key, name, unit: "" };
    let columns = vec![
        column("policy", "policy"),
        column("mix", "MIX"),
        column("wsize", "WSIZE"),
        PE,
        column("p_required", "p required"),
        column("p_mean", "p mean"),
        column("p_min", "p least"),
        column("p_max", "p most"),
        Column { key: "under_share", name: "below the requirement", unit: "share of operations" },
    ];
    let mut rows = Vec::new();
    for run in runs {
        for ((used, &pe), &needed) in run.used.iter().zip(points).zip(needed) {
            let count = used.len().max(1) as f64;
            let mean = used.iter().map(|&p| f64::from(p)).sum::<f64>() / count;
            let under = used.iter().filter(|&&p| p < needed).count() as f64 / count;
            let least = |p: Option<&u8>| Cell::Count(p.copied().unwrap_or(0).into());
            rows.push(vec![
                Cell::Text(if run.as_printed { "as printed" } else { "flares" }.into()),
                Cell::Rate(run.mix),
                Cell::Count(run.wsize.into()),
                cycles(pe),
                Cell::Count(needed.into()),
                Cell::Rate(mean),
                least(used.iter().min()),
                least(used.iter().max()),
                Cell::Rate(under),
            ]);
        }
    }
    let layouts = vec![Layout::Plain { title: "Capability by operating point".into(), part: Some(0), columns: (1..9).collect() }];
    Table { key: "adaptation", columns, rows, layouts }
}

fn plot(runs: &[Run], mix: f64, operations: u32, needed: &[u8]) -> Plot {
    let curve = |name: String, used: &[Vec<u8>]| {
        let all = used.iter().flatten().enumerate();
        let mut points: Vec<(f64, f64)> = all.map(|(at, &p)| (at as f64, f64::from(p))).collect();
        // A step needs its two ends, no more.
        let last = points.len().saturating_sub(1);
        let keep: Vec<bool> = (0..points.len())
            .map(|i| i == 0 || i == last || points[i].1 != points[i - 1].1 || points[i].1 != points[i + 1].1)
            .collect();
        let mut kept = keep.iter();
        points.retain(|_| *kept.next().expect("one each"));
        Series { name, points }
    };
    let required: Vec<Vec<u8>> = needed.iter().map(|&p| vec![p; operations as usize]).collect();
    let own = runs.iter().filter(|run| run.mix == mix).map(|run| {
        let printed = if run.as_printed { ", as printed" } else { "" };
        curve(format!("WSIZE = {}{printed}", run.wsize), &run.used)
    });
    Plot {
        id: match mix {
            0.0 => "mix-0",
            1.0 => "mix-1",
            _ => "mix",
        },
        title: format!("MIX = {mix}"),
        hint: "Operating points one after the other. FLARES, Fig. 5.".into(),
        axes: [Axis { name: "operations", log: false }, Axis { name: "capability p, bits", log: true }],
        series: own.chain([curve("required".into(), &required)]).collect(),
        marks: Vec::new(),
        categories: Vec::new(),
    }
}
