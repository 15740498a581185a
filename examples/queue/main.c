/* SPDX-License-Identifier: MIT */
/* Producers and consumers for which the queue between them is what matters. */
#include <err.h>
#include <stdlib.h>

#include <spex/spex.h>

#include "crew.h"
#include "exchange.h"
#include "queue.h"
#include "settings.h"

static void start(const struct settings *settings, struct exchange *exchange,
                  struct member *members) {
    int64_t threads = settings->producers + settings->consumers;
    for (int64_t i = 0; i < threads; i++) {
        members[i] = (struct member){exchange, ((uint64_t)settings->seed << 8) + (uint64_t)i};
        crew_add(i < settings->consumers ? exchange_consume : exchange_produce, &members[i]);
    }
}

static void run(const struct settings *settings) {
    struct exchange exchange = {
        .kind = settings_kind(settings),
        .batch = (size_t)settings->batch,
        .make_steps = (uint64_t)settings->make_steps,
        .use_steps = (uint64_t)settings->use_steps,
    };
    struct member *members =
        calloc((size_t)(settings->producers + settings->consumers), sizeof(*members));
    if (!members)
        errx(1, "out of memory");
    exchange.queue = exchange.kind->new_queue((size_t)settings->capacity);
    waiting_init(&exchange.room, settings->wait);
    waiting_init(&exchange.items, settings->wait);
    start(settings, &exchange, members);
    crew_wait(settings->seconds);
    exchange_wake_all(&exchange);
    crew_join();
    waiting_fini(&exchange.items);
    waiting_fini(&exchange.room);
    exchange.kind->free_queue(exchange.queue);
    free(members);
}

int main(int argc, char **argv) {
    struct settings settings;
    settings_read(&settings, argc, argv);
    crew_prepare();
    spex_start(NULL);
    run(&settings);
    spex_stop();
    return 0;
}
