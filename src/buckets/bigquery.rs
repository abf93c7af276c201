//! Tables of BigQuery: rows as JSON, read page by page and appended in batches.

use super::client::blocking;
use super::errors::BucketError;
use super::listing::Pages;
use crate::net::http::{self, BodyError};
use reqwest::{Client, Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};
use std::fmt;
use std::time::Duration;
use url::Url;

/// The address of a table: `bq://project.dataset.table`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableAddress {
    /// The project.
    pub project: String,
    /// The data set.
    pub dataset: String,
    /// The table.
    pub table: String,
}

/// Requests to a table.
#[derive(Clone, Debug)]
pub struct BigQueryTable {
    address: TableAddress,
    base: Url,
    client: Client,
    token: Option<String>,
}

/// The variables that may contain an access token, as `gcloud auth print-access-token` prints it.
const TOKENS: [&str; 2] = ["CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN"];
/// The variable that Google's libraries take the address of an emulator from.
const EMULATOR: &str = "BIGQUERY_EMULATOR_HOST";
/// The number of rows of a page.
const PAGE: usize = 5_000;
/// The maximum number of pages. BigQuery ends a page at some 10 MB.
const MOST_PAGES: usize = 20_000;
/// The maximum size of a page, and of other replies, in bytes.
const LARGEST_REPLY: usize = 256 << 20;
/// The number of rows of a batch that is appended.
const BATCH: usize = 500;
/// The time limit of a request.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// How often a batch is tried: a table that was just created is not known everywhere at once.
const TRIES: u32 = 5;

/// Whether a text is meant as the address of a table.
pub fn is_table_address(text: &str) -> bool {
    text.starts_with("bq://")
}

impl TableAddress {
    /// Parses an address. The error is a message.
    pub fn parse(text: &str) -> Result<TableAddress, String> {
        let is_name = |name: &&str| {
            !name.is_empty() && name.chars().all(|one| one.is_alphanumeric() || "_-:$".contains(one))
        };
        let parts: Vec<&str> = text.strip_prefix("bq://").unwrap_or_default().split('.').collect();
        match parts.as_slice() {
            [project, dataset, table] if parts.iter().all(is_name) => Ok(TableAddress {
                project: project.to_string(),
                dataset: dataset.to_string(),
                table: table.to_string(),
            }),
            _ => Err(format!("{text}: a table is named bq://PROJECT.DATASET.TABLE")),
        }
    }
}

impl fmt::Display for TableAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "bq://{}.{}.{}", self.project, self.dataset, self.table)
    }
}

/// What BigQuery says about a table.
#[derive(Debug, Deserialize)]
struct About {
    #[serde(default)]
    etag: String,
    #[serde(default)]
    schema: Schema,
}

#[derive(Debug, Default, Deserialize)]
struct Schema {
    #[serde(default)]
    fields: Vec<Column>,
}

#[derive(Debug, Deserialize)]
struct Column {
    name: String,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    mode: String,
    #[serde(default)]
    fields: Vec<Column>,
}

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    rows: Vec<Cells>,
    #[serde(rename = "pageToken", default)]
    next: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Cells {
    #[serde(default)]
    f: Vec<Cell>,
}

#[derive(Debug, Deserialize)]
struct Cell {
    #[serde(default)]
    v: Value,
}

impl BigQueryTable {
    /// Prepares requests to a table; nothing is sent. Errors: for example that there is no token.
    pub fn open(address: &TableAddress) -> Result<BigQueryTable, BucketError> {
        let told = |why: String| BucketError::Other(format!("{address}: {why}"));
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let token = TOKENS.iter().find_map(|name| variable(name));
        let emulator = variable(EMULATOR).map(|host| match host.contains("://") {
            true => host,
            false => format!("http://{host}"),
        });
        let base = emulator.as_deref().unwrap_or("https://bigquery.googleapis.com");
        let base = Url::parse(base).map_err(|error| told(format!("{EMULATOR}: {error}")))?;
        if token.is_none() && !http::is_loopback(&base) {
            return Err(told(
                "no token for BigQuery: export CLOUDSDK_AUTH_ACCESS_TOKEN=\"$(gcloud auth print-access-token)\"".into(),
            ));
        }
        let client = http::client(&base).map_err(told)?;
        Ok(BigQueryTable { address: address.clone(), base, client, token })
    }

    /// The version of the table's content.
    pub fn version(&self) -> Result<String, BucketError> {
        let table = self.clone();
        self.wait_for(async move { Ok(table.about().await?.etag) })
    }

    /// Reads all rows as lines of JSON, of at most `largest` bytes together, and the version that they have.
    pub fn read(&self, largest: usize) -> Result<(Vec<u8>, String), BucketError> {
        let table = self.clone();
        self.wait_for(async move {
            let about = table.about().await?;
            let (mut lines, mut next, mut pages) = (Vec::new(), None::<String>, Pages::of(MOST_PAGES));
            loop {
                let mut query = vec![("maxResults", PAGE.to_string())];
                query.extend(next.take().map(|token| ("pageToken", token)));
                let page: Page = table.get("/data", &query).await?;
                for row in page.rows {
                    lines.extend(record(&about.schema.fields, row).to_string().into_bytes());
                    lines.push(b'\n');
                }
                if lines.len() > largest {
                    let why = format!("{}: its rows have more than {} MB", table.address, largest >> 20);
                    return Err(BucketError::TooLarge(why));
                }
                next = pages.next(page.next).map_err(|why| table.other(why))?;
                if next.is_none() {
                    return Ok((lines, about.etag));
                }
            }
        })
    }

    /// Appends rows, which are objects. A table that does not exist is created with their columns: numbers as FLOAT, others
    /// as STRING.
    pub fn append(&self, rows: Vec<Map<String, Value>>) -> Result<(), BucketError> {
        let table = self.clone();
        self.wait_for(async move {
            table.create(&rows).await?;
            for (number, batch) in rows.chunks(BATCH).enumerate() {
                let appended = table.append_batch(batch).await;
                appended.map_err(|error| match number {
                    0 => error,
                    number => {
                        let (before, all) = (number * BATCH, rows.len());
                        BucketError::Other(format!("{error}; {before} of {all} rows were appended before"))
                    }
                })?;
            }
            Ok(())
        })
    }

    fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, BucketError>> + Send + 'static,
    ) -> Result<T, BucketError> {
        blocking(&self.address.to_string(), work)
    }

    fn other(&self, why: String) -> BucketError {
        BucketError::Other(format!("{}: {why}", self.address))
    }

    async fn about(&self) -> Result<About, BucketError> {
        self.get("", &[]).await
    }

    /// Creates the table if it does not exist.
    async fn create(&self, rows: &[Map<String, Value>]) -> Result<(), BucketError> {
        let mut columns: Map<String, Value> = Map::new();
        for (name, value) in rows.iter().flatten() {
            let kind = if value.is_number() { "FLOAT" } else { "STRING" };
            let known = columns.entry(name.clone()).or_insert(Value::Null);
            if !value.is_null() && *known != "STRING" {
                *known = kind.into();
            }
        }
        let kind = |kind: &Value| if kind.is_null() { Value::from("STRING") } else { kind.clone() };
        let fields: Vec<Value> = columns
            .iter()
            .map(|(name, of)| json!({"name": name, "type": kind(of), "mode": "NULLABLE"}))
            .collect();
        let TableAddress { project, dataset, table } = &self.address;
        let reference = json!({"projectId": project, "datasetId": dataset, "tableId": table});
        let body = json!({"tableReference": reference, "schema": {"fields": fields}});
        let tables = self.url(&["projects", project, "datasets", dataset, "tables"])?;
        match self.send(Method::POST, tables, Some(&body)).await? {
            (StatusCode::CONFLICT, _) => Ok(()),
            (status, _) if status.is_success() => Ok(()),
            (status, text) => Err(self.refused(status, &text)),
        }
    }

    async fn append_batch(&self, rows: &[Map<String, Value>]) -> Result<(), BucketError> {
        let rows: Vec<Value> = rows.iter().map(|row| json!({"json": row})).collect();
        let body = json!({"kind": "bigquery#tableDataInsertAllRequest", "rows": rows});
        let url = self.of_table("/insertAll")?;
        for number in 1.. {
            match self.send(Method::POST, url.clone(), Some(&body)).await? {
                (StatusCode::NOT_FOUND, _) if number < TRIES => {
                    tokio::time::sleep(Duration::from_secs(u64::from(number))).await;
                }
                (status, text) if status.is_success() => {
                    let reply: Value = serde_json::from_str(&text).unwrap_or_default();
                    return match reply["insertErrors"].as_array().and_then(|errors| errors.first()) {
                        None => Ok(()),
                        Some(error) => {
                            let why = &error["errors"][0]["message"];
                            let why = why.as_str().unwrap_or("a row was refused");
                            Err(BucketError::Other(format!("{}: {why}", self.address)))
                        }
                    };
                }
                (status, text) => return Err(self.refused(status, &text)),
            }
        }
        Ok(())
    }

    async fn get<T: for<'de> Deserialize<'de>>(
        &self,
        rest: &str,
        query: &[(&str, String)],
    ) -> Result<T, BucketError> {
        let mut url = self.of_table(rest)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        match self.send(Method::GET, url, None).await? {
            (StatusCode::NOT_FOUND, _) => Err(BucketError::Missing(self.address.to_string())),
            (status, text) if status.is_success() => serde_json::from_str(&text)
                .map_err(|error| BucketError::Other(format!("{}: an invalid reply: {error}", self.address))),
            (status, text) => Err(self.refused(status, &text)),
        }
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<(StatusCode, String), BucketError> {
        let told = |why: String| self.other(why);
        let mut request = self.client.request(method, url).timeout(ANSWERS_WITHIN);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| told(http::chain(http::cause(&error))))?;
        let status = response.status();
        if let Some(host) = http::redirect_host(status, response.headers()) {
            let why = format!(
                "the answer redirects to {host}; evaltrail does not follow redirects, so that keys are sent only to the given \
                 address"
            );
            return Err(told(why));
        }
        match http::text(response, LARGEST_REPLY).await {
            Ok(text) => Ok((status, text)),
            Err(BodyError::Broken(error)) => Err(told(http::chain(http::cause(&error)))),
            Err(BodyError::TooLong) => Err(told(format!("a reply has more than {} MB", LARGEST_REPLY >> 20))),
        }
    }

    fn of_table(&self, rest: &str) -> Result<Url, BucketError> {
        let TableAddress { project, dataset, table } = &self.address;
        let mut parts = vec!["projects", project, "datasets", dataset, "tables", table];
        parts.extend(rest.strip_prefix('/'));
        self.url(&parts)
    }

    fn url(&self, parts: &[&str]) -> Result<Url, BucketError> {
        let mut url = self.base.clone();
        let invalid = || BucketError::Other(format!("{}: {EMULATOR} is no address", self.address));
        url.path_segments_mut()
            .map_err(|()| invalid())?
            .pop_if_empty()
            .extend(["bigquery", "v2"])
            .extend(parts);
        Ok(url)
    }

    fn refused(&self, status: StatusCode, text: &str) -> BucketError {
        let reply: Value = serde_json::from_str(text).unwrap_or_default();
        let why = reply["error"]["message"].as_str().unwrap_or(text).chars().take(500).collect::<String>();
        BucketError::Other(format!("{}: BigQuery replied {status}: {why}", self.address))
    }
}

/// A row as an object.
fn record(columns: &[Column], row: Cells) -> Value {
    let cells = columns.iter().zip(row.f);
    Value::Object(cells.map(|(column, cell)| (column.name.clone(), cell_value(column, cell.v))).collect())
}

/// The value of a cell, which BigQuery writes as a text.
fn cell_value(column: &Column, value: Value) -> Value {
    if column.mode == "REPEATED" {
        let Value::Array(items) = value else { return Value::Array(Vec::new()) };
        let each = |item: Value| scalar(column, item.get("v").cloned().unwrap_or(item));
        return Value::Array(items.into_iter().map(each).collect());
    }
    scalar(column, value)
}

fn scalar(column: &Column, value: Value) -> Value {
    if matches!(column.kind.as_str(), "RECORD" | "STRUCT") {
        return match value.is_null() {
            true => Value::Null,
            false => record(&column.fields, serde_json::from_value(value).unwrap_or_default()),
        };
    }
    let Value::String(text) = value else { return value };
    match column.kind.as_str() {
        "INTEGER" | "INT64" | "FLOAT" | "FLOAT64" | "NUMERIC" | "BIGNUMERIC" => {
            serde_json::from_str::<Number>(&text).map_or(Value::String(text), Value::Number)
        }
        "BOOLEAN" | "BOOL" => Value::Bool(text == "true"),
        "JSON" => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        _ => Value::String(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_tables() {
        let address = TableAddress::parse("bq://my-project.evals.answers_2").unwrap();
        assert_eq!(address.to_string(), "bq://my-project.evals.answers_2");
        for text in ["bq://a.b", "bq://a.b.c.d", "bq://a..c", "bq://a.b/c.d", "gs://a.b.c"] {
            assert!(TableAddress::parse(text).unwrap_err().contains("bq://PROJECT.DATASET.TABLE"), "{text}");
        }
    }

    #[test]
    fn cells_become_values_of_their_types() {
        let schema: Schema = serde_json::from_value(json!({"fields": [
            {"name": "text", "type": "STRING"}, {"name": "n", "type": "INTEGER"}, {"name": "x", "type": "FLOAT"},
            {"name": "nan", "type": "FLOAT"}, {"name": "ok", "type": "BOOLEAN"}, {"name": "none", "type": "STRING"},
            {"name": "tags", "type": "STRING", "mode": "REPEATED"}, {"name": "call", "type": "JSON"},
            {"name": "at", "type": "RECORD", "fields": [{"name": "lat", "type": "FLOAT"}]}]}))
        .unwrap();
        let row: Cells = serde_json::from_value(json!({"f": [{"v": "a"}, {"v": "9007199254740993"}, {"v": "0.5"}, {"v": "NaN"},
            {"v": "true"}, {"v": null}, {"v": [{"v": "p"}, {"v": "q"}]}, {"v": "{\"tool\": \"t\"}"}, {"v": {"f": [{"v": "1.5"}]}}]}))
        .unwrap();
        let expected = r#"{"text":"a","n":9007199254740993,"x":0.5,"nan":"NaN","ok":true,"none":null,"tags":["p","q"],"call":{"tool":"t"},"at":{"lat":1.5}}"#;
        assert_eq!(record(&schema.fields, row).to_string(), expected);
    }
}
