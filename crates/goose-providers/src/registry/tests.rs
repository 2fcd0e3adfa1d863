//! The addresses of all services, once all that they need is set.

use std::collections::BTreeMap;

use super::*;
use crate::endpoint::KeyHeader;

fn resolved(name: &str, model: &str, set: &BTreeMap<String, String>) -> Resolved {
    let spec = service(name).unwrap();
    Resolver { spec: &spec, model, lookup: &TrackedLookup::new(set) }
        .resolve()
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn set(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn every_service_has_an_address() {
    let mut said = String::new();
    for service in service::services() {
        let info = ProviderInfo::from_service(&service);
        let needed = info.settings.iter().filter(|setting| setting.is_required);
        let mut set: BTreeMap<String, String> =
            needed.map(|setting| (setting.name.clone(), "example.com".to_owned())).collect();
        set.extend(info.key_variables.first().map(|key| (key.clone(), "k-123".to_owned())));
        let Resolved { wire, endpoint } = resolved(service.name, "m-1", &set);
        let key = match (&endpoint.key, &endpoint.key_header) {
            (None, _) => "no key".to_owned(),
            (Some(_), KeyHeader::Named(name)) => format!("key in {name}"),
            (Some(_), _) => "key".to_owned(),
        };
        said.push_str(&format!(
            "{}: {wire:?} {} ({key}, {:?})\n",
            service.name, endpoint.url, endpoint.dialect
        ));
    }
    insta::assert_snapshot!(said);
}

/// Models on offer that are not in the table: llama.cpp answers to any name with whatever it was started with, whose
/// size is not known here; it refuses what does not fit.
const NOT_IN_TABLE: &[(&str, &str)] = &[("llama_cpp", "default")];

/// Models on offer are known: their size decides when a conversation is made shorter.
#[test]
fn every_model_on_offer_is_in_the_table_or_excused() {
    let offered = service::services()
        .flat_map(|service| service.models.into_iter().map(move |model| (service.name, model)));
    let unknown: Vec<(&str, &str)> = offered.filter(|(_, model)| !catalogue::knows(model)).collect();
    assert_eq!(unknown, NOT_IN_TABLE);
}

#[test]
fn only_the_inventor_is_taken_to_know_everything() {
    let key = ("OPENAI_API_KEY", "k-123");
    let own = resolved("openai", "gpt-4o", &set(&[key])).endpoint;
    let other = resolved("openai", "gpt-4o", &set(&[key, ("OPENAI_HOST", "http://localhost:1")])).endpoint;
    assert_eq!((own.dialect, other.dialect), (crate::Dialect::Full, crate::Dialect::Common));
}

#[test]
fn a_path_decides_the_wire() {
    let pairs = [("XAI_API_KEY", "k-123"), ("XAI_BASE_PATH", "v1/responses")];
    let found = resolved("xai", "grok-4.5", &set(&pairs));
    assert_eq!((found.wire, found.endpoint.url.as_str()), (Wire::Responses, "https://api.x.ai/v1/responses"));
}

#[test]
fn everywhere_is_a_place() {
    let pairs = [("GCP_PROJECT_ID", "p"), ("GCP_LOCATION", "global"), ("GCP_ACCESS_TOKEN", "t")];
    let url = resolved("vertex", "gemini-2.5-pro", &set(&pairs)).endpoint.url;
    assert_eq!(url.as_str(), "https://aiplatform.googleapis.com/v1/projects/p/locations/global");
}
