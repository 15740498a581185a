/* SPDX-License-Identifier: MIT */
/* Threads for which the allocator is all that matters: objects of many sizes, short and long lives,
 * and some that another thread frees. */
#include <err.h>
#include <stdlib.h>

#include <spex/spex.h>

#include "crew.h"
#include "footprint.h"
#include "settings.h"
#include "worker.h"

static void run(const struct settings *settings) {
    size_t threads = (size_t)settings->threads;
    struct worker *workers = aligned_alloc(64, threads * sizeof(*workers));
    if (!workers)
        errx(1, "out of memory");
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (struct worker){.next = &workers[(i + 1) % threads].inbox,
                                     .mix = settings->mix,
                                     .remote = (uint32_t)settings->remote,
                                     .batch = (size_t)settings->batch,
                                     .random = ((uint64_t)settings->seed << 8) + i};
        inbox_init(&workers[i].inbox);
    }
    crew_add(footprint_watch, NULL);
    for (size_t i = 0; i < threads; i++)
        crew_add(worker_run, &workers[i]);
    crew_wait(settings->seconds);
    crew_join();
    for (size_t i = 0; i < threads; i++)
        worker_fini(&workers[i]);
    free(workers);
}

int main(int argc, char **argv) {
    struct settings settings;
    settings_read(&settings, argc, argv);
    settings_apply(&settings);
    crew_prepare();
    spex_start(NULL);
    run(&settings);
    spex_stop();
    return 0;
}
