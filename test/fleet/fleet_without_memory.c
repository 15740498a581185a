/* SPDX-License-Identifier: MIT */
/* Fleets without memory, one allocation at a time: what fails says so, and frees what it has. */
#define _GNU_SOURCE
#include "../scarce_memory.h"

#include <math.h>

#include "../values_take.h"
#include "fleet/decide/master.h"
#include "fleet/decide/simulation.h"
#include "fleet/lead/fleet_kernels.h"
#include "fleet/lead/fleet_sums.h"
#include "fleet/lead/lead.h"
#include "fleet/trials/handed_trials.h"
#include "fleet/trials/trial_message.h"
#include "fleet/trials/worker_list.h"
#include "observe/profile_reader.h"
#include "policies.h"

static const char xml[] =
    "<space name=\"test\"><parameter name=\"a\" type=\"integer\" values=\"1 2 4\"/>"
    "<objective probe=\"work:tpt\" metric=\"throughput\" goal=\"maximise\"/>"
    "<run duration=\"5\"/></space>";

static const char machine[] = "\"machine\":[\"h\",\"6.1\",\"c\",\"2\",\"8\",\"b\",\"s\"]";
static struct spex_space_file *file;
static struct spex_fleet_policy *policy;
static struct spex_store_fleet of = {"00000000000000aa", ""};

/* An error of memory says so. */
static int checked(int err, const struct spex_error *error) {
    if (err == -ENOMEM ? !strstr(error->text, "memory") : err)
        fail_msg("%d: %s", err, error->text);
    return err;
}

static char *text_with_machine(const char *format) {
    char *text = NULL;
    const char *at = strstr(format, "MACHINE");
    if (asprintf(&text, "%.*s%s%s", (int)(at - format), format, machine, at + strlen("MACHINE")) <
        0)
        return NULL;
    return text;
}

static int policy_reads(void *user) {
    struct spex_fleet_policy *read = NULL;
    struct spex_error error = {""};
    static const char text[] =
        "<profiling-spec name='p'><instrumentation-map><unit type='glob' name='a*' modes='lat "
        "cnt@9'/>"
        "<unit type='library' name='l' modes='lat'/></instrumentation-map><qos-requirements>"
        "<response-time probe='r:lat' metric='p99' "
        "at_most='1s'/></qos-requirements></profiling-spec>";
    (void)user;
    int err = spex_fleet_policy_parse("p", text, &read, &error);
    assert_int_equal(err != 0, read == NULL);
    spex_fleet_policy_free(read);
    return checked(err, &error);
}

static int report_reads(void *user) {
    struct spex_fleet_report report;
    struct spex_error error = {""};
    static const char text[] =
        "{\"format\":1,\"agent\":1,\"desired\":2,\"probes\":[\"a:lat\",\"b:lat\"],\"instances\":["
        "{\"instance\":\"1.2\",\"program\":\"p\",\"response\":1,\"throughput\":1,\"budget\":0,"
        "\"here\":\"3\",\"on\":\"3\",\"costs\":[1,1],\"rates\":[1,1],\"why\":\"\"}]}";
    (void)user;
    int err = spex_fleet_report_read(text, strlen(text), &report, &error);
    assert_int_equal(report.count, err ? 0 : 1);
    spex_fleet_report_free(&report);
    return checked(err, &error);
}

static int desired_reads(void *user) {
    struct spex_fleet_desired desired;
    struct spex_error error = {""};
    static const char text[] = "{\"format\":1,\"number\":3,\"probes\":[\"a:lat\"],\"instances\":["
                               "{\"instance\":\"1.2\",\"on\":\"1\"}]}";
    (void)user;
    int err = spex_fleet_desired_read(text, strlen(text), &desired, &error);
    assert_int_equal(desired.count, err ? 0 : 1);
    spex_fleet_desired_free(&desired);
    return checked(err, &error);
}

static int task_reads(void *user) {
    struct spex_trial_task task;
    struct spex_error error = {""};
    static const char text[] = "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":"
                               "\"00000000000000bb\",\"trial\":[7,2],"
                               "\"levels\":[2],\"probes\":\"work:tpt\",\"duration\":1}";
    (void)user;
    int err = spex_trial_task_read(text, strlen(text), &file->space, &task, &error);
    assert_int_equal(err != 0, task.plan.levels == NULL);
    spex_trial_task_free(&task);
    return checked(err, &error);
}

/* `user` is the text. */
static int result_reads(void *user) {
    struct spex_trial_result result;
    struct spex_error error = {""};
    int err = spex_trial_result_read(user, strlen(user), &file->space, &of, &result, &error);
    if (!err)
        spex_trial_result_free(&result);
    return checked(err, &error);
}

static int worker_reads(void *user) {
    struct spex_worker_list list = {.items = NULL};
    struct spex_trial_worker worker;
    struct spex_error error = {""};
    int err = spex_trial_worker_read(user, strlen(user), &worker, &error);
    err = checked(err, &error);
    err = err ? err : spex_worker_list_hear(&list, &worker, 1);
    spex_circumstances_free(&worker.machine);
    assert_int_equal(list.count, err ? 0 : 1);
    spex_worker_list_free(&list);
    return err;
}

static int trials_are_handed_out(void *user) {
    struct spex_handed_trials trials = {.count = 0};
    size_t level = 1;
    const struct spex_trial_task task = {
        of, {1, 0}, {.size = sizeof(task.plan), .levels = &level, .probes = "work:tpt"}};
    char key[SPEX_CLASS_BYTES];
    static char name[] = "x", *program[] = {name, NULL};
    (void)user;
    int err = spex_trial_key(file, program, key);
    err = err ? err : spex_handed_trials_add(&trials, &task, &file->space);
    assert_int_equal(trials.count, err ? 0 : 1);
    spex_handed_trials_free(&trials);
    return err;
}

static int kernels_are_taken(void *user) {
    struct spex_fleet_kernels kernels = {.class_count = 0};
    struct spex_kernel_message message;
    struct spex_error error = {""};
    int err = spex_kernel_message_read(user, strlen(user), &message, &error);
    err = checked(err, &error);
    err = err ? err : spex_fleet_kernels_take(&kernels, &message, false, 1);
    assert_true(err || kernels.rows == 3);
    spex_kernel_message_free(&message);
    spex_fleet_kernels_free(&kernels);
    return err;
}

static struct spex_values values;

static int take_profile(void *user, const char *data, size_t size) {
    struct spex_fleet_sums *sums = user;
    struct spex_fleet_reports_by by;
    struct spex_profile profile;
    struct spex_error error = {""};
    int err = spex_fleet_profile_read(data, size, &by, &profile, &error);
    err = err ? checked(err, &error) : spex_fleet_sums_take(sums, "h", &by, &profile, 1);
    spex_profile_free(&profile);
    return err;
}

static bool all(void *user, const struct spex_profile_probe *probe) {
    (void)user;
    (void)probe;
    return true;
}

/* One process after another, each of which is summed with those that are over. */
static int profiles_are_summed(void *user) {
    struct spex_fleet_sums sums;
    struct spex_fleet_sum sum;
    struct spex_profile_row row = {
        .probe = {.probe_type = SPEX_LAT, .declared = 2, .series = 1, .records = 1, .name = "q"},
        .values = {&values},
        .losses = {&values}};
    struct spex_profile_type type = {.probe_type = SPEX_LAT, .used = 1, .measured = 1};
    struct spex_profile profile = {.types = &type, .type_count = 1, .rows = &row, .row_count = 1};
    profile.process.ticks_per_second = 1e9;
    struct spex_fleet_profile_writer writer = {.wanted = all, .send = take_profile, .user = &sums};
    int err = 0;
    (void)user;
    spex_fleet_sums_init(&sums);
    for (unsigned p = 1; p <= 3 && !err; p++) {
        writer.by = (struct spex_fleet_reports_by){.process = 7, .loaded_ns = p, .boot = "b"};
        profile.process.loaded_ns = profile.process.began_ns = p;
        err = spex_fleet_profile_write(&writer, &profile);
    }
    err = err ? err : spex_fleet_sums_age(&sums, 2 * SPEX_FLEET_SUMS_SILENT);
    if (!err) {
        assert_int_equal(sums.gone_count, 3);
        err = spex_fleet_sums_of(&sums, 0, NULL, &sum);
        if (!err) {
            assert_int_equal(sum.instances, 3);
            spex_profile_free(&sum.profile);
        }
    }
    spex_fleet_sums_free(&sums);
    return err;
}

static void gone(void *user, const char *host) {
    (void)user;
    (void)host;
}

static int report_goes(struct spex_lead *lead, const char *host, double now) {
    struct spex_fleet_report made = {.agent = 1};
    struct spex_fleet_reported *item = calloc(1, sizeof(*item));
    int err = item ? 0 : -ENOMEM;
    made.items = item;
    made.count = item != NULL;
    err = err ? err : spex_fleet_texts_add(&made.probes, "a:lat");
    if (!err) {
        *item = (struct spex_fleet_reported){.key = {1, 5}, .response = 0.011, .throughput = 10};
        item->here.words[0] = 1;
        item->costs = calloc(1, sizeof(*item->costs));
        item->rates = calloc(1, sizeof(*item->rates));
        err = item->costs && item->rates ? 0 : -ENOMEM;
    }
    if (!err)
        return spex_lead_take(lead, host, &made, now);
    spex_fleet_report_free(&made);
    return err;
}

static int fleet_is_lead(void *user) {
    struct spex_lead lead;
    int err = 0;
    (void)user;
    spex_lead_init(&lead, policy, false, 1);
    for (int s = 0; s < 6 && !err; s++) {
        err = report_goes(&lead, "h", s);
        err = err ? err : report_goes(&lead, "g", s);
        err = err ? err : spex_lead_decide(&lead, s, gone, NULL);
    }
    if (!err) {
        char *text = spex_lead_desired(&lead, &lead.hosts[0], 6);
        err = text ? 0 : -ENOMEM;
        free(text);
    }
    assert_true(err || lead.state.instrumented == 1);
    spex_lead_free(&lead);
    return err;
}

static int fleet_is_simulated(void *user) {
    static struct spex_fleet_map map = {.count = 1, .cost = {0.01}};
    struct spex_simulation_options options;
    struct spex_simulation result;
    (void)user;
    spex_simulation_defaults(&options);
    options.seconds = 40;
    options.load_count = 2;
    options.loads[1] = (struct spex_simulation_load){20, 1.5};
    int err = spex_simulate(policy, &map, &options, &result);
    assert_true(err || result.decision_count > 2);
    spex_simulation_free(&result);
    return err;
}

TEST(each_allocation_fails) {
    static const char task_result[] =
        "{\"format\":1,\"exploration\":\"00000000000000aa\",\"class\":\"0\",\"trial\":[7,2],"
        "\"levels\":[2],MACHINE,"
        "\"ok\":true,\"status\":\"ok\",\"measured\":[[1,null]],\"used\":1,\"lost\":0,\"seconds\":1,"
        "\"steady\":true,\"usage\":null,\"loads\":[[\"cpu\",2,null]],\"note\":\"n\",\"metrics\":"
        "[[9,9,1,0,\"work\",\"lib\",5,1,1,1,1,1,1,1,1,1]]}";
    static const char kernels[] = "{\"format\":1,\"agent\":5,MACHINE,\"lost\":0,\"kernels\":[{"
                                  "\"path\":\"a\",\"parameters\":[\"n\"],"
                                  "\"rows\":[0,1,1000,1,0,1,2000,2]},{\"path\":\"b\","
                                  "\"parameters\":[],\"rows\":[0,1,1000]}]}";
    struct {
        const char *name;
        int (*attempt)(void *user);
        char *text;
        unsigned least;
    } cases[] = {
        {"policy", policy_reads, NULL, 10},
        {"report", report_reads, NULL, 4},
        {"desired", desired_reads, NULL, 2},
        {"task", task_reads, NULL, 3},
        {"result", result_reads, text_with_machine(task_result), 15},
        {"worker", worker_reads,
         text_with_machine("{\"format\":1,\"worker\":1,\"key\":\"00000000000000aa\",MACHINE}"), 8},
        {"handed", trials_are_handed_out, NULL, 1},
        {"kernels", kernels_are_taken, text_with_machine(kernels), 20},
        {"sums", profiles_are_summed, NULL, 20},
        {"lead", fleet_is_lead, NULL, 20},
        {"simulation", fleet_is_simulated, NULL, 20},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        int err = cases[c].attempt(cases[c].text);
        if (err)
            fail_msg("%s: %d", cases[c].name, err);
        unsigned failed = without_each_allocation(cases[c].attempt, cases[c].text);
        if (failed < cases[c].least)
            fail_msg("%s: %u", cases[c].name, failed);
        free(cases[c].text);
    }
}

static int begin(void **state) {
    struct spex_error error;
    struct spex_circumstances is = {{(char[]){"h"}, (char[]){"6.1"}, (char[]){"c"}, (char[]){"2"},
                                     (char[]){"8"}, (char[]){"b"}, (char[]){"s"}}};
    (void)state;
    spex_circumstances_class(&is, of.class);
    spex_values_clear(&values);
    values_take(&values, 100, 1);
    policy = policy_with("");
    return spex_space_parse("test", xml, &file, &error);
}

static int end(void **state) {
    (void)state;
    spex_space_free(file);
    spex_fleet_policy_free(policy);
    return 0;
}

int main(void) {
    return tests_run(begin, end);
}
