//! The known name that a misspelled one probably means.

/// Maximum length of a name that is compared, in bytes. The time of a comparison grows with the square of the length.
const MAX_LENGTH: usize = 200;
/// Maximum edit distance of similar names. It is also at most half of the length of the name.
const MAX_DISTANCE: usize = 4;

/// Of a shorter name, no other one is the beginning.
const SHORTEST_BEGINNING: usize = 3;

/// The known name that is most similar to `name`: one that it begins, or one that differs in few characters; else the only one
/// that it begins, if it is short. The case of letters does not matter. `None` if there is none.
pub fn most_similar<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>) -> Option<S> {
    if name.is_empty() || name.len() > MAX_LENGTH {
        return None;
    }
    let name = name.to_lowercase();
    let most = MAX_DISTANCE.min(name.chars().count() / 2);
    let distance = |other: &str| {
        if other.is_empty() || other.len() > MAX_LENGTH {
            return None;
        }
        let other = other.to_lowercase();
        let begins = |long: &str, short: &str| short.len() >= 5 && long.starts_with(short);
        if begins(&other, &name) || begins(&name, &other) {
            return Some((0, other.len().abs_diff(name.len())));
        }
        let is_near_in_length = other.len().abs_diff(name.len()) <= 4 * most;
        let distance = is_near_in_length.then(|| strsim::osa_distance(&name, &other));
        distance
            .filter(|distance| *distance <= most)
            .map(|distance| (distance, 0))
    };
    let mut beginnings = Vec::new();
    let near = known.into_iter().filter_map(|other| {
        let found = distance(other.as_ref());
        match found {
            Some(distance) => Some((distance, other)),
            None => {
                let is_begun = name.len() >= SHORTEST_BEGINNING
                    && beginnings.len() < 2
                    && other.as_ref().to_lowercase().starts_with(&name);
                beginnings.extend(is_begun.then_some(other));
                None
            }
        }
    });
    let nearest = near
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other);
    let is_only = beginnings.len() == 1;
    nearest.or_else(|| beginnings.pop().filter(|_| is_only))
}

/// `; did you mean "…"?`, or nothing if no known name is similar.
pub fn did_you_mean<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>) -> String {
    most_similar(name, known)
        .map(|known| format!("; did you mean {:?}?", known.as_ref()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_few_other_characters_are_similar() {
        let known = ["add_two", "multiply", "bake", "water_tomatoes"];
        for (name, expected) in [
            ("add_tow", Some("add_two")),
            ("Add_Two", Some("add_two")),
            ("multipyl", Some("multiply")),
            ("water", Some("water_tomatoes")),
            ("water_tomatoes_2", Some("water_tomatoes")),
            ("b", None),
            ("cake", Some("bake")),
            ("mul", Some("multiply")),
            ("ba", None),
            ("completely_else", None),
            ("", None),
        ] {
            assert_eq!(most_similar(name, known), expected, "{name}");
        }
        assert_eq!(most_similar("run", ["run_all", "run_one"]), None);
        assert_eq!(did_you_mean("bke", known), "; did you mean \"bake\"?");
        assert_eq!(most_similar(&"x".repeat(1 << 20), known), None);
    }
}
