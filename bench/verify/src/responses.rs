//! A set of prompts of the size that is in use, and responses of its agents: a few hundred bytes to some kilobytes.

use answerback::contract::governed::{
    AgentId, Attestation, Confidence, Content, RequestContext, RequestType, SuggestedHandoff,
};
use answerback::governance::{
    Archetype, Authority, Domain, Lock, LockfileVersion, Manifest, PromptFiles,
};
use answerback::{Timestamp, UuidV4};
use serde_json::{Value, json};

const DOMAINS: usize = 10;
const ARCHETYPES: usize = 4;
/// One response in so many has another hash than the lock.
const SPOILED: usize = 100;

/// The manifest and the lock of ten domains and four archetypes.
pub(crate) fn authority() -> anyhow::Result<Authority> {
    let mut manifest = Manifest::builder("1.0.0", "The prompts of a benchmark");
    for number in 0..DOMAINS {
        let key = format!("domain-{number:02}");
        let id = AgentId::try_from(key.as_str())?;
        let file = format!("domains/{key}.md");
        let scope = format!("What domain {number} is for");
        manifest =
            manifest.domain(key, Domain::new("Domain", file, id, "1.0.0".try_into()?, scope));
    }
    for number in 0..ARCHETYPES {
        let key = format!("archetype-{number:02}");
        let id = AgentId::try_from(key.as_str())?;
        let file = format!("archetypes/{key}.md");
        let parts = [(0, 50), (1, 30), (2, 20)]
            .map(|(next, share)| (format!("domain-{:02}", (number + next) % DOMAINS), share));
        let archetype =
            Archetype::new("Archetype", file, id, "1.0.0".try_into()?, parts, "Several in one");
        manifest = manifest.archetype(key, archetype);
    }
    let manifest = manifest.build(now())?;
    let files = manifest.prompts().fold(PromptFiles::default(), |files, prompt| {
        files.with_file(prompt.file, prompt.key.as_bytes())
    });
    let lock = Lock::of(&manifest, &files, LockfileVersion::One)?;
    Ok(Authority::new(&manifest.to_document(), &lock.to_document()))
}

/// The response of this number, as it would arrive, and whether it is to be refused.
pub(crate) fn response(authority: &Authority, number: usize) -> anyhow::Result<(Vec<u8>, bool)> {
    let agent = number % (DOMAINS + ARCHETYPES);
    let agent = match agent.checked_sub(DOMAINS) {
        None => format!("domain-{agent:02}"),
        Some(archetype) => format!("archetype-{archetype:02}"),
    };
    let target = format!("domain-{:02}", (number + 1) % DOMAINS);
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.to_le_bytes());
    let request = RequestContext::new(RequestType::Analysis, sentence(number, 8))
        .with_request_id(UuidV4::from_random(id));
    let response = authority
        .speaker(&agent)?
        .answer(
            UuidV4::from_random(id),
            request,
            content(number),
            Attestation::upheld().with_audit_trail(format!("ledger:{number}")),
        )
        .confidence(Confidence::High)
        .handoff(SuggestedHandoff::optional(target.as_str().try_into()?, sentence(number, 9)))
        .followup_question(sentence(number + 1, 7))
        .build(now())?;
    let mut document = response.to_document();
    let is_spoiled = number % SPOILED == SPOILED - 1;
    if is_spoiled {
        document["agent"]["prompt_hash"] = "0".repeat(64).into();
    }
    Ok((document.to_string().into_bytes(), is_spoiled))
}

/// A third is prose, the rest are records; most are small and one in ten is large.
fn content(number: usize) -> Content {
    let count = if number.is_multiple_of(10) { 30 + number % 31 } else { 1 + number % 10 };
    if number.is_multiple_of(3) {
        let paragraphs: Vec<String> = (0..count).map(|at| sentence(number + at, 14)).collect();
        return Content::markdown(paragraphs.join("\n\n"));
    }
    let records: Vec<Value> = (0..count)
        .map(|at| {
            json!({"id": number * 100 + at, "name": sentence(at, 2), "share": f64::from(u8::try_from(at % 8).unwrap_or_default()) / 8.0,
                   "tags": [sentence(at + 1, 1), sentence(at + 2, 1)], "owner": null})
        })
        .collect();
    Content::mixed(sentence(number, 30), [("findings", records)])
}

fn sentence(start: usize, words: usize) -> String {
    let words: Vec<&str> = (0..words).map(|at| WORDS[(start * 7 + at * 5) % WORDS.len()]).collect();
    format!("{}.", words.join(" "))
}

fn now() -> Timestamp {
    Timestamp::from_unix_millis(1_772_443_200_000)
}

const WORDS: [&str; 16] = [
    "order",
    "customer",
    "the",
    "of",
    "invoice",
    "was",
    "found",
    "in",
    "région",
    "and",
    "shipment",
    "delayed",
    "「在庫」",
    "forecast",
    "März",
    "\"quoted\"",
];
