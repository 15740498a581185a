/* SPDX-License-Identifier: MIT */
#include "tools/models/train_json.h"

#include <jansson.h>

#include "tools/common/complain.h"
#include "tools/common/json.h"

static json_t *kernel_json(const struct spex_kernel_model *kernel) {
    char text[1024];
    spex_model_shown(&kernel->model, (const char *const *)kernel->names, text, sizeof(text));
    return json_pack("{s:o, s:s, s:f, s:f, s:o}", "path", spex_text_json(kernel->path), "class",
                     spex_model_class_name(kernel->model.class), "adjusted_r2",
                     kernel->model.adjusted_r2, "executions", kernel->executions, "model",
                     spex_text_json(text));
}

static json_t *kernels_json(const struct spex_models *models) {
    json_t *list = json_array();
    int err = !list;
    for (size_t k = 0; !err && k < models->count; k++)
        err = json_array_append_new(list, kernel_json(&models->items[k]));
    return spex_json_unless(err, list);
}

/* null without a proposal. */
static json_t *next_json(const struct spex_next_run *run) {
    if (!run->kernel)
        return json_null();
    json_t *parameters = json_object();
    int err = !parameters;
    for (size_t p = 0; !err && p < run->kernel->model.parameter_count; p++)
        err =
            json_object_set_new(parameters, run->kernel->names[p], json_real(run->next.values[p]));
    return spex_json_unless(err,
                            json_pack("{s:o, s:o, s:f, s:f}", "kernel",
                                      spex_text_json(run->kernel->path), "parameters", parameters,
                                      "seconds", run->next.seconds, "share", run->next.share));
}

int spex_train_print_json(const struct spex_models *models, const struct spex_train_progress *last,
                          const struct spex_next_run *next) {
    json_t *all = json_pack("{s:o, s:I, s:I, s:I, s:I, s:o}", "models", kernels_json(models),
                            "runs", (json_int_t)last->done, "failed", (json_int_t)last->failed,
                            "records", (json_int_t)last->records, "lost", (json_int_t)last->lost,
                            "next", next_json(next));
    return spex_json_print(all, stdout)
               ? spex_complain(SPEX_EXIT_FAILED, "the models cannot be written as JSON")
               : SPEX_EXIT_OK;
}
