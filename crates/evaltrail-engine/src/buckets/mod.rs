//! Object stores: Google Cloud Storage (`gs://`), Amazon S3 and compatible ones (`s3://`), Azure Blob Storage (`az://`),
//! and folders as stores (`file://`); and tables of BigQuery (`bq://`). Nothing is contacted before credentials were found in the environment.

mod address;
mod bigquery;
mod client;
mod connection;
mod credentials;
mod errors;
mod left_out;
mod listing;
mod object;
mod odd_keys;
mod stores;
mod transfer;

pub use address::{BucketAddress, Scheme, is_bucket_address};
pub use bigquery::{BigQueryTable, TableAddress, is_table_address};
pub use client::{Bucket, Listing, StoredObject};
pub use errors::BucketError;
pub use left_out::LeftOut;
pub use transfer::ObjectPart;
