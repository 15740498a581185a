/* SPDX-License-Identifier: MIT */
/* State that the files of start and stop share. All of it is under its lock. */
#ifndef SPEX_START_LIFE_STATE_H
#define SPEX_START_LIFE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/lock.h"
#include "base/uninterrupted.h"
#include "serve/control.h"
#include "serve/end_table.h"
#include "start/settings.h"
#include "text/error.h"

/* Models that a command has requested. */
struct spex_models_asked {
    /* Owned. NULL: by the settings. */
    char *path;
    double samples;
    double share;
};

struct spex_life {
    struct spex_lock lock;
    /* The child of a fork that found the state of its parent half changed. */
    bool lost;
    bool started;
    /* Started before the program calls spex_start: in the child of a fork that follows its parent,
     * or by libspex-preload.so. */
    bool followed;
    struct spex_settings settings;
    /* Owned texts, to which the settings of the same names point. */
    char *out;
    char *control;
    char *models;
    struct spex_models_asked models_asked;
    /* The command that was to take the records or metrics cannot be reached. What was selected at
     * the start stays off; commands may switch it on. */
    bool out_given_up;
    /* NULL: there is to be no table. */
    struct spex_end_table *output;
};

extern struct spex_life spex_life;

/* Takes the lock for a call of the program; `before` is as for spex_uninterrupted_begin. 0; -EDEADLK:
 * this thread has the lock, since a function that spex called calls spex; -ENOTRECOVERABLE: this is
 * the child of a fork in such a function, or of one without handlers. After an error nothing is
 * taken. */
int spex_life_take(struct spex_uninterrupted *before);
void spex_life_give(const struct spex_uninterrupted *before);

/* Frees what the settings point to. */
void spex_life_settings_free(void);

/* SPEX_OUT of these prefixes: a socket to stream records to, one of a command that is sent metrics,
 * one of a command that is sent both, over two connections, and a folder for a trace. */
#define SPEX_OUT_STREAM  "unix:"
#define SPEX_OUT_METRICS "metrics:"
#define SPEX_OUT_RECORD  "record:"
#define SPEX_OUT_TRACE   "ctf:"

/* The rest of SPEX_OUT behind the prefix; NULL: SPEX_OUT does not begin with it. */
const char *spex_life_out_after(const char *prefix);

/* The socket of the command that is sent metrics; NULL: there is none. */
const char *spex_life_out_command(void);

/* Forgets SPEX_OUT after its command could not be reached. */
void spex_life_out_give_up(void);

/* collection.c */

/* Maps what probes write to, starts collectors, opens the output: all before a site goes on.
 * `table`: the program or its user wants a table at the end. 0, or a negative errno value with
 * one line on standard error. */
int spex_collection_start(bool table);

/* Opens the output for the table, where there is to be one and it is not open yet. 0, or as
 * above. */
int spex_collection_output_open(bool table);

/* Has kernels sampled by the models that a command has asked for, or else by the user's. Models
 * that the user has named but that cannot be read are an error. 0, or as
 * spex_kernel_sampler_start. */
int spex_collection_models_begin(struct spex_error *error);

/* requests.c */

/* As spex_set, or by a lease as spex_set_for, if it is for any time, without the selection's budget.
 * `answer` gets the messages for a command; NULL: the program itself selects, and messages go to
 * standard error. */
int spex_life_select_locked(const struct spex_control_selection *selection, char *answer,
                            size_t size);

/* Selects what `spex set --follow` has left for programs of this name. A failure is a line on
 * standard error. */
void spex_life_select_standing(void);

/* What clients of the control socket can request. */
extern const struct spex_control_requests spex_life_requests;

/* Opens the control socket, and calls the command that SPEX_OUT names. When that command cannot be
 * called, one line on standard error says so, and the output is given up. */
void spex_life_control_start(void);

/* fork.c */

/* Installs the fork handlers, once in a process. 0 or a negative errno value. */
int spex_fork_handle(void);

/* Before the library is unloaded: forks that begin from now on go on without it, and the caller
 * waits for those of other threads. */
void spex_forks_refuse(void);
void spex_forks_await(void);

/* unload.c */

/* Before anything is mapped: if this spex is not the program's, it notes when the process ends. */
void spex_unload_expect(void);

/* Unmaps everything, unless the process ends: the library of this spex is unloaded. */
void spex_unload(void);

#endif
