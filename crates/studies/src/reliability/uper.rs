//! Paper: Greenan et al., Building Flexible, Fault-Tolerant Flash-based Storage Systems, section
//! 4.2 and Fig. 4: uncorrectable page error rates (UPER).
//! Idea: a page is lost with more than T bit errors, a (k,m) stripe with more than m lost pages,
//! a product code with a pattern that holds a cycle.
//! Differs: patterns are counted exactly, where the paper estimates them. Its rates divide the
//! probability of an event by pages, which flatters whatever fails as one large piece: a product
//! code of 512 pages never exceeds 1/512. So the odds that a group of equal size loses anything
//! stand beside them, and there (6,2) overtakes the product code.

use super::schemes::{Page, Scheme};
use super::settings::Settings;
use super::{RBER, ratios};
use common::Problem;
use report::study::{Axis, Cell, Column, Layout, Mark, Plot, Series, Study, Table};
use ssd::coding::odds::BchSize;

pub(super) const OPTIONS: &[(&str, &str)] = &[
    ("code", "4KiB-data"),
    ("codewords", "1"),
    ("t", "1,4"),
    ("schemes", "7+1,6+2,8x64"),
    ("rber", "1e-9,1e-8,1e-7,1e-6,1e-5,1e-4"),
];

/// Pages of the group that all are compared by, where no product code sets it: the paper's.
const GROUP: u32 = 512;
/// Probabilities below are not drawn.
const FLOOR: f64 = 1e-40;

/// One way to protect pages: a page code, or a scheme over such pages.
struct Way<'a> {
    name: String,
    page: Page,
    scheme: Option<&'a Scheme>,
}

impl Way<'_> {
    /// `ln` of the paper's rate: events for each page.
    fn ln_uper(&self, rber: f64) -> f64 {
        let lost = self.page.ln_loss(rber);
        self.scheme.map_or(lost, |scheme| scheme.ln_loss(lost.exp()) - f64::from(scheme.pages()).ln())
    }

    /// `ln` of the probability that a group of `pages` loses something.
    fn ln_group(&self, rber: f64, pages: u32) -> f64 {
        let single = Scheme::Stripe { data: 1, parity: 0 };
        self.scheme.unwrap_or(&single).ln_group_loss(self.page.ln_loss(rber).exp(), pages)
    }
}

fn ways<'a>(code: BchSize, codewords: u32, capabilities: &[u32], schemes: &'a [Scheme]) -> Vec<Way<'a>> {
    let page = |t: u32| Page { code, codewords, t };
    let alone = capabilities.iter().map(|&t| Way { name: format!("t {t}"), page: page(t), scheme: None });
    let first = capabilities[0];
    let over = schemes.iter().map(|scheme| Way {
        name: format!("{}, t {first}", scheme.name()),
        page: page(first),
        scheme: Some(scheme),
    });
    alone.chain(over).collect()
}

/// Where a product code stops to be better than a stripe scheme: the page loss U, if there is
/// such a place below one half.
fn crossing(product: &Scheme, stripe: &Scheme) -> Option<f64> {
    let is_better = |u: f64| product.ln_loss(u) < stripe.ln_group_loss(u, product.pages());
    let grid: Vec<f64> = ratios(1e-9, 0.5, 200).collect();
    let place = grid.windows(2).find(|pair| is_better(pair[0]) && !is_better(pair[1]))?;
    let (mut low, mut high) = (place[0], place[1]);
    while high / low > 1.0 + 1e-9 {
        let middle = (low * high).sqrt();
        if is_better(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// The RBER at which a page is lost with probability `loss`.
fn rber_of(page: Page, loss: f64) -> f64 {
    let (mut low, mut high) = (1e-30, 0.5);
    while high / low > 1.0 + 1e-9 {
        let middle = f64::sqrt(low * high);
        if page.ln_loss(middle) < loss.ln() { low = middle } else { high = middle }
    }
    low
}

/// Notes on crossings, and their places.
fn crossings(schemes: &[Scheme], page: Page) -> Vec<(String, Mark)> {
    let products = schemes.iter().filter(|scheme| matches!(scheme, Scheme::Product { .. }));
    let pairs = products.flat_map(|product| {
        let stripes = schemes.iter().filter(|scheme| matches!(scheme, Scheme::Stripe { .. }));
        stripes.map(move |stripe| (product, stripe))
    });
    let found = pairs.filter_map(|(product, stripe)| Some((product, stripe, crossing(product, stripe)?)));
    let said = |(product, stripe, u): (&Scheme, &Scheme, f64)| {
        let (one, other, pages) = (product.name(), stripe.name(), product.pages());
        let rber = rber_of(page, u);
        let note = format!(
            "{one} and {other} are equally likely to lose some of {pages} pages where pages are lost with U = {u:.4} (RBER {rber:.3e}); \
             below, {one} is better, above, {other}"
        );
        (note, Mark { x: rber, label: format!("{one} = {other}, U {u:.3}") })
    };
    found.map(said).collect()
}

pub(super) fn study(settings: &Settings) -> Result<Study, Problem> {
    let (code, codewords, capabilities) = (settings.code()?, settings.codewords()?, settings.capabilities()?);
    let (schemes, rates) = (settings.schemes()?, settings.rates()?);
    let ways = ways(code, codewords, &capabilities, &schemes);
    let products = schemes.iter().filter(|scheme| matches!(scheme, Scheme::Product { .. }));
    let group = products.map(Scheme::pages).max().unwrap_or(GROUP);
    let row = |way: &Way, rber: f64| {
        let odds = [way.page.ln_loss(rber), way.ln_uper(rber), way.ln_group(rber, group)].map(Cell::Odds);
        let efficiency = Cell::Rate(way.scheme.map_or(1.0, Scheme::efficiency));
        [[Cell::Text(way.name.clone()), way.page.capability(), Cell::Rate(rber)].as_slice(), &odds, &[efficiency]].concat()
    };
    let rows = ways.iter().flat_map(|way| rates.iter().map(move |&rber| row(way, rber))).collect();
    let column = |key, name| Column { key, name, unit: "" };
    let columns = vec![
        column("protection", "protection"),
        column("t", "t"),
        RBER,
        column("page_loss", "page loss U"),
        column("uper", "UPER"),
        column("group_loss", "group loss"),
        column("efficiency", "space efficiency"),
    ];
    let cross = |title: String, value| Layout::Cross { title, part: None, down: 2, across: 0, value };
    let layouts = vec![
        cross("UPER: events of loss for each page".into(), 4),
        cross(format!("Odds that a group of {group} pages loses any"), 5),
    ];
    let (mut notes, marks): (Vec<String>, Vec<Mark>) =
        crossings(&schemes, Page { code, codewords, t: capabilities[0] }).into_iter().unzip();
    notes.push("UPER counts an event once, however many pages it loses, and saturates at one over the pages of the code".into());
    Ok(Study {
        name: "uper",
        title: "Uncorrectable page errors over RBER".into(),
        settings: settings.values(),
        facts: settings.facts()?,
        tables: vec![Table { key: "uper", columns, rows, layouts }],
        plots: plots(&ways, &rates, group, marks),
        notes,
    })
}

fn plots(ways: &[Way], rates: &[f64], group: u32, marks: Vec<Mark>) -> Vec<Plot> {
    let (low, high) = rates.iter().fold((0.5f64, 0.0f64), |(low, high), &rate| (low.min(rate), high.max(rate)));
    let grid: Vec<f64> = ratios(low.min(high / 10.0), high, 101).collect();
    let curves = |of: &dyn Fn(&Way, f64) -> f64| {
        let points = |way: &Way| grid.iter().map(|&rber| (rber, of(way, rber).exp())).filter(|(_, odds)| *odds > FLOOR).collect();
        ways.iter().map(|way| Series { name: way.name.clone(), points: points(way) }).collect()
    };
    let plot = |id, title: String, hint: &str, name, series, marks| Plot {
        id,
        title,
        hint: hint.into(),
        axes: [Axis { name: "raw bit error rate", log: true }, Axis { name, log: true }],
        series,
        marks,
        categories: Vec::new(),
    };
    vec![
        plot(
            "uper",
            "Uncorrectable page error rate".into(),
            "Events of loss for each page, as the paper counts them.",
            "UPER, events for each page",
            curves(&|way, rber| way.ln_uper(rber)),
            Vec::new(),
        ),
        plot(
            "group-loss",
            format!("Odds that a group of {group} pages loses any"),
            "Groups of equal size: where two curves cross, the better scheme changes.",
            "probability of a loss",
            curves(&|way, rber| way.ln_group(rber, group)),
            marks,
        ),
    ]
}
