/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "probe/open_spans.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <spex/atomic.h>
#include <spex/record.h>
#include <spex/ticks.h>

#include "site/registry.h"

/* The next version of a tag is so much higher. */
#define VERSION_ONE UINT64_C(4)

/* A span that is older than a minute may have been left without its END. */
#define OLD_NS 60000000000u

/* Bytes of the largest page of a system. */
enum { PAGE_MOST = 65536 };

_Static_assert((int)SPEX_SPAN_BUCKETS *SPEX_SPAN_SLOTS == SPEX_SPANS_OPEN, "as programs are told");

struct spex_open_spans spex_open_spans;

static uint32_t bucket_first(const struct spex_open_spans *spans, uint64_t hash) {
    return (uint32_t)hash & spans->mask;
}

/* Another one, by other bits: keys that share the first bucket are spread over all. */
static uint32_t bucket_second(const struct spex_open_spans *spans, uint64_t hash) {
    uint32_t first = bucket_first(spans, hash);
    uint32_t other = (uint32_t)(hash * UINT64_C(0xff51afd7ed558ccd) >> 40) & spans->mask;
    return other == first ? first ^ 1 : other;
}

static void hashed_add(const struct spex_open_spans *spans, uint64_t hash, uint16_t spans_more) {
    spex_fetch_add_relaxed(&spans->hashed[bucket_first(spans, hash)], spans_more);
}

/* `span` is gone. */
static void hashed_subtract(const struct spex_open_spans *spans,
                            const struct spex_open_span *span) {
    hashed_add(spans, spex_span_hash(span->probe, span->key), UINT16_MAX);
}

static struct spex_open_span *slot_at(const struct spex_open_spans *spans, uint32_t bucket,
                                      unsigned s) {
    return &spans->buckets[bucket].slots[s];
}

/* Relaxed: a tag's change tells whether the copy is whole. */
static struct spex_open_span slot_load(const struct spex_open_span *slot) {
    return (struct spex_open_span){.key = spex_load_relaxed(&slot->key),
                                   .begin = spex_load_relaxed(&slot->begin),
                                   .header = spex_load_relaxed(&slot->header),
                                   .switched = spex_load_relaxed(&slot->switched),
                                   .probe = spex_load_relaxed(&slot->probe)};
}

/* Returns the slots of the bucket whose tags are those of an open span with this hash, as a mask.
 * Relaxed: who uses a slot reads its tag again. Without branches, because mostly there is none. */
static unsigned bucket_matches(const struct spex_span_bucket *bucket, uint64_t hash) {
    uint64_t wanted = (hash & SPEX_SPAN_HASH) | SPEX_SPAN_OPEN;
    unsigned found = 0;
    for (unsigned s = 0; s < SPEX_SPAN_SLOTS; s++)
        found |= (unsigned)((spex_load_relaxed(&bucket->tags[s]) & ~SPEX_SPAN_VERSION) == wanted)
                 << s;
    return found;
}

/* Takes the span out of one bucket; returns as spex_open_spans_take. */
static uint64_t bucket_take(struct spex_open_spans *spans, uint32_t bucket, uint64_t hash,
                            uint32_t probe, uint64_t key, struct spex_open_span *span) {
    unsigned found = bucket_matches(&spans->buckets[bucket], hash);
    for (; found; found &= found - 1) {
        unsigned s = (unsigned)__builtin_ctz(found);
        uint64_t *at = &spans->buckets[bucket].tags[s];
        uint64_t tag = spex_load_acquire(at); /* G2 (G1): the slot */
        if ((tag & SPEX_SPAN_STATE) != SPEX_SPAN_OPEN)
            continue;
        *span = slot_load(slot_at(spans, bucket, s));
        if (span->key != key || span->probe != probe)
            continue;
        uint64_t now = spex_ticks();
        if (spex_cas_acq_rel(at, &tag, tag & SPEX_SPAN_VERSION)) /* G3 (G4): the slot is read */
            return now;
    }
    return 0;
}

uint64_t spex_open_spans_take(struct spex_open_spans *spans, uint32_t probe, uint64_t key,
                              struct spex_open_span *span) {
    uint64_t hash = spex_span_hash(probe, key);
    if (!spex_open_spans_may_have(spans, hash))
        return 0;
    uint64_t now = bucket_take(spans, bucket_first(spans, hash), hash, probe, key, span);
    if (!now)
        now = bucket_take(spans, bucket_second(spans, hash), hash, probe, key, span);
    if (now)
        hashed_subtract(spans, span);
    return now;
}

/* Claims the slot if its tag is still `tag`; returns the tag of the open span, 0: it is not. */
static uint64_t slot_claim(uint64_t *at, uint64_t tag, uint64_t hash) {
    uint64_t next = (hash & SPEX_SPAN_HASH) | ((tag + VERSION_ONE) & SPEX_SPAN_VERSION);
    if (!spex_cas_acq_rel(at, &tag, next | SPEX_SPAN_CLAIMED)) /* G4 (G3): read by then */
        return 0;
    return next | SPEX_SPAN_OPEN;
}

/* Fills in a slot that has been claimed, and publishes it. */
static void slot_fill(struct spex_open_span *slot, uint64_t *at, uint64_t tag,
                      struct spex_open_span *span) {
    spex_store_relaxed(&slot->key, span->key);
    spex_store_relaxed(&slot->header, span->header);
    spex_store_relaxed(&slot->switched, span->switched);
    spex_store_relaxed(&slot->probe, span->probe);
    span->begin = spex_ticks();
    spex_store_relaxed(&slot->begin, span->begin);
    spex_store_release(at, tag); /* G1 (G2): the slot */
}

/* Sequentially consistent (S): a put that finds its bit set has claimed its slot before, which a
 * count that takes the bit then sees. */
static void bit_set(uint64_t *bits, uint32_t bucket) {
    uint64_t *word = &bits[bucket / 64], bit = UINT64_C(1) << bucket % 64;
    if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & bit))
        __atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
}

static bool bucket_put(struct spex_open_spans *spans, uint32_t bucket, uint64_t hash,
                       struct spex_open_span *span) {
    for (unsigned s = 0; s < SPEX_SPAN_SLOTS; s++) {
        uint64_t *at = &spans->buckets[bucket].tags[s], tag = spex_load_relaxed(at);
        bool is_free = (tag & SPEX_SPAN_STATE) == SPEX_SPAN_FREE;
        uint64_t claimed = is_free ? slot_claim(at, tag, hash) : 0;
        if (claimed) {
            bit_set(spans->filled, bucket);
            slot_fill(slot_at(spans, bucket, s), at, claimed, span);
            return true;
        }
    }
    return false;
}

bool spex_open_span_counts(const struct spex_open_span *span) {
    return spex_load_relaxed(&spex_site_switched[spex_packed_site(span->header)]) == span->switched;
}

/* Returns the ticks before which a span is old. Called where there is no room. */
static uint64_t old_before(const struct spex_open_spans *spans) {
    struct spex_instant now = {.ticks = spex_ticks(),
                               .monotonic_ns = spex_clock_ns(CLOCK_MONOTONIC_RAW)};
    uint64_t ns = now.monotonic_ns - spans->since.monotonic_ns;
    if (ns < spans->old_ns)
        return 0;
    double since = (double)(now.ticks - spans->since.ticks);
    return now.ticks - (uint64_t)(since * ((double)spans->old_ns / (double)(ns ? ns : 1)));
}

/* A slot that may be used again, by the tag that was read with it. */
struct candidate {
    uint32_t bucket;
    unsigned slot;
    uint64_t tag;
    struct spex_open_span span;
    bool found, stale;
};

/* Looks for a better candidate in a bucket: one that makes no record any more, or else the oldest
 * that began before `old`. */
static void bucket_search(const struct spex_open_spans *spans, uint32_t bucket, uint64_t old,
                          struct candidate *best) {
    for (unsigned s = 0; s < SPEX_SPAN_SLOTS && !best->stale; s++) {
        uint64_t tag = spex_load_acquire(&spans->buckets[bucket].tags[s]); /* G2 (G1): the slot */
        if ((tag & SPEX_SPAN_STATE) != SPEX_SPAN_OPEN)
            continue;
        struct spex_open_span span = slot_load(slot_at(spans, bucket, s));
        bool stale = !spex_open_span_counts(&span);
        bool older = span.begin < old && (!best->found || span.begin < best->span.begin);
        if (stale || older)
            *best = (struct candidate){bucket, s, tag, span, true, stale};
    }
}

static void candidate_gone(struct spex_open_spans *spans, const struct candidate *gone) {
    hashed_subtract(spans, &gone->span);
    if (gone->stale)
        return;
    spex_fetch_add_relaxed(&spans->counts[spex_packed_site(gone->span.header)].abandoned, 1);
    spex_open_spans_leave(spans, gone->span.probe);
}

/* Puts the span in the place of another one, if there is one that may go. */
static bool put_instead(struct spex_open_spans *spans, uint64_t hash, struct spex_open_span *span) {
    struct candidate best = {.found = false};
    uint64_t old = old_before(spans);
    bucket_search(spans, bucket_first(spans, hash), old, &best);
    bucket_search(spans, bucket_second(spans, hash), old, &best);
    if (!best.found)
        return false;
    uint64_t *at = &spans->buckets[best.bucket].tags[best.slot];
    uint64_t claimed = slot_claim(at, best.tag, hash);
    if (!claimed)
        return false;
    candidate_gone(spans, &best);
    bit_set(spans->filled, best.bucket);
    slot_fill(slot_at(spans, best.bucket, best.slot), at, claimed, span);
    return true;
}

static unsigned bucket_used(const struct spex_span_bucket *bucket) {
    unsigned used = 0;
    for (unsigned s = 0; s < SPEX_SPAN_SLOTS; s++)
        used += (spex_load_relaxed(&bucket->tags[s]) & SPEX_SPAN_STATE) != SPEX_SPAN_FREE;
    return used;
}

/* Up to so many spans of a bucket its keys need not look at their second one. */
enum { FEW = 4 };

/* The bucket that is tried first: the second one, if the first is fuller. */
static uint32_t bucket_wanted(const struct spex_open_spans *spans, uint64_t hash) {
    uint32_t first = bucket_first(spans, hash), second = bucket_second(spans, hash);
    unsigned used = bucket_used(&spans->buckets[first]);
    return used > FEW && bucket_used(&spans->buckets[second]) < used ? second : first;
}

bool spex_open_spans_put(struct spex_open_spans *spans, struct spex_open_span *span) {
    if (!spans->buckets)
        return false;
    uint64_t hash = spex_span_hash(span->probe, span->key);
    uint32_t wanted = bucket_wanted(spans, hash);
    hashed_add(spans, hash, 1); /* first, so that its END looks for it */
    if (bucket_put(spans, wanted, hash, span) ||
        bucket_put(spans, bucket_first(spans, hash) ^ bucket_second(spans, hash) ^ wanted, hash,
                   span) ||
        put_instead(spans, hash, span))
        return true;
    hashed_subtract(spans, span);
    spex_fetch_add_relaxed(&spans->counts[spex_packed_site(span->header)].refused, 1);
    spex_open_spans_leave(spans, span->probe);
    return false;
}

/* Ends a span that makes no record any more, as its probe has been off: else it would be looked for
 * until its key comes again. Its END is none without a BEGIN. */
static bool span_expire(const struct spex_open_spans *spans, uint64_t *at, uint64_t tag,
                        const struct spex_open_span *span) {
    spex_open_spans_leave(spans, span->probe);
    if (!spex_cas_acq_rel(at, &tag, tag & SPEX_SPAN_VERSION)) /* G3 (G4): the slot is read */
        return false;
    hashed_subtract(spans, span);
    return true;
}

/* Adds a span that is open to those of its probe, or ends it; false: it has ended. */
static bool span_count(const struct spex_open_spans *spans, uint64_t *at, uint64_t tag,
                       const struct spex_open_span *span) {
    uint32_t site = spex_packed_site(span->header);
    if (spex_load_relaxed(&spex_site_switched[site]) - span->switched > 1)
        return !span_expire(spans, at, tag, span);
    spans->open[spex_site_info(site)->probe]++;
    return true;
}

/* A slot that is changed meanwhile counts or not. Returns whether there is one that is not free. */
static bool bucket_count(const struct spex_open_spans *spans, uint32_t bucket) {
    bool any = false;
    for (unsigned s = 0; s < SPEX_SPAN_SLOTS; s++) {
        uint64_t *at = &spans->buckets[bucket].tags[s];
        uint64_t tag = spex_load_acquire(at); /* G2 (G1): the slot */
        bool is_used = (tag & SPEX_SPAN_STATE) != SPEX_SPAN_FREE;
        if ((tag & SPEX_SPAN_STATE) == SPEX_SPAN_OPEN) {
            struct spex_open_span span = slot_load(slot_at(spans, bucket, s));
            is_used = span_count(spans, at, tag, &span);
        }
        any |= is_used;
    }
    return any;
}

/* The bits are taken before the buckets are read (S). What is put meanwhile is counted here, or sets
 * its bit. */
static void word_count(const struct spex_open_spans *spans, uint32_t word) {
    uint64_t bits = spex_load_relaxed(&spans->filled[word]);
    if (bits)
        bits = __atomic_exchange_n(&spans->filled[word], 0, __ATOMIC_SEQ_CST);
    for (; bits; bits &= bits - 1) {
        uint32_t bucket = word * 64 + (uint32_t)__builtin_ctzll(bits);
        if (bucket_count(spans, bucket))
            bit_set(spans->filled, bucket);
    }
}

void spex_open_spans_count(struct spex_open_spans *spans) {
    if (!spans->buckets)
        return;
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        if (spex_site_info(i)->probe_type == SPEX_SPAN)
            spans->open[i] = 0;
    for (uint32_t word = 0; word <= spans->mask / 64; word++)
        word_count(spans, word);
}

struct spex_span_sums spex_open_spans_sums(const struct spex_open_spans *spans, uint32_t first) {
    struct spex_span_sums sums = {.open = 0};
    if (!spans->buckets)
        return sums;
    for (uint32_t i = first; i != SPEX_MAX_SITES; i = spex_probe_next_site(i)) {
        sums.counts.refused += spex_load_relaxed(&spans->counts[i].refused);
        sums.counts.abandoned += spex_load_relaxed(&spans->counts[i].abandoned);
        sums.counts.unmatched += spex_load_relaxed(&spans->counts[i].unmatched);
    }
    sums.partial = spex_load_relaxed(&spans->partial[spex_site_info(first)->probe_id]);
    sums.open = spans->open[first];
    return sums;
}

/* The parts lie one behind the other: buckets, counts, `open`, `partial`, `filled`, `hashed`. */
int spex_open_spans_map(struct spex_open_spans *spans, uint32_t buckets) {
    size_t counts_at = buckets * sizeof(struct spex_span_bucket);
    size_t open_at = counts_at + (SPEX_MAX_SITES + 1) * sizeof(struct spex_span_counts);
    size_t partial_at = open_at + (SPEX_MAX_SITES + 1) * sizeof(uint32_t);
    size_t filled_at = partial_at + UINT16_MAX + 1;
    size_t hashed_at = filled_at + (buckets + 63) / 64 * sizeof(uint64_t);
    hashed_at += -hashed_at % PAGE_MOST; /* apart from what spex_open_spans_clear gives back */
    size_t bytes = hashed_at + buckets * sizeof(uint16_t);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
#ifdef MADV_POPULATE_WRITE
    madvise(memory, counts_at, MADV_POPULATE_WRITE);
#endif
    *spans = (struct spex_open_spans){
        .buckets = (struct spex_span_bucket *)memory,
        .counts = (struct spex_span_counts *)(memory + counts_at),
        .open = (uint32_t *)(memory + open_at),
        .partial = (uint8_t *)(memory + partial_at),
        .filled = (uint64_t *)(memory + filled_at),
        .hashed = (uint16_t *)(memory + hashed_at),
        .mask = buckets - 1,
        .bytes = bytes,
        .since = {.ticks = spex_ticks(), .monotonic_ns = spex_clock_ns(CLOCK_MONOTONIC_RAW)},
        .old_ns = OLD_NS,
    };
    return 0;
}

void spex_open_spans_unmap(struct spex_open_spans *spans) {
    munmap(spans->buckets, spans->bytes);
    spans->buckets = NULL;
}

int spex_open_spans_prepare(void) {
    return spex_open_spans.buckets ? 0 : spex_open_spans_map(&spex_open_spans, SPEX_SPAN_BUCKETS);
}

/* Ends all spans that are open in a bucket. */
static void bucket_clear(const struct spex_open_spans *spans, uint32_t bucket) {
    for (unsigned s = 0; s < SPEX_SPAN_SLOTS; s++) {
        uint64_t *at = &spans->buckets[bucket].tags[s];
        uint64_t tag = spex_load_acquire(at); /* G2 (G1): the slot */
        if ((tag & SPEX_SPAN_STATE) != SPEX_SPAN_OPEN)
            continue;
        struct spex_open_span span = slot_load(slot_at(spans, bucket, s));
        span_expire(spans, at, tag, &span);
    }
}

/* The table stays mapped, because a thread may be on its way through a probe; a span that it still
 * puts makes no record. So `hashed` goes back by the spans that are there, and keeps its memory. In a
 * program with mlockall the advice is refused. */
void spex_open_spans_clear(struct spex_open_spans *spans) {
    if (!spans->buckets)
        return;
    size_t bytes = (size_t)((char *)spans->hashed - (char *)spans->buckets);
    for (uint32_t bucket = 0; bucket <= spans->mask; bucket++)
        if (spex_load_relaxed(&spans->filled[bucket / 64]) >> bucket % 64 & 1)
            bucket_clear(spans, bucket);
    if (madvise(spans->buckets, bytes, MADV_DONTNEED) != 0)
        memset(spans->buckets, 0, bytes);
}
