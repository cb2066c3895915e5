"""The Rust core. Import it through the modules of this package, not directly."""

__version__: str

# Text metrics

_Bleu = tuple[float, float, float, float]
_Rouge = tuple[float, float, float, float, float, float, float, float, float]

def bleu(prediction: str, reference: str) -> _Bleu:
    """BLEU-1 to BLEU-4, each one n-gram order: clipped precision times the brevity penalty, 0 to 1.

    Equal to EvalScope 1.14.1 with NLTK 3.10.4 (unsmoothed `sentence_bleu`). A text with a Chinese
    character is cut by `jieba_cut`, any other by `word_tokenize`. All are 0.0 if no token is
    shared; an order without a shared n-gram gives about 2e-308, as NLTK does. The last bit depends
    on the C library's `log` and `exp`, as in Python itself. A lone surrogate reads as U+FFFD, here
    and in every function below.
    """

def bleu_list(predictions: list[str], references: list[str]) -> list[_Bleu]:
    """`bleu` of each pair of two lists, computed without the GIL.

    Raises:
        ValueError: The lists differ in length.
    """

def rouge(prediction: str, reference: str) -> _Rouge:
    """Recall, precision and F of ROUGE-1, of ROUGE-2 and of ROUGE-L, in this order, each 0 to 1.

    Equal to EvalScope 1.14.1 with rouge_chinese 1.0.3: tokens stand between white space or, if the
    text holds a Chinese character, come from `jieba_cut`; n-grams count once; F is
    2pr / (p + r + 1e-8). All are 0.0 if either text is empty or blank.
    """

def rouge_list(predictions: list[str], references: list[str]) -> list[_Rouge]:
    """`rouge` of each pair of two lists, computed without the GIL.

    Raises:
        ValueError: The lists differ in length.
    """

def word_tokenize(text: str) -> list[str]:
    """The tokens NLTK 3.10.4's `word_tokenize` finds, English sentence splitting included."""

def jieba_cut(text: str) -> list[str]:
    """The words jieba 0.42.1's `cut` finds, white space and punctuation included."""
