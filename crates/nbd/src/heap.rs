//! How the process gets its memory. A drive is many pages of a few KiB that live as long as their flash pages, and requests bring
//! buffers of up to some MiB from many threads. With an arena for each thread, and buffers that go back to the kernel after each
//! request, requests of 1 MiB took a tenth more CPU time, and the process a quarter more memory.

/// One arena, and memory that is kept. Of other C libraries than glibc: nothing.
pub fn keep() {
    #[cfg(target_env = "gnu")]
    {
        use std::ffi::c_int;

        unsafe extern "C" {
            fn mallopt(what: c_int, value: c_int) -> c_int;
        }
        const TRIM_THRESHOLD: c_int = -1;
        const TOP_PAD: c_int = -2;
        const MMAP_THRESHOLD: c_int = -3;
        const ARENA_MAX: c_int = -8;
        for (what, value) in [(ARENA_MAX, 1), (MMAP_THRESHOLD, 32 << 20), (TRIM_THRESHOLD, 1 << 30), (TOP_PAD, 16 << 20)] {
            // SAFETY: it only takes numbers. A value that it refuses changes nothing.
            unsafe { mallopt(what, value) };
        }
    }
}

/// Returns memory that was needed to open the drive to the kernel.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        // SAFETY: it takes a number, and touches free memory alone.
        unsafe { malloc_trim(0) };
    }
}
