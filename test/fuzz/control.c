/* SPDX-License-Identifier: MIT */
/* Any packets as a client's requests: those that are requests get one answer each, which can be
 * read, with their number; a client that sends anything else is left. */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "base/clock.h"
#include "fuzz.h"
#include "observe/profile_reader.h"
#include "packets.h"
#include "serve/connection.h"
#include "serve/report.h"
#include "start/life_state.h"

enum { MEMORY_MAX = 16 << 20 };

SPEX_PROBE_NAME(1, "fuzz.work");

__attribute__((noinline)) static void work(void) {
    LAT_PROBE_BEGIN(1, 1);
    CNT_PROBE_BEGIN(2, 1);
    SNAPSHOT_PROBE(3, 1, 1, 2, 3);
    CNT_PROBE_END(2);
    LAT_PROBE_END(1);
}

static void begin(void) {
    static bool begun;
    const struct spex_options options = {
        .size = sizeof(options), .out = "/dev/null", .no_calibration = true};
    if (begun)
        return;
    FUZZ_CHECK(setenv("SPEX_CONTROL", "off", 1) == 0 && spex_start(&options) == 0);
    begun = true;
}

/* Takes what has been sent; whether an answer ended, which is to be of that number. */
static bool receive(int client, struct spex_profile_reader *reader, uint32_t number) {
    static char frame[SPEX_CONTROL_FRAME_BYTES];
    bool ended = false;
    ssize_t length;
    while ((length = recv(client, frame, sizeof(frame), MSG_DONTWAIT | MSG_TRUNC)) > 0) {
        struct spex_error error;
        struct spex_control_frame head;
        FUZZ_CHECK(!ended && (size_t)length <= sizeof(frame));
        memcpy(&head, frame, sizeof(head));
        FUZZ_CHECK(head.number == number);
        int err = spex_profile_reader_take(reader, frame, (size_t)length, &error);
        FUZZ_CHECK(err >= 0);
        ended = err == 1;
    }
    FUZZ_CHECK(length < 0);
    return ended;
}

static bool is_request(const uint8_t *packet, size_t length, struct spex_control_request *request) {
    if (length < sizeof(*request))
        return false;
    memcpy(request, packet, sizeof(*request));
    return request->magic == SPEX_CONTROL_MAGIC;
}

/* Until the answer is through; how many ended. */
static int answers(struct spex_connection *connection, int client, uint32_t number) {
    static char buffer[SPEX_CONNECTION_BUFFER_BYTES];
    struct spex_profile_reader reader = {0};
    int ended = 0;
    spex_report_begin(connection, spex_clock_ns(CLOCK_MONOTONIC), false);
    while (spex_connection_busy(connection)) {
        spex_connection_retry(connection, &spex_life_requests);
        FUZZ_CHECK(spex_connection_write(connection, buffer) != SPEX_CONNECTION_GONE);
        ended += receive(client, &reader, number);
    }
    spex_profile_reader_free(&reader);
    return ended;
}

/* False when the client is left. */
static bool serve(struct spex_connection *connection, int client, const uint8_t *packet,
                  size_t length) {
    static char buffer[SPEX_CONNECTION_BUFFER_BYTES];
    struct spex_control_request request;
    FUZZ_CHECK(send(client, packet, length, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length);
    enum spex_connection_end end = spex_connection_read(connection, &spex_life_requests, buffer);
    if (!is_request(packet, length, &request)) {
        FUZZ_CHECK(end == SPEX_CONNECTION_GONE);
        return false;
    }
    FUZZ_CHECK(end == SPEX_CONNECTION_STAYS);
    FUZZ_CHECK(answers(connection, client, request.number) == 1);
    /* What else comes of a subscription is its own affair. */
    connection->due_ns = UINT64_MAX;
    return true;
}

static void check_memory(void) {
    static size_t before;
    struct mallinfo2 now = mallinfo2();
    if (!before)
        before = now.uordblks + now.hblkhd;
    FUZZ_CHECK(now.uordblks + now.hblkhd <= before + MEMORY_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char text[SPEX_CONTROL_TEXT_BYTES + 1];
    static struct spex_connection connection = {.text = text};
    const uint8_t *packet;
    size_t length;
    int ends[2];
    begin();
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    spex_connection_open(&connection, spex_descriptor_of(ends[0]), false);
    bool there = true;
    while (there && packet_next(&data, &size, &packet, &length)) {
        work();
        there = serve(&connection, ends[1], packet, length);
    }
    spex_connection_close(&connection);
    close(ends[1]);
    FUZZ_CHECK(spex_set("") == 0);
    check_memory();
    return 0;
}

static size_t put(uint8_t *data, size_t at, uint16_t kind, uint32_t interval_ms, const char *text) {
    const struct spex_control_request request = {.magic = SPEX_CONTROL_MAGIC,
                                                 .version = SPEX_CONTROL_VERSION,
                                                 .kind = kind,
                                                 .number = (uint32_t)at,
                                                 .interval_ms = interval_ms};
    return packet_put(data, at, &request, sizeof(request), text, strlen(text));
}

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const char *const selections[] = {"*", "fuzz.*:lat@7", "+3:snapshot", "-1,2",
                                             "fuzz.work:lat@"};
    size_t length = 0;
    if (number > 3 || room < 65536)
        return 0;
    for (size_t s = 0; s < sizeof(selections) / sizeof(selections[0]); s++) {
        length = put(data, length, number == 3 ? SPEX_CONTROL_LEASE : SPEX_CONTROL_SELECT,
                     number == 3 ? 50 : 0, selections[s]);
        if (number == 1)
            length = put(data, length, s % 2 ? SPEX_CONTROL_STATUS : SPEX_CONTROL_PROFILE, 0, "");
        else if (number == 2)
            length = put(data, length, SPEX_CONTROL_SUBSCRIBE, 1000 * (uint32_t)(s % 2), "");
    }
    return length;
}

const char *const fuzz_words[] = {"SPXC", "\x01",  "\x02", "\x03", "*", ":lat",
                                  "@",    "fuzz.", ",",    "+",    "-", NULL};
