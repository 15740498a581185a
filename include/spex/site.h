/* SPDX-License-Identifier: MIT */
/* A probe site: a place in the code where a probe stands. Indirect header: programs include
 * spex/probe.h.
 *
 *   spex_sites  [site][site][site]…      written by the macros of spex/probe.h, one for each place
 *                  │
 *                  └─ control: 0 is off; otherwise the sampling and a generation. Nothing else
 *                     switches a probe.
 *
 * Sites are in the section `spex_sites` of the object into which they were compiled, and names in
 * `spex_names`. So tools list the probes of a file without running it. */
#ifndef SPEX_SITE_H
#define SPEX_SITE_H

#include <spex/detail/names_begin.h>

#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>

SPEX_HEADER_BEGIN_

/* The compiler writes all members; the library changes those whose comment says so. Probes load
 * `control` and `index` without a lock. */
struct spex_site {
    /* The control word, below. Written by the library. Aligned to 8 bytes with `index`. */
    uint32_t control;
    /* The site's number in the process. Written by the library once, when the object registers;
     * valid while `control` is not 0. Until then: what the values of a SNAPSHOT, the parameters of
     * a KERNEL or the key of a SPAN are, enum spex_kind, two bits each from the lowest on. */
    uint32_t index;
    /* The developer's sc: executions per record, at least 1. Of a region: its weight in force,
     * which the library may raise. */
    uint32_t subsample;
    /* Source line. */
    uint32_t line;
    /* The developer's id. In a process the library writes the probe's number here (record.h) when
     * the object registers, and the id again when it is unloaded. */
    uint16_t probe_id;
    /* SPEX_TYPE_NUMBER_ of the type, with SPEX_SITE_NAMED; 0: not a probe, but a region. */
    uint8_t type_number;
    /* SNAPSHOT, KERNEL: the number of values given; PERFCNTR: pcid; SPAN: SPEX_SPAN_ENDS at END;
     * otherwise 0. */
    uint8_t detail;
    /* The id of the SPEX_REGION around the probe; 0: none. */
    uint16_t region;
    /* Library: the generation with which the site was last switched on, and how often the
     * generation has changed since then (UINT8_MAX: so often or more). */
    uint8_t on_since;
    uint8_t changes;
    /* Bytes from this member to a text in the same object: the source file's name. Behind its 0
     * stand the arguments of a KERNEL or SNAPSHOT, and with SPEX_SITE_NAMED another 0 and the name:
     * string literals as in the source, or the arguments of BEGIN, of which a word is the first. */
    int64_t file_offset;
};

/* A bit of type_number: the probe has a name in the place of an id. */
#define SPEX_SITE_NAMED 0x80

/* The detail of a SPAN's END. */
#define SPEX_SPAN_ENDS 1

/* A type as one byte: 1 + the number of its bit; 0 for no type. */
#define SPEX_TYPE_NUMBER_(type) ((type) != 0 ? __builtin_ctz(type) + 1 : 0)

SPEX_INLINE uint32_t spex_site_type_(const struct spex_site *site) {
    unsigned number = site->type_number & ~SPEX_SITE_NAMED & 0xff;
    return number ? 1u << (number - 1) : 0;
}

/* `control` and `index` as one word, which one load reads: `control` is the low half, because all
 * supported architectures are little-endian. */
typedef uint64_t __attribute__((__may_alias__)) spex_site_head;

SPEX_INLINE const spex_site_head *spex_site_head_(const struct spex_site *site) {
#ifdef __cplusplus
    return reinterpret_cast<const spex_site_head *>(site);
#else
    return (const spex_site_head *)site;
#endif
}

#define SPEX_LOW_(word) SPEX_CAST_(uint32_t, word)

/* Bytes of a name, with the 0 at its end. */
#define SPEX_NAME_BYTES 62

/* SPEX_PROBE_NAME(7, "query"): the probes with id 7 in this object are called "query".
 * SPEX_PROVIDER("db"): an entry with id 0 and the name "/db". */
#define SPEX_PROVIDER_MARK "/"

struct spex_probe_name {
    uint16_t probe_id;
    char name[SPEX_NAME_BYTES];
};

/* The control word:
 *
 *     31        25  24  23                     0
 *     │ generation │ 0 │ how to sample          │
 *
 *     how to sample   1 to SPEX_CONTROL_PERIOD_MAX  a record for each so many executions
 *                     SPEX_CONTROL_COUNTDOWN        the library decides, by a countdown of its own
 *                     0                             no records; threads publish that they execute
 *                                                   the probe (polling)
 *
 * The generation changes when the site is switched on and when threads have to begin a new
 * countdown, so that no thread continues an old count. There are 127; then they begin again. Bit 24
 * is 0 here: in a thread's count it keeps a count that exceeds its period apart from the next
 * generation, or makes the next execution call the library. A count with that bit is as near to the
 * next generation as one is to its own that has still to reach its period, unless the next one is of
 * countdowns. So of four generations the second is of other counts, the third of countdowns. */
#define SPEX_CONTROL_PERIOD_MAX       0x00fffffeu
#define SPEX_CONTROL_COUNTDOWN        0x00ffffffu
#define SPEX_CONTROL_PERIOD_MASK      0x00ffffffu
#define SPEX_CONTROL_GENERATION_MASK  0xfe000000u
#define SPEX_CONTROL_GENERATION_SHIFT 25
#define SPEX_CONTROL_GENERATIONS      127u /* 1 to so many */

/* What a command writes to the sites of a dormant program, whose next execution of one calls the
 * library: the control word of a polled site, of a generation that no polled site has. */
#define SPEX_CONTROL_CALLED (SPEX_CONTROL_GENERATIONS << SPEX_CONTROL_GENERATION_SHIFT)

SPEX_EXTERN_C_BEGIN

/* This thread's counts, by site index: the executions since the last record in the low 24 bits, the
 * generation that they belong to above. Until the thread first executes a site that is on, the
 * array is one of zeros, which nobody writes. */
SPEX_PROBE_API extern __thread uint32_t *spex_executed
    __attribute__((__tls_model__("initial-exec")));

/* Registers the sites and names of an object, a program or shared library, and removes them again.
 * Called by the constructor and destructor of spex/detail/module.h. A second call for the same
 * object does nothing. Any thread; takes a lock; not for signal handlers. */
SPEX_PROBE_API void spex_module_register(struct spex_site *sites, struct spex_site *sites_end,
                                         const struct spex_probe_name *names,
                                         const struct spex_probe_name *names_end);
SPEX_PROBE_API void spex_module_unregister(struct spex_site *sites);

SPEX_EXTERN_C_END

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
