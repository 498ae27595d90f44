// Paddle (Fluid) programs: block 0 rewritten call by call with the import rules of the operators;
// the blocks of `while` and `conditional_block` become blocks of `while` and `if`. Variables that
// are written again get a new value, and sequences carry their offsets along as a value of their
// own.
#include <algorithm>
#include <climits>
#include <set>

#include "base/error.h"
#include "runtime/block.h"
#include "runtime/budget.h"
#include "runtime/import/import.h"
#include "runtime/import/node.h"
#include "runtime/import/paddle.pb.h"
#include "runtime/import/paddle_params.h"
#include "runtime/import/wire.h"

namespace hub {
namespace {

constexpr size_t most_blocks = 64;

/// Programs, blocks, variables with their types, operators with slots and attributes.
constexpr WireMessage messages[] = {{'P', 1, 'b'}, {'P', 4, 'e'}, {'b', 3, 'v'},  {'b', 4, 'o'},
                                    {'v', 2, 't'}, {'t', 3, 'l'}, {'l', 1, 'e'},  {'o', 1, 's'},
                                    {'o', 2, 's'}, {'o', 4, 'a'}, {'a', 20, 'e'}, {'a', 21, 'e'}};

enum VarKind {
  lod_tensor = 7,
  selected_rows = 8,
  feed_list = 9,
  fetch_list = 10,
  tensor_array = 13,
  reader = 15,
  raw = 17
};

/// Attributes that say nothing about the result: who made the call, and where in whose Python file.
const std::set<std::string_view> ignored_attributes = {
    "op_callstack", "op_device", "op_namescope", "op_role", "op_role_var", "with_quant_attr"};

Attr read_scalar(const fluid::Scalar& s) {
  switch (s.type()) {
    case 1: return int64_t{s.b()};
    case 2: return s.i();
    case 3: return s.r();
    default: fail(Code::unsupported, "a scalar of kind ", s.type());
  }
}

Attr read_scalars(const fluid::Attr& a) {
  std::vector<double> reals;
  std::vector<int64_t> ints;
  for (const fluid::Scalar& s : a.scalars()) {
    const Attr value = read_scalar(s);
    if (const auto* i = std::get_if<int64_t>(&value)) ints.push_back(*i);
    reals.push_back(s.type() == 3 ? s.r() : static_cast<double>(std::get<int64_t>(value)));
  }
  if (ints.size() == reals.size()) return ints;
  return reals;
}

Attr read_attribute(const fluid::Attr& a) {
  switch (a.type()) {
    case 0: return int64_t{a.i()};
    case 1: return static_cast<double>(a.f());
    case 2: return a.s();
    case 3: return std::vector<int64_t>(a.ints().begin(), a.ints().end());
    case 4: return std::vector<double>(a.floats().begin(), a.floats().end());
    case 5: return std::vector<std::string>(a.strings().begin(), a.strings().end());
    case 6: return int64_t{a.b()};
    case 7: return std::vector<int64_t>(a.bools().begin(), a.bools().end());
    case 9: return a.l();
    case 11: return std::vector<int64_t>(a.longs().begin(), a.longs().end());
    case 12: return std::vector<double>(a.float64s().begin(), a.float64s().end());
    case 13: return a.var_name();
    case 14: return std::vector<std::string>(a.vars_name().begin(), a.vars_name().end());
    case 15: return a.float64();
    case 16: return read_scalar(a.scalar());
    case 17: return read_scalars(a);
    default: fail(Code::unsupported, "it is of kind ", a.type());
  }
}

bool has_block(const fluid::Op& op) {
  return std::any_of(op.attrs().begin(), op.attrs().end(),
                     [](const auto& a) { return a.type() == 8 || a.type() == 10; });
}

/// The block that an operator owns, as a number.
int block_of(const fluid::Op& op) {
  for (const fluid::Attr& a : op.attrs())
    if (a.name() == "sub_block" && a.type() == 8) return a.block_idx();
  fail(Code::refused, "a ", op.type(), " operator has no sub_block");
}

bool is_control(const fluid::Op& op) {
  return op.type() == "while" || op.type() == "conditional_block";
}

std::vector<std::string> arguments(const google::protobuf::RepeatedPtrField<fluid::Op::Slot>& slots,
                                   std::string_view slot) {
  for (const fluid::Op::Slot& s : slots)
    if (s.parameter() == slot) return {s.arguments().begin(), s.arguments().end()};
  return {};
}

bool is_feed_or_fetch(const fluid::Op& op) { return op.type() == "feed" || op.type() == "fetch"; }

/// Operators without a rule in a block and those below it, each of which belongs to one operator.
void find_missing(const fluid::Program& program, int index, std::set<int>& seen,
                  std::set<std::string>& missing) {
  if (index < 0 || index >= program.blocks_size() || !seen.insert(index).second)
    fail(Code::refused, "block ", index, " of ", program.blocks_size(),
         " does not exist, or belongs to two operators");
  if (seen.size() > most_blocks) fail(Code::refused, "it has more than ", most_blocks, " blocks");
  for (const fluid::Op& op : program.blocks(index).ops()) {
    if (is_control(op)) {
      find_missing(program, block_of(op), seen, missing);
    } else if (has_block(op)) {
      missing.insert(op.type() + " (it owns a block)");
    } else if (!is_feed_or_fetch(op) && op.type() != "select_input" &&
               !find_import("paddle:" + op.type())) {
      missing.insert(op.type());
    }
  }
}

/// Every operator that has no rule, in one message.
void refuse_missing(const fluid::Program& program, int64_t version) {
  std::set<int> seen;
  std::set<std::string> missing;
  find_missing(program, 0, seen, missing);
  if (missing.empty()) return;
  std::string list;
  for (const std::string& type : missing) list += concat(list.empty() ? "" : ", ", type);
  fail(Code::unsupported, missing.size() == 1 ? "this operator" : "these operators",
       " cannot be imported yet: ", list, " (program version ", version, ")");
}

class Block {
 public:
  /// index < 0: a block without calls.
  Block(const fluid::Program& from, const RelPath& path, int index = 0, Block* around = nullptr)
      : from_(from),
        block_(index < 0 ? fluid::Block::default_instance() : from.blocks(index)),
        path_(path),
        around_(around) {
    version_ = static_cast<int>(std::clamp<int64_t>(from.version().version(), 0, INT_MAX));
    for (const fluid::Var& var : block_.vars())
      if (!vars_.emplace(var.name(), &var).second)
        fail(Code::refused, "variable '", var.name(), "' is declared twice");
  }

  Program import(const Files& files, const std::string& params) {
    refuse_missing(from_, version_);
    read_parameters(files, params);
    for (const fluid::Op* op : by_column("feed")) add_feed(*op);
    for (const fluid::Op& op : block_.ops())
      if (!is_feed_or_fetch(op)) add_op(op);
    for (const fluid::Op* op : by_column("fetch")) add_fetch(*op);
    if (program_.outputs.empty()) fail(Code::refused, "it fetches nothing");
    program_.check();
    return std::move(program_);
  }

 private:
  /// What a name stands for at this point of the program; `offsets` is empty where there are no
  /// sequences.
  struct Current {
    Var var, offsets;
  };

  const fluid::Var& declared(const std::string& name) const {
    const auto it = vars_.find(name);
    if (it == vars_.end()) fail(Code::refused, "variable '", name, "' is not declared");
    return *it->second;
  }

  Spec spec_of(const fluid::Var& var) const {
    const std::string what = concat("variable '", var.name(), "'");
    if (!var.has_type() || !var.type().has_type()) fail(Code::refused, what, " has no type");
    if (var.type().type() == selected_rows)
      fail(Code::unsupported, what, " holds selected rows, the gradient of a sparse table");
    if (var.type().type() != lod_tensor)
      fail(Code::unsupported, what, " is no tensor (type ", var.type().type(), ")");
    return paddle_spec(var.type().lod_tensor().tensor(), what);
  }

  void read_parameters(const Files& files, const std::string& params) {
    std::vector<const fluid::Var*> stored;  // sorted by name, as vars_ is
    for (const auto& [name, var] : vars_) {
      const int kind = var->type().type();
      if (var->persistable() && kind != feed_list && kind != fetch_list && kind != reader &&
          kind != raw)
        stored.push_back(var);
    }
    if (!params.empty()) {
      within(params, [&] {
        PaddleRecords records(files.open(RelPath::parse(params)));
        for (const fluid::Var* var : stored) add_parameter(*var, records);
        records.finish();
      });
      return;
    }
    for (const fluid::Var* var : stored) {
      const RelPath file = path_.sibling(var->name());
      within(file.str(), [&] {
        PaddleRecords records(files.open(file));
        add_parameter(*var, records);
        records.finish();
      });
    }
  }

  void add_parameter(const fluid::Var& var, PaddleRecords& records) {
    const Tensor tensor = records.next(var.name(), spec_of(var));
    current_.emplace(var.name(), Current{constant(program_, tensor, var.name()), {}});
  }

  /// The feed or fetch calls in the order of the caller's lists, which is not that of the file.
  std::vector<const fluid::Op*> by_column(std::string_view type) const {
    std::map<int, const fluid::Op*> columns;
    for (const fluid::Op& op : block_.ops()) {
      if (op.type() != type) continue;
      int column = 0;
      for (const fluid::Attr& a : op.attrs())
        if (a.name() == "col") column = a.i();
      if (!columns.emplace(column, &op).second)
        fail(Code::refused, "two ", type, " operators have column ", column);
    }
    std::vector<const fluid::Op*> ops;
    for (const auto& [column, op] : columns) ops.push_back(op);
    return ops;
  }

  static const std::string& only_argument(const fluid::Op& op, const fluid::Op::Slot* slot) {
    if (!slot || slot->arguments_size() != 1)
      fail(Code::refused, "a ", op.type(), " operator must name one variable");
    return slot->arguments(0);
  }

  void add_feed(const fluid::Op& op) {
    const std::string& name = only_argument(op, op.outputs_size() == 1 ? &op.outputs(0) : nullptr);
    const fluid::Var& var = declared(name);
    const Spec spec = spec_of(var);
    const int levels = var.type().lod_tensor().lod_level();
    if (levels < 0 || levels > 1)
      fail(Code::unsupported, "input '", name, "' has ", levels,
           " levels of sequences; 1 can be imported");
    if (current_.contains(name))
      fail(Code::refused, "input '", name, "' is fed twice, or a parameter");
    Current& input = current_[name];
    input.var = {&program_, program_.add_input(name, spec)};
    if (levels == 1)
      input.offsets = {&program_, program_.add_input(name + ".offsets", {DType::i64, {-1}})};
  }

  void add_op(const fluid::Op& op) {
    if (op.type() == "while") return add_while(op);
    if (op.type() == "conditional_block") return add_conditional(op);
    if (op.type() == "select_input") return add_select(op);
    const std::string title = concat(op.type(), " '", first_output(op), "'");
    ImportNode node(program_, op.type(), first_output(op), version_);
    for (const fluid::Op::Slot& slot : op.inputs()) {
      Vars vars;
      for (const std::string& name : slot.arguments()) {
        const Current& argument = read(name, title);
        vars.push_back(argument.var);
        if (vars.size() == 1 && argument.offsets)
          node.in_offsets_.emplace(slot.parameter(), argument.offsets);
      }
      if (!vars.empty() && !node.slots_.emplace(slot.parameter(), std::move(vars)).second)
        fail(Code::refused, title, ": slot ", slot.parameter(), " is there twice");
    }
    if (op.type() == "write_to_array" && known(node.name))
      node.slots_["Array"] = {read(node.name, title).var};
    for (const fluid::Op::Slot& slot : op.outputs())
      node.wanted_slots_[slot.parameter()] = static_cast<size_t>(slot.arguments_size());
    for (const fluid::Attr& a : op.attrs())
      if (!ignored_attributes.contains(a.name()))
        within(concat(title, ": attribute '", a.name(), "'"),
               [&] { node.attrs.set(a.name(), read_attribute(a)); });
    const size_t before = program_.ops.size();
    const Import* rule = find_import("paddle:" + op.type());
    if (rule == nullptr) node.refuse("this operator cannot be imported yet");
    rule->make(node);
    for (size_t i = before; i < program_.ops.size(); ++i)
      if (program_.ops[i].name.empty()) program_.ops[i].name = node.name;
    for (const fluid::Op::Slot& slot : op.outputs()) write(slot, node);
  }

  static std::string first_output(const fluid::Op& op) {
    for (const fluid::Op::Slot& slot : op.outputs())
      if (slot.arguments_size() > 0) return slot.arguments(0);
    return {};
  }

  const Current& read(const std::string& name, std::string_view reader) {
    auto it = current_.find(name);
    if (it == current_.end() && is_array(name))
      it = current_.emplace(name, Current{apply(program_, *find_op("list_make"), {})[0], {}}).first;
    if (it == current_.end() && around_ != nullptr)
      it = current_.emplace(name, capture(around_->read(name, reader), name)).first;
    if (it == current_.end())
      fail(Code::refused, reader, " reads '", name, "' before it is written");
    if (!it->second.var)
      fail(Code::unsupported, reader, " needs '", name,
           "', an output that its operator does not give here");
    return it->second;
  }

  // ---- blocks ----

  /// Whether this block declares the name as an array of tensors, which is empty at first.
  bool is_array(const std::string& name) const {
    const auto it = vars_.find(name);
    return it != vars_.end() && it->second->type().type() == tensor_array;
  }

  /// Whether a name stands for something here or in a block around this one.
  bool known(const std::string& name) const {
    const auto it = current_.find(name);
    if (it != current_.end()) return bool(it->second.var);
    if (is_array(name)) return true;
    return around_ != nullptr && around_->known(name);
  }

  /// What a block reads of the one around it; constants stay constants.
  Current capture(const Current& outside, const std::string& name) {
    const auto take = [&](Var v, const std::string& as) {
      if (!v) return Var{};
      if (v.constant()) return constant(program_, v.constant(), as);
      captured_.push_back(v);
      return Var{&program_, program_.add_input(as, (*v.program)[v.id].declared)};
    };
    const Var var = take(outside.var, name);
    return {var, take(outside.offsets, name + ".offsets")};
  }

  void add_ops() {
    for (const fluid::Op& op : block_.ops()) add_op(op);
  }

  /// The block as a program that gives what these names stand for at its end.
  BlockPtr giving(const std::vector<std::string>& names) {
    std::vector<ValueId> ends;
    for (const std::string& name : names) {
      const Current& end = read(name, "the end of a block");
      if (end.offsets)
        fail(Code::unsupported, "a block that gives the sequences '", name, "' cannot be imported");
      ends.push_back(end.var.id);
    }
    auto program = std::make_shared<Program>(program_);
    // What a file says of computed variables helped the import rules; it may be wrong.
    for (ValueId id : program->inputs) (*program)[id].declared = {};
    for (ValueId id : ends)
      program->outputs.push_back(apply("identity", {Var{program.get(), id}}).id);
    return program;
  }

  /// Names that the calls of a block, and of blocks in it, write.
  void writes(const fluid::Block& block, std::set<std::string>& names) const {
    for (const fluid::Op& op : block.ops()) {
      for (const fluid::Op::Slot& slot : op.outputs())
        names.insert(slot.arguments().begin(), slot.arguments().end());
      if (is_control(op)) writes(from_.blocks(block_of(op)), names);
    }
  }

  /// What the block writes of what is there before is carried from round to round.
  void add_while(const fluid::Op& op) {
    const auto conditions = arguments(op.inputs(), "Condition");
    if (conditions.size() != 1) fail(Code::refused, "a while operator must have one condition");
    const std::string& condition = conditions[0];
    Block body(from_, path_, block_of(op), this);
    std::set<std::string> written;
    writes(body.block_, written);
    body.program_.add_input({}, {});
    body.current_[condition].var = {&body.program_, body.program_.add_input(condition, {})};
    Vars in{Var{}, read(condition, "while").var};
    std::vector<std::string> results{condition};
    for (const std::string& name : written) {
      if (name == condition || body.vars_.contains(name) || !known(name)) continue;
      const Current& before = read(name, "while");
      if (before.offsets)
        fail(Code::unsupported, "a loop that writes the sequences '", name, "' cannot be imported");
      in.push_back(before.var);
      body.current_[name].var = {&body.program_,
                                 body.program_.add_input(name, program_[before.var.id].declared)};
      results.push_back(name);
    }
    if (results.size() == 1)
      fail(Code::unsupported, "a loop that writes nothing but its condition cannot be imported");
    const auto carried = static_cast<int64_t>(results.size() - 1);
    body.add_ops();
    const BlockPtr block = body.giving(results);
    in.insert(in.end(), body.captured_.begin(), body.captured_.end());
    const Vars out = apply(*find_op("while"), in, {{"body", block}, {"carried", carried}},
                           results.size() - 1, condition);
    for (size_t k = 1; k < results.size(); ++k) current_[results[k]] = {out[k - 1], {}};
    Tensor ended(DType::boolean, {1});
    *ended.data<bool>() = false;
    current_[condition] = {constant(program_, ended), {}};
  }

  /// Results that are there already keep their numbers where the block does not run; what else it
  /// writes can be read by select_input only.
  void add_conditional(const fluid::Op& op) {
    const auto conditions = arguments(op.inputs(), "Cond");
    if (conditions.size() != 1)
      fail(Code::refused, "a conditional_block operator must have one condition");
    const Var condition = read(conditions[0], op.type()).var;
    auto inner = std::make_shared<Block>(from_, path_, block_of(op), this);
    inner->add_ops();
    std::vector<std::string> kept;
    for (const std::string& name : arguments(op.outputs(), "Out")) {
      if (known(name))
        kept.push_back(name);
      else
        branches_[name] = inner;
    }
    if (kept.empty()) return;
    Block other(from_, path_, -1, this);
    const BlockPtr then = inner->giving(kept);
    const BlockPtr otherwise = other.giving(kept);
    const Vars out = append_if(condition, then, inner->captured_, otherwise, other.captured_);
    for (size_t k = 0; k < kept.size(); ++k) current_[kept[k]] = {out[k], {}};
  }

  std::shared_ptr<Block> branch(const std::string& name) const {
    const auto it = branches_.find(name);
    return it == branches_.end() ? nullptr : it->second;
  }

  /// Out = X[Mask]. Results of the same two conditional blocks become results of one `if`.
  void add_select(const fluid::Op& op) {
    if (selected_.contains(&op)) return;
    struct Select {
      std::vector<std::string> x, mask, out;
      explicit Select(const fluid::Op& o)
          : x(arguments(o.inputs(), "X")),
            mask(arguments(o.inputs(), "Mask")),
            out(arguments(o.outputs(), "Out")) {
        if (x.size() != 2 || mask.size() != 1 || out.size() != 1)
          fail(Code::refused, "a select_input operator takes two values and a mask");
      }
    };
    const Select first(op);
    std::shared_ptr<Block> sides[2];
    for (size_t k = 0; k < 2; ++k) sides[k] = branch(first.x[k]);
    std::vector<std::string> names[2], out;
    for (const fluid::Op& other : block_.ops()) {
      if (other.type() != op.type()) continue;
      const Select s(other);
      const bool together = sides[0] && sides[1] && s.mask == first.mask &&
                            branch(s.x[0]) == sides[0] && branch(s.x[1]) == sides[1];
      if (&other != &op && !together) continue;
      for (size_t k = 0; k < 2; ++k) names[k].push_back(s.x[k]);
      out.push_back(s.out[0]);
      selected_.insert(&other);
    }
    const Var mask =
        apply("cast", {read(first.mask[0], "select_input").var}, {{"to", std::string("bool")}});
    BlockPtr blocks[2];
    for (size_t k = 0; k < 2; ++k) {
      if (!sides[k]) sides[k] = std::make_shared<Block>(from_, path_, -1, this);
      blocks[k] = sides[k]->giving(names[k]);
    }
    const Vars y = append_if(mask, blocks[1], sides[1]->captured_, blocks[0], sides[0]->captured_);
    for (size_t k = 0; k < out.size(); ++k) current_[out[k]] = {y[k], {}};
  }

  void write(const fluid::Op::Slot& slot, const ImportNode& node) {
    const Var offsets = offsets_of(slot.parameter(), node);
    const auto it = node.out_slots_.find(slot.parameter());
    const Vars given = it == node.out_slots_.end() ? Vars{} : it->second;
    for (int k = 0; k < slot.arguments_size(); ++k) {
      const Var v = static_cast<size_t>(k) < given.size() ? given[static_cast<size_t>(k)] : Var{};
      Current& current = current_[slot.arguments(k)];
      // Running statistics are written onto the parameters they were read from, which inference
      // leaves as they are.
      if (!v && current.var && current.var.constant()) continue;
      if (v && program_[v.id].name.starts_with('%')) program_.rename(v.id, slot.arguments(k));
      // Import rules may want to know the type and the rank of what they read.
      const auto var = vars_.find(slot.arguments(k));
      if (v && program_[v.id].declared.dtype == DType::none && var != vars_.end() &&
          var->second->type().type() == lod_tensor)
        program_[v.id].declared = spec_of(*var->second);
      current = {v, offsets};
    }
  }

  /// What the rule said, otherwise the offsets of the main input.
  static Var offsets_of(const std::string& slot, const ImportNode& node) {
    if (const auto it = node.out_offsets_.find(slot); it != node.out_offsets_.end())
      return it->second;
    for (std::string_view main : {"X", "Input", "Ids"})
      if (const auto it = node.in_offsets_.find(main); it != node.in_offsets_.end())
        return it->second;
    return node.in_offsets_.empty() ? Var{} : node.in_offsets_.begin()->second;
  }

  /// What a file says of computed variables may be wrong (a decoded path is called float32), so
  /// nothing is declared.
  void add_fetch(const fluid::Op& op) {
    const std::string& name = only_argument(op, op.inputs_size() == 1 ? &op.inputs(0) : nullptr);
    Var v = read(name, "fetch").var;
    const auto in = [&](const std::vector<ValueId>& ids) {
      return std::find(ids.begin(), ids.end(), v.id) != ids.end();
    };
    if (program_[v.id].constant || in(program_.inputs) || in(program_.outputs)) {
      v = apply("identity", {v});
      program_.rename(v.id, name);
    }
    program_.outputs.push_back(v.id);
  }

  const fluid::Program& from_;
  const fluid::Block& block_;
  const RelPath& path_;
  Block* const around_;  ///< null: it is the program's own block
  Vars captured_;        ///< what it reads of that one: its last inputs
  std::map<std::string, std::shared_ptr<Block>> branches_;  ///< conditional blocks, by result
  std::set<const fluid::Op*> selected_;
  int version_ = 0;
  std::map<std::string, const fluid::Var*> vars_;
  std::map<std::string, Current> current_;
  Program program_;
};

}  // namespace

Program import_paddle(const Files& files, const RelPath& program, const std::string& params) {
  const MappedFile file = files.open(program);
  return within(concat("Paddle program ", program.str()), [&] {
    return in_memory([&] {
      if (file.text().starts_with('{'))
        fail(Code::unsupported,
             "it is a PIR program of Paddle 3 (JSON); export it with FLAGS_enable_pir_api=0");
      if (file.size() > INT_MAX) fail(Code::refused, "it is larger than 2 GiB");
      check_weight(file.text(), messages, 'P');
      fluid::Program message;
      if (!message.ParseFromArray(file.bytes().data(), static_cast<int>(file.size())))
        fail(Code::refused, "it is no Paddle program, or a damaged one");
      if (message.blocks_size() == 0) fail(Code::refused, "it has no blocks");
      return Block(message, program).import(files, params);
    });
  });
}

}  // namespace hub
