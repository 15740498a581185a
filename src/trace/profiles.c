/* SPDX-License-Identifier: MIT */
#include "trace/profiles.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <spex/ticks.h>

#include "base/memory/memory.h"
#include "trace/journal.h"
#include "wire/control_format.h"
#include "wire/entry.h"

/* The part of the bounded room, 1/JOURNAL_SHARE, in which profiles are noted as often as they come;
 * in the next one half as often, and so on. */
enum { JOURNAL_SHARE = 16 };

static bool is_due(struct spex_trace_profiles *profiles, uint64_t keep, uint64_t taken) {
    uint64_t part = keep / JOURNAL_SHARE, parts = part ? taken / part : 0;
    unsigned every = parts < 16 ? 1u << parts : UINT32_MAX;
    if (++profiles->left_out < every)
        return false;
    profiles->left_out = 0;
    return true;
}

/* When the process made the profile, as it says itself; 0: it does not say. */
static uint64_t made_ticks(const char *frames, size_t bytes) {
    struct spex_control_frame head;
    struct spex_profile_process process;
    if (bytes < sizeof(head))
        return 0;
    memcpy(&head, frames, sizeof(head));
    if (head.magic != SPEX_CONTROL_MAGIC || head.kind != SPEX_CONTROL_PROCESS || head.count != 1 ||
        head.entry_bytes > bytes - sizeof(head))
        return 0;
    spex_entry_copy(&process, sizeof(process), frames + sizeof(head), head.entry_bytes);
    return process.made_ticks;
}

/* A profile arrives later than it was made. A time that cannot be true is that of its arrival. */
static void made_note(struct spex_trace_profiles *profiles, const void *frames, size_t bytes) {
    uint64_t made = made_ticks(frames, bytes), now = spex_ticks();
    profiles->newest_ticks = made > profiles->newest_ticks && made <= now ? made : now;
}

/* Without memory there is no newest one. */
static void last_keep(struct spex_trace_profiles *profiles, const void *frames, size_t bytes) {
    char *last = spex_realloc(profiles->last, bytes);
    profiles->last_bytes = 0;
    if (!last)
        return;
    memcpy(last, frames, bytes);
    profiles->last = last;
    profiles->last_bytes = bytes;
}

void spex_trace_profiles_keep(struct spex_trace_profiles *profiles, const void *frames,
                              size_t bytes) {
    made_note(profiles, frames, bytes);
    last_keep(profiles, frames, bytes);
}

int spex_trace_profiles_add(struct spex_trace_profiles *profiles, struct spex_trace_disk *disk,
                            struct spex_trace_file *journal, const void *frames, size_t bytes) {
    made_note(profiles, frames, bytes);
    if (!is_due(profiles, disk->keep, journal->bytes)) {
        last_keep(profiles, frames, bytes);
        return 0;
    }
    profiles->last_bytes = 0;
    int err = spex_journal_append_bytes(disk, journal, SPEX_JOURNAL_PROFILE, profiles->newest_ticks,
                                        frames, bytes);
    if (err)
        last_keep(profiles, frames, bytes);
    return err ? err : 1;
}

int spex_trace_profiles_end(struct spex_trace_profiles *profiles, struct spex_trace_disk *disk,
                            struct spex_trace_file *journal) {
    size_t bytes = profiles->last_bytes;
    profiles->last_bytes = 0;
    return bytes ? spex_journal_append_bytes(disk, journal, SPEX_JOURNAL_PROFILE,
                                             profiles->newest_ticks, profiles->last, bytes)
                 : 0;
}

void spex_trace_profiles_free(struct spex_trace_profiles *profiles) {
    spex_free(profiles->last);
}
