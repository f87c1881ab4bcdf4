use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::alibaba::rpc::{
    Product,
    decode::{self, List},
    testing::Script,
};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Reply {
    items: Option<List<u32>>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    total_count: Option<usize>,
    next_token: Option<String>,
}

impl Paged for Reply {
    type Item = u32;

    fn into_page(self) -> Option<Page<u32>> {
        Some(Page { items: self.items?.0, total: self.total_count, next_token: self.next_token })
    }

    fn key(item: &u32) -> String {
        item.to_string()
    }
}

fn request() -> Request {
    Request::read(Product::Slb, "DescribeLoadBalancers")
}

fn numbered(total: usize, items: std::ops::Range<u32>) -> Value {
    json!({"TotalCount": total, "Items": {"Item": items.collect::<Vec<_>>()}})
}

fn by_token(items: &[u32], next: &str) -> Value {
    json!({"NextToken": next, "Items": items})
}

#[tokio::test(start_paused = true)]
async fn numbered_pages_are_read_to_the_total() {
    let script = Script::default();
    script.answer(200, &numbered(250, 0..100)).answer(200, &numbered(250, 100..200));
    script.answer(200, &numbered(250, 200..250));
    let items = script.client().read_numbered::<Reply>(request(), 100).await.unwrap();
    assert_eq!(items, (0..250).collect::<Vec<_>>());
    let pages: Vec<_> = (0..3).map(|n| script.params(n)["PageNumber"].clone()).collect();
    assert_eq!(pages, ["1", "2", "3"]);
    assert_eq!(script.params(0)["PageSize"], "100");
}

#[tokio::test(start_paused = true)]
async fn a_full_last_page_needs_no_further_call() {
    let script = Script::default();
    script.answer(200, &numbered(100, 0..100));
    assert_eq!(script.client().read_numbered::<Reply>(request(), 100).await.unwrap().len(), 100);
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_is_complete() {
    let script = Script::default();
    script.answer(200, &numbered(0, 0..0));
    assert!(script.client().read_numbered::<Reply>(request(), 100).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_list_shorter_than_its_total_is_refused() {
    let script = Script::default();
    script.answer(200, &numbered(150, 0..100)).answer(200, &numbered(150, 0..0));
    let error = script.client().read_numbered::<Reply>(request(), 100).await.unwrap_err();
    assert_eq!(error.class, Class::Malformed);
    assert!(error.message.contains("100 of 150"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_shrinks_while_it_is_read_is_refused() {
    // Item 100 moved to the first page after that was read.
    let script = Script::default();
    script.answer(200, &numbered(120, 0..100)).answer(200, &numbered(119, 101..120));
    let error = script.client().read_numbered::<Reply>(request(), 100).await.unwrap_err();
    assert_eq!(error.class, Class::Malformed);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_comes_twice_counts_once() {
    let script = Script::default();
    script.answer(200, &numbered(119, 0..100)).answer(200, &numbered(120, 99..119));
    let error = script.client().read_numbered::<Reply>(request(), 100).await.unwrap_err();
    assert!(error.message.contains("119 of 120"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn tokens_are_followed_until_there_is_none() {
    let script = Script::default();
    script.answer(200, &by_token(&[1, 2], "a")).answer(200, &by_token(&[3], "b")).answer(200, &by_token(&[4], ""));
    let items = script.client().read_by_token::<Reply>(request()).await.unwrap();
    assert_eq!(items, [1, 2, 3, 4]);
    assert_eq!(script.params(0).get("NextToken"), None);
    assert_eq!(script.params(1)["NextToken"], "a");
    assert_eq!(script.params(2)["NextToken"], "b");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_comes_again_ends_the_read() {
    let script = Script::default();
    for _ in 0..3 {
        script.answer(200, &by_token(&[1], "a"));
    }
    let error = script.client().read_by_token::<Reply>(request()).await.unwrap_err();
    assert_eq!(error.class, Class::Malformed);
    assert_eq!(script.unused(), 1);
}

#[tokio::test(start_paused = true)]
async fn pages_without_end_are_refused() {
    let script = Script::default();
    for n in 0..MOST_PAGES {
        script.answer(200, &by_token(&[n], &n.to_string()));
    }
    let error = script.client().read_by_token::<Reply>(request()).await.unwrap_err();
    assert_eq!(error.class, Class::Malformed);
}

#[tokio::test(start_paused = true)]
async fn one_failed_page_fails_the_whole() {
    let script = Script::default();
    script.answer(200, &by_token(&[1, 2], "a")).refuse(403, "Forbidden.RAM", "no");
    assert_eq!(script.client().read_by_token::<Reply>(request()).await.unwrap_err().class, Class::Denied);
}

#[tokio::test(start_paused = true)]
async fn a_reply_without_the_list_is_refused() {
    let script = Script::default();
    script.answer(200, &json!({"RequestId": "x"}));
    assert_eq!(script.client().read_by_token::<Reply>(request()).await.unwrap_err().class, Class::Malformed);
}
