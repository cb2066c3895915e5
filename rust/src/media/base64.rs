//! Data URIs out, base64 in.

use ::base64::Engine as _;
use ::base64::alphabet;
use ::base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, PAD};
use ::base64::engine::{DecodePaddingMode, Simd};

use crate::{Error, Result};

/// The length of [`data_uri`]'s result in bytes.
#[must_use]
pub fn data_uri_len(mime: &str, length: usize) -> usize {
    "data:;base64,".len() + mime.len() + length.div_ceil(3) * 4
}

/// `data:MIME;base64,...`, as ASCII bytes in one allocation of exactly that size.
#[must_use]
pub fn data_uri(mime: &str, bytes: &[u8]) -> Vec<u8> {
    let mut uri = vec![0; data_uri_len(mime, bytes.len())];
    write_data_uri(mime, bytes, &mut uri);
    uri
}

/// Writes [`data_uri`]'s result into a buffer of [`data_uri_len`] bytes. A buffer of another size
/// is left as it is and the answer is false.
pub fn write_data_uri(mime: &str, bytes: &[u8], out: &mut [u8]) -> bool {
    if out.len() != data_uri_len(mime, bytes.len()) {
        return false;
    }
    let mut rest = out;
    for part in ["data:", mime, ";base64,"] {
        let (head, tail) = std::mem::take(&mut rest).split_at_mut(part.len());
        head.copy_from_slice(part.as_bytes());
        rest = tail;
    }
    Simd::standard(PAD).encode_slice(bytes, rest).is_ok()
}

/// Decodes base64 as people store it: with or without a `data:` prefix, line breaks and blanks
/// anywhere, the standard or the URL-safe alphabet, padding or none.
///
/// # Errors
/// [`Error::Base64`] with the position of the first byte that cannot be, counted in `text`.
pub fn decode_base64(text: &[u8]) -> Result<Vec<u8>> {
    let start = payload_start(text)?;
    let payload = text.get(start..).unwrap_or_default();
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    // Nearly all input is plain, so the tolerant way is taken only when this one refuses.
    if let Ok(bytes) = Simd::standard(config).decode(payload) {
        return Ok(bytes);
    }
    let plain = to_plain(payload, start)?;
    GeneralPurpose::new(&alphabet::STANDARD, config).decode(&plain).map_err(|_| Error::Base64 {
        position: text.len(),
        problem: "it ends in the middle of a byte".to_owned(),
    })
}

/// Where the base64 begins: after the `data:...;base64,` of a data URI, else at the first byte.
fn payload_start(text: &[u8]) -> Result<usize> {
    let blanks = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let scheme = text.get(blanks..).and_then(|rest| rest.first_chunk::<5>());
    if !scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"data:")) {
        return Ok(0);
    }
    let comma = text.iter().position(|&byte| byte == b',');
    let head = comma.and_then(|comma| text.get(..comma)).unwrap_or_default();
    let last = head.rsplit(|&byte| byte == b';').next().unwrap_or_default();
    match comma {
        Some(comma) if last.trim_ascii().eq_ignore_ascii_case(b"base64") => Ok(comma + 1),
        _ => Err(Error::Base64 {
            position: blanks,
            problem: "the data URI says nothing of `;base64,`".to_owned(),
        }),
    }
}

/// The payload in the standard alphabet, without blanks and padding.
fn to_plain(payload: &[u8], start: usize) -> Result<Vec<u8>> {
    let mut plain = Vec::with_capacity(payload.len());
    let mut padding = false;
    for (position, &byte) in payload.iter().enumerate() {
        let refuse = |problem| Err(Error::Base64 { position: start + position, problem });
        match byte {
            b'=' => padding = true,
            _ if byte.is_ascii_whitespace() || byte == 0x0b => {}
            _ if padding => return refuse("there is more after the padding".to_owned()),
            b'-' => plain.push(b'+'),
            b'_' => plain.push(b'/'),
            b'+' | b'/' => plain.push(byte),
            _ if byte.is_ascii_alphanumeric() => plain.push(byte),
            _ => return refuse(format!("`{}` is no base64 character", byte.escape_ascii())),
        }
    }
    Ok(plain)
}
