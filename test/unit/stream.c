/* SPDX-License-Identifier: MIT */
/* What a spex command would receive: a socket of the test's own takes the program's stream and
 * keeps every frame, to be looked at when the program has stopped. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/kernel.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../check.h"
#include "messages.h"
#include "plugin.h"
#include "ring/rings.h"
#include "wire/stream_format.h"

enum { FIRST = 31, SECOND, PLUGIN = 21 };
enum { INNER = 901, CHAINS = 300 };
enum { THREADS = 4, EACH = 3000, ALL_FRAMES = 1 << 20 };

SPEX_PROBE_NAME(FIRST, "stream.first");
SPEX_PROBE_NAME(SECOND, "stream.second");

struct frame {
    struct spex_stream_header header;
    union {
        struct spex_record *records;
        struct spex_stream_site *sites;
        struct spex_stream_context *contexts;
        void *entries;
    };
};

static struct {
    char directory[32];
    char path[64];
    char out[80];
    int listener;
    int frames_wanted; /* the receiver goes away after so many */
    pthread_t thread;
    struct frame *frames;
    size_t count;
} receiver;

static const char *plugin_path;

static int setup(void **state) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)state;
    strcpy(receiver.directory, "/tmp/spex-XXXXXX");
    if (!mkdtemp(receiver.directory))
        return -1;
    snprintf(receiver.path, sizeof(receiver.path), "%s/socket", receiver.directory);
    snprintf(receiver.out, sizeof(receiver.out), "unix:%s", receiver.path);
    strcpy(address.sun_path, receiver.path);
    receiver.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return receiver.listener < 0 ||
           bind(receiver.listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
           listen(receiver.listener, 1) < 0;
}

static int teardown(void **state) {
    (void)state;
    spex_stop();
    close(receiver.listener);
    unlink(receiver.path);
    rmdir(receiver.directory);
    for (size_t f = 0; f < receiver.count; f++)
        free(receiver.frames[f].entries);
    free(receiver.frames);
    receiver.frames = NULL;
    receiver.count = 0;
    return 0;
}

static size_t entry_bytes(const struct spex_stream_header *header) {
    switch (header->kind) {
    case SPEX_STREAM_SITES:
        return sizeof(struct spex_stream_site);
    case SPEX_STREAM_RECORDS:
        return sizeof(struct spex_record);
    case SPEX_STREAM_CONTEXTS:
        return sizeof(struct spex_stream_context);
    default:
        return 0;
    }
}

static void frame_keep(const char *packet, size_t length) {
    struct frame frame = {0};
    if (length < sizeof(frame.header))
        abort();
    memcpy(&frame.header, packet, sizeof(frame.header));
    size_t bytes = frame.header.count * entry_bytes(&frame.header);
    if (length != sizeof(frame.header) + bytes)
        abort();
    frame.entries = malloc(bytes + 1);
    receiver.frames = realloc(receiver.frames, (receiver.count + 1) * sizeof(*receiver.frames));
    if (!receiver.frames || !frame.entries)
        abort();
    memcpy(frame.entries, packet + sizeof(frame.header), bytes);
    receiver.frames[receiver.count++] = frame;
}

static void *receiver_run(void *arg) {
    static char packet[SPEX_STREAM_FRAME_BYTES + 1];
    int connection = accept(receiver.listener, NULL, NULL);
    (void)arg;
    for (int f = 0; f < receiver.frames_wanted; f++) {
        ssize_t length = recv(connection, packet, sizeof(packet), 0);
        if (length <= 0)
            break;
        frame_keep(packet, (size_t)length);
    }
    close(connection);
    return NULL;
}

static void receiver_start(int frames_wanted) {
    receiver.frames_wanted = frames_wanted;
    assert_int_equal(pthread_create(&receiver.thread, NULL, receiver_run, NULL), 0);
}

static void receiver_join(void) {
    pthread_join(receiver.thread, NULL);
}

static struct spex_status status(void) {
    struct spex_status now = {.size = sizeof(now)};
    if (spex_status_get(&now) != 0)
        abort();
    return now;
}

static int start(const char *probes, unsigned collectors, unsigned batch) {
    const struct spex_options options = {.size = sizeof(options),
                                         .probes = probes,
                                         .out = receiver.out,
                                         .collectors = collectors,
                                         .batch_records = batch,
                                         .ring_records = 65536};
    return spex_start(&options);
}

__attribute__((noinline)) static void execute(uint64_t thread, uint64_t sequence) {
    LAT_PROBE_BEGIN(FIRST, 1);
    LAT_PROBE_END(FIRST);
    SNAPSHOT_PROBE(SECOND, 1, thread, sequence, mix(thread << 32 | sequence));
}

static void *thread_run(void *arg) {
    for (uint64_t i = 1; i <= EACH; i++)
        execute((uint64_t)(uintptr_t)arg, i);
    return NULL;
}

static void threads_run(void) {
    pthread_t threads[THREADS];
    for (uintptr_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, thread_run, (void *)t), 0);
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

static void check_headers(unsigned collectors) {
    const struct spex_stream_header *before = &receiver.frames[0].header;
    assert_true(receiver.count > 3);
    for (size_t f = 0; f < receiver.count; f++) {
        const struct spex_stream_header *header = &receiver.frames[f].header;
        assert_int_equal(header->magic, SPEX_STREAM_MAGIC);
        assert_int_equal(header->version, SPEX_STREAM_VERSION);
        assert_int_equal(header->process_id, getpid());
        assert_int_equal(header->collectors, collectors);
        assert_int_equal(header->kind == SPEX_STREAM_HELLO, f == 0);
        assert_int_equal(header->kind == SPEX_STREAM_END, f == receiver.count - 1);
        assert_true(header->produced >= header->consumed); /* it may fall by what was abandoned */
        assert_true(header->consumed >= before->consumed);
        assert_true(header->monotonic_ns >= before->monotonic_ns);
        before = header;
    }
}

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

static bool site_known(size_t before, const struct spex_record *record) {
    for (size_t f = 0; f < before; f++)
        for (uint32_t s = 0; s < receiver.frames[f].header.count; s++)
            if (receiver.frames[f].header.kind == SPEX_STREAM_SITES &&
                receiver.frames[f].sites[s].probe_id == record->probe_id &&
                receiver.frames[f].sites[s].probe_type == record->probe_type)
                return true;
    return false;
}

/* Calls see() for every record; returns how many there were. */
static uint64_t for_each_record(void (*see)(size_t frame, const struct spex_record *record)) {
    uint64_t count = 0;
    for (size_t f = 0; f < receiver.count; f++)
        for (uint32_t r = 0; r < receiver.frames[f].header.count; r++)
            if (receiver.frames[f].header.kind == SPEX_STREAM_RECORDS) {
                see(f, &receiver.frames[f].records[r]);
                count++;
            }
    return count;
}

static void see_site(size_t frame, const struct spex_record *record) {
    if (!site_known(frame, record))
        fail_msg("a record of probe %u came before its site", record->probe_id);
}

static uint8_t seen[THREADS][EACH + 1];

static void see_snapshot(size_t frame, const struct spex_record *record) {
    (void)frame;
    if (record->probe_type != SPEX_SNAPSHOT)
        return;
    assert_int_equal(record->field_count, 3);
    assert_in_range(record->fields[0], 0, THREADS - 1);
    assert_in_range(record->fields[1], 1, EACH);
    assert_int_equal(record->fields[2], mix(record->fields[0] << 32 | record->fields[1]));
    assert_int_equal(seen[record->fields[0]][record->fields[1]]++, 0);
}

static void every_record_arrives_once(void **state) {
    struct spex_status before = status();
    const uint64_t records = 2 * THREADS * EACH;
    (void)state;
    receiver_start(ALL_FRAMES);
    assert_int_equal(start("stream.*", 2, 0), 0);
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

static void sites_are_described(void **state) {
    unsigned described = 0;
    (void)state;
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
        assert_non_null(strstr(site->file, "stream.c"));
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

static void contexts_come_before_their_records_and_once(void **state) {
    size_t told = 0;
    (void)state;
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

static void sites_of_a_library_come_before_its_records(void **state) {
    (void)state;
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

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static uint64_t through_the_gate;

static void gated_see(const struct spex_record *record, void *context) {
    (void)record;
    (void)context;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    spex_fetch_add_relaxed(&through_the_gate, 1);
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
        uint64_t consumed = status().consumed;
        pthread_mutex_lock(&gate);
        SNAPSHOT_PROBE(SECOND, 1, 0, round, 0);
        while (status().consumed == consumed)
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

static void watermarks_are_kept_with_a_backlog(void **state) {
    (void)state;
    check_promise(1, false);
    assert_int_equal(status().pending, 0);
}

static void watermarks_are_kept_with_a_stalled_writer(void **state) {
    (void)state;
    if (spex_rings.commit != SPEX_COMMIT_ATOMIC)
        skip(); /* a writer that stalls holds nobody up: its sequence is restarted */
    check_promise(0, true);
    assert_int_equal(status().pending, 0);
}

static void a_receiver_that_leaves_is_no_harm(void **state) {
    struct spex_status before = status();
    (void)state;
    receiver_start(2); /* HELLO and SITES: without them spex would not start */
    assert_int_equal(start("stream.*", 2, 0), 0);
    receiver_join();
    threads_run();
    spex_stop();
    struct spex_status now = status();
    uint64_t records = 2 * THREADS * EACH;
    assert_int_equal(receiver.frames[0].header.kind, SPEX_STREAM_HELLO);
    assert_int_equal(now.produced - before.produced, records);
    assert_int_equal(now.consumed - before.consumed + now.lost - before.lost, records);
    assert_int_equal(now.undelivered - before.undelivered, now.consumed - before.consumed);
    assert_int_equal(now.pending, 0);
}

/* The collector waits for it a while, the program never. */
static void a_receiver_that_takes_nothing_is_given_up(void **state) {
    struct spex_status before = status();
    (void)state;
    assert_int_equal(start("stream.*", 1, 0), 0);
    for (int round = 0; round < 4; round++)
        threads_run();
    spex_stop();
    struct spex_status now = status();
    assert_int_equal(now.produced - before.produced, 4 * 2 * THREADS * EACH);
    assert_int_equal(now.produced, now.consumed + now.lost);
    assert_true(now.undelivered > before.undelivered);
    assert_true(now.undelivered - before.undelivered <= now.consumed - before.consumed);
}

/* The stream is the parent's: its child neither ends it nor writes to it. */
static void a_forked_child_keeps_out_of_the_stream(void **state) {
    (void)state;
    receiver_start(ALL_FRAMES);
    assert_int_equal(start("stream.second", 1, 0), 0);
    execute(0, 1);
    pid_t child = fork();
    if (child == 0) {
        execute(0, 2);
        _exit(spex_stop());
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    execute(0, 3);
    spex_stop();
    receiver_join();
    check_headers(1);
    memset(seen, 0, sizeof(seen));
    assert_int_equal(for_each_record(see_snapshot), 2);
    assert_int_equal(seen[0][1] + seen[0][3], 2);
}

static void expect_no_connection(const char *path, int err) {
    char out[300];
    struct spex_options options = {.size = sizeof(options), .probes = "*", .out = out};
    snprintf(out, sizeof(out), "unix:%s", path);
    messages_begin();
    int got = spex_start(&options);
    const char *text = messages_end();
    assert_int_equal(got, -err);
    if (!strstr(text, path) || !strstr(text, strerror(err)))
        fail_msg("%s: %s", path, text);
    assert_int_equal(status().collectors, 0);
    assert_int_equal(status().sites_on, 0);
}

static void a_bad_socket_is_named(void **state) {
    char path[200];
    (void)state;
    memset(path, 'x', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    expect_no_connection(path, ENAMETOOLONG);
    path[sizeof(((struct sockaddr_un *)0)->sun_path)] = '\0'; /* one too long */
    expect_no_connection(path, ENAMETOOLONG);
    expect_no_connection("/nowhere/at/all", ENOENT);
    expect_no_connection("/dev/null", ECONNREFUSED);
    expect_no_connection("", ENOENT);
}

/* The end of the stream that is spex's, by the address it is connected to. */
static int stream_find(void) {
    struct sockaddr_un peer;
    for (int fd = 3; fd < 65536; fd++) {
        socklen_t length = sizeof(peer);
        memset(&peer, 0, sizeof(peer));
        if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 && peer.sun_family == AF_UNIX &&
            strcmp(peer.sun_path, receiver.path) == 0)
            return fd;
    }
    return -1;
}

/* A program closes all descriptors that it does not know, as a daemon does, and spex's number
 * becomes that of a socket of its own. The gate holds the collector meanwhile: nobody can close a
 * descriptor safely while it is being written to. */
static void a_descriptor_that_is_no_longer_ours_is_left_alone(void **state) {
    struct spex_status before = status();
    int pair[2];
    char packet[SPEX_STREAM_FRAME_BYTES];
    (void)state;
    pthread_mutex_lock(&gate);
    capture_start(gated_see, NULL);
    receiver_start(ALL_FRAMES);
    assert_int_equal(start("stream.first", 1, 1), 0);
    int number = stream_find();
    assert_true(number >= 0);
    execute(0, 1);
    while (status().consumed == before.consumed)
        sched_yield();
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_int_equal(dup2(pair[0], number), number);
    close(pair[0]);
    pthread_mutex_unlock(&gate);
    for (uint64_t i = 2; i <= 100; i++)
        execute(0, i);
    spex_stop();
    receiver_join();
    assert_int_equal(recv(pair[1], packet, sizeof(packet), MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN); /* not the end: the other side is open */
    assert_int_equal(for_each_record(see_site), 0);
    assert_int_equal(status().consumed, before.consumed + 100);
    assert_int_equal(status().undelivered, before.undelivered + 100);
    close(number);
    close(pair[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        TEST(every_record_arrives_once),
        TEST(sites_are_described),
        TEST(contexts_come_before_their_records_and_once),
        TEST(sites_of_a_library_come_before_its_records),
        TEST(a_receiver_that_leaves_is_no_harm),
        TEST(a_receiver_that_takes_nothing_is_given_up),
        TEST(a_forked_child_keeps_out_of_the_stream),
        TEST(a_bad_socket_is_named),
        TEST(a_descriptor_that_is_no_longer_ours_is_left_alone),
        TEST(watermarks_are_kept_with_a_backlog),
        TEST(watermarks_are_kept_with_a_stalled_writer),
    };
    if (argc != 2)
        return 2;
    plugin_path = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
