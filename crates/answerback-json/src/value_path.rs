use super::Pointer;
use super::pointer::push_token;

/// The place of a value during a walk through a document: a chain of borrowed steps up to the root.
///
/// A checker visits every member and rarely finds an error. So a place allocates nothing until [`ValuePath::pointer`] is
/// called.
#[derive(Clone, Copy, Debug)]
pub enum ValuePath<'a> {
    /// The whole document.
    Root,
    /// A member of an object.
    Key(&'a ValuePath<'a>, &'a str),
    /// An element of an array.
    Index(&'a ValuePath<'a>, usize),
}

impl<'a> ValuePath<'a> {
    /// Returns the place of a member of the object at this place.
    #[must_use]
    pub fn key(&'a self, name: &'a str) -> Self {
        ValuePath::Key(self, name)
    }

    /// Returns the place of an element of the array at this place.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Self {
        ValuePath::Index(self, index)
    }

    /// Converts the place to a JSON Pointer.
    pub fn pointer(&self) -> Pointer {
        let mut text = String::new();
        self.write(&mut text);
        Pointer::try_from(text).unwrap_or_default()
    }

    fn write(&self, text: &mut String) {
        match self {
            ValuePath::Root => {}
            ValuePath::Key(parent, name) => {
                parent.write(text);
                push_token(text, name);
            }
            ValuePath::Index(parent, index) => {
                parent.write(text);
                push_token(text, &index.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn becomes_a_pointer() {
        let root = ValuePath::Root;
        let rows = root.key("a/rows");
        let row = rows.index(12);
        assert_eq!(row.key("x").pointer().as_str(), "/a~1rows/12/x");
        assert!(root.pointer().is_root());
    }
}
