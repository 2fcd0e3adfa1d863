//! [`Instructions`]: the instruction sets of this machine, detected at run time.
//!
//! Invariant: an [`Avx2`] or [`Avx512`] token exists only if the processor has these instructions,
//! because only detection creates one. Tokens have no size, and functions that take one need no other
//! proof.

/// Instruction set of this machine. All give bit-identical results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instructions(pub(super) Level);

/// Instruction set that kernels are written for, with its token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

/// Proof that the processor has AVX2, FMA and F16C.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Avx2(());

/// Proof that the processor has AVX-512 (F, BW, DQ, VL) and VNNI, and all of [`Avx2`].
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Avx512(());

impl Instructions {
    /// Plain Rust.
    pub const PORTABLE: Self = Self(Level::Portable);

    /// Returns the best instruction set of this machine.
    pub fn best() -> Self {
        Self::all().pop().unwrap_or(Self::PORTABLE)
    }

    /// Returns all instruction sets of this machine, the best last.
    pub fn all() -> Vec<Self> {
        let mut levels = vec![Self::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(Avx2::detect().map(|token| Self(Level::Avx2(token))));
            levels.extend(Avx512::detect().map(|token| Self(Level::Avx512(token))));
        }
        levels
    }
}

impl std::fmt::Debug for Instructions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Level::Portable => "Portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "Avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "Avx512",
        })
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    fn detect() -> Option<Self> {
        let is_here = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        is_here.then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    fn detect() -> Option<Self> {
        let is_here = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        Avx2::detect().filter(|_| is_here).map(|_| Self(()))
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_no_size() {
        assert_eq!(size_of::<Avx2>() + size_of::<Avx512>(), 0);
        assert_eq!(size_of::<Instructions>(), 1);
    }
}
