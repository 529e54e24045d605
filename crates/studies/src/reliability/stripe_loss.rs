//! Papers: Indaco et al., FLARES, Eq. 5 (RBER by age); Greenan et al., section 4.2 (stripes).
//! Idea: at an age each page of a stripe is lost with the odds of its code; the stripe loses data
//! with more lost pages than parity.
//! Differs: pages may have error rates of their own (`sigma`), as real ones do; pages of a stripe
//! have equal wear and age. Whole-die and block losses are not counted: bit errors only.

use super::schemes::{Page, Scheme};
use super::settings::{Ageing, Hours, Settings};
use super::{PE, RBER, RETENTION, WEAR, cycles, model_notes, ratios, wear_axis};
use common::Problem;
use report::study::span;
use report::study::{Axis, Cell, Column, Layout, Plot, Series, Study, Table};

pub(super) const OPTIONS: &[(&str, &str)] = &[
    ("model", "flares-disturb"),
    ("code", "4KiB"),
    ("codewords", "1"),
    ("t", "30,50"),
    ("schemes", "1+0,7+1,6+2"),
    ("pe", "1000,3000,5000,10000,15000"),
    ("retention", "1d,1mo,3mo,1y"),
    ("reads", "0"),
    ("sigma", "0"),
];

/// Probabilities below are not drawn.
const FLOOR: f64 = 1e-40;

/// A scheme over pages of one capability.
struct Way<'a> {
    name: String,
    scheme: &'a Scheme,
    page: Page,
    sigma: f64,
}

impl Way<'_> {
    fn ln_page_loss(&self, rber: f64) -> f64 {
        self.page.ln_loss_mixed(rber, self.sigma)
    }

    fn ln_loss(&self, rber: f64) -> f64 {
        self.scheme.ln_loss(self.ln_page_loss(rber).exp())
    }
}

pub(super) fn study(settings: &Settings) -> Result<Study, Problem> {
    let ageing = Ageing::of(settings)?;
    let (code, codewords, sigma) = (settings.code()?, settings.codewords()?, settings.sigma()?);
    let (ages, times) = (settings.cycles()?, settings.retentions()?);
    let (schemes, capabilities) = (settings.schemes()?, settings.capabilities()?);
    let pairs = schemes.iter().flat_map(|scheme| capabilities.iter().map(move |&t| (scheme, t)));
    let way = |(scheme, t): (&'_ Scheme, u32)| (format!("{}, t {t}", scheme.name()), Page { code, codewords, t });
    let ways: Vec<Way> = pairs
        .map(|pair| {
            let (name, page) = way(pair);
            Way { name, scheme: pair.0, page, sigma }
        })
        .collect();
    let mut rows = Vec::new();
    for way in &ways {
        for (&pe, time) in ages.iter().flat_map(|pe| times.iter().map(move |time| (pe, time))) {
            let rber = ageing.rber(pe, time.0);
            let of = [Cell::Text(way.name.clone()), way.page.capability(), cycles(pe), Cell::Hours(time.0), Cell::Rate(rber)];
            let odds = [way.ln_page_loss(rber), way.ln_loss(rber)].map(Cell::Odds);
            rows.push([of.as_slice(), &odds].concat());
        }
    }
    let column = |key, name| Column { key, name, unit: "" };
    let columns = vec![
        column("scheme", "scheme"),
        column("t", "t"),
        PE,
        RETENTION,
        RBER,
        column("page_loss", "page loss"),
        column("stripe_loss", "stripe loss"),
    ];
    let title = "Odds that a stripe loses data";
    let layouts = vec![Layout::Cross { title: title.into(), part: Some(0), down: 2, across: 3, value: 6 }];
    let mut notes = model_notes(ageing.model);
    notes.push("bit errors only: dead dies and blocks come on top. The whole stripe has the same wear and age".into());
    Ok(Study {
        name: "stripe-loss",
        title: format!("{title}, by wear and retention"),
        settings: settings.values(),
        facts: settings.facts()?,
        tables: vec![Table { key: "stripe_loss", columns, rows, layouts }],
        plots: plots(&ageing, &ways, &ages, &times),
        notes,
    })
}

fn plots(ageing: &Ageing, ways: &[Way], ages: &[f64], times: &[Hours]) -> Vec<Plot> {
    let longest = times.iter().map(|time| time.0).fold(0.0, f64::max);
    let oldest = ages.iter().copied().fold(0.0, f64::max);
    let curves = |points: &[(f64, f64)]| {
        let points = |way: &Way| {
            let odds = points.iter().map(|&(x, rber)| (x, way.ln_loss(rber).exp()));
            odds.filter(|(_, odds)| *odds > FLOOR).collect()
        };
        ways.iter().map(|way| Series { name: way.name.clone(), points: points(way) }).collect()
    };
    let by_wear: Vec<(f64, f64)> = wear_axis(ages).into_iter().map(|pe| (pe, ageing.rber(pe, longest))).collect();
    let days = ratios(1.0 / 24.0, (longest / 24.0).max(1.0), 61);
    let by_time: Vec<(f64, f64)> = days.map(|day| (day, ageing.rber(oldest, day * 24.0))).collect();
    let plot = |id, title: String, x, series| Plot {
        id,
        title,
        hint: "One curve for each scheme and capability.".into(),
        axes: [x, Axis { name: "probability that the stripe loses data", log: true }],
        series,
        marks: Vec::new(),
        categories: Vec::new(),
    };
    vec![
        plot("stripe-loss-wear", format!("Stripe loss after {}", span(longest)), WEAR, curves(&by_wear)),
        plot(
            "stripe-loss-time",
            format!("Stripe loss at {oldest} P/E cycles"),
            Axis { name: "retention, days", log: true },
            curves(&by_time),
        ),
    ]
}
