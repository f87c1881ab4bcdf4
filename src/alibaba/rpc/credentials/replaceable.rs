//! A source that can be exchanged while others hold it.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::{Credentials, CredentialsError, Source};

/// Hands out keys of the source that is in place now. Clones share it.
#[derive(Clone)]
pub struct Replaceable(Arc<Mutex<Arc<dyn Source>>>);

// === impl Replaceable ===

impl Replaceable {
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self(Arc::new(Mutex::new(source)))
    }

    /// The next call uses this one.
    pub fn replace(&self, source: Arc<dyn Source>) {
        *self.0.lock() = source;
    }

    fn current(&self) -> Arc<dyn Source> {
        self.0.lock().clone()
    }
}

#[async_trait]
impl Source for Replaceable {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        self.current().credentials().await
    }

    fn rejected(&self, access_key_id: &str) {
        self.current().rejected(access_key_id);
    }
}
