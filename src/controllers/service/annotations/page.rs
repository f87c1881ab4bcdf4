//! The page `docs/annotations.md`, written from the catalogue.
//!
//! A test keeps it current; `UPDATE_DOCS=1 cargo test --lib annotations` writes it anew.

use std::fmt::Write;

use super::{
    LEGACY_PREFIX, PREFIX,
    catalogue::{ALL, Annotation, Sets},
    network,
};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/annotations.md");

fn page() -> String {
    let mut page = format!(
        "# Annotations of Services\n\n\
         What a Service of type LoadBalancer can ask for beyond its spec. Keys begin with\n\
         `{PREFIX}`; the older spelling\n\
         `{LEGACY_PREFIX}` works too, and the newer one wins if both are there.\n\n\
         All values are checked before anything is called, and everything that is wrong with a Service is told in one\n\
         Warning event `SyncLoadBalancerFailed`. Until that is corrected, a Service without a load balancer gets none, and one\n\
         that has a load balancer keeps it as it is, except that its members follow nodes and pods (unless\n\
         what is wrong is about members). An empty value counts as absent. Removing an annotation leaves the cloud's\n\
         value as it is, unless the table says otherwise. A key under these prefixes that is not known gets a Warning event\n\
         `UnsupportedAnnotation` that names the nearest known one; so does one of which nothing comes beside the others,\n\
         with the reason.\n\n\
         This page is written from the table that the program itself uses.\n"
    );
    let listener = |sets: Sets| matches!(sets, Sets::Listener(_) | Sets::Layer4(_) | Sets::Layer7(_));
    section(&mut page, "The load balancer, its members, and how the Service is treated", |sets| sets == Sets::Field);
    section(&mut page, "Listeners: each port whose protocol has the setting", listener);
    page.push_str(
        "\n## On a network load balancer\n\n\
         For Services with `loadBalancerClass: alibabacloud.com/nlb`. These have an effect there, and no others.\n\n",
    );
    table(&mut page, network::ALL);
    page.push_str("\n## Without effect on a classic load balancer\n\n");
    for annotation in ALL {
        let why = match annotation.sets {
            Sets::Network => "for network load balancers",
            Sets::Nothing if annotation.about.is_empty() => "not handled by this version",
            Sets::Nothing => annotation.about,
            _ => continue,
        };
        let _ = writeln!(page, "- `{}`: {why}", annotation.suffix);
    }
    page.push_str(
        "\n## Members\n\n\
         `service.beta.kubernetes.io/backend-type: eni` makes the pods members at their own addresses; any other value the\n\
         nodes at their node ports. Without it the cloud-config file decides (`serviceBackendType`).\n",
    );
    page
}

fn section(page: &mut String, title: &str, belongs: impl Fn(Sets) -> bool) {
    let _ = write!(page, "\n## {title}\n\n");
    table(page, ALL.iter().filter(|annotation| belongs(annotation.sets)));
}

fn table<'a, S: 'a>(page: &mut String, annotations: impl IntoIterator<Item = &'a Annotation<S>>) {
    page.push_str("| annotation | value | without it | effect |\n|---|---|---|---|\n");
    for Annotation { suffix, value, default, about, .. } in annotations {
        let _ = writeln!(page, "| `{suffix}` | {value} | {default} | {about} |");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own switch")]
fn the_page_about_annotations_is_current() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PATH, &page).unwrap();
    }
    let there = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(there == page, "docs/annotations.md is not current; UPDATE_DOCS=1 cargo test --lib annotations renews it");
}
