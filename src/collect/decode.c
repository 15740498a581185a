/* SPDX-License-Identifier: MIT */
/* Runs in collectors. Each ring has one reader at a time, so its account of losses needs no lock. A
 * ring counts its losses but not where they happened. So the losses found at a read are shared out
 * over the records that were in the ring then, as these lie next to the losses. */
#include "collect/decode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory/memory.h"
#include "ring/record_unpack.h"
#include "ring/rings.h"
#include "site/registry.h"

/* The account of losses of a ring, kept by its reader. */
struct ring_loss {
    /* Records lost until the last read. */
    uint64_t lost;
    /* Lost records that have not been shared out yet. */
    uint64_t owed;
    /* How many records to come share them: those that were in the ring at the last loss. */
    uint64_t over;
};

/* One of each ring. Lives as long as the rings, whose counts go on when collectors start again. */
static struct ring_loss *losses;

int spex_decode_prepare(void) {
    if (!losses)
        losses = spex_calloc(spex_rings_count(), sizeof(*losses));
    return losses ? 0 : -ENOMEM;
}

void spex_decode_fork_child(void) {
    spex_free(losses);
    losses = NULL;
}

/* The number of lost records that the `count` records just read stand for in addition to
 * themselves: their share of the losses. *gap: records were lost since the last read. */
static uint32_t share_of_losses(const struct spex_ring *from, unsigned ring, size_t count,
                                uint8_t *gap) {
    struct ring_loss *loss = &losses[ring];
    struct spex_ring_counts counts = spex_ring_count(from);
    *gap = counts.lost > loss->lost;
    if (*gap) {
        loss->owed += counts.lost - loss->lost;
        loss->over = count + counts.pending;
        loss->lost = counts.lost;
    }
    if (!loss->owed)
        return 0;
    uint64_t share = loss->over > count
                         ? (uint64_t)((double)loss->owed * (double)count / (double)loss->over)
                         : loss->owed;
    if (share > UINT32_MAX)
        share = UINT32_MAX;
    loss->owed -= share;
    loss->over = loss->over > count ? loss->over - count : 0;
    return (uint32_t)share;
}

static struct spex_packed_probe probe_of(uint32_t site) {
    const struct spex_site_info *info = spex_site_info(site);
    return (struct spex_packed_probe){info->probe_id, info->values, info->probe_type, info->kinds};
}

/* Where sites alternate, what is known of the site of so many records later is asked for. */
enum { AHEAD = 4 };

/* The records of a ring have the CPU of the ring; those of the shared ring have it in their last
 * word. */
size_t spex_decode_ring(unsigned ring, struct spex_record *records, size_t max, uint64_t *scratch) {
    struct spex_ring from = spex_rings_at(&spex_rings, ring);
    size_t count = spex_ring_read(&from, scratch, max);
    unsigned cpu = ring / SPEX_PROBE_TYPES;
    bool shared = cpu == spex_rings.cpus;
    spex_sites_count(); /* S1: the infos of all sites whose records we have just read */
    struct spex_packed_kind kind = {.first = 0};
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t *words = scratch + i * from.record_words;
        if (words[1] != last && i + AHEAD < count)
            __builtin_prefetch(
                &spex_site_info(spex_packed_site(words[AHEAD * from.record_words + 1]))->probe_id);
        if (words[1] != last || shared || i == 0)
            kind = spex_packed_kind(words[1], shared ? (unsigned)words[from.record_words - 1] : cpu,
                                    spex_rings_thread_id(&spex_rings, spex_packed_thread(words[1])),
                                    probe_of(spex_packed_site(words[1])));
        last = words[1];
        spex_record_unpack(words, &kind, &records[i]);
    }
    if (count)
        records[0].lost = share_of_losses(&from, ring, count, &records[0].gap);
    return count;
}
