//! The pages of a row that sum up to one that cannot be read.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::write::rows::Rows;
use nand::{FlashArray, PageRole};
use vocab::{DieId, Ppn, StripSet};

/// The parity of a page is still on its way: its row may bring it back later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParityOnItsWay;

/// A parity page: its die, and the dies that it covers.
#[derive(Clone, Copy)]
struct Parity {
    die: DieId,
    covered: StripSet,
}

impl<P: FlashPayload> Rows<P> {
    /// Pages whose sum is the page, from its row, without the `failed` ones: `None` if the row cannot give it.
    ///
    /// # Errors
    /// The parity is still on its way.
    pub fn sources(&self, core: &Core<P>, ppn: Ppn, failed: &[Ppn]) -> Result<Option<Vec<Ppn>>, ParityOnItsWay> {
        let (row, die) = core.map.rows().row_of(ppn);
        let lost = u32::from(die.0);
        let in_flight = self.open.iter().any(|writer| writer.writes(row) && writer.waits_for_parity());
        match core.map.rows().coverage(row) {
            Some((covered, parity)) if covered.contains(lost) => {
                let newest = sources_of(core, row, lost, Parity { die: parity, covered }, None);
                let usable = |pages: &Vec<Ppn>| pages.iter().all(|page| is_source(core, *page) && !failed.contains(page));
                Ok(Some(newest).filter(usable).or_else(|| older_sources(core, row, lost, usable)))
            }
            _ if in_flight || self.covers.in_use() > 0 => Err(ParityOnItsWay),
            _ => Ok(None),
        }
    }
}

fn is_source<P: FlashPayload>(core: &Core<P>, ppn: Ppn) -> bool {
    core.device.array.answers(ppn) && !core.device.losses.failed_programs.contains_key(&ppn.0)
}

/// The page as the sum of one parity that covers it, what that covers, and perhaps a parity before it, which
/// takes out what both cover. Each parity of a row covers what those before it cover: no sum of more of them
/// needs fewer pages.
fn older_sources<P: FlashPayload>(core: &Core<P>, row: u32, lost: u32, usable: impl Fn(&Vec<Ppn>) -> bool) -> Option<Vec<Ppn>> {
    let (with, without): (Vec<Parity>, Vec<Parity>) =
        parities_of(core, row).into_iter().partition(|parity| parity.covered.contains(lost));
    let less = || std::iter::once(None).chain(without.iter().map(|&parity| Some(parity)));
    let mut sums = with.iter().flat_map(|&parity| less().map(move |less| (parity, less)));
    sums.find_map(|(parity, less)| Some(sources_of(core, row, lost, parity, less)).filter(&usable))
}

/// The pages whose sum is the lost one: a parity and what it covers, without what a parity before it covers.
fn sources_of<P: FlashPayload>(core: &Core<P>, row: u32, lost: u32, parity: Parity, less: Option<Parity>) -> Vec<Ppn> {
    let mut dies = StripSet(parity.covered.0 ^ less.map_or(0, |less| less.covered.0));
    dies.remove(lost);
    dies.insert(u32::from(parity.die.0));
    if let Some(less) = less {
        dies.insert(u32::from(less.die.0));
    }
    dies.iter().map(|die| core.map.rows().page(row, DieId(die as u16))).collect()
}

/// Every parity of the row in flash, with what it covers.
fn parities_of<P: FlashPayload>(core: &Core<P>, row: u32) -> Vec<Parity> {
    let dies = core.map.rows().dies(row).map(|die| DieId(die as u16));
    let parity_on = |die: DieId| {
        let ppn = core.map.rows().page(row, die);
        if !core.device.is_stored(ppn) {
            return None;
        }
        let page = core.device.array.page(ppn);
        let is_parity = matches!(page.tags[0].role(), PageRole::Parity(_));
        is_parity.then_some(Parity { die, covered: page.oob.coverage })
    };
    dies.filter_map(parity_on).collect()
}
