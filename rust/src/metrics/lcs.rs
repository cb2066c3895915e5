//! Length of the longest common subsequence, 64 columns at a time.
//!
//! Bit-parallel LCS-length computation revisited (AWOCA 2004): a row of the table is a bit vector
//! `v`, and the next row is `(v + (v & m)) | (v & !m)`, where `m` marks the columns that match. Of a
//! rare token only the words that hold a match, and those a carry runs into, are touched, so the work
//! is bounded by rows times words and far less for natural text.

/// How many tokens two sequences have in common in the same order; `kinds` is above every token.
pub(crate) fn length(first: &[u32], second: &[u32], kinds: usize) -> usize {
    let (first, second, start) = without_common_start(first, second);
    let (columns, rows, end) = without_common_end(first, second);
    let (columns, rows) =
        if columns.len() <= rows.len() { (columns, rows) } else { (rows, columns) };
    start
        + end
        + match columns.len() {
            0 => 0,
            1..=64 => short_length(columns, rows, kinds),
            _ => Matches::new(columns, kinds).length(rows),
        }
}

fn without_common_start<'a>(a: &'a [u32], b: &'a [u32]) -> (&'a [u32], &'a [u32], usize) {
    let shared = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    (a.get(shared..).unwrap_or_default(), b.get(shared..).unwrap_or_default(), shared)
}

fn without_common_end<'a>(a: &'a [u32], b: &'a [u32]) -> (&'a [u32], &'a [u32], usize) {
    let shared = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let keep = |tokens: &'a [u32]| tokens.get(..tokens.len() - shared).unwrap_or_default();
    (keep(a), keep(b), shared)
}

/// The length for at most 64 columns: each row is one word.
fn short_length(columns: &[u32], rows: &[u32], kinds: usize) -> usize {
    let mut columns_of = vec![0_u64; kinds];
    for (column, &token) in columns.iter().enumerate() {
        if let Some(bits) = columns_of.get_mut(token as usize) {
            *bits |= 1 << column;
        }
    }
    let unmatched = rows.iter().fold(u64::MAX, |unmatched, &token| {
        let hits = unmatched & columns_of.get(token as usize).copied().unwrap_or_default();
        unmatched.wrapping_add(hits) | (unmatched - hits)
    });
    unmatched.count_zeros() as usize
}

/// The columns in which each token occurs.
struct Matches {
    words: usize,
    /// Per token, where its entries start; one more at the end.
    starts: Vec<usize>,
    /// Word and bits of the columns a token occurs in: by token, then by word.
    entries: Vec<(usize, u64)>,
    /// Per token that occurs in many words, all its words; empty for the others.
    dense: Vec<Vec<u64>>,
}

impl Matches {
    fn new(columns: &[u32], kinds: usize) -> Self {
        let words = columns.len().div_ceil(64);
        let mut places: Vec<(u32, usize)> = columns.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let mut starts = Vec::with_capacity(kinds + 1);
        let mut entries: Vec<(usize, u64)> = Vec::with_capacity(columns.len());
        for (token, column) in places {
            let (word, bit) = (column / 64, 1 << (column % 64));
            let new_token = starts.len() <= token as usize;
            starts.resize(starts.len().max(token as usize + 1), entries.len());
            match entries.last_mut().filter(|last| !new_token && last.0 == word) {
                Some(last) => last.1 |= bit,
                None => entries.push((word, bit)),
            }
        }
        starts.resize(kinds + 1, entries.len());
        let mut matches = Self { words, starts, entries, dense: Vec::new() };
        matches.dense = (0..kinds).map(|token| matches.all_words(token)).collect();
        matches
    }

    /// All words of a token, if it occurs in at least a quarter of them; at most 256 tokens do.
    fn all_words(&self, token: usize) -> Vec<u64> {
        let entries = self.entries_of(token);
        if entries.len() * 4 < self.words {
            return Vec::new();
        }
        let mut words = vec![0; self.words];
        for &(word, bits) in entries {
            if let Some(cell) = words.get_mut(word) {
                *cell = bits;
            }
        }
        words
    }

    fn entries_of(&self, token: usize) -> &[(usize, u64)] {
        let range = self.starts.get(token).zip(self.starts.get(token + 1));
        let entries = range.and_then(|(&start, &end)| self.entries.get(start..end));
        debug_assert!(entries.is_some(), "the token {token} is beyond every kind");
        entries.unwrap_or_default()
    }

    fn dense_row(&self, token: u32) -> Option<&[u64]> {
        self.dense.get(token as usize).map(Vec::as_slice).filter(|words| !words.is_empty())
    }

    fn length(&self, rows: &[u32]) -> usize {
        let mut unmatched = vec![u64::MAX; self.words];
        let mut rest = rows;
        while let Some((&token, after)) = rest.split_first() {
            rest = after;
            let Some(first) = self.dense_row(token) else {
                self.apply_sparse(token as usize, &mut unmatched);
                continue;
            };
            let next = |at: usize| after.get(at).and_then(|&token| self.dense_row(token));
            if let (Some(second), Some(third), Some(fourth)) = (next(0), next(1), next(2)) {
                apply_four([first, second, third, fourth], &mut unmatched);
                rest = after.get(3..).unwrap_or_default();
            } else {
                apply_one(first, &mut unmatched);
            }
        }
        unmatched.iter().map(|word| word.count_zeros() as usize).sum()
    }

    /// One row, only where its token occurs and where a carry runs on.
    fn apply_sparse(&self, token: usize, unmatched: &mut [u64]) {
        let mut carry = false;
        let mut next = 0;
        for &(word, bits) in self.entries_of(token) {
            if carry {
                carry = carry_into(unmatched.get_mut(next..word).unwrap_or_default());
            }
            let Some(cell) = unmatched.get_mut(word) else { return };
            (*cell, carry) = step(*cell, bits, carry);
            next = word + 1;
        }
        if carry {
            carry_into(unmatched.get_mut(next..).unwrap_or_default());
        }
    }
}

/// One row, word by word.
fn apply_one(row: &[u64], unmatched: &mut [u64]) {
    let mut carry = false;
    for (cell, &bits) in unmatched.iter_mut().zip(row) {
        (*cell, carry) = step(*cell, bits, carry);
    }
}

/// Four rows in one go, so that each word is loaded once and the additions overlap.
fn apply_four([a, b, c, d]: [&[u64]; 4], unmatched: &mut [u64]) {
    let (mut carry_a, mut carry_b, mut carry_c, mut carry_d) = (false, false, false, false);
    let rows = a.iter().zip(b).zip(c.iter().zip(d));
    for (cell, ((&a, &b), (&c, &d))) in unmatched.iter_mut().zip(rows) {
        let mut word = *cell;
        (word, carry_a) = step(word, a, carry_a);
        (word, carry_b) = step(word, b, carry_b);
        (word, carry_c) = step(word, c, carry_c);
        (word, carry_d) = step(word, d, carry_d);
        *cell = word;
    }
}

/// One word of the next row, and the carry out of it.
#[inline]
fn step(word: u64, matches: u64, carry: bool) -> (u64, bool) {
    let hits = word & matches;
    let (sum, over) = word.overflowing_add(hits);
    let (sum, over_again) = sum.overflowing_add(u64::from(carry));
    (sum | (word & !matches), over | over_again)
}

/// Adds a carry to words without matches; whether it is still there at their end.
fn carry_into(words: &mut [u64]) -> bool {
    for word in words {
        if *word != u64::MAX {
            *word |= *word + 1;
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::length;
    use proptest::prelude::*;

    fn by_table(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn equals_the_table(
            kinds in 1_u32..200,
            a in prop::collection::vec(0_u32..200, 0..400),
            b in prop::collection::vec(0_u32..200, 0..400),
        ) {
            let few = |tokens: Vec<u32>| tokens.into_iter().map(|t| t % kinds).collect::<Vec<_>>();
            let (a, b) = (few(a), few(b));
            prop_assert_eq!(length(&a, &b, kinds as usize), by_table(&a, &b));
        }
    }
}
