/* SPDX-License-Identifier: MIT */
/* A program whose probes are switched through its control socket without a pause: threads execute
 * probes of every type, others start and end, a library with probes comes and goes, and clients
 * change the selection ten thousand times a second, and ask for profiles. In the end no probe is
 * stuck, on or off, every record is accounted for, and nothing has been left lying about.
 *
 *     switching RING_RECORDS PLUGIN [--seconds N] [--seed N] */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "observe/control_client.h"
#include "observe/profile_sum.h"
#include "wire/directory.h"

#include "../unit/places.h"

enum { WORKERS = 4, MORTALS = 8, CHANGES_PER_MS = 10, AHEAD = 8, DEADLINE_S = 120 };

/* What may be allocated more at the end than at the beginning: buffers that grew to their size. */
enum { MEMORY_MAX = 1 << 20 };

static char directory[] = "/tmp/spex-switching-XXXXXX";
static const char *plugin_path;
static bool over; /* for all but the workers, */
static bool ends; /* and these */
static uint64_t rounds[WORKERS];
static uint64_t changes, profiles, loads, lives;
static struct places_tally tally;

static void remove_directory(void) {
    rmdir(directory);
}

static void fail(const char *what) {
    printf("%s\n", what);
    fflush(stdout);
    _exit(1);
}

/* Behind who is to be heard: the clients, and the thread that answers them. */
static void step_back(void) {
    setpriority(PRIO_PROCESS, 0, 19);
}

static void see(const struct spex_record *record, void *context) {
    struct places_tally *to = context;
    unsigned type = (unsigned)__builtin_ctz(record->probe_type);
    if (record->probe_id == PLACES_ID)
        spex_fetch_add_relaxed(&to->records[type], 1);
    else
        spex_fetch_add_relaxed(&to->others, 1);
}

static void *worker_run(void *arg) {
    uint64_t *round = arg;
    step_back();
    while (!spex_load_relaxed(&ends)) {
        places_all();
        spex_fetch_add_relaxed(round, 1);
    }
    return NULL;
}

static void *mortal_run(void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++)
        places_all();
    return NULL;
}

static void *starter_run(void *arg) {
    pthread_t mortals[MORTALS];
    (void)arg;
    step_back();
    while (!spex_load_relaxed(&over)) {
        for (int m = 0; m < MORTALS; m++)
            if (pthread_create(&mortals[m], NULL, mortal_run, NULL) != 0)
                fail("no thread");
        for (int m = 0; m < MORTALS; m++)
            pthread_join(mortals[m], NULL);
        spex_fetch_add_relaxed(&lives, MORTALS);
    }
    return NULL;
}

static void *loader_run(void *arg) {
    unsigned (*run)(unsigned);
    (void)arg;
    step_back();
    while (!spex_load_relaxed(&over)) {
        void *plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
        void *symbol = plugin ? dlsym(plugin, "plugin_work") : NULL;
        if (!symbol)
            fail(dlerror());
        memcpy(&run, &symbol, sizeof(run));
        if (run(20) != 20)
            fail("the library does not work");
        dlclose(plugin);
        spex_fetch_add_relaxed(&loads, 1);
    }
    return NULL;
}

static int call(void) {
    char name[SPEX_CONTROL_NAME_BYTES];
    int place = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    spex_control_name(name);
    if (place < 0 || fd < 0 || spex_control_connect_at(fd, place, name) != 0)
        fail("cannot connect");
    close(place);
    return fd;
}

static void ask(int fd, enum spex_control_kind kind, const char *text) {
    struct spex_error error;
    if (spex_client_send(fd, kind, 0, text, &error) != 0)
        fail(error.text);
}

static int answer(int fd, struct spex_profile_reader *reader) {
    struct spex_error error = {""};
    if (spex_client_receive(fd, reader, DEADLINE_S * 1000, &error) != 1)
        fail(error.text);
    return reader->status;
}

static int choose(int fd, const char *probes) {
    struct spex_profile_reader reader = {0};
    ask(fd, SPEX_CONTROL_SELECT, probes);
    return answer(fd, &reader);
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A few requests at once, so that neither end waits for the other each time. */
static void change(int fd, uint64_t *seed) {
    static const char *const selections[] = {
        "40",      "",    "40:lat,40:cnt", "40:lat@7",     "plugin.*", "*",        "-40:tpt",
        "+40:tpt", "*@3", "40:snapshot",   "+40:flt@1000", "-*",       "+40@poll", "*@poll"};
    struct spex_profile_reader reader = {0};
    for (int a = 0; a < AHEAD; a++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        ask(fd, SPEX_CONTROL_SELECT,
            selections[(*seed >> 33) % (sizeof(selections) / sizeof(*selections))]);
    }
    for (int a = 0; a < AHEAD; a++)
        if (answer(fd, &reader) < 0)
            fail(reader.text);
    spex_fetch_add_relaxed(&changes, AHEAD);
}

/* Paced: ten thousand a second, and more after a delay until they are made up for. */
static void *switcher_run(void *arg) {
    uint64_t seed = *(uint64_t *)arg, begin = now_ns(), done = 0;
    int fd = call();
    while (!spex_load_relaxed(&over)) {
        while (done < (now_ns() - begin) / 1000000 * CHANGES_PER_MS && !spex_load_relaxed(&over)) {
            change(fd, &seed);
            done += AHEAD;
        }
        poll(NULL, 0, 1);
    }
    close(fd);
    return NULL;
}

static void check_profile(const struct spex_profile *now, const struct spex_profile *before) {
    struct spex_profile since;
    if (now->process.produced < before->process.produced ||
        now->process.consumed + now->process.lost > now->process.produced)
        fail("accounts that do not add up");
    if (spex_profile_since(now, before, &since) != 0)
        fail("out of memory");
    spex_profile_free(&since);
}

static void *asker_run(void *arg) {
    struct spex_profile_reader reader = {0};
    struct spex_profile before = {0};
    (void)arg;
    while (!spex_load_relaxed(&over)) {
        int fd = call(); /* as status does, each time */
        ask(fd, SPEX_CONTROL_PROFILE, NULL);
        if (answer(fd, &reader) != 0)
            fail("no profile");
        close(fd);
        check_profile(&reader.profile, &before);
        spex_profile_free(&before);
        before = reader.profile;
        reader.profile = (struct spex_profile){0};
        spex_fetch_add_relaxed(&profiles, 1);
        poll(NULL, 0, 10);
    }
    spex_profile_free(&before);
    spex_profile_reader_free(&reader);
    return NULL;
}

static void begin(pthread_t *thread, void *(*run)(void *), void *arg) {
    if (pthread_create(thread, NULL, run, arg) != 0)
        fail("no thread");
}

static void switch_for(double seconds, uint64_t seed) {
    pthread_t starter, loader, switcher, asker;
    uint64_t until = now_ns() + (uint64_t)(seconds * 1e9);
    spex_store_relaxed(&over, false);
    begin(&starter, starter_run, NULL);
    begin(&loader, loader_run, NULL);
    begin(&switcher, switcher_run, &seed);
    begin(&asker, asker_run, NULL);
    while (now_ns() < until)
        poll(NULL, 0, 10);
    spex_store_relaxed(&over, true);
    pthread_join(switcher, NULL);
    pthread_join(starter, NULL);
    pthread_join(loader, NULL);
    pthread_join(asker, NULL);
}

/* Every worker has begun and ended so many rounds since. */
static void wait_rounds(uint64_t more) {
    uint64_t from[WORKERS];
    for (int w = 0; w < WORKERS; w++)
        from[w] = spex_load_relaxed(&rounds[w]);
    for (int w = 0; w < WORKERS; w++)
        while (spex_load_relaxed(&rounds[w]) - from[w] < more)
            sched_yield();
}

static void nothing_is_stuck_on(int fd) {
    if (choose(fd, "") != 0)
        fail("a site is on, though nothing is selected");
    wait_rounds(2);
    uint64_t produced = status_now().produced;
    wait_rounds(1000);
    if (status_now().produced != produced)
        fail("a probe that is off records");
}

static void nothing_is_stuck_off(int fd) {
    if (choose(fd, "40@1") < PLACES_TYPES)
        fail("a site is off, though it is selected");
    for (int t = 0; t < PLACES_TYPES; t++) {
        uint64_t seen = spex_load_relaxed(&tally.records[t]);
        while (spex_load_relaxed(&tally.records[t]) == seen)
            sched_yield();
    }
}

static void check_accounts(void) {
    struct spex_status now = status_now();
    uint64_t seen = tally.others;
    for (int t = 0; t < PLACES_TYPES; t++)
        seen += tally.records[t];
    printf("%llu records produced, %llu lost\n", (unsigned long long)now.produced,
           (unsigned long long)now.lost);
    if (now.produced != now.consumed + now.lost || now.pending || now.consumed != seen ||
        now.undelivered)
        fail("records that are neither consumed nor lost");
}

static int descriptors(void) {
    DIR *entries = opendir("/proc/self/fd");
    int count = 0;
    while (entries && readdir(entries))
        count++;
    closedir(entries);
    return count;
}

static size_t allocated(void) {
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static void serve(unsigned ring_records) {
    const struct spex_options options = {.size = sizeof(options),
                                         .out = "/dev/null",
                                         .ring_records = ring_records,
                                         .no_calibration = true};
    if (!mkdtemp(directory) || setenv("SPEX_CONTROL", directory, 1) != 0)
        fail("no directory");
    atexit(remove_directory);
    capture_start(see, &tally);
    if (spex_start(&options) != 0)
        fail("cannot start");
}

static void report(double seconds) {
    printf("%.1f s: %.0f changes a second, %llu profiles, %llu threads, %llu loads of a library\n",
           seconds, (double)changes / seconds, (unsigned long long)profiles,
           (unsigned long long)lives, (unsigned long long)loads);
}

static void torment(double seconds, uint64_t seed) {
    pthread_t workers[WORKERS];
    for (int w = 0; w < WORKERS; w++)
        begin(&workers[w], worker_run, &rounds[w]);
    switch_for(0.2, seed); /* what is made once, is made */
    int fd = call();
    nothing_is_stuck_off(fd); /* and every thread has its counters */
    nothing_is_stuck_on(fd);
    int descriptors_before = descriptors();
    close(fd);
    size_t memory_before = allocated();
    changes = profiles = lives = loads = 0;
    uint64_t from = now_ns();
    switch_for(seconds, seed + 1);
    report((double)(now_ns() - from) / 1e9);
    fd = call();
    nothing_is_stuck_on(fd);
    nothing_is_stuck_off(fd);
    nothing_is_stuck_on(fd);
    alarm(DEADLINE_S);
    while (descriptors() > descriptors_before) /* connections that have ended are closed soon */
        sched_yield();
    alarm(0);
    if (allocated() > memory_before + MEMORY_MAX)
        fail("memory is left allocated");
    close(fd);
    spex_store_relaxed(&ends, true);
    for (int w = 0; w < WORKERS; w++)
        pthread_join(workers[w], NULL);
}

int main(int argc, char **argv) {
    uint64_t seconds = 2, seed = (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid();
    if (argc < 3)
        return 2;
    for (int a = 3; a + 1 < argc; a += 2) {
        uint64_t value = strtoull(argv[a + 1], NULL, 10);
        if (strcmp(argv[a], "--seconds") == 0)
            seconds = value;
        else if (strcmp(argv[a], "--seed") == 0)
            seed = value;
        else
            return 2;
    }
    printf("seed %llu\n", (unsigned long long)seed);
    plugin_path = argv[2];
    serve((unsigned)strtoul(argv[1], NULL, 10));
    torment((double)seconds, seed);
    spex_stop();
    check_accounts();
    return 0;
}
