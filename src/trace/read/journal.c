/* SPDX-License-Identifier: MIT */
/* The journal is read frame by frame, in one buffer that grows up to the longest frame. Profiles,
 * of which there is one a second, stay in the file: only their places are kept. Entries of other
 * releases may be longer or shorter than ours: members that they lack are 0. */
#include "trace/read/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/probe_type.h"
#include "trace/trace_format.h"
#include "wire/entry.h"

/* More than a program can have, and than a recorder writes. */
enum {
    SITES_MAX = 65536,
    VALUES_MAX = 64,
    FRAME_BYTES_MAX = 64 << 20,
    MARKS_MAX = 65536,
    MOMENTS_MAX = 1 << 26
};

struct reading {
    struct spex_journal *journal;
    struct spex_recording_problems *problems;
    int fd;
    uint64_t size, offset;
    char *body;
    size_t room;
    uint16_t kind; /* of the frame before */
    /* Why the trace is not read at all. */
    struct spex_error refused;
};

/* Makes room for one more element; the room doubles. */
static int grow(void *array, size_t count, size_t size) {
    void **list = array;
    if (*list && (count & (count - 1)))
        return 0;
    void *grown = realloc(*list, (count ? count * 2 : 1) * size);
    if (!grown)
        return -ENOMEM;
    *list = grown;
    return 0;
}

/* 0, -EPROTO or -ENOMEM, as all functions that take an entry. */
static int take_site(struct spex_journal *journal, const char *entry, size_t bytes) {
    if (journal->site_count == SITES_MAX)
        return -EPROTO;
    if (grow(&journal->sites, journal->site_count, sizeof(*journal->sites)) != 0)
        return -ENOMEM;
    struct spex_stream_site *site = &journal->sites[journal->site_count];
    spex_entry_copy(site, sizeof(*site), entry, bytes);
    spex_entry_text(site->name, sizeof(site->name));
    spex_entry_text(site->file, sizeof(site->file));
    spex_entry_text(site->parameters, sizeof(site->parameters));
    spex_entry_text(site->provider, sizeof(site->provider));
    if (!spex_probe_type_valid(site->probe_type))
        return -EPROTO;
    journal->site_count++;
    return 0;
}

/* A context's parent has a lower number, so that paths end. */
static int take_context(struct spex_journal *journal, const char *entry, size_t bytes) {
    struct spex_stream_context context;
    spex_entry_copy(&context, sizeof(context), entry, bytes);
    if (context.number <= SPEX_CONTEXT_ROOT || context.number > SPEX_CONTEXTS_MAX ||
        !context.parent || context.parent >= context.number || context.kernel > UINT16_MAX)
        return -EPROTO;
    if (!journal->contexts)
        journal->contexts = calloc(SPEX_CONTEXTS_MAX + 1, sizeof(*journal->contexts));
    if (!journal->contexts)
        return -ENOMEM;
    journal->contexts[context.number] = context;
    return 0;
}

/* Classes may come in any order; those between are not known. */
static int class_note(struct spex_journal *journal, const struct spex_journal_event *event) {
    while (journal->class_count <= event->class) {
        if (grow(&journal->classes, journal->class_count, sizeof(*journal->classes)) != 0)
            return -ENOMEM;
        journal->classes[journal->class_count++] = (struct spex_recording_class){0};
    }
    struct spex_recording_class *class = &journal->classes[event->class];
    if (class->known)
        return class->probe_id == event->probe_id && class->values == event->values &&
                       class->probe_type == event->probe_type && class->kinds == event->kinds
                   ? 0
                   : -EPROTO;
    *class = (struct spex_recording_class){.known = true,
                                           .wanted = true,
                                           .probe_id = event->probe_id,
                                           .values = event->values,
                                           .probe_type = event->probe_type,
                                           .kinds = event->kinds};
    return 0;
}

static int take_event(struct spex_journal *journal, const char *entry, size_t bytes) {
    struct spex_journal_event event;
    spex_entry_copy(&event, sizeof(event), entry, bytes);
    if (event.id >= SPEX_TRACE_EVENTS_MAX || event.class >= SPEX_TRACE_CLASSES_MAX ||
        !spex_probe_type_valid(event.probe_type) || event.values > VALUES_MAX ||
        event.layout >= SPEX_TRACE_LAYOUTS)
        return -EPROTO;
    while (journal->event_count <= event.id) {
        if (grow(&journal->events, journal->event_count, sizeof(*journal->events)) != 0)
            return -ENOMEM;
        journal->events[journal->event_count++] = (struct spex_recording_layout){0};
    }
    journal->events[event.id] = (struct spex_recording_layout){
        .class = event.class, .layout = (uint8_t)event.layout, .known = true};
    return class_note(journal, &event);
}

/* Anchors that go back are left out, since times between two are a line. */
static int take_anchor(struct spex_journal *journal, const char *entry, size_t bytes) {
    struct spex_recording_anchor anchor, last = {0};
    spex_entry_copy(&anchor, sizeof(anchor), entry, bytes);
    if (journal->anchor_count)
        last = journal->anchors[journal->anchor_count - 1];
    if (anchor.ticks <= last.ticks || anchor.monotonic_ns <= last.monotonic_ns)
        return 0;
    if (journal->anchor_count == MOMENTS_MAX)
        return -EPROTO;
    if (grow(&journal->anchors, journal->anchor_count, sizeof(anchor)) != 0)
        return -ENOMEM;
    journal->anchors[journal->anchor_count++] = anchor;
    return 0;
}

static int take_lost(struct spex_journal *journal, const char *entry, size_t bytes) {
    struct spex_recording_lost lost;
    spex_entry_copy(&lost, sizeof(lost), entry, bytes);
    if (journal->loss_count == MOMENTS_MAX)
        return -EPROTO;
    if (grow(&journal->losses, journal->loss_count, sizeof(lost)) != 0)
        return -ENOMEM;
    journal->losses[journal->loss_count++] = lost;
    return 0;
}

/* The text ends with its frame. */
static int take_mark(struct spex_journal *journal, const char *body, size_t bytes) {
    if (bytes < sizeof(uint64_t) || journal->mark_count == MARKS_MAX)
        return -EPROTO;
    if (grow(&journal->marks, journal->mark_count, sizeof(*journal->marks)) != 0)
        return -ENOMEM;
    struct spex_recording_mark *mark = &journal->marks[journal->mark_count++];
    spex_entry_copy(&mark->ticks, sizeof(mark->ticks), body, bytes);
    spex_entry_copy(mark->text, sizeof(mark->text), body + sizeof(mark->ticks),
                    bytes - sizeof(mark->ticks));
    spex_entry_text(mark->text, sizeof(mark->text));
    if (!journal->ended && strncmp(mark->text, SPEX_JOURNAL_ENDED, strlen(SPEX_JOURNAL_ENDED)) == 0)
        journal->ended = journal->mark_count;
    return 0;
}

/* Keeps the place of a profile whose frames are read on demand. */
static int take_profile(struct reading *reading, const char *body, size_t bytes) {
    struct spex_journal *journal = reading->journal;
    struct spex_recording_profile_at at = {.offset = reading->offset +
                                                     sizeof(struct spex_journal_header)};
    if (bytes < sizeof(uint64_t) || journal->profile_count == MOMENTS_MAX)
        return -EPROTO;
    memcpy(&at.ticks, body, sizeof(at.ticks));
    at.offset += sizeof(at.ticks);
    at.bytes = (uint32_t)(bytes - sizeof(at.ticks));
    if (journal->profile_count && at.ticks <= journal->profiles[journal->profile_count - 1].ticks)
        return 0;
    if (grow(&journal->profiles, journal->profile_count, sizeof(at)) != 0)
        return -ENOMEM;
    journal->profiles[journal->profile_count++] = at;
    return 0;
}

/* Kinds that this build does not know are left out. */
static int take_frame(struct reading *reading, const struct spex_journal_header *head,
                      size_t bytes) {
    static int (*const takes[])(struct spex_journal *, const char *, size_t) = {
        [SPEX_JOURNAL_SITES] = take_site,   [SPEX_JOURNAL_CONTEXTS] = take_context,
        [SPEX_JOURNAL_EVENTS] = take_event, [SPEX_JOURNAL_CLOCK] = take_anchor,
        [SPEX_JOURNAL_LOST] = take_lost,
    };
    if (head->kind == SPEX_JOURNAL_PROFILE)
        return take_profile(reading, reading->body, bytes);
    if (head->kind == SPEX_JOURNAL_MARK)
        return take_mark(reading->journal, reading->body, bytes);
    if (head->kind >= sizeof(takes) / sizeof(takes[0]) || !takes[head->kind])
        return 0;
    int err = 0;
    for (uint32_t e = 0; !err && e < head->count; e++)
        err = takes[head->kind](reading->journal, reading->body + (size_t)e * head->entry_bytes,
                                head->entry_bytes);
    return err;
}

/* Reads all of the bytes. 0 or a negative errno value; -ENODATA: the file ends before. */
static int read_all(int fd, void *to, size_t bytes, uint64_t offset) {
    char *at = to;
    while (bytes > 0) {
        ssize_t got = pread(fd, at, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -ENODATA;
        at += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

/* Reads the bytes behind a frame's header. */
static int body_read(struct reading *reading, size_t bytes) {
    if (bytes > reading->room) {
        char *grown = realloc(reading->body, bytes);
        if (!grown)
            return -ENOMEM;
        reading->body = grown;
        reading->room = bytes;
    }
    return read_all(reading->fd, reading->body, bytes,
                    reading->offset + sizeof(struct spex_journal_header));
}

/* Tells why no more of the journal is read. */
static int stop_at(struct reading *reading, const char *why) {
    spex_recording_problem(reading->problems,
                           "%s: at byte %llu of %llu: %s; what follows is not read",
                           reading->journal->path, (unsigned long long)reading->offset,
                           (unsigned long long)reading->size, why);
    return 1;
}

/* A writer that is killed, or that still writes, may have written a part of its last frame. */
static int end_within_frame(struct reading *reading) {
    reading->journal->finished = false;
    return 1;
}

/* The first frame tells the layout of the trace. */
static int layout_refuse(struct reading *reading, unsigned version) {
    return spex_fail(&reading->refused, -EPROTONOSUPPORT,
                     "%s: the trace has layout %u, and %u was expected", reading->journal->path,
                     version, SPEX_JOURNAL_VERSION);
}

/* 0; 1: the journal ends here; or a negative errno value. */
static int next_frame(struct reading *reading) {
    struct spex_journal_header head;
    uint64_t left = reading->size - reading->offset;
    if (left < sizeof(head))
        return end_within_frame(reading);
    int err = read_all(reading->fd, &head, sizeof(head), reading->offset);
    if (err)
        return err;
    uint64_t bytes = (uint64_t)head.count * head.entry_bytes;
    if (head.magic != SPEX_JOURNAL_MAGIC)
        return stop_at(reading, "the beginning of a frame was expected");
    bool known = head.version == SPEX_JOURNAL_VERSION;
    if (!known && reading->offset == 0)
        return layout_refuse(reading, head.version);
    if (!known)
        return stop_at(reading, "the frame is of another version of the format");
    if (bytes > FRAME_BYTES_MAX)
        return stop_at(reading, "the frame is longer than any that is written");
    if (bytes > left - sizeof(head))
        return end_within_frame(reading);
    err = body_read(reading, bytes);
    if (!err && bytes)
        err = take_frame(reading, &head, bytes);
    if (err == -EPROTO)
        return stop_at(reading, "the frame is malformed");
    reading->journal->finished =
        reading->kind == SPEX_JOURNAL_CLOCK && head.kind == SPEX_JOURNAL_LOST;
    reading->kind = head.kind;
    reading->offset += sizeof(head) + bytes;
    return err;
}

/* Finds a site for each class, when all are known. */
static void classes_find_sites(struct spex_journal *journal) {
    for (size_t c = 0; c < journal->class_count; c++)
        for (size_t s = 0; s < journal->site_count && !journal->classes[c].site; s++)
            if (journal->sites[s].probe_id == journal->classes[c].probe_id &&
                journal->sites[s].probe_type == journal->classes[c].probe_type)
                journal->classes[c].site = &journal->sites[s];
}

static int frames_read(struct reading *reading) {
    struct stat status;
    if (fstat(reading->fd, &status) != 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EINVAL;
    reading->size = (uint64_t)status.st_size;
    int err = 0;
    while (!err && reading->offset < reading->size)
        err = next_frame(reading);
    return err < 0 ? err : 0;
}

int spex_journal_read(const char *path, struct spex_journal *journal,
                      struct spex_recording_problems *problems, struct spex_error *error) {
    *journal = (struct spex_journal){.path = strdup(path)};
    struct reading reading = {.journal = journal, .problems = problems};
    if (!journal->path)
        return spex_fail(error, -ENOMEM, "out of memory");
    reading.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int err = reading.fd < 0 ? -errno : frames_read(&reading);
    if (reading.fd >= 0)
        close(reading.fd);
    free(reading.body);
    if (err == -EINVAL)
        return spex_fail(error, err, "%s is no file", path);
    if (err == -EPROTONOSUPPORT)
        return spex_fail(error, err, "%s", reading.refused.text);
    if (err)
        return spex_fail(error, err, "%s: %s", path, strerror(-err));
    classes_find_sites(journal);
    return 0;
}

void spex_journal_free(struct spex_journal *journal) {
    free(journal->path);
    free(journal->sites);
    free(journal->contexts);
    free(journal->classes);
    free(journal->events);
    free(journal->anchors);
    free(journal->profiles);
    free(journal->losses);
    free(journal->marks);
    *journal = (struct spex_journal){0};
}

/* Bytes of the control frame at `at`, which tells its length; 0: it is not whole. */
static size_t control_frame_bytes(const char *at, size_t left) {
    struct spex_control_frame head;
    if (left < sizeof(head))
        return 0;
    memcpy(&head, at, sizeof(head));
    uint64_t bytes = sizeof(head) + (uint64_t)head.entry_bytes * head.count;
    return bytes <= left ? (size_t)bytes : 0;
}

/* Hands the frames to a reader of profiles, and ends the answer where its end was not written. */
static int frames_take(struct spex_profile_reader *reader, const char *frames, size_t bytes,
                       struct spex_error *error) {
    static const struct spex_control_frame done = {.magic = SPEX_CONTROL_MAGIC,
                                                   .version = SPEX_CONTROL_VERSION,
                                                   .kind = SPEX_CONTROL_DONE,
                                                   .entry_bytes = 1};
    int err = 0;
    for (size_t at = 0, length; !err && at < bytes; at += length) {
        length = control_frame_bytes(frames + at, bytes - at);
        if (!length)
            return spex_fail(error, -EPROTO, "a frame is not whole");
        err = spex_profile_reader_take(reader, frames + at, length, error);
    }
    if (!err)
        err = spex_profile_reader_take(reader, (const char *)&done, sizeof(done), error);
    if (err >= 0 && !reader->complete)
        return spex_fail(error, -EPROTO, "it holds no profile");
    return err < 0 ? err : 0;
}

const struct spex_recording_mark *spex_journal_ended(const struct spex_journal *journal,
                                                     const char **why) {
    if (!journal->ended)
        return NULL;
    const struct spex_recording_mark *mark = &journal->marks[journal->ended - 1];
    if (why)
        *why = mark->text + strlen(SPEX_JOURNAL_ENDED);
    return mark;
}

int spex_journal_profile(const struct spex_journal *journal, size_t number,
                         struct spex_profile *profile, struct spex_error *error) {
    const struct spex_recording_profile_at *at = &journal->profiles[number];
    struct spex_profile_reader reader = {0};
    struct spex_error why = {""};
    char *frames = malloc(at->bytes + 1);
    int fd = open(journal->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int err = !frames ? -ENOMEM : fd < 0 ? -errno : read_all(fd, frames, at->bytes, at->offset);
    if (err)
        spex_error_set(&why, "%s", strerror(-err));
    else
        err = frames_take(&reader, frames, at->bytes, &why);
    if (err)
        spex_error_set(error, "%s: the profile at byte %llu: %s", journal->path,
                       (unsigned long long)at->offset, why.text);
    else
        *profile = reader.profile;
    if (!err)
        reader.profile = (struct spex_profile){0};
    spex_profile_reader_free(&reader);
    if (fd >= 0)
        close(fd);
    free(frames);
    return err;
}
