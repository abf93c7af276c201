//! The trust dialog: what may be started, connected to or used. It can be allowed only after all of it was shown.

use crate::explorer::prompts::confirm;
use crate::explorer::prompts::confirm::Confirm;
use crate::explorer::prompts::question::QuestionText;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::{ALLOW, DENY, DOWN, PAGE_DOWN, RUN};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::dialog::{self, follow_all};
use crate::explorer::shared::effect::{ChatEffect, Effect, RunEffect, ScreenRequest};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::notices;
use crate::explorer::shared::run_target::RunTarget;
use crate::explorer::shared::screen::{NOTICE_LINES, layout};
use crate::explorer::shared::theme::Theme;
use evaltrail_core::domain::SessionInput;
use evaltrail_engine::runner::{TrustAction, TrustQuestion};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// The question, and what happens after the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustDialog {
    /// The text of the question.
    pub question: QuestionText,
    /// The requested permissions.
    pub asked: Vec<TrustQuestion>,
    /// What starts after a yes.
    pub then: AfterConsent,
}

/// What starts after a yes.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterConsent {
    /// A run of these cases.
    Run(Vec<CaseRef>, RunTarget),
    /// A conversation with an agent.
    Chat {
        /// The set whose agent is used.
        set: usize,
        /// The session.
        session: Box<SessionInput>,
        /// Number of the conversation.
        number: u64,
    },
}

impl Model {
    /// Whether the trust dialog is open.
    pub fn is_trust_dialog_open(&self) -> bool {
        self.dialog::<TrustDialog>().is_some()
    }
}

/// Opens the question.
pub(crate) fn open(model: &mut Model, asked: Vec<TrustQuestion>, then: AfterConsent) {
    let (title, lines) = question_text(&asked);
    let question = QuestionText::exact(title, lines);
    dialog::cover(
        model,
        TrustDialog {
            question,
            asked,
            then,
        },
    );
}

/// The title and the lines of the question.
fn question_text(asked: &[TrustQuestion]) -> (&'static str, Vec<String>) {
    let mut lines = Vec::new();
    for question in asked {
        lines.push(question.command.clone());
        lines.push(format!("in {}", question.folder));
    }
    lines.push("The permission is remembered until any of this changes.".into());
    if is_about_keys(asked) {
        lines.push(
            "Runs are still possible without it; metrics that need the key are then not evaluated."
                .into(),
        );
        return (
            "Use this key? It is in a .env file, and the judge needs it.",
            lines,
        );
    }
    let starts = asked
        .iter()
        .any(|question| question.action == TrustAction::Start);
    let title = match starts {
        true => "Start this? The files of this folder need it.",
        false => "Allow this? The files of this folder need it.",
    };
    (title, lines)
}

/// Whether the question is about using keys of a file. Such questions are never combined with others.
fn is_about_keys(asked: &[TrustQuestion]) -> bool {
    asked
        .iter()
        .any(|question| question.action == TrustAction::Use)
}

/// The part of the screen for the question. It does not depend on whether a notice is shown: otherwise, when the
/// notice disappears, lines that were never drawn would count as shown.
fn body(model: &Model) -> Rect {
    let areas = layout(model);
    let body = areas.body;
    let bottom = areas.footer.y.saturating_sub(NOTICE_LINES as u16);
    Rect {
        height: bottom.saturating_sub(body.y),
        ..body
    }
}

/// Answers the open question: this one, or another that opened without a request. A yes is ignored until the end of the
/// question is visible.
pub(crate) fn answer(model: &mut Model, yes: bool) -> Vec<Effect> {
    if model.dialog::<Confirm>().is_some() {
        return confirm::answer(model, yes);
    }
    let body = body(model);
    let Some(dialog) = model.dialog::<TrustDialog>() else {
        return Vec::new();
    };
    if yes && dialog.question.lines_below(body) > 0 {
        return Vec::new();
    }
    let Some(dialog) = model.take_dialog::<TrustDialog>() else {
        return Vec::new();
    };
    model.view.open_dialog = model.view.covered_dialog.take();
    match yes {
        true => allowed(dialog),
        false => denied(model, dialog),
    }
}

fn allowed(dialog: TrustDialog) -> Vec<Effect> {
    let asked = dialog.asked;
    vec![match dialog.then {
        AfterConsent::Run(cases, against) => {
            Effect::Run(RunEffect::StartTrusted(cases, asked, against))
        }
        AfterConsent::Chat {
            set,
            session,
            number,
        } => Effect::Chat(ChatEffect::Open {
            set,
            session: *session,
            number,
            granted: asked,
        }),
    }]
}

fn denied(model: &mut Model, dialog: TrustDialog) -> Vec<Effect> {
    match dialog.then {
        AfterConsent::Chat { .. } => vec![ScreenRequest::LeaveChat.into()],
        AfterConsent::Run(..) if is_about_keys(&dialog.asked) => {
            let words = "not started; further runs do not use the key, and metrics that need it are not evaluated";
            let mut effects = notices::notify(model, words.into(), false);
            effects.push(Effect::Run(RunEffect::DeclineKeys(dialog.asked)));
            effects
        }
        AfterConsent::Run(..) => {
            notices::notify(model, format!("{}: not started", RUN.name), false)
        }
    }
}

impl Dialog for TrustDialog {
    fn context(&self) -> Option<Context> {
        Some(Context::Trust)
    }

    fn scroll(&mut self, model: &mut Model, motion: Motion) {
        self.question.scroll(body(model), motion);
    }

    fn draw(
        &self,
        model: &Model,
        _: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let no = DENY.keys().join(" ");
        let body = body(model);
        let answers = match self.question.lines_below(body) {
            0 => format!("{} yes    {no} no", ALLOW.key()),
            below => {
                let (down, page) = (DOWN.key(), PAGE_DOWN.key());
                format!("{below} more lines below: {down}, {page}    {no} no")
            }
        };
        self.question.draw(body, &answers, theme, buffer);
        None
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        match &mut self.then {
            AfterConsent::Run(cases, against) => {
                against.follow(new);
                // A run that is continued has its own cases.
                follow_all(cases, new) || matches!(against, RunTarget::Resume(_))
            }
            AfterConsent::Chat { .. } => true,
        }
    }
}
