//! Paper: Indaco et al., FLARES, section 3: the table of maximum retention times.
//! Idea: put Eq. 5 into Eq. 1 and solve for time: how long a page with t corrected errors keeps
//! the UBER, by wear. The paper's rewrite alarm and its correction table search it.
//! Differs: solved exactly for each place of the table; the paper does not print its table.

use super::settings::{Ageing, Settings};
use super::{Extent, FOREVER, PE, RBER, WEAR, cycles, extent, model_notes, wear_axis};
use common::Problem;
use report::study::DAY;
use report::study::{Axis, Cell, Column, Layout, Plot, Series, Study, Table};

pub(super) const OPTIONS: &[(&str, &str)] = &[
    ("model", "flares"),
    ("uber", "1e-11"),
    ("per", "codeword"),
    ("code", "4KiB"),
    ("t", "3,5,8,12,20,30,50,65"),
    ("pe", "100,1000,3000,5000,10000,15000"),
    ("reads", "0"),
];

pub(super) fn study(settings: &Settings) -> Result<Study, Problem> {
    let ageing = Ageing::of(settings)?;
    let (code, uber, per) = (settings.code()?, settings.uber()?, settings.per()?);
    let (ages, capabilities) = (settings.cycles()?, settings.capabilities()?);
    let longest = |pe: f64, limit: f64| extent(FOREVER, |hours| ageing.rber(pe, hours) <= limit);
    let (mut rows, mut series) = (Vec::new(), Vec::new());
    for &t in &capabilities {
        let limit = code.max_rber(t, uber, per);
        for &pe in &ages {
            rows.push(vec![Cell::Count(t.into()), Cell::Rate(limit), cycles(pe), longest(pe, limit).hours()]);
        }
        let point = |&pe: &f64| match longest(pe, limit) {
            Extent::Limit(hours) if hours > 0.01 => Some((pe, hours / DAY)),
            _ => None,
        };
        series.push(Series { name: format!("t = {t}"), points: wear_axis(&ages).iter().filter_map(point).collect() });
    }
    let t = Column { key: "t", name: "t", unit: "" };
    let limit = Column { key: "rber_max", name: "highest", ..RBER };
    let longest = Column { key: "retention_max_h", name: "retention", unit: "" };
    let title = format!("Longest retention with t corrected errors, for an UBER of {uber:e}");
    let layouts = vec![Layout::Cross { title: title.clone(), part: None, down: 0, across: 2, value: 3 }];
    let mut notes = model_notes(ageing.model);
    notes.push("0: the page fails the UBER as soon as it is written; no limit: it keeps it for 1000 years".into());
    Ok(Study {
        name: "retention",
        title,
        settings: settings.values(),
        facts: settings.facts()?,
        tables: vec![Table { key: "retention", columns: vec![t, limit, PE, longest], rows, layouts }],
        plots: vec![Plot {
            id: "retention",
            title: "Longest retention over wear".into(),
            hint: "One curve for each capability. Below a curve the UBER is kept.".into(),
            axes: [WEAR, Axis { name: "longest retention, days", log: true }],
            series,
            marks: Vec::new(),
            categories: Vec::new(),
        }],
        notes,
    })
}
