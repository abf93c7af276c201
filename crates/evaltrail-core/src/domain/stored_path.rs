//! Paths in the files that evaltrail writes. JSON strings are Unicode, but a Unix path may be any bytes without NUL:
//! a path that is not valid UTF-8 is stored as a NUL followed by its bytes in hexadecimal.

use serde::{Deserialize, Deserializer, Serializer, de::Error};
use std::path::{Path, PathBuf};

const IN_HEXADECIMAL: char = '\0';

/// Serializes a path, for `#[serde(with)]`.
pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&text_of(path))
}

/// Deserializes a path, for `#[serde(with)]`. Fails if the hexadecimal digits are invalid.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    path_of(&String::deserialize(from)?).ok_or_else(|| D::Error::custom("not a valid path"))
}

/// The same for an optional path.
pub mod option {
    use super::*;

    /// Serializes an optional path, for `#[serde(with)]`.
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        match path {
            Some(path) => to.serialize_some(&text_of(path)),
            None => to.serialize_none(),
        }
    }

    /// Deserializes an optional path, for `#[serde(with)]`. Fails if the hexadecimal digits are invalid.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else {
            return Ok(None);
        };
        path_of(&text)
            .map(Some)
            .ok_or_else(|| D::Error::custom("not a valid path"))
    }
}

/// The path of a file below a folder, with `/` on every platform; the whole path if it is not below the folder. Text
/// that is not Unicode is replaced.
pub fn path_below(folder: &Path, path: &Path) -> String {
    match path.strip_prefix(folder) {
        Ok(below) => with_slashes(&below.to_string_lossy()),
        Err(_) => path.to_string_lossy().into_owned(),
    }
}

fn with_slashes(relative: &str) -> String {
    if cfg!(windows) {
        relative.replace('\\', "/")
    } else {
        relative.to_string()
    }
}

fn text_of(path: &Path) -> String {
    match path.to_str() {
        Some(text) if path.is_relative() => with_slashes(text),
        Some(text) => text.to_string(),
        None => {
            let bytes = path.as_os_str().as_encoded_bytes();
            let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
            std::iter::once(IN_HEXADECIMAL.to_string())
                .chain(digits)
                .collect()
        }
    }
}

fn path_of(text: &str) -> Option<PathBuf> {
    let Some(digits) = text.strip_prefix(IN_HEXADECIMAL) else {
        return Some(PathBuf::from(text));
    };
    let bytes: Option<Vec<u8>> = (0..digits.len())
        .step_by(2)
        .map(|at| {
            digits
                .get(at..at + 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        })
        .collect();
    path_of_bytes(bytes?)
}

#[cfg(unix)]
fn path_of_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(windows)]
fn path_of_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn every_path_comes_back() {
        for bytes in [
            &b"/a/b.json"[..],
            b"/caf\xe9/\xff.json",
            b"",
            b"plain",
            "gr\u{fc}n".as_bytes(),
        ] {
            let path = PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
            let text = serde_json::to_string(&text_of(&path)).unwrap();
            let read: String = serde_json::from_str(&text).unwrap();
            assert_eq!(path_of(&read), Some(path));
        }
        assert_eq!(path_of("\0zz"), None);
        assert_eq!(path_of("\0abc"), None);
    }
}
