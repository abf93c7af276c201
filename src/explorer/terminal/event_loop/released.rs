//! Gives the terminal to an editor or to the shell, and takes it back.

use super::EventLoop;
use crate::explorer::shared::effect::EditorOf;
use crate::explorer::shared::message::{EditMsg, Msg, SetMsg};
use crate::explorer::terminal::{criteria, editor, guard as terminal};
use std::io;
use std::path::PathBuf;

impl EventLoop {
    /// Releases the terminal and opens a file in `$EDITOR`. While the editor runs, the explorer does not read keys.
    pub(super) fn edit(&mut self, path: PathBuf, line: usize) -> io::Result<()> {
        self.keys.pause();
        terminal::restore_terminal();
        let opened = editor::open(&path, line);
        self.come_back()?;
        match opened {
            Ok(()) => self.take(Msg::Sets(SetMsg::FilesChanged)),
            Err(error) => self.take(Msg::Failed(format!(
                "the editor could not be opened: {error}"
            ))),
        }
    }

    /// Like [`EventLoop::edit`], for a text. The edited text is passed on without validation.
    pub(super) fn edit_text(
        &mut self,
        text: &str,
        name: &str,
        ending: &str,
        of: EditorOf,
    ) -> io::Result<()> {
        self.keys.pause();
        terminal::restore_terminal();
        let edited = editor::edit_text(text, name, ending);
        self.come_back()?;
        self.take(match edited {
            Ok(text) => Msg::Edits(EditMsg::TextEdited(of, text)),
            Err(error) => Msg::Failed(format!("the editor could not be opened: {error}")),
        })
    }

    pub(super) fn edit_criteria(&mut self, set: usize) -> io::Result<()> {
        match criteria::text_of(&self.executor.sets[set]) {
            Ok((path, read, text)) => {
                self.edit_text(&text, "test_config", "json", EditorOf::Criteria(path, read))
            }
            Err(why) => self.take(Msg::Failed(why.to_string())),
        }
    }

    pub(super) fn suspend(&mut self) -> io::Result<()> {
        self.keys.pause();
        terminal::restore_terminal();
        terminal::suspend_process_group();
        self.come_back()
    }

    pub(super) fn come_back(&mut self) -> io::Result<()> {
        self.screen = terminal::take(self.model.mouse)?;
        self.keys.go_on();
        self.frames.after_input();
        let (width, height) = crossterm::terminal::size().unwrap_or(self.model.size);
        self.take(Msg::Resize(width, height))
    }
}
