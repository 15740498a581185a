/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "observe/stand_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/objects/mapped_objects.h"
#include "observe/objects/object_sites.h"
#include "ring/probe_type.h"
#include "ring/record_layout.h"
#include "text/printable.h"
#include "wire/profile_frames.h"

/* By descriptor. */
static struct spex_stand_in **stand_ins;
static int stand_in_room;

struct spex_stand_in *spex_stand_in_of(int fd) {
    return fd >= 0 && fd < stand_in_room ? stand_ins[fd] : NULL;
}

void spex_stand_in_forget(int fd) {
    struct spex_stand_in *stand_in = spex_stand_in_of(fd);
    if (!stand_in)
        return;
    stand_ins[fd] = NULL;
    spex_dormant_close(&stand_in->program);
    if (stand_in->directory >= 0)
        close(stand_in->directory);
    free(stand_in->sites);
    free(stand_in);
}

static bool room_make(int fd) {
    int room = fd < stand_in_room ? stand_in_room : 2 * (fd + 1);
    struct spex_stand_in **grown =
        fd < stand_in_room ? stand_ins : realloc(stand_ins, (size_t)room * sizeof(void *));
    if (!grown)
        return false;
    memset(grown + stand_in_room, 0, (size_t)(room - stand_in_room) * sizeof(void *));
    stand_ins = grown;
    stand_in_room = room;
    return true;
}

/* -1: it is not known. */
static uid_t owner_of(pid_t process) {
    struct stat status;
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d", (int)process);
    return stat(path, &status) == 0 ? status.st_uid : (uid_t)-1;
}

int spex_stand_in_open(const struct spex_dormant_program *program, int directory, int timeout_ms) {
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct spex_stand_in *made = calloc(1, sizeof(*made));
    if (fd < 0 || !made || !room_make(fd)) {
        int err = fd < 0 ? -errno : -ENOMEM;
        if (fd >= 0)
            close(fd);
        free(made);
        return err;
    }
    spex_stand_in_forget(fd);
    made->program = *program;
    made->directory = directory;
    made->timeout_ms = timeout_ms;
    made->owner = owner_of(program->process);
    stand_ins[fd] = made;
    return fd;
}

static bool is_look(enum spex_control_kind kind) {
    return kind == SPEX_CONTROL_STATUS || kind == SPEX_CONTROL_PROFILE ||
           kind == SPEX_CONTROL_SUBSCRIBE;
}

/* Nobody records a dormant program, and nothing is leased. */
bool spex_stand_in_answers(enum spex_control_kind kind) {
    return is_look(kind) || kind == SPEX_CONTROL_DUMP || kind == SPEX_CONTROL_RENEW;
}

/* How often a stand-in looks at its program, in ms: at least each second, so that its end is noticed,
 * and soon where it has been called or is halted. */
enum { LOOK_SELDOM_MS = 1000, LOOK_OFTEN_MS = 10 };

/* Times of looks in which answers can be as regular as they are wanted. */
static uint32_t look_ms(const struct spex_stand_in *stand_in) {
    uint32_t interval = stand_in->interval_ms ? stand_in->interval_ms : LOOK_SELDOM_MS;
    uint32_t looks = (interval + LOOK_SELDOM_MS - 1) / LOOK_SELDOM_MS;
    return (interval + looks - 1) / looks;
}

static int look_each(int fd, uint32_t ms, bool now) {
    const struct timespec each = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    const struct timespec at_once = {.tv_nsec = 1};
    const struct itimerspec due = {.it_value = now ? at_once : each, .it_interval = each};
    return timerfd_settime(fd, 0, &due, NULL) == 0 ? 0 : -errno;
}

/* The first answer is due now. */
int spex_stand_in_ask(int fd, enum spex_control_kind kind, uint32_t number, uint32_t interval_ms) {
    struct spex_stand_in *stand_in = spex_stand_in_of(fd);
    stand_in->kind = kind;
    stand_in->number = number;
    stand_in->interval_ms = kind == SPEX_CONTROL_SUBSCRIBE ? interval_ms : 0;
    stand_in->due_ns = spex_clock_ns(CLOCK_MONOTONIC);
    stand_in->hurries = false;
    return look_each(fd, look_ms(stand_in), true);
}

static void hurry(int fd) {
    struct spex_stand_in *stand_in = spex_stand_in_of(fd);
    if (!stand_in->hurries)
        stand_in->hurries = look_each(fd, LOOK_OFTEN_MS, false) == 0;
}

void spex_stand_in_called(pid_t process) {
    for (int fd = 0; fd < stand_in_room; fd++)
        if (stand_ins[fd] && stand_ins[fd]->program.process == process)
            hurry(fd);
}

/* The sites of the files that the program has mapped. */
struct collecting {
    struct spex_stand_in *stand_in;
    bool out_of_memory;
};

/* Numbers as the program would give them, but for ids that two providers have: ids, and from the
 * highest number on where there is none. */
static void site_tell(struct spex_profile_site *to, uint32_t index,
                      const struct spex_object_site *site, const char *provider) {
    *to = (struct spex_profile_site){
        .index = index,
        .line = site->line,
        .subsample = site->subsample,
        .probe_id = site->named ? (uint16_t)~index : site->probe_id,
        .probe_type = site->probe_type,
        .detail = site->detail,
        .loaded = 1,
        .declared = site->named ? SPEX_PROFILE_NO_ID : site->probe_id + UINT32_C(1),
    };
    snprintf(to->name, sizeof(to->name), "%s", site->name);
    snprintf(to->file, sizeof(to->file), "%s", site->file);
    snprintf(to->parameters, sizeof(to->parameters), "%s",
             site->parameters ? site->parameters : "");
    snprintf(to->provider, sizeof(to->provider), "%s", provider);
}

static size_t sites_of(const struct spex_object_sites *sites) {
    size_t count = 0;
    for (size_t s = 0; s < sites->count; s++)
        count += sites->items[s].probe_type ? sites->items[s].copies : 0;
    return count;
}

/* A site of which the compiler has made copies is several. */
static void sites_add(struct collecting *collecting, const struct spex_object_sites *sites) {
    struct spex_stand_in *stand_in = collecting->stand_in;
    size_t more = sites_of(sites);
    if (more > SPEX_MAX_SITES - stand_in->site_count)
        return;
    struct spex_profile_site *grown =
        realloc(stand_in->sites, (stand_in->site_count + more + 1) * sizeof(*grown));
    collecting->out_of_memory |= !grown;
    if (!grown)
        return;
    stand_in->sites = grown;
    for (size_t s = 0; s < sites->count; s++)
        for (uint32_t c = 0; sites->items[s].probe_type && c < sites->items[s].copies; c++) {
            site_tell(&grown[stand_in->site_count], stand_in->site_count, &sites->items[s],
                      sites->provider);
            stand_in->site_count++;
        }
}

static void object_add(void *user, const char *path, int fd, const char *reason) {
    struct spex_object_sites sites = {.functions = false};
    struct spex_error error;
    (void)reason;
    if (fd >= 0 && spex_object_sites_read(fd, path, &sites, &error) == 0)
        sites_add(user, &sites);
    spex_object_sites_free(&sites);
}

/* Unreadable sites are left out: the list of probes alone would have them. */
static int sites_know(struct spex_stand_in *stand_in) {
    struct collecting collecting = {.stand_in = stand_in};
    struct spex_error error;
    if (!stand_in->sites_known)
        spex_mapped_objects_visit(stand_in->program.process, object_add, &collecting, &error);
    stand_in->sites_known = true;
    return collecting.out_of_memory ? -ENOMEM : 0;
}

/* An answer in progress: its frames go to the reader one by one. */
struct answering {
    const struct spex_stand_in *stand_in;
    struct spex_profile_reader *reader;
    struct spex_error *error;
    uint32_t flags; /* of the last frame */
    char frame[SPEX_CONTROL_FRAME_BYTES];
};

static int frame_give(struct answering *answering, enum spex_control_kind kind, const void *entries,
                      size_t entry_bytes, size_t count) {
    struct spex_control_frame head = {.kind = (uint16_t)kind,
                                      .number = answering->stand_in->number,
                                      .entry_bytes = (uint32_t)entry_bytes,
                                      .count = (uint32_t)count,
                                      .flags = kind == SPEX_CONTROL_DONE ? answering->flags : 0,
                                      .status = is_look(answering->stand_in->kind) ? 0 : -ENOENT};
    if (count)
        memcpy(answering->frame + sizeof(head), entries, entry_bytes * count);
    size_t bytes = spex_frame_finish(answering->frame, &head);
    return spex_profile_reader_take(answering->reader, answering->frame, bytes, answering->error);
}

static int process_give(struct answering *answering) {
    const struct spex_dormant *told = &answering->stand_in->program.told;
    struct spex_profile_process process = {.process_id = told->process_id,
                                           .sites = told->sites,
                                           .sites_loaded = told->sites,
                                           .loaded_ns = told->loaded_ns};
    snprintf(process.command, sizeof(process.command), "%.*s", (int)sizeof(told->command) - 1,
             told->command);
    snprintf(process.selection, sizeof(process.selection), "off");
    return frame_give(answering, SPEX_CONTROL_PROCESS, &process, sizeof(process), 1);
}

static int types_give(struct answering *answering) {
    struct spex_profile_type types[SPEX_PROFILE_TYPES] = {{0}};
    for (unsigned n = 0; n < SPEX_PROFILE_TYPES; n++) {
        types[n].probe_type = n < SPEX_PROBE_TYPES ? spex_probe_type_of_ring(n) : SPEX_PERFCNTR;
        types[n].pcid = n < SPEX_PROBE_TYPES ? 0 : n - (SPEX_PROBE_TYPES - 1);
    }
    return frame_give(answering, SPEX_CONTROL_TYPES, types, sizeof(types[0]), SPEX_PROFILE_TYPES);
}

static int sites_give(struct answering *answering) {
    const struct spex_stand_in *stand_in = answering->stand_in;
    const size_t most =
        (SPEX_CONTROL_FRAME_BYTES - sizeof(struct spex_control_frame)) / sizeof(stand_in->sites[0]);
    int err = 0;
    for (uint32_t first = 0; !err && first < stand_in->site_count;) {
        size_t left = stand_in->site_count - first, count = left < most ? left : most;
        err = frame_give(answering, SPEX_CONTROL_SITES, stand_in->sites + first,
                         sizeof(stand_in->sites[0]), count);
        first += (uint32_t)count;
    }
    return err;
}

static int profile_give(struct answering *answering) {
    int err = process_give(answering);
    if (answering->stand_in->kind == SPEX_CONTROL_STATUS)
        return err;
    err = err ? err : types_give(answering);
    return err ? err : sites_give(answering);
}

/* Gives an answer to what was asked last; the last one of all where it is `final`. */
static int answer(struct spex_stand_in *stand_in, bool final, struct spex_profile_reader *reader,
                  struct spex_error *error) {
    struct answering *answering = malloc(sizeof(*answering));
    int err = answering ? 0 : -ENOMEM;
    if (!err && is_look(stand_in->kind) && stand_in->kind != SPEX_CONTROL_STATUS)
        err = sites_know(stand_in);
    if (err) {
        free(answering);
        return spex_fail(error, err, "out of memory");
    }
    answering->stand_in = stand_in;
    answering->reader = reader;
    answering->error = error;
    answering->flags = final ? SPEX_CONTROL_FINAL : 0;
    bool profiles = is_look(stand_in->kind) &&
                    (stand_in->kind != SPEX_CONTROL_SUBSCRIBE || stand_in->interval_ms);
    const char *text = stand_in->kind == SPEX_CONTROL_DUMP ? SPEX_CONTROL_UNRECORDED : "";
    err = profiles ? profile_give(answering) : 0;
    err = err ? err : frame_give(answering, SPEX_CONTROL_DONE, text, 1, strlen(text));
    free(answering);
    return err;
}

static bool tick_take(int fd) {
    uint64_t ticks;
    return read(fd, &ticks, sizeof(ticks)) == sizeof(ticks);
}

/* An answer that comes late makes the next ones no later. */
static void due_next(struct spex_stand_in *stand_in, uint64_t now_ns) {
    uint64_t interval_ns = stand_in->interval_ms * UINT64_C(1000000);
    stand_in->due_ns =
        interval_ns ? now_ns + interval_ns - (now_ns - stand_in->due_ns) % interval_ns : UINT64_MAX;
}

int spex_stand_in_answer(int fd, struct spex_profile_reader *reader, struct spex_error *error) {
    struct spex_stand_in *stand_in = spex_stand_in_of(fd);
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (!tick_take(fd))
        return 0;
    bool halted = now_ns >= stand_in->due_ns && spex_dormant_is_halted(&stand_in->program);
    if (halted || stand_in->program.told.called_ns)
        hurry(fd);
    if (halted || now_ns < stand_in->due_ns)
        return 0;
    due_next(stand_in, now_ns);
    return answer(stand_in, false, reader, error);
}

int spex_stand_in_end(int fd, struct spex_profile_reader *reader, struct spex_error *error) {
    struct spex_stand_in *stand_in = spex_stand_in_of(fd);
    if (!tick_take(fd))
        return 0;
    if (stand_in->over)
        return spex_fail(error, -ECONNRESET, "the program has gone");
    stand_in->over = true;
    look_each(fd, LOOK_OFTEN_MS, true);
    return answer(stand_in, true, reader, error);
}
