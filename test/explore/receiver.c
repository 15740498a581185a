/* SPDX-License-Identifier: MIT */
/* The command's end of the stream: the order of records, what is held back, connections and their
 * ends. */
#include <errno.h>

#include <spex/kernel.h>

#include "../interrupted_calls.h"

#include "explore/trial/receiver.h"
#include "receiver_stream.h"
#include "scratch.h"
#include "wire/command_socket.h"

TEST(order) {
    struct stream stream;
    open_stream(&stream);
    EXPECT_NONE(&stream, false);
    send_kind(&stream, SPEX_STREAM_HELLO);
    SEND_RECORDS(&stream, 10, 30, 50);
    SEND_RECORDS(&stream, 20, 40);
    take(&stream);
    EXPECT_NONE(&stream, false); /* nobody has passed anything */
    send_pass(&stream, 0, 45);
    take(&stream);
    EXPECT_NONE(&stream, false); /* the other collector may still bring a 5 */
    SEND_RECORDS(&stream, 5);
    send_pass(&stream, 1, 30);
    take(&stream);
    EXPECT(&stream, false, 5, 10, 20); /* 30 is not before 30 */
    EXPECT_NONE(&stream, false);       /* not twice */
    send_pass(&stream, 1, 100);
    SEND_RECORDS(&stream, 60, 70);
    take(&stream);
    EXPECT(&stream, false, 30, 40);
    SEND_RECORDS(&stream, 55);
    take(&stream);
    EXPECT(&stream, true, 50, 55, 60, 70);
    EXPECT_NONE(&stream, true);
    close_stream(&stream);
}

/* As they lie in rings: of a CPU, and in the shared ring, where each has a CPU. */
TEST(packed_records) {
    struct packed_frame frame = packed_frame(), shared = frame;
    struct stream stream;
    size_t count;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    send_packed_site(&stream, SPEX_LAT, 1);
    send_packed(&stream, &frame);
    shared.head.count = 1;
    shared.packed.cpu = SPEX_STREAM_NO_CPU;
    shared.packed.words = 4;
    shared.words[0] = 30;
    shared.words[1] = spex_pack(1, PACKED_NUMBER + 1, PACKED_SITE, SPEX_MARK_UNAVAILABLE);
    shared.words[3] = UINT16_MAX;
    send_packed(&stream, &shared);
    take(&stream);
    const struct spex_record *records = spex_receiver_records(stream.receiver, true, &count);
    assert_int_equal(count, 3);
    for (size_t r = 0; r < count; r++) {
        assert_int_equal(records[r].timestamp, 10 * (r + 1));
        assert_int_equal(records[r].probe_id, 9);
        assert_int_equal(records[r].probe_type, SPEX_LAT);
        assert_int_equal(records[r].cpu_id, r < 2 ? 5 : UINT16_MAX);
        assert_int_equal(records[r].thread_id, r < 2 ? PACKED_THREAD : 0);
        assert_int_equal(records[r].weight, r == 1 ? 4 : 1);
        assert_int_equal(records[r].lost, r == 1 ? 0 : 7);
        assert_int_equal(records[r].gap, r == 1 ? 0 : 1);
        assert_int_equal(records[r].field_count, r < 2 ? 1 : 0);
    }
    assert_int_equal(records[0].fields[0], 100);
    assert_int_equal(records[1].fields[0], 200);
    assert_int_equal(records[1].marks, SPEX_MARK_DRAWN);
    close_stream(&stream);
}

TEST(end) {
    struct stream stream;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    SEND_RECORDS(&stream, 9);
    SEND_RECORDS(&stream, 3, UINT64_MAX - 1);
    take(&stream);
    EXPECT_NONE(&stream, false);
    assert_false(spex_receiver_ended(stream.receiver));
    send_kind(&stream, SPEX_STREAM_END);
    take(&stream);
    assert_true(spex_receiver_ended(stream.receiver));
    EXPECT(&stream, false, 3, 9, UINT64_MAX - 1);
    assert_true(program_fd(&stream) >= 0);
    close_stream(&stream);
}

TEST(end_of_file) {
    struct stream stream;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    SEND_RECORDS(&stream, 9, 11);
    SEND_RECORDS(&stream, 3);
    close(stream.program);
    stream.program = -1;
    take(&stream);
    assert_int_equal(program_fd(&stream), -1);
    assert_true(spex_receiver_ended(stream.receiver));
    assert_true(spex_receiver_connected(stream.receiver));
    EXPECT(&stream, false, 3, 9, 11);
    take(&stream);
    EXPECT_NONE(&stream, true);
    close_stream(&stream);
}

/* Thousands of records from two collectors, in frames of random sizes. */
TEST(many) {
    enum { TOTAL = 20000 };
    struct stream stream;
    uint64_t random = 1, next[2] = {0, 1}, expected = 0;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    while (expected < TOTAL) {
        size_t collector = random_below(&random, 2), count = 1 + random_below(&random, 16);
        uint64_t timestamps[16];
        for (size_t r = 0; r < count; r++, next[collector] += 2)
            timestamps[r] = next[collector]; /* one collector's are even, the other's odd */
        send_records(&stream, count, timestamps);
        send_pass(&stream, (uint32_t)collector, next[collector]);
        take(&stream);
        size_t got;
        const struct spex_record *records = spex_receiver_records(stream.receiver, false, &got);
        for (size_t r = 0; r < got; r++)
            assert_int_equal(records[r].timestamp, expected++);
        uint64_t lower = next[0] < next[1] ? next[0] : next[1];
        assert_int_equal(expected, lower);
    }
    close_stream(&stream);
}

TEST(sites) {
    struct stream stream;
    struct spex_stream_site sent[2] = {{.index = 1, .probe_id = 7, .probe_type = SPEX_LAT},
                                       {.index = 2, .probe_id = 8, .probe_type = SPEX_TPT}};
    size_t count;
    strcpy(sent[0].name, "query");
    memset(sent[1].name, 'n', sizeof(sent[1].name)); /* neither ends */
    memset(sent[1].file, 'f', sizeof(sent[1].file));
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    send_frame(&stream, header(SPEX_STREAM_SITES, 1), sent, sizeof(*sent));
    send_frame(&stream, header(SPEX_STREAM_SITES, 2), sent, sizeof(sent));
    take(&stream);
    const struct spex_stream_site *told = spex_receiver_sites(stream.receiver, &count);
    assert_int_equal(count, 3);
    assert_string_equal(told[0].name, "query");
    assert_string_equal(told[1].name, "query");
    assert_int_equal(strlen(told[2].name), SPEX_STREAM_TEXT_BYTES - 1);
    assert_int_equal(strlen(told[2].file), SPEX_STREAM_TEXT_BYTES - 1);
    assert_int_equal(told[2].probe_id, 8);
    close_stream(&stream);
}

TEST(sites_with_providers) {
    struct stream stream;
    struct spex_stream_site sent[2] = {
        {.index = 1, .probe_id = 7, .probe_type = SPEX_LAT, .name = "send", .provider = "liba"},
        {.index = 2, .probe_id = 65535, .probe_type = SPEX_LAT, .provider = "libb", .declared = 8}};
    size_t count;
    char list[100];
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    send_frame(&stream, header(SPEX_STREAM_SITES, 2), sent, sizeof(sent));
    take(&stream);
    const struct spex_stream_site *told = spex_receiver_sites(stream.receiver, &count);
    assert_int_equal(spex_stream_site_id(&told[0]), 7);
    assert_int_equal(spex_stream_site_id(&told[1]), 7);
    spex_receiver_list_probes(stream.receiver, list, sizeof(list));
    assert_string_equal(list, "liba/send:lat, libb/7:lat");
    close_stream(&stream);
}

/* Each once, by id and type, however they came; a list that is too long is cut. */
TEST(probes_are_listed_in_their_order) {
    struct stream stream;
    struct spex_stream_site sent[] = {
        {.index = 1, .probe_id = 9, .probe_type = SPEX_CNT, .name = "last", .provider = "lib"},
        {.index = 2, .probe_id = 3, .probe_type = SPEX_LAT, .name = "b", .provider = "lib"},
        {.index = 3, .probe_id = 3, .probe_type = SPEX_CNT, .name = "b", .provider = "lib"},
        {.index = 4, .probe_id = 3, .probe_type = SPEX_LAT, .name = "b", .provider = "lib"},
        {.index = 5, .probe_type = 1, .name = "none", .provider = "lib"}};
    const char *const whole = "none:cnt, b:cnt, b:lat, last:cnt";
    char list[100];
    open_stream(&stream);
    spex_receiver_list_probes(stream.receiver, list, sizeof(list));
    assert_string_equal(list, "none");
    send_kind(&stream, SPEX_STREAM_HELLO);
    send_frame(&stream, header(SPEX_STREAM_SITES, COUNT_OF(sent)), sent, sizeof(sent));
    take(&stream);
    for (size_t size = sizeof(list); size > 0; size--) {
        char cut[sizeof(list)];
        snprintf(cut, size, "%s", whole);
        memset(list, 'x', sizeof(list));
        spex_receiver_list_probes(stream.receiver, list, size);
        assert_string_equal(list, cut);
        assert_true(size == sizeof(list) || list[size] == 'x');
    }
    close_stream(&stream);
}

TEST(lost) {
    struct stream stream;
    struct spex_stream_header head = header(SPEX_STREAM_PASS, 0);
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    take(&stream);
    assert_int_equal(spex_receiver_lost(stream.receiver), 0);
    head.lost = UINT64_MAX;
    send_frame(&stream, head, NULL, 0);
    take(&stream);
    assert_true(spex_receiver_lost(stream.receiver) == UINT64_MAX);
    close_stream(&stream);
}

TEST(contexts_are_told) {
    static const struct spex_stream_context contexts[] = {
        {.number = 2, .parent = 1, .kernel = 7}, {.number = 5, .parent = 2, .kernel = 65535}};
    struct spex_context_node node;
    struct stream stream;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    assert_false(spex_receiver_context(stream.receiver, 2, &node));
    send_frame(&stream, header(SPEX_STREAM_CONTEXTS, 2), contexts, sizeof(contexts));
    take(&stream);
    assert_true(spex_receiver_context(stream.receiver, 5, &node));
    assert_int_equal(node.parent, 2);
    assert_int_equal(node.kernel, 65535);
    for (uint64_t none = 0; none < 5; none += none == 1 ? 2 : 1)
        assert_false(spex_receiver_context(stream.receiver, none, &node));
    assert_false(spex_receiver_context(stream.receiver, SPEX_CONTEXTS_MAX + 1, &node));
    assert_false(spex_receiver_context(stream.receiver, UINT64_MAX, &node));
    close_stream(&stream);
}

TEST(second_program) {
    struct stream stream;
    open_stream(&stream);
    close_stream(&stream);
    struct spex_error why = {""};
    assert_int_equal(spex_receiver_open(PATH, &stream.receiver, &why), 0);
    stream.program = connect_to(PATH);
    take(&stream);
    int second = connect_to(PATH);
    assert_true(second >= 0);
    assert_int_equal(spex_receiver_take(stream.receiver, &why), -EPROTO);
    assert_non_null(strstr(why.text, "once, in one process"));
    close(second);
    unlink(PATH);
    close_stream(&stream);
}

/* A program that cannot reach the path sends a descriptor, and a hostile one anything. */
TEST(handed_over) {
    struct stream stream = {.program = -1};
    struct spex_error why = {""};
    assert_int_equal(spex_receiver_open(PATH, &stream.receiver, &why), 0);
    unlink(PATH);
    char text[SPEX_DESCRIPTOR_TEXT_BYTES];
    spex_descriptor_text(spex_receiver_handover(stream.receiver), text);
    struct spex_descriptor inherited = spex_descriptor_read(text);
    char much[4096] = "";
    for (size_t bytes = 1; bytes <= sizeof(much); bytes += sizeof(much) - 1) {
        assert_int_equal(send(inherited.number, much, bytes, 0), bytes);
        assert_int_equal(spex_receiver_take(stream.receiver, &why), 0);
        assert_false(spex_receiver_connected(stream.receiver));
    }
    stream.program = spex_command_socket(PATH, &inherited).number;
    assert_true(stream.program >= 0);
    send_kind(&stream, SPEX_STREAM_HELLO);
    take(&stream);
    assert_true(spex_receiver_connected(stream.receiver));
    close_stream(&stream);
    assert_int_equal(spex_command_socket(PATH, &inherited).number, -ENOENT);
}

/* A frame that has waited for over a second says that we were held up. */
TEST(late) {
    struct stream stream;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    take(&stream);
    assert_false(spex_receiver_late(stream.receiver));
    struct spex_stream_header head = header(SPEX_STREAM_PASS, 0);
    head.monotonic_ns -= 1100000000;
    send_frame(&stream, head, NULL, 0);
    take(&stream);
    assert_true(spex_receiver_late(stream.receiver));
    close_stream(&stream);
}

TEST(nobody) {
    struct spex_receiver *receiver;
    struct spex_error why = {""};
    size_t count = 1;
    assert_int_equal(spex_receiver_open(PATH, &receiver, &why), 0);
    assert_int_equal(spex_receiver_take(receiver, &why), 0);
    assert_false(spex_receiver_connected(receiver));
    spex_receiver_records(receiver, true, &count);
    assert_int_equal(count, 0);
    spex_receiver_close(receiver);
    spex_receiver_close(NULL);
    unlink(PATH);
}

/* What is taken at once is bounded; that there may be more is told, until nothing is left. */
TEST(much_at_once) {
    enum { FRAMES_AT_ONCE = 256, FRAMES = FRAMES_AT_ONCE + 4 };
    struct stream stream;
    struct spex_error why = {""};
    int room = 1 << 22, sent = 0;
    open_stream(&stream);
    setsockopt(stream.program, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    send_kind(&stream, SPEX_STREAM_HELLO);
    take(&stream);
    struct spex_stream_header pass = header(SPEX_STREAM_PASS, 0);
    while (sent < FRAMES &&
           send(stream.program, &pass, sizeof(pass), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(pass))
        sent++;
    if (sent == FRAMES) /* the system may give a socket less room */
        assert_int_equal(spex_receiver_take(stream.receiver, &why), 1);
    int more = 1;
    for (int take = 0; more == 1 && take < FRAMES; take++) /* an interrupted call counts, too */
        more = spex_receiver_take(stream.receiver, &why);
    assert_int_equal(more, 0);
    close_stream(&stream);
}

/* Whoever starts us may have closed the standard input, whose number the socket gets. */
TEST(without_standard_input) {
    struct spex_receiver *receiver;
    struct spex_error why = {""};
    int fds[SPEX_RECEIVER_FDS], kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    assert_true(kept >= 10);
    close(STDIN_FILENO);
    int err = spex_receiver_open(PATH, &receiver, &why);
    if (!err)
        spex_receiver_fds(receiver, fds);
    spex_receiver_close(receiver);
    dup2(kept, STDIN_FILENO);
    close(kept);
    unlink(PATH);
    assert_int_equal(err, 0);
    assert_int_equal(fds[0], STDIN_FILENO);
}

TEST(bad_paths) {
    struct spex_receiver *receiver = (void *)1;
    struct spex_error why = {""};
    char path[200];
    memset(path, 'p', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(spex_receiver_open(path, &receiver, &why), -ENAMETOOLONG);
    assert_null(receiver);
    assert_non_null(strstr(why.text, "set TMPDIR"));
    assert_int_equal(spex_receiver_open("missing/records", &receiver, &why), -ENOENT);
    assert_non_null(strstr(why.text, "missing/records"));
    scratch_text("taken", "");
    assert_int_equal(spex_receiver_open("taken", &receiver, &why), -EADDRINUSE);
    assert_null(receiver);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
