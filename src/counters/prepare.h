/* SPDX-License-Identifier: MIT */
/* What the files that prepare counters share: candidates for an event, and the choice of one. */
#ifndef SPEX_COUNTERS_PREPARE_H
#define SPEX_COUNTERS_PREPARE_H

#include "counters/plan.h"

/* A candidate: the codes of its events, and a text that names them. */
struct spex_choice {
    uint32_t events;
    struct spex_event_code codes[2];
    char text[160];
};

enum spex_vendor { SPEX_VENDOR_OTHER, SPEX_VENDOR_INTEL, SPEX_VENDOR_AMD };

/* A processor, with family and model as its manuals count them. */
struct spex_processor {
    enum spex_vendor vendor;
    uint32_t family, model;
};

/* The processor that this runs on. Only those of x86-64 are told apart. */
struct spex_processor spex_processor_here(void);

/* The next candidate for references to and misses of the last-level cache on this processor, best
 * first. `*position` is 0 at first. False: there are no more. */
bool spex_llc_next(const struct spex_processor *processor, unsigned *position,
                   struct spex_choice *choice);

/* The functions of libpfm4, which is loaded when the first event is named: its tables would take
 * every program with spex a millisecond to load. */
struct spex_pfm {
    void (*initialize)(void);
    void (*encode)(void);
    void (*error_text)(void);
};

/* Finds libpfm4 in the program, or loads it. The caller holds no lock of spex: a constructor of
 * another library may hold the loader's lock and register sites. 0; or -ENOENT with the reason in
 * *why, which lasts until the next call of the loader. */
int spex_pfm_load(struct spex_pfm *pfm, const char **why);

/* Encodes a libpfm4 name. 0, or -ENOENT with the reason in `*why`, a constant text. The caller
 * holds spex_counters_lock. */
int spex_name_encode(const struct spex_pfm *pfm, const char *name, struct spex_event_code *code,
                     const char **why);

/* Sets the event of a PERFCNTR. If the counter has been prepared for another event, prepares it
 * again. */
int spex_perfcntr_replace(unsigned pcid, const struct spex_choice *choice);

#endif
