/* SPDX-License-Identifier: MIT */
/* Parses documents of 4 to 16 KiB and reads all their items, as a server does with requests. */
#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <spex/probe.h>

#include "budget_random.h"
#include "budget_workload.h"

enum { PARSE = 11, DOCUMENT, ITEM, SIZE };
SPEX_PROBE_NAME(PARSE, "parse");
SPEX_PROBE_NAME(DOCUMENT, "document");
SPEX_PROBE_NAME(ITEM, "item");
SPEX_PROBE_NAME(SIZE, "size");

enum { DOCUMENTS = 64, ITEMS_LEAST = 40, ITEMS_MORE = 120 };

struct documents {
    char *texts[DOCUMENTS];
    unsigned next;
    double sum;
};

static json_t *make_item(uint64_t *random) {
    return json_pack("{s:i, s:f, s:s, s:b, s:[i,i,i]}", "id", budget_random(random, 1000000),
                     "price", budget_random(random, 100000) / 100.0, "name",
                     budget_random(random, 2) ? "a name of some length" : "short", "sold",
                     budget_random(random, 2), "stock", budget_random(random, 100),
                     budget_random(random, 100), budget_random(random, 100));
}

static char *make_document(uint64_t *random) {
    json_t *items = json_array();
    unsigned count = ITEMS_LEAST + budget_random(random, ITEMS_MORE);
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(items, make_item(random));
    char *text = json_dumps(items, JSON_COMPACT);
    json_decref(items);
    return text;
}

static void *json_prepare(void) {
    struct documents *documents = calloc(1, sizeof(*documents));
    uint64_t random = 1;
    /* Otherwise each process has its own order of members. */
    json_object_seed(1);
    if (!documents)
        err(1, "json");
    for (unsigned d = 0; d < DOCUMENTS; d++)
        if (!(documents->texts[d] = make_document(&random)))
            errx(1, "json: out of memory");
    return documents;
}

static double item_value(json_t *item) {
    double value = 0;
    SPEX_LAT_PROBE_BEGIN(ITEM, 1);
    const json_t *stock = json_object_get(item, "stock");
    for (size_t i = 0; i < json_array_size(stock); i++)
        value += (double)json_integer_value(json_array_get(stock, i));
    value *= json_number_value(json_object_get(item, "price"));
    SPEX_LAT_PROBE_END(ITEM);
    return json_is_true(json_object_get(item, "sold")) ? 0 : value;
}

static json_t *document_parse(const char *text) {
    json_error_t error;
    SPEX_LAT_PROBE_BEGIN(PARSE, 1);
    json_t *items = json_loads(text, 0, &error);
    SPEX_LAT_PROBE_END(PARSE);
    if (!items)
        errx(1, "json: %s", error.text);
    return items;
}

static unsigned document_sum(struct documents *documents, const char *text) {
    SPEX_TPT_PROBE_BEGIN(DOCUMENT, 1);
    json_t *items = document_parse(text);
    unsigned count = (unsigned)json_array_size(items);
    for (unsigned i = 0; i < count; i++)
        documents->sum += item_value(json_array_get(items, i));
    SPEX_SNAPSHOT_PROBE(SIZE, 1, count, strlen(text));
    json_decref(items);
    SPEX_TPT_PROBE_END(DOCUMENT);
    return count;
}

/* An operation is an item, since documents have different sizes. */
static unsigned json_work(void *state) {
    struct documents *documents = state;
    return document_sum(documents, documents->texts[documents->next++ % DOCUMENTS]);
}

#ifndef BUDGET_NAME
#define BUDGET_NAME "json"
#endif

const struct budget_workload budget_json = {
    .name = BUDGET_NAME, .prepare = json_prepare, .work = json_work};
