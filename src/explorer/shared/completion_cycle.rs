//! Repeated completion of a text: each time the next candidate, after the last one the first.

/// The candidates that a text was completed with.
#[derive(Clone, Debug, Default)]
pub struct CompletionCycle {
    /// Whole texts.
    candidates: Vec<String>,
    /// The current one.
    at: usize,
}

impl CompletionCycle {
    /// Completes a text: the candidate after the current one if the text is that, else the first of the candidates for the text.
    /// `None` if there are none.
    pub(crate) fn next(
        &mut self,
        typed: &str,
        candidates: impl FnOnce() -> Vec<String>,
    ) -> Option<&str> {
        let is_current = self.candidates.get(self.at).is_some_and(|now| now == typed);
        if is_current && self.candidates.len() > 1 {
            self.at = (self.at + 1) % self.candidates.len();
        } else {
            (self.candidates, self.at) = (candidates(), 0);
        }
        self.candidates.get(self.at).map(String::as_str)
    }

    /// Whether another candidate would follow.
    pub(crate) fn has_others(&self) -> bool {
        self.candidates.len() > 1
    }

    /// All candidates, beginning with the one that would follow.
    pub(crate) fn others(&self) -> Vec<String> {
        let mut candidates = self.candidates.clone();
        candidates.rotate_left(self.following());
        candidates
    }

    /// The index of the candidate that would follow.
    pub(crate) fn following(&self) -> usize {
        (self.at + 1) % self.candidates.len().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_completion_goes_around() {
        let mut cycle = CompletionCycle::default();
        let two = || vec!["color = ".to_string(), "sides = ".to_string()];
        assert_eq!(cycle.next("", two), Some("color = "));
        assert_eq!(cycle.next("color = ", Vec::new), Some("sides = "));
        assert_eq!(cycle.next("sides = ", Vec::new), Some("color = "));
        let one = || vec!["sides = ".to_string()];
        assert_eq!(cycle.next("s", one), Some("sides = "));
        assert_eq!(cycle.next("sides = ", Vec::new), None);
    }
}
