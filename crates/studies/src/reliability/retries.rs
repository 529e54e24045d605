//! Source: the retry table of a 128-layer TLC part (`ssd::nand::rber::TlcSet`).
//! Idea: a page is read with the default references, then with one entry of the table after the other, until its rate is one
//! that the code corrects. How many entries that takes grows with wear and with retention.
//! Differs: rates and references are a model, fitted to the set. Stages are those of the set, which has no times for them.

use super::settings::Settings;
use super::{PE, RBER, cycles};
use common::Problem;
use report::study::{Axis, Cell, Column, Layout, Plot, Series, Study, Table};
use ssd::nand::rber::{PageSite, RberModel, Stages, Stress, TlcSet};

pub(super) const OPTIONS: &[(&str, &str)] = &[("pe", "700,3000,7000"), ("rber", "6.5e-3")];

/// A word line of a layer whose rates are those of the mean: its first page, of the pages of a block.
const WORD_LINE: (u32, u32) = (30, 384);
const KINDS: [&str; 3] = ["lsb", "csb", "msb"];
const LAST_STAGE: u32 = 6;

/// Retries of each kind of page.
fn retries(pe: f64, stage: f64, limit: f64) -> [u32; 3] {
    let model = RberModel::TlcSet(TlcSet::DEFAULT);
    let stress = Stress { pe, retention_hours: Stages::DEFAULT.hours_of(stage), reads: 0.0 };
    let (first, pages_per_block) = WORD_LINE;
    [0, 1, 2].map(|kind| {
        let site = PageSite { page: first + kind, pages_per_block };
        model.retries(&stress, site, limit).unwrap_or(model.retry_entries())
    })
}

pub(super) fn study(settings: &Settings) -> Result<Study, Problem> {
    let (mut rows, mut series) = (Vec::new(), Vec::new());
    for limit in settings.rates()? {
        for pe in settings.cycles()? {
            let mut points = Vec::new();
            for stage in 0..=LAST_STAGE {
                let of_kinds = retries(pe, f64::from(stage), limit);
                let mean = of_kinds.iter().map(|&n| f64::from(n)).sum::<f64>() / 3.0;
                let counts = of_kinds.map(|n| Cell::Count(n.into()));
                rows.push(
                    [vec![Cell::Rate(limit), cycles(pe), Cell::Count(stage.into()), Cell::Rate(mean)], counts.into()].concat(),
                );
                points.push((f64::from(stage), mean));
            }
            series.push(Series { name: format!("{pe} cycles, up to {limit:e}"), points });
        }
    }
    let stage = Column { key: "stage", name: "stage of retention", unit: "" };
    let mean = Column { key: "retries", name: "retries, mean", unit: "" };
    let of_kinds = KINDS.map(|key| Column { key, name: key, unit: "" });
    let limit = Column { key: "rber_max", name: "correctable up to", ..RBER };
    let title = "Entries of the retry table that a read takes, by wear and stage of retention";
    let layouts = vec![Layout::Cross { title: title.into(), part: None, down: 1, across: 2, value: 3 }];
    Ok(Study {
        name: "retries",
        title: title.into(),
        settings: settings.values(),
        facts: settings.facts()?,
        tables: vec![Table { key: "retries", columns: [vec![limit, PE, stage, mean], of_kinds.into()].concat(), rows, layouts }],
        plots: vec![Plot {
            id: "retries",
            title: "Retries over retention".into(),
            hint: "One curve for each number of cycles: mean over page types, of a layer of mean rate.".into(),
            axes: [Axis { name: "stage of retention", log: false }, Axis { name: "retries", log: false }],
            series,
            marks: Vec::new(),
            categories: Vec::new(),
        }],
        notes: vec![
            "model tlc-128l; a read that no entry makes correctable counts as the whole table, 27".into(),
            "stages are those of the set, which does not say what times they are".into(),
        ],
    })
}
