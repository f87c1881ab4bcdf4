//! Random lives: Services come, change and go, nodes and pods too, somebody meddles in the cloud's
//! console, calls fail or lose their answers, and the controller is killed in the middle of it.
//! At every moment: one load balancer a Service, no group emptied that has members, nothing foreign
//! touched. Once the trouble is over all becomes as asked for, and after deletion nothing is left.

mod dice;
mod expected;
mod foreign;
#[expect(clippy::unnecessary_wraps, reason = "all steps have one type, also those that always happen")]
mod life;
mod sentry;
mod wish;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use self::life::{Diary, Life};
use crate::support::play_one_of_many;

/// Lives one life; what went wrong, if anything did.
fn live(seed: u64) -> Result<(), String> {
    let diary = Diary::default();
    let written = diary.clone();
    let lived = catch_unwind(AssertUnwindSafe(|| {
        play_one_of_many(seed, seed.is_multiple_of(10), move |stage| async move {
            let mut life = Life::begin(stage, seed, diary).await;
            life.go_on().await;
            life.calm_down().await;
            life.end().await;
        });
    }));
    lived.map_err(|_| format!("seed {seed}; once more with: make soak SEED={seed}\n{}", written.lock().join("\n")))
}

/// Lives in parts, so that they run side by side.
macro_rules! lives {
    ($($part:ident $from:literal)*) => {
        $(
            #[test]
            fn $part() {
                for seed in $from..$from + 40 {
                    if let Err(ended) = live(seed) {
                        panic!("{ended}");
                    }
                }
            }
        )*
    };
}

lives! {
    from_0 0 from_40 40 from_80 80 from_120 120 from_160 160 from_200 200 from_240 240 from_280 280 from_320 320
    from_360 360 from_400 400 from_440 440 from_480 480 from_520 520 from_560 560 from_600 600 from_640 640
    from_680 680 from_720 720 from_760 760 from_800 800 from_840 840 from_880 880 from_920 920 from_960 960
}

/// `SEEDS=10000` for so many, `SEED=417` for one.
#[test]
#[ignore = "make soak"]
#[expect(clippy::disallowed_methods, reason = "how many is said on the command line")]
fn soak() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = number("SEED").map_or_else(|| 0..number("SEEDS").unwrap_or(1_000), |seed| seed..seed + 1);
    let next = Arc::new(AtomicU64::new(seeds.start));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let (next, end) = (next.clone(), seeds.end);
            std::thread::spawn(move || {
                let mine =
                    std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|seed| *seed < end);
                mine.filter_map(|seed| live(seed).err()).collect::<Vec<_>>()
            })
        })
        .collect();
    let ended: Vec<String> = workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
    assert!(ended.is_empty(), "{} of {seeds:?} ended badly\n{}", ended.len(), ended.join("\n\n"));
}
