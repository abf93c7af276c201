//! Colours by role. The built-in themes are TOML files embedded in the binary. Roles that a theme omits are drawn in
//! the terminal's default style.

use evaltrail_core::domain::Status;
use ratatui::style::{Color, Modifier, Style};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

/// The roles of text and other parts of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Role {
    Text,
    Faint,
    Title,
    Accent,
    Border,
    Focus,
    Cursor,
    Passed,
    Failed,
    Errored,
    NotEvaluated,
    Running,
    Removed,
    Added,
    Tool,
    Key,
    Value,
    Note,
    Bar,
    Bad,
}

/// Every role with its name in theme files.
pub const ROLES: &[(&str, Role)] = &[
    ("text", Role::Text),
    ("faint", Role::Faint),
    ("title", Role::Title),
    ("accent", Role::Accent),
    ("border", Role::Border),
    ("focus", Role::Focus),
    ("cursor", Role::Cursor),
    ("passed", Role::Passed),
    ("failed", Role::Failed),
    ("errored", Role::Errored),
    ("not_evaluated", Role::NotEvaluated),
    ("running", Role::Running),
    ("removed", Role::Removed),
    ("added", Role::Added),
    ("tool", Role::Tool),
    ("key", Role::Key),
    ("value", Role::Value),
    ("note", Role::Note),
    ("bar", Role::Bar),
    ("bad", Role::Bad),
];

/// The built-in theme files, by name.
const FILES: &[(&str, &str)] = &[
    ("default", include_str!("../../../themes/default.toml")),
    ("dark", include_str!("../../../themes/dark.toml")),
    ("light", include_str!("../../../themes/light.toml")),
    (
        "high-contrast",
        include_str!("../../../themes/high-contrast.toml"),
    ),
    (
        "colour-blind",
        include_str!("../../../themes/colour-blind.toml"),
    ),
    (
        "white-on-black",
        include_str!("../../../themes/white-on-black.toml"),
    ),
    ("mono", include_str!("../../../themes/mono.toml")),
];

/// A theme: the style of each role.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    /// Name of the theme.
    pub name: String,
    styles: BTreeMap<Role, Style>,
}

/// A theme from the user's configuration.
#[derive(Debug)]
struct OwnTheme {
    name: String,
    /// Styles by role, including those of the base theme.
    looks: toml::Table,
}

/// Set once, before the first frame.
static OWN: OnceLock<Vec<OwnTheme>> = OnceLock::new();

fn own_theme(name: &str, looks: &toml::Table) -> Result<OwnTheme, ThemeError> {
    if FILES.iter().any(|(known, _)| *known == name) {
        return Err(in_theme(name, "a built-in theme has this name"));
    }
    let mut own = looks.clone();
    let base = own.remove("base");
    let base = base.as_ref().map_or(Some("default"), toml::Value::as_str);
    let file = FILES.iter().find(|(known, _)| Some(*known) == base);
    let (_, text) =
        file.ok_or_else(|| in_theme(name, "base is not the name of a built-in theme"))?;
    let mut looks: toml::Table = toml::from_str(text).map_err(|error| in_theme(name, error))?;
    looks.extend(own);
    Theme::from_looks(name, looks.clone(), true)?;
    Ok(OwnTheme {
        name: name.to_string(),
        looks,
    })
}

fn in_theme(name: &str, why: impl fmt::Display) -> ThemeError {
    ThemeError(format!("theme {name}: {why}"))
}

/// Why a theme cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct ThemeError(pub String);

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleStyle {
    fg: Option<String>,
    bg: Option<String>,
    #[serde(default)]
    mods: Vec<String>,
}

impl Theme {
    /// Loads a built-in theme or one from the user's configuration. Without `true_colour`, RGB colours are replaced
    /// by the nearest of 256 colours.
    pub fn named(name: &str, true_colour: bool) -> Result<Theme, ThemeError> {
        let names = || Theme::names().collect::<Vec<_>>().join(", ");
        let own = || {
            OWN.get()
                .into_iter()
                .flatten()
                .find(|theme| theme.name == name)
                .map(|theme| &theme.looks)
        };
        let looks = match FILES.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => toml::from_str(text).map_err(|error| in_theme(name, error))?,
            None => own().cloned().ok_or_else(|| {
                ThemeError(format!("unknown theme {name:?}; there are {}", names()))
            })?,
        };
        Theme::from_looks(name, looks, true_colour)
    }

    /// Builds a theme from its styles by role.
    fn from_looks(name: &str, looks: toml::Table, true_colour: bool) -> Result<Theme, ThemeError> {
        let mut styles = BTreeMap::new();
        for (key, look) in looks {
            let role = ROLES
                .iter()
                .find(|(known, _)| *known == key)
                .map(|(_, role)| *role);
            let role = role.ok_or_else(|| in_theme(name, format!("unknown role {key:?}")))?;
            let look: RoleStyle = look
                .try_into()
                .map_err(|error| in_theme(name, format!("{key}: {error}")))?;
            let style = look
                .style(true_colour)
                .map_err(|why| in_theme(name, format!("{key}: {why}")))?;
            styles.insert(role, style);
        }
        Ok(Theme {
            name: name.to_string(),
            styles,
        })
    }

    /// The names of the themes: the built-in ones, then those from the user's configuration.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let own = OWN
            .get()
            .into_iter()
            .flatten()
            .map(|theme| theme.name.as_str());
        FILES.iter().map(|(name, _)| *name).chain(own)
    }

    /// Adds themes from the user's configuration. Their styles override those of the built-in theme that `base` names
    /// (`default` if it is omitted). Only the first call has an effect. Returns the errors of themes that cannot be
    /// used.
    pub fn install(themes: &BTreeMap<String, toml::Table>) -> Vec<ThemeError> {
        let (mut own, mut problems) = (Vec::new(), Vec::new());
        for (name, looks) in themes {
            match own_theme(name, looks) {
                Ok(theme) => own.push(theme),
                Err(problem) => problems.push(problem),
            }
        }
        let _ = OWN.set(own);
        problems
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(&role).copied().unwrap_or_default()
    }

    /// Whether a role has a colour and is dim.
    pub fn dims_colours(&self) -> bool {
        self.styles
            .values()
            .any(|style| style.fg.is_some() && style.add_modifier.contains(Modifier::DIM))
    }

    /// The style of a row of a pane: the row under its cursor (`is_here`) stands out if the pane has the focus.
    pub fn cursor_row(&self, is_here: bool, is_focused: bool) -> Style {
        match (is_here, is_focused) {
            (true, true) => self.row(true),
            (true, false) => self.style(Role::Text).patch(self.style(Role::Title)),
            _ => self.style(Role::Text),
        }
    }

    /// The style of a row of a list, under the cursor or not.
    pub fn row(&self, is_cursor: bool) -> Style {
        let text = self.style(Role::Text);
        if is_cursor {
            text.patch(self.style(Role::Cursor))
        } else {
            text
        }
    }

    /// The style of a part of a row. Under the cursor only bold, italic and underline of the part are used: its
    /// colours would be hard to read, or form patches where colours are reversed.
    pub fn within(&self, row: Style, part: Style) -> Style {
        let cursor = self.style(Role::Cursor);
        let is_cursor =
            row.add_modifier.contains(cursor.add_modifier) && row.bg == self.row(true).bg;
        let has_own_colours =
            cursor.fg.is_some() || cursor.add_modifier.contains(Modifier::REVERSED);
        match is_cursor && has_own_colours {
            true => row.add_modifier(part.add_modifier - Modifier::DIM - Modifier::REVERSED),
            false => row.patch(part),
        }
    }

    /// The style of a status.
    pub fn status(&self, status: Status) -> Style {
        self.style(match status {
            Status::Passed => Role::Passed,
            Status::Failed => Role::Failed,
            Status::Errored => Role::Errored,
            Status::NotEvaluated => Role::NotEvaluated,
            Status::Informational => Role::Faint,
        })
    }
}

impl RoleStyle {
    fn style(&self, true_colour: bool) -> Result<Style, String> {
        let colour = |text: &Option<String>| {
            text.as_deref()
                .map(|text| colour(text, true_colour))
                .transpose()
        };
        let mut style = Style {
            fg: colour(&self.fg)?,
            bg: colour(&self.bg)?,
            ..Style::default()
        };
        for word in &self.mods {
            style = style.add_modifier(modifier(word)?);
        }
        Ok(style)
    }
}

fn modifier(word: &str) -> Result<Modifier, String> {
    Ok(match word {
        "bold" => Modifier::BOLD,
        "dim" => Modifier::DIM,
        "italic" => Modifier::ITALIC,
        "underline" => Modifier::UNDERLINED,
        "reverse" => Modifier::REVERSED,
        "strike" => Modifier::CROSSED_OUT,
        other => return Err(format!("{other:?} is not a modifier")),
    })
}

fn colour(text: &str, true_colour: bool) -> Result<Color, String> {
    let colour: Color = text
        .parse()
        .map_err(|_| format!("{text:?} is not a colour"))?;
    Ok(match colour {
        Color::Rgb(r, g, b) if !true_colour => Color::Indexed(nearest(r, g, b)),
        colour => colour,
    })
}

/// The nearest of the 256 indexed colours, either in the colour cube or among the greys.
fn nearest(r: u8, g: u8, b: u8) -> u8 {
    const STEPS: [i32; 6] = [0, 95, 135, 175, 215, 255];
    let step = |v: u8| {
        (0..6)
            .min_by_key(|&i| (STEPS[i as usize] - i32::from(v)).abs())
            .unwrap_or(0)
    };
    let far = |x: (i32, i32, i32)| {
        (x.0 - i32::from(r)).pow(2) + (x.1 - i32::from(g)).pow(2) + (x.2 - i32::from(b)).pow(2)
    };
    let (i, j, k) = (step(r), step(g), step(b));
    let cube = far((STEPS[i as usize], STEPS[j as usize], STEPS[k as usize]));
    let mean = (i32::from(r) + i32::from(g) + i32::from(b)) / 3;
    let shade = ((mean - 8 + 5) / 10).clamp(0, 23);
    let grey = 8 + shade * 10;
    if far((grey, grey, grey)) < cube {
        (232 + shade) as u8
    } else {
        (16 + 36 * i + 6 * j + k) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_theme_has_all_colours() {
        for name in Theme::names() {
            let theme = Theme::named(name, true).unwrap();
            for (key, role) in ROLES {
                assert!(theme.styles.contains_key(role), "{name} has no {key}");
            }
        }
    }

    #[test]
    fn default_theme_uses_only_terminal_colours() {
        for name in ["default", "mono"] {
            let theme = Theme::named(name, true).unwrap();
            for style in theme.styles.values() {
                for colour in [style.fg, style.bg].into_iter().flatten() {
                    assert!(
                        !matches!(colour, Color::Rgb(..) | Color::Indexed(_)),
                        "{name}: {colour:?}"
                    );
                    assert!(
                        name != "mono" || colour == Color::Reset,
                        "mono has no colours"
                    );
                }
            }
        }
    }

    /// Contrast of two colours as defined by WCAG.
    fn contrast(one: (u8, u8, u8), other: (u8, u8, u8)) -> f64 {
        let luminance = |(r, g, b)| {
            let linear = |v: u8| {
                let v = f64::from(v) / 255.0;
                if v <= 0.03928 {
                    v / 12.92
                } else {
                    ((v + 0.055) / 1.055).powf(2.4)
                }
            };
            0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05
        };
        let (one, other) = (luminance(one), luminance(other));
        one.max(other) / one.min(other)
    }

    /// Asserts that every role except borders has a contrast of at least 4.5:1. `rgb` returns what a colour is on a
    /// terminal.
    fn assert_contrast(name: &str, rgb: impl Fn(Color) -> Option<(u8, u8, u8)>) {
        let theme = Theme::named(name, true).unwrap();
        let base = theme.style(Role::Text);
        for (key, role) in ROLES
            .iter()
            .filter(|(_, role)| !matches!(role, Role::Border))
        {
            let style = base.patch(theme.style(*role));
            assert!(!style.add_modifier.contains(Modifier::DIM), "{name}: {key}");
            let (Some(fg), Some(bg)) = (style.fg.and_then(&rgb), style.bg.and_then(&rgb)) else {
                panic!("{name}: {key} has no colours of its own")
            };
            let contrast = contrast(fg, bg);
            assert!(
                contrast >= 4.5,
                "{name}: {key} has a contrast of {contrast:.1}"
            );
        }
    }

    #[test]
    fn contrast_of_text_is_sufficient() {
        for name in ["dark", "light", "high-contrast", "colour-blind"] {
            assert_contrast(name, |colour| match colour {
                Color::Rgb(r, g, b) => Some((r, g, b)),
                _ => None,
            });
        }
    }

    /// With the default palettes of xterm, the Windows console (old and new), macOS Terminal and Solarized.
    #[test]
    fn contrast_with_16_colours_is_sufficient() {
        const PALETTES: [[(u8, u8, u8); 3]; 5] = [
            [(0, 0, 0), (229, 229, 229), (255, 255, 255)],
            [(0, 0, 0), (192, 192, 192), (255, 255, 255)],
            [(12, 12, 12), (204, 204, 204), (242, 242, 242)],
            [(0, 0, 0), (191, 191, 191), (230, 230, 230)],
            [(7, 54, 66), (238, 232, 213), (253, 246, 227)],
        ];
        for [black, grey, white] in PALETTES {
            assert_contrast("white-on-black", |colour| match colour {
                Color::Black => Some(black),
                Color::Gray => Some(grey),
                Color::White => Some(white),
                _ => None,
            });
        }
    }

    #[test]
    fn colours_are_brought_down() {
        assert_eq!(colour("#ff0000", false), Ok(Color::Indexed(196)));
        assert_eq!(colour("#808080", false), Ok(Color::Indexed(244)));
        assert_eq!(colour("red", false), Ok(Color::Red));
        assert!(colour("reddish", true).is_err());
        assert!(
            Theme::named("pink", true)
                .unwrap_err()
                .0
                .contains("colour-blind")
        );
    }
}
