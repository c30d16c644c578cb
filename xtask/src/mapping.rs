//! Generates `docs/convert.md`, the table of the members in which each contract stores a reply.

use std::fmt::Write;

use answerback::contract::Contract;
use answerback::convert::MAPPING;

use crate::GeneratedFile;

const HEAD: &str = "# Converting a reply\n\n\
    Every contract is read into one shared view, the reply, and written from it. This table says where each member of\n\
    the reply stands; it is printed from `convert::MAPPING`, which a test holds against what is written.\n\
    *slot*: the contract has no member for it, and it rides in the extension slot (ATDF `meta.answerback`, UI\n\
    `metadata.answerback`, tool and governed `_meta.answerback`), from which the way back restores it. Conversion lists\n\
    what went there. A visible member that somebody changed wins over the slot.\n\n\
    | member | ATDF | governed | UI | tool |\n|---|---|---|---|---|\n";

const FOOT: &str = "\n\
    - Outcome: ok, warning, partial, error, refused. ATDF knows success (ok, warning, partial) and error (error,\n\
    \x20 refused); a tool envelope shows partial as the warning `PARTIAL_RESULT`; a refusal is an error in both. The finer\n\
    \x20 word rides in the slot.\n\
    - Body: in a UI envelope it is the `json_data` artifact \"Data\", marked `metadata.answerback: \"body\"`.\n\
    - Artifacts, missions and signals stand in the body under these names where the contract has no place for them.\n\
    - The slot also holds, under `exact`, an RFC 6902 patch from what would be written on the way home to what the source\n\
    \x20 was: spellings of times, `null` against absent, members we do not know. Each change is guarded by a test.\n\
    - What a target requires and the source lacks is an input: the tool's name and version; the agent's identity from a\n\
    \x20 lock, the attestation, the request and the confidence. Nothing is invented. A tool envelope that no tool produced\n\
    \x20 says `answerback/convert` as its source and a duration of 0.\n";

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
    GeneratedFile { path: "docs/convert.md".into(), text }
}
