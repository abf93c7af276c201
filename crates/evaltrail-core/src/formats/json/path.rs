//! Paths in a document, such as `$.eval_cases[2].conversation[0]`.

use std::fmt;

/// One step into a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into an object, by key.
    Key(String),
    /// Into an array, by position.
    Index(usize),
}

/// The path from the top of a document to a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonPath(pub Vec<Step>);

impl JsonPath {
    /// The path one key deeper.
    pub fn key(&self, key: &str) -> JsonPath {
        self.with(Step::Key(key.to_string()))
    }

    /// The path one position deeper.
    pub fn index(&self, index: usize) -> JsonPath {
        self.with(Step::Index(index))
    }

    fn with(&self, step: Step) -> JsonPath {
        let mut steps = self.0.clone();
        steps.push(step);
        JsonPath(steps)
    }

    /// This path below another one.
    pub fn below(&self, top: &JsonPath) -> JsonPath {
        JsonPath(top.0.iter().chain(&self.0).cloned().collect())
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.0 {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if is_name(key) => write!(f, ".{key}")?,
                Step::Key(key) => write!(f, "[{key:?}]")?,
            }
        }
        Ok(())
    }
}

fn is_name(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_')
}
