//! Scores and durations as text. Everything that displays a score uses these functions.

/// The digits behind the decimal point, unless a comparison needs more.
const DIGITS: usize = 2;
/// Larger numbers are written with an exponent.
const PLAIN_BELOW: f64 = 1e9;

/// A score with two digits behind the decimal point.
pub fn score_text(score: f64) -> String {
    with_digits(score, DIGITS)
}

/// A statistic of scores with three digits behind the decimal point.
pub fn statistic_text(number: f64) -> String {
    with_digits(number, 3)
}

/// A difference of scores with its sign and this many digits behind the decimal point.
pub fn difference_text(difference: f64, digits: usize) -> String {
    let text = with_digits(difference, digits);
    if text.starts_with('-') {
        text
    } else {
        format!("+{text}")
    }
}

/// A score and its threshold, with as many digits as show which one is larger: "0.667" and "0.67".
pub fn compared_texts(score: f64, threshold: f64) -> (String, String) {
    /// More digits are not always exact.
    const MAX_DIGITS: usize = 15;
    let order = score.partial_cmp(&threshold);
    let shows_order =
        |(score, threshold): &(String, String)| match (score.parse(), threshold.parse()) {
            (Ok(score), Ok(threshold)) => f64::partial_cmp(&score, &threshold) == order,
            _ => false,
        };
    let texts = |digits: usize| (with_digits(score, digits), with_digits(threshold, digits));
    let found = (DIGITS..=MAX_DIGITS).map(texts).find(shows_order);
    let (score, threshold) = found.unwrap_or_else(|| (exact(score), exact(threshold)));
    (short(score), short(threshold))
}

/// A duration in seconds with one digit, as "1.2s"; empty if it is unknown.
pub fn seconds_text(seconds: Option<f64>) -> String {
    seconds
        .map(|seconds| format!("{:.1}s", without_zero_sign(seconds, 1)))
        .unwrap_or_default()
}

/// The number without the sign of a zero, also of one that it becomes with this many digits behind the decimal point.
pub(super) fn without_zero_sign(number: f64, digits: usize) -> f64 {
    let is_zero = number.abs() * 10f64.powi(digits as i32) < 0.5;
    if is_zero { number.abs() } else { number }
}

fn with_digits(number: f64, digits: usize) -> String {
    let number = without_zero_sign(number, digits);
    if number.abs() < PLAIN_BELOW {
        format!("{number:.digits$}")
    } else {
        format!("{number:.digits$e}")
    }
}

/// The shortest text from which the number can be read again.
fn exact(number: f64) -> String {
    const PLAIN_FROM: f64 = 1e-5;
    let is_plain = number == 0.0 || (PLAIN_FROM..PLAIN_BELOW).contains(&number.abs());
    if is_plain {
        format!("{}", number + 0.0)
    } else {
        format!("{number:e}")
    }
}

/// Without zeros at the end, except for the usual digits.
fn short(text: String) -> String {
    let Some(point) = text.find('.').filter(|_| !text.contains('e')) else {
        return text;
    };
    let usual = point + 1 + DIGITS;
    let end = text.trim_end_matches('0').len().max(usual);
    text.get(..end).map_or_else(|| text.clone(), str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(score: f64, threshold: f64) -> String {
        let (score, threshold) = compared_texts(score, threshold);
        format!("{score} of {threshold}")
    }

    #[test]
    fn failed_score_differs_from_threshold_in_text() {
        assert_eq!(texts(2.0 / 3.0, 0.67), "0.667 of 0.67");
        assert_eq!(texts(0.5, 0.8), "0.50 of 0.80");
        assert_eq!(texts(0.8, 0.8), "0.80 of 0.80");
        assert_eq!(texts(0.8, 0.80001), "0.80 of 0.80001");
        assert_eq!(texts(1.0 - 1e-16, 1.0), "0.9999999999999999 of 1");
        assert_eq!(texts(0.1 + 0.2, 0.3), "0.30000000000000004 of 0.3");
        assert_eq!(texts(0.0, 1e-30), "0 of 1e-30");
    }

    #[test]
    fn a_large_number_has_an_exponent() {
        assert_eq!(
            (score_text(1e308).as_str(), score_text(-0.0).as_str()),
            ("1.00e308", "0.00")
        );
        assert_eq!(
            (
                statistic_text(1e300).as_str(),
                statistic_text(0.6667).as_str()
            ),
            ("1.000e300", "0.667")
        );
        assert_eq!(
            (
                difference_text(0.5, 2).as_str(),
                difference_text(-1e300, 3).as_str()
            ),
            ("+0.50", "-1.000e300")
        );
        assert_eq!(
            (
                seconds_text(Some(1.25)).as_str(),
                seconds_text(None).as_str()
            ),
            ("1.2s", "")
        );
    }

    #[test]
    fn a_zero_has_no_sign() {
        for zero in [-0.0, 0.0, -0.001, -1e-300] {
            assert_eq!(
                (seconds_text(Some(zero)), score_text(zero)),
                ("0.0s".into(), "0.00".into()),
                "{zero:e}"
            );
        }
        assert_eq!(
            (
                seconds_text(Some(-0.06)).as_str(),
                score_text(-0.006).as_str()
            ),
            ("-0.1s", "-0.01")
        );
    }

    proptest! {
        #[test]
        fn the_texts_are_ordered_as_the_numbers(score in any::<f64>(), threshold in any::<f64>()) {
            prop_assume!(score.is_finite() && threshold.is_finite());
            let (a, b) = compared_texts(score, threshold);
            let (a, b): (f64, f64) = (a.parse().unwrap(), b.parse().unwrap());
            prop_assert_eq!(a.partial_cmp(&b), score.partial_cmp(&threshold));
        }
    }
}
