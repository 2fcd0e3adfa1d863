//! [`ChosenBy`]: how the agent of a session was chosen.

/// Way in which the agent of a session was chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChosenBy {
    /// The session started with the agent.
    #[default]
    Default,
    /// The user named the agent. It stays until the user names another one.
    User,
    /// A request was routed to the agent.
    Routing,
}
