/* SPDX-License-Identifier: MIT */
#include "tools/serve/recent.h"

#include "observe/profile_reader.h"

/* Moves a report to a place, whose own one is freed. */
static void move(struct spex_profile *to, struct spex_profile *report) {
    spex_profile_free(to);
    *to = *report;
    *report = (struct spex_profile){.types = NULL};
}

static double age(const struct spex_profile *report, const struct spex_profile *latest) {
    return latest->process.seconds - report->process.seconds;
}

/* A report of a later moment than the last one is of a collection that has ended since. Who has
 * events keeps reports longer, so that they may come here in another order. */
void spex_recent_offer(struct spex_recent *recent, struct spex_profile *report,
                       const struct spex_profile *latest) {
    struct spex_profile *last = recent->newer.types ? &recent->newer : &recent->older;
    if (last->types && age(last, latest) < 0)
        spex_recent_free(recent);
    bool soon = recent->older.types && age(last, report) < SPEX_RECENT_SECONDS;
    if (!report->types || age(report, latest) < 0 || soon) {
        spex_profile_free(report);
        return;
    }
    if (recent->newer.types)
        move(&recent->older, &recent->newer);
    move(recent->older.types ? &recent->newer : &recent->older, report);
}

const struct spex_profile *spex_recent_begin(const struct spex_recent *recent,
                                             const struct spex_profile *latest) {
    if (recent->newer.types && age(&recent->newer, latest) >= SPEX_RECENT_SECONDS)
        return &recent->newer;
    return recent->older.types && age(&recent->older, latest) > 0 ? &recent->older : NULL;
}

void spex_recent_free(struct spex_recent *recent) {
    spex_profile_free(&recent->older);
    spex_profile_free(&recent->newer);
}
