/* SPDX-License-Identifier: MIT */
/* `spex fleet models`: fits models to what the instances of a fleet have told of their kernels, as
 * `spex train` does to what a program does. The master hands out the measurements; what takes time
 * is done here, so that it goes on leading. */
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/lead/kernel_message.h"
#include "text/printable.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/models_file.h"
#include "tools/common/options.h"
#include "tools/fleet/fleet.h"
#include "tools/fleet/fleet_ask.h"

/* The same as of `spex train`: the same measurements give the same models. */
enum { SEED = 1 };

/* Bytes of a request: a class and a path. */
enum { REQUEST_BYTES = SPEX_CLASS_BYTES + SPEX_KERNEL_PATH_MAX };

struct models {
    /* It comes first: spex_fleet_ask_master hands it out. */
    struct spex_fleet_ask ask;
    const char *path, *class;
    double least_seconds;
};

static void print_class(const json_t *class, FILE *out) {
    struct spex_error name, cpu, cpus, memory, kernel, build, spex;
    fprintf(out,
            "class %s: %lld kernels, %lld rows; %s, %s CPUs, %s, kernel %s, build %s, spex %s\n",
            spex_fleet_text_of(class, "class", &name), spex_fleet_count_of(class, "kernels"),
            spex_fleet_count_of(class, "rows"), spex_fleet_text_of(class, "cpu", &cpu),
            spex_fleet_text_of(class, "cpus", &cpus), spex_fleet_text_of(class, "memory", &memory),
            spex_fleet_text_of(class, "kernel", &kernel),
            spex_fleet_text_of(class, "build", &build), spex_fleet_text_of(class, "spex", &spex));
}

static void print_counts(const json_t *kernels, FILE *out) {
    fprintf(
        out,
        "kernels    %lld messages, %lld rows; refused %lld, dropped %lld; no room for %lld rows, "
        "%lld of kernels with other parameters elsewhere; %lld records lost\n",
        spex_fleet_count_of(kernels, "messages"), spex_fleet_count_of(kernels, "rows"),
        spex_fleet_count_of(kernels, "refused"), spex_fleet_count_of(kernels, "dropped"),
        spex_fleet_count_of(kernels, "no_room"), spex_fleet_count_of(kernels, "differing"),
        spex_fleet_count_of(kernels, "lost"));
}

static void print_classes(const json_t *kernels, FILE *out) {
    const json_t *classes = json_object_get(kernels, "classes");
    for (size_t c = 0; c < json_array_size(classes); c++)
        print_class(json_array_get(classes, c), out);
}

/* The class that is asked for, or the only one, in `name`. An exit status. */
static int choose(const struct models *models, const json_t *kernels, char *name, size_t size) {
    const json_t *classes = json_object_get(kernels, "classes");
    struct spex_error text;
    size_t count = json_array_size(classes);
    if (!count)
        return spex_complain(SPEX_EXIT_FAILED,
                             "fleet models: no agent has told of kernels yet: a kernel of the map "
                             "has to be on for 10 s");
    if (!models->class && count > 1) {
        print_classes(kernels, stderr);
        return spex_complain(SPEX_EXIT_USAGE,
                             "fleet models: --class was expected: times of %zu classes of machines "
                             "have no model in common",
                             count);
    }
    snprintf(name, size, "%.16s",
             models->class ? models->class
                           : spex_fleet_text_of(json_array_get(classes, 0), "class", &text));
    return SPEX_EXIT_OK;
}

/* Adds the kernel of an answer. 1; 0: there was none; or a negative errno value with the reason. */
static int add_kernel(const json_t *answer, struct spex_training *training, char *path, size_t size,
                      struct spex_error *error) {
    const json_t *json = json_object_get(answer, "message");
    struct spex_kernel_message message = {.count = 0};
    if (json_is_null(json))
        return 0;
    int err = spex_kernel_message_take(json, &message, error);
    if (!err && message.count != 1)
        err = spex_fail(error, -EINVAL, "one kernel was expected");
    if (!err) {
        snprintf(path, size, "%s", message.items[0].path);
        err = spex_kernel_rows_add(&message.items[0], training);
        if (err)
            spex_error_set(error, "%s: %s", path, strerror(-err));
    }
    spex_kernel_message_free(&message);
    return err ? err : 1;
}

/* Asks for one kernel after the other, by the paths. An exit status. */
static int gather(struct models *models, const char *class, struct spex_training *training,
                  size_t *kernels) {
    char path[SPEX_KERNEL_PATH_MAX] = "", request[REQUEST_BYTES];
    struct spex_error error = {""};
    int more = 1;
    for (*kernels = 0; more > 0 && *kernels<SPEX_TRAINING_KERNELS; *kernels += more> 0) {
        snprintf(request, sizeof(request), *path ? "%s %s" : "%s%s", class, path);
        json_t *answer = spex_fleet_ask_once(&models->ask, "models", request);
        if (!answer)
            return SPEX_EXIT_FAILED;
        more = add_kernel(answer, training, path, sizeof(path), &error);
        json_decref(answer);
    }
    return more < 0 ? spex_complain(SPEX_EXIT_FAILED, "fleet models: %s", error.text)
                    : SPEX_EXIT_OK;
}

static int fit_and_write(const struct models *models, const struct spex_training *training,
                         const char *class) {
    struct spex_models fitted;
    size_t left_out = 0;
    double executions = 0;
    int err = spex_training_fit(training, models->least_seconds, &fitted, &left_out);
    int status =
        err ? spex_complain(SPEX_EXIT_FAILED, "the models cannot be fitted: %s", strerror(-err))
            : spex_models_file_write(models->path, &fitted);
    for (size_t m = 0; m < fitted.count; m++)
        executions += fitted.items[m].executions;
    if (!status)
        printf("%s: models of %zu kernels of class %s, of %.6g executions\n", models->path,
               fitted.count, class, executions);
    if (!status && left_out)
        printf("left out: %zu kernels that take less than %g s on average, or whose numbers are "
               "too large or small for a model\n",
               left_out, models->least_seconds);
    spex_models_free(&fitted);
    return status;
}

/* An exit status. */
static int train(struct models *models, const json_t *kernels) {
    char class[SPEX_CLASS_BYTES];
    struct spex_training *training = NULL;
    size_t count = 0;
    int status = choose(models, kernels, class, sizeof(class));
    if (status)
        return status;
    if (spex_training_create(&training, SEED) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    status = gather(models, class, training, &count);
    status = status ? status : fit_and_write(models, training, class);
    spex_training_destroy(training);
    return status;
}

static int list(const struct models *models, const json_t *kernels) {
    if (models->ask.json) {
        spex_json_print(json_deep_copy(kernels), stdout);
        return SPEX_EXIT_OK;
    }
    print_classes(kernels, stdout);
    print_counts(kernels, stdout);
    return SPEX_EXIT_OK;
}

static int ask_and_do(struct spex_fleet_ask *ask) {
    struct models *models = (struct models *)ask;
    json_t *answer = spex_fleet_ask_once(ask, "models", "");
    const json_t *kernels = json_object_get(answer, "kernels");
    int status = !answer        ? SPEX_EXIT_FAILED
                 : models->path ? train(models, kernels)
                                : list(models, kernels);
    json_decref(answer);
    return spex_fleet_flush(status);
}

int spex_fleet_models(int argc, char **argv) {
    static const struct spex_syntax syntax = {"fleet models",
                                              spex_fleet_usage,
                                              "one file for the models, or none, was expected",
                                              0,
                                              1,
                                              SPEX_OPTIONS_ANYWHERE};
    struct models models = {.path = NULL};
    const struct spex_option known[] = {SPEX_LINK_OPTIONS(&models.ask.options),
                                        {"fleet", .text = &models.ask.fleet},
                                        {"class", .text = &models.class},
                                        {"least", .number = &models.least_seconds,
                                         .range = {0, DBL_MAX},
                                         .error = "seconds were expected, such as 1e-6"},
                                        {"json", .flag = &models.ask.json},
                                        {.name = NULL}};
    struct spex_operands operands;
    int status = spex_options_take(&syntax, known, argc, argv, &operands);
    if (status)
        return status;
    models.path = operands.count ? operands.list[0] : NULL;
    return spex_fleet_ask_master(syntax.command, &models.ask, ask_and_do);
}
