//! A local archive, read by position: no lock, no memory map, any number of threads at once.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use super::{Directory, Fault, Opening};
use crate::file::read_at;
use crate::{Error, Result};

/// A local archive. Its file stays open and is never written to.
///
/// Reads go by position (`pread`), because a mapped file that another process truncates would end
/// this one; a read that comes up short is an ordinary error.
#[derive(Debug)]
pub struct FileZip {
    file: File,
    directory: Directory,
}

impl FileZip {
    /// Opens an archive and reads its directory.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be read; [`Error::Zip`] when it is no sound archive.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let archive = path.display().to_string();
        let io = |source| Error::Io { context: format!("archive `{archive}`"), source };
        let file = File::open(path).map_err(io)?;
        let facts = file.metadata().map_err(io)?;
        if facts.is_dir() {
            return Err(io(io::ErrorKind::IsADirectory.into()));
        }
        let mut opening = Opening::new(archive.as_str(), facts.len());
        loop {
            let bytes = read_range(&file, &opening.need(), &archive)?;
            if let Some(directory) = opening.feed(bytes)? {
                return Ok(Self { file, directory });
            }
        }
    }

    /// Its members.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// A member's bytes, checked by size and CRC-32.
    ///
    /// # Errors
    /// As [`Directory::span`] and [`Directory::decode`], and [`Error::Io`].
    pub fn read(&self, index: usize) -> Result<Vec<u8>> {
        self.directory.decode(index, &self.read_span(index)?)
    }

    /// The bytes of a member's [`Directory::span`].
    ///
    /// # Errors
    /// As [`Directory::span`], and [`Error::Io`].
    pub fn read_span(&self, index: usize) -> Result<Vec<u8>> {
        read_range(&self.file, &self.directory.span(index)?, self.directory.archive())
    }
}

fn read_range(file: &File, range: &Range<u64>, archive: &str) -> Result<Vec<u8>> {
    let (start, expected) = (range.start, range.end.saturating_sub(range.start));
    let mut bytes = vec![0; usize::try_from(expected).unwrap_or(usize::MAX)];
    let found = read_at(file, &mut bytes, start).map_err(|source| {
        let context = format!("archive `{archive}`, byte {start}");
        Error::Io { context, source }
    })? as u64;
    if found < expected {
        return Err(Error::zip(archive, Fault::ShortRead { start, found, expected }));
    }
    Ok(bytes)
}
