/* SPDX-License-Identifier: MIT */
/* Messages of explorations over hosts: what is written is read back as it was, and tasks that do not
 * fit the space are refused. What is refused of results is in fleet_bounds.c. */
#define _GNU_SOURCE
#include "../check.h"

#include <math.h>

#include "fleet/trials/handed_trials.h"
#include "fleet/trials/trial_message.h"
#include "fleet/trials/worker_list.h"

static const char xml[] =
    "<space name=\"test\"><parameter name=\"a\" type=\"integer\" values=\"1 2 4\"/>"
    "<parameter name=\"b\" type=\"boolean\"/>"
    "<parameter name=\"c\" type=\"integer\" min=\"1\" max=\"3\" when=\"$b\"/>"
    "<constraint require=\"$a &lt; 4 or $b\"/>"
    "<objective probe=\"work:tpt\" metric=\"throughput\" goal=\"maximise\"/>"
    "<limit probe=\"work:lat\" metric=\"p99\" at_most=\"1s\"/><run duration=\"5\"/></space>";

static const struct spex_store_fleet fleet = {"00000000000000aa", ""};

static struct spex_space_file *space_of(const char *text) {
    struct spex_space_file *file = NULL;
    struct spex_error error;
    assert_int_equal(spex_space_parse("test", text, &file, &error), 0);
    return file;
}

static struct spex_circumstances machine_of(const char *host, const char *kernel) {
    struct spex_circumstances machine;
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        machine.texts[c] = strdup("x");
    free(machine.texts[SPEX_ON_HOST]);
    free(machine.texts[SPEX_ON_KERNEL]);
    machine.texts[SPEX_ON_HOST] = strdup(host);
    machine.texts[SPEX_ON_KERNEL] = strdup(kernel);
    return machine;
}

TEST(classes_do_not_look_at_hosts) {
    char one[SPEX_CLASS_BYTES], two[SPEX_CLASS_BYTES], other[SPEX_CLASS_BYTES];
    struct spex_circumstances a = machine_of("a", "6.1"), b = machine_of("b", "6.1"),
                              c = machine_of("a", "6.2");
    spex_circumstances_class(&a, one);
    spex_circumstances_class(&b, two);
    spex_circumstances_class(&c, other);
    assert_string_equal(one, two);
    assert_string_not_equal(one, other);
    spex_circumstances_free(&a);
    spex_circumstances_free(&b);
    spex_circumstances_free(&c);
}

TEST(keys_are_of_space_and_arguments) {
    char one[SPEX_CLASS_BYTES], two[SPEX_CLASS_BYTES];
    struct spex_space_file *file = space_of(xml);
    static char here[] = "./x", there[] = "/usr/x", a[] = "a", b[] = "b", ab[] = "ab";
    char *program[] = {here, a, b, NULL}, *elsewhere[] = {there, a, b, NULL},
         *joined[] = {here, ab, NULL};
    assert_int_equal(spex_trial_key(file, program, one), 0);
    assert_int_equal(spex_trial_key(file, elsewhere, two), 0);
    assert_string_equal(one, two);
    assert_int_equal(spex_trial_key(file, joined, two), 0);
    assert_string_not_equal(one, two);
    spex_space_free(file);
}

static struct spex_trial_task task_of(size_t levels[3]) {
    return (struct spex_trial_task){
        .fleet = {"00000000000000aa", "00000000000000bb"},
        .id = {7, 2},
        .plan = {.size = sizeof(struct spex_plan),
                 .levels = levels,
                 .probes = "work:tpt,work:lat",
                 .duration_seconds = 0.1},
    };
}

TEST(a_task_is_read_as_it_was) {
    size_t levels[] = {2, 1, 2};
    struct spex_space_file *file = space_of(xml);
    struct spex_trial_task task = task_of(levels), read;
    struct spex_error error;
    char *text = spex_trial_task_write(&task, &file->space);
    assert_int_equal(spex_trial_task_read(text, strlen(text), &file->space, &read, &error), 0);
    assert_memory_equal(&read.fleet, &task.fleet, sizeof(task.fleet));
    assert_int_equal(read.id.asked, 7);
    assert_int_equal(read.id.repeat, 2);
    assert_memory_equal(read.plan.levels, levels, sizeof(levels));
    assert_string_equal(read.plan.probes, task.plan.probes);
    assert_true(read.plan.duration_seconds == 0.1);
    spex_trial_task_free(&read);
    free(text);
    spex_space_free(file);
}

/* The text with one part replaced; to be freed. */
static char *changed(const char *text, const char *part, const char *by) {
    const char *at = strstr(text, part);
    assert_non_null(at);
    char *made = NULL;
    assert_true(asprintf(&made, "%.*s%s%s", (int)(at - text), text, by, at + strlen(part)) >= 0);
    return made;
}

TEST(tasks_that_are_refused) {
    static const char *const changes[][2] = {
        {"[2,1,2]", "[2,1]"},
        {"[2,1,2]", "[2,1,3]"},
        {"[2,1,2]", "[2,1,-1]"},
        {"[2,1,2]", "[2,1,0.5]"},
        /* Not allowed; and a level of a parameter that does not apply. */
        {"[2,1,2]", "[2,0,0]"},
        {"[2,1,2]", "[1,0,2]"},
        {"[7,2]", "[0,2]"},
        {"[7,2]", "[7,-1]"},
        {"[7,2]", "[7]"},
        {"[7,2]", "\"7-2\""},
        {"00000000000000aa", "0"},
        {"00000000000000bb", "../../../../etc/"},
        {"work:tpt,work:lat", ""},
        {"work:tpt,work:lat", "work:nothing"},
        {"work:tpt,work:lat", "a\\u001bb"},
        {"0.1", "6"},
        {"0.1", "0"},
        {"0.1", "null"},
        {"\"format\":1", "\"format\":2"},
        {"{", ""},
    };
    size_t levels[] = {2, 1, 2};
    struct spex_space_file *file = space_of(xml);
    struct spex_trial_task task = task_of(levels), read;
    struct spex_error error;
    task.plan.duration_seconds = 1;
    char *good = spex_trial_task_write(&task, &file->space);
    char *text = changed(good, "\"duration\":1.0", "\"duration\":0.1");
    for (size_t c = 0; c < sizeof(changes) / sizeof(changes[0]); c++) {
        char *bad = changed(text, changes[c][0], changes[c][1]);
        error.text[0] = '\0';
        if (spex_trial_task_read(bad, strlen(bad), &file->space, &read, &error) != -EINVAL)
            fail_msg("%s was taken", bad);
        assert_true(error.text[0]);
        free(bad);
    }
    free(text);
    free(good);
    spex_space_free(file);
}

static struct spex_trial_result result_of(const struct spex_space *space) {
    size_t levels[] = {2, 1, 2};
    struct spex_trial_result result = {.id = {7, 2}, .machine = machine_of("h", "6.1")};
    struct spex_trial *trial = &result.trial;
    assert_int_equal(spex_trial_init(trial, space, levels), 0);
    spex_trial_end(trial, "ok");
    trial->ok = trial->steady = true;
    trial->measured[0] = (struct spex_measured){1.0 / 3, NAN};
    trial->measured[1] = (struct spex_measured){1e-9, 2e-300};
    trial->records_used = UINT64_C(1) << 60;
    trial->records_lost = 3;
    trial->seconds = 0.1;
    trial->note = strdup("a note");
    trial->usage = (struct spex_usage){.known = true, .user_seconds = 0.3, .io_known = true};
    for (size_t c = 0; c < SPEX_USAGE_COUNTS; c++)
        trial->usage.counts[c] = c + 1;
    assert_int_equal(spex_trial_add_load(trial, "cpu", 2, &(struct spex_usage){.known = false}), 0);
    trial->metrics = calloc(2, sizeof(*trial->metrics));
    trial->metric_count = 2;
    for (unsigned m = 0; m < 2; m++)
        trial->metrics[m] = (struct spex_trial_metric){.probe_id = 9,
                                                       .id = m ? -1 : 9,
                                                       .probe_type = SPEX_LLC,
                                                       .field = m,
                                                       .name = m ? NULL : strdup("work"),
                                                       .records = 5,
                                                       .count = 1.0 / 7,
                                                       .rate = NAN,
                                                       .mean = 0.2,
                                                       .max = 1e300};
    return result;
}

static struct spex_store_fleet fleet_of(const struct spex_trial_result *result) {
    struct spex_store_fleet of = fleet;
    spex_circumstances_class(&result->machine, of.class);
    return of;
}

TEST(a_result_is_read_as_it_was) {
    struct spex_space_file *file = space_of(xml);
    struct spex_trial_result result = result_of(&file->space), read;
    const struct spex_store_fleet of = fleet_of(&result);
    struct spex_error error;
    char *text = spex_trial_result_write(&result, &of, &file->space);
    assert_int_equal(spex_trial_result_read(text, strlen(text), &file->space, &of, &read, &error),
                     0);
    /* All of it: what is written of it is the same. */
    char *again = spex_trial_result_write(&read, &of, &file->space);
    assert_string_equal(text, again);
    assert_true(read.trial.measured[0].value == 1.0 / 3 && isnan(read.trial.measured[0].error));
    assert_true(read.trial.measured[1].error == 2e-300);
    assert_true(read.trial.metrics[0].count == 1.0 / 7 && isnan(read.trial.metrics[1].rate));
    assert_int_equal(read.trial.usage.counts[8], 9);
    assert_int_equal(read.trial.records_used, UINT64_C(1) << 60);
    assert_string_equal(read.machine.texts[SPEX_ON_HOST], "h");
    free(text);
    free(again);
    spex_trial_result_free(&result);
    spex_trial_result_free(&read);
    spex_space_free(file);
}

TEST(a_result_that_is_too_large_loses_its_metrics) {
    enum { MANY = 20000 };
    struct spex_space_file *file = space_of(xml);
    struct spex_trial_result result = result_of(&file->space), read;
    const struct spex_store_fleet of = fleet_of(&result);
    struct spex_error error;
    result.trial.metrics = realloc(result.trial.metrics, MANY * sizeof(*result.trial.metrics));
    for (unsigned m = 2; m < MANY; m++) {
        result.trial.metrics[m] = result.trial.metrics[1];
        result.trial.metrics[m].field = m;
    }
    result.trial.metric_count = MANY;
    char *text = spex_trial_result_write(&result, &of, &file->space);
    assert_true(strlen(text) < SPEX_LINK_BYTES);
    assert_int_equal(spex_trial_result_read(text, strlen(text), &file->space, &of, &read, &error),
                     0);
    assert_int_equal(read.trial.metric_count, 0);
    assert_non_null(strstr(read.trial.note, "are left out"));
    free(text);
    spex_trial_result_free(&result);
    spex_trial_result_free(&read);
    spex_space_free(file);
}

TEST(signs_and_offers_are_read_as_they_were) {
    const struct spex_trial_offer offer = {"00000000000000cc", {"00000000000000aa", ""}};
    struct spex_trial_worker worker = {3, "00000000000000cc", machine_of("h", "6.1")}, heard, none;
    struct spex_trial_offer read;
    struct spex_error error;
    char *text = spex_trial_offer_write(&offer);
    assert_int_equal(spex_trial_offer_read(text, strlen(text), &read, &error), 0);
    assert_memory_equal(&read, &offer, sizeof(offer));
    free(text);
    text = spex_trial_worker_write(&worker);
    assert_int_equal(spex_trial_worker_read(text, strlen(text), &heard, &error), 0);
    assert_int_equal(heard.id, 3);
    assert_string_equal(heard.machine.texts[SPEX_ON_KERNEL], "6.1");
    assert_int_equal(spex_trial_worker_read("{}", 2, &none, &error), -EINVAL);
    free(text);
    spex_circumstances_free(&worker.machine);
    spex_circumstances_free(&heard.machine);
}

TEST(workers_come_and_go) {
    struct spex_worker_list list = {.items = NULL};
    char text[256];
    for (uint64_t id = 1; id <= 3; id++) {
        struct spex_trial_worker worker = {
            id, "00000000000000cc", machine_of(id == 2 ? "b" : "a", id == 3 ? "6.2" : "6.1")};
        assert_int_equal(spex_worker_list_hear(&list, &worker, (double)id), 0);
        assert_null(worker.machine.texts[0]);
    }
    assert_int_equal(spex_worker_list_count(&list, list.items[0].class), 2);
    spex_worker_list_class_text(&list, list.items[0].class, text, sizeof(text));
    assert_non_null(strstr(text, ": kernel 6.1, cpu x"));
    assert_non_null(strstr(text, "; hosts a, b"));
    /* Of less room it fills no more. */
    for (size_t size = 1; size < strlen(text); size++) {
        char cut[256];
        memset(cut, '#', sizeof(cut));
        spex_worker_list_class_text(&list, list.items[0].class, cut, size);
        assert_int_equal(strlen(cut), size - 1);
        assert_memory_equal(cut, text, size - 1);
        assert_int_equal(cut[size], '#');
    }
    spex_worker_list_forget(&list, 2);
    assert_int_equal(list.count, 2);
    spex_worker_list_free(&list);
}

TEST(what_is_handed_out_is_found) {
    size_t levels[] = {2, 1, 2};
    struct spex_space_file *file = space_of(xml);
    struct spex_handed_trials trials = {.count = 0};
    struct spex_trial_task task = task_of(levels);
    assert_int_equal(spex_handed_trials_add(&trials, &task, &file->space), 0);
    task.id.repeat = 0;
    assert_int_equal(spex_handed_trials_add(&trials, &task, &file->space), 0);
    assert_null(spex_handed_trials_find(&trials, &(struct spex_trial_id){7, 1}));
    spex_handed_trials_remove(&trials,
                              spex_handed_trials_find(&trials, &(struct spex_trial_id){7, 2}));
    assert_null(spex_handed_trials_find(&trials, &(struct spex_trial_id){7, 2}));
    assert_non_null(spex_handed_trials_find(&trials, &(struct spex_trial_id){7, 0}));
    spex_handed_trials_free(&trials);
    spex_space_free(file);
}
