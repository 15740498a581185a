/* SPDX-License-Identifier: MIT */
/* The events that the program sets for PERFCNTR probes: by code or by libpfm4's name. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>

#include <spex/probe.h>

#include "base/lock.h"
#include "base/process.h"
#include "base/uninterrupted.h"
#include "counters/prepare.h"
#include "text/message.h"

#if defined(__x86_64__)

#define EVENT_LOW_BITS 8
#define MASK_BITS      24

/* Greatest event number: 12 bits on AMD, 8 elsewhere. */
static uint64_t event_max(void) {
    return spex_processor_here().vendor == SPEX_VENDOR_AMD ? 0xfff : 0xff;
}

/* Bits 11:8 of the event select are at 35:32: AMD64 Architecture Programmer's Manual, volume 2,
 * PERF_CTL. */
static uint64_t raw_config(uint64_t event, uint64_t mask) {
    return (event & 0xff) | mask << EVENT_LOW_BITS | (event >> EVENT_LOW_BITS) << 32;
}

static bool raw_valid(uint64_t event, uint64_t mask) {
    return event <= event_max() && !(mask >> MASK_BITS);
}

#else

static uint64_t raw_config(uint64_t event, uint64_t mask) {
    (void)mask;
    return event;
}

static bool raw_valid(uint64_t event, uint64_t mask) {
    return event <= 0xffff && !mask;
}

#endif

/* Whether there is a counter of this number; says so if not. */
static bool pcid_valid(unsigned pcid) {
    if (pcid < SPEX_PERFCNTRS)
        return true;
    spex_message("performance counter %u: a number of 0 to %d was expected", pcid,
                 SPEX_PERFCNTRS - 1);
    return false;
}

/* A number that the processor has no code for is refused here: raw_config() would drop its bits. */
static int set_code(unsigned pcid, uint64_t event, uint64_t mask) {
    if (!pcid_valid(pcid))
        return -EINVAL;
    if (!raw_valid(event, mask)) {
        spex_message(
            "performance counter %u: this processor has no code of event %#llx, mask %#llx", pcid,
            (unsigned long long)event, (unsigned long long)mask);
        return -EINVAL;
    }
    struct spex_choice choice = {
        .events = 1,
        .codes = {{.type = PERF_TYPE_RAW, .config = raw_config(event, mask)}},
    };
    snprintf(choice.text, sizeof(choice.text), "raw event %#llx, mask %#llx",
             (unsigned long long)event, (unsigned long long)mask);
    return spex_perfcntr_replace(pcid, &choice);
}

/* Takes the lock for libpfm4 alone; spex_perfcntr_replace() takes it again. */
static int set_name(unsigned pcid, const char *name) {
    if (!pcid_valid(pcid))
        return -EINVAL;
    struct spex_choice choice = {.events = 1};
    const char *why = "no name";
    struct spex_pfm pfm;
    int err = name ? spex_pfm_load(&pfm, &why) : -EINVAL;
    if (!err) {
        spex_lock_take(spex_counters_lock());
        err = spex_name_encode(&pfm, name, &choice.codes[0], &why);
        spex_lock_give(spex_counters_lock());
    }
    if (err) {
        spex_message("performance counter %u: %s: %s (libpfm4)", pcid, name ? name : "", why);
        return -EINVAL;
    }
    snprintf(choice.text, sizeof(choice.text), "%s", name);
    return spex_perfcntr_replace(pcid, &choice);
}

int spex_perfcntr_set(unsigned pcid, uint64_t event, uint64_t mask) {
    struct spex_uninterrupted before;
    if (spex_process_is_unknown())
        return -ENOTRECOVERABLE;
    spex_uninterrupted_begin(&before);
    int err = set_code(pcid, event, mask);
    spex_uninterrupted_end(&before);
    return err;
}

int spex_perfcntr_set_name(unsigned pcid, const char *name) {
    struct spex_uninterrupted before;
    if (spex_process_is_unknown())
        return -ENOTRECOVERABLE;
    spex_uninterrupted_begin(&before);
    int err = set_name(pcid, name);
    spex_uninterrupted_end(&before);
    return err;
}
