//! How often each case is run, as it is written in options.

use super::gate::parse_pass_rate;

/// How often each case is run, as it is written in options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeats {
    /// The number of attempts, or the largest one; `None` if it is not given.
    pub attempts: Option<u32>,
    /// The pass rate until which each case is run: that it is known to be above or below.
    pub until: Option<f64>,
}

impl Repeats {
    /// The largest number of attempts of a case.
    const MAX: u32 = 10_000;

    /// A number, or `until=0.8` or `until=0.8,max=50`. The error is a message.
    pub fn parse(text: &str) -> Result<Repeats, String> {
        let number = |text: &str| {
            let number = text.trim().parse().ok();
            number
                .filter(|number| (1..=Repeats::MAX).contains(number))
                .ok_or_else(|| format!("{text:?} is not a number from 1 to {}", Repeats::MAX))
        };
        let Some(demanded) = text.trim().strip_prefix("until=") else {
            return Ok(Repeats {
                attempts: Some(number(text)?),
                until: None,
            });
        };
        let (rate, most) = match demanded.split_once(',') {
            None => (demanded, None),
            Some((rate, most)) => {
                let most = most.trim().strip_prefix("max=");
                let most =
                    most.ok_or("after the rate, only max=N may follow, as in until=0.8,max=50")?;
                (rate, Some(number(most)?))
            }
        };
        Ok(Repeats {
            attempts: most,
            until: Some(parse_pass_rate(rate.trim())?),
        })
    }

    /// The text of which [`Repeats::parse`] makes this.
    pub fn text(self) -> String {
        match (self.until, self.attempts) {
            (None, attempts) => attempts.unwrap_or(1).to_string(),
            (Some(rate), None) => format!("until={rate}"),
            (Some(rate), Some(most)) => format!("until={rate},max={most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_read_as_they_are_written() {
        for text in ["5", "until=0.8", "until=0.8,max=20"] {
            assert_eq!(Repeats::parse(text).unwrap().text(), text);
        }
        assert_eq!(Repeats::parse("until=80%").unwrap().until, Some(0.8));
        for text in [
            "0",
            "x",
            "until=1",
            "until=0.8,20",
            "until=0.8,max=0",
            "until=",
        ] {
            assert!(Repeats::parse(text).is_err(), "{text}");
        }
    }
}
