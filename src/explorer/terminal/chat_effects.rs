//! Executes the effects on the conversation with an agent.

use crate::explorer::shared::effect::ChatEffect;
use crate::explorer::shared::message::{ChatMsg, Msg};
use crate::explorer::terminal::chat;
use crate::explorer::terminal::effects::{EffectExecutor, LoopEvent};
use evaltrail_core::domain::SessionInput;
use evaltrail_engine::runner::{self, TrustQuestion};

impl EffectExecutor {
    pub(crate) fn chat(&mut self, effect: ChatEffect) {
        match effect {
            ChatEffect::Open {
                set,
                session,
                number,
                granted,
            } => self.open_chat(set, session, number, granted),
            ChatEffect::Send(text) => {
                if let Some(chat) = &self.chat {
                    let _ = chat.try_send(text);
                }
            }
            ChatEffect::Close => self.chat = None,
        }
    }

    /// Begins a conversation, once what it starts is allowed. The one before ends.
    fn open_chat(
        &mut self,
        set: usize,
        session: SessionInput,
        number: u64,
        granted: Vec<TrustQuestion>,
    ) {
        self.chat = None;
        let prepared = chat::prepare(
            &self.workspace,
            &self.sets[set],
            &session,
            &granted,
            self.app_folders.as_ref(),
        );
        let back = self.back.clone();
        match prepared {
            Ok((spec, opening)) => {
                let (events, mut arrive) = tokio::sync::mpsc::channel(64);
                let entered = self.workers.enter();
                self.chat = Some(runner::chat(spec, opening, events));
                drop(entered);
                self.workers.spawn(async move {
                    while let Some(event) = arrive.recv().await {
                        let msg = Msg::Chat(number, ChatMsg::Event(event));
                        if back.send(LoopEvent::Msg(msg)).await.is_err() {
                            return;
                        }
                    }
                });
            }
            Err(msg) => {
                self.workers.spawn(async move {
                    let _ = back.send(LoopEvent::Msg(Msg::Chat(number, msg))).await;
                });
            }
        }
    }
}
