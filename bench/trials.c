/* SPDX-License-Identifier: MIT */
/* Measures what exploring adds to each run of a program: how much longer an exploration of many
 * trials takes than one of few, beside as many runs of the same program by this one, with the
 * same records for a socket that nobody reads. What an exploration does once cancels.
 *
 *     trials [--json] [--rounds N]
 *
 * The program is this file as well. Explorations and bare runs take turns. Figures are
 * milliseconds, medians over the rounds: of a bare run, of one more trial, what that adds, and
 * what an exploration takes besides its trials. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spex/explore.h>
#include <spex/spex.h>

#include "bench.h"

enum { FEW = 8, MANY = 72, RECORDS = 200, ROUNDS_DEFAULT = 15, ROUNDS_MAX = 1000, WORK = 1 };
SPEX_PROBE_NAME(WORK, "work");

static const char space_format[] =
    "<space name='trials'><parameter name='a' type='integer' min='1' max='%d'/>"
    "<objective probe='work:tpt' metric='throughput' goal='maximise'/>"
    "<run records_per_thread='100' warmup='0' least='0'/></space>";

static char work_directory[] = "/tmp/spex-bench-XXXXXX";
static char space_path[64], store_path[64], socket_path[64];

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The program: makes its records and ends. */
static int program_work(void) {
    if (spex_start(NULL) != 0)
        return 1;
    for (int i = 0; i < RECORDS; i++) {
        TPT_PROBE_BEGIN(WORK, 1);
        TPT_PROBE_END(WORK);
    }
    return spex_stop() ? 1 : 0;
}

static void write_space(int configurations) {
    FILE *out = fopen(space_path, "we");
    if (!out || fprintf(out, space_format, configurations) < 0 || fclose(out) != 0)
        err(1, "%s", space_path);
}

/* The buffers of the kernel hold the streams of all runs. */
static int listen_only(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, MANY) < 0)
        err(1, "%s", socket_path);
    return fd;
}

static void run_bare(char *self, int runs) {
    char output[80];
    snprintf(output, sizeof(output), "unix:%s", socket_path);
    char *const argv[] = {self, (char *)(uintptr_t) "work", NULL};
    int listening = listen_only();
    setenv("SPEX_OUT", output, 1);
    setenv("SPEX_PROBES", "work:tpt", 1);
    for (int t = 0; t < runs; t++) {
        int status = 0;
        pid_t pid;
        if (posix_spawn(&pid, self, NULL, NULL, argv, environ) != 0 ||
            waitpid(pid, &status, 0) < 0 || status != 0)
            errx(1, "the program ended with status %d", status);
    }
    unsetenv("SPEX_OUT");
    unsetenv("SPEX_PROBES");
    close(listening);
    unlink(socket_path);
}

static void count_failed(void *user, const struct spex_progress *progress) {
    *(uint64_t *)user = progress->failed;
}

static void run_explored(char *self, int trials) {
    write_space(trials);
    char *const argv[] = {self, (char *)(uintptr_t) "work", NULL};
    uint64_t failed = 0;
    char why[512];
    const struct spex_explore_options options = {.size = sizeof(options),
                                                 .space = space_path,
                                                 .policy = "grid",
                                                 .store = store_path,
                                                 .argv = argv,
                                                 .stop_fd = -1,
                                                 .progress = count_failed,
                                                 .user = &failed};
    if (spex_explore(&options, why, sizeof(why)) != 0)
        errx(1, "%s", why);
    if (failed)
        errx(1, "%llu trials failed", (unsigned long long)failed);
    unlink(store_path);
}

static double milliseconds(void (*run)(char *self, int runs), char *self, int runs) {
    double begin = seconds_now();
    run(self, runs);
    return (seconds_now() - begin) * 1e3;
}

static void print_result(const char *name, struct bench_result result, bool json, bool last) {
    if (json)
        printf("  \"%s\": {\"milliseconds\": %.4g, \"ci95\": [%.4g, %.4g]}%s\n", name,
               result.median, result.low, result.high, last ? "" : ",");
    else
        printf("%-10s %8.3f ms (%.3f to %.3f)\n", name, result.median, result.low, result.high);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "work") == 0)
        return program_work();
    static double bare[ROUNDS_MAX], explored[ROUNDS_MAX], added[ROUNDS_MAX], once[ROUNDS_MAX];
    size_t rounds = ROUNDS_DEFAULT;
    bool json = false;
    bench_options(argc, argv, 1, ROUNDS_MAX, &rounds, &json);
    char *self = realpath("/proc/self/exe", NULL);
    if (!self || !mkdtemp(work_directory))
        err(1, "%s", work_directory);
    snprintf(space_path, sizeof(space_path), "%s/space.xml", work_directory);
    snprintf(store_path, sizeof(store_path), "%s/trials.db", work_directory);
    snprintf(socket_path, sizeof(socket_path), "%s/socket", work_directory);
    for (size_t r = 0; r < rounds; r++) {
        double few = milliseconds(run_explored, self, FEW);
        explored[r] = (milliseconds(run_explored, self, MANY) - few) / (MANY - FEW);
        bare[r] = milliseconds(run_bare, self, MANY) / MANY;
        added[r] = explored[r] - bare[r];
        once[r] = few - FEW * explored[r];
    }
    unlink(space_path);
    rmdir(work_directory);
    free(self);
    if (json)
        printf("{\n  \"bench\": \"trials\",\n  \"rounds\": %zu,\n", rounds);
    print_result("bare", bench_median(bare, rounds), json, false);
    print_result("explored", bench_median(explored, rounds), json, false);
    print_result("added", bench_median(added, rounds), json, false);
    print_result("once", bench_median(once, rounds), json, true);
    if (json)
        puts("}");
    return 0;
}
