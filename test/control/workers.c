/* SPDX-License-Identifier: MIT */
/* The processes of a program: found by their parent, by their name and by what is wanted, and
 * followed, so that the sum has what each has done, also of those that are gone. They are this
 * program again. */
#include "serving.h"

#include <spawn.h>
#include <sys/wait.h>

#include "../open_descriptors.h"
#include "base/clock.h"
#include "observe/profile_sum.h"
#include "observe/worker_feed.h"

extern char **environ;

enum { WORKERS = 3, WORK = 97 };

SPEX_PROBE_NAME(WORK, "workers.work");

COMPILED_ONCE static void execute(int executions) {
    for (int e = 0; e < executions; e++) {
        CNT_PROBE_BEGIN(WORK, 1);
        CNT_PROBE_END(WORK);
    }
}

/* A worker that is told this stops spex, and lives on. */
enum { STOP = 255 };

/* Executes as often as it is told, byte by byte, until its input ends. "idle" does without spex. */
static int work(const char *what) {
    unsigned char executions;
    bool idle = strcmp(what, "idle") == 0;
    if (!idle && serving_start("workers.work") != 0)
        return 1;
    if (write(1, "", 1) != 1)
        return 1;
    while (read(0, &executions, 1) == 1) {
        if (executions == STOP)
            spex_stop();
        else
            execute(executions);
        if (write(1, "", 1) != 1)
            return 1;
    }
    return !idle && spex_stop() != 0;
}

struct worker {
    pid_t process;
    int to, from;
};

static const char *self;

static void await(const struct worker *worker) {
    char byte;
    assert_int_equal(read(worker->from, &byte, 1), 1);
}

static void worker_start(struct worker *worker, const char *what) {
    char *arguments[] = {(char *)(uintptr_t)self, (char *)(uintptr_t)what, NULL};
    int to[2], from[2];
    posix_spawn_file_actions_t files;
    assert_true(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to[0], 0);
    posix_spawn_file_actions_adddup2(&files, from[1], 1);
    assert_int_equal(posix_spawn(&worker->process, self, &files, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    close(to[0]);
    close(from[1]);
    worker->to = to[1];
    worker->from = from[0];
    await(worker);
}

static void worker_execute(const struct worker *worker, unsigned char executions) {
    assert_int_equal(write(worker->to, &executions, 1), 1);
    await(worker);
}

static void worker_end(const struct worker *worker) {
    int status;
    close(worker->to);
    assert_int_equal(waitpid(worker->process, &status, 0), worker->process);
    close(worker->from);
    assert_int_equal(status, 0);
}

static struct worker workers[WORKERS];

static void start_all(void) {
    for (int w = 0; w < WORKERS; w++)
        worker_start(&workers[w], "serve");
}

static void end_all(void) {
    for (int w = 0; w < WORKERS; w++)
        worker_end(&workers[w]);
}

/* They are the workers, in the order of their numbers. */
static void expect_workers(const struct spex_workers_of *of) {
    pid_t *processes;
    assert_int_equal(spex_workers_find(of, NULL, 0, &processes), WORKERS);
    for (int w = 0; w < WORKERS; w++) {
        bool found = false;
        for (int p = 0; p < WORKERS; p++)
            found |= processes[p] == workers[w].process;
        assert_true(found);
        assert_true(w == 0 || processes[w - 1] < processes[w]);
    }
    free(processes);
}

static bool is_the_second(const void *user, pid_t process) {
    return *(const pid_t *)user == process;
}

TEST(workers_are_found) {
    struct worker idle;
    pid_t *processes;
    start_all();
    worker_start(&idle, "idle");
    expect_workers(&(struct spex_workers_of){.process = getpid()});
    expect_workers(&(struct spex_workers_of){.name = "control-workers"});
    static const char *const others[] = {"control-workers-and-more", "control-worker"};
    for (int o = 0; o < 2; o++) {
        const struct spex_workers_of other = {.name = others[o]};
        assert_int_equal(spex_workers_find(&other, NULL, 0, &processes), 0);
        assert_null(processes);
    }
    const struct spex_workers_of itself = {.process = workers[1].process},
                                 wanted = {.wanted = is_the_second, .user = &workers[1].process};
    for (int n = 0; n < 2; n++) {
        assert_int_equal(spex_workers_find(n ? &itself : &wanted, NULL, 0, &processes), 1);
        assert_int_equal(processes[0], workers[1].process);
        free(processes);
    }
    /* Who is known is taken without a try. */
    assert_int_equal(spex_workers_find(&(struct spex_workers_of){.process = getpid()},
                                       &idle.process, 1, &processes),
                     WORKERS + 1);
    free(processes);
    assert_int_equal(
        spex_workers_find(&(struct spex_workers_of){.process = idle.process}, NULL, 0, &processes),
        0);
    assert_true(spex_workers_descend(idle.process, getpid()));
    /* Whoever runs the test may have given it a session of its own. */
    assert_true(spex_workers_descend(idle.process, getppid()) == (getsid(0) == getsid(getppid())));
    assert_false(spex_workers_descend(getpid(), idle.process));
    assert_false(spex_workers_descend(getpid(), getpid()));
    assert_false(spex_workers_descend(workers[0].process, idle.process));
    worker_end(&idle);
    assert_false(spex_workers_descend(idle.process, getpid()));
    end_all();
}

/* What the sum tells: executions, those who report, and their sites that are on. */
struct told {
    double executions;
    size_t reporting;
    uint32_t sites_on, threads;
    char selection[SPEX_PROFILE_TEXT_BYTES];
};

static struct told told_by(const struct spex_worker_feed *feed) {
    struct spex_profile sum;
    struct told told = {0};
    assert_int_equal(spex_worker_feed_sum(feed, &sum, &told.reporting), 0);
    assert_in_range(sum.row_count, 0, 1);
    if (sum.row_count) {
        told.executions = sum.rows[0].probe.count;
        assert_string_equal(sum.rows[0].probe.name, "workers.work");
        assert_int_equal(sum.rows[0].probe.sites_on, sum.process.sites_on);
    }
    told.sites_on = sum.process.sites_on;
    told.threads = sum.process.threads;
    strcpy(told.selection, sum.process.selection);
    spex_profile_free(&sum);
    return told;
}

/* Looks and takes until the sum has so many executions, of so many workers. */
static void await_told(struct spex_worker_feed *feed, double executions, size_t count) {
    struct spex_error error;
    struct told told;
    alarm(120);
    do {
        assert_int_equal(spex_worker_feed_look(feed, &error), 0);
        assert_int_equal(spex_worker_feed_take(feed, spex_clock_ns(CLOCK_MONOTONIC) + 20000000,
                                               SPEX_WORKERS_TIME),
                         0);
        told = told_by(feed);
        assert_true(told.executions <= executions);
    } while (told.executions != executions || feed->count != count);
    alarm(0);
    assert_int_equal(told.reporting, count);
    assert_int_equal(told.sites_on, count);
    assert_string_equal(told.selection, count ? "workers.work" : "");
}

TEST(workers_come_and_go) {
    struct spex_worker_feed feed;
    struct spex_error error;
    spex_worker_feed_open(&feed, &(struct spex_workers_of){.process = getpid()}, 50);
    assert_int_equal(spex_worker_feed_look(&feed, &error), 0);
    assert_int_equal(feed.count, 0);
    assert_int_equal(told_by(&feed).reporting, 0);
    feed.looked_ns = 0; /* not half a second later */
    uint64_t begun = spex_clock_ns(CLOCK_MONOTONIC);
    start_all();
    assert_int_equal(spex_worker_feed_look(&feed, &error), 0);
    assert_int_equal(feed.count, WORKERS);
    /* The first reports come at once. */
    assert_int_equal(
        spex_worker_feed_take(&feed, spex_clock_ns(CLOCK_MONOTONIC) + 100 * UINT64_C(1000000000),
                              SPEX_WORKERS_FIRST),
        0);
    struct told told = told_by(&feed);
    assert_int_equal(told.reporting, WORKERS);
    assert_int_equal(told.sites_on, WORKERS);
    assert_true(told.executions == 0);
    assert_true(feed.begin_ns >= begun && feed.begin_ns <= spex_clock_ns(CLOCK_MONOTONIC));
    for (int w = 0; w < WORKERS; w++) {
        assert_true(feed.workers[w].has_now && feed.workers[w].socket >= 0);
        feed.workers[w].heard_ns = spex_clock_ns(CLOCK_MONOTONIC);
        assert_false(spex_worker_is_silent(&feed, &feed.workers[w]));
        feed.workers[w].heard_ns -= 2100 * UINT64_C(1000000);
        assert_true(spex_worker_is_silent(&feed, &feed.workers[w]));
    }
    worker_execute(&workers[0], 10);
    worker_execute(&workers[1], 20);
    worker_execute(&workers[2], 30);
    await_told(&feed, 60, WORKERS);
    /* What one has done stays when it has gone, to the last. */
    worker_execute(&workers[1], 5);
    worker_end(&workers[1]);
    await_told(&feed, 65, WORKERS - 1);
    worker_start(&workers[1], "serve");
    worker_execute(&workers[1], 100);
    await_told(&feed, 165, WORKERS);
    end_all();
    await_told(&feed, 165, 0);
    assert_int_equal(told_by(&feed).threads, 0);
    spex_worker_feed_close(&feed);
}

static void lose(struct spex_worker_feed *feed, size_t w) {
    assert_int_equal(shutdown(feed->workers[w].socket, SHUT_RDWR), 0);
    WAIT_UNTIL(spex_worker_feed_take(feed, spex_clock_ns(CLOCK_MONOTONIC) + 1000000,
                                     SPEX_WORKERS_TIME) == 0 &&
               feed->workers[w].socket < 0);
}

static uint64_t in_seconds(unsigned seconds) {
    return spex_clock_ns(CLOCK_MONOTONIC) + seconds * UINT64_C(1000000000);
}

/* A connection that is lost is made again, and what has been done is not told twice. Of who lives
 * on without spex it is given up after a while. */
TEST(lost_connections_are_made_again) {
    struct spex_worker_feed feed;
    struct spex_error error;
    size_t descriptors = open_descriptors();
    start_all();
    spex_worker_feed_open(&feed, &(struct spex_workers_of){.process = getpid()}, 50);
    for (int w = 0; w < WORKERS; w++)
        worker_execute(&workers[w], 10);
    await_told(&feed, 30, WORKERS);
    for (size_t w = 0; w < WORKERS; w++) {
        lose(&feed, w);
        assert_true(feed.workers[w].has_now && feed.workers[w].lost_ns <= in_seconds(0));
        assert_true(told_by(&feed).executions == 30 + (double)w);
        assert_int_equal(spex_worker_feed_look(&feed, &error), 0);
        assert_true(feed.workers[w].socket >= 0);
        worker_execute(&workers[w], 1);
        await_told(&feed, 30 + (double)w + 1, WORKERS);
    }
    worker_execute(&workers[0], STOP);
    WAIT_UNTIL(
        spex_worker_feed_take(&feed, in_seconds(0) + 1000000, SPEX_WORKERS_TIME) == 0 &&
        feed.workers[0].socket + feed.workers[1].socket + feed.workers[2].socket > 0 &&
        (feed.workers[0].socket < 0 || feed.workers[1].socket < 0 || feed.workers[2].socket < 0));
    for (size_t w = 0; w < WORKERS; w++)
        if (feed.workers[w].socket < 0)
            feed.workers[w].lost_ns = 1;
    feed.looked_ns = in_seconds(1000); /* nor is it found again */
    assert_int_equal(spex_worker_feed_look(&feed, &error), 0);
    assert_int_equal(feed.count, WORKERS - 1);
    struct told told = told_by(&feed);
    assert_true(told.executions == 33);
    assert_int_equal(told.reporting, WORKERS - 1);
    assert_int_equal(told.sites_on, WORKERS - 1);
    spex_worker_feed_close(&feed);
    for (int w = 1; w < WORKERS; w++)
        worker_end(&workers[w]);
    close(workers[0].to);
    assert_int_equal(waitpid(workers[0].process, NULL, 0), workers[0].process);
    close(workers[0].from);
    assert_int_equal(open_descriptors(), descriptors);
}

int main(int argc, char **argv) {
    self = argv[0];
    if (argc > 1)
        return work(argv[1]);
    return tests_run(serving_begin, serving_end);
}
