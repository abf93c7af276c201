//! Executes the effects on files that the user edits.

use crate::explorer::shared::effect::{CaptureTarget, EditEffect};
use crate::explorer::shared::message::{EditMsg, Msg};
use crate::explorer::terminal::effects::{EffectExecutor, LoopEvent};
use crate::explorer::terminal::paths::{folder_of, with_home};
use crate::explorer::terminal::{captures, edits};
use evaltrail_engine::runner;
use evaltrail_engine::store::EditLog;

impl EffectExecutor {
    pub(crate) fn edits(&mut self, effect: EditEffect) {
        let log = EditLog::in_folder(self.app_folders.as_ref());
        match effect {
            EditEffect::Make {
                words,
                jobs,
                anywhere,
            } => self.elsewhere(move |context| {
                Some(edits::make(
                    &log,
                    &context.workspace.root,
                    &words,
                    &jobs,
                    anywhere,
                ))
            }),
            EditEffect::ReadConversations { source, target } => {
                self.read_conversations(source, target)
            }
            EditEffect::UndoOrRedo {
                reversal,
                shown,
                confirmed,
            } => {
                let (opened, since) = (self.opened.clone(), self.since);
                self.elsewhere(move |_| {
                    let expected = (reversal, shown, since);
                    let asked = edits::unexpected_edit(&log, &opened, expected, confirmed);
                    Some(match asked {
                        Some(edit) => Msg::Edits(EditMsg::UnexpectedEdit(reversal, edit)),
                        None => edits::undo_or_redo(&log, &opened, reversal),
                    })
                })
            }
        }
    }

    fn read_conversations(&self, source: String, target: CaptureTarget) {
        let (back, folder) = (self.back.clone(), folder_of(&self.opened));
        let (workspace, sets) = (self.workspace.clone(), self.sets.clone());
        self.workers.spawn(async move {
            let read = runner::recorded_conversations(&with_home(&source), &folder).await;
            let ranking = tokio::task::spawn_blocking(move || {
                let found = read.as_deref().unwrap_or_default();
                let additions = captures::additions(
                    &workspace,
                    &sets,
                    &target,
                    &folder,
                    &with_home(&source),
                    found,
                );
                let msg = EditMsg::Conversations {
                    source,
                    target,
                    found: read,
                    additions,
                };
                LoopEvent::Msg(Msg::Edits(msg))
            });
            if let Ok(msg) = ranking.await {
                let _ = back.send(msg).await;
            }
        });
    }
}
