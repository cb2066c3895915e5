//! A fast hash with a secret key, so that no reply and no archive can be written to make it collide.

use std::hash::{BuildHasher as _, RandomState};

/// What every hash of one table depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    start: u64,
    factor: u64,
}

impl Key {
    /// A key that nobody knows.
    pub(crate) fn random() -> Self {
        let random = RandomState::new();
        Self { start: random.hash_one(0), factor: random.hash_one(1) | 1 }
    }

    /// Hashes eight bytes at a time by multiplying and folding; all bits are good.
    pub(crate) fn hash(self, bytes: &[u8]) -> u64 {
        let mut hash = self.fold(self.start, bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            hash = self.fold(hash, u64::from_le_bytes(*word));
        }
        self.fold(hash, rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)))
    }

    /// Another key, which depends on a hash made before.
    pub(crate) fn with(self, hash: u64) -> Self {
        Self { start: self.start ^ hash, ..self }
    }

    fn fold(self, hash: u64, word: u64) -> u64 {
        let product = u128::from(hash ^ word) * u128::from(self.factor);
        #[expect(clippy::cast_possible_truncation, reason = "both halves are kept")]
        let folded = product as u64 ^ (product >> 64) as u64;
        folded
    }
}
