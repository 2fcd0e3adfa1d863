//! [`Binding`]: somebody who needs a service. Who only looks at one, as its own tasks do, has a plain reference.

use std::{
    ops::Deref,
    sync::{Arc, atomic::Ordering},
};

use super::service::Service;

/// A service that somebody needs: while there is one of these, nobody ends it by giving it back. Dropped, it is given
/// back without waiting; [`ServicePool::release`](super::ServicePool::release) waits until it is gone.
#[derive(Debug)]
pub struct Binding(Arc<Service>);

impl Binding {
    pub(super) fn new(service: Arc<Service>) -> Self {
        service.bindings.fetch_add(1, Ordering::AcqRel);
        Self(service)
    }

    /// The service itself, to look at.
    pub fn service(&self) -> Arc<Service> {
        Arc::clone(&self.0)
    }
}

impl Clone for Binding {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl Deref for Binding {
    type Target = Arc<Service>;

    fn deref(&self) -> &Arc<Service> {
        &self.0
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        self.0.bindings.fetch_sub(1, Ordering::AcqRel);
    }
}
