/* SPDX-License-Identifier: MIT */
/* `spex models`: counts the kernels of each class (ADLER, table 1), groups kernels whose
 * sampling frequency can be switched together, and prints or draws them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/picture/picture.h"
#include "kernels/sampling_plan.h"
#include "model/fit/groups.h"
#include "profile/columns.h"
#include "text/printable.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/models_file.h"
#include "tools/common/options.h"
#include "tools/common/process_argument.h"
#include "tools/models/models_graph.h"
#include "tools/models/models_json.h"

static const char models_usage[] =
    "usage: spex models MODELS [-n SAMPLES] [--json [--curves]] [--graph FILE]\n"
    "\n"
    "How many of a program's kernels are of which class, and where sampling\n"
    "frequencies have to be switched: once for kernels that are called in one place\n"
    "and whose times grow alike. MODELS is a file that spex train has written.\n"
    "\n"
    "  -n SAMPLES    samples that each execution is to have, as for spex sample:\n"
    "                kernels that are too short for that go by the frequency of the\n"
    "                kernel around them; the default is 10\n"
    "  --json        the same as JSON, with the models\n"
    "  --curves      of --json: the times that each model tells over its parameters,\n"
    "                and the points that it was trained with\n"
    "  --graph FILE  draw the loop call graph with its classes and groups: SVG, or\n"
    "                PNG where FILE ends in .png; needs dot, of Graphviz\n";

static const struct spex_syntax models_syntax = {
    "models", models_usage, "one file of models was expected", 1, 1, SPEX_OPTIONS_ANYWHERE};

struct request {
    const char *path;
    /* NULL: no graph is drawn. */
    const char *graph;
    double samples;
    bool json;
    bool curves;
};

/* An exit status. */
static int models_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {
        {.letter = 'n',
         .number = &request->samples,
         .read = spex_samples_parse,
         .error = "a number of " SPEX_SAMPLES_RANGE " was expected"},
        {"json", .flag = &request->json},
        {"curves", .flag = &request->curves},
        {"graph", .text = &request->graph},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&models_syntax, known, argc, argv, &operands);
    request->path = status ? NULL : operands.list[0];
    if (!status && request->curves && !request->json)
        return spex_complain(SPEX_EXIT_USAGE, "models: --curves is for --json");
    return status;
}

/* As table 1 of ADLER: the kernels of each class, and the points where frequencies are
 * switched. */
static void print_counts(const struct spex_models *models, const struct spex_groups *groups) {
    const char *headings[SPEX_MODELS_CLASSES + 1] = {"kernels"};
    struct spex_columns columns;
    for (size_t c = 0; c < SPEX_MODELS_CLASSES; c++)
        headings[c + 1] = spex_model_class_name(spex_models_classes[c]);
    spex_columns_init(&columns, headings, SPEX_MODELS_CLASSES + 1, 0);
    spex_columns_add(&columns, "%zu", models->count);
    for (size_t c = 0; c < SPEX_MODELS_CLASSES; c++)
        spex_columns_add(&columns, "%zu", spex_models_count(models, spex_models_classes[c]));
    spex_columns_print_within(&columns, stdout, &(struct spex_columns_room){.texts = 0});
    printf("%zu switching points\n", groups->count);
}

/* A table of all kernels. Paths and names come from a file that may have any bytes. */
static void print_kernels(const struct spex_models *models, const struct spex_groups *groups) {
    static const char *const headings[] = {"group", "kernel", "class", "time in seconds"};
    struct spex_columns columns;
    char text[1024];
    spex_columns_init(&columns, headings, 4, 1u << 1 | 1u << 2 | 1u << 3);
    for (size_t k = 0; k < models->count; k++) {
        const struct spex_kernel_model *kernel = &models->items[k];
        if (groups->of[k] == SPEX_GROUP_NONE)
            spex_columns_add(&columns, "-");
        else
            spex_columns_add(&columns, "%zu", groups->of[k] + 1);
        snprintf(text, sizeof(text), "%s", kernel->path);
        spex_make_printable(text);
        spex_columns_add(&columns, "%s", text);
        spex_columns_add(&columns, "%s", spex_model_class_name(kernel->model.class));
        spex_model_shown(&kernel->model, (const char *const *)kernel->names, text, sizeof(text));
        spex_make_printable(text);
        spex_columns_add(&columns, "%s", text);
    }
    columns.folded = true;
    spex_columns_print_within(&columns, stdout, &(struct spex_columns_room){.texts = 2});
}

/* Draws by dot, in a process of its own. An exit status. */
static int draw_graph(const char *path, const struct spex_models *models,
                      const struct spex_groups *groups) {
    const struct spex_models_graph graph = {models, groups};
    const struct spex_picture picture = {
        .name = "kernels", .draw = spex_draw_models, .subject = &graph, .graph = true};
    struct spex_error error;
    return spex_picture_file(&picture, path, &error)
               ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text)
               : SPEX_EXIT_OK;
}

/* Kernels that take less than the shortest time that can be sampled belong to the group of the
 * kernel around them. */
static int show_models(const struct request *request, const struct spex_models *models) {
    struct spex_groups groups;
    int status = SPEX_EXIT_OK;
    if (spex_groups_make(&groups, models, request->samples * SPEX_LOOKS_SHORTEST_SECONDS) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    if (request->json) {
        status = spex_models_print_json(models, &groups, request->curves);
    } else {
        print_counts(models, &groups);
        putchar('\n');
        print_kernels(models, &groups);
    }
    if (!status && request->graph)
        status = draw_graph(request->graph, models, &groups);
    int err = status ? 0 : spex_written(stdout);
    spex_groups_free(&groups);
    return err ? spex_complain(SPEX_EXIT_FAILED, "the models cannot be printed: %s", strerror(-err))
               : status;
}

int spex_command_models(int argc, char **argv) {
    struct request request = {.samples = SPEX_SAMPLES_DEFAULT};
    struct spex_models models;
    int status = models_parse(argc, argv, &request);
    if (status)
        return status;
    status = spex_models_file_read(request.path, &models);
    status = status ? status : show_models(&request, &models);
    spex_models_free(&models);
    return status;
}
