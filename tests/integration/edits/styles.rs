//! Eval sets in all styles that people and programs use, written without the code under test.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use serde_json::{Value, json};

/// How a file is formatted.
#[derive(Clone, Debug)]
pub struct Style {
    indent: Option<&'static str>,
    colon: &'static str,
    comma: &'static str,
    eol: &'static str,
    ascii: bool,
    shuffled: bool,
    pub camel: bool,
    bom: bool,
    last_newline: bool,
    /// Arrays and objects of at most this many bytes are written on one line.
    compact_below: usize,
}

impl Style {
    pub fn any(rng: &mut StdRng) -> Style {
        let indent = *[None, Some("  "), Some("    "), Some("\t"), Some(" ")]
            .choose(rng)
            .unwrap();
        Style {
            indent,
            colon: [": ", ":", " : "].choose(rng).unwrap(),
            comma: [", ", ","].choose(rng).unwrap(),
            eol: if rng.random_bool(0.25) { "\r\n" } else { "\n" },
            ascii: rng.random_bool(0.3),
            shuffled: rng.random_bool(0.3),
            camel: rng.random_bool(0.4),
            bom: rng.random_bool(0.1),
            last_newline: rng.random_bool(0.5),
            compact_below: *[0, 0, 40, 90].choose(rng).unwrap(),
        }
    }

    /// Whether ADK reads a file of this style.
    pub fn is_adks(&self) -> bool {
        !self.bom
    }

    pub fn write(&self, rng: &mut StdRng, value: &Value) -> String {
        let mut text = String::new();
        text.push_str(if self.bom { "\u{feff}" } else { "" });
        text.push_str(&self.spell(rng, value, 0));
        text.push_str(if self.last_newline { self.eol } else { "" });
        text
    }

    fn spell(&self, rng: &mut StdRng, value: &Value, depth: usize) -> String {
        let mut parts = Vec::new();
        let (open, close) = match value {
            Value::Object(map) => {
                let mut members: Vec<_> = map.iter().collect();
                if self.shuffled {
                    members.shuffle(rng);
                }
                for (key, value) in members {
                    let value = self.spell(rng, value, depth + 1);
                    parts.push(format!("{}{}{value}", self.string(key), self.colon));
                }
                ("{", "}")
            }
            Value::Array(list) => {
                parts.extend(list.iter().map(|value| self.spell(rng, value, depth + 1)));
                ("[", "]")
            }
            Value::String(text) => return self.string(text),
            other => return other.to_string(),
        };
        let one_line = format!("{open}{}{close}", parts.join(self.comma));
        match self.indent {
            Some(indent)
                if !parts.is_empty()
                    && (one_line.len() > self.compact_below || one_line.contains('\n')) =>
            {
                let inner = format!("{}{}", self.eol, indent.repeat(depth + 1));
                let outer = format!("{}{}", self.eol, indent.repeat(depth));
                format!(
                    "{open}{inner}{}{outer}{close}",
                    parts.join(&format!(",{inner}"))
                )
            }
            _ => one_line,
        }
    }

    fn string(&self, text: &str) -> String {
        let plain = Value::from(text).to_string();
        if !self.ascii {
            return plain;
        }
        let mut out = String::new();
        for c in plain.chars() {
            match c.is_ascii() {
                true => out.push(c),
                false => c
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .for_each(|u| out += &format!("\\u{u:04X}")),
            }
        }
        out
    }
}

/// Numbers whose text must be preserved, not only their value.
const NUMBERS: &[&str] = &[
    "1",
    "1.0",
    "1e2",
    "-0.0",
    "1E+2",
    "0.1000",
    "123456789012345678901234567890",
    "NaN",
    "-Infinity",
];
const WORDS: &[&str] = &[
    "device_2",
    "naïve café",
    "日本 \"q\" \\ /",
    "a\tb\nc",
    "😀",
    "",
    "x",
];

pub fn word(rng: &mut StdRng) -> String {
    WORDS.choose(rng).unwrap().to_string()
}

pub fn value(rng: &mut StdRng, depth: usize) -> Value {
    match rng.random_range(0..if depth > 2 { 4 } else { 6 }) {
        0 => Value::Null,
        1 => rng.random_bool(0.5).into(),
        2 => {
            let spelt = NUMBERS.choose(rng).unwrap();
            evaltrail_core::formats::json::parse(spelt).unwrap().value
        }
        3 => word(rng).into(),
        4 => (0..rng.random_range(0..3))
            .map(|_| value(rng, depth + 1))
            .collect(),
        _ => args(rng, depth + 1),
    }
}

pub fn args(rng: &mut StdRng, depth: usize) -> Value {
    let keys = ["device_id", "snake_key", "camelKey", "n", "é"];
    let mut map = serde_json::Map::new();
    let count = rng.random_range(0..4);
    for key in keys.sample(rng, count) {
        map.insert(key.to_string(), value(rng, depth));
    }
    Value::Object(map)
}

fn key(style: &Style, snake: &str) -> String {
    if !style.camel {
        return snake.to_string();
    }
    let mut words = snake.split('_');
    let first = words.next().unwrap().to_string();
    words.fold(first, |out, word| {
        out + &word[..1].to_uppercase() + &word[1..]
    })
}

fn object(style: &Style, members: Vec<(&str, Value)>) -> Value {
    Value::Object(
        members
            .into_iter()
            .map(|(name, value)| (key(style, name), value))
            .collect(),
    )
}

fn content(style: &Style, role: &str, parts: Vec<Value>) -> Value {
    object(style, vec![("parts", parts.into()), ("role", role.into())])
}

fn tool_call(style: &Style, rng: &mut StdRng, id: Option<String>) -> Value {
    let name = *["get", "set_device_info", "log"].choose(rng).unwrap();
    let mut members = vec![("name", Value::from(name))];
    members.extend(id.map(|id| ("id", Value::from(id))));
    if rng.random_bool(0.85) {
        members.push(("args", args(rng, 1)));
    }
    object(style, members)
}

fn intermediate(style: &Style, rng: &mut StdRng) -> Option<Value> {
    let calls = rng.random_range(0..4);
    let ids = rng.random_bool(0.5);
    match rng.random_range(0..5) {
        0 => None,
        1 => Some(json!({})),
        2 | 3 => {
            let id = |at: usize| ids.then(|| format!("id-{at}"));
            let uses: Vec<Value> = (0..calls).map(|at| tool_call(style, rng, id(at))).collect();
            let mut members = vec![("tool_uses", Value::from(uses.clone()))];
            if rng.random_bool(0.5) {
                let answer = |at: usize| {
                    let mut one = vec![
                        ("name", uses[at]["name"].clone()),
                        ("response", json!({"ok": 1.0})),
                    ];
                    one.extend(id(at).map(|id| ("id", Value::from(id))));
                    object(style, one)
                };
                members.push(("tool_responses", (0..calls).map(answer).collect()));
            }
            if rng.random_bool(0.3) {
                members.push((
                    "intermediate_responses",
                    json!([["agent", [{"text": "hm é"}]]]),
                ));
            }
            Some(object(style, members))
        }
        _ => {
            let mut events = Vec::new();
            for at in 0..calls {
                let call = tool_call(style, rng, Some(format!("id-{at}")));
                let answer = object(
                    style,
                    vec![
                        ("name", call["name"].clone()),
                        ("id", format!("id-{at}").into()),
                        ("response", json!({"snake_key": [1, "é"]})),
                    ],
                );
                for (kind, what, role) in [
                    ("function_call", call, "model"),
                    ("function_response", answer, "user"),
                ] {
                    let part = object(style, vec![(kind, what)]);
                    let said = content(style, role, vec![part]);
                    events.push(object(
                        style,
                        vec![("author", "agent".into()), ("content", said)],
                    ));
                }
            }
            events.push(json!({"author": "agent"}));
            Some(object(style, vec![("invocation_events", events.into())]))
        }
    }
}

fn turn(style: &Style, rng: &mut StdRng) -> Value {
    let user = content(style, "user", vec![json!({"text": word(rng)})]);
    let mut members = vec![("invocation_id", Value::from("t1")), ("user_content", user)];
    if rng.random_bool(0.8) {
        members.push((
            "final_response",
            content(style, "model", vec![json!({"text": word(rng)})]),
        ));
    }
    match intermediate(style, rng) {
        Some(data) => members.push(("intermediate_data", data)),
        None if rng.random_bool(0.5) => members.push(("intermediate_data", Value::Null)),
        None => {}
    }
    object(style, members)
}

/// An eval set of some cases.
pub fn eval_set(style: &Style, rng: &mut StdRng) -> Value {
    let case = |rng: &mut StdRng, at: usize| {
        let turns: Vec<Value> = (0..rng.random_range(1..3))
            .map(|_| turn(style, rng))
            .collect();
        let mut members = vec![
            ("eval_id", Value::from(format!("case_{at}"))),
            ("conversation", turns.into()),
            ("our_note", json!({"keep": [1e2, "ü"]})),
        ];
        if rng.random_bool(0.6) {
            let input = vec![
                ("app_name", Value::from("home")),
                ("user_id", Value::from("u1")),
                ("state", args(rng, 1)),
            ];
            members.push(("session_input", object(style, input)));
        }
        if rng.random_bool(0.3) {
            let content = object(style, vec![("text_property", "is polite".into())]);
            let rubric = vec![
                ("rubric_id", Value::from("polite")),
                ("rubric_content", content),
                ("type", "FINAL_RESPONSE_QUALITY".into()),
            ];
            members.push(("rubrics", json!([object(style, rubric)])));
        }
        if rng.random_bool(0.3) {
            members.push(("final_session_state", args(rng, 1)));
        }
        object(style, members)
    };
    let cases: Vec<Value> = (0..rng.random_range(1..5))
        .map(|at| case(rng, at))
        .collect();
    // ADK accepts the keys of the set itself only in snake_case.
    json!({"eval_set_id": "set", "name": "a set", "eval_cases": cases, "creation_timestamp": 1.5})
}

/// The older form: named conversations.
pub fn named_list(rng: &mut StdRng) -> Value {
    let turn = |rng: &mut StdRng| {
        let uses: Vec<Value> = (0..rng.random_range(0..4))
            .map(|_| json!({"tool_name": "get", "tool_input": args(rng, 1), "mock_tool_output": {"é": 1.0}}))
            .collect();
        json!({"query": word(rng), "expected_tool_use": uses, "reference": word(rng)})
    };
    let case = |rng: &mut StdRng, at: usize| {
        let turns: Vec<Value> = (0..rng.random_range(1..3)).map(|_| turn(rng)).collect();
        json!({"name": format!("case_{at}"), "data": turns, "initial_session": {}})
    };
    (0..rng.random_range(1..4))
        .map(|at| case(rng, at))
        .collect()
}
