//! [`OnDrop`]: what must happen if a future is dropped before it is done.

/// Runs a function when it is dropped, unless it was disarmed.
pub(crate) struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> OnDrop<F> {
    pub(crate) fn new(run: F) -> Self {
        Self(Some(run))
    }

    /// Drops it without running the function.
    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run();
        }
    }
}
