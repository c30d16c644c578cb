use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::schema::bound;
use super::{Schema, SchemaError};

/// A cache of compiled schemas by their content. If it is full, the oldest entry is removed first.
///
/// ```
/// use answerback_calls::call::Schemas;
/// use serde_json::json;
///
/// let schemas = Schemas::new(64);
/// let one = schemas.compile(&json!({"type": "object"}))?;
/// let other = schemas.compile(&json!({"type": "object"}))?;
/// assert!(std::sync::Arc::ptr_eq(&one, &other));
/// # Ok::<(), answerback_calls::call::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct Schemas {
    most: usize,
    cache: Mutex<SchemaCacheState>,
}

#[derive(Debug, Default)]
struct SchemaCacheState {
    by_content: HashMap<SchemaKey, Result<Arc<Schema>, SchemaError>>,
    oldest_first: VecDeque<SchemaKey>,
}

/// A schema as a cache key. Its hash ignores the order of names.
#[derive(Clone, Debug)]
struct SchemaKey(Arc<Value>);

impl Borrow<Value> for SchemaKey {
    fn borrow(&self) -> &Value {
        &self.0
    }
}

impl Hash for SchemaKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for SchemaKey {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for SchemaKey {}

impl Schemas {
    /// Creates a cache for at most `most` schemas.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), cache: Mutex::default() }
    }

    /// Returns the compiled schema, from the cache if its content is known. A schema that fails to compile is cached
    /// too.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Schema::compile`].
    pub fn compile(&self, source: &Value) -> Result<Arc<Schema>, SchemaError> {
        // Hashing recurses, so a schema that is too deep to compile is also too deep to hash.
        bound(source)?;
        if let Some(known) = self.lock().by_content.get(source) {
            return known.clone();
        }
        // The schema is compiled without the lock, so that a large schema does not block others.
        let content = SchemaKey(Arc::new(source.clone()));
        let compiled = Schema::compile(Arc::clone(&content.0)).map(Arc::new);
        let mut known = self.lock();
        if let Some(earlier) = known.by_content.get(source) {
            return earlier.clone();
        }
        while known.by_content.len() >= self.most
            && let Some(oldest) = known.oldest_first.pop_front()
        {
            known.by_content.remove(&oldest);
        }
        known.oldest_first.push_back(content.clone());
        known.by_content.insert(content, compiled.clone());
        compiled
    }

    /// Counts the cached schemas.
    pub fn len(&self) -> usize {
        self.lock().by_content.len()
    }

    /// True if the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SchemaCacheState> {
        // No code panics while it holds the lock, and a partial update would leave valid data.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Schemas {
    /// Creates a cache for 1,024 schemas.
    fn default() -> Self {
        Self::new(1024)
    }
}
