/* SPDX-License-Identifier: MIT */
/* Trip counts are those of ScalarEvolution. Where it knows none, what an exit of the loop compares is
 * traced: the variables that each iteration changes, to what they were before the first. */
#include "compiler/sources.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "compiler/trace.h"

using namespace llvm;

namespace spex {

const char *known_text(Known known) {
    switch (known) {
    case Known::constant:
        return "its count is constant";
    case Known::exact:
        return "its count is known where it begins";
    case Known::bound:
        return "a bound of its count is known where it begins";
    case Known::numbers:
        return "what its count depends on is known where it begins";
    default:
        return "nothing is known of its count where it begins; it is counted";
    }
}

namespace {

/* What is found in one scope. */
class Search {
  public:
    Search(const Scope &scope, Sources &sources) : scope(scope), sources(sources) {
    }

    Known loop(const Loop &loop);
    void counted(const Loop &loop);
    void argument(Value *value, const Instruction *at);
    void called(const Source &source, CallBase &call, bool exact);

  private:
    const Scope &scope;
    Sources &sources;

    void add(const Sources &found, bool bound, unsigned depth);
    bool add_value(Value *value, bool bound, unsigned depth);
    bool count(const SCEV *count, const Loop &loop, bool bound);
    bool exits(const Loop &loop);
    bool is_top(const Loop &loop) const;
};

void Search::add(const Sources &found, bool bound, unsigned depth) {
    for (Source source : found.items) {
        source.bound = bound;
        source.depth = depth;
        sources.add(source);
    }
}

/* A number with another origin, such as a function's result, is told itself where it is known before
 * the loops. */
bool Search::add_value(Value *value, bool bound, unsigned depth) {
    Trace trace(scope);
    auto *instruction = dyn_cast<Instruction>(value);
    bool complete = trace.value(value);
    if (!complete && instruction && !scope.loops.getLoopFor(instruction->getParent())) {
        Source told;
        told.base = value;
        told.type = value->getType();
        Sources one;
        one.add(told);
        add(one, bound, depth);
        return true;
    }
    add(trace.found, bound, depth);
    return !trace.found.items.empty();
}

bool Search::is_top(const Loop &loop) const {
    return scope.loop ? &loop == scope.loop : !loop.getParentLoop();
}

/* The values that a trip count is made of. With a pointer among them it is told itself. */
bool Search::count(const SCEV *count, const Loop &loop, bool bound) {
    std::vector<Value *> values;
    class Visitor {
        std::vector<Value *> &values;

      public:
        explicit Visitor(std::vector<Value *> &values) : values(values) {
        }
        bool follow(const SCEV *part) {
            if (auto *unknown = dyn_cast<SCEVUnknown>(part))
                values.push_back(unknown->getValue());
            return true;
        }
        bool isDone() const {
            return false;
        }
    } visitor(values);
    SCEVTraversal<Visitor>(visitor).visitAll(count);
    /* A single pointer is on both sides of the comparison: `s < s + n`. */
    SmallPtrSet<const Value *, 4> pointers;
    for (const Value *value : values)
        if (value->getType()->isPointerTy())
            pointers.insert(value);
    if (pointers.size() > 1 || (pointers.size() == 1 && values.size() == 1)) {
        if (!is_top(loop))
            return false;
        Source source;
        source.count = count;
        source.loop = &loop;
        source.type = count->getType();
        source.bound = bound;
        source.depth = loop.getLoopDepth();
        sources.add(source);
        return true;
    }
    bool some = false;
    for (Value *value : values)
        if (!value->getType()->isPointerTy())
            some |= add_value(value, bound, loop.getLoopDepth());
    return some;
}

/* Exits that compare integers of which an iteration changes one. */
bool Search::exits(const Loop &loop) {
    SmallVector<BasicBlock *, 4> blocks;
    bool some = false;
    loop.getExitingBlocks(blocks);
    for (BasicBlock *block : blocks) {
        auto *branch = dyn_cast<BranchInst>(block->getTerminator());
        auto *compare = branch && branch->isConditional()
                            ? dyn_cast<ICmpInst>(branch->getCondition())
                            : nullptr;
        if (!compare || !compare->getOperand(0)->getType()->isIntegerTy())
            continue;
        Trace trace(scope);
        if (trace.value(compare->getOperand(0)) && trace.value(compare->getOperand(1)) &&
            trace.has_recurrence) {
            add(trace.found, false, loop.getLoopDepth());
            some |= !trace.found.items.empty();
        }
    }
    return some;
}

/* What an int can count to says nothing: of such a bound LLVM 19 speaks where LLVM 14 knows none. */
static bool is_range_of_int(const SCEV *most) {
    auto *constant = dyn_cast<SCEVConstant>(most);
    return constant && constant->getAPInt().getActiveBits() >= 31;
}

Known Search::loop(const Loop &loop) {
    const SCEV *exact = scope.evolution.getBackedgeTakenCount(&loop);
    bool is_exact = !isa<SCEVCouldNotCompute>(exact);
    const SCEV *most = is_exact ? exact : scope.evolution.getSymbolicMaxBackedgeTakenCount(&loop);
    if (isa<SCEVCouldNotCompute>(most) || (!is_exact && is_range_of_int(most)))
        return exits(loop) ? Known::numbers : Known::nothing;
    if (isa<SCEVConstant>(most))
        return is_exact ? Known::constant : Known::bound;
    count(most, loop, !is_exact);
    return is_exact ? Known::exact : Known::bound;
}

void Search::counted(const Loop &loop) {
    Source source;
    source.counted = true;
    source.loop = &loop;
    source.type = Type::getInt64Ty(loop.getHeader()->getContext());
    source.depth = loop.getLoopDepth();
    sources.add(source);
}

static unsigned depth_of(const Scope &scope, const Instruction *at) {
    return scope.loops.getLoopDepth(at->getParent());
}

/* A number that a call's time depends on. */
void Search::argument(Value *value, const Instruction *at) {
    add_value(value, false, depth_of(scope, at) + 1);
}

void Search::called(const Source &source, CallBase &call, bool exact) {
    unsigned depth = source.depth + depth_of(scope, &call);
    auto *argument = dyn_cast<Argument>(source.base);
    Value *actual = argument && argument->getArgNo() < call.arg_size()
                        ? call.getArgOperand(argument->getArgNo())
                        : source.base;
    if (source.path.empty()) {
        if (argument)
            add_value(actual, source.bound, depth);
        return;
    }
    Pointee pointee;
    if (!pointee_find(scope, actual, pointee))
        return;
    Source here;
    here.base = pointee.base;
    here.path = pointee.path;
    here.path.push_back(pointee.offset + source.path[0]);
    here.path.append(source.path.begin() + 1, source.path.end());
    here.type = source.type;
    here.at = &call;
    here.bound = source.bound;
    here.depth = depth;
    here.loads = source.sure && exact;
    source_check(scope, here);
    sources.add(here);
}

/* Functions of the C library whose time depends on an argument: its number; -1: another function. */
int library_argument(StringRef name) {
    return StringSwitch<int>(name)
        .Cases("qsort", "bsearch", 1)
        .Cases("memcpy", "memmove", "memset", "memcmp", "memchr", 2)
        .Cases("strncmp", "strncpy", "fread", "fwrite", 2)
        .Cases("read", "write", "pread", "pwrite", 2)
        .Default(-1);
}

bool is_compared(const Value *value) {
    SmallVector<const Value *, 8> waiting{value};
    SmallPtrSet<const Value *, 16> seen;
    while (!waiting.empty() && seen.size() < 32) {
        const Value *at = waiting.pop_back_val();
        if (!seen.insert(at).second)
            continue;
        for (const User *user : at->users()) {
            if (isa<ICmpInst>(user) || isa<SwitchInst>(user))
                return true;
            if (isa<CastInst>(user) || isa<BinaryOperator>(user) || isa<PHINode>(user))
                waiting.push_back(user);
        }
    }
    return false;
}

/* Recursion: numbers that it is called with anew, and that it compares. */
void recursion(Search &search, Function &function, CallBase &call) {
    for (Argument &argument : function.args())
        if (argument.getArgNo() < call.arg_size() && argument.getType()->isIntegerTy() &&
            call.getArgOperand(argument.getArgNo()) != &argument && is_compared(&argument))
            search.argument(&argument, &call);
}

} // namespace

const Sources &Dependences::summary(Function &function) {
    static const Sources none;
    auto place = summaries.find(&function);
    if (place != summaries.end())
        return place->second;
    if (under_way.count(&function))
        return none;
    Sources all = of_function(function), own;
    for (const Source &source : all.items)
        if (!source.count && !source.counted &&
            (isa<Argument>(source.base) || isa<GlobalVariable>(source.base)))
            own.add(source);
    return summaries[&function] = own;
}

/* Calls in the instructions of a scope. */
template <typename Summary>
static void calls(const Scope &scope, Search &search, Instruction &at, Summary summary) {
    auto *call = dyn_cast<CallBase>(&at);
    if (auto *memory = dyn_cast<AnyMemIntrinsic>(&at)) {
        search.argument(memory->getLength(), &at);
        return;
    }
    Function *callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || callee->isIntrinsic())
        return;
    if (callee == &scope.function) {
        if (!scope.loop)
            recursion(search, *callee, *call);
        return;
    }
    if (!callee->isDeclaration()) {
        for (const Source &source : summary(*callee).items)
            search.called(source, *call, !callee->isInterposable());
        return;
    }
    int number = library_argument(callee->getName());
    if (number >= 0 && static_cast<unsigned>(number) < call->arg_size())
        search.argument(call->getArgOperand(static_cast<unsigned>(number)), &at);
}

/* Counts loops where no number is known before: it would tell more, as it can be predicted by. */
static void count_all(Search &search, const Sources &sources,
                      const std::vector<const Loop *> &loops) {
    bool known = false;
    for (const Source &source : sources.items)
        known |= !source.counted;
    for (const Loop *loop : loops)
        if (!known)
            search.counted(*loop);
}

Sources Dependences::of_function(Function &function) {
    Sources sources;
    Scope scope = {function, nullptr, analyses.getResult<LoopAnalysis>(function),
                   analyses.getResult<ScalarEvolutionAnalysis>(function)};
    Search search(scope, sources);
    std::vector<const Loop *> unknown;
    under_way.insert(&function);
    for (const Loop *loop : scope.loops.getLoopsInPreorder())
        if (search.loop(*loop) == Known::nothing)
            unknown.push_back(loop);
    for (Instruction &at : instructions(function))
        calls(scope, search, at,
              [this](Function &callee) -> const Sources & { return summary(callee); });
    under_way.erase(&function);
    count_all(search, sources, unknown);
    return sources;
}

Sources Dependences::of_loop(Loop &loop, Known &known) {
    Sources sources;
    Function &function = *loop.getHeader()->getParent();
    Scope scope = {function, &loop, analyses.getResult<LoopAnalysis>(function),
                   analyses.getResult<ScalarEvolutionAnalysis>(function)};
    Search search(scope, sources);
    known = search.loop(loop);
    if (known == Known::nothing)
        search.counted(loop);
    std::vector<const Loop *> within;
    for (const Loop *inner : loop.getLoopsInPreorder())
        if (inner != &loop && search.loop(*inner) == Known::nothing)
            within.push_back(inner);
    for (BasicBlock *block : loop.blocks())
        for (Instruction &at : *block)
            calls(scope, search, at,
                  [this](Function &callee) -> const Sources & { return summary(callee); });
    count_all(search, sources, within);
    return sources;
}

} // namespace spex
