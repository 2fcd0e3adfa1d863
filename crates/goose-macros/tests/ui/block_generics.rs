//! Arguments do not know the parameters of the block.

#![allow(unused)]

use goose_extension::prelude::*;

struct Store<T, const N: usize>(T);

#[extension]
impl<T: Serialize, const N: usize> Store<T, N> {
    #[tool]
    fn one(&self, #[arg(description = "what to add")] one: T) {}

    #[tool]
    fn inside(&self, several: Option<Vec<T>>) {}

    #[tool]
    fn constant(&self, few: [u8; N]) {}
}

fn main() {}
