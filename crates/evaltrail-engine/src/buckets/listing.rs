//! Listings of objects. Keys, sizes and numbers of pages are claims of a store: a key that cannot be the path of a file is
//! left out, counted and named, and a listing that does not end is an error.

use super::address::BucketAddress;
use super::left_out::LeftOut;
use super::stores::Store;
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::path::Error as PathError;
use object_store::{Error, ObjectMeta, ObjectStore};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The maximum number of objects below a prefix.
pub(super) const MAX_OBJECTS: usize = 200_000;
/// The maximum number of pages of a listing. A page has up to 1,000 objects, and may have none.
const MAX_PAGES: usize = 2_000;
/// The pages of a listing that may still come.
#[derive(Debug)]
pub(super) struct Pages {
    left: usize,
    before: Option<String>,
}

impl Pages {
    pub(super) fn new() -> Pages {
        Pages::with_limit(MAX_PAGES)
    }

    pub(super) fn with_limit(most: usize) -> Pages {
        Pages {
            left: most,
            before: None,
        }
    }

    /// The token of the next page, if there is one. The error, a message, is that the listing does not end.
    pub(super) fn next(&mut self, token: Option<String>) -> Result<Option<String>, String> {
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            return Ok(None);
        };
        if self.before.as_ref() == Some(&token) {
            return Err("the store answers with the same page again and again".into());
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return Err("the store answers with more and more pages".into());
        }
        self.before = Some(token.clone());
        Ok(Some(token))
    }
}

/// Why objects could not be listed.
pub(super) enum ListingError {
    Store(Error),
    /// There is always another page. Contains the message.
    Endless(String),
    /// There are more objects than the limit.
    TooMany,
}

impl From<Error> for ListingError {
    fn from(error: Error) -> ListingError {
        ListingError::Store(error)
    }
}

impl Store {
    /// The objects below an address, and the keys that are left out.
    pub(super) async fn list(
        &self,
        address: &BucketAddress,
    ) -> Result<(Vec<ObjectMeta>, LeftOut), ListingError> {
        let (mut objects, mut left_out) = (Vec::new(), LeftOut::default());
        let Some(store) = &self.pages else {
            let found = files_below(self.objects.clone(), address)?;
            return if found.0.len() > MAX_OBJECTS {
                Err(ListingError::TooMany)
            } else {
                Ok(found)
            };
        };
        let (mut pages, mut token) = (Pages::new(), None);
        loop {
            let mut page = page(&**store, address, token, false).await?;
            if let Some(odd) = page.result.extensions.remove() {
                left_out.extend(odd);
            }
            objects.extend(page.result.objects);
            if objects.len() > MAX_OBJECTS {
                return Err(ListingError::TooMany);
            }
            token = pages.next(page.page_token).map_err(ListingError::Endless)?;
            if token.is_none() {
                return Ok((objects, left_out));
            }
        }
    }

    /// The names of the folders directly below an address, and the keys that are left out.
    pub(super) async fn folders(
        &self,
        address: &BucketAddress,
    ) -> Result<(Vec<String>, LeftOut), ListingError> {
        let Some(store) = &self.pages else {
            let below = folders_below(&address.local_path().unwrap_or_default());
            return Ok(below.map_err(|error| Error::Generic {
                store: "folder",
                source: Box::new(error),
            })?);
        };
        let (mut pages, mut token) = (Pages::new(), None);
        let (mut folders, mut left_out) = (Vec::new(), LeftOut::default());
        loop {
            let mut page = page(&**store, address, token, true).await?;
            if let Some(odd) = page.result.extensions.remove() {
                left_out.extend(odd);
            }
            let names = page
                .result
                .common_prefixes
                .iter()
                .filter_map(|folder| Some(folder.filename()?.to_string()));
            folders.extend(names);
            if folders.len() > MAX_OBJECTS {
                return Err(ListingError::TooMany);
            }
            token = pages.next(page.page_token).map_err(ListingError::Endless)?;
            if token.is_none() {
                folders.sort();
                folders.dedup();
                return Ok((folders, left_out));
            }
        }
    }

    /// Requests the first page of the listing of an address.
    pub(super) async fn list_some(&self, address: &BucketAddress) -> Result<(), Error> {
        match &self.pages {
            Some(store) => page(&**store, address, None, false).await.map(drop),
            None => Ok(()),
        }
    }
}

pub(crate) async fn page(
    store: &dyn PaginatedListStore,
    address: &BucketAddress,
    page_token: Option<String>,
    is_flat: bool,
) -> Result<PaginatedListResult, Error> {
    let prefix = (!address.key.is_empty()).then(|| format!("{}/", address.key));
    let delimiter = is_flat.then(|| "/".into());
    let options = PaginatedListOptions {
        delimiter,
        page_token,
        ..PaginatedListOptions::default()
    };
    store.list_paginated(prefix.as_deref(), options).await
}

/// The names of the folders in a folder of this machine, none if it does not exist, and those that are left out.
fn folders_below(folder: &Path) -> io::Result<(Vec<String>, LeftOut)> {
    let (mut names, mut left_out) = (Vec::new(), LeftOut::default());
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((names, left_out)),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.path().is_dir() {
            match entry.file_name().into_string() {
                Ok(name) => names.push(name),
                Err(name) => left_out.add(&name.to_string_lossy()),
            }
        }
    }
    names.sort();
    Ok((names, left_out))
}

/// The files below a folder of this machine, and those that are left out.
fn files_below(
    store: Arc<dyn ObjectStore>,
    folder: &BucketAddress,
) -> Result<(Vec<ObjectMeta>, LeftOut), Error> {
    let prefix = object_store::path::Path::parse(&folder.key)?;
    // Without a runtime, the files come at once, and those after one with an odd name, too.
    let listed = std::thread::spawn(move || {
        use futures_util::{FutureExt, StreamExt};
        let (mut files, mut left_out) = (Vec::new(), LeftOut::default());
        let mut found = store.list(Some(&prefix));
        while let Some(Some(file)) = found.next().now_or_never() {
            match file {
                Ok(file) => files.push(file),
                Err(Error::InvalidPath { source }) => left_out.add(&odd_path(&source)),
                Err(error) => return Err(error),
            }
            if files.len() > MAX_OBJECTS {
                break;
            }
        }
        Ok((files, left_out))
    });
    listed
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn odd_path(error: &PathError) -> String {
    match error {
        PathError::EmptySegment { path }
        | PathError::BadSegment { path, .. }
        | PathError::NonUnicode { path, .. } => path.clone(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_that_does_not_end_is_an_error() {
        let mut pages = Pages::new();
        assert_eq!(pages.next(None), Ok(None));
        assert_eq!(pages.next(Some("a".into())), Ok(Some("a".into())));
        assert!(
            pages
                .next(Some("a".into()))
                .unwrap_err()
                .contains("same page")
        );
        let failed =
            (0..MAX_PAGES + 1).find_map(|number| pages.next(Some(number.to_string())).err());
        assert!(failed.unwrap().contains("more and more pages"));
    }

    #[tokio::test]
    async fn more_folders_than_limit_are_an_error() {
        use object_store::ListResult;
        struct StoreOfFolders(usize);
        #[async_trait::async_trait]
        impl PaginatedListStore for StoreOfFolders {
            async fn list_paginated(
                &self,
                _prefix: Option<&str>,
                _options: PaginatedListOptions,
            ) -> Result<PaginatedListResult, Error> {
                let result = ListResult {
                    common_prefixes: vec!["folder".into(); self.0],
                    objects: Vec::new(),
                    extensions: Default::default(),
                };
                Ok(PaginatedListResult {
                    result,
                    page_token: None,
                })
            }
        }
        let address = BucketAddress::parse("gs://b").unwrap();
        let found = async |count: usize| {
            let store = Store {
                objects: Arc::new(object_store::local::LocalFileSystem::new()),
                pages: Some(Arc::new(StoreOfFolders(count))),
            };
            store.folders(&address).await.map(|(names, _)| names)
        };
        assert!(
            found(MAX_OBJECTS)
                .await
                .is_ok_and(|names| names == ["folder"])
        );
        let error = found(MAX_OBJECTS + 1).await.unwrap_err();
        assert!(matches!(error, ListingError::TooMany));
    }

    #[cfg(unix)]
    #[test]
    fn files_with_odd_names_do_not_hide_others() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.json", "b\nc.json", "z.json"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let address =
            BucketAddress::of_folder(&dunce::canonicalize(folder.path()).unwrap()).unwrap();
        let store: Arc<dyn ObjectStore> = Arc::new(object_store::local::LocalFileSystem::new());
        let (files, left_out) = files_below(store, &address).unwrap();
        let mut names: Vec<_> = files
            .iter()
            .filter_map(|file| file.location.filename())
            .collect();
        names.sort_unstable();
        assert_eq!((names, left_out.count), (vec!["a.json", "z.json"], 1));
        assert!(left_out.names[0].ends_with("b\nc.json"), "{left_out}");
    }

    #[test]
    fn missing_folder_and_file_have_no_folders() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("b/c")).unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("file"), "x").unwrap();
        let names = |name: &str| folders_below(&folder.path().join(name)).map(|(names, _)| names);
        assert_eq!(names("").unwrap(), ["a", "b"]);
        assert_eq!(names("none").unwrap(), Vec::<String>::new());
        assert!(names("file").is_err());
    }
}
