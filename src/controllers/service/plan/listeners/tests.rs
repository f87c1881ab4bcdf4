use super::{
    super::{paper::*, *},
    *,
};
use crate::controllers::service::annotations::Requested;

#[test]
fn a_forwarding_port_waits_for_its_target_and_is_made_anew_when_it_changes() {
    let mut paper = Paper::default();
    let service = service(&[(80, "TCP", 30080), (443, "TCP", 30443)]);
    let base = [("protocol-port", "http:80,https:443"), ("cert-id", "cert-1")];
    let forwarding = request(&[base[0], base[1], ("forward-port", "80:443")]);
    let state = paper.converge(&want(&service, forwarding, &numbered(1)), None);
    let listeners: Vec<String> = words(&paper.actions).into_iter().filter(|w| w.contains("listener")).collect();
    let at = |word: &str| listeners.iter().position(|w| w == word).unwrap();
    assert!(at("create listener 443/https on lb-1") < at("create listener 80/http on lb-1"), "{listeners:?}");
    let http = |state: &Option<LoadBalancerState>| {
        state
            .as_ref()
            .unwrap()
            .listeners
            .iter()
            .find(|l| l.port == 80)
            .unwrap()
            .settings
            .get(Setting::ForwardPort)
            .map(str::to_owned)
    };
    assert_eq!(http(&state).as_deref(), Some("443"));
    paper.actions.clear();
    let state = paper.converge(&want(&service, request(&base), &numbered(1)), state);
    assert_eq!(
        words(&paper.actions),
        ["delete listener 80/http of lb-1", "create listener 80/http on lb-1", "start listener 80/http of lb-1"]
    );
    assert_eq!(http(&state), None);
}

#[test]
fn another_protocol_takes_the_port_over_at_once() {
    let mut paper = Paper::default();
    let service = service(&[(443, "TCP", 30443)]);
    let state = paper.converge(&want(&service, Requested::default(), &numbered(1)), None);
    paper.actions.clear();
    let https = request(&[("protocol-port", "https:443"), ("cert-id", "cert-1")]);
    let state = paper.converge(&want(&service, https, &numbered(1)), state);
    assert_eq!(
        words(&paper.actions),
        ["delete listener 443/tcp of lb-1", "create listener 443/https on lb-1", "start listener 443/https of lb-1"]
    );
    assert_eq!(state.unwrap().groups.len(), 1, "with the same group");
}

#[test]
fn https_without_a_certificate_is_told_and_makes_no_listener() {
    let desired = want(&service(&[(443, "TCP", 30443)]), request(&[("protocol-port", "https:443")]), &numbered(1));
    let state = Paper::default().converge(&desired, None);
    let plan = plan(&desired, state.as_ref(), &BTreeSet::new());
    assert_eq!(plan.conflicts, ["port 443: https needs a certificate; set the annotation cert-id"]);
    assert!(state.unwrap().listeners.is_empty());
}

#[test]
fn domain_extensions_are_added_changed_and_removed() {
    let mut paper = Paper::default();
    let service = service(&[(443, "TCP", 30443)]);
    let asked =
        |domains: &str| request(&[("protocol-port", "https:443"), ("cert-id", "c"), ("domain-extensions", domains)]);
    let state = paper.converge(&want(&service, asked("a.com:1,b.com:2"), &numbered(1)), None);
    let extensions = |state: &Option<LoadBalancerState>| -> Vec<(String, String)> {
        let all = state.as_ref().unwrap().listeners[0].domain_extensions.clone().unwrap();
        let mut all: Vec<_> = all.into_iter().map(|e| (e.domain, e.certificate)).collect();
        all.sort();
        all
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(extensions(&state), [pair("a.com", "1"), pair("b.com", "2")]);
    let state = paper.converge(&want(&service, asked("b.com:3"), &numbered(1)), state);
    assert_eq!(extensions(&state), [pair("b.com", "3")]);
    let untouched = request(&[("protocol-port", "https:443"), ("cert-id", "c")]);
    let state = paper.converge(&want(&service, untouched, &numbered(1)), state);
    assert_eq!(extensions(&state), [pair("b.com", "3")], "not asked for is left alone");
    let mut unread = state.clone().unwrap();
    unread.listeners[0].domain_extensions = None;
    let wanted = want(&service, asked("b.com:3"), &numbered(1));
    assert_eq!(plan(&wanted, Some(&unread), &BTreeSet::new()).needs_domain_extensions, [443]);
    let state = paper.converge(&want(&service, asked(""), &numbered(1)), state);
    assert_eq!(extensions(&state), []);
}
