/* SPDX-License-Identifier: MIT */
#include "exchange.h"

#include <spex/probe.h>

#include "clock.h"
#include "crew.h"
#include "random.h"

/* Some items of one thread, and what is still to be put of them. */
struct batch {
    struct exchange *exchange;
    struct item *items;
    size_t count;
};

static uint64_t work_on(uint64_t value, uint64_t steps) {
    while (steps--)
        value = random_next(&value);
    return value;
}

static void make(struct item *item, uint64_t *random, uint64_t steps) {
    for (int i = 0; i < ITEM_VALUES; i++)
        item->values[i] = random_next(random);
    item->values[0] = work_on(item->values[0], steps);
}

static size_t try_put(void *argument) {
    const struct batch *batch = argument;
    return batch->exchange->kind->put(batch->exchange->queue, batch->items, batch->count);
}

static size_t try_take(void *argument) {
    const struct batch *batch = argument;
    return batch->exchange->kind->take(batch->exchange->queue, batch->items, batch->count);
}

/* Waits for room. */
static void put(struct batch batch) {
    SPEX_LAT_SCOPE("put", 10);
    SPEX_CTXSW_SCOPE("put", 10);
    while (batch.count && !crew_ends()) {
        size_t count = waiting_for(&batch.exchange->room, try_put, &batch);
        batch.items += count;
        batch.count -= count;
        waiting_wake_one(&batch.exchange->items);
    }
}

/* Waits for a batch. */
static size_t take(struct batch batch) {
    SPEX_LAT_SCOPE("take", 10);
    SPEX_CTXSW_SCOPE("take", 10);
    size_t count = waiting_for(&batch.exchange->items, try_take, &batch);
    waiting_wake_one(&batch.exchange->room);
    return count;
}

void *exchange_produce(void *argument) {
    struct member *member = argument;
    struct exchange *exchange = member->exchange;
    struct item items[BATCH_MOST];
    while (!crew_ends()) {
        for (size_t i = 0; i < exchange->batch; i++)
            make(&items[i], &member->random, exchange->make_steps);
        uint64_t born = clock_ns();
        for (size_t i = 0; i < exchange->batch; i++)
            items[i].born = born;
        put((struct batch){exchange, items, exchange->batch});
    }
    return NULL;
}

static uint64_t use(const struct item *item, uint64_t steps) {
    SPEX_TPT_SCOPE("item", 20);
    SPEX_LAT_SCOPE("item", 20);
    uint64_t result = 0;
    for (int i = 0; i < ITEM_VALUES; i++)
        result += item->values[i];
    return work_on(result, steps);
}

void *exchange_consume(void *argument) {
    struct member *member = argument;
    struct exchange *exchange = member->exchange;
    struct item items[BATCH_MOST] = {0};
    size_t count;
    while ((count = take((struct batch){exchange, items, exchange->batch}))) {
        /* Nanoseconds that an item was in the queue, and items that it was taken with. */
        SPEX_SNAPSHOT_PROBE("delay", 10, clock_ns() - items[0].born, count);
        for (size_t i = 0; i < count; i++)
            member->random ^= use(&items[i], exchange->use_steps);
        if (crew_ends())
            break;
    }
    return NULL;
}

void exchange_wake_all(struct exchange *exchange) {
    waiting_wake_all(&exchange->room);
    waiting_wake_all(&exchange->items);
}
