//! How members are packed: stored, deflate, and what Python's `zipfile` reads besides, bzip2 and lzma.

use std::io::Read;

use bzip2::Decompress as Bunzip;
use flate2::{Decompress as Inflate, FlushDecompress, Status};
use lzma_rust2::LzmaReader;

use crate::fields::{u16_le, u32_le};

pub(super) const STORED: u16 = 0;
pub(super) const DEFLATED: u16 = 8;
const BZIP2: u16 = 12;
const LZMA: u16 = 14;

/// The methods that are read, for sentences.
pub(super) const READ: &str = "stored, deflate, bzip2 and lzma";

/// Whether members packed by this method are read.
pub(super) fn is_read(method: u16) -> bool {
    matches!(method, STORED | DEFLATED | BZIP2 | LZMA)
}

/// Unpacks all of `data` into all of `out`, or says in words what does not fit.
pub(super) fn unpack(method: u16, data: &[u8], out: &mut [u8]) -> Result<(), String> {
    if method == STORED {
        out.copy_from_slice(data);
        return Ok(());
    }
    let size = out.len() as u64;
    // A decoder given no room at all does not look at its input, so it gets one byte.
    let mut room = [0];
    let out = if out.is_empty() { room.as_mut_slice() } else { out };
    let outcome = match method {
        DEFLATED => inflate(data, out),
        BZIP2 => bunzip(data, out),
        _ => unlzma(data, size, out),
    };
    let packed = data.len() as u64;
    let Some(Unpacked { written: unpacked, used, ended }) = outcome else {
        return Err("its compressed data are corrupt".to_owned());
    };
    if ended && unpacked == size && used == packed {
        return Ok(());
    }
    Err(if ended && unpacked != size {
        format!("it unpacks to {unpacked} bytes, the directory says {size}")
    } else if ended {
        format!("its compressed data end after {used} of {packed} bytes")
    } else if unpacked == size {
        format!("it unpacks to more than the {unpacked} bytes the directory says")
    } else {
        format!("its compressed data stop after {unpacked} of {size} bytes")
    })
}

/// How far a decoder came.
struct Unpacked {
    written: u64,
    used: u64,
    /// Whether the data said that they end here.
    ended: bool,
}

fn inflate(data: &[u8], out: &mut [u8]) -> Option<Unpacked> {
    let mut decoder = Inflate::new(false);
    let status = decoder.decompress(data, out, FlushDecompress::Finish).ok()?;
    let (written, used) = (decoder.total_out(), decoder.total_in());
    Some(Unpacked { written, used, ended: status == Status::StreamEnd })
}

fn bunzip(data: &[u8], out: &mut [u8]) -> Option<Unpacked> {
    let mut decoder = Bunzip::new(false);
    let status = decoder.decompress(data, out).ok()?;
    let (written, used) = (decoder.total_out(), decoder.total_in());
    Some(Unpacked { written, used, ended: status == bzip2::Status::StreamEnd })
}

/// The format's own header (version, length of the properties, properties) and a raw LZMA stream,
/// whose end may be marked or not.
fn unlzma(data: &[u8], size: u64, out: &mut [u8]) -> Option<Unpacked> {
    const PROPERTIES: usize = 5;
    if usize::from(u16_le(data, 2)?) != PROPERTIES {
        return None;
    }
    let &properties = data.get(4)?;
    // The stream reaches back over what it has unpacked at most: a larger window only costs memory.
    let longest = u32::try_from(size).unwrap_or(u32::MAX).max(1 << 12);
    let window = u32_le(data, 5)?.min(longest);
    let stream = data.get(4 + PROPERTIES..)?;
    let mut decoder = LzmaReader::new_with_props(stream, size, properties, window, None).ok()?;
    let mut unpacked = 0;
    while let Some(room) = out.get_mut(unpacked..).filter(|room| !room.is_empty()) {
        match decoder.read(room).ok()? {
            0 => break,
            count => unpacked += count,
        }
    }
    // A mark of the end may follow or not; size and CRC-32 tell whether all is there.
    Some(Unpacked { written: unpacked as u64, used: data.len() as u64, ended: true })
}

/// The names of the format's specification (APPNOTE 6.3.10, section 4.4.5).
pub(super) fn name(method: u16) -> &'static str {
    match method {
        STORED => "stored",
        1 => "shrink",
        2..=5 => "reduce",
        6 => "implode",
        DEFLATED => "deflate",
        9 => "deflate64",
        10 => "PKWARE implode",
        BZIP2 => "bzip2",
        LZMA => "lzma",
        16 => "IBM z/OS CMPSC",
        18 => "IBM TERSE",
        19 => "IBM LZ77",
        20 | 93 => "zstd",
        94 => "mp3",
        95 => "xz",
        96 => "jpeg",
        97 => "WavPack",
        98 => "PPMd",
        99 => "AES encryption",
        _ => "unknown",
    }
}
