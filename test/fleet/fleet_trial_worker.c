/* SPDX-License-Identifier: MIT */
/* What a worker of a fleet's explorations does second by second, while the network, the explorers
 * and the programs that it runs do what a test says. */
#define _GNU_SOURCE
#include "made_link.h"

#include <sys/random.h>

#include "explore/trial/runner.h"
#include "fleet/trials/trial_message.h"
#include "fleet/trials/trial_worker.h"
#include "fleet/trials/work_place.h"

static const char xml[] =
    "<space name=\"test\"><parameter name=\"a\" type=\"integer\" values=\"1 2 4\"/>"
    "<objective probe=\"work:tpt\" metric=\"throughput\" goal=\"maximise\"/>"
    "<run duration=\"5\"/></space>";

static char program_name[] = "./program", *program[] = {program_name, NULL};
static const char other_key[] = "00000000000000aa";

/* The machine has this build of the program, by which its class is told. */
static const char *build;

static struct spex_circumstances machine_of(const char *host, const char *of) {
    struct spex_circumstances machine;
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        machine.texts[c] = strdup(c == SPEX_ON_HOST ? host : c == SPEX_ON_BUILD ? of : "x");
    return machine;
}

int __wrap_spex_circumstances_now(const char *of, struct spex_circumstances *now);
int __wrap_spex_circumstances_now(const char *of, struct spex_circumstances *now) {
    const struct event *event = event_of("build", false);
    assert_string_equal(of, "./program");
    build = event ? event->text : build;
    *now = machine_of("here", build);
    return 0;
}

ssize_t __wrap_getrandom(void *room, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *room, size_t size, unsigned flags) {
    const uint32_t number = 0xabc;
    (void)flags;
    assert_int_equal(size, sizeof(number));
    memcpy(room, &number, sizeof(number));
    return failure_of("random", NULL) ? 0 : (ssize_t)size;
}

static int runner;

int spex_work_place_open(const char *space, char *const *argv, struct spex_work_place *place,
                         struct spex_error *error) {
    int err = failure_of("place", error);
    *place = (struct spex_work_place){.argv = argv, .lock = -1};
    err = err ? err : spex_space_parse(space, xml, &place->file, error);
    place->runner = err ? NULL : (struct spex_runner *)&runner;
    return err;
}

void spex_work_place_close(struct spex_work_place *place) {
    assert_null(place->runner);
    spex_space_free(place->file);
}

void spex_runner_destroy(struct spex_runner *which) {
    if (which)
        told("runner's end");
}

int spex_runner_start(struct spex_runner *which, const struct spex_plan *plan, uint64_t asked,
                      uint64_t tell, struct spex_error *error) {
    int err = failure_of("start", error);
    assert_ptr_equal(which, &runner);
    told("start %u of %s for %g s, level %zu, %u: %d", (unsigned)asked, plan->probes,
         plan->duration_seconds, plan->levels[0], (unsigned)tell, err);
    return err;
}

int spex_runner_finished_fd(const struct spex_runner *which) {
    assert_ptr_equal(which, &runner);
    return FINISHED_FD;
}

int spex_runner_wait(struct spex_runner *which, struct spex_trial *trial,
                     struct spex_error *error) {
    struct spex_space_file *file;
    size_t level = 2;
    int err = failure_of("wait", error);
    assert_ptr_equal(which, &runner);
    assert_non_null(event_of("finished", false));
    if (err)
        return err;
    assert_int_equal(spex_space_parse("test", xml, &file, error), 0);
    assert_int_equal(spex_trial_init(trial, &file->space, &level), 0);
    spex_trial_end(trial, "ok");
    trial->ok = trial->steady = true;
    trial->measured[0] = (struct spex_measured){0.5, 0.25};
    trial->seconds = 5;
    spex_space_free(file);
    return 0;
}

static void class_of(const char *of, char class[SPEX_CLASS_BYTES]) {
    struct spex_circumstances machine = machine_of("any", of);
    spex_circumstances_class(&machine, class);
    spex_circumstances_free(&machine);
}

/* "KEY EXPLORATION BUILD" of an offer, where KEY is "-" for ours; "EXPLORATION BUILD" of a task; or
 * else the text itself. */
static char *text_of(const struct event *event) {
    struct spex_space_file *file;
    struct spex_error error;
    char key[32], exploration[32], of[32], *text;
    size_t level = 2;
    if (event->text[0] == '{')
        return strdup(event->text);
    assert_int_equal(spex_space_parse("test", xml, &file, &error), 0);
    if (strcmp(event->what, "message") == 0) {
        struct spex_trial_offer offer;
        assert_int_equal(sscanf(event->text, "%31s %16s %31s", key, exploration, of), 3);
        strcpy(offer.fleet.exploration, exploration);
        class_of(of, offer.fleet.class);
        assert_int_equal(spex_trial_key(file, program, offer.key), 0);
        if (key[0] != '-')
            strcpy(offer.key, other_key);
        text = spex_trial_offer_write(&offer);
    } else {
        assert_int_equal(sscanf(event->text, "%16s %31s", exploration, of), 2);
        struct spex_trial_task task = {.id = {(uint64_t)made_now(), 2},
                                       .plan = {.size = sizeof(struct spex_plan),
                                                .levels = &level,
                                                .probes = "work:tpt",
                                                .duration_seconds = 2.5}};
        strcpy(task.fleet.exploration, exploration);
        class_of(of, task.fleet.class);
        text = spex_trial_task_write(&task, &file->space);
    }
    spex_space_free(file);
    return text;
}

static void tell_line(const char *line) {
    told("\"%s\"", line);
}

static void tell_trial(void *user, const char *event, const struct spex_space *space,
                       const size_t *levels, const char *status) {
    assert_ptr_equal(user, &runner);
    told("trial of level %zu of %zu %s: %s", levels[0], space->parameters[0].count, event,
         status ? status : "");
}

static void run(const struct event *events, const char *host, const char *expected) {
    const struct spex_trial_worker_options options = {.link = {.url = "nats"},
                                                      .fleet = "shop",
                                                      .host = host,
                                                      .space = "test",
                                                      .argv = program,
                                                      .stop_fd = STOP_FD,
                                                      .tell = tell_line,
                                                      .trial = tell_trial,
                                                      .user = &runner};
    struct spex_error error = {""};
    build = "b1";
    made_begin(events, text_of);
    int err = spex_trial_worker_run(&options, &error);
    told("%d %s", err, err ? error.text : "");
    made_end(expected);
}

/* Of another program or class, malformed; and the exploration that is followed as long as it is
 * heard of. */
static void offers(void **unused) {
    (void)unused;
    static const struct event events[] = {{0.5, "message", 0, "0 00000000000000aa b1"},
                                          {1, "message", 0, "- 00000000000000aa b2"},
                                          {1.5, "message", 0, "{}"},
                                          {2, "message", 0, "{}"},
                                          {3, "message", 0, "- 00000000000000aa b1"},
                                          {3, "queue", -ENOENT, ""},
                                          {4, "message", 0, "- 00000000000000bb b1"},
                                          {4.1, "queue", -ETIMEDOUT, ""},
                                          {5.2, "queue", -ETIMEDOUT, ""},
                                          {7, "message", 0, "- 00000000000000aa b1"},
                                          {11.9, "message", 0, "- 00000000000000bb b1"},
                                          {12.4, "message", 0, "- 00000000000000bb b1"},
                                          {14, "build", 0, "b2"},
                                          {16, "build", 0, "b1"},
                                          {17, "message", 0, "- 00000000000000bb b1"},
                                          {19, "down", 0, ""},
                                          {20.5, "up", 0, ""},
                                          {21.5, "message", 0, "- 00000000000000bb b1"},
                                          {23, "take", -ENOENT, ""},
                                          {23, "queue", -ENOENT, ""},
                                          {26, "message", 0, "- 00000000000000bb b1"},
                                          {40, "stop", 0, ""},
                                          {0, NULL, 0, NULL}};
    run(events, "there",
        "0 open nats: 0\n"
        "0 listen spex.shop.offer 1024: 0\n"
        "0 send spex.shop.worker.00000abc "
        "{\"format\":1,\"worker\":2748,\"key\":\"ff006176882f7479\",\"machine\":[\"there\",\"x\","
        "\"x\",\"x\",\"x\",\"b1\",\"x\"]}\n"
        "1.5 \"a message of format 1 was expected\"\n"
        "3 queue trials_shop/00000000000000aa: -2\n"
        "4 queue trials_shop/00000000000000aa: 0\n"
        "12.45 close trials_shop/00000000000000aa\n"
        "12.45 queue trials_shop/00000000000000bb: -110\n"
        "12.45 \"queue fails\"\n"
        "13.45 queue trials_shop/00000000000000bb: -110\n"
        "14.05 send spex.shop.worker.00000abc "
        "{\"format\":1,\"worker\":2748,\"key\":\"ff006176882f7479\",\"machine\":[\"there\",\"x\","
        "\"x\",\"x\",\"x\",\"b2\",\"x\"]}\n"
        "16.05 send spex.shop.worker.00000abc as before\n"
        "16.05 queue trials_shop/00000000000000bb: 0\n"
        "19.05 \"NATS is not there\"\n"
        "20.55 \"NATS is there again\"\n"
        "20.55 close trials_shop/00000000000000bb\n"
        "20.55 queue trials_shop/00000000000000bb: 0\n"
        "23.05 take: -2\n"
        "23.05 close trials_shop/00000000000000bb\n"
        "23.05 queue trials_shop/00000000000000bb: -2\n"
        "24.05 queue trials_shop/00000000000000bb: 0\n"
        "40 runner's end\n"
        "40 close trials_shop/00000000000000bb\n"
        "40 0 \n"
        "40 40 sent, 0 open\n");
}

static void trials(void **unused) {
    (void)unused;
    static const struct event events[] = {{0, "message", 0, "- 00000000000000aa b1"},
                                          {3, "job", 1, "00000000000000aa b1"},
                                          {4, "message", 0, "- 00000000000000aa b1"},
                                          {8, "down", 0, ""},
                                          {12, "up", 0, ""},
                                          {13.05, "finished", 0, ""},
                                          {13, "put", -ETIMEDOUT, ""},
                                          {13.2, "put", -ETIMEDOUT, ""},
                                          {16, "message", 0, "- 00000000000000aa b1"},
                                          {16, "job", 1, "{}"},
                                          {17, "job", 1, "00000000000000bb b1"},
                                          {18, "job", 1, "00000000000000aa b2"},
                                          {19, "job", 5, "00000000000000aa b1"},
                                          {19.7, "finished", 0, ""},
                                          {20, "message", 0, "- 00000000000000aa b1"},
                                          {20.5, "job", 6, "00000000000000aa b1"},
                                          {22, "message", 0, "- 00000000000000aa b1"},
                                          {22.5, "job", 1, "00000000000000aa b1"},
                                          {23, "build", 0, "b2"},
                                          {24.5, "build", 0, "b1"},
                                          {24, "finished", 0, ""},
                                          {26, "job", 1, "00000000000000aa b1"},
                                          {27, "message", 0, "- 00000000000000aa b1"},
                                          {29, "stop", 0, ""},
                                          {0, NULL, 0, NULL}};
    run(events, NULL,
        "0 open nats: 0\n"
        "0 listen spex.shop.offer 1024: 0\n"
        "0 send spex.shop.worker.00000abc "
        "{\"format\":1,\"worker\":2748,\"key\":\"ff006176882f7479\",\"machine\":[\"here\",\"x\","
        "\"x\",\"x\",\"x\",\"b1\",\"x\"]}\n"
        "0 queue trials_shop/00000000000000aa: 0\n"
        "3 take 00000000000000aa b1\n"
        "3 start 3 of work:tpt for 2.5 s, level 2, 0: 0\n"
        "3 trial of level 2 of 3 began: \n"
        "6.4 keep job.00000000000000aa b1\n"
        "8 \"NATS is not there\"\n"
        "12 \"NATS is there again\"\n"
        "12 keep job.00000000000000aa b1\n"
        "13.05 trial of level 2 of 3 ended: ok\n"
        "13.05 put spex.shop.result.00000000000000aa.3-2 "
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"1534913f2fcd4eac\","
        "\"trial\":[3,2],\"levels\":[2],\"machine\":[\"here\",\"x\",\"x\",\"x\",\"x\",\"b1\",\"x\"]"
        ",\"ok\":true,\"status\":\"ok\",\"measured\":[[0.5,0.25]],\"used\":0,\"lost\":0,"
        "\"seconds\":5.0,\"steady\":true,\"usage\":null,\"loads\":[],\"note\":null,\"metrics\":[]}:"
        " -110\n"
        "13.05 \"put fails\"\n"
        "14.05 put spex.shop.result.00000000000000aa.3-2 as before: -110\n"
        "15.05 put spex.shop.result.00000000000000aa.3-2 as before: 0\n"
        "15.05 end job.00000000000000aa b1: done\n"
        "15.05 trial of level 2 of 3 sent: \n"
        "16.05 close trials_shop/00000000000000aa\n"
        "16.05 queue trials_shop/00000000000000aa: 0\n"
        "16.05 take {}\n"
        "16.05 \"trial job.{} is refused: a message of format 1 was expected\"\n"
        "16.05 end job.{}: done\n"
        "17.05 take 00000000000000bb b1\n"
        "17.05 \"trial job.00000000000000bb b1 is refused: it is of another exploration or "
        "class\"\n"
        "17.05 end job.00000000000000bb b1: done\n"
        "18.05 take 00000000000000aa b2\n"
        "18.05 \"trial job.00000000000000aa b2 is refused: it is of another exploration or "
        "class\"\n"
        "18.05 end job.00000000000000aa b2: done\n"
        "19.05 take 00000000000000aa b1\n"
        "19.05 start 19 of work:tpt for 2.5 s, level 2, 0: 0\n"
        "19.05 trial of level 2 of 3 began: \n"
        "19.7 trial of level 2 of 3 ended: ok\n"
        "19.7 put spex.shop.result.00000000000000aa.19-2 "
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"1534913f2fcd4eac\","
        "\"trial\":[19,2],\"levels\":[2],\"machine\":[\"here\",\"x\",\"x\",\"x\",\"x\",\"b1\","
        "\"x\"],\"ok\":true,\"status\":\"ok\",\"measured\":[[0.5,0.25]],\"used\":0,\"lost\":0,"
        "\"seconds\":5.0,\"steady\":true,\"usage\":null,\"loads\":[],\"note\":null,\"metrics\":[]}:"
        " 0\n"
        "19.7 end job.00000000000000aa b1: done\n"
        "19.7 trial of level 2 of 3 sent: \n"
        "20.7 take 00000000000000aa b1\n"
        "20.7 trial of level 2 of 3 ended: was given to 5 workers, of which none has ended it\n"
        "20.7 put spex.shop.result.00000000000000aa.20-2 "
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"1534913f2fcd4eac\","
        "\"trial\":[20,2],\"levels\":[2],\"machine\":[\"here\",\"x\",\"x\",\"x\",\"x\",\"b1\","
        "\"x\"],\"ok\":false,\"status\":\"was given to 5 workers, of which none has ended "
        "it\",\"measured\":[],\"used\":0,\"lost\":0,\"seconds\":0.0,\"steady\":false,\"usage\":"
        "null,\"loads\":[],\"note\":null,\"metrics\":[]}: 0\n"
        "20.7 end job.00000000000000aa b1: done\n"
        "20.7 trial of level 2 of 3 sent: \n"
        "22.7 take 00000000000000aa b1\n"
        "22.7 start 22 of work:tpt for 2.5 s, level 2, 0: 0\n"
        "22.7 trial of level 2 of 3 began: \n"
        "24 trial of level 2 of 3 changed: the machine is of another class now\n"
        "24 end job.00000000000000aa b1: again\n"
        "24.2 send spex.shop.worker.00000abc "
        "{\"format\":1,\"worker\":2748,\"key\":\"ff006176882f7479\",\"machine\":[\"here\",\"x\","
        "\"x\",\"x\",\"x\",\"b2\",\"x\"]}\n"
        "25.2 send spex.shop.worker.00000abc as before\n"
        "26.2 take 00000000000000aa b1\n"
        "26.2 start 26 of work:tpt for 2.5 s, level 2, 0: 0\n"
        "26.2 trial of level 2 of 3 began: \n"
        "29 runner's end\n"
        "29 end job.00000000000000aa b1: again\n"
        "29 close trials_shop/00000000000000aa\n"
        "29 0 \n"
        "29 29 sent, 0 open\n");
}

/* What it cannot go on with. */
static void ends(void **unused) {
    (void)unused;
    static const struct event no_place[] = {{0, "place", -EBUSY, ""}, {0, NULL, 0, NULL}};
    static const struct event no_program[] = {{0, "build", 0, "unknown"}, {0, NULL, 0, NULL}};
    static const struct event no_link[] = {{0, "open", -EACCES, ""}, {0, NULL, 0, NULL}};
    static const struct event no_inbox[] = {{0, "listen", -ENOMEM, ""}, {0, NULL, 0, NULL}};
    static const struct event refused[] = {{2, "state", -EACCES, ""}, {0, NULL, 0, NULL}};
    static const struct event no_queue[] = {
        {1, "message", 0, "- 00000000000000aa b1"}, {0, "queue", -EACCES, ""}, {0, NULL, 0, NULL}};
    static const struct event no_start[] = {{1, "message", 0, "- 00000000000000aa b1"},
                                            {1, "job", 1, "00000000000000aa b1"},
                                            {0, "start", -EMFILE, ""},
                                            {0, NULL, 0, NULL}};
    static const struct event no_wait[] = {{1, "message", 0, "- 00000000000000aa b1"},
                                           {1, "job", 1, "00000000000000aa b1"},
                                           {2, "finished", 0, ""},
                                           {0, "wait", -EIO, ""},
                                           {0, NULL, 0, NULL}};
    static const struct event no_result[] = {{1, "message", 0, "- 00000000000000aa b1"},
                                             {1, "job", 1, "00000000000000aa b1"},
                                             {2, "finished", 0, ""},
                                             {0, "put", -EACCES, ""},
                                             {0, NULL, 0, NULL}};
    run(no_place, NULL,
        "0 -16 place fails\n"
        "0 0 sent, 0 open\n");
    run(no_program, NULL,
        "0 runner's end\n"
        "0 -2 program ./program: a file that can be run was expected\n"
        "0 0 sent, 0 open\n");
    run(no_link, NULL,
        "0 open nats: -13\n"
        "0 runner's end\n"
        "0 -13 open fails\n"
        "0 0 sent, 0 open\n");
    run(no_inbox, NULL,
        "...\n"
        "0 open nats: 0\n"
        "0 listen spex.shop.offer 1024: -12\n"
        "0 runner's end\n"
        "0 -12 cannot listen to explorations: Cannot allocate memory\n"
        "0 0 sent, 0 open\n");
    run(refused, NULL,
        "...\n"
        "0 open nats: 0\n"
        "0 listen spex.shop.offer 1024: 0\n"
        "0 send spex.shop.worker.00000abc "
        "{\"format\":1,\"worker\":2748,\"key\":\"ff006176882f7479\",\"machine\":[\"here\",\"x\","
        "\"x\",\"x\",\"x\",\"b1\",\"x\"]}\n"
        "2 runner's end\n"
        "2 -13 state fails\n"
        "2 2 sent, 0 open\n");
    run(no_queue, NULL,
        "...\n"
        "0 listen spex.shop.offer 1024: 0\n"
        "0 send spex.shop.worker.00000abc "
        "{\"format\":1,\"worker\":2748,\"key\":\"ff006176882f7479\",\"machine\":[\"here\",\"x\","
        "\"x\",\"x\",\"x\",\"b1\",\"x\"]}\n"
        "1 queue trials_shop/00000000000000aa: -13\n"
        "1.1 runner's end\n"
        "1.1 -13 queue fails\n"
        "1.1 2 sent, 0 open\n");
    run(no_start, NULL,
        "...\n"
        "1 start 1 of work:tpt for 2.5 s, level 2, 0: -24\n"
        "1 runner's end\n"
        "1 end job.00000000000000aa b1: again\n"
        "1 close trials_shop/00000000000000aa\n"
        "1 -24 start fails\n"
        "1 2 sent, 0 open\n");
    run(no_wait, NULL,
        "...\n"
        "1 trial of level 2 of 3 began: \n"
        "2 runner's end\n"
        "2 end job.00000000000000aa b1: again\n"
        "2 close trials_shop/00000000000000aa\n"
        "2 -5 wait fails\n"
        "2 2 sent, 0 open\n");
    run(no_result, NULL,
        "...\n"
        "2 \"put fails\"\n"
        "2 runner's end\n"
        "2 end job.00000000000000aa b1: again\n"
        "2 close trials_shop/00000000000000aa\n"
        "2 -13 put fails\n"
        "2 3 sent, 0 open\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offers),
        cmocka_unit_test(trials),
        cmocka_unit_test(ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
