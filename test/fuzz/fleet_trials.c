/* SPDX-License-Identifier: MIT */
/* Any bytes as what explorer and workers of a fleet send each other: refused with one line, or
 * within the limits, and written again the same way. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "fleet/trials/trial_message.h"
#include "fuzz.h"
#include "text/printable.h"

static struct spex_space_file *space_made(void) {
    static struct spex_space_file *file;
    struct spex_error error;
    if (!file)
        spex_space_parse("s",
                         "<space name='s'><parameter name='a' type='integer' values='1 2 4'/>"
                         "<parameter name='b' type='boolean'/><constraint require='$a &lt; 4 or "
                         "$b'/><objective probe='q:tpt' metric='throughput' goal='maximise'/>"
                         "</space>",
                         &file, &error);
    FUZZ_CHECK(file);
    return file;
}

/* The exploration of the seeds, whose machines have the text "x" alone. */
static struct spex_store_fleet fleet_made(void) {
    static char x[] = "x";
    struct spex_store_fleet fleet = {"00000000000000aa", ""};
    struct spex_circumstances machine;
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        machine.texts[c] = x;
    spex_circumstances_class(&machine, fleet.class);
    return fleet;
}

static void check_error(int err, const struct spex_error *error) {
    FUZZ_CHECK(err == -EINVAL || err == -E2BIG);
    FUZZ_CHECK(*error->text && !strchr(error->text, '\n') && spex_is_printable(error->text));
}

static void check_result(const struct spex_trial_result *result, const struct spex_space *space,
                         const struct spex_store_fleet *fleet) {
    const struct spex_trial *trial = &result->trial;
    struct spex_trial_result again;
    struct spex_error error;
    FUZZ_CHECK(result->id.asked > 0 && spex_is_printable(trial->status));
    FUZZ_CHECK(trial->levels[0] < 3 && trial->levels[1] < 2);
    FUZZ_CHECK(trial->ok == isfinite(trial->measured[0].value));
    FUZZ_CHECK(trial->seconds >= 0 && (int64_t)trial->records_used >= 0);
    char *text = spex_trial_result_write(result, fleet, space);
    FUZZ_CHECK(text);
    FUZZ_CHECK(spex_trial_result_read(text, strlen(text), space, fleet, &again, &error) == 0);
    spex_trial_result_free(&again);
    free(text);
}

static void check_task(const struct spex_trial_task *task) {
    FUZZ_CHECK(task->id.asked > 0 && spex_is_printable(task->plan.probes));
    FUZZ_CHECK(task->plan.levels[0] < 3 && task->plan.levels[1] < 2);
    FUZZ_CHECK(task->plan.duration_seconds > 0 && task->plan.duration_seconds <= 60);
}

static void feed_signs(const char *text, size_t size) {
    struct spex_trial_offer offer;
    struct spex_trial_worker worker;
    struct spex_error error = {""};
    int err = spex_trial_offer_read(text, size, &offer, &error);
    if (err)
        check_error(err, &error);
    else
        FUZZ_CHECK(strlen(offer.key) == SPEX_CLASS_BYTES - 1);
    err = spex_trial_worker_read(text, size, &worker, &error);
    if (err)
        check_error(err, &error);
    else
        FUZZ_CHECK(spex_is_printable(worker.machine.texts[SPEX_ON_HOST]));
    spex_circumstances_free(&worker.machine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct spex_store_fleet fleet = fleet_made();
    const struct spex_space *space = &space_made()->space;
    struct spex_trial_task task;
    struct spex_trial_result result;
    struct spex_error error = {""};
    char *text = fuzz_text(data, size);
    feed_signs(text, size);
    int err = spex_trial_task_read(text, size, space, &task, &error);
    if (err)
        check_error(err, &error);
    else
        check_task(&task);
    spex_trial_task_free(&task);
    err = spex_trial_result_read(text, size, space, &fleet, &result, &error);
    if (err)
        check_error(err, &error);
    else
        check_result(&result, space, &fleet);
    spex_trial_result_free(&result);
    free(text);
    return 0;
}

#define MACHINE "\"machine\":[\"x\",\"x\",\"x\",\"x\",\"x\",\"x\",\"x\"]"
#define OF                                                                                         \
    "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"00000000000000bb\","           \
    "\"trial\":[3,0],\"levels\":[2,1],"

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const char *const seeds[] = {
        OF "\"ok\":true,\"status\":\"ok\",\"measured\":[[5.5,null]],\"used\":9,\"lost\":0,"
           "\"seconds\":0.5,\"steady\":true,\"usage\":[0.5,0,true,1,2,3,4,5,6,7,8,9],"
           "\"loads\":[[\"cpu\",2,null]],\"note\":null,"
           "\"metrics\":[[9,-1,2,0,\"q\",null,5,0.5,null,1,1,1,1,1,1,1]]," MACHINE "}",
        OF "\"ok\":false,\"status\":\"no\",\"measured\":[],\"used\":0,\"lost\":0,\"seconds\":0,"
           "\"steady\":false,\"usage\":null,\"loads\":[],\"note\":\"n\",\"metrics\":[]," MACHINE
           "}",
        OF "\"probes\":\"q:tpt\",\"duration\":9.5}",
        "{\"format\":1,\"key\":\"00000000000000cc\",\"exploration\":\"00000000000000aa\"}",
        "{\"format\":1,\"worker\":7,\"key\":\"00000000000000cc\"," MACHINE "}",
    };
    return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), number, data, room);
}

const char *const fuzz_words[] = {
    "{",         "}",     "[",      "]",       "\"",      ",",    ":",
    "null",      "1e400", "-1",     "0",       "1",       "7",    "true",
    "false",     "\"x\"", "\"ok\"", "\\u0000", "\\u001b", "\xff", "999999999999999999",
    "\"q:tpt\"", NULL};
