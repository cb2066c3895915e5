//! Member names: how they are encoded, and what they may not be.

use std::borrow::Cow;

/// Code page 437, upper half, as Python's `cp437` codec has it.
const CP437: [char; 128] = [
    'Ç', 'ü', 'é', 'â', 'ä', 'à', 'å', 'ç', 'ê', 'ë', 'è', 'ï', 'î', 'ì', 'Ä', 'Å', //
    'É', 'æ', 'Æ', 'ô', 'ö', 'ò', 'û', 'ù', 'ÿ', 'Ö', 'Ü', '¢', '£', '¥', '₧', 'ƒ', //
    'á', 'í', 'ó', 'ú', 'ñ', 'Ñ', 'ª', 'º', '¿', '⌐', '¬', '½', '¼', '¡', '«', '»', //
    '░', '▒', '▓', '│', '┤', '╡', '╢', '╖', '╕', '╣', '║', '╗', '╝', '╜', '╛', '┐', //
    '└', '┴', '┬', '├', '─', '┼', '╞', '╟', '╚', '╔', '╩', '╦', '╠', '═', '╬', '╧', //
    '╨', '╤', '╥', '╙', '╘', '╒', '╓', '╫', '╪', '┘', '┌', '█', '▄', '▌', '▐', '▀', //
    'α', 'ß', 'Γ', 'π', 'Σ', 'σ', 'µ', 'τ', 'Φ', 'Θ', 'Ω', 'δ', '∞', 'φ', 'ε', '∩', //
    '≡', '±', '≥', '≤', '⌠', '⌡', '÷', '≈', '°', '∙', '·', '√', 'ⁿ', '²', '■', '\u{a0}',
];

/// The part of a stored name that counts: up to the first NUL.
pub(super) fn cut_at_nul(stored: &[u8]) -> &[u8] {
    // `contains` looks at a word at a time; next to no name needs more.
    if !stored.contains(&0) {
        return stored;
    }
    stored.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// The name in text. Bytes that are not UTF-8 although the flag says so become U+FFFD, so one odd
/// name does not make the other members unreachable.
pub(super) fn decode(stored: &[u8], utf8: bool) -> Cow<'_, str> {
    let stored = cut_at_nul(stored);
    match std::str::from_utf8(stored) {
        Ok(name) if utf8 || name.is_ascii() => Cow::Borrowed(name),
        _ if utf8 => String::from_utf8_lossy(stored),
        _ => stored.iter().map(|&byte| from_cp437(byte)).collect(),
    }
}

fn from_cp437(byte: u8) -> char {
    let upper = usize::from(byte).checked_sub(CP437.len());
    upper.and_then(|index| CP437.get(index)).copied().unwrap_or(char::from(byte))
}

/// Whether a stored name is a file's: not a folder, not one of macOS's companions (all that lies
/// in `__MACOSX` at the top, and `._name` anywhere).
pub(super) fn is_file(stored: &[u8]) -> bool {
    let stored = cut_at_nul(stored);
    let separator = stored.iter().rposition(|&byte| byte == b'/' || byte == b'\\');
    let last = separator.and_then(|at| stored.get(at + 1..)).unwrap_or(stored);
    let companion = last.starts_with(b"._")
        || matches!(stored.strip_prefix(b"__MACOSX"), Some([b'/' | b'\\', ..]));
    !last.is_empty() && !companion
}

/// The name with `/` between its parts and no leading `./`: the form suffixes are compared in.
pub(super) fn normal(name: &str) -> Cow<'_, str> {
    let mut name =
        if name.contains('\\') { name.replace('\\', "/").into() } else { Cow::Borrowed(name) };
    while name.starts_with("./") {
        name = match name {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim_start_matches("./")),
            Cow::Owned(text) => Cow::Owned(text.trim_start_matches("./").to_owned()),
        };
    }
    name
}

/// The part after the last separator.
pub(super) fn last_part(name: &str) -> &str {
    let separator = name.bytes().rposition(|byte| byte == b'/' || byte == b'\\');
    separator.and_then(|at| name.get(at + 1..)).unwrap_or(name)
}

/// Whether the name is absolute, has a drive, or goes up a folder.
pub(super) fn escapes(name: &str) -> bool {
    let drive = matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    drive || name.starts_with(['/', '\\']) || name.split(['/', '\\']).any(|part| part == "..")
}
