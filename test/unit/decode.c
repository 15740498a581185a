/* SPDX-License-Identifier: MIT */
/* Records as they are read from rings that the test fills: what a ring has lost is shared out over
 * the records that lie next to the loss, and readers are told each site and context once. */
#include "collect/decode.h"

#include <math.h>

#include "../check.h"
#include "collect/sent.h"
#include "probe/contexts.h"
#include "ring/record_layout.h"
#include "ring/record_unpack.h"
#include "ring/rings.h"
#include "site/registry.h"

/* Two CPUs with rings of their own, and the shared ones. */
enum { CPUS = 2, RINGS = (CPUS + 1) * SPEX_PROBE_TYPES, MOST = 64, SITES = 5 };
enum { LAT_RING = __builtin_ctz(SPEX_LAT), SHARED_RING = CPUS * SPEX_PROBE_TYPES + LAT_RING };

struct spex_rings spex_rings;

/* What is in the ring that is read. */
static struct {
    unsigned ring;
    uint32_t words;
    uint64_t records[MOST][SPEX_RECORD_WORDS_MAX];
    size_t count;
    struct spex_ring_counts counts;
} ring;

static struct spex_site_info infos[SITES] = {
    {.name = (char[]){"first"},
     .file = (char[]){"file.c"},
     .provider = "lib",
     .line = 10,
     .subsample = 4,
     .probe_id = 1,
     .probe_type = SPEX_LAT,
     .values = 1,
     .id = 7},
    {.probe = SPEX_MAX_SITES},
    {.probe_id = 2, .probe_type = SPEX_LAT, .values = 1, .id = -1},
    {.probe_id = 3, .probe_type = SPEX_KERNEL, .values = 3, .parameters = (char[]){"n, m"}},
    {.probe_id = 4, .probe_type = SPEX_CNT, .name = NULL},
};

#include "made_sites.h"

unsigned spex_rings_count(void) {
    return RINGS;
}

struct spex_ring spex_rings_at(const struct spex_rings *rings, unsigned number) {
    assert_ptr_equal(rings, &spex_rings);
    assert_int_equal(number, ring.ring);
    return (struct spex_ring){.record_words = ring.words};
}

size_t spex_ring_read(const struct spex_ring *from, uint64_t *out, size_t max) {
    assert_int_equal(from->record_words, ring.words);
    size_t count = ring.count < max ? ring.count : max;
    for (size_t r = 0; r < count; r++)
        memcpy(out + r * ring.words, ring.records[r], ring.words * sizeof(*out));
    return count;
}

uint32_t spex_rings_thread_id(const struct spex_rings *rings, uint32_t number) {
    assert_ptr_equal(rings, &spex_rings);
    return number + 1000;
}

struct spex_ring_counts spex_ring_count(const struct spex_ring *of) {
    assert_int_equal(of->record_words, ring.words);
    return ring.counts;
}

/* Contexts 2 … 200 stand each in the one before. */
bool spex_context_node(uint64_t number, struct spex_context_node *node) {
    if (number < 2 || number > 200)
        return false;
    *node = (struct spex_context_node){.parent = (uint32_t)number - 1,
                                       .kernel = (uint16_t)(number + 5)};
    return true;
}

static void ring_begin(unsigned number, uint32_t words) {
    memset(&ring, 0, sizeof(ring));
    ring.ring = number;
    ring.words = words;
    spex_rings.cpus = CPUS;
    assert_int_equal(spex_decode_prepare(), 0);
}

static void record_put(uint64_t word, uint64_t value, uint64_t cpu) {
    uint64_t *words = ring.records[ring.count++];
    words[0] = 1000 + ring.count;
    words[1] = word;
    words[SPEX_HEADER_WORDS] = value;
    words[ring.words - 1] = ring.words > SPEX_HEADER_WORDS + 1 ? cpu : value;
}

static struct spex_record records[MOST];
static uint64_t scratch[MOST * SPEX_RECORD_WORDS_MAX];

/* ---- records ---- */

/* Those of a CPU's ring have its number. */
TEST(records_are_of_their_sites) {
    static const uint32_t sites[] = {0, 0, 2, 2, 0}, weights[] = {1, 1, 1, 5, 5};
    ring_begin(SPEX_PROBE_TYPES + LAT_RING, SPEX_HEADER_WORDS + 1);
    for (size_t r = 0; r < COUNT_OF(sites); r++)
        record_put(spex_pack(weights[r], 77, sites[r], 0), 50 + r, 0);
    assert_int_equal(spex_decode_ring(ring.ring, records, MOST, scratch), COUNT_OF(sites));
    for (size_t r = 0; r < COUNT_OF(sites); r++) {
        assert_int_equal(records[r].timestamp, 1001 + r);
        assert_int_equal(records[r].probe_id, infos[sites[r]].probe_id);
        assert_int_equal(records[r].probe_type, SPEX_LAT);
        assert_int_equal(records[r].weight, weights[r]);
        assert_int_equal(records[r].thread_id, 1077);
        assert_int_equal(records[r].cpu_id, 1);
        assert_int_equal(records[r].fields[0], 50 + r);
        assert_true(records[r].lost == 0 && records[r].gap == 0);
    }
    assert_int_equal(spex_decode_ring(ring.ring, records, 2, scratch), 2);
    ring.count = 0;
    assert_int_equal(spex_decode_ring(ring.ring, records, MOST, scratch), 0);
    spex_decode_fork_child();
}

/* Those of a shared ring have that of each. */
TEST(shared_rings_tell_the_cpu) {
    ring_begin(SHARED_RING, SPEX_HEADER_WORDS + 2);
    for (unsigned r = 0; r < 6; r++)
        record_put(spex_pack(1, 77, 0, 0), r, 100 + r / 2);
    assert_int_equal(spex_decode_ring(ring.ring, records, MOST, scratch), 6);
    for (unsigned r = 0; r < 6; r++) {
        assert_int_equal(records[r].cpu_id, 100 + r / 2);
        assert_int_equal(records[r].fields[0], r);
    }
    spex_decode_fork_child();
}

/* ---- losses ---- */

/* Reads so many records while so many are left, after so many losses in all. */
static const struct spex_record *read_some(size_t count, uint64_t pending, uint64_t lost) {
    while (ring.count < count)
        record_put(spex_pack(1, 77, 0, 0), 1, 0);
    ring.count = count;
    ring.counts.pending = pending;
    ring.counts.lost = lost;
    assert_int_equal(spex_decode_ring(ring.ring, records, MOST, scratch), count);
    for (size_t r = 1; r < count; r++)
        assert_true(records[r].lost == 0 && records[r].gap == 0);
    return &records[0];
}

static void expect_lost(const struct spex_record *record, uint32_t lost, bool gap) {
    assert_int_equal(record->lost, lost);
    assert_int_equal(record->gap, gap);
}

TEST(losses_are_shared_out) {
    ring_begin(LAT_RING, SPEX_HEADER_WORDS + 1);
    expect_lost(read_some(5, 3, 0), 0, false);
    expect_lost(read_some(10, 30, 100), 25, true); /* of 40 records */
    expect_lost(read_some(10, 50, 100), 25, false);
    expect_lost(read_some(5, 50, 100), 12, false);
    expect_lost(read_some(15, 50, 100), 38, false); /* all that is left */
    expect_lost(read_some(10, 50, 100), 0, false);
    /* More is lost before all has been shared out. */
    expect_lost(read_some(10, 10, 140), 20, true);
    expect_lost(read_some(5, 15, 140 + 60), 20, true); /* of 80 and 20 records */
    expect_lost(read_some(20, 0, 200), 60, false);
    expect_lost(read_some(1, 0, 201), 1, true);
    expect_lost(read_some(1, 0, 201), 0, false);
    spex_decode_fork_child();
}

/* No share is greater than a record can tell; the rest comes with the next. */
TEST(great_losses_come_in_parts) {
    const uint64_t most = UINT32_MAX;
    ring_begin(LAT_RING, SPEX_HEADER_WORDS + 1);
    expect_lost(read_some(1, 0, 2 * most + 7), UINT32_MAX, true);
    expect_lost(read_some(1, 0, 2 * most + 7), UINT32_MAX, false);
    expect_lost(read_some(1, 0, 2 * most + 7), 7, false);
    expect_lost(read_some(1, 0, 2 * most + 7), 0, false);
    spex_decode_fork_child();
}

/* Each ring has an account of its own, which goes on until the child of a fork begins anew. */
TEST(rings_have_accounts_of_their_own) {
    ring_begin(LAT_RING, SPEX_HEADER_WORDS + 1);
    expect_lost(read_some(1, 0, 10), 10, true);
    ring_begin(SPEX_PROBE_TYPES + LAT_RING, SPEX_HEADER_WORDS + 1);
    expect_lost(read_some(1, 0, 10), 10, true);
    ring_begin(LAT_RING, SPEX_HEADER_WORDS + 1);
    expect_lost(read_some(1, 0, 10), 0, false);
    spex_decode_fork_child();
    ring_begin(LAT_RING, SPEX_HEADER_WORDS + 1);
    expect_lost(read_some(1, 0, 10), 10, true);
    ring_begin(RINGS - 1, SPEX_HEADER_WORDS + 2);
    expect_lost(read_some(1, 0, 3), 3, true);
    spex_decode_fork_child();
}

/* ---- what readers are told ---- */

TEST(sites_are_told_once) {
    struct spex_sent told = {.sites = 0};
    struct spex_stream_site sites[SITES];
    char name[SPEX_STREAM_TEXT_BYTES + 9], file[SPEX_STREAM_TEXT_BYTES];
    memset(name, 'x', sizeof(name));
    memcpy(name + sizeof(name) - 4, "end", 4);
    memset(file, 'y', sizeof(file));
    memcpy(file, "beg", 3);
    file[sizeof(file) - 1] = '\0';
    infos[2].name = name;
    infos[2].file = file;
    assert_int_equal(spex_sent_sites(&told, sites, 2), 2);
    assert_int_equal(told.sites, 3);
    assert_int_equal(sites[0].index, 0);
    assert_int_equal(sites[0].line, 10);
    assert_int_equal(sites[0].subsample, 4);
    assert_int_equal(sites[0].probe_id, 1);
    assert_int_equal(sites[0].probe_type, SPEX_LAT);
    assert_int_equal(sites[0].values, 1);
    assert_int_equal(sites[0].declared, 8);
    assert_int_equal(spex_stream_site_id(&sites[0]), 7);
    assert_string_equal(sites[0].name, "first");
    assert_string_equal(sites[0].file, "file.c");
    assert_string_equal(sites[0].provider, "lib");
    assert_string_equal(sites[0].parameters, "");
    assert_int_equal(sites[1].index, 2); /* the region is left out */
    assert_int_equal(sites[1].declared, SPEX_STREAM_NO_ID);
    /* The end of a long text says more; one that just fits is whole. */
    assert_int_equal(strlen(sites[1].name), SPEX_STREAM_TEXT_BYTES - 1);
    assert_string_equal(sites[1].name, name + strlen(name) - (SPEX_STREAM_TEXT_BYTES - 1));
    assert_string_equal(sites[1].file, file);
    assert_int_equal(spex_sent_sites(&told, sites, SITES), 2);
    assert_int_equal(sites[0].index, 3);
    assert_string_equal(sites[0].parameters, "n, m");
    assert_int_equal(sites[1].index, 4);
    assert_string_equal(sites[1].name, "");
    assert_int_equal(spex_sent_sites(&told, sites, SITES), 0);
}

TEST(contexts_are_told_once) {
    struct spex_sent told = {.sites = 0};
    struct spex_stream_context contexts[200];
    assert_int_equal(spex_sent_contexts(&told, 1, contexts, 0, 200), 0);
    assert_int_equal(spex_sent_contexts(&told, 66, contexts, 0, 200), 65);
    for (uint32_t c = 0; c < 65; c++) {
        assert_int_equal(contexts[c].number, 66 - c);
        assert_int_equal(contexts[c].parent, 65 - c);
        assert_int_equal(contexts[c].kernel, 71 - c);
    }
    assert_int_equal(spex_sent_contexts(&told, 66, contexts, 0, 200), 0);
    /* Behind others, up to one that has been told. */
    assert_int_equal(spex_sent_contexts(&told, 69, contexts, 10, 200), 13);
    assert_int_equal(contexts[9].number, 57);
    assert_int_equal(contexts[10].number, 69);
    assert_int_equal(contexts[12].number, 67);
    assert_int_equal(spex_sent_contexts(&told, 80, contexts, 5, 7), 7);
    assert_int_equal(contexts[6].number, 79);
    assert_int_equal(spex_sent_contexts(&told, 78, contexts, 7, 7), 7);
    /* What could not be told is told again. */
    spex_sent_take_back(&told, contexts + 5, 1);
    assert_int_equal(spex_sent_contexts(&told, 80, contexts, 0, 200), 1);
    assert_int_equal(contexts[0].number, 80);
    spex_sent_take_back(&told, contexts, 0);
    assert_int_equal(spex_sent_contexts(&told, 80, contexts, 0, 200), 0);
    assert_int_equal(spex_sent_contexts(&told, 201, contexts, 0, 200), 0);
}
