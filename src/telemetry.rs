//! The log: what is written, how, and how much of it.

use tracing::Subscriber;
use tracing_subscriber::{
    Layer, Registry,
    filter::{ParseError, Targets},
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

/// How a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What to log.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub format: Format,
    /// `--v`, on klog's scale.
    pub verbosity: u8,
    /// The environment's `RUST_LOG`, as its value: levels by module, such as `info,ccm=debug`; in place of
    /// `verbosity`.
    pub filter: Option<String>,
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("RUST_LOG={value:?} is not a list of directives such as info,ccm=debug: {source}")]
    Filter { value: String, source: ParseError },
    #[error("the log was set up before: {0}")]
    Twice(#[from] TryInitError),
}

/// Starts logging to standard error, for the whole process.
pub fn init(options: &Options) -> Result<(), Error> {
    subscriber(options, std::io::stderr)?.try_init()?;
    Ok(())
}

/// What [`init`] installs, for any writer.
pub fn subscriber<W>(options: &Options, writer: W) -> Result<impl Subscriber + Send + Sync, Error>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = match options.filter.as_deref().filter(|value| !value.trim().is_empty()) {
        Some(value) => levels(value)?,
        None => levels(directives(options.verbosity))?,
    };
    let lines = fmt::layer().with_writer(writer).with_ansi(false);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match options.format {
        Format::Text => lines.boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    Ok(tracing_subscriber::registry().with(lines.with_filter(filter)))
}

fn levels(directives: &str) -> Result<Targets, Error> {
    directives.parse().map_err(|source| Error::Filter { value: directives.to_owned(), source })
}

/// klog's scale: up to 3 is for operators, 4 and 5 for debugging, from 6 on requests are shown, from
/// 8 on the libraries below speak too. Libraries otherwise say only what goes wrong.
fn directives(verbosity: u8) -> &'static str {
    match verbosity {
        0..=3 => "warn,ccm=info,alibaba_cloud_controller_manager=info",
        4..=5 => "warn,ccm=debug,alibaba_cloud_controller_manager=debug",
        6..=7 => "info,ccm=trace,alibaba_cloud_controller_manager=trace",
        _ => "debug,ccm=trace,alibaba_cloud_controller_manager=trace",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn log(options: &Options) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = subscriber(options, move || writer.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "ccm::node", node = "n1", "initialised n1");
            tracing::debug!(target: "ccm::node", "looked at n1");
            tracing::trace!(target: "ccm::node", "asked for n1");
            tracing::info!(target: "hyper", "connected");
        });
        String::from_utf8(lines.0.lock().clone()).unwrap()
    }

    #[test]
    fn verbosity_follows_klogs_scale() {
        for (verbosity, expected) in [(0, 1), (3, 1), (4, 2), (6, 4)] {
            let text = log(&Options { verbosity, ..Options::default() });
            assert_eq!(text.lines().count(), expected, "--v={verbosity}:\n{text}");
        }
    }

    #[test]
    fn json_lines_carry_message_and_fields() {
        let text = log(&Options { format: Format::Json, ..Options::default() });
        let line: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
        assert_eq!(line["message"], "initialised n1");
        assert_eq!(line["node"], "n1");
        assert_eq!(line["level"], "INFO");
    }

    #[test]
    fn a_filter_takes_the_place_of_the_verbosity() {
        let text = log(&Options { filter: Some("off,hyper=info".into()), verbosity: 9, ..Options::default() });
        assert_eq!(text.lines().count(), 1, "{text}");
        let wrong = subscriber(&Options { filter: Some("ccm=loud".into()), ..Options::default() }, std::io::stderr);
        let told = wrong.err().unwrap().to_string();
        assert!(told.contains("RUST_LOG=\"ccm=loud\""), "{told}");
    }
}
