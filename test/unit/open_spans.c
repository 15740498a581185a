/* SPDX-License-Identifier: MIT */
/* The table of open spans alone: against a model, when it is full, and with many threads that hand
 * keys to each other. */
#include <pthread.h>

#include <spex/atomic.h>
#include <spex/ticks.h>

#include "../check.h"
#include "probe/open_spans.h"
#include "site/registry.h"

enum { BUCKETS = 16, SLOTS = BUCKETS * SPEX_SPAN_SLOTS, SITE = 5, PROBE = 7, WEIGHT = 3 };

static struct spex_open_spans spans;

static void begin(void) {
    assert_int_equal(spex_open_spans_map(&spans, BUCKETS), 0);
    spex_site_switched[SITE] = 1;
}

/* The table is as it was when it was made. */
static void end(void) {
    for (unsigned b = 0; b < BUCKETS; b++) {
        assert_int_equal(spans.hashed[b], 0);
        for (unsigned s = 0; s < SPEX_SPAN_SLOTS; s++)
            assert_int_equal(spans.buckets[b].tags[s] & SPEX_SPAN_STATE, SPEX_SPAN_FREE);
    }
    spex_open_spans_unmap(&spans);
}

static bool put(uint32_t probe, uint64_t key) {
    struct spex_open_span span = {.key = key,
                                  .header = spex_pack(WEIGHT, 0, SITE, key % 4),
                                  .switched = spex_site_switched[SITE],
                                  .probe = probe};
    return spex_open_spans_put(&spans, &span);
}

/* Whether it was open; what comes out is what was put in. */
static bool take(uint32_t probe, uint64_t key) {
    struct spex_open_span span;
    if (!spex_open_spans_take(&spans, probe, key, &span))
        return false;
    assert_int_equal(span.key, key);
    assert_int_equal(span.probe, probe);
    assert_int_equal(span.header, spex_pack(WEIGHT, 0, SITE, key % 4));
    return true;
}

/* The same of a key that nobody puts meanwhile: the quick look does not miss it either. */
static bool take_seen(uint32_t probe, uint64_t key) {
    bool may_be_open = spex_open_spans_may_have(&spans, spex_span_hash(probe, key));
    bool taken = take(probe, key);
    if (taken && !may_be_open)
        abort();
    return taken;
}

/* Keys that differ in few bits, as descriptors and addresses do, of two probes. */
static uint64_t key_at(unsigned k) {
    return k % 3 ? (uint64_t)k << (k % 3 * 6) : k;
}

TEST(it_has_what_was_put_in) {
    enum { KEYS = 150, TURNS = 200000 };
    bool open[2][KEYS] = {{false}};
    uint64_t random = 1, refused = 0;
    unsigned there = 0;
    begin();
    for (unsigned turn = 0; turn < TURNS; turn++) {
        unsigned probe = (unsigned)random_below(&random, 2);
        unsigned k = (unsigned)random_below(&random, KEYS);
        if (open[probe][k]) {
            assert_true(take_seen(PROBE + probe, key_at(k)));
            open[probe][k] = false;
            there--;
        } else if (random_below(&random, 3) != 0) {
            open[probe][k] = put(PROBE + probe, key_at(k));
            refused += !open[probe][k];
            there += open[probe][k];
        } else {
            assert_false(take_seen(PROBE + probe, key_at(k)));
        }
        assert_true(there <= SLOTS);
    }
    assert_int_equal(spans.counts[SITE].refused, refused);
    assert_true(refused > 0);
    for (unsigned k = 0; k < 2 * KEYS; k++)
        assert_int_equal(take_seen(PROBE + k / KEYS, key_at(k % KEYS)), open[k / KEYS][k % KEYS]);
    end();
}

/* Of keys with the same first bucket five stand there, and the others in many second ones, as long as
 * these are emptier. */
TEST(where_many_have_one_bucket_others_are_taken) {
    enum { KEYS = 20, FIRST_HAS = 5 };
    uint64_t keys[KEYS];
    unsigned count = 0, used = 0;
    begin();
    for (uint64_t key = 0; count < KEYS; key++)
        if ((spex_span_hash(PROBE, key) & (BUCKETS - 1)) == 3)
            keys[count++] = key;
    for (unsigned k = 0; k < KEYS; k++) {
        assert_true(put(PROBE, keys[k]));
        assert_int_equal(spans.hashed[3], k + 1);
        assert_int_equal(spans.buckets[3].tags[FIRST_HAS] & SPEX_SPAN_STATE, SPEX_SPAN_FREE);
    }
    for (unsigned b = 0; b < BUCKETS; b++)
        used += b != 3 && spans.buckets[b].tags[0];
    assert_true(used >= 5);
    for (unsigned k = 0; k < KEYS; k++)
        assert_true(take(PROBE, keys[k]));
    end();
}

/* Fills it until it is full; returns how many keys from 0 on were tried. */
static unsigned fill(bool *open) {
    unsigned key = 0, there = 0;
    for (; there < SLOTS && key < 100 * SLOTS; key++) {
        open[key] = put(PROBE, key);
        there += open[key];
    }
    assert_int_equal(there, SLOTS);
    return key;
}

TEST(a_full_table_refuses_and_counts) {
    static bool open[100 * SLOTS];
    begin();
    unsigned keys = fill(open);
    assert_int_equal(spans.counts[SITE].refused, keys - SLOTS);
    assert_int_equal(spans.partial[PROBE], 1);
    assert_int_equal(spans.partial[PROBE + 1], 0);
    assert_false(put(PROBE + 1, 1));
    assert_int_equal(spans.partial[PROBE + 1], 1);
    for (unsigned k = 0; k < keys; k++)
        assert_int_equal(take(PROBE, k), open[k]);
    assert_int_equal(spans.counts[SITE].abandoned, 0);
    assert_true(put(PROBE + 1, 1) && take(PROBE + 1, 1));
    end();
}

TEST(old_spans_give_up_their_place) {
    enum { MORE = 1000000 };
    static bool open[100 * SLOTS];
    begin();
    unsigned keys = fill(open);
    spans.old_ns = 0;
    for (unsigned k = 0; k < SLOTS / 2; k++)
        assert_true(put(PROBE, MORE + k));
    assert_int_equal(spans.counts[SITE].abandoned, SLOTS / 2);
    unsigned left = 0, newer = 0;
    for (unsigned k = 0; k < keys; k++)
        left += take(PROBE, k);
    for (unsigned k = 0; k < SLOTS / 2; k++)
        newer += take(PROBE, MORE + k);
    assert_int_equal(left + newer, SLOTS);
    /* The oldest goes first, so that few of the new ones have gone. */
    assert_true(newer > SLOTS / 4);
    end();
}

/* Spans whose probe has been off make no record, and go without being counted. */
TEST(stale_spans_give_up_their_place) {
    static bool open[100 * SLOTS];
    begin();
    fill(open);
    spex_site_switched[SITE] += 2;
    for (unsigned k = 0; k < SLOTS / 4; k++)
        assert_true(put(PROBE + 1, k));
    assert_int_equal(spans.counts[SITE].abandoned, 0);
    for (unsigned k = 0; k < SLOTS / 4; k++)
        assert_true(take(PROBE + 1, k));
    spex_open_spans_clear(&spans);
    end();
}

/* Without memory nothing is open. */
TEST(a_table_that_is_not_there_refuses) {
    struct spex_open_spans none = {.buckets = NULL};
    struct spex_open_span span = {.key = 1};
    assert_false(spex_open_spans_put(&none, &span));
    assert_false(spex_open_spans_may_have(&none, spex_span_hash(PROBE, 1)));
    assert_int_equal(spex_open_spans_take(&none, PROBE, 1, &span), 0);
    spex_open_spans_count(&none);
    assert_int_equal(spex_open_spans_sums(&none, 0).open, 0);
}

enum { THREADS = 4, HANDED = 100000, BOXES = 16 };

/* Keys that are open, handed from one thread to another; 0: none. */
static uint64_t boxes[BOXES];
static uint64_t handed;

/* Puts keys of its own into boxes, and ends what others have put there. A key that is not in a box
 * is nobody's, and not open. */
static void *hand(void *arg) {
    uint64_t random = (uint64_t)(uintptr_t)arg, ended = 0, opened = 0;
    for (uint64_t turn = 1; turn <= HANDED; turn++) {
        uint64_t *box = &boxes[random_below(&random, BOXES)], key = spex_load_relaxed(box);
        uint64_t none = 0, own = (uint64_t)(uintptr_t)arg << 32 | turn;
        if (key && spex_cas_acquire(box, &key, 0)) {
            if (!take_seen(PROBE, key))
                abort();
            ended++;
        } else if (!key && put(PROBE, own)) {
            opened++;
            if (!spex_cas_release(box, &none, own)) {
                if (!take_seen(PROBE, own))
                    abort();
                ended++;
            }
        } else if (take_seen(PROBE, own)) {
            abort();
        }
    }
    spex_fetch_add_relaxed(&handed, opened - ended);
    return NULL;
}

TEST(threads_end_what_others_have_begun) {
    pthread_t threads[THREADS];
    unsigned left = 0;
    begin();
    for (uintptr_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, hand, (void *)(t + 1)), 0);
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (unsigned b = 0; b < BOXES; b++)
        left += boxes[b] && take(PROBE, boxes[b]);
    assert_int_equal(left, handed);
    assert_int_equal(spans.counts[SITE].refused, 0);
    end();
}

/* All threads begin and end the same few keys, in a table that is nearly full: no key comes out
 * more often than it went in, and nothing is left. */
static uint64_t balance[8];

static void *scuffle(void *arg) {
    uint64_t random = (uint64_t)(uintptr_t)arg;
    for (unsigned turn = 0; turn < HANDED; turn++) {
        unsigned k = (unsigned)random_below(&random, COUNT_OF(balance));
        if (random_below(&random, 2) ? put(PROBE, k) : false)
            spex_fetch_add_relaxed(&balance[k], 1);
        else if (take(PROBE, k))
            spex_fetch_add_relaxed(&balance[k], UINT64_MAX);
    }
    return NULL;
}

TEST(no_span_is_ended_twice) {
    pthread_t threads[THREADS];
    static bool open[100 * SLOTS];
    begin();
    unsigned keys = fill(open);
    for (unsigned k = 0; k < keys; k += 2)
        take(PROBE, k);
    for (unsigned k = 0; k < COUNT_OF(balance); k++)
        balance[k] = open[k] && k % 2;
    for (uintptr_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, scuffle, (void *)(t + 1)), 0);
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (unsigned k = 0; k < COUNT_OF(balance); k++)
        for (; balance[k]; balance[k]--)
            assert_true(take(PROBE, k));
    for (unsigned k = 0; k < keys; k++)
        assert_int_equal(take(PROBE, k), open[k] && k % 2 && k >= COUNT_OF(balance));
    end();
}
