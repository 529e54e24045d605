//! Columns as a Parquet file: one row group, every column optional, no compression, so that equal
//! columns are equal bytes.

use common::{Column, Columns, VERSION, Values};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// The columns as a Parquet file.
#[must_use]
pub fn parquet_bytes(columns: &Columns) -> Vec<u8> {
    // Memory takes what it is given, and the schema comes from the columns themselves.
    written(columns).expect("columns of equal length and their own schema can be written")
}

fn written(columns: &Columns) -> Result<Vec<u8>, ParquetError> {
    let fields = columns.columns().iter().map(field).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_created_by(format!("flashkeep {VERSION}")).build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in columns.columns() {
        let mut writer = group.next_column()?.expect("the schema has a field for each column");
        match &column.values {
            Values::Text(v) => put::<ByteArrayType, _>(&mut writer, v, |text| ByteArray::from(text.as_str())),
            Values::Whole(v) => put::<Int64Type, _>(&mut writer, v, |n| *n),
            Values::Number(v) => put::<DoubleType, _>(&mut writer, v, |x| *x),
            Values::Flag(v) => put::<BoolType, _>(&mut writer, v, |b| *b),
        }?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.values {
        Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Whole(_) => (Physical::INT64, None),
        Values::Number(_) => (Physical::DOUBLE, None),
        Values::Flag(_) => (Physical::BOOLEAN, None),
    };
    let field = Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    field.with_logical_type(logical).build().map(Arc::new)
}

fn put<T: DataType, V>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[Option<V>],
    each: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let there: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let dense: Vec<T::T> = values.iter().flatten().map(each).collect();
    writer.typed::<T>().write_batch(&dense, Some(&there), None).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::Row;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use serde_json::{Value, json};

    #[test]
    fn what_is_written_is_read_back_by_the_reader_of_the_format() {
        let rows: Vec<Row> = [
            json!({ "run": 0, "scheme": "none", "waf": 1.5, "saturated": true, "rebuild_s": null }),
            json!({ "run": 1, "scheme": "raid5", "waf": 0.1 + 0.2, "saturated": false, "rebuild_s": 1e-9 }),
            json!({ "run": 2, "scheme": "d\u{e4}", "waf": null, "saturated": null, "rebuild_s": null }),
        ]
        .into_iter()
        .map(|row| row.as_object().expect("an object").clone())
        .collect();
        let bytes = parquet_bytes(&Columns::of(&rows));
        assert_eq!(bytes, parquet_bytes(&Columns::of(&rows)));
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a Parquet file");
        let read: Vec<Value> = reader.get_row_iter(None).expect("rows").map(|row| as_json(&row.expect("a row"))).collect();
        assert_eq!(read, rows.into_iter().map(Value::Object).collect::<Vec<_>>());
    }

    fn as_json(row: &parquet::record::Row) -> Value {
        use parquet::record::Field;
        let value = |field: &Field| match field {
            Field::Null => Value::Null,
            Field::Bool(b) => json!(b),
            Field::Long(n) => json!(n),
            Field::Double(x) => json!(x),
            Field::Str(text) => json!(text),
            other => panic!("{other:?} is no value of a column"),
        };
        row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect::<serde_json::Map<_, _>>().into()
    }

    #[test]
    fn no_row_is_a_file_too() {
        let reader = SerializedFileReader::new(bytes::Bytes::from(parquet_bytes(&Columns::default()))).expect("a Parquet file");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }
}
