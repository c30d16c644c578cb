/// A blob that is to be written: content under its own digest.
#[derive(Debug)]
pub(crate) struct BlobRow<'a> {
    pub(crate) digest: [u8; 32],
    pub(crate) bytes: &'a [u8],
    pub(crate) reference: Option<&'a str>,
    pub(crate) micros: i64,
}
