//! Which ids the user may choose. Existing files may contain other ids; those are left unchanged.

/// Why a new eval set cannot have this id; `None` if it can. ADK only creates sets whose ids consist of ASCII
/// letters, digits and underscores.
pub fn set_id_error(id: &str) -> Option<String> {
    let fits = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (!fits).then(|| {
        format!(
            "{id:?} is not a valid eval set id: ADK allows only letters, digits and underscores, at least one"
        )
    })
}

/// Why a new case cannot have this id among these others; `None` if it can. ADK's own dialog accepts letters, digits,
/// `-` and `_`; `adk eval` splits its selection at commas and colons, and a slash would separate folders.
pub fn eval_id_error<'a>(
    id: &str,
    mut others: impl Iterator<Item = std::borrow::Cow<'a, str>>,
) -> Option<String> {
    let fits = !id.is_empty()
        && id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if !fits {
        return Some(format!(
            "{id:?} is not a valid case id: ADK allows only letters, digits, - and _, at least one"
        ));
    }
    others
        .any(|other| other == id)
        .then(|| format!("there is a case {id:?} in this file already"))
}

/// The longest id that is made of one that is not valid, in characters.
const MAX_ID: usize = 64;

/// An id like this one that a case can have ([`eval_id_error`]) and that is not taken; `fallback` if nothing of it is left.
pub fn valid_free_id(id: &str, fallback: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let valid = match eval_id_error(id, std::iter::empty()) {
        None => id.to_string(),
        Some(_) => {
            let valid = |c: char| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '_'
                }
            };
            let id: String = id.chars().take(MAX_ID).map(valid).collect();
            match id.trim_matches('_') {
                "" => fallback.into(),
                id => id.to_string(),
            }
        }
    };
    match is_taken(&valid) {
        true => free_id(&valid, is_taken),
        false => valid,
    }
}

/// The first free id of the form `id_2`, `id_3` …; counts on from a number that the id already ends with.
pub fn free_id(id: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = id
        .rsplit_once('_')
        .filter(|(_, n)| n.len() < 6 && n.chars().all(|c| c.is_ascii_digit()));
    let (stem, from) = match numbered.and_then(|(stem, n)| Some((stem, n.parse::<u32>().ok()?))) {
        Some((stem, n)) => (stem, n + 1),
        None => (id, 2),
    };
    (from..)
        .map(|n| format!("{stem}_{n}"))
        .find(|id| !is_taken(id))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_ids_become_valid_ones() {
        let taken = ["a", "x_y"];
        let id = |id: &str| valid_free_id(id, "conversation", |other| taken.contains(&other));
        assert_eq!(id("s-1"), "s-1");
        assert_eq!(id("a"), "a_2");
        assert_eq!(id("x y"), "x_y_2");
        assert_eq!(id("ö/:"), "conversation");
        assert_eq!(id(&"é1".repeat(100)).len(), 63);
    }

    #[test]
    fn ids_are_as_adk_takes_them() {
        assert_eq!(set_id_error("home_1"), None);
        assert!(
            ["", "a-b", "a/b", "..", "é"]
                .into_iter()
                .all(|id| set_id_error(id).is_some())
        );
        let others = || ["a", "b"].into_iter().map(std::borrow::Cow::Borrowed);
        assert_eq!(eval_id_error("c-1", others()), None);
        assert!(
            ["", "a", "x/y", "x:y", "x,y", "a b"]
                .into_iter()
                .all(|id| eval_id_error(id, others()).is_some())
        );
    }

    #[test]
    fn a_free_id_counts_on() {
        let taken = |taken: &'static [&'static str]| move |id: &str| taken.contains(&id);
        assert_eq!(free_id("a", taken(&["a"])), "a_2");
        assert_eq!(free_id("a_2", taken(&["a_2", "a_3"])), "a_4");
    }
}
