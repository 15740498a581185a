/* SPDX-License-Identifier: MIT */
/* Any bytes as the metadata, the journal and a stream of a trace: refused with one line, or its
 * records come in the order of their times, and all that is reckoned from a trace can be. */
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "packets.h"
#include "profile/figures.h"
#include "text/printable.h"
#include "trace/read/part.h"
#include "trace/read/recording.h"
#include "trace/trace.h"

enum { FILES = 3, RECORDS_MOST = 1 << 16 };

static const char *const names[FILES] = {"metadata", ".spex/journal", "cpu_0_0"};

/* A folder that is removed at the end. */
static char folder[] = "/tmp/spex-fuzz-XXXXXX";

static void folder_remove(void) {
    char path[64];
    for (unsigned f = 0; f < FILES; f++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[f]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/.spex", folder);
    rmdir(path);
    rmdir(folder);
}

static void folder_make(void) {
    static bool made;
    char path[64];
    if (made)
        return;
    made = true;
    FUZZ_CHECK(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/.spex", folder);
    FUZZ_CHECK(mkdir(path, 0700) == 0);
    atexit(folder_remove);
}

static void file_write(unsigned file, const uint8_t *bytes, size_t size) {
    char path[64];
    snprintf(path, sizeof(path), "%s/%s", folder, names[file]);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

static void check_profile(const struct spex_profile *profile) {
    for (size_t r = 0; r < profile->row_count; r++)
        for (unsigned s = 0; s < profile->rows[r].probe.series; s++) {
            struct spex_figures figures;
            FUZZ_CHECK(profile->rows[r].values[s]);
            spex_figures_of(profile, &profile->rows[r], s, &figures);
            FUZZ_CHECK(!isnan(figures.mean) && !isnan(figures.mean_margin));
        }
}

/* Reads all records, and the profile of the middle of them. */
static void check_trace(struct spex_recording *trace) {
    struct spex_recording_event event;
    struct spex_error error = {""};
    struct spex_part *part = NULL;
    uint64_t last = 0, length = trace->end - trace->begin;
    unsigned count = 0;
    int got, err = spex_part_open(&part, trace, trace->begin + length / 4, trace->end, &error);
    FUZZ_CHECK((err < 0) == (*error.text != '\0'));
    while ((got = spex_recording_next(trace, &event, &error)) == 1 && count++ < RECORDS_MOST) {
        char text[2 * SPEX_STREAM_TEXT_BYTES + 2];
        FUZZ_CHECK(event.record.timestamp >= last);
        FUZZ_CHECK(event.record.field_count <= SPEX_MAX_FIELDS);
        last = event.record.timestamp;
        FUZZ_CHECK(spex_is_printable(
            spex_recording_probe_text(event.process, event.class, text, sizeof(text))));
        if (part)
            FUZZ_CHECK(spex_part_add(part, &event) == 0);
    }
    FUZZ_CHECK(got >= 0);
    if (part) {
        FUZZ_CHECK(spex_part_finish(part) == 0);
        check_profile(spex_part_profile(part, 0));
        spex_part_close(part);
    }
    for (size_t p = 0; p < trace->problems.count && p < SPEX_RECORDING_PROBLEMS_KEPT; p++)
        FUZZ_CHECK(*trace->problems.kept[p].text && !strchr(trace->problems.kept[p].text, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_recording *trace;
    struct spex_error error = {""};
    const uint8_t *packet;
    folder_make();
    for (unsigned f = 0; f < FILES; f++) {
        size_t length = 0;
        if (!packet_next(&data, &size, &packet, &length))
            packet = (const uint8_t *)"";
        file_write(f, packet, length);
    }
    int err = spex_recording_open(folder, &trace, &error);
    FUZZ_CHECK((err < 0) == (*error.text != '\0') && !strchr(error.text, '\n'));
    if (err)
        return 0;
    check_trace(trace);
    spex_recording_close(trace);
    return 0;
}

static void records_write(struct spex_trace *trace, unsigned count) {
    const struct spex_stream_site sites[] = {
        {.probe_id = 1, .probe_type = SPEX_LAT, .name = "query", .provider = "lib"},
        {.probe_id = 2, .probe_type = SPEX_KERNEL, .name = "sort", .parameters = "n, f(a, b)"},
        {.probe_id = 3, .probe_type = SPEX_CNT, .declared = 4}};
    const struct spex_stream_context context = {2, 1, 2};
    struct spex_record record = {.thread_id = 7, .timestamp = 1000000000000};
    spex_trace_sites(trace, sites, 3);
    spex_trace_contexts(trace, &context, 1);
    for (unsigned r = 0; r < count; r++) {
        const struct spex_stream_site *site = &sites[r % 3];
        record.timestamp += 1000;
        record.probe_type = site->probe_type;
        record.probe_id = site->probe_id;
        record.weight = r % 5 + 1;
        record.lost = r % 7 == 0;
        record.field_count = site->probe_type == SPEX_KERNEL ? 4 : 1;
        record.fields[0] = site->probe_type == SPEX_CNT ? record.weight : 500 + r;
        record.fields[1] = 2;
        record.fields[2] = r;
        spex_trace_records(trace, &record, 1);
    }
}

/* The frames of a profile with one probe, as the journal has them. */
static size_t profile_frames(char *frames, double count) {
    const struct spex_profile_process process = {
        .process_id = 42, .ticks_per_second = 1e9, .seconds = count / 100, .command = "made"};
    const struct spex_profile_type type = {.probe_type = SPEX_LAT, .measured = 1, .record = 60};
    const struct spex_profile_probe probe = {
        .probe_type = SPEX_LAT, .probe_id = 1, .count = count, .period = 1, .on_seconds = 1};
    const struct {
        uint16_t kind;
        uint32_t bytes;
        const void *entry;
    } parts[] = {{SPEX_CONTROL_PROCESS, sizeof(process), &process},
                 {SPEX_CONTROL_TYPES, sizeof(type), &type},
                 {SPEX_CONTROL_PROBE, sizeof(probe), &probe}};
    size_t at = 0;
    for (unsigned p = 0; p < 3; p++) {
        const struct spex_control_frame head = {.magic = SPEX_CONTROL_MAGIC,
                                                .version = SPEX_CONTROL_VERSION,
                                                .kind = parts[p].kind,
                                                .entry_bytes = parts[p].bytes,
                                                .count = 1};
        memcpy(frames + at, &head, sizeof(head));
        memcpy(frames + at + sizeof(head), parts[p].entry, parts[p].bytes);
        at += sizeof(head) + parts[p].bytes;
    }
    return at;
}

/* A file of a trace behind its length. */
static size_t file_put(uint8_t *data, size_t at, const char *in, const char *name) {
    static char bytes[1 << 15];
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", in, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    FUZZ_CHECK(fd >= 0);
    ssize_t length = read(fd, bytes, sizeof(bytes));
    FUZZ_CHECK(length >= 0);
    close(fd);
    unlink(path);
    return packet_put(data, at, "", 0, bytes, (size_t)length);
}

/* Traces with a few, some and many records. */
size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const unsigned counts[] = {3, 300, 900};
    char made[] = "/tmp/spex-seed-XXXXXX", frames[4096], inner[64];
    struct spex_trace_disk disk = {0};
    struct spex_trace *trace;
    struct spex_error error;
    size_t at = 0;
    if (number >= sizeof(counts) / sizeof(counts[0]) || room < 65536)
        return 0;
    FUZZ_CHECK(mkdtemp(made));
    const struct spex_trace_options options = {
        .directory = made, .program = "made", .process_id = 1, .disk = &disk};
    FUZZ_CHECK(spex_trace_open(&options, &trace, &error) == 0);
    records_write(trace, counts[number]);
    spex_trace_profile(trace, frames, profile_frames(frames, 100));
    spex_trace_lost(trace, 9);
    spex_trace_mark(trace, 1, "a mark");
    spex_trace_profile(trace, frames, profile_frames(frames, 300));
    spex_trace_end(trace);
    snprintf(inner, sizeof(inner), "%s", spex_trace_directory(trace));
    spex_trace_free(trace);
    spex_trace_disk_free(&disk);
    for (unsigned f = 0; f < FILES; f++)
        at = file_put(data, at, inner, names[f]);
    char hidden[80];
    snprintf(hidden, sizeof(hidden), "%s/.spex", inner);
    rmdir(hidden);
    rmdir(inner);
    rmdir(made);
    return at;
}

const char *const fuzz_words[] = {
    "SXJR",      "SXPC",          "\xc1\x1f\xfc\xc1", "\x01", "\x05", "\x10",
    "uuid = \"", "/* CTF 1.8 */", "\xff\xff\xff\xff", NULL};
