//! Defines the rules of manifests and their codes.

answerback_findings::rules! {
    NOT_AN_OBJECT = "MAN-001", Error,
        "The manifest is a JSON object",
        "Prompts, counts and rules of governance are members of it.",
        "Write an object with version, generated, description, taxonomy, domains, archetypes and governance.";
    MEMBER_MISSING = "MAN-002", Error,
        "All required members are present",
        "A manifest cannot confirm what it leaves out.",
        "Add the member at the place that the finding names.";
    VERSION_WRONG = "MAN-003", Error,
        "version is a semantic version",
        "It is compared with the version of the lock.",
        "Write major.minor.patch, such as 1.0.0.";
    GENERATED_WRONG = "MAN-004", Error,
        "generated is an ISO 8601 date and time",
        "It is the time at which this set of prompts was fixed, and the lock repeats it.",
        "Write it in UTC with Z, such as 2026-02-11T00:45:02Z.";
    TEXT_BLANK = "MAN-005", Error,
        "description, name, scope and purpose are texts",
        "People use them to choose the agent for a request.",
        "Say it in a sentence.";
    GROUP_WRONG = "MAN-006", Error,
        "taxonomy, domains, archetypes, orchestrators, governance and each prompt are objects",
        "Their members are looked up by name.",
        "Write an object with the members of that group.";
    FILE_WRONG = "MAN-007", Error,
        "file is a relative path with forward slashes that stays within its folder",
        "It must mean the same on every machine, and nothing outside may be read through it.",
        "Write a path such as domains/02-analysis.md, without .. and without a drive.";
    FILE_TWICE = "MAN-008", Error,
        "Each prompt has a file of its own",
        "Two agents with the same prompt file cannot be distinguished by its hash.",
        "Give each prompt its own file.";
    CANONICAL_ID_WRONG = "MAN-009", Error,
        "canonical_id is visible ASCII without spaces",
        "Responses name their agent by it, and it is compared letter by letter.",
        "Write an id such as domain-02-analysis.";
    CANONICAL_ID_TWICE = "MAN-010", Error,
        "Each canonical_id is unique",
        "A response must lead to exactly one prompt.",
        "Give each prompt an id of its own.";
    KEY_TWICE = "MAN-011", Error,
        "Each key is unique across domains, archetypes and orchestrators",
        "The lock stores all prompts in one object under these keys.",
        "Rename one of the two.";
    PROMPT_VERSION_WRONG = "MAN-012", Error,
        "A prompt's version is a semantic version",
        "A changed prompt needs a higher version, so versions are compared.",
        "Write major.minor.patch, such as 1.0.0.";
    COUNT_WRONG = "MAN-013", Error,
        "The counts of taxonomy are whole numbers, 0 or more",
        "They are compared with what is listed.",
        "Write how many there are.";
    COUNT_MISMATCH = "MAN-014", Error,
        "taxonomy counts what is listed",
        "The counts reveal a prompt that was removed or added by accident.",
        "Count again: domains, archetypes, orchestrators if there are any, and total_prompts.";
    COMPOSITION_WRONG = "MAN-015", Error,
        "composition has a whole percentage from 1 to 100 for each domain",
        "Shares are added up, and a fraction or a word does not add up.",
        "Write an object such as {\"domain-05-product\": 50, \"domain-02-analysis\": 50}.";
    COMPOSITION_SIZE = "MAN-016", Error,
        "An archetype is composed of two to four domains",
        "An archetype of one domain is that domain, and with five or more domains none leads.",
        "Name two, three or four domains.";
    COMPOSITION_UNKNOWN = "MAN-017", Error,
        "composition names domains of this manifest",
        "An archetype can only be composed of domains that are themselves governed.",
        "Write the key of the domain in domains.";
    COMPOSITION_SUM = "MAN-018", Error,
        "The percentages of a composition sum to exactly 100",
        "Any other sum means that a part is missing or counted twice.",
        "Adjust the percentages.";
    COMPOSITION_PRIMARY = "MAN-019", Warning,
        "The largest share of a composition is from 40 to 60 percent",
        "With a smaller share no domain leads; with a larger one the archetype is hardly more than that domain.",
        "Move shares between the domains, or leave the composition if it is intended.";
    GOVERNANCE_WRONG = "MAN-020", Error,
        "The four rules of governance are booleans",
        "Each rule either applies or does not.",
        "Write true or false.";
    GOVERNANCE_WAIVED = "MAN-021", Warning,
        "hash_verification_required and archetype_composition_validation are true",
        "The contract requires both in every manifest; hashes and compositions are verified in any case.",
        "Write true.";
    MEMBER_UNKNOWN = "MAN-022", Warning,
        "The manifest has no other members",
        "Readers ignore them.",
        "Remove the member, or check its spelling.";
}
