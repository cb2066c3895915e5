//! From an archive's length to its directory, by asking for byte ranges.

use std::ops::Range;

use super::{Directory, Fault};
use crate::fields::{u16_le, u32_le, u64_le};
use crate::{Error, Result};

const END_SIGNATURE: &[u8; 4] = b"PK\x05\x06";
const END_LENGTH: usize = 22;
const LOCATOR_SIGNATURE: &[u8; 4] = b"PK\x06\x07";
const LOCATOR_LENGTH: usize = 20;
const END64_SIGNATURE: &[u8; 4] = b"PK\x06\x06";
const END64_LENGTH: usize = 56;

/// The first range asked for. The longest possible end record (a comment of 65,535 bytes, zip64
/// records before it) needs 66 KB; the rest saves small archives a second request.
const TAIL: u64 = 128 * 1024;

/// Larger directories (some 5 million members) are refused before they are read.
const MAX_DIRECTORY_BYTES: u64 = 512 * 1024 * 1024;

/// An archive whose directory is not yet known.
///
/// Ask [`need`](Self::need) for the byte range it wants, give those bytes to
/// [`feed`](Self::feed), until that returns the directory.
#[derive(Debug)]
pub struct Opening {
    archive: String,
    size: u64,
    stage: Stage,
}

#[derive(Debug, Clone)]
enum Stage {
    Tail,
    /// No end record was found; the first bytes tell a cut archive from something else.
    Head,
    /// The zip64 end record is not right before its locator, so it is looked for where that says.
    End64 {
        at: u64,
        classic_at: u64,
    },
    Directory(Place),
}

/// Where the directory lies and what the end record says of it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) entries: u64,
    /// Archives of more than 65,535 members without zip64 exist: their count is modulo 65,536.
    pub(super) count_wraps: bool,
    /// What must be added to every offset in the archive: the length of the junk before it.
    pub(super) shift: u64,
}

/// The fields of an end record, classic or zip64.
#[derive(Debug)]
struct End {
    entries: u64,
    length: u64,
    offset: u64,
    zip64: bool,
}

impl Opening {
    /// Starts with an archive of `size` bytes; `archive` is its name in errors.
    #[must_use]
    pub fn new(archive: impl Into<String>, size: u64) -> Self {
        Self { archive: archive.into(), size, stage: Stage::Tail }
    }

    /// The range of bytes to feed next; always inside the archive.
    #[must_use]
    pub fn need(&self) -> Range<u64> {
        match &self.stage {
            Stage::Tail => self.size.saturating_sub(TAIL)..self.size,
            Stage::Head => 0..self.size.min(4),
            Stage::End64 { at, .. } => *at..at.saturating_add(END64_LENGTH as u64),
            Stage::Directory(place) => place.start..place.start.saturating_add(place.length),
        }
    }

    /// Takes the bytes of [`need`](Self::need); returns the directory once it is known.
    ///
    /// # Errors
    /// [`Error::Zip`] when the archive is cut short, damaged, no zip or in several volumes.
    pub fn feed(&mut self, bytes: Vec<u8>) -> Result<Option<Directory>> {
        let need = self.need();
        if bytes.len() as u64 != need.end - need.start {
            return Err(self.fault(Fault::ShortRead {
                start: need.start,
                found: bytes.len() as u64,
                expected: need.end - need.start,
            }));
        }
        match self.stage.clone() {
            Stage::Tail => self.feed_tail(need.start, &bytes),
            Stage::Head => Err(self.fault(self.no_end(bytes.starts_with(b"PK")))),
            Stage::End64 { at, classic_at } => {
                let end = parse_end64(&bytes).ok_or_else(|| self.fault(Fault::Zip64End))?;
                // The record must end before its locator; otherwise it is not the archive's.
                if at + END64_LENGTH as u64 + LOCATOR_LENGTH as u64 > classic_at {
                    return Err(self.fault(Fault::Zip64End));
                }
                self.stage = Stage::Directory(self.place(&end, at)?);
                Ok(None)
            }
            Stage::Directory(place) => self.parse(bytes, &place).map(Some),
        }
    }

    fn feed_tail(&mut self, tail_start: u64, tail: &[u8]) -> Result<Option<Directory>> {
        let Some(at) = find_end(tail) else {
            if tail_start > 0 {
                self.stage = Stage::Head;
                return Ok(None);
            }
            return Err(self.fault(self.no_end(tail.starts_with(b"PK"))));
        };
        let classic_at = tail_start + at as u64;
        let classic = parse_end(tail.get(at..).unwrap_or_default())
            .ok_or_else(|| self.fault(Fault::Volumes))?;
        let place = match find_end64(tail, at) {
            End64::None if classic.needs_zip64() => return Err(self.fault(Fault::Zip64End)),
            End64::None => self.place(&classic, classic_at)?,
            End64::Volumes => return Err(self.fault(Fault::Volumes)),
            End64::At(end, position) => self.place(&end, tail_start + position as u64)?,
            End64::Elsewhere(offset) => {
                if offset.saturating_add(END64_LENGTH as u64) > self.size {
                    return Err(self.fault(Fault::Zip64End));
                }
                self.stage = Stage::End64 { at: offset, classic_at };
                return Ok(None);
            }
        };
        let from = place.start.checked_sub(tail_start).and_then(|from| usize::try_from(from).ok());
        let inside =
            from.and_then(|from| tail.get(from..)?.get(..usize::try_from(place.length).ok()?));
        if let Some(directory) = inside {
            return self.parse(directory.to_vec(), &place).map(Some);
        }
        self.stage = Stage::Directory(place);
        Ok(None)
    }

    /// The directory ends where the end record (the zip64 one if there is one) begins.
    fn place(&self, end: &End, end_at: u64) -> Result<Place> {
        let outside = || {
            self.fault(Fault::DirectoryOutside {
                size: self.size,
                length: end.length,
                start: end.offset,
            })
        };
        let start = end_at.checked_sub(end.length).ok_or_else(outside)?;
        let shift = start.checked_sub(end.offset).ok_or_else(outside)?;
        if end.length > MAX_DIRECTORY_BYTES {
            let limit = MAX_DIRECTORY_BYTES;
            return Err(self.fault(Fault::DirectoryTooLarge { length: end.length, limit }));
        }
        Ok(Place {
            start,
            length: end.length,
            entries: end.entries,
            count_wraps: !end.zip64,
            shift,
        })
    }

    fn parse(&self, bytes: Vec<u8>, place: &Place) -> Result<Directory> {
        Directory::parse(self.archive.clone(), bytes, place)
    }

    fn no_end(&self, begins_like_zip: bool) -> Fault {
        let size = self.size;
        if begins_like_zip { Fault::NoEnd { size } } else { Fault::NotZip { size } }
    }

    fn fault(&self, fault: Fault) -> Error {
        Error::zip(&self.archive, fault)
    }
}

impl End {
    /// Whether a field holds the mark that sends the reader to the zip64 record. A count of 65,535
    /// alone does not: such an archive is legal without one.
    fn needs_zip64(&self) -> bool {
        self.length == u64::from(u32::MAX) || self.offset == u64::from(u32::MAX)
    }
}

/// The position of the end record: the last whose comment ends with the file, else the last of all
/// (bytes after the archive are ignored).
fn find_end(tail: &[u8]) -> Option<usize> {
    // No record can begin before this: a comment has at most 65,535 bytes.
    let reach = tail.len().saturating_sub(END_LENGTH + usize::from(u16::MAX));
    let mut last = None;
    for at in (reach..=tail.len().checked_sub(END_LENGTH)?).rev() {
        let record = tail.get(at..)?;
        if !record.starts_with(END_SIGNATURE) {
            continue;
        }
        let comment = usize::from(u16_le(record, END_LENGTH - 2)?);
        if record.len() == END_LENGTH + comment {
            return Some(at);
        }
        last = last.or(Some(at));
    }
    last
}

/// The classic end record; `None` where it belongs to an archive in several volumes.
fn parse_end(record: &[u8]) -> Option<End> {
    let disks = [u16_le(record, 4)?, u16_le(record, 6)?];
    let entries = u64::from(u16_le(record, 10)?);
    // 0xFFFF in the disk fields is zip64's mark, not a number.
    if disks.iter().any(|&disk| disk != 0 && disk != u16::MAX) {
        return None;
    }
    Some(End {
        entries,
        length: u64::from(u32_le(record, 12)?),
        offset: u64::from(u32_le(record, 16)?),
        zip64: false,
    })
}

enum End64 {
    None,
    Volumes,
    At(End, usize),
    Elsewhere(u64),
}

/// The zip64 end record that a locator right before the classic one leads to.
fn find_end64(tail: &[u8], classic_at: usize) -> End64 {
    let found = classic_at.checked_sub(LOCATOR_LENGTH).and_then(|at| {
        let locator = tail.get(at..)?;
        let is_locator = locator.starts_with(LOCATOR_SIGNATURE);
        is_locator.then_some((at, u32_le(locator, 4)?, u64_le(locator, 8)?, u32_le(locator, 16)?))
    });
    let Some((locator_at, disk, offset, disks)) = found else { return End64::None };
    if disk != 0 || disks > 1 {
        return End64::Volumes;
    }
    let before = locator_at.checked_sub(END64_LENGTH);
    let adjacent = before.and_then(|at| Some((parse_end64(tail.get(at..)?)?, at)));
    adjacent.map_or(End64::Elsewhere(offset), |(end, at)| End64::At(end, at))
}

fn parse_end64(record: &[u8]) -> Option<End> {
    if !record.starts_with(END64_SIGNATURE) {
        return None;
    }
    Some(End {
        entries: u64_le(record, 32)?,
        length: u64_le(record, 40)?,
        offset: u64_le(record, 48)?,
        zip64: true,
    })
}
