/* SPDX-License-Identifier: MIT */
/* Watches kernels of a program with spex: attaches to it, and judges their records as they come. */
#include <errno.h>
#include <math.h>

#include "kernels/record_judge.h"
#include "tools/attach/attach.h"
#include "tools/common/complain.h"
#include "tools/models/watcher.h"

struct source {
    struct spex_watcher *watcher;
    struct spex_attached attached;
    struct spex_kernels_known known;
    struct spex_record_judge *judge;
};

static double now_of(const void *attached) {
    return spex_attached_seconds(attached);
}

/* 0; 1 when there may be more; or a negative errno value with the reason. */
static int take_records(struct source *source, bool all, struct spex_error *error) {
    const struct spex_record *records;
    size_t count;
    int more = spex_attached_take(&source->attached, all, &records, &count, error);
    if (more < 0)
        return more;
    int err = spex_record_judge_take(source->judge, records, count);
    return err ? spex_fail(error, err, "out of memory") : more;
}

/* Takes the records that are left at the end. 0, or a negative errno value with the reason. */
static int take_rest(struct source *source, struct spex_error *error) {
    int more = 1;
    while (more > 0 && spex_attached_rest(&source->attached))
        more = take_records(source, true, error);
    return more < 0 ? more : 0;
}

/* Takes records until the program ends, the time is over, or `stop_fd` is readable; then the
 * records that are left. 0, or a negative errno value with the reason. */
static int follow(struct source *source, struct spex_error *error) {
    struct spex_watcher *watcher = source->watcher;
    for (;;) {
        int err = spex_watcher_look(watcher, error);
        if (err)
            return err;
        double now = now_of(&source->attached),
               until = watcher->seconds > 0 ? fmin(watcher->next_look, watcher->seconds)
                                            : watcher->next_look;
        if ((watcher->seconds > 0 && now >= watcher->seconds) ||
            spex_attached_over(&source->attached) ||
            spex_attached_wait(&source->attached, watcher->stop_fd,
                               (int)(fmax(until - now, 0) * 1000) + 1))
            return take_rest(source, error);
        err = take_records(source, false, error);
        if (err < 0)
            return err;
    }
}

/* 0, or a negative errno value with the reason. */
static int prepare(struct source *source, struct spex_error *error) {
    int err = spex_watcher_begin(source->watcher, now_of, &source->attached, error);
    if (err)
        return err;
    source->known = spex_receiver_kernels(source->attached.receiver);
    err = spex_record_judge_create(&source->judge, source->watcher->anomalies, &source->known,
                                   source->attached.begin, source->attached.ticks_per_second);
    return err ? spex_fail(error, err, "out of memory") : 0;
}

int spex_watch_kernels(struct spex_watcher *watcher) {
    struct spex_error error = {""};
    struct source source = {.watcher = watcher};
    int err = spex_attach(&source.attached, watcher->process, watcher->probes, &watcher->models, "",
                          &error);
    err = err ? err : prepare(&source, &error);
    err = err ? err : follow(&source, &error);
    int status = err < 0 ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text)
                         : spex_watcher_finish(watcher, spex_record_judge_left_out(source.judge),
                                               spex_attached_lost(&source.attached));
    spex_detach(&source.attached);
    spex_record_judge_destroy(source.judge);
    spex_watcher_end(watcher);
    return status;
}
