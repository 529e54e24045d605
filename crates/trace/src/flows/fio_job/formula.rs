//! Formulas in values, as `(4*1m+4k)`: a value that begins with a parenthesis (fio `exp/expression-parser.y`).
//!
//! fio computes with whole numbers and with fractions side by side, and which of them counts is what the left operand is: so it is here.

/// Deepest nesting.
const DEPTH: usize = 64;

/// Parts of a second and longer times in microseconds, as fio's formulas have them.
const TIMES: &[(&str, i64)] = &[("us", 1), ("ms", 1000), ("s", 1_000_000), ("h", 3_600_000_000), ("d", 86_400_000_000)];

/// Sizes: `k` is 1024, `kib` is 1000.
const SIZES: &[(&str, i64)] = &[
    ("k", 1 << 10),
    ("kb", 1 << 10),
    ("kib", 1000),
    ("mb", 1 << 20),
    ("mib", 1_000_000),
    ("g", 1 << 30),
    ("gb", 1 << 30),
    ("gib", 1_000_000_000),
    ("t", 1 << 40),
    ("tb", 1 << 40),
    ("p", 1 << 50),
    ("pb", 1 << 50),
];

/// A value of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Value {
    whole: i64,
    fraction: f64,
    is_fraction: bool,
}

/// A formula that is being read.
struct Formula<'a> {
    rest: &'a str,
    is_time: bool,
    has_units: bool,
    depth: usize,
}

/// True where a value is a formula.
pub(super) fn is_formula(text: &str) -> bool {
    text.starts_with('(')
}

/// The number that a formula stands for, and whether it names units; `None` where it is none, or one that fio would cut to 32 bits.
pub(super) fn value(text: &str, is_time: bool) -> Option<(u64, bool)> {
    let mut formula = Formula { rest: text, is_time, has_units: false, depth: 0 };
    let value = formula.sum(0)?;
    formula.rest.trim().is_empty().then_some(())?;
    // Without a unit fio keeps 32 bits.
    let fits = formula.has_units || value.whole <= i64::from(i32::MAX);
    u64::try_from(value.whole).ok().filter(|_| fits).map(|whole| (whole, formula.has_units))
}

impl Formula<'_> {
    /// Operators bind in this order: sums, units, products, powers, remainders.
    fn sum(&mut self, least: u8) -> Option<Value> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let mut left = self.single()?;
        loop {
            self.rest = self.rest.trim_start();
            let Some(first) = self.rest.chars().next() else { break };
            if first.is_ascii_alphabetic() {
                if least > 2 {
                    break;
                }
                left = self.unit(left)?;
                continue;
            }
            // How close it binds, and how close what is behind it must.
            let (binds, behind) = match first {
                '+' | '-' => (1, 2),
                '*' | '/' => (3, 4),
                '^' => (4, 4),
                '%' => (5, 6),
                _ => break,
            };
            if binds < least {
                break;
            }
            self.rest = &self.rest[1..];
            let right = self.sum(behind)?;
            left = combined(first, left, right)?;
        }
        self.depth -= 1;
        Some(left)
    }

    fn single(&mut self) -> Option<Value> {
        self.rest = self.rest.trim_start();
        if let Some(rest) = self.rest.strip_prefix('-') {
            self.rest = rest;
            let value = self.sum(6)?;
            return Some(Value { whole: value.whole.checked_neg()?, fraction: -value.fraction, ..value });
        }
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            let value = self.sum(0)?;
            self.rest = self.rest.trim_start().strip_prefix(')')?;
            return Some(value);
        }
        if let Some(rest) = self.rest.strip_prefix("0x") {
            let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
            self.rest = &rest[end..];
            return number(i64::from_str_radix(&rest[..end], 16).ok()?);
        }
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        if digits.contains('.') {
            let fraction = digits.parse::<f64>().ok().filter(|_| !digits.ends_with('.'))?;
            return Some(Value { whole: fraction as i64, fraction, is_fraction: true });
        }
        number(digits.parse().ok()?)
    }

    /// A value with the unit behind it.
    fn unit(&mut self, value: Value) -> Option<Value> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        let name = name.to_ascii_lowercase();
        // A minute, or a mebibyte.
        let minute = if self.is_time { 60_000_000 } else { 1 << 20 };
        let known = TIMES.iter().chain(SIZES).copied().chain([("m", minute)]).find(|(known, _)| *known == name);
        let (known, times) = known?;
        self.rest = rest;
        self.has_units = true;
        // Only these two make a fraction of a whole number.
        let unit = Value { whole: times, fraction: times as f64, is_fraction: matches!(known, "us" | "ms") };
        combined('*', value, unit)
    }
}

/// A number that fio keeps in 32 bits.
fn number(whole: i64) -> Option<Value> {
    i32::try_from(whole).is_ok().then_some(Value { whole, fraction: whole as f64, is_fraction: false })
}

/// The result is a fraction where the left side is one.
fn combined(operator: char, left: Value, right: Value) -> Option<Value> {
    let is_whole = !left.is_fraction && !right.is_fraction;
    let of = |fraction: f64, whole: Option<i64>| {
        let whole = if is_whole { whole? } else { fraction as i64 };
        Some(Value { whole, fraction, is_fraction: left.is_fraction })
    };
    match operator {
        '+' => of(left.fraction + right.fraction, left.whole.checked_add(right.whole)),
        '-' => of(left.fraction - right.fraction, left.whole.checked_sub(right.whole)),
        '*' => of(left.fraction * right.fraction, left.whole.checked_mul(right.whole)),
        '/' if right.fraction == 0.0 || right.whole == 0 => None,
        '/' => of(left.fraction / right.fraction, left.whole.checked_div(right.whole)),
        '^' => of(left.fraction.powf(right.fraction), power(left.whole, right.whole)),
        _ if !is_whole || right.whole == 0 => None,
        _ => number(left.whole % right.whole),
    }
}

fn power(base: i64, exponent: i64) -> Option<i64> {
    match u32::try_from(exponent) {
        Ok(exponent) => base.checked_pow(exponent),
        Err(_) => Some((base as f64).powf(exponent as f64) as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of the grammar of fio 3.33, followed by hand.
    #[test]
    fn formulas_are_computed_as_fio_computes_them() {
        for (text, expected) in [
            ("(1024*4)", Some(4096)),
            ("(4*1k)", Some(4096)),
            ("(1m+4k)", Some(1_052_672)),
            ("(2^20)", Some(1_048_576)),
            ("((3+1)*1024*1024)", Some(4_194_304)),
            ("(1g/1024)", Some(1_048_576)),
            ("(1.5m)", Some(1_572_864)),
            ("(0x1000*16)", Some(65_536)),
            ("(10%4*3)", Some(6)),
            ("(2*3+4)k", Some(10_240)),
            ("(7/2)", Some(3)),
            ("(3kib)", Some(3000)),
            // A whole number times a fraction is whole for what follows it.
            ("(1*1.5*2)", Some(2)),
            ("(1.5*2)", Some(3)),
            // 32 bits without a unit.
            ("(4096*1024*1024)", None),
            ("(1-2)", None),
            ("(1/0)", None),
            ("(1", None),
            ("(1)x", None),
            ("()", None),
        ] {
            assert_eq!(value(text, false).map(|(value, _)| value), expected, "{text}");
        }
        assert_eq!(value("(2m)", true), Some((120_000_000, true)), "minutes, in us");
        assert_eq!(value("(2m)", false), Some((2 << 20, true)));
        assert_eq!(value(&"(".repeat(10_000), false), None);
    }
}
