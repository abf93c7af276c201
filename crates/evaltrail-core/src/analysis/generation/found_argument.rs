//! The arguments of a call by the names of their parameters.

use serde_json::{Map, Value};

/// An argument of a call, or a member of one.
pub(super) enum FoundArgument<'a> {
    /// It is there.
    Value(&'a Value),
    /// It is not there.
    Absent,
    /// The call does not have the object that contains it.
    NoObject,
}

/// The argument with a name; `address.city` is a member of an object.
pub(super) fn argument_value<'a>(args: &'a Map<String, Value>, name: &str) -> FoundArgument<'a> {
    let members = match (args.get(name), name.split_once('.')) {
        (None, Some((outer, member))) => {
            let object = args.get(outer).and_then(Value::as_object);
            object.map(|object| object.get(member))
        }
        (found, _) => Some(found),
    };
    match members {
        Some(Some(value)) => FoundArgument::Value(value),
        Some(None) => FoundArgument::Absent,
        None => FoundArgument::NoObject,
    }
}
