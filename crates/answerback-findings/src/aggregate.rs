use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use answerback_json::Pointer;

use super::{Severity, ValidationError};

/// Findings in the form in which they are reported: without duplicates, ordered, with repeats over a list folded into
/// one group, and limited in number.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Aggregate<'f> {
    /// The reported groups, ordered by severity, then by path.
    pub groups: Vec<FindingGroup<'f>>,
    /// The number of different findings.
    pub total: usize,
    /// The number of findings that are in none of the groups.
    pub left_out: usize,
}

impl Aggregate<'_> {
    /// True if any reported finding is an error.
    pub fn has_errors(&self) -> bool {
        self.groups.iter().any(|group| group.finding.is_error())
    }
}

/// A finding, or the same finding at many elements of a list.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FindingGroup<'f> {
    /// The finding, or the first one of a repeated finding.
    pub finding: &'f ValidationError,
    /// The place. For a repeated finding, `*` replaces the indices that differ, such as `/items/*/qty`.
    pub path: Cow<'f, str>,
    /// All findings of the group, in order.
    pub members: Vec<&'f ValidationError>,
}

impl FindingGroup<'_> {
    /// Counts the findings in the group.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Iterates over the places of the first findings and of the last one, `most` in all.
    pub fn examples(&self, most: usize) -> impl Iterator<Item = &Pointer> {
        let skipped = self.count().saturating_sub(most);
        self.members
            .iter()
            .enumerate()
            .filter(move |(index, _)| *index + 1 < most || *index + 1 >= most + skipped)
            .map(|(_, finding)| &finding.field_path)
    }
}

/// The number of repeats from which a finding is folded. Two findings are clearer on their own.
const FOLDED_FROM: usize = 3;

/// Deduplicates, orders, folds and limits findings.
///
/// Findings with the same text at the same place are merged. Findings with the same code and schema keyword at three
/// or more indices of a list form one group. If groups are left out, missing required fields stay longest, because
/// other mistakes cannot be fixed without them.
///
/// ```
/// use answerback_findings::{Severity, ValidationError, aggregate};
///
/// let findings: Vec<_> = (0..37)
///     .map(|index| {
///         Ok(ValidationError::new("VAL-002", Severity::Error)
///             .with_path(format!("/items/{index}/qty").try_into()?)
///             .with_schema_path("/properties/items/items/properties/qty/type".try_into()?))
///     })
///     .collect::<Result<_, Box<dyn std::error::Error>>>()?;
/// let aggregate = aggregate(&findings, 10);
/// assert_eq!((aggregate.groups[0].path.as_ref(), aggregate.groups[0].count()), ("/items/*/qty", 37));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn aggregate(findings: &[ValidationError], limit: usize) -> Aggregate<'_> {
    let mut ordered: Vec<&ValidationError> = findings.iter().collect();
    ordered.sort_by(|a, b| order(a).cmp(&order(b)));
    ordered.dedup_by(|a, b| reads_the_same(a, b));
    let total = ordered.len();
    let mut groups = fold(ordered);
    keep_most_important(&mut groups, limit);
    let shown: usize = groups.iter().map(FindingGroup::count).sum();
    Aggregate { groups, total, left_out: total - shown }
}

/// Returns the sort key: everything visible in a finding, so that equal findings are adjacent.
fn order(finding: &ValidationError) -> (Severity, &str, &str, &str, Option<&str>, Option<&str>) {
    (
        finding.severity,
        finding.field_path.as_str(),
        &finding.error_code,
        &finding.message,
        finding.expected_value.as_deref(),
        finding.actual_value.as_deref(),
    )
}

fn reads_the_same(a: &ValidationError, b: &ValidationError) -> bool {
    order(a) == order(b)
}

/// The properties shared by the findings of a group. Without a schema keyword, the messages must be equal.
type GroupKey<'f> = (Severity, &'f str, Result<&'f str, &'f str>, Starred<'f>);

/// A path that equals all paths that differ from it only in indices.
#[derive(Clone, Copy)]
struct Starred<'f>(&'f str);

impl<'f> Starred<'f> {
    /// Iterates over the tokens, with `*` for indices.
    fn tokens(self) -> impl Iterator<Item = &'f str> {
        self.0.split('/').map(|token| if is_index(token) { "*" } else { token })
    }
}

impl Hash for Starred<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.tokens().for_each(|token| token.hash(state));
    }
}

impl PartialEq for Starred<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.tokens().eq(other.tokens())
    }
}

impl Eq for Starred<'_> {}

fn fold(ordered: Vec<&ValidationError>) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::with_capacity(ordered.len());
    let mut alike: HashMap<GroupKey<'_>, Vec<usize>> = HashMap::new();
    let has_index =
        |finding: &ValidationError| finding.field_path.as_str().split('/').any(is_index);
    // If there are too few findings with an index, none can be folded.
    let may_fold =
        ordered.iter().filter(|finding| has_index(finding)).nth(FOLDED_FROM - 1).is_some();
    for finding in ordered {
        if may_fold && has_index(finding) {
            let pattern = Starred(finding.field_path.as_str());
            let keyword =
                finding.schema_path.as_ref().map(Pointer::as_str).ok_or(finding.message.as_str());
            alike
                .entry((finding.severity, &finding.error_code, keyword, pattern))
                .or_default()
                .push(groups.len());
        }
        let path = Cow::Borrowed(finding.field_path.as_str());
        groups.push(FindingGroup { finding, path, members: vec![finding] });
    }
    let mut folded_away = vec![false; groups.len()];
    for indices in alike.into_values().filter(|indices| indices.len() >= FOLDED_FROM) {
        let members: Vec<_> = indices.iter().map(|index| groups[*index].finding).collect();
        for index in &indices[1..] {
            folded_away[*index] = true;
        }
        let first = &mut groups[indices[0]];
        first.path = Cow::Owned(common_pattern(&members));
        first.members = members;
    }
    let mut index = 0;
    groups.retain(|_| {
        index += 1;
        !folded_away[index - 1]
    });
    for group in groups.iter_mut().filter(|group| group.count() > 1) {
        group.members.sort_by_cached_key(|member| indices(member.field_path.as_str()));
        group.finding = group.members[0];
    }
    groups
}

/// Returns the path with `*` for the indices that differ between the members.
fn common_pattern(members: &[&ValidationError]) -> String {
    let mut tokens: Vec<&str> = members[0].field_path.as_str().split('/').collect();
    for member in &members[1..] {
        for (token, other) in tokens.iter_mut().zip(member.field_path.as_str().split('/')) {
            if *token != other {
                *token = "*";
            }
        }
    }
    tokens.join("/")
}

/// Returns the indices of a path as numbers, so that 2 sorts before 10.
fn indices(path: &str) -> Vec<u64> {
    path.split('/').filter(|token| is_index(token)).filter_map(|token| token.parse().ok()).collect()
}

fn is_index(token: &str) -> bool {
    !token.is_empty() && token.len() <= 10 && token.bytes().all(|byte| byte.is_ascii_digit())
}

fn keep_most_important(groups: &mut Vec<FindingGroup<'_>>, limit: usize) {
    if groups.len() <= limit {
        return;
    }
    let mut by_importance: Vec<usize> = (0..groups.len()).collect();
    by_importance.sort_by_key(|index| (importance(groups[*index].finding), *index));
    let mut kept = vec![false; groups.len()];
    for index in &by_importance[..limit] {
        kept[*index] = true;
    }
    let mut index = 0;
    groups.retain(|_| {
        index += 1;
        kept[index - 1]
    });
}

/// Returns the sort key for dropping findings at the limit: the highest keys are dropped first.
pub fn importance(finding: &ValidationError) -> (Severity, bool) {
    (finding.severity, finding.error_code != super::call_codes::REQUIRED_FIELD_MISSING.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(code: &'static str, path: &str) -> ValidationError {
        ValidationError::new(code, Severity::Error)
            .with_path(path.try_into().unwrap())
            .with_message(code)
    }

    fn shown(findings: &[ValidationError], limit: usize) -> Vec<String> {
        let aggregate = aggregate(findings, limit);
        let mut lines: Vec<_> = aggregate
            .groups
            .iter()
            .map(|group| format!("{} {} ×{}", group.finding.error_code, group.path, group.count()))
            .collect();
        lines.push(format!("{} of {} left out", aggregate.left_out, aggregate.total));
        lines
    }

    #[test]
    fn orders_by_severity_then_path_and_drops_repeats() {
        let findings = [
            finding("VAL-005", "/z").with_severity(Severity::Warning),
            finding("VAL-002", "/b"),
            finding("VAL-001", "/a"),
            finding("VAL-002", "/b").with_schema_path("/allOf/1/type".try_into().unwrap()),
            finding("VAL-002", "/B"),
        ];
        assert_eq!(
            shown(&findings, 10),
            ["VAL-002 /B ×1", "VAL-001 /a ×1", "VAL-002 /b ×1", "VAL-005 /z ×1", "0 of 4 left out"]
        );
    }

    #[test]
    fn folds_repeats_over_indices() {
        let mut findings: Vec<_> = (0..12)
            .map(|index| finding("VAL-002", &format!("/orders/3/items/{index}/qty")))
            .collect();
        findings.push(finding("VAL-001", "/orders/3/items/4/name"));
        findings.extend([finding("VAL-002", "/pair/0"), finding("VAL-002", "/pair/1")]);
        assert_eq!(
            shown(&findings, 10),
            [
                "VAL-002 /orders/3/items/*/qty ×12",
                "VAL-001 /orders/3/items/4/name ×1",
                "VAL-002 /pair/0 ×1",
                "VAL-002 /pair/1 ×1",
                "0 of 15 left out"
            ]
        );
        let aggregate = aggregate(&findings, 10);
        let examples: Vec<_> = aggregate.groups[0].examples(4).map(Pointer::as_str).collect();
        assert_eq!(
            examples,
            [
                "/orders/3/items/0/qty",
                "/orders/3/items/1/qty",
                "/orders/3/items/2/qty",
                "/orders/3/items/11/qty"
            ]
        );
    }

    #[test]
    fn the_limit_takes_missing_fields_last() {
        let mut findings: Vec<_> = (b'a'..=b'p')
            .map(|name| finding("VAL-002", &format!("/{}", char::from(name))))
            .collect();
        findings.push(finding("VAL-001", "/z"));
        let lines = shown(&findings, 3);
        assert_eq!(lines, ["VAL-002 /a ×1", "VAL-002 /b ×1", "VAL-001 /z ×1", "14 of 17 left out"]);
        assert_eq!(shown(&findings, 0), ["17 of 17 left out"]);
        assert_eq!(shown(&[], 10), ["0 of 0 left out"]);
    }
}
