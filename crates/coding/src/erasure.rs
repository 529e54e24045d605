//! Erasure codes: k data symbols and m parity symbols, any k of which give back all the others.
//!
//! The codes are maximum distance separable (MDS) and systematic. With one parity it is the XOR of the
//! data (RAID-5); with more, the parity rows are a Cauchy matrix over GF(2^8), every square part of
//! which can be inverted (J. Bloemer et al., "An XOR-Based Erasure-Resilient Coding Scheme", ICSI
//! TR-95-048, 1995). The matrix is that of ISA-L's `gf_gen_cauchy1_matrix`, so parity is byte for
//! byte what that library computes.
//!
//! **Symbols** are numbered 0..k (data) and k..k+m (parity). A code knows neither bytes nor places:
//! [`ErasureCode::solve`] says which symbols to add up with which coefficients, for contents of any
//! kind; [`ErasureCode::encode`] and [`ErasureCode::rebuild`] do it for strips in memory.
//!
//! **Short stripes.** A data symbol that was never written is zero, and known without being read: count
//! it among the available symbols, first if it shall replace reads, and leave it out when adding.

use crate::gf256::{self, Sums};
use std::iter::once;

/// An erasure code of k data and m parity symbols; see the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureCode {
    data: usize,
    parity: usize,
    /// Parity rows one after the other, each with a coefficient for every data symbol.
    rows: Vec<u8>,
    encode: Sums,
    /// One parity that is the XOR of the data.
    plain: bool,
}

/// How lost symbols are computed from others: the symbols to have at hand, and the sums over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuild {
    sources: Vec<usize>,
    sums: Sums,
}

/// Fewer than k symbols are at hand: what is lost stays lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fewer symbols are at hand than the code has data symbols")]
pub struct Undecodable;

impl ErasureCode {
    /// `data` + `parity` symbols: plain XOR for one parity, Cauchy for more.
    ///
    /// # Panics
    /// Unless `data` >= 1 and `data + parity` <= 255.
    #[must_use]
    pub fn new(data: usize, parity: usize) -> Self {
        if parity == 1 { Self::with_rows(data, parity, |_, _| 1) } else { Self::cauchy(data, parity) }
    }

    /// `data` + `parity` symbols with a Cauchy matrix even for one parity: the coefficient of data
    /// symbol j in parity i is the inverse of (k+i) XOR j.
    ///
    /// # Panics
    /// Unless `data` >= 1 and `data + parity` <= 255.
    #[must_use]
    pub fn cauchy(data: usize, parity: usize) -> Self {
        // The bounds checked below make both fit a byte, and never equal.
        Self::with_rows(data, parity, |i, j| gf256::inv(((data + i) ^ j) as u8))
    }

    fn with_rows(data: usize, parity: usize, coefficient: impl Fn(usize, usize) -> u8) -> Self {
        assert!(data >= 1 && data + parity <= 255, "a code has data, and at most 255 symbols: {data} + {parity}");
        let rows: Vec<u8> = (0..parity).flat_map(|i| (0..data).map(move |j| (i, j))).map(|(i, j)| coefficient(i, j)).collect();
        let encode = Sums::new(data, &rows);
        let plain = parity == 1 && rows.iter().all(|c| *c == 1);
        ErasureCode { data, parity, rows, encode, plain }
    }

    /// Data symbols, k.
    #[must_use]
    pub fn data(&self) -> usize {
        self.data
    }

    /// Parity symbols, m: as many losses are survived.
    #[must_use]
    pub fn parity(&self) -> usize {
        self.parity
    }

    /// All symbols, k + m.
    #[must_use]
    pub fn symbols(&self) -> usize {
        self.data + self.parity
    }

    /// The coefficient of data symbol `data` in parity `parity` (0..m); never 0.
    ///
    /// # Panics
    /// If there is no such parity or data symbol.
    #[must_use]
    pub fn coefficient(&self, parity: usize, data: usize) -> u8 {
        assert!(data < self.data, "data symbol {data} of {}", self.data);
        self.rows[parity * self.data + data]
    }

    /// Writes all parity strips from all data strips; what the parity strips held does not matter.
    ///
    /// # Panics
    /// If there are not k data and m parity strips, all of one length.
    pub fn encode(&self, data: &[&[u8]], parity: &mut [&mut [u8]]) {
        self.encode.apply(data, parity);
    }

    /// Brings all parity strips up to date with one data strip, of which `difference` is the sum of the
    /// old and the new contents.
    ///
    /// # Panics
    /// If there are not m parity strips, all as long as `difference`, or no such data symbol.
    pub fn update(&self, data: usize, difference: &[u8], parity: &mut [&mut [u8]]) {
        assert_eq!(parity.len(), self.parity, "parity strips of the code");
        for (i, parity) in parity.iter_mut().enumerate() {
            gf256::mul_add(parity, difference, self.coefficient(i, data));
        }
    }

    /// The symbols, with their coefficients, whose sum is the symbol `lost`; `None` if fewer than k
    /// others are available.
    ///
    /// As few as can be: of an MDS code exactly k symbols are needed, whichever they are, and the first
    /// k of `available` are taken. So their order says which the caller likes best. `lost` and
    /// repetitions among them are passed over; no coefficient is 0.
    ///
    /// The work is an elimination as large as the number of data symbols that have to be replaced by
    /// parity, at most m: a few hundred nanoseconds for the usual codes.
    ///
    /// # Panics
    /// If a symbol is not of this code.
    #[must_use]
    pub fn solve(&self, lost: usize, available: &[usize]) -> Option<Vec<(usize, u8)>> {
        let sources = self.sources(once(lost), available.iter().map(|symbol| (*symbol, ())))?.0;
        if self.plain {
            return Some(sources.into_iter().map(|symbol| (symbol, 1)).collect());
        }
        let row = self.combinations(&[lost], &sources);
        Some(sources.into_iter().zip(row).collect())
    }

    /// How to compute all the symbols of `lost` from the first k others of `available`, for strips in
    /// memory: worth keeping while many stripes have lost the same. `None` if fewer than k are
    /// available.
    ///
    /// # Panics
    /// If a symbol is not of this code.
    #[must_use]
    pub fn plan(&self, lost: &[usize], available: &[usize]) -> Option<Rebuild> {
        let (sources, _) = self.sources(lost.iter().copied(), available.iter().map(|symbol| (*symbol, ())))?;
        let sums = Sums::new(self.data, &self.combinations(lost, &sources));
        Some(Rebuild { sources, sums })
    }

    /// Writes the lost strips from those present, each given with its symbol.
    ///
    /// # Errors
    /// [`Undecodable`] if fewer than k different symbols are present; nothing is written.
    ///
    /// # Panics
    /// If a symbol is not of this code, or the strips differ in length.
    pub fn rebuild(&self, present: &[(usize, &[u8])], lost: &mut [(usize, &mut [u8])]) -> Result<(), Undecodable> {
        let (sources, inputs) =
            self.sources(lost.iter().map(|(symbol, _)| *symbol), present.iter().copied()).ok_or(Undecodable)?;
        if let (true, [(_, output)]) = (self.plain, &mut *lost) {
            // Each symbol of an XOR code is the sum of all others, as the parity is.
            self.encode.apply(&inputs, &mut [output]);
            return Ok(());
        }
        let (symbols, mut outputs): (Vec<usize>, Vec<&mut [u8]>) =
            lost.iter_mut().map(|(symbol, strip)| (*symbol, &mut **strip)).unzip();
        Sums::new(self.data, &self.combinations(&symbols, &sources)).apply(&inputs, &mut outputs);
        Ok(())
    }

    /// The first k available symbols that are not lost, and what comes with them.
    fn sources<T>(
        &self,
        lost: impl Iterator<Item = usize>,
        available: impl Iterator<Item = (usize, T)>,
    ) -> Option<(Vec<usize>, Vec<T>)> {
        let mut passed_over = [false; 256];
        for symbol in lost {
            assert!(symbol < self.symbols(), "symbol {symbol} of {}", self.symbols());
            passed_over[symbol] = true;
        }
        let (mut sources, mut with) = (Vec::with_capacity(self.data), Vec::with_capacity(self.data));
        for (symbol, what) in available {
            assert!(symbol < self.symbols(), "symbol {symbol} of {}", self.symbols());
            if sources.len() < self.data && !std::mem::replace(&mut passed_over[symbol], true) {
                sources.push(symbol);
                with.push(what);
            }
        }
        (sources.len() == self.data).then_some((sources, with))
    }

    /// For each lost symbol its coefficients over the k sources, row by row.
    ///
    /// Let Q be the data symbols that are no sources, and R the parities that are: equally many. With
    /// weights w on R such that the sum of w_r c(r, q) is what the lost symbol has of each q in Q, the
    /// parities account for Q; what they bring along of the other data is added once more to vanish.
    fn combinations(&self, lost: &[usize], sources: &[usize]) -> Vec<u8> {
        let mut is_source = [false; 256];
        sources.iter().for_each(|symbol| is_source[*symbol] = true);
        let absent: Vec<usize> = (0..self.data).filter(|symbol| !is_source[*symbol]).collect();
        let parities: Vec<usize> = sources.iter().filter_map(|symbol| symbol.checked_sub(self.data)).collect();
        let inverse = invert(absent.len(), |r, q| self.coefficient(parities[r], absent[q]));
        let mut rows = Vec::with_capacity(lost.len() * self.data);
        for &lost in lost {
            let mut weights = vec![0; parities.len()];
            for (&q, row) in absent.iter().zip(&inverse) {
                gf256::mul_add(&mut weights, row, self.share(lost, q));
            }
            let mut weights_in_order = weights.iter();
            rows.extend(sources.iter().map(|&source| {
                if source >= self.data {
                    return *weights_in_order.next().expect("a weight for each parity");
                }
                let brought =
                    parities.iter().zip(&weights).map(|(parity, weight)| gf256::mul(*weight, self.coefficient(*parity, source)));
                brought.fold(self.share(lost, source), |sum, product| sum ^ product)
            }));
        }
        rows
    }

    /// Coefficient of a data symbol in a symbol.
    fn share(&self, symbol: usize, data: usize) -> u8 {
        match symbol.checked_sub(self.data) {
            Some(parity) => self.coefficient(parity, data),
            None => u8::from(symbol == data),
        }
    }
}

impl Rebuild {
    /// The k symbols to have at hand, in the order [`Rebuild::run`] wants them.
    #[must_use]
    pub fn sources(&self) -> &[usize] {
        &self.sources
    }

    /// Writes the lost strips, in the order the plan was asked for, from those of the sources.
    ///
    /// # Panics
    /// If the number of strips is not that of the plan, or their lengths differ.
    pub fn run(&self, sources: &[&[u8]], lost: &mut [&mut [u8]]) {
        self.sums.apply(sources, lost);
    }
}

/// The inverse of a matrix of order `n`, row by row, by Gauss and Jordan. It has one: all square parts
/// of the codes' matrices do.
fn invert(n: usize, entry: impl Fn(usize, usize) -> u8) -> Vec<Vec<u8>> {
    // The matrix, and the unit matrix beside it.
    let row = |r: usize| (0..n).map(|c| entry(r, c)).chain((0..n).map(|c| u8::from(c == r))).collect();
    let mut rows: Vec<Vec<u8>> = (0..n).map(row).collect();
    for column in 0..n {
        let at = (column..n).find(|r| rows[*r][column] != 0).expect("a part of an MDS matrix can be inverted");
        rows.swap(at, column);
        let mut pivot = std::mem::take(&mut rows[column]);
        let scale = gf256::inv(pivot[column]);
        pivot.iter_mut().for_each(|entry| *entry = gf256::mul(*entry, scale));
        for row in rows.iter_mut().filter(|row| !row.is_empty()) {
            let factor = row[column];
            row.iter_mut().zip(&pivot).for_each(|(entry, pivot)| *entry ^= gf256::mul(*pivot, factor));
        }
        rows[column] = pivot;
    }
    rows.iter_mut().for_each(|row| drop(row.drain(..n)));
    rows
}
