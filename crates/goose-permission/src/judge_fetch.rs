//! Judges calls that fetch: the host in the URL, and what the tool needs to judge redirects and addresses itself.

use goose_extension::{FetchedHost, HostPolicy};

use super::{
    judge::{DefaultPolicy, Judge},
    matching::Certainty,
    rule::{Effect, Rule},
    suggest,
};

impl Judge<'_> {
    pub(super) fn fetch(&mut self, host: Option<FetchedHost>) {
        let rules: Vec<Rule> = self.rules.iter().filter(|rule| rule.is_about(self.call)).cloned().collect();
        let mut policy = host_policy(&rules, self.default_policy);
        let Some(host) = host else {
            self.hosts = Some(policy);
            return self.opinions.ask("the host that it fetches from cannot be determined");
        };
        if host.is_metadata() {
            self.opinions.deny(format!("`{host}` is a metadata service of a cloud, which holds credentials"));
        }
        let mut is_allowed = self.default_policy == DefaultPolicy::Everything && !host.is_local();
        for rule in rules.iter().filter(|rule| !rule.is_whole()) {
            let certainty = self.host_certainty(rule, &host);
            match rule.effect() {
                // A rule for many hosts was not written for those of this network.
                Effect::Allow if host.is_local() => {
                    is_allowed |=
                        certainty == Certainty::Yes && rule.host().is_some_and(|it| it.is_literal());
                }
                Effect::Allow => is_allowed |= certainty == Certainty::Yes,
                _ => self.restriction(rule, certainty, &host.to_string()),
            }
        }
        if !is_allowed {
            let place = if host.is_local() { ", which is not on the internet" } else { "" };
            let rule = suggest::host(&host);
            self.opinions.ask_unless(format!("it fetches from `{host}`{place}"), rule);
        }
        policy.allow_named(host);
        self.hosts = Some(policy);
    }

    fn host_certainty(&self, rule: &Rule, host: &FetchedHost) -> Certainty {
        match rule.host() {
            Some(pattern) if pattern.matches(host) => Certainty::Yes,
            Some(_) => Certainty::No,
            None => self.named(rule),
        }
    }
}

/// Returns the rules as the tool applies them to redirects.
fn host_policy(rules: &[Rule], default_policy: DefaultPolicy) -> HostPolicy {
    let mut policy = HostPolicy::default();
    for rule in rules {
        match (rule.effect(), rule.host()) {
            (_, None) => {}
            (Effect::Allow, Some(pattern)) => policy.allow(pattern.clone()),
            (Effect::Ask, Some(pattern)) => {
                policy.deny(
                    pattern.clone(),
                    format!("the rule `{rule}` requires approval; fetch it with a call of its own"),
                );
            }
            (Effect::Deny, Some(pattern)) => {
                policy.deny(pattern.clone(), format!("the rule `{rule}` forbids it"))
            }
        }
    }
    if default_policy != DefaultPolicy::Everything {
        policy.close();
    }
    policy
}
