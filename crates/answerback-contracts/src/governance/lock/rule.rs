//! Defines the rules of locks and their codes: for a lock alone, against the manifest, against the prompts'
//! files, and for replacing a lock.

answerback_findings::rules! {
    NOT_AN_OBJECT = "LOCK-001", Error,
        "The lock is a JSON object",
        "Prompts and counts are members of it.",
        "Let 'answerback lock write' write it.";
    MEMBER_MISSING = "LOCK-002", Error,
        "All required members are present",
        "A lock that leaves something out does not lock it.",
        "Let 'answerback lock write' write it.";
    VERSION_WRONG = "LOCK-003", Error,
        "version is a semantic version",
        "It is compared with the version of the manifest.",
        "Write the manifest's version.";
    LOCKFILE_VERSION_WRONG = "LOCK-004", Error,
        "lockfileVersion is 1 or 2",
        "Another version may mean something else by the same members.",
        "Write the lock anew, or read it with a program that knows its version.";
    GENERATED_WRONG = "LOCK-005", Error,
        "generated is an ISO 8601 date and time",
        "It says of which manifest's state the lock is.",
        "Write the time that the manifest has.";
    DESCRIPTION_BLANK = "LOCK-006", Error,
        "description is a text",
        "People who find the file should learn what it is.",
        "Say it in a sentence.";
    ALGORITHM_WRONG = "LOCK-007", Error / Warning,
        "algorithm is spelled SHA-256 in version 1 and sha256 in version 2",
        "Readers compare the word letter by letter.",
        "Write the word that belongs to lockfileVersion.";
    GROUP_WRONG = "LOCK-008", Error,
        "prompts, each prompt and integrity are objects",
        "Their members are looked up by name.",
        "Let 'answerback lock write' write it.";
    FILE_WRONG = "LOCK-009", Error,
        "file is a relative path with forward slashes that stays within its folder",
        "It must mean the same on every machine, and nothing outside may be read through it.",
        "Write the path that the manifest has.";
    HASH_WRONG = "LOCK-010", Error,
        "hash is a SHA-256 of 64 lower-case hexadecimal digits",
        "Hashes are compared as text; the same hash in capitals would never match.",
        "Write it in lower case, as sha256sum prints it.";
    TYPE_WRONG = "LOCK-011", Error,
        "type is domain, archetype or orchestrator",
        "Responses claim a type, and it is compared.",
        "Write the kind that the prompt is in the manifest.";
    PROMPT_VERSION_WRONG = "LOCK-012", Error,
        "A prompt's version is a semantic version",
        "Responses claim a version, and it is compared.",
        "Write the version that the manifest has.";
    COUNT_WRONG = "LOCK-013", Error,
        "The counts of integrity are whole numbers, 0 or more",
        "They are compared with what is locked.",
        "Write how many there are.";
    COUNT_MISMATCH = "LOCK-014", Error,
        "integrity counts what is locked",
        "A prompt that was lost or slipped in shows here first.",
        "Find out which prompt changed; then write the lock anew.";
    MEMBER_UNKNOWN = "LOCK-015", Warning,
        "The lock has no other members",
        "Readers ignore them.",
        "Remove the member, or check its spelling.";
    ALGORITHM_UNKNOWN = "LOCK-016", Error,
        "algorithm is SHA-256",
        "Under another algorithm every hash means something else.",
        "Write the lock anew with SHA-256 hashes.";
    VERSIONS_DIFFER = "LOCK-101", Error,
        "Manifest and lock have the same version",
        "A lock of another state of the prompts vouches for something else.",
        "Write the lock anew from the manifest in force.";
    ENTRY_MISSING = "LOCK-102", Error,
        "Every prompt of the manifest is locked",
        "A prompt without a hash can be changed without anybody noticing.",
        "Review the prompt, then write the lock anew.";
    ENTRY_EXTRA = "LOCK-103", Error,
        "Every locked prompt is in the manifest",
        "A prompt that the manifest does not list speaks for nobody.",
        "Add it to the manifest, or write the lock anew.";
    ENTRY_DIFFERS = "LOCK-104", Error,
        "File, type and version of a locked prompt are the manifest's",
        "Otherwise the two vouch for different agents.",
        "Write the lock anew from the manifest in force.";
    NOT_COMPARED = "LOCK-105", Error,
        "Manifest and lock can be compared",
        "What a broken manifest or lock says of a prompt vouches for nothing, so agreement with it is not shown.",
        "Check the other document by itself and fix what is named, then compare again.";
    FILE_MISSING = "LOCK-201", Error,
        "The file of every locked prompt is there",
        "What cannot be read cannot be verified.",
        "Restore the file, or take the prompt out of the manifest.";
    HASH_MISMATCH = "LOCK-202", Error,
        "A prompt's file has the locked hash",
        "The prompt was changed after it was locked: no agent may answer under it.",
        "Restore the file; or review the change, raise the prompt's version and write the lock anew.";
    FILE_EXTRA = "LOCK-203", Error,
        "Every prompt file is locked",
        "A prompt beside the others that nobody locked is a prompt without governance.",
        "Add it to the manifest and write the lock anew, or remove it.";
    DOMAIN_CHANGED = "LOCK-301", Error,
        "A locked domain does not change under its version",
        "governance.immutable_domains: whoever reviewed this version must find what they reviewed.",
        "Raise the prompt's version in the manifest, or restore its file.";
    PROMPT_CHANGED = "LOCK-302", Error,
        "A locked prompt does not change under its version",
        "governance.version_increment_required: one version never means two texts.",
        "Raise the prompt's version in the manifest, or restore its file.";
    VERSION_LOWERED = "LOCK-303", Error,
        "A locked prompt's version never goes down",
        "From a lower version the same version could be reached a second time, with another text.",
        "Write a version above the locked one.";
}
