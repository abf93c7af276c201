//! `--shard`: which part of a run this machine executes, given by the user or to be taken from the environment.

use evaltrail_core::domain::{Shard, ShardBy};

/// The value of `--shard`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShardChoice {
    /// This shard.
    Given(Shard),
    /// The one of the environment.
    Auto(ShardBy),
}

/// Parses `K/N`, `K/N:BY`, `auto` or `auto:BY`. The error is a message.
pub fn parse_shard(text: &str) -> Result<ShardChoice, String> {
    let (part, by) = text
        .split_once(':')
        .map_or((text, None), |(part, by)| (part, Some(by)));
    let by = match by {
        None => ShardBy::default(),
        Some(name) => [ShardBy::Slice, ShardBy::Hash, ShardBy::Time]
            .into_iter()
            .find(|by| by.name() == name)
            .ok_or_else(|| format!("{name:?} is not a way to split cases: slice, hash or time"))?,
    };
    match part {
        "auto" => Ok(ShardChoice::Auto(by)),
        part => shard_of(part, by).map(ShardChoice::Given),
    }
}

/// Parses `K/N`. The error is a message.
pub(super) fn shard_of(text: &str, by: ShardBy) -> Result<Shard, String> {
    let expected = || format!("{text:?}: expected K/N, such as 3/10, with K from 1 to N, or auto");
    let (number, of) = text.split_once('/').ok_or_else(expected)?;
    let whole = |number: &str| number.trim().parse::<u32>().map_err(|_| expected());
    let (number, of) = (whole(number)?, whole(of)?);
    let shard = Shard { number, of, by };
    shard.is_valid().then_some(shard).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shard_option_is_parsed_or_refused() {
        let given = |number, of, by| Ok(ShardChoice::Given(Shard { number, of, by }));
        assert_eq!(parse_shard("3/10"), given(3, 10, ShardBy::Slice));
        assert_eq!(parse_shard("1/1:hash"), given(1, 1, ShardBy::Hash));
        assert_eq!(
            parse_shard("auto:time"),
            Ok(ShardChoice::Auto(ShardBy::Time))
        );
        for wrong in [
            "0/3",
            "4/3",
            "3",
            "a/b",
            "1/0",
            "",
            "1/2:other",
            "1/4000000000",
        ] {
            assert!(parse_shard(wrong).is_err(), "{wrong}");
        }
    }
}
