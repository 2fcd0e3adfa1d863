//! Which instructions this machine has, found once at run time.

/// The instruction sets that kernels are written for. Results are the same bits on all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instructions {
    /// Whatever the compiler makes of plain Rust.
    Portable,
    /// x86-64 with AVX2, FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// x86-64 with AVX-512 (F, BW, DQ, VL) and VNNI.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Instructions {
    /// The best that this machine has.
    pub fn best() -> Self {
        Self::all().pop().unwrap_or(Self::Portable)
    }

    /// All that this machine has, the best last.
    pub fn all() -> Vec<Self> {
        let mut levels = vec![Self::Portable];
        Self::add_detected(&mut levels);
        levels
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn add_detected(_: &mut Vec<Self>) {}

    #[cfg(target_arch = "x86_64")]
    fn add_detected(levels: &mut Vec<Self>) {
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
        {
            levels.push(Self::Avx2);
        }
        if levels.contains(&Self::Avx2)
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni")
        {
            levels.push(Self::Avx512);
        }
    }
}
