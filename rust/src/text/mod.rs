//! Text as others see it: [`pystr`] (Python's strings), [`words`] and [`punkt`] (NLTK's words and
//! sentences), [`jieba`] (Chinese words), [`table`] (records of CSV and TSV).

pub(crate) mod charclass;
pub mod jieba;
pub mod punkt;
pub mod pystr;
pub mod table;
pub mod words;
