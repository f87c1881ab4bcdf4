//! Which controller a Service is meant for.
//!
//! Deletion is not part of it: a Service that carries our finalizer is cleaned up whatever it
//! asks for by now.

use k8s_openapi::api::core::v1::Service;

use super::{
    annotations::LEGACY_PREFIX,
    annotations::PREFIX,
    ownership::{FINALIZER, NETWORK_FINALIZER},
};

/// `spec.loadBalancerClass` of Services that want a network load balancer.
pub const NLB_CLASS: &str = "alibabacloud.com/nlb";
/// Annotation with which another controller claims a Service.
pub const CLASS_ANNOTATION: &str = "service.beta.kubernetes.io/class";
/// Annotation that chooses between `clb` and `nlb`, behind a feature gate.
pub const TYPE_ANNOTATION: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-type";
/// Annotation of Services that a tunnel controller handles.
pub const TUNNEL_ANNOTATION: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-tunnel-type";

/// What a Service asks to be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// A classic load balancer, from us.
    Clb,
    /// A network load balancer.
    Nlb,
    /// Nothing, or something from another controller.
    Nothing,
}

/// A kind of load balancer, each with a controller of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Clb,
    Nlb,
}

/// What `service` asks for. `type_annotation` is the feature gate `LoadBalancerTypeAnnotation`.
pub fn wants(service: &Service, type_annotation: bool) -> Wants {
    let Some(spec) = &service.spec else { return Wants::Nothing };
    if spec.type_.as_deref() != Some("LoadBalancer") {
        return Wants::Nothing;
    }
    match spec.load_balancer_class.as_deref() {
        Some(NLB_CLASS) => return Wants::Nlb,
        Some(_) => return Wants::Nothing,
        None => {}
    }
    let annotation = |key: &str| service.metadata.annotations.as_ref().and_then(|all| all.get(key)).map(String::as_str);
    if type_annotation {
        match annotation(TYPE_ANNOTATION) {
            Some("nlb") => return Wants::Nlb,
            None | Some("" | "clb") => {}
            Some(_) => return Wants::Nothing,
        }
    }
    if annotation(TUNNEL_ANNOTATION).is_some() || annotation(CLASS_ANNOTATION).is_some_and(|class| !class.is_empty()) {
        return Wants::Nothing;
    }
    Wants::Clb
}

// === impl Kind ===

impl Kind {
    /// What Services ask for that want this kind.
    pub fn wanted(self) -> Wants {
        match self {
            Self::Clb => Wants::Clb,
            Self::Nlb => Wants::Nlb,
        }
    }

    /// The name of its controller.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clb => "service",
            Self::Nlb => "nlb",
        }
    }

    /// The finalizer of Services that may have one of this kind.
    pub fn finalizer(self) -> &'static str {
        match self {
            Self::Clb => FINALIZER,
            Self::Nlb => NETWORK_FINALIZER,
        }
    }

    /// The one beside it.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Clb => Self::Nlb,
            Self::Nlb => Self::Clb,
        }
    }

    /// Whether its finalizer is on the Service.
    pub fn marks(self, service: &Service) -> bool {
        service.metadata.finalizers.as_ref().is_some_and(|all| all.iter().any(|f| f == self.finalizer()))
    }
}

/// Whether it may have a classic load balancer.
pub fn has_finalizer(service: &Service) -> bool {
    Kind::Clb.marks(service)
}

/// Whether the Service is being deleted.
pub fn is_deleting(service: &Service) -> bool {
    service.metadata.deletion_timestamp.is_some()
}

/// Whether an annotation key is under one of our prefixes.
pub fn is_ours(key: &str) -> bool {
    key.starts_with(PREFIX) || key.starts_with(LEGACY_PREFIX)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ServiceSpec;

    use super::*;

    fn service(kind: &str, class: Option<&str>, annotations: &[(&str, &str)]) -> Service {
        let mut service = Service {
            spec: Some(ServiceSpec {
                type_: Some(kind.into()),
                load_balancer_class: class.map(Into::into),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        };
        service.metadata.annotations = Some(annotations.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect());
        service
    }

    #[test]
    fn each_rule_decides_alone() {
        let table = [
            ("ClusterIP", None, vec![], Wants::Nothing, Wants::Nothing),
            ("NodePort", None, vec![], Wants::Nothing, Wants::Nothing),
            ("LoadBalancer", None, vec![], Wants::Clb, Wants::Clb),
            ("LoadBalancer", Some(NLB_CLASS), vec![], Wants::Nlb, Wants::Nlb),
            ("LoadBalancer", Some("example.com/other"), vec![], Wants::Nothing, Wants::Nothing),
            ("LoadBalancer", Some(NLB_CLASS), vec![(TYPE_ANNOTATION, "clb")], Wants::Nlb, Wants::Nlb),
            ("LoadBalancer", None, vec![(TYPE_ANNOTATION, "nlb")], Wants::Clb, Wants::Nlb),
            ("LoadBalancer", None, vec![(TYPE_ANNOTATION, "clb")], Wants::Clb, Wants::Clb),
            ("LoadBalancer", None, vec![(TYPE_ANNOTATION, "alb")], Wants::Clb, Wants::Nothing),
            ("LoadBalancer", None, vec![(TUNNEL_ANNOTATION, "")], Wants::Nothing, Wants::Nothing),
            ("LoadBalancer", None, vec![(CLASS_ANNOTATION, "other")], Wants::Nothing, Wants::Nothing),
            ("LoadBalancer", None, vec![(CLASS_ANNOTATION, "")], Wants::Clb, Wants::Clb),
        ];
        for (kind, class, annotations, gate_off, gate_on) in table {
            let service = service(kind, class, &annotations);
            assert_eq!(wants(&service, false), gate_off, "{kind} {class:?} {annotations:?}");
            assert_eq!(wants(&service, true), gate_on, "{kind} {class:?} {annotations:?} with the gate");
        }
        assert_eq!(wants(&Service::default(), false), Wants::Nothing);
    }
}
