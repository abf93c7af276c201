//! How models of ADK are described: their fields, and what happens to other keys.

/// A type in ADK's models.
#[derive(Clone, Copy)]
pub(super) enum Type {
    Any,
    Text,
    /// Bytes in Base64.
    Bytes,
    Number,
    Whole,
    Flag,
    Dict,
    List(&'static Type),
    DictOf(&'static Type),
    Model(&'static SchemaModel),
    /// `[author, [part, …]]`
    AuthoredParts,
    /// Either shape of intermediate data, distinguished by its keys.
    Intermediate,
    /// A persona object, or the id of a built-in one.
    Persona,
}

pub(super) struct SchemaField {
    pub(super) name: &'static str,
    pub(super) kind: Type,
    pub(super) required: bool,
    pub(super) null: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Unknown {
    Refused,
    Lost,
    Kept,
}

pub(super) struct SchemaModel {
    pub(super) name: &'static str,
    pub(super) both_spellings: bool,
    pub(super) unknown: Unknown,
    pub(super) fields: &'static [SchemaField],
}

pub(super) const fn need(name: &'static str, kind: Type) -> SchemaField {
    SchemaField {
        name,
        kind,
        required: true,
        null: false,
    }
}

pub(super) const fn with(name: &'static str, kind: Type) -> SchemaField {
    SchemaField {
        name,
        kind,
        required: false,
        null: false,
    }
}

pub(super) const fn maybe(name: &'static str, kind: Type) -> SchemaField {
    SchemaField {
        name,
        kind,
        required: false,
        null: true,
    }
}

pub(super) const fn strict(name: &'static str, fields: &'static [SchemaField]) -> SchemaModel {
    SchemaModel {
        name,
        both_spellings: true,
        unknown: Unknown::Refused,
        fields,
    }
}
