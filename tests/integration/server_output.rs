//! Servers that evaltrail starts: what they print explains the errors of their agents.
#![cfg(unix)]

use crate::common::{both, evaltrail, output, python, text};
use serde_json::{Value, json};
use std::path::Path;

/// An agent that answers with JSON, fails with a traceback, or ends, depending on the prompt.
const SERVER: &str = r#"
import http.server, json, os, sys, traceback
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    def log_message(self, *a): pass
    def reply(self, status, body, kind="application/json"):
        self.send_response(status); self.send_header("Content-Type", kind); self.end_headers()
        self.wfile.write(body.encode()); self.wfile.flush()
    def do_GET(self): self.reply(200, "{}")
    def do_POST(self):
        prompt = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))["q"]
        if prompt == "fail":
            try: raise RuntimeError("out of luck")
            except RuntimeError:
                self.reply(500, "Internal Server Error", "text/plain")
                traceback.print_exc()
        elif prompt == "die":
            print("RuntimeError: no more luck", file=sys.stderr, flush=True)
            os._exit(7)
        else: self.reply(200, json.dumps({"text": "ok"}))
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print(f"Listening on http://127.0.0.1:{server.server_address[1]} (press ctrl+c to quit)", flush=True)
server.serve_forever()
"#;

fn workspace(folder: &Path, python: &Path, start: &str) {
    let case = |id: &str| {
        json!({"eval_id": id, "conversation": [{
            "user_content": {"role": "user", "parts": [{"text": id}]},
            "final_response": {"role": "model", "parts": [{"text": "ok"}]},
        }]})
    };
    let set = json!({"eval_set_id": "s", "eval_cases": [case("fail"), case("die"), case("fine")]});
    std::fs::write(folder.join("s.evalset.json"), set.to_string()).unwrap();
    let criteria = json!({"criteria": {"response_match_score": 0.8}});
    std::fs::write(folder.join("test_config.json"), criteria.to_string()).unwrap();
    std::fs::write(folder.join("server.py"), SERVER).unwrap();
    let config = format!(
        "[agents.a]\nkind = \"http\"\nstart = \"{} server.py {start}\"\nbody = {{ q = \"{{prompt}}\" }}\nresponse = \"$.text\"\n\
         start_timeout = \"3s\"\n",
        python.display()
    );
    std::fs::write(folder.join("evaltrail.toml"), config).unwrap();
}

#[test]
fn the_output_of_the_server_explains_its_errors() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    workspace(folder.path(), &python, "{port}");
    let mut command = evaltrail(folder.path());
    command.current_dir(folder.path()).args([
        "run",
        "--json",
        "--trust",
        ".",
        "--agent",
        "a",
        "--retries",
        "0",
        "-j",
        "1",
    ]);
    let out = output(&mut command);
    let report: Value =
        serde_json::from_str(&text(&out)).unwrap_or_else(|error| panic!("{error}: {}", both(&out)));
    let error = |at: usize| {
        report["cases"][at]["error"]
            .as_str()
            .unwrap_or_default()
            .to_string()
    };
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_string();
    assert!(
        first_line(&error(0)).ends_with("the server's last output: RuntimeError: out of luck"),
        "{}",
        error(0)
    );
    assert!(
        error(0).contains("500") && error(0).contains("Traceback"),
        "{}",
        error(0)
    );
    assert!(
        error(1).contains("the server ended with exit status: 7"),
        "{}",
        error(1)
    );
    assert!(
        error(1).contains("the server's last output: RuntimeError: no more luck"),
        "{}",
        error(1)
    );
    assert_eq!(
        report["cases"][2]["status"], "passed",
        "the server is started again: {report}"
    );
}

#[test]
fn wrong_server_port_is_named_after_timeout() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    workspace(folder.path(), &python, "0 {port}");
    let mut command = evaltrail(folder.path());
    command
        .current_dir(folder.path())
        .args(["agents", "check", "a", "--trust"]);
    let printed = both(&output(&mut command));
    assert!(printed.contains("within 3 s (start_timeout)"), "{printed}");
    assert!(
        printed.contains("it printed http://127.0.0.1:"),
        "{printed}"
    );
    assert!(
        printed.contains("which is another port: its start command must listen on {port}"),
        "{printed}"
    );
}
