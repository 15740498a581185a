/* SPDX-License-Identifier: MIT */
/* A function is decoded from its first byte to its last, and so are its parts elsewhere. The entry may
 * move from the first instruction to a later one of its entry block, in front of the lowest address that
 * anything jumps to, so that nothing comes to it but from the first. */
#include "attach/code/placement.h"

#include "attach/code/decode.h"

enum { PARTS_MAX = 8 };

/* What is known of all branches. */
struct scan {
    const struct spex_function_code *function;
    struct spex_placement *placement;
    struct spex_code parts[PARTS_MAX];
    unsigned part_count;
    /* The lowest address behind the first instruction that the function itself jumps to. */
    uint64_t lowest;
    /* It jumps to its first instruction; it may jump to any of its instructions; all of it was
     * decoded. */
    bool loops, indirect, whole;
};

static bool is_within(const struct spex_code *code, uint64_t address) {
    return address - code->address < code->size;
}

static bool is_own(const struct scan *scan, uint64_t address) {
    for (unsigned p = 0; p < scan->part_count; p++)
        if (is_within(&scan->parts[p], address))
            return true;
    return false;
}

/* The first reason is told. */
static void set_endless(struct scan *scan, const char *why) {
    if (!scan->placement->endless)
        scan->placement->endless = why;
}

static void add_end(struct scan *scan, uint64_t address, const uint8_t *code, size_t bytes) {
    struct spex_placement *placement = scan->placement;
    enum spex_hit hit = spex_hit_of(code, bytes);
    if (placement->end_count == SPEX_ENDS_MAX)
        set_endless(scan, "it has more ends than there is room for");
    else if (hit == SPEX_HIT_NONE)
        set_endless(scan, "the kernel has no breakpoint for an end of it");
    else
        placement->ends[placement->end_count++] =
            (struct spex_place){.address = address, .hit = hit};
}

/* A jump within the function, or to a part of it that is not known yet. False: it leaves the
 * function. */
static bool take_target(struct scan *scan, uint64_t target, enum spex_beyond *beyond) {
    uint64_t entry = scan->function->code.address;
    struct spex_code part = {0};
    *beyond = SPEX_BEYOND_PART;
    if (target == entry)
        scan->loops = true;
    else if (is_within(&scan->function->code, target) && target < scan->lowest)
        scan->lowest = target;
    if (is_own(scan, target))
        return true;
    *beyond = scan->function->beyond(scan->function->user, target, &part);
    if (*beyond != SPEX_BEYOND_PART)
        return false;
    if (scan->part_count < PARTS_MAX && part.size)
        scan->parts[scan->part_count++] = part;
    else
        scan->whole = false;
    return true;
}

/* A jump always, or a branch that is not always taken: where that leaves the function, one cannot tell
 * there whether it does. */
static void take_jump(struct scan *scan, const struct spex_instruction *instruction,
                      uint64_t address, const uint8_t *code) {
    enum spex_beyond beyond;
    if (take_target(scan, instruction->target, &beyond))
        return;
    if (beyond == SPEX_BEYOND_UNKNOWN)
        set_endless(scan, "it jumps to where no function is known to begin");
    else if (instruction->flow == SPEX_FLOW_BRANCH)
        set_endless(scan, "a conditional jump leaves it");
    else
        add_end(scan, address, code, instruction->bytes);
}

static void take_instruction(struct scan *scan, const struct spex_instruction *instruction,
                             uint64_t address, const uint8_t *code) {
    switch (instruction->flow) {
    case SPEX_FLOW_RETURN:
    case SPEX_FLOW_JUMP_POINTER:
        add_end(scan, address, code, instruction->bytes);
        break;
    case SPEX_FLOW_JUMP:
    case SPEX_FLOW_BRANCH:
        take_jump(scan, instruction, address, code);
        break;
    case SPEX_FLOW_JUMP_ANYWHERE:
        set_endless(scan, "an indirect jump may leave it");
        scan->indirect = true;
        break;
    case SPEX_FLOW_JUMP_TABLE:
        scan->indirect = true;
        break;
    default:
        break;
    }
}

static void scan_part(struct scan *scan, const struct spex_code *part) {
    for (size_t at = 0; at < part->size;) {
        struct spex_instruction instruction;
        const uint8_t *code = part->bytes + at;
        uint64_t address = part->address + at;
        if (!spex_decode(code, part->size - at, address, &instruction)) {
            scan->whole = false;
            return;
        }
        take_instruction(scan, &instruction, address, code);
        at += instruction.bytes;
    }
}

/* Whether an instruction of the entry block is executed once each time, as the first one is. */
static const char *why_not(const struct scan *scan, uint64_t address) {
    const struct spex_function_code *function = scan->function;
    if (address >= scan->lowest)
        return "a branch leads behind it";
    if (function->reached(function->user, function->code.address, address))
        return "other code may jump behind it";
    return NULL;
}

/* Moves the entry to the first instruction of the entry block that is emulated; or, where there can be no
 * breakpoint at the first, to one that is stepped. Behind a call the block goes on, but a function may
 * return twice. Returns why it is where it is. */
static const char *move_entry(const struct scan *scan, struct spex_place *entry) {
    const struct spex_code *code = &scan->function->code;
    struct spex_instruction instruction;
    int64_t sunk = 0;
    uint8_t written = 0;
    for (uint64_t at = 0; at < code->size; at += instruction.bytes) {
        struct spex_place place = {code->address + at,
                                   spex_hit_of(code->bytes + at, code->size - at), sunk, written};
        bool better = spex_hit_is_cheap(place.hit) ||
                      (entry->hit == SPEX_HIT_NONE && place.hit == SPEX_HIT_STEPPED);
        const char *no = at && better ? why_not(scan, place.address) : NULL;
        if (no)
            return no;
        if (better)
            *entry = place;
        if (spex_hit_is_cheap(place.hit))
            return "its first instruction would be stepped";
        if (!spex_decode(code->bytes + at, code->size - at, place.address, &instruction) ||
            !instruction.sinks_known || instruction.flow != SPEX_FLOW_ON)
            break;
        sunk += instruction.sinks;
        written |= instruction.writes;
    }
    return "no cheaper instruction before a branch";
}

static const char *choose_entry(const struct scan *scan, struct spex_place *entry) {
    if (spex_hit_is_cheap(entry->hit))
        return "";
    if (!spex_can_decode())
        return "this spex decodes no instructions";
    if (!scan->function->bounded)
        return "its end is not known";
    if (!scan->whole)
        return "not all of it can be decoded";
    if (scan->indirect)
        return "an indirect jump may lead behind it";
    return move_entry(scan, entry);
}

/* Nothing may lead behind the begin of the jump. */
static const char *why_no_patch(const struct scan *scan) {
    const struct spex_function_code *function = scan->function;
    const struct spex_patchable *patch = &scan->placement->patch;
    uint64_t last = patch->address + patch->bytes - 1;
    if (patch->refused)
        return patch->refused;
    if (!function->bounded)
        return "its end is not known";
    if (!scan->whole)
        return "not all of it can be decoded";
    if (scan->indirect)
        return "an indirect jump may lead into its first instructions";
    if (scan->lowest <= last)
        return "a branch leads into its first instructions";
    if (function->reached(function->user, function->code.address, last))
        return "other code may jump into its first instructions";
    return NULL;
}

static void choose_patch(const struct scan *scan) {
    const struct spex_code *code = &scan->function->code;
    struct spex_patchable *patch = &scan->placement->patch;
    spex_patchable_find(code->bytes, code->size, code->address, patch);
    patch->refused = why_no_patch(scan);
}

static bool is_end(const struct spex_placement *placement, uint64_t address) {
    for (unsigned e = 0; e < placement->end_count; e++)
        if (placement->ends[e].address == address)
            return true;
    return false;
}

/* At one instruction a beginning and an end would come in any order. */
static void choose_begin(struct scan *scan, const struct spex_place *first) {
    struct spex_placement *placement = scan->placement;
    placement->begin = placement->entry;
    if (!is_end(placement, placement->begin.address))
        return;
    placement->begin = *first;
    if (is_end(placement, first->address) || first->hit == SPEX_HIT_NONE)
        set_endless(scan, "it begins and ends with one instruction");
}

static void choose(struct scan *scan) {
    struct spex_placement *placement = scan->placement;
    const struct spex_place first = placement->first = placement->entry;
    if (!scan->whole)
        set_endless(scan, spex_can_decode() ? "not all of it can be decoded"
                                            : "this spex decodes no instructions");
    if (!placement->end_count)
        set_endless(scan, "it never returns");
    if (scan->loops)
        placement->refused = "it begins with a loop";
    placement->why = choose_entry(scan, &placement->entry);
    if (placement->entry.hit == SPEX_HIT_NONE)
        placement->refused = "the kernel has no breakpoint for it";
    choose_begin(scan, &first);
    choose_patch(scan);
}

void spex_place_for_arguments(struct spex_placement *placement, uint8_t places) {
    if (!((placement->entry.written | placement->begin.written) & places))
        return;
    placement->entry = placement->begin = placement->first;
    placement->why = "an argument is overwritten before a cheaper instruction";
    if (placement->first.hit == SPEX_HIT_NONE && !placement->refused)
        placement->refused = "its arguments are overwritten before there can be a breakpoint";
}

/* Parts are found while others are scanned. */
void spex_place(const struct spex_function_code *function, struct spex_placement *placement) {
    const struct spex_code *code = &function->code;
    struct scan scan = {.function = function,
                        .placement = placement,
                        .parts = {*code},
                        .part_count = 1,
                        .lowest = UINT64_MAX,
                        .whole = true};
    *placement = (struct spex_placement){
        .entry = {.address = code->address, .hit = spex_hit_of(code->bytes, code->size)}};
    if (!function->bounded)
        placement->endless = "its end is not known";
    for (unsigned p = 0; function->bounded && p < scan.part_count; p++)
        scan_part(&scan, &scan.parts[p]);
    choose(&scan);
}
