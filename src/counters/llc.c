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
#endif

struct event_names {
    const char *references;
    const char *misses;
};

static const struct event_names by_name[] = {
    {"LONGEST_LAT_CACHE:REFERENCE", "LONGEST_LAT_CACHE:MISS"},
    {"LONGEST_LAT_CACHE:REFERENCES", "LONGEST_LAT_CACHE:MISS"},
    /* Zen 4 */
    {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LOCAL_CCX:NEAR_CACHE_NEAR_FAR:DRAM_IO_NEAR:"
     "FAR_CACHE_NEAR_FAR:DRAM_IO_FAR:ALT_MEM_NEAR_FAR",
     "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:NEAR_CACHE_NEAR_FAR:DRAM_IO_NEAR:FAR_CACHE_NEAR_FAR:"
     "DRAM_IO_FAR:ALT_MEM_NEAR_FAR"},
    /* Zen 3 */
    {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:INT_CACHE:EXT_CACHE_LCL:MEM_IO_LCL:EXT_CACHE_RMT:MEM_IO_RMT",
     "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:EXT_CACHE_LCL:MEM_IO_LCL:EXT_CACHE_RMT:MEM_IO_RMT"},
    /* Zen 2: demand fills only; a cache of another complex on the same node counts as the own
     * L3. */
    {"DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_CACHE:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_CACHE:"
     "LS_MABRESP_RMT_DRAM",
     "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_CACHE:LS_MABRESP_RMT_DRAM"},
};

enum { BY_NAME = sizeof(by_name) / sizeof(by_name[0]), BY_CODE = BY_NAME, CANDIDATES };

/* Chooses two events by libpfm4's names. False: they are not of this processor. */
static bool choose_by_name(const struct event_names *names, struct spex_choice *choice) {
    const char *why;
    *choice = (struct spex_choice){.events = 2};
    if (spex_name_encode(names->references, &choice->codes[0], &why) != 0 ||
        spex_name_encode(names->misses, &choice->codes[1], &why) != 0)
        return false;
    const char *masks = names->references;
    while (*masks && *masks != ':')
        masks++;
    /* References and misses are the same event with different masks, which the codes show. */
    snprintf(choice->text, sizeof(choice->text), "%.*s (references %#llx, misses %#llx)",
             (int)(masks - names->references), names->references,
             (unsigned long long)choice->codes[0].config,
             (unsigned long long)choice->codes[1].config);
    return true;
}

#if defined(__x86_64__)

/* Zen 5 before libpfm4 knew it: the masks are those of Zen 4 (PMCx044, LsAnyFillsFromSys). */
static bool choose_zen5(struct spex_choice *choice) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (eax >> 8 & 15) + (eax >> 20 & 255) != 0x1a)
        return false;
    choice->codes[0] = (struct spex_event_code){.type = PERF_TYPE_RAW, .config = 0xde44};
    choice->codes[1] = (struct spex_event_code){.type = PERF_TYPE_RAW, .config = 0xdc44};
    snprintf(choice->text, sizeof(choice->text),
             "LsAnyFillsFromSys (references 0xde44, misses 0xdc44)");
    return true;
}

/* The last candidate, where libpfm4 knows no name: codes that are known, or the kernel's generic
 * events. */
static bool choose_by_code(struct spex_choice *choice) {
    *choice = (struct spex_choice){.events = 2};
    __builtin_cpu_init();
    if (__builtin_cpu_is("amd"))
        return choose_zen5(choice);
    if (!__builtin_cpu_is("intel"))
        return false;
    choice->codes[0] = (struct spex_event_code){.type = PERF_TYPE_HARDWARE,
                                                .config = PERF_COUNT_HW_CACHE_REFERENCES};
    choice->codes[1] =
        (struct spex_event_code){.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CACHE_MISSES};
    snprintf(choice->text, sizeof(choice->text),
             "the kernel's PERF_COUNT_HW_CACHE_REFERENCES and _MISSES");
    return true;
}

#else

#define CACHE_READ(result)                                                                         \
    (PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_READ << 8 | (result) << 16)

static bool choose_by_code(struct spex_choice *choice) {
    *choice = (struct spex_choice){.events = 2};
    choice->codes[0] = (struct spex_event_code){
        .type = PERF_TYPE_HW_CACHE, .config = CACHE_READ(PERF_COUNT_HW_CACHE_RESULT_ACCESS)};
    choice->codes[1] = (struct spex_event_code){
        .type = PERF_TYPE_HW_CACHE, .config = CACHE_READ(PERF_COUNT_HW_CACHE_RESULT_MISS)};
    snprintf(choice->text, sizeof(choice->text),
             "the kernel's PERF_COUNT_HW_CACHE_LL, reads and misses of reads");
    return true;
}

#endif

/* The last candidate is the one by code; the others are in the order of the table. */
bool spex_llc_next(unsigned *position, struct spex_choice *choice) {
    while (*position < CANDIDATES) {
        unsigned candidate = (*position)++;
        if (candidate < BY_NAME ? choose_by_name(&by_name[candidate], choice)
                                : choose_by_code(choice))
            return true;
    }
    return false;
}
