/* SPDX-License-Identifier: MIT */
/* The events that count references to and misses of the last-level cache.
 *
 * Intel's LONGEST_LAT_CACHE is that event. AMD's cores count no L3 events of their own. Misses of
 * the L3 are counted there as fills of the L1 data cache from memory or from another cache complex;
 * references are these and fills from the own complex's L3, without fills from the own L2. The
 * kernel's generic cache events are of the last level on Intel only: on AMD they are of the L2, on
 * Arm of the L1. */
#include <linux/perf_event.h>
#include <stdio.h>

#include "counters/prepare.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Processors whose events are known by code: the masks are those of Intel's and AMD's manuals, and
 * of libpfm4's tables. A candidate is for models from `model` on; the first that fits is used. */
static const struct known_processor {
    bool intel;
    uint32_t family, model;
    const char *event;
    uint64_t references, misses;
} known_processors[] = {
    {true, 6, 0, "LONGEST_LAT_CACHE", 0x4f2e, 0x412e},
    /* Zen 5 has the masks of Zen 4 (PMCx044, LsAnyFillsFromSys). */
    {false, 0x1a, 0, "LsAnyFillsFromSys", 0xde44, 0xdc44},
    {false, 0x19, 0xa0, "ANY_DATA_CACHE_FILLS_FROM_SYSTEM", 0xde44, 0xdc44}, /* Zen 4 */
    {false, 0x19, 0x60, "ANY_DATA_CACHE_FILLS_FROM_SYSTEM", 0xde44, 0xdc44}, /* Zen 4 */
    {false, 0x19, 0x20, "ANY_DATA_CACHE_FILLS_FROM_SYSTEM", 0x5e44, 0x5c44}, /* Zen 3 */
    {false, 0x19, 0x10, "ANY_DATA_CACHE_FILLS_FROM_SYSTEM", 0xde44, 0xdc44}, /* Zen 4 */
    {false, 0x19, 0x00, "ANY_DATA_CACHE_FILLS_FROM_SYSTEM", 0x5e44, 0x5c44}, /* Zen 3 */
    /* Zen 2: demand fills only; a cache of another complex on the same node counts as the own
     * L3. */
    {false, 0x17, 0x30, "DATA_CACHE_REFILLS_FROM_SYSTEM", 0x5a43, 0x5843},
};

enum { KNOWN = sizeof(known_processors) / sizeof(known_processors[0]) };

/* The vendor by the first 4 of the 12 letters of its name. */
static enum spex_vendor vendor_here(void) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    __get_cpuid(0, &eax, &ebx, &ecx, &edx);
    return ebx == signature_INTEL_ebx ? SPEX_VENDOR_INTEL
           : ebx == signature_AMD_ebx ? SPEX_VENDOR_AMD
                                      : SPEX_VENDOR_OTHER;
}

/* Not by __builtin_cpu_is: that brings a constructor into each program, which asks the processor
 * some fifteen times. In a virtual machine each of them takes microseconds. */
struct spex_processor spex_processor_here(void) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    struct spex_processor here = {.vendor = SPEX_VENDOR_OTHER};
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return here;
    here.vendor = vendor_here();
    here.family = (eax >> 8 & 15) + ((eax >> 8 & 15) == 15 ? eax >> 20 & 255 : 0);
    here.model = (eax >> 4 & 15) | (eax >> 12 & 0xf0);
    return here;
}

static bool processor_is(const struct known_processor *known,
                         const struct spex_processor *processor) {
    return processor->vendor == (known->intel ? SPEX_VENDOR_INTEL : SPEX_VENDOR_AMD) &&
           processor->family == known->family && processor->model >= known->model;
}

static bool choose_known(const struct spex_processor *processor, struct spex_choice *choice) {
    for (const struct known_processor *known = known_processors; known < known_processors + KNOWN;
         known++) {
        if (!processor_is(known, processor))
            continue;
        *choice =
            (struct spex_choice){.events = 2,
                                 .codes = {{.type = PERF_TYPE_RAW, .config = known->references},
                                           {.type = PERF_TYPE_RAW, .config = known->misses}}};
        snprintf(choice->text, sizeof(choice->text), "%s (references %#llx, misses %#llx)",
                 known->event, (unsigned long long)known->references,
                 (unsigned long long)known->misses);
        return true;
    }
    return false;
}

static bool choose_generic(const struct spex_processor *processor, struct spex_choice *choice) {
    if (processor->vendor != SPEX_VENDOR_INTEL)
        return false;
    *choice = (struct spex_choice){
        .events = 2,
        .codes = {{.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CACHE_REFERENCES},
                  {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CACHE_MISSES}}};
    snprintf(choice->text, sizeof(choice->text),
             "the kernel's PERF_COUNT_HW_CACHE_REFERENCES and _MISSES");
    return true;
}

#else

#define CACHE_READ(result)                                                                         \
    (PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_READ << 8 | (result) << 16)

struct spex_processor spex_processor_here(void) {
    return (struct spex_processor){.vendor = SPEX_VENDOR_OTHER};
}

static bool choose_known(const struct spex_processor *processor, struct spex_choice *choice) {
    (void)processor;
    (void)choice;
    return false;
}

static bool choose_generic(const struct spex_processor *processor, struct spex_choice *choice) {
    (void)processor;
    *choice = (struct spex_choice){
        .events = 2,
        .codes = {
            {.type = PERF_TYPE_HW_CACHE, .config = CACHE_READ(PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
            {.type = PERF_TYPE_HW_CACHE, .config = CACHE_READ(PERF_COUNT_HW_CACHE_RESULT_MISS)}}};
    snprintf(choice->text, sizeof(choice->text),
             "the kernel's PERF_COUNT_HW_CACHE_LL, reads and misses of reads");
    return true;
}

#endif

bool spex_llc_next(const struct spex_processor *processor, unsigned *position,
                   struct spex_choice *choice) {
    if (*position == 0) {
        *position = 1;
        if (choose_known(processor, choice))
            return true;
    }
    return (*position)++ == 1 && choose_generic(processor, choice);
}
