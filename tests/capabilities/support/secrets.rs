//! No secret of the simulated world may show up in anything that people or programs get to read.
//!
//! All that is logged while a story is played is looked at line by line, at the highest verbosity;
//! at its end the cluster's objects, the metrics and the configuration's texts are, too. The world
//! knows its own secrets; signatures are caught on their way to the cloud.

use std::{
    collections::{BTreeSet, VecDeque},
    io,
    sync::Arc,
};

use async_trait::async_trait;
use bytes::Bytes;
use ccm::{
    alibaba::rpc::{Transport, TransportError},
    sim::cloud::Cloud,
    telemetry,
};
use parking_lot::Mutex;
use tracing::subscriber::DefaultGuard;

/// Words that only stand beside secrets, as parameters or headers of signed requests.
const MARKS: [&str; 5] = ["SecurityToken=", "Signature=", "AccessKeyId=", "metadata-token:", "Authorization:"];
/// Leaks that are kept to be told in a failure.
const KEPT: usize = 5;
/// Signatures that are remembered: one is shown, if at all, soon after its call.
const SIGNATURES: usize = 64;

/// Looks for secrets of one cloud.
#[derive(Clone)]
pub struct Watch(Arc<Mutex<Seen>>);

struct Seen {
    cloud: Cloud,
    /// Secrets in forms that the cloud does not know, such as they stand in files.
    more: BTreeSet<String>,
    signatures: VecDeque<String>,
    leaks: Vec<String>,
}

/// Hands requests on and remembers their signatures.
pub struct Overheard {
    pub inner: Arc<dyn Transport>,
    pub watch: Watch,
}

// === impl Watch ===

impl Watch {
    pub fn new(cloud: &Cloud) -> Self {
        Self(Arc::new(Mutex::new(Seen {
            cloud: cloud.clone(),
            more: BTreeSet::new(),
            signatures: VecDeque::new(),
            leaks: Vec::new(),
        })))
    }

    /// Looks at all that this thread logs until the guard is dropped.
    pub fn listen(&self) -> DefaultGuard {
        let (options, writer) = (telemetry::Options { verbosity: 6, ..telemetry::Options::default() }, self.clone());
        tracing::subscriber::set_default(telemetry::subscriber(&options, move || writer.clone()).unwrap())
    }

    /// One more text that nobody may show.
    pub fn guard(&self, secret: &str) {
        self.0.lock().more.insert(secret.to_owned());
    }

    /// Looks at a text from elsewhere.
    pub fn look_at(&self, place: &str, text: &str) {
        let mut seen = self.0.lock();
        let found = seen.find(text);
        let room = KEPT.saturating_sub(seen.leaks.len());
        let text: String = text.chars().take(2000).collect();
        seen.leaks.extend(found.into_iter().take(room).map(|secret| format!("{secret} in {place}: {text}")));
    }

    /// Fails the test if anything was seen.
    pub fn assert_nothing_leaked(&self) {
        assert_eq!(self.0.lock().leaks, Vec::<String>::new(), "a secret was shown");
    }
}

impl io::Write for Watch {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.look_at("the log", &String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// === impl Seen ===

impl Seen {
    fn find(&self, text: &str) -> Vec<String> {
        let of_the_cloud = self.cloud.secrets_in(text);
        let more = self.more.iter().chain(&self.signatures).filter(|secret| text.contains(secret.as_str())).cloned();
        let marks = MARKS.iter().filter(|mark| text.contains(**mark)).map(|mark| (*mark).to_owned());
        of_the_cloud.into_iter().chain(more).chain(marks).collect()
    }
}

// === impl Overheard ===

#[async_trait]
impl Transport for Overheard {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        let signature = request.body().split(|byte| *byte == b'&').find_map(|pair| pair.strip_prefix(b"Signature="));
        if let Some(signature) = signature {
            let mut seen = self.watch.0.lock();
            let encoded = String::from_utf8_lossy(signature).into_owned();
            seen.signatures.push_back(encoded.replace("%2B", "+").replace("%2F", "/").replace("%3D", "="));
            seen.signatures.push_back(encoded);
            let old = seen.signatures.len().saturating_sub(SIGNATURES);
            seen.signatures.drain(..old);
        }
        let answer = self.inner.send(request).await;
        if let Err(error) = &answer {
            self.watch.look_at("an error", &format!("{error:?} {error}"));
        }
        answer
    }
}
