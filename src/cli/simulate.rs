//! `simulate`: the simulated cloud and the embedded Kubernetes API alone, for any client.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};

use super::{
    files::{self, Files},
    screen::Screen,
    serve::Server,
};
use crate::{
    clock::Clock,
    daemon::shutdown::Shutdown,
    entropy::Entropy,
    sim::{
        cloud::{self, AccessKey, Cloud},
        kube::Kube,
        world::World,
    },
    telemetry,
};

/// Options of `simulate`.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct SimulateOptions {
    #[command(subcommand)]
    pub what: Simulate,
}

/// What is simulated.
#[derive(Clone, Debug, PartialEq, Eq, clap::Subcommand)]
pub enum Simulate {
    /// The simulated Alibaba Cloud
    Cloud(CloudOptions),
    /// The embedded Kubernetes API, empty
    Cluster(ClusterOptions),
    /// Both; the instances of the world are nodes of the cluster, and Deployments get pods
    All(AllOptions),
}

/// Options of the simulated cloud.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct CloudOptions {
    /// Where the cloud listens; port 0 is any free one
    #[arg(long, value_name = "address", default_value = "127.0.0.1:18080")]
    pub cloud_bind_addr: SocketAddr,
    /// File with the regions, networks, keys and instances to start with
    #[arg(long, value_name = "path")]
    pub world: Option<PathBuf>,
    /// Without a file: number of instances to start with
    #[arg(long, value_name = "number", default_value_t = 3, conflicts_with = "world")]
    pub nodes: usize,
    /// Let unsigned and wrongly signed requests pass, as hand-made ones are
    #[arg(long)]
    pub relaxed_signatures: bool,
    /// Enforce the quotas and call rates that the products publish
    #[arg(long)]
    pub limits: bool,
}

/// Options of the embedded Kubernetes API.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct ClusterOptions {
    /// Where the Kubernetes API listens; port 0 is any free one
    #[arg(long, value_name = "address", default_value = "127.0.0.1:16443")]
    pub kube_bind_addr: SocketAddr,
    /// File to write the kubeconfig to, and to leave; else a temporary one
    #[arg(long, value_name = "path")]
    pub kubeconfig: Option<PathBuf>,
}

/// Options of both together.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct AllOptions {
    #[command(flatten)]
    pub cloud: CloudOptions,
    #[command(flatten)]
    pub cluster: ClusterOptions,
}

/// Serves until asked to stop.
pub(super) async fn run(options: SimulateOptions) -> anyhow::Result<()> {
    telemetry::init(&telemetry::Options::default())?;
    let stop = Shutdown::on_signals()?.requested();
    let mut screen = Screen::stdout();
    let (clock, entropy) = (Clock::system(), Entropy::system());
    match options.what {
        Simulate::Cloud(options) => {
            let (world, behaviour) = read(&options)?;
            let keys = world.access_keys.clone();
            let cloud = Cloud::new(world, behaviour, clock, entropy).map_err(|error| anyhow!("{error}"))?;
            let server = serve_cloud(&cloud, &options).await?;
            tell_cloud(&mut screen, &server, &cloud, &keys);
            screen.line("Runs until Ctrl-C.");
            stop.cancelled().await;
        }
        Simulate::Cluster(options) => {
            let files = Files::new()?;
            let kube = Kube::new(clock, entropy);
            let server = serve_cluster(&kube, &options).await?;
            tell_cluster(&mut screen, &server, &options, &files)?;
            screen.line("Runs until Ctrl-C.");
            stop.cancelled().await;
        }
        Simulate::All(options) => {
            let files = Files::new()?;
            let (start, behaviour) = read(&options.cloud)?;
            let keys = start.access_keys.clone();
            let world = World::with(start, behaviour, clock, &entropy)?;
            let nodes = world.join_all()?;
            let cloud = serve_cloud(&world.cloud, &options.cloud).await?;
            let cluster = serve_cluster(&world.kube, &options.cluster).await?;
            tell_cloud(&mut screen, &cloud, &world.cloud, &keys);
            let kubeconfig = tell_cluster(&mut screen, &cluster, &options.cluster, &files)?;
            tell_controller(&mut screen, &cloud, &kubeconfig, &files)?;
            screen.line(format_args!("{} nodes wait for a controller. Runs until Ctrl-C.", nodes.len()));
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = world.live() => {}
            }
        }
    }
    Ok(())
}

async fn serve_cloud(cloud: &Cloud, options: &CloudOptions) -> anyhow::Result<Server> {
    Server::start(cloud.router(), options.cloud_bind_addr, "--cloud-bind-addr").await
}

async fn serve_cluster(kube: &Kube, options: &ClusterOptions) -> anyhow::Result<Server> {
    Server::start(kube.router(), options.kube_bind_addr, "--kube-bind-addr").await
}

/// The world to start with, and how it behaves.
fn read(options: &CloudOptions) -> anyhow::Result<(cloud::World, cloud::Options)> {
    let world = match &options.world {
        Some(path) => world_of(path)?,
        None => cloud::World::with_nodes(options.nodes),
    };
    let mut behaviour = cloud::Options {
        relaxed_signatures: options.relaxed_signatures,
        check_replies: false,
        ..cloud::Options::default()
    };
    if options.limits {
        behaviour.quotas = cloud::Quotas::published();
        behaviour.rates = cloud::Rate::published();
    }
    Ok((world, behaviour))
}

fn world_of(path: &Path) -> anyhow::Result<cloud::World> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the world file {name} (--world)"))?;
    cloud::World::read(&text).map_err(|wrong| anyhow!("{name}, {wrong}"))
}

fn tell_cloud(screen: &mut Screen, server: &Server, cloud: &Cloud, keys: &[AccessKey]) {
    screen.pair("cloud", server.url());
    screen.pair("", "all products at /, the metadata server below /latest, control below /_sim");
    for key in keys {
        screen.pair("access key", format_args!("{}   secret {}", key.id, key.secret));
    }
    let regions = cloud.with_state(|state| state.regions.iter().map(|region| region.id.clone()).collect::<Vec<_>>());
    screen.pair("regions", regions.join(", "));
    screen.pair("instances", cloud.instances().len());
    screen.blank();
}

/// Says where the cluster is; answers the kubeconfig's path.
fn tell_cluster(
    screen: &mut Screen,
    server: &Server,
    options: &ClusterOptions,
    files: &Files,
) -> anyhow::Result<PathBuf> {
    let text = files::kubeconfig(&server.url());
    let path = match &options.kubeconfig {
        Some(path) => {
            files::write(path, &text)?;
            path.clone()
        }
        None => files.write("kubeconfig", &text)?,
    };
    screen.pair("cluster", server.url());
    screen.pair("kubeconfig", path.display());
    screen.blank();
    Ok(path)
}

/// Says how to start a controller between the two.
fn tell_controller(screen: &mut Screen, cloud: &Server, kubeconfig: &Path, files: &Files) -> anyhow::Result<()> {
    let config = files.write("cloud-config", "Global:\n  clusterID: simulated\n")?;
    let host = cloud.reachable();
    screen.line("A controller between the two:");
    screen.blank();
    let endpoints = ["ECS", "VPC", "SLB", "NLB", "STS"].map(|product| format!("{product}_ENDPOINT={host}"));
    let (first, second) = endpoints.split_at(3);
    screen.line(format_args!("  {} \\", first.join(" ")));
    screen.line(format_args!("  {} \\", second.join(" ")));
    screen.line(format_args!("  METADATA_ENDPOINT={} ALICLOUD_CLIENT_SCHEME=HTTP \\", cloud.url()));
    screen.line("  alibaba-cloud-controller-manager --cluster-cidr=172.16.0.0/12 \\");
    screen.line(format_args!("      --cloud-config={} \\", config.display()));
    screen.line(format_args!("      --kubeconfig={}", kubeconfig.display()));
    screen.blank();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_world_is_one() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/world.yaml");
        let world = world_of(&path).unwrap();
        let instances = world.instances.len();
        let cloud = Cloud::new(world, cloud::Options::default(), Clock::system(), Entropy::seeded(1)).unwrap();
        assert_eq!(cloud.instances().len(), instances);
        assert!(instances >= 3);
    }

    #[test]
    fn a_bad_world_is_told_with_file_line_and_reason() {
        let base = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("config/world.yaml")).unwrap();
        for (wrong, reason) in [
            (base.replace("regions:", "colour: red\nregions:"), "unknown field `colour`"),
            (base.replace("vswitch: vsw-bp1simi", "vswitch: vsw-nowhere"), "vswitch \"vsw-nowhere\""),
            (base.replace("region: cn-hangzhou", "region: cn-atlantis"), "region \"cn-atlantis\""),
        ] {
            let files = Files::new().unwrap();
            let path = files.write("world.yaml", &wrong).unwrap();
            let told = world_of(&path).unwrap_err().to_string();
            assert!(told.starts_with(&format!("{}, line ", path.display())) && told.contains(reason), "{told}");
        }
    }
}
