use std::borrow::Cow;

use answerback_store::StoreError;

/// The reason why an entry could not be recorded, in a public and a detailed form. Clients, models and status pages
/// show the public form. Database addresses, paths and other programs' messages are only for the operator's log.
#[derive(Clone, Debug)]
pub(crate) struct RecordingFailure {
    pub(crate) public: Cow<'static, str>,
    pub(crate) detail: Cow<'static, str>,
}

impl From<StoreError> for RecordingFailure {
    fn from(error: StoreError) -> Self {
        Self { public: error.public_message(), detail: error.to_string().into() }
    }
}

impl From<std::io::Error> for RecordingFailure {
    fn from(error: std::io::Error) -> Self {
        Self {
            public: "the system refused what is needed for it".into(),
            detail: error.to_string().into(),
        }
    }
}

impl From<&'static str> for RecordingFailure {
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
        let reason = RecordingFailure::from(error);
        assert_eq!(reason.detail, detail);
        assert_eq!(reason.public, "the store does not fit the configuration or this program");
        let reason = RecordingFailure::from(std::io::Error::other(detail));
        assert!(reason.detail.contains("db.internal") && !reason.public.contains("db.internal"));
    }
}
