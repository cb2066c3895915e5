//! Parquet: row groups -> rows in small batches, and large cells by their address.
//!
//! Levels, encodings and types are the `parquet` crate's business: single values come from its column
//! readers, nested ones from its record reader. The pages they read are found and decoded here.
//!
//! Why our own pages: the crate decodes a page whole. Writers put every image of a row group into one
//! page, so a page may have hundreds of megabytes; leaves of large values are therefore streamed one
//! value at a time in constant memory, either right away or later, by [`ParquetFile::cell`]. It is
//! proved by `test_memory_is_that_of_an_image_though_its_page_holds_all` in
//! `tests/test_rows_parquet.py`: under 60 MB for a page of 160 MB. It may go when the crate reads a
//! value out of a page without decoding the page whole: then `chunk`, `hybrid`, `lz`, `stream` and most
//! of `page` and `thrift` go with it.
//!
//! Files are strangers' files. The crate is known to panic on some malformed ones, so every call of
//! it is fenced: a panic there becomes an error like any other and prints nothing.

mod chunk;
mod column;
mod fault;
mod fence;
mod group;
mod hybrid;
mod lz;
mod page;
mod plan;
mod rows;
mod source;
mod stream;
mod thrift;
mod value;

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Type as Physical};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};

pub use fault::Fault;
pub use rows::{Row, Rows};
pub use value::{Late, Value};

use crate::{Error, Result};
use chunk::{Chunk, Cursors};
use fence::fenced;
use source::Source;

/// An open Parquet file, read by position: any number of threads may read at once.
pub struct ParquetFile {
    path: String,
    source: Source,
    metadata: Arc<ParquetMetaData>,
    cursors: Cursors,
}

impl ParquetFile {
    /// Opens a file and reads its footer.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be opened, [`Error::Parquet`] if its footer cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let source = Source::open(path)
            .map_err(|source| Error::Io { context: format!("cannot open `{name}`"), source })?;
        let metadata = check_footer(&source)
            .and_then(|()| fenced(|| ParquetMetaDataReader::new().parse_and_finish(&source)))
            .map_err(|what| Error::parquet(&name, Fault::Footer(what)))?;
        Ok(Self { path: name, source, metadata: Arc::new(metadata), cursors: Cursors::default() })
    }

    /// The names of the top columns, in the file's order.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let schema = self.metadata().file_metadata().schema();
        schema.get_fields().iter().map(|field| field.name().to_owned()).collect()
    }

    /// How many rows the footer announces.
    #[must_use]
    pub fn len(&self) -> u64 {
        let counts = self.metadata().row_groups().iter().map(|group| to_size(group.num_rows()));
        counts.fold(0, u64::saturating_add)
    }

    /// Whether the file has no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows in order, with the columns that `wanted` says yes to. Large values of the columns
    /// that `late` says yes to are left in the file, as [`Value::Late`].
    ///
    /// # Errors
    /// [`Error::Parquet`] if a wanted column is in a codec or of a type that is not supported.
    pub fn rows(
        self: &Arc<Self>,
        wanted: impl Fn(&str) -> bool,
        late: impl Fn(&str) -> bool,
    ) -> Result<Rows> {
        Rows::new(Arc::clone(self), wanted, late)
    }

    /// A large value, by the address that a row gave: bytes or text, null where there is none.
    ///
    /// Reading forward decodes each page once; memory is that of the value, not of its page.
    ///
    /// # Errors
    /// [`Error::Parquet`] if there is no such row or leaf, or the value is damaged.
    pub fn cell(&self, leaf: usize, row: u64, element: usize) -> Result<Value> {
        let (group, within) = self.locate(leaf, row)?;
        let chunk = self.chunk(group, leaf)?;
        let value = self
            .cursors
            .value(&chunk, within, element)
            .map_err(|damage| self.damaged(group, leaf, &damage.to_string()))?;
        let Some(bytes) = value else { return Ok(Value::Null) };
        if !self.is_text(leaf) {
            return Ok(Value::Bytes(bytes));
        }
        let text = String::from_utf8(bytes)
            .map_err(|error| self.damaged(group, leaf, &format!("text is no UTF-8, {error}")))?;
        Ok(Value::Text(text))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    fn fault(&self, fault: Fault) -> Error {
        Error::parquet(&self.path, fault)
    }

    fn damaged(&self, group: usize, leaf: usize, what: &str) -> Error {
        let column = self.leaf_name(leaf);
        self.fault(Fault::Column { group, column, what: what.to_owned() })
    }

    fn leaf_name(&self, leaf: usize) -> String {
        let schema = self.metadata().file_metadata().schema_descr();
        schema.columns().get(leaf).map_or_else(|| format!("#{leaf}"), |leaf| leaf.path().string())
    }

    fn is_text(&self, leaf: usize) -> bool {
        let schema = self.metadata().file_metadata().schema_descr();
        schema.columns().get(leaf).is_some_and(|leaf| plan::is_text(leaf.self_type()))
    }

    /// The row group of a row, and the row in it.
    fn locate(&self, leaf: usize, row: u64) -> Result<(usize, usize)> {
        let mut within = row;
        for (number, group) in self.metadata().row_groups().iter().enumerate() {
            let count = to_size(group.num_rows());
            if within < count {
                return Ok((number, usize::try_from(within).unwrap_or(usize::MAX)));
            }
            within -= count;
        }
        Err(self.fault(Fault::NoCell { row, column: self.leaf_name(leaf) }))
    }

    fn chunk(&self, group: usize, leaf: usize) -> Result<Chunk> {
        let found = self.metadata().row_groups().get(group);
        let Some((found, column)) =
            found.and_then(|found| Some((found, found.columns().get(leaf)?)))
        else {
            return Err(self.damaged(group, leaf, "there is no such column"));
        };
        if column.column_type() != Physical::BYTE_ARRAY {
            return Err(self.damaged(group, leaf, "it holds neither text nor bytes"));
        }
        let (start, end) = byte_range(column)
            .ok_or_else(|| self.damaged(group, leaf, "its place in the file is impossible"))?;
        Ok(Chunk {
            source: self.source.clone(),
            key: (group, leaf),
            start,
            end,
            codec: column.compression(),
            rows: usize::try_from(found.num_rows()).unwrap_or_default(),
            max_definition: level(column.column_descr().max_def_level()),
            max_repetition: level(column.column_descr().max_rep_level()),
        })
    }

    /// Refuses codecs there is no decoder for, by their names.
    fn check_codec(&self, leaf: usize) -> Result<()> {
        for group in self.metadata().row_groups() {
            let codec = group.columns().get(leaf).map(ColumnChunkMetaData::compression);
            let name = match codec {
                Some(Compression::BROTLI(_)) => "brotli",
                Some(Compression::LZO) => "lzo",
                _ => continue,
            };
            let column = self.leaf_name(leaf);
            return Err(self.fault(Fault::Codec { column, codec: name.to_owned() }));
        }
        Ok(())
    }
}

/// The deepest nesting of columns that is read.
const SCHEMA_DEPTH: usize = 64;

/// Refuses a schema so deep that the crate's recursion would end the process.
fn check_footer(source: &Source) -> std::result::Result<(), String> {
    const MARK: &[u8; 4] = b"PAR1";
    const TAIL: u64 = 8;
    let length = source.len();
    let end = length.checked_sub(TAIL).ok_or_else(|| format!("it has only {length} bytes"))?;
    let tail = source.get_bytes(end, 8).map_err(|error| error.to_string())?;
    let (size, mark) = tail.split_at(4);
    if mark != MARK {
        return Err("it does not end in `PAR1`".to_owned());
    }
    let size = size.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let start = end
        .checked_sub(size)
        .ok_or_else(|| format!("its footer should have {size} bytes, the file has {length}"))?;
    let footer = source.get_bytes(start, usize::try_from(size).unwrap_or(usize::MAX));
    match thrift::schema_depth(&footer.map_err(|error| error.to_string())?) {
        None => Err("its footer does not parse".to_owned()),
        Some(depth) if depth > SCHEMA_DEPTH => {
            Err(format!("its columns nest {depth} deep, at most {SCHEMA_DEPTH} are read"))
        }
        Some(_) => Ok(()),
    }
}

fn byte_range(column: &ColumnChunkMetaData) -> Option<(u64, u64)> {
    // The crate's own `byte_range` asserts what a hostile file need not keep.
    let dictionary = column.dictionary_page_offset().filter(|&at| at > 0);
    let start = dictionary.unwrap_or(column.data_page_offset()).min(column.data_page_offset());
    let start = u64::try_from(start).ok()?;
    let length = u64::try_from(column.compressed_size()).ok()?;
    Some((start, start.checked_add(length)?))
}

fn to_size(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

fn level(level: i16) -> u16 {
    u16::try_from(level).unwrap_or_default()
}
