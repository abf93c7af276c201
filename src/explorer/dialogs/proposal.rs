//! A proposed change of files that the user reviews before it is saved, and its conflicts with changes of the file by
//! others.

use super::Dialog;
use crate::explorer::commands::{DISCARD, SAVE, SAVE_BESIDE};
use crate::explorer::context::Context;
use crate::explorer::effect::EditEffect;
use crate::explorer::effect::Effect;
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::motion::Motion;
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::{over, scrollbar};
use crate::explorer::{authoring, load};
use crate::formats::json::TextChange;
use crate::formats::{Edit, PreviewLine, SetFile, plan, preview, rebase};
use crate::store::{FileAction, FileJob};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The message for an edit that has no effect.
pub(crate) const NOTHING: &str = "nothing would change";
/// Number of context lines around a change.
const AROUND: usize = 2;
/// Maximum number of lines shown of a file that is created or deleted.
const WHOLE: usize = 200;

/// A change that is shown before it is saved.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Description of the change.
    pub words: String,
    /// The changes to each file.
    pub jobs: Vec<FileJob>,
    /// The changed lines, with the name of the file before the lines of each file.
    pub lines: Vec<ProposalLine>,
    /// First visible line.
    pub scroll: usize,
    /// The version of the set's file that the change is based on, and the edits. `None` if the change does not come
    /// from edits of a set.
    pub meant: Option<(Arc<SetFile>, Vec<Edit>)>,
    /// Whether it is being saved.
    pub saving: bool,
    /// Why it could not be saved.
    pub problem: Option<String>,
    /// Target of the file if it is a link that leads outside the workspace. Saving again writes to it.
    pub outside: Option<PathBuf>,
    /// Set if the file was changed by others since it was read.
    pub conflict: Option<Conflict>,
}

/// A conflict with a change of the file by others.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The file as it is on disk.
    pub theirs: Arc<str>,
    /// The edits applied to `theirs`. `None` if both changes affect the same place, or if that is not known.
    pub merged: Option<Vec<Edit>>,
    /// Whether both changes affect the same place. Not known of changes of several files, which are made anew.
    pub is_same_place: bool,
}

/// A line of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub enum ProposalLine {
    /// The name of a file, or a heading.
    Heading(String),
    /// A line of a change.
    Change(PreviewLine),
}

impl Proposal {
    /// Creates a proposal; `shown` formats the name of a file.
    pub fn new(words: String, jobs: Vec<FileJob>, shown: impl Fn(&FileJob) -> String) -> Proposal {
        let mut lines = Vec::new();
        for job in &jobs {
            lines.push(ProposalLine::Heading(shown(job)));
            lines.extend(lines_of(&job.action));
        }
        Proposal {
            words,
            jobs,
            lines,
            scroll: 0,
            meant: None,
            saving: false,
            problem: None,
            outside: None,
            conflict: None,
        }
    }

    /// Handles a change of a file by others: shows both changes, and tries to merge them.
    pub fn meet(&mut self, path: &Path, theirs: Arc<str>) {
        self.saving = false;
        let is_first = self.jobs.first().is_some_and(|job| job.path == path);
        let now = SetFile::open(theirs.clone(), "").ok();
        let merged = match (&self.meant, &now) {
            (Some((was, edits)), Some(now)) if is_first => {
                rebase(was, now, edits).filter(|again| plan(now, again).is_ok())
            }
            _ => None,
        };
        let of_path = self.jobs.iter().find(|job| job.path == path);
        let Some(FileJob { action: FileAction::Change(read, _), .. }) = of_path else { return };
        let their_change = TextChange::one(0, read, &theirs);
        let mut lines = vec![ProposalLine::Heading("changes by others since the file was read".into())];
        lines.extend(preview(read, &their_change, AROUND).into_iter().map(ProposalLine::Change));
        lines.push(ProposalLine::Heading("your changes".into()));
        lines.extend(self.jobs.iter().flat_map(|job| lines_of(&job.action)));
        self.lines = lines;
        self.scroll = 0;
        let is_same_place = self.meant.is_some() && merged.is_none();
        self.conflict = Some(Conflict { theirs, merged, is_same_place });
    }
}

fn lines_of(action: &FileAction) -> Vec<ProposalLine> {
    let whole = |text: &str| {
        let mut lines: Vec<String> = text.lines().take(WHOLE).map(str::to_string).collect();
        let more = text.lines().count().saturating_sub(WHOLE);
        lines.extend((more > 0).then(|| format!("… and {more} more lines")));
        lines
    };
    let lines: Vec<PreviewLine> = match action {
        FileAction::Change(text, change) => preview(text, change, AROUND),
        FileAction::Create(text) => whole(text).into_iter().map(PreviewLine::New).collect(),
        FileAction::Delete(text) => whole(text).into_iter().map(PreviewLine::Gone).collect(),
    };
    lines.into_iter().map(ProposalLine::Change).collect()
}

impl Model {
    /// Creates a proposal from edits of a set, without changing files. The error says why the edits cannot be made.
    pub fn propose(&self, set: usize, edits: Vec<Edit>, words: String) -> Result<Proposal, String> {
        let file = self.file(set).ok_or("the file is not read yet")?;
        self.propose_in(set, file, edits, words)
    }

    /// Like [`Model::propose`], but based on an earlier version of the file.
    pub fn propose_in(
        &self,
        set: usize,
        file: &Arc<SetFile>,
        edits: Vec<Edit>,
        words: String,
    ) -> Result<Proposal, String> {
        let change = plan(file, &edits).map_err(|error| error.to_string())?;
        if change.is_empty() {
            return Err(NOTHING.into());
        }
        let view = &self.view.sets[set].path;
        let job = FileJob { path: view.path.clone(), action: FileAction::Change(file.shared_text(), change) };
        let mut proposal = Proposal::new(words, vec![job], |_| view.shown.clone());
        proposal.meant = Some((file.clone(), edits));
        Ok(proposal)
    }
}

pub(crate) fn save(model: &mut Model) -> Vec<Effect> {
    let Some(proposal) = model.dialog_mut::<Proposal>() else { return Vec::new() };
    if proposal.saving {
        return Vec::new();
    }
    match proposal.conflict.take() {
        None => {
            proposal.saving = true;
            proposal.problem = None;
            let anywhere = proposal.outside.is_some();
            vec![Effect::Edits(EditEffect::Make {
                words: proposal.words.clone(),
                jobs: proposal.jobs.clone(),
                anywhere,
            })]
        }
        Some(Conflict { theirs, merged: Some(edits), .. }) => {
            let proposal = (proposal.words.clone(), proposal.jobs.first().map(|job| job.path.clone()));
            merge(model, theirs, edits, proposal)
        }
        Some(conflict) => {
            let (beside, leave) = (SAVE_BESIDE.key(), DISCARD.key());
            proposal.problem = Some(match conflict.is_same_place {
                true => format!(
                    "both changed the same place; {beside} writes yours beside, {leave} leaves theirs"
                ),
                false => format!("the file was changed; {leave} closes this, then make the change again"),
            });
            proposal.conflict = Some(conflict);
            Vec::new()
        }
    }
}

/// Proposes the merged edits on the file as others changed it.
fn merge(
    model: &mut Model,
    theirs: Arc<str>,
    edits: Vec<Edit>,
    (words, path): (String, Option<PathBuf>),
) -> Vec<Effect> {
    let set = model.view.sets.iter().position(|set| Some(&set.path.path) == path.as_ref());
    let (Some(set), Ok(file)) = (set, SetFile::open(theirs.clone(), "")) else { return Vec::new() };
    let mut effects = load::put_file(model, set, Arc::new(file), String::new());
    effects.extend(authoring::propose(model, set, edits, words));
    effects
}

pub(crate) fn save_beside(model: &mut Model) -> Vec<Effect> {
    let Some(proposal) = model.dialog_mut::<Proposal>() else { return Vec::new() };
    let mine = proposal.jobs.iter().filter_map(|job| match &job.action {
        FileAction::Change(text, change) => {
            let name = job.path.file_name()?.to_string_lossy().into_owned();
            let path = job.path.with_file_name(format!("{name}.mine"));
            Some(FileJob { path, action: FileAction::Create(change.apply(text)?) })
        }
        _ => None,
    });
    let jobs: Vec<FileJob> = mine.collect();
    proposal.saving = true;
    let names: Vec<String> = jobs.iter().map(|job| job.path.display().to_string()).collect();
    vec![Effect::Edits(EditEffect::Make {
        words: format!("write {}", names.join(", ")),
        jobs,
        anywhere: false,
    })]
}

/// Closes the proposal, unless it is being saved: then the reply closes it.
pub(crate) fn discard(model: &mut Model) -> Vec<Effect> {
    if !model.dialog::<Proposal>().is_some_and(|proposal| proposal.saving) {
        model.view.open_dialog = None;
    }
    Vec::new()
}

impl Dialog for Proposal {
    fn context(&self) -> Option<Context> {
        Some(Context::Proposal)
    }

    fn scroll(&mut self, model: &mut Model, motion: Motion) {
        let page = usize::from(proposal_rows(model.size));
        let last = (self.lines.len() + 1).saturating_sub(page);
        self.scroll = motion.of(self.scroll, last.max(1), page);
    }

    fn draw(&self, _: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
        let body = areas.body;
        let width = body.width.saturating_sub(2).min(WIDTH);
        let height = (self.lines.len() as u16).saturating_add(4);
        let inner = over(body, width, height, &self.words, theme, buffer);
        let rows = Rect { height: inner.height.saturating_sub(1), ..inner };
        let shown = usize::from(rows.height);
        let first = self.scroll.min(self.lines.len().saturating_sub(shown));
        for (row, line) in self.lines.iter().skip(first).take(shown).enumerate() {
            line_of(line, Rect { y: rows.y + row as u16, height: 1, ..rows }, theme, buffer);
        }
        let frame = Rect { x: rows.x - 1, y: rows.y - 1, width: rows.width + 2, height: rows.height + 2 };
        scrollbar(frame, first, shown, self.lines.len(), theme, buffer);
        let (words, role) = state_words(self);
        put(
            buffer,
            inner.x + 1,
            inner.bottom() - 1,
            inner.width.saturating_sub(2),
            &words,
            theme.style(role),
        );
        None
    }
}

/// Maximum width of the dialog, in columns.
const WIDTH: u16 = 110;

/// Number of lines that fit: the height of the screen without frame and answers.
fn proposal_rows(size: (u16, u16)) -> u16 {
    size.1.saturating_sub(6)
}

fn line_of(line: &ProposalLine, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    let room = row.width.saturating_sub(4);
    let (sign, words, role) = match line {
        ProposalLine::Heading(words) => {
            put(buffer, row.x + 1, row.y, row.width - 2, words, theme.style(Role::Title));
            return;
        }
        ProposalLine::Change(PreviewLine::Place(line)) => {
            put(buffer, row.x + 1, row.y, row.width - 2, &format!("line {line}"), theme.style(Role::Faint));
            return;
        }
        ProposalLine::Change(PreviewLine::Same(words)) => (" ", words, Role::Faint),
        ProposalLine::Change(PreviewLine::Gone(words)) => ("-", words, Role::Removed),
        ProposalLine::Change(PreviewLine::New(words)) => ("+", words, Role::Added),
    };
    put(buffer, row.x + 1, row.y, 1, sign, theme.style(role));
    put(buffer, row.x + 3, row.y, room, words, theme.style(role));
}

/// The line at the bottom: the possible answers, or the error.
fn state_words(proposal: &Proposal) -> (String, Role) {
    if let Some(problem) = &proposal.problem {
        return (problem.clone(), Role::Bad);
    }
    let (save, beside, leave) = (SAVE.key(), SAVE_BESIDE.key(), DISCARD.key());
    let words = match &proposal.conflict {
        _ if proposal.saving => "saving…".to_string(),
        None => format!("{save} save    {leave} change nothing"),
        Some(conflict) if conflict.merged.is_some() => format!(
            "the file was changed since: {save} make both changes    {beside} write yours beside    \
             {leave} keep theirs"
        ),
        Some(conflict) if !conflict.is_same_place => {
            format!(
                "the file was changed since: {leave} close, then make the change again    {beside} write yours beside"
            )
        }
        Some(_) => {
            format!(
                "the same lines were changed by others: {beside} write yours beside    {leave} keep theirs"
            )
        }
    };
    (words, Role::Accent)
}
