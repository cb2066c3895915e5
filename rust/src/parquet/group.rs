//! Row groups as the `parquet` crate's record reader takes them, with pages decoded here.
//!
//! So there is one place that knows page headers and codecs, for large values and for all others.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::bloom_filter::Sbbf;
use parquet::column::page::{Page as CratePage, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::RowGroupReader;
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;

use super::byte_range;
use super::fault::Damage;
use super::page::{Levels, Page, Pages};
use super::source::Source;

/// One row group of an open file.
pub(super) struct RowGroup {
    source: Source,
    metadata: Arc<ParquetMetaData>,
    number: usize,
}

impl RowGroup {
    /// The row group with this number, if there is one.
    pub(super) fn new(
        source: &Source,
        metadata: &Arc<ParquetMetaData>,
        number: usize,
    ) -> Option<Self> {
        let exists = number < metadata.num_row_groups();
        exists.then(|| Self { source: source.clone(), metadata: Arc::clone(metadata), number })
    }
}

impl RowGroupReader for RowGroup {
    fn metadata(&self) -> &RowGroupMetaData {
        self.metadata.row_group(self.number)
    }

    fn num_columns(&self) -> usize {
        self.metadata().num_columns()
    }

    fn get_column_page_reader(&self, column: usize) -> Result<Box<dyn PageReader>> {
        let chunk =
            self.metadata().columns().get(column).ok_or_else(|| damaged("no such column"))?;
        let (start, end) =
            byte_range(chunk).ok_or_else(|| damaged("its place in the file is impossible"))?;
        let left = Pages { source: self.source.clone(), at: start, end };
        Ok(Box::new(DecodedPages { codec: chunk.compression(), left, seen: None }))
    }

    fn get_column_bloom_filter(&self, _: usize) -> Option<&Sbbf> {
        None
    }

    fn get_row_iter(&self, projection: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_row_group(projection, self)
    }
}

/// The pages of a column, decoded one by one.
struct DecodedPages {
    codec: Compression,
    left: Pages,
    /// A page that was looked at and not taken.
    seen: Option<Page>,
}

impl DecodedPages {
    fn take(&mut self) -> Result<Option<Page>> {
        let seen = self.seen.take();
        Ok(if seen.is_some() { seen } else { self.left.next_page()? })
    }
}

impl PageReader for DecodedPages {
    fn get_next_page(&mut self) -> Result<Option<CratePage>> {
        let page = self.take()?;
        page.map(|page| decode(&page, &self.left.source, self.codec)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.seen = self.take()?;
        Ok(self.seen.map(|page| PageMetadata {
            num_rows: match page.levels {
                Levels::Before { rows, .. } => Some(rows as usize),
                Levels::Inside | Levels::None => None,
            },
            num_levels: Some(page.count as usize),
            is_dict: matches!(page.levels, Levels::None),
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.take().map(|_| ())
    }
}

impl Iterator for DecodedPages {
    type Item = Result<CratePage>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn decode(page: &Page, source: &Source, codec: Compression) -> Result<CratePage> {
    let mut stream = page.open(source, codec, false)?;
    let length = usize::try_from(page.decoded_length()).unwrap_or(usize::MAX);
    let (num_values, encoding) = (page.count, encoding(page.encoding)?);
    Ok(match page.levels {
        Levels::None => {
            let buf = stream.bytes(length)?.into();
            CratePage::DictionaryPage { buf, num_values, encoding, is_sorted: false }
        }
        Levels::Inside => CratePage::DataPage {
            buf: stream.bytes(length)?.into(),
            num_values,
            encoding,
            def_level_encoding: self::encoding(page.level_encodings[0])?,
            rep_level_encoding: self::encoding(page.level_encodings[1])?,
            statistics: None,
        },
        Levels::Before { repetition, definition, nulls, rows } => {
            if page.levels_before() > u64::from(page.compressed) {
                return Err(damaged("levels reach beyond their page"));
            }
            let mut levels = source.section(page.at, page.at + page.levels_before());
            let mut buffer = vec![0; usize::try_from(page.levels_before()).unwrap_or(usize::MAX)];
            std::io::Read::read_exact(&mut levels, &mut buffer)?;
            buffer.extend(stream.bytes(length)?);
            CratePage::DataPageV2 {
                buf: Bytes::from(buffer),
                num_values,
                encoding,
                num_nulls: nulls,
                num_rows: rows,
                def_levels_byte_len: definition,
                rep_levels_byte_len: repetition,
                is_compressed: false,
                statistics: None,
            }
        }
    })
}

/// The crate's name of an encoding.
fn encoding(number: i64) -> Result<Encoding> {
    Ok(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        #[expect(deprecated, reason = "old files have such levels")]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        other => return Err(damaged(&format!("a page in the encoding {other}"))),
    })
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

impl From<Damage> for ParquetError {
    fn from(damage: Damage) -> Self {
        Self::General(damage.to_string())
    }
}
