/* SPDX-License-Identifier: MIT */
/* A program with one probe, which starts and stops spex, and tallies of its records. */
#ifndef SPEX_TEST_LIFE_H
#define SPEX_TEST_LIFE_H

#include <dirent.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../check.h"
#include "base/service_thread.h"

enum { WORK = 1, PLUGIN = 21 };
enum { RECORDERS = 4, FORKS = 40 };

SPEX_PROBE_NAME(WORK, "life.work");

COMPILED_ONCE static void work(unsigned times) {
    while (times-- > 0) {
        CNT_PROBE_BEGIN(WORK, 1);
        CNT_PROBE_END(WORK);
    }
}

static inline struct spex_options options_for(const char *probes) {
    return (struct spex_options){.size = sizeof(struct spex_options),
                                 .probes = probes,
                                 .out = "/dev/null",
                                 .ring_records = 65536};
}

static inline int start(const char *probes) {
    const struct spex_options options = options_for(probes);
    return spex_start(&options);
}

/* The process's threads that are so called, NULL: all; *last is one of them. Threads of the library
 * give themselves their names when they begin. */
static inline unsigned threads_find(const char *name, pid_t *last) {
    unsigned count = 0;
    spex_service_threads_await(&(struct spex_patience){INT64_MAX, UINT64_MAX});
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        char path[300], line[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        FILE *comm = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (!comm)
            continue; /* or the thread has just ended */
        if (fgets(line, sizeof(line), comm))
            line[strcspn(line, "\n")] = '\0';
        fclose(comm);
        if (name && strcmp(line, name) != 0)
            continue;
        *last = (pid_t)strtol(entry->d_name, NULL, 10);
        count++;
    }
    closedir(tasks);
    return count;
}

static inline unsigned thread_count(const char *name) {
    pid_t last;
    return threads_find(name, &last);
}

/* Counts records of one probe, made by the process itself. */
struct tally {
    uint16_t probe_id;
    uint64_t count;
    uint64_t weight; /* executions that they stand for */
    uint64_t others;
};

static inline void tally_see(const struct spex_record *record, void *context) {
    struct tally *tally = context;
    if (record->probe_id == tally->probe_id) {
        tally->count++;
        tally->weight += record->weight;
    } else {
        tally->others++;
    }
}

static inline int stop(void **state) {
    (void)state;
    return spex_stop();
}

#endif
