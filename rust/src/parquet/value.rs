//! The values of a row.

use std::sync::Arc;

use parquet::record::Field;

/// One value, owned: it keeps no page alive.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A signed number of up to 64 bits.
    Int(i64),
    /// An unsigned number of up to 64 bits.
    UInt(u64),
    /// A number with a point.
    Float(f64),
    /// Text; decimals, dates and times are text too, as the format prints them.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Value>),
    /// The pairs of a map.
    Map(Vec<(Value, Value)>),
    /// The named fields of a struct.
    Struct(Vec<(String, Value)>),
    /// A large value that was left in the file, see [`super::ParquetFile::cell`].
    Late(Late),
}

impl Value {
    /// The bytes of all text and bytes in it.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(items) => items.iter().map(Self::size).sum(),
            Self::Map(pairs) => pairs.iter().map(|(key, value)| key.size() + value.size()).sum(),
            Self::Struct(fields) => fields.iter().map(|(_, value)| value.size()).sum(),
            _ => 0,
        }
    }
}

/// The address of a large value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Late {
    /// The name of the top column.
    pub column: Arc<str>,
    /// Which leaf column, as [`super::ParquetFile::cell`] counts.
    pub leaf: usize,
    /// The row in the file, from 0.
    pub row: u64,
    /// The element of the row's list, 0 where it is none.
    pub element: usize,
}

impl From<Field> for Value {
    fn from(field: Field) -> Self {
        match field {
            Field::Null => Self::Null,
            Field::Bool(value) => Self::Bool(value),
            Field::Byte(value) => Self::Int(value.into()),
            Field::Short(value) => Self::Int(value.into()),
            Field::Int(value) => Self::Int(value.into()),
            Field::Long(value) => Self::Int(value),
            Field::UByte(value) => Self::UInt(value.into()),
            Field::UShort(value) => Self::UInt(value.into()),
            Field::UInt(value) => Self::UInt(value.into()),
            Field::ULong(value) => Self::UInt(value),
            Field::Float16(value) => Self::Float(value.into()),
            Field::Float(value) => Self::Float(value.into()),
            Field::Double(value) => Self::Float(value),
            Field::Str(value) => Self::Text(value),
            Field::Bytes(value) => Self::Bytes(value.data().to_vec()),
            Field::Group(row) => Self::Struct(
                row.into_columns().into_iter().map(|(name, value)| (name, value.into())).collect(),
            ),
            Field::ListInternal(list) => {
                Self::List(list.elements().iter().cloned().map(Self::from).collect())
            }
            Field::MapInternal(map) => Self::Map(
                map.entries()
                    .iter()
                    .map(|(key, value)| (key.clone().into(), value.clone().into()))
                    .collect(),
            ),
            printed => Self::Text(printed.to_string()),
        }
    }
}
