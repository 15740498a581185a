/* SPDX-License-Identifier: MIT */
/* What a program's own trace is told, call by call, of made batches, losses and times: all of it
 * under the lock that collectors share. */
#include <errno.h>
#include <pthread.h>

#include <spex/probe.h>

#include "../unit/messages.h"
#include "base/clock.h"
#include "collect/sent.h"
#include "probe/threads.h"
#include "ring/rings.h"
#include "serve/own_trace.h"
#include "trace/trace.h"
#include "trace_folder.h"
#include "wire/profile_frames.h"

enum { PROBE = 12, COLLECTORS = 3 };

SPEX_PROBE_NAME(PROBE, "made.trace");

COMPILED_ONCE static void work(void) {
    LAT_PROBE_BEGIN(PROBE, 1);
    LAT_PROBE_END(PROBE);
    SPEX_LAT_BEGIN(another, 1);
    SPEX_LAT_END(another);
}

/* ---- the trace ---- */

static char told[1024];
static unsigned depth;
static int trace_error;

/* "!" in front of what comes without a lock. */
__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...) {
    size_t length = strlen(told);
    va_list arguments;
    va_start(arguments, format);
    snprintf(told + length, sizeof(told) - length, "%s%s", length ? " " : "", depth ? "" : "!");
    length = strlen(told);
    vsnprintf(told + length, sizeof(told) - length, format, arguments);
    va_end(arguments);
}

static void expect_told(const char *expected) {
    assert_string_equal(told, expected);
    told[0] = '\0';
}

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    depth++;
    return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    depth--;
    return __real_pthread_mutex_unlock(mutex);
}

static int trace;
static struct spex_trace *const made = (struct spex_trace *)&trace;
static struct spex_trace_options options;
static char directory[128];

int __wrap_spex_trace_open(const struct spex_trace_options *asked, struct spex_trace **out,
                           struct spex_error *error);
void __wrap_spex_trace_sites(struct spex_trace *of, const struct spex_stream_site *sites,
                             size_t count);
void __wrap_spex_trace_contexts(struct spex_trace *of, const struct spex_stream_context *contexts,
                                size_t count);
void __wrap_spex_trace_records(struct spex_trace *of, const struct spex_record *records,
                               size_t count);
void __wrap_spex_trace_pass(struct spex_trace *of, uint64_t watermark);
void __wrap_spex_trace_lost(struct spex_trace *of, uint64_t lost);
void __wrap_spex_trace_profile(struct spex_trace *of, const void *frames, size_t bytes);
void __wrap_spex_trace_end(struct spex_trace *of);
struct spex_trace_totals __wrap_spex_trace_totals(const struct spex_trace *of);
const char *__wrap_spex_trace_directory(const struct spex_trace *of);
int __wrap_spex_trace_error(const struct spex_trace *of);
void __wrap_spex_trace_free(struct spex_trace *of);

int __wrap_spex_trace_open(const struct spex_trace_options *asked, struct spex_trace **out,
                           struct spex_error *error) {
    options = *asked;
    snprintf(directory, sizeof(directory), "%s", asked->directory);
    assert_string_equal(asked->program, "observe-own_trace_made");
    *out = trace_error ? NULL : made;
    return trace_error ? spex_fail(error, trace_error, "no trace") : 0;
}

void __wrap_spex_trace_sites(struct spex_trace *of, const struct spex_stream_site *sites,
                             size_t count) {
    assert_ptr_equal(of, made);
    assert_non_null(sites);
    tell("sites %zu", count);
}

void __wrap_spex_trace_contexts(struct spex_trace *of, const struct spex_stream_context *contexts,
                                size_t count) {
    assert_ptr_equal(of, made);
    assert_non_null(contexts);
    tell("contexts %zu", count);
}

void __wrap_spex_trace_records(struct spex_trace *of, const struct spex_record *records,
                               size_t count) {
    assert_ptr_equal(of, made);
    tell("records %zu of %u", count, (unsigned)records[0].probe_id);
}

void __wrap_spex_trace_pass(struct spex_trace *of, uint64_t watermark) {
    assert_ptr_equal(of, made);
    tell("pass %u", (unsigned)watermark);
}

void __wrap_spex_trace_lost(struct spex_trace *of, uint64_t lost) {
    assert_ptr_equal(of, made);
    tell("lost %u", (unsigned)lost);
}

/* Whole frames, of which a process's is the first. */
void __wrap_spex_trace_profile(struct spex_trace *of, const void *frames, size_t bytes) {
    const char *at = frames;
    unsigned count = 0;
    assert_ptr_equal(of, made);
    while (bytes > 0) {
        struct spex_control_frame head;
        assert_in_range(bytes, sizeof(head), SIZE_MAX);
        memcpy(&head, at, sizeof(head));
        assert_int_equal(head.kind == SPEX_CONTROL_PROCESS, count == 0);
        assert_int_not_equal(head.kind, SPEX_CONTROL_DONE);
        assert_in_range(spex_frame_bytes(&head), sizeof(head), bytes);
        at += spex_frame_bytes(&head);
        bytes -= spex_frame_bytes(&head);
        count++;
    }
    assert_true(count > 1);
    tell("profile");
}

void __wrap_spex_trace_end(struct spex_trace *of) {
    assert_ptr_equal(of, made);
    tell("end");
}

struct spex_trace_totals __wrap_spex_trace_totals(const struct spex_trace *of) {
    assert_ptr_equal(of, made);
    return (struct spex_trace_totals){.records = 123, .lost = 45};
}

const char *__wrap_spex_trace_directory(const struct spex_trace *of) {
    assert_ptr_equal(of, made);
    return "the/folder";
}

int __wrap_spex_trace_error(const struct spex_trace *of) {
    assert_ptr_equal(of, made);
    return trace_error;
}

void __wrap_spex_trace_free(struct spex_trace *of) {
    assert_ptr_equal(of, made);
    tell("free");
}

static struct spex_ring_counts counts;
static uint64_t unrecorded, now;

struct spex_ring_counts __wrap_spex_rings_totals(void);
uint64_t __wrap_spex_threads_unrecorded(void);
uint64_t __wrap_spex_clock_ns(clockid_t clock);

struct spex_ring_counts __wrap_spex_rings_totals(void) {
    return counts;
}

uint64_t __wrap_spex_threads_unrecorded(void) {
    return unrecorded;
}

uint64_t __wrap_spex_clock_ns(clockid_t clock) {
    (void)clock;
    return now;
}

/* The context 9 stands in a chain of 300, of which 256 are told at once; all others alone. None is
 * told twice. */
enum { CHAIN = 9, REST = 10, AT_ONCE = 256, WHOLE = 300 };
static bool was_told[16];

uint32_t __wrap_spex_sent_contexts(struct spex_sent *of, uint64_t number,
                                   struct spex_stream_context *contexts, uint32_t count,
                                   uint32_t most);

uint32_t __wrap_spex_sent_contexts(struct spex_sent *of, uint64_t number,
                                   struct spex_stream_context *contexts, uint32_t count,
                                   uint32_t most) {
    assert_non_null(of);
    assert_int_equal(count, 0);
    assert_int_equal(most, AT_ONCE);
    assert_in_range(number, 1, COUNT_OF(was_told) - 1);
    if (was_told[number])
        return 0;
    was_told[number] = true;
    uint32_t all = number == CHAIN ? AT_ONCE : number == REST ? WHOLE - AT_ONCE : 1;
    contexts[all - 1].parent = number == CHAIN ? REST : 0;
    return all;
}

/* ---- tests ---- */

static struct spex_sink *sink;

static int begin(void **state) {
    told[0] = '\0';
    trace_error = 0;
    counts = (struct spex_ring_counts){.lost = 100};
    unrecorded = 10;
    now = UINT64_C(50000000000);
    return folder_begin(state);
}

static void open_sink(const char *limits) {
    char out[128];
    snprintf(out, sizeof(out), "%s/traces%s", folder, limits);
    assert_int_equal(spex_own_trace_open(out, COLLECTORS, &sink), 0);
    char *whole = realpath(folder, NULL);
    snprintf(out, sizeof(out), "%.100s/traces", whole);
    free(whole);
    assert_string_equal(directory, out);
    assert_int_equal(access(out, F_OK), 0);
    assert_int_equal(options.process_id, getpid());
    assert_true(options.whole);
}

/* Ends it, and returns what is said. */
static const char *finish(void) {
    messages_begin();
    sink->finish(sink);
    return messages_end();
}

static const char last_words[] = "spex: 123 records, 45 lost, in the/folder\n";

/* Sites come before the first records, once; losses only where records tell of some. */
TEST_WITH(batches_come_behind_what_they_need, begin, folder_end) {
    struct spex_record records[3] = {
        {.probe_type = SPEX_LAT, .probe_id = PROBE}, {.probe_id = 1}, {.probe_id = 2}};
    const struct spex_batch batch = {.records = records, .count = 3};
    open_sink("");
    assert_true(sink->records(sink, &batch));
    expect_told("sites 2 records 3 of 12");
    assert_true(sink->records(sink, &batch));
    expect_told("records 3 of 12");
    counts.lost += 7;
    counts.pending = 1000;
    unrecorded++;
    records[1].lost = 5;
    assert_true(sink->records(sink, &batch));
    expect_told("records 3 of 12");
    records[0].lost = 2;
    assert_true(sink->records(sink, &batch));
    expect_told("lost 8 records 3 of 12");
    assert_int_equal(depth, 0);
    assert_string_equal(finish(), last_words);
    expect_told("!lost 1008 !profile !end !free");
}

/* Those of each record, before the first that needs them. Other records have none. */
TEST_WITH(contexts_come_before_the_records, begin, folder_end) {
    struct spex_record records[] = {
        {.probe_type = SPEX_KERNEL, .probe_id = 1, .fields = {0, 5}},
        {.probe_type = SPEX_KERNEL, .probe_id = 1, .fields = {0, 5}},
        {.probe_type = SPEX_KERNEL, .probe_id = 1, .fields = {0, CHAIN}},
        {.probe_type = SPEX_KERNEL, .probe_id = 1, .fields = {0, 6}},
    };
    struct spex_batch batch = {.records = records, .count = COUNT_OF(records)};
    open_sink("");
    assert_true(sink->records(sink, &batch));
    expect_told("sites 2 contexts 1 contexts 256 contexts 44 contexts 1 records 4 of 1");
    assert_true(sink->records(sink, &batch));
    expect_told("records 4 of 1");
    for (size_t r = 0; r < COUNT_OF(records); r++) {
        records[r].probe_type = SPEX_LAT;
        records[r].fields[1] = 7;
    }
    assert_true(sink->records(sink, &batch));
    expect_told("records 4 of 1");
    finish();
}

/* The lowest of all collectors. */
TEST_WITH(a_pass_is_that_of_all_collectors, begin, folder_end) {
    static const struct {
        unsigned collector, watermark;
        const char *told;
    } passes[] = {{0, 10, "pass 0"}, {2, 7, "pass 0"},   {1, 9, "pass 7"},  {2, 8, "pass 8"},
                  {2, 30, "pass 9"}, {1, 40, "pass 10"}, {0, 35, "pass 30"}};
    open_sink("");
    for (size_t p = 0; p < COUNT_OF(passes); p++) {
        assert_true(sink->pass(sink, passes[p].collector, passes[p].watermark));
        expect_told(passes[p].told);
    }
    assert_int_equal(depth, 0);
    finish();
}

TEST_WITH(a_profile_comes_a_second_after_the_one_before, begin, folder_end) {
    open_sink("");
    now += 999999999;
    assert_true(sink->pass(sink, 0, 1));
    expect_told("pass 0");
    now++;
    counts.pending = 1000;
    counts.lost++;
    assert_true(sink->pass(sink, 0, 1));
    expect_told("pass 0 lost 1 profile");
    assert_true(sink->pass(sink, 0, 1));
    expect_told("pass 0");
    now += 1500000000;
    assert_true(sink->pass(sink, 0, 1));
    expect_told("pass 0 lost 1 profile");
    now += 999999999;
    assert_true(sink->pass(sink, 0, 1));
    expect_told("pass 0");
    finish();
}

/* Once, by whatever it is noticed. */
TEST_WITH(its_end_is_said_once, begin, folder_end) {
    static const char line[] =
        "spex: SPEX_OUT: the trace the/folder has ended, and the program goes on: No space left on "
        "device\n";
    const struct spex_record record = {.probe_type = SPEX_LAT, .probe_id = PROBE};
    const struct spex_batch batch = {.records = &record, .count = 1};
    char both[256];
    for (int n = 0; n < 3; n++) {
        trace_error = 0;
        open_sink("");
        trace_error = -ENOSPC;
        messages_begin();
        if (n == 0)
            assert_true(sink->records(sink, &batch));
        if (n <= 1)
            assert_true(sink->pass(sink, 0, 1));
        assert_true(n == 2 || sink->records(sink, &batch));
        const char *said = messages_end();
        assert_string_equal(said, n == 2 ? "" : line);
        said = finish();
        snprintf(both, sizeof(both), "%s%s", n == 2 ? line : "", last_words);
        assert_string_equal(said, both);
    }
}

TEST_WITH(limits_stand_behind_the_folder, begin, folder_end) {
    char out[128];
    open_sink(",keep=3M");
    assert_int_equal(options.limits.keep, 3 << 20);
    assert_int_equal(options.disk->keep, 3 << 20);
    finish();
    snprintf(out, sizeof(out), "%s/others,keep=x", folder);
    messages_begin();
    int err = spex_own_trace_open(out, COLLECTORS, &sink);
    const char *said = messages_end();
    assert_int_equal(err, -EINVAL);
    assert_non_null(strstr(said, "; the probes stay off\n"));
    *strchr(out, ',') = '\0';
    assert_int_equal(access(out, F_OK), -1);
    trace_error = -EMFILE;
    messages_begin();
    err = spex_own_trace_open(out, COLLECTORS, &sink);
    said = messages_end();
    assert_int_equal(err, -EMFILE);
    assert_string_equal(said, "spex: SPEX_OUT: no trace; the probes stay off\n");
}

/* The folder is where it was when it was asked for first. */
TEST_WITH(the_program_may_change_its_directory, begin, folder_end) {
    char before[128], expected[128];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(folder), 0);
    char *whole = realpath(".", NULL);
    snprintf(expected, sizeof(expected), "%.100s/relative", whole);
    free(whole);
    for (int n = 0; n < 2; n++) {
        assert_int_equal(spex_own_trace_open("relative", COLLECTORS, &sink), 0);
        assert_string_equal(directory, expected);
        finish();
        assert_int_equal(chdir(before), 0);
    }
    assert_int_equal(spex_own_trace_open(folder, COLLECTORS, &sink), 0);
    assert_string_not_equal(directory, expected);
    finish();
}

int main(void) {
    work();
    return tests_run(NULL, NULL);
}
