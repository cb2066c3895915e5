//! Text as others see it: [`pystr`] (Python's strings), [`words`] and [`punkt`] (NLTK's words and
//! sentences), [`jieba`] (Chinese words).

pub(crate) mod charclass;
pub mod jieba;
pub mod punkt;
pub mod pystr;
pub mod words;
