//! Stripes and product codes, as studies see them: how many pages, and the odds of a loss.

use report::study::Cell;
use ssd::coding::odds::stripes::{ln_page_loss, ln_stripe_loss};
use ssd::coding::odds::{BchSize, ProductCode, binomial};

/// Pages with parity among them.
#[derive(Clone, Debug)]
pub(super) enum Scheme {
    /// Any `data` of its pages give back the others.
    Stripe { data: u32, parity: u32 },
    /// Two single parities across each other.
    Product { code: ProductCode, rows: u32, columns: u32 },
}

impl Scheme {
    pub(super) const STRIPE: &str = "DATA+PARITY with at most 256 pages";

    /// Most pages of a product code: its patterns are counted within a second.
    const PRODUCT_PAGES: u32 = 1024;

    pub(super) fn product_help() -> String {
        let (rows, columns) = ProductCode::SIDES_MAX;
        format!("ROWSxCOLUMNS up to {rows}x{columns}, at most {} pages", Self::PRODUCT_PAGES)
    }

    /// `7+1` or `8x64`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let pair = |a: &str, b: &str| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?));
        if let Some((data, parity)) = text.split_once('+') {
            let (data, parity) = pair(data, parity)?;
            let fits = (1..=256).contains(&data) && parity <= 256 - data;
            return fits.then_some(Scheme::Stripe { data, parity });
        }
        let (rows, columns) = text.split_once('x')?;
        let (rows, columns) = pair(rows, columns)?;
        let (most_rows, most_columns) = ProductCode::SIDES_MAX;
        let fits =
            (2..=most_rows).contains(&rows) && (2..=most_columns).contains(&columns) && rows * columns <= Self::PRODUCT_PAGES;
        fits.then(|| Scheme::Product { code: ProductCode::new(rows, columns), rows, columns })
    }

    pub(super) fn name(&self) -> String {
        match self {
            Scheme::Stripe { data, parity } => format!("{data}+{parity}"),
            Scheme::Product { rows, columns, .. } => format!("{rows}x{columns}"),
        }
    }

    /// Pages, parity included.
    pub(super) fn pages(&self) -> u32 {
        match self {
            Scheme::Stripe { data, parity } => data + parity,
            Scheme::Product { rows, columns, .. } => rows * columns,
        }
    }

    /// Share of its pages that hold data.
    pub(super) fn efficiency(&self) -> f64 {
        let data = match self {
            Scheme::Stripe { data, .. } => *data,
            Scheme::Product { rows, columns, .. } => (rows - 1) * (columns - 1),
        };
        f64::from(data) / f64::from(self.pages())
    }

    /// `ln` of the probability that data are lost.
    pub(super) fn ln_loss(&self, page_loss: f64) -> f64 {
        match self {
            Scheme::Stripe { data, parity } => ln_stripe_loss(*data, *parity, page_loss),
            Scheme::Product { code, .. } => code.ln_loss(page_loss),
        }
    }

    /// `ln` of the probability that one of as many as fill `pages` loses data.
    pub(super) fn ln_group_loss(&self, page_loss: f64, pages: u32) -> f64 {
        let share = f64::from(pages) / f64::from(self.pages());
        let ln = self.ln_loss(page_loss);
        if share == 1.0 { ln } else { binomial::ln_one_minus(share * binomial::ln_one_minus(ln)) }
    }
}

/// Codewords of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub code: BchSize,
    pub codewords: u32,
    pub t: u32,
}

impl Page {
    /// `ln` of the probability that the page is lost.
    pub(super) fn ln_loss(self, rber: f64) -> f64 {
        ln_page_loss(self.code.ln_failure(self.t, rber), self.codewords)
    }

    /// The same where rates differ between pages.
    pub(super) fn ln_loss_mixed(self, rber: f64, sigma: f64) -> f64 {
        binomial::ln_mixed(rber, sigma, |rate| self.ln_loss(rate))
    }

    pub(super) fn capability(self) -> Cell {
        Cell::Count(self.t.into())
    }
}
