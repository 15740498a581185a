/* SPDX-License-Identifier: MIT */
/* Reads the file of models, by recursive descent over lines. Every line begins with a word;
 * words have a fixed order, and a word in another place is an error. Files may be damaged or
 * hostile: counts are bounded before they are used, numbers must be finite, and the first error
 * ends the reading with a message that names the line. */
#define _GNU_SOURCE
#include "model/models.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/whole_file.h"
#include "base/memory/memory.h"
#include "text/plain_numbers.h"

/* Most models in a file: more than a process can have contexts. */
enum { MODELS_MAX = 1 << 20, MODELS_BYTES_MAX = 128 << 20 };

struct reading {
    FILE *in;
    const char *name;
    struct spex_error *error;
    char *line;
    size_t size;
    /* Of the format. */
    /* Number of the line, from 1. */
    unsigned long number;
    /* The rest of the line, behind what has been read. */
    char *rest;
};

/* Says what was expected in the current line. Returns -EINVAL. */
static int line_error(const struct reading *reading, const char *what) {
    return spex_fail(reading->error, -EINVAL, "%s: line %lu: %s was expected", reading->name,
                     reading->number, what);
}

/* Reads the next line. 0; 1: the file ends; -EIO. A line with a 0 byte in it is an error. */
static int line_next(struct reading *reading) {
    ssize_t length = getline(&reading->line, &reading->size, reading->in);
    if (length < 0 && ferror(reading->in))
        return spex_fail(reading->error, -EIO, "%s: cannot be read", reading->name);
    reading->number++;
    if (length < 0)
        return 1;
    if (length > 0 && reading->line[length - 1] == '\n')
        reading->line[--length] = '\0';
    if (strlen(reading->line) != (size_t)length)
        return line_error(reading, "text");
    reading->rest = reading->line;
    return 0;
}

/* Whether the rest of the line begins with this word; skips the word. */
static bool line_take_word(struct reading *reading, const char *word) {
    size_t length = strlen(word);
    if (strncmp(reading->rest, word, length) != 0 ||
        (reading->rest[length] != ' ' && reading->rest[length] != '\0'))
        return false;
    reading->rest += length + (reading->rest[length] == ' ');
    return true;
}

/* Reads the next line, which must begin with this word; skips the word. */
static int line_expect(struct reading *reading, const char *word) {
    char what[64];
    int got = line_next(reading);
    if (got < 0 || (got == 0 && line_take_word(reading, word)))
        return got;
    snprintf(what, sizeof(what), "\"%s …\"", word);
    return line_error(reading, what);
}

/* Whether a number may end before this character: between numbers is a blank, in terms a `:`. */
static bool ends_number(char c) {
    return c == ' ' || c == ':' || c == '\0';
}

/* Reads a finite number of at least `least`, and skips the character behind it. Blanks, which
 * strtod would skip, are errors. */
static int line_take_number(struct reading *reading, double least, double *number) {
    char *end;
    *number = strtod(reading->rest, &end);
    if (isspace((unsigned char)*reading->rest) || end == reading->rest || !ends_number(*end) ||
        !isfinite(*number) || *number < least)
        return line_error(reading, least == 0 ? "a number of 0 or more" : "a number");
    reading->rest = end + (*end != '\0');
    return 0;
}

/* Reads a whole number of `least` to `most`, which are within an int; 0 after an error. */
static int line_take_whole(struct reading *reading, double least, double most, double *number) {
    int err = line_take_number(reading, least, number);
    if (!err && (*number != floor(*number) || *number > most))
        err = line_error(reading, "a smaller whole number");
    if (err)
        *number = 0;
    return err;
}

static int line_take_count(struct reading *reading, size_t most, size_t *count) {
    double number;
    int err = line_take_whole(reading, 0, (double)most, &number);
    *count = (size_t)number;
    return err;
}

static int line_take_end(const struct reading *reading) {
    return *reading->rest ? line_error(reading, "the end of the line") : 0;
}

/* Reads a line of a word and `count` numbers. */
static int read_numbers(struct reading *reading, const char *word, size_t count, double least,
                        double *numbers) {
    int err = line_expect(reading, word);
    for (size_t n = 0; n < count && !err; n++)
        err = line_take_number(reading, least, &numbers[n]);
    return err ? err : line_take_end(reading);
}

/* Reads a line of a word and one whole number up to `most`. */
static int read_count(struct reading *reading, const char *word, size_t most, size_t *count) {
    int err = line_expect(reading, word);
    err = err ? err : line_take_count(reading, most, count);
    return err ? err : line_take_end(reading);
}

/* Reads a parameter's range and its name, which is the rest of the line. `parameter_count` grows
 * with each, so that a kernel read in part is freed whole. */
static int read_parameter(struct reading *reading, struct spex_kernel_model *kernel, size_t p) {
    int err = line_expect(reading, "parameter");
    err = err ? err : line_take_number(reading, 0, &kernel->low[p]);
    err = err ? err : line_take_number(reading, kernel->low[p], &kernel->high[p]);
    if (err)
        return err;
    if (!*reading->rest)
        return line_error(reading, "the parameter's name");
    kernel->names[p] = spex_strdup(reading->rest);
    kernel->model.parameter_count = p + 1;
    return kernel->names[p] ? 0 : spex_fail(reading->error, -ENOMEM, "out of memory");
}

/* Reads the class by its name. */
static int read_class(struct reading *reading, struct spex_model *model) {
    int err = line_expect(reading, "class");
    if (err)
        return err;
    for (enum spex_model_class class = SPEX_MODEL_UNKNOWN; class <= SPEX_MODEL_DECREASING; class ++)
        if (strcmp(reading->rest, spex_model_class_name(class)) == 0) {
            model->class = class;
            return 0;
        }
    return line_error(reading, "a class of models");
}

/* Reads where a segment begins, which must be behind `after`, and its interval. */
static int read_change(struct reading *reading, double after, struct spex_model_change *change) {
    int err = line_expect(reading, "change");
    err = err ? err : line_take_number(reading, 0, &change->at);
    if (!err && !(change->at > after))
        return line_error(reading, "a change behind the one before");
    err = err ? err : line_take_number(reading, 0, &change->low);
    err = err ? err : line_take_number(reading, 0, &change->high);
    if (!err && !(change->low <= change->at && change->at <= change->high))
        return line_error(reading, "an interval around the change");
    return err ? err : line_take_end(reading);
}

static int read_changes(struct reading *reading, struct spex_model *model) {
    int err = line_expect(reading, "changes");
    err = err ? err : line_take_count(reading, SPEX_MODEL_CHANGES_MAX, &model->change_count);
    err = err ? err
              : line_take_count(reading, SPEX_MODEL_PARAMETERS_MAX - 1, &model->change_parameter);
    err = err ? err : line_take_end(reading);
    if (!err && model->change_count && model->change_parameter >= model->parameter_count)
        return line_error(reading, "the number of a parameter, from 0,");
    for (size_t c = 0; c < model->change_count && !err; c++)
        err = read_change(reading, c ? model->changes[c - 1].at : 0, &model->changes[c]);
    return err;
}

/* Reads the segment of a term, its coefficient and error, and for each parameter the exponents as
 * "TWELFTHS:LOG". */
static int read_term(struct reading *reading, const struct spex_model *model,
                     struct spex_model_term *term) {
    enum { TWELFTHS_MAX = 36, LOGS_MAX = 2 };
    size_t segment = 0;
    int err = line_expect(reading, "term");
    err = err ? err : line_take_count(reading, model->change_count, &segment);
    term->segment = (uint8_t)segment;
    err = err ? err : line_take_number(reading, -INFINITY, &term->coefficient);
    err = err ? err : line_take_number(reading, 0, &term->error);
    for (size_t p = 0; p < model->parameter_count && !err; p++) {
        double twelfths = 0;
        size_t log = 0;
        err = line_take_whole(reading, -TWELFTHS_MAX, TWELFTHS_MAX, &twelfths);
        err = err ? err : line_take_count(reading, LOGS_MAX, &log);
        term->factors[p] =
            (struct spex_exponents){.twelfths = (int8_t)twelfths, .log = (uint8_t)log};
    }
    return err ? err : line_take_end(reading);
}

/* Reads the lines of a model, in the order in which models_write.c writes them. */
static int read_model(struct reading *reading, struct spex_model *model) {
    double spread[3] = {0}, constant[2] = {0};
    int err = read_class(reading, model);
    err = err ? err : read_numbers(reading, "adjusted-r2", 1, -INFINITY, &model->adjusted_r2);
    err = err ? err : read_numbers(reading, "spread", 3, 0, spread);
    err = err ? err : read_numbers(reading, "constant", 2, -INFINITY, constant);
    err = err ? err : read_changes(reading, model);
    err = err ? err : read_count(reading, "terms", SPEX_MODEL_TERMS_MAX, &model->term_count);
    model->floor = spread[0];
    model->share = spread[1];
    model->freedom = spread[2];
    model->constant = constant[0];
    model->constant_error = constant[1];
    for (size_t t = 0; t < model->term_count && !err; t++)
        err = read_term(reading, model, &model->terms[t]);
    for (size_t a = 0; a <= model->term_count && !err; a++)
        err = read_numbers(reading, "covariance", model->term_count + 1, -INFINITY,
                           model->covariance[a]);
    return err;
}

static int read_point(struct reading *reading, size_t parameters, struct spex_model_point *point) {
    int err = line_expect(reading, "point");
    err = err ? err : line_take_number(reading, 0, &point->seconds);
    err = err ? err : line_take_number(reading, 0, &point->executions);
    for (size_t p = 0; p < parameters && !err; p++)
        err = line_take_number(reading, 0, &point->values[p]);
    return err ? err : line_take_end(reading);
}

static int read_points(struct reading *reading, struct spex_kernel_model *kernel) {
    size_t count = 0;
    int err = read_count(reading, "points", SPEX_MODEL_POINTS, &count);
    if (err || !count)
        return err;
    kernel->points = spex_calloc(count, sizeof(*kernel->points));
    if (!kernel->points)
        return spex_fail(reading->error, -ENOMEM, "out of memory");
    while (!err && kernel->point_count < count)
        err = read_point(reading, kernel->model.parameter_count,
                         &kernel->points[kernel->point_count++]);
    return err;
}

/* Reads one kernel. Paths must ascend strictly, since they are searched by bisection. */
static int read_kernel(struct reading *reading, struct spex_models *models) {
    struct spex_kernel_model *kernel;
    size_t parameters = 0;
    if (!*reading->rest)
        return line_error(reading, "a kernel's path");
    if (models->count && strcmp(models->items[models->count - 1].path, reading->rest) >= 0)
        return line_error(reading, "a path behind the one before");
    if (models->count == MODELS_MAX)
        return line_error(reading, "the end");
    if (spex_models_add(models, reading->rest, NULL, 0, &kernel))
        return spex_fail(reading->error, -ENOMEM, "out of memory");
    int err = read_numbers(reading, "executions", 1, 0, &kernel->executions);
    err = err ? err : read_numbers(reading, "least", 1, 0, &kernel->least_seconds);
    err = err ? err : read_count(reading, "parameters", SPEX_MODEL_PARAMETERS_MAX, &parameters);
    for (size_t p = 0; p < parameters && !err; p++)
        err = read_parameter(reading, kernel, p);
    err = err ? err : read_model(reading, &kernel->model);
    return err ? err : read_points(reading, kernel);
}

/* The last line holds the number of kernels, so that a truncated file is an error. */
static int read_end(struct reading *reading, const struct spex_models *models) {
    size_t count;
    int err = line_take_count(reading, MODELS_MAX, &count);
    err = err ? err : line_take_end(reading);
    if (!err && count != models->count)
        err = line_error(reading, "the number of kernels before it");
    if (err)
        return err;
    int got = line_next(reading);
    return got == 0 ? line_error(reading, "nothing behind the end") : got < 0 ? got : 0;
}

/* Reads kernels until the line "end", without which the file is truncated. */
static int read_kernels(struct reading *reading, struct spex_models *models) {
    for (;;) {
        int err = line_next(reading);
        if (err < 0)
            return err;
        if (err)
            return line_error(reading, "\"kernel …\" or \"end …\"");
        if (line_take_word(reading, "end"))
            return read_end(reading, models);
        if (!line_take_word(reading, "kernel"))
            return line_error(reading, "\"kernel …\" or \"end …\"");
        err = read_kernel(reading, models);
        if (err)
            return err;
    }
}

/* Reads the version first: another version has other lines. */
static int models_read(struct spex_models *models, FILE *in, const char *name,
                       struct spex_error *error) {
    struct reading reading = {.in = in, .name = name, .error = error};
    size_t version = 0;
    *models = (struct spex_models){.count = 0};
    int err = line_expect(&reading, "spex-models");
    err = err ? err : line_take_count(&reading, UINT32_MAX, &version);
    if (!err && (version != SPEX_MODELS_VERSION || *reading.rest))
        err = line_error(&reading, "version 3");
    err = err ? err : read_kernels(&reading, models);
    spex_free(reading.line);
    return err;
}

int spex_models_read(struct spex_models *models, FILE *in, const char *name,
                     struct spex_error *error) {
    SPEX_PLAIN_NUMBERS;
    return models_read(models, in, name, error);
}

int spex_models_read_file(struct spex_models *models, const char *path, enum spex_file_kind kind,
                          struct spex_error *error) {
    char *text;
    size_t length;
    *models = (struct spex_models){.count = 0};
    int err = spex_whole_file_read(path, kind, MODELS_BYTES_MAX, &text, &length, error);
    if (err)
        return err;
    FILE *in = fmemopen(text, length, "r");
    err =
        in ? spex_models_read(models, in, path, error) : spex_fail(error, -ENOMEM, "out of memory");
    if (in)
        fclose(in);
    spex_free(text);
    return err;
}
