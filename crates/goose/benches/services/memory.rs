//! Memory of an idle service in this process.

use std::{sync::Arc, time::Duration};

use goose::{
    config::{DEFAULT_TIMEOUT, ExtensionConfig},
    services::{BindingContext, BuildService, Service, ServicePool},
};
use goose_extension::prelude::*;

use crate::{
    counting,
    home::{self, Home},
    report::{Bar, Report},
};

const SERVICES: u64 = 1000;

/// Limit of a service's memory in kilobytes.
const BAR: f64 = 100.0;

const BYTES_PER_KILOBYTE: f64 = 1000.0;

struct Small;

#[extension(name = "small", description = "Gives back a message")]
impl Small {
    /// Gives back a message.
    #[tool]
    async fn echo(
        &self,
        /// What to say
        message: String,
    ) -> String {
        message
    }
}

/// Makes a small extension for whatever name.
struct Smalls;

impl BuildService for Smalls {
    fn build(&self, _name: &str, _context: &BindingContext) -> Option<Arc<dyn Extension>> {
        Some(Arc::new(Small))
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The memory of a number of services.
struct Cost {
    heap: f64,
    /// The memory that the operating system reports, if it does.
    resident: Option<f64>,
}

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let small = |number| ExtensionConfig::builtin(format!("small-{number}"));
    let smalls: Option<Arc<dyn BuildService>> = Some(Arc::new(Smalls));
    tell(report, "extension with one tool", &cost(small, smalls).await?);
    // Of one name and with different timeouts, because the same service would run once.
    let memory = |number| ExtensionConfig::builtin("memory").with_timeout(timeout(number));
    tell(report, "built-in memory", &cost(memory, None).await?);
    Ok(())
}

fn timeout(number: u64) -> Duration {
    DEFAULT_TIMEOUT + Duration::from_secs(number)
}

fn tell(report: &mut Report, what: &str, cost: &Cost) {
    report.judge(&format!("heap for one idle service: {what}"), cost.heap, "KB", Bar::Below(BAR));
    if let Some(resident) = cost.resident {
        report.note(&format!("resident memory for one idle service: {what}"), resident, "KB");
    }
}

async fn cost(
    config: impl Fn(u64) -> ExtensionConfig,
    builtins: Option<Arc<dyn BuildService>>,
) -> anyhow::Result<Cost> {
    let home = Home::new()?;
    let mut options = home.options();
    options.builtins = builtins.unwrap_or(options.builtins);
    let pool = ServicePool::new(options);
    // What all of them share is there when the first one is.
    let _first = started(&pool, &config(0)).await?;
    counting::count(true);
    let (heap, resident) = (counting::live(), resident_bytes());
    let mut services = Vec::new();
    for number in 1..=SERVICES {
        services.push(started(&pool, &config(number)).await?);
    }
    let (heap, resident) = (
        per_service(counting::live() - heap),
        resident_bytes().zip(resident).map(|(after, before)| per_service(after - before)),
    );
    counting::count(false);
    anyhow::ensure!(pool.services().len() as u64 > SERVICES, "{pool:?}");
    Ok(Cost { heap, resident })
}

async fn started(pool: &ServicePool, config: &ExtensionConfig) -> anyhow::Result<Arc<Service>> {
    let binding = pool.bind(config, &home::context());
    binding.ready().await?;
    Ok(binding.service())
}

fn per_service(bytes: isize) -> f64 {
    bytes as f64 / SERVICES as f64 / BYTES_PER_KILOBYTE
}

fn resident_bytes() -> Option<isize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: isize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
