use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use proptest::prelude::*;

use super::{Priority::*, *};

const SECOND: Duration = Duration::from_secs(1);

fn mk_queue() -> Queue<&'static str> {
    Queue::new(Entropy::seeded(1))
}

/// What can be had without waiting.
fn take_now<K: Ord + Clone + Send + Display>(queue: &Queue<K>) -> Option<K> {
    queue.next().now_or_never().flatten()
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_once_and_is_held_once() {
    let queue = mk_queue();
    queue.add("a", Fresh);
    queue.add("a", Fresh);
    assert_eq!(queue.len(), 1);
    assert_eq!(queue.next().await, Some("a"));

    queue.add("a", Fresh);
    assert_eq!(take_now(&queue), None, "a worker still has it");
    queue.done(&"a");
    assert_eq!(take_now(&queue), Some("a"), "it was added while held");
    queue.done(&"a");
    assert_eq!(take_now(&queue), None);
}

#[tokio::test(start_paused = true)]
async fn urgent_keys_go_first_and_equals_in_order() {
    let queue = mk_queue();
    for (key, priority) in [("audit", Audit), ("b1", Backlog), ("f1", Fresh), ("b2", Backlog), ("f2", Fresh)] {
        queue.add(key, priority);
    }
    queue.add("b2", Fresh);
    queue.add("f1", Audit);
    let mut order = vec![];
    while let Some(key) = take_now(&queue) {
        order.push(key);
    }
    assert_eq!(order, ["f1", "f2", "b2", "b1", "audit"]);
}

#[tokio::test(start_paused = true)]
async fn delays_are_kept_and_the_earlier_one_wins() {
    let queue = mk_queue();
    let start = Instant::now();
    queue.add_after("late", Fresh, 10 * SECOND);
    queue.add_after("early", Fresh, 3 * SECOND);
    queue.add_after("late", Fresh, 20 * SECOND);
    queue.add_after("early", Fresh, 2 * SECOND);

    assert_eq!(queue.next().await, Some("early"));
    assert_eq!(start.elapsed(), 2 * SECOND);
    assert_eq!(queue.next().await, Some("late"));
    assert_eq!(start.elapsed(), 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_shorter_delay_wakes_a_waiting_worker() {
    let queue = mk_queue();
    queue.add_after("slow", Fresh, 100 * SECOND);
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.next().await }
    });
    tokio::time::sleep(SECOND).await;
    let start = Instant::now();
    queue.add_after("quick", Fresh, SECOND);
    assert_eq!(waiting.await.unwrap(), Some("quick"));
    assert_eq!(start.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn retries_grow_from_five_seconds_to_five_minutes_and_forget_resets() {
    let queue = mk_queue();
    let mut delays = vec![];
    for _ in 0..9 {
        let start = Instant::now();
        let told = queue.retry(&"a", Fresh);
        assert_eq!(queue.next().await, Some("a"));
        assert!(start.elapsed() >= told && start.elapsed() < told + Duration::from_millis(2));
        queue.done(&"a");
        delays.push(told.as_secs_f64());
    }
    for (delay, nominal) in delays.iter().zip([5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 250.0, 250.0, 250.0]) {
        assert!((nominal..=nominal * 1.2).contains(delay), "{delay} for {nominal}: {delays:?}");
    }
    queue.forget(&"a");
    assert!(queue.retry(&"a", Fresh) <= 6 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn success_drops_the_retry_but_nothing_that_was_asked_for() {
    let queue = mk_queue();
    queue.retry(&"failed", Fresh);
    queue.retry(&"failed and wanted", Fresh);
    queue.add_after("failed and wanted", Audit, 100 * SECOND);
    queue.forget(&"failed");
    queue.forget(&"failed and wanted");
    tokio::time::sleep(1000 * SECOND).await;
    assert_eq!(take_now(&queue), Some("failed and wanted"));
    assert_eq!(take_now(&queue), None);
}

#[tokio::test(start_paused = true)]
async fn a_batch_lingers_for_more_but_not_beyond_its_size() {
    let queue = mk_queue();
    tokio::spawn({
        let queue = queue.clone();
        async move {
            for (key, pause) in [("a", 50), ("b", 0), ("c", 0), ("d", 0), ("e", 5)] {
                tokio::time::sleep(pause * SECOND).await;
                queue.add(key, Fresh);
            }
        }
    });
    let start = Instant::now();
    assert_eq!(queue.next_batch(3, SECOND).await.unwrap(), ["a", "b", "c"], "full at once");
    assert_eq!(start.elapsed(), 50 * SECOND);
    assert_eq!(queue.next_batch(3, SECOND).await.unwrap(), ["d"]);
    assert_eq!(start.elapsed(), 51 * SECOND, "it lingered for a second");
    assert_eq!(queue.next_batch(3, SECOND).await.unwrap(), ["e"]);
    assert_eq!(start.elapsed(), 56 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_all_waiting() {
    let queue = mk_queue();
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.next().await })
        })
        .collect();
    tokio::time::sleep(SECOND).await;
    queue.shut_down();
    for worker in waiting {
        assert_eq!(worker.await.unwrap(), None);
    }
    queue.add("a", Fresh);
    assert_eq!(queue.next().await, None);
    assert_eq!(queue.next_batch(5, SECOND).await, None);
}

#[tokio::test(start_paused = true)]
async fn what_happens_is_counted() {
    let counts = metrics::Queue::default();
    let queue = Queue::with_metrics(Entropy::seeded(1), counts.clone());
    queue.add("a", Fresh);
    queue.add("b", Fresh);
    queue.retry(&"c", Fresh);
    assert_eq!((counts.depth.get(), counts.adds.get(), counts.retries.get()), (2, 3, 1));
    queue.next().await;
    assert_eq!(counts.depth.get(), 1);
    let lingering = queue.next_batch(9, 100 * SECOND);
    assert!(tokio::time::timeout(10 * SECOND, lingering).await.is_err());
    assert_eq!(counts.depth.get(), 2, "c is due and waits with b");
}

#[tokio::test(start_paused = true)]
async fn workers_side_by_side_never_share_a_key_and_miss_none() {
    let queue: Queue<u64> = Queue::new(Entropy::seeded(3));
    let held = Arc::new(Mutex::new(BTreeSet::new()));
    // For each key: how often it was added, and that number as the last worker saw it at its start.
    let added = Arc::new(Mutex::new(BTreeMap::<u64, u64>::new()));
    let seen = Arc::new(Mutex::new(BTreeMap::<u64, u64>::new()));
    let workers: Vec<_> = (0..4)
        .map(|worker| {
            let (queue, held, added, seen) = (queue.clone(), held.clone(), added.clone(), seen.clone());
            let entropy = Entropy::seeded(worker);
            tokio::spawn(async move {
                while let Some(key) = queue.next().await {
                    assert!(held.lock().insert(key), "{key} is in two hands");
                    let count = added.lock()[&key];
                    seen.lock().insert(key, count);
                    tokio::time::sleep(Duration::from_millis(entropy.below(50))).await;
                    held.lock().remove(&key);
                    queue.done(&key);
                }
            })
        })
        .collect();
    let entropy = Entropy::seeded(99);
    for _ in 0..1000 {
        let key = entropy.below(20);
        *added.lock().entry(key).or_default() += 1;
        queue.add(key, Fresh);
        tokio::time::sleep(Duration::from_millis(entropy.below(10))).await;
    }
    tokio::time::sleep(60 * SECOND).await;
    queue.shut_down();
    for worker in workers {
        worker.await.unwrap();
    }
    assert_eq!(*added.lock(), *seen.lock(), "each key was worked on after it was last added");
}

#[derive(Clone, Debug)]
enum Step {
    Add(u8, Priority),
    AddAfter(u8, Priority, u64),
    Retry(u8, Priority),
    Forget(u8),
    Take,
    Done(usize),
    Advance(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let key = 0u8..5;
    let priority = prop_oneof![Just(Fresh), Just(Backlog), Just(Audit)];
    prop_oneof![
        3 => (key.clone(), priority.clone()).prop_map(|(k, p)| Step::Add(k, p)),
        2 => (key.clone(), priority.clone(), 0u64..20_000).prop_map(|(k, p, d)| Step::AddAfter(k, p, d)),
        1 => (key.clone(), priority).prop_map(|(k, p)| Step::Retry(k, p)),
        1 => key.prop_map(Step::Forget),
        4 => Just(Step::Take),
        3 => (0usize..5).prop_map(Step::Done),
        2 => (0u64..10_000).prop_map(Step::Advance),
    ]
}

/// The queue as one would tell it in a sentence a field, without any index.
#[derive(Default)]
struct Model {
    keys: BTreeMap<u8, ModelKey>,
}

#[derive(Default)]
struct ModelKey {
    wanted: Option<Priority>,
    held: bool,
    delay: Option<(Instant, Priority, bool)>,
}

impl Model {
    fn key(&mut self, key: u8) -> &mut ModelKey {
        self.keys.entry(key).or_default()
    }

    fn add(&mut self, key: u8, priority: Priority) {
        let key = self.key(key);
        key.wanted = Some(key.wanted.map_or(priority, |before| before.min(priority)));
    }

    fn add_at(&mut self, key: u8, priority: Priority, due: Instant, retry: bool) {
        let key = self.key(key);
        key.delay = Some(match key.delay {
            None => (due, priority, retry),
            Some((d, p, r)) => (d.min(due), p.min(priority), r && retry),
        });
    }

    fn promote(&mut self, now: Instant) {
        for key in self.keys.values_mut() {
            if let Some((_, priority, _)) = key.delay.take_if(|(due, ..)| *due <= now) {
                key.wanted = Some(key.wanted.map_or(priority, |before| before.min(priority)));
            }
        }
    }

    /// The priority with which the next key must be handed out.
    fn next(&self) -> Option<Priority> {
        self.keys.values().filter(|key| !key.held).filter_map(|key| key.wanted).min()
    }

    fn take(&mut self, queue: &Queue<u8>, held: &mut Vec<u8>) -> Result<bool, TestCaseError> {
        self.promote(Instant::now());
        let (expected, taken) = (self.next(), take_now(queue));
        let Some(taken) = taken else {
            prop_assert_eq!(expected, None, "a key was lost");
            return Ok(false);
        };
        let key = self.key(taken);
        prop_assert!(!key.held, "{} was handed out twice", taken);
        prop_assert_eq!(key.wanted, expected, "{} was handed out out of turn", taken);
        (key.held, key.wanted) = (true, None);
        held.push(taken);
        Ok(true)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_does_what_its_description_says(steps in proptest::collection::vec(any_step(), 0..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let queue: Queue<u8> = Queue::new(Entropy::seeded(5));
            let mut model = Model::default();
            let mut held = vec![];
            for step in steps {
                match step {
                    Step::Add(key, priority) => {
                        queue.add(key, priority);
                        model.add(key, priority);
                    }
                    Step::AddAfter(key, priority, delay) => {
                        let delay = Duration::from_millis(delay);
                        queue.add_after(key, priority, delay);
                        model.add_at(key, priority, Instant::now() + delay, false);
                    }
                    Step::Retry(key, priority) => {
                        let delay = queue.retry(&key, priority);
                        model.add_at(key, priority, Instant::now() + delay, true);
                    }
                    Step::Forget(key) => {
                        // What is due is in line, whether or not anybody looked.
                        let _ = queue.len();
                        model.promote(Instant::now());
                        queue.forget(&key);
                        model.key(key).delay.take_if(|(.., retry)| *retry);
                    }
                    Step::Take => {
                        model.take(&queue, &mut held)?;
                    }
                    Step::Done(index) if !held.is_empty() => {
                        let key = held.remove(index % held.len());
                        queue.done(&key);
                        model.key(key).held = false;
                    }
                    Step::Done(_) => {}
                    Step::Advance(by) => tokio::time::advance(Duration::from_millis(by)).await,
                }
            }
            // In the end everything that was asked for is handed out, and nothing is left behind.
            tokio::time::advance(3600 * SECOND).await;
            loop {
                for key in held.drain(..) {
                    queue.done(&key);
                    model.key(key).held = false;
                }
                if !model.take(&queue, &mut held)? {
                    break;
                }
            }
            for key in 0..5 {
                queue.forget(&key);
            }
            prop_assert!(queue.0.state.lock().is_idle(), "keys nobody asks for are still remembered");
            Ok(())
        })?;
    }
}
