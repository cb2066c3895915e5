//! The type of a file by its first bytes, decided exactly as the `PyPI` package `filetype` 1.2.0
//! decides: the reference asks it and puts its answer into the data URI.
//!
//! The order of the checks is part of the answer (a text that begins with `BM` is a bitmap, an
//! icon beats a font), and so is what a type is called (`audio/x-wav`, `image/apng`).

use std::ops::RangeInclusive;

use crate::fields::{u32_be, u32_le};

/// `filetype` looks no further.
const LOOKED_AT: usize = 8192;

/// The MIME type, `None` where the bytes are of no known type.
#[must_use]
pub fn sniff(bytes: &[u8]) -> Option<&'static str> {
    let head = bytes.get(..LOOKED_AT).unwrap_or(bytes);
    image(head).or_else(|| audio(head)).or_else(|| video(head)).or_else(|| other(head))
}

fn image(head: &[u8]) -> Option<&'static str> {
    let tiff =
        at_least(head, 10) && (head.starts_with(b"II\x2a\x00") || head.starts_with(b"MM\x00\x2a"));
    first_true(&[
        (head.starts_with(b"AC10"), "image/vnd.dwg"),
        (head.starts_with(b"gimp xcf v"), "image/x-xcf"),
        (head.starts_with(b"\xff\xd8\xff"), "image/jpeg"),
        (
            at_least(head, 51)
                && head.starts_with(b"\x00\x00\x00\x0c")
                && has(head, 16, b"ftypjp2 "),
            "image/jpx",
        ),
        (is_animated_png(head), "image/apng"),
        (head.starts_with(b"\x89PNG"), "image/png"),
        (head.starts_with(b"GIF"), "image/gif"),
        (head.starts_with(b"RIFF") && has(head, 8, b"WEBPVP"), "image/webp"),
        (tiff && !has(head, 8, b"CR"), "image/tiff"),
        (tiff, "image/x-canon-cr2"),
        (head.starts_with(b"BM"), "image/bmp"),
        (head.starts_with(b"II\xbc"), "image/vnd.ms-photo"),
        (head.starts_with(b"8BPS"), "image/vnd.adobe.photoshop"),
        (head.starts_with(b"\x00\x00\x01\x00"), "image/x-icon"),
        (is_brand(head, b"heic"), "image/heic"),
        (at_least(head, 133) && has(head, 128, b"DICM"), "application/dicom"),
        (is_brand(head, b"avif"), "image/avif"),
    ])
}

fn audio(head: &[u8]) -> Option<&'static str> {
    let mp3 = [&b"ID3"[..], b"\xff\xf2", b"\xff\xf3", b"\xff\xfb"];
    first_true(&[
        (head.starts_with(b"\xff\xf1") || head.starts_with(b"\xff\xf9"), "audio/aac"),
        (head.starts_with(b"MThd"), "audio/midi"),
        (at_least(head, 3) && mp3.iter().any(|mark| head.starts_with(mark)), "audio/mpeg"),
        (
            at_least(head, 11) && (has(head, 4, b"ftypM4A") || head.starts_with(b"M4A ")),
            "audio/mp4",
        ),
        (head.starts_with(b"OggS"), "audio/ogg"),
        (head.starts_with(b"fLaC"), "audio/x-flac"),
        (head.starts_with(b"RIFF") && has(head, 8, b"WAVE"), "audio/x-wav"),
        (at_least(head, 12) && head.starts_with(b"#!AMR\n"), "audio/amr"),
        (head.starts_with(b"FORM") && has(head, 8, b"AIFF"), "audio/x-aiff"),
    ])
}

fn video(head: &[u8]) -> Option<&'static str> {
    let matroska = head.starts_with(b"\x1a\x45\xdf\xa3");
    let mpeg_start = matches!(head, [0, 0, 1, 0xb0..=0xbf, ..]);
    first_true(&[
        (head.starts_with(b"ftyp3gp"), "video/3gpp"),
        (is_mp4(head), "video/mp4"),
        (head.starts_with(b"\x00\x00\x00\x1cftypM4V"), "video/x-m4v"),
        (matroska && contains(head, b"\x42\x82\x88matroska"), "video/x-matroska"),
        (brands(head).is_some_and(|(major, _)| major == b"qt  "), "video/quicktime"),
        (head.starts_with(b"RIFF") && has(head, 8, b"AVI "), "video/x-msvideo"),
        (head.starts_with(b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9"), "video/x-ms-wmv"),
        (mpeg_start, "video/mpeg"),
        (matroska && contains(head, b"\x42\x82\x84webm"), "video/webm"),
        (head.starts_with(b"FLV\x01"), "video/x-flv"),
    ])
}

/// Fonts, documents and archives, in `filetype`'s order: never sent as media, but named so that an
/// error can say what a file is.
fn other(head: &[u8]) -> Option<&'static str> {
    font(head)
        .or_else(|| ole_document(head))
        .or_else(|| zipped_document(head))
        .or_else(|| archive(head))
}

fn font(head: &[u8]) -> Option<&'static str> {
    let woff = head.starts_with(b"wOFF") || head.starts_with(b"wOF2");
    let flavours = [b"\x00\x01\x00\x00", b"OTTO", b"true"];
    let sfnt = head.starts_with(b"\x00\x01\x00\x00\x00") || head.starts_with(b"OTTO\x00");
    first_true(&[
        (woff && flavours.iter().any(|flavour| has(head, 4, *flavour)), "application/font-woff"),
        (sfnt, "application/font-sfnt"),
    ])
}

fn ole_document(head: &[u8]) -> Option<&'static str> {
    const WORD: &[u8] =
        b"\x00\x0a\x00\x00\x00MSWordDoc\x00\x10\x00\x00\x00Word.Document.8\x00\xf49\xb2q";
    const CALC: &[u8] = b"\xe2\x00\x00\x00\x5c\x00\x70\x00\x04\x00\x00Calc";
    const POWERPOINT: &[u8] = b"\x00\xb9\x29\xe8\x11\x00\x00\x00MS PowerPoint 97";
    if !head.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return None;
    }
    let common = has(head, 512, b"\xfd\xff\xff\xff");
    let excel = at_least(head, 521)
        && (common && matches!(head.get(518), Some(0 | 2))
            || has(head, 512, b"\x09\x08\x10\x00\x00\x06\x05\x00")
            || head
                .get(1568..2095)
                .is_some_and(|part| at_least(head, 2096) && contains(part, CALC)));
    let point = at_least(head, 525)
        && ([b"\xa0\x46\x1d\xf0", b"\x00\x6e\x1e\xf0", b"\x0f\x00\xe8\x03"]
            .iter()
            .any(|mark| has(head, 512, *mark))
            || common && has(head, 522, b"\x00\x00")
            || at_least(head, 2097) && has(head, 2072, POWERPOINT));
    first_true(&[
        (
            has(head, 512, b"\xec\xa5\xc1\x00")
                || head
                    .get(2075..2142)
                    .is_some_and(|part| at_least(head, 2143) && contains(part, WORD)),
            "application/msword",
        ),
        (excel, "application/vnd.ms-excel"),
        (point, "application/vnd.ms-powerpoint"),
    ])
}

fn zipped_document(head: &[u8]) -> Option<&'static str> {
    const OPEN: [&str; 3] = [
        "application/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.spreadsheet",
        "application/vnd.oasis.opendocument.presentation",
    ];
    if !head.starts_with(b"PK\x03\x04") {
        return None;
    }
    let office = office_folder(head);
    let open = |mime: &&str| has(head, 30, b"mimetype") && has(head, 38, mime.as_bytes());
    office.or_else(|| OPEN.into_iter().find(|mime| open(mime)))
}

/// The kind of an Office document, by the folder that one of its first files lies in.
fn office_folder(head: &[u8]) -> Option<&'static str> {
    let folder = |at| {
        first_true(&[
            (
                has(head, at, b"word/"),
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            ),
            (
                has(head, at, b"ppt/"),
                "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            ),
            (
                has(head, at, b"xl/"),
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            ),
        ])
    };
    if let Some(kind) = folder(30) {
        return Some(kind);
    }
    let first = [&b"[Content_Types].xml"[..], b"_rels/.rels", b"docProps"];
    if !first.iter().any(|name| has(head, 30, name)) {
        return None;
    }
    let mut at = 0;
    for _ in 0..4 {
        let from = at + 4;
        let window = head.get(from..(from + 6000).min(head.len()))?;
        at = from + window.windows(4).position(|part| part == b"PK\x03\x04")?;
        if let Some(kind) = folder(at + 30) {
            return Some(kind);
        }
    }
    None
}

fn archive(head: &[u8]) -> Option<&'static str> {
    let zip = matches!(head, [b'P', b'K', 3 | 5 | 7, 4 | 6 | 8, ..]);
    let pdf = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).starts_with(b"%PDF");
    let rar = head.starts_with(b"Rar!\x1a\x07") && matches!(head.get(6), Some(0 | 1));
    let eot_version = |major, minor| has(head, 8, &[major, 0, minor]);
    let eot = has(head, 34, b"LP") && (eot_version(2, 1) || eot_version(1, 0) || eot_version(2, 2));
    first_true(&[
        (head.starts_with(b"\xce\xb2\xcf\x81"), "application/x-brotli"),
        (head.starts_with(b"\xed\xab\xee\xdb"), "application/x-rpm"),
        (
            zip && head.starts_with(b"PK\x03\x04")
                && has(head, 30, b"mimetypeapplication/epub+zip"),
            "application/epub+zip",
        ),
        (zip, "application/zip"),
        (has(head, 257, b"ustar"), "application/x-tar"),
        (rar, "application/x-rar-compressed"),
        (head.starts_with(b"\x1f\x8b\x08"), "application/gzip"),
        (head.starts_with(b"BZh"), "application/x-bzip2"),
        (head.starts_with(b"7z\xbc\xaf\x27\x1c"), "application/x-7z-compressed"),
        (pdf, "application/pdf"),
        (head.starts_with(b"MZ"), "application/x-msdownload"),
        (head.starts_with(b"CWS") || head.starts_with(b"FWS"), "application/x-shockwave-flash"),
        (head.starts_with(b"{\\rtf"), "application/rtf"),
        (head.starts_with(b"NES\x1a"), "application/x-nintendo-nes-rom"),
        (head.starts_with(b"Cr24"), "application/x-google-chrome-extension"),
        (
            head.starts_with(b"MSCF") || head.starts_with(b"ISc("),
            "application/vnd.ms-cab-compressed",
        ),
        (eot, "application/octet-stream"),
        (head.starts_with(b"%!"), "application/postscript"),
        (head.starts_with(b"\xfd7zXZ\x00"), "application/x-xz"),
        (head.starts_with(b"SQLi"), "application/x-sqlite3"),
        (head.starts_with(b"!<arch>\ndebian-binary"), "application/x-deb"),
        (head.starts_with(b"!<arch>"), "application/x-unix-archive"),
        (head.starts_with(b"\x1f\xa0") || head.starts_with(b"\x1f\x9d"), "application/x-compress"),
        (head.starts_with(b"\x89LZO\x00\x0d\x0a\x1a"), "application/x-lzop"),
        (head.starts_with(b"LZIP"), "application/x-lzip"),
        (at_least(head, 53) && head.starts_with(b"\x7fELF"), "application/x-executable"),
        (head.starts_with(b"\x04\x22\x4d\x18"), "application/x-lz4"),
        (is_zstd(head), "application/zstd"),
        (head.starts_with(b"\x00asm\x01\x00\x00\x00"), "application/wasm"),
    ])
}

/// Whether a Zstandard frame follows, after any number of skippable frames.
fn is_zstd(mut head: &[u8]) -> bool {
    const SKIPPABLE: RangeInclusive<u32> = 0x184D_2A50..=0x184D_2A5F;
    loop {
        if matches!(head, [0x22..=0x28, 0xb5, 0x2f, 0xfd, ..]) {
            return true;
        }
        let skippable = u32_le(head, 0).is_some_and(|magic| SKIPPABLE.contains(&magic));
        let length = u32_le(head, 4).filter(|_| skippable);
        let rest = length.and_then(|length| head.get(8..)?.get(length as usize..));
        match rest {
            Some(rest) => head = rest,
            None => return false,
        }
    }
}

/// Whether an `acTL` chunk stands before the first `IDAT` or `IEND`.
fn is_animated_png(head: &[u8]) -> bool {
    if !head.starts_with(b"\x89PNG\r\n\x1a\n") {
        return false;
    }
    let mut at = 8;
    while let Some(length) = u32_be(head, at) {
        match head.get(at + 4..at + 8) {
            Some(b"acTL") => return true,
            None | Some(b"IDAT" | b"IEND") => return false,
            Some(_) => at += 12 + length as usize,
        }
    }
    false
}

/// The major brand of an ISO base media file and the rest of its `ftyp` box: the compatible brands.
fn brands(head: &[u8]) -> Option<(&[u8], impl Iterator<Item = &[u8]>)> {
    let length = u32_be(head, 0)? as usize;
    if head.len() < 16 || !has(head, 4, b"ftyp") || head.len() < length {
        return None;
    }
    // The last brand may reach over the end of its box, as it does in `filetype`.
    let end = (16 + length.saturating_sub(16).next_multiple_of(4)).min(head.len());
    Some((head.get(8..12)?, head.get(16..end)?.chunks(4)))
}

fn is_brand(head: &[u8], wanted: &[u8]) -> bool {
    brands(head).is_some_and(|(major, mut compatible)| {
        major == wanted
            || [b"mif1", b"msf1"].iter().any(|general| major == *general)
                && compatible.any(|brand| brand == wanted)
    })
}

fn is_mp4(head: &[u8]) -> bool {
    let is_wanted = |brand: &[u8]| [b"mp41", b"mp42", b"isom"].iter().any(|mp4| brand == *mp4);
    brands(head)
        .is_some_and(|(major, mut compatible)| is_wanted(major) || compatible.any(is_wanted))
}

fn first_true(checks: &[(bool, &'static str)]) -> Option<&'static str> {
    checks.iter().find(|(holds, _)| *holds).map(|(_, mime)| *mime)
}

fn at_least(head: &[u8], length: usize) -> bool {
    head.len() >= length
}

fn has(head: &[u8], at: usize, mark: &[u8]) -> bool {
    head.get(at..).is_some_and(|rest| rest.starts_with(mark))
}

fn contains(head: &[u8], mark: &[u8]) -> bool {
    head.windows(mark.len()).any(|part| part == mark)
}
