//! Idempotency: a call that repeats a client token gets the first call's answer.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::{error::Failure, params::Params};

/// The most tokens that are kept.
const KEPT: usize = 10_000;

/// Answers by client token.
#[derive(Debug, Default)]
pub(crate) struct ClientTokens {
    answers: BTreeMap<Key, (Params, Value)>,
    order: VecDeque<Key>,
}

/// Product, action and token.
type Key = (String, String, String);

// === impl ClientTokens ===

impl ClientTokens {
    /// The earlier answer under that token, a refusal if it was another request's.
    pub(crate) fn recall(
        &self,
        product: &str,
        action: &str,
        token: &str,
        params: &Params,
    ) -> Result<Option<Value>, Failure> {
        if token.len() > 64 || !token.is_ascii() {
            return Err(Failure::invalid("ClientToken"));
        }
        let key = (product.to_owned(), action.to_owned(), token.to_owned());
        match self.answers.get(&key) {
            None => Ok(None),
            Some((earlier, answer)) if earlier == params => Ok(Some(answer.clone())),
            Some(_) => {
                let code = if product == "slb" { "LX_REQUEST_TOKEN_CONFLICT" } else { "IdempotenceSignatureMismatch" };
                Err(Failure::bad(code, "The client token was used already by a request with other parameters."))
            }
        }
    }

    pub(crate) fn remember(&mut self, product: &str, action: &str, token: &str, params: &Params, answer: &Value) {
        let key = (product.to_owned(), action.to_owned(), token.to_owned());
        self.answers.insert(key.clone(), (params.clone(), answer.clone()));
        self.order.push_back(key);
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
        }
    }
}
