/* SPDX-License-Identifier: MIT */
/* A probe site: one place in the code where a probe stands. Sites live in the ELF section
 * `spex_sites` of the object they were compiled into, so they can be listed without running it;
 * names live in `spex_names`. Indirect header: programs include spex/probe.h.
 *
 *   spex_sites  [site][site][site]…      written by the macros of spex/probe.h, one a place
 *                  │
 *                  └─ control ◄── the only thing that switches a probe: 0 is off,
 *                                 otherwise the sampling and a generation */
#ifndef SPEX_SITE_H
#define SPEX_SITE_H

#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>

struct spex_site {
    uint32_t control; /* written by the library only; aligned to 8 bytes */
    uint32_t index;   /* set once when the object registers; valid while control is not 0 */
    uint32_t
        subsample; /* the developer's sc: executions per record, at least 1; a region's weight, as in force */
    uint32_t line; /* source line */
    uint16_t probe_id;
    uint8_t type_number; /* as SPEX_TYPE_NUMBER_; 0: no probe, but the region itself */
    uint8_t detail;      /* SNAPSHOT, KERNEL: values given; PERFCNTR: which counter */
    uint16_t region;     /* SPEX_REGION that it stands in; 0: none */
    uint8_t on_since;    /* generation with which it was last switched on; library only, as is */
    uint8_t changes;     /* of generations since then; UINT8_MAX: so many or more */
    int64_t
        file_offset; /* from this member to the source file's name, a string in the same object */
};

/* A type as one byte: 1 + the number of its bit. */
#define SPEX_TYPE_NUMBER_(type) ((type) != 0 ? __builtin_ctz(type) + 1 : 0)

SPEX_INLINE uint32_t spex_site_type_(const struct spex_site *site) {
    return site->type_number ? 1u << (site->type_number - 1) : 0;
}

/* The first two members as one: little-endian, as all architectures here are. */
typedef uint64_t __attribute__((may_alias)) spex_site_head;

SPEX_INLINE const spex_site_head *spex_site_head_(const struct spex_site *site) {
#ifdef __cplusplus
    return reinterpret_cast<const spex_site_head *>(site);
#else
    return (const spex_site_head *)site;
#endif
}

#ifdef __cplusplus
#define SPEX_LOW_(word) static_cast<uint32_t>(word)
#else
#define SPEX_LOW_(word) ((uint32_t)(word))
#endif

#define SPEX_NAME_BYTES 62

/* SPEX_PROBE_NAME(7, "query"): probes with id 7 in this object are called "query". */
struct spex_probe_name {
    uint16_t probe_id;
    char name[SPEX_NAME_BYTES];
};

/* Control word: in the low 24 bits how executions are sampled; above them the generation, which changes each
 * time the site is switched on, so that no count goes on from one time to the next, and each time that threads are to
 * begin a new countdown (generations come round after 127; those of
 * countdowns are even, the others odd). The bit between them is 0, and keeps a count that is over
 * its period apart from the next generation.
 *
 *     low bits   1 to SPEX_CONTROL_PERIOD_MAX   every so many executions make a record
 *                SPEX_CONTROL_COUNTDOWN         the library says which, by a countdown of its own
 *                0                              none; threads publish while they execute it (probing) */
#define SPEX_CONTROL_PERIOD_MAX       0x00fffffeu
#define SPEX_CONTROL_COUNTDOWN        0x00ffffffu
#define SPEX_CONTROL_PERIOD_MASK      0x00ffffffu
#define SPEX_CONTROL_GENERATION_MASK  0xfe000000u
#define SPEX_CONTROL_GENERATION_SHIFT 25
#define SPEX_CONTROL_GENERATIONS      127u /* 1 to so many */

SPEX_EXTERN_C_BEGIN

/* This thread's executions since its last record, by site index, each with the generation of the
 * control word above it; until the thread's first execution of a site that is on, zeros that nobody writes. */
SPEX_PROBE_API extern __thread uint32_t *spex_executed __attribute__((tls_model("initial-exec")));

/* An object's sites come and go with it. Called by the constructor and destructor that
 * spex/probe.h puts into every translation unit; calling either again for the same object does
 * nothing. Any thread; takes a lock; not for signal handlers. */
SPEX_PROBE_API void spex_module_register(struct spex_site *sites, struct spex_site *sites_end,
                                         const struct spex_probe_name *names,
                                         const struct spex_probe_name *names_end);
SPEX_PROBE_API void spex_module_unregister(struct spex_site *sites);

SPEX_EXTERN_C_END

#endif
