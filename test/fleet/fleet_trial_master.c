/* SPDX-License-Identifier: MIT */
/* What the master of a fleet's exploration does second by second, while the network, the workers
 * and the explorer do what a test says. */
#define _GNU_SOURCE
#include "made_link.h"

#include "fleet/trials/trial_master.h"
#include "fleet/trials/trial_message.h"

static const char xml[] =
    "<space name=\"test\"><parameter name=\"a\" type=\"integer\" values=\"1 2 4\"/>"
    "<objective probe=\"work:tpt\" metric=\"throughput\" goal=\"maximise\"/>"
    "<run duration=\"5\"/></space>";

static const char exploration[] = "00000000000000aa";
static char program_name[] = "./program", *program[] = {program_name, NULL};
static struct spex_space_file *file;

static struct spex_circumstances machine_of(const char *host, const char *kernel) {
    struct spex_circumstances machine;
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        machine.texts[c] = strdup(c == SPEX_ON_HOST ? host : c == SPEX_ON_KERNEL ? kernel : "x");
    return machine;
}

static void class_of(const char *kernel, char class[SPEX_CLASS_BYTES]) {
    struct spex_circumstances machine = machine_of("any", kernel);
    spex_circumstances_class(&machine, class);
    spex_circumstances_free(&machine);
}

static char *sign(const char *text) {
    unsigned id;
    char host[32], kernel[32], key[32];
    assert_int_equal(sscanf(text, "%u %31s %31s %31s", &id, host, kernel, key), 4);
    struct spex_trial_worker worker = {.id = id, .machine = machine_of(host, kernel)};
    assert_int_equal(spex_trial_key(file, program, worker.key), 0);
    if (key[0] != '-')
        strcpy(worker.key, exploration);
    char *made_text = spex_trial_worker_write(&worker);
    spex_circumstances_free(&worker.machine);
    return made_text;
}

static char *result(const char *text) {
    unsigned asked;
    size_t level;
    char kernel[32];
    struct spex_store_fleet of;
    assert_int_equal(sscanf(text, "%u %zu %31s", &asked, &level, kernel), 3);
    struct spex_trial_result made_result = {.id = {asked, 0}, .machine = machine_of("h", kernel)};
    struct spex_trial *trial = &made_result.trial;
    assert_int_equal(spex_trial_init(trial, &file->space, &level), 0);
    spex_trial_end(trial, "failed");
    strcpy(of.exploration, exploration);
    class_of(kernel, of.class);
    char *made_text = spex_trial_result_write(&made_result, &of, &file->space);
    spex_trial_result_free(&made_result);
    return made_text;
}

/* "ID HOST KERNEL KEY" of a worker, where KEY is "-" for ours; "TRIAL LEVEL KERNEL" of a result; or
 * else the text itself. */
static char *text_of(const struct event *event) {
    if (event->text[0] == '{')
        return strdup(event->text);
    return strcmp(event->what, "message") == 0 ? sign(event->text) : result(event->text);
}

/* Trials from 50 on are not to be handed out. */
static enum spex_trial_state state_of(const void *explorer, const struct spex_trial_id *id) {
    assert_ptr_equal(explorer, program);
    return id->asked < 50   ? SPEX_TRIAL_AWAITED
           : id->asked < 60 ? SPEX_TRIAL_WAITS
           : id->asked < 70 ? SPEX_TRIAL_OVER
                            : SPEX_TRIAL_UNKNOWN;
}

static void tell_line(const char *line) {
    told("\"%s\"", line);
}

static int wait_for_result(const struct spex_elsewhere *master, struct spex_error *error) {
    struct spex_trial_result taken;
    int err = master->wait(master->user, &taken, error);
    if (err)
        return err;
    told("trial %u of level %zu: %s", (unsigned)taken.id.asked, taken.trial.levels[0],
         taken.trial.status);
    spex_trial_result_free(&taken);
    return 0;
}

/* Does what the letters say, as an explorer does: hands out a trial of level 1 (h), waits for one
 * (w), which is stored (s), asks how many can run (p); the exploration is over (o). */
static int act(const struct spex_elsewhere *master, const char *acts, struct spex_error *error) {
    size_t level = 1;
    const struct spex_plan plan = {
        .size = sizeof(plan), .levels = &level, .probes = "work:tpt", .duration_seconds = 2.5};
    struct spex_trial_id id = {0, 0};
    int err = 0;
    for (; *acts && !err; acts++) {
        if (*acts == 'p')
            told("%zu places", master->places(master->user));
        if (*acts == 'h') {
            id.asked++;
            err = master->start(master->user, &plan, &id, error);
        }
        err = *acts == 'w' ? wait_for_result(master, error) : err;
        err = *acts == 's' ? master->stored(master->user, error) : err;
        err = *acts == 'o' ? master->over(master->user, error) : err;
    }
    return err;
}

/* Classes are told by their kernels; NULL: none. */
static void run(const struct event *events, const char *class, const char *stored, const char *acts,
                const char *expected) {
    char wanted[SPEX_CLASS_BYTES];
    const struct spex_explore_options options = {
        .stop_fd = STOP_FD, .argv = program, .store = "store.db"};
    const struct spex_trial_master_options how = {
        {.url = "nats"}, "shop", class ? wanted : NULL, tell_line};
    struct spex_store_fleet fleet = {"00000000000000aa", ""};
    struct spex_trial_master *master;
    struct spex_error error = {""};
    assert_int_equal(spex_space_parse("test", xml, &file, &error), 0);
    const struct spex_exploration of = {&options, file, &fleet, state_of, program};
    if (class)
        class_of(class, wanted);
    if (stored)
        class_of(stored, fleet.class);
    made_begin(events, text_of);
    int err = spex_trial_master_open(&how, &master, &error);
    if (!err) {
        const struct spex_elsewhere elsewhere = spex_trial_master_elsewhere(master);
        err = elsewhere.open(elsewhere.user, &of, &error);
        told("class %s", fleet.class);
        err = err ? err : act(&elsewhere, acts, &error);
    }
    told("%d %s", err, err ? error.text : "");
    spex_trial_master_close(master);
    spex_space_free(file);
    made_end(expected);
}

/* The class of the only machines that are there, once they had time to tell of themselves. */
static void the_class_is_chosen(void **unused) {
    (void)unused;
    static const struct event one[] = {{0.5, "message", 0, "9 z 6.1 other"},
                                       {1.23, "message", 0, "1 a 6.1 -"},
                                       {1.3, "message", 0, "{}"},
                                       {1.5, "message", 0, "{}"},
                                       {3, "message", 0, "2 b 6.1 -"},
                                       {3, "message", 0, "3 c 6.1 -"},
                                       {0, NULL, 0, NULL}};
    static const struct event two[] = {{0, "message", 0, "1 a 6.1 -"},
                                       {1, "message", 0, "2 b 6.2 -"},
                                       {1, "message", 0, "3 c 6.2 -"},
                                       {0, NULL, 0, NULL}};
    static const struct event stopped[] = {
        {2, "down", 0, ""}, {4, "stop", 0, ""}, {0, NULL, 0, NULL}};
    static const struct event refused[] = {{2, "state", -EACCES, ""}, {0, NULL, 0, NULL}};
    static const struct event none[] = {{0, NULL, 0, NULL}};
    static const struct event no_link[] = {{0, "open", -EACCES, ""}, {0, NULL, 0, NULL}};
    static const struct event no_inbox[] = {{0, "listen", -ENOMEM, ""}, {0, NULL, 0, NULL}};
    run(one, NULL, NULL, "p",
        "0 open nats: 0\n"
        "0 listen spex.shop.worker 4096: 0\n"
        "0 send spex.shop.offer.00000000000000aa "
        "{\"format\":1,\"key\":\"ff006176882f7479\",\"exploration\":\"00000000000000aa\"}\n"
        "0 \"no agent is there that may run this space and program: waiting\"\n"
        "1.3 \"a message of format 1 was expected\"\n"
        "3.9 \"class e9641cd7005fc78c: kernel 6.1, cpu x, cpus x, memory x, build x, spex x; hosts "
        "a, b, c\"\n"
        "3.9 class e9641cd7005fc78c\n"
        "3.9 3 places\n"
        "3.9 0 \n"
        "3.9 4 sent, 0 open\n");
    run(two, NULL, NULL, "p",
        "0 open nats: 0\n"
        "0 listen spex.shop.worker 4096: 0\n"
        "0 send spex.shop.offer.00000000000000aa "
        "{\"format\":1,\"key\":\"ff006176882f7479\",\"exploration\":\"00000000000000aa\"}\n"
        "2.6 \"class e9641cd7005fc78c: kernel 6.1, cpu x, cpus x, memory x, build x, spex x; hosts "
        "a\"\n"
        "2.6 \"class 5487bd22b48eff4f: kernel 6.2, cpu x, cpus x, memory x, build x, spex x; hosts "
        "b, c\"\n"
        "2.6 class \n"
        "2.6 -22 --class was expected: hosts of 2 classes are there, whose results are not "
        "comparable\n"
        "2.6 3 sent, 0 open\n");
    run(two, "6.2", NULL, "p",
        "0 open nats: 0\n"
        "0 listen spex.shop.worker 4096: 0\n"
        "0 class 5487bd22b48eff4f\n"
        "0 1 places\n"
        "0 0 \n"
        "0 0 sent, 0 open\n");
    run(none, NULL, "6.2", "po",
        "0 open nats: 0\n"
        "0 listen spex.shop.worker 4096: 0\n"
        "0 class 5487bd22b48eff4f\n"
        "0 1 places\n"
        "0 0 \n"
        "0 0 sent, 0 open\n");
    run(none, "6.2", "6.2", "p",
        "0 open nats: 0\n"
        "0 listen spex.shop.worker 4096: 0\n"
        "0 class 5487bd22b48eff4f\n"
        "0 1 places\n"
        "0 0 \n"
        "0 0 sent, 0 open\n");
    run(none, "6.1", "6.2", "p",
        "0 open nats: 0\n"
        "0 listen spex.shop.worker 4096: 0\n"
        "0 class 5487bd22b48eff4f\n"
        "0 -17 the store store.db has trials of class 5487bd22b48eff4f: --class e9641cd7005fc78c "
        "needs another one\n"
        "0 0 sent, 0 open\n");
    run(stopped, NULL, NULL, "p",
        "0 open nats: 0\n"
        "0 listen spex.shop.worker 4096: 0\n"
        "0 send spex.shop.offer.00000000000000aa "
        "{\"format\":1,\"key\":\"ff006176882f7479\",\"exploration\":\"00000000000000aa\"}\n"
        "0 \"no agent is there that may run this space and program: waiting\"\n"
        "2 \"NATS is not there\"\n"
        "4 class \n"
        "4 -4 interrupted\n"
        "4 4 sent, 0 open\n");
    run(refused, NULL, NULL, "p",
        "0 open nats: 0\n"
        "0 listen spex.shop.worker 4096: 0\n"
        "0 send spex.shop.offer.00000000000000aa "
        "{\"format\":1,\"key\":\"ff006176882f7479\",\"exploration\":\"00000000000000aa\"}\n"
        "0 \"no agent is there that may run this space and program: waiting\"\n"
        "2 class \n"
        "2 -13 state fails\n"
        "2 2 sent, 0 open\n");
    run(no_link, NULL, NULL, "p",
        "0 open nats: -13\n"
        "0 -13 open fails\n"
        "0 0 sent, 0 open\n");
    run(no_inbox, NULL, NULL, "p",
        "0 open nats: 0\n"
        "0 listen spex.shop.worker 4096: -12\n"
        "0 -12 cannot listen to agents: Cannot allocate memory\n"
        "0 0 sent, 0 open\n");
}

/* Those of other classes are told of, and that there are none. */
static void workers_come_and_go(void **unused) {
    (void)unused;
    static const struct event events[] = {
        {1, "message", 0, "1 a 6.1 -"},   {2, "message", 0, "2 b 6.2 -"},
        {2.5, "message", 0, "2 b 6.2 -"}, {3, "message", 0, "2 b 6.3 -"},
        {4, "message", 0, "1 a 6.1 -"},   {10, "message", 0, "1 a 6.1 -"},
        {10, "message", 0, "3 c 6.1 -"},  {14, "message", 0, "3 c 6.1 -"},
        {20, "job", 1, "1 1 6.1"},        {0, NULL, 0, NULL}};
    run(events, "6.1", NULL, "hwp",
        "0 open nats: 0\n"
        "0 listen spex.shop.worker 4096: 0\n"
        "0 class e9641cd7005fc78c\n"
        "0 send spex.shop.offer.00000000000000aa "
        "{\"format\":1,\"key\":\"ff006176882f7479\",\"exploration\":\"00000000000000aa\",\"class\":"
        "\"e9641cd7005fc78c\"}\n"
        "0 \"no agent of class e9641cd7005fc78c is there that may run this space and program: "
        "waiting\"\n"
        "0 stream trials_shop spex.shop.trial: 0\n"
        "0 make trials_shop/00000000000000aa of spex.shop.trial.00000000000000aa.*, 10 s\n"
        "0 stream results_shop spex.shop.result: 0\n"
        "0 make results_shop/00000000000000aa of spex.shop.result.00000000000000aa.*, 10 s\n"
        "0 queue results_shop/00000000000000aa: 0\n"
        "0.1 put once spex.shop.trial.00000000000000aa.1-0 "
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"e9641cd7005fc78c\","
        "\"trial\":[1,0],\"levels\":[1],\"probes\":\"work:tpt\",\"duration\":2.5}: 0\n"
        "2 \"host b runs no trials here: it is of another class, 5487bd22b48eff4f, with kernel 6.2 "
        "and not 6.1\"\n"
        "3 \"host b runs no trials here: it is of another class, 351f25943e02600e, with kernel 6.3 "
        "and not 6.1\"\n"
        "9.1 \"no agent of class e9641cd7005fc78c is there that may run this space and program: "
        "waiting\"\n"
        "10.1 put once spex.shop.trial.00000000000000aa.1-0 as before: 0\n"
        "19.1 \"no agent of class e9641cd7005fc78c is there that may run this space and program: "
        "waiting\"\n"
        "20 take 1 1 6.1\n"
        "20 trial 1 of level 1: failed\n"
        "20 1 places\n"
        "20 0 \n"
        "20 end job.1 1 6.1: again\n"
        "20 close results_shop/00000000000000aa\n"
        "20 21 sent, 0 open\n");
}

static void results_come_back(void **unused) {
    (void)unused;
    static const struct event events[] = {{0, "message", 0, "1 a 6.1 -"},
                                          {0, "stream", -ETIMEDOUT, ""},
                                          {1, "queue", -ETIMEDOUT, ""},
                                          {2.5, "put", -EEXIST, ""},
                                          {2.5, "put", -ETIMEDOUT, ""},
                                          {3, "job", 1, "{}"},
                                          {3.2, "job", 1, "2 0 6.1"},
                                          {3.3, "job", 1, "2 1 6.2"},
                                          {3.4, "job", 1, "71 1 6.1"},
                                          {3.5, "job", 1, "61 1 6.1"},
                                          {3.6, "job", 1, "51 1 6.1"},
                                          {3.7, "job", 1, "40 1 6.1"},
                                          {4, "job", 1, "2 1 6.1"},
                                          {5, "message", 0, "1 a 6.1 -"},
                                          {6, "down", 0, ""},
                                          {7.2, "up", 0, ""},
                                          {9, "take", -ENOENT, ""},
                                          {9, "message", 0, "1 a 6.1 -"},
                                          {9.5, "job", 1, "3 1 6.1"},
                                          {13, "message", 0, "1 a 6.1 -"},
                                          {17, "message", 0, "1 a 6.1 -"},
                                          {21, "message", 0, "1 a 6.1 -"},
                                          {24, "job", 1, "1 1 6.1"},
                                          {24.5, "job", 1, "60 1 6.1"},
                                          {0, NULL, 0, NULL}};
    run(events, "6.1", NULL, "hhhwswswso",
        "0 open nats: 0\n"
        "0 listen spex.shop.worker 4096: 0\n"
        "0 class e9641cd7005fc78c\n"
        "0 send spex.shop.offer.00000000000000aa "
        "{\"format\":1,\"key\":\"ff006176882f7479\",\"exploration\":\"00000000000000aa\",\"class\":"
        "\"e9641cd7005fc78c\"}\n"
        "0 stream trials_shop spex.shop.trial: -110\n"
        "0 \"stream fails\"\n"
        "1 stream trials_shop spex.shop.trial: 0\n"
        "1 make trials_shop/00000000000000aa of spex.shop.trial.00000000000000aa.*, 10 s\n"
        "1 stream results_shop spex.shop.result: 0\n"
        "1 make results_shop/00000000000000aa of spex.shop.result.00000000000000aa.*, 10 s\n"
        "1 queue results_shop/00000000000000aa: -110\n"
        "1 \"queue fails\"\n"
        "2 stream trials_shop spex.shop.trial: 0\n"
        "2 make trials_shop/00000000000000aa of spex.shop.trial.00000000000000aa.*, 10 s\n"
        "2 stream results_shop spex.shop.result: 0\n"
        "2 make results_shop/00000000000000aa of spex.shop.result.00000000000000aa.*, 10 s\n"
        "2 queue results_shop/00000000000000aa: 0\n"
        "2.1 put once spex.shop.trial.00000000000000aa.1-0 "
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"e9641cd7005fc78c\","
        "\"trial\":[1,0],\"levels\":[1],\"probes\":\"work:tpt\",\"duration\":2.5}: 0\n"
        "2.1 put once spex.shop.trial.00000000000000aa.2-0 "
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"e9641cd7005fc78c\","
        "\"trial\":[2,0],\"levels\":[1],\"probes\":\"work:tpt\",\"duration\":2.5}: 0\n"
        "2.1 put once spex.shop.trial.00000000000000aa.3-0 "
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"e9641cd7005fc78c\","
        "\"trial\":[3,0],\"levels\":[1],\"probes\":\"work:tpt\",\"duration\":2.5}: 0\n"
        "3 take {}\n"
        "3 \"a result of job.{} is refused: a message of format 1 was expected\"\n"
        "3 end job.{}: done\n"
        "3.2 take 2 0 6.1\n"
        "3.2 \"a result of job.2 0 6.1 is refused: another configuration was expected\"\n"
        "3.2 end job.2 0 6.1: done\n"
        "3.3 take 2 1 6.2\n"
        "3.3 \"a result of job.2 1 6.2 is refused: machine: one of class e9641cd7005fc78c was "
        "expected, not 5487bd22b48eff4f\"\n"
        "3.3 end job.2 1 6.2: done\n"
        "3.4 take 71 1 6.1\n"
        "3.4 \"a result of job.71 1 6.1 is refused: no such trial was handed out\"\n"
        "3.4 end job.71 1 6.1: done\n"
        "3.5 take 61 1 6.1\n"
        "3.5 end job.61 1 6.1: done\n"
        "3.6 take 51 1 6.1\n"
        "3.6 end job.51 1 6.1: later\n"
        "3.7 take 40 1 6.1\n"
        "3.7 end job.40 1 6.1: done\n"
        "4 take 2 1 6.1\n"
        "4 trial 2 of level 1: failed\n"
        "4 end job.2 1 6.1: done\n"
        "6 \"NATS is not there\"\n"
        "7.2 \"NATS is there again\"\n"
        "7.2 close results_shop/00000000000000aa\n"
        "7.2 stream trials_shop spex.shop.trial: 0\n"
        "7.2 make trials_shop/00000000000000aa of spex.shop.trial.00000000000000aa.*, 10 s\n"
        "7.2 stream results_shop spex.shop.result: 0\n"
        "7.2 make results_shop/00000000000000aa of spex.shop.result.00000000000000aa.*, 10 s\n"
        "7.2 queue results_shop/00000000000000aa: 0\n"
        "7.3 put once spex.shop.trial.00000000000000aa.1-0 as before: -17\n"
        "7.3 put once spex.shop.trial.00000000000000aa.3-0 as before: -110\n"
        "7.3 \"put fails\"\n"
        "7.4 put once spex.shop.trial.00000000000000aa.1-0 as before: 0\n"
        "7.4 put once spex.shop.trial.00000000000000aa.3-0 as before: 0\n"
        "9 take: -2\n"
        "9 close results_shop/00000000000000aa\n"
        "9 stream trials_shop spex.shop.trial: 0\n"
        "9 make trials_shop/00000000000000aa of spex.shop.trial.00000000000000aa.*, 10 s\n"
        "9 stream results_shop spex.shop.result: 0\n"
        "9 make results_shop/00000000000000aa of spex.shop.result.00000000000000aa.*, 10 s\n"
        "9 queue results_shop/00000000000000aa: 0\n"
        "9.1 put once spex.shop.trial.00000000000000aa.1-0 as before: 0\n"
        "9.1 put once spex.shop.trial.00000000000000aa.3-0 as before: 0\n"
        "9.5 take 3 1 6.1\n"
        "9.5 trial 3 of level 1: failed\n"
        "9.5 end job.3 1 6.1: done\n"
        "19.1 put once spex.shop.trial.00000000000000aa.1-0 as before: 0\n"
        "24 take 1 1 6.1\n"
        "24 trial 1 of level 1: failed\n"
        "24 end job.1 1 6.1: done\n"
        "24.1 close results_shop/00000000000000aa\n"
        "24.1 queue trials_shop/00000000000000aa: 0\n"
        "24.2 close trials_shop/00000000000000aa\n"
        "24.2 delete trials_shop/00000000000000aa\n"
        "24.2 delete results_shop/00000000000000aa\n"
        "24.2 0 \n"
        "24.2 25 sent, 0 open\n");
}

/* What it cannot go on with; and a result that was not stored is given back. */
static void ends(void **unused) {
    (void)unused;
    static const struct event no_stream[] = {{0, "stream", -EACCES, ""}, {0, NULL, 0, NULL}};
    static const struct event no_queue[] = {{0, "queue", -ENOMEM, ""}, {0, NULL, 0, NULL}};
    static const struct event refused[] = {{0, "put", -EACCES, ""}, {0, NULL, 0, NULL}};
    static const struct event too_large[] = {{0, "put", -E2BIG, ""}, {0, NULL, 0, NULL}};
    static const struct event stopped[] = {{3, "stop", 0, ""}, {0, NULL, 0, NULL}};
    static const struct event held[] = {{2, "job", 1, "1 1 6.1"}, {0, NULL, 0, NULL}};
    run(no_stream, "6.1", NULL, "hw",
        "...\n"
        "0 \"no agent of class e9641cd7005fc78c is there that may run this space and program: "
        "waiting\"\n"
        "0 stream trials_shop spex.shop.trial: -13\n"
        "0 -13 stream fails\n"
        "0 1 sent, 0 open\n");
    run(no_queue, "6.1", NULL, "hw",
        "...\n"
        "0 make results_shop/00000000000000aa of spex.shop.result.00000000000000aa.*, 10 s\n"
        "0 queue results_shop/00000000000000aa: -12\n"
        "0 -12 queue fails\n"
        "0 1 sent, 0 open\n");
    run(refused, "6.1", NULL, "hw",
        "...\n"
        "0.1 put once spex.shop.trial.00000000000000aa.1-0 "
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"e9641cd7005fc78c\","
        "\"trial\":[1,0],\"levels\":[1],\"probes\":\"work:tpt\",\"duration\":2.5}: -13\n"
        "0.1 -13 put fails\n"
        "0.1 close results_shop/00000000000000aa\n"
        "0.1 1 sent, 0 open\n");
    run(too_large, "6.1", NULL, "hw",
        "...\n"
        "0.1 put once spex.shop.trial.00000000000000aa.1-0 "
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"e9641cd7005fc78c\","
        "\"trial\":[1,0],\"levels\":[1],\"probes\":\"work:tpt\",\"duration\":2.5}: -7\n"
        "0.1 -7 put fails\n"
        "0.1 close results_shop/00000000000000aa\n"
        "0.1 1 sent, 0 open\n");
    run(stopped, "6.1", NULL, "hw",
        "...\n"
        "0.1 put once spex.shop.trial.00000000000000aa.1-0 "
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"e9641cd7005fc78c\","
        "\"trial\":[1,0],\"levels\":[1],\"probes\":\"work:tpt\",\"duration\":2.5}: 0\n"
        "3 -4 interrupted\n"
        "3 close results_shop/00000000000000aa\n"
        "3 3 sent, 0 open\n");
    run(held, "6.1", NULL, "hhw",
        "...\n"
        "0.1 put once spex.shop.trial.00000000000000aa.2-0 "
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"e9641cd7005fc78c\","
        "\"trial\":[2,0],\"levels\":[1],\"probes\":\"work:tpt\",\"duration\":2.5}: 0\n"
        "2 take 1 1 6.1\n"
        "2 trial 1 of level 1: failed\n"
        "2 0 \n"
        "2 end job.1 1 6.1: again\n"
        "2 close results_shop/00000000000000aa\n"
        "2 3 sent, 0 open\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_class_is_chosen),
        cmocka_unit_test(workers_come_and_go),
        cmocka_unit_test(results_come_back),
        cmocka_unit_test(ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
