/* SPDX-License-Identifier: MIT */
/* Executions of kernels that take longer than their models say, put together into anomalies: alarms of one kernel that
 * follow each other are one, with a beginning and an end. Numerics alone, in memory that is bounded by the models. */
#ifndef SPEX_MODEL_ANOMALY_ANOMALIES_H
#define SPEX_MODEL_ANOMALY_ANOMALIES_H

#include <stdint.h>

#include "model/models.h"

struct spex_execution {
    const double *parameters; /* as many as the kernel has */
    double seconds;
    double weight; /* executions that it stands for */
    double end;    /* seconds of any clock, which does not go back far */
    uint32_t thread;
};

/* Why executions are not judged. */
enum spex_unjudged {
    SPEX_JUDGED,
    SPEX_NO_MODEL,
    SPEX_OTHER_PARAMETERS, /* than the model's */
    SPEX_NO_CLASS,         /* the model does not say how its time grows */
    SPEX_OUT_OF_RANGE,     /* its parameters are not between those of the training */
    SPEX_UNJUDGED
};

/* "no model": for people, with how many. */
const char *spex_unjudged_text(enum spex_unjudged why);

struct spex_anomaly {
    const struct spex_kernel_model *kernel;
    uint64_t number; /* from 1 on */
    bool shift;      /* execution after execution; or single ones */
    double begin;    /* seconds */
    double end;      /* of the last one so far */
    uint64_t executions;
    double weight; /* executions that they stand for */
    double worst;  /* actual over predicted */
    double median; /* the same, of up to 64 of them */
    /* Of the first one that was sure: */
    uint32_t thread;
    double parameters[SPEX_MODEL_PARAMETERS_MAX];
    double seconds;
    struct spex_prediction predicted;
};

enum spex_anomaly_event {
    SPEX_ANOMALY_BEGINS,
    SPEX_ANOMALY_ENDS,
    SPEX_ANOMALY_GOES_ON, /* though nobody looks any more */
};

struct spex_anomalies_account {
    uint64_t judged; /* executions that were recorded, */
    double weight;   /*   and all that they stand for */
    uint64_t kernels;
    uint64_t anomalies;
    uint64_t anomalous; /* executions */
    uint64_t unjudged[SPEX_UNJUDGED];
};

struct spex_anomalies;
struct spex_watched;

typedef void spex_anomaly_told(void *user, enum spex_anomaly_event event,
                               const struct spex_anomaly *anomaly);

/* `rate`: false alarms an execution, between 0 and 1. The models stay the caller's and as they are. 0 or -ENOMEM. */
int spex_anomalies_create(struct spex_anomalies **anomalies, const struct spex_models *models,
                          double rate, spex_anomaly_told *told, void *user);
void spex_anomalies_destroy(struct spex_anomalies *anomalies);

/* The kernel of this path, whether there is a model of it or not. 0 or -ENOMEM. */
int spex_anomalies_kernel(struct spex_anomalies *anomalies, const char *path,
                          const char *const *names, size_t parameter_count,
                          struct spex_watched **kernel);

/* Judges one execution. */
void spex_anomalies_take(struct spex_anomalies *anomalies, struct spex_watched *kernel,
                         const struct spex_execution *execution);

/* Ends what has not gone on for a while. */
void spex_anomalies_pass(struct spex_anomalies *anomalies, double now);

/* Nothing more comes. */
void spex_anomalies_end(struct spex_anomalies *anomalies);

const struct spex_anomalies_account *spex_anomalies_account(const struct spex_anomalies *anomalies);

#endif
