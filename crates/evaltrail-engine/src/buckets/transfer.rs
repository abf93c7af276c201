//! Reading of objects in parts, so that the memory does not depend on what a store sends.

use super::address::BucketAddress;
use super::connection::SILENT_FOR;
use super::errors::{BucketError, bucket_error};
use super::object::{etag_of, key_of};
use super::stores::Store;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::mpsc::SyncSender;

/// The number of objects that are read at the same time.
const AT_ONCE: usize = 16;
/// The size of an object in bytes from which it is read alone.
const LARGE: u64 = 16 << 20;
/// The size of a part of an object, in bytes; a piece that the store sends is never split.
const PART: usize = 256 << 10;

/// A part of an object that is read.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectPart {
    /// The next bytes of the object.
    pub bytes: Vec<u8>,
    /// The version of the object, if this is its last part.
    pub etag: Option<String>,
}

/// Makes the error for an object that has too many bytes.
type ObjectTooLarge<'a> = &'a (dyn Fn() -> BucketError + Sync);

/// An object that is being read, up to a number of bytes.
struct ObjectDownload<'a> {
    address: &'a BucketAddress,
    pieces: BoxStream<'static, object_store::Result<Bytes>>,
    etag: String,
    left: u64,
}

impl<'a> ObjectDownload<'a> {
    /// Begins to read an object of at most `largest` bytes; `too_large` makes the error for others.
    async fn begin(
        store: &dyn ObjectStore,
        address: &'a BucketAddress,
        largest: u64,
        too_large: ObjectTooLarge<'_>,
    ) -> Result<ObjectDownload<'a>, BucketError> {
        let object = store
            .get(&key_of(address)?)
            .await
            .map_err(|error| bucket_error(address, &error))?;
        if object.meta.size > largest {
            return Err(too_large());
        }
        let etag = etag_of(&object.meta);
        Ok(ObjectDownload {
            address,
            pieces: object.into_stream(),
            etag,
            left: largest,
        })
    }

    /// The next bytes; `None` at the end.
    async fn next(&mut self, too_large: ObjectTooLarge<'_>) -> Result<Option<Bytes>, BucketError> {
        let silent = |_| {
            let why = format!(
                "{}: no more bytes within {} s",
                self.address,
                SILENT_FOR.as_secs()
            );
            BucketError::Other(why)
        };
        let piece = match tokio::time::timeout(SILENT_FOR, self.pieces.next())
            .await
            .map_err(silent)?
        {
            None => return Ok(None),
            Some(piece) => piece.map_err(|error| bucket_error(self.address, &error))?,
        };
        self.left = self
            .left
            .checked_sub(piece.len() as u64)
            .ok_or_else(too_large)?;
        Ok(Some(piece))
    }
}

/// Reads an object of at most `largest` bytes, and its version.
pub(super) async fn read(
    store: &dyn ObjectStore,
    address: &BucketAddress,
    largest: u64,
) -> Result<(Vec<u8>, String), BucketError> {
    let too_large = || match largest >> 20 {
        0 => BucketError::TooLarge(format!("{address}: it has more than {} kB", largest >> 10)),
        mega => BucketError::TooLarge(format!("{address}: it has more than {mega} MB")),
    };
    let mut reading = ObjectDownload::begin(store, address, largest, &too_large).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = reading.next(&too_large).await? {
        bytes.extend_from_slice(&piece);
    }
    Ok((bytes, reading.etag))
}

/// The parts of objects with their names, in the order in which they arrive.
pub(super) type Arrived = (String, Result<ObjectPart, BucketError>);

/// Reads objects, each with its name, its address and the size that the store's listing named, and sends their parts.
/// Ends when nobody receives them.
pub(super) async fn read_parts(
    store: Store,
    objects: Vec<(String, BucketAddress, u64)>,
    sender: SyncSender<Arrived>,
) {
    let (large, small): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|(_, _, size)| *size >= LARGE);
    let each = |(name, address, size): (String, BucketAddress, u64)| {
        let (store, sender) = (store.clone(), sender.clone());
        async move {
            let read = send_parts(&*store.objects, &name, &address, size, &sender).await;
            read.or_else(|error| send(&sender, (name, Err(error))))
        }
    };
    let small = futures_util::stream::iter(small.into_iter().map(&each)).buffer_unordered(AT_ONCE);
    let large = futures_util::stream::iter(large.into_iter().map(&each)).buffer_unordered(1);
    let mut reading = std::pin::pin!(small.chain(large));
    while let Some(Ok(())) = reading.next().await {}
}

/// Reads an object and sends its parts.
async fn send_parts(
    store: &dyn ObjectStore,
    name: &str,
    address: &BucketAddress,
    size: u64,
    sender: &SyncSender<Arrived>,
) -> Result<(), BucketError> {
    let too_large = || {
        let why = format!(
            "{address}: it has more than the {size} bytes that the list of the store names; if it was just changed, try again"
        );
        BucketError::TooLarge(why)
    };
    let mut reading = ObjectDownload::begin(store, address, size, &too_large).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = reading.next(&too_large).await? {
        bytes.extend_from_slice(&piece);
        if bytes.len() >= PART {
            let part = ObjectPart {
                bytes: std::mem::take(&mut bytes),
                etag: None,
            };
            send(sender, (name.to_string(), Ok(part)))?;
        }
    }
    send(
        sender,
        (
            name.to_string(),
            Ok(ObjectPart {
                bytes,
                etag: Some(reading.etag),
            }),
        ),
    )
}

/// Sends a part, and waits until it is taken if others wait. Errors: nobody receives it.
fn send(sender: &SyncSender<Arrived>, arrived: Arrived) -> Result<(), BucketError> {
    let sent = tokio::task::block_in_place(|| sender.send(arrived));
    sent.map_err(|_| BucketError::Other("nobody receives the parts".into()))
}
