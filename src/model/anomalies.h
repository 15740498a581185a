/* SPDX-License-Identifier: MIT */
/* Finds executions of kernels that take longer than their models predict, or, where the model is of
 * class unknown, than is usual for the kernel, and puts them together into anomalies: alarms of one kernel that follow each other are one anomaly, with a begin and an
 * end. Memory is bounded by the number of models. One thread at a time. */
#ifndef SPEX_MODEL_ANOMALIES_H
#define SPEX_MODEL_ANOMALIES_H

#include <stdint.h>

#include "model/models.h"

struct spex_execution {
    /* Values of the kernel's parameters, in the order of their names. */
    const double *parameters;
    double seconds;
    /* Executions that it stands for. */
    double weight;
    /* Time of the end, in seconds of any clock that does not go back far. */
    double end;
    uint32_t thread;
};

/* Why executions are not judged. */
enum spex_unjudged {
    SPEX_JUDGED,
    SPEX_NO_MODEL,
    /* The parameters are not the model's. */
    SPEX_OTHER_PARAMETERS,
    /* The parameters are outside of the range of the training. */
    SPEX_OUT_OF_RANGE,
    SPEX_UNJUDGED
};

/* Text for messages that count unjudged executions: "of kernels without a model". */
const char *spex_unjudged_text(enum spex_unjudged reason);

struct spex_anomaly {
    const struct spex_kernel_model *kernel;
    /* Numbers of anomalies begin with 1. */
    uint64_t number;
    /* True: a shift, execution after execution; false: single outliers. */
    bool shift;
    /* Seconds. */
    double begin;
    /* End of the last execution so far. */
    double end;
    uint64_t executions;
    /* Executions that the recorded ones stand for. */
    double weight;
    /* Seconds of its executions, with those that the recorded ones stand for. */
    double spent;
    /* Greatest ratio of actual to predicted time. */
    double worst;
    /* Median of that ratio, over at most 64 executions chosen at random. */
    double median;
    /* The execution that raised the alarm. */
    uint32_t thread;
    double parameters[SPEX_MODEL_PARAMETERS_MAX];
    double seconds;
    struct spex_prediction predicted;
};

enum spex_anomaly_event {
    SPEX_ANOMALY_BEGINS,
    SPEX_ANOMALY_ENDS,
    /* The anomaly has not ended, but watching has. */
    SPEX_ANOMALY_GOES_ON,
};

struct spex_anomalies_account {
    /* Executions that were recorded and judged, and all that they stand for. */
    uint64_t judged;
    double weight;
    uint64_t kernels;
    uint64_t anomalies;
    /* Executions that are part of an anomaly. */
    uint64_t anomalous;
    uint64_t unjudged[SPEX_UNJUDGED];
};

struct spex_anomalies;
struct spex_watched;

typedef void spex_anomaly_told(void *user, enum spex_anomaly_event event,
                               const struct spex_anomaly *anomaly);

/* `rate`: false alarms for each execution, between 0 and 1. `told` is called for each event.
 * `models` must not change and must outlive the anomalies. 0 or -ENOMEM. */
int spex_anomalies_create(struct spex_anomalies **anomalies, const struct spex_models *models,
                          double rate, spex_anomaly_told *told, void *user);
void spex_anomalies_destroy(struct spex_anomalies *anomalies);

/* The kernel of this path, whether it has a model or not. 0 or -ENOMEM. */
int spex_anomalies_kernel(struct spex_anomalies *anomalies, const char *path,
                          const char *const *names, size_t parameter_count,
                          struct spex_watched **kernel);

/* Judges one execution. */
void spex_anomalies_take(struct spex_anomalies *anomalies, struct spex_watched *kernel,
                         const struct spex_execution *execution);

/* Ends anomalies that have not gone on for a while. `now`: seconds of the executions' clock. */
void spex_anomalies_pass(struct spex_anomalies *anomalies, double now);

/* No more executions follow: ends all anomalies, or says that they go on. */
void spex_anomalies_end(struct spex_anomalies *anomalies);

const struct spex_anomalies_account *spex_anomalies_account(const struct spex_anomalies *anomalies);

#endif
