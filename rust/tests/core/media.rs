//! Data URIs, base64 and the structural look; `filetype` and Pillow judge in `tests/test_media.py`.

use _core::media::{data_uri, data_uri_len, decode_base64, look, sniff, write_data_uri};
use proptest::prelude::*;

#[test]
fn base64_is_read_as_people_store_it() {
    for (text, expected) in [
        ("aGVsbG8=", "hello"),
        ("aGVsbG8", "hello"),
        ("aGVs\r\nbG8=\n", "hello"),
        ("  aGVs bG8 = ", "hello"),
        ("data:image/png;base64,aGVsbG8=", "hello"),
        ("DATA:image/svg+xml;charset=utf-8;BASE64,aGVsbG8=", "hello"),
        (" \ndata:;base64,aGVsbG8", "hello"),
        ("Pz8-Pz8_", "??>???"),
        ("Pz8+Pz8/", "??>???"),
        ("Pz8-Pz8/", "??>???"),
        ("", ""),
        ("aGVsbG9=", "hello"),
    ] {
        assert_eq!(decode_base64(text.as_bytes()).unwrap(), expected.as_bytes(), "{text}");
    }
}

#[test]
fn bad_base64_names_the_position() {
    for (text, expected) in [
        ("aGVs!G8=", "bad base64 at position 4, `!` is no base64 character"),
        ("data:image/png;base64,aG*s", "bad base64 at position 24, `*` is no base64 character"),
        ("aGVsbG8=aGVs", "bad base64 at position 8, there is more after the padding"),
        ("aGVsb", "bad base64 at position 5, it ends in the middle of a byte"),
        (
            "data:text/plain,hello",
            "bad base64 at position 0, the data URI says nothing of `;base64,`",
        ),
        ("aG\0s", "bad base64 at position 2, `\\x00` is no base64 character"),
    ] {
        assert_eq!(decode_base64(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn a_buffer_of_another_size_is_left_alone() {
    let mut small = vec![b'.'; data_uri_len("image/png", 3) - 1];
    assert!(!write_data_uri("image/png", b"abc", &mut small));
    assert!(small.iter().all(|&byte| byte == b'.'));
}

/// The order decides where several fit; `tests/test_media.py` compares all with `filetype`.
#[test]
fn types_are_told_by_their_first_bytes() {
    let jpx = [&b"\0\0\0\x0cjP  \r\n\x87\n\0\0\0\x14ftypjp2 "[..], &[0; 40]].concat();
    let dicom = [&[0; 128][..], b"DICM\0\0"].concat();
    for (bytes, expected) in [
        (&b"\xff\xd8\xff\xe0"[..], "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/x-wav"),
        (b"RIFF\0\0\0\0AVI LIST", "video/x-msvideo"),
        (b"II\x2a\0\x08\0\0\0\0\0", "image/tiff"),
        (b"MM\0\x2a\0\0\0\x08\0\0", "image/tiff"),
        (b"II\x2a\0\x10\0\0\0CR", "image/x-canon-cr2"),
        (b"BM\0\0", "image/bmp"),
        (b"\0\0\x01\0", "image/x-icon"),
        (&jpx, "image/jpx"),
        (&dicom, "application/dicom"),
        (b"ID3\x04", "audio/mpeg"),
        (b"OggS", "audio/ogg"),
        (b"fLaC", "audio/x-flac"),
    ] {
        assert_eq!(sniff(bytes), Some(expected), "{}", bytes.escape_ascii());
    }
    for unknown in [&b""[..], b"\xff\xd8", b"{\"a\": 1}", b"II\x2a\0"] {
        assert_eq!(sniff(unknown), None, "{}", unknown.escape_ascii());
    }
}

fn png(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in chunks {
        out.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        out.extend(*kind);
        out.extend(*data);
        out.extend([0; 4]);
    }
    out
}

#[test]
fn the_look_says_whether_the_end_is_there() {
    let header = b"\x00\x00\x00\x11\x00\x00\x00\x15\x08\x02\x00\x00\x00";
    let whole = png(&[(b"IHDR", header), (b"IDAT", b"data"), (b"IEND", b"")]);
    let seen = look(&whole).unwrap();
    assert_eq!((seen.width, seen.height, seen.complete), (17, 21, true));
    for length in 33..whole.len() {
        assert!(!look(&whole[..length]).unwrap().complete, "{length}");
    }
    for (colour, channels, transparent) in
        [(0, 1, false), (2, 3, false), (3, 1, false), (4, 2, true), (6, 4, true)]
    {
        let header = [&b"\0\0\0\x11\0\0\0\x15\x10"[..], &[colour], b"\0\0\0"].concat();
        let seen = look(&png(&[(b"IHDR", &header), (b"IEND", b"")])).unwrap();
        assert_eq!((seen.bits, seen.channels, seen.transparent), (16, channels, transparent));
    }
    // An end mark inside an embedded thumbnail is not the image's.
    let thumbnail = b"\xff\xe1\x00\x0aExif\0\0\xff\xd9";
    let frame = b"\xff\xc0\x00\x0b\x08\x00\x15\x00\x11\x01\x01\x11\x00";
    let scan = b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x12\xff\x00\x34\xff\xd0\x56";
    let cut = [&b"\xff\xd8"[..], thumbnail, frame, scan].concat();
    let seen = look(&cut).unwrap();
    assert_eq!((seen.width, seen.height, seen.complete), (17, 21, false));
    for tail in [&b"\xff\xd9"[..], b"\xff\xd9\0\0junk after the end", b"\xff\xff\xd9"] {
        assert!(look(&[cut.as_slice(), tail].concat()).unwrap().complete, "{tail:?}");
    }
}

proptest! {
    #[test]
    fn what_is_encoded_decodes_to_itself(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let uri = data_uri("image/png", &bytes);
        prop_assert_eq!(uri.len(), data_uri_len("image/png", bytes.len()));
        prop_assert_eq!(decode_base64(&uri).unwrap(), bytes);
    }

    #[test]
    fn no_bytes_make_it_panic(
        mark in prop::sample::select(vec![
            &b""[..], b"\xff\xd8\xff\xe1", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8",
            b"BM", b"II\x2a\0", b"\0\0\0\x20ftypmif1", b"\x50\x2a\x4d\x18\0\0\0\0", b"PK\x03\x04",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let bytes = [mark, rest.as_slice()].concat();
        let _ = (sniff(&bytes), look(&bytes), decode_base64(&bytes));
    }
}
