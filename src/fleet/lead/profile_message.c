/* SPDX-License-Identifier: MIT */
#include "fleet/lead/profile_message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "observe/profile_reader.h"
#include "observe/written_frames.h"
#include "text/printable.h"
#include "wire/profile_frames.h"

/* Values of one message: each takes 50 KB while it is read. */
enum { VALUES_MOST = 2048 };

/* "SXPF", and the version of the head. Others are refused. */
#define MAGIC   0x46505853u
#define VERSION 1

enum { GONE = 1 };

/* Ticks a second. */
#define CLOCK_LEAST 1e3
#define CLOCK_MOST  1e12

/* In the byte order of the control socket: that of all machines that spex runs on. */
struct head {
    uint32_t magic;
    uint16_t version, flags;
    uint32_t agent;
    int32_t process;
    uint64_t loaded_ns;
    char boot[SPEX_FLEET_BOOT_BYTES];
};

struct message {
    struct spex_written_frames frames;
    /* Bytes before the first probe. */
    size_t begin;
};

static int add_values(struct message *message, const struct spex_values *values, unsigned series) {
    char *frame = values ? spex_written_frames_room(&message->frames) : NULL;
    if (!values || !frame)
        return values ? -ENOMEM : 0;
    message->frames.bytes += spex_frame_values(values, series, 0, frame);
    frame = spex_written_frames_room(&message->frames);
    if (!frame)
        return -ENOMEM;
    message->frames.bytes += spex_frame_spread(&values->spread, series, 0, frame);
    return 0;
}

static int add_row(struct message *message, const struct spex_profile_row *row) {
    int err = spex_written_frames_add(&message->frames, SPEX_CONTROL_PROBE, &row->probe,
                                      sizeof(row->probe), 1);
    for (unsigned s = 0; s < row->probe.series && !err; s++) {
        err = add_values(message, row->values[s], s);
        err = err ? err : add_values(message, row->losses[s], s | SPEX_CONTROL_LOSSES);
    }
    return err;
}

/* The head, and what all messages of a profile begin with. */
static int begin(struct message *message, const struct spex_fleet_reports_by *by,
                 const struct spex_profile *profile) {
    struct head head = {.magic = MAGIC,
                        .version = VERSION,
                        .flags = by->gone ? GONE : 0,
                        .agent = by->agent,
                        .process = by->process,
                        .loaded_ns = by->loaded_ns};
    message->frames.bytes = 0;
    if (!spex_written_frames_room(&message->frames))
        return -ENOMEM;
    memcpy(head.boot, by->boot, sizeof(head.boot));
    memcpy(message->frames.data, &head, sizeof(head));
    message->frames.bytes = sizeof(head);
    int err = !profile ? 0
                       : spex_written_frames_add(&message->frames, SPEX_CONTROL_PROCESS,
                                                 &profile->process, sizeof(profile->process), 1);
    for (size_t t = 0; profile && t < profile->type_count && !err; t++)
        if (profile->types[t].used)
            err = spex_written_frames_add(&message->frames, SPEX_CONTROL_TYPES, &profile->types[t],
                                          sizeof(profile->types[t]), 1);
    message->begin = message->frames.bytes;
    return err;
}

static int finish(struct message *message, struct spex_fleet_profile_writer *writer,
                  const struct spex_profile *profile) {
    int err =
        profile ? spex_written_frames_add(&message->frames, SPEX_CONTROL_DONE, NULL, 1, 0) : 0;
    return err ? err : writer->send(writer->user, message->frames.data, message->frames.bytes);
}

/* Adds a row, for which another message may be begun. */
static int write_row(struct message *message, struct spex_fleet_profile_writer *writer,
                     const struct spex_profile *profile, const struct spex_profile_row *row) {
    int err = 0;
    if (message->frames.bytes > SPEX_FLEET_PROFILE_PART) {
        err = finish(message, writer, profile);
        err = err ? err : begin(message, &writer->by, profile);
    }
    size_t before = message->frames.bytes;
    err = err ? err : add_row(message, row);
    if (!err && message->frames.bytes > SPEX_FLEET_PROFILE_BYTES - SPEX_CONTROL_FRAME_BYTES) {
        writer->left_out++;
        message->frames.bytes = before;
    }
    return err;
}

int spex_fleet_profile_write(struct spex_fleet_profile_writer *writer,
                             const struct spex_profile *profile) {
    struct message message = {.begin = 0};
    writer->left_out = 0;
    int err = begin(&message, &writer->by, profile);
    for (size_t r = 0; profile && r < profile->row_count && !err; r++)
        if (writer->wanted(writer->user, &profile->rows[r].probe))
            err = write_row(&message, writer, profile, &profile->rows[r]);
    if (!err && (!profile || message.frames.bytes > message.begin))
        err = finish(&message, writer, profile);
    free(message.frames.data);
    return err;
}

static int read_head(const char *data, size_t size, struct spex_fleet_reports_by *by,
                     struct spex_error *error) {
    struct head head;
    if (size < sizeof(head) || size > SPEX_FLEET_PROFILE_BYTES)
        return spex_fail(error, -EINVAL, "a profile of %zu to %d bytes was expected", sizeof(head),
                         SPEX_FLEET_PROFILE_BYTES);
    memcpy(&head, data, sizeof(head));
    if (head.magic != MAGIC || head.version != VERSION)
        return spex_fail(error, -EINVAL, "a profile of version %d was expected", VERSION);
    *by = (struct spex_fleet_reports_by){.agent = head.agent,
                                         .process = head.process,
                                         .loaded_ns = head.loaded_ns,
                                         .gone = head.flags & GONE};
    memcpy(by->boot, head.boot, sizeof(by->boot) - 1);
    if (head.process > 0 && spex_is_printable(by->boot))
        return 0;
    return spex_fail(error, -EINVAL, "the number of a process and a boot were expected");
}

/* Takes the frame at the beginning, whose bytes it returns; 0 or -ENOMEM with the reason. Sets
 * *answer to what the reader says of it. */
static long take_frame(struct spex_profile_reader *reader, const char *data, size_t size,
                       size_t *values, int *answer, struct spex_error *error) {
    struct spex_control_frame head;
    if (size < sizeof(head)) {
        spex_error_set(error, "a whole frame was expected");
        return 0;
    }
    memcpy(&head, data, sizeof(head));
    uint64_t bytes = spex_frame_bytes(&head);
    *values += head.kind == SPEX_CONTROL_VALUES;
    if (bytes > size || *values > VALUES_MOST) {
        spex_error_set(error, "a frame of up to %zu bytes was expected, and %d of values at most",
                       size, VALUES_MOST);
        return 0;
    }
    *answer = spex_profile_reader_take(reader, data, bytes, error);
    return *answer == -ENOMEM ? -ENOMEM : *answer < 0 ? 0 : (long)bytes;
}

static int read_frames(struct spex_profile_reader *reader, const char *data, size_t size,
                       struct spex_error *error) {
    size_t values = 0;
    int answer = 0;
    while (size && answer == 0) {
        long bytes = take_frame(reader, data, size, &values, &answer, error);
        if (bytes <= 0)
            return bytes ? (int)bytes : -EINVAL;
        data += bytes;
        size -= (size_t)bytes;
    }
    if (answer != 1 || size || !reader->complete)
        return spex_fail(error, -EINVAL, "one whole profile was expected");
    double rate = reader->profile.process.ticks_per_second;
    if (rate > 0 && (rate < CLOCK_LEAST || rate > CLOCK_MOST))
        return spex_fail(error, -EINVAL, "a clock of %g to %g ticks a second was expected",
                         CLOCK_LEAST, CLOCK_MOST);
    return 0;
}

int spex_fleet_profile_read(const char *data, size_t size, struct spex_fleet_reports_by *by,
                            struct spex_profile *profile, struct spex_error *error) {
    struct spex_profile_reader reader = {.complete = false};
    *profile = (struct spex_profile){.rows = NULL};
    int err = read_head(data, size, by, error);
    bool empty = !err && by->gone && size == sizeof(struct head);
    if (!err && !empty)
        err = read_frames(&reader, data + sizeof(struct head), size - sizeof(struct head), error);
    if (!err) {
        *profile = reader.profile;
        reader.profile = (struct spex_profile){.rows = NULL};
    }
    spex_profile_reader_free(&reader);
    return err;
}
