//! A look at an image's structure: dimensions, pixel format, end mark. Nothing is decoded.

use crate::fields::{u16_be, u16_le, u32_be, u32_le};

/// What an image's structure says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// In pixels, as stored (before any EXIF orientation).
    pub width: u32,
    /// In pixels, as stored.
    pub height: u32,
    /// Whether the end mark is there; a file that was cut short has none.
    pub complete: bool,
    /// Bits of one channel of one pixel.
    pub bits: u8,
    /// Channels of a pixel, alpha included: 1 grey or palette, 3 colour, 4 colour and alpha or CMYK.
    pub channels: u8,
    /// Whether pixels may be transparent.
    pub transparent: bool,
}

impl Look {
    /// An opaque image of eight bits a channel, its end not seen yet.
    fn of(width: u32, height: u32, channels: u8) -> Self {
        Self { width, height, complete: false, bits: 8, channels, transparent: false }
    }
}

/// Looks at a JPEG, PNG, GIF, WebP or BMP; `None` for other bytes and where the structure breaks
/// off before the dimensions.
///
/// Takes time by the number of chunks, and in a JPEG with bytes after its end by its length.
#[must_use]
pub fn look(bytes: &[u8]) -> Option<Look> {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => jpeg(bytes),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => png(bytes),
        [b'G', b'I', b'F', ..] => gif(bytes),
        [b'R', b'I', b'F', b'F', ..] => webp(bytes),
        [b'B', b'M', ..] => bmp(bytes),
        _ => None,
    }
}

fn jpeg(bytes: &[u8]) -> Option<Look> {
    let mut at = 2;
    let mut frame = None;
    let finish = |frame: Option<Look>, complete| Some(Look { complete, ..frame? });
    loop {
        let marker = next_marker(bytes, &mut at);
        let segment = at.checked_add(2).zip(u16_be(bytes, at));
        let Some((marker, (start, length))) = marker.zip(segment) else {
            return finish(frame, false);
        };
        let end = at + usize::from(length.max(2));
        let body = bytes.get(start..end.min(bytes.len())).unwrap_or_default();
        match marker {
            // Start of frame; C4, C8 and CC are tables and extensions.
            0xc0..=0xcf if ![0xc4, 0xc8, 0xcc].contains(&marker) => {
                frame = jpeg_frame(body).or(frame);
            }
            0xda => return finish(frame, scan_ends(bytes.get(end..).unwrap_or_default())),
            0xd9 => return finish(frame, true),
            _ => {}
        }
        at = end;
    }
}

fn jpeg_frame(body: &[u8]) -> Option<Look> {
    let (bits, channels) = (*body.first()?, *body.get(5)?);
    Some(Look { bits, ..Look::of(u16_be(body, 3)?.into(), u16_be(body, 1)?.into(), channels) })
}

/// The marker at or after `at`, with `at` moved behind it.
fn next_marker(bytes: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        *at += bytes.get(*at..)?.iter().position(|&byte| byte == 0xff)? + 1;
        match *bytes.get(*at)? {
            0xff => {}
            // Stuffed bytes, restarts and marks without a segment say nothing here.
            0 | 1 | 0xd0..=0xd8 => *at += 1,
            marker => {
                *at += 1;
                return Some(marker);
            }
        }
    }
}

/// Whether the end mark follows the compressed data, be it after more scans and tables.
fn scan_ends(data: &[u8]) -> bool {
    if data.ends_with(b"\xff\xd9") {
        return true;
    }
    let mut at = 0;
    while let Some(marker) = next_marker(data, &mut at) {
        if marker == 0xd9 {
            return true;
        }
        let Some(length) = u16_be(data, at) else { return false };
        at += usize::from(length.max(2));
    }
    false
}

fn png(bytes: &[u8]) -> Option<Look> {
    if bytes.get(12..16)? != b"IHDR" {
        return None;
    }
    // Colour types: 0 grey, 2 colour, 3 palette, 4 grey and alpha, 6 colour and alpha.
    let colour = *bytes.get(25)?;
    let channels = match colour {
        0 | 3 => 1,
        4 => 2,
        2 => 3,
        _ => 4,
    };
    let mut look = Look::of(u32_be(bytes, 16)?, u32_be(bytes, 20)?, channels);
    look.bits = *bytes.get(24)?;
    look.transparent = colour & 4 != 0;
    let mut at = 8_usize;
    while let Some((length, kind)) = u32_be(bytes, at).zip(bytes.get(at + 4..at + 8)) {
        // A chunk is its length, its kind, the data and a checksum.
        let end = at + 12 + length as usize;
        if end > bytes.len() {
            break;
        }
        look.transparent |= kind == b"tRNS";
        if kind == b"IEND" {
            look.complete = true;
            break;
        }
        at = end;
    }
    Some(look)
}

fn gif(bytes: &[u8]) -> Option<Look> {
    let (width, height) = (u16_le(bytes, 6)?.into(), u16_le(bytes, 8)?.into());
    // Padding after the trailer is common and harmless.
    let last = bytes.iter().rev().find(|&&byte| byte != 0);
    Some(Look { complete: last == Some(&b';'), ..Look::of(width, height, 1) })
}

fn webp(bytes: &[u8]) -> Option<Look> {
    let announced = u64::from(u32_le(bytes, 4)?) + 8;
    let plus_one = |at| Some((u32_le(bytes, at)? & 0x00ff_ffff) + 1);
    let (width, height) = match bytes.get(8..16)? {
        b"WEBPVP8 " => {
            (u32::from(u16_le(bytes, 26)? & 0x3fff), u32::from(u16_le(bytes, 28)? & 0x3fff))
        }
        b"WEBPVP8L" => {
            let bits = u32_le(bytes, 21)?;
            ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
        }
        b"WEBPVP8X" => (plus_one(24)?, plus_one(27).or_else(|| last_three(bytes, 27))?),
        _ => return None,
    };
    Some(Look { complete: bytes.len() as u64 >= announced, ..Look::of(width, height, 3) })
}

/// A 24-bit number plus one, where no fourth byte follows.
fn last_three(bytes: &[u8], at: usize) -> Option<u32> {
    let [low, middle, high] = *bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes([low, middle, high, 0]) + 1)
}

fn bmp(bytes: &[u8]) -> Option<Look> {
    let announced = u32_le(bytes, 2)? as usize;
    let old_header = u32_le(bytes, 14)? == 12;
    let (width, height) = if old_header {
        (u16_le(bytes, 18)?.into(), u16_le(bytes, 20)?.into())
    } else {
        // A negative height means that the rows go from top to bottom.
        (u32_le(bytes, 18)?, u32_le(bytes, 22)?.cast_signed().unsigned_abs())
    };
    Some(Look { complete: bytes.len() >= announced, ..Look::of(width, height, 3) })
}
