//! Products of several matrices with the same activations, shared by all threads.

use super::Model;
use super::weights::Linear;
use crate::compute::{Activations, Instructions, MatrixView, Pool, STRIP, Scratch, SharedMut, add};

/// Product of one matrix, and where it goes.
pub(super) struct Job<'a> {
    pub(super) matrix: MatrixView<'a>,
    pub(super) bias: Option<&'a [f32]>,
    pub(super) out: SharedMut<'a, f32>,
    pub(super) mode: WriteMode,
}

#[derive(Clone, Copy)]
pub(super) enum WriteMode {
    Replace,
    Add,
}

/// Returns the job for a linear map of the model.
pub(super) fn job<'a>(model: &'a Model, linear: &'a Linear, out: &'a mut [f32], mode: WriteMode) -> Job<'a> {
    Job {
        matrix: linear.matrix.view(&model.file),
        bias: linear.bias.as_deref(),
        out: SharedMut::new(out),
        mode,
    }
}

/// Computes all jobs in one round of the threads.
pub(super) fn multiply(
    pool: &mut Pool,
    level: Instructions,
    scratch: &mut [[Scratch; 2]],
    activations: &Activations,
    jobs: &[Job<'_>],
) {
    let scratch = SharedMut::new(scratch);
    let strips: usize = jobs.iter().map(|job| job.matrix.strips()).sum();
    pool.run(strips, &|item, thread| {
        let Some((job, strip)) = find_job(jobs, item) else { return };
        // SAFETY: each thread has its own scratch.
        let scratch = unsafe { &mut scratch.part(thread, 1)[0][0] };
        let sums = job.matrix.multiply(level, strip, activations, scratch);
        let rows = job.matrix.rows;
        let (first, count) = (strip * STRIP, STRIP.min(rows - strip * STRIP));
        for (token, sums) in sums.chunks_exact(STRIP).enumerate() {
            // SAFETY: no other strip has these rows of the product.
            let out = unsafe { job.out.part(token * rows + first, count) };
            match job.mode {
                WriteMode::Replace => out.copy_from_slice(&sums[..count]),
                WriteMode::Add => add(out, sums),
            }
            if let Some(bias) = job.bias {
                add(out, &bias[first..]);
            }
        }
    });
}

fn find_job<'j, 'a>(jobs: &'j [Job<'a>], mut item: usize) -> Option<(&'j Job<'a>, usize)> {
    for job in jobs {
        if item < job.matrix.strips() {
            return Some((job, item));
        }
        item -= job.matrix.strips();
    }
    None
}
