//! JSON as Python reads it: NaN and Infinity, integers of any size, numbers in their original spelling, a byte
//! order mark, and the position of every value in the text.

mod cursor;
mod document;
mod edit;
mod layout;
mod locate;
mod pairing;
mod parse;
mod path;
mod positions;
mod rewrite;
mod splice;
mod syntax_error;

pub(in crate::formats) use cursor::Cursor;
pub use document::{JsonLayout, write_with_list};
pub use edit::{remove_member, set_member};
pub use locate::{locate, position};
pub use parse::{ITEM, MAX_DEPTH, MEMBER, ParseFailure, Parsed, parse, parse_within};
pub use path::{JsonPath, Step};
pub use positions::JsonPositions;
pub use rewrite::{Names, insert_element, remove_elements, rewrite};
pub use splice::{Splice, TextChange};
pub use syntax_error::SyntaxError;
