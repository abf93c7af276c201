//! State of the case editor: a draft of the case, its fields as rows, and the field that is being typed.
//!
//! ```text
//! draft ──fields──▶ rows ──enter──▶ Typing ──apply──▶ draft'        past ◀── undo, redo ──▶ future
//! draft' ──save──▶ a proposal: the change of the file, to be looked at
//! ```

use crate::explorer::shared::case_field::{Adding, CaseField, FieldRow, fields};
use crate::explorer::shared::completion_cycle::CompletionCycle;
use crate::explorer::shared::tools::KnownTools;

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::CaseOrigin;
use evaltrail_core::domain::{Attempt, EvalCase};
use evaltrail_core::formats::SetFile;
use std::sync::Arc;
use tui_input::Input;

/// State of the case editor.
#[derive(Debug)]
pub struct EditScreen {
    /// The edited case.
    pub at: CaseRef,
    /// The version of the file when the editor opened.
    pub file: Arc<SetFile>,
    /// Position of the case in that version.
    pub index: usize,
    /// The case in that version.
    pub before: EvalCase,
    /// The edited case.
    pub draft: EvalCase,
    /// Whether the case is not in the file yet.
    pub is_new: bool,
    /// Earlier drafts, the newest last.
    pub past: Vec<EvalCase>,
    /// Drafts that were undone, the newest last.
    pub future: Vec<EvalCase>,
    /// The rows of the draft.
    pub rows: Vec<FieldRow>,
    /// Index of the row under the cursor.
    pub cursor: usize,
    /// First visible row.
    pub scroll: usize,
    /// The value that is being typed, if any.
    pub typing: Option<Typing>,
    /// The known tools, for completion.
    pub tools: Arc<KnownTools>,
    /// What the agent did in the attempts that are shown, if they could be read at once.
    pub actual: Vec<Arc<Attempt>>,
    /// Where the case was opened from; `None` if the editor was opened from the list.
    pub from: Option<CaseOrigin>,
}

/// A value that is being typed.
#[derive(Debug)]
pub struct Typing {
    /// The field that is edited, or after which something is added.
    pub field: CaseField,
    /// What is being added; `None` if the field itself is edited.
    pub adding: Option<Adding>,
    /// The text field.
    pub input: Input,
    /// Why the text is invalid, if it is.
    pub wrong: Option<String>,
    /// A warning about a text that is valid.
    pub warning: Option<String>,
    /// Possible completions.
    pub completions: Vec<String>,
    /// What the text was completed with.
    pub cycle: CompletionCycle,
}

impl EditScreen {
    /// Starts to edit a case.
    pub fn new(
        at: CaseRef,
        file: Arc<SetFile>,
        case: EvalCase,
        from: Option<CaseOrigin>,
    ) -> EditScreen {
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
            actual: Vec::new(),
            from,
        }
    }

    /// The row under the cursor.
    pub fn row(&self) -> Option<&FieldRow> {
        self.rows.get(self.cursor)
    }

    /// Moves the cursor to a field, if it has a row.
    pub fn go_to(&mut self, field: &CaseField) {
        let row = self.rows.iter().position(|row| row.field == *field);
        self.cursor = row.unwrap_or(self.cursor);
    }

    /// Whether the draft differs from the file.
    pub fn is_changed(&self) -> bool {
        self.is_new || self.draft != self.before
    }

    /// Replaces the draft if it differs, and moves the cursor to the field `go_to`.
    pub fn take(&mut self, draft: EvalCase, go_to: Option<&CaseField>) {
        if draft == self.draft {
            return;
        }
        self.past.push(std::mem::replace(&mut self.draft, draft));
        self.future.clear();
        self.show(go_to);
    }

    /// Restores the previous draft. Returns false if there is none.
    pub fn undo(&mut self) -> bool {
        let Some(before) = self.past.pop() else {
            return false;
        };
        self.future.push(std::mem::replace(&mut self.draft, before));
        self.show(None);
        true
    }

    /// Restores the draft that was undone last. Returns false if there is none.
    pub fn redo(&mut self) -> bool {
        let Some(after) = self.future.pop() else {
            return false;
        };
        self.past.push(std::mem::replace(&mut self.draft, after));
        self.show(None);
        true
    }

    fn show(&mut self, go_to: Option<&CaseField>) {
        self.rows = fields(&self.draft);
        let row = go_to.and_then(|field| self.rows.iter().position(|row| row.field == *field));
        self.cursor = row
            .unwrap_or(self.cursor)
            .min(self.rows.len().saturating_sub(1));
    }
}
