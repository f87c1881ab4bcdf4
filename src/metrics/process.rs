//! The usual `process_*` metrics, read from `/proc/self` at each scrape.

use std::fs;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
    registry::Registry,
};

/// The kernel reports processor time in ticks of 1/100 s on every Linux platform (`man 5 proc`,
/// USER_HZ) and memory in pages of 4 KiB on those that this controller ships for.
const TICKS_PER_SECOND: f64 = 100.0;
const PAGE_BYTES: i64 = 4096;

#[derive(Debug)]
struct Process;

/// What `/proc/self/stat` says of a process.
#[derive(Debug, PartialEq)]
struct Stat {
    cpu_seconds: f64,
    threads: i64,
    virtual_bytes: i64,
    resident_bytes: i64,
    start_ticks: f64,
}

pub(super) fn register(registry: &mut Registry) {
    registry.register_collector(Box::new(Process));
}

/// Fields are counted after the closing parenthesis of the command name, which may itself hold
/// spaces.
fn parse(stat: &str) -> Option<Stat> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
    let float = |index: usize| fields.get(index)?.parse::<f64>().ok();
    let integer = |index: usize| fields.get(index)?.parse::<i64>().ok();
    Some(Stat {
        cpu_seconds: (float(11)? + float(12)?) / TICKS_PER_SECOND,
        threads: integer(17)?,
        start_ticks: float(19)?,
        virtual_bytes: integer(20)?,
        resident_bytes: integer(21)? * PAGE_BYTES,
    })
}

/// Seconds since 1970 at which the machine was started.
fn boot_time() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn max_open_files() -> Option<i64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    text.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_whitespace().next()?.parse().ok()
}

fn open_files() -> Option<i64> {
    i64::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok()
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let mut gauge = |name: &str, help: &str, value: Option<i64>| match value {
            Some(value) => one(&mut encoder, name, help, &ConstGauge::new(value)),
            None => Ok(()),
        };
        let stat = fs::read_to_string("/proc/self/stat").ok().and_then(|text| parse(&text));
        gauge("process_open_fds", "Number of open file descriptors", open_files())?;
        gauge("process_max_fds", "Maximum number of open file descriptors", max_open_files())?;
        let Some(stat) = stat else { return Ok(()) };
        gauge("process_threads", "Number of threads", Some(stat.threads))?;
        gauge("process_virtual_memory_bytes", "Virtual memory size in bytes", Some(stat.virtual_bytes))?;
        gauge("process_resident_memory_bytes", "Resident memory size in bytes", Some(stat.resident_bytes))?;
        if let Some(boot) = boot_time() {
            let started = ConstGauge::new(boot + stat.start_ticks / TICKS_PER_SECOND);
            one(&mut encoder, "process_start_time_seconds", "Start time in seconds since 1970", &started)?;
        }
        let spent = ConstCounter::new(stat.cpu_seconds);
        one(&mut encoder, "process_cpu_seconds", "Processor time spent in user and kernel mode", &spent)
    }
}

fn one(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    metric: &impl EncodeMetric,
) -> Result<(), std::fmt::Error> {
    metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_with_spaces_and_parentheses_is_no_obstacle() {
        let line = "7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 9 0 4200 104857600 2560 1 2";
        let expected = Stat {
            cpu_seconds: 2.0,
            threads: 9,
            virtual_bytes: 104_857_600,
            resident_bytes: 10_485_760,
            start_ticks: 4200.0,
        };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse("7 (x"), None);
    }
}
