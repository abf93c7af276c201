//! Images, audio and files in messages, as the parts that ADK has for them: `inline_data` with base64, `file_data` with an
//! address. What neither can contain, such as the id of an uploaded file, is preserved as it is.

use super::message::{Message, unknown};
use crate::domain::Part;
use crate::formats::read::JsonNode;
use serde_json::{Map, Value, json};

/// Types of blocks with a medium.
const KINDS: &[&str] = &[
    "image",
    "image_url",
    "input_image",
    "audio",
    "audio_url",
    "input_audio",
    "output_audio",
    "video",
    "video_url",
    "input_video",
    "file",
    "input_file",
    "document",
    "media",
    "blob",
    "uri",
];

/// Members of a block that contain the medium.
const INNER: &[&str] = &[
    "image_url",
    "input_audio",
    "audio_url",
    "video_url",
    "source",
    "file",
    "audio",
    "image",
];

/// A block with a medium as a part; `None` for other types of blocks.
pub(super) fn part(kind: &str, node: JsonNode) -> Option<Part> {
    let block = node.value;
    if !KINDS.contains(&kind) {
        return None;
    }
    let inner = INNER
        .iter()
        .find_map(|key| block.get(*key))
        .unwrap_or(block);
    // Anthropic's documents can be plain text.
    if inner["type"] == "text" && inner["data"].is_string() {
        return inner["data"].as_str().map(Part::text);
    }
    Some(media_in(kind, block, inner).unwrap_or_else(|| unknown(kind, block)))
}

fn media_in(kind: &str, block: &Value, inner: &Value) -> Option<Part> {
    let text = |keys: &[&str]| {
        let objects = [inner, block].into_iter();
        objects
            .flat_map(|object| keys.iter().filter_map(|key| object.get(*key)?.as_str()))
            .next()
    };
    let mime = text(&["mime_type", "media_type", "mimeType", "mediaType"]);
    let name = text(&["filename", "display_name", "title"]);
    let address = inner
        .as_str()
        .or_else(|| text(&["url", "uri", "file_uri", "fileUri"]));
    if let Some(address) = address.filter(|address| address.contains(':')) {
        return Some(match data_address(address) {
            Some((mime, data)) => inline(mime, data, name),
            None => file(address, mime, name),
        });
    }
    let data = inner
        .as_str()
        .or_else(|| text(&["data", "base64", "file_data"]))?;
    if let Some((mime, data)) = data_address(data) {
        return Some(inline(mime, data, name));
    }
    let format = text(&["format"]).map(|format| format!("{}/{format}", family(kind)));
    let mime = mime.map(str::to_string).or(format);
    Some(inline(
        mime.as_deref().unwrap_or("application/octet-stream"),
        data,
        name,
    ))
}

fn family(kind: &str) -> &'static str {
    if kind.contains("audio") {
        "audio"
    } else if kind.contains("video") {
        "video"
    } else if kind.contains("image") {
        "image"
    } else {
        "application"
    }
}

/// The type and the data of `data:image/png;base64,…`.
fn data_address(address: &str) -> Option<(&str, &str)> {
    let (media_type, data) = address.strip_prefix("data:")?.split_once(',')?;
    let mime = media_type.strip_suffix(";base64")?;
    Some((
        mime.split(';')
            .next()
            .filter(|mime| !mime.is_empty())
            .unwrap_or("text/plain"),
        data,
    ))
}

fn inline(mime: &str, data: &str, name: Option<&str>) -> Part {
    let mut blob = json!({"mime_type": mime, "data": data});
    if let Some(name) = name {
        blob["display_name"] = name.into();
    }
    Part {
        rest: Map::from_iter([("inline_data".to_string(), blob)]),
        ..Part::default()
    }
}

fn file(address: &str, mime: Option<&str>, name: Option<&str>) -> Part {
    let mut file = json!({"file_uri": address});
    for (key, text) in [("mime_type", mime), ("display_name", name)] {
        if let Some(text) = text {
            file[key] = text.into();
        }
    }
    Part {
        rest: Map::from_iter([("file_data".to_string(), file)]),
        ..Part::default()
    }
}

/// Whether a part is a medium.
pub(super) fn is_medium(part: &Part) -> bool {
    part.has("inline_data", "inlineData") || part.has("file_data", "fileData")
}

/// Adds the audio of an assistant's message: what was spoken as a text, and the sound.
pub(super) fn add_spoken(node: JsonNode, out: &mut Message) {
    let audio = node.value;
    out.add_text(audio["transcript"].as_str().unwrap_or_default());
    match audio["data"].as_str() {
        Some(data) => {
            let format = audio["format"].as_str().unwrap_or("wav");
            out.parts
                .push(inline(&format!("audio/{format}"), data, None));
        }
        None if audio["transcript"].is_string() => {}
        None => out.parts.push(unknown("audio", audio)),
    }
}
