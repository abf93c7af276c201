//! Listings as XML without the entries whose keys cannot be paths. `object_store` would refuse the whole listing.

use super::address::is_plain_key;
use super::left_out::LeftOut;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// The elements of listings that contain one key each, by the interfaces of S3 and Google, and of Azure.
const ENTRIES: [&[u8]; 4] = [b"Contents", b"CommonPrefixes", b"Blob", b"BlobPrefix"];
/// The elements with the keys.
const KEYS: [&[u8]; 3] = [b"Key", b"Prefix", b"Name"];

/// An entry of a listing while it is read.
#[derive(Default)]
struct ListedKey {
    /// Where it begins, in bytes.
    start: usize,
    is_folder: bool,
    key: String,
    is_readable: bool,
}

/// A listing without the entries whose keys cannot be paths, for which `object_store` would refuse the whole listing, and
/// these keys. Objects that stand for folders are left out without being counted. A listing that is not XML stays as it
/// is.
pub(super) fn without_odd_keys(listing: &[u8]) -> (Vec<u8>, LeftOut) {
    let mut reader = Reader::from_reader(listing);
    let (mut kept, mut left_out, mut copied) =
        (Vec::with_capacity(listing.len()), LeftOut::default(), 0);
    let (mut entry, mut path): (Option<ListedKey>, Vec<Vec<u8>>) = (None, Vec::new());
    loop {
        let before = reader.buffer_position() as usize;
        let Ok(event) = reader.read_event() else {
            return (listing.to_vec(), LeftOut::default());
        };
        match event {
            Event::Start(tag) => {
                let name = tag.local_name().into_inner().to_vec();
                if entry.is_none() && ENTRIES.contains(&name.as_slice()) {
                    let is_folder = name.ends_with(b"Prefix") || name.ends_with(b"Prefixes");
                    entry = Some(ListedKey {
                        start: before,
                        is_folder,
                        is_readable: true,
                        ..ListedKey::default()
                    });
                    path.clear();
                }
                if let Some(entry) = &mut entry {
                    entry.is_readable &= !is_encoded(&tag);
                    path.push(name);
                }
            }
            Event::End(_) => {
                path.pop();
                if path.is_empty()
                    && let Some(entry) = entry.take()
                {
                    kept.extend_from_slice(&listing[copied..entry.start]);
                    copied = entry.start;
                    let end = reader.buffer_position() as usize;
                    match entry.verdict() {
                        KeyVerdict::Keep => kept.extend_from_slice(&listing[copied..end]),
                        KeyVerdict::Skip => {}
                        KeyVerdict::LeaveOut => left_out.add(&entry.key),
                    }
                    copied = end;
                }
            }
            Event::Eof => break,
            event => {
                let is_key = path.len() == 2 && KEYS.contains(&path[1].as_slice());
                if let Some(entry) = entry.as_mut().filter(|_| is_key) {
                    entry.read(&event);
                }
            }
        }
    }
    kept.extend_from_slice(&listing[copied..]);
    (kept, left_out)
}

/// Whether a name is written in percent-encoding, as Azure does with characters that XML does not allow.
fn is_encoded(tag: &BytesStart) -> bool {
    tag.attributes()
        .flatten()
        .any(|one| one.key.as_ref() == b"Encoded" && one.value.as_ref() == b"true")
}

enum KeyVerdict {
    Keep,
    /// It is no object.
    Skip,
    LeaveOut,
}

impl ListedKey {
    /// Reads a part of the key.
    fn read(&mut self, event: &Event) {
        let text = match event {
            Event::Text(text) => text.decode().ok(),
            Event::CData(text) => text.decode().ok(),
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(one)) => Some(one.to_string().into()),
                _ => {
                    let name = reference.decode().ok();
                    name.and_then(|name| quick_xml::escape::resolve_predefined_entity(&name))
                        .map(Into::into)
                }
            },
            _ => None,
        };
        match text {
            Some(text) => self.key.push_str(&text),
            None => self.is_readable = false,
        }
    }

    fn verdict(&self) -> KeyVerdict {
        let key = match self.key.strip_suffix('/') {
            Some(_) if !self.is_folder => return KeyVerdict::Skip,
            Some(folder) => folder,
            None => &self.key,
        };
        // `object_store` would ask for a key without the blanks around it.
        match self.is_readable && self.key.trim() == self.key && is_plain_key(key) {
            true => KeyVerdict::Keep,
            false => KeyVerdict::LeaveOut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s3(keys: &[&str]) -> String {
        let entry = |key: &&str| format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>");
        format!(
            "<R><Prefix>p</Prefix>{}<IsTruncated>false</IsTruncated></R>",
            keys.iter().map(entry).collect::<String>()
        )
    }

    #[test]
    fn listing_omits_entries_with_odd_keys() {
        let long = "x".repeat(256);
        let odd = [
            "a/../b", "a//b", "/a", "a/./b", "a&#1;b", "a\u{1}b", &long, "a\\b", " a", "&#0;",
            "&other;",
        ];
        let plain = ["a/b.json", "a &amp; b", "a&#x20;b", "ä"];
        let all: Vec<&str> = plain.iter().chain(&odd).copied().collect();
        let (kept, left_out) = without_odd_keys(s3(&all).as_bytes());
        assert_eq!(String::from_utf8(kept).unwrap(), s3(&plain));
        assert_eq!(left_out.count, odd.len());
        assert_eq!(left_out.names, ["a/../b", "a//b", "/a"]);
        assert!(
            left_out.to_string().starts_with("11 objects left out"),
            "{left_out}"
        );
    }

    #[test]
    fn keys_in_character_data_are_read() {
        let keys = ["<![CDATA[a & b]]>", "<![CDATA[a//b]]>"];
        let (kept, left_out) = without_odd_keys(s3(&keys).as_bytes());
        assert_eq!(String::from_utf8(kept).unwrap(), s3(&keys[..1]));
        assert_eq!(left_out.names, ["a//b"]);
    }

    #[test]
    fn folder_placeholder_objects_are_omitted() {
        let listing = "<R><Contents><Key>a/</Key></Contents><CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>a//</Prefix></CommonPrefixes></R>";
        let (kept, left_out) = without_odd_keys(listing.as_bytes());
        let kept = String::from_utf8(kept).unwrap();
        assert_eq!(
            kept,
            "<R><CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes></R>"
        );
        assert_eq!(left_out.names, ["a//"]);
    }

    #[test]
    fn names_of_azure_that_are_encoded_are_left_out() {
        let listing = r#"<R><Blobs><Blob><Name>a</Name></Blob><Blob><Name Encoded="true">b%01</Name><Properties><Name>c</Name></Properties></Blob></Blobs></R>"#;
        let (kept, left_out) = without_odd_keys(listing.as_bytes());
        assert_eq!(
            String::from_utf8(kept).unwrap(),
            "<R><Blobs><Blob><Name>a</Name></Blob></Blobs></R>"
        );
        assert_eq!(left_out.names, ["b%01"]);
        let plain = r#"<R><Blob><Name Encoded="false" Other="true">a</Name></Blob></R>"#;
        assert_eq!(without_odd_keys(plain.as_bytes()).0, plain.as_bytes());
        assert_eq!(
            without_odd_keys(b"<R><Blob>").0,
            b"<R><Blob>",
            "an unfinished listing stays"
        );
    }
}
