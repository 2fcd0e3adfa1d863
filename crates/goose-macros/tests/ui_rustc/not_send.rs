//! A call may move between threads, and so may the extension.

#![allow(unused)]

use std::{cell::Cell, rc::Rc};

use goose_extension::prelude::*;

struct Waiting;

impl Waiting {
    #[tool]
    async fn wait(&self) -> usize {
        let counted = Rc::new(1);
        std::future::ready(()).await;
        *counted
    }
}

struct Unshared {
    count: Cell<u8>,
}

impl Unshared {
    #[tool]
    fn count(&self) -> u8 {
        self.count.get()
    }
}

fn main() {}
