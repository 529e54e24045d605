//! Rows gathered as typed columns, for Parquet and Arrow.

use serde_json::Map;
use serde_json::Value;

/// Values by column name, in column order.
pub type Row = Map<String, Value>;

/// Values of one column; nothing where a row says nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
    /// True or false.
    Flag(Vec<Option<bool>>),
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, with its unit.
    pub name: String,
    /// A value for each row.
    pub values: Values,
}

/// Columns of equal length, in the order in which rows named them first.
///
/// A column has the narrowest kind that holds all its values: whole numbers beside others are
/// numbers, values of several kinds are texts, and so are whole numbers beyond 63 bits. A column
/// without any value is one of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    columns: Vec<Column>,
    rows: usize,
}

impl Values {
    /// The kind of a value, with `rows` empty places before it; `None` where there is none.
    fn of(value: &Value, rows: usize) -> Option<Self> {
        match value {
            Value::Null => None,
            Value::Bool(_) => Some(Values::Flag(vec![None; rows])),
            Value::Number(n) if n.is_f64() => Some(Values::Number(vec![None; rows])),
            Value::Number(n) if n.is_i64() => Some(Values::Whole(vec![None; rows])),
            _ => Some(Values::Text(vec![None; rows])),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Values::Text(v) => v.iter().all(Option::is_none),
            Values::Whole(v) => v.iter().all(Option::is_none),
            Values::Number(v) => v.iter().all(Option::is_none),
            Values::Flag(v) => v.iter().all(Option::is_none),
        }
    }

    /// The same values as texts.
    fn into_texts(self) -> Vec<Option<String>> {
        fn texts<T: Into<Value>>(values: Vec<Option<T>>) -> Vec<Option<String>> {
            values.into_iter().map(|value| value.map(|value| text(&value.into()))).collect()
        }
        match self {
            Values::Text(v) => v,
            Values::Whole(v) => texts(v),
            Values::Number(v) => texts(v),
            Values::Flag(v) => texts(v),
        }
    }

    fn push(&mut self, value: &Value, rows: usize) {
        if value.is_null() {
            return self.push_nothing();
        }
        if self.is_empty() {
            *self = Self::of(value, rows).unwrap_or(Values::Number(vec![None; rows]));
        }
        match (&mut *self, value) {
            (Values::Whole(v), Value::Number(n)) if n.is_i64() => v.push(n.as_i64()),
            (Values::Number(v), Value::Number(n)) if n.is_f64() || n.is_i64() => v.push(n.as_f64()),
            (Values::Whole(v), Value::Number(n)) if n.is_f64() => {
                let numbers = v.iter().map(|value| value.map(|value| value as f64));
                *self = Values::Number(numbers.chain([n.as_f64()]).collect());
            }
            (Values::Flag(v), Value::Bool(b)) => v.push(Some(*b)),
            (Values::Text(v), value) => v.push(Some(text(value))),
            (_, value) => {
                let mut texts = std::mem::replace(self, Values::Flag(Vec::new())).into_texts();
                texts.push(Some(text(value)));
                *self = Values::Text(texts);
            }
        }
    }

    fn push_nothing(&mut self) {
        match self {
            Values::Text(v) => v.push(None),
            Values::Whole(v) => v.push(None),
            Values::Number(v) => v.push(None),
            Values::Flag(v) => v.push(None),
        }
    }
}

/// A value as text: a text as it is, anything else as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Columns {
    /// Adds a row.
    pub fn push(&mut self, row: &Row) {
        let rows = self.rows;
        for (name, value) in row {
            match self.columns.iter_mut().find(|column| column.name == *name) {
                Some(column) => column.values.push(value, rows),
                None => {
                    let mut values = Values::Number(vec![None; rows]);
                    values.push(value, rows);
                    self.columns.push(Column { name: name.clone(), values });
                }
            }
        }
        let silent = self.columns.iter_mut().filter(|column| !row.contains_key(&column.name));
        silent.for_each(|column| column.values.push_nothing());
        self.rows += 1;
    }

    /// Columns of these names, which are there without any row, too.
    #[must_use]
    pub fn named(columns: Vec<(&str, Values)>) -> Self {
        let columns = columns.into_iter().map(|(name, values)| Column { name: name.to_owned(), values });
        Self { columns: columns.collect(), rows: 0 }
    }

    /// The columns of these rows.
    #[must_use]
    pub fn of(rows: &[Row]) -> Self {
        let mut columns = Self::default();
        rows.iter().for_each(|row| columns.push(row));
        columns
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The same columns of some of the rows: those that `keep` says so of.
    #[must_use]
    pub fn some(&self, keep: &[bool]) -> Self {
        fn kept<T: Clone>(values: &[Option<T>], keep: &[bool]) -> Vec<Option<T>> {
            values.iter().zip(keep).filter(|(_, keep)| **keep).map(|(value, _)| value.clone()).collect()
        }
        let values = |values: &Values| match values {
            Values::Text(v) => Values::Text(kept(v, keep)),
            Values::Whole(v) => Values::Whole(kept(v, keep)),
            Values::Number(v) => Values::Number(kept(v, keep)),
            Values::Flag(v) => Values::Flag(kept(v, keep)),
        };
        let columns = self.columns.iter().map(|one| Column { name: one.name.clone(), values: values(&one.values) });
        Self { columns: columns.collect(), rows: keep.iter().filter(|keep| **keep).count() }
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn columns(values: &[Value]) -> Values {
        let rows: Vec<Row> = values.iter().map(|value| Row::from_iter([("x".to_owned(), value.clone())])).collect();
        Columns::of(&rows).columns()[0].values.clone()
    }

    #[test]
    fn a_column_takes_the_narrowest_kind_that_holds_its_values() {
        assert_eq!(columns(&[json!(1), json!(null), json!(-2)]), Values::Whole(vec![Some(1), None, Some(-2)]));
        assert_eq!(columns(&[json!(1), json!(0.5), json!(2)]), Values::Number(vec![Some(1.0), Some(0.5), Some(2.0)]));
        assert_eq!(columns(&[json!(null), json!(true)]), Values::Flag(vec![None, Some(true)]));
        assert_eq!(columns(&[json!(null)]), Values::Number(vec![None]));
        let texts = |texts: &[&str]| Values::Text(texts.iter().map(|text| Some((*text).to_owned())).collect());
        assert_eq!(columns(&[json!("a"), json!(1)]), texts(&["a", "1"]));
        assert_eq!(columns(&[json!(false), json!(0.1), json!([1])]), texts(&["false", "0.1", "[1]"]));
        assert_eq!(columns(&[json!(7), json!(u64::MAX)]), texts(&["7", "18446744073709551615"]));
        assert_eq!(columns(&[json!(u64::MAX)]), texts(&["18446744073709551615"]));
    }

    #[test]
    fn a_row_that_lacks_a_column_or_brings_one_leaves_empty_places() {
        let row = |pairs: &[(&str, i64)]| pairs.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect::<Row>();
        let columns = Columns::of(&[row(&[("a", 1)]), row(&[("b", 2)]), row(&[("b", 3), ("a", 4)])]);
        assert_eq!(columns.rows(), 3);
        assert_eq!(columns.columns()[0].values, Values::Whole(vec![Some(1), None, Some(4)]));
        assert_eq!(columns.columns()[1].values, Values::Whole(vec![None, Some(2), Some(3)]));
    }
}
