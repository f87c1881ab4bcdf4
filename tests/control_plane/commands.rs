//! The commands that the documentation tells people to type are run as they stand there.

use crate::{
    stage::Stage,
    theatre::{Theatre, play_in, theatre},
};

/// A page, with the commands in its blocks and between backticks, in this order; of those that
/// pass on what they print, the first part.
fn commands(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let (mut blocks, mut prose) = (Vec::new(), String::new());
    for (number, part) in text.split("```").enumerate() {
        if number % 2 == 1 {
            blocks.extend(part.lines().map(|line| line.split(" #").next().unwrap().trim().to_owned()));
        } else {
            prose.push_str(part);
        }
    }
    let spans = prose.split('`').skip(1).step_by(2).map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
    let first = |line: String| line.split(" | ").next().unwrap_or_default().to_owned();
    blocks.into_iter().chain(spans).map(first).filter(|line| line.starts_with("kubectl ")).collect()
}

/// Runs a command line; what takes the place of NAME is given.
fn run(theatre: &Theatre, line: &str, name: &str) -> String {
    let words: Vec<String> = line.split(' ').skip(1).map(|word| word.replace("NAME", name)).collect();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.contains(&"--watch") {
        // It would watch for ever.
        words.push("--request-timeout=2s");
        return String::from_utf8(theatre.plane.kubectl_output(&words).stdout).unwrap();
    }
    theatre.plane.kubectl(&words)
}

#[test]
fn what_the_readme_says_to_type_shows_what_it_says() {
    let theatre = theatre();
    let lines = commands("README.md");
    play_in(&theatre, async |stage: Stage| {
        let _replica = stage.start();
        let node = stage.joined(1).await.remove(0);
        let mut shown = Vec::new();
        for line in &lines {
            if line.contains("--watch") {
                stage.ensured("nginx").await;
            }
            let printed = tokio::task::block_in_place(|| run(&theatre, line, "nginx"));
            shown.push((line.as_str(), printed));
        }
        let printed = |part: &str| &shown.iter().find(|(line, _)| line.contains(part)).expect(part).1;
        assert!(printed("-k deploy/").contains("daemonset.apps/cloud-controller-manager"), "{shown:?}");
        assert!(printed("rollout status").contains("successfully rolled out"), "{shown:?}");
        assert!(printed("get nodes").contains(&node) && printed("get nodes").contains("cn-hangzhou-"), "{shown:?}");
        assert!(printed("--watch").contains(&stage.address("nginx").await), "{shown:?}");
    });
}

#[test]
fn what_the_other_pages_say_to_type_works() {
    let theatre = theatre();
    let pages = ["docs/operations.md", "docs/migration.md"].map(commands).concat();
    assert!(pages.len() >= 5, "{pages:?}");
    play_in(&theatre, async |stage: Stage| {
        let _replica = stage.start();
        let node = stage.joined(1).await.remove(0);
        stage.expose_web().await;
        let address = stage.address("web").await;
        stage.ensured("web").await;
        // In pods without processes there is nothing to run.
        for line in pages.iter().filter(|line| !line.contains(" exec ")) {
            let name = if line.contains(" node ") { node.as_str() } else { "web" };
            let printed = tokio::task::block_in_place(|| run(&theatre, line, name));
            let expected = match line.as_str() {
                "kubectl describe service NAME" => {
                    vec![address.as_str(), "EnsuredLoadBalancer", "Ensured load balancer"]
                }
                "kubectl describe node NAME" => vec![node.as_str(), "InitializedNode"],
                line if line.contains("lease ccm") => vec!["HOLDER", "_"],
                line if line.contains("providerID") => vec![node.as_str()],
                _ => vec![],
            };
            assert!(expected.iter().all(|part| printed.contains(part)), "{line}: {expected:?}\n{printed}");
        }
        // Some of these take things away.
        tokio::task::block_in_place(|| theatre.plane.kubectl(&["apply", "--validate=strict", "-k", "deploy/"]));
    });
}
