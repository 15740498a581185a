/* SPDX-License-Identifier: MIT */
#include "journal.h"

#include <string.h>

#include "random.h"

#define LINE_MOST  512 /* bytes that one line takes at most */
#define DUMP_LINES 60
#define DUMPS      24 /* different ones */

struct journal {
    char *at;
    uint64_t random;
    uint64_t milliseconds;
};

static const char *const hosts[] = {"fra-web-01", "fra-web-02", "ams-api-01",  "ams-api-02",
                                    "ams-api-03", "lon-db-01",  "lon-queue-01"};
static const char *const paths[] = {"/api/v2/orders/",     "/api/v2/users/", "/api/v2/baskets/",
                                    "/static/img/",        "/search?q=",     "/health/",
                                    "/api/v1/deliveries/", "/admin/audit/"};
static const char *const methods[] = {"GET", "GET", "GET", "POST", "PUT", "DELETE"};
static const char *const statuses[] = {"200", "200", "200", "204", "301", "404", "500"};
static const char *const frames[] = {
    "orders.service.OrderService.reserve(OrderService.java:",
    "orders.store.Transaction.commit(Transaction.java:",
    "net.server.Dispatcher.handle(Dispatcher.java:",
    "net.server.Connection.readFully(Connection.java:",
    "cache.Region.lambda$load$3(Region.java:",
    "java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:"};

static void put_text(struct journal *journal, const char *text) {
    size_t length = strlen(text);
    memcpy(journal->at, text, length);
    journal->at += length;
}

static void put_number(struct journal *journal, uint64_t value, unsigned digits) {
    char text[20];
    unsigned length = 0;
    do
        text[length++] = (char)('0' + value % 10);
    while ((value /= 10) || length < digits);
    while (length)
        *journal->at++ = text[--length];
}

static void put_hex(struct journal *journal, uint64_t value, unsigned digits) {
    while (digits)
        *journal->at++ = "0123456789abcdef"[value >> (4 * --digits) & 15];
}

/* Few are frequent: the smaller of three. */
static uint32_t skewed(struct journal *journal, uint32_t bound) {
    uint32_t least = random_below(&journal->random, bound);
    for (int i = 0; i < 2; i++) {
        uint32_t other = random_below(&journal->random, bound);
        least = other < least ? other : least;
    }
    return least;
}

#define PUT_ONE_OF(journal, texts)                                                                 \
    put_text(journal, (texts)[skewed(journal, sizeof(texts) / sizeof(*(texts)))])

static void put_head(struct journal *journal, const char *level) {
    journal->milliseconds += random_below(&journal->random, 9);
    uint64_t seconds = journal->milliseconds / 1000;
    put_text(journal, "2024-03-");
    put_number(journal, 1 + seconds / 86400 % 31, 2);
    put_text(journal, "T");
    put_number(journal, seconds / 3600 % 24, 2);
    put_text(journal, ":");
    put_number(journal, seconds / 60 % 60, 2);
    put_text(journal, ":");
    put_number(journal, seconds % 60, 2);
    put_text(journal, ".");
    put_number(journal, journal->milliseconds % 1000, 3);
    put_text(journal, "Z ");
    PUT_ONE_OF(journal, hosts);
    put_text(journal, level);
}

static void put_request(struct journal *journal) {
    put_head(journal, " INFO  access - ");
    PUT_ONE_OF(journal, methods);
    put_text(journal, " ");
    PUT_ONE_OF(journal, paths);
    put_number(journal, skewed(journal, 1000000), 1);
    put_text(journal, " ");
    PUT_ONE_OF(journal, statuses);
    put_text(journal, " bytes=");
    put_number(journal, skewed(journal, 60000), 1);
    put_text(journal, " micros=");
    put_number(journal, 200 + skewed(journal, 40000), 1);
    put_text(journal, " user=u");
    put_number(journal, skewed(journal, 5000), 5);
    put_text(journal, " trace=");
    put_hex(journal, random_next(&journal->random), 16);
    put_text(journal, "\n");
}

static void put_event(struct journal *journal) {
    put_head(journal, " DEBUG queue - {\"event\":\"order.changed\",\"order\":");
    put_number(journal, 70000000 + skewed(journal, 100000), 8);
    put_text(journal, ",\"state\":\"");
    put_text(journal, skewed(journal, 3) ? "reserved" : "paid");
    put_text(journal, "\",\"items\":[");
    for (uint32_t left = 1 + random_below(&journal->random, 4); left; left--) {
        put_text(journal, "{\"sku\":\"A-");
        put_number(journal, skewed(journal, 20000), 6);
        put_text(journal, "\",\"count\":");
        put_number(journal, 1 + skewed(journal, 5), 1);
        put_text(journal, left > 1 ? "}," : "}");
    }
    put_text(journal, "]}\n");
}

static void put_trace(struct journal *journal) {
    put_head(journal, " ERROR worker - java.net.SocketTimeoutException: Read timed out\n");
    for (uint32_t left = 3 + random_below(&journal->random, 4); left; left--) {
        put_text(journal, "\tat com.example.");
        PUT_ONE_OF(journal, frames);
        put_number(journal, 20 + skewed(journal, 40), 1);
        put_text(journal, ")\n");
    }
}

/* A line of dump `number`, every time the same: what only a long window finds again. */
static void put_setting(struct journal *journal, uint32_t number, uint32_t line) {
    uint64_t random = (uint64_t)number << 32 | line;
    put_text(journal, "  setting.");
    put_number(journal, line, 2);
    put_text(journal, " = ");
    put_hex(journal, random_next(&random), 16);
    put_hex(journal, random_next(&random), 8);
    put_text(journal, "\n");
}

void journal_write(char *text, size_t size, uint64_t seed) {
    struct journal journal = {.at = text, .random = seed};
    uint32_t dump = 0, dump_lines = 0;
    while (text + size - journal.at >= LINE_MOST) {
        uint32_t kind = random_below(&journal.random, 1000);
        if (dump_lines)
            put_setting(&journal, dump, --dump_lines);
        else if (kind < 5) {
            dump = random_below(&journal.random, DUMPS);
            dump_lines = DUMP_LINES;
        } else if (kind < 30)
            put_trace(&journal);
        else if (kind < 300)
            put_event(&journal);
        else
            put_request(&journal);
    }
    memset(journal.at, '\n', (size_t)(text + size - journal.at));
}
