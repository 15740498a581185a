/* SPDX-License-Identifier: MIT */
/* Values are calculated only where the kernel is on. One that is there anyway, behind an instruction of
 * the function, is stored at once: a store costs less than to look whether it is needed. */
#include "compiler/parameters.h"

#include "compiler/versions.h"

#include <algorithm>

#include <spex/record.h>

#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include "compiler/names.h"

using namespace llvm;

namespace spex {

static bool can_expand(const Source &source, ScalarEvolution &evolution) {
    if (!source.loop->getLoopPreheader() || !evolution.isLoopInvariant(source.count, source.loop) ||
        evolution.getTypeSizeInBits(source.type) > 64)
        return false;
    return is_safe_to_expand(source.count, evolution);
}

/* Where a load of the function, or a call that loads, tells the number: not in a loop, but for what the
 * first iteration loads surely. */
static bool place_load(Parameter &parameter, const LoopInfo &loops) {
    const Source &source = parameter.source;
    const Loop *around = loops.getLoopFor(source.at->getParent());
    if (!around) {
        parameter.told = isa<LoadInst>(source.at) ? Told::behind : Told::before;
        parameter.at = source.at;
        return source.loads;
    }
    if (around->getParentLoop() || !source.loads || !around->getLoopPreheader() ||
        !is_surely_executed(source.at, around->getHeader()))
        return false;
    auto *base = dyn_cast<Instruction>(source.base);
    parameter.told = Told::before;
    parameter.at = around->getLoopPreheader()->getTerminator();
    return !base;
}

/* Whether a variable can count how often the loop executes, and be told where it is left. */
static bool can_count(const Loop &loop) {
    SmallVector<BasicBlock *, 4> exits;
    loop.getUniqueExitBlocks(exits);
    bool can = loop.isLoopSimplifyForm() && !exits.empty();
    for (const BasicBlock *exit : exits)
        can &= exit->getFirstInsertionPt() != exit->end();
    return can;
}

/* False: the value cannot be told. */
static bool place(Parameter &parameter, const Loop *loop, const LoopInfo &loops,
                  ScalarEvolution &evolution) {
    const Source &source = parameter.source;
    parameter.told = Told::begin;
    if (source.counted) {
        parameter.told = Told::left;
        return can_count(*source.loop);
    }
    if (source.count) {
        parameter.told = loop ? Told::begin : Told::before;
        if (!can_expand(source, evolution))
            return false;
        parameter.at = source.loop->getLoopPreheader()->getTerminator();
        return true;
    }
    if (source.path.empty()) {
        parameter.at = dyn_cast<Instruction>(source.base);
        if (parameter.at && !loop)
            parameter.told = Told::behind;
        return !(parameter.at && !loop && parameter.at->isTerminator());
    }
    return source.sure || (!loop && place_load(parameter, loops));
}

static void make_unique(std::vector<Parameter> &parameters) {
    std::map<std::string, unsigned> names;
    for (Parameter &parameter : parameters) {
        unsigned same = ++names[parameter.name];
        if (same > 1)
            parameter.name += "#" + std::to_string(same);
    }
}

/* Copies of a loop, as of one that was unrolled around it, are counted together. */
static bool join(std::vector<Parameter> &parameters, const Parameter &parameter) {
    for (Parameter &other : parameters)
        if (parameter.source.counted && other.source.counted && other.name == parameter.name &&
            other.source.depth == parameter.source.depth) {
            other.loops.push_back(parameter.source.loop);
            return true;
        }
    return false;
}

std::vector<Parameter> parameters_choose(const Sources &sources, const Loop *loop,
                                         const LoopInfo &loops, ScalarEvolution &evolution) {
    std::vector<Parameter> parameters;
    for (const Source &source : sources.items) {
        Parameter parameter = {source,  source_name(source), source_is_signed(source), Told::begin,
                               nullptr, {source.loop}};
        if (place(parameter, loop, loops, evolution) && !join(parameters, parameter))
            parameters.push_back(parameter);
    }
    std::stable_sort(parameters.begin(), parameters.end(),
                     [](const Parameter &one, const Parameter &other) {
                         return one.source.depth > other.source.depth;
                     });
    if (parameters.size() > SPEX_KERNEL_PARAMETERS)
        parameters.resize(SPEX_KERNEL_PARAMETERS);
    make_unique(parameters);
    return parameters;
}

/* Loads along the path, or the base itself. */
static Value *value_of(const Source &source, Instruction *before) {
    IRBuilder<> builder(before);
    Value *value = source.base;
    for (size_t step = 0; step < source.path.size(); step++) {
        bool is_last = step + 1 == source.path.size();
        Type *type = is_last ? source.type : PointerType::getUnqual(builder.getInt8Ty());
        Value *bytes =
            builder.CreatePointerCast(value, PointerType::getUnqual(builder.getInt8Ty()));
        Value *place =
            builder.CreateGEP(builder.getInt8Ty(), bytes, builder.getInt64(source.path[step]));
        LoadInst *load = builder.CreateAlignedLoad(
            type, builder.CreatePointerCast(place, PointerType::getUnqual(type)), Align(1));
        load->setMetadata(builder.getContext().getMDKindID("nosanitize"),
                          MDNode::get(builder.getContext(), {}));
        value = load;
    }
    return value;
}

static Value *value_before(const Source &source, Instruction *before, ScalarEvolution &evolution) {
    if (!source.count)
        return value_of(source, before);
    const DataLayout &layout = before->getModule()->getDataLayout();
    SCEVExpander expander(evolution, layout, "spex");
    return expander.expandCodeFor(source.count, evolution.getEffectiveSCEVType(source.type),
                                  before);
}

/* The instruction in front of which a value that `at` has made can be stored. */
static Instruction *behind(Instruction *at) {
    return isa<PHINode>(at) ? &*at->getParent()->getFirstInsertionPt() : at->getNextNode();
}

/* A register that counts, from 0, how often the loop's first block has been executed before. The
 * program may have one already. */
static PHINode *counter_make(const Loop &loop) {
    PHINode *own = loop.getCanonicalInductionVariable();
    if (own && own->getType()->isIntegerTy(64))
        return own;
    BasicBlock *latch = loop.getLoopLatch();
    IRBuilder<> begin(&loop.getHeader()->front());
    PHINode *counter = begin.CreatePHI(begin.getInt64Ty(), 2, "spex_trips");
    IRBuilder<> end(latch->getTerminator());
    counter->addIncoming(begin.getInt64(0), loop.getLoopPreheader());
    counter->addIncoming(end.CreateAdd(counter, end.getInt64(1)), latch);
    return counter;
}

/* Adds the count to the parameter wherever the loop is left: it may be entered again. */
static void tell_count(const Loop &loop, size_t number, const Placed &placed, Counters &counters) {
    SmallVector<BasicBlock *, 4> exits;
    PHINode *&counter = counters[&loop];
    counter = counter ? counter : counter_make(loop);
    loop.getUniqueExitBlocks(exits);
    /* That it is entered counts in front of it: with 1 added behind, the compiler would make another
     * variable of the counter. */
    Instruction *begin = loop.getLoopPreheader()->getTerminator();
    parameter_add(placed, number, ConstantInt::get(counter->getType(), 1), begin);
    for (BasicBlock *exit : exits) {
        PHINode *count = PHINode::Create(counter->getType(), 2, "spex_trips", &exit->front());
        for (BasicBlock *from : predecessors(exit))
            count->addIncoming(counter, from);
        parameter_add(placed, number, count, &*exit->getFirstInsertionPt());
    }
}

static void tell(const Parameter &parameter, size_t number, const Placed &placed, Shape shape,
                 ScalarEvolution &evolution, Counters &counters) {
    const Source &source = parameter.source;
    Instruction *before = placed.call;
    if (parameter.told == Told::left) {
        for (const Loop *loop : parameter.loops)
            tell_count(*loop, number, placed, counters);
        return;
    }
    if (parameter.told == Told::behind) {
        Value *value = source.path.empty() ? source.base : parameter.at;
        parameter_store(placed, number, value, parameter.is_signed, behind(parameter.at));
        return;
    }
    if (parameter.told == Told::before)
        before = if_recorded(placed, parameter.at, shape);
    Value *value = value_before(source, before, evolution);
    if (source.count) {
        /* The count is of jumps back to the loop's begin: one less than of its executions. */
        IRBuilder<> builder(before);
        value = builder.CreateIntCast(value, builder.getInt64Ty(), false);
        value = builder.CreateAdd(value, builder.getInt64(1));
    }
    parameter_store(placed, number, value, parameter.is_signed, before);
}

void parameters_tell(const std::vector<Parameter> &parameters, const Placed &placed, Shape shape,
                     ScalarEvolution &evolution, Counters &counters) {
    for (size_t p = 0; p < parameters.size(); p++) {
        if (parameters[p].told != Told::begin)
            parameter_store(placed, p, ConstantInt::get(parameters[p].source.type, 0), false,
                            placed.call);
        tell(parameters[p], p, placed, shape, evolution, counters);
    }
}

} // namespace spex
