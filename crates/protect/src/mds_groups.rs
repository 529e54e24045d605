//! Paper: K. M. Greenan, D. D. E. Long, E. L. Miller, T. J. E. Schwarz, A. Wildani, "Building
//! Flexible, Fault-Tolerant Flash-based Storage Systems", HotDep 2009, section 3.
//!
//! Idea: a block group is the blocks of one index on all dies, a page stripe the pages of one
//! number in them. Page stripes are written in order, from data page to data page by a stride;
//! data page i belongs to codeword i mod g of a (k, m)-MDS code, whose m parity pages stay in a
//! PLP cache until all its data are in flash. So parity is written once, whole, and
//! nothing is read for it. Each group keeps the code it was opened with: a drive raises its
//! fault tolerance group by group. With a block code, the last page of each block is the sum of
//! the others, and the two codes make a product code. Where a word line has several pages that are lost together, its last word
//! line may be the sum of the others page by page (`GroupCode::block`).
//!
//! Differs: the paper's stride `i * s mod (D-1)` sends the last write where the first went; the
//! last data page is a case of its own here, and s and D-1 must have no common factor. Parity
//! visits all dies, group by group (`rotate`). Bad blocks leave symbols that count as zeros; the
//! others move up, so that every codeword keeps its parity. Which group to clean, the paper
//! leaves open: groups of a code no longer in use come first, then a policy of the log decides.
//! Invariant: m lost pages of a codeword come back; so do all patterns of lost pages that rows
//! and blocks can peel off one by one.

use crate::lazy::{READ_AROUND, ReadAround};
use crate::product;
use crate::{Across, GroupCode, GroupHistory, GroupPage, GroupScheme, Options, PageState, PageStripe, Strip};
use crate::{Protection, SchemeError, Shape};
use vocab::{DieId, Nanos, StripSet, SuperblockId};

/// Options of the scheme.
pub(crate) const OPTIONS: &[(&str, &str, &str)] = &[
    (
        "k",
        "auto",
        "data pages of a codeword; `auto`: a codeword spans all dies, on more than 32 dies the largest divisor from 8 to 32",
    ),
    ("m", "1", "parity pages of a codeword: dies that may be lost"),
    (
        "block_parity",
        "no",
        "sums at the end of each block: `no`, `yes` (the last page is the sum of the others), `word-line` (the last word line is the sum \
         of the others, page by page: it brings back all pages that are programmed together)",
    ),
    ("stride", "auto", "data pages from one write of a page stripe to the next; `auto`: from codeword symbol to symbol"),
    ("rotate", "group", "whether parity visits all dies: `group` after group, or `none`"),
    ("parity_cache", "auto", "pages of the PLP cache that holds parity until it is written"),
    ("then", "none", "the code of later groups, as `6+2`, `7+1+block` or `7+1+word-line`; `none`: no change"),
    ("change_after_groups", "0", "groups opened before the code changes; 0: not for this"),
    ("change_at_pe", "0", "P/E cycles of a group at which the code changes; 0: not for this"),
    (
        "change_at_failures",
        "0",
        "failures observed (reads that gave nothing, bad blocks, dead dies) at which the code changes; 0: not for this",
    ),
    ("sum_ns_per_page", "0", "controller time in ns to add one page to a sum while a page is rebuilt"),
    ("sum_writes", "no", "whether writes, too, wait until their page is added to each of its parities: `yes` or `no`"),
    READ_AROUND[0],
    READ_AROUND[1],
];

#[derive(Clone, Debug)]
struct MdsGroups {
    codes: Vec<GroupCode>,
    /// `None`: the number of codewords, which fills one codeword after the other.
    stride: Option<u32>,
    rotate: bool,
    cache: Option<u32>,
    /// Pages that one program of a die stores.
    unit_pages: u32,
    change_after: u32,
    change_at_pe: u32,
    change_at_failures: u32,
    read_around: Option<ReadAround>,
    sum_time: Nanos,
    sum_writes: bool,
}

pub(crate) fn build(options: &Options<'_>, shape: Shape) -> Result<Protection, SchemeError> {
    shape.need_dies_of_a_set(options)?;
    let m = options.number("m", 1..=shape.dies - 1)?;
    let k = match options.text("k") {
        "auto" if m < shape.stripe_dies() => shape.stripe_dies() - m,
        "auto" => shape.dies - m,
        _ => options.number("k", 1..=shape.dies - m)?,
    };
    let block = [0, 1, shape.unit_pages][options.word("block_parity", &["no", "yes", "word-line"])?];
    let mut codes = vec![code(options, "k", shape.dies, k, m, block)?];
    if options.text("then") != "none" {
        codes.push(next_code(options, shape)?);
    }
    let stride = match options.text("stride") {
        "auto" => None,
        _ => Some(stride(options, &codes)?),
    };
    let cache = match options.text("parity_cache") {
        "auto" => None,
        _ => Some(options.number("parity_cache", 1..=1 << 24)?),
    };
    let change_after = options.number("change_after_groups", 0..=u32::MAX)?;
    let change_at_pe = options.number("change_at_pe", 0..=u32::MAX)?;
    let change_at_failures = options.number("change_at_failures", 0..=u32::MAX)?;
    let changes =
        [("change_after_groups", change_after), ("change_at_pe", change_at_pe), ("change_at_failures", change_at_failures)];
    for (name, value) in changes {
        if value > 0 && codes.len() == 1 {
            return Err(options.error(name, format!("found {value}, and no code to change to: `then` names one")));
        }
    }
    let sum_time = Nanos(u64::from(options.number("sum_ns_per_page", 0..=1_000_000_000)?));
    let sum_writes = options.word("sum_writes", &["no", "yes"])? == 1;
    let rotate = options.word("rotate", &["group", "none"])? == 0;
    let read_around = ReadAround::new(options, shape.dies)?;
    let scheme = MdsGroups {
        codes,
        stride,
        rotate,
        cache,
        unit_pages: shape.unit_pages,
        change_after,
        change_at_pe,
        change_at_failures,
        read_around,
        sum_time,
        sum_writes,
    };
    Ok(Protection::Groups(Box::new(scheme)))
}

/// The (k, m) code over all dies; its codewords must fill the page stripe.
fn code(options: &Options<'_>, setting: &str, dies: u32, k: u32, m: u32, block: u32) -> Result<GroupCode, SchemeError> {
    if k == 0 || m == 0 || !dies.is_multiple_of(k + m) {
        let valid: Vec<_> = (m + 1..=dies).filter(|n| dies.is_multiple_of(*n)).map(|n| (n - m).to_string()).collect();
        let reason = format!(
            "found k = {k}, m = {m}: codewords of {} pages do not fill page stripes of {dies}; with m = {m}, valid k are {}",
            k + m,
            if valid.is_empty() { "none".into() } else { valid.join(", ") }
        );
        return Err(options.error(setting, reason));
    }
    Ok(GroupCode { data: k, parity: m, codewords: dies / (k + m), block })
}

/// The code of `then`: `k+m`, `k+m+block` or `k+m+word-line`.
fn next_code(options: &Options<'_>, Shape { dies, unit_pages, .. }: Shape) -> Result<GroupCode, SchemeError> {
    let text = options.text("then");
    let parts: Vec<&str> = text.split('+').collect();
    let number = |part: &str| part.parse::<u32>().ok().filter(|n| (1..=dies).contains(n));
    let found = match parts[..] {
        [k, m] => number(k).zip(number(m)).map(|(k, m)| (k, m, 0)),
        [k, m, "block"] => number(k).zip(number(m)).map(|(k, m)| (k, m, 1)),
        [k, m, "word-line"] => number(k).zip(number(m)).map(|(k, m)| (k, m, unit_pages)),
        _ => None,
    };
    let Some((k, m, block)) = found else {
        let valid = "valid are `none`, `k+m`, `k+m+block` and `k+m+word-line`, as in `6+2`";
        return Err(options.error("then", format!("found `{text}`, {valid}")));
    };
    code(options, "then", dies, k, m, block)
}

fn common_factor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_factor(b, a % b) }
}

/// Whether steps of `stride` visit each of the first D-1 of D data pages once.
fn visits_all(stride: u32, data: u32) -> bool {
    data <= 2 || common_factor(stride, data - 1) == 1
}

fn stride(options: &Options<'_>, codes: &[GroupCode]) -> Result<u32, SchemeError> {
    let data = |code: &GroupCode| code.codewords * code.data;
    let most = codes.iter().map(data).max().expect("there is a code").max(2) - 1;
    let stride = options.number("stride", 1..=most)?;
    let works = |stride: u32| codes.iter().all(|code| visits_all(stride, data(code)));
    if !works(stride) {
        let valid: Vec<_> = (1..=most).filter(|&s| works(s)).map(|s| s.to_string()).collect();
        let reason =
            format!("found {stride}: some data pages would be written twice, others never; valid are {}", valid.join(", "));
        return Err(options.error("stride", reason));
    }
    Ok(stride)
}

impl MdsGroups {
    /// The data pages of a page stripe in writing order.
    fn order(&self, data: u32, codewords: u32) -> Vec<u32> {
        // Groups with bad blocks have fewer data pages than the stride was checked for.
        let wanted = self.stride.unwrap_or(codewords);
        let stride = (wanted..).find(|&s| visits_all(s, data)).expect("D itself has no factor in common with D-1");
        (0..data).map(|i| if i == data - 1 { i } else { i * stride % (data - 1) }).collect()
    }
}

impl GroupScheme for MdsGroups {
    fn codes(&self) -> &[GroupCode] {
        &self.codes
    }

    fn code_for(&self, now: usize, history: &GroupHistory) -> usize {
        let groups = self.change_after > 0 && history.opened >= u64::from(self.change_after);
        let worn = self.change_at_pe > 0 && history.most_pe >= self.change_at_pe;
        let failing = self.change_at_failures > 0 && history.failures >= u64::from(self.change_at_failures);
        let change = history.asked || groups || worn || failing;
        if change { self.codes.len() - 1 } else { now }
    }

    fn page_stripe(&self, code: &GroupCode, group: SuperblockId, members: StripSet) -> Option<PageStripe> {
        let (k, m) = (code.data, code.parity);
        let dies: Vec<u32> = members.iter().collect();
        // A codeword needs room for one data page and its parity. What is left over then stays empty.
        let codewords = code.codewords.min(dies.len() as u32 / (m + 1));
        if codewords == 0 {
            return None;
        }
        let width = (dies.len() as u32).min(codewords * (k + m));
        let data = width - codewords * m;
        // As in Fig. 3: P8 is the sum of D0 and D4, the data pages of one codeword being g apart.
        let symbol = |position: u32| match position.checked_sub(data) {
            None => (position % codewords, position / codewords),
            Some(parity) => (parity % codewords, k + parity / codewords),
        };
        // Codewords take neighbouring dies, which sit on different channels (cards).
        let of_codeword = |codeword: u32| {
            let every = codewords as usize;
            (codeword..data).step_by(every).chain((data + codeword..width).step_by(every))
        };
        let by_die = (0..codewords).flat_map(of_codeword);
        let turn = if self.rotate { group.0 } else { 0 };
        let mut strips = vec![Strip { die: DieId(0), codeword: 0, symbol: 0 }; width as usize];
        for (nth, position) in by_die.enumerate() {
            let die = dies[(nth + turn as usize) % dies.len()];
            let (codeword, symbol) = symbol(position);
            strips[position as usize] = Strip { die: DieId(die as u16), codeword, symbol };
        }
        Some(PageStripe { strips, data, codewords, order: self.order(data, codewords) })
    }

    fn parity_due(&self, missing: u32) -> bool {
        missing == 0
    }

    fn cleans_first(&self, code: &GroupCode, now: &GroupCode) -> bool {
        // Section 3.4. A group that is only narrower, from before the drive grew, has the fault
        // tolerance it is to have.
        let width = |code: &GroupCode| code.codewords * (code.data + code.parity);
        code != now && width(code) == width(now)
    }

    fn repair(
        &self,
        code: &GroupCode,
        stripe: &PageStripe,
        pages: u32,
        lost: GroupPage,
        state: &dyn Fn(GroupPage, Across) -> PageState,
    ) -> Option<Vec<(GroupPage, u8)>> {
        product::solve(code, stripe, pages, lost, state)
    }

    fn cache_pages(&self) -> Option<u32> {
        self.cache
    }

    /// Where a die programs a unit of pages at once, parity is programmed a unit behind its data, and each change of the parity's
    /// die with the group adds one: eight of them cost 3 to 6 % of the bandwidth of `tlc`, two cost half of it.
    fn stripes_under_way(&self) -> u32 {
        if self.unit_pages == 1 { 6 } else { 8 * self.unit_pages }
    }

    fn sum_time(&self) -> Nanos {
        self.sum_time
    }

    fn read_around(&self) -> Option<ReadAround> {
        self.read_around
    }

    fn write_sum_time(&self) -> Nanos {
        if self.sum_writes { self.sum_time } else { Nanos(0) }
    }

    fn survives_dies(&self) -> u32 {
        self.codes.iter().map(|code| code.parity).min().expect("there is a code")
    }

    fn boxed_clone(&self) -> Box<dyn GroupScheme> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
