//! Renders frames as SVG, for the documentation. Adjacent cells of a row with the same style become one text and, if
//! they have a background, one rectangle.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use std::fmt::Write;

const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 14.0;
const FOREGROUND: &str = "#d5d9e0";
const BACKGROUND: &str = "#15181e";

/// Lines below a frame of an animation, for its caption.
const CAPTION_LINES: f64 = 2.0;

/// A frame of an animation.
pub struct AnimationFrame {
    pub buffer: Buffer,
    /// What the frame shows.
    pub caption: &'static str,
    /// How long it is shown.
    pub seconds: u32,
}

/// Renders a frame as SVG.
pub fn svg(buffer: &Buffer, title: &str) -> String {
    let mut out = beginning(buffer.area, 0.0, title);
    rows(buffer, &mut out);
    out.push_str("</g>\n</svg>\n");
    out
}

/// Renders frames of the same size as an SVG that shows one after the other. Where motion is not wanted, it shows the frame
/// at the position `still`.
pub fn animated_svg(frames: &[AnimationFrame], still: usize, title: &str) -> String {
    let area = frames[0].buffer.area;
    let mut out = beginning(area, CAPTION_LINES, title);
    out.push_str(&animation_style(frames, still));
    let baseline = MARGIN + (f64::from(area.height) + CAPTION_LINES - 0.5) * CELL.1;
    for (at, frame) in frames.iter().enumerate() {
        let _ = writeln!(out, "<g class=\"frame frame{at}\">");
        rows(&frame.buffer, &mut out);
        let _ = writeln!(
            out,
            "<text xml:space=\"preserve\" x=\"{:.1}\" y=\"{baseline:.1}\" fill=\"#ffffff\" font-weight=\"bold\">{}</text>\n</g>",
            MARGIN + CELL.0,
            escape(frame.caption)
        );
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// The style sheet that shows each frame in its part of the time.
fn animation_style(frames: &[AnimationFrame], still: usize) -> String {
    let total: u32 = frames.iter().map(|frame| frame.seconds).sum();
    let percent = |seconds: u32| f64::from(seconds) * 100.0 / f64::from(total);
    let mut style = String::from("<style>\n.frame { visibility: hidden; }\n");
    let mut begin = 0;
    for (at, frame) in frames.iter().enumerate() {
        let end = begin + frame.seconds;
        let hidden_before = if begin > 0 {
            "0% { visibility: hidden; } "
        } else {
            ""
        };
        let hidden_after = if end < total {
            format!(" {:.2}% {{ visibility: hidden; }}", percent(end))
        } else {
            String::new()
        };
        let _ = writeln!(
            style,
            "@keyframes show{at} {{ {hidden_before}{:.2}% {{ visibility: visible; }}{hidden_after} }}\n\
             .frame{at} {{ animation: show{at} {total}s step-end infinite; }}",
            percent(begin)
        );
        begin = end;
    }
    let _ = writeln!(
        style,
        "@media (prefers-reduced-motion: reduce) {{ .frame {{ animation: none; }} .frame{still} {{ visibility: visible; }} }}\n</style>"
    );
    style
}

/// The beginning of a picture of an area, with lines below it.
fn beginning(area: Rect, lines_below: f64, title: &str) -> String {
    let (columns, rows) = (f64::from(area.width), f64::from(area.height) + lines_below);
    let (width, height) = (
        columns * CELL.0 + 2.0 * MARGIN,
        rows * CELL.1 + 2.0 * MARGIN,
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n\
         <title>{}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n",
        escape(title)
    )
}

fn rows(buffer: &Buffer, out: &mut String) {
    for y in 0..buffer.area.height {
        row(buffer, y, out);
    }
}

fn row(buffer: &Buffer, y: u16, out: &mut String) {
    let cells: Vec<&Cell> = (0..buffer.area.width).map(|x| &buffer[(x, y)]).collect();
    let mut x = 0;
    while x < cells.len() {
        let look = CellStyle::from_cell(cells[x]);
        let end = (x..cells.len())
            .find(|&at| CellStyle::from_cell(cells[at]) != look)
            .unwrap_or(cells.len());
        let text: String = cells[x..end].iter().map(|cell| cell.symbol()).collect();
        run(x, end - x, y, &text, &look, out);
        x = end;
    }
}

#[derive(PartialEq)]
struct CellStyle {
    fg: String,
    bg: Option<String>,
    modifiers: Modifier,
}

impl CellStyle {
    fn from_cell(cell: &Cell) -> CellStyle {
        let fg = colour(cell.fg).unwrap_or_else(|| FOREGROUND.into());
        let bg = colour(cell.bg);
        match cell.modifier.contains(Modifier::REVERSED) {
            true => CellStyle {
                fg: bg.unwrap_or_else(|| BACKGROUND.into()),
                bg: Some(fg),
                modifiers: cell.modifier,
            },
            false => CellStyle {
                fg,
                bg,
                modifiers: cell.modifier,
            },
        }
    }
}

fn run(x: usize, count: usize, y: u16, text: &str, look: &CellStyle, out: &mut String) {
    let (left, top) = (MARGIN + x as f64 * CELL.0, MARGIN + f64::from(y) * CELL.1);
    let width = count as f64 * CELL.0;
    if let Some(bg) = &look.bg {
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{bg}\"/>",
            CELL.1
        );
    }
    if text.trim().is_empty() {
        return;
    }
    let mut style = String::new();
    for (modifier, words) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::DIM, " opacity=\"0.6\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
    ] {
        if look.modifiers.contains(modifier) {
            style.push_str(words);
        }
    }
    let _ = writeln!(
        out,
        "<text xml:space=\"preserve\" x=\"{left:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{style}>{}</text>",
        top + 13.5,
        look.fg,
        escape(text)
    );
}

fn colour(colour: Color) -> Option<String> {
    let named = match colour {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => return Some(format!("#{r:02x}{g:02x}{b:02x}")),
        Color::Red => "#f07a7a",
        Color::Green => "#7cc98a",
        Color::Yellow => "#e0b660",
        Color::Blue => "#8fb4e8",
        Color::Magenta => "#d193e6",
        Color::Cyan => "#6cb6e8",
        Color::Black => "#000000",
        _ => FOREGROUND,
    };
    Some(named.into())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
