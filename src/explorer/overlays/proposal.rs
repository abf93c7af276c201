//! A change of files that a person looks at before it is made: its lines, the answers, and a file that was changed by
//! something else meanwhile.

use super::{Dialog, Overlay};
use crate::explorer::commands::{Context, DISCARD, Motion, SAVE, SAVE_BESIDE};
use crate::explorer::effect::EditEffect;
use crate::explorer::effect::Effect;
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
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

/// What is said when an edit comes to nothing.
pub(crate) const NOTHING: &str = "nothing would change";
/// Lines shown around a change.
const AROUND: usize = 2;
/// Of a file that comes or goes as a whole, so many lines are shown.
const WHOLE: usize = 200;

/// A change that is shown and not made yet.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// What it does, in words.
    pub words: String,
    /// What is done to which file.
    pub jobs: Vec<FileJob>,
    /// The lines that change, file by file: the file's name before its lines.
    pub lines: Vec<ProposalLine>,
    /// The first line shown.
    pub scroll: usize,
    /// Where it comes from: the set's file as it was read, and what is meant.
    pub meant: Option<(Arc<SetFile>, Vec<Edit>)>,
    /// Whether it is being made.
    pub saving: bool,
    /// Why it was not made.
    pub problem: Option<String>,
    /// The file is a link to this one, outside the folder; saving again writes there.
    pub outside: Option<PathBuf>,
    /// Someone else changed the file since it was read.
    pub conflict: Option<Conflict>,
}

/// What someone else made of a file meanwhile.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The file as it is now.
    pub theirs: Arc<str>,
    /// The same edit on their file; nothing when they changed the same place.
    pub merged: Option<Vec<Edit>>,
}

/// A line of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub enum ProposalLine {
    /// A file's name, or a heading.
    Heading(String),
    /// A line of a change.
    Change(PreviewLine),
}

impl Proposal {
    /// A proposal to do something to files.
    pub fn new(words: String, jobs: Vec<FileJob>, shown: impl Fn(&FileJob) -> String) -> Proposal {
        let mut lines = Vec::new();
        for job in &jobs {
            lines.push(ProposalLine::Heading(shown(job)));
            lines.extend(lines_of(&job.deed));
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

    /// Takes in that someone else changed the file, and looks whether both changes go together.
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
        let Some(FileJob { deed: FileAction::Change(read, _), .. }) = of_path else { return };
        let their_change = TextChange::one(0, read, &theirs);
        let mut lines = vec![ProposalLine::Heading("what the file has become since it was read".into())];
        lines.extend(preview(read, &their_change, AROUND).into_iter().map(ProposalLine::Change));
        lines.push(ProposalLine::Heading("what you meant".into()));
        lines.extend(self.jobs.iter().flat_map(|job| lines_of(&job.deed)));
        self.lines = lines;
        self.scroll = 0;
        self.conflict = Some(Conflict { theirs, merged });
    }
}

fn lines_of(deed: &FileAction) -> Vec<ProposalLine> {
    let whole = |text: &str| {
        let mut lines: Vec<String> = text.lines().take(WHOLE).map(str::to_string).collect();
        let more = text.lines().count().saturating_sub(WHOLE);
        lines.extend((more > 0).then(|| format!("… and {more} more lines")));
        lines
    };
    let lines: Vec<PreviewLine> = match deed {
        FileAction::Change(text, change) => preview(text, change, AROUND),
        FileAction::Create(text) => whole(text).into_iter().map(PreviewLine::New).collect(),
        FileAction::Delete(text) => whole(text).into_iter().map(PreviewLine::Gone).collect(),
    };
    lines.into_iter().map(ProposalLine::Change).collect()
}

impl Model {
    /// What edits of a set would change; nothing changes yet. The error says why they cannot be made.
    pub fn propose(&self, set: usize, edits: Vec<Edit>, words: String) -> Result<Proposal, String> {
        let file = self.file(set).ok_or("the file is not read yet")?;
        self.propose_in(set, file, edits, words)
    }

    /// The same for a set's file as it was read earlier.
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
        let view = &self.sets[set].path;
        let job = FileJob { path: view.path.clone(), deed: FileAction::Change(file.shared_text(), change) };
        let mut proposal = Proposal::new(words, vec![job], |_| view.shown.clone());
        proposal.meant = Some((file.clone(), edits));
        Ok(proposal)
    }
}

pub(crate) fn save(model: &mut Model) -> Vec<Effect> {
    let Some(Overlay::Proposal(proposal)) = &mut model.overlay else { return Vec::new() };
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
        Some(Conflict { theirs, merged: Some(edits) }) => {
            let proposal = (proposal.words.clone(), proposal.jobs.first().map(|job| job.path.clone()));
            merge(model, theirs, edits, proposal)
        }
        Some(conflict) => {
            proposal.conflict = Some(conflict);
            let (beside, leave) = (SAVE_BESIDE.key(), DISCARD.key());
            let why =
                format!("both changed the same place; {beside} writes yours beside, {leave} leaves theirs");
            proposal.problem = Some(why);
            Vec::new()
        }
    }
}

/// The same edit on their file, to be looked at again.
fn merge(
    model: &mut Model,
    theirs: Arc<str>,
    edits: Vec<Edit>,
    (words, path): (String, Option<PathBuf>),
) -> Vec<Effect> {
    let set = model.sets.iter().position(|set| Some(&set.path.path) == path.as_ref());
    let (Some(set), Ok(file)) = (set, SetFile::open(theirs.clone(), "")) else { return Vec::new() };
    let mut effects = load::put_file(model, set, Arc::new(file), String::new());
    effects.extend(authoring::propose(model, set, edits, words));
    effects
}

pub(crate) fn save_beside(model: &mut Model) -> Vec<Effect> {
    let Some(Overlay::Proposal(proposal)) = &mut model.overlay else { return Vec::new() };
    let mine = proposal.jobs.iter().filter_map(|job| match &job.deed {
        FileAction::Change(text, change) => {
            let name = job.path.file_name()?.to_string_lossy().into_owned();
            let path = job.path.with_file_name(format!("{name}.mine"));
            Some(FileJob { path, deed: FileAction::Create(change.apply(text)?) })
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

/// Closes the proposal. What is being written cannot be left: its answer closes the proposal.
pub(crate) fn discard(model: &mut Model) -> Vec<Effect> {
    if !matches!(&model.overlay, Some(Overlay::Proposal(proposal)) if proposal.saving) {
        model.overlay = None;
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

/// Columns of a change: sign and text.
const WIDTH: u16 = 110;

/// How many lines of a proposal fit: all of the screen but its frame and the answers.
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

/// What can be done, or why it was not.
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
        Some(_) => {
            format!("the same place was changed since: {beside} write yours beside    {leave} keep theirs")
        }
    };
    (words, Role::Accent)
}
