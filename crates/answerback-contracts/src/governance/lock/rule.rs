//! Defines the rules of locks and their codes: for a lock alone, against the manifest, against the prompts'
//! files, and for replacing a lock.

answerback_findings::rules! {
    NOT_AN_OBJECT = "LOCK-001", Error,
        "The lock is a JSON object",
        "Prompts and counts are members of it.",
        "Let 'answerback lock write' write it.";
    MEMBER_MISSING = "LOCK-002", Error,
        "All required members are present",
        "A lock does not protect what it leaves out.",
        "Let 'answerback lock write' write it.";
    VERSION_WRONG = "LOCK-003", Error,
        "version is a semantic version",
        "It is compared with the version of the manifest.",
        "Write the manifest's version.";
    LOCKFILE_VERSION_WRONG = "LOCK-004", Error,
        "lockfileVersion is 1 or 2",
        "The same members may have another meaning in another version.",
        "Write a new lock, or read it with a program that knows its version.";
    GENERATED_WRONG = "LOCK-005", Error,
        "generated is an ISO 8601 date and time",
        "It identifies the state of the manifest that the lock was written from.",
        "Write the time from the manifest.";
    DESCRIPTION_BLANK = "LOCK-006", Error,
        "description is a text",
        "It explains the file to people who find it.",
        "Say it in a sentence.";
    ALGORITHM_WRONG = "LOCK-007", Error / Warning,
        "algorithm is spelled SHA-256 in version 1 and sha256 in version 2",
        "Readers compare the word letter by letter.",
        "Write the spelling for this lockfileVersion.";
    GROUP_WRONG = "LOCK-008", Error,
        "prompts, each prompt and integrity are objects",
        "Their members are looked up by name.",
        "Let 'answerback lock write' write it.";
    FILE_WRONG = "LOCK-009", Error,
        "file is a relative path with forward slashes that stays within its folder",
        "It must mean the same on every machine, and nothing outside may be read through it.",
        "Write the path from the manifest.";
    HASH_WRONG = "LOCK-010", Error,
        "hash is a SHA-256 of 64 lower-case hexadecimal digits",
        "Hashes are compared as text; the same hash in capitals would never match.",
        "Write it in lower case, as sha256sum prints it.";
    TYPE_WRONG = "LOCK-011", Error,
        "type is domain, archetype or orchestrator",
        "Responses claim a type, and it is compared.",
        "Write the type that the prompt has in the manifest.";
    PROMPT_VERSION_WRONG = "LOCK-012", Error,
        "A prompt's version is a semantic version",
        "Responses claim a version, and it is compared.",
        "Write the version from the manifest.";
    COUNT_WRONG = "LOCK-013", Error,
        "The counts of integrity are whole numbers, 0 or more",
        "They are compared with what is locked.",
        "Write how many there are.";
    COUNT_MISMATCH = "LOCK-014", Error,
        "integrity counts what is locked",
        "The counts reveal a prompt that was removed or added by accident.",
        "Find out which prompt changed; then write a new lock.";
    MEMBER_UNKNOWN = "LOCK-015", Warning,
        "The lock has no other members",
        "Readers ignore them.",
        "Remove the member, or check its spelling.";
    ALGORITHM_UNKNOWN = "LOCK-016", Error,
        "algorithm is SHA-256",
        "Under another algorithm every hash means something else.",
        "Write a new lock with SHA-256 hashes.";
    VERSIONS_DIFFER = "LOCK-101", Error,
        "Manifest and lock have the same version",
        "A lock of another version confirms other prompts.",
        "Write a new lock from the current manifest.";
    ENTRY_MISSING = "LOCK-102", Error,
        "Every prompt of the manifest is locked",
        "A change to a prompt without a hash goes unnoticed.",
        "Review the prompt, then write a new lock.";
    ENTRY_EXTRA = "LOCK-103", Error,
        "Every locked prompt is in the manifest",
        "A prompt that is not in the manifest belongs to no agent.",
        "Add it to the manifest, or write a new lock.";
    ENTRY_DIFFERS = "LOCK-104", Error,
        "File, type and version of a locked prompt match the manifest",
        "Otherwise the manifest and the lock describe different agents.",
        "Write a new lock from the current manifest.";
    NOT_COMPARED = "LOCK-105", Error,
        "Manifest and lock can be compared",
        "An invalid manifest or lock proves nothing, so agreement with it is not reported.",
        "Check the other document by itself, fix its findings, then compare again.";
    FILE_MISSING = "LOCK-201", Error,
        "The file of every locked prompt exists",
        "A file that cannot be read cannot be verified.",
        "Restore the file, or take the prompt out of the manifest.";
    HASH_MISMATCH = "LOCK-202", Error,
        "A prompt's file has the locked hash",
        "The prompt was changed after it was locked: no agent may answer under it.",
        "Restore the file; or review the change, raise the prompt's version and write a new lock.";
    FILE_EXTRA = "LOCK-203", Error,
        "Every prompt file is locked",
        "A prompt file that is not locked is not governed.",
        "Add it to the manifest and write a new lock, or remove it.";
    DOMAIN_CHANGED = "LOCK-301", Error,
        "A locked domain does not change under its version",
        "governance.immutable_domains: a reviewed version must keep the reviewed text.",
        "Raise the prompt's version in the manifest, or restore its file.";
    PROMPT_CHANGED = "LOCK-302", Error,
        "A locked prompt does not change under its version",
        "governance.version_increment_required: a version never refers to two texts.",
        "Raise the prompt's version in the manifest, or restore its file.";
    VERSION_LOWERED = "LOCK-303", Error,
        "A locked prompt's version never goes down",
        "After a lower version, the same version could be used again with another text.",
        "Write a version above the locked one.";
}
