//! Renders a frame as SVG, for the documentation. Adjacent cells of a row with the same style become one text and, if
//! they have a background, one rectangle.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::fmt::Write;

const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 14.0;
const FOREGROUND: &str = "#d5d9e0";
const BACKGROUND: &str = "#15181e";

/// Renders a frame as SVG.
pub fn svg(buffer: &Buffer, title: &str) -> String {
    let (columns, rows) = (f64::from(buffer.area.width), f64::from(buffer.area.height));
    let (width, height) = (
        columns * CELL.0 + 2.0 * MARGIN,
        rows * CELL.1 + 2.0 * MARGIN,
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n\
         <title>{}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n",
        escape(title)
    );
    for y in 0..buffer.area.height {
        row(buffer, y, &mut out);
    }
    out.push_str("</g>\n</svg>\n");
    out
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
