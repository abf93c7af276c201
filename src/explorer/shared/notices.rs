//! Notices: one is shown for some seconds, and all are in the message log.

use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::model::{Model, Notice};

/// Maximum number of notices in the message log.
pub const MAX_NOTICES: usize = 200;
/// How long a notice is shown, in seconds; errors are shown longer.
const NOTICE_S: f64 = 4.0;
const BAD_NOTICE_S: f64 = 10.0;

pub(crate) fn notify(model: &mut Model, text: String, bad: bool) -> Vec<Effect> {
    let topic = text.clone();
    notify_about(model, topic, text, bad)
}

/// Shows a notice in the place of earlier ones about the same topic, which are counted.
pub(crate) fn notify_about(
    model: &mut Model,
    topic: String,
    text: String,
    bad: bool,
) -> Vec<Effect> {
    let until = model.now + if bad { BAD_NOTICE_S } else { NOTICE_S };
    let known = model
        .notices
        .iter()
        .position(|notice| notice.topic == topic && notice.bad == bad);
    let before = known.map_or(0, |at| model.notices.remove(at).count);
    let notice = Notice {
        text,
        bad,
        until,
        topic,
        count: before + 1,
        is_about_position: false,
    };
    model.notices.push(notice.clone());
    model
        .notices
        .drain(..model.notices.len().saturating_sub(MAX_NOTICES));
    model.notice = Some(notice);
    Vec::new()
}

/// Shows a notice about the position of the cursor. It is hidden at the next key or use of the mouse.
pub(crate) fn notify_position(model: &mut Model, text: String) -> Vec<Effect> {
    let effects = notify(model, text, false);
    if let Some(notice) = &mut model.notice {
        notice.is_about_position = true;
    }
    effects
}

/// Whether the notice is about the position of the cursor.
pub(crate) fn is_about_position(model: &Model) -> bool {
    let notice = model.notice.as_ref();
    notice.is_some_and(|notice| notice.is_about_position)
}

/// Whether the notice is no error and has been shown long enough to be read.
pub(crate) fn was_read(model: &Model) -> bool {
    /// In seconds.
    const READ_IN: f64 = 1.0;
    let began = |notice: &Notice| notice.until - NOTICE_S;
    let notice = model.notice.as_ref().filter(|notice| !notice.bad);
    notice.is_some_and(|notice| began(notice) + READ_IN <= model.now)
}

pub(crate) fn tick(model: &mut Model, now: f64) {
    model.now = now;
    if model
        .notice
        .as_ref()
        .is_some_and(|notice| notice.until <= now)
    {
        model.notice = None;
    }
}
