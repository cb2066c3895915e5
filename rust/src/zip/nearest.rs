//! The name a user may have meant.

use std::borrow::Cow;

use super::name;

/// The most similar of `names`, as many of its last parts compared as `wanted` has; `None` where
/// nothing is similar.
pub(super) fn nearest<'a>(
    wanted: &str,
    names: impl Iterator<Item = Cow<'a, str>>,
) -> Option<String> {
    let wanted = comparable(wanted, usize::MAX);
    let parts = wanted.iter().filter(|&&letter| letter == '/').count() + 1;
    // Names that differ in one of three letters or more have nothing in common.
    let mut limit = (wanted.len() / 3).min(8);
    let mut best = None;
    for name in names {
        if let Some(found) = edits(&wanted, &comparable(&name, parts), limit) {
            best = Some(name.into_owned());
            let Some(smaller) = found.checked_sub(1) else { break };
            limit = smaller;
        }
    }
    best
}

/// The last parts of a name, without the differences of letter case and separators.
fn comparable(name: &str, parts: usize) -> Vec<char> {
    let lower = name::normal(name).to_lowercase();
    let start = lower.rmatch_indices('/').nth(parts - 1).map_or(0, |(at, _)| at + 1);
    lower.get(start..).unwrap_or_default().chars().collect()
}

/// The number of insertions, deletions and replacements between two words, if at most `limit`.
fn edits(left: &[char], right: &[char], limit: usize) -> Option<usize> {
    if left.len().abs_diff(right.len()) > limit {
        return None;
    }
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (position, letter) in left.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        let mut before = position + 1;
        next.push(before);
        for (pair, other) in row.windows(2).zip(right) {
            let [diagonal, above] = *pair else { break };
            let replaced = diagonal + usize::from(letter != other);
            before = replaced.min(above + 1).min(before + 1);
            next.push(before);
        }
        if next.iter().all(|&edits| edits > limit) {
            return None;
        }
        row = next;
    }
    row.last().copied().filter(|&found| found <= limit)
}
