//! Dialogs that ask for a text, a choice, a yes or a permission, and pass the answer on.

pub mod ask;
pub mod confirm;
pub mod conversations;
pub mod line;
pub mod question;
pub mod quit;
pub mod trust;
