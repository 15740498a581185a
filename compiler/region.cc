/* SPDX-License-Identifier: MIT */
/* The scheme is that of Liblit, Aiken, Zheng and Jordan ("Bug isolation via remote program sampling",
 * PLDI 2003). Probes stand around functions and outermost loops, so none is within a loop, and no way
 * through a function executes more of them than the heaviest path of its graph without back edges. So
 * the choice at the begin holds for all of the function.
 *
 * A function that may call others with probes is none: kernels in these would be in another context
 * where the fast copy enters none, and recursion would find the countdown taken. Regions that end at
 * calls would have to enter contexts in the fast copy (docs/compiler.md). */
#include "compiler/region.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include <spex/region.h>

#include "compiler/place.h"
#include "compiler/versions.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/xxhash.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

using namespace llvm;

namespace spex {

unsigned region_weight(Function &function, const Probed &probed) {
    std::map<const BasicBlock *, unsigned> begins, most;
    for (const Loop *loop : probed.loops)
        begins[loop->getLoopPreheader()]++;
    unsigned weight = 0;
    for (const BasicBlock *block : ReversePostOrderTraversal<Function *>(&function)) {
        unsigned before = 0;
        for (const BasicBlock *from : predecessors(block))
            before = std::max(before, most.count(from) ? most[from] : 0);
        auto here = begins.find(block);
        most[block] = before + (here == begins.end() ? 0 : here->second);
        weight = std::max(weight, most[block]);
    }
    return weight + probed.whole;
}

uint16_t region_id(const std::string &file, const std::string &name, std::set<uint16_t> &taken) {
    uint64_t hash = xxHash64(file + ':' + name);
    uint16_t id = 0;
    do
        id = static_cast<uint16_t>(hash++ % UINT16_MAX + 1);
    while (!taken.insert(id).second);
    return id;
}

static const char *refusal_of_call(const CallBase &call, const TargetLibraryInfo &library) {
    if (const auto *assembly = dyn_cast<InlineAsm>(call.getCalledOperand()))
        return assembly->getAsmString().empty() ? nullptr
                                                : "its inline assembly may not be there twice";
    if (call.cannotDuplicate())
        return "a call in it may not be there twice";
    if (isa<IntrinsicInst>(call) ||
        (call.doesNotThrow() && (call.doesNotReturn() || is_quiet(call, library))))
        return nullptr;
    return "it calls functions that may have probes";
}

static bool is_usual(const Instruction &end) {
    return isa<BranchInst>(end) || isa<SwitchInst>(end) || isa<ReturnInst>(end) ||
           isa<UnreachableInst>(end);
}

const char *region_refusal(const Function &function, const LoopInfo &loops,
                           const TargetLibraryInfo &library) {
    for (const BasicBlock &block : function)
        if (block.hasAddressTaken() || isa<IndirectBrInst>(block.getTerminator()))
            return "it has a computed goto";
    for (const Instruction &at : instructions(function)) {
        if (auto *call = dyn_cast<CallBase>(&at))
            if (const char *why = refusal_of_call(*call, library))
                return why;
        if (at.isTerminator() && !is_usual(at))
            return "exceptions or assembly leave its blocks";
    }
    using Traversal = ReversePostOrderTraversal<const Function *>;
    Traversal order(&function);
    if (containsIrreducibleCFG<const BasicBlock *, Traversal, LoopInfo>(order, loops))
        return "a loop in it is entered at several places";
    return nullptr;
}

static AllocaInst *variable(Function &function, size_t words, const char *name) {
    IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
    return builder.CreateAlloca(ArrayType::get(builder.getInt64Ty(), words), nullptr, name);
}

Region::Region(Function &function, Shape shape, const Probed &probed, const RegionSite &site,
               Instruction *first)
    : about(site), function(function) {
    static_assert(sizeof(struct spex_region_pass) % sizeof(uint64_t) == 0, "whole words");
    slow = SplitBlock(first->getParent(), first, shape.tree, shape.loops);
    pass = variable(function, sizeof(struct spex_region_pass) / sizeof(uint64_t), "spex_pass");
    IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
    sum = builder.CreateAlloca(builder.getInt64Ty(), nullptr, "spex_sum");
    IRBuilder<> begin(function.getEntryBlock().getTerminator());
    begin.CreateStore(begin.getInt64(probed.whole), sum);
    copy();
    for (const Loop *loop : probed.loops)
        begins.push_back(cast<BasicBlock>(copies[loop->getLoopPreheader()]));
}

/* The copies are not in the function yet, so that probes are placed in the slow one alone. */
void Region::copy() {
    for (BasicBlock &block : function) {
        if (&block == &function.getEntryBlock())
            continue;
        fast.push_back(CloneBasicBlock(&block, copies, ".fast"));
        copies[&block] = fast.back();
    }
    for (BasicBlock *block : fast)
        for (Instruction &at : *block)
            remap(at, function.getParent(), copies);
}

/* A member of the pass. */
Value *Region::at(IRBuilder<> &builder, size_t offset, Type *type) {
    Value *bytes = builder.CreatePointerCast(pass, pointer_to_bytes(builder.getContext()));
    Value *place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), bytes, offset);
    return builder.CreatePointerCast(place, PointerType::getUnqual(type));
}

static LoadInst *load_relaxed(IRBuilder<> &builder, Value *place) {
    LoadInst *load = builder.CreateAlignedLoad(builder.getInt32Ty(), place, Align(4));
    load->setAtomic(AtomicOrdering::Monotonic);
    no_sanitizer(load);
    return load;
}

static void store_relaxed(IRBuilder<> &builder, Value *value, Value *place) {
    StoreInst *store = builder.CreateAlignedStore(value, place, Align(4));
    store->setAtomic(AtomicOrdering::Monotonic);
    no_sanitizer(store);
}

static LoadInst *load(IRBuilder<> &builder, Type *type, Value *place) {
    LoadInst *load = builder.CreateLoad(type, place);
    no_sanitizer(load);
    return load;
}

static void store(IRBuilder<> &builder, Value *value, Value *place) {
    no_sanitizer(builder.CreateStore(value, place));
}

/* This thread's count of a site: spex_executed + site->index. */
static Value *count_place(IRBuilder<> &builder, Module &module, Value *index) {
    PointerType *words = PointerType::getUnqual(builder.getInt32Ty());
    const char *name = "spex_executed";
    GlobalVariable *counts = module.getNamedGlobal(name);
    if (!counts)
        counts = new GlobalVariable(module, words, false, GlobalValue::ExternalWeakLinkage, nullptr,
                                    name, nullptr, GlobalVariable::InitialExecTLSModel);
    Value *place = builder.CreatePointerCast(counts, PointerType::getUnqual(words));
    Value *wide = builder.CreateZExt(index, builder.getInt64Ty());
    return builder.CreateGEP(builder.getInt32Ty(), load(builder, words, place), wide);
}

#define PASS(member) offsetof(struct spex_region_pass, member)

/* spex_region_enter_. */
void Region::choose() {
    LLVMContext &context = function.getContext();
    Module &module = *function.getParent();
    Instruction *end = function.getEntryBlock().getTerminator();
    auto *ask = BasicBlock::Create(context, "spex_ask", &function, slow);
    auto *enter = BasicBlock::Create(context, "spex_enter", &function, ask);
    auto *take = BasicBlock::Create(context, "spex_take", &function, ask);
    BasicBlock *quick = cast<BasicBlock>(copies[slow]);
    MDNode *seldom = MDBuilder(context).createBranchWeights(1, 1 << 20);
    IRBuilder<> builder(end);
    builder.SetCurrentDebugLocation(location(&*slow->getFirstInsertionPt()));
    IntegerType *i32 = builder.getInt32Ty();
    PointerType *i32p = PointerType::getUnqual(i32);
    GlobalVariable *variable = region_site_make(function, about);
    auto member = [&](unsigned number) {
        return builder.CreateConstInBoundsGEP2_32(variable->getValueType(), variable, 0, number);
    };
    store(builder, ConstantPointerNull::get(i32p), at(builder, PASS(word), i32p));
    Value *on = builder.CreateICmpNE(load_relaxed(builder, member(0)), builder.getInt32(0));
    builder.CreateCondBr(on, enter, quick, seldom);
    end->eraseFromParent();

    builder.SetInsertPoint(enter);
    LoadInst *control = load_relaxed(builder, member(0));
    control->setOrdering(AtomicOrdering::Acquire); /* P1 (P2 in control_word.c) */
    Value *word = count_place(builder, module, load_relaxed(builder, member(1)));
    Value *weight = load_relaxed(builder, member(2)), *count = load_relaxed(builder, word);
    Value *left = builder.CreateSub(control, count);
    Value *beyond = builder.CreateSub(builder.CreateSub(left, weight), builder.getInt32(1));
    Value *room = builder.CreateSub(builder.getInt32(SPEX_CONTROL_PERIOD_MASK), weight);
    builder.CreateCondBr(builder.CreateICmpULT(beyond, room), take, ask,
                         MDBuilder(context).createBranchWeights(1 << 20, 1));

    builder.SetInsertPoint(take);
    store_relaxed(builder, builder.CreateOr(count, builder.getInt32(SPEX_REGION_ENTERED)), word);
    Value *own = builder.CreatePointerCast(variable, pointer_to_bytes(builder.getContext()));
    store(builder, own, at(builder, PASS(site), pointer_to_bytes(builder.getContext())));
    store(builder, word, at(builder, PASS(word), i32p));
    store(builder, control, at(builder, PASS(control), i32));
    store(builder, left, at(builder, PASS(left), i32));
    builder.CreateBr(quick);

    builder.SetInsertPoint(ask);
    Value *is_fast =
        library_call(builder, Callee::enter, {own, at(builder, 0, builder.getInt8Ty())});
    builder.CreateCondBr(builder.CreateICmpNE(is_fast, builder.getInt32(0)), quick, slow);
}

void Region::leave_slow() {
    for (BasicBlock &block : function)
        if (auto *end = dyn_cast<ReturnInst>(block.getTerminator())) {
            IRBuilder<> builder(end);
            builder.SetCurrentDebugLocation(location(end));
            library_call(builder, Callee::leave, {at(builder, 0, builder.getInt8Ty())});
        }
}

/* spex_region_leave_. */
void Region::leave_fast(Instruction *end) {
    LLVMContext &context = function.getContext();
    IRBuilder<> builder(end);
    builder.SetCurrentDebugLocation(location(end));
    IntegerType *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
    PointerType *i32p = PointerType::getUnqual(i32);
    Value *word = load(builder, i32p, at(builder, PASS(word), i32p));
    Value *executed = builder.CreateLoad(i64, sum);
    Value *counts = builder.CreateICmpNE(word, ConstantPointerNull::get(i32p));
    Instruction *inner = if_seldom(counts, end, {nullptr, nullptr});
    builder.SetInsertPoint(inner);
    Value *left = load(builder, i32, at(builder, PASS(left), i32));
    Value *control = load(builder, i32, at(builder, PASS(control), i32));
    Value *begin = builder.CreateSub(control, left);
    Value *same =
        builder.CreateICmpEQ(load_relaxed(builder, word),
                             builder.CreateOr(begin, builder.getInt32(SPEX_REGION_ENTERED)));
    Value *within = builder.CreateICmpULT(executed, builder.CreateZExt(left, i64));
    Instruction *back, *ask;
    SplitBlockAndInsertIfThenElse(builder.CreateAnd(same, within), inner, &back, &ask,
                                  MDBuilder(context).createBranchWeights(1 << 20, 1));
    builder.SetInsertPoint(back);
    store_relaxed(builder, builder.CreateAdd(begin, builder.CreateTrunc(executed, i32)), word);
    builder.SetInsertPoint(ask);
    store(builder, executed, at(builder, PASS(sum), i64));
    library_call(builder, Callee::leave, {at(builder, 0, builder.getInt8Ty())});
}

void Region::finish(AssumptionCache &assumptions) {
    leave_slow();
    for (BasicBlock *block : fast) {
        block->insertInto(&function, slow);
        for (Instruction &at : *block)
            if (auto *assumption = dyn_cast<AssumeInst>(&at))
                assumptions.registerAssumption(assumption);
    }
    choose();
    for (BasicBlock *block : begins) {
        IRBuilder<> builder(block->getTerminator());
        Value *before = builder.CreateLoad(builder.getInt64Ty(), sum);
        builder.CreateStore(builder.CreateAdd(before, builder.getInt64(1)), sum);
    }
    for (BasicBlock *block : fast)
        if (isa<ReturnInst>(block->getTerminator()))
            leave_fast(block->getTerminator());
    DominatorTree tree(function);
    PromoteMemToReg({sum}, tree);
}

} // namespace spex
