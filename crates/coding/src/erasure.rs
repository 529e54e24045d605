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

/// An erasure code of k data and m parity symbols; see the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureCode {
    data: usize,
    parity: usize,
    /// Parity rows one after the other, each with a coefficient for every data symbol.
    rows: Vec<u8>,
    encode: Sums,
}

/// How lost symbols are computed from others: the symbols to have at hand, and the sums over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuild {
    sources: Vec<usize>,
    sums: Sums,
}

/// Fewer than k symbols are at hand: what is lost stays lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecodable;

impl std::fmt::Display for Undecodable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("fewer symbols are at hand than the code has data symbols")
    }
}

impl std::error::Error for Undecodable {}

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
        ErasureCode { data, parity, rows, encode }
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
        let sources = self.sources(&[lost], available)?;
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
        let sources = self.sources(lost, available)?;
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
        let available: Vec<usize> = present.iter().map(|(symbol, _)| *symbol).collect();
        let missing: Vec<usize> = lost.iter().map(|(symbol, _)| *symbol).collect();
        let plan = self.plan(&missing, &available).ok_or(Undecodable)?;
        let strip = |source: &usize| present.iter().find(|(symbol, _)| symbol == source).expect("a source is present").1;
        let inputs: Vec<&[u8]> = plan.sources.iter().map(strip).collect();
        let mut outputs: Vec<&mut [u8]> = lost.iter_mut().map(|(_, strip)| &mut **strip).collect();
        plan.run(&inputs, &mut outputs);
        Ok(())
    }

    /// The first k available symbols that are not lost.
    fn sources(&self, lost: &[usize], available: &[usize]) -> Option<Vec<usize>> {
        let mut taken = [false; 256];
        for &symbol in lost {
            assert!(symbol < self.symbols(), "symbol {symbol} of {}", self.symbols());
            taken[symbol] = true;
        }
        let mut sources = Vec::with_capacity(self.data);
        for &symbol in available {
            assert!(symbol < self.symbols(), "symbol {symbol} of {}", self.symbols());
            if !std::mem::replace(&mut taken[symbol], true) && sources.len() < self.data {
                sources.push(symbol);
            }
        }
        (sources.len() == self.data).then_some(sources)
    }

    /// For each lost symbol its coefficients over the k sources, row by row.
    ///
    /// Let Q be the data symbols that are no sources, and R the parities that are: equally many. With
    /// weights w on R such that the sum of w_r c(r, q) is what the lost symbol has of each q in Q, the
    /// parities account for Q; what they bring along of the other data is added once more to vanish.
    fn combinations(&self, lost: &[usize], sources: &[usize]) -> Vec<u8> {
        let mut absent: Vec<usize> = (0..self.data).collect();
        absent.retain(|symbol| !sources.contains(symbol));
        let parities: Vec<usize> = sources.iter().filter(|symbol| **symbol >= self.data).map(|symbol| symbol - self.data).collect();
        let inverse = invert(parities.len(), |r, q| self.coefficient(parities[r], absent[q]));
        let mut rows = Vec::with_capacity(lost.len() * self.data);
        for &lost in lost {
            let wanted: Vec<u8> = absent.iter().map(|&q| self.share(lost, q)).collect();
            let weight = |r: usize| wanted.iter().enumerate().fold(0, |sum, (q, w)| sum ^ gf256::mul(*w, inverse[q * wanted.len() + r]));
            let weights: Vec<u8> = (0..parities.len()).map(weight).collect();
            rows.extend(sources.iter().map(|&source| match source.checked_sub(self.data) {
                Some(parity) => weights[parities.iter().position(|p| *p == parity).expect("a source")],
                None => parities.iter().zip(&weights).fold(self.share(lost, source), |sum, (parity, weight)| {
                    sum ^ gf256::mul(*weight, self.coefficient(*parity, source))
                }),
            }));
        }
        rows
    }

    /// What a symbol has of a data symbol.
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
fn invert(n: usize, entry: impl Fn(usize, usize) -> u8) -> Vec<u8> {
    let width = 2 * n;
    let mut rows = vec![0; n * width];
    for r in 0..n {
        for c in 0..n {
            rows[r * width + c] = entry(r, c);
        }
        rows[r * width + n + r] = 1;
    }
    for pivot in 0..n {
        let at = (pivot..n).find(|r| rows[r * width + pivot] != 0).expect("a part of an MDS matrix can be inverted");
        for c in 0..width {
            rows.swap(at * width + c, pivot * width + c);
        }
        let scale = gf256::inv(rows[pivot * width + pivot]);
        for entry in &mut rows[pivot * width..(pivot + 1) * width] {
            *entry = gf256::mul(*entry, scale);
        }
        let row = rows[pivot * width..(pivot + 1) * width].to_vec();
        for r in (0..n).filter(|r| *r != pivot) {
            let c = rows[r * width + pivot];
            for (entry, pivot) in rows[r * width..(r + 1) * width].iter_mut().zip(&row) {
                *entry ^= gf256::mul(*pivot, c);
            }
        }
    }
    (0..n).flat_map(|r| rows[r * width + n..(r + 1) * width].to_vec()).collect()
}
