/* SPDX-License-Identifier: MIT */
/* A sample of kernels' executions as JSON, each with its weight: as an agent tells it to the
 * master, as the master answers with it, and as its history keeps it. What is read is of nobody who
 * is trusted. */
#ifndef SPEX_FLEET_LEAD_KERNEL_MESSAGE_H
#define SPEX_FLEET_LEAD_KERNEL_MESSAGE_H

#include <jansson.h>

#include "explore/store/circumstances.h"
#include "model/fit/training.h"

/* Kernels and rows of a message, and its bytes. */
enum { SPEX_KERNEL_ITEMS_MAX = 16, SPEX_KERNEL_ROWS_MAX = 4096, SPEX_KERNEL_BYTES = 1 << 20 };

/* Bytes of a path, and of a parameter's name. */
enum { SPEX_KERNEL_PATH_MAX = 4096, SPEX_KERNEL_NAME_MAX = 256 };

struct spex_kernel_rows {
    char *path;
    char *names[SPEX_MODEL_PARAMETERS_MAX];
    size_t parameter_count;
    /* `parameters` of each point into `values`. */
    struct spex_trained_row *rows;
    double *values;
    size_t count;
};

struct spex_kernel_message {
    /* The agent's own number, and the machine and build that the executions are of. */
    uint32_t agent;
    struct spex_circumstances machine;
    /* Records that the program has lost, or could not send, meanwhile. */
    uint64_t lost;
    struct spex_kernel_rows *items;
    size_t count;
};

struct spex_kernel_writer {
    uint32_t agent;
    const struct spex_circumstances *machine;
    uint64_t lost;
    /* Rows of each kernel; and how many executions each of the training stands for. */
    size_t most;
    double factor;
    /* Takes a message, which has a 0 at its end. 0 or a negative errno value. */
    int (*send)(void *user, const char *text, size_t size);
    void *user;
};

/* Writes the messages of all kernels of a training; none, where there is no kernel. Returns 0,
 * -ENOMEM, or what `send` has returned. */
int spex_kernel_messages_write(const struct spex_kernel_writer *writer,
                               const struct spex_training *training);

/* The message of one kernel as an object; NULL: no memory. */
json_t *spex_kernel_message_json(const struct spex_kernel_writer *writer,
                                 const struct spex_trained *kernel,
                                 const struct spex_trained_about *about);

/* The path of the first kernel of such an object. */
const char *spex_kernel_message_path(const json_t *message);

/* Reads a message; free it in any case. 0; -EINVAL or -ENOMEM with the reason. */
int spex_kernel_message_read(const char *text, size_t size, struct spex_kernel_message *message,
                             struct spex_error *error);
/* The same of an object that has been read. */
int spex_kernel_message_take(const json_t *json, struct spex_kernel_message *message,
                             struct spex_error *error);
void spex_kernel_message_free(struct spex_kernel_message *message);

/* Adds a kernel's rows to a training, each of its own run. 0; -EINVAL: the training knows the
 * kernel with other parameters; -E2BIG: there are too many kernels; -ENOMEM. */
int spex_kernel_rows_add(const struct spex_kernel_rows *rows, struct spex_training *training);

#endif
