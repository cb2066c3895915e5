//! The pages of a column chunk: where each lies and how it is written, read from their headers.

use std::io::Read;

use parquet::basic::Compression;

use super::fault::Damage;
use super::source::Source;
use super::stream::Stream;
use super::thrift::{Compact, STRUCT, TRUE};

/// The longest header that is read; real ones have some dozens of bytes, with statistics some
/// thousands.
const HEADER_LIMIT: u64 = 1 << 24;

/// Where the levels of a data page are.
#[derive(Clone, Copy)]
pub(super) enum Levels {
    /// At the beginning of the compressed bytes, each with its length.
    Inside,
    /// Before the compressed bytes: repetition, then definition, of these lengths. Such a page also
    /// says how many of its values are null, and how many rows it has.
    Before { repetition: u32, definition: u32, nulls: u32, rows: u32 },
    /// A dictionary page has none.
    None,
}

/// One page of a column chunk.
#[derive(Clone, Copy)]
pub(super) struct Page {
    /// The position in the file of the byte behind the header.
    pub(super) at: u64,
    pub(super) compressed: u32,
    pub(super) uncompressed: u32,
    /// How many values, nulls included.
    pub(super) count: u32,
    /// How the values are written, as the format numbers it.
    pub(super) encoding: i64,
    /// How definition and repetition levels are written.
    pub(super) level_encodings: [i64; 2],
    pub(super) levels: Levels,
    /// Whether the values are compressed by the chunk's codec.
    pub(super) is_compressed: bool,
}

impl Page {
    /// How many bytes of levels stand before the compressed bytes.
    pub(super) fn levels_before(&self) -> u64 {
        match self.levels {
            Levels::Before { repetition, definition, .. } => {
                u64::from(repetition) + u64::from(definition)
            }
            Levels::Inside | Levels::None => 0,
        }
    }

    /// The decoded length of what [`open`](Self::open) gives.
    pub(super) fn decoded_length(&self) -> u64 {
        u64::from(self.uncompressed).saturating_sub(self.levels_before())
    }

    /// The decoded bytes behind the levels that stand before; `thorough` see [`Stream::open`].
    pub(super) fn open(
        &self,
        source: &Source,
        codec: Compression,
        thorough: bool,
    ) -> Result<Stream, Damage> {
        let end = self.at + u64::from(self.compressed);
        let section = source.section(self.at + self.levels_before(), end);
        // A page of nulls alone may have no bytes at all, not even a compressed nothing.
        let is_plain = !self.is_compressed || section.is_empty();
        let codec = if is_plain { Compression::UNCOMPRESSED } else { codec };
        Stream::open(section, codec, self.decoded_length(), thorough)
    }
}

/// The pages of the chunk in these bytes of the file, index pages left out.
pub(super) fn list(source: &Source, start: u64, end: u64) -> Result<Vec<Page>, Damage> {
    let mut pages = Pages { source: source.clone(), at: start, end };
    let mut found = Vec::new();
    while let Some(page) = pages.next_page()? {
        found.push(page);
    }
    Ok(found)
}

/// Finds one page of a chunk after the other.
pub(super) struct Pages {
    pub(super) source: Source,
    /// Where the next header begins.
    pub(super) at: u64,
    pub(super) end: u64,
}

impl Pages {
    /// The next page, index pages left out.
    pub(super) fn next_page(&mut self) -> Result<Option<Page>, Damage> {
        while self.at < self.end {
            let (header, length) = read_header(&self.source, self.at, self.end)?;
            self.at += length;
            let (at, left) = (self.at, self.end.saturating_sub(self.at));
            if u64::from(header.compressed) > left {
                return Err(Damage::new(format!(
                    "the page at byte {at} has {} bytes, expected at most {left}",
                    header.compressed
                )));
            }
            self.at += u64::from(header.compressed);
            if let Some(page) = header.page(at)? {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }
}

fn read_header(source: &Source, at: u64, end: u64) -> Result<(Header, u64), Damage> {
    let mut window = 1 << 10;
    loop {
        let mut bytes = Vec::new();
        source.section(at, end.min(at + window)).read_to_end(&mut bytes)?;
        let mut input = Compact::new(&bytes);
        if let Some(header) = Header::parse(&mut input) {
            return Ok((header, (bytes.len() - input.left()) as u64));
        }
        if (bytes.len() as u64) < window || window >= HEADER_LIMIT {
            return Err(Damage::new(format!("no page header at byte {at}")));
        }
        window *= 16;
    }
}

/// The fields of the format's `PageHeader` that are needed, as they stand there.
#[derive(Default)]
struct Header {
    kind: i64,
    uncompressed: u32,
    compressed: u32,
    count: u32,
    encoding: i64,
    level_encodings: [i64; 2],
    nulls: u32,
    rows: u32,
    definition: u32,
    repetition: u32,
    is_compressed: bool,
}

impl Header {
    /// `None` where the bytes end early or make no sense.
    fn parse(input: &mut Compact<'_>) -> Option<Self> {
        let level_encodings = [RUN_LENGTH; 2];
        let mut header = Self { is_compressed: true, level_encodings, ..Self::default() };
        let mut field = 0;
        while let kind @ 1.. = input.field(&mut field)? {
            match field {
                1 => header.kind = input.integer()?,
                2 => header.uncompressed = input.size()?,
                3 => header.compressed = input.size()?,
                5 | 7 | 8 if kind == STRUCT => header.parse_details(input, field)?,
                _ => input.skip(kind, 0)?,
            }
        }
        Some(header)
    }

    fn parse_details(&mut self, input: &mut Compact<'_>, page: i64) -> Option<()> {
        let mut field = 0;
        while let kind @ 1.. = input.field(&mut field)? {
            match (page, field) {
                (_, 1) => self.count = input.size()?,
                (5 | 7, 2) | (8, 4) => self.encoding = input.integer()?,
                (5, 3) => self.level_encodings[0] = input.integer()?,
                (5, 4) => self.level_encodings[1] = input.integer()?,
                (8, 2) => self.nulls = input.size()?,
                (8, 3) => self.rows = input.size()?,
                (8, 5) => self.definition = input.size()?,
                (8, 6) => self.repetition = input.size()?,
                (8, 7) => self.is_compressed = kind == TRUE,
                _ => input.skip(kind, 0)?,
            }
        }
        Some(())
    }

    fn page(&self, at: u64) -> Result<Option<Page>, Damage> {
        let levels = match self.kind {
            0 => Levels::Inside,
            2 => Levels::None,
            3 => Levels::Before {
                repetition: self.repetition,
                definition: self.definition,
                nulls: self.nulls,
                rows: self.rows,
            },
            1 => return Ok(None),
            other => return Err(Damage::new(format!("a page of the unknown type {other}"))),
        };
        Ok(Some(Page {
            at,
            compressed: self.compressed,
            uncompressed: self.uncompressed,
            count: self.count,
            encoding: self.encoding,
            level_encodings: self.level_encodings,
            levels,
            is_compressed: self.is_compressed,
        }))
    }
}

/// The format's number for the hybrid of [`super::hybrid`].
pub(super) const RUN_LENGTH: i64 = 3;
