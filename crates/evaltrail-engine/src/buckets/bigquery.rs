//! Tables of BigQuery: rows as JSON, read page by page and appended in batches.

use super::client::blocking;
use super::errors::BucketError;
use super::listing::Pages;
use crate::net::http::{self, BodyError};
use evaltrail_core::domain::Secrets;
use evaltrail_core::formats::json::{ParseFailure, parse_within};
use reqwest::{Client, Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
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
const MAX_PAGES: usize = 20_000;
/// The maximum size of a page, and of other replies, in bytes.
const MAX_REPLY: usize = 64 << 20;
/// The maximum memory of the values of a reply, and of the texts of JSON in a row, in bytes.
const MAX_VALUES: usize = 256 << 20;
/// The number of rows of a batch that is appended.
const BATCH: usize = 500;
/// The time limit for the first answer.
const FIRST_WITHIN: Duration = Duration::from_secs(10);
/// The time limit for the headers of a later answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// The time limit for the body of an answer.
const BODY_WITHIN: Duration = Duration::from_secs(60);
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
            !name.is_empty()
                && name
                    .chars()
                    .all(|one| one.is_alphanumeric() || "_-:$".contains(one))
        };
        let parts: Vec<&str> = text
            .strip_prefix("bq://")
            .unwrap_or_default()
            .split('.')
            .collect();
        match parts.as_slice() {
            [project, dataset, table] if parts.iter().all(is_name) => Ok(TableAddress {
                project: project.to_string(),
                dataset: dataset.to_string(),
                table: table.to_string(),
            }),
            _ => Err(format!(
                "{text}: a table is named bq://PROJECT.DATASET.TABLE"
            )),
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
    fields: Vec<TableColumn>,
}

#[derive(Debug, Deserialize)]
struct TableColumn {
    name: String,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    mode: String,
    #[serde(default)]
    fields: Vec<TableColumn>,
}

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    rows: Vec<RowCells>,
    #[serde(rename = "pageToken", default)]
    next: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct RowCells {
    #[serde(default)]
    f: Vec<BigQueryCell>,
}

#[derive(Debug, Deserialize)]
struct BigQueryCell {
    #[serde(default)]
    v: Value,
}

impl BigQueryTable {
    /// Prepares requests to a table; nothing is sent. Errors: for example that there is no token.
    pub fn open(address: &TableAddress) -> Result<BigQueryTable, BucketError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        BigQueryTable::with(
            address,
            TOKENS.iter().find_map(|name| variable(name)),
            variable(EMULATOR),
        )
    }

    /// Prepares requests with a token, to Google's address or to an emulator.
    fn with(
        address: &TableAddress,
        token: Option<String>,
        emulator: Option<String>,
    ) -> Result<BigQueryTable, BucketError> {
        let told = |why: String| BucketError::Other(format!("{address}: {why}"));
        let emulator = emulator.map(|host| match host.contains("://") {
            true => host,
            false => format!("http://{host}"),
        });
        let base = emulator
            .as_deref()
            .unwrap_or("https://bigquery.googleapis.com");
        let base = Url::parse(base).map_err(|error| told(format!("{EMULATOR}: {error}")))?;
        if token.is_none() && !http::is_loopback(&base) {
            return Err(told(
                "no token for BigQuery: export CLOUDSDK_AUTH_ACCESS_TOKEN=\"$(gcloud auth print-access-token)\"".into(),
            ));
        }
        let client = http::client(&base).map_err(told)?;
        Ok(BigQueryTable {
            address: address.clone(),
            base,
            client,
            token,
        })
    }

    /// The version of the table's content.
    pub fn version(&self) -> Result<String, BucketError> {
        let table = self.clone();
        self.wait_for(async move { Ok(table.about().await?.etag) })
    }

    /// Reads all rows as lines of JSON, of at most `largest` bytes together, and returns the version that they have. `take` is
    /// given the lines of each page.
    pub fn read(
        &self,
        largest: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), BucketError>,
    ) -> Result<String, BucketError> {
        let table = self.clone();
        let about = Arc::new(self.wait_for(async move { table.about().await })?);
        let (mut size, mut next, mut pages) = (0, None::<String>, Pages::with_limit(MAX_PAGES));
        loop {
            let (table, schema, token) = (self.clone(), about.clone(), next.take());
            let (lines, token) =
                self.wait_for(async move { table.page(&schema.schema, token).await })?;
            size += lines.len() as u64;
            if size > largest {
                let why = format!(
                    "{}: its rows have more than {} MB",
                    self.address,
                    largest >> 20
                );
                return Err(BucketError::TooLarge(why));
            }
            take(&lines)?;
            next = pages.next(token).map_err(|why| self.other(why))?;
            if next.is_none() {
                return Ok(about.etag.clone());
            }
        }
    }

    /// The lines of a page, and the token of the next one.
    async fn page(
        &self,
        schema: &Schema,
        token: Option<String>,
    ) -> Result<(Vec<u8>, Option<String>), BucketError> {
        let mut query = vec![("maxResults", PAGE.to_string())];
        query.extend(token.map(|token| ("pageToken", token)));
        let page: Page = self.get("/data", &query, ANSWERS_WITHIN).await?;
        let mut lines = Vec::new();
        for row in page.rows {
            let row =
                record(&schema.fields, row, &mut { MAX_VALUES }).map_err(|why| self.other(why))?;
            lines.extend(row.to_string().into_bytes());
            lines.push(b'\n');
        }
        Ok((lines, page.next))
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
                        BucketError::Other(format!(
                            "{error}; {before} of {all} rows were appended before"
                        ))
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
        self.get("", &[], FIRST_WITHIN).await
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
        let kind = |kind: &Value| {
            if kind.is_null() {
                Value::from("STRING")
            } else {
                kind.clone()
            }
        };
        let fields: Vec<Value> = columns
            .iter()
            .map(|(name, of)| json!({"name": name, "type": kind(of), "mode": "NULLABLE"}))
            .collect();
        let TableAddress {
            project,
            dataset,
            table,
        } = &self.address;
        let reference = json!({"projectId": project, "datasetId": dataset, "tableId": table});
        let body = json!({"tableReference": reference, "schema": {"fields": fields}});
        let tables = self.url(&["projects", project, "datasets", dataset, "tables"])?;
        match self
            .send(Method::POST, tables, Some(&body), FIRST_WITHIN)
            .await?
        {
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
            match self
                .send(Method::POST, url.clone(), Some(&body), ANSWERS_WITHIN)
                .await?
            {
                (StatusCode::NOT_FOUND, _) if number < TRIES => {
                    tokio::time::sleep(Duration::from_secs(u64::from(number))).await;
                }
                (status, text) if status.is_success() => {
                    let reply: Value = serde_json::from_str(&text).unwrap_or_default();
                    return match reply["insertErrors"]
                        .as_array()
                        .and_then(|errors| errors.first())
                    {
                        None => Ok(()),
                        Some(error) => {
                            let why = &error["errors"][0]["message"];
                            let why = self.mask_token(why.as_str().unwrap_or("a row was refused"));
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
        within: Duration,
    ) -> Result<T, BucketError> {
        let mut url = self.of_table(rest)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        match self.send(Method::GET, url, None, within).await? {
            (StatusCode::NOT_FOUND, _) => Err(BucketError::Missing(self.address.to_string())),
            (status, text) if status.is_success() => {
                let invalid = |why: String| {
                    self.other(format!("an invalid reply: {}", self.mask_token(&why)))
                };
                let (value, _) =
                    parse_within(&text, MAX_VALUES).map_err(|error| invalid(error.to_string()))?;
                drop(text);
                serde_json::from_value(value).map_err(|error| invalid(error.to_string()))
            }
            (status, text) => Err(self.refused(status, &text)),
        }
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
        within: Duration,
    ) -> Result<(StatusCode, String), BucketError> {
        let told = |why: String| self.other(why);
        let late = |within: Duration| {
            self.other(format!(
                "BigQuery did not answer within {} s",
                within.as_secs()
            ))
        };
        let mut request = self.client.request(method, url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = timeout(within, request.send())
            .await
            .map_err(|_| late(within))?;
        let response = response.map_err(|error| told(http::chain(http::cause(&error))))?;
        let status = response.status();
        if let Some(host) = http::redirect_host(status, response.headers()) {
            let why = format!(
                "the answer redirects to {host}; evaltrail does not follow redirects, so that keys are sent only to the given \
                 address"
            );
            return Err(told(why));
        }
        match timeout(BODY_WITHIN, http::text(response, MAX_REPLY))
            .await
            .map_err(|_| late(BODY_WITHIN))?
        {
            Ok(text) => Ok((status, text)),
            Err(BodyError::Broken(error)) => Err(told(http::chain(http::cause(&error)))),
            Err(BodyError::TooLong) => Err(told(format!(
                "a reply has more than {} MB",
                MAX_REPLY >> 20
            ))),
        }
    }

    fn of_table(&self, rest: &str) -> Result<Url, BucketError> {
        let TableAddress {
            project,
            dataset,
            table,
        } = &self.address;
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
        // Masked before it is cut: half a token must not be shown, either.
        let why = self.mask_token(reply["error"]["message"].as_str().unwrap_or(text));
        let why: String = why.chars().take(500).collect();
        BucketError::Other(format!(
            "{}: BigQuery replied {status}: {why}",
            self.address
        ))
    }

    /// A text without the token.
    fn mask_token(&self, text: &str) -> String {
        Secrets::new(self.token.clone()).mask(text).into_owned()
    }
}

/// A row as an object. `left` is the memory that is left for the texts of JSON in it, in bytes. The error is a message.
fn record(columns: &[TableColumn], row: RowCells, left: &mut usize) -> Result<Value, String> {
    let cells = columns.iter().zip(row.f);
    let cells =
        cells.map(|(column, cell)| Ok((column.name.clone(), cell_value(column, cell.v, left)?)));
    cells.collect::<Result<_, String>>().map(Value::Object)
}

/// The value of a cell, which BigQuery writes as a text.
fn cell_value(column: &TableColumn, value: Value, left: &mut usize) -> Result<Value, String> {
    if column.mode == "REPEATED" {
        let Value::Array(items) = value else {
            return Ok(Value::Array(Vec::new()));
        };
        let mut each = |mut item: Value| {
            let inner = item.get_mut("v").map(Value::take);
            scalar(column, inner.unwrap_or(item), left)
        };
        return items
            .into_iter()
            .map(&mut each)
            .collect::<Result<_, String>>()
            .map(Value::Array);
    }
    scalar(column, value, left)
}

fn scalar(column: &TableColumn, value: Value, left: &mut usize) -> Result<Value, String> {
    if matches!(column.kind.as_str(), "RECORD" | "STRUCT") {
        return match value.is_null() {
            true => Ok(Value::Null),
            false => record(
                &column.fields,
                serde_json::from_value(value).unwrap_or_default(),
                left,
            ),
        };
    }
    let Value::String(text) = value else {
        return Ok(value);
    };
    Ok(match column.kind.as_str() {
        "INTEGER" | "INT64" | "FLOAT" | "FLOAT64" | "NUMERIC" | "BIGNUMERIC" => {
            serde_json::from_str::<Number>(&text).map_or(Value::String(text), Value::Number)
        }
        "BOOLEAN" | "BOOL" => Value::Bool(text == "true"),
        "JSON" => match parse_within(&text, *left) {
            Ok((value, size)) => {
                *left = left.saturating_sub(size);
                value
            }
            Err(ParseFailure::Syntax(_)) => Value::String(text),
            Err(ParseFailure::TooLarge) => {
                return Err(format!(
                    "a row needs more than {} MB of memory",
                    MAX_VALUES >> 20
                ));
            }
        },
        _ => Value::String(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    #[test]
    fn addresses_of_tables() {
        let address = TableAddress::parse("bq://my-project.evals.answers_2").unwrap();
        assert_eq!(address.to_string(), "bq://my-project.evals.answers_2");
        for text in [
            "bq://a.b",
            "bq://a.b.c.d",
            "bq://a..c",
            "bq://a.b/c.d",
            "gs://a.b.c",
        ] {
            assert!(
                TableAddress::parse(text)
                    .unwrap_err()
                    .contains("bq://PROJECT.DATASET.TABLE"),
                "{text}"
            );
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
        let row: RowCells = serde_json::from_value(json!({"f": [{"v": "a"}, {"v": "9007199254740993"}, {"v": "0.5"}, {"v": "NaN"},
            {"v": "true"}, {"v": null}, {"v": [{"v": "p"}, {"v": "q"}]}, {"v": "{\"tool\": \"t\"}"}, {"v": {"f": [{"v": "1.5"}]}}]}))
        .unwrap();
        let expected = r#"{"text":"a","n":9007199254740993,"x":0.5,"nan":"NaN","ok":true,"none":null,"tags":["p","q"],"call":{"tool":"t"},"at":{"lat":1.5}}"#;
        assert_eq!(
            record(&schema.fields, row, &mut { MAX_VALUES })
                .unwrap()
                .to_string(),
            expected
        );
    }

    #[test]
    fn texts_of_json_in_a_row_are_within_the_limit() {
        let schema: Schema = serde_json::from_value(json!({"fields": [
            {"name": "a", "type": "JSON"}, {"name": "b", "type": "JSON", "mode": "REPEATED"}]}))
        .unwrap();
        let list = format!("[{}0]", "0,".repeat(10_000));
        let row = || -> RowCells {
            serde_json::from_value(json!({"f": [{"v": list}, {"v": [{"v": list}, {"v": list}]}]}))
                .unwrap()
        };
        assert!(record(&schema.fields, row(), &mut (16 << 20)).is_ok());
        assert!(
            record(&schema.fields, row(), &mut (2 << 20))
                .unwrap_err()
                .contains("of memory")
        );
    }

    fn table_at(emulator: String) -> BigQueryTable {
        let address = TableAddress::parse("bq://p.d.t").unwrap();
        BigQueryTable::with(&address, None, Some(emulator)).unwrap()
    }

    /// A table whose server gives these answers, one after the other, and then the lines and bodies of the requests.
    fn table_that_answers(
        replies: Vec<(u16, Value)>,
    ) -> (BigQueryTable, JoinHandle<Vec<(String, Value)>>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let table = table_at(listener.local_addr().unwrap().to_string());
        let serve = move || {
            replies
                .into_iter()
                .map(|reply| answered(&listener, reply))
                .collect()
        };
        (table, std::thread::spawn(serve))
    }

    fn answered(listener: &TcpListener, (status, reply): (u16, Value)) -> (String, Value) {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = BufReader::new(stream.try_clone().unwrap());
        let (mut first, mut length) = (String::new(), 0);
        request.read_line(&mut first).unwrap();
        loop {
            let mut line = String::new();
            request.read_line(&mut line).unwrap();
            match line.to_lowercase().trim().strip_prefix("content-length: ") {
                Some(number) => length = number.parse().unwrap(),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        request.read_exact(&mut body).unwrap();
        let reply = reply.to_string();
        let headers = format!(
            "HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {}",
            reply.len()
        );
        write!(stream, "{headers}\r\n\r\n{reply}").unwrap();
        let line = first
            .trim_end()
            .trim_end_matches(" HTTP/1.1")
            .replace("/bigquery/v2/projects/p/datasets/d", "");
        (line, serde_json::from_slice(&body).unwrap_or_default())
    }

    fn row(value: Value) -> Map<String, Value> {
        [("n".to_string(), value)].into_iter().collect()
    }

    #[test]
    fn token_is_required_except_for_emulator() {
        let address = TableAddress::parse("bq://p.d.t").unwrap();
        let with = |token: Option<&str>, emulator: Option<&str>| {
            let table = BigQueryTable::with(
                &address,
                token.map(str::to_string),
                emulator.map(str::to_string),
            );
            table
                .map(|table| table.base.to_string())
                .map_err(|error| error.to_string())
        };
        assert!(
            with(None, None)
                .unwrap_err()
                .contains("no token for BigQuery")
        );
        assert!(
            with(None, Some("example.org:80"))
                .unwrap_err()
                .contains("no token for BigQuery")
        );
        assert_eq!(
            with(Some("t"), None).unwrap(),
            "https://bigquery.googleapis.com/"
        );
        assert_eq!(
            with(None, Some("127.0.0.1:9")).unwrap(),
            "http://127.0.0.1:9/"
        );
        assert_eq!(
            with(Some("t"), Some("http://localhost:9")).unwrap(),
            "http://localhost:9/"
        );
        assert!(
            with(Some("t"), Some("http://["))
                .unwrap_err()
                .contains(EMULATOR)
        );
    }

    #[test]
    fn rows_are_read_up_to_a_size() {
        let read = |largest: u64| {
            let about =
                json!({"etag": "v1", "schema": {"fields": [{"name": "n", "type": "INTEGER"}]}});
            let page = |value: &str, next: Value| json!({"rows": [{"f": [{"v": value}]}], "pageToken": next});
            let pages = [
                page("1", json!("second")),
                page("2", json!("third")),
                page("3", Value::Null),
            ];
            let (table, _) = table_that_answers(
                [about]
                    .into_iter()
                    .chain(pages)
                    .map(|one| (200, one))
                    .collect(),
            );
            let mut lines = String::new();
            let version = table.read(largest, |page| {
                lines.push_str(std::str::from_utf8(page).unwrap());
                Ok(())
            });
            (version.map_err(|error| error.to_string()), lines)
        };
        let all = "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n";
        assert_eq!(
            read(all.len() as u64),
            (Ok("v1".to_string()), all.to_string())
        );
        let (error, lines) = read(all.len() as u64 - 1);
        assert_eq!(
            error.unwrap_err(),
            "bq://p.d.t: its rows have more than 0 MB"
        );
        assert_eq!(lines, all[..16]);
    }

    #[test]
    fn table_is_created_with_columns_of_rows() {
        let (table, served) = table_that_answers(vec![(200, json!({})), (200, json!({}))]);
        let rows = [
            json!({"a": 1, "b": null, "c": 2, "d": "x"}),
            json!({"a": null, "b": 0.5, "c": "y", "e": null}),
        ];
        table
            .append(
                rows.iter()
                    .map(|row| row.as_object().unwrap().clone())
                    .collect(),
            )
            .unwrap();
        let requests = served.join().unwrap();
        assert_eq!(requests[0].0, "POST /tables");
        let fields = requests[0].1["schema"]["fields"].as_array().unwrap();
        let kinds: Vec<(&str, &str)> = fields
            .iter()
            .map(|of| (of["name"].as_str().unwrap(), of["type"].as_str().unwrap()))
            .collect();
        assert_eq!(
            kinds,
            [
                ("a", "FLOAT"),
                ("b", "FLOAT"),
                ("c", "STRING"),
                ("d", "STRING"),
                ("e", "STRING")
            ]
        );
        assert_eq!(requests[1].0, "POST /tables/t/insertAll");
        assert_eq!(requests[1].1["rows"][0]["json"], rows[0]);
    }

    /// A table that was just created is not known everywhere at once; one that exists is no error.
    #[test]
    fn rows_are_appended_in_batches() {
        let refused = json!({"error": {"message": "quota exceeded"}});
        let (table, served) = table_that_answers(vec![
            (409, json!({})),
            (404, json!({})),
            (200, json!({})),
            (403, refused),
        ]);
        let error = table
            .append(vec![row(json!(1)); BATCH + 1])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("403") && error.contains("quota exceeded"),
            "{error}"
        );
        assert!(
            error.ends_with("; 500 of 501 rows were appended before"),
            "{error}"
        );
        let sizes: Vec<usize> = served.join().unwrap()[1..]
            .iter()
            .map(|(_, body)| body["rows"].as_array().unwrap().len())
            .collect();
        assert_eq!(sizes, [500, 500, 1]);
    }

    #[test]
    fn rows_that_are_refused_are_an_error() {
        let append = |replies: Vec<(u16, Value)>| {
            let (table, _) = table_that_answers(replies);
            table.append(vec![row(json!("x"))]).unwrap_err().to_string()
        };
        let error = append(vec![(403, json!({"error": {"message": "no tables here"}}))]);
        assert!(
            error.contains("no tables here") && !error.contains("appended"),
            "{error}"
        );
        let why =
            json!({"insertErrors": [{"index": 0, "errors": [{"message": "no such field: n"}]}]});
        let error = append(vec![(200, json!({})), (200, why)]);
        assert_eq!(error, "bq://p.d.t: no such field: n");
        let error = append(vec![
            (200, json!({})),
            (500, json!({"error": {"message": "broken"}})),
        ]);
        assert!(error.contains("500") && error.contains("broken"), "{error}");
    }

    #[test]
    fn missing_table_is_reported() {
        let (table, _) = table_that_answers(vec![(404, json!({}))]);
        assert!(matches!(table.version(), Err(BucketError::Missing(name)) if name == "bq://p.d.t"));
        let (table, served) = table_that_answers(vec![(200, json!({"etag": "v2"}))]);
        assert_eq!(table.version().unwrap(), "v2");
        assert_eq!(served.join().unwrap()[0].0, "GET /tables/t");
    }

    #[test]
    fn an_error_does_not_repeat_the_token() {
        let address = TableAddress::parse("bq://a.b.c").unwrap();
        let base = Url::parse("http://127.0.0.1:1").unwrap();
        let token = Some("canary-token-1".to_string());
        let table = BigQueryTable {
            address,
            client: http::client(&base).unwrap(),
            base,
            token,
        };
        for text in [
            "not with canary-token-1",
            r#"{"error": {"message": "not with canary-token-1"}}"#,
        ] {
            let shown = table.refused(StatusCode::FORBIDDEN, text).to_string();
            assert!(
                shown.contains("not with [redacted]") && !shown.contains("canary"),
                "{shown}"
            );
        }
    }
}
