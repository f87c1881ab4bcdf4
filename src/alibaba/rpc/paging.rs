//! Reads lists that come in pages, all of them or none.
//!
//! A page that cannot be read fails the whole: half a list looks like objects that are gone.
//! For the same reason a list is refused when it is shorter than the total that the cloud names.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use super::{Client, Request};
use crate::cloud::{Class, Error};

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// How many items there are on all pages, if the cloud says.
    pub total: Option<usize>,
    /// Where the next page starts, if there is one.
    pub next_token: Option<String>,
}

/// A reply that is a page.
pub trait Paged: DeserializeOwned {
    type Item;

    /// The page; `None` if the reply lacks the list.
    fn into_page(self) -> Option<Page<Self::Item>>;

    /// What identifies an item. Lists shift while they are read, so that an item may come twice.
    fn key(item: &Self::Item) -> String;
}

/// No list that this program reads is longer.
const MOST_PAGES: u32 = 2000;

// === impl Client ===

impl Client {
    /// Reads all pages by `PageNumber` and `PageSize`.
    pub async fn read_numbered<R: Paged>(&self, request: Request, size: usize) -> Result<Vec<R::Item>, Error> {
        self.read_numbered_as::<R>("PageNumber", request, size).await
    }

    /// The same where the number of the page has another name.
    pub async fn read_numbered_as<R: Paged>(
        &self,
        name: &str,
        mut request: Request,
        size: usize,
    ) -> Result<Vec<R::Item>, Error> {
        request.params.set("PageSize", size);
        let mut list = Listing::<R>::new();
        for number in 1..=MOST_PAGES {
            request.params.set(name, number);
            let page = self.page::<R>(&request).await?;
            let is_last =
                page.items.len() < size && page.total.is_none_or(|total| list.len() + page.items.len() >= total);
            let empty = page.items.is_empty();
            let Page { items, total, .. } = page;
            list.add(items, total);
            if is_last || empty || list.is_complete() {
                return list.finish(&request);
            }
        }
        Err(refuse(&request, "there is no end to its pages"))
    }

    /// Reads all pages by `NextToken`; the request sets the page size.
    pub async fn read_by_token<R: Paged>(&self, mut request: Request) -> Result<Vec<R::Item>, Error> {
        let mut list = Listing::<R>::new();
        let mut tokens = BTreeSet::new();
        for _ in 0..MOST_PAGES {
            let Page { items, total, next_token } = self.page::<R>(&request).await?;
            list.add(items, total);
            let Some(token) = next_token.filter(|token| !token.is_empty()) else { return list.finish(&request) };
            request.params.set("NextToken", &token);
            if !tokens.insert(token) {
                return Err(refuse(&request, "its pages go round in a circle"));
            }
        }
        Err(refuse(&request, "there is no end to its pages"))
    }

    async fn page<R: Paged>(&self, request: &Request) -> Result<Page<R::Item>, Error> {
        let reply: R = self.call(request).await?;
        reply.into_page().ok_or_else(|| refuse(request, "the list is missing"))
    }
}

fn refuse(request: &Request, why: &str) -> Error {
    Error::new(Class::Malformed, &request.action, &request.subject, format!("the answer cannot be trusted: {why}"))
}

/// What has been read so far.
struct Listing<R: Paged> {
    items: Vec<R::Item>,
    keys: BTreeSet<String>,
    /// The largest total that a page named.
    total: usize,
}

// === impl Listing ===

impl<R: Paged> Listing<R> {
    fn new() -> Self {
        Self { items: Vec::new(), keys: BTreeSet::new(), total: 0 }
    }

    fn add(&mut self, items: Vec<R::Item>, total: Option<usize>) {
        self.total = self.total.max(total.unwrap_or_default());
        for item in items {
            if self.keys.insert(R::key(&item)) {
                self.items.push(item);
            }
        }
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn is_complete(&self) -> bool {
        self.total > 0 && self.items.len() >= self.total
    }

    fn finish(self, request: &Request) -> Result<Vec<R::Item>, Error> {
        if self.items.len() < self.total {
            let (read, total) = (self.items.len(), self.total);
            return Err(refuse(request, &format!("it has {read} of {total} items")));
        }
        Ok(self.items)
    }
}

#[cfg(test)]
mod tests;
