//! Large values of one column in one row group, read one by one.
//!
//! A page may hold every image of a row group, and a dictionary page often does, so pages are never
//! held: an [`Index`] of levels and positions is made once, and a value is then streamed out of its
//! page. Decoders that were used stay open where they stand (see [`Cursors`]), so reading forward,
//! which is what a run does, decodes a page once.

use std::sync::{Arc, Mutex, PoisonError};

use parquet::basic::Compression;

use super::fault::Damage;
use super::hybrid;
use super::page::{self, Levels, Page, RUN_LENGTH};
use super::source::Source;
use super::stream::Stream;

/// The most values of a column that one row group may hold.
const SLOTS: usize = 1 << 24;

/// The largest value that is read, 512 MiB.
const VALUE_BYTES: u32 = 1 << 29;

/// How many decoders stay open, and how many indices are kept.
const KEPT: usize = 8;

/// What is known of a column chunk before its pages are read.
#[derive(Clone)]
pub(super) struct Chunk {
    pub(super) source: Source,
    /// Row group and column, which name the chunk.
    pub(super) key: (usize, usize),
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) codec: Compression,
    pub(super) rows: usize,
    pub(super) max_definition: u16,
    pub(super) max_repetition: u16,
}

/// Where one value stands: the page, and how many values of the page stand before it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slot {
    page: u32,
    ordinal: u32,
}

const NULL: Slot = Slot { page: u32::MAX, ordinal: 0 };

/// Where every value of a chunk stands.
pub(super) struct Index {
    key: (usize, usize),
    pages: Vec<Page>,
    /// How many decoded bytes stand before the values, for each page.
    before: Vec<u64>,
    slots: Vec<Slot>,
    /// The first slot of each row, where a row can have several.
    rows: Option<Vec<u32>>,
}

impl Index {
    /// Whether row and element hold a value; `None` where there is no such element.
    pub(super) fn is_present(&self, row: usize, element: usize) -> Option<bool> {
        self.slot(row, element).map(|slot| slot != NULL)
    }

    fn slot(&self, row: usize, element: usize) -> Option<Slot> {
        let first = match &self.rows {
            None => return self.slots.get(row).copied().filter(|_| element == 0),
            Some(rows) => {
                let first = *rows.get(row)? as usize;
                let next = rows.get(row + 1).map_or(self.slots.len(), |&next| next as usize);
                first.checked_add(element).filter(|&slot| slot < next)?
            }
        };
        self.slots.get(first).copied()
    }
}

/// An open decoder and where it stands.
struct Cursor {
    key: (usize, usize),
    page: u32,
    ordinal: u32,
    /// Decoded bytes of the page that are left.
    left: u64,
    stream: Stream,
}

/// The indices and open decoders of a file, shared by all threads.
#[derive(Default)]
pub(super) struct Cursors {
    indices: Mutex<Vec<Arc<Index>>>,
    open: Mutex<Vec<Cursor>>,
}

impl Cursors {
    /// The index of a chunk, made where it is not at hand.
    pub(super) fn index(&self, chunk: &Chunk) -> Result<Arc<Index>, Damage> {
        let mut indices = self.indices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indices.iter().find(|index| index.key == chunk.key) {
            return Ok(Arc::clone(index));
        }
        let index = Arc::new(make_index(chunk)?);
        if indices.len() >= KEPT {
            indices.remove(0);
        }
        indices.push(Arc::clone(&index));
        Ok(index)
    }

    /// One value; `None` where it is null or there is no such element.
    pub(super) fn value(
        &self,
        chunk: &Chunk,
        row: usize,
        element: usize,
    ) -> Result<Option<Vec<u8>>, Damage> {
        let index = self.index(chunk)?;
        let Some(slot) = index.slot(row, element).filter(|&slot| slot != NULL) else {
            return Ok(None);
        };
        let value = match self.read(chunk, &index, slot, false) {
            Err(Damage::Skipped) => self.read(chunk, &index, slot, true),
            other => other,
        };
        value.map(Some)
    }

    fn read(
        &self,
        chunk: &Chunk,
        index: &Index,
        slot: Slot,
        thorough: bool,
    ) -> Result<Vec<u8>, Damage> {
        let reused = if thorough { None } else { self.take_nearest(chunk.key, slot) };
        let mut cursor = match reused {
            Some(cursor) => cursor,
            None => open_values(chunk, index, slot.page, thorough)?,
        };
        while cursor.ordinal < slot.ordinal {
            let length = cursor.next_length()?;
            cursor.stream.skip(u64::from(length))?;
        }
        let length = cursor.next_length()?;
        if length > VALUE_BYTES {
            return Err(Damage::new(format!(
                "a value has {length} bytes, at most {VALUE_BYTES} are read"
            )));
        }
        let value = cursor.stream.bytes(usize::try_from(length).unwrap_or_default())?;
        if !thorough {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.len() >= KEPT {
                open.remove(0);
            }
            open.push(cursor);
        }
        Ok(value)
    }

    /// The open decoder that stands at or nearest before a value.
    fn take_nearest(&self, key: (usize, usize), slot: Slot) -> Option<Cursor> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, _) = open
            .iter()
            .enumerate()
            .filter(|(_, cursor)| {
                cursor.key == key && cursor.page == slot.page && cursor.ordinal <= slot.ordinal
            })
            .max_by_key(|(_, cursor)| cursor.ordinal)?;
        Some(open.remove(at))
    }
}

impl Cursor {
    /// The length of the next value, which the caller then takes or skips.
    fn next_length(&mut self) -> Result<u32, Damage> {
        let behind = || Damage::new("a value reaches beyond its page");
        let left = self.left.checked_sub(4).ok_or_else(behind)?;
        let length = self.stream.length()?;
        self.left = left.checked_sub(u64::from(length)).ok_or_else(behind)?;
        self.ordinal += 1;
        Ok(length)
    }
}

fn open_values(chunk: &Chunk, index: &Index, page: u32, thorough: bool) -> Result<Cursor, Damage> {
    let at = page as usize;
    let (Some(header), Some(&before)) = (index.pages.get(at), index.before.get(at)) else {
        return Err(Damage::new("a value in a page that is not there"));
    };
    let mut stream = header.open(&chunk.source, chunk.codec, thorough)?;
    stream.skip(before)?;
    let left = header.decoded_length().saturating_sub(before);
    Ok(Cursor { key: chunk.key, page, ordinal: 0, left, stream })
}

fn make_index(chunk: &Chunk) -> Result<Index, Damage> {
    let pages = page::list(&chunk.source, chunk.start, chunk.end)?;
    let mut index =
        Index { key: chunk.key, before: Vec::new(), slots: Vec::new(), rows: None, pages: vec![] };
    let mut rows = Vec::new();
    let mut dictionary = None;
    for (number, page) in pages.iter().enumerate() {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        if matches!(page.levels, Levels::None) {
            values_of(page)?;
            dictionary = Some((number, page.count));
            index.before.push(0);
            continue;
        }
        add_page(chunk, page, number, dictionary, &mut index, &mut rows)?;
    }
    index.pages = pages;
    let found = if chunk.max_repetition > 0 { rows.len() } else { index.slots.len() };
    if found != chunk.rows {
        return Err(Damage::new(format!("{found} rows, expected {}", chunk.rows)));
    }
    index.rows = (chunk.max_repetition > 0).then_some(rows);
    Ok(index)
}

/// Adds the slots of a data page.
fn add_page(
    chunk: &Chunk,
    page: &Page,
    number: u32,
    dictionary: Option<(u32, u32)>,
    index: &mut Index,
    rows: &mut Vec<u32>,
) -> Result<(), Damage> {
    let count = page.count as usize;
    if index.slots.len() + count > SLOTS {
        return Err(Damage::new(format!("more than {SLOTS} values in a row group")));
    }
    let mut stream = page.open(&chunk.source, chunk.codec, false)?;
    let mut before = 0;
    let repetition = levels(chunk, page, &mut stream, chunk.max_repetition, true, &mut before)?;
    let definition = levels(chunk, page, &mut stream, chunk.max_definition, false, &mut before)?;
    index.before.push(before);
    let first = u32::try_from(index.slots.len()).unwrap_or(u32::MAX);
    rows.extend(repetition.iter().zip(first..).filter(|(level, _)| **level == 0).map(|(_, at)| at));

    let highest = u32::from(chunk.max_definition);
    let is_present = |at: usize| definition.get(at).is_none_or(|&level| level == highest);
    let places = match values_of(page)? {
        Values::Plain => None,
        Values::Indices => {
            let left = page.decoded_length().saturating_sub(before);
            let present = (0..count).filter(|&at| is_present(at)).count();
            Some(dictionary_slots(&mut stream, left, present, dictionary)?)
        }
    };
    debug_assert!(
        places
            .as_ref()
            .is_none_or(|places| places.len() == (0..count).filter(|&at| is_present(at)).count()),
        "an index for each value that is there"
    );
    let mut ordinal = 0;
    index.slots.extend((0..count).map(|at| {
        if !is_present(at) {
            return NULL;
        }
        ordinal += 1;
        match &places {
            None => Slot { page: number, ordinal: ordinal - 1 },
            Some(places) => places.get(ordinal as usize - 1).copied().unwrap_or(NULL),
        }
    }));
    Ok(())
}

/// How values stand in a page, as far as it is read here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    /// A length and the bytes, again and again.
    Plain,
    /// Numbers of entries of the dictionary page.
    Indices,
}

fn values_of(page: &Page) -> Result<Values, Damage> {
    if page.level_encodings != [RUN_LENGTH; 2] {
        return Err(Damage::new("levels in an outdated encoding"));
    }
    match page.encoding {
        0 => Ok(Values::Plain),
        2 if matches!(page.levels, Levels::None) => Ok(Values::Plain),
        2 | 8 => Ok(Values::Indices),
        other => Err(Damage::new(format!("a page in the encoding {other}"))),
    }
}

/// The levels of a page; empty where the column has only one. `before` grows by what was read of
/// the page's stream.
fn levels(
    chunk: &Chunk,
    page: &Page,
    stream: &mut Stream,
    highest: u16,
    is_repetition: bool,
    before: &mut u64,
) -> Result<Vec<u32>, Damage> {
    let bytes = match page.levels {
        Levels::None => return Ok(Vec::new()),
        Levels::Inside if highest == 0 => return Ok(Vec::new()),
        Levels::Inside => {
            let length = stream.length()?;
            let left = page.decoded_length().saturating_sub(*before + 4);
            if u64::from(length) > left {
                return Err(Damage::new("levels reach beyond their page"));
            }
            *before += 4 + u64::from(length);
            stream.bytes(length as usize)?
        }
        Levels::Before { repetition, definition, .. } => {
            let (skip, length) =
                if is_repetition { (0, repetition) } else { (repetition, definition) };
            if page.levels_before() > u64::from(page.compressed) {
                return Err(Damage::new("levels reach beyond their page"));
            }
            let at = page.at + u64::from(skip);
            let section = chunk.source.section(at, at + u64::from(length));
            Stream::Plain(section).bytes(length as usize)?
        }
    };
    if highest == 0 {
        return Ok(Vec::new());
    }
    let width = u8::try_from(u16::BITS - highest.leading_zeros()).unwrap_or(u8::MAX);
    hybrid::decode(&bytes, width, page.count as usize)
}

/// Where the values of a page of indices stand in the dictionary page.
fn dictionary_slots(
    stream: &mut Stream,
    length: u64,
    count: usize,
    dictionary: Option<(u32, u32)>,
) -> Result<Vec<Slot>, Damage> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let (page, entries) = dictionary.ok_or_else(|| Damage::new("no dictionary page"))?;
    let bytes = stream.bytes(usize::try_from(length).unwrap_or(usize::MAX))?;
    let (&width, bytes) =
        bytes.split_first().ok_or_else(|| Damage::new("a page without its indices"))?;
    let indices = hybrid::decode(bytes, width, count)?;
    if let Some(beyond) = indices.iter().find(|&&index| index >= entries) {
        return Err(Damage::new(format!(
            "the dictionary has {entries} entries, found the index {beyond}"
        )));
    }
    Ok(indices.into_iter().map(|ordinal| Slot { page, ordinal }).collect())
}
