//! The codes as their definition says them, without a table: long division bit by bit, syndromes by
//! evaluation, the textbook form of Berlekamp and Massey, and every place tried as a root.

pub struct Naive {
    m: u32,
    t: usize,
    polynomial: u32,
    /// Coefficients of the generator, highest first.
    generator: Vec<bool>,
}

impl Naive {
    pub fn new(m: u32, t: usize) -> Self {
        // The smallest polynomial of degree m is not always primitive; these are.
        let polynomial = match m {
            5 => 0b10_0101,
            6 => 0b100_0011,
            7 => 0b1000_0011,
            8 => 0x11d,
            9 => 0x211,
            10 => 0x409,
            11 => 0x805,
            12 => 0x1053,
            13 => 0x201b,
            14 => 0x402b,
            15 => 0x8003,
            _ => 0x1002d,
        };
        let mut naive = Naive { m, t, polynomial, generator: Vec::new() };
        naive.generator = naive.product_of_roots();
        naive
    }

    pub fn is(&self, m: u32, t: usize) -> bool {
        (self.m, self.t) == (m, t)
    }

    pub fn parity_bits(&self) -> usize {
        self.generator.len() - 1
    }

    fn mul(&self, a: u32, b: u32) -> u32 {
        let mut product = 0;
        for bit in (0..self.m).rev() {
            product <<= 1;
            if product >> self.m == 1 {
                product ^= self.polynomial;
            }
            if b >> bit & 1 == 1 {
                product ^= a;
            }
        }
        product
    }

    fn power(&self, exponent: usize) -> u32 {
        let (mut power, mut square, mut rest) = (1, 2, exponent);
        while rest > 0 {
            if rest % 2 == 1 {
                power = self.mul(power, square);
            }
            square = self.mul(square, square);
            rest /= 2;
        }
        power
    }

    /// The product of x - r over all roots: a .. a^2t and their conjugates.
    fn product_of_roots(&self) -> Vec<bool> {
        let mut roots: Vec<u32> = Vec::new();
        for exponent in 1..=2 * self.t {
            let mut root = self.power(exponent);
            while !roots.contains(&root) {
                roots.push(root);
                root = self.mul(root, root);
            }
        }
        let mut product = vec![1];
        for root in roots {
            let times_root: Vec<u32> = product.iter().map(|c| self.mul(*c, root)).collect();
            product.push(0);
            for (p, c) in product[1..].iter_mut().zip(times_root) {
                *p ^= c;
            }
        }
        assert!(product.iter().all(|c| *c < 2), "the product is over GF(2)");
        product.iter().map(|c| *c == 1).collect()
    }

    pub fn parity(&self, data: &[u8], bits: usize) -> Vec<u8> {
        let mut rest: Vec<bool> = (0..bits).map(|bit| data[bit / 8] << (bit % 8) & 0x80 != 0).collect();
        rest.resize(bits + self.parity_bits(), false);
        for at in 0..bits {
            if rest[at] {
                for (r, g) in rest[at..].iter_mut().zip(&self.generator) {
                    *r ^= g;
                }
            }
        }
        let mut parity = vec![0; self.parity_bits().div_ceil(8)];
        for (bit, _) in rest[bits..].iter().enumerate().filter(|(_, set)| **set) {
            parity[bit / 8] |= 0x80 >> (bit % 8);
        }
        parity
    }

    /// Places of the errors, in order; `None` if there is no codeword within t.
    pub fn errors(&self, data: &[u8], bits: usize, parity: &[u8]) -> Option<Vec<usize>> {
        let length = bits + self.parity_bits();
        let bit = |place: usize| {
            let (bytes, at) = if place < bits { (data, place) } else { (parity, place - bits) };
            bytes[at / 8] << (at % 8) & 0x80 != 0
        };
        let wrong: Vec<usize> = (0..length).filter(|place| bit(*place)).collect();
        let syndromes: Vec<u32> =
            (1..=2 * self.t).map(|j| wrong.iter().fold(0, |sum, place| sum ^ self.power(j * (length - 1 - place)))).collect();
        let locator = self.shortest_recurrence(&syndromes);
        let degree = locator.len() - 1;
        let order = (1 << self.m) - 1;
        let is_root = |place: &usize| {
            let inverse = self.power(order - (length - 1 - place) % order);
            locator.iter().rev().fold(0, |sum, c| self.mul(sum, inverse) ^ c) == 0
        };
        let places: Vec<usize> = (0..length).filter(is_root).collect();
        (degree <= self.t && places.len() == degree).then_some(places)
    }

    /// Massey (1969), algorithm 1, for sequences over any field; lowest coefficient first.
    fn shortest_recurrence(&self, s: &[u32]) -> Vec<u32> {
        let (mut c, mut b) = (vec![1u32], vec![1u32]);
        let (mut length, mut gap, mut last) = (0, 1, 1u32);
        for n in 0..s.len() {
            let d = (1..=length).fold(s[n], |d, i| d ^ self.mul(c.get(i).copied().unwrap_or(0), s[n - i]));
            if d == 0 {
                gap += 1;
                continue;
            }
            let inverse = self.power_of(last, (1 << self.m) - 2);
            let factor = self.mul(d, inverse);
            let mut next = c.clone();
            next.resize(next.len().max(b.len() + gap), 0);
            for (i, term) in b.iter().enumerate() {
                next[i + gap] ^= self.mul(factor, *term);
            }
            if 2 * length <= n {
                (length, b, last, gap) = (n + 1 - length, c, d, 1);
            } else {
                gap += 1;
            }
            c = next;
        }
        c.resize(length + 1, 0);
        c
    }

    fn power_of(&self, base: u32, exponent: usize) -> u32 {
        (0..self.m).rev().fold(1, |power, bit| {
            let square = self.mul(power, power);
            if exponent >> bit & 1 == 1 { self.mul(square, base) } else { square }
        })
    }
}
