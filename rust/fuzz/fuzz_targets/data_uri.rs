//! Any bytes as base64, and as a file to sniff, look at and encode: no panic, and the way back.

#![no_main]

use _core::media::{data_uri, decode_base64, look, sniff};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = look(bytes);
    let mime = sniff(bytes).unwrap_or("application/octet-stream");
    assert_eq!(decode_base64(&data_uri(mime, bytes)).unwrap(), bytes);
    if let Ok(decoded) = decode_base64(bytes) {
        assert_eq!(decode_base64(&data_uri(mime, &decoded)).unwrap(), decoded);
    }
});
