//! Object stores on this machine: moto for S3, azurite for Azure, a double of Google Cloud
//! Storage, and folders.

use super::{evaltrail, root, wait_for};
use crate::real_agents::environment;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The kinds of stores.
pub const KINDS: [&str; 4] = ["file", "gs", "s3", "az"];

/// A store with an empty bucket. It ends when this is dropped.
pub struct ObjectStore {
    kind: &'static str,
    child: Option<Child>,
    port: u16,
    folder: tempfile::TempDir,
    python: PathBuf,
}

/// Azurite's account, which is the same everywhere.
const AZURITE_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Makes the container, or uploads a file to it.
const AZURE_PYTHON: &str = r#"
import sys
from azure.storage.blob import ContainerClient
port, key, name = sys.argv[1:4]
container = ContainerClient(f"http://127.0.0.1:{port}/devstoreaccount1", "evals", credential={"account_name": "devstoreaccount1", "account_key": key})
if name:
    container.upload_blob(name, sys.stdin.buffer.read(), overwrite=True)
else:
    container.create_container()
"#;

/// Makes the bucket, or uploads an object to it.
const S3_PYTHON: &str = r#"
import sys, boto3
port, _, name = sys.argv[1:4]
s3 = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1")
if name:
    s3.put_object(Bucket="evals", Key=name, Body=sys.stdin.buffer.read())
else:
    s3.create_bucket(Bucket="evals")
"#;

impl ObjectStore {
    /// Starts a store; `None` if its double is not installed here.
    pub fn start(kind: &'static str) -> Option<ObjectStore> {
        let folder = tempfile::tempdir().unwrap();
        let port = super::unused_port();
        let stores = environment("object-stores")?;
        let python = stores.join("bin/python");
        let mut command = match kind {
            "file" => {
                return Some(ObjectStore {
                    kind,
                    child: None,
                    port,
                    folder,
                    python,
                });
            }
            "gs" => {
                let mut command = Command::new(&python);
                command
                    .arg(root().join("tests/integration/common/gcs_double.py"))
                    .arg(port.to_string());
                command
            }
            "s3" => {
                let mut command = Command::new(stores.join("bin/moto_server"));
                command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
                command
            }
            _ => {
                let azurite = environment("azurite")?;
                let mut command = Command::new("node");
                command.arg(azurite.join("node_modules/azurite/dist/src/blob/main.js"));
                command.args([
                    "--blobHost",
                    "127.0.0.1",
                    "--blobPort",
                    &port.to_string(),
                    "--silent",
                ]);
                command
                    .arg("--skipApiVersionCheck")
                    .arg("--location")
                    .arg(folder.path());
                command
            }
        };
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let store = ObjectStore {
            kind,
            child: Some(child),
            port,
            folder,
            python,
        };
        let is_open = || {
            TcpStream::connect(("127.0.0.1", port))
                .is_ok()
                .then_some(())
        };
        wait_for("the store", Duration::from_secs(60), is_open);
        match kind {
            "gs" => {
                let account = format!(
                    r#"{{"gcs_base_url":"http://127.0.0.1:{port}","disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}}"#
                );
                std::fs::write(store.folder.path().join("account.json"), account).unwrap();
            }
            "s3" => store.by_python(S3_PYTHON, "", b""),
            _ => store.by_python(AZURE_PYTHON, "", b""),
        }
        Some(store)
    }

    /// The address of something in the bucket.
    pub fn address(&self, name: &str) -> String {
        match self.kind {
            "file" => format!("file://{}/{name}", self.folder.path().display()),
            kind => format!("{kind}://evals/{name}"),
        }
    }

    /// evaltrail with the credentials of the store.
    pub fn evaltrail(&self, home: &Path) -> Command {
        let mut command = evaltrail(home);
        command.envs(self.variables());
        command
    }

    /// The port of the store.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The variables with which evaltrail reaches the store.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let url = format!("http://127.0.0.1:{}", self.port);
        let yes = || "true".to_string();
        match self.kind {
            "gs" => vec![
                (
                    "GOOGLE_SERVICE_ACCOUNT",
                    self.folder
                        .path()
                        .join("account.json")
                        .display()
                        .to_string(),
                ),
                ("GOOGLE_ALLOW_HTTP", yes()),
            ],
            "s3" => vec![
                ("AWS_ENDPOINT", url),
                ("AWS_ALLOW_HTTP", yes()),
                ("AWS_ACCESS_KEY_ID", "x".into()),
                ("AWS_SECRET_ACCESS_KEY", "x".into()),
                ("AWS_REGION", "us-east-1".into()),
            ],
            "az" => vec![
                ("AZURE_STORAGE_USE_EMULATOR", yes()),
                ("AZURITE_BLOB_STORAGE_URL", url),
                ("AZURE_STORAGE_ACCOUNT_NAME", "devstoreaccount1".into()),
                ("AZURE_ALLOW_HTTP", yes()),
            ],
            _ => Vec::new(),
        }
    }

    /// Uploads an object, as another program.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        match self.kind {
            "file" => {
                let path = self.folder.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, bytes).unwrap();
            }
            "az" => self.by_python(AZURE_PYTHON, name, bytes),
            "s3" => self.by_python(S3_PYTHON, name, bytes),
            _ => self.put_raw(&format!("/evals/{name}"), bytes),
        }
    }

    fn by_python(&self, script: &str, name: &str, bytes: &[u8]) {
        let mut command = Command::new(&self.python);
        command.args(["-c", script, &self.port.to_string(), AZURITE_KEY, name]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        assert!(child.wait().unwrap().success());
    }

    /// The double for Google Cloud Storage accepts requests without a signature.
    fn put_raw(&self, path: &str, bytes: &[u8]) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let headers = format!(
            "PUT {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            bytes.len()
        );
        stream.write_all(headers.as_bytes()).unwrap();
        stream.write_all(bytes).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    }
}

impl Drop for ObjectStore {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
