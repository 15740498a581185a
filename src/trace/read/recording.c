/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "trace/read/recording.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grown.h"
#include "ring/probe_type.h"
#include "text/printable.h"
#include "trace/read/folder.h"
#include "trace/read/merge.h"

/* ANCHORS_NS: clocks are compared over so much time at least. */
#define ANCHORS_NS 1000000

/* What the reader keeps beside what others see; `seen` is the first member. */
struct reader {
    struct spex_recording seen;
    struct spex_packet_places packets;
    struct spex_recording_file *files;
    size_t file_count;
    struct spex_merge *merge;
    uint64_t from, to;
    /* Ticks a second by the metadata; 0: not known. */
    double frequency;
};

static struct reader *reader_of(struct spex_recording *trace) {
    return (struct reader *)trace;
}

/* The program's name and number from "PROGRAM-PID" or "PROGRAM-PID-2"; where the journal has a
 * profile, from that. */
static int process_name(struct spex_recording_process *process, const char *path) {
    const char *base = strrchr(path, '/');
    process->name = strdup(base && base[1] ? base + 1 : path);
    if (process->name)
        spex_make_printable(process->name);
    process->program = process->name ? strdup(process->name) : NULL;
    if (!process->program)
        return -ENOMEM;
    char *dash = strrchr(process->program, '-');
    if (dash && dash[1]) {
        process->process_id = (uint32_t)strtoul(dash + 1, NULL, 10);
        *dash = '\0';
    }
    struct spex_profile profile;
    struct spex_error ignored;
    if (!process->journal.profile_count ||
        spex_journal_profile(&process->journal, 0, &profile, &ignored) != 0)
        return 0;
    char *command = strdup(profile.process.command);
    process->process_id = profile.process.process_id;
    spex_profile_free(&profile);
    if (!command)
        return -ENOMEM;
    free(process->program);
    process->program = command;
    return 0;
}

/* Whether the file before this one of its stream, "…/cpu_C_N", is not there. Numbers begin with 0
 * and have no gaps. */
static bool predecessor_is_removed(const char *path) {
    const char *digits = strrchr(path, '_');
    unsigned long number = digits ? strtoul(digits + 1, NULL, 10) : 0;
    char *before;
    if (!number || asprintf(&before, "%.*s%lu", (int)(digits + 1 - path), path, number - 1) < 0)
        return false;
    bool removed = access(before, F_OK) != 0 && errno == ENOENT;
    free(before);
    return removed;
}

/* Takes notice of removed files before the one whose packets begin with number `first`. */
static void removed_note(struct reader *reader, const char *path, size_t first) {
    if (first < reader->packets.count && predecessor_is_removed(path) &&
        reader->packets.list[first].begin > reader->seen.removed_until)
        reader->seen.removed_until = reader->packets.list[first].begin;
}

/* Indexes the streams of a process, whose files belong to the reader from here on. */
static int files_add(struct reader *reader, size_t process, struct spex_recording_folder *folder,
                     struct spex_error *error) {
    struct spex_recording_process *into = &reader->seen.processes[process];
    size_t count = reader->file_count + folder->file_count;
    void *grown = realloc(reader->files, (count + 1) * sizeof(*reader->files));
    if (!grown)
        return spex_fail(error, -ENOMEM, "out of memory");
    reader->files = grown;
    int err = 0;
    for (size_t f = 0; !err && f < folder->file_count; f++) {
        uint64_t discarded = 0;
        uint32_t number = (uint32_t)reader->file_count++;
        size_t first = reader->packets.count;
        reader->files[number] = (struct spex_recording_file){
            .path = folder->files[f], .journal = &into->journal, .process = (uint32_t)process};
        folder->files[f] = NULL;
        reader->packets.unfinished = !into->journal.finished;
        err = spex_packets_index(reader->files[number].path, folder->uuid, number, &reader->packets,
                                 &discarded, &reader->seen.problems, error);
        into->discarded += discarded;
        removed_note(reader, reader->files[number].path, first);
    }
    return err;
}

static int process_open(struct reader *reader, size_t process, const char *path,
                        struct spex_error *error) {
    struct spex_recording_process *into = &reader->seen.processes[process];
    struct spex_recording_folder folder;
    int err = spex_recording_folder_read(path, &folder, error);
    char *journal = err ? NULL : spex_recording_path(path, ".spex/journal");
    if (!err && !journal)
        err = spex_fail(error, -ENOMEM, "out of memory");
    if (!err)
        err = spex_journal_read(journal, &into->journal, &reader->seen.problems, error);
    if (err == -ENOENT && journal)
        spex_error_set(error, "%s is no trace of spex: it has no .spex/journal", path);
    if (!err && process_name(into, path) != 0)
        err = spex_fail(error, -ENOMEM, "out of memory");
    if (!err)
        err = files_add(reader, process, &folder, error);
    if (folder.frequency > 0)
        reader->frequency = folder.frequency;
    free(journal);
    spex_recording_folder_free(&folder);
    return err;
}

static int processes_room(struct reader *reader, size_t count, struct spex_error *error) {
    reader->seen.processes = calloc(count, sizeof(*reader->seen.processes));
    reader->seen.process_count = reader->seen.processes ? count : 0;
    return reader->seen.processes ? 0 : spex_fail(error, -ENOMEM, "out of memory");
}

static int folders_open(struct reader *reader, const char *path, struct spex_error *error) {
    char **names;
    size_t count;
    int err = spex_recording_folders(path, &names, &count, error);
    if (!err && !count)
        err = spex_fail(error, -ENOENT, "%s has neither metadata nor folders that have", path);
    if (!err)
        err = processes_room(reader, count, error);
    for (size_t n = 0; n < count; n++) {
        char *inner = err ? NULL : spex_recording_path(path, names[n]);
        if (!err)
            err = inner ? process_open(reader, n, inner, error)
                        : spex_fail(error, -ENOMEM, "out of memory");
        free(inner);
        free(names[n]);
    }
    free(names);
    return err;
}

/* The process with the longest time between its first and last anchor tells the clock's rate. */
static const struct spex_journal *clock_of(const struct reader *reader) {
    const struct spex_journal *best = NULL;
    uint64_t longest = 0;
    for (size_t p = 0; p < reader->seen.process_count; p++) {
        const struct spex_journal *journal = &reader->seen.processes[p].journal;
        if (!journal->anchor_count)
            continue;
        uint64_t ns = journal->anchors[journal->anchor_count - 1].monotonic_ns -
                      journal->anchors[0].monotonic_ns;
        if (!best || ns > longest) {
            best = journal;
            longest = ns;
        }
    }
    return best;
}

static double rate_by(const struct reader *reader, const struct spex_journal *clock) {
    const struct spex_recording_anchor *first = clock ? &clock->anchors[0] : NULL;
    const struct spex_recording_anchor *last = clock ? first + clock->anchor_count - 1 : NULL;
    if (clock && last->monotonic_ns - first->monotonic_ns >= ANCHORS_NS)
        return (double)(last->ticks - first->ticks) /
               (double)(last->monotonic_ns - first->monotonic_ns) * 1e9;
    return reader->frequency;
}

static void widen(struct spex_recording *trace, bool *any, uint64_t from, uint64_t to) {
    trace->begin = *any && trace->begin < from ? trace->begin : from;
    trace->end = *any && trace->end > to ? trace->end : to;
    *any = true;
}

/* Sets the limits of the trace's time and its clock. */
static void times_find(struct reader *reader) {
    struct spex_recording *trace = &reader->seen;
    bool any = false;
    for (size_t p = 0; p < reader->packets.count; p++)
        if (reader->packets.list[p].bytes)
            widen(trace, &any, reader->packets.list[p].begin, reader->packets.list[p].end);
    for (size_t p = 0; p < trace->process_count; p++) {
        const struct spex_journal *journal = &trace->processes[p].journal;
        if (journal->anchor_count)
            widen(trace, &any, journal->anchors[0].ticks,
                  journal->anchors[journal->anchor_count - 1].ticks);
        /* A profile that came before the trace was opened tells when the collection began. */
        if (journal->profile_count)
            widen(trace, &any, journal->profiles[0].ticks, journal->profiles[0].ticks);
        /* The last losses are told after the last time. */
        if (journal->loss_count)
            widen(trace, &any, journal->losses[journal->loss_count - 1].ticks,
                  journal->losses[journal->loss_count - 1].ticks);
    }
    const struct spex_journal *clock = clock_of(reader);
    trace->ticks_per_second = rate_by(reader, clock);
    if (!(trace->ticks_per_second > 0)) {
        trace->ticks_per_second = 1e9;
        spex_recording_problem(&trace->problems,
                               "the trace does not tell the clock's rate: times are in ticks");
    }
    if (clock)
        trace->begin_realtime_ns =
            clock->anchors[0].realtime_ns -
            spex_recording_duration_ns(trace, clock->anchors[0].ticks - trace->begin);
}

int spex_recording_open(const char *path, struct spex_recording **trace, struct spex_error *error) {
    struct reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = 0;
    if (!spex_recording_folder_is(path))
        err = folders_open(reader, path, error);
    else if (!(err = processes_room(reader, 1, error)))
        err = process_open(reader, 0, path, error);
    if (!err) {
        times_find(reader);
        reader->merge = spex_merge_create(&reader->packets, reader->files, &reader->seen.problems);
        if (!reader->merge)
            err = spex_fail(error, -ENOMEM, "out of memory");
    }
    *trace = &reader->seen;
    if (err)
        spex_recording_close(*trace);
    else
        spex_recording_limit(*trace, 0, UINT64_MAX);
    return err;
}

void spex_recording_close(struct spex_recording *trace) {
    struct reader *reader = reader_of(trace);
    spex_merge_destroy(reader->merge);
    for (size_t p = 0; p < trace->process_count; p++) {
        spex_journal_free(&trace->processes[p].journal);
        free(trace->processes[p].name);
        free(trace->processes[p].program);
    }
    for (size_t f = 0; f < reader->file_count; f++)
        free(reader->files[f].path);
    free(reader->files);
    free(reader->packets.list);
    free(trace->processes);
    free(reader);
}

/* Whether the selection switches a probe on at one of its sites. */
static bool is_wanted(const struct spex_journal *journal, const struct spex_recording_class *class,
                      const struct spex_selection *selection) {
    bool any = false;
    for (size_t s = 0; s < journal->site_count; s++) {
        const struct spex_stream_site *site = &journal->sites[s];
        if (site->probe_id != class->probe_id || site->probe_type != class->probe_type)
            continue;
        const struct spex_selection_probe probe = {.provider =
                                                       *site->provider ? site->provider : NULL,
                                                   .name = *site->name ? site->name : NULL,
                                                   .file = *site->file ? site->file : NULL,
                                                   .type = site->probe_type,
                                                   .subsample = site->subsample,
                                                   .id = spex_stream_site_id(site),
                                                   .number = site->probe_id};
        const struct spex_selection_item *item = spex_selection_decider(selection, &probe);
        any |= item && item->sampling.period != SPEX_SELECTION_OFF;
    }
    return any;
}

void spex_recording_want(struct spex_recording *trace, const struct spex_selection *selection) {
    for (size_t p = 0; p < trace->process_count; p++) {
        const struct spex_journal *journal = &trace->processes[p].journal;
        for (size_t c = 0; c < journal->class_count; c++)
            if (journal->classes[c].known)
                journal->classes[c].wanted = is_wanted(journal, &journal->classes[c], selection);
    }
}

void spex_recording_limit(struct spex_recording *trace, uint64_t from, uint64_t to) {
    struct reader *reader = reader_of(trace);
    reader->from = from;
    reader->to = to;
    trace->bytes = trace->bytes_given = 0;
    for (size_t p = 0; p < reader->packets.count; p++)
        if (reader->packets.list[p].end >= from && reader->packets.list[p].begin < to)
            trace->bytes += reader->packets.list[p].bytes;
    spex_merge_restart(reader->merge, from);
}

/* The records are in order, so the first beyond the limit is the end. */
int spex_recording_next(struct spex_recording *trace, struct spex_recording_event *event,
                        struct spex_error *error) {
    struct reader *reader = reader_of(trace);
    uint32_t process;
    int got = spex_merge_next(reader->merge, &event->record, &event->class, &process,
                              &trace->bytes_given, error);
    if (got == 1 && event->record.timestamp >= reader->to)
        return 0;
    if (got == 1)
        event->process = &trace->processes[process];
    return got;
}

int64_t spex_recording_ns(const struct spex_recording *trace, uint64_t ticks) {
    double ns = (double)(int64_t)(ticks - trace->begin) / trace->ticks_per_second * 1e9;
    return ns > 9e18 ? INT64_MAX : ns < -9e18 ? INT64_MIN : llrint(ns);
}

uint64_t spex_recording_duration_ns(const struct spex_recording *trace, uint64_t ticks) {
    double ns = (double)ticks / trace->ticks_per_second * 1e9;
    return ns < 9e18 ? (uint64_t)llrint(ns) : UINT64_C(9000000000000000000);
}

static bool trace_node(const void *by, uint64_t number, struct spex_context_node *node) {
    const struct spex_journal *journal = by;
    if (number > SPEX_CONTEXTS_MAX || !journal->contexts || !journal->contexts[number].parent)
        return false;
    *node = (struct spex_context_node){.parent = journal->contexts[number].parent,
                                       .kernel = (uint16_t)journal->contexts[number].kernel};
    return true;
}

static bool trace_site(const void *by, uint16_t kernel, struct spex_kernel_site *site) {
    const struct spex_journal *journal = by;
    for (size_t s = 0; s < journal->site_count; s++) {
        const struct spex_stream_site *of = &journal->sites[s];
        if (of->probe_type != SPEX_KERNEL || of->probe_id != kernel)
            continue;
        *site = (struct spex_kernel_site){.name = of->name,
                                          .id = spex_stream_site_id(of),
                                          .parameters = of->parameters,
                                          .kinds = of->kinds};
        return true;
    }
    return false;
}

struct spex_kernels_known spex_recording_kernels(const struct spex_recording_process *process) {
    return (struct spex_kernels_known){&process->journal, trace_node, trace_site};
}

/* Whether the sites have several providers. */
static bool is_mixed(const struct spex_journal *journal) {
    for (size_t s = 1; s < journal->site_count; s++)
        if (strcmp(journal->sites[s].provider, journal->sites[0].provider) != 0)
            return true;
    return false;
}

const char *spex_recording_probe_text(const struct spex_recording_process *process,
                                      const struct spex_recording_class *class, char *text,
                                      size_t size) {
    const struct spex_stream_site *site = class->site;
    bool provider = site && *site->provider && is_mixed(&process->journal);
    char number[12];
    snprintf(number, sizeof(number), "%d", site ? spex_stream_site_id(site) : class->probe_id);
    snprintf(text, size, "%s%s%s", provider ? site->provider : "", provider ? "/" : "",
             site && *site->name ? site->name : number);
    return text;
}

uint64_t spex_recording_process_lost(const struct spex_recording_process *process) {
    const struct spex_journal *journal = &process->journal;
    return journal->loss_count ? journal->losses[journal->loss_count - 1].lost : process->discarded;
}
