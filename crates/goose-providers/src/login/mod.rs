//! Logins that get a key from a service, instead of one that the user makes on its page.
//!
//! - [`LoginMethod`]: the login that a service has, see [`ProviderInfo::login`](crate::ProviderInfo::login);
//! - [`BrowserLogin`]: OpenRouter's, with a page in the browser of this machine and PKCE;
//! - [`DeviceLogin`]: GitHub's device flow, with a code that the user types on a page, on any machine;
//! - [`LoginError`]: a failure, and what to do about it; `server`: requests to the service.
//!
//! They only send requests and read answers: the program shows the pages, and listens for the browser.

mod browser;
mod device;
mod error;
mod server;

use serde::Deserialize;

pub use browser::BrowserLogin;
pub use device::{DeviceLogin, DeviceToken};
pub use error::LoginError;

/// Login of a service that gives out keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginMethod {
    /// [`BrowserLogin`].
    Browser,
    /// [`DeviceLogin`].
    Device,
}
