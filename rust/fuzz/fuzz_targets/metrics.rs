//! Any two texts through the tokenizers and the text metrics: no panic, and what must hold.

#![no_main]

use _core::metrics::bleu::bleu;
use _core::text::jieba::cut;
use _core::text::punkt::sentences;
use _core::metrics::rouge::rouge;
use _core::text::words::word_tokenize;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str)| {
    let (prediction, reference) = input;
    assert_eq!(cut(prediction).concat(), prediction);
    assert!(word_tokenize(prediction).iter().all(|token| !token.is_empty()));
    let mut end = 0;
    for range in sentences(prediction) {
        assert!(end <= range.start && range.start < range.end);
        end = range.end;
    }
    assert!(bleu(prediction, reference).iter().all(|score| (0.0..=1.0).contains(score)));
    let score = rouge(prediction, reference);
    for part in [score.rouge_1, score.rouge_2, score.rouge_l] {
        assert!((0.0..=1.0).contains(&part.recall) && (0.0..=1.0).contains(&part.f));
    }
});
