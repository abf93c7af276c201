//! A test double for the APIs of judge models. It checks each request against the protocol of its provider; invalid
//! requests are rejected and recorded.

use evaltrail_core::metrics::{CodeKey, Evidence, JudgedCase, JudgedMetric};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// A metric applied to a case, with codes that are the same in each test.
pub fn judged_case<'a>(metric: &'a JudgedMetric, evidence: &Evidence<'a>) -> JudgedCase<'a> {
    metric.of_case(evidence, &CodeKey::new([7; 32]))
}

/// A request as it was received.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub headers: HashMap<String, String>,
    pub body: Value,
    /// The prompt in the body.
    pub prompt: String,
}

impl Asked {
    /// The JSON Schema for the response, which is at another position in each API.
    pub fn schema(&self) -> Option<&Value> {
        let pointers = [
            "/generationConfig/responseJsonSchema",
            "/response_format/json_schema/schema",
            "/output_config/format/schema",
            "/tools/0/input_schema",
            "/format",
        ];
        pointers
            .iter()
            .find_map(|pointer| self.body.pointer(pointer))
    }
}

/// A response.
pub enum Say {
    /// Text of the model, in the format of the protocol.
    Text(String),
    /// Status, headers and body.
    Raw(u16, Vec<(&'static str, String)>, String),
}

/// The server, with the requests that it received and the errors in them.
pub struct JudgeDouble {
    pub port: u16,
    pub seen: Arc<Mutex<Vec<Asked>>>,
    pub wrong: Arc<Mutex<Vec<String>>>,
}

/// The only key that the server accepts.
pub const KEY: &str = "canary-Zk93/qq+7";

impl JudgeDouble {
    /// Starts a server that responds with `say`.
    pub fn start(say: impl Fn(&Asked) -> Say + Send + Sync + 'static) -> JudgeDouble {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, wrong) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(Mutex::new(Vec::new())),
        );
        let say = Arc::new(say);
        let (of_seen, of_wrong) = (seen.clone(), wrong.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (say, seen, wrong) = (say.clone(), of_seen.clone(), of_wrong.clone());
                std::thread::spawn(move || while serve(&stream, &*say, &seen, &wrong).is_some() {});
            }
        });
        JudgeDouble { port, seen, wrong }
    }

    /// Starts a server that judges everything as valid.
    pub fn agreeing() -> JudgeDouble {
        JudgeDouble::start(|_| Say::Text(valid("valid")))
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Points a command at this server, for every provider.
    pub fn answers_for(&self, command: &mut Command) {
        command
            .env("GOOGLE_GEMINI_BASE_URL", self.url())
            .env("GOOGLE_VERTEX_BASE_URL", self.url())
            .env("STORAGE_EMULATOR_HOST", self.url())
            .env("OPENAI_BASE_URL", format!("{}/v1", self.url()))
            .env("ANTHROPIC_BASE_URL", self.url())
            .env("OLLAMA_HOST", self.url())
            .env("GOOGLE_CLOUD_PROJECT", "p")
            .env("GOOGLE_CLOUD_LOCATION", "l");
    }

    /// The requests to a model, without those that check whether a model exists.
    pub fn questions(&self) -> Vec<Asked> {
        self.seen
            .lock()
            .unwrap()
            .iter()
            .filter(|one| one.method == "POST" && !one.path.ends_with("/show"))
            .cloned()
            .collect()
    }

    /// Panics if the server received an invalid request.
    pub fn assert_requests_valid(&self) {
        let wrong = self.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

/// Sets the key of every provider in the environment of a command.
pub fn with_keys(command: &mut Command) {
    for name in KEYS {
        command.env(name, KEY);
    }
}

/// The environment variables for keys.
pub const KEYS: [&str; 4] = [
    "GOOGLE_API_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
];

/// The judge's verdict on a response, as JSON.
pub fn valid(word: &str) -> String {
    json!({"reasoning": "scripted", "is_the_agent_response_valid": word}).to_string()
}

fn serve(
    stream: &TcpStream,
    say: &(dyn Fn(&Asked) -> Say + Send + Sync),
    seen: &Mutex<Vec<Asked>>,
    wrong: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_string());
    }
    let length = headers
        .get("content-length")
        .and_then(|value| value.parse().ok())
        .unwrap_or(0);
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).ok()?;
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let mut asked = Asked {
        method,
        path,
        headers,
        body,
        prompt: String::new(),
    };
    let api = Api::from_path(&asked.path);
    let checked = api
        .ok_or_else(|| format!("no such path: {}", asked.path))
        .and_then(|api| {
            asked.prompt = api.check(&asked)?;
            Ok(api)
        });
    seen.lock().unwrap().push(asked.clone());
    let (status, extra, text) = match checked {
        Err(why) => {
            wrong.lock().unwrap().push(format!(
                "{} {}: {why}: {}",
                asked.method, asked.path, asked.body
            ));
            (
                400,
                Vec::new(),
                json!({"error": {"message": why}}).to_string(),
            )
        }
        Ok(Api::Bucket) => (
            200,
            Vec::new(),
            "name: coherence\nprompt_template: \"Rate {response}\"\n".into(),
        ),
        Ok(_) if asked.method == "GET" => (200, Vec::new(), json!({"id": "there"}).to_string()),
        Ok(api) => match say(&asked) {
            Say::Raw(status, extra, text) => (status, extra, text),
            Say::Text(text) => (200, Vec::new(), api.answer(&asked, &text).to_string()),
        },
    };
    let mut headers = format!(
        "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        text.len()
    );
    for (name, value) in extra {
        headers += &format!("{name}: {value}\r\n");
    }
    let mut stream = stream;
    stream
        .write_all(format!("{headers}\r\n{text}").as_bytes())
        .ok()
}

#[derive(Clone, Copy, PartialEq)]
enum Api {
    Gemini,
    Vertex,
    Service,
    /// A public bucket: its requests have no key.
    Bucket,
    Openai,
    Anthropic,
    Ollama,
}

impl Api {
    fn from_path(path: &str) -> Option<Api> {
        Some(match path {
            path if path.ends_with(":evaluateInstances") => Api::Service,
            "/vertex-ai-generative-ai-eval-sdk-resources/metrics/coherence/v1.yaml" => Api::Bucket,
            path if path.starts_with("/v1beta/models/") => Api::Gemini,
            path if path.starts_with("/v1/projects/") => Api::Vertex,
            "/v1/messages" | "/v1/models/claude-x" => Api::Anthropic,
            "/v1/chat/completions" | "/v1/models/gpt-x" => Api::Openai,
            "/api/chat" | "/api/show" => Api::Ollama,
            _ => return None,
        })
    }

    /// Returns the prompt of a valid request, or what is wrong with the request.
    fn check(self, asked: &Asked) -> Result<String, String> {
        let header = |name: &str| asked.headers.get(name).map(String::as_str);
        let key = match self {
            Api::Gemini => header("x-goog-api-key") == Some(KEY),
            Api::Anthropic => {
                header("x-api-key") == Some(KEY)
                    && header("anthropic-version") == Some("2023-06-01")
            }
            Api::Ollama | Api::Bucket => header("authorization").is_none(),
            _ => header("authorization") == Some(format!("Bearer {KEY}").as_str()),
        };
        if !key {
            return Err(format!("headers {:?}", asked.headers));
        }
        if asked.method == "GET" {
            return Ok(String::new());
        }
        if asked.method != "POST" || header("content-type") != Some("application/json") {
            return Err("it must be a POST of JSON".into());
        }
        let body = &asked.body;
        if let Some(schema) = asked.schema() {
            strict(schema)?;
        }
        match self {
            Api::Bucket => Err("it is only read".into()),
            Api::Gemini | Api::Vertex => {
                let verb = match self {
                    Api::Gemini => "/v1beta/models/gemini-x:generateContent",
                    _ => {
                        "/v1/projects/p/locations/l/publishers/google/models/gemini-x:generateContent"
                    }
                };
                is(&asked.path, verb)?;
                only(
                    body,
                    &[
                        "contents",
                        "systemInstruction",
                        "generationConfig",
                        "safetySettings",
                    ],
                    &["contents"],
                )?;
                let turn = one(&body["contents"])?;
                only(turn, &["role", "parts"], &["role", "parts"])?;
                is(turn["role"].as_str().unwrap_or_default(), "user")?;
                let part = one(&turn["parts"])?;
                only(part, &["text"], &["text"])?;
                if let Some(config) = body.get("generationConfig") {
                    let known = [
                        "temperature",
                        "topP",
                        "topK",
                        "maxOutputTokens",
                        "seed",
                        "thinkingConfig",
                        "responseSchema",
                    ];
                    let form = ["responseMimeType", "responseJsonSchema"];
                    match config.get("responseJsonSchema") {
                        Some(_) => {
                            only(config, &[&known[..], &form[..]].concat(), &form)?;
                            is(
                                config["responseMimeType"].as_str().unwrap_or_default(),
                                "application/json",
                            )?;
                        }
                        None => only(config, &known, &[])?,
                    }
                }
                text(&part["text"])
            }
            Api::Service => {
                is(
                    &asked.path,
                    "/v1beta1/projects/p/locations/l:evaluateInstances",
                )?;
                only(body, &["metrics", "instance"], &["metrics", "instance"])?;
                match one(&body["metrics"])?.get("llm_based_metric_spec") {
                    Some(spec) => {
                        only(one(&body["metrics"])?, &["llm_based_metric_spec"], &[])?;
                        only(
                            spec,
                            &["metric_prompt_template"],
                            &["metric_prompt_template"],
                        )?;
                        is(
                            spec["metric_prompt_template"].as_str().unwrap_or_default(),
                            "Rate {response}",
                        )?;
                    }
                    None => only(
                        one(&body["metrics"])?,
                        &["predefined_metric_spec"],
                        &["predefined_metric_spec"],
                    )?,
                }
                let known = ["prompt", "response", "reference", "agent_eval_data"];
                only(&body["instance"], &known, &["prompt", "agent_eval_data"])?;
                Ok(body.to_string())
            }
            Api::Openai => {
                let known = [
                    "model",
                    "messages",
                    "temperature",
                    "top_p",
                    "max_tokens",
                    "max_completion_tokens",
                    "seed",
                    "response_format",
                ];
                only(body, &known, &["model", "messages"])?;
                if let Some(format) = body.get("response_format") {
                    only(format, &["type", "json_schema"], &["type", "json_schema"])?;
                    is(format["type"].as_str().unwrap_or_default(), "json_schema")?;
                    let keys = ["name", "strict", "schema"];
                    only(&format["json_schema"], &keys, &keys)?;
                    is(&format["json_schema"]["strict"].to_string(), "true")?;
                }
                is(body["model"].as_str().unwrap_or_default(), "gpt-x")?;
                message(&body["messages"])
            }
            Api::Anthropic => {
                let known = [
                    "model",
                    "max_tokens",
                    "system",
                    "messages",
                    "temperature",
                    "top_p",
                    "top_k",
                ];
                let form = ["output_config", "tools", "tool_choice"];
                only(
                    body,
                    &[&known[..], &form[..]].concat(),
                    &["model", "max_tokens", "messages"],
                )?;
                if let Some(config) = body.get("output_config") {
                    only(config, &["format"], &["format"])?;
                    only(&config["format"], &["type", "schema"], &["type", "schema"])?;
                    is(
                        config["format"]["type"].as_str().unwrap_or_default(),
                        "json_schema",
                    )?;
                }
                if let Some(tools) = body.get("tools") {
                    let tool = one(tools)?;
                    let keys = ["name", "description", "input_schema"];
                    only(tool, &keys, &keys)?;
                    let chosen = json!({"type": "tool", "name": tool["name"]});
                    is(&body["tool_choice"].to_string(), &chosen.to_string())?;
                }
                is(body["model"].as_str().unwrap_or_default(), "claude-x")?;
                if !body["max_tokens"].is_u64() {
                    return Err("max_tokens must be a number".into());
                }
                message(&body["messages"])
            }
            Api::Ollama if asked.path == "/api/show" => {
                only(body, &["model"], &["model"])?;
                Ok(String::new())
            }
            Api::Ollama => {
                let known = ["model", "messages", "stream", "options", "format"];
                only(body, &known, &["model", "messages", "stream"])?;
                is(body["model"].as_str().unwrap_or_default(), "llama-x")?;
                if body["stream"] != false {
                    return Err("it must not stream".into());
                }
                message(&body["messages"])
            }
        }
    }

    fn answer(self, asked: &Asked, text: &str) -> Value {
        match self {
            Api::Gemini | Api::Vertex => json!({
                "candidates": [{"content": {"role": "model", "parts": [{"text": "hm", "thought": true}, {"text": text}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 8, "thoughtsTokenCount": 2},
            }),
            Api::Openai => json!({
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, "refusal": null}}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            }),
            Api::Anthropic if asked.body.get("tool_choice").is_some() => json!({
                "type": "message", "role": "assistant", "stop_reason": "tool_use",
                "content": [{"type": "tool_use", "id": "t", "name": asked.body["tool_choice"]["name"], "input": serde_json::from_str::<Value>(text).unwrap_or_default()}],
                "usage": {"input_tokens": 100, "output_tokens": 10},
            }),
            Api::Anthropic => json!({
                "type": "message", "role": "assistant", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 100, "output_tokens": 10},
            }),
            Api::Ollama => json!({
                "message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop",
                "prompt_eval_count": 100, "eval_count": 10,
            }),
            Api::Bucket => Value::Null,
            Api::Service => json!({"metricResults": [{"score": 1.0, "explanation": text}]}),
        }
    }
}

/// Checks that every API accepts the schema in its strict mode.
fn strict(schema: &Value) -> Result<(), String> {
    match schema["type"].as_str() {
        Some("object") => {
            let keys = ["type", "properties", "required", "additionalProperties"];
            only(schema, &keys, &keys)?;
            let properties = schema["properties"].as_object().ok_or("properties")?;
            let required = json!(properties.keys().collect::<Vec<_>>());
            is(&schema["required"].to_string(), &required.to_string())?;
            is(&schema["additionalProperties"].to_string(), "false")?;
            properties.values().try_for_each(strict)
        }
        Some("array") => {
            only(schema, &["type", "items"], &["type", "items"])?;
            strict(&schema["items"])
        }
        Some("string") => only(schema, &["type", "enum"], &["type"]),
        Some("boolean" | "number" | "integer") => only(schema, &["type"], &["type"]),
        _ => Err(format!("no such type: {schema}")),
    }
}

/// Checks that a value is an object with only the `known` keys and all the `needed` ones.
fn only(value: &Value, known: &[&str], needed: &[&str]) -> Result<(), String> {
    let map = value
        .as_object()
        .ok_or_else(|| format!("no object: {value}"))?;
    if let Some(key) = map.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("unknown key {key:?}"));
    }
    match needed.iter().find(|key| !map.contains_key(**key)) {
        Some(key) => Err(format!("{key:?} is missing")),
        None => Ok(()),
    }
}

fn one(list: &Value) -> Result<&Value, String> {
    match list.as_array().map(Vec::as_slice) {
        Some([one]) => Ok(one),
        _ => Err(format!("not a list of one: {list}")),
    }
}

fn message(messages: &Value) -> Result<String, String> {
    let last = messages
        .as_array()
        .and_then(|all| all.last())
        .ok_or("no messages")?;
    only(last, &["role", "content"], &["role", "content"])?;
    is(last["role"].as_str().unwrap_or_default(), "user")?;
    text(&last["content"])
}

fn text(value: &Value) -> Result<String, String> {
    value
        .as_str()
        .map(str::to_string)
        .ok_or_else(|| format!("no text: {value}"))
}

fn is(found: &str, wanted: &str) -> Result<(), String> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("expected {wanted}, found {found}"))
    }
}

/// The codes in a prompt, in their order.
pub fn codes(prompt: &str) -> Vec<String> {
    let pattern = regex::Regex::new(r#"(?:\[code: |"code": ")([a-z]{8})\b"#).unwrap();
    pattern
        .captures_iter(prompt)
        .map(|found| found[1].to_string())
        .collect()
}
