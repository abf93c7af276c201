//! The paths of a template, and the calls that they lead to.

use crate::agents::messages::{call_part, event_with, response_part, text_of};
use evaltrail_core::domain::{HttpCalls, HttpResults, HttpSettings, HttpStream};
use evaltrail_core::formats::adk::Event;
use serde_json::Value;
use serde_json_path::JsonPath;

/// The compiled paths of the settings.
#[derive(Debug)]
pub(super) struct Paths {
    pub(super) response: Option<JsonPath>,
    pub(super) error: Option<JsonPath>,
    pub(super) session: Option<JsonPath>,
    pub(super) text: Option<JsonPath>,
    pub(super) text_id: Option<JsonPath>,
    pub(super) thought: Option<JsonPath>,
    pub(super) step: Option<JsonPath>,
    pub(super) finish: Option<JsonPath>,
    pub(super) usage: Option<JsonPath>,
    pub(super) calls: Option<CallPaths>,
    pub(super) results: Option<ResultPaths>,
}

/// The compiled paths of responses that are not part of their calls.
#[derive(Debug)]
pub(super) struct ResultPaths {
    pub(super) path: JsonPath,
    id: JsonPath,
    response: JsonPath,
}

#[derive(Debug)]
pub(super) struct CallPaths {
    pub(super) path: JsonPath,
    /// The beginning of the path, up to a part that selects among the elements of a list. If it leads nowhere, the calls
    /// are not known.
    list: JsonPath,
    name: JsonPath,
    args: Option<JsonPath>,
    pub(super) response: Option<JsonPath>,
    id: Option<JsonPath>,
    author: Option<JsonPath>,
}

impl Paths {
    pub(super) fn compile(settings: &HttpSettings) -> Result<Paths, String> {
        let stream = settings.stream.as_ref();
        let of_stream =
            |key: &str, path: fn(&HttpStream) -> Option<&str>| compiled(key, stream.and_then(path));
        Ok(Paths {
            response: compiled("response", settings.response.as_deref())?,
            error: compiled("error", settings.error.as_deref())?,
            session: compiled("session", settings.session.as_deref())?,
            text: of_stream("stream.text", |stream| Some(&stream.text))?,
            text_id: of_stream("stream.id", |stream| stream.id.as_deref())?,
            thought: of_stream("stream.thought", |stream| stream.thought.as_deref())?,
            step: of_stream("stream.step", |stream| stream.step.as_deref())?,
            finish: compiled("finish", settings.finish.as_deref())?,
            usage: compiled("usage", settings.usage.as_deref())?,
            calls: settings
                .calls
                .as_ref()
                .map(CallPaths::compile)
                .transpose()?,
            results: settings
                .results
                .as_ref()
                .map(ResultPaths::compile)
                .transpose()?,
        })
    }
}

impl ResultPaths {
    fn compile(results: &HttpResults) -> Result<ResultPaths, String> {
        let needed =
            |key: &str, path: &str| compiled(key, Some(path)).map(|path| path.unwrap_or_default());
        Ok(ResultPaths {
            path: needed("results.path", &results.path)?,
            id: needed("results.id", &results.id)?,
            response: needed("results.response", &results.response)?,
        })
    }

    /// The responses in a value: the id of the call, and the response.
    pub(super) fn found(&self, value: &Value) -> Vec<(String, Value)> {
        let one = |node: &Value| {
            let id = self.id.query(node).first().map(text_of)?;
            Some((id, self.response.query(node).first()?.clone()))
        };
        self.path
            .query(value)
            .all()
            .into_iter()
            .filter_map(one)
            .collect()
    }
}

impl ResultPaths {
    /// The elements of a value that are responses.
    pub(super) fn nodes(&self, value: &Value) -> Vec<Value> {
        let is_response = |node: &&Value| {
            self.id.query(node).first().is_some() && self.response.query(node).first().is_some()
        };
        self.path
            .query(value)
            .all()
            .into_iter()
            .filter(is_response)
            .cloned()
            .collect()
    }
}

impl CallPaths {
    fn compile(calls: &HttpCalls) -> Result<CallPaths, String> {
        let needed =
            |key: &str, path: &str| compiled(key, Some(path)).map(|path| path.unwrap_or_default());
        Ok(CallPaths {
            path: needed("calls.path", &calls.path)?,
            list: needed("calls.path", list_path(&calls.path))?,
            name: needed("calls.name", &calls.name)?,
            args: compiled("calls.args", calls.args.as_deref())?,
            response: compiled("calls.response", calls.response.as_deref())?,
            id: compiled("calls.id", calls.id.as_deref())?,
            author: compiled("calls.author", calls.author.as_deref())?,
        })
    }

    /// Whether a value says which calls were made: it has a list of them, and each has a name.
    pub(super) fn are_known(&self, value: &Value) -> bool {
        let has_name = |node: &&Value| node.is_array() || self.name.query(node).first().is_some();
        self.list
            .query(value)
            .all()
            .iter()
            .any(|list| !list.is_null())
            && self.path.query(value).all().iter().all(has_name)
    }

    /// The elements of a value that are calls: those with a name. An empty list says that there are none.
    pub(super) fn nodes(&self, value: &Value) -> Vec<Value> {
        let elements = |node: &Value| match node {
            Value::Array(items) if !items.is_empty() => items.clone(),
            node => vec![node.clone()],
        };
        let is_call = |node: &Value| node.is_array() || self.name.query(node).first().is_some();
        self.path
            .query(value)
            .all()
            .into_iter()
            .flat_map(elements)
            .filter(is_call)
            .collect()
    }

    /// The calls in a value, each followed by its response if there is one.
    pub(super) fn events(&self, value: &Value) -> Vec<Event> {
        let mut events = Vec::new();
        let nodes = self.path.query(value).all();
        // A path may lead to the list itself.
        let one_list = match nodes.as_slice() {
            [Value::Array(items)] => Some(items.iter().collect::<Vec<_>>()),
            _ => None,
        };
        for node in one_list.unwrap_or(nodes) {
            let at =
                |path: &Option<JsonPath>| path.as_ref().and_then(|path| path.query(node).first());
            let text =
                |path: &Option<JsonPath>| at(path).filter(|value| !value.is_null()).map(text_of);
            let Some(name) = self.name.query(node).first().map(text_of) else {
                continue;
            };
            let author = text(&self.author).unwrap_or_else(|| "agent".into());
            let id = text(&self.id);
            let arguments = at(&self.args).cloned().unwrap_or_default();
            events.push(event_with(
                &author,
                vec![call_part(&name, id.as_deref(), &arguments)],
            ));
            if let Some(response) = at(&self.response).filter(|value| !value.is_null()) {
                events.push(event_with(
                    &author,
                    vec![response_part(&name, id.as_deref(), response.clone())],
                ));
            }
        }
        events
    }
}

/// The path of the list in which a path selects elements: `$.steps` of `$.steps[?@.type=='tool']` and of `$.steps[*]`.
fn list_path(path: &str) -> &str {
    let ends = ["[?", "[*", ".*", ".."]
        .into_iter()
        .filter_map(|selector| path.find(selector));
    ends.min().map_or(path, |end| &path[..end])
}

fn compiled(key: &str, path: Option<&str>) -> Result<Option<JsonPath>, String> {
    let parse = |path: &str| {
        JsonPath::parse(path).map_err(|error| format!("{key}: {path:?} is not a JSONPath: {error}"))
    };
    path.map(parse).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn missing_call_list_is_unknown_empty_is_known() {
        let calls = |path: &str| {
            CallPaths::compile(&HttpCalls {
                path: path.into(),
                name: "$.tool".into(),
                args: Some("$.input".into()),
                response: Some("$.output".into()),
                id: None,
                author: None,
            })
            .unwrap()
        };
        let steps = json!({"steps": [{"type": "text"}, {"type": "tool", "tool": "t", "input": "{\"n\": 1}", "output": 3}]});
        let events = calls("$.steps[?@.type=='tool']").events(&steps);
        let call = events[0].content.as_ref().unwrap().calls().next().unwrap();
        assert_eq!(
            (events.len(), call.args.clone()),
            (2, json!({"n": 1}).as_object().cloned())
        );
        assert_eq!(
            calls("$.steps").events(&steps).len(),
            2,
            "a list is its elements"
        );
        assert!(calls("$.steps").events(&json!({"steps": []})).is_empty());
        for path in ["$.steps", "$.steps[*]", "$.steps[?@.type=='tool']"] {
            let known = |value: Value| calls(path).are_known(&value);
            assert_eq!(
                (
                    known(json!({"steps": []})),
                    known(json!({"steps": null})),
                    known(json!({}))
                ),
                (true, false, false),
                "{path}"
            );
        }
        assert!(
            !calls("$.steps[*]").are_known(&json!({"steps": [{"name": "t"}]})),
            "a call without a name is not known"
        );
        assert!(
            compiled("response", Some("$.["))
                .unwrap_err()
                .contains("response")
        );
    }
}
