/* SPDX-License-Identifier: MIT */
/* Keeps samples of measurements. A kernel has up to SPEX_TRAINING_POINTS combinations of
 * parameters, found by a hash table; each has up to SPEX_TRAINING_ROWS measurements. Beyond both
 * limits reservoirs keep random samples, so that a long training is represented by all of its
 * parts. */
#include "model/fit/training.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascending.h"
#include "base/splitmix.h"
#include "model/fit/fit.h"
#include "model/fit/points.h"

/* Slots of the hash table: twice the number of points, so that searches are short. */
enum { SLOTS = 2 * SPEX_TRAINING_POINTS };

/* A combination of parameters and its measurements. */
struct point {
    double values[SPEX_MODEL_PARAMETERS_MAX];
    double times[SPEX_TRAINING_ROWS];
    uint32_t runs[SPEX_TRAINING_ROWS];
    /* Measurements so far, kept or not. */
    uint64_t seen;
    /* Executions that these measurements stand for. */
    double weight;
};

struct spex_trained {
    char *path;
    char *names[SPEX_MODEL_PARAMETERS_MAX];
    size_t parameter_count;
    double executions;
    /* Sum of the seconds of all executions. */
    double seconds;
    double least_seconds;
    struct point *points;
    size_t count;
    size_t room;
    /* Measurements of combinations that were not among the points when there was no more room. */
    uint64_t others;
    /* 1 + number of a point, by a hash of its values; 0: free. */
    uint16_t slots[SLOTS];
};

struct spex_training {
    /* Sorted by path. */
    struct spex_trained **kernels;
    size_t count;
    size_t room;
    uint64_t random;
    uint32_t run;
};

static uint64_t random_below(struct spex_training *training, uint64_t below) {
    return spex_splitmix_next(&training->random) % below;
}

/* The kernels are allocated as they appear. */
int spex_training_create(struct spex_training **training, uint64_t seed) {
    *training = calloc(1, sizeof(**training));
    if (!*training)
        return -ENOMEM;
    (*training)->random = seed;
    return 0;
}

static void trained_free(struct spex_trained *kernel) {
    if (!kernel)
        return;
    for (size_t p = 0; p < kernel->parameter_count; p++)
        free(kernel->names[p]);
    free(kernel->path);
    free(kernel->points);
    free(kernel);
}

void spex_training_destroy(struct spex_training *training) {
    if (!training)
        return;
    for (size_t k = 0; k < training->count; k++)
        trained_free(training->kernels[k]);
    free(training->kernels);
    free(training);
}

/* Position of the path, or where it belongs, by binary search. */
static size_t kernel_position(const struct spex_training *training, const char *path) {
    size_t low = 0, high = training->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(training->kernels[middle]->path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* `parameter_count` grows with each name, so that a kernel made in part is freed whole. NULL: no
 * memory. */
static struct spex_trained *trained_make(const char *path, const char *const *names, size_t count) {
    struct spex_trained *kernel = calloc(1, sizeof(*kernel));
    if (!kernel)
        return NULL;
    kernel->path = strdup(path);
    bool good = kernel->path != NULL;
    for (size_t p = 0; p < count && good; p++) {
        kernel->names[p] = strdup(names[p]);
        good = kernel->names[p] != NULL;
        kernel->parameter_count += good;
    }
    if (good)
        return kernel;
    trained_free(kernel);
    return NULL;
}

/* Whether the kernel has these parameters, in this order. */
static bool same_names(const struct spex_trained *kernel, const char *const *names, size_t count) {
    if (kernel->parameter_count != count)
        return false;
    for (size_t p = 0; p < count; p++)
        if (strcmp(kernel->names[p], names[p]) != 0)
            return false;
    return true;
}

/* Inserts a kernel at a position, so that the array stays sorted. */
static int kernel_insert(struct spex_training *training, size_t at, struct spex_trained *kernel) {
    if (training->count == training->room) {
        size_t room = training->room ? 2 * training->room : 64;
        struct spex_trained **kernels = realloc(training->kernels, room * sizeof(void *));
        if (!kernels)
            return -ENOMEM;
        training->kernels = kernels;
        training->room = room;
    }
    for (size_t k = training->count++; k > at; k--)
        training->kernels[k] = training->kernels[k - 1];
    training->kernels[at] = kernel;
    return 0;
}

/* Parameters are compared for a kernel that exists: one path with two sets of them has no model. */
int spex_training_kernel(struct spex_training *training, const char *path, const char *const *names,
                         size_t parameter_count, struct spex_trained **kernel) {
    size_t at = kernel_position(training, path);
    if (at < training->count && strcmp(training->kernels[at]->path, path) == 0) {
        *kernel = training->kernels[at];
        return same_names(*kernel, names, parameter_count) ? 0 : -EINVAL;
    }
    if (parameter_count > SPEX_MODEL_PARAMETERS_MAX || training->count == SPEX_TRAINING_KERNELS)
        return -E2BIG;
    *kernel = trained_make(path, names, parameter_count);
    if (!*kernel)
        return -ENOMEM;
    int err = kernel_insert(training, at, *kernel);
    if (err)
        trained_free(*kernel);
    return err;
}

/* A hash of the bits of the values, by multiplication with the golden ratio (Knuth, The Art of
 * Computer Programming, vol. 3, 6.4). The shift brings the high bits, which are mixed best, down
 * to the next value. */
static uint32_t values_hash(const struct spex_trained *kernel, const double *values) {
    uint64_t hash = 0;
    for (size_t p = 0; p < kernel->parameter_count; p++) {
        uint64_t bits;
        memcpy(&bits, &values[p], sizeof(bits));
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash >> 20);
}

/* The slot of the point with these values, or the free one where it belongs; linear probing. At
 * least half of the slots are free, so the search ends. */
static uint16_t *point_slot(struct spex_trained *kernel, const double *values) {
    for (uint32_t at = values_hash(kernel, values);; at++) {
        uint16_t *slot = &kernel->slots[at % SLOTS];
        if (!*slot || !kernel->parameter_count ||
            memcmp(kernel->points[*slot - 1].values, values,
                   kernel->parameter_count * sizeof(*values)) == 0)
            return slot;
    }
}

/* Makes room for one more point. Points move: no pointer to one outlasts this call. */
static int points_make_room(struct spex_trained *kernel) {
    if (kernel->count < kernel->room)
        return 0;
    size_t room = kernel->room ? 2 * kernel->room : 16;
    struct point *points = realloc(kernel->points, room * sizeof(*points));
    if (!points)
        return -ENOMEM;
    kernel->points = points;
    kernel->room = room;
    return 0;
}

/* Puts a new point in the place of another, whose measurements are lost. Fills the hash table
 * again, since linear probing does not allow removing an entry. */
static void point_replace(struct spex_trained *kernel, size_t at, const double *values) {
    kernel->points[at] = (struct point){.seen = 0};
    memcpy(kernel->points[at].values, values, kernel->parameter_count * sizeof(*values));
    memset(kernel->slots, 0, sizeof(kernel->slots));
    for (size_t p = 0; p < kernel->count; p++)
        *point_slot(kernel, kernel->points[p].values) = (uint16_t)(p + 1);
}

/* The point with these values. NULL: it was not chosen for the sample, or out of memory (*err).
 * When all points are used, reservoir sampling decides. */
static struct point *point_for(struct spex_training *training, struct spex_trained *kernel,
                               const double *values, int *err) {
    uint16_t *slot = point_slot(kernel, values);
    if (*slot)
        return &kernel->points[*slot - 1];
    if (kernel->count == SPEX_TRAINING_POINTS) {
        size_t at = random_below(training, SPEX_TRAINING_POINTS + ++kernel->others);
        if (at >= SPEX_TRAINING_POINTS)
            return NULL;
        point_replace(kernel, at, values);
        return &kernel->points[at];
    }
    *err = points_make_room(kernel);
    if (*err)
        return NULL;
    *slot = (uint16_t)++kernel->count;
    struct point *point = &kernel->points[*slot - 1];
    *point = (struct point){.seen = 0};
    if (kernel->parameter_count)
        memcpy(point->values, values, kernel->parameter_count * sizeof(*values));
    return point;
}

/* Runs are only numbered: the fit asks which measurements belong together. */
void spex_training_next_run(struct spex_training *training) {
    training->run++;
}

void spex_training_set_run(struct spex_training *training, uint32_t run) {
    training->run = run;
}

/* Row of a measurement that stands for one in `one_in` executions; SPEX_TRAINING_ROWS: it is not
 * kept. Each execution has the same chance (Chao, "A general purpose unequal probability sampling
 * plan", Biometrika 69(3), 1982). */
static size_t row_choose(struct spex_training *training, double one_in) {
    double draw = (double)random_below(training, 1u << 30) / (1u << 30) * one_in;
    return draw < SPEX_TRAINING_ROWS ? (size_t)random_below(training, SPEX_TRAINING_ROWS)
                                     : SPEX_TRAINING_ROWS;
}

/* The sums are of all executions, also of those whose measurements are not kept. A point's rows
 * are a sample by weight once they are used up. */
int spex_trained_add(struct spex_training *training, struct spex_trained *kernel,
                     const double *parameters, double seconds, double weight) {
    int err = 0;
    if (kernel->executions == 0 || seconds < kernel->least_seconds)
        kernel->least_seconds = seconds;
    kernel->executions += weight;
    kernel->seconds += weight * seconds;
    struct point *point = point_for(training, kernel, parameters, &err);
    if (!point)
        return err;
    point->weight += weight;
    size_t at = point->seen < SPEX_TRAINING_ROWS ? (size_t)point->seen
                                                 : row_choose(training, point->weight / weight);
    point->seen++;
    if (at < SPEX_TRAINING_ROWS) {
        point->times[at] = seconds;
        point->runs[at] = training->run;
    }
    return 0;
}

/* Measurements that the point keeps. */
static size_t point_rows(const struct point *point) {
    return point->seen < SPEX_TRAINING_ROWS ? (size_t)point->seen : SPEX_TRAINING_ROWS;
}

const struct spex_trained *spex_training_next(const struct spex_training *training,
                                              const char *after, struct spex_trained_about *about) {
    size_t at = after ? kernel_position(training, after) : 0;
    at += after && spex_training_has(training, after);
    if (at == training->count)
        return NULL;
    const struct spex_trained *kernel = training->kernels[at];
    *about = (struct spex_trained_about){kernel->path, (const char *const *)kernel->names,
                                         kernel->parameter_count, kernel->executions};
    return kernel;
}

bool spex_training_has(const struct spex_training *training, const char *path) {
    size_t at = kernel_position(training, path);
    return at < training->count && strcmp(training->kernels[at]->path, path) == 0;
}

static size_t kernel_rows(const struct spex_trained *kernel) {
    size_t count = 0;
    for (size_t p = 0; p < kernel->count; p++)
        count += point_rows(&kernel->points[p]);
    return count;
}

/* Of `count` rows, `most` are taken. */
static bool is_taken(size_t at, size_t count, size_t most) {
    return count <= most || at * most / count != (at + 1) * most / count;
}

/* Visits with the weight of each times `factor`; `visit` NULL: adds the weights up alone. */
static int rows_visit(const struct spex_trained *kernel, size_t most, double factor, double *sum,
                      int (*visit)(void *user, const struct spex_trained_row *row), void *user) {
    size_t at = 0, count = kernel_rows(kernel);
    int err = 0;
    for (size_t p = 0; p < kernel->count; p++)
        for (size_t r = 0; r < point_rows(&kernel->points[p]) && !err; r++, at++) {
            const struct point *point = &kernel->points[p];
            double weight = factor * point->weight / (double)point_rows(point);
            if (!is_taken(at, count, most))
                continue;
            *sum += weight;
            if (visit)
                err = visit(user, &(struct spex_trained_row){point->runs[r], point->times[r],
                                                             weight, point->values});
        }
    return err;
}

/* The measurements taken stand for those that are not, and for combinations not kept. */
int spex_trained_visit(const struct spex_trained *kernel, size_t most,
                       int (*visit)(void *user, const struct spex_trained_row *row), void *user) {
    double taken = 0, all = 0;
    rows_visit(kernel, most, 1, &taken, NULL, NULL);
    return taken > 0 ? rows_visit(kernel, most, kernel->executions / taken, &all, visit, user) : 0;
}

/* Copies the measurements of all points into arrays, which the caller frees in any case. The
 * arrays have room for one more, so that malloc never gets 0. */
static int rows_make(const struct spex_trained *kernel, struct spex_measurements *measured,
                     double **parameters, double **times, uint32_t **runs) {
    size_t count = kernel_rows(kernel), columns = kernel->parameter_count;
    *parameters = malloc((count * columns + 1) * sizeof(**parameters));
    *times = malloc((count + 1) * sizeof(**times));
    *runs = malloc((count + 1) * sizeof(**runs));
    *measured = (struct spex_measurements){.parameter_count = columns,
                                           .count = count,
                                           .parameters = *parameters,
                                           .times = *times,
                                           .runs = *runs};
    if (!*parameters || !*times || !*runs)
        return -ENOMEM;
    for (size_t p = 0, row = 0; p < kernel->count; p++) {
        const struct point *point = &kernel->points[p];
        for (size_t r = 0; r < point_rows(point); r++, row++) {
            memcpy(*parameters + row * columns, point->values, columns * sizeof(double));
            (*times)[row] = point->times[r];
            (*runs)[row] = point->runs[r];
        }
    }
    return 0;
}

/* Sets the range of each parameter among the points that were kept. */
static void kernel_ranges(const struct spex_trained *kernel, struct spex_kernel_model *out) {
    for (size_t p = 0; p < kernel->parameter_count; p++) {
        out->low[p] = out->high[p] = kernel->points[0].values[p];
        for (size_t i = 1; i < kernel->count; i++) {
            double value = kernel->points[i].values[p];
            out->low[p] = value < out->low[p] ? value : out->low[p];
            out->high[p] = value > out->high[p] ? value : out->high[p];
        }
    }
}

static double median(const double *times, size_t count) {
    double sorted[SPEX_TRAINING_ROWS];
    memcpy(sorted, times, count * sizeof(*times));
    qsort(sorted, count, sizeof(*sorted), spex_ascending);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* Every point, or as many as are kept with the same number of others between them. */
static int kernel_points(const struct spex_trained *kernel, struct spex_kernel_model *out) {
    size_t count = kernel->count < SPEX_MODEL_POINTS ? kernel->count : SPEX_MODEL_POINTS;
    out->points = calloc(count, sizeof(*out->points));
    if (!out->points)
        return -ENOMEM;
    out->point_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct point *point = &kernel->points[i * kernel->count / count];
        memcpy(out->points[i].values, point->values, sizeof(point->values));
        out->points[i].seconds = median(point->times, point_rows(point));
        out->points[i].executions = point->weight;
    }
    return 0;
}

/* Fits the model of a kernel that has at least one point. As spex_fit. */
static int kernel_fit(const struct spex_trained *kernel, struct spex_fit *fit) {
    struct spex_measurements measured;
    double *parameters, *times;
    uint32_t *runs;
    int err = rows_make(kernel, &measured, &parameters, &times, &runs);
    err = err ? err : spex_fit(&measured, fit);
    free(parameters);
    free(times);
    free(runs);
    return err;
}

static int kernel_add(const struct spex_trained *kernel, const struct spex_fit *fit,
                      struct spex_models *models) {
    struct spex_kernel_model *out;
    int err = spex_models_add(models, kernel->path, (const char *const *)kernel->names,
                              kernel->parameter_count, &out);
    if (err)
        return err;
    out->model = fit->model;
    out->power_error = fit->power_error;
    out->executions = kernel->executions;
    out->least_seconds = kernel->least_seconds;
    kernel_ranges(kernel, out);
    return kernel_points(kernel, out);
}

/* Models come in the order of kernels, by path, as a file of models has them. */
int spex_training_fit(const struct spex_training *training, double least_seconds,
                      struct spex_models *models, size_t *left_out) {
    *models = (struct spex_models){.count = 0};
    *left_out = 0;
    for (size_t k = 0; k < training->count; k++) {
        const struct spex_trained *kernel = training->kernels[k];
        struct spex_fit fit;
        if (kernel->count == 0)
            continue;
        bool is_short = kernel->seconds < least_seconds * kernel->executions;
        int err = is_short ? -ERANGE : kernel_fit(kernel, &fit);
        if (err == -ERANGE || err == -EINVAL) {
            ++*left_out;
            continue;
        }
        err = err ? err : kernel_add(kernel, &fit, models);
        if (err)
            return err;
    }
    return 0;
}
