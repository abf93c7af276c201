//! Object stores that send what they should not: redirects, odd keys, wrong sizes, listings without an end, and nothing.
#![cfg(unix)]

use crate::common::scripted::{JSON, Received, ScriptedServer, answer};
use crate::common::{both, evaltrail, output, text};
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const XML: &str = "application/xml";
const SET: &str = r#"{"eval_set_id": "s", "eval_cases": []}"#;

/// A secret that only the store may receive.
const SECRET: &str = "SECRET-OF-THE-STORE";

/// evaltrail with the credentials of a store on this machine.
fn with_store(kind: &str, port: u16, home: &Path) -> Command {
    let mut command = evaltrail(home);
    let url = format!("http://127.0.0.1:{port}");
    command.current_dir(home);
    match kind {
        "s3" => command
            .env("AWS_ENDPOINT", url)
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "x")
            .env("AWS_SECRET_ACCESS_KEY", "x")
            .env("AWS_SESSION_TOKEN", SECRET)
            .env("AWS_REGION", "us-east-1"),
        "az" => command
            .env("AZURE_STORAGE_USE_EMULATOR", "true")
            .env("AZURITE_BLOB_STORAGE_URL", url)
            .env("AZURE_STORAGE_ACCOUNT_NAME", "devstoreaccount1")
            .env("AZURE_STORAGE_SAS_TOKEN", format!("sv=1&sig={SECRET}"))
            .env("AZURE_ALLOW_HTTP", "true"),
        "gs" => {
            let account = format!(
                r#"{{"gcs_base_url": "{url}", "disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}}"#
            );
            std::fs::write(home.join("account.json"), account).unwrap();
            command
                .env("GOOGLE_SERVICE_ACCOUNT", home.join("account.json"))
                .env("GOOGLE_ALLOW_HTTP", "true")
        }
        _ => command
            .env("BIGQUERY_EMULATOR_HOST", format!("127.0.0.1:{port}"))
            .env("CLOUDSDK_AUTH_ACCESS_TOKEN", SECRET),
    };
    command
}

/// A page of a listing of S3. Each entry is a key, as it stands in XML, and a size.
fn page(entries: &[(&str, u64)], next: Option<&str>) -> String {
    let entry = |(key, size): &(&str, u64)| {
        format!(
            "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;1&quot;</ETag><Size>{size}</Size></Contents>"
        )
    };
    let next = next.map(|token| format!("<NextContinuationToken>{token}</NextContinuationToken>"));
    let entries: String = entries.iter().map(entry).collect();
    format!(
        "<?xml version=\"1.0\"?><ListBucketResult>{entries}{}</ListBucketResult>",
        next.unwrap_or_default()
    )
}

/// A page of a listing of Azure.
fn azure_page(entries: &[(&str, u64)]) -> String {
    let entry = |(name, size): &(&str, u64)| {
        format!(
            "<Blob><Name>{name}</Name><Properties><Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT</Last-Modified><Etag>1</Etag><Content-Length>{size}</Content-Length><Content-Type>x</Content-Type></Properties></Blob>"
        )
    };
    let entries: String = entries.iter().map(entry).collect();
    format!(
        "<?xml version=\"1.0\"?><EnumerationResults><Blobs>{entries}</Blobs><NextMarker/></EnumerationResults>"
    )
}

fn is_listing(request: &Received) -> bool {
    request.line.contains("list-type=2") || request.line.contains("comp=list")
}

/// Sends an object.
fn object(request: &Received, stream: &mut TcpStream, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    if request.line.starts_with("HEAD") {
        Ok(())
    } else {
        stream.write_all(body.as_bytes())
    }
}

fn redirect(stream: &mut TcpStream, status: u16, to: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status} Redirect\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

fn list(store: &ScriptedServer, kind: &str, home: &Path, address: &str) -> Output {
    output(with_store(kind, store.port, home).args(["list", address]))
}

#[test]
fn store_redirect_to_other_host_is_refused() {
    for kind in ["s3", "gs", "az", "bq"] {
        let attempts = [
            (301, "nothing"),
            (302, "nothing"),
            (303, "head"),
            (307, "head"),
            (308, "nothing"),
        ];
        for (at, (status, kept)) in attempts.into_iter().enumerate() {
            let other = ScriptedServer::start(|request, stream| object(request, stream, SET));
            let scheme = if at % 2 == 0 { "http:" } else { "" };
            let target = format!("{scheme}//127.0.0.1:{}/evals/s.evalset.json", other.port);
            let store = ScriptedServer::start(move |request, stream| {
                match kept == "head" && request.line.starts_with("HEAD") {
                    true => object(request, stream, SET),
                    false => redirect(stream, status, &target),
                }
            });
            let addresses = match kind {
                "bq" => vec!["bq://project.set.table".to_string()],
                kind => vec![
                    format!("{kind}://evals/sets"),
                    format!("{kind}://evals/sets/s.evalset.json"),
                ],
            };
            for address in addresses {
                let home = tempfile::tempdir().unwrap();
                let out = list(&store, kind, home.path(), &address);
                let shown = both(&out);
                assert_eq!(out.status.code(), Some(2), "{address}: {shown}");
                let host = format!("redirects to 127.0.0.1:{}", other.port);
                assert!(shown.contains(&host), "{address}: {shown}");
                assert!(!shown.contains(SECRET), "{address}: {shown}");
            }
            assert_eq!(other.received().len(), 0, "{kind}: {:?}", other.received());
            assert!(!store.received().is_empty(), "{kind}");
        }
    }
}

/// A key that cannot be a path costs that object; all others are copied.
#[test]
fn invalid_object_keys_are_skipped() {
    let long = format!("{}.json", "x".repeat(300));
    let odd = [
        "a/../../b.json",
        "c//d.json",
        "e/./f.json",
        "g&#1;h.json",
        &long,
        "/i.json",
        "j\\k.json",
        "fine.evalset.json/l.json",
    ];
    let keys: Vec<String> = odd
        .iter()
        .map(|key| format!("data/{key}"))
        .chain(["data/fine.evalset.json".into(), "data/".into()])
        .collect();
    for kind in ["s3", "gs", "az"] {
        let keys = keys.clone();
        let store = ScriptedServer::start(move |request, stream| {
            let entries: Vec<(&str, u64)> = keys
                .iter()
                .map(|key| (key.as_str(), SET.len() as u64))
                .collect();
            match is_listing(request) {
                true if kind == "az" => answer(stream, "200 OK", XML, &azure_page(&entries)),
                true => answer(stream, "200 OK", XML, &page(&entries, None)),
                false => object(request, stream, SET),
            }
        });
        let home = tempfile::tempdir().unwrap();
        let out = list(&store, kind, home.path(), &format!("{kind}://evals/data"));
        let shown = both(&out);
        assert_eq!(out.status.code(), Some(0), "{kind}: {shown}");
        assert!(text(&out).contains("fine.evalset.json"), "{kind}: {shown}");
        assert!(
            shown.contains(&format!("{} objects left out", odd.len())),
            "{kind}: {shown}"
        );
        assert!(shown.contains("\"data/a/../../b.json\""), "{kind}: {shown}");
        let asked: Vec<String> = store
            .received()
            .into_iter()
            .map(|request| request.line)
            .collect();
        assert_eq!(
            asked.iter().filter(|line| !line.contains("list")).count(),
            1,
            "{kind}: {asked:?}"
        );
    }
}

/// An object that takes the place of a folder replaces its copy, and the other way round.
#[test]
fn a_key_that_was_a_folder_becomes_a_file() {
    let home = tempfile::tempdir().unwrap();
    let is_later = Arc::new(AtomicUsize::new(0));
    let seen = is_later.clone();
    let store = ScriptedServer::start(move |request, stream| {
        let keys = ["data/a.evalset.json/b.evalset.json", "data/a.evalset.json"];
        match is_listing(request) {
            true => answer(
                stream,
                "200 OK",
                XML,
                &page(
                    &[(keys[seen.load(Ordering::Relaxed) % 2], SET.len() as u64)],
                    None,
                ),
            ),
            false => object(request, stream, SET),
        }
    });
    for _ in 0..4 {
        let out = list(&store, "s3", home.path(), "s3://evals/data");
        assert_eq!(out.status.code(), Some(0), "{}", both(&out));
        is_later.fetch_add(1, Ordering::Relaxed);
    }
}

/// The body of an object is read up to the size that the listing named, whatever it has.
#[test]
fn object_larger_than_listed_stops_download() {
    const SENT: usize = 256 << 20;
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let keys: Vec<String> = (0..16)
        .map(|number| format!("data/{number}.json"))
        .collect();
    let store = ScriptedServer::start(move |request, stream| {
        if is_listing(request) {
            let entries: Vec<(&str, u64)> = keys.iter().map(|key| (key.as_str(), 200)).collect();
            return answer(stream, "200 OK", XML, &page(&entries, None));
        }
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: {SENT}\r\n\r\n"
        )?;
        let block = vec![b' '; 1 << 16];
        for _ in 0..SENT / block.len() {
            stream.write_all(&block)?;
            counted.fetch_add(block.len(), Ordering::Relaxed);
        }
        Ok(())
    });
    let home = tempfile::tempdir().unwrap();
    let out = list(&store, "s3", home.path(), "s3://evals/data");
    assert_eq!(out.status.code(), Some(2), "{}", both(&out));
    assert!(
        both(&out).contains("more than the 200 bytes that the list of the store names"),
        "{}",
        both(&out)
    );
    // What the buffers of connections take.
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent < 128 << 20, "{} MB were sent", sent >> 20);
}

#[test]
fn listing_size_overflow_is_an_error() {
    let store = ScriptedServer::start(|_, stream| {
        let entries = [("data/a.json", u64::MAX), ("data/b.json", 2)];
        answer(stream, "200 OK", XML, &page(&entries, None))
    });
    let home = tempfile::tempdir().unwrap();
    let out = list(&store, "s3", home.path(), "s3://evals/data");
    assert_eq!(out.status.code(), Some(2), "{}", both(&out));
    assert!(
        both(&out).contains("a.json: it has more than 2048 MB"),
        "{}",
        both(&out)
    );
    let store = ScriptedServer::start(|_, stream| {
        let names: Vec<String> = (0..9).map(|number| format!("data/{number}.json")).collect();
        let entries: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1 << 30)).collect();
        answer(stream, "200 OK", XML, &page(&entries, None))
    });
    let out = list(&store, "s3", home.path(), "s3://evals/data");
    assert!(
        both(&out).contains("more than 8 GB together"),
        "{}",
        both(&out)
    );
}

#[test]
fn a_listing_without_an_end_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let number = AtomicUsize::new(0);
    for is_same in [true, false] {
        let count = Arc::new(AtomicUsize::new(number.load(Ordering::Relaxed)));
        let store = ScriptedServer::start(move |_, stream| {
            let number = if is_same {
                0
            } else {
                count.fetch_add(1, Ordering::Relaxed)
            };
            answer(
                stream,
                "200 OK",
                XML,
                &page(&[], Some(&format!("page{number}"))),
            )
        });
        for args in [
            vec!["list", "s3://evals/data"],
            vec!["runs", "s3://evals/data"],
        ] {
            let out = output(with_store("s3", store.port, home.path()).args(&args));
            let why = if is_same {
                "same page again"
            } else {
                "more and more pages"
            };
            assert_eq!(out.status.code(), Some(2), "{args:?}: {}", both(&out));
            assert!(both(&out).contains(why), "{args:?}: {}", both(&out));
        }
        assert!(store.received().len() < 5_000, "{}", store.received().len());
    }
    // The rows of a table have pages, too.
    let table = ScriptedServer::start(|request, stream| match request.line.contains("/data") {
        true => answer(
            stream,
            "200 OK",
            JSON,
            r#"{"rows": [], "pageToken": "again"}"#,
        ),
        false => answer(
            stream,
            "200 OK",
            JSON,
            r#"{"etag": "1", "schema": {"fields": []}}"#,
        ),
    });
    let out = list(&table, "bq", home.path(), "bq://project.set.table");
    assert_eq!(out.status.code(), Some(2), "{}", both(&out));
    assert!(both(&out).contains("same page again"), "{}", both(&out));
}

/// A store that accepts connections and never answers.
#[test]
fn a_store_that_never_answers_is_reported_soon() {
    let home = tempfile::tempdir().unwrap();
    let store = ScriptedServer::start(|_, _| {
        std::thread::park();
        Ok(())
    });
    let began = Instant::now();
    let out = list(&store, "s3", home.path(), "s3://evals/data");
    assert_eq!(out.status.code(), Some(2), "{}", both(&out));
    assert!(
        both(&out).contains("waiting for s3://evals/data"),
        "{}",
        both(&out)
    );
    assert!(
        both(&out).contains("no answer within 10 s"),
        "{}",
        both(&out)
    );
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(store.received().len(), 1, "the limit covers all attempts");
}

/// Others cannot read copies, also where an older version created the folder.
#[test]
fn copies_are_readable_only_by_their_owner() {
    let home = tempfile::tempdir().unwrap();
    let names = ["data/s.evalset.json", "data/deep/.env"];
    let store = ScriptedServer::start(move |request, stream| match is_listing(request) {
        true => answer(
            stream,
            "200 OK",
            XML,
            &page(&names.map(|name| (name, SET.len() as u64)), None),
        ),
        false => object(request, stream, SET),
    });
    let buckets = home.path().join("cache/buckets");
    std::fs::create_dir_all(&buckets).unwrap();
    std::fs::set_permissions(&buckets, std::fs::Permissions::from_mode(0o755)).unwrap();
    let out = list(&store, "s3", home.path(), "s3://evals/data");
    assert_eq!(out.status.code(), Some(0), "{}", both(&out));
    let mut folders = vec![buckets];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.path().is_dir() {
                true => folders.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    for file in &files {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
    assert!(files.iter().any(|file| file.ends_with(".env")), "{files:?}");
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
