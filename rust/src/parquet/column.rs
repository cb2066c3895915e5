//! Top columns of single values, read column by column.
//!
//! The record reader asks for one value of one column at a time, through a tree that is made for
//! nesting; what does not nest is three times faster without it.

use std::vec;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::record::Field;
use parquet::schema::types::ColumnDescPtr;

use super::Value;
use super::fence::fenced;

/// How many values are decoded at once.
const BATCH: usize = 256;

/// One column of a row group, as far as it is read.
pub(super) struct Column {
    reader: ColumnReader,
    about: ColumnDescPtr,
    ready: vec::IntoIter<Value>,
}

impl Column {
    pub(super) fn new(reader: ColumnReader, about: ColumnDescPtr) -> Self {
        Self { reader, about, ready: Vec::new().into_iter() }
    }

    /// The next value, or `None` behind the last.
    pub(super) fn next(&mut self) -> std::result::Result<Option<Value>, String> {
        if self.ready.len() == 0 {
            self.ready = fenced(|| self.decode())?.into_iter();
        }
        Ok(self.ready.next())
    }

    fn decode(&mut self) -> Result<Vec<Value>> {
        let about = &self.about;
        match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => {
                read(reader, about, |value| Ok(Field::convert_bool(about, value)))
            }
            ColumnReader::Int32ColumnReader(reader) => {
                read(reader, about, |value| Ok(Field::convert_int32(about, value)))
            }
            ColumnReader::Int64ColumnReader(reader) => {
                read(reader, about, |value| Ok(Field::convert_int64(about, value)))
            }
            ColumnReader::Int96ColumnReader(reader) => {
                read(reader, about, |value| Ok(Field::convert_int96(about, value)))
            }
            ColumnReader::FloatColumnReader(reader) => {
                read(reader, about, |value| Ok(Field::convert_float(about, value)))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                read(reader, about, |value| Ok(Field::convert_double(about, value)))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                read(reader, about, |value| Field::convert_byte_array(about, value))
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                read(reader, about, |value| Field::convert_byte_array(about, value.into()))
            }
        }
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    about: &ColumnDescPtr,
    convert: impl Fn(T::T) -> Result<Field>,
) -> Result<Vec<Value>> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let highest = about.max_def_level();
    let wants_levels = (highest > 0).then_some(&mut levels);
    reader.read_records(BATCH, wants_levels, None, &mut values)?;
    let convert = |value| convert(value).map(Value::from);
    let mut values = values.into_iter();
    if highest == 0 {
        return values.map(convert).collect();
    }
    let mut present = || values.next().map_or(Ok(Value::Null), convert);
    levels
        .into_iter()
        .map(|level| if level == highest { present() } else { Ok(Value::Null) })
        .collect()
}
