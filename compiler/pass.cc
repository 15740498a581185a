/* SPDX-License-Identifier: MIT */
/* A pass plugin for clang that makes probes of functions and loops (docs/compiler.md). It runs when
 * functions have been inlined and loops have been brought into a simple form, and before they are
 * vectorised: what it leaves around a loop does not hinder that. */
#include <map>
#include <memory>
#include <set>
#include <string>

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "compiler/list.h"
#include "compiler/names.h"
#include "compiler/parameters.h"
#include "compiler/place.h"
#include "compiler/region.h"
#include "compiler/versions.h"

#include <spex/site.h>

using namespace llvm;

namespace {

using namespace spex;

cl::opt<std::string> list_path("spex-list",
                               cl::desc("which functions and loops become probes of spex"),
                               cl::value_desc("file"));
/* Not read: compilers' caches know by it that the list is another one. */
cl::opt<std::string> list_sum("spex-list-sum", cl::desc("a sum of the list, for caches"),
                              cl::value_desc("sum"));
cl::opt<bool> strip_debug("spex-strip-debug",
                          cl::desc("leave out the debug information that names were taken from"));

cl::opt<bool> regions("spex-regions",
                      cl::desc("make regions of functions with probes that call no others"));

/* The size of a loop is that of so many of its executions: it shall tell what is worth a probe. */
constexpr uint64_t iterations_believed = 50;
constexpr unsigned depth_most = 6;

/* A function that has been looked at. */
constexpr const char *done_attribute = "spex-done";

uint64_t size_of(const BasicBlock &block, const LoopInfo &loops) {
    uint64_t size = 0;
    for (const Instruction &at : block)
        size += !at.isDebugOrPseudoInst();
    for (unsigned depth = std::min(loops.getLoopDepth(&block), depth_most); depth > 0; depth--)
        size *= iterations_believed;
    return size;
}

template <typename Blocks> uint64_t size_of_all(const Blocks &blocks, const LoopInfo &loops) {
    uint64_t size = 0;
    for (const BasicBlock *block : blocks)
        size += size_of(*block, loops);
    return size;
}

class Instrumenter {
  public:
    void keep_named(Module &in);
    bool run(Function &function, FunctionAnalysisManager &analyses);

  private:
    struct Planned {
        Loop *loop;
        Probe probe;
        std::vector<Parameter> parameters;
    };

    const Module *module = nullptr;
    const FunctionAnalysisManager *manager = nullptr;
    bool is_possible = false;
    List list;
    std::unique_ptr<Dependences> dependences;
    std::map<std::string, unsigned> names;
    std::set<uint16_t> region_ids;
    /* Functions of which it has been looked whether they are quiet. */
    std::set<const Function *> looked_at;

    bool begin(Module &in, FunctionAnalysisManager *analyses);
    std::string unique(const std::string &name, const std::string &suffix);
    bool loop_plan(Loop &loop, const Rule &rule, FunctionAnalysisManager &analyses,
                   std::vector<Planned> &plan);
    std::vector<Planned> loops_plan(Function &function, const Rule &rule,
                                    FunctionAnalysisManager &analyses);
    bool function_plan(Function &function, const Rule &rule, FunctionAnalysisManager &analyses,
                       std::vector<Planned> &plan);
    std::unique_ptr<Region> region(Function &function, FunctionAnalysisManager &analyses,
                                   const std::vector<Planned> &plan);
    void place(Function &function, FunctionAnalysisManager &analyses, std::vector<Planned> &plan);
    bool is_without(Function &function, FunctionAnalysisManager &analyses) const;
    void callees_mark(Function &function, FunctionAnalysisManager &analyses);
};

/* Reads the list once for each module. False: there is nothing to do, or an error has been told. */
bool Instrumenter::begin(Module &in, FunctionAnalysisManager *analyses) {
    if (&in != module) {
        module = &in;
        manager = nullptr;
        names.clear();
        region_ids.clear();
        looked_at.clear();
        std::string why;
        Expected<List> read = List::read(list_path);
        is_possible = static_cast<bool>(read);
        if (list_path.empty())
            why = "-mllvm -spex-list=FILE was expected";
        if (read)
            list = *read;
        else
            why = why.empty() ? toString(read.takeError()) : (consumeError(read.takeError()), why);
        if (is_possible)
            is_possible = sites_possible(in, why);
        if (!is_possible)
            in.getContext().emitError("spex: " + why);
    }
    if (analyses && analyses != manager) {
        manager = analyses;
        dependences = std::make_unique<Dependences>(*analyses);
    }
    return is_possible;
}

/* A function that the list names shall be there as one. */
void Instrumenter::keep_named(Module &in) {
    if (!begin(in, nullptr))
        return;
    for (Function &function : in) {
        if (function.isDeclaration() || function.hasFnAttribute(Attribute::AlwaysInline))
            continue;
        const Rule *rule =
            list.find(What::function, function_name(function), file_name(function, nullptr));
        if (rule && rule->named)
            function.addFnAttr(Attribute::NoInline);
    }
}

/* Cut to the bytes of a name, and numbered where there is one already. */
std::string Instrumenter::unique(const std::string &name, const std::string &suffix) {
    size_t room = SPEX_NAME_BYTES - 1 - suffix.size();
    std::string cut = name.substr(0, room) + suffix;
    unsigned number = ++names[cut];
    return number == 1 ? cut : unique(name, suffix + "#" + std::to_string(number));
}

/* Gives the outermost loops a block in front of them, and exits of their own. */
void simplify(Function &function, FunctionAnalysisManager &analyses) {
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    auto &tree = analyses.getResult<DominatorTreeAnalysis>(function);
    auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
    auto &assumptions = analyses.getResult<AssumptionAnalysis>(function);
    std::vector<Loop *> outermost(loops.begin(), loops.end());
    for (Loop *loop : outermost)
        simplifyLoop(loop, &tree, &loops, &evolution, &assumptions, nullptr, false);
}

template <typename Remark>
void tell(FunctionAnalysisManager &analyses, Function &function, const DebugLoc &place,
          const BasicBlock *block, const std::string &text) {
    auto &emitter = analyses.getResult<OptimizationRemarkEmitterAnalysis>(function);
    emitter.emit([&]() { return Remark("spex", "Probe", place, block) << text; });
}

std::string list_of(const std::vector<Parameter> &parameters) {
    std::string text;
    for (const Parameter &parameter : parameters)
        text += (text.empty() ? "" : ", ") + parameter.name;
    return text.empty() ? "none" : text;
}

Probe probe_of(Kind kind, const std::string &name, const Function &function,
               const DILocation *place, const std::vector<Parameter> &parameters) {
    Probe probe = {kind, name, file_name(function, place), line_number(function, place), {}};
    for (const Parameter &parameter : parameters)
        probe.parameters.emplace_back(parameter.name, parameter.is_signed);
    return probe;
}

bool Instrumenter::loop_plan(Loop &loop, const Rule &rule, FunctionAnalysisManager &analyses,
                             std::vector<Planned> &plan) {
    Function &function = *loop.getHeader()->getParent();
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
    DebugLoc place = loop.getStartLoc();
    if (const char *why = refusal_of_loop(loop)) {
        tell<OptimizationRemarkMissed>(analyses, function, place, loop.getHeader(),
                                       std::string("no probe around the loop: ") + why);
        return false;
    }
    Known known;
    Sources sources = dependences->of_loop(loop, known);
    std::vector<Parameter> parameters;
    if (rule.kind == Kind::kernel)
        parameters = parameters_choose(sources, &loop, loops, evolution);
    std::string name = unique(function_name(function),
                              ".loop" + (place ? std::to_string(place.getLine()) : std::string()));
    tell<OptimizationRemark>(analyses, function, place, loop.getHeader(),
                             "loop " + name + ": " + known_text(known) +
                                 "; parameters: " + list_of(parameters));
    plan.push_back(
        {&loop, probe_of(rule.kind, name, function, place.get(), parameters), parameters});
    return true;
}

std::vector<Instrumenter::Planned> Instrumenter::loops_plan(Function &function, const Rule &rule,
                                                            FunctionAnalysisManager &analyses) {
    std::vector<Planned> plan;
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    std::vector<Loop *> outermost(loops.rbegin(), loops.rend());
    for (Loop *loop : outermost)
        if (size_of_all(loop->blocks(), loops) >= rule.least)
            loop_plan(*loop, rule, analyses, plan);
    return plan;
}

bool Instrumenter::function_plan(Function &function, const Rule &rule,
                                 FunctionAnalysisManager &analyses, std::vector<Planned> &plan) {
    auto &loops = analyses.getResult<LoopAnalysis>(function);
    std::vector<const BasicBlock *> blocks;
    for (const BasicBlock &block : function)
        blocks.push_back(&block);
    if (!rule.named && size_of_all(blocks, loops) < rule.least)
        return false;
    DebugLoc place;
    if (DISubprogram *program = function.getSubprogram())
        place = DILocation::get(function.getContext(), program->getLine(), 0, program);
    if (const char *why = refusal_around(function)) {
        tell<OptimizationRemarkMissed>(analyses, function, place, &function.getEntryBlock(),
                                       std::string("no probe around the function: ") + why);
        return false;
    }
    std::vector<Parameter> parameters;
    if (rule.kind == Kind::kernel)
        parameters = parameters_choose(dependences->of_function(function), nullptr, loops,
                                       analyses.getResult<ScalarEvolutionAnalysis>(function));
    std::string name = unique(function_name(function), "");
    tell<OptimizationRemark>(analyses, function, place, &function.getEntryBlock(),
                             "function " + name + ": parameters: " + list_of(parameters));
    plan.push_back({nullptr, probe_of(rule.kind, name, function, nullptr, parameters), parameters});
    return true;
}

/* What the function was known not to do: it does now. */
void forget_effects(Function &function) {
    function.removeFnAttr(Attribute::NoSync);
    function.removeFnAttr(Attribute::Speculatable);
    forget_memory_effects(function);
}

/* Null: the function is none. */
std::unique_ptr<Region> Instrumenter::region(Function &function, FunctionAnalysisManager &analyses,
                                             const std::vector<Planned> &plan) {
    Probed probed = {false, {}};
    for (const Planned &planned : plan)
        if (planned.loop)
            probed.loops.push_back(planned.loop);
        else
            probed.whole = true;
    std::string name = function_name(function);
    Shape shape = {&analyses.getResult<DominatorTreeAnalysis>(function),
                   &analyses.getResult<LoopAnalysis>(function)};
    RegionSite about = {0, region_weight(function, probed), plan[0].probe.file,
                        plan.back().probe.line};
    const char *why = refusal_around(function);
    if (!why)
        why = region_refusal(function, *shape.loops,
                             analyses.getResult<TargetLibraryAnalysis>(function));
    if (why) {
        tell<OptimizationRemarkMissed>(analyses, function, DebugLoc(), &function.getEntryBlock(),
                                       "function " + name + " is no region: " + why);
        return nullptr;
    }
    about.id = region_id(about.file, name, region_ids);
    tell<OptimizationRemark>(analyses, function, DebugLoc(), &function.getEntryBlock(),
                             "function " + name + " is a region: a pass executes at most " +
                                 std::to_string(about.weight) + " of its probes");
    return std::make_unique<Region>(function, shape, probed, about, behind_allocas(function));
}

void Instrumenter::place(Function &function, FunctionAnalysisManager &analyses,
                         std::vector<Planned> &plan) {
    std::unique_ptr<Region> around = regions ? region(function, analyses, plan) : nullptr;
    Shape shape = {&analyses.getResult<DominatorTreeAnalysis>(function),
                   &analyses.getResult<LoopAnalysis>(function)};
    Placer placer(function, shape, analyses.getResult<ScalarEvolutionAnalysis>(function),
                  analyses.getResult<TargetLibraryAnalysis>(function),
                  around ? around->slow : nullptr);
    for (Planned &planned : plan) {
        planned.probe.region = around ? around->about.id : 0;
        planned.probe.pass = around ? around->pass : nullptr;
        if (planned.loop)
            placer.around_loop(*planned.loop, planned.probe, planned.parameters);
        else
            placer.around_function(planned.probe, planned.parameters);
    }
    placer.finish();
    if (around)
        around->finish(analyses.getResult<AssumptionAnalysis>(function));
    forget_effects(function);
}

/* Whether no probe will be in the function: the list chooses none, or it is too small. */
bool Instrumenter::is_without(Function &function, FunctionAnalysisManager &analyses) const {
    std::vector<const BasicBlock *> blocks;
    for (const BasicBlock &block : function)
        blocks.push_back(&block);
    const auto &loops = analyses.getResult<LoopAnalysis>(function);
    uint64_t size = size_of_all(blocks, loops);
    for (What what : {What::function, What::loop}) {
        const Rule *rule = list.find(what, function_name(function), file_name(function, nullptr));
        bool is_any = what == What::function || !loops.empty();
        if (rule && is_any && (rule->named || size >= rule->least))
            return false;
    }
    return true;
}

/* Marks what the function calls and is quiet: it has not been its turn yet, and will get no probe. */
void Instrumenter::callees_mark(Function &function, FunctionAnalysisManager &analyses) {
    for (Instruction &at : instructions(function)) {
        auto *call = dyn_cast<CallBase>(&at);
        Function *callee = call ? call->getCalledFunction() : nullptr;
        if (!callee || callee->isDeclaration() || callee->hasFnAttribute(done_attribute) ||
            !looked_at.insert(callee).second || !is_without(*callee, analyses))
            continue;
        callees_mark(*callee, analyses);
        quiet_mark(*callee, analyses.getResult<TargetLibraryAnalysis>(*callee));
    }
}

bool Instrumenter::run(Function &function, FunctionAnalysisManager &analyses) {
    if (function.isDeclaration() || function.hasFnAttribute(done_attribute) ||
        function.hasFnAttribute(quiet_attribute) || !begin(*function.getParent(), &analyses))
        return false;
    std::string name = function_name(function), file = file_name(function, nullptr);
    const Rule *whole = list.find(What::function, name, file);
    const Rule *parts = list.find(What::loop, name, file);
    if (!whole && !parts)
        return false;
    function.addFnAttr(done_attribute);
    if (const char *why = refusal_inside(function)) {
        tell<OptimizationRemarkMissed>(analyses, function, DebugLoc(), &function.getEntryBlock(),
                                       "no probe in function " + name + ": " + why);
        return false;
    }
    std::vector<Planned> plan;
    simplify(function, analyses);
    if (parts)
        plan = loops_plan(function, *parts, analyses);
    if (whole)
        function_plan(function, *whole, analyses, plan);
    if (!plan.empty()) {
        callees_mark(function, analyses);
        place(function, analyses, plan);
    }
    return true;
}

class FunctionsPass : public PassInfoMixin<FunctionsPass> {
    std::shared_ptr<Instrumenter> instrumenter;

  public:
    explicit FunctionsPass(std::shared_ptr<Instrumenter> with) : instrumenter(std::move(with)) {
    }
    PreservedAnalyses run(Function &function, FunctionAnalysisManager &analyses) {
        return instrumenter->run(function, analyses) ? PreservedAnalyses::none()
                                                     : PreservedAnalyses::all();
    }
    static bool isRequired() {
        return true;
    }
};

class NamedPass : public PassInfoMixin<NamedPass> {
    std::shared_ptr<Instrumenter> instrumenter;

  public:
    explicit NamedPass(std::shared_ptr<Instrumenter> with) : instrumenter(std::move(with)) {
    }
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
        instrumenter->keep_named(module);
        return PreservedAnalyses::all();
    }
    static bool isRequired() {
        return true;
    }
};

struct StripPass : PassInfoMixin<StripPass> {
    PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
        if (strip_debug)
            StripDebugInfo(module);
        return PreservedAnalyses::all();
    }
    static bool isRequired() {
        return true;
    }
};

/* In the pipeline of ThinLTO there is no place before vectorisation, so that the end has to do. */
void add_passes(PassBuilder &builder) {
    auto instrumenter = std::make_shared<Instrumenter>();
    builder.registerPipelineStartEPCallback(
        [=](ModulePassManager &passes, auto) { passes.addPass(NamedPass(instrumenter)); });
    builder.registerVectorizerStartEPCallback(
        [=](FunctionPassManager &passes, auto) { passes.addPass(FunctionsPass(instrumenter)); });
    builder.registerOptimizerLastEPCallback([=](ModulePassManager &passes, auto...) {
        passes.addPass(createModuleToFunctionPassAdaptor(FunctionsPass(instrumenter)));
        passes.addPass(StripPass());
    });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "spex", "1", add_passes};
}
