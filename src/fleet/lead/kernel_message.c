/* SPDX-License-Identifier: MIT */
/* {"format":1,"agent":7,"machine":[…],"lost":0,"kernels":[{"path":"main/sort","parameters":["n"],
 * "rows":[RUN,WEIGHT,PICOSECONDS,VALUE…, RUN,…]}]}. Whole picoseconds are short in JSON, and finer
 * than any clock. */
#include "fleet/lead/kernel_message.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/decide/parts.h"
#include "fleet/trials/trial_parts.h"
#include "model/fit/fit.h"
#include "text/printable.h"

#define PICOSECONDS 1e12

/* A weight is that of so many executions at most: of a trillion a second, for an hour. */
#define WEIGHT_MOST 1e16

/* Another message is begun behind so many rows. */
enum { PART = 1024 };

/* Numbers of a row before the parameters. */
enum { RUN, WEIGHT, TIME, VALUES };

/* Whole numbers are shorter as such. */
static json_t *number_json(double value) {
    return value < 0x1p53 && !(value < rint(value)) && !(value > rint(value))
               ? json_integer((json_int_t)value)
               : json_real(value);
}

struct writing {
    json_t *rows;
    size_t parameter_count;
    double factor;
};

static int row_write(void *user, const struct spex_trained_row *row) {
    const struct writing *writing = user;
    json_t *rows = writing->rows;
    int err = json_array_append_new(rows, json_integer(row->run));
    err |= json_array_append_new(rows, number_json(row->weight * writing->factor));
    err |= json_array_append_new(rows, number_json(rint(row->seconds * PICOSECONDS)));
    for (size_t p = 0; p < writing->parameter_count; p++)
        err |= json_array_append_new(rows, number_json(row->parameters[p]));
    return err ? -ENOMEM : 0;
}

/* A text that is not printable could not be read again. NULL: no memory. */
static json_t *text_json(const char *text) {
    char *copy = strdup(text);
    if (copy)
        spex_make_printable(copy);
    json_t *json = copy ? json_string(copy) : NULL;
    free(copy);
    return json;
}

static json_t *item_json(const struct spex_kernel_writer *writer, const struct spex_trained *kernel,
                         const struct spex_trained_about *about) {
    json_t *rows = json_array(), *names = json_array();
    struct writing writing = {rows, about->parameter_count, writer->factor};
    bool good = rows && names;
    for (size_t p = 0; p < about->parameter_count && good; p++)
        good = json_array_append_new(names, text_json(about->names[p])) == 0;
    good = good && spex_trained_visit(kernel, writer->most, row_write, &writing) == 0;
    if (good)
        return json_pack("{s:o, s:o, s:o}", "path", text_json(about->path), "parameters", names,
                         "rows", rows);
    json_decref(rows);
    json_decref(names);
    return NULL;
}

static json_t *message_json(const struct spex_kernel_writer *writer, json_t *items) {
    return json_pack("{s:i, s:I, s:o, s:I, s:o}", "format", SPEX_FLEET_FORMAT, "agent",
                     (json_int_t)writer->agent, "machine", spex_trial_machine_json(writer->machine),
                     "lost", (json_int_t)writer->lost, "kernels", items);
}

json_t *spex_kernel_message_json(const struct spex_kernel_writer *writer,
                                 const struct spex_trained *kernel,
                                 const struct spex_trained_about *about) {
    json_t *items = json_array();
    if (items && json_array_append_new(items, item_json(writer, kernel, about)) == 0)
        return message_json(writer, items);
    json_decref(items);
    return NULL;
}

const char *spex_kernel_message_path(const json_t *message) {
    const json_t *items = json_object_get(message, "kernels");
    return json_string_value(json_object_get(json_array_get(items, 0), "path"));
}

/* Sends the kernels so far, which are released. */
static int send_items(const struct spex_kernel_writer *writer, json_t *items) {
    char *text = spex_trial_json_text(message_json(writer, items));
    int err = text ? writer->send(writer->user, text, strlen(text)) : -ENOMEM;
    free(text);
    return err;
}

/* Losses are told once: with the first message. */
int spex_kernel_messages_write(const struct spex_kernel_writer *writer,
                               const struct spex_training *training) {
    struct spex_kernel_writer part = *writer;
    struct spex_trained_about about = {.path = NULL};
    const struct spex_trained *kernel = spex_training_next(training, NULL, &about);
    int err = 0;
    while (kernel && !err) {
        json_t *items = json_array();
        size_t rows = 0;
        for (; kernel && !err && rows < PART && json_array_size(items) < SPEX_KERNEL_ITEMS_MAX;
             kernel = spex_training_next(training, about.path, &about)) {
            json_t *item = item_json(&part, kernel, &about);
            rows +=
                json_array_size(json_object_get(item, "rows")) / (VALUES + about.parameter_count);
            err = json_array_append_new(items, item) ? -ENOMEM : 0;
        }
        if (err)
            json_decref(items);
        else
            err = send_items(&part, items);
        part.lost = 0;
    }
    return err;
}

static int names_read(const json_t *json, struct spex_kernel_rows *rows, struct spex_error *error) {
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count > SPEX_MODEL_PARAMETERS_MAX)
        return spex_fail(error, -EINVAL, "parameters: an array of at most %d was expected",
                         SPEX_MODEL_PARAMETERS_MAX);
    for (size_t p = 0; p < count; p++) {
        const char *text = json_string_value(json_array_get(json, p));
        if (!text || !*text || strlen(text) >= SPEX_KERNEL_NAME_MAX || !spex_is_printable(text))
            return spex_fail(error, -EINVAL, "parameters: the name of one was expected");
        rows->names[p] = strdup(text);
        if (!rows->names[p])
            return spex_fail(error, -ENOMEM, "out of memory");
        rows->parameter_count++;
    }
    return 0;
}

static bool number_read(const json_t *json, double most, double *value) {
    *value = json_number_value(json);
    return json_is_number(json) && *value >= 0 && *value <= most;
}

static int row_read(const json_t *json, size_t at, struct spex_kernel_rows *rows,
                    struct spex_error *error) {
    struct spex_trained_row *row = &rows->rows[rows->count];
    double *values = &rows->values[rows->count * rows->parameter_count], run = 0;
    bool good = number_read(json_array_get(json, at + RUN), UINT32_MAX, &run) &&
                number_read(json_array_get(json, at + WEIGHT), WEIGHT_MOST, &row->weight) &&
                row->weight > 0 &&
                number_read(json_array_get(json, at + TIME), 1e21, &row->seconds);
    row->seconds /= PICOSECONDS;
    row->parameters = values;
    for (size_t p = 0; p < rows->parameter_count && good; p++)
        good = number_read(json_array_get(json, at + VALUES + p), SPEX_FIT_GREATEST, &values[p]);
    if (!good || !spex_fit_takes_time(row->seconds))
        return spex_fail(error, -EINVAL, "rows: a run, a weight, a time and values were expected");
    row->run = (uint32_t)run;
    rows->count++;
    return 0;
}

static int rows_read(const json_t *json, struct spex_kernel_rows *rows, struct spex_error *error) {
    size_t wide = VALUES + rows->parameter_count, count = json_array_size(json) / wide;
    int err = 0;
    if (!json_is_array(json) || json_array_size(json) % wide || count > SPEX_KERNEL_ROWS_MAX)
        return spex_fail(error, -EINVAL, "rows: up to %d of %zu numbers each were expected",
                         SPEX_KERNEL_ROWS_MAX, wide);
    rows->rows = calloc(count + 1, sizeof(*rows->rows));
    rows->values = calloc(count * rows->parameter_count + 1, sizeof(*rows->values));
    if (!rows->rows || !rows->values)
        return spex_fail(error, -ENOMEM, "out of memory");
    for (size_t r = 0; r < count && !err; r++)
        err = row_read(json, r * wide, rows, error);
    return err;
}

static int item_read(const json_t *json, struct spex_kernel_rows *rows, struct spex_error *error) {
    const char *path = json_string_value(json_object_get(json, "path"));
    if (!path || !*path || strlen(path) >= SPEX_KERNEL_PATH_MAX || !spex_is_printable(path))
        return spex_fail(error, -EINVAL, "path: a text of 1 to %d bytes was expected",
                         SPEX_KERNEL_PATH_MAX - 1);
    rows->path = strdup(path);
    if (!rows->path)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = names_read(json_object_get(json, "parameters"), rows, error);
    return err ? err : rows_read(json_object_get(json, "rows"), rows, error);
}

static int items_read(const json_t *json, struct spex_kernel_message *message,
                      struct spex_error *error) {
    const json_t *items = json_object_get(json, "kernels");
    size_t count = json_array_size(items);
    int err = 0;
    if (!json_is_array(items) || count > SPEX_KERNEL_ITEMS_MAX)
        return spex_fail(error, -EINVAL, "kernels: an array of at most %d was expected",
                         SPEX_KERNEL_ITEMS_MAX);
    message->items = calloc(count + 1, sizeof(*message->items));
    if (!message->items)
        return spex_fail(error, -ENOMEM, "out of memory");
    for (size_t i = 0; i < count && !err; i++)
        err = item_read(json_array_get(items, i), &message->items[message->count++], error);
    return err;
}

int spex_kernel_message_take(const json_t *json, struct spex_kernel_message *message,
                             struct spex_error *error) {
    uint64_t agent = 0;
    *message = (struct spex_kernel_message){.count = 0};
    int err = spex_fleet_number_read(json, "agent", &agent, error);
    err = err ? err : spex_fleet_number_read(json, "lost", &message->lost, error);
    err = err ? err : spex_trial_machine_read(json, &message->machine, error);
    message->agent = (uint32_t)agent;
    return err ? err : items_read(json, message, error);
}

int spex_kernel_message_read(const char *text, size_t size, struct spex_kernel_message *message,
                             struct spex_error *error) {
    *message = (struct spex_kernel_message){.count = 0};
    if (size > SPEX_KERNEL_BYTES)
        return spex_fail(error, -EINVAL, "at most %d bytes were expected", SPEX_KERNEL_BYTES);
    json_t *json = spex_fleet_json_read(text, size, error);
    int err = json ? spex_kernel_message_take(json, message, error) : -EINVAL;
    json_decref(json);
    return err;
}

static void rows_free(struct spex_kernel_rows *rows) {
    for (size_t p = 0; p < rows->parameter_count; p++)
        free(rows->names[p]);
    free(rows->path);
    free(rows->rows);
    free(rows->values);
}

void spex_kernel_message_free(struct spex_kernel_message *message) {
    for (size_t i = 0; i < message->count; i++)
        rows_free(&message->items[i]);
    free(message->items);
    spex_circumstances_free(&message->machine);
    *message = (struct spex_kernel_message){.count = 0};
}

int spex_kernel_rows_add(const struct spex_kernel_rows *rows, struct spex_training *training) {
    struct spex_trained *kernel;
    int err = spex_training_kernel(training, rows->path, (const char *const *)rows->names,
                                   rows->parameter_count, &kernel);
    for (size_t r = 0; r < rows->count && !err; r++) {
        const struct spex_trained_row *row = &rows->rows[r];
        spex_training_set_run(training, row->run);
        err = spex_trained_add(training, kernel, row->parameters, row->seconds, row->weight);
    }
    return err;
}
