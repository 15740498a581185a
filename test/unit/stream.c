/* SPDX-License-Identifier: MIT */
/* The stream's contents: every record once, after its site and its contexts, and within the
 * watermarks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <spex/atomic.h>
#include <spex/kernel.h>
#include <spex/spex.h>

#include "../interrupted_calls.h"

#include "../capture.h"
#include "../check.h"
#include "../status.h"
#include "collect/sinks.h"
#include "messages.h"
#include "plugin.h"
#include "ring/rings.h"
#include "stream_received.h"
#include "wire/stream_format.h"

static const char *plugin_path;

/* Every collector's watermark only rises, and never into the future. */
static void check_passes(unsigned collectors) {
    uint64_t watermarks[8] = {0}, passes = 0;
    for (size_t f = 0; f < receiver.count; f++) {
        const struct spex_stream_header *header = &receiver.frames[f].header;
        if (header->kind != SPEX_STREAM_PASS)
            continue;
        assert_true(header->collector < collectors);
        assert_true(header->watermark >= watermarks[header->collector]);
        assert_true(header->watermark <= spex_ticks());
        watermarks[header->collector] = header->watermark;
        passes++;
    }
    assert_true(passes > 0);
}

TEST_WITH(every_record_arrives_once, setup, teardown) {
    struct spex_status before = status_now();
    const uint64_t records = 2 * THREADS * EACH;
    receiver_start(ALL_FRAMES);
    assert_int_equal(start("stream.*", 2, 0), 0);
    /* The command that has started the program measures it. */
    assert_true(spex_sinks_prompt());
    threads_run();
    spex_stop();
    receiver_join();
    check_headers(2);
    check_passes(2);
    memset(seen, 0, sizeof(seen));
    assert_int_equal(for_each_record(see_snapshot), records);
    for_each_record(see_site);
    const struct spex_stream_header *end = &receiver.frames[receiver.count - 1].header;
    assert_int_equal(end->produced, before.produced + records);
    assert_int_equal(end->consumed, before.consumed + records);
    assert_int_equal(end->lost, before.lost);
}

TEST_WITH(sites_are_described, setup, teardown) {
    unsigned described = 0;
    receiver_start(ALL_FRAMES);
    assert_int_equal(start("stream.*", 1, 0), 0);
    spex_stop();
    receiver_join();
    assert_int_equal(receiver.frames[1].header.kind, SPEX_STREAM_SITES);
    for (uint32_t s = 0; s < receiver.frames[1].header.count; s++) {
        const struct spex_stream_site *site = &receiver.frames[1].sites[s];
        assert_int_equal(site->index, s);
        if (site->probe_id != FIRST && site->probe_id != SECOND)
            continue;
        described |= site->probe_id == FIRST ? 1u : 2u;
        assert_string_equal(site->name, site->probe_id == FIRST ? "stream.first" : "stream.second");
        assert_int_equal(site->probe_type, site->probe_id == FIRST ? SPEX_LAT : SPEX_SNAPSHOT);
        assert_int_equal(site->subsample, 1);
        assert_non_null(strstr(site->file, "unit/stream"));
        assert_true(site->line > 0);
    }
    assert_int_equal(described, 3);
}

/* A chain of kernels of its own for each `n`. */
static void chain(uint64_t n) {
    struct spex_kernel_span outer, other;
    spex_kernel_enter_(&outer, 1000 + (uint32_t)n);
    spex_kernel_enter_(&other, 2000 + (uint32_t)n);
    KERNEL_PROBE_BEGIN(INNER, 1, n);
    KERNEL_PROBE_END(INNER);
    spex_kernel_leave_(&other);
    spex_kernel_leave_(&outer);
}

static const struct spex_stream_context *told_before(size_t frame, uint64_t number) {
    for (size_t f = 0; f < frame; f++)
        for (uint32_t c = 0; receiver.frames[f].header.kind == SPEX_STREAM_CONTEXTS &&
                             c < receiver.frames[f].header.count;
             c++)
            if (receiver.frames[f].contexts[c].number == number)
                return &receiver.frames[f].contexts[c];
    fail_msg("context %llu was not told before it was used", (unsigned long long)number);
    return NULL;
}

static void see_kernel(size_t frame, const struct spex_record *record) {
    const struct spex_stream_context *context = told_before(frame, record->fields[1]);
    assert_int_equal(context->kernel, INNER);
    context = told_before(frame, context->parent);
    assert_int_equal(context->kernel, 2000 + record->fields[2]);
    context = told_before(frame, context->parent);
    assert_int_equal(context->kernel, 1000 + record->fields[2]);
    assert_int_equal(context->parent, SPEX_CONTEXT_ROOT);
}

TEST_WITH(contexts_come_before_their_records_and_once, setup, teardown) {
    size_t told = 0;
    receiver_start(ALL_FRAMES);
    assert_int_equal(start("901", 1, 0), 0);
    for (uint64_t n = 0; n < 2 * CHAINS; n++)
        chain(n % CHAINS);
    spex_stop();
    receiver_join();
    assert_int_equal(for_each_record(see_kernel), 2 * CHAINS);
    for (size_t f = 0; f < receiver.count; f++)
        if (receiver.frames[f].header.kind == SPEX_STREAM_CONTEXTS)
            told += receiver.frames[f].header.count;
    assert_int_equal(told, 3 * CHAINS);
}

TEST_WITH(sites_of_a_library_come_before_its_records, setup, teardown) {
    receiver_start(ALL_FRAMES);
    messages_begin();
    int started = start("plugin.*:lat", 1, 0);
    messages_end();
    assert_int_equal(started, 0);
    for (int round = 0; round < 5; round++) {
        unsigned (*run)(unsigned);
        void *plugin = dlopen(plugin_path, RTLD_NOW);
        if (!plugin)
            fail_msg("%s", dlerror());
        void *symbol = dlsym(plugin, "plugin_work");
        memcpy(&run, &symbol, sizeof(run));
        run(10);
        dlclose(plugin);
    }
    spex_stop();
    receiver_join();
    assert_int_equal(for_each_record(see_site), 50);
}

static void see_promise_kept(size_t frame, const struct spex_record *record) {
    if (record->probe_id != FIRST)
        return;
    for (size_t f = 0; f < frame; f++)
        if (receiver.frames[f].header.kind == SPEX_STREAM_PASS &&
            receiver.frames[f].header.watermark > record->timestamp)
            fail_msg("a record came after a watermark beyond it");
}

static struct spex_ring ring_here(uint32_t type) {
    cpu_set_t here;
    int cpu = sched_getcpu();
    assert_true(cpu >= 0);
    CPU_ZERO(&here);
    CPU_SET((unsigned)cpu, &here);
    assert_int_equal(sched_setaffinity(0, sizeof(here), &here), 0);
    return spex_rings_at(&spex_rings,
                         (unsigned)cpu * SPEX_PROBE_TYPES + (unsigned)__builtin_ctz(type));
}

/* A watermark promises that no older record follows. The collector is held up in the last of its
 * rings while they are filled, so that no pass begins between a record's timestamp and its way into
 * the ring. `stalled`: in front of the records is an index whose writer does not go on. */
static void check_promise(unsigned batch, bool stalled) {
    through_the_gate = 0;
    receiver_start(ALL_FRAMES);
    capture_start(gated_see, NULL);
    assert_int_equal(start("stream.*", 1, batch), 0);
    struct spex_ring ring = ring_here(SPEX_LAT);
    for (uint64_t round = 0; round < 20; round++) {
        uint64_t consumed = status_now().consumed;
        pthread_mutex_lock(&gate);
        SNAPSHOT_PROBE(SECOND, 1, 0, round, 0);
        while (status_now().consumed == consumed)
            sched_yield();
        if (stalled) {
            spex_fetch_add_relaxed(&ring.producer->reserve, 1);
            spex_fetch_add_relaxed(&ring.producer->abandoned, 1);
        }
        for (int i = 0; i < 10; i++) {
            LAT_PROBE_BEGIN(FIRST, 1);
            LAT_PROBE_END(FIRST);
        }
        pthread_mutex_unlock(&gate);
        while (spex_load_relaxed(&through_the_gate) < (round + 1) * 11)
            sched_yield();
    }
    spex_stop();
    receiver_join();
    check_passes(1);
    assert_int_equal(for_each_record(see_promise_kept), 20 * 11);
}

/* How many passes that took records had a watermark not below the oldest of them. */
static unsigned passes_up_to_their_records(void) {
    uint64_t oldest = UINT64_MAX;
    unsigned count = 0;
    for (size_t f = 0; f < receiver.count; f++) {
        const struct frame *frame = &receiver.frames[f];
        for (uint32_t r = 0; frame->header.kind == SPEX_STREAM_PACKED && r < frame->header.count;
             r++)
            if (frame->records[r].timestamp < oldest)
                oldest = frame->records[r].timestamp;
        if (frame->header.kind != SPEX_STREAM_PASS)
            continue;
        count += oldest != UINT64_MAX && frame->header.watermark >= oldest;
        oldest = UINT64_MAX;
    }
    return count;
}

/* A pass takes one record of the ten in a ring. A watermark is also kept that does not rise, so most
 * of those told are to have come up to what was taken. */
TEST_WITH(watermarks_are_kept_with_a_backlog, setup, teardown) {
    check_promise(1, false);
    assert_true(passes_up_to_their_records() >= 20 * 5);
    assert_int_equal(status_now().pending, 0);
}

TEST_WITH(watermarks_are_kept_with_a_stalled_writer, setup, teardown) {
    if (spex_rings.commit != SPEX_COMMIT_ATOMIC)
        skip(); /* a writer that stalls holds nobody up: its sequence is restarted */
    check_promise(0, true);
    assert_int_equal(status_now().pending, 0);
}

/* What of a batch has not been sent when the process is killed is still in other rings. */
TEST_WITH(batches_of_atomic_rings_are_small, setup, teardown) {
    enum { RECORDS = 1500, ATOMIC_MOST = 768 };
    uint32_t most = 0;
    through_the_gate = 0;
    receiver_start(ALL_FRAMES);
    capture_start(gated_see, NULL);
    assert_int_equal(start("stream.*", 1, 0), 0);
    ring_here(SPEX_LAT);
    uint64_t consumed = status_now().consumed;
    pthread_mutex_lock(&gate);
    SNAPSHOT_PROBE(SECOND, 1, 0, 0, 0);
    while (status_now().consumed == consumed)
        sched_yield();
    for (int i = 0; i < RECORDS; i++) {
        LAT_PROBE_BEGIN(FIRST, 1);
        LAT_PROBE_END(FIRST);
    }
    pthread_mutex_unlock(&gate);
    spex_stop();
    receiver_join();
    for (size_t f = 0; f < receiver.count; f++) {
        const struct spex_stream_header *header = &receiver.frames[f].header;
        if (header->kind == SPEX_STREAM_PACKED && header->count > most)
            most = header->count;
    }
    assert_int_equal(most, spex_rings.commit == SPEX_COMMIT_ATOMIC ? ATOMIC_MOST : RECORDS);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    plugin_path = argv[1];
    return tests_run(NULL, NULL);
}
