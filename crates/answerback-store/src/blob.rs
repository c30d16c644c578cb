/// A blob to be written. Its key is the digest of its content.
#[derive(Debug)]
pub(crate) struct BlobRow<'a> {
    pub(crate) digest: [u8; 32],
    pub(crate) bytes: &'a [u8],
    pub(crate) reference: Option<&'a str>,
    pub(crate) micros: i64,
}
