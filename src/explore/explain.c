/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <spex/explore.h>

#include "explain_name.h"
#include "report_source.h"

static struct spex_sample sample_of(const void *user, size_t index) {
    const struct spex_quantity *quantity = user;
    return quantity->samples[index];
}

/* Surely changed, then not known, then surely or perhaps the same; each by size, then by name. */
static int by_weight(const void *a, const void *b) {
    const struct spex_explained *one = a, *other = b;
    int x = one->change.significant ? 2 : !one->change.known;
    int y = other->change.significant ? 2 : !other->change.known;
    if (x != y)
        return x > y ? -1 : 1;
    if (one->change.size != other->change.size)
        return one->change.size > other->change.size ? -1 : 1;
    return strcmp(one->name, other->name);
}

int spex_explanation_find(struct spex_explanation *explanation,
                          const struct spex_quantities *quantities) {
    explanation->items = calloc(quantities->count + 1, sizeof(*explanation->items));
    if (!explanation->items)
        return -ENOMEM;
    for (size_t q = 0; q < quantities->count; q++) {
        const struct spex_quantity *quantity = &quantities->items[q];
        struct spex_accuracy accuracy;
        struct spex_explained explained = {.name = quantity->name,
                                           .unit = quantity->unit,
                                           .a = quantity->samples[explanation->a],
                                           .b = quantity->samples[explanation->b]};
        if (!explained.a.trials || !explained.b.trials)
            continue;
        spex_accuracy_learn(&accuracy, sample_of, quantity, explanation->data->summary->count);
        explained.change = spex_change_of(&accuracy, &explained.a, &explained.b);
        explanation->significant += explained.change.significant;
        explanation->unknown += !explained.change.known;
        explanation->items[explanation->count++] = explained;
    }
    qsort(explanation->items, explanation->count, sizeof(*explanation->items), by_weight);
    return 0;
}

static int write_forms(const struct spex_explain_options *options,
                       const struct spex_explanation *explanation, struct spex_why *why) {
    if (options->text) {
        spex_explanation_text(explanation, options->all, options->text);
        if (fflush(options->text) != 0 || ferror(options->text))
            return spex_fail(why, -EIO, "cannot write the explanation: %s", strerror(errno));
    }
    return options->json ? spex_explanation_json(explanation, options->json, why) : 0;
}

static int explain(const struct spex_explain_options *options, struct spex_report_source *source,
                   struct spex_why *why) {
    struct spex_explanation explanation = {.data = &source->data};
    struct spex_quantities quantities = {NULL, 0};
    int err = spex_explain_name(&source->data, options->a, &explanation.a, why);
    err = err ? err : spex_explain_name(&source->data, options->b, &explanation.b, why);
    if (!err && explanation.a == explanation.b)
        err =
            spex_fail(why, -EINVAL, "%s and %s are the same configuration", options->a, options->b);
    err = err ? err : spex_quantities_read(&quantities, &source->data, source->store, why);
    if (!err && spex_explanation_find(&explanation, &quantities))
        err = spex_fail(why, -ENOMEM, "out of memory");
    err = err ? err : write_forms(options, &explanation, why);
    free(explanation.items);
    spex_quantities_free(&quantities);
    return err;
}

int spex_explain(const struct spex_explain_options *options, char *text, size_t size) {
    struct spex_why why = {"spex_explain: a store and two configurations were expected"};
    struct spex_report_source source = {.path = NULL};
    bool whole = options->size == sizeof(*options) && options->store && options->a && options->b;
    int err = whole ? spex_report_source_read(&source, options->store, &why) : -EINVAL;
    err = err ? err : explain(options, &source, &why);
    spex_report_source_free(&source);
    if (err)
        snprintf(text, size, "%s", why.text);
    return err;
}
