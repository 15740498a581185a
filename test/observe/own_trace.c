/* SPDX-License-Identifier: MIT */
/* The trace that a program writes itself (SPEX_OUT=ctf:FOLDER), read back: as many records as
 * executions, their kernels' contexts, and the profiles that the process had. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../interrupted_calls.h"

#include "../unit/messages.h"
#include "trace/read/part.h"
#include "trace/read/recording.h"
#include "trace_folder.h"

enum { ROUNDS = 300, INNER = 3 };

static volatile unsigned work;

static void inner(unsigned n) {
    KERNEL_PROBE_BEGIN(22, 1, n);
    work += n;
    KERNEL_PROBE_END(22);
}

static void rounds_run(unsigned rounds) {
    for (unsigned r = 0; r < rounds; r++) {
        KERNEL_PROBE_BEGIN(21, 1, r);
        LAT_PROBE_BEGIN(7, 1);
        for (unsigned i = 0; i < INNER; i++)
            inner(i);
        LAT_PROBE_END(7);
        KERNEL_PROBE_END(21);
    }
}

/* Starts with a trace in a folder within ours, and returns what spex_start does. */
static int start(const char *name) {
    char out[128];
    snprintf(out, sizeof(out), "ctf:%s/%s", folder, name);
    const struct spex_options options = {
        .size = sizeof(options), .out = out, .probes = "*", .control = "off"};
    return spex_start(&options);
}

static struct spex_recording *trace_open(const char *name) {
    struct spex_recording *trace;
    struct spex_error error = {""};
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (spex_recording_open(path, &trace, &error) != 0)
        fail_msg("%s", error.text);
    return trace;
}

/* The kernel in which that of a record ran; 0: none. */
static uint16_t kernel_around(const struct spex_recording_event *event) {
    struct spex_kernels_known kernels = spex_recording_kernels(event->process);
    struct spex_context_node own, parent;
    if (!kernels.node(kernels.by, event->record.fields[1], &own))
        fail_msg("context %llu is not told", (unsigned long long)event->record.fields[1]);
    return kernels.node(kernels.by, own.parent, &parent) ? parent.kernel : 0;
}

static void expect_profile(struct spex_part *part) {
    const struct spex_profile *profile = spex_part_profile(part, 0);
    assert_int_equal(profile->row_count, 3);
    for (size_t r = 0; r < 3; r++) {
        const struct spex_profile_probe *probe = &profile->rows[r].probe;
        unsigned executed = probe->probe_id == 22 ? ROUNDS * INNER : ROUNDS;
        assert_int_equal(probe->records, executed);
        assert_int_equal((unsigned)probe->count, executed);
        assert_int_equal((unsigned)probe->lost, 0);
    }
    assert_int_equal(profile->process.lost, 0);
    assert_int_equal(profile->process.produced, ROUNDS * (2 + INNER));
    assert_int_equal(profile->process.consumed, ROUNDS * (2 + INNER));
}

TEST_WITH(all_is_in_the_trace, folder_begin, folder_end) {
    struct spex_recording_event event;
    struct spex_error error = {""};
    struct spex_part *part;
    unsigned lat = 0, outer = 0, within = 0;
    char line[160];
    messages_begin();
    int err = start("trace");
    rounds_run(ROUNDS);
    spex_stop();
    const char *said = messages_end();
    assert_int_equal(err, 0);
    snprintf(line, sizeof(line), "spex: %u records, 0 lost, in %s/trace", ROUNDS * (2 + INNER),
             folder);
    if (!strstr(said, line))
        fail_msg("%s", said);
    struct spex_recording *trace = trace_open("trace");
    assert_int_equal(trace->process_count, 1);
    assert_int_equal(trace->processes[0].process_id, getpid());
    assert_string_equal(trace->processes[0].program, "observe-own_trace");
    assert_int_equal(spex_recording_process_lost(&trace->processes[0]), 0);
    assert_true(trace->processes[0].journal.profile_count >= 1);
    assert_int_equal(spex_part_open(&part, trace, trace->begin, UINT64_MAX, &error), 0);
    while (spex_recording_next(trace, &event, &error) == 1) {
        assert_int_equal(spex_part_add(part, &event), 0);
        assert_int_equal(event.record.thread_id, getpid());
        assert_int_equal(event.record.weight, 1);
        if (event.record.probe_id == 7)
            lat++;
        else
            assert_int_equal(kernel_around(&event), event.record.probe_id == 22 ? 21 : 0);
        outer += event.record.probe_id == 21;
        within += event.record.probe_id == 22;
    }
    assert_int_equal(lat, ROUNDS);
    assert_int_equal(outer, ROUNDS);
    assert_int_equal(within, ROUNDS * INNER);
    assert_int_equal(spex_part_finish(part), 0);
    expect_profile(part);
    assert_int_equal(trace->problems.count, 0);
    spex_part_close(part);
    spex_recording_close(trace);
}

/* While spex runs, a collection that lasts over a second has a profile of each. */
TEST_WITH(profiles_come_once_a_second, folder_begin, folder_end) {
    messages_begin();
    int err = start("seconds");
    for (unsigned n = 0; n < 25; n++) {
        rounds_run(1);
        usleep(100000);
    }
    spex_stop();
    messages_end();
    assert_int_equal(err, 0);
    struct spex_recording *trace = trace_open("seconds");
    const struct spex_journal *journal = &trace->processes[0].journal;
    assert_true(journal->profile_count >= 3);
    for (size_t p = 0; p + 2 < journal->profile_count; p++)
        assert_true(spex_recording_ns(trace, journal->profiles[p + 1].ticks) -
                        spex_recording_ns(trace, journal->profiles[p].ticks) >
                    900000000);
    spex_recording_close(trace);
}

TEST_WITH(a_folder_that_cannot_be_made_is_told, folder_begin, folder_end) {
    messages_begin();
    int err = start("no/folder");
    const char *said = messages_end();
    spex_stop();
    assert_int_equal(err, 0); /* the program can still be controlled */
    assert_non_null(strstr(said, "no/folder: No such file or directory; the probes stay off"));
}

/* The folder is where it was when it was asked for first. */
TEST_WITH(the_program_may_change_its_directory, folder_begin, folder_end) {
    static const struct spex_options options = {
        .size = sizeof(options), .out = "ctf:relative", .probes = "*", .control = "off"};
    char before[128];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(folder), 0);
    for (unsigned n = 0; n < 2; n++) {
        messages_begin();
        assert_int_equal(spex_start(&options), 0);
        rounds_run(1);
        spex_stop();
        messages_end();
        assert_int_equal(chdir(before), 0);
    }
    struct spex_recording *trace = trace_open("relative");
    assert_int_equal(trace->process_count, 2);
    spex_recording_close(trace);
    assert_int_equal(access("relative", F_OK), -1);
}

/* Executes with a trace whose files may grow to so many bytes. Returns what was said. */
static const char *run_with_room(const char *name, rlim_t bytes, unsigned rounds) {
    struct rlimit before, little;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = bytes;
    signal(SIGXFSZ, SIG_IGN);
    messages_begin();
    int err = start(name);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    rounds_run(rounds);
    spex_stop();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    const char *said = messages_end();
    assert_int_equal(err, 0);
    return said;
}

/* Once, with the reason; the program is not ended by the signal of a file that is too large. */
TEST_WITH(a_trace_that_ends_early_is_told, folder_begin, folder_end) {
    char line[256];
    const char *said = run_with_room("little", 32768, 100 * ROUNDS);
    snprintf(line, sizeof(line),
             "spex: SPEX_OUT: the trace %s/little/observe-own_trace-%d has ended, and the program "
             "goes on: "
             "File too large\n",
             folder, (int)getpid());
    const char *found = strstr(said, line);
    if (!found)
        fail_msg("%s", said);
    else
        assert_null(strstr(found + strlen(line), "has ended"));
}

/* The profile of the end tells of executions whose records are lost. */
TEST_WITH(what_is_executed_after_that_is_counted, folder_begin, folder_end) {
    enum { MANY = 40 * ROUNDS };
    struct spex_recording_event event;
    struct spex_error error = {""};
    struct spex_part *part;
    const char *why;
    run_with_room("cut", 65536, MANY);
    struct spex_recording *trace = trace_open("cut");
    assert_non_null(spex_journal_ended(&trace->processes[0].journal, &why));
    assert_string_equal(why, "File too large");
    assert_int_equal(spex_part_open(&part, trace, trace->begin, UINT64_MAX, &error), 0);
    while (spex_recording_next(trace, &event, &error) == 1)
        assert_int_equal(spex_part_add(part, &event), 0);
    assert_int_equal(spex_part_finish(part), 0);
    const struct spex_profile *profile = spex_part_profile(part, 0);
    assert_int_equal(profile->row_count, 3);
    for (size_t r = 0; r < 3; r++) {
        const struct spex_profile_probe *probe = &profile->rows[r].probe;
        assert_int_equal((unsigned)probe->count, probe->probe_id == 22 ? MANY * INNER : MANY);
        assert_true(probe->records < (uint64_t)probe->count);
        assert_true(probe->lost == probe->count - (double)probe->records);
    }
    spex_part_close(part);
    spex_recording_close(trace);
}
