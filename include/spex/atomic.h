/* SPDX-License-Identifier: MIT */
/* Atomic accesses, with the memory order in the name. `p` points to an integer or a pointer,
 * aligned to its size. The compiler's builtins are the same in C and C++, unlike <stdatomic.h> and
 * <atomic>.
 *
 *     spex_cas_…(p, old, v)   stores v if *p is *old, and returns true; otherwise copies *p to *old
 *                             and returns false. A failed exchange is relaxed (acq_rel: acquire).
 *
 * In spex every acquire and release has a label where it stands, and names the labels that it pairs
 * with. All are lock-free and safe in signal handlers. */
#ifndef SPEX_ATOMIC_H
#define SPEX_ATOMIC_H

#define spex_load_relaxed(p)         __atomic_load_n((p), __ATOMIC_RELAXED)
#define spex_load_acquire(p)         __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define spex_store_relaxed(p, v)     __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define spex_store_release(p, v)     __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define spex_fetch_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define spex_fetch_add_release(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
#define spex_fetch_or_release(p, v)  __atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define spex_cas_relaxed(p, old, v)                                                                \
    __atomic_compare_exchange_n((p), (old), (v), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define spex_cas_acquire(p, old, v)                                                                \
    __atomic_compare_exchange_n((p), (old), (v), 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define spex_cas_release(p, old, v)                                                                \
    __atomic_compare_exchange_n((p), (old), (v), 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define spex_cas_acq_rel(p, old, v)                                                                \
    __atomic_compare_exchange_n((p), (old), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#endif
