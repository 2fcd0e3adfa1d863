//! Keeping other processes of the same user out of this one.

/// Makes this process undumpable: other processes of the same user, such as the commands that goose runs, can read
/// neither its environment nor its memory, nor use its open files through `/proc`, and it leaves no core file. To be
/// called first thing in `main`.
///
/// Programs that are started later are not affected: the kernel resets this when a program is executed. Processes with
/// the rights of root are not kept out. Where there is no such switch, only core files are prevented, for this process
/// and, unless they raise the limit again, for those that it starts.
pub fn protect_process() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let result = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let result = {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: getrlimit(Resource::Core).maximum })
    };
    if let Err(error) = result {
        tracing::warn!(%error, "other processes of this user can look into this one");
    }
}
