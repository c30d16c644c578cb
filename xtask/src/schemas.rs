//! `schemas/`: a JSON Schema for every contract.

use crate::Generated;

pub(crate) fn files() -> Vec<Generated> {
    answerback::schema::ALL
        .iter()
        .map(|schema| Generated {
            path: format!("schemas/{}.schema.json", schema.name).into(),
            text: format!("{:#}\n", schema.document()),
        })
        .collect()
}
