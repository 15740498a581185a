/* SPDX-License-Identifier: MIT */
/* Which slots the names of parameters get, as objects come and go, and how many there can be. The
 * objects are arrays of places, registered as their constructors do it. */
#include <pthread.h>

#include <spex/functions.h>

#include "../check.h"
#include "kernels/function_parameters.h"
#include "messages.h"

enum { MANY = 200, THREADS = 4 };

static char names[MANY][16];

static void place_set(struct spex_parameter_place *place, const char *name) {
    *place = (struct spex_parameter_place){
        .name_offset = (int64_t)((intptr_t)name - (intptr_t)&place->name_offset), .slot = 99};
}

static void expect_text(const char *expected) {
    char text[64];
    spex_parameters_text(text, sizeof(text));
    assert_string_equal(text, expected);
    for (size_t size = 1; size < sizeof(text); size++) {
        memset(text, 'z', sizeof(text));
        spex_parameters_text(text, size);
        assert_int_equal(strncmp(text, expected, size - 1), 0);
        assert_true(strlen(text) == (strlen(expected) < size ? strlen(expected) : size - 1));
    }
}

/* Each name has one slot, whatever objects and places it has. */
TEST(names_have_slots) {
    static struct spex_parameter_place first[3], second[4], later[3];
    place_set(&first[0], "n");
    place_set(&first[1], "size");
    place_set(&first[2], "n");
    place_set(&second[0], "size");
    place_set(&second[1], "rows");
    place_set(&second[2], "size");
    place_set(&second[3], "rows");
    expect_text("");
    spex_parameters_register(second, second + COUNT_OF(second));
    spex_parameters_register(first, first + COUNT_OF(first));
    spex_parameters_register(first, first + 1); /* it is there */
    spex_parameters_register(NULL, NULL);
    assert_int_equal(first[0].slot, 99); /* nothing has been given yet */
    assert_int_equal(spex_parameters_give(), 3);
    for (unsigned again = 0; again < 2; again++) {
        assert_int_equal(first[0].slot, first[2].slot);
        assert_int_equal(first[1].slot, second[0].slot);
        assert_int_equal(first[1].slot, second[2].slot);
        assert_int_equal(second[1].slot, second[3].slot);
        assert_int_equal(first[0].slot + first[1].slot + second[1].slot, 1 + 2 + 3);
        assert_int_equal(spex_parameters_give(), 3);
    }
    char expected[32];
    const char *by_slot[4] = {NULL};
    by_slot[first[0].slot] = "n";
    by_slot[first[1].slot] = "size";
    by_slot[second[1].slot] = "rows";
    snprintf(expected, sizeof(expected), "%s, %s, %s", by_slot[1], by_slot[2], by_slot[3]);
    expect_text(expected);
    /* An object that comes later gets slots of names that are known. */
    place_set(&later[0], "rows");
    place_set(&later[1], "new");
    place_set(&later[2], "n");
    spex_parameters_register(later, later + COUNT_OF(later));
    assert_int_equal(later[0].slot, second[1].slot);
    assert_int_equal(later[1].slot, 0);
    assert_int_equal(later[2].slot, first[0].slot);
    spex_parameters_unregister(later);
    later[0].slot = 99;
    assert_int_equal(spex_parameters_give(), 3);
    assert_int_equal(later[0].slot, 99);
    expect_text(expected); /* names keep their slots */
    spex_parameters_unregister(later);
    spex_parameters_unregister(first);
    first[0].slot = second[0].slot = 99;
    assert_int_equal(spex_parameters_give(), 3);
    assert_int_equal(first[0].slot, 99);
    assert_int_not_equal(second[0].slot, 99);
    spex_parameters_unregister(second);
}

static void *come_and_go(void *places) {
    struct spex_parameter_place *mine = places;
    for (unsigned i = 0; i < 1000; i++) {
        char text[64];
        spex_parameters_register(mine, mine + 1);
        assert_int_equal(spex_parameters_give(), 3);
        spex_parameters_text(text, sizeof(text));
        assert_int_equal(strlen(text), strlen("n, size, rows"));
        spex_parameters_unregister(mine);
        assert_true(mine->slot >= 1 && mine->slot <= 3);
    }
    return NULL;
}

TEST(objects_of_threads_come_and_go) {
    static struct spex_parameter_place places[THREADS];
    static const char *const known[] = {"n", "size", "rows"};
    pthread_t threads[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        place_set(&places[t], known[t % 3]);
        assert_int_equal(pthread_create(&threads[t], NULL, come_and_go, &places[t]), 0);
    }
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

/* What is too much is left out, and said. */
TEST(there_is_an_end_of_slots) {
    static struct spex_parameter_place places[MANY];
    char line[256];
    for (unsigned p = 0; p < MANY; p++) {
        snprintf(names[p], sizeof(names[p]), "many_%u", p);
        place_set(&places[p], names[p]);
    }
    spex_parameters_register(places, places + SPEX_KERNEL_PARAMETERS - 2);
    messages_begin();
    unsigned count = spex_parameters_give();
    const char *messages = messages_end();
    assert_int_equal(count, SPEX_KERNEL_PARAMETERS);
    snprintf(line, sizeof(line),
             "spex: spex_parameter(\"many_%d\"): functions have %d parameters at most, and this "
             "one is left out\n",
             SPEX_KERNEL_PARAMETERS - 3, SPEX_KERNEL_PARAMETERS);
    assert_string_equal(messages, line);
    for (unsigned p = 0; p < SPEX_KERNEL_PARAMETERS - 2; p++)
        assert_int_equal(places[p].slot, p < SPEX_KERNEL_PARAMETERS - 3 ? p + 4 : 0);
    spex_parameters_unregister(places);
}
