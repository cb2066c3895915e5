//! Numbers for tokens, so that the metrics compare, sort and count integers.

use crate::hash::Key;

/// Slots for a short pair; long ones grow the table.
const FEWEST_SLOTS: usize = 128;

/// Gives equal tokens equal numbers, from 0 in the order of first appearance.
pub(crate) struct Vocabulary {
    /// The distinct tokens, one after the other.
    text: String,
    /// End of each in `text`.
    ends: Vec<usize>,
    /// Hash table with linear probing: number + 1, or 0.
    slots: Vec<u32>,
    key: Key,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let slots = vec![0; FEWEST_SLOTS];
        Self { text: String::new(), ends: Vec::new(), slots, key: Key::random() }
    }
}

impl Vocabulary {
    /// Forgets all tokens.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.slots.clear();
        self.slots.resize(FEWEST_SLOTS, 0);
    }

    /// How many distinct tokens there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of a token.
    pub(crate) fn number(&mut self, token: &str) -> u32 {
        if self.ends.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot(token);
        debug_assert!(slot < self.slots.len(), "slot {slot} of {}", self.slots.len());
        let known = self.slots.get(slot).copied().unwrap_or_default();
        if known > 0 {
            return known - 1;
        }
        self.text.push_str(token);
        self.ends.push(self.text.len());
        let count = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = count;
        }
        count - 1
    }

    /// The slot that holds a token, or the free one where it belongs.
    fn slot(&self, token: &str) -> usize {
        let mask = self.slots.len() - 1;
        #[expect(clippy::cast_possible_truncation, reason = "only the low bits count")]
        let mut slot = self.key.hash(token.as_bytes()) as usize & mask;
        while let Some(&number) = self.slots.get(slot)
            && number > 0
            && self.token(number - 1) != Some(token)
        {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn token(&self, number: u32) -> Option<&str> {
        let number = number as usize;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        self.text.get(start.unwrap_or_default()..*self.ends.get(number)?)
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for number in 0..u32::try_from(self.ends.len()).unwrap_or(u32::MAX) {
            let slot = self.token(number).map_or(0, |token| self.slot(token));
            if let Some(slot) = self.slots.get_mut(slot) {
                *slot = number + 1;
            }
        }
    }
}

/// Size of the intersection of two sorted multisets.
pub(crate) fn count_common<T: Ord>(ours: &[T], theirs: &[T]) -> usize {
    let mut theirs = theirs.iter().peekable();
    ours.iter()
        .filter(|ours| {
            while theirs.next_if(|theirs| theirs < ours).is_some() {}
            theirs.next_if(|theirs| theirs == ours).is_some()
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tokens_have_equal_numbers_also_after_growth() {
        let mut vocabulary = Vocabulary::default();
        let tokens: Vec<String> = (0..5_000).map(|n| format!("token {n}")).collect();
        for round in 0..2 {
            for (expected, token) in (0..).zip(&tokens) {
                assert_eq!(vocabulary.number(token), expected, "round {round}");
            }
        }
        assert_eq!(vocabulary.len(), tokens.len());
        assert_eq!(vocabulary.number(""), 5_000);
        vocabulary.clear();
        assert_eq!(vocabulary.number("token 7"), 0);
    }
}
