/* SPDX-License-Identifier: MIT */
/* Messages, values and work queues over a real NATS server. Without one the test is skipped. */
#define _GNU_SOURCE
#include "nats_server.h"

#include <pthread.h>

#include "fleet/link/queue.h"

static struct spex_link *connected(void) {
    const struct spex_link_options options = {.url = server.url, .name = "test"};
    struct spex_error error = {""};
    struct spex_link *link;
    if (spex_link_open(&options, &link, &error) != 0)
        fail_msg("%s", error.text);
    return link;
}

/* The next message, which there has to be: where some were dropped, the library says that first. */
static void check_taken(struct spex_link_inbox *inbox, const char *subject, const char *data) {
    struct spex_link_message message;
    WAIT_FOR(spex_link_take(inbox, 1000, &message));
    assert_string_equal(message.subject, subject);
    assert_string_equal(message.data, data);
    assert_int_equal(message.size, strlen(data));
    assert_string_equal(message.reply, "");
    spex_link_message_free(&message);
    assert_null(message.data);
}

TEST(messages) {
    struct spex_link *link = connected();
    struct spex_link_inbox *inbox, *few;
    struct spex_link_message message;
    struct spex_error error = {""};
    char *large = calloc(1, SPEX_LINK_BYTES + 1), subject[SPEX_LINK_NAME_BYTES * 2] = "spex.f.a.";
    assert_int_equal(spex_link_state(link, &error), 1);
    assert_int_equal(spex_link_connects(link), 1);
    assert_int_equal(spex_link_listen(link, "spex.f.a", 100, &inbox), 0);
    assert_int_equal(spex_link_listen(link, "spex.f.b", 3, &few), 0);
    assert_int_equal(spex_link_take(inbox, 0, &message), 0);
    assert_int_equal(spex_link_send(link, "spex.f.a.x", "data", 4), 0);
    assert_int_equal(spex_link_send(link, "spex.f.a.x.y", "none", 4), 0);
    assert_int_equal(spex_link_send(link, "spex.f.a", "none", 4), 0);
    assert_int_equal(spex_link_send(link, "spex.g.a.x", "none", 4), 0);
    /* A subject that is too long is left out. */
    memset(subject + strlen(subject), 'x', SPEX_LINK_NAME_BYTES);
    assert_int_equal(spex_link_send(link, subject, "none", 4), 0);
    assert_int_equal(spex_link_send(link, "spex.f.a.empty", "", 0), 0);
    memset(large, 'l', SPEX_LINK_BYTES + 1);
    assert_int_equal(spex_link_send(link, "spex.f.a.large", large, SPEX_LINK_BYTES + 1), -E2BIG);
    assert_int_equal(spex_link_send(link, "spex.f.a.large", large, SPEX_LINK_BYTES), 0);
    check_taken(inbox, "x", "data");
    check_taken(inbox, "empty", "");
    assert_int_equal(spex_link_take(inbox, 60000, &message), 1);
    assert_int_equal(message.size, SPEX_LINK_BYTES);
    assert_memory_equal(message.data, large, SPEX_LINK_BYTES);
    spex_link_message_free(&message);
    for (int m = 0; m < 5; m++)
        assert_int_equal(spex_link_send(link, "spex.f.b.x", "m", 1), 0);
    WAIT_FOR(spex_link_dropped(few) == 2);
    assert_int_equal(spex_link_dropped(inbox), 0);
    for (int m = 0; m < 3; m++)
        check_taken(few, "x", "m");
    assert_int_equal(spex_link_take(few, 0, &message), 0);
    spex_link_inbox_free(inbox);
    spex_link_inbox_free(few);
    spex_link_close(link);
    free(large);
}

struct asked {
    struct spex_link *link;
    struct spex_link_inbox *inbox;
};

/* Answers one request. */
static void *answerer(void *user) {
    struct spex_link_message message;
    const struct asked *asked = user;
    assert_int_equal(spex_link_take(asked->inbox, 60000, &message), 1);
    assert_string_equal(message.subject, "what");
    assert_string_equal(message.data, "request");
    assert_int_equal(spex_link_send(asked->link, message.reply, "answer", 6), 0);
    spex_link_message_free(&message);
    return NULL;
}

TEST(requests) {
    struct spex_link *link = connected();
    struct spex_link_inbox *inbox;
    struct spex_link_message answer;
    struct spex_error error = {""};
    pthread_t thread;
    assert_int_equal(spex_link_ask(link, "spex.f.ask.what", "request", 60000, &answer, &error),
                     -ESRCH);
    assert_string_equal(error.text, "spex.f.ask.what: No responders available for request");
    assert_int_equal(spex_link_listen(link, "spex.f.ask", 10, &inbox), 0);
    assert_int_equal(spex_link_ask(link, "spex.f.ask.what", "other", 1, &answer, &error),
                     -ETIMEDOUT);
    assert_int_equal(spex_link_take(inbox, 60000, &answer), 1);
    spex_link_message_free(&answer);
    assert_int_equal(pthread_create(&thread, NULL, answerer, &(struct asked){link, inbox}), 0);
    assert_int_equal(spex_link_ask(link, "spex.f.ask.what", "request", 60000, &answer, &error), 0);
    assert_string_equal(answer.data, "answer");
    assert_string_equal(answer.subject, "");
    spex_link_message_free(&answer);
    pthread_join(thread, NULL);
    spex_link_inbox_free(inbox);
    spex_link_close(link);
}

/* The next value; NULL: it was deleted. */
static void check_watched(struct spex_link_watch *watch, const char *key, const char *value) {
    struct spex_link_message message;
    WAIT_FOR(spex_link_watch_take(watch, &message));
    assert_string_equal(message.subject, key);
    if (value)
        assert_string_equal(message.data, value);
    else
        assert_null(message.data);
    spex_link_message_free(&message);
}

TEST(values) {
    struct spex_link *link = connected();
    struct spex_link_watch *watch;
    struct spex_link_message value;
    struct spex_error error = {""};
    char *large = calloc(1, SPEX_LINK_BYTES + 1);
    assert_int_equal(spex_link_get(link, "none", "k", &value, &error), -ENOENT);
    assert_string_equal(error.text, "k of bucket none: Not Found");
    assert_int_equal(spex_link_put(link, "none", "k", "v", 1, &error), -ENOENT);
    assert_int_equal(spex_link_delete(link, "none", "k", &error), -ENOENT);
    assert_int_equal(spex_link_watch(link, "none", "k", &watch, &error), -ENOENT);
    for (int twice = 0; twice < 2; twice++)
        assert_int_equal(spex_link_bucket_make(link, "one", &error), 0);
    assert_int_equal(spex_link_bucket_make(link, "two", &error), 0);
    assert_int_equal(spex_link_get(link, "one", "k", &value, &error), -ENOENT);
    assert_int_equal(spex_link_put(link, "one", "k", "first", 5, &error), 0);
    assert_int_equal(spex_link_put(link, "two", "k", "second", 6, &error), 0);
    assert_int_equal(spex_link_put(link, "one", "k", large, SPEX_LINK_BYTES + 1, &error), -E2BIG);
    assert_string_equal(error.text, "k of bucket one: 1048576 bytes at most were expected");
    assert_int_equal(spex_link_get(link, "one", "k", &value, &error), 0);
    assert_string_equal(value.data, "first");
    assert_string_equal(value.subject, "k");
    assert_int_equal(value.size, 5);
    spex_link_message_free(&value);
    assert_int_equal(spex_link_get(link, "two", "k", &value, &error), 0);
    assert_string_equal(value.data, "second");
    spex_link_message_free(&value);
    assert_int_equal(spex_link_watch(link, "one", "k", &watch, &error), 0);
    check_watched(watch, "k", "first");
    assert_int_equal(spex_link_watch_take(watch, &value), 0);
    assert_int_equal(spex_link_put(link, "one", "other", "x", 1, &error), 0);
    assert_int_equal(spex_link_put(link, "one", "k", "third", 5, &error), 0);
    check_watched(watch, "k", "third");
    assert_int_equal(spex_link_delete(link, "one", "k", &error), 0);
    check_watched(watch, "k", NULL);
    assert_int_equal(spex_link_get(link, "one", "k", &value, &error), -ENOENT);
    spex_link_watch_free(watch);
    spex_link_close(link);
    free(large);
}

static void check_job(struct spex_queue *queue, const char *data, unsigned deliveries,
                      enum spex_queue_end how) {
    struct spex_queue_job job;
    int taken = 0;
    WAIT_FOR((taken = spex_queue_take(queue, 1000, &job)) != 0);
    assert_int_equal(taken, 1);
    assert_string_equal(job.message.subject, "spex.f.job.e.1");
    assert_string_equal(job.message.data, data);
    assert_int_equal(job.deliveries, deliveries);
    spex_queue_keep(&job);
    assert_int_equal(spex_queue_end(&job, how), 0);
    assert_null(job.handle);
    assert_null(job.message.data);
}

TEST(queues) {
    struct spex_link *link = connected();
    struct spex_queue *queue, *other;
    struct spex_queue_job job;
    struct spex_error error = {""};
    char *large = malloc(SPEX_LINK_BYTES + 2);
    assert_int_equal(spex_queue_open(link, "jobs", "e", &queue, &error), -ENOENT);
    assert_null(queue);
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(spex_queue_stream(link, "jobs", "spex.f.job", &error), 0);
        assert_int_equal(spex_queue_make(link, "jobs", "e", "spex.f.job.e.*", 60, &error), 0);
    }
    assert_int_equal(spex_queue_make(link, "none", "e", "spex.f.job.e.*", 60, &error), -ENOENT);
    assert_string_equal(error.text, "making queue e: Not Found");
    assert_int_equal(spex_queue_delete(link, "none", "e", &error), -ENOENT);
    assert_int_equal(spex_queue_make(link, "jobs", "o", "spex.f.job.o.*", 60, &error), 0);
    assert_int_equal(spex_queue_open(link, "jobs", "n", &queue, &error), -ENOENT);
    assert_string_equal(error.text, "opening queue n: Not Found");
    assert_null(queue);
    assert_int_equal(spex_queue_open(link, "jobs", "e", &queue, &error), 0);
    assert_int_equal(spex_queue_open(link, "jobs", "o", &other, &error), 0);
    assert_int_equal(spex_queue_take(queue, 10, &job), 0);
    assert_int_equal(spex_queue_put(link, "spex.f.job.e.1", "data", true, &error), 0);
    assert_int_equal(spex_queue_put(link, "spex.f.job.e.1", "again", true, &error), -EEXIST);
    assert_string_equal(error.text, "spex.f.job.e.1 is there already");
    check_job(queue, "data", 1, SPEX_QUEUE_AGAIN);
    check_job(queue, "data", 2, SPEX_QUEUE_LATER);
    assert_int_equal(spex_queue_put(link, "spex.f.job.e.1", "again", true, &error), -EEXIST);
    check_job(queue, "data", 3, SPEX_QUEUE_DONE);
    assert_int_equal(spex_queue_take(queue, 10, &job), 0);
    assert_int_equal(spex_queue_put(link, "spex.f.job.e.1", "more", true, &error), 0);
    assert_int_equal(spex_queue_put(link, "spex.f.job.e.1", "twice", false, &error), 0);
    check_job(queue, "more", 1, SPEX_QUEUE_DONE);
    check_job(queue, "twice", 1, SPEX_QUEUE_DONE);
    assert_int_equal(spex_queue_take(other, 10, &job), 0);
    memset(large, 'l', SPEX_LINK_BYTES + 1);
    large[SPEX_LINK_BYTES + 1] = '\0';
    assert_int_equal(spex_queue_put(link, "spex.f.job.e.1", large, true, &error), -E2BIG);
    assert_string_equal(error.text, "spex.f.job.e.1: 1048577 bytes are too many");
    assert_int_equal(spex_queue_put(link, "spex.g.job", "data", true, &error), -ESRCH);
    assert_int_equal(spex_queue_delete(link, "jobs", "e", &error), 0);
    assert_int_equal(spex_queue_delete(link, "jobs", "e", &error), -ENOENT);
    assert_string_equal(error.text, "removing queue e: Not Found");
    spex_queue_close(queue);
    assert_int_equal(spex_queue_open(link, "jobs", "e", &queue, &error), -ENOENT);
    spex_queue_close(other);
    spex_link_close(link);
    free(large);
}

/* A server that goes and comes again, and one that is not there yet. */
TEST(connections) {
    struct spex_link *link = connected();
    struct spex_error error = {""};
    server_kill();
    WAIT_FOR(spex_link_state(link, &error) == 0);
    assert_int_equal(spex_link_send(link, "spex.f.a", "x", 1), 0);
    assert_true(server_start(""));
    WAIT_FOR(spex_link_state(link, &error) == 1);
    WAIT_FOR(spex_link_connects(link) == 2);
    spex_link_close(link);
    server_kill();
    link = connected();
    assert_int_equal(spex_link_state(link, &error), 0);
    assert_int_equal(spex_link_connects(link), 0);
    assert_true(server_start(""));
    WAIT_FOR(spex_link_state(link, &error) == 1);
    WAIT_FOR(spex_link_connects(link) == 1);
    spex_link_close(link);
}

/* What the server does not permit is told. */
TEST(permissions) {
    struct spex_link *link;
    struct spex_link_message answer;
    struct spex_error error = {""};
    char path[128], expected[128];
    server_kill();
    assert_true(server_start("authorization { users: [ { user: u, password: p, permissions: {\n"
                             "publish: [\"spex.f.>\"], subscribe: [\"_INBOX.>\"] } } ] }"));
    snprintf(path, sizeof(path), "%s/secret", server.folder);
    struct spex_link_options options = {.url = server.url, .name = "test"};
    assert_int_equal(spex_link_open(&options, &link, &error), -EACCES);
    snprintf(expected, sizeof(expected), "NATS at %s refuses the credentials", server.url);
    assert_string_equal(error.text, expected);
    assert_null(link);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "u:p\n", 4), 4);
    close(fd);
    options.credentials = path;
    assert_int_equal(spex_link_open(&options, &link, &error), 0);
    assert_int_equal(spex_link_ask(link, "spex.g.x", "request", 200, &answer, &error), -EACCES);
    assert_non_null(strstr(error.text, "spex.g.x: NATS does not permit it: "));
    assert_int_equal(spex_link_ask(link, "spex.f.x", "request", 200, &answer, &error), -ESRCH);
    spex_link_close(link);
}

static int end(void **state) {
    (void)state;
    server_kill();
    server_remove();
    return 0;
}

int main(void) {
    if (!server_start("")) {
        server_remove();
        puts("skipped: there is no nats-server");
        return 77;
    }
    return tests_run(NULL, end);
}
