use answerback_findings::Profile;
use answerback_json::Pointer;
use answerback_json::patch::{self, PatchOperation};
use serde::Deserialize;
use serde_json::Value;

use super::slot::ExtensionSlot;
use super::{Inputs, MissingInput, Reply, atdf, governed, tool, ui};
use crate::{Contract, Invalid};

/// A converted document, with the places that the target contract cannot show.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Converted {
    /// The document in the target contract. It passes the strict check. A document that is restored from its
    /// extension slot may only pass the lenient one.
    pub document: Value,
    /// The places of the source that the target has no member for. They are stored in its extension slot.
    pub carried: Vec<Pointer>,
}

/// Converts a document from one contract to another.
///
/// Converting back restores the original document, as long as the visible members stay unchanged. A change to
/// a visible member takes precedence over the stored value.
///
/// # Errors
///
/// Returns an error if the document does not meet its own contract under the lenient profile, or if the
/// result does not meet the target contract. The same applies if neither the document nor the inputs have a
/// value that the target requires, or if one of the contracts is not a reply contract.
///
/// ```
/// use answerback_contracts::Contract;
/// use answerback_contracts::convert::{Inputs, convert};
///
/// let atdf = serde_json::json!({
///     "status": "success",
///     "data": {"message": "Email is valid", "domain": "example.com"},
///     "meta": {"timestamp": "2026-03-04T05:06:07Z"},
/// });
/// let inputs = Inputs::default().with_tool("validate_email", "1.0.0");
/// let tool = convert(&atdf, Contract::Atdf, Contract::Tool, &inputs)?.document;
/// assert_eq!(tool["summary"], "Email is valid");
/// assert_eq!(tool["data"]["domain"], "example.com");
///
/// let home = convert(&tool, Contract::Tool, Contract::Atdf, &Inputs::default())?.document;
/// assert_eq!(home, atdf);
/// # Ok::<(), answerback_contracts::convert::ConvertError>(())
/// ```
pub fn convert(
    document: &Value,
    from: Contract,
    to: Contract,
    inputs: &Inputs,
) -> Result<Converted, ConvertError> {
    for contract in [from, to] {
        if !Contract::REPLIES.contains(&contract) {
            return Err(ConvertError::NotAReply(contract));
        }
    }
    // A source that is nested too deep could not be restored later.
    Invalid::unless_emittable(document, from.check(document, Profile::Lenient))
        .map_err(ConvertError::Source)?;
    if from == to {
        return Ok(Converted { document: document.clone(), carried: Vec::new() });
    }
    let mut visible = document.clone();
    let slot = ExtensionSlot::take(&mut visible, from);
    let reply = complete_reply(&visible, from, &slot);

    let mut plain = write(&reply, to, inputs)?;
    if let Some(exact) = slot.exact.get(to.as_str()) {
        patch::apply_where_it_fits(&mut plain.document, exact);
        if is_all_of(&plain.document, to, &visible, from) {
            // The original may only have met the lenient profile, so this is enough for the restored
            // document.
            return finished(plain.document, to, Profile::Lenient, Vec::new());
        }
    }
    let mut carry = slot;
    carry.exact.remove(to.as_str());
    carry.lifted = plain.lifted;
    carry.reply = members_to_store(&reply, &plain.document, to, &carry.lifted);
    let unseen = ExtensionSlot { lifted: carry.lifted.clone(), ..ExtensionSlot::default() };
    let carried = places(&restoring_patch(&plain.document, to, &unseen, &visible, from));
    // The patch is stored even if it is empty, because its presence marks the original contract of the reply.
    let exact = restoring_patch(&plain.document, to, &carry, document, from);
    carry.exact.insert(from.as_str().to_owned(), exact);
    let mut target = plain.document;
    carry.put(&mut target, to);
    finished(target, to, Profile::Strict, carried)
}

/// The reason why a document could not be converted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The source does not meet its own contract.
    #[error("the document does not meet its contract: {0}")]
    Source(#[source] Invalid),
    /// The target requires a value that neither the source nor the inputs have.
    #[error(transparent)]
    Missing(#[from] MissingInput),
    /// The result would not meet the target contract.
    #[error("the result would not meet its contract: {0}")]
    Target(#[source] Invalid),
    /// Descriptors, handoffs, manifests and locks are not replies.
    #[error("{}", no_reply(*.0))]
    NotAReply(Contract),
}

fn no_reply(contract: Contract) -> String {
    let title = contract.title();
    match contract {
        Contract::Descriptor => {
            format!(
                "this is no reply but an {title}; --to mcp-tool and --to descriptor convert those"
            )
        }
        _ => format!("this is no reply but a {title}, which has no other form"),
    }
}

/// A document in a target contract, before its extension slot is added.
pub(super) struct Plain {
    pub(super) document: Value,
    /// The names in the visible body that hold artifacts, missions and signals.
    pub(super) lifted: Vec<String>,
}

fn read(document: &Value, contract: Contract, lifted: &[String]) -> Reply {
    match contract {
        Contract::Atdf => atdf::read(document, lifted),
        Contract::Governed => governed::read(document, lifted),
        Contract::Tool => tool::read(document, lifted),
        _ => ui::read(document),
    }
}

pub(super) fn write(
    reply: &Reply,
    contract: Contract,
    inputs: &Inputs,
) -> Result<Plain, MissingInput> {
    match contract {
        Contract::Atdf => Ok(atdf::write(reply)),
        Contract::Governed => governed::write(reply, inputs),
        Contract::Tool => tool::write(reply, inputs),
        _ => Ok(ui::write(reply)),
    }
}

/// Returns the reply of a document: the visible members, completed by the slot. A stored member is only used
/// if writing it gives the members that are visible now. A later change to the document therefore wins.
fn complete_reply(visible: &Value, contract: Contract, slot: &ExtensionSlot) -> Reply {
    let shown = read(visible, contract, &slot.lifted);
    if slot.reply.is_empty() {
        return shown;
    }
    let mut trusted = slot.clone();
    let told = members(&shown);
    loop {
        let candidate = trusted.over(&shown);
        let inputs = inputs_of(visible, contract);
        let again = match write(&candidate, contract, &inputs) {
            Ok(plain) => members(&read(&plain.document, contract, &plain.lifted)),
            Err(_) => Value::Null,
        };
        let contradicted: Vec<String> = trusted
            .reply
            .keys()
            .filter(|name| again.get(name) != told.get(name))
            .cloned()
            .collect();
        if contradicted.is_empty() {
            return candidate;
        }
        for name in contradicted {
            trusted.reply.shift_remove(&name);
        }
    }
}

/// Returns the members of the reply that the written document does not show. A member that the reply lacks is
/// left out: the document then shows an input, which does not have to be stored.
pub(super) fn members_to_store(
    reply: &Reply,
    document: &Value,
    contract: Contract,
    lifted: &[String],
) -> serde_json::Map<String, Value> {
    let shown = members(&read(document, contract, lifted));
    let whole = members(reply);
    let whole = whole.as_object().cloned().unwrap_or_default();
    whole
        .into_iter()
        .filter(|(name, value)| !value.is_null() && shown.get(name) != Some(value))
        .collect()
}

/// Returns the parts of the source that converting back would lose. The result is the patch from the document
/// that converting back would give to the source.
fn restoring_patch(
    target: &Value,
    to: Contract,
    carry: &ExtensionSlot,
    source: &Value,
    from: Contract,
) -> Vec<PatchOperation> {
    let home = complete_reply(target, to, carry);
    match write(&home, from, &inputs_of(source, from)) {
        Ok(plain) => patch::between(&plain.document, source),
        Err(_) => {
            vec![PatchOperation::Replace { path: Pointer::root(), value: source.clone() }]
        }
    }
}

/// True if the restored document says everything that the visible document says, so that nothing has to be
/// stored.
fn is_all_of(home: &Value, home_contract: Contract, here: &Value, contract: Contract) -> bool {
    let mut visible = home.clone();
    let slot = ExtensionSlot::take(&mut visible, home_contract);
    let reply = complete_reply(&visible, home_contract, &slot);
    write(&reply, contract, &inputs_of(here, contract)).is_ok_and(|plain| plain.document == *here)
}

/// Returns the inputs that a document itself contains.
fn inputs_of(document: &Value, contract: Contract) -> Inputs {
    match contract {
        Contract::Governed => governed::inputs(document),
        Contract::Tool => tool::inputs(document),
        _ => Inputs::default(),
    }
}

fn finished(
    document: Value,
    contract: Contract,
    profile: Profile,
    carried: Vec<Pointer>,
) -> Result<Converted, ConvertError> {
    Invalid::unless_emittable(&document, contract.check(&document, profile))
        .map_err(ConvertError::Target)?;
    Ok(Converted { document, carried })
}

fn members(reply: &Reply) -> Value {
    serde_json::to_value(reply).unwrap_or_default()
}

fn places(steps: &[PatchOperation]) -> Vec<Pointer> {
    steps
        .iter()
        .filter_map(|step| match step {
            PatchOperation::Add { path, .. }
            | PatchOperation::Remove { path }
            | PatchOperation::Replace { path, .. } => Some(path.clone()),
            _ => None,
        })
        .collect()
}

/// Deserializes a value, or returns `None` if it is missing or does not fit.
pub(super) fn fitting<T: for<'de> Deserialize<'de>>(value: Option<&Value>) -> Option<T> {
    value.and_then(|value| T::deserialize(value).ok())
}
