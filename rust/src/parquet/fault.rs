//! Why a Parquet file, or a part of one, cannot be read.

use std::io;

use crate::Error;

/// What is wrong; the file, and where in it, stands in [`crate::Error::Parquet`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file as a whole is no Parquet file, or its footer is damaged.
    #[error("damaged or cut short, {0}")]
    Footer(String),
    /// A compression this build has no decoder for.
    #[error(
        "column `{column}` is compressed with {codec}, expected snappy, zstd, gzip, lz4 or none"
    )]
    Codec {
        /// The column's path.
        column: String,
        /// The codec's name in the format.
        codec: String,
    },
    /// Bytes of one column in one row group are damaged.
    #[error("row group {group} column `{column}` is damaged: {what}")]
    Column {
        /// The row group, from 0.
        group: usize,
        /// The column's path.
        column: String,
        /// What was found.
        what: String,
    },
    /// Rows cannot be put together from their columns.
    #[error("row group {group} is damaged: {what}")]
    Group {
        /// The row group, from 0.
        group: usize,
        /// What was found.
        what: String,
    },
    /// A caller asked for a cell that is not there.
    #[error("there is no row {row} in column `{column}`")]
    NoCell {
        /// The row, from 0.
        row: u64,
        /// The column's path.
        column: String,
    },
}

impl Fault {
    /// What the user can do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Footer(_) | Self::Column { .. } | Self::Group { .. } => {
                Some("fetch or write the file again")
            }
            Self::Codec { .. } => Some(
                "write it again: `import pyarrow.parquet as pq; pq.write_table(pq.read_table(\"old.parquet\"), \"new.parquet\", compression=\"snappy\")`",
            ),
            _ => None,
        }
    }
}

impl Error {
    /// The fault of a file, which its sentence begins with.
    pub(super) fn parquet(path: &str, fault: Fault) -> Self {
        Self::Parquet { path: path.to_owned(), fault }
    }
}

/// Why a part of a column chunk cannot be decoded.
#[derive(Debug)]
pub(super) enum Damage {
    /// The bytes are wrong or missing.
    Bytes(String),
    /// A snappy copy reaches back into what was skipped; it must be decoded from the start.
    Skipped,
}

impl Damage {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self::Bytes(what.into())
    }
}

impl From<io::Error> for Damage {
    fn from(error: io::Error) -> Self {
        Self::Bytes(error.to_string())
    }
}

impl std::fmt::Display for Damage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(what) => formatter.write_str(what),
            Self::Skipped => formatter.write_str("a snappy copy reaches too far back"),
        }
    }
}
