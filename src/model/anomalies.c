/* SPDX-License-Identifier: MIT */
/* Judges each execution by its kernel's detector (detector.h) and by the model's interval, and puts
 * alarms of a kernel together into one anomaly until the kernel has been calm for long enough. Each
 * kernel is `watched` with a detector and at most one open anomaly. Callers lock. */
#include "model/anomalies.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "base/splitmix.h"
#include "model/detector.h"

/* An anomaly is over after CALM_EXECUTIONS usual executions and CALM_SECONDS since its last
 * execution. It is also over after QUIET_SECONDS without an execution of it, and at least
 * QUIET_INTERVALS mean intervals between executions. */
#define CALM_EXECUTIONS 20
#define CALM_SECONDS    0.5
#define QUIET_SECONDS   5.0
#define QUIET_INTERVALS 4.0

/* An anomaly is rare if it has at most RARE_EXECUTIONS executions, or less than RARE_SHARE of
 * the kernel's executions since it began. A rare anomaly that is no shift ends after RARE_AMONG
 * executions of the kernel. */
#define RARE_EXECUTIONS 2
#define RARE_SHARE      0.1
#define RARE_AMONG      300

/* A kernel is young until it has had YOUNG_EXECUTIONS executions and YOUNG_SECONDS have passed.
 * Until then its rare delays are not known, and one execution beyond the prediction by at most
 * HICCUP_SECONDS is no outlier, since the scheduler of a busy machine causes such delays. */
#define YOUNG_EXECUTIONS 1000
#define YOUNG_SECONDS    3.0
#define HICCUP_SECONDS   0.02

/* Shorter times become so long, that they have a logarithm. */
#define LEAST_SECONDS 1e-12

/* Ratios that are kept of an anomaly, for their median. */
enum { RATIOS = 64 };

struct spex_watched {
    /* Why the kernel's executions are not judged; SPEX_JUDGED: they are. */
    enum spex_unjudged reason;
    const struct spex_kernel_model *model;
    /* The model does not say how the time depends on the parameters: executions are judged by the
     * distribution of their times alone, and compared with the first one, until there is a median.
     * Then single ones alone are judged: the times of many may have changed with the parameters. */
    bool alone;
    double first_seconds;
    struct spex_detector detector;
    /* End of its first execution. */
    double first_end;
    uint64_t executions;
    /* The kernel is in an anomaly. */
    bool open;
    /* Executions of the kernel since the anomaly began, and usual ones since the last that
     * belongs to it. */
    uint64_t among;
    uint64_t calm;
    struct spex_anomaly anomaly;
    /* Logarithms of ratios of actual to predicted time; a random sample if there are more. */
    float ratios[RATIOS];
};

struct spex_anomalies {
    const struct spex_models *models;
    double rate;
    spex_anomaly_told *told;
    void *user;
    /* A kernel for each model, in their order; NULL: it has not been executed. */
    struct spex_watched **watched;
    /* One for each reason, shared by all kernels that are not judged for it. */
    struct spex_watched unknown[SPEX_UNJUDGED];
    struct spex_anomalies_account account;
    uint64_t random;
};

const char *spex_unjudged_text(enum spex_unjudged reason) {
    static const char *const texts[] = {
        [SPEX_JUDGED] = "judged",
        [SPEX_NO_MODEL] = "of kernels without a model",
        [SPEX_OTHER_PARAMETERS] = "with other parameters than their model",
        [SPEX_OUT_OF_RANGE] = "with parameters beyond those of the training",
    };
    return texts[reason];
}

/* One kernel for each reason is made in advance, and stands for all that are not judged for it. */
int spex_anomalies_create(struct spex_anomalies **anomalies, const struct spex_models *models,
                          double rate, spex_anomaly_told *told, void *user) {
    struct spex_anomalies *made = spex_calloc(1, sizeof(*made));
    *anomalies = made;
    if (!made)
        return -ENOMEM;
    made->watched = spex_calloc(models->count + 1, sizeof(struct spex_watched *));
    if (!made->watched) {
        spex_free(made);
        *anomalies = NULL;
        return -ENOMEM;
    }
    made->models = models;
    made->rate = rate;
    made->told = told;
    made->user = user;
    for (int reason = 0; reason < SPEX_UNJUDGED; reason++)
        made->unknown[reason].reason = (enum spex_unjudged)reason;
    return 0;
}

void spex_anomalies_destroy(struct spex_anomalies *anomalies) {
    if (!anomalies)
        return;
    for (size_t m = 0; m < anomalies->models->count; m++)
        spex_free(anomalies->watched[m]);
    spex_free(anomalies->watched);
    spex_free(anomalies);
}

/* Whether the model can judge executions of a kernel with these parameters, whose names and
 * order must be those of the training. */
static enum spex_unjudged kernel_unjudged(const struct spex_kernel_model *model,
                                          const char *const *names, size_t parameter_count) {
    if (!model)
        return SPEX_NO_MODEL;
    if (model->model.parameter_count != parameter_count)
        return SPEX_OTHER_PARAMETERS;
    for (size_t p = 0; p < parameter_count; p++)
        if (strcmp(model->names[p], names[p]) != 0)
            return SPEX_OTHER_PARAMETERS;
    return SPEX_JUDGED;
}

/* A detector is made when its kernel is first asked for: most models of a file belong to
 * contexts that a run does not enter. */
int spex_anomalies_kernel(struct spex_anomalies *anomalies, const char *path,
                          const char *const *names, size_t parameter_count,
                          struct spex_watched **kernel) {
    const struct spex_kernel_model *model = spex_models_find(anomalies->models, path);
    enum spex_unjudged reason = kernel_unjudged(model, names, parameter_count);
    if (reason != SPEX_JUDGED) {
        *kernel = &anomalies->unknown[reason];
        return 0;
    }
    struct spex_watched **place = &anomalies->watched[model - anomalies->models->items];
    if (!*place) {
        *place = spex_calloc(1, sizeof(**place));
        if (!*place)
            return -ENOMEM;
        (*place)->model = model;
        (*place)->alone = model->model.class == SPEX_MODEL_UNKNOWN;
        spex_detector_init(&(*place)->detector, anomalies->rate, (*place)->alone);
    }
    *kernel = *place;
    return 0;
}

/* Whether the parameters are within the range of the training. Outside of it a model is an
 * extrapolation, by which nothing is judged. */
static bool parameters_in_range(const struct spex_kernel_model *model, const double *parameters) {
    for (size_t p = 0; p < model->model.parameter_count; p++)
        if (parameters[p] < model->low[p] || parameters[p] > model->high[p])
            return false;
    return true;
}

static int compare_floats(const void *a, const void *b) {
    float one = *(const float *)a, other = *(const float *)b;
    return (one > other) - (one < other);
}

/* Median of the ratios that were kept; the anomaly has at least one execution. */
static double median_ratio(const struct spex_watched *kernel) {
    float sorted[RATIOS];
    size_t count = kernel->anomaly.executions < RATIOS ? kernel->anomaly.executions : RATIOS;
    memcpy(sorted, kernel->ratios, count * sizeof(*sorted));
    spex_sort(sorted, count, sizeof(*sorted), compare_floats);
    return exp((double)sorted[count / 2]);
}

/* Calls `told`, from the thread of the caller. */
static void anomaly_report(struct spex_anomalies *anomalies, struct spex_watched *kernel,
                           enum spex_anomaly_event event) {
    kernel->anomaly.median = median_ratio(kernel);
    anomalies->told(anomalies->user, event, &kernel->anomaly);
}

/* Ends an anomaly. The ratios of rare outliers are added to what the detector has learnt: a
 * delay that recurs now and then is usual for this kernel, and would otherwise raise an alarm
 * each time. */
static void anomaly_end(struct spex_anomalies *anomalies, struct spex_watched *kernel,
                        enum spex_anomaly_event event) {
    const struct spex_anomaly *anomaly = &kernel->anomaly;
    bool rare = anomaly->executions <= RARE_EXECUTIONS ||
                (double)anomaly->executions < RARE_SHARE * (double)kernel->among;
    for (size_t r = 0; rare && !anomaly->shift && r < anomaly->executions && r < RATIOS; r++)
        spex_detector_absorb(&kernel->detector,
                             kernel->ratios[r] + (kernel->alone ? kernel->detector.centre : 0));
    anomaly_report(anomalies, kernel, event);
    kernel->open = false;
}

/* The time that is expected: by the model, or as is usual for the kernel. */
static struct spex_prediction prediction_of(const struct spex_watched *kernel,
                                            const struct spex_execution *execution) {
    if (!kernel->alone)
        return spex_model_predict(&kernel->model->model, execution->parameters);
    return (struct spex_prediction){.value = kernel->first_seconds * exp(kernel->detector.centre),
                                    .low = NAN,
                                    .high = INFINITY};
}

/* How many times as long as expected, as a logarithm. */
static double log_slower(const struct spex_watched *kernel, double log_ratio) {
    return kernel->alone ? log_ratio - kernel->detector.centre : log_ratio;
}

/* Adds an execution to the kernel's anomaly. The sample of ratios is kept by reservoir sampling. */
static void anomaly_count(struct spex_anomalies *anomalies, struct spex_watched *kernel,
                          const struct spex_execution *execution, double log_ratio) {
    struct spex_anomaly *anomaly = &kernel->anomaly;
    uint64_t at = anomaly->executions < RATIOS
                      ? anomaly->executions
                      : spex_splitmix_next(&anomalies->random) % (anomaly->executions + 1);
    if (at < RATIOS)
        kernel->ratios[at] = (float)log_slower(kernel, log_ratio);
    anomaly->executions++;
    anomaly->weight += execution->weight;
    anomaly->spent += execution->weight * execution->seconds;
    anomaly->end = execution->end;
    /* As rounded as those of which the median is. */
    anomaly->worst = fmax(anomaly->worst, exp((double)(float)log_slower(kernel, log_ratio)));
    kernel->calm = 0;
    anomalies->account.anomalous++;
}

/* Begins an anomaly with the execution that raised the alarm. Counting that execution is left to
 * the caller. */
static void anomaly_begin(struct spex_anomalies *anomalies, struct spex_watched *kernel,
                          const struct spex_execution *execution) {
    struct spex_anomaly *anomaly = &kernel->anomaly;
    size_t parameters = kernel->model->model.parameter_count;
    *anomaly = (struct spex_anomaly){
        .kernel = kernel->model,
        .number = ++anomalies->account.anomalies,
        .begin = execution->end - execution->seconds,
        .thread = execution->thread,
        .seconds = execution->seconds,
        .predicted = prediction_of(kernel, execution),
    };
    if (parameters > 0)
        memcpy(anomaly->parameters, execution->parameters, parameters * sizeof(double));
    kernel->open = true;
    kernel->among = 0;
}

/* Begins an anomaly or continues the open one. An anomaly that turns out to be a shift began
 * when the evidence for the shift did, before the alarm. */
static void anomaly_alarm(struct spex_anomalies *anomalies, struct spex_watched *kernel,
                          const struct spex_execution *execution, double log_ratio,
                          enum spex_verdict verdict) {
    bool begins = !kernel->open;
    if (begins)
        anomaly_begin(anomalies, kernel, execution);
    if (verdict == SPEX_SHIFTED && !kernel->anomaly.shift) {
        kernel->anomaly.shift = true;
        kernel->anomaly.begin = fmin(kernel->anomaly.begin, kernel->detector.evidence_since);
    }
    anomaly_count(anomalies, kernel, execution, log_ratio);
    if (begins)
        anomaly_report(anomalies, kernel, SPEX_ANOMALY_BEGINS);
}

/* Whether the open anomaly has ended at `now`: by silence, as a rare one, or by calm. The three
 * limits are those at the top of this file. */
static bool anomaly_is_over(const struct spex_watched *kernel, double now) {
    double since = now - kernel->anomaly.end;
    double interval = kernel->executions > 1 ? (kernel->detector.last - kernel->first_end) /
                                                   (double)(kernel->executions - 1)
                                             : 0;
    if (since > fmax(QUIET_SECONDS, QUIET_INTERVALS * interval))
        return true;
    if (!kernel->anomaly.shift && kernel->among >= RARE_AMONG &&
        (double)kernel->anomaly.executions < RARE_SHARE * (double)kernel->among)
        return true;
    return !kernel->detector.shifted && kernel->calm >= CALM_EXECUTIONS && since >= CALM_SECONDS;
}

static bool kernel_is_young(const struct spex_watched *kernel, double now) {
    return kernel->executions < YOUNG_EXECUTIONS || now - kernel->first_end < YOUNG_SECONDS;
}

/* Seconds beyond the prediction, if the time is beyond the model's interval; 0 otherwise. The
 * interval is computed only for times that are high for this kernel. A model without an interval
 * allows no time. */
static double seconds_beyond(const struct spex_watched *kernel,
                             const struct spex_execution *execution, double log_ratio) {
    if (!spex_detector_high(&kernel->detector, log_ratio))
        return 0;
    struct spex_prediction predicted = prediction_of(kernel, execution);
    bool allowed = isfinite(predicted.high) && execution->seconds <= predicted.high;
    return allowed ? 0 : fmax(execution->seconds - predicted.value, 0);
}

/* Judges an execution whose kernel has a model for it. `log_ratio`: logarithm of actual over
 * predicted time. */
static void execution_judge(struct spex_anomalies *anomalies, struct spex_watched *kernel,
                            const struct spex_execution *execution, double log_ratio) {
    double beyond = seconds_beyond(kernel, execution, log_ratio);
    bool outlier = beyond > 0 && spex_detector_unlikely(&kernel->detector, log_ratio) &&
                   (beyond > HICCUP_SECONDS || !kernel_is_young(kernel, execution->end));
    enum spex_verdict verdict = spex_detector_take(&kernel->detector, log_ratio, execution->end,
                                                   beyond > 0 && !kernel->alone, outlier);
    kernel->among += kernel->open;
    kernel->calm += kernel->open;
    if (verdict != SPEX_USUAL)
        anomaly_alarm(anomalies, kernel, execution, log_ratio, verdict);
    if (kernel->open && anomaly_is_over(kernel, execution->end))
        anomaly_end(anomalies, kernel, SPEX_ANOMALY_ENDS);
}

/* The value that the detector divides times by; 0: there is none for these parameters. */
static double base_seconds(struct spex_watched *kernel, const struct spex_execution *execution) {
    if (kernel->alone && !kernel->executions)
        kernel->first_seconds = fmax(execution->seconds, LEAST_SECONDS);
    if (kernel->alone)
        return kernel->first_seconds;
    if (!parameters_in_range(kernel->model, execution->parameters))
        return 0;
    return spex_model_nearest(&kernel->model->model, execution->parameters,
                              fmax(execution->seconds, LEAST_SECONDS));
}

/* A prediction of 0 or of no finite number judges nothing, and counts as out of range. */
void spex_anomalies_take(struct spex_anomalies *anomalies, struct spex_watched *kernel,
                         const struct spex_execution *execution) {
    struct spex_anomalies_account *account = &anomalies->account;
    enum spex_unjudged reason = kernel->reason;
    double predicted = reason ? 0 : base_seconds(kernel, execution);
    if (!reason && !(predicted > 0 && isfinite(predicted)))
        reason = SPEX_OUT_OF_RANGE;
    if (reason) {
        account->unjudged[reason]++;
        return;
    }
    if (kernel->executions++ == 0) {
        kernel->first_end = execution->end;
        account->kernels++;
    }
    account->judged++;
    account->weight += execution->weight;
    execution_judge(anomalies, kernel, execution,
                    log(fmax(execution->seconds, LEAST_SECONDS) / predicted));
}

void spex_anomalies_pass(struct spex_anomalies *anomalies, double now) {
    for (size_t m = 0; m < anomalies->models->count; m++) {
        struct spex_watched *kernel = anomalies->watched[m];
        if (kernel && kernel->open && anomaly_is_over(kernel, now))
            anomaly_end(anomalies, kernel, SPEX_ANOMALY_ENDS);
    }
}

/* An anomaly that was calm for enough executions ends, although not enough seconds have passed. */
void spex_anomalies_end(struct spex_anomalies *anomalies) {
    for (size_t m = 0; m < anomalies->models->count; m++) {
        struct spex_watched *kernel = anomalies->watched[m];
        if (!kernel || !kernel->open)
            continue;
        bool calm = !kernel->detector.shifted && kernel->calm >= CALM_EXECUTIONS;
        anomaly_end(anomalies, kernel, calm ? SPEX_ANOMALY_ENDS : SPEX_ANOMALY_GOES_ON);
    }
}

const struct spex_anomalies_account *spex_anomalies_account(
    const struct spex_anomalies *anomalies) {
    return &anomalies->account;
}
