//! Random lives: Services come, change and go, nodes and pods too, somebody meddles in the cloud's
//! console, calls fail or lose their answers, and the controller is killed in the middle of it.
//! At every moment: one load balancer a Service, no group emptied that has members, nobody let in whom
//! no user ever asked for, nothing foreign touched. Once the trouble is over all becomes as asked for, and after deletion nothing is left.

mod cluster;
mod dice;
mod doors;
mod expected;
mod foreign;
#[expect(clippy::unnecessary_wraps, reason = "all steps have one type, also those that always happen")]
mod life;
mod marks;
mod sentry;
mod wish;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use self::{
    life::{Diary, Life},
    marks::Kind,
    wish::Cast,
};
use crate::support::play_one_of_many;

/// Lives one life; what went wrong, if anything did.
fn live(cast: Cast, seed: u64) -> Result<(), String> {
    let diary = Diary::default();
    let written = diary.clone();
    let lived = catch_unwind(AssertUnwindSafe(|| {
        play_one_of_many(seed, seed.is_multiple_of(10), move |stage| async move {
            let mut life = Life::begin(stage, seed, cast, diary).await;
            life.go_on().await;
            life.calm_down().await;
            life.end().await;
        });
    }));
    let name = CASTS.iter().find(|(_, one)| *one == cast).map(|(name, _)| *name).unwrap_or_default();
    lived.map_err(|_| {
        format!("seed {seed}; once more with: make soak CAST={name} SEED={seed}\n{}", written.lock().join("\n"))
    })
}

/// Which kinds of load balancers Services want, and how that is called on the command line.
const CASTS: [(&str, Cast); 3] =
    [("clb", Cast::All(Kind::Classic)), ("nlb", Cast::All(Kind::Network)), ("mixed", Cast::Mixed)];

/// Lives in parts, so that they run side by side.
macro_rules! lives {
    ($name:ident $cast:expr; $each:literal: $($part:ident $from:literal)*) => {
        mod $name {
            use super::*;
            $(
                #[test]
                fn $part() {
                    for seed in $from..$from + $each {
                        if let Err(ended) = live($cast, seed) {
                            panic!("{ended}");
                        }
                    }
                }
            )*
        }
    };
}

lives! {
    clb Cast::All(Kind::Classic); 40:
    from_0 0 from_40 40 from_80 80 from_120 120 from_160 160 from_200 200 from_240 240 from_280 280
    from_320 320 from_360 360 from_400 400 from_440 440 from_480 480 from_520 520 from_560 560 from_600 600
    from_640 640 from_680 680 from_720 720 from_760 760 from_800 800 from_840 840 from_880 880 from_920 920
    from_960 960
}

lives! {
    nlb Cast::All(Kind::Network); 40:
    from_0 0 from_40 40 from_80 80 from_120 120 from_160 160 from_200 200 from_240 240 from_280 280
    from_320 320 from_360 360 from_400 400 from_440 440 from_480 480 from_520 520 from_560 560 from_600 600
    from_640 640 from_680 680 from_720 720 from_760 760 from_800 800 from_840 840 from_880 880 from_920 920
    from_960 960
}

lives! {
    mixed Cast::Mixed; 40:
    from_0 0 from_40 40 from_80 80 from_120 120 from_160 160 from_200 200 from_240 240 from_280 280
}

/// `SEEDS=10000` for so many, `SEED=417` for one, `CAST=nlb` for one kind.
#[test]
#[ignore = "make soak"]
#[expect(clippy::disallowed_methods, reason = "how many is said on the command line")]
fn soak() {
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let number = |name: &str| variable(name).and_then(|text| text.parse::<u64>().ok());
    let seeds = number("SEED").map_or_else(|| 0..number("SEEDS").unwrap_or(1_000), |seed| seed..seed + 1);
    let casts = CASTS.iter().filter(|(name, _)| variable("CAST").is_none_or(|asked| asked == *name));
    let lives: Vec<(Cast, u64)> = casts.flat_map(|(_, cast)| seeds.clone().map(|seed| (*cast, seed))).collect();
    let lives = Arc::new(lives);
    let next = Arc::new(AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let (next, lives) = (next.clone(), lives.clone());
            std::thread::spawn(move || {
                let mine = std::iter::from_fn(|| lives.get(next.fetch_add(1, Ordering::Relaxed)));
                mine.filter_map(|(cast, seed)| live(*cast, *seed).err()).collect::<Vec<_>>()
            })
        })
        .collect();
    let ended: Vec<String> = workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
    assert!(ended.is_empty(), "{} of {} ended badly\n{}", ended.len(), lives.len(), ended.join("\n\n"));
}
