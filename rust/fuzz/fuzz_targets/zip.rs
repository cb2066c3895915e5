//! Any bytes as an archive: no panic, and what is read has the size that was announced.

#![no_main]

use _core::zip::{Directory, Opening};
use libfuzzer_sys::fuzz_target;

fn open(bytes: &[u8]) -> Option<Directory> {
    let mut opening = Opening::new("fuzz.zip", bytes.len() as u64);
    loop {
        let need = opening.need();
        let range = usize::try_from(need.start).ok()?..usize::try_from(need.end).ok()?;
        if let Some(directory) = opening.feed(bytes.get(range)?.to_vec()).ok()? {
            return Some(directory);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some(directory) = open(bytes) else { return };
    for (index, name) in directory.names().enumerate() {
        let _ = directory.find(&name);
        let Ok(span) = directory.span(index) else { continue };
        let span = usize::try_from(span.start).unwrap()..usize::try_from(span.end).unwrap();
        if let Ok(data) = directory.decode(index, &bytes[span]) {
            assert_eq!(data.len() as u64, directory.member(index).unwrap().size);
        }
    }
});
