use std::{collections::VecDeque, sync::Arc};

use jiff::Timestamp;
use tokio::time::sleep;

use super::*;

/// Answers with keys of a life, or failures, in order; then goes on with the last answer.
#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<(VecDeque<Option<Duration>>, u32)>>);

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Option<Duration>>) -> Self {
        Self(Arc::new(Mutex::new((answers.into_iter().collect(), 0))))
    }

    fn asked(&self) -> u32 {
        self.0.lock().1
    }
}

fn clock() -> Clock {
    Clock::simulated("2026-01-02T03:04:05Z".parse().unwrap())
}

/// A cache over a script; the source's keys are named by the number of the question.
fn cache(script: &Scripted) -> Arc<Cached<WithClock>> {
    let clock = clock();
    let source = WithClock { script: script.clone(), clock: clock.clone() };
    Arc::new(Cached::new(source, clock, Entropy::seeded(1)))
}

struct WithClock {
    script: Scripted,
    clock: Clock,
}

#[async_trait]
impl Source for WithClock {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let (answer, number) = {
            let mut script = self.script.0.lock();
            script.1 += 1;
            let answer = if script.0.len() > 1 { script.0.pop_front() } else { script.0.front().copied() };
            (answer.flatten(), script.1)
        };
        sleep(Duration::from_millis(100)).await;
        let life = answer.ok_or_else(|| CredentialsError { origin: "the script", message: "failed".to_owned() })?;
        let expires: Timestamp = self.clock.now() + life;
        Ok(Credentials {
            access_key_id: format!("id-{number}"),
            access_key_secret: "secret".into(),
            security_token: None,
            expires: Some(expires),
        })
    }
}

async fn id(cache: &impl Source) -> Result<String, CredentialsError> {
    cache.credentials().await.map(|key| key.access_key_id)
}

const LIFE: Duration = Duration::from_secs(6 * 3600);

#[tokio::test(start_paused = true)]
async fn a_key_is_renewed_a_quarter_of_an_hour_before_its_end_or_a_little_earlier() {
    let mut moments = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let script = Scripted::new([Some(LIFE)]);
        let clock = clock();
        let source = WithClock { script: script.clone(), clock: clock.clone() };
        let cache = Cached::new(source, clock, Entropy::seeded(seed));
        assert_eq!(id(&cache).await.unwrap(), "id-1");
        sleep(LIFE.saturating_sub(Duration::from_mins(20))).await;
        assert_eq!(id(&cache).await.unwrap(), "id-1");
        for second in 0..=5 * 60 {
            if id(&cache).await.unwrap() == "id-2" {
                moments.insert(second);
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(script.asked(), 2);
    }
    assert!(moments.len() > 10, "many processes ask at the same moment: {moments:?}");
}

#[tokio::test(start_paused = true)]
async fn which_key_is_in_use_and_until_when_is_a_metric() {
    let clock = clock();
    let source = WithClock { script: Scripted::new([Some(LIFE), None]), clock: clock.clone() };
    let metrics = Metrics::default();
    let cache = Cached::new(source, clock, Entropy::seeded(1)).named("ram-role", &metrics);
    id(&cache).await.unwrap();
    sleep(LIFE.saturating_sub(Duration::from_mins(10))).await;
    id(&cache).await.unwrap();
    let mut registry = prometheus_client::registry::Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::prometheus_text::encode(&mut text, &registry).unwrap();
    let until: Timestamp = "2026-01-02T09:04:05Z".parse().unwrap();
    for line in [
        format!("ccm_credentials_expiration_timestamp_seconds{{source=\"ram-role\"}} {}", until.as_second()),
        "ccm_credentials_renewals_total{source=\"ram-role\",result=\"ok\"} 1".to_owned(),
        "ccm_credentials_renewals_total{source=\"ram-role\",result=\"failed\"} 1".to_owned(),
    ] {
        assert!(text.lines().any(|there| there == line), "{line} is not in\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_who_ask_at_once_cause_one_renewal() {
    let script = Scripted::new([Some(LIFE)]);
    let cache = cache(&script);
    let ids = futures::future::join_all((0..50).map(|_| id(&*cache))).await;
    assert!(ids.iter().all(|id| id.as_deref() == Ok("id-1")));
    assert_eq!(script.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_last_good_key_is_used_while_renewal_fails() {
    let script = Scripted::new([Some(LIFE), None]);
    let cache = cache(&script);
    id(&*cache).await.unwrap();
    sleep(LIFE.saturating_sub(Duration::from_mins(15))).await;
    for _ in 0..14 * 60 {
        assert_eq!(id(&*cache).await.unwrap(), "id-1");
        sleep(Duration::from_secs(1)).await;
    }
    let attempts = script.asked() - 1;
    assert!((14..=40).contains(&attempts), "{attempts} attempts keep a distance, but do not stop");
}

#[tokio::test(start_paused = true)]
async fn an_expired_key_is_an_error_until_renewal_works_again() {
    let script = Scripted::new([Some(LIFE), None, None, Some(LIFE)]);
    let cache = cache(&script);
    id(&*cache).await.unwrap();
    sleep(LIFE).await;
    assert_eq!(id(&*cache).await.unwrap_err().message, "failed");
    let asked = script.asked();
    assert_eq!(id(&*cache).await.unwrap_err().message, "failed");
    assert_eq!(script.asked(), asked, "the next attempt keeps its distance");
    sleep(Duration::from_secs(1)).await;
    id(&*cache).await.unwrap_err();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(id(&*cache).await.unwrap(), "id-4");
}

#[tokio::test(start_paused = true)]
async fn short_lived_keys_are_used_for_most_of_their_life() {
    let script = Scripted::new([Some(Duration::from_mins(10))]);
    let cache = cache(&script);
    for _ in 0..7 * 60 {
        assert_eq!(id(&*cache).await.unwrap(), "id-1");
        sleep(Duration::from_secs(1)).await;
    }
    sleep(Duration::from_mins(1)).await;
    assert_eq!(id(&*cache).await.unwrap(), "id-2");
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_is_renewed_and_stays_in_use_if_that_fails() {
    let script = Scripted::new([Some(LIFE), None, Some(LIFE)]);
    let cache = cache(&script);
    id(&*cache).await.unwrap();
    cache.rejected("another");
    assert_eq!(id(&*cache).await.unwrap(), "id-1");
    assert_eq!(script.asked(), 1);
    cache.rejected("id-1");
    assert_eq!(id(&*cache).await.unwrap(), "id-1");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(id(&*cache).await.unwrap(), "id-3");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_given_up_does_not_block_the_next() {
    let script = Scripted::new([Some(LIFE)]);
    let cache = cache(&script);
    let given_up = tokio::time::timeout(Duration::from_millis(10), id(&*cache)).await;
    assert!(given_up.is_err());
    assert_eq!(id(&*cache).await.unwrap(), "id-2");
}
