//! Serves over TLS, to callers that the API server vouches for.

use std::sync::Arc;

use axum::Router;
use tokio::task::JoinSet;
use tracing::{error, info};

use super::{Daemon, Error};
use crate::{
    admin::{
        self,
        secure::{Certificate, Gate, Judge, Refusal, Secured, Source, guarded},
    },
    config::Secure,
    kubernetes::delegation::{Delegation, Times, Verdict},
};

impl Daemon {
    pub(super) async fn serve_securely(
        &self,
        tasks: &mut JoinSet<String>,
        secure: &Secure,
        router: Router,
    ) -> Result<(), Error> {
        let source = match &secure.certificate {
            Some((chain, key)) => Source::Files(chain.clone(), key.clone()),
            None => Source::SelfSigned,
        };
        let certificate = Arc::new(Certificate::new(source)?);
        let Some(listener) = admin::bind("--secure-port", &secure.address.to_string()).await? else { return Ok(()) };
        let secured = Secured::over(listener, certificate.clone(), self.background.clone()).map_err(Error::Secure)?;
        info!("serving health and metrics over TLS on {}", secure.address);
        let times = Times { identity: secure.identity_ttl, allowed: secure.allowed_ttl, denied: secure.denied_ttl };
        let router = guarded(router, Gate { judge: self.judge(times), open: secure.open.clone() });
        let cancel = self.background.clone();
        tasks.spawn(async move {
            cancel.run_until_cancelled(certificate.follow()).await;
            "the watch over the certificate".to_owned()
        });
        let cancel = self.background.clone();
        tasks.spawn(async move {
            let served = axum::serve(secured, router).with_graceful_shutdown(cancel.cancelled_owned()).await;
            if let Err(error) = served {
                error!(%error, "the server of --secure-port failed");
            }
            "the server of --secure-port".to_owned()
        });
        Ok(())
    }

    /// Asks the API server about each caller.
    fn judge(&self, times: Times) -> Judge {
        let delegation = Arc::new(Delegation::new(self.client.clone(), times));
        Arc::new(move |token, method, path| {
            let delegation = delegation.clone();
            Box::pin(async move {
                match delegation.judge(token.as_deref(), &method, &path).await {
                    Verdict::Allowed => Ok(()),
                    Verdict::Unauthenticated => Err(Refusal::Unauthenticated),
                    Verdict::Forbidden(user) => Err(Refusal::Forbidden(user)),
                    Verdict::Unknown(reason) => Err(Refusal::Unknown(reason)),
                }
            })
        })
    }
}
