//! Updates the copies of a bucket: what the store changed since it was fetched is fetched again.

use super::copy_error::CopyError;
use super::copy_files::IncomingFiles;
use super::locked_copies::Copies;
use super::wanted_objects::{check_sizes, wanted_objects};
use crate::buckets::{Bucket, BucketAddress, BucketError, LeftOut, Listing, StoredObject};
use std::collections::HashSet;

/// The progress of a copy: the objects that were fetched, and all that are fetched.
pub type OnFetched<'a> = &'a mut dyn FnMut(usize, usize);

impl Copies {
    /// Updates the copy of an object, and of those beside it.
    pub(super) fn update_file(
        &mut self,
        address: &BucketAddress,
        object: StoredObject,
        beside: &[String],
        on_fetched: OnFetched,
    ) -> Result<LeftOut, CopyError> {
        let folder = Bucket::open_to_read(&address.parent())?;
        let mut wanted = vec![StoredObject {
            name: address.name().to_string(),
            ..object
        }];
        for name in beside {
            match folder.object(name)? {
                Some(object) => wanted.push(object),
                None => self.forget(&address.parent().join(name).key)?,
            }
        }
        check_sizes(folder.address(), &wanted)?;
        self.fetch(&folder, &wanted, on_fetched)
    }

    /// Updates the copies of a folder, in which these objects were found.
    pub(super) fn update(
        &mut self,
        bucket: &Bucket,
        found: Listing,
        on_fetched: OnFetched,
    ) -> Result<LeftOut, CopyError> {
        let Listing {
            objects: found,
            mut left_out,
        } = found;
        let address = bucket.address();
        let wanted = wanted_objects(address, found, &mut left_out)?;
        check_sizes(address, &wanted)?;
        let there: HashSet<String> = wanted
            .iter()
            .map(|object| address.join(&object.name).key)
            .collect();
        let prefix = if address.key.is_empty() {
            String::new()
        } else {
            format!("{}/", address.key)
        };
        let gone: Vec<String> = self
            .versions
            .keys()
            .filter(|key| key.starts_with(&prefix) && !there.contains(*key))
            .cloned()
            .collect();
        gone.iter().try_for_each(|key| self.forget(key))?;
        left_out.extend(self.fetch(bucket, &wanted, on_fetched)?);
        Ok(left_out)
    }

    /// Fetches the objects that changed. Returns those that cannot be files here.
    fn fetch(
        &mut self,
        bucket: &Bucket,
        wanted: &[StoredObject],
        on_fetched: OnFetched,
    ) -> Result<LeftOut, CopyError> {
        let key_of = |name: &str| bucket.address().join(name).key;
        let is_stale = |object: &&StoredObject| {
            let key = key_of(&object.name);
            self.versions.get(&key) != Some(&object.etag) || !self.path_of(&key).is_file()
        };
        let stale: Vec<StoredObject> = wanted.iter().filter(is_stale).cloned().collect();
        if stale.is_empty() {
            return self.save().map(|()| LeftOut::default());
        }
        let (mut done, mut failed, mut arriving) = (0, None, IncomingFiles::default());
        let fetched = bucket.read_all(&stale, |name, part| {
            let key = key_of(name);
            let path = self.path_of(&key);
            let etag = part.etag.clone();
            match arriving.take(name, &path, part) {
                Ok(true) => {
                    self.versions.extend(etag.map(|etag| (key, etag)));
                    done += 1;
                    on_fetched(done, stale.len());
                }
                Ok(false) => {}
                Err(source) => {
                    let path = path.display().to_string();
                    let told = BucketError::Other(format!("{path}: {source}"));
                    failed = Some(CopyError::Cache { path, source });
                    return Err(told);
                }
            }
            Ok(())
        });
        let saved = self.save();
        if let Some(failed) = failed {
            return Err(failed);
        }
        fetched?;
        saved.map(|()| arriving.left_out)
    }
}
