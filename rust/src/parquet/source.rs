//! Bytes of a file by position, so that any number of threads may read at once.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use crate::file::read_at;

/// How much is read at once where little is asked.
const BUFFER: usize = 16 << 10;

/// A file and its length when it was opened.
#[derive(Clone)]
pub(super) struct Source {
    file: Arc<File>,
    length: u64,
}

impl Source {
    pub(super) fn open(path: &std::path::Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), length })
    }

    /// Fills `out` from the bytes at `at`.
    fn fill(&self, out: &mut [u8], at: u64) -> io::Result<()> {
        let found = read_at(&self.file, out, at)?;
        if found < out.len() {
            let (end, missing) = (at + found as u64, out.len() - found);
            let what = format!("the file ends at byte {end}, expected {missing} more");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        Ok(())
    }

    /// The bytes from `at` to `end`, cut at the file's end.
    pub(super) fn section(&self, at: u64, end: u64) -> Section {
        let end = end.min(self.length);
        Section { source: self.clone(), at: at.min(end), end, buffer: Vec::new(), used: 0 }
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Source {
    type T = Section;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Section> {
        Ok(self.section(start, self.length))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // The length comes from the file: it must not be allocated before it is known to be there.
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!(
                "expected {length} bytes at {start}, the file has {}",
                self.length
            )));
        }
        let mut bytes = vec![0; length];
        self.fill(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// A stretch of a file, read forward.
#[derive(Clone)]
pub(super) struct Section {
    source: Source,
    /// The position behind the buffer.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl Section {
    /// How many bytes are left.
    pub(super) fn left(&self) -> u64 {
        self.end - self.at + (self.buffer.len() - self.used) as u64
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// The next bytes, as many as the array has.
    pub(super) fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        if let Some(found) = self.buffer.get(self.used..).and_then(<[u8]>::first_chunk) {
            self.used += N;
            return Ok(*found);
        }
        let mut bytes = [0; N];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Leaves out `count` bytes without reading them.
    pub(super) fn skip(&mut self, count: u64) -> io::Result<()> {
        let buffered = (self.buffer.len() - self.used) as u64;
        if count <= buffered {
            self.used += usize::try_from(count).unwrap_or_default();
            return Ok(());
        }
        self.buffer.clear();
        self.used = 0;
        let beyond = count - buffered;
        if beyond > self.end - self.at {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the data end too early"));
        }
        self.at += beyond;
        Ok(())
    }

    fn refill(&mut self) -> io::Result<()> {
        let length = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(BUFFER);
        self.buffer.resize(length, 0);
        self.used = 0;
        self.source.fill(&mut self.buffer, self.at)?;
        self.at += length as u64;
        Ok(())
    }
}

impl Read for Section {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.used == self.buffer.len() {
            let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            if out.len() >= BUFFER {
                let length = out.len().min(left);
                let out = out.get_mut(..length).unwrap_or_default();
                self.source.fill(out, self.at)?;
                self.at += length as u64;
                return Ok(length);
            }
            self.refill()?;
        }
        let buffered = self.buffer.get(self.used..).unwrap_or_default();
        let length = buffered.len().min(out.len());
        if let (Some(out), Some(buffered)) = (out.get_mut(..length), buffered.get(..length)) {
            out.copy_from_slice(buffered);
        }
        self.used += length;
        Ok(length)
    }
}
