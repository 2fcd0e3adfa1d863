//! [`ChosenBy`]: why an agent is the agent of its session.

/// The reason why an agent is the agent of its session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChosenBy {
    /// The session began with it.
    #[default]
    Default,
    /// The user named it. It stays until they name another one.
    User,
    /// A request was routed to it.
    Routing,
}
