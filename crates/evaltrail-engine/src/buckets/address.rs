//! The addresses of objects and folders in object stores.

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// The kind of an object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Google Cloud Storage.
    Gcs,
    /// Amazon S3, or a service with its interface.
    S3,
    /// Azure Blob Storage.
    Azure,
    /// A folder of this machine, or one that several machines share.
    Folder,
}

const SCHEMES: [(&str, Scheme); 4] = [
    ("gs", Scheme::Gcs),
    ("s3", Scheme::S3),
    ("az", Scheme::Azure),
    ("file", Scheme::Folder),
];

impl Scheme {
    /// Its name in addresses.
    pub fn name(self) -> &'static str {
        let named = SCHEMES.iter().find(|(_, scheme)| *scheme == self);
        named.map_or("", |(name, _)| name)
    }
}

/// The address of an object, or of all objects below a prefix: `gs://bucket/folder/file`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BucketAddress {
    /// The kind of the store.
    pub scheme: Scheme,
    /// The bucket, or the container of Azure; empty for a folder.
    pub bucket: String,
    /// The key, without a slash at its beginning and end; empty for the whole bucket.
    pub key: String,
}

/// Whether a text is meant as an address of an object store.
pub fn is_bucket_address(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(scheme, _)| SCHEMES.iter().any(|(name, _)| *name == scheme))
}

/// A path without `..`, which an address cannot have: what exists of the path before it is resolved, because a folder may
/// be a link.
fn without_parents(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                real = dunce::canonicalize(&real).unwrap_or(real);
                real.pop();
            }
            part => real.push(part),
        }
    }
    real
}

impl BucketAddress {
    /// Whether the store can have public buckets: for Azure, the account must be known.
    pub(super) fn can_be_public(&self) -> bool {
        let has_account = |name: &&str| std::env::var_os(name).is_some();
        match self.scheme {
            Scheme::Folder => false,
            Scheme::Gcs | Scheme::S3 => true,
            Scheme::Azure => ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_ACCOUNT_NAME"]
                .iter()
                .any(has_account),
        }
    }

    /// Parses an address. The error is a message.
    pub fn parse(text: &str) -> Result<BucketAddress, String> {
        let told = |why: &str| format!("{text}: {why}");
        let known = text.split_once("://").and_then(|(name, rest)| {
            SCHEMES
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, scheme)| (*scheme, rest))
        });
        let (scheme, rest) = known.ok_or_else(|| {
            told("not an address of an object store (gs://, s3://, az://, file://)")
        })?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if scheme == Scheme::Folder && !rest.starts_with('/') {
            return Err(told(
                "the path of a folder starts with a slash, as in file:///folder",
            ));
        }
        let is_bucket = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
        if scheme != Scheme::Folder
            && (bucket.is_empty() || !bucket.chars().all(is_bucket) || bucket.starts_with('.'))
        {
            return Err(told("the name of the bucket is missing or invalid"));
        }
        let key = key.trim_matches('/');
        let below = if scheme == Scheme::Folder {
            without_drive(key)
        } else {
            key
        };
        if !below.is_empty() && !is_plain_key(below) {
            return Err(told(
                "`..`, empty or long parts and control characters are not allowed",
            ));
        }
        Ok(BucketAddress {
            scheme,
            bucket: bucket.to_string(),
            key: key.to_string(),
        })
    }

    /// The address of a folder of this machine. The error, a message, is that it is a network path of Windows.
    pub fn of_folder(path: &Path) -> Result<BucketAddress, String> {
        let path = without_parents(path);
        let text = path.to_string_lossy();
        let path = if cfg!(windows) {
            text.replace('\\', "/")
        } else {
            text.into_owned()
        };
        if cfg!(windows) && path.starts_with("//") {
            return Err(format!(
                "{path}: network paths cannot be used here; give the share a drive letter"
            ));
        }
        let key = path.trim_matches('/').to_string();
        Ok(BucketAddress {
            scheme: Scheme::Folder,
            bucket: String::new(),
            key,
        })
    }

    /// The address of an object below this one.
    pub fn join(&self, name: &str) -> BucketAddress {
        let key = if self.key.is_empty() {
            name.to_string()
        } else {
            format!("{}/{name}", self.key)
        };
        BucketAddress {
            key,
            ..self.clone()
        }
    }

    /// The last part of the key.
    pub fn name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or_default()
    }

    /// The address of the folder that contains it.
    pub fn parent(&self) -> BucketAddress {
        let key = self.key.rsplit_once('/').map_or("", |(parent, _)| parent);
        BucketAddress {
            key: key.to_string(),
            ..self.clone()
        }
    }

    /// The path, if it is a folder of this machine.
    pub fn local_path(&self) -> Option<PathBuf> {
        let slash = if without_drive(&self.key) == self.key {
            "/"
        } else {
            ""
        };
        (self.scheme == Scheme::Folder).then(|| PathBuf::from(format!("{slash}{}", self.key)))
    }
}

/// The key of a folder without the drive that it begins with on Windows: `C:/`.
fn without_drive(key: &str) -> &str {
    match key.get(1..).and_then(|rest| rest.strip_prefix(":/")) {
        Some(rest) if cfg!(windows) => rest,
        _ => key,
    }
}

/// The maximum length of a part of a key, in bytes: that of a file's name.
const MAX_PART: usize = 255;
/// The maximum length of a key, in bytes: with the folder of the copies, it must be a path.
const MAX_KEY: usize = 2048;

/// Whether a key can be used as a relative path: it has no `..`, no empty or long parts and no control
/// characters, nor those that the platform forbids in names.
pub(super) fn is_plain_key(key: &str) -> bool {
    let is_forbidden = |one: char| one == '\\' || (cfg!(windows) && "<>:\"|?*".contains(one));
    let is_plain = |part: &str| {
        (1..=MAX_PART).contains(&part.len())
            && !part
                .chars()
                .any(|one| one.is_control() || is_forbidden(one))
            && {
                let mut parts = Path::new(part).components();
                matches!(
                    (parts.next(), parts.next()),
                    (Some(Component::Normal(_)), None)
                )
            }
    };
    key.len() <= MAX_KEY && key.split('/').all(is_plain)
}

impl fmt::Display for BucketAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.key.is_empty() { "" } else { "/" };
        write!(
            out,
            "{}://{}{slash}{}",
            self.scheme.name(),
            self.bucket,
            self.key
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in [
            "gs://b/evals/x.evalset.json",
            "s3://my-bucket",
            "az://c/a b",
            "file:///tmp/x",
        ] {
            assert!(is_bucket_address(text), "{text}");
            assert_eq!(BucketAddress::parse(text).unwrap().to_string(), text);
        }
        let address = BucketAddress::parse("gs://b/evals/").unwrap();
        assert_eq!(
            (address.bucket.as_str(), address.key.as_str()),
            ("b", "evals")
        );
        assert_eq!(address.join("x.json").to_string(), "gs://b/evals/x.json");
        assert_eq!(address.join("x.json").parent(), address);
        assert!(
            !is_bucket_address("http://x/y")
                && !is_bucket_address("C:\\x")
                && !is_bucket_address("x")
        );
    }

    #[test]
    fn parts_of_keys_are_names_of_files() {
        let part = |length: usize| "x".repeat(length);
        let key = |length: usize| [part(MAX_PART), part(length - MAX_PART - 1)].join("/");
        assert!(is_plain_key("a") && is_plain_key(&part(MAX_PART)) && is_plain_key(".a/..b/c"));
        assert!(!is_plain_key("") && !is_plain_key(&part(MAX_PART + 1)));
        assert!(is_plain_key(&key(2 * MAX_PART)));
        let longest = vec![key(2 * MAX_PART); 4].join("/");
        let longest = format!("{longest}/{}", part(MAX_KEY - longest.len() - 1));
        assert!(is_plain_key(&longest) && !is_plain_key(&format!("{longest}x")));
        #[cfg(unix)]
        assert!(
            is_plain_key("a:b?"),
            "only Windows forbids these characters"
        );
        assert!(!is_plain_key("a\\b"));
    }

    #[test]
    fn the_parts_of_an_address() {
        let address = BucketAddress::parse("az://c/evals/x.json").unwrap();
        assert_eq!(
            (address.name(), address.parent().to_string()),
            ("x.json", "az://c/evals".to_string())
        );
        assert_eq!(
            (
                address.local_path(),
                address.parent().parent().parent().key.as_str()
            ),
            (None, "")
        );
        assert_eq!(
            BucketAddress::parse("file:///a/b/").unwrap().local_path(),
            Some(PathBuf::from("/a/b"))
        );
        assert!(
            BucketAddress::parse("gs://.b/x").is_err()
                && BucketAddress::parse("gs://b.c_d-1/x").is_ok()
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_address_of_a_folder_has_no_parents() {
        let folder = tempfile::tempdir().unwrap();
        let real = dunce::canonicalize(folder.path()).unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        std::os::unix::fs::symlink(real.join("a/b"), real.join("link")).unwrap();
        let key = |path: &str| {
            BucketAddress::of_folder(&real.join(path))
                .unwrap()
                .local_path()
                .unwrap()
        };
        assert_eq!(key("a/../new"), real.join("new"));
        assert_eq!(
            key("link/../new"),
            real.join("a/new"),
            "as the system resolves it"
        );
        assert_eq!(key("gone/../new/./x"), real.join("new/x"));
        assert_eq!(
            key("link"),
            real.join("link"),
            "a path without them is not resolved"
        );
    }

    #[test]
    fn unsafe_bucket_addresses_are_refused() {
        for text in [
            "gs://",
            "gs:///x",
            "gs://b/../c",
            "gs://b/a//b",
            "gs://b/a\nb",
            "gs://../x",
            "file://x",
            "gs://b/a\\..\\b",
        ] {
            assert!(BucketAddress::parse(text).is_err(), "{text}");
        }
    }
}
