/* SPDX-License-Identifier: MIT */
/* Both ends are the same program, so structures are sent as they are. */
#define _GNU_SOURCE
#include "harness/processes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text/message.h"

/* What follows it: repetitions, and the histogram if there is one. */
struct told {
    size_t instance, repetitions;
    bool singles;
    char error[SPEX_BENCH_TEXT_BYTES];
};

/* The options that a child gets after those of the program. */
enum { CHILD_OPTIONS = 3 };

int spex_bench_processes_tell(const struct spex_bench_instances *instances, int descriptor) {
    FILE *out = fdopen(descriptor, "w");
    if (!out)
        return -errno;
    for (size_t i = 0; i < instances->count; i++) {
        const struct spex_bench_figures *figures = &instances->items[i].figures;
        struct told told = {
            .instance = i, .repetitions = figures->count, .singles = figures->singles};
        memcpy(told.error, figures->error, sizeof(told.error));
        fwrite(&told, sizeof(told), 1, out);
        fwrite(figures->repetitions, sizeof(*figures->repetitions), figures->count, out);
        if (told.singles)
            fwrite(figures->singles, sizeof(*figures->singles), 1, out);
    }
    bool failed = ferror(out);
    return fclose(out) || failed ? -EIO : 0;
}

/* Takes over what a child tells of one benchmark. 0 or a negative errno value. */
static int take_told(struct spex_bench_instances *instances, const struct told *told,
                     size_t process, FILE *in) {
    if (told->instance >= instances->count)
        return -EBADMSG;
    struct spex_bench_figures *figures = &instances->items[told->instance].figures;
    int err = 0;
    if (*told->error)
        memcpy(figures->error, told->error, sizeof(figures->error));
    for (size_t r = 0; r < told->repetitions && !err; r++) {
        struct spex_bench_repetition repetition;
        if (fread(&repetition, sizeof(repetition), 1, in) != 1)
            return -EBADMSG;
        repetition.process = process;
        err = spex_bench_figures_add(figures, &repetition);
    }
    if (!err && told->singles) {
        struct spex_histogram *singles = malloc(sizeof(*singles));
        err = !singles ? -ENOMEM : fread(singles, sizeof(*singles), 1, in) != 1 ? -EBADMSG : 0;
        err = err ? err : spex_bench_figures_add_singles(figures, singles);
        free(singles);
    }
    return err;
}

/* Takes over what a child tells. -EBADMSG: it has told too little. */
static int take_all(struct spex_bench_instances *instances, size_t process, FILE *in) {
    struct told told;
    size_t count = 0;
    int err = 0;
    while (!err && fread(&told, sizeof(told), 1, in) == 1) {
        err = take_told(instances, &told, process, in);
        count++;
    }
    return err ? err : count == instances->count ? 0 : -EBADMSG;
}

/* Executes the program again. What it prints itself goes to standard error. Does not return. */
_Noreturn static void child_execute(const struct spex_bench_settings *settings, char **argv,
                                    size_t process, int descriptor) {
    size_t count = 0;
    char texts[CHILD_OPTIONS][64];
    while (argv[count])
        count++;
    char **arguments = calloc(count + CHILD_OPTIONS + 1, sizeof(*arguments));
    snprintf(texts[0], sizeof(texts[0]), "--benchmark_child=%d", descriptor);
    snprintf(texts[1], sizeof(texts[1]), "--benchmark_seed=%" PRIu64, settings->seed + process);
    snprintf(texts[2], sizeof(texts[2]), "--benchmark_repetitions=%u",
             settings->repetitions ? settings->repetitions : 1);
    if (arguments) {
        memcpy(arguments, argv, count * sizeof(*argv));
        for (size_t o = 0; o < CHILD_OPTIONS; o++)
            arguments[count + o] = texts[o];
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execv("/proc/self/exe", arguments);
    }
    _exit(127);
}

/* Waits for the child: 0, or a negative errno value with a message. */
static int child_end(pid_t child, int err) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        spex_message("a process of the benchmarks was killed by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        spex_message("a process of the benchmarks has exited with %d", WEXITSTATUS(status));
    else if (err)
        spex_message("a process of the benchmarks: %s", strerror(-err));
    return status && !err ? -ECHILD : err;
}

static int process_run(struct spex_bench_instances *instances,
                       const struct spex_bench_settings *settings, char **argv, size_t process) {
    int ends[2];
    if (pipe(ends) < 0)
        return -errno;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        child_execute(settings, argv, process, ends[1]);
    }
    int err = child < 0 ? -errno : 0;
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    if (!in) {
        close(ends[0]);
        err = err ? err : -ENOMEM;
    } else {
        err = err ? err : take_all(instances, process, in);
        fclose(in);
    }
    return child < 0 ? err : child_end(child, err);
}

int spex_bench_processes(struct spex_bench_instances *instances,
                         const struct spex_bench_settings *settings, char **argv) {
    int err = 0;
    for (size_t p = 0; p < settings->processes && !err; p++)
        err = process_run(instances, settings, argv, p);
    for (size_t i = 0; i < instances->count && !err; i++)
        if (instances->items[i].figures.count)
            err = spex_bench_figures_estimate(&instances->items[i].figures);
    return err;
}
