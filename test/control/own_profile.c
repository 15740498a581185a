/* SPDX-License-Identifier: MIT */
/* The profile that a process makes of itself, in full: of a program whose sites, selection and
 * executions are known. */
#include "serving.h"

#include "../unit/messages.h"
#include "base/clock.h"
#include "observe/profile_reader.h"
#include "profile/profile.h"
#include "ring/rings.h"
#include "serve/own_profile.h"
#include "serve/reply.h"
#include "site/registry.h"
#include "stats/values.h"

enum { FIRST = 71, SECOND, SITES = 8, LONG_LINE = 1234, MADE = 300 };

SPEX_PROBE_NAME(FIRST, "own.first");

COMPILED_ONCE static void first(unsigned executions) {
    for (unsigned i = 0; i < executions; i++) {
        LAT_PROBE_BEGIN(FIRST, 3);
        LAT_PROBE_END(FIRST);
    }
}

COMPILED_ONCE static void first_elsewhere(unsigned executions) {
    for (unsigned i = 0; i < executions; i++) {
        LAT_PROBE_BEGIN(FIRST, 1);
        LAT_PROBE_END(FIRST);
    }
}

/* What a profile keeps of the parameters of SECOND: it has room for half of the character that
 * follows. */
#define TEN_DIGITS "123456789/"
#define FIFTY      TEN_DIGITS TEN_DIGITS TEN_DIGITS TEN_DIGITS TEN_DIGITS
#define KEPT       "i, 2 * i + 0 * sizeof(\"" FIFTY FIFTY "123"

COMPILED_ONCE static void second(unsigned executions) {
    for (unsigned i = 0; i < executions; i++) {
        /* clang-format off */
        SNAPSHOT_PROBE(SECOND, 1, i, 2 * i + 0 * sizeof("123456789/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123µ"));
        /* clang-format on */
    }
}

COMPILED_ONCE static void third(unsigned executions) {
    for (unsigned i = 0; i < executions; i++) {
        SPEX_CNT_BEGIN(third, 7);
        SPEX_CNT_END(third);
    }
}

COMPILED_ONCE static void fifth(const void *key) {
    SPEX_SPAN_BEGIN("fifth", key);
    if (!key)
        SPEX_SPAN_END("fifth", key);
}

/* Some of the values are negative. */
COMPILED_ONCE static void sixth(int executions) {
    for (int i = 0; i < executions; i++)
        SPEX_SNAPSHOT("sixth", i % 100 - 50);
}

/* The end of a path, one byte shorter than a profile has room for. */
#define TEN      "/123456789"
#define PATH_END TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "/123.c"

/* Before it, a character of two bytes. */
COMPILED_ONCE static void fourth(void) {
#line 1234 "/123456789/123456789µ/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123456789/123.c"
    SPEX_LAT_BEGIN(fourth, 1);
    SPEX_LAT_END(fourth);
#line 55 "own_profile.c"
}

static struct spex_profile_site sites[SITES];

/* The site number `nth` of an id or name. */
static const struct spex_profile_site *site_of(const char *name, unsigned nth) {
    for (size_t s = 0; s < SITES; s++)
        if (strcmp(sites[s].name, name) == 0 && nth-- == 0)
            return &sites[s];
    fail_msg("there is no site %s", name);
    return NULL;
}

static void take_sites(void) {
    assert_int_equal(spex_sites_count(), SITES);
    for (uint32_t s = 0; s < SITES; s++) {
        spex_profile_site_now(s, &sites[s]);
        assert_int_equal(sites[s].index, s);
        assert_int_equal(sites[s].loaded, 1);
        assert_int_equal(sites[s].lease_ms, 0);
        assert_string_equal(sites[s].provider, "control-own_profile");
        if (sites[s].probe_type != SPEX_SNAPSHOT || sites[s].declared == SECOND + 1)
            assert_string_equal(sites[s].parameters,
                                sites[s].probe_type == SPEX_SNAPSHOT ? KEPT : "");
    }
}

static struct spex_profile_process process_now(void) {
    struct spex_profile_process process;
    uint64_t before = spex_ticks();
    spex_profile_process_now(&process);
    assert_true(process.made_ticks >= before && process.made_ticks <= spex_ticks());
    assert_int_equal(process.process_id, getpid());
    assert_string_equal(process.command, "control-own_profile");
    assert_int_equal(process.sites, SITES);
    assert_int_equal(process.sites_refused, 0);
    assert_true(process.loaded_ns > 0 && process.loaded_ns < spex_clock_ns(CLOCK_MONOTONIC));
    return process;
}

TEST(before_the_first_start) {
    struct spex_profile_process process = process_now();
    assert_int_equal(process.sites_on, 0);
    assert_int_equal(process.commit, 0);
    assert_int_equal(process.ring_cpus, 0);
    assert_int_equal(process.ring_bytes, 0);
    assert_int_equal(process.threads, 0);
    assert_int_equal(process.elsewhere, 0);
    assert_string_equal(process.selection, "off");
    assert_string_equal(process.leased, "");
    assert_true(process.seconds == 0 && process.lease_seconds == 0 && process.budget == 0);
    assert_string_equal(spex_profile_own_name(), process.command);
    take_sites();
    for (size_t s = 0; s < SITES; s++)
        assert_int_equal(sites[s].period, 0);
}

TEST(sites_are_as_in_the_source) {
    assert_int_equal(serving_start("own.first@5,third"), 0);
    take_sites();
    for (unsigned n = 0; n < 2; n++) {
        const struct spex_profile_site *site = site_of("own.first", n);
        assert_int_equal(site->probe_type, SPEX_LAT);
        assert_int_equal(site->probe_id, FIRST);
        assert_int_equal(site->declared, FIRST + 1);
        assert_int_equal(site->period, 5);
        assert_int_equal(site->kind, SPEX_SAMPLING_PERIODIC);
        assert_non_null(strstr(site->file, "own_profile.c"));
    }
    assert_int_equal(site_of("own.first", 0)->subsample + site_of("own.first", 1)->subsample, 4);
    assert_int_not_equal(site_of("own.first", 0)->line, site_of("own.first", 1)->line);
    const struct spex_profile_site *site = site_of("third", 0);
    assert_int_equal(site->probe_type, SPEX_CNT);
    assert_int_equal(site->declared, SPEX_PROFILE_NO_ID);
    assert_int_equal(site->subsample, 7);
    assert_int_equal(site->period, 7);
    site = site_of("", 0);
    assert_int_equal(site->probe_type, SPEX_SNAPSHOT);
    assert_int_equal(site->declared, SECOND + 1);
    assert_int_equal(site->period, 0);
    assert_int_equal(strlen(PATH_END), SPEX_PROFILE_FILE_BYTES - 2);
    site = site_of("fourth", 0);
    assert_int_equal(site->line, LONG_LINE);
    assert_string_equal(site->file, PATH_END);
    spex_stop();
}

static uint64_t records_now(void) {
    struct spex_profile profile;
    uint64_t records = 0;
    assert_int_equal(spex_profile_now(&profile), 0);
    for (size_t r = 0; r < profile.row_count; r++)
        records += profile.rows[r].probe.records;
    spex_profile_now_free(&profile);
    return records;
}

/* Waits until the metrics have all records, which the collectors may have taken and not told
 * yet. */
static void wait_for(uint64_t records) {
    WAIT_UNTIL(records_now() == records);
}

static const struct spex_profile_row *row_of(const struct spex_profile *profile, uint16_t id,
                                             uint32_t type) {
    const struct spex_profile_row *row = spex_profile_row_of(profile, id, type);
    if (!row)
        fail_msg("there is no row of %u", id);
    return row;
}

TEST(figures_are_those_of_what_was_executed) {
    struct spex_profile profile;
    uint64_t begun = spex_clock_ns(CLOCK_MONOTONIC_RAW);
    const struct spex_options options = {.size = sizeof(options),
                                         .probes = "own.first@3,72",
                                         .out = "/dev/null",
                                         .no_calibration = true};
    assert_int_equal(spex_start(&options), 0);
    first(MADE);
    first_elsewhere(2 * MADE);
    second(MADE);
    third(MADE);
    wait_for(MADE + 2 * MADE / 3 + MADE / 3);
    spex_profile_now(&profile);
    double seconds = (double)(spex_clock_ns(CLOCK_MONOTONIC_RAW) - begun) / 1e9;
    struct spex_profile_process process = process_now();
    assert_int_equal(process.sites_on, 3);
    assert_int_equal(process.threads, 1);
    assert_int_equal(process.ring_bytes, spex_rings_bytes());
    assert_int_equal(process.ring_cpus, spex_rings.cpus);
    assert_int_equal(process.commit, spex_rings.commit);
    assert_int_equal(process.elsewhere, 0);
    assert_string_equal(process.selection, "own.first@3,72");
    assert_int_equal(process.produced, 2 * MADE);
    assert_int_equal(process.consumed, 2 * MADE);
    assert_int_equal(process.lost + process.undelivered + process.unrecorded, 0);
    assert_in_range(process.began_ns, begun, spex_clock_ns(CLOCK_MONOTONIC_RAW));
    /* Rows are those of probes that are or were on, types those that there are. */
    const struct spex_profile_probe *probe = &row_of(&profile, FIRST, SPEX_LAT)->probe;
    assert_string_equal(probe->name, "own.first");
    assert_string_equal(probe->provider, "control-own_profile");
    assert_string_equal(probe->why, "");
    assert_int_equal(probe->declared, FIRST + 1);
    assert_int_equal(probe->sites, 2);
    assert_int_equal(probe->sites_on, 2);
    assert_int_equal(probe->period, 3);
    assert_int_equal(probe->period_last, 3);
    assert_int_equal(probe->records, MADE);
    assert_true(probe->weight == 3 * MADE);
    assert_in_range(probe->count, 3 * MADE, 3 * MADE + 4);
    assert_true(probe->lost == 0 && probe->held_count == 0 && probe->uncounted == 0);
    assert_true(probe->on_seconds >= 0 && probe->on_seconds <= seconds);
    assert_true(probe->polled_seconds == 0 && probe->held_seconds == 0);
    const struct spex_profile_row *row = row_of(&profile, SECOND, SPEX_SNAPSHOT);
    assert_int_equal(row->probe.records, MADE);
    assert_int_equal(row->probe.series, 2);
    assert_int_equal(row->values[0]->max, MADE - 1);
    assert_int_equal(row->values[1]->max, 2 * (MADE - 1));
    for (size_t t = 0; t < profile.type_count; t++) {
        const struct spex_profile_type *type = &profile.types[t];
        bool used = type->probe_type == SPEX_LAT || type->probe_type == SPEX_SNAPSHOT;
        assert_int_equal(type->used, used);
        assert_int_equal(type->measured, 0);
        assert_int_equal(type->produced, used ? MADE : 0);
        assert_int_equal(type->pcid, t < SPEX_PROBE_TYPES ? 0 : t - SPEX_PROBE_TYPES + 1);
        assert_string_equal(type->text, "");
    }
    spex_profile_now_free(&profile);
    spex_stop();
}

/* Losses of each probe, as if they had come before look number `lost_before` at one. */
static struct spex_values losses;
static unsigned looks, lost_before = UINT32_MAX;

void __real_spex_profile_probe_now(uint32_t index, struct spex_profile_row *row);
void __wrap_spex_profile_probe_now(uint32_t index, struct spex_profile_row *row);
void __real_spex_metrics_series(uint32_t index, struct spex_profile_row *row);
void __wrap_spex_metrics_series(uint32_t index, struct spex_profile_row *row);

static void losses_set(struct spex_profile_row *row) {
    if (looks++ >= lost_before && row->probe.series)
        row->losses[0] = &losses;
}

void __wrap_spex_profile_probe_now(uint32_t index, struct spex_profile_row *row) {
    __real_spex_profile_probe_now(index, row);
    losses_set(row);
}

void __wrap_spex_metrics_series(uint32_t index, struct spex_profile_row *row) {
    __real_spex_metrics_series(index, row);
    losses_set(row);
}

/* Takes an answer, frame by frame, as a reader does. */
static void answer_take(struct spex_profile_reader *reader) {
    static char frame[SPEX_CONTROL_FRAME_BYTES];
    struct spex_error error = {""};
    struct spex_reply reply, after;
    int taken = 0;
    *reader = (struct spex_profile_reader){0};
    spex_reply_profile(&reply, 1, false);
    for (size_t bytes; (bytes = spex_reply_frame(&reply, &after, frame)) != 0; reply = after) {
        taken = spex_profile_reader_take(reader, frame, bytes, &error);
        assert_string_equal(error.text, "");
        assert_int_equal(taken, after.next == 0);
    }
    assert_int_equal(taken, 1);
}

static bool has_rows(const struct spex_variance *spread) {
    bool any = false;
    for (unsigned row = 0; row < SPEX_VARIANCE_ROWS; row++)
        for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++)
            any |= spread->rows[row][way] != 0;
    return any;
}

/* The spans that are open are counted for each answer, and values of each scale have their spread. */
TEST(answers_have_open_spans_and_spreads) {
    struct spex_profile_reader reader;
    assert_int_equal(serving_start("fifth,sixth@~3"), 0);
    fifth(NULL);
    sixth(3 * MADE);
    WAIT_UNTIL(records_now() > MADE / 2);
    fifth(&reader);
    answer_take(&reader);
    assert_int_equal(reader.profile.row_count, 2);
    for (size_t r = 0; r < reader.profile.row_count; r++) {
        const struct spex_profile_row *row = &reader.profile.rows[r];
        bool span = row->probe.probe_type == SPEX_SPAN;
        assert_int_equal(row->probe.spans_open, span);
        if (!span)
            assert_true(has_rows(&row->values[0]->spread));
    }
    spex_profile_reader_free(&reader);
    spex_stop();
}

/* Returns the rows of an answer that have losses. */
static unsigned answer_is_taken(void) {
    struct spex_profile_reader reader;
    unsigned lost = 0;
    looks = 0;
    answer_take(&reader);
    for (size_t r = 0; r < reader.profile.row_count; r++)
        lost += reader.profile.rows[r].losses[0] != NULL;
    spex_profile_reader_free(&reader);
    return lost;
}

/* The first loss of a probe comes between any two frames of an answer. */
TEST(losses_that_come_meanwhile) {
    unsigned rows = 2;
    spex_values_clear(&losses);
    assert_int_equal(serving_start("own.first@3,72"), 0);
    first(MADE);
    second(MADE);
    wait_for(MADE / 3 + MADE);
    for (lost_before = 0; rows > 0; lost_before++) {
        unsigned now = answer_is_taken();
        assert_true(now <= rows);
        rows = now;
    }
    assert_true(lost_before > 4);
    lost_before = UINT32_MAX;
    spex_stop();
}

/* Selections that do not fit are told to be long. */
TEST(long_selections) {
    char selection[SPEX_PROFILE_TEXT_BYTES + 32];
    assert_int_equal(serving_start(NULL), 0);
    for (size_t n = 0, length = 0; length < SPEX_PROFILE_TEXT_BYTES; n++)
        length += (size_t)snprintf(selection + length, sizeof(selection) - length, "%snobody%zu",
                                   n ? "," : "third@2,", n);
    messages_begin();
    int on = spex_set(selection);
    messages_end();
    assert_int_equal(on, 1);
    assert_string_equal(process_now().selection, SPEX_PROFILE_LONG_SELECTION);
    assert_int_equal(process_now().sites_on, 1);
    assert_int_equal(spex_set("third@2"), 1);
    assert_string_equal(process_now().selection, "third@2");
    spex_stop();
}

int main(void) {
    return tests_run(serving_begin, serving_end);
}
