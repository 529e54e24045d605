//! Where a file can be broken, and how. Constants, patterns, types and what macros are given stay as they are.

use crate::sources::left_out;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Lit, ReturnType, Signature, Stmt, Type, UnOp};

/// How a point changes the text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The function returns this at once.
    Return(&'static str),
    /// The expression is this instead.
    Instead(String),
    /// The statement is left out.
    LeftOut,
}

/// One way of breaking a file.
#[derive(Clone)]
pub struct Point {
    pub file: usize,
    /// Bytes of the file; empty for a return, which stands at the start of a body.
    pub range: Range<usize>,
    pub line: usize,
    pub column: usize,
    pub change: Change,
    /// For the table.
    pub what: String,
}

/// All points of a file, in order of place.
pub fn find(file: usize, text: &str) -> Vec<Point> {
    let parsed = syn::parse_file(text).expect("read once already");
    let mut finder = Finder { file, text, points: Vec::new() };
    finder.visit_file(&parsed);
    finder.points.sort_by(|a, b| (a.range.start, a.range.end, &a.change).cmp(&(b.range.start, b.range.end, &b.change)));
    finder.points
}

struct Finder<'a> {
    file: usize,
    text: &'a str,
    points: Vec<Point>,
}

impl Finder<'_> {
    fn text_of(&self, what: &impl Spanned) -> &str {
        &self.text[what.span().byte_range()]
    }

    fn add(&mut self, at: proc_macro2::Span, range: Range<usize>, change: Change, what: String) {
        let start = at.start();
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        self.points.push(Point { file: self.file, range, line: start.line, column: start.column + 1, change, what });
    }

    /// `expression` becomes `text`.
    fn instead(&mut self, expression: &impl Spanned, at: &impl Spanned, text: String, what: String) {
        self.add(at.span(), expression.span().byte_range(), Change::Instead(text), what);
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        if block.stmts.is_empty() {
            return;
        }
        let body = self.text_of(block).trim_matches(['{', '}']).trim().to_owned();
        let at = block.brace_token.span.open().byte_range().end;
        for value in returns(&signature.output) {
            if body != *value {
                let what = format!("fn {} returns {}", signature.ident, if value.is_empty() { "at once" } else { value });
                self.add(signature.ident.span(), at..at, Change::Return(value), what);
            }
        }
    }

    /// A condition is never, or always, met. Those with `let` only in their other parts.
    fn condition(&mut self, condition: &Expr, values: &[&str]) {
        if has_let(condition) {
            return;
        }
        for value in values {
            let what = format!("condition `{}` is {value}", self.text_of(condition));
            self.instead(condition, condition, (*value).to_owned(), what);
        }
    }

    fn binary(&mut self, whole: &Expr, binary: &syn::ExprBinary) {
        let Some(other) = other_operator(&binary.op) else { return };
        if has_let(whole) {
            return;
        }
        let (left, right) = (self.text_of(&binary.left).to_owned(), self.text_of(&binary.right).to_owned());
        let text = if assigns(&binary.op) { format!("{left} {other} {right}") } else { format!("({left}) {other} ({right})") };
        let what = format!("`{}` becomes `{other}` in `{}`", self.text_of(&binary.op), self.text_of(whole));
        self.instead(whole, &binary.op, text, what);
        if compares(&binary.op) {
            self.off_by_one(&binary.left);
            self.off_by_one(&binary.right);
        }
    }

    fn off_by_one(&mut self, side: &Expr) {
        let Expr::Lit(literal) = side else { return };
        let Lit::Int(number) = &literal.lit else { return };
        let Ok(value) = number.base10_parse::<u128>() else { return };
        let more = format!("{}{}", value + 1, number.suffix());
        self.instead(side, side, more.clone(), format!("{value} becomes {more} in a comparison"));
    }

    fn call(&mut self, whole: &Expr, call: &syn::ExprMethodCall) {
        let other = match call.method.to_string().as_str() {
            "min" => "max",
            "max" => "min",
            "min_by_key" => "max_by_key",
            "max_by_key" => "min_by_key",
            _ => return,
        };
        let (range, name) = (whole.span().byte_range(), call.method.span().byte_range());
        let text = format!("{}{other}{}", &self.text[range.start..name.start], &self.text[name.end..range.end]);
        self.instead(whole, &call.method, text, format!("`{}` becomes `{other}`", call.method));
    }
}

/// Values that a function may return at once, by its type.
fn returns(output: &ReturnType) -> &'static [&'static str] {
    let ReturnType::Type(_, found) = output else { return &[""] };
    let Type::Path(path) = &**found else { return &[] };
    match path.path.segments.last().map(|segment| segment.ident.to_string()).as_deref() {
        Some("bool") => &["false", "true"],
        Some("Option") => &["None"],
        Some("Vec") => &["Vec::new()"],
        _ => &[],
    }
}

fn other_operator(operator: &BinOp) -> Option<&'static str> {
    Some(match operator {
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::And(_) => "||",
        BinOp::Or(_) => "&&",
        BinOp::Add(_) => "-",
        BinOp::Sub(_) => "+",
        BinOp::AddAssign(_) => "-=",
        BinOp::SubAssign(_) => "+=",
        _ => return None,
    })
}

fn compares(operator: &BinOp) -> bool {
    matches!(operator, BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) | BinOp::Eq(_) | BinOp::Ne(_))
}

fn assigns(operator: &BinOp) -> bool {
    use BinOp::{AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, SubAssign};
    matches!(operator, AddAssign(_) | BitAndAssign(_) | BitOrAssign(_) | BitXorAssign(_))
        || matches!(operator, DivAssign(_) | MulAssign(_) | RemAssign(_) | SubAssign(_))
}

/// Whether a pattern of this condition binds something.
fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Whether nothing uses what this gives: a call or an assignment.
fn acts(expression: &Expr) -> bool {
    match expression {
        Expr::Call(_) | Expr::Assign(_) => true,
        // Room asked for in advance only saves time.
        Expr::MethodCall(call) => call.method != "reserve",
        Expr::Try(inner) => acts(&inner.expr),
        Expr::Binary(binary) => assigns(&binary.op),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !left_out(&item.attrs) && item.sig.constness.is_none() {
            self.function(&item.sig, &item.block);
            self.visit_block(&item.block);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !left_out(&item.attrs) && item.sig.constness.is_none() {
            self.function(&item.sig, &item.block);
            self.visit_block(&item.block);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = item.default.as_ref().filter(|_| !left_out(&item.attrs)) {
            self.function(&item.sig, block);
            self.visit_block(block);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !left_out(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = item.trait_.as_ref().and_then(|(path, ..)| path.segments.last()).map(|segment| segment.ident.to_string());
        // Words for people keep nothing safe.
        let words = matches!(name.as_deref(), Some("Debug" | "Display" | "Error"));
        if !words && !left_out(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expression, Some(_)) = statement
            && acts(expression)
        {
            let what = format!("left out: `{}`", self.text_of(statement));
            self.add(statement.span(), statement.span().byte_range(), Change::LeftOut, what);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Binary(binary) => self.binary(expression, binary),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                let inner = self.text_of(&unary.expr).to_owned();
                let what = format!("`{}` without its `!`", self.text_of(expression));
                self.instead(expression, expression, inner, what);
            }
            Expr::MethodCall(call) => self.call(expression, call),
            Expr::If(found) => self.condition(&found.cond, &["false", "true"]),
            Expr::While(found) => self.condition(&found.cond, &["false"]),
            Expr::Repeat(repeat) => return self.visit_expr(&repeat.expr),
            Expr::Const(_) => return,
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    fn visit_pat(&mut self, pattern: &'ast syn::Pat) {
        if let syn::Pat::Guard(guarded) = pattern {
            self.condition(&guarded.guard, &["false", "true"]);
            self.visit_expr(&guarded.guard);
        }
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        find(0, text).into_iter().map(|point| point.what).collect()
    }

    #[test]
    fn what_can_be_broken_is_found() {
        let text = "fn f(a: u32) -> bool { if a < 3 && g() { h(a); } !g() }";
        let found = words(text);
        for what in [
            "fn f returns true",
            "condition `a < 3 && g()` is false",
            "`&&` becomes `||` in `a < 3 && g()`",
            "`<` becomes `<=` in `a < 3`",
            "3 becomes 4 in a comparison",
            "left out: `h(a);`",
            "`!g()` without its `!`",
        ] {
            assert!(found.iter().any(|f| f == what), "{what} is not among {found:?}");
        }
        assert_eq!(found.len(), 9);
    }

    #[test]
    fn constants_patterns_tests_and_macros_stay() {
        let text = "const A: u32 = 1 + 2; const fn f() -> bool { 1 < 2 } #[cfg(test)] mod tests { fn g() { h(); } }\n\
                    fn k(x: [u8; 1 + 1]) { assert!(1 < 2); match 1 { 1..=2 => {} _ => {} } }";
        assert_eq!(words(text), ["fn k returns at once"]);
    }

    #[test]
    fn conditions_with_let_are_broken_in_their_other_parts() {
        let text = "fn f(a: Option<u32>) -> u32 { if let Some(n) = a && n == 1 { n } else { 0 } }";
        assert_eq!(words(text), ["`==` becomes `!=` in `n == 1`", "1 becomes 2 in a comparison"]);
    }
}
