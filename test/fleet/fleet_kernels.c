/* SPDX-License-Identifier: MIT */
/* Samples of kernels' executions: told, taken by classes of machines within their limits, told on,
 * and fitted. */
#include <errno.h>
#include <math.h>

#include "../check.h"
#include "fleet/lead/fleet_kernels.h"

#define TEXT(text) ((char *)(uintptr_t)(text))
static struct spex_circumstances machine = {{TEXT("host"), TEXT("6.1"), TEXT("cpu"), TEXT("2"),
                                             TEXT("8 GiB"), TEXT("build"), TEXT("0.1.0")}};

/* What was sent. */
struct sent {
    char *texts[64];
    size_t count;
};

static int keep(void *user, const char *text, size_t size) {
    struct sent *sent = user;
    assert_true(sent->count < 64 && size == strlen(text) && size <= SPEX_KERNEL_BYTES);
    sent->texts[sent->count++] = strdup(text);
    return 0;
}

static void sent_free(struct sent *sent) {
    for (size_t t = 0; t < sent->count; t++)
        free(sent->texts[t]);
}

/* A kernel that takes 1 µs a unit, with each number of units from `low` on so often. */
static struct spex_training *trained(const char *path, int low, int high, int often) {
    static const char *const names[] = {"units"};
    struct spex_training *training;
    struct spex_trained *kernel;
    assert_int_equal(spex_training_create(&training, 1), 0);
    assert_int_equal(spex_training_kernel(training, path, names, 1, &kernel), 0);
    for (int o = 0; o < often; o++)
        for (int units = low; units <= high; units++) {
            double value = units;
            assert_int_equal(
                spex_trained_add(training, kernel, &value, units * (1 + 0.01 * (o % 3)) / 1e6, 2),
                0);
        }
    return training;
}

static void send_all(const struct spex_training *training, size_t most, double factor,
                     struct sent *sent) {
    const struct spex_kernel_writer writer = {.agent = 5,
                                              .machine = &machine,
                                              .lost = 3,
                                              .most = most,
                                              .factor = factor,
                                              .send = keep,
                                              .user = sent};
    assert_int_equal(spex_kernel_messages_write(&writer, training), 0);
}

static void take_all(struct spex_fleet_kernels *kernels, const struct sent *sent, double now) {
    for (size_t t = 0; t < sent->count; t++) {
        struct spex_kernel_message message;
        struct spex_error error = {""};
        assert_int_equal(
            spex_kernel_message_read(sent->texts[t], strlen(sent->texts[t]), &message, &error), 0);
        assert_int_equal(message.agent, 5);
        assert_int_equal(spex_fleet_kernels_take(kernels, &message, false, now), 0);
        spex_kernel_message_free(&message);
    }
}

static struct spex_models fitted(const struct spex_training *training) {
    struct spex_models models;
    size_t left_out;
    assert_int_equal(spex_training_fit(training, 0, &models, &left_out), 0);
    assert_int_equal(left_out, 0);
    return models;
}

/* Two ranges of a kernel, from two agents, give the model of both. */
TEST(samples_become_the_model_of_all) {
    struct spex_fleet_kernels kernels = {.class_count = 0};
    struct spex_training *parts[] = {trained("a/b", 1, 40, 5), trained("a/b", 60, 100, 5)};
    struct spex_training *whole = trained("a/b", 1, 100, 5);
    for (int p = 0; p < 2; p++) {
        struct sent sent = {.count = 0};
        send_all(parts[p], 100, 2.5, &sent);
        take_all(&kernels, &sent, p);
        sent_free(&sent);
        spex_training_destroy(parts[p]);
    }
    assert_int_equal(kernels.class_count, 1);
    assert_int_equal(kernels.rows, 200);
    assert_int_equal(kernels.lost, 6);
    struct spex_models models = fitted(kernels.classes[0].training), same = fitted(whole);
    assert_int_equal(models.count, 1);
    /* 81 values 5 times with weight 2, of which the messages stand for 2.5 times as many. */
    assert_true(fabs(models.items[0].executions - 81 * 5 * 2 * 2.5) < 1e-6);
    assert_true(models.items[0].low[0] <= 1 && models.items[0].high[0] >= 100);
    for (double units = 1; units <= 100; units += 33) {
        struct spex_prediction wanted = spex_model_predict(&same.items[0].model, &units);
        double value = spex_model_value(&models.items[0].model, &units);
        assert_true(wanted.low <= value && value <= wanted.high);
    }
    spex_models_free(&models);
    spex_models_free(&same);
    spex_training_destroy(whole);
    spex_fleet_kernels_free(&kernels);
}

/* What is told of a class becomes the same training again. */
TEST(what_is_kept_is_taken_again) {
    struct spex_fleet_kernels kernels = {.class_count = 0}, again = {.class_count = 0};
    struct spex_training *training = trained("a", 1, 30, 4);
    struct spex_kernel_message message;
    struct spex_error error;
    for (int m = 0; m < 3; m++) {
        struct sent sent = {.count = 0};
        send_all(training, 1000, 1, &sent);
        take_all(&kernels, &sent, m);
        sent_free(&sent);
    }
    json_t *json = spex_fleet_class_kernel_json(&kernels.classes[0], NULL);
    assert_string_equal(spex_kernel_message_path(json), "a");
    assert_int_equal(spex_kernel_message_take(json, &message, &error), 0);
    assert_int_equal(spex_fleet_kernels_take(&again, &message, true, 0), 0);
    json_t *end = spex_fleet_class_kernel_json(&kernels.classes[0], "a");
    assert_true(json_is_null(end));
    assert_int_equal(again.messages, 0);
    assert_int_equal(again.classes[0].runs, 3);
    struct spex_models one = fitted(kernels.classes[0].training);
    struct spex_models other = fitted(again.classes[0].training);
    assert_true(fabs(one.items[0].executions - other.items[0].executions) < 1e-6);
    double units = 17;
    assert_true(fabs(spex_model_value(&one.items[0].model, &units) -
                     spex_model_value(&other.items[0].model, &units)) < 1e-12);
    spex_kernel_message_free(&message);
    json_decref(json);
    json_decref(end);
    spex_models_free(&one);
    spex_models_free(&other);
    spex_training_destroy(training);
    spex_fleet_kernels_free(&kernels);
    spex_fleet_kernels_free(&again);
}

static void take_of(struct spex_fleet_kernels *kernels, unsigned class, const char *path,
                    double now) {
    char build[16];
    struct sent sent = {.count = 0};
    struct spex_training *training = trained(path, 1, 2, 1);
    snprintf(build, sizeof(build), "%u", class);
    machine.texts[SPEX_ON_BUILD] = build;
    send_all(training, 10, 1, &sent);
    take_all(kernels, &sent, now);
    machine.texts[SPEX_ON_BUILD] = TEXT("build");
    sent_free(&sent);
    spex_training_destroy(training);
}

/* A class that is silent gives its place to another one; one that is not does not. */
TEST(classes_have_so_many_places) {
    struct spex_fleet_kernels kernels = {.class_count = 0};
    for (unsigned c = 0; c < SPEX_FLEET_CLASSES_MAX; c++)
        take_of(&kernels, c, "a", c);
    take_of(&kernels, 99, "a", 20);
    assert_int_equal(kernels.class_count, SPEX_FLEET_CLASSES_MAX);
    assert_int_equal(kernels.no_room, 2);
    take_of(&kernels, 99, "a", SPEX_FLEET_CLASS_SECONDS);
    assert_int_equal(kernels.no_room, 2);
    assert_int_equal(kernels.class_count, SPEX_FLEET_CLASSES_MAX);
    assert_int_equal(kernels.kernel_count, SPEX_FLEET_CLASSES_MAX);
    bool first = false;
    for (size_t c = 0; c < kernels.class_count; c++)
        first |= strcmp(kernels.classes[c].machine.texts[SPEX_ON_BUILD], "0") == 0;
    assert_false(first);
    spex_fleet_kernels_free(&kernels);
}

TEST(kernels_have_so_many_places) {
    struct spex_fleet_kernels kernels = {.class_count = 0};
    char path[16];
    for (int k = 0; k < SPEX_FLEET_KERNELS_MAX + 2; k++) {
        snprintf(path, sizeof(path), "k%d", k);
        take_of(&kernels, k % 2, path, 1);
    }
    assert_int_equal(kernels.kernel_count, SPEX_FLEET_KERNELS_MAX);
    assert_int_equal(kernels.no_room, 4);
    /* What is known has its place. */
    take_of(&kernels, 0, "k0", 2);
    assert_int_equal(kernels.no_room, 4);
    /* The other class was silent: its kernels go. */
    take_of(&kernels, 0, "new", 1 + SPEX_FLEET_CLASS_SECONDS);
    assert_int_equal(kernels.class_count, 1);
    assert_int_equal(kernels.kernel_count, SPEX_FLEET_KERNELS_MAX / 2 + 1);
    spex_fleet_kernels_free(&kernels);
}

/* Of many kernels there are several messages, each within its limits; what the program has lost is
 * in the first one. */
TEST(many_kernels_take_several_messages) {
    struct sent sent = {.count = 0};
    struct spex_training *training = trained("first", 1, 1, 1);
    struct spex_trained *kernel;
    char path[16];
    for (int k = 0; k < 40; k++) {
        snprintf(path, sizeof(path), "k\x1b%d", k);
        assert_int_equal(spex_training_kernel(training, path, NULL, 0, &kernel), 0);
        assert_int_equal(spex_trained_add(training, kernel, NULL, 1e-6, 1), 0);
    }
    send_all(training, 10, 1, &sent);
    assert_int_equal(sent.count, 3);
    struct spex_fleet_kernels kernels = {.class_count = 0};
    take_all(&kernels, &sent, 0);
    assert_int_equal(kernels.kernel_count, 41);
    assert_int_equal(kernels.lost, 3);
    spex_fleet_kernels_free(&kernels);
    sent_free(&sent);
    spex_training_destroy(training);
}

static int take_text(struct spex_fleet_kernels *kernels, const char *text, bool kept, double now) {
    struct spex_kernel_message message;
    struct spex_error error = {""};
    assert_int_equal(spex_kernel_message_read(text, strlen(text), &message, &error), 0);
    int err = spex_fleet_kernels_take(kernels, &message, kept, now);
    spex_kernel_message_free(&message);
    return err;
}

static void check_json(json_t *json, const char *expected) {
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    assert_string_equal(text, expected);
    free(text);
    json_decref(json);
}

#define MACHINE "\"machine\":[\"host\",\"6.1\",\"cpu\",\"2\",\"8 GiB\",\"build\",\"0.1.0\"]"
#define KERNEL(path, parameters, rows)                                                             \
    "{\"path\":\"" path "\",\"parameters\":[" parameters "],\"rows\":[" rows "]}"
#define MESSAGE(lost, kernels)                                                                     \
    "{\"format\":1,\"agent\":5," MACHINE ",\"lost\":" lost ",\"kernels\":[" kernels "]}"

/* Each message is a run of its own, but those that are kept have theirs. */
TEST(what_is_told_is_counted) {
    struct spex_fleet_kernels kernels = {.class_count = 0};
    assert_int_equal(
        take_text(&kernels,
                  MESSAGE("3", KERNEL("a", "\"n\"",
                                      "0,1,1000,2,0,2.5,2000,4.5") "," KERNEL("b", "", "0,1,7")),
                  false, 1),
        0);
    assert_int_equal(
        take_text(&kernels, MESSAGE("4", KERNEL("a", "\"n\"", "9,1,3000,8")), false, 2), 0);
    /* Another set of parameters. */
    assert_int_equal(
        take_text(&kernels, MESSAGE("0", KERNEL("a", "\"m\"", "0,1,1,1,0,1,2,2")), false, 3), 0);
    assert_int_equal(take_text(&kernels, MESSAGE("1", KERNEL("c", "", "17,1,5")), true, 4), 0);
    check_json(
        spex_fleet_kernels_json(&kernels),
        "{\"classes\":[{\"build\":\"build\",\"class\":\"8475d083e60abb8f\",\"cpu\":\"cpu\","
        "\"cpus\":\"2\","
        "\"kernel\":\"6.1\",\"kernels\":3,\"memory\":\"8 GiB\",\"rows\":5,\"spex\":\"0.1.0\"}"
        "],\"differing\":2,\"lost\":8,\"messages\":3,\"no_room\":0,\"rows\":5}");
    assert_true(kernels.classes[0].changed && kernels.classes[0].heard == 4);
    assert_int_equal(kernels.classes[0].runs, 17);
    assert_ptr_equal(spex_fleet_class_find(&kernels, kernels.classes[0].name), kernels.classes);
    assert_null(spex_fleet_class_find(&kernels, "other"));
    check_json(spex_fleet_class_kernel_json(&kernels.classes[0], NULL),
               "{\"agent\":0,\"format\":1,\"kernels\":[{\"parameters\":[\"n\"],\"path\":\"a\","
               "\"rows\":[1,1,1000,2,1,2.5,2000,4.5,2,1,3000,8]}],\"lost\":0,\"machine\":[\"host\","
               "\"6.1\",\"cpu\",\"2\",\"8 GiB\",\"build\",\"0.1.0\"]}");
    check_json(
        spex_fleet_class_kernel_json(&kernels.classes[0], "a"),
        "{\"agent\":0,\"format\":1,\"kernels\":[{\"parameters\":[],\"path\":\"b\",\"rows\":[1,1,7]}"
        "],\"lost\":0,\"machine\":[\"host\",\"6.1\",\"cpu\",\"2\",\"8 GiB\",\"build\",\"0.1.0\"]}");
    check_json(spex_fleet_class_kernel_json(&kernels.classes[0], "b"),
               "{\"agent\":0,\"format\":1,\"kernels\":[{\"parameters\":[],\"path\":\"c\",\"rows\":["
               "17,1,5]}],\"lost\":0,\"machine\":[\"host\",\"6.1\",\"cpu\",\"2\",\"8 "
               "GiB\",\"build\",\"0.1.0\"]}");
    check_json(spex_fleet_class_kernel_json(&kernels.classes[0], "c"), "null");
    spex_fleet_kernels_free(&kernels);
}

/* For exactly so long it keeps its place, and no longer. */
TEST(classes_keep_their_places_for_so_long) {
    struct spex_fleet_kernels kernels = {.class_count = 0};
    for (unsigned c = 0; c < SPEX_FLEET_CLASSES_MAX; c++)
        take_of(&kernels, c, "a", 100 + c);
    take_of(&kernels, 99, "a", 99 + SPEX_FLEET_CLASS_SECONDS);
    assert_int_equal(kernels.no_room, 2);
    take_of(&kernels, 99, "a", 100 + SPEX_FLEET_CLASS_SECONDS);
    assert_int_equal(kernels.no_room, 2);
    assert_int_equal(kernels.kernel_count, SPEX_FLEET_CLASSES_MAX);
    /* That of the one that was silent longest. */
    for (size_t c = 0; c < kernels.class_count; c++)
        assert_string_not_equal(kernels.classes[c].machine.texts[SPEX_ON_BUILD], "0");
    spex_fleet_kernels_free(&kernels);
    assert_int_equal(kernels.class_count, 0);
    assert_int_equal(kernels.kernel_count, 0);
}

static int refuse(void *user, const char *text, size_t size) {
    assert_int_equal(strlen(text), size);
    return ++*(int *)user == 2 ? -EPIPE : 0;
}

/* Another message is begun behind 1024 rows, whatever their parameters; what a message meets ends
 * them. */
TEST(messages_have_so_many_rows) {
    static const char *const names[] = {"n", "m", "o"};
    struct spex_training *training;
    struct spex_trained *kernel;
    struct sent sent = {.count = 0};
    int calls = 0;
    assert_int_equal(spex_training_create(&training, 1), 0);
    for (int k = 0; k < 5; k++) {
        char path[8];
        snprintf(path, sizeof(path), "k%d", k);
        assert_int_equal(spex_training_kernel(training, path, names, 3, &kernel), 0);
        for (int r = 0; r < 400; r++) {
            const double values[] = {r, r % 20, r % 3};
            assert_int_equal(spex_trained_add(training, kernel, values, 1e-6 * (r + 1), 1), 0);
        }
    }
    send_all(training, 512, 1, &sent);
    assert_int_equal(sent.count, 2);
    assert_non_null(strstr(sent.texts[0], "\"k2\""));
    assert_null(strstr(sent.texts[0], "\"k3\""));
    assert_non_null(strstr(sent.texts[1], "\"k3\""));
    struct spex_kernel_writer writer = {
        .machine = &machine, .most = 512, .factor = 1, .send = refuse, .user = &calls};
    assert_int_equal(spex_kernel_messages_write(&writer, training), -EPIPE);
    assert_int_equal(calls, 2);
    sent_free(&sent);
    spex_training_destroy(training);
}
