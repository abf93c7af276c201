//! Editing a case in place: a draft of the case, its fields as rows, and one field being typed.
//!
//! ```text
//! draft ──fields──▶ rows ──enter──▶ Typing ──apply──▶ draft'        past ◀── undo, redo ──▶ future
//! draft' ──save──▶ a proposal: the change of the file, to be looked at
//! ```

pub use super::apply::{add_after, duplicate, move_field, remove, set, wrong_value};
pub use super::complete::{Tools, completions};
pub use super::field::{Adding, Field, FieldRow, adding_after, fields, value_of};

use crate::domain::EvalCase;
use crate::explorer::case_ref::CaseRef;
use crate::formats::SetFile;
use std::sync::Arc;
use tui_input::Input;

/// A case that is being edited.
#[derive(Debug)]
pub struct EditScreen {
    /// Which case.
    pub at: CaseRef,
    /// The file as it was when the editor opened, and the case's position in it.
    pub file: Arc<SetFile>,
    /// Position in that file.
    pub index: usize,
    /// The case as the file has it.
    pub before: EvalCase,
    /// The case as it is meant so far.
    pub draft: EvalCase,
    /// Whether the file does not have it yet.
    pub is_new: bool,
    /// Earlier drafts, the newest last.
    pub past: Vec<EvalCase>,
    /// Drafts that were taken back, the newest last.
    pub future: Vec<EvalCase>,
    /// The rows of the draft.
    pub rows: Vec<FieldRow>,
    /// The row under the cursor.
    pub cursor: usize,
    /// The first row shown.
    pub scroll: usize,
    /// What is being typed.
    pub typing: Option<Typing>,
    /// The tools that are known, for completion.
    pub tools: Arc<Tools>,
    /// Whether leaving leads to the case rather than to the list.
    pub from_case: bool,
}

/// A value being typed.
#[derive(Debug)]
pub struct Typing {
    /// Which field, or what is being added behind it.
    pub field: Field,
    /// What is being added, when something is.
    pub adding: Option<Adding>,
    /// The text.
    pub input: Input,
    /// What is wrong with it.
    pub wrong: Option<String>,
    /// What it could be.
    pub completions: Vec<String>,
}

impl EditScreen {
    /// Begins to edit a case.
    pub fn new(at: CaseRef, file: Arc<SetFile>, case: EvalCase, from_case: bool) -> EditScreen {
        EditScreen {
            at,
            file,
            index: at.index,
            rows: fields(&case),
            draft: case.clone(),
            before: case,
            is_new: false,
            past: Vec::new(),
            future: Vec::new(),
            cursor: 0,
            scroll: 0,
            typing: None,
            tools: Arc::default(),
            from_case,
        }
    }

    /// The row under the cursor.
    pub fn row(&self) -> Option<&FieldRow> {
        self.rows.get(self.cursor)
    }

    /// Whether anything is other than in the file.
    pub fn is_changed(&self) -> bool {
        self.is_new || self.draft != self.before
    }

    /// Takes a changed draft; the cursor goes to a field, where it is told.
    pub fn take(&mut self, draft: EvalCase, go_to: Option<&Field>) {
        if draft == self.draft {
            return;
        }
        self.past.push(std::mem::replace(&mut self.draft, draft));
        self.future.clear();
        self.show(go_to);
    }

    /// Back to the draft before.
    pub fn undo(&mut self) -> bool {
        let Some(before) = self.past.pop() else { return false };
        self.future.push(std::mem::replace(&mut self.draft, before));
        self.show(None);
        true
    }

    /// Forth again.
    pub fn redo(&mut self) -> bool {
        let Some(after) = self.future.pop() else { return false };
        self.past.push(std::mem::replace(&mut self.draft, after));
        self.show(None);
        true
    }

    fn show(&mut self, go_to: Option<&Field>) {
        self.rows = fields(&self.draft);
        let place = go_to.and_then(|field| self.rows.iter().position(|row| row.field == *field));
        self.cursor = place.unwrap_or(self.cursor).min(self.rows.len().saturating_sub(1));
    }
}
