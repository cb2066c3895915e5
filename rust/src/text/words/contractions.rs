//! The last steps: words that are two words, after the Treebank script's list.
//!
//! NLTK compiles these patterns with Python's `re`, all others with `regex`.

use super::steps::{QUOTE, prefix_in_any_case, rewrite, space};
use crate::text::charclass::{char_at, char_before, python_word, slice};
use crate::text::pystr;

/// Words that are two words, in the parts they are split into.
const CONTRACTIONS: [(&str, &str); 8] = [
    ("can", "not"),
    ("d", "'ye"),
    ("gim", "me"),
    ("gon", "na"),
    ("got", "ta"),
    ("lem", "me"),
    ("more", "'n"),
    ("wan", "na"),
];

/// Spaces round both parts of `cannot d'ye gimme gonna gotta lemme more'n wanna`, in any case.
pub(super) fn two_words(text: &str, out: &mut String) {
    let mut copied = 0;
    let mut previous = b' ';
    for (at, byte) in text.bytes().enumerate() {
        let candidate = matches!(byte | 0x20, b'c' | b'd' | b'g' | b'l' | b'm' | b'w');
        let inside = previous.is_ascii_alphanumeric();
        previous = byte;
        if !candidate || inside || char_before(text, at).is_some_and(python_word) {
            continue;
        }
        if let Some((first, both)) = parts_at(text, at) {
            out.push_str(slice(text, copied, at));
            space(out, slice(text, at, at + first));
            out.push_str(slice(text, at + first, at + both));
            out.push(' ');
            copied = at + both;
        }
    }
    out.push_str(slice(text, copied, text.len()));
}

/// Lengths of the first part and of both parts of the contraction that starts at a position.
fn parts_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let word = slice(text, at, text.len());
    CONTRACTIONS.iter().find_map(|&(first, second)| {
        let first_length = prefix_in_any_case(word, first)?;
        let second_length = prefix_in_any_case(slice(word, first_length, word.len()), second)?;
        let both = first_length + second_length;
        let next = char_at(word, both);
        let ends = !next.is_some_and(python_word);
        // `wanna` alone must be followed by white space.
        let spaced = first != "wan" || next.is_some_and(pystr::is_space);
        (ends && spaced).then_some((first_length, both))
    })
}

/// Spaces round both parts of `'tis` after a space, in any case.
pub(super) fn it_is(text: &str, out: &mut String) {
    archaic_it(text, out, "is");
}

/// Spaces round both parts of `'twas` after a space, in any case.
pub(super) fn it_was(text: &str, out: &mut String) {
    archaic_it(text, out, "was");
}

fn archaic_it(text: &str, out: &mut String, verb: &str) {
    rewrite(text, out, QUOTE, |at, _, out| {
        let word = slice(text, at, text.len());
        let rest = slice(word, 2, word.len());
        if char_before(text, at) != Some(' ') || prefix_in_any_case(word, "'t").is_none() {
            return 0;
        }
        let length = prefix_in_any_case(rest, verb)
            .filter(|&length| !char_at(rest, length).is_some_and(python_word));
        let Some(length) = length else { return 0 };
        out.push_str(slice(word, 0, 2));
        2 + space(out, slice(rest, 0, length))
    });
}
