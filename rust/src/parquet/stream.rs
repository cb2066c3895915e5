//! A page's decoded bytes as a stream, whatever its compression, in constant memory.

use std::io::{BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use parquet::basic::Compression;

use super::fault::Damage;
use super::lz::Lz;
use super::source::Section;

/// A decoder that stands at a position of a page.
pub(super) enum Stream {
    Plain(Section),
    Lz(Box<Lz>),
    Other(Box<dyn Read + Send>),
}

impl Stream {
    /// Opens the bytes of a page, which decode to `length` bytes; `thorough` see [`Lz::snappy`].
    pub(super) fn open(
        section: Section,
        codec: Compression,
        length: u64,
        thorough: bool,
    ) -> Result<Self, Damage> {
        Ok(match codec {
            Compression::UNCOMPRESSED => Self::Plain(section),
            Compression::SNAPPY => Self::Lz(Box::new(Lz::snappy(section, thorough)?)),
            Compression::LZ4_RAW => Self::Lz(Box::new(Lz::lz4(section, length))),
            Compression::LZ4 => Self::Lz(Box::new(Lz::lz4_framed(section, length)?)),
            Compression::GZIP(_) => {
                Self::Other(Box::new(MultiGzDecoder::new(BufReader::new(section))))
            }
            Compression::ZSTD(_) => Self::Other(Box::new(zstd::Decoder::new(section)?)),
            other => return Err(Damage::new(format!("no decoder for {other}"))),
        })
    }

    /// Fills `out` with the next bytes.
    pub(super) fn fill(&mut self, out: &mut [u8]) -> Result<(), Damage> {
        match self {
            Self::Plain(section) => section.read_exact(out)?,
            Self::Lz(lz) => lz.fill(out)?,
            Self::Other(reader) => reader.read_exact(out)?,
        }
        Ok(())
    }

    /// Leaves out the next `count` bytes.
    pub(super) fn skip(&mut self, count: u64) -> Result<(), Damage> {
        match self {
            Self::Plain(section) => section.skip(count)?,
            Self::Lz(lz) => lz.skip(count)?,
            Self::Other(reader) => {
                let skipped =
                    std::io::copy(&mut reader.by_ref().take(count), &mut std::io::sink())?;
                if skipped < count {
                    return Err(Damage::new("a page is shorter than announced"));
                }
            }
        }
        Ok(())
    }

    /// The next `length` bytes.
    pub(super) fn bytes(&mut self, length: usize) -> Result<Vec<u8>, Damage> {
        // The length comes from the file: memory grows with what is really there.
        const PIECE: usize = 1 << 20;
        let mut bytes = Vec::with_capacity(length.min(PIECE));
        while bytes.len() < length {
            let start = bytes.len();
            bytes.resize(length.min(start + PIECE.max(start)), 0);
            self.fill(bytes.get_mut(start..).unwrap_or_default())?;
        }
        Ok(bytes)
    }

    /// A four-byte little-endian length.
    pub(super) fn length(&mut self) -> Result<u32, Damage> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
}
