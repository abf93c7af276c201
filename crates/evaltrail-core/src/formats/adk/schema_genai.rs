//! The models of google-genai in ADK's eval sets: contents, parts and their fields. Each of them refuses unknown keys.

use super::schema_types::{SchemaModel, Type, maybe, strict};
use base64::Engine;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

pub(super) static CONTENT: SchemaModel = strict(
    "Content",
    &[
        maybe("parts", Type::List(&Type::Model(&PART))),
        maybe("role", Type::Text),
    ],
);

pub(super) static PART: SchemaModel = strict(
    "Part",
    &[
        maybe("text", Type::Text),
        maybe("thought", Type::Flag),
        maybe("thought_signature", Type::Bytes),
        maybe("function_call", Type::Model(&FUNCTION_CALL)),
        maybe("function_response", Type::Model(&FUNCTION_RESPONSE)),
        maybe("inline_data", Type::Model(&BLOB)),
        maybe("file_data", Type::Model(&FILE_DATA)),
        maybe("executable_code", Type::Model(&EXECUTABLE_CODE)),
        maybe("code_execution_result", Type::Model(&CODE_EXECUTION_RESULT)),
        maybe("video_metadata", Type::Model(&VIDEO_METADATA)),
        maybe("media_resolution", Type::Model(&MEDIA_RESOLUTION)),
        maybe("tool_call", Type::Model(&TOOL_CALL)),
        maybe("tool_response", Type::Model(&TOOL_RESPONSE)),
        maybe("part_metadata", Type::Dict),
        maybe("audio_transcription", Type::Model(&TRANSCRIPTION)),
        maybe("media_processing", Type::Text),
        maybe("speech_metadata", Type::Model(&SPEECH_METADATA)),
    ],
);

pub(super) static FUNCTION_CALL: SchemaModel = strict(
    "FunctionCall",
    &[
        maybe("id", Type::Text),
        maybe("args", Type::Dict),
        maybe("name", Type::Text),
        maybe("partial_args", Type::List(&Type::Model(&PARTIAL_ARG))),
        maybe("will_continue", Type::Flag),
    ],
);

static PARTIAL_ARG: SchemaModel = strict(
    "PartialArg",
    &[
        maybe("bool_value", Type::Flag),
        maybe("json_path", Type::Text),
        maybe("null_value", Type::Text),
        maybe("number_value", Type::Number),
        maybe("string_value", Type::Text),
        maybe("will_continue", Type::Flag),
    ],
);

pub(super) static FUNCTION_RESPONSE: SchemaModel = strict(
    "FunctionResponse",
    &[
        maybe("id", Type::Text),
        maybe("name", Type::Text),
        maybe("response", Type::Dict),
        maybe("parts", Type::List(&Type::Model(&FUNCTION_RESPONSE_PART))),
        maybe("scheduling", Type::Text),
        maybe("will_continue", Type::Flag),
    ],
);

static FUNCTION_RESPONSE_PART: SchemaModel = strict(
    "FunctionResponsePart",
    &[
        maybe("inline_data", Type::Model(&BLOB)),
        maybe("file_data", Type::Model(&FILE_DATA)),
        maybe("media_processing", Type::Text),
    ],
);

static BLOB: SchemaModel = strict(
    "Blob",
    &[
        maybe("data", Type::Bytes),
        maybe("display_name", Type::Text),
        maybe("mime_type", Type::Text),
    ],
);

static FILE_DATA: SchemaModel = strict(
    "FileData",
    &[
        maybe("display_name", Type::Text),
        maybe("file_uri", Type::Text),
        maybe("mime_type", Type::Text),
    ],
);

static EXECUTABLE_CODE: SchemaModel = strict(
    "ExecutableCode",
    &[
        maybe("code", Type::Text),
        maybe("language", Type::Text),
        maybe("id", Type::Text),
    ],
);

static CODE_EXECUTION_RESULT: SchemaModel = strict(
    "CodeExecutionResult",
    &[
        maybe("outcome", Type::Text),
        maybe("output", Type::Text),
        maybe("id", Type::Text),
    ],
);

static VIDEO_METADATA: SchemaModel = strict(
    "VideoMetadata",
    &[
        maybe("end_offset", Type::Text),
        maybe("fps", Type::Number),
        maybe("start_offset", Type::Text),
    ],
);

static MEDIA_RESOLUTION: SchemaModel = strict(
    "PartMediaResolution",
    &[maybe("level", Type::Text), maybe("num_tokens", Type::Whole)],
);

static TOOL_CALL: SchemaModel = strict(
    "ToolCall",
    &[
        maybe("id", Type::Text),
        maybe("tool_type", Type::Text),
        maybe("args", Type::Dict),
    ],
);

static TOOL_RESPONSE: SchemaModel = strict(
    "ToolResponse",
    &[
        maybe("id", Type::Text),
        maybe("tool_type", Type::Text),
        maybe("response", Type::Dict),
    ],
);

static TRANSCRIPTION: SchemaModel = strict(
    "Transcription",
    &[
        maybe("text", Type::Text),
        maybe("finished", Type::Flag),
        maybe("language_code", Type::Text),
        maybe("speaker_label", Type::Text),
        maybe("words", Type::List(&Type::Model(&WORD_INFO))),
        maybe("start_offset", Type::Text),
        maybe("end_offset", Type::Text),
    ],
);

static WORD_INFO: SchemaModel = strict(
    "WordInfo",
    &[
        maybe("word", Type::Text),
        maybe("start_offset", Type::Text),
        maybe("end_offset", Type::Text),
    ],
);

static SPEECH_METADATA: SchemaModel = strict(
    "SpeechMetadata",
    &[maybe("speaker", Type::Text), maybe("style", Type::Text)],
);

/// The objects in its lists are not checked.
pub(super) static GROUNDING_METADATA: SchemaModel = strict(
    "GroundingMetadata",
    &[
        maybe("image_search_queries", Type::List(&Type::Text)),
        maybe("grounding_chunks", Type::List(&Type::Any)),
        maybe("grounding_supports", Type::List(&Type::Any)),
        maybe("retrieval_metadata", Type::Dict),
        maybe("search_entry_point", Type::Dict),
        maybe("web_search_queries", Type::List(&Type::Text)),
        maybe("google_maps_widget_context_token", Type::Text),
        maybe("retrieval_queries", Type::List(&Type::Text)),
        maybe("source_flagging_uris", Type::List(&Type::Any)),
    ],
);

pub(super) static USAGE_METADATA: SchemaModel = strict(
    "GenerateContentResponseUsageMetadata",
    &[
        maybe(
            "cache_tokens_details",
            Type::List(&Type::Model(&MODALITY_TOKENS)),
        ),
        maybe("cached_content_token_count", Type::Whole),
        maybe("candidates_token_count", Type::Whole),
        maybe(
            "candidates_tokens_details",
            Type::List(&Type::Model(&MODALITY_TOKENS)),
        ),
        maybe("prompt_token_count", Type::Whole),
        maybe(
            "prompt_tokens_details",
            Type::List(&Type::Model(&MODALITY_TOKENS)),
        ),
        maybe("thoughts_token_count", Type::Whole),
        maybe("tool_use_prompt_token_count", Type::Whole),
        maybe(
            "tool_use_prompt_tokens_details",
            Type::List(&Type::Model(&MODALITY_TOKENS)),
        ),
        maybe("total_token_count", Type::Whole),
        maybe("traffic_type", Type::Text),
    ],
);

static MODALITY_TOKENS: SchemaModel = strict(
    "ModalityTokenCount",
    &[
        maybe("modality", Type::Text),
        maybe("token_count", Type::Whole),
    ],
);

/// Whether a text is Base64 as google-genai reads it: in either alphabet, with or without padding.
pub(super) fn is_base64(text: &str) -> bool {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let decodes = |alphabet: &Alphabet| GeneralPurpose::new(alphabet, config).decode(text).is_ok();
    decodes(&URL_SAFE) || decodes(&STANDARD)
}
