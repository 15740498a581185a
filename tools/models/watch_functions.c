/* SPDX-License-Identifier: MIT */
/* Watches functions of a program that was built without spex, by breakpoints of the kernel: each is a kernel, whose
 * parameters are its arguments. Those that are in slices of the time stand for the others. */
#include <string.h>

#include "base/clock.h"
#include "tools/common/complain.h"
#include "tools/functions/function_kernel.h"
#include "tools/functions/function_watch.h"
#include "tools/models/watcher.h"

struct source {
    struct spex_watcher *watcher;
    struct spex_function_watch functions;
    /* CLOCK_MONOTONIC. */
    double begin;
    /* By the number of the function; NULL: it has no execution yet. */
    struct spex_watched *kernels[SPEX_FUNCTIONS_MAX];
    int err;
};

static double now_of(const void *source) {
    return spex_clock_seconds(CLOCK_MONOTONIC) - ((const struct source *)source)->begin;
}

/* The kernel of a function. One that no model knows is counted as that. */
static int find_kernel(struct source *source, const struct spex_process_function *function,
                       struct spex_watched **kernel) {
    const struct spex_process_functions *all =
        spex_attachment_functions(source->functions.attachment);
    struct spex_watched **found = &source->kernels[function - all->items];
    struct spex_function_kernel as;
    int err = 0;
    if (!*found) {
        spex_function_as_kernel(all, function, &as);
        err = spex_anomalies_kernel(source->watcher->anomalies, as.path, as.names,
                                    function->arguments.count, found);
    }
    *kernel = *found;
    return err;
}

static void take_execution(void *user, const struct spex_function_execution *execution) {
    struct source *source = user;
    struct spex_watched *kernel;
    const struct spex_execution judged = {.parameters = execution->arguments,
                                          .seconds = execution->seconds,
                                          .weight = execution->weight,
                                          .end = execution->end - source->begin,
                                          .thread = execution->thread};
    int err = source->err ? source->err : find_kernel(source, execution->function, &kernel);
    if (!err)
        spex_anomalies_take(source->watcher->anomalies, kernel, &judged);
    source->err = err;
}

/* Whether a model is of this function. */
static bool is_known(const struct spex_watcher *watcher,
                     const struct spex_function_kernel *kernel) {
    for (size_t m = 0; m < watcher->models.count; m++)
        if (strcmp(watcher->models.items[m].path, kernel->path) == 0)
            return true;
    return false;
}

/* Whether the models know any of the functions. */
static bool any_known(const struct source *source) {
    const struct spex_process_functions *all =
        spex_attachment_functions(source->functions.attachment);
    struct spex_function_kernel kernel;
    for (size_t f = 0; f < all->count; f++) {
        spex_function_as_kernel(all, &all->items[f], &kernel);
        if (is_known(source->watcher, &kernel))
            return true;
    }
    return false;
}

/* An exit status. */
static int follow(struct source *source) {
    struct spex_watcher *watcher = source->watcher;
    struct spex_profile profile;
    struct spex_error error = {""};
    int err = 0;
    while (!err && !source->err && spex_function_watch_goes_on(&source->functions))
        err = spex_watcher_look(watcher, &error);
    if (err || source->err)
        return spex_complain(SPEX_EXIT_FAILED, "watch: %s",
                             err ? error.text : strerror(-source->err));
    spex_attachment_end(source->functions.attachment, &profile);
    spex_function_watch_tell(&source->functions);
    return spex_watcher_finish(watcher, 0, spex_attachment_lost(source->functions.attachment));
}

int spex_watch_functions(struct spex_watcher *watcher) {
    struct source source = {.watcher = watcher,
                            .functions = {.program = {.pidfd = -1, .memory = -1}},
                            .begin = spex_clock_seconds(CLOCK_MONOTONIC)};
    struct spex_error error = {""};
    const struct spex_function_watch_request request = {
        .command = "watch",
        .process = watcher->process,
        .functions = watcher->functions,
        .timed = true,
        .budget = watcher->budget > 0 ? watcher->budget : SPEX_FUNCTIONS_BUDGET,
        .seconds = watcher->seconds > 0 ? watcher->seconds : SPEX_FUNCTIONS_SECONDS,
        .stop_fd = watcher->stop_fd,
        .execution = take_execution,
        .user = &source};
    int status = spex_watcher_begin(watcher, now_of, &source, &error)
                     ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text)
                     : spex_function_watch_open(&source.functions, &request);
    if (!status && !any_known(&source))
        status = spex_complain(SPEX_EXIT_FAILED, "watch: %s has no model of these functions",
                               watcher->models_path);
    status = status ? status : follow(&source);
    spex_function_watch_close(&source.functions);
    spex_watcher_end(watcher);
    return status;
}
