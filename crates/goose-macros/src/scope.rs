//! What the macros bring into scope for the author's code.

use syn::{Block, parse_quote};

/// Lets the body log plain strings (`self.notifier.log(format!("…"))`), whatever the author imported.
pub(crate) fn bring_notifier_ext(block: &mut Block) {
    block.stmts.insert(
        0,
        parse_quote! {
            #[allow(unused_imports, reason = "for bodies that log")]
            use ::goose_extension::NotifierExt as _;
        },
    );
}
