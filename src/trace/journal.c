/* SPDX-License-Identifier: MIT */
#include "trace/journal.h"
#include "base/memory/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Writes a header, and two parts behind it. */
static int frame_append(struct spex_trace_disk *disk, struct spex_trace_file *journal,
                        const struct spex_journal_header *header, const void *first,
                        size_t first_bytes, const void *second, size_t second_bytes) {
    size_t size = sizeof(*header) + first_bytes + second_bytes;
    char *frame = spex_malloc(size);
    if (!frame)
        return -ENOMEM;
    memcpy(frame, header, sizeof(*header));
    memcpy(frame + sizeof(*header), first, first_bytes);
    if (second_bytes)
        memcpy(frame + sizeof(*header) + first_bytes, second, second_bytes);
    int err = spex_trace_file_append(disk, journal, frame, size);
    spex_free(frame);
    return err;
}

static struct spex_journal_header header_of(enum spex_journal_kind kind, size_t count,
                                            size_t entry_bytes) {
    return (struct spex_journal_header){.magic = SPEX_JOURNAL_MAGIC,
                                        .version = SPEX_JOURNAL_VERSION,
                                        .kind = (uint16_t)kind,
                                        .count = (uint32_t)count,
                                        .entry_bytes = (uint32_t)entry_bytes};
}

int spex_journal_append(struct spex_trace_disk *disk, struct spex_trace_file *journal,
                        enum spex_journal_kind kind, const void *entries, size_t count,
                        size_t entry_bytes) {
    struct spex_journal_header header = header_of(kind, count, entry_bytes);
    return frame_append(disk, journal, &header, entries, count * entry_bytes, NULL, 0);
}

int spex_journal_append_bytes(struct spex_trace_disk *disk, struct spex_trace_file *journal,
                              enum spex_journal_kind kind, uint64_t ticks, const void *bytes,
                              size_t count) {
    struct spex_journal_header header = header_of(kind, sizeof(ticks) + count, 1);
    return frame_append(disk, journal, &header, &ticks, sizeof(ticks), bytes, count);
}
