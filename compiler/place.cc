/* SPDX-License-Identifier: MIT */
/* A call that may throw, and has nobody who catches, becomes an invoke of a landing pad that ends the
 * probe and goes on: what a variable with a destructor would do. In C there are such calls only where
 * it is compiled with -fexceptions. */
#include "compiler/place.h"

#include "compiler/versions.h"

#include <algorithm>
#include <set>

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>

using namespace llvm;

namespace spex {

static bool has_intrinsic_of_coroutines(const Function &function) {
    for (const Instruction &at : instructions(function))
        if (auto *call = dyn_cast<IntrinsicInst>(&at))
            if (begins_with(call->getCalledFunction()->getName(), "llvm.coro."))
                return true;
    return false;
}

static bool is_coroutine(const Function &function) {
    StringRef name = function.getName();
    return function.hasFnAttribute("coroutine.presplit") || ends_with(name, ".resume") ||
           ends_with(name, ".destroy") || ends_with(name, ".cleanup") ||
           has_intrinsic_of_coroutines(function);
}

static bool is_resolver(const Function &function) {
    for (const GlobalIFunc &ifunc : function.getParent()->ifuncs())
        if (ifunc.getResolver()->stripPointerCasts() == &function)
            return true;
    return false;
}

const char *refusal_inside(const Function &function) {
    if (function.hasAvailableExternallyLinkage())
        return "its code is in another object";
    if (function.hasFnAttribute(Attribute::Naked))
        return "it is naked";
    if (function.callsFunctionThatReturnsTwice())
        return "it calls setjmp or vfork";
    if (is_coroutine(function))
        return "it is a coroutine";
    if (function.hasPersonalityFn() &&
        isFuncletEHPersonality(classifyEHPersonality(function.getPersonalityFn())))
        return "its exceptions are not those of Linux";
    if (function.hasFnAttribute(Attribute::NoProfile))
        return "it has the attribute no_profile_instrument_function";
    if (is_resolver(function))
        return "it is executed before the program is linked (ifunc)";
    return nullptr;
}

const char *refusal_around(const Function &function) {
    for (const BasicBlock &block : function)
        if (isa<ReturnInst>(block.getTerminator()) || isa<ResumeInst>(block.getTerminator()))
            return nullptr;
    return "it does not return";
}

const char *refusal_of_loop(const Loop &loop) {
    SmallVector<BasicBlock *, 4> exits;
    loop.getUniqueExitBlocks(exits);
    if (!loop.isLoopSimplifyForm())
        return "it is entered or left by a computed goto";
    if (exits.empty())
        return "it does not end";
    for (const BasicBlock *exit : exits)
        if (exit->getFirstInsertionPt() == exit->end())
            return "it is left in a way in which nothing can stand";
    return nullptr;
}

/* A function of C's library that calls nothing of the program. */
static bool is_plain(const CallBase &call, const Function &callee,
                     const TargetLibraryInfo &library) {
    LibFunc number;
    return callee.isDeclaration() && library.getLibFunc(call, number) && library.has(number) &&
           call.onlyAccessesInaccessibleMemOrArgMem();
}

bool is_quiet(const CallBase &call, const TargetLibraryInfo &library) {
    if (const auto *assembly = dyn_cast<InlineAsm>(call.getCalledOperand()))
        return assembly->getAsmString().empty();
    const Function *callee = call.getCalledFunction();
    return callee && (callee->isIntrinsic() || callee->hasFnAttribute(quiet_attribute) ||
                      is_plain(call, *callee, library));
}

void quiet_mark(Function &function, const TargetLibraryInfo &library) {
    if (!function.hasExactDefinition())
        return;
    for (const Instruction &at : instructions(function))
        if (auto *call = dyn_cast<CallBase>(&at))
            if (!is_quiet(*call, library))
                return;
    function.addFnAttr(quiet_attribute);
}

/* An alloca that is not in the first block, or stands behind what is no alloca, would become a dynamic
 * one. */
Instruction *behind_allocas(Function &function) {
    BasicBlock &entry = function.getEntryBlock();
    Instruction *first = &*entry.getFirstInsertionPt();
    while (isa<AllocaInst>(first) && cast<AllocaInst>(first)->isStaticAlloca())
        first = first->getNextNode();
    std::vector<AllocaInst *> later;
    for (auto at = first->getIterator(); at != entry.end(); ++at)
        if (auto *alloca = dyn_cast<AllocaInst>(&*at))
            if (alloca->isStaticAlloca())
                later.push_back(alloca);
    for (AllocaInst *alloca : later)
        alloca->moveBefore(first);
    return first;
}

static bool may_leave(const Instruction &at) {
    auto *call = dyn_cast<CallInst>(&at);
    return call && !call->doesNotThrow() && !call->isMustTailCall() && !call->isInlineAsm() &&
           !isa<IntrinsicInst>(call);
}

Placer::Placer(Function &function, Shape shape, ScalarEvolution &evolution,
               const TargetLibraryInfo &library, BasicBlock *begin)
    : function(function), shape(shape), evolution(evolution), library(library), begin(begin) {
    behind_allocas(function);
}

/* Calls in a block that may execute probes. One that must be a tail call stands behind END. */
std::vector<Instruction *> Placer::reaching(const BasicBlock &block) const {
    std::vector<Instruction *> calls;
    for (const Instruction &at : block)
        if (auto *call = dyn_cast<CallBase>(&at))
            if (!call->isMustTailCall() && !is_quiet(*call, library))
                calls.push_back(const_cast<Instruction *>(&at));
    return calls;
}

/* Whether a way leads from the first block to an end that executes none of these instructions. A way
 * that leaves the loop ends. */
static bool is_avoidable(const std::vector<Instruction *> &instructions, const BasicBlock *first,
                         const Loop *loop) {
    std::set<const BasicBlock *> seen;
    for (const Instruction *at : instructions)
        seen.insert(at->getParent());
    std::vector<const BasicBlock *> next = {first};
    while (!next.empty()) {
        const BasicBlock *block = next.back();
        next.pop_back();
        if (!seen.insert(block).second)
            continue;
        const Instruction *end = block->getTerminator();
        if ((loop && !loop->contains(block)) || isa<ReturnInst>(end) || isa<ResumeInst>(end))
            return true;
        next.insert(next.end(), succ_begin(block), succ_end(block));
    }
    return false;
}

/* Each place where a context is entered costs some text. */
static constexpr size_t places_most = 8;

static Enters when_entered(const std::vector<Instruction *> &reaching, const BasicBlock *first,
                           const Loop *loop) {
    if (reaching.empty())
        return Enters::never;
    return reaching.size() <= places_most && is_avoidable(reaching, first, loop) ? Enters::lazily
                                                                                 : Enters::at_once;
}

void Placer::around_loop(Loop &loop, Probe probe, const std::vector<Parameter> &parameters) {
    SmallVector<BasicBlock *, 4> exits;
    loop.getUniqueExitBlocks(exits);
    if (!loop_frame)
        loop_frame = frame_make(function);
    Left left = {{}, {}, {}};
    for (BasicBlock *block : loop.blocks()) {
        for (Instruction &at : *block)
            if (may_leave(at))
                left.calls.push_back(cast<CallInst>(&at));
        for (Instruction *call : reaching(*block))
            left.reaching.push_back(call);
    }
    probe.enters = when_entered(left.reaching, loop.getHeader(), &loop);
    left.placed = probe_begin(probe, loop_frame, loop.getLoopPreheader()->getTerminator(), shape);
    for (BasicBlock *exit : exits)
        probe_end(left.placed, &*exit->getFirstInsertionPt(), shape);
    parameters_tell(parameters, left.placed, shape, evolution, counters);
    loops.push_back(left);
}

void Placer::around_function(Probe probe, const std::vector<Parameter> &parameters) {
    for (const BasicBlock &block : function)
        for (Instruction *call : reaching(block))
            whole.reaching.push_back(call);
    probe.enters = when_entered(whole.reaching, &function.getEntryBlock(), nullptr);
    if (probe.enters == Enters::never && !loops.empty())
        probe.enters = Enters::lazily;
    AllocaInst *frame = frame_make(function);
    Instruction *first = begin ? &*begin->getFirstInsertionPt() : behind_allocas(function);
    whole.placed = probe_begin(probe, frame, first, shape);
    parameters_tell(parameters, whole.placed, shape, evolution, counters);
    is_around = true;
}

static void personality_set(Function &function) {
    if (function.hasPersonalityFn())
        return;
    Module &module = *function.getParent();
    EHPersonality kind = getDefaultEHPersonality(Triple(module.getTargetTriple()));
    auto *type = FunctionType::get(Type::getInt32Ty(module.getContext()), true);
    function.setPersonalityFn(
        cast<Constant>(module.getOrInsertFunction(getEHPersonalityName(kind), type).getCallee()));
}

/* The block to which exceptions lead, and from which they go on. */
static Instruction *pad_make(Function &function) {
    LLVMContext &context = function.getContext();
    auto *block = BasicBlock::Create(context, "spex_unwind", &function);
    IRBuilder<> builder(block);
    if (DISubprogram *program = function.getSubprogram())
        builder.SetCurrentDebugLocation(
            DILocation::get(context, program->getScopeLine(), 0, program));
    auto *type = StructType::get(pointer_to_bytes(context), builder.getInt32Ty());
    LandingPadInst *pad = builder.CreateLandingPad(type, 0);
    pad->setCleanup(true);
    return builder.CreateResume(pad);
}

/* Where a call stands behind another one, its context has been entered. */
static bool is_behind(const Instruction *at, const std::vector<Instruction *> &others,
                      const DominatorTree &tree) {
    return std::any_of(others.begin(), others.end(), [&](const Instruction *other) {
        return other != at && tree.dominates(other->getParent(), at->getParent()) &&
               tree.dominates(other, at);
    });
}

/* The function's context is entered before those of its loops, and before a record of one is begun. */
void Placer::contexts_enter() {
    for (Instruction *call : whole.reaching)
        if (!is_behind(call, whole.reaching, *shape.tree))
            context_enter(whole.placed, false, call, shape);
    for (const Left &left : loops) {
        if (is_around && left.placed.is_kernel) {
            context_enter(whole.placed, true, left.placed.call, shape);
            if (left.placed.enters == Enters::at_once && left.placed.counted)
                context_enter(whole.placed, true, left.placed.counted, shape);
        }
        for (Instruction *call : left.reaching)
            if (!is_behind(call, left.reaching, *shape.tree))
                context_enter(left.placed, false, call, shape);
    }
}

/* Nothing is known of the shape from here on. */
void Placer::unwind(const Left &left) {
    if (left.calls.empty() || function.doesNotThrow())
        return;
    personality_set(function);
    Instruction *resume = pad_make(function);
    BasicBlock *pad = resume->getParent();
    for (CallInst *call : left.calls)
        changeToInvokeAndSplitBasicBlock(call, pad);
    probe_end(left.placed, resume, {nullptr, nullptr});
}

void Placer::finish() {
    contexts_enter();
    for (const Left &left : loops)
        unwind(left);
    if (!is_around)
        return;
    for (Instruction &at : instructions(function))
        if (may_leave(at))
            whole.calls.push_back(cast<CallInst>(&at));
    std::vector<Instruction *> ends;
    for (BasicBlock &block : function) {
        Instruction *end = block.getTerminator();
        if (CallInst *tail = block.getTerminatingMustTailCall())
            end = tail;
        if (isa<ReturnInst>(block.getTerminator()) || isa<ResumeInst>(end))
            ends.push_back(end);
    }
    for (Instruction *end : ends)
        probe_end(whole.placed, end, {nullptr, nullptr});
    unwind(whole);
}

} // namespace spex
