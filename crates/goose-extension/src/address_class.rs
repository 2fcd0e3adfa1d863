//! [`AddressClass`]: the kind of network that an address belongs to.
//!
//! The one place that knows which addresses are not on the public internet: for requests that a model chooses, and
//! for login servers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Kind of network that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressClass {
    /// Anywhere on the internet.
    Public,
    /// This machine.
    Loopback,
    /// A private network, such as that of a home or a company.
    Private,
    /// Link-local, multicast, reserved, or of no network.
    Special,
    /// The service by which a cloud tells its machines their credentials.
    Metadata,
}

/// Addresses of metadata services. All of 169.254.0.0/16 but these is link-local.
const METADATA_V4: [[u8; 4]; 6] = [
    [169, 254, 169, 254],
    [169, 254, 169, 253],
    [169, 254, 170, 2],
    [169, 254, 170, 23],
    [100, 100, 100, 200],
    [168, 63, 129, 16],
];

/// The same services over IPv6.
const METADATA_V6: [[u16; 8]; 4] = [
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x253],
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23],
    [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254],
];

/// Names of metadata services.
const METADATA_NAMES: [&str; 5] =
    ["metadata.google.internal", "metadata", "metadata.goog", "instance-data", "instance-data.ec2.internal"];

impl AddressClass {
    /// Returns the class of an address. An IPv6 address that carries an IPv4 address has the class of that one.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => match carried_v4(address) {
                Some(carried) => of_v4(carried),
                None => of_v6(address),
            },
        }
    }

    /// Returns true for this machine and private networks.
    pub fn is_internal(self) -> bool {
        matches!(self, Self::Loopback | Self::Private)
    }
}

/// Returns true if a name always means this machine.
pub fn is_loopback_name(name: &str) -> bool {
    let name = plain(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns true if a name always means the metadata service of a cloud.
pub fn is_metadata_name(name: &str) -> bool {
    METADATA_NAMES.contains(&plain(name).as_str())
}

/// Returns true if a name cannot be that of a host on the internet: one of this machine, or of a local network.
pub fn is_local_name(name: &str) -> bool {
    const LOCAL: [&str; 9] = [
        ".local",
        ".internal",
        ".intranet",
        ".lan",
        ".home",
        ".corp",
        ".private",
        ".home.arpa",
        ".localdomain",
    ];
    let name = plain(name);
    is_loopback_name(&name) || !name.contains('.') || LOCAL.iter().any(|suffix| name.ends_with(suffix))
}

fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

fn of_v4(address: Ipv4Addr) -> AddressClass {
    let octets = address.octets();
    if METADATA_V4.contains(&octets) {
        return AddressClass::Metadata;
    }
    match octets {
        [127, ..] => AddressClass::Loopback,
        // 100.64.0.0/10 is between a provider and its customers; company networks use it too.
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => AddressClass::Private,
        // On most systems 0.0.0.0 leads to this machine.
        [0, ..]
        | [169, 254, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [224..=255, ..] => AddressClass::Special,
        _ => AddressClass::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressClass {
    let segments = address.segments();
    if METADATA_V6.contains(&segments) {
        return AddressClass::Metadata;
    }
    match segments {
        _ if address.is_loopback() => AddressClass::Loopback,
        [0xfc00..=0xfdff, ..] => AddressClass::Private,
        // Documentation, benchmarks, ORCHID: none of them is routed.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressClass::Special,
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Special,
    }
}

/// Returns the IPv4 address that a gateway would send the packets of an IPv6 address to.
fn carried_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // Compatible, mapped, and translated addresses; NAT64 with its two prefixes.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low] => v4(high, low),
        // 6to4, Teredo (inverted), ISATAP.
        [0x2002, high, low, ..] => v4(high, low),
        [0x2001, 0, .., high, low] => v4(!high, !low),
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => v4(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_the_class_of_their_network() {
        for (address, class) in [
            ("8.8.8.8", AddressClass::Public),
            ("100.128.0.1", AddressClass::Public),
            ("172.32.0.1", AddressClass::Public),
            ("2606:4700::1111", AddressClass::Public),
            ("::ffff:8.8.8.8", AddressClass::Public),
            ("127.8.9.1", AddressClass::Loopback),
            ("::1", AddressClass::Loopback),
            ("::ffff:127.0.0.1", AddressClass::Loopback),
            ("::127.0.0.1", AddressClass::Loopback),
            ("64:ff9b::7f00:1", AddressClass::Loopback),
            ("64:ff9b:1::a00:1", AddressClass::Private),
            ("2002:7f00:1::", AddressClass::Loopback),
            ("2001:0:1234::80ff:fffe", AddressClass::Loopback),
            ("fe80::5efe:10.0.0.1", AddressClass::Private),
            ("2606:4700::5efe:10.0.0.1", AddressClass::Private),
            ("10.1.2.3", AddressClass::Private),
            ("172.16.0.1", AddressClass::Private),
            ("192.168.1.1", AddressClass::Private),
            ("100.64.0.1", AddressClass::Private),
            ("fd12::1", AddressClass::Private),
            ("0.0.0.0", AddressClass::Special),
            ("::", AddressClass::Special),
            ("169.254.1.1", AddressClass::Special),
            ("224.0.0.1", AddressClass::Special),
            ("255.255.255.255", AddressClass::Special),
            ("fe80::1", AddressClass::Special),
            ("fec0::1", AddressClass::Special),
            ("ff02::1", AddressClass::Special),
            ("2001:db8::1", AddressClass::Special),
            ("169.254.169.254", AddressClass::Metadata),
            ("::ffff:a9fe:a9fe", AddressClass::Metadata),
            ("64:ff9b::a9fe:a9fe", AddressClass::Metadata),
            ("fd00:ec2::254", AddressClass::Metadata),
        ] {
            assert_eq!(AddressClass::of(address.parse().unwrap()), class, "{address}");
        }
    }

    #[test]
    fn names_of_local_networks_are_known() {
        for name in
            ["localhost", "LOCALHOST.", "a.localhost", "router", "nas.local", "api.corp", "x.home.arpa"]
        {
            assert!(is_local_name(name), "{name}");
        }
        for name in ["docs.rs", "localhost.example.com", "local.net"] {
            assert!(!is_local_name(name), "{name}");
        }
        assert!(is_metadata_name("Metadata.google.internal.") && !is_metadata_name("metadata.example.com"));
    }
}
