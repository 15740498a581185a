/* SPDX-License-Identifier: MIT */
/* Beginnings and ends of functions on several stacks, against a model that knows which belong together. */
#include <stdbool.h>
#include <string.h>

#include "../check.h"
#include "attach/pairing.h"

static const uint64_t no_registers[SPEX_ARGUMENTS_MAX];
static const uint64_t some_registers[SPEX_ARGUMENTS_MAX] = {1, 2, 3, 4, 5, 6};
static uint64_t registers[SPEX_ARGUMENTS_MAX];

enum { FUNCTIONS = 3, STACKS = 4, DEPTH = 40, STEPS = 200000 };

/* Frames of a stack, the innermost one last. */
struct stack {
    unsigned depth;
    struct {
        size_t function;
        uint64_t pointer, ns;
    } frames[DEPTH];
};

struct model {
    struct stack stacks[STACKS];
    struct spex_unpaired unpaired[FUNCTIONS];
    uint64_t paired;
    uint64_t random, now;
};

static uint64_t pointer_of(unsigned stack, unsigned depth) {
    return 0x7f0000000000 + stack * 0x100000 - depth * 0x40;
}

/* A frame that was left by longjmp is open until its place on the stack is taken by the same function: the
 * model has such frames in `left`. */
static bool left[STACKS][DEPTH][FUNCTIONS];

static void call(struct model *model, struct spex_pairing *pairing, unsigned number) {
    struct stack *stack = &model->stacks[number];
    size_t function = random_below(&model->random, FUNCTIONS);
    unsigned at = stack->depth++;
    stack->frames[at].function = function;
    stack->frames[at].pointer = pointer_of(number, at);
    stack->frames[at].ns = model->now;
    if (left[number][at][function]) {
        model->unpaired[function].abandoned++;
        model->unpaired[function].open--;
        left[number][at][function] = false;
    }
    model->unpaired[function].open++;
    spex_pairing_begin(pairing, function, stack->frames[at].pointer, model->now, no_registers);
}

static void give_back(struct model *model, struct spex_pairing *pairing, unsigned number) {
    struct stack *stack = &model->stacks[number];
    unsigned at = --stack->depth;
    uint64_t took = 0;
    size_t function = stack->frames[at].function;
    assert_true(spex_pairing_end(pairing, function, stack->frames[at].pointer, model->now, &took,
                                 registers));
    assert_int_equal(took, model->now - stack->frames[at].ns);
    model->unpaired[function].open--;
    model->paired++;
}

static void jump(struct model *model, unsigned number) {
    struct stack *stack = &model->stacks[number];
    unsigned to = (unsigned)random_below(&model->random, stack->depth);
    while (stack->depth > to) {
        unsigned at = --stack->depth;
        left[number][at][stack->frames[at].function] = true;
    }
}

static void expect_unpaired(const struct model *model, const struct spex_pairing *pairing) {
    for (size_t f = 0; f < FUNCTIONS; f++) {
        const struct spex_unpaired found = spex_pairing_unpaired(pairing, f);
        assert_memory_equal(&found, &model->unpaired[f], sizeof(found));
    }
}

TEST(calls_returns_and_jumps) {
    static struct model model = {.random = 4};
    struct spex_pairing *pairing;
    assert_int_equal(spex_pairing_create(&pairing, FUNCTIONS, 4096), 0);
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned number = (unsigned)random_below(&model.random, STACKS);
        struct stack *stack = &model.stacks[number];
        uint64_t chance = random_below(&model.random, 100);
        model.now += 1 + random_below(&model.random, 1000);
        if (stack->depth && chance < 3)
            jump(&model, number);
        else if (stack->depth == DEPTH || (stack->depth && chance < 52))
            give_back(&model, pairing, number);
        else
            call(&model, pairing, number);
    }
    expect_unpaired(&model, pairing);
    assert_true(model.paired > STEPS / 3);
    spex_pairing_destroy(pairing);
}

TEST(ends_without_a_beginning) {
    struct spex_pairing *pairing;
    uint64_t took;
    assert_int_equal(spex_pairing_create(&pairing, 2, 8), 0);
    spex_pairing_begin(pairing, 0, 0x1000, 5, some_registers);
    assert_false(spex_pairing_end(pairing, 0, 0x1008, 9, &took, registers));
    assert_false(spex_pairing_end(pairing, 1, 0x1000, 9, &took, registers));
    assert_true(spex_pairing_end(pairing, 0, 0x1000, 9, &took, registers));
    assert_memory_equal(registers, some_registers, sizeof(registers));
    assert_int_equal(took, 4);
    assert_false(spex_pairing_end(pairing, 0, 0x1000, 10, &took, registers));
    assert_int_equal(spex_pairing_unpaired(pairing, 0).begun_before, 2);
    assert_int_equal(spex_pairing_unpaired(pairing, 1).begun_before, 1);
    spex_pairing_destroy(pairing);
}

TEST(no_more_than_there_is_room_for) {
    struct spex_pairing *pairing;
    uint64_t took;
    assert_int_equal(spex_pairing_create(&pairing, 1, 8), 0);
    for (uint64_t p = 0; p < 20; p++)
        spex_pairing_begin(pairing, 0, p << 4, p, no_registers);
    assert_int_equal(spex_pairing_unpaired(pairing, 0).open, 8);
    assert_int_equal(spex_pairing_unpaired(pairing, 0).refused, 12);
    for (uint64_t p = 0; p < 20; p++)
        assert_true(spex_pairing_end(pairing, 0, p << 4, 100, &took, registers) == (p < 8));
    spex_pairing_destroy(pairing);
}

TEST(what_is_forgotten) {
    struct spex_pairing *pairing;
    uint64_t took;
    assert_int_equal(spex_pairing_create(&pairing, 2, 1000), 0);
    for (uint64_t p = 0; p < 1000; p++)
        spex_pairing_begin(pairing, p % 2, p << 4, p, no_registers);
    spex_pairing_forget_function(pairing, 1);
    for (uint64_t p = 0; p < 500; p++)
        assert_true(spex_pairing_end(pairing, p % 2, p << 4, 1000, &took, registers) ==
                    (p % 2 == 0));
    assert_int_equal(spex_pairing_unpaired(pairing, 1).abandoned, 500);
    spex_pairing_forget(pairing);
    assert_int_equal(spex_pairing_unpaired(pairing, 0).open, 0);
    assert_int_equal(spex_pairing_unpaired(pairing, 0).abandoned, 250);
    assert_false(spex_pairing_end(pairing, 0, 998 << 4, 1000, &took, registers));
    spex_pairing_destroy(pairing);
}
