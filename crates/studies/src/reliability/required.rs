//! Paper: Indaco et al., FLARES, Eq. 1 and 5.
//! Idea: the capability that a page needs is the least t at which the binomial tail of its RBER,
//! for each bit, is within the UBER.
//! Differs: the paper's codes lie over GF(2^13), whose codewords have 8191 bits at most; 4 KiB
//! take GF(2^16). UBERs of JESD218 stand beside the paper's 1e-11.

use super::settings::{Ageing, Settings};
use super::{PE, RBER, RETENTION, WEAR, cycles, model_notes, wear_axis};
use common::Problem;
use report::study::span;
use report::study::{Axis, Cell, Column, Layout, Plot, Series, Study, Table};
use ssd::coding::odds::{BchSize, Per};

const AGES: &str = "0,10,100,1000,3000,5000,10000";
const TIMES: &str = "0,1d,1w,1mo,3mo,1y";

pub(super) const OPTIONS: &[(&str, &str)] = &[
    ("model", "flares"),
    ("uber", "1e-11"),
    ("per", "codeword"),
    ("code", "4KiB"),
    ("pe", AGES),
    ("retention", TIMES),
    ("reads", "0"),
];

pub(super) const TARGET_OPTIONS: &[(&str, &str)] = &[
    ("model", "flares"),
    ("uber", "1e-11,1e-15,1e-16"),
    ("per", "codeword"),
    ("code", "4KiB"),
    ("t", "3,8,20,30,50,65"),
    ("pe", "1000,3000,10000"),
    ("retention", "1mo,3mo,1y"),
    ("reads", "0"),
];

const T: Column = Column { key: "t", name: "t", unit: "" };
const PARITY: Column = Column { key: "parity_bytes", name: "parity of a codeword", unit: "bytes" };
const UBER: Column = Column { key: "uber", name: "UBER", unit: "" };
const CORRECTED: Axis = Axis { name: "bit errors to correct", log: false };

fn capability(t: Option<u32>) -> Cell {
    t.map_or(Cell::Absent, |t| Cell::Count(t.into()))
}

fn parity_bytes(code: BchSize, t: Option<u32>) -> Cell {
    let bits = |t: u32| u64::from(t) * u64::from(code.parity_per_error);
    t.map_or(Cell::Absent, |t| Cell::Count(bits(t).div_ceil(8)))
}

/// A curve of capabilities over wear.
fn curve(name: String, ageing: &Ageing, ages: &[f64], hours: f64, needed: impl Fn(f64) -> Option<u32>) -> Series {
    let point = |&pe: &f64| needed(ageing.rber(pe, hours)).map(|t| (pe, f64::from(t)));
    Series { name, points: wear_axis(ages).iter().filter_map(point).collect() }
}

fn code_notes(code: BchSize, table: &Table) -> Vec<String> {
    let paper =
        "FLARES names GF(2^13), whose codewords have 8191 bits at most: 4 KiB need GF(2^16), 16 parity bits for each error";
    let mut notes = Vec::new();
    if table.rows.iter().flatten().any(|cell| *cell == Cell::Absent) {
        notes.push(format!("none: more than {} errors would have to be corrected, which the field does not allow", code.t_max()));
    }
    if code.data_bits == BchSize::KIB_4.data_bits {
        notes.push(paper.into());
    }
    notes
}

pub(super) fn required_t(settings: &Settings) -> Result<Study, Problem> {
    let ageing = Ageing::of(settings)?;
    let (code, uber, per) = (settings.code()?, settings.uber()?, settings.per()?);
    let (ages, times) = (settings.cycles()?, settings.retentions()?);
    let needed = |rber: f64| code.required_t(rber, uber, per, 0);
    let mut rows = Vec::new();
    for (&pe, time) in ages.iter().flat_map(|pe| times.iter().map(move |time| (pe, time))) {
        let rber = ageing.rber(pe, time.0);
        let t = needed(rber);
        rows.push(vec![cycles(pe), Cell::Hours(time.0), Cell::Rate(rber), capability(t), parity_bytes(code, t)]);
    }
    let cross = |title: String, value| Layout::Cross { title, part: None, down: 0, across: 1, value };
    let layouts = vec![
        cross(format!("Bit errors to correct in a codeword, for an UBER of {uber:e}"), 3),
        cross("Raw bit error rate".into(), 2),
    ];
    let table = Table { key: "required_t", columns: vec![PE, RETENTION, RBER, T, PARITY], rows, layouts };
    Ok(Study {
        name: "required-t",
        title: format!("Bit errors to correct for an UBER of {uber:e}"),
        settings: settings.values(),
        facts: settings.facts()?,
        notes: [model_notes(ageing.model), code_notes(code, &table)].concat(),
        tables: vec![table],
        plots: vec![Plot {
            id: "required-t",
            title: "Bit errors to correct over wear".into(),
            hint: "One curve for each retention time; a curve ends where no code of that field is enough.".into(),
            axes: [WEAR, CORRECTED],
            series: times.iter().map(|time| curve(span(time.0), &ageing, &ages, time.0, needed)).collect(),
            marks: Vec::new(),
            categories: Vec::new(),
        }],
    })
}

pub(super) fn uber_targets(settings: &Settings) -> Result<Study, Problem> {
    let ageing = Ageing::of(settings)?;
    let (code, ubers, per) = (settings.code()?, settings.ubers()?, settings.per()?);
    let (ages, times) = (settings.cycles()?, settings.retentions()?);
    let longest = times.iter().map(|time| time.0).fold(0.0, f64::max);
    let needed = ubers
        .iter()
        .map(|&uber| curve(format!("UBER {uber:e}"), &ageing, &ages, longest, move |rber| code.required_t(rber, uber, per, 0)));
    let needed = Plot {
        id: "required-t-by-uber",
        title: format!("Bit errors to correct after {}", span(longest)),
        hint: "One curve for each UBER.".into(),
        axes: [WEAR, CORRECTED],
        series: needed.collect(),
        marks: Vec::new(),
        categories: Vec::new(),
    };
    let required = required_table(settings, &ageing)?;
    Ok(Study {
        name: "uber-targets",
        title: "What the UBER to keep asks of a code".into(),
        settings: settings.values(),
        facts: settings.facts()?,
        notes: [model_notes(ageing.model), code_notes(code, &required)].concat(),
        tables: vec![required, limit_table(settings)?],
        plots: vec![needed, limit_plot(settings, code, &ubers, per)?],
    })
}

fn required_table(settings: &Settings, ageing: &Ageing) -> Result<Table, Problem> {
    let (code, per) = (settings.code()?, settings.per()?);
    let (ages, times) = (settings.cycles()?, settings.retentions()?);
    let mut rows = Vec::new();
    for &uber in &settings.ubers()? {
        for (&pe, time) in ages.iter().flat_map(|pe| times.iter().map(move |time| (pe, time))) {
            let rber = ageing.rber(pe, time.0);
            let t = code.required_t(rber, uber, per, 0);
            let cells = [Cell::Rate(uber), cycles(pe), Cell::Hours(time.0), Cell::Rate(rber), capability(t)];
            rows.push([cells.as_slice(), &[parity_bytes(code, t)]].concat());
        }
    }
    let title = "Bit errors to correct in a codeword".into();
    let layouts = vec![Layout::Cross { title, part: Some(0), down: 1, across: 2, value: 4 }];
    Ok(Table { key: "required_t", columns: vec![UBER, PE, RETENTION, RBER, T, PARITY], rows, layouts })
}

fn limit_table(settings: &Settings) -> Result<Table, Problem> {
    let (code, ubers, per) = (settings.code()?, settings.ubers()?, settings.per()?);
    let row = |t: u32, uber: f64| vec![Cell::Count(t.into()), Cell::Rate(uber), Cell::Rate(code.max_rber(t, uber, per))];
    let capabilities = settings.capabilities()?;
    let rows = capabilities.iter().flat_map(|&t| ubers.iter().map(move |&uber| row(t, uber))).collect();
    let limit = Column { key: "rber_max", name: "highest RBER", unit: "" };
    let title = "Highest RBER that t corrected errors bear".into();
    let layouts = vec![Layout::Cross { title, part: None, down: 0, across: 1, value: 2 }];
    Ok(Table { key: "rber_limits", columns: vec![T, UBER, limit], rows, layouts })
}

fn limit_plot(settings: &Settings, code: BchSize, ubers: &[f64], per: Per) -> Result<Plot, Problem> {
    let most = settings.capabilities()?.into_iter().fold(1, u32::max);
    let steps = most.div_ceil(100) as usize;
    let series = ubers.iter().map(|&uber| Series {
        name: format!("UBER {uber:e}"),
        points: (1..=most).step_by(steps).map(|t| (f64::from(t), code.max_rber(t, uber, per))).collect(),
    });
    Ok(Plot {
        id: "rber-limits",
        title: "Highest RBER that a code bears".into(),
        hint: "One curve for each UBER.".into(),
        axes: [
            Axis { name: "t, bit errors corrected in a codeword", log: false },
            Axis { name: "raw bit error rate", log: true },
        ],
        series: series.collect(),
        marks: Vec::new(),
        categories: Vec::new(),
    })
}
