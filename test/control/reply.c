/* SPDX-License-Identifier: MIT */
/* The frames of an answer, in order and in full: of a made program with few sites and with many, and
 * with probes of every number of series. */
#include "serving.h"

#include "collect/metrics.h"
#include "serve/own_profile.h"
#include "serve/reply.h"
#include "site/probe_state.h"
#include "site/registry.h"
#include "stats/values.h"
#include "wire/profile_frames.h"

enum { NUMBER = 77, SITES_MAX = 400, REGION = 7 };

/* ---- the program ---- */

static uint32_t site_count;
static unsigned locked;
static struct spex_values values[SPEX_MAX_FIELDS], losses[SPEX_MAX_FIELDS];

uint32_t __wrap_spex_sites_count(void);
const struct spex_site_info *__wrap_spex_site_info(uint32_t index);
uint32_t __wrap_spex_profile_next_probe(uint32_t index);
void __wrap_spex_metrics_lock(void);
void __wrap_spex_metrics_unlock(void);
void __wrap_spex_profile_process_now(struct spex_profile_process *process);
void __wrap_spex_profile_type_now(unsigned n, struct spex_profile_type *type);
void __wrap_spex_profile_site_now(uint32_t index, struct spex_profile_site *site);
void __wrap_spex_profile_probe_now(uint32_t index, struct spex_profile_row *row);
void __wrap_spex_metrics_series(uint32_t index, struct spex_profile_row *row);

uint32_t __wrap_spex_sites_count(void) {
    return site_count;
}

static bool is_region(uint32_t index) {
    return index % REGION == REGION - 1;
}

const struct spex_site_info *__wrap_spex_site_info(uint32_t index) {
    static const struct spex_site_info probe = {.probe_type = SPEX_SNAPSHOT}, region;
    assert_in_range(index, 0, site_count - 1);
    return is_region(index) ? &region : &probe;
}

/* Each fourth site is the first one of a probe that is on. */
uint32_t __wrap_spex_profile_next_probe(uint32_t index) {
    while (index < site_count && index % 4 != 1)
        index++;
    return index;
}

void __wrap_spex_metrics_lock(void) {
    assert_int_equal(locked++, 0);
}

void __wrap_spex_metrics_unlock(void) {
    assert_int_equal(locked--, 1);
}

void __wrap_spex_profile_process_now(struct spex_profile_process *process) {
    assert_int_equal(locked, 0);
    *process = (struct spex_profile_process){.process_id = 4242, .sites = site_count};
}

void __wrap_spex_profile_type_now(unsigned n, struct spex_profile_type *type) {
    assert_int_equal(locked, 0);
    *type = (struct spex_profile_type){.pcid = n, .produced = 10 * n};
}

void __wrap_spex_profile_site_now(uint32_t index, struct spex_profile_site *site) {
    assert_false(is_region(index));
    *site = (struct spex_profile_site){.index = index, .line = 2 * index};
}

static unsigned series_of(uint32_t index) {
    return index / 4 % (SPEX_MAX_FIELDS + 1);
}

/* The probes' values have a spread where their series is odd, and losses in each third. */
static bool has_losses(unsigned series) {
    return series % 3 == 0;
}

void __wrap_spex_profile_probe_now(uint32_t index, struct spex_profile_row *row) {
    assert_int_equal(locked, 1);
    *row = (struct spex_profile_row){
        .probe = {.probe_id = (uint16_t)index, .series = (uint16_t)series_of(index)}};
    for (unsigned s = 0; s < row->probe.series; s++) {
        row->values[s] = &values[s];
        row->losses[s] = has_losses(s) ? &losses[s] : NULL;
    }
}

void __wrap_spex_metrics_series(uint32_t index, struct spex_profile_row *row) {
    __wrap_spex_profile_probe_now(index, row);
}

static int begin(void **state) {
    (void)state;
    for (unsigned s = 0; s < SPEX_MAX_FIELDS; s++) {
        spex_values_clear(&values[s]);
        spex_values_clear(&losses[s]);
        values[s].weight = 100 + s;
        losses[s].weight = 200 + s;
        values[s].histogram.weights[3 + s] = values[s].histogram.total = 100 + s;
        if (s % 2)
            values[s].spread.rows[s][2] = losses[s].spread.rows[s][3] = 1;
    }
    locked = 0;
    return 0;
}

/* ---- the answer ---- */

static struct spex_reply reply;
static char frame[SPEX_CONTROL_FRAME_BYTES];
static struct spex_control_frame head;

/* The next frame, and what stands behind its head. */
static const char *next(uint16_t kind, size_t entry_bytes, size_t count) {
    struct spex_reply after, again;
    size_t bytes = spex_reply_frame(&reply, &after, frame);
    assert_true(bytes >= sizeof(head));
    memcpy(&head, frame, sizeof(head));
    assert_int_equal(head.magic, SPEX_CONTROL_MAGIC);
    assert_int_equal(head.version, SPEX_CONTROL_VERSION);
    assert_int_equal(head.kind, kind);
    assert_int_equal(head.number, NUMBER);
    assert_int_equal(head.entry_bytes, entry_bytes);
    assert_int_equal(head.count, count);
    assert_int_equal(bytes, spex_frame_bytes(&head));
    assert_int_equal(locked, 0);
    /* It is made again where it was not sent. */
    static char other[SPEX_CONTROL_FRAME_BYTES];
    assert_int_equal(spex_reply_frame(&reply, &again, other), bytes);
    assert_memory_equal(other, frame, bytes);
    reply = after;
    return frame + sizeof(head);
}

static void expect_sites(void) {
    const size_t most =
        (SPEX_CONTROL_FRAME_BYTES - sizeof(head)) / sizeof(struct spex_profile_site);
    uint32_t index = 0;
    do {
        size_t count = 0;
        uint32_t from = index;
        while (index < site_count && count < most)
            count += !is_region(index++);
        const char *entries = next(SPEX_CONTROL_SITES, sizeof(struct spex_profile_site), count);
        for (size_t c = 0; c < count; c++, from++) {
            struct spex_profile_site site;
            memcpy(&site, entries + c * sizeof(site), sizeof(site));
            from += is_region(from);
            assert_int_equal(site.index, from);
            assert_int_equal(site.line, 2 * from);
        }
    } while (index < site_count);
}

static void expect_values(const struct spex_values *of, unsigned series, unsigned buckets) {
    struct spex_control_values told;
    struct spex_control_spread spread;
    memcpy(&told, next(SPEX_CONTROL_VALUES, sizeof(told), buckets), sizeof(told));
    assert_int_equal(told.series, series);
    assert_true(told.weight == of->weight);
    if (series % 2) {
        memcpy(&spread, next(SPEX_CONTROL_SPREAD, sizeof(spread), 1), sizeof(spread));
        assert_int_equal(spread.series, series);
        assert_int_equal(spread.row, series & 0xff);
    }
}

static void expect_probes(void) {
    for (uint32_t index = 1; index < site_count; index += 4) {
        struct spex_profile_probe probe;
        memcpy(&probe, next(SPEX_CONTROL_PROBE, sizeof(probe), 1), sizeof(probe));
        assert_int_equal(probe.probe_id, index);
        for (unsigned s = 0; s < series_of(index); s++) {
            expect_values(&values[s], s, 1);
            if (has_losses(s))
                expect_values(&losses[s], s | SPEX_CONTROL_LOSSES, 0);
        }
    }
}

static void expect_done(int32_t status, bool final, const char *text) {
    struct spex_reply after;
    const char *told = next(SPEX_CONTROL_DONE, 1, strlen(text));
    assert_memory_equal(told, text, strlen(text));
    assert_int_equal(head.status, status);
    assert_int_equal(head.flags, final ? SPEX_CONTROL_FINAL : 0);
    assert_int_equal(reply.next, 0);
    assert_int_equal(spex_reply_frame(&reply, &after, frame), 0);
}

TEST_WITH(all_of_a_profile_is_told, begin, NULL) {
    for (site_count = 0; site_count < SITES_MAX; site_count += site_count < 4 ? 1 : 3) {
        bool final = site_count & 1;
        spex_reply_profile(&reply, NUMBER, final);
        struct spex_profile_process process;
        memcpy(&process, next(SPEX_CONTROL_PROCESS, sizeof(process), 1), sizeof(process));
        assert_int_equal(process.process_id, 4242);
        struct spex_profile_type type;
        const char *types = next(SPEX_CONTROL_TYPES, sizeof(type), SPEX_PROFILE_TYPES);
        for (unsigned n = 0; n < SPEX_PROFILE_TYPES; n++) {
            memcpy(&type, types + n * sizeof(type), sizeof(type));
            assert_int_equal(type.pcid, n);
            assert_int_equal(type.produced, 10 * n);
        }
        expect_sites();
        expect_probes();
        expect_done(0, final, "");
    }
}

TEST_WITH(an_answer_may_be_a_status_alone, begin, NULL) {
    spex_reply_done(&reply, NUMBER, -EINVAL);
    strcpy(reply.text, "not so");
    expect_done(-EINVAL, false, "not so");
    spex_reply_done(&reply, NUMBER, 3);
    expect_done(3, false, "");
}
