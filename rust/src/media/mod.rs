//! Bytes of images, sounds and clips: what they are, whether they are whole, and their data URI.

mod base64;
mod look;
mod sniff;

pub use self::base64::{data_uri, data_uri_len, decode_base64, write_data_uri};
pub use look::{Look, look};
pub use sniff::sniff;
