/* SPDX-License-Identifier: MIT */
/* Models in one array, sorted by path because the file that they come from is, or because training
 * adds them in this order. Pointers to models are valid until the next one is added. */
#include "model/models.h"
#include "base/memory/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A model that could not be completed stays in the array with what it has: spex_models_free()
 * frees it. */
int spex_models_add(struct spex_models *models, const char *path, const char *const *names,
                    size_t parameter_count, struct spex_kernel_model **model) {
    if (models->count == models->room) {
        size_t room = models->room ? 2 * models->room : 32;
        struct spex_kernel_model *items = spex_realloc(models->items, room * sizeof(*items));
        if (!items)
            return -ENOMEM;
        models->items = items;
        models->room = room;
    }
    *model = &models->items[models->count++];
    **model = (struct spex_kernel_model){.path = spex_strdup(path)};
    if (!(*model)->path)
        return -ENOMEM;
    for (size_t p = 0; p < parameter_count; p++) {
        (*model)->names[p] = spex_strdup(names[p]);
        if (!(*model)->names[p])
            return -ENOMEM;
        (*model)->model.parameter_count = p + 1;
    }
    return 0;
}

void spex_models_free(struct spex_models *models) {
    for (size_t k = 0; k < models->count; k++) {
        for (size_t p = 0; p < SPEX_MODEL_PARAMETERS_MAX; p++)
            spex_free(models->items[k].names[p]);
        spex_free(models->items[k].path);
        spex_free(models->items[k].points);
    }
    spex_free(models->items);
    *models = (struct spex_models){.count = 0};
}

/* Compares a path with a model, for bsearch. */
static int by_path(const void *key, const void *item) {
    return strcmp(key, ((const struct spex_kernel_model *)item)->path);
}

const struct spex_kernel_model *spex_models_find(const struct spex_models *models,
                                                 const char *path) {
    if (models->count == 0)
        return NULL;
    return bsearch(path, models->items, models->count, sizeof(*models->items), by_path);
}

size_t spex_models_without_class(const struct spex_models *models) {
    size_t count = 0;
    for (size_t m = 0; m < models->count; m++)
        count += models->items[m].model.class == SPEX_MODEL_UNKNOWN;
    return count;
}
