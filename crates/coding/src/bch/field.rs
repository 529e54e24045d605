//! GF(2^m) by logarithms, and what equations of low degree need. One set of tables for each m in a
//! process: they depend on nothing else.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// The m for which there is a field.
pub(super) const ORDERS: RangeInclusive<u32> = 5..=16;

/// A primitive polynomial for each m from 5 on, highest degree first. Up to 15 they are those of the
/// Linux kernel (`lib/bch.c`), which ends there; 0x1002d is x^16 + x^5 + x^3 + x^2 + 1.
const POLYNOMIALS: [u32; 12] = [0x25, 0x43, 0x83, 0x11d, 0x211, 0x409, 0x805, 0x1053, 0x201b, 0x402b, 0x8003, 0x1002d];

/// The field with its primitive element `a`, a root of the polynomial. Bit i of an element is the
/// coefficient of `a^i`.
pub(super) struct Field {
    /// Bits of an element.
    pub(super) m: u32,
    /// Elements other than 0, 2^m - 1: the order of `a`.
    pub(super) n: u32,
    /// `powers[i]` is a^i, as far as two logarithms add up to; behind that zeros, as far as
    /// [`Field::zero`] and another logarithm, or itself, add up to. So a product is one look-up.
    powers: Vec<u16>,
    /// Of 0 it is [`Field::zero`].
    logs: Vec<u32>,
    /// `halves[i]` is a solution y of y^2 + y = a^i or, where there is none, of y^2 + y = a^i + c with
    /// one c for all such i.
    halves: [u16; 16],
}

impl Field {
    /// The field of 2^m elements, its tables shared by all who ask; `m` in [`ORDERS`].
    pub(super) fn get(m: u32) -> &'static Field {
        static FIELDS: [OnceLock<Field>; 12] = [const { OnceLock::new() }; 12];
        let index = (m - ORDERS.start()) as usize;
        FIELDS[index].get_or_init(|| Field::new(m, POLYNOMIALS[index]))
    }

    fn new(m: u32, polynomial: u32) -> Self {
        let n = (1u32 << m) - 1;
        let zero = 2 * n - 1;
        let mut powers = vec![0u16; 2 * zero as usize + 1];
        let mut logs = vec![zero; 1 << m];
        let mut power = 1u32;
        for i in 0..zero {
            powers[i as usize] = power as u16;
            if i < n {
                logs[power as usize] = i;
            }
            power = if power << 1 > n { power << 1 ^ polynomial } else { power << 1 };
        }
        let mut field = Field { m, n, powers, logs, halves: [0; 16] };
        field.halves = field.find_halves();
        field
    }

    /// The element a^i has a y iff its trace is 0; the first a^i of trace 1 is the `c` of all others.
    fn find_halves(&self) -> [u16; 16] {
        let odd = (0..self.m).map(|i| self.power(i)).find(|e| self.trace(*e) == 1).expect("half of all traces are 1");
        let mut halves = [0; 16];
        for (i, half) in (0..self.m).zip(&mut halves) {
            let element = self.power(i);
            let sum = element ^ if self.trace(element) == 1 { odd } else { 0 };
            let solves = |y: &u16| self.square(*y) ^ y == sum;
            *half = (0..=self.n as u16).find(solves).expect("trace 0 has a solution");
        }
        halves
    }

    /// x + x^2 + x^4 .. + x^(2^(m-1)): 0 or 1.
    fn trace(&self, x: u16) -> u16 {
        (1..self.m).fold((x, x), |(sum, power), _| (sum ^ self.square(power), self.square(power))).0
    }

    /// The logarithm of 0: with it, a sum of two is one of a zero.
    #[inline(always)]
    pub(super) fn zero(&self) -> u32 {
        2 * self.n - 1
    }

    /// `a` to the sum of two logarithms.
    #[inline(always)]
    pub(super) fn power(&self, logs: u32) -> u16 {
        self.powers[logs as usize]
    }

    #[inline(always)]
    pub(super) fn log(&self, x: u16) -> u32 {
        self.logs[usize::from(x)]
    }

    /// A sum of two logarithms, neither of 0, as one.
    #[inline(always)]
    pub(super) fn wrap(&self, logs: u32) -> u32 {
        if logs >= self.n { logs - self.n } else { logs }
    }

    /// The logarithm of x/y from those of x and y; y is not 0.
    #[inline(always)]
    pub(super) fn log_ratio(&self, x: u32, y: u32) -> u32 {
        if x == self.zero() { x } else { self.wrap(x + self.n - y) }
    }

    /// The logarithm of x^2.
    #[inline(always)]
    pub(super) fn log_square(&self, x: u32) -> u32 {
        if x == self.zero() { x } else { self.wrap(2 * x) }
    }

    #[inline(always)]
    pub(super) fn mul(&self, x: u16, y: u16) -> u16 {
        self.power(self.log(x) + self.log(y))
    }

    /// x/y; y is not 0.
    #[inline(always)]
    pub(super) fn div(&self, x: u16, y: u16) -> u16 {
        self.power(self.log_ratio(self.log(x), self.log(y)))
    }

    #[inline(always)]
    pub(super) fn square(&self, x: u16) -> u16 {
        let log = self.log(x);
        self.power(2 * log)
    }

    /// A polynomial of degree up to 2m - 2, a product of elements, as an element.
    #[inline(always)]
    pub(super) fn reduce(&self, product: u32) -> u16 {
        (product & self.n) as u16 ^ self.power(self.log((product >> self.m) as u16) + self.m)
    }

    pub(super) fn sqrt(&self, x: u16) -> u16 {
        let log = self.log(x);
        match x {
            0 => 0,
            _ if log.is_multiple_of(2) => self.power(log / 2),
            _ => self.power((log + self.n) / 2),
        }
    }

    /// A y with y^2 + y = c; the other one is y + 1.
    pub(super) fn half(&self, c: u16) -> Option<u16> {
        let mut y = 0;
        let mut rest = c;
        while rest != 0 {
            y ^= self.halves[rest.trailing_zeros() as usize];
            rest &= rest - 1;
        }
        (self.square(y) ^ y == c).then_some(y)
    }
}
