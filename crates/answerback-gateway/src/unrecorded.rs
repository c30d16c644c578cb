//! Why something could not be recorded: for the log in full, and for everybody else without internal detail.

use std::borrow::Cow;

use answerback_store::StoreError;

/// A reason in two editions. Models, clients and whoever polls the service read the public one: addresses of databases,
/// paths and the words of other programs are for the operator, who has the log.
#[derive(Clone, Debug)]
pub(crate) struct Unrecorded {
    pub(crate) public: Cow<'static, str>,
    pub(crate) detail: Cow<'static, str>,
}

impl From<StoreError> for Unrecorded {
    fn from(error: StoreError) -> Self {
        Self { public: error.public_message(), detail: error.to_string().into() }
    }
}

impl From<std::io::Error> for Unrecorded {
    fn from(error: std::io::Error) -> Self {
        Self {
            public: "the system refused what is needed for it".into(),
            detail: error.to_string().into(),
        }
    }
}

impl From<&'static str> for Unrecorded {
    fn from(reason: &'static str) -> Self {
        Self { public: reason.into(), detail: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_operator_reads_the_address_of_the_database() {
        let detail = "connection to db.internal:5432 as app failed: no route to host";
        let error = StoreError::Unfit(detail.to_owned());
        let reason = Unrecorded::from(error);
        assert_eq!(reason.detail, detail);
        assert_eq!(reason.public, "the store does not fit the configuration or this program");
        let reason = Unrecorded::from(std::io::Error::other(detail));
        assert!(reason.detail.contains("db.internal") && !reason.public.contains("db.internal"));
    }
}
