/* SPDX-License-Identifier: MIT */
/* Adds up the records of kernels by calling context. Two kinds of records arrive: looks, which
 * found an execution under way (weight 0), and ends of executions, each with the number of
 * executions that it stands for. Means and variances are weighted, by the update of West
 * (1979). */
#include "tools/models/sample_analysis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/student.h"
#include "kernels/sampling_plan.h"

/* `at` and `planned` are by context: `at` has 1 + the index of the context's kernel, or 0 for
 * none; `planned` has its model, prepared for predictions. */
struct spex_sampled {
    const struct spex_models *models;
    struct spex_kernels_known known;
    double samples;
    double ticks_per_second;
    struct spex_sampled_kernel *kernels;
    size_t count;
    size_t room;
    uint32_t at[SPEX_CONTEXTS_MAX + 1];
    struct spex_planned planned[SPEX_CONTEXTS_MAX + 1];
    struct spex_kernel_described described;
};

/* Starts empty: kernels are added when their first record arrives. */
int spex_sampled_create(struct spex_sampled **sampled, const struct spex_models *models,
                        struct spex_kernels_known known, double samples, double ticks_per_second) {
    *sampled = calloc(1, sizeof(**sampled));
    if (!*sampled)
        return -ENOMEM;
    **sampled = (struct spex_sampled){
        .models = models, .known = known, .samples = samples, .ticks_per_second = ticks_per_second};
    return 0;
}

void spex_sampled_destroy(struct spex_sampled *sampled) {
    if (!sampled)
        return;
    for (size_t k = 0; k < sampled->count; k++) {
        free(sampled->kernels[k].path);
        free(sampled->kernels[k].threads);
    }
    free(sampled->kernels);
    free(sampled);
}

/* Adds the kernel of a context that has no entry yet. A kernel whose path is unknown is "?". 0
 * or -ENOMEM. */
static int sampled_add_kernel(struct spex_sampled *sampled, const struct spex_record *record) {
    struct spex_kernel_described *described = &sampled->described;
    uint64_t context = record->fields[1];
    struct spex_context_node node;
    struct spex_error error;
    if (sampled->count == sampled->room) {
        size_t room = sampled->room ? 2 * sampled->room : 64;
        struct spex_sampled_kernel *kernels = realloc(sampled->kernels, room * sizeof(*kernels));
        if (!kernels)
            return -ENOMEM;
        sampled->kernels = kernels;
        sampled->room = room;
    }
    bool known = spex_kernel_describe(&sampled->known, record, described, &error) == 0;
    sampled->known.node(sampled->known.by, context, &node);
    struct spex_sampled_kernel *kernel = &sampled->kernels[sampled->count];
    *kernel = (struct spex_sampled_kernel){.path = strdup(known ? described->path : "?"),
                                           .context = (uint32_t)context,
                                           .parent = node.parent};
    if (!kernel->path)
        return -ENOMEM;
    kernel->model = known ? spex_models_find(sampled->models, described->path) : NULL;
    if (kernel->model)
        spex_planned_make(&sampled->planned[context], kernel->model, described);
    sampled->at[context] = (uint32_t)++sampled->count;
    return 0;
}

/* Adds a thread to those that have executed the kernel. 0 or -ENOMEM. */
static int kernel_note_thread(struct spex_sampled_kernel *kernel, uint32_t thread) {
    for (uint32_t t = 0; t < kernel->thread_count; t++)
        if (kernel->threads[t] == thread)
            return 0;
    uint32_t *threads = realloc(kernel->threads, (kernel->thread_count + 1) * sizeof(*threads));
    if (!threads)
        return -ENOMEM;
    kernel->threads = threads;
    kernel->threads[kernel->thread_count++] = thread;
    return 0;
}

/* Adds a time to the weighted means and the sum of squares. */
static void kernel_take_time(struct spex_sampled_kernel *kernel, double seconds, double weight) {
    double distance = seconds - kernel->square_mean, square = weight * weight;
    kernel->weight += weight;
    kernel->mean += (seconds - kernel->mean) * weight / kernel->weight;
    kernel->weight_squares += square;
    kernel->square_mean += distance * square / kernel->weight_squares;
    kernel->squares += square * distance * (seconds - kernel->square_mean);
}

/* An execution whose predicted time is long enough is sampled while it is under way (`own`); a
 * shorter one has records only. 0 or -ENOMEM. */
static int sampled_take_record(struct spex_sampled *sampled, const struct spex_record *record) {
    uint64_t context = record->fields[1];
    int err = sampled->at[context] ? 0 : sampled_add_kernel(sampled, record);
    if (err)
        return err;
    struct spex_sampled_kernel *kernel = &sampled->kernels[sampled->at[context] - 1];
    if (!record->weight) {
        kernel->looks++;
        return 0;
    }
    double prediction = kernel->model ? spex_planned_seconds(&sampled->planned[context],
                                                             record->fields + SPEX_KERNEL_VALUES)
                                      : 0;
    bool own = spex_samples_own(sampled->samples, prediction);
    kernel->executions += record->weight;
    kernel->looked_at += own ? record->weight : 0;
    kernel->records += !own;
    kernel_take_time(kernel, (double)record->fields[0] / sampled->ticks_per_second, record->weight);
    if (kernel->model && kernel->model->model.class != SPEX_MODEL_UNKNOWN && prediction > 0) {
        kernel->predicted_weight += record->weight;
        kernel->predicted +=
            (prediction - kernel->predicted) * record->weight / kernel->predicted_weight;
    }
    return kernel_note_thread(kernel, record->thread_id);
}

/* Records come from the program: one whose context is not possible is skipped. */
int spex_sampled_take(struct spex_sampled *sampled, const struct spex_record *records,
                      size_t count) {
    int err = 0;
    for (size_t r = 0; r < count && !err; r++)
        if (records[r].probe_type == SPEX_KERNEL &&
            spex_kernel_record_sound(&sampled->known, &records[r]))
            err = sampled_take_record(sampled, &records[r]);
    return err;
}

/* Executions of the nearest kernel around it that was sampled while under way; 0 without one. */
static double executions_of_outer_kernel(const struct spex_sampled *sampled,
                                         const struct spex_sampled_kernel *kernel) {
    uint32_t at = kernel->parent;
    struct spex_context_node node;
    while (at != SPEX_CONTEXT_ROOT && sampled->known.node(sampled->known.by, at, &node)) {
        if (sampled->at[at] && sampled->kernels[sampled->at[at] - 1].looked_at > 0)
            return sampled->kernels[sampled->at[at] - 1].looked_at;
        at = node.parent;
    }
    return 0;
}

static int order_by_path(const void *a, const void *b) {
    const struct spex_sampled_kernel *one = a, *other = b;
    return strcmp(one->path, other->path);
}

/* A kernel that is too short to be sampled by itself should have `samples` within each
 * execution of the kernel around it, or each second of each thread where there is none; and no
 * more than it has executions. */
int spex_sampled_account(struct spex_sampled *sampled, double seconds,
                         struct spex_sampled_kernel **kernels, size_t *count) {
    *count = sampled->count;
    *kernels = malloc((sampled->count + 1) * sizeof(**kernels));
    if (!*kernels)
        return -ENOMEM;
    for (size_t k = 0; k < sampled->count; k++) {
        struct spex_sampled_kernel *kernel = &sampled->kernels[k];
        double within = executions_of_outer_kernel(sampled, kernel),
               rest = kernel->executions - kernel->looked_at;
        double times = within > 0 ? within : seconds * kernel->thread_count;
        kernel->required =
            sampled->samples * kernel->looked_at + fmin(rest, sampled->samples * times);
        (*kernels)[k] = *kernel;
    }
    qsort(*kernels, *count, sizeof(**kernels), order_by_path);
    return 0;
}

bool spex_sampled_enough(const struct spex_sampled_kernel *kernel) {
    double samples = spex_sampled_samples(kernel);
    return samples >= kernel->required / 2 && samples <= kernel->required * 2;
}

/* The mean is Hájek's ratio of two estimates by Horvitz and Thompson. Its variance is the sum of
 * (weight * distance from the mean)² / (sum of weights)², enlarged for few records by Kish's
 * effective number of them, (sum of weights)² / (sum of squared weights). */
double spex_sampled_margin(const struct spex_sampled_kernel *kernel) {
    double effective =
        kernel->weight > 0 ? kernel->weight * kernel->weight / kernel->weight_squares : 0;
    if (effective < 2)
        return -1;
    double between = kernel->square_mean - kernel->mean;
    double squares = kernel->squares + kernel->weight_squares * between * between;
    double deviation = sqrt(squares * effective / (effective - 1)) / kernel->weight;
    return spex_student_two_sided(0.05, effective - 1) * deviation;
}

/* Each execution of weight w was chosen with the probability 1 / w, by itself: the variance of the
 * sum of weights is estimated by the sum of w (w - 1). */
double spex_sampled_executions_margin(const struct spex_sampled_kernel *kernel) {
    return SPEX_NORMAL_95 * sqrt(fmax(kernel->weight_squares - kernel->weight, 0));
}
