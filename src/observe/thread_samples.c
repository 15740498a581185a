/* SPDX-License-Identifier: MIT */
/* Samples the threads of a process from the files in /proc/PID/task/TID (proc(5)): stat,
 * schedstat, status and io, and the size of the process from /proc/PID/statm. The counters are
 * cumulative; a use is the difference of two samples. Each thread has a ring of the last
 * SPEX_SAMPLES samples. One thread uses these functions; there is no lock. */
#define _GNU_SOURCE
#include "observe/thread_samples.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Cumulative figures at one time, in seconds of the caller's clock. */
struct sample {
    double at;
    uint32_t known;
    double used[SPEX_USED_COUNT];
};

struct thread {
    uint32_t number;
    /* The thread has a sample of this round. */
    bool seen;
    /* Samples so far; the last ones are in the ring, at their number modulo SPEX_SAMPLES. */
    uint32_t taken;
    struct sample ring[SPEX_SAMPLES];
};

struct spex_thread_samples {
    /* A descriptor of /proc/PID. */
    int process;
    /* Clock ticks a second, the unit of times in stat. */
    double ticks;
    double page_bytes;
    /* Bits of enum spex_used: figures that could not be read, and those of them that
     * spex_thread_samples_missing has reported. */
    uint32_t missing;
    uint32_t told;
    size_t count;
    struct thread threads[SPEX_SAMPLED_THREADS];
};

/* The descriptor of /proc/PID stays that of this process when its number is used again. */
int spex_thread_samples_open(pid_t process, struct spex_thread_samples **samples) {
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d", (int)process);
    struct spex_thread_samples *made = calloc(1, sizeof(*made));
    *samples = made;
    if (!made)
        return -ENOMEM;
    made->process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (made->process < 0) {
        int err = -errno;
        free(made);
        *samples = NULL;
        return err;
    }
    made->ticks = (double)sysconf(_SC_CLK_TCK);
    made->page_bytes = (double)sysconf(_SC_PAGESIZE);
    return 0;
}

void spex_thread_samples_close(struct spex_thread_samples *samples) {
    if (!samples)
        return;
    close(samples->process);
    free(samples);
}

/* Reads the beginning of a small file as text. False when it cannot be read. */
static bool file_read_text(int directory, const char *name, char *text, size_t size) {
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, size - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* Sets a figure of the sample and marks it as known. */
static void sample_set(struct sample *sample, enum spex_used what, double value) {
    sample->used[what] = value;
    sample->known |= 1u << what;
}

/* Takes the number after `label` at the beginning of a line. */
static void sample_set_labelled(struct sample *sample, enum spex_used what, const char *text,
                                const char *label) {
    const char *line = text;
    size_t length = strlen(label);
    while (line && strncmp(line, label, length) != 0) {
        line = strchr(line, '\n');
        if (line)
            line++;
    }
    if (line)
        sample_set(sample, what, strtod(line + length, NULL));
}

/* Number `n`, from 0 on, of a line of words with blanks between them. */
static double number_at(const char *text, unsigned n) {
    text += strspn(text, " ");
    for (; n > 0; n--) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return strtod(text, NULL);
}

/* Fields are numbered as in proc(5). The name of the command, field 2, is in brackets and may
 * contain any character, so that fields are counted from field 3 after the last bracket. */
static void sample_take_stat(const struct spex_thread_samples *samples, const char *text,
                             struct sample *sample) {
    const char *behind = strrchr(text, ')');
    if (!behind)
        return;
    sample_set(sample, SPEX_USED_MINOR, number_at(behind + 1, 10 - 3));
    sample_set(sample, SPEX_USED_MAJOR, number_at(behind + 1, 12 - 3));
    sample_set(sample, SPEX_USED_USER, number_at(behind + 1, 14 - 3) / samples->ticks);
    sample_set(sample, SPEX_USED_SYSTEM, number_at(behind + 1, 15 - 3) / samples->ticks);
}

/* schedstat has nanoseconds on a CPU and waiting for one. */
static void sample_take_files(const struct spex_thread_samples *samples, const char *thread,
                              struct sample *sample) {
    char name[64], text[4096];
    snprintf(name, sizeof(name), "task/%.16s/stat", thread);
    if (file_read_text(samples->process, name, text, sizeof(text)))
        sample_take_stat(samples, text, sample);
    snprintf(name, sizeof(name), "task/%.16s/schedstat", thread);
    if (file_read_text(samples->process, name, text, sizeof(text))) {
        sample_set(sample, SPEX_USED_CPU, number_at(text, 0) / 1e9);
        sample_set(sample, SPEX_USED_WAIT, number_at(text, 1) / 1e9);
    }
    snprintf(name, sizeof(name), "task/%.16s/status", thread);
    if (file_read_text(samples->process, name, text, sizeof(text))) {
        sample_set_labelled(sample, SPEX_USED_VOLUNTARY, text, "voluntary_ctxt_switches:");
        sample_set_labelled(sample, SPEX_USED_INVOLUNTARY, text, "nonvoluntary_ctxt_switches:");
    }
    snprintf(name, sizeof(name), "task/%.16s/io", thread);
    if (file_read_text(samples->process, name, text, sizeof(text))) {
        sample_set_labelled(sample, SPEX_USED_READ, text, "read_bytes:");
        sample_set_labelled(sample, SPEX_USED_WRITTEN, text, "write_bytes:");
    }
}

/* The entry of a thread, which may be new; NULL when there are too many threads. */
static struct thread *thread_of(struct spex_thread_samples *samples, uint32_t number) {
    for (size_t t = 0; t < samples->count; t++)
        if (samples->threads[t].number == number)
            return &samples->threads[t];
    if (samples->count == SPEX_SAMPLED_THREADS)
        return NULL;
    struct thread *thread = &samples->threads[samples->count++];
    thread->number = number;
    thread->taken = 0;
    return thread;
}

/* Removes the threads that have no sample of this round. */
static void forget_ended_threads(struct spex_thread_samples *samples) {
    size_t kept = 0;
    for (size_t t = 0; t < samples->count; t++) {
        if (!samples->threads[t].seen)
            continue;
        if (kept != t)
            samples->threads[kept] = samples->threads[t];
        samples->threads[kept++].seen = false;
    }
    samples->count = kept;
}

/* `memory`: bytes of the process; negative: unknown. */
static void thread_take_sample(struct spex_thread_samples *samples, const char *name, double now,
                               double memory) {
    struct thread *thread = thread_of(samples, (uint32_t)strtoul(name, NULL, 10));
    if (!thread)
        return;
    struct sample *sample = &thread->ring[thread->taken++ % SPEX_SAMPLES];
    *sample = (struct sample){.at = now};
    thread->seen = true;
    sample_take_files(samples, name, sample);
    if (memory >= 0)
        sample_set(sample, SPEX_USED_MEMORY, memory);
    /* A thread that has just ended has no figures at all: that does not mean that the system lacks
     * them. */
    if (sample->known & 1u << SPEX_USED_MINOR)
        samples->missing |= ~sample->known & ((1u << SPEX_USED_COUNT) - 1);
}

/* Threads that end while the directory is read are skipped. The resident size is read once for
 * all threads. */
void spex_thread_samples_take(struct spex_thread_samples *samples, double now) {
    char text[128];
    double pages = -1;
    if (file_read_text(samples->process, "statm", text, sizeof(text)))
        pages = number_at(text, 1);
    int fd = openat(samples->process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        if (fd >= 0)
            close(fd);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(entries)))
        if (entry->d_name[0] != '.')
            thread_take_sample(samples, entry->d_name, now, pages * samples->page_bytes);
    closedir(entries);
    forget_ended_threads(samples);
}

/* The last sample at `when` or before, or with `after` the first one at `when` or later. Where
 * there is none, the oldest sample, or with `after` the latest. */
static const struct sample *sample_at(const struct thread *thread, double when, bool after) {
    uint32_t first = thread->taken > SPEX_SAMPLES ? thread->taken - SPEX_SAMPLES : 0;
    const struct sample *found = &thread->ring[(after ? thread->taken - 1 : first) % SPEX_SAMPLES];
    for (uint32_t s = first; s < thread->taken; s++) {
        const struct sample *sample = &thread->ring[s % SPEX_SAMPLES];
        if (after && sample->at >= when)
            return sample;
        if (!after && sample->at <= when)
            found = sample;
    }
    return found;
}

/* A thread has all of its time at most. The kernel counts a wait for a CPU when it is over, so that
 * it may have been in an earlier interval; and a sample is not read in a moment. */
static void limit_shares(struct spex_thread_use *use) {
    use->used[SPEX_USED_CPU] = fmin(use->used[SPEX_USED_CPU], 1);
    use->used[SPEX_USED_USER] = fmin(use->used[SPEX_USED_USER], 1);
    use->used[SPEX_USED_SYSTEM] = fmin(use->used[SPEX_USED_SYSTEM], 1);
    use->used[SPEX_USED_WAIT] = fmin(use->used[SPEX_USED_WAIT], 1 - use->used[SPEX_USED_CPU]);
}

/* The samples around the interval cover it wholly, and a little more. */
struct spex_thread_use spex_thread_samples_between(const struct spex_thread_samples *samples,
                                                   uint32_t thread, double from, double until) {
    struct spex_thread_use use = {.seconds = 0};
    const struct thread *of = NULL;
    for (size_t t = 0; t < samples->count; t++)
        if (samples->threads[t].number == thread)
            of = &samples->threads[t];
    if (!of || of->taken < 2)
        return use;
    const struct sample *begin = sample_at(of, from, false), *end = sample_at(of, until, true);
    if (end->at <= begin->at)
        return use;
    use.seconds = end->at - begin->at;
    use.known = begin->known & end->known;
    for (int u = 0; u < SPEX_USED_COUNT; u++)
        use.used[u] = (end->used[u] - begin->used[u]) / use.seconds;
    limit_shares(&use);
    return use;
}

/* One figure of each file stands for the whole file. */
const char *spex_thread_samples_missing(struct spex_thread_samples *samples) {
    static const struct {
        enum spex_used what;
        const char *text;
    } texts[] = {
        {SPEX_USED_WAIT, "the system does not tell how long threads wait for a CPU (schedstat)"},
        {SPEX_USED_VOLUNTARY, "the system does not tell of threads' switches (status)"},
        {SPEX_USED_READ, "what threads read and write may not be looked at by this user (io)"},
        {SPEX_USED_MEMORY, "the process's memory cannot be told (statm)"},
    };
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
        uint32_t bit = 1u << texts[t].what;
        if (samples->missing & ~samples->told & bit) {
            samples->told |= bit;
            return texts[t].text;
        }
    }
    return NULL;
}
