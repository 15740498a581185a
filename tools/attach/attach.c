/* SPDX-License-Identifier: MIT */
/* Attaches to a running program by its control socket. Three requests go over connections of
 * their own: a profile, for the kernels that it has; the stream, which is opened before the
 * selection changes, so that no record of the new kernels is missed; and the addition to the
 * selection. */
#define _GNU_SOURCE
#include "tools/attach/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <spex/record.h>

#include "observe/control_client.h"
#include "site/provider.h"
#include "text/waits.h"
#include "tools/common/complain.h"

/* A selection has a limited length: with more kernels than this, all kernels of the program are
 * selected. */
enum { NAMED_MAX = 500 };

/* How long the records are taken that are left when the command ends. */
#define REST_NS 3000000000u

static bool site_is_kernel(const struct spex_profile_site *site) {
    return site->loaded && site->probe_type == SPEX_KERNEL;
}

/* Whether the path of a model has the kernel `called`: it has what kernels are called, with "/"
 * between them. */
static bool path_has(const char *path, const char *called) {
    size_t length = strlen(called);
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, called, length) == 0 && (at[length] == '/' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* Whether the path of any model names the kernel of this site, by its name or, without a name,
 * by its id; perhaps with the provider, as "liba:sort". */
static bool models_know_site(const struct spex_models *models,
                             const struct spex_profile_site *site) {
    char called[SPEX_PROBE_TEXT_BYTES], provided[2 * SPEX_PROBE_TEXT_BYTES];
    spex_probe_called(NULL, site->name, spex_profile_id(site->probe_id, site->declared), called,
                      sizeof(called));
    snprintf(provided, sizeof(provided), "%s:%s", site->provider, called);
    for (size_t m = 0; m < models->count; m++)
        if (path_has(models->items[m].path, called) || path_has(models->items[m].path, provided))
            return true;
    return false;
}

/* Whether no site before `at` belongs to the same kernel: a kernel may have several sites, and
 * is selected once. */
static bool site_is_first_of_kernel(const struct spex_profile *profile, size_t at) {
    for (size_t s = 0; s < at; s++)
        if (site_is_kernel(&profile->sites[s]) &&
            profile->sites[s].probe_id == profile->sites[at].probe_id)
            return false;
    return true;
}

/* Makes the selection of the kernels that the models know: of those that are off, or with
 * `sampling` of all. `*known`: how many kernels the models know. Free the text of the list. */
static struct spex_added_list select_known_kernels(const struct spex_profile *profile,
                                                   const struct spex_models *models,
                                                   const char *sampling, unsigned *known) {
    struct spex_added_list list = {.text = NULL};
    bool mixed = spex_profile_sites_mixed(profile);
    *known = 0;
    for (size_t s = 0; s < profile->site_count; s++) {
        const struct spex_profile_site *site = &profile->sites[s];
        if (!site_is_kernel(site) || !site_is_first_of_kernel(profile, s) ||
            !models_know_site(models, site))
            continue;
        ++*known;
        if (!site->period || *sampling)
            spex_added_list_add(&list, site, mixed, sampling);
    }
    return list;
}

/* -ENOENT when the program has none of the kernels that the models know. Free the text of the list. */
static int models_choose(const struct spex_attached *attached, const struct spex_models *models,
                         const char *sampling, const struct spex_profile *before,
                         struct spex_added_list *list, struct spex_error *error) {
    unsigned known;
    *list = select_known_kernels(before, models, sampling, &known);
    if (list->err)
        return spex_fail(error, list->err, "out of memory");
    return known ? 0
                 : spex_fail(error, -ENOENT,
                             "process %d (%s) has none of the kernels that the models are of",
                             (int)attached->process, attached->command);
}

/* An empty list means that all of them are on already. */
static int models_add(struct spex_attached *attached, const struct spex_added_list *list,
                      const char *sampling, struct spex_error *error) {
    const char *all = *sampling ? "+*:kernel@poll" : "+*:kernel";
    if (list->count == 0)
        return 0;
    return spex_added_selection_make(&attached->added, attached->process,
                                     list->count > NAMED_MAX ? all : list->text, error);
}

/* The receiver owns the socket unless it fails. The first frames are taken at once: losses that
 * they report happened before this command. */
static int attached_stream_open(struct spex_attached *attached, struct spex_error *error) {
    int fd = spex_client_stream(attached->process, &(struct spex_client_stream){.types = "kernel"},
                                error);
    int err = fd < 0 ? fd : spex_receiver_of(fd, &attached->receiver, error);
    if (fd >= 0 && err)
        spex_client_close(fd);
    if (!err)
        err = spex_receiver_take(attached->receiver, error);
    if (err >= 0)
        attached->lost_before = spex_receiver_lost(attached->receiver);
    return err < 0 ? err : 0;
}

/* What the program lacks is found out before it is asked for anything: one that executes none of its
 * probes may not answer. The caller calls spex_detach after a failure as well, which undoes what was
 * done before it. */
int spex_attach(struct spex_attached *attached, pid_t process, const char *probes,
                const struct spex_models *models, const char *sampling, struct spex_error *error) {
    struct spex_profile_reader reader = {0};
    struct spex_added_list list = {.text = NULL};
    *attached = (struct spex_attached){.process = process, .begin = spex_instant_now()};
    attached->process_fd = (int)syscall(SYS_pidfd_open, process, 0);
    int err = spex_client_ask(process, SPEX_CONTROL_PROFILE, NULL, &reader, error);
    if (!err)
        memcpy(attached->command, reader.profile.process.command, sizeof(attached->command));
    if (!err && !probes)
        err = models_choose(attached, models, sampling, &reader.profile, &list, error);
    if (!err)
        err = attached_stream_open(attached, error);
    if (!err)
        err = probes ? spex_added_selection_make_of(&attached->added, process, probes, error)
                     : models_add(attached, &list, sampling, error);
    free(list.text);
    attached->ticks_per_second = spex_tick_rate_since(attached->begin);
    spex_profile_reader_free(&reader);
    return err;
}

/* A first signal has ended the command; another one ends restoring the selection. Closes the stream
 * first: the program's collectors notice its end when the change of the selection
 * wakes them. */
void spex_detach(struct spex_attached *attached) {
    bool over = spex_attached_over(attached);
    spex_client_stop_later();
    spex_receiver_close(attached->receiver);
    attached->receiver = NULL;
    spex_added_selection_restore(&attached->added, over, attached->process_fd);
    if (attached->process_fd >= 0)
        close(attached->process_fd);
}

/* poll ignores descriptors that are -1, such as a pidfd that could not be opened. */
bool spex_attached_wait(const struct spex_attached *attached, int stop_fd, int timeout_ms) {
    int streams[SPEX_RECEIVER_FDS];
    struct pollfd fds[2 + SPEX_RECEIVER_FDS] = {{.fd = stop_fd, .events = POLLIN},
                                                {.fd = attached->process_fd, .events = POLLIN}};
    spex_receiver_fds(attached->receiver, streams);
    for (int s = 0; s < SPEX_RECEIVER_FDS; s++)
        fds[2 + s] = (struct pollfd){.fd = streams[s], .events = POLLIN};
    spex_wait_ready(fds, 2 + SPEX_RECEIVER_FDS, timeout_ms);
    return fds[0].revents != 0;
}

/* Without waiting: spex_attached_wait waits. */
int spex_attached_take(const struct spex_attached *attached, bool all,
                       const struct spex_record **records, size_t *count,
                       struct spex_error *error) {
    int more = spex_receiver_take(attached->receiver, error);
    *records = more < 0 ? NULL : spex_receiver_records(attached->receiver, all, count);
    return more;
}

bool spex_attached_rest(struct spex_attached *attached) {
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (!attached->rest_until_ns)
        attached->rest_until_ns = now_ns + REST_NS;
    return now_ns < attached->rest_until_ns;
}

/* poll reports a pidfd as readable after the end of its process. */
bool spex_attached_over(const struct spex_attached *attached) {
    struct pollfd process = {.fd = attached->process_fd, .events = POLLIN};
    return (attached->receiver && spex_receiver_ended(attached->receiver)) ||
           (attached->process_fd >= 0 && spex_wait_ready(&process, 1, 0) == 1);
}

double spex_attached_seconds(const struct spex_attached *attached) {
    return (double)(int64_t)(spex_instant_now().ticks - attached->begin.ticks) /
           attached->ticks_per_second;
}

uint64_t spex_attached_lost(const struct spex_attached *attached) {
    uint64_t lost = spex_receiver_lost(attached->receiver);
    return spex_grown(attached->lost_before, lost);
}
