//! A decoder by name.

use super::{Solved, Symbols, eliminate, gauss_jordan, peel};

/// Which of the two decoders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decoder {
    /// [`eliminate`]: finds whatever the equations determine.
    Elimination,
    /// [`peel`]: one equation with one unknown after the other.
    Peeling,
}

impl Decoder {
    /// Both.
    pub const ALL: [Decoder; 2] = [Decoder::Elimination, Decoder::Peeling];

    /// Its name: `elimination` or `peeling`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Decoder::Elimination => "elimination",
            Decoder::Peeling => "peeling",
        }
    }

    /// Symbols that follow from the known ones.
    #[must_use]
    pub fn solve<const W: usize>(self, equations: &[Symbols<W>], known: &Symbols<W>) -> Vec<Solved<W>> {
        match self {
            Decoder::Elimination => eliminate(equations, known),
            Decoder::Peeling => peel(equations, known),
        }
    }

    /// `known` with all symbols that it gives.
    #[must_use]
    pub fn closure<const W: usize>(self, equations: &[Symbols<W>], known: &Symbols<W>) -> Symbols<W> {
        let solved = self.solve(equations, known).into_iter().map(|solved| solved.symbol);
        known.or(&solved.collect())
    }

    /// Those of the symbols `offered` that may still help to a symbol of `wanted`, given `known`. All
    /// others can be left out whatever becomes of the rest: `known` and any part of `offered` give the
    /// same wanted symbols without them.
    ///
    /// By elimination this is exact: each symbol of the answer is the one that some part of `offered`
    /// lacks for a wanted symbol. By peeling the answer may hold a few symbols too many.
    #[must_use]
    pub fn helpful<const W: usize>(
        self,
        equations: &[Symbols<W>],
        known: &Symbols<W>,
        offered: &Symbols<W>,
        wanted: &Symbols<W>,
    ) -> Symbols<W> {
        let known = self.closure(equations, known);
        let (offered, open) = (offered.without(&known), wanted.without(&known));
        let ties = |symbol: usize| match self {
            Decoder::Elimination => circuits(equations, &known, &offered, symbol),
            Decoder::Peeling => derivations(equations, &known, &offered, symbol),
        };
        let reached = open.iter().fold(Symbols::EMPTY, |all, symbol| all.or(&ties(symbol)));
        reached.and(&offered)
    }
}

/// The symbols on a common circuit with `symbol` in the matroid of `symbol` and the symbols offered, with
/// the known ones contracted: the minimal equations that tie it to what can be had. Symbols on common
/// circuits are an equivalence class, and for a binary matroid the classes are the connected parts of any
/// of its reduced matrices (Oxley, Matroid Theory, sections 4.1 and 9.1).
fn circuits<const W: usize>(equations: &[Symbols<W>], known: &Symbols<W>, offered: &Symbols<W>, symbol: usize) -> Symbols<W> {
    let start = [symbol].into_iter().collect();
    let of_interest = offered.or(&start);
    let mut rows: Vec<_> = equations.iter().map(|e| (e.without(known), Symbols::EMPTY)).collect();
    let unknown = rows.iter().fold(Symbols::EMPTY, |all, (row, _)| all.or(row));
    // Symbols that cannot be had are eliminated: what is left says all that is known without them.
    let gone = gauss_jordan(&mut rows, &unknown.without(&of_interest)).len();
    gauss_jordan(&mut rows[gone..], &of_interest);
    let ties: Vec<_> = rows[gone..].iter().map(|(row, _)| *row).collect();
    connected(&ties, start)
}

/// The symbols that peeling may use on a way to `symbol` from others than itself.
fn derivations<const W: usize>(equations: &[Symbols<W>], known: &Symbols<W>, offered: &Symbols<W>, symbol: usize) -> Symbols<W> {
    let start = [symbol].into_iter().collect();
    let offered = offered.without(&start);
    let reach = peel(equations, &known.or(&offered)).into_iter().map(|solved| solved.symbol).collect::<Symbols<W>>();
    let reach = reach.or(known).or(&offered);
    if !reach.contains(symbol) {
        return start;
    }
    // Unknowns beyond reach never become known, so an equation with it never has one unknown only.
    let mut live: Vec<_> = equations.iter().filter(|e| e.without(&reach).is_empty()).map(|e| e.without(known)).collect();
    // Nor does one with a symbol that only it could give; and to give that leads nowhere.
    let is_dead_end = |live: &[Symbols<W>], e: &Symbols<W>| {
        let inner = e.without(&offered).without(&start);
        inner.iter().any(|symbol| live.iter().filter(|other| other.contains(symbol)).count() == 1)
    };
    while let Some(at) = live.iter().position(|e| is_dead_end(&live, e)) {
        live.remove(at);
    }
    connected(&live, start)
}

/// All symbols that `sets` tie to those of `start`, itself included.
fn connected<const W: usize>(sets: &[Symbols<W>], start: Symbols<W>) -> Symbols<W> {
    let mut reached = start;
    loop {
        let touching = sets.iter().filter(|set| !set.and(&reached).is_empty());
        let next = touching.fold(reached, |all, set| all.or(set));
        if next == reached {
            return reached;
        }
        reached = next;
    }
}
