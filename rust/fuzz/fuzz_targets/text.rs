//! Any text through every reader of answers: no panic, and what must hold of the results.

#![no_main]

use _core::answers::answer_line::{answer_line, count};
use _core::answers::choice::{Language, Question, choice, clean_option};
use _core::answers::normalize::normalize;
use _core::answers::option_inference::infer_option;
use _core::text::pystr;
use _core::answers::score::match_count;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, bool, &str, &str)| {
    let (choices, multiple, reply, other) = input;
    let canonical = normalize(reply);
    assert_eq!(pystr::strip(&canonical), canonical);
    let _ = answer_line(reply);
    if let Ok((Some(digits), _)) = count(reply) {
        assert!(digits.bytes().all(|byte| byte.is_ascii_digit()));
        match_count(Some(&digits), other).ok();
    }
    let _ = clean_option(reply, other);
    let _ = infer_option(reply, &[("A", other), (other, reply)]);
    for language in [Language::English, Language::Chinese] {
        let _ = choice(reply, Question { choices: choices.into(), language, multiple });
    }
});
