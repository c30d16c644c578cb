//! `docs/reference/conversions.md`: the place of each member of a reply in each contract.

use std::fmt::Write;

use answerback::contract::Contract;
use answerback::convert::MAPPING;

use crate::GeneratedFile;

const HEAD: &str = "# Conversions\n\n\
    A reply has one of four formats (contracts): an ATDF enriched response (a result, or an error that says how to fix\n\
    it), a governed response (it attests who speaks under which prompt), a UI envelope (a reply for people), or a tool\n\
    envelope (a tool's result). `answerback convert` reads a reply into one common view and writes it in another format.\n\
    The table says where each member of the view is. It is printed from `convert::MAPPING`, which a test compares with\n\
    the converter.\n\n\
    *slot* means that the format has no member for it. It is then stored in the extension slot (ATDF `meta.answerback`,\n\
    UI `metadata.answerback`, tool and governed `_meta.answerback`), and the way back restores it. `convert` lists what\n\
    went there. If a visible member was changed, it takes precedence over the slot.\n\n\
    | member | ATDF | governed | UI | tool |\n|---|---|---|---|---|\n";

const FOOT: &str = "\n\
    - Outcome: ok, warning, partial, error, refused. ATDF has success (ok, warning, partial) and error (error, refused).\n\
    \x20 A tool envelope shows partial as the warning `PARTIAL_RESULT`. A refusal is an error in both. The exact outcome is\n\
    \x20 in the slot.\n\
    - Body: in a UI envelope it is the `json_data` artifact \"Data\", marked `metadata.answerback: \"body\"`.\n\
    - Artifacts (parts with content of their own), missions (proposed work) and signals (short notices) are members of\n\
    \x20 the body if the format has no place for them.\n\
    - The slot also has `exact`: an RFC 6902 patch from what would be written on the way back to the original, for\n\
    \x20 example spellings of times, `null` instead of an absent member, and unknown members. Each change is guarded by a\n\
    \x20 test.\n\
    - What the target requires and the source lacks must be passed in: the tool's name and version, the agent's identity\n\
    \x20 from a lock, the attestation, the request and the confidence. Nothing is invented. A tool envelope that no tool\n\
    \x20 produced has the source `answerback/convert` and a duration of 0.\n";

pub(crate) fn file() -> GeneratedFile {
    let mut text = HEAD.to_owned();
    for mapping in MAPPING {
        let _ = write!(text, "| {} |", mapping.member);
        for contract in [Contract::Atdf, Contract::Governed, Contract::Ui, Contract::Tool] {
            let places = mapping.places(contract);
            let shown = if places.is_empty() {
                "*slot*".to_owned()
            } else {
                places.iter().map(|place| format!("`{place}`")).collect::<Vec<_>>().join(" ")
            };
            let _ = write!(text, " {shown} |");
        }
        text.push('\n');
    }
    text.push_str(FOOT);
    GeneratedFile { path: "docs/reference/conversions.md".into(), text }
}
