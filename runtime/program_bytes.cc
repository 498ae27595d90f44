// A program to bytes and back: the message of program.proto with its constants behind it, aligned
// for mapping.
#include <climits>
#include <cstring>

#include "base/error.h"
#include "runtime/op.h"
#include "runtime/program.h"
#include "runtime/program.pb.h"
#include "runtime/tensor_bytes.h"

namespace hub {
namespace {

constexpr uint32_t layout_version = 1;
constexpr size_t alignment = 64;
constexpr int deepest = 32;        // blocks in blocks
constexpr size_t head_prefix = 9;  // the tag and the eight bytes of `head`
constexpr char padding_tag = (14 << 3) | 2, data_tag = (15 << 3) | 2;

size_t aligned(size_t n) { return (n + alignment - 1) / alignment * alignment; }

// ---- writing ----

void append_varint(std::string& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>((v & 0x7f) | 0x80);
  out += static_cast<char>(v);
}

void write_spec(const Spec& spec, pb::Spec& out) {
  out.set_dtype(std::string(name_of(spec.dtype)));
  for (int64_t d : spec.shape) out.add_dims(d);
}

class Writer {
 public:
  std::string write(const Program& program) {
    pb::Program message;
    message.set_version(layout_version);
    message.set_name(program.name);
    write_block(program, message);
    message.set_head(0);
    message.set_data_start(0);
    message.set_size(0);
    const size_t head = message.ByteSizeLong();
    std::string data_field(1, data_tag);
    append_varint(data_field, size_);
    // The padding field: its tag, its length in one byte, and what is missing for `data` to be
    // aligned.
    const size_t least = head + 2 + data_field.size();
    const size_t start = aligned(least);
    message.set_head(head);
    message.set_data_start(start);
    message.set_size(start + size_);
    std::string bytes;
    bytes.reserve(start + size_);
    message.AppendToString(&bytes);
    bytes += padding_tag;
    append_varint(bytes, start - least);
    bytes.append(start - least, '\0');
    bytes += data_field;
    for (const auto& [offset, tensor] : tensors_) {
      bytes.resize(start + offset, '\0');
      if (tensor->bytes() > 0)
        bytes.append(static_cast<const char*>(tensor->raw()), tensor->bytes());
    }
    bytes.resize(start + size_, '\0');
    return bytes;
  }

 private:
  void write_constant(const Tensor& tensor, pb::Constant& out) {
    write_spec(tensor.spec(), *out.mutable_spec());
    if (tensor.dtype() == DType::string) {
      for (const std::string& s : tensor.values<std::string>()) out.add_strings(s);
      return;
    }
    if (!is_plain(tensor.dtype()))
      fail(Code::unsupported, "a constant ", tensor.spec().str(),
           " has no place in a program file");
    out.set_offset(size_);
    tensors_.emplace_back(size_, &tensor);
    size_ = aligned(size_ + tensor.bytes());
  }

  void write_attr(const std::string& name, const Attr& attr, pb::Program& message, pb::Attr& out) {
    out.set_name(name);
    if (auto* i = std::get_if<int64_t>(&attr)) out.set_i(*i);
    if (auto* f = std::get_if<double>(&attr)) out.set_f(*f);
    if (auto* s = std::get_if<std::string>(&attr)) out.set_s(*s);
    if (auto* v = std::get_if<std::vector<int64_t>>(&attr))
      out.mutable_ints()->mutable_values()->Assign(v->begin(), v->end());
    if (auto* v = std::get_if<std::vector<double>>(&attr))
      out.mutable_floats()->mutable_values()->Assign(v->begin(), v->end());
    if (auto* v = std::get_if<std::vector<std::string>>(&attr))
      out.mutable_strings()->mutable_values()->Assign(v->begin(), v->end());
    if (auto* t = std::get_if<Tensor>(&attr)) write_constant(*t, *out.mutable_tensor());
    if (auto* b = std::get_if<BlockPtr>(&attr)) {
      out.set_block(static_cast<uint32_t>(message.blocks_size()));
      write_block(**b, message);
    }
  }

  void write_block(const Program& program, pb::Program& message) {
    pb::Block& block = *message.add_blocks();  // stays where it is when others are added
    for (const Value& value : program.values) {
      pb::Value& v = *block.add_values();
      v.set_name(value.name);
      if (value.declared.dtype != DType::none) write_spec(value.declared, *v.mutable_declared());
      if (value.constant) write_constant(value.constant, *v.mutable_constant());
    }
    for (const OpCall& call : program.ops) {
      pb::Op& op = *block.add_ops();
      op.set_op(std::string(call.op->name));
      op.set_name(call.name);
      op.mutable_in()->Assign(call.in.begin(), call.in.end());
      op.mutable_out()->Assign(call.out.begin(), call.out.end());
      for (const auto& [name, attr] : call.attrs.items())
        write_attr(name, attr, message, *op.add_attrs());
    }
    block.mutable_inputs()->Assign(program.inputs.begin(), program.inputs.end());
    block.mutable_outputs()->Assign(program.outputs.begin(), program.outputs.end());
    for (const State& s : program.states) {
      pb::State& state = *block.add_states();
      state.set_value(s.value);
      state.set_next(s.next);
    }
  }

  size_t size_ = 0;  // of the data so far
  std::vector<std::pair<size_t, const Tensor*>> tensors_;
};

// ---- reading ----

[[noreturn]] void malformed(std::string_view what) { fail(Code::refused, "program file: ", what); }

class Reader {
 public:
  Reader(std::string_view bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}

  Program read() {
    uint64_t head = 0;
    if (bytes_.size() < head_prefix || bytes_[0] != 9) malformed("it does not begin as one");
    std::memcpy(&head, bytes_.data() + 1, sizeof head);
    if (head < head_prefix || head > bytes_.size() || head > INT_MAX)
      malformed("its head is longer than the file");
    pb::Program message;
    if (!message.ParseFromArray(bytes_.data(), static_cast<int>(head)))
      malformed("its head cannot be parsed");
    if (message.version() != layout_version)
      fail(Code::unsupported, "program file of layout ", message.version(), "; this program reads ",
           layout_version);
    if (message.size() != bytes_.size()) malformed("it is not as long as it says");
    if (message.data_start() < head || message.data_start() > bytes_.size())
      malformed("its constants lie outside it");
    data_ = bytes_.substr(message.data_start());
    if (message.blocks_size() == 0) malformed("it has no block");
    // A block lies behind the one it is in, so that from the last to the first its own are there.
    blocks_.resize(static_cast<size_t>(message.blocks_size()));
    for (size_t i = blocks_.size(); i-- > 1;)
      blocks_[i].program = std::make_shared<const Program>(read_block(message, i));
    Program program = read_block(message, 0);
    program.name = message.name();
    for (size_t i = 1; i < blocks_.size(); ++i)
      if (blocks_[i].program) malformed(concat("block ", i, " belongs to no operator"));
    program.check();
    return program;
  }

 private:
  struct OwnBlock {
    BlockPtr program;  ///< empty once an operator has it
    int depth = 0;     ///< of blocks in blocks, this one counted
  };

  Program read_block(const pb::Program& message, size_t index) {
    const pb::Block& block = message.blocks(static_cast<int>(index));
    Program program;
    for (const pb::Value& v : block.values()) read_value(v, program);
    for (const pb::Op& op : block.ops()) read_op(op, index, program);
    program.inputs.assign(block.inputs().begin(), block.inputs().end());
    program.outputs.assign(block.outputs().begin(), block.outputs().end());
    for (ValueId id : program.outputs)
      if (id >= 0 && static_cast<size_t>(id) < program.values.size() && program[id].constant &&
          !is_plain(program[id].constant.dtype()))
        malformed("an output is a constant of strings");
    for (const pb::State& s : block.states()) program.states.push_back({s.value(), s.next()});
    return program;
  }

  BlockPtr take_block(size_t index, size_t owner) {
    if (index <= owner || index >= blocks_.size() || !blocks_[index].program)
      malformed(concat("block ", owner, " may not hold block ", index));
    blocks_[owner].depth = std::max(blocks_[owner].depth, blocks_[index].depth + 1);
    if (blocks_[owner].depth > deepest)
      malformed(concat("blocks lie more than ", deepest, " deep"));
    return std::move(blocks_[index].program);
  }

  static Spec read_spec(const pb::Spec& spec) {
    const DType dtype = dtype_named(spec.dtype());
    if (dtype == DType::none) malformed(concat("unknown type '", spec.dtype(), "'"));
    Shape shape;
    for (int64_t d : spec.dims()) {
      if (d < -1) malformed("a dimension is negative");
      shape.push_back(d);
    }
    return {dtype, shape};
  }

  Tensor read_constant(const pb::Constant& c) const {
    const Spec spec = read_spec(c.spec());
    if (spec.dtype == DType::string) {
      if (c.strings_size() != spec.shape.numel())
        malformed(concat(spec.str(), " with ", c.strings_size(), " strings"));
      return Tensor::strings(spec.shape, {c.strings().begin(), c.strings().end()});
    }
    const size_t size = bytes_of(spec);
    if (c.offset() > data_.size() || size > data_.size() - c.offset())
      malformed("a constant lies behind its end");
    return tensor_from_bytes(spec, std::as_bytes(std::span(data_.substr(c.offset(), size))),
                             owner_);
  }

  void read_value(const pb::Value& v, Program& program) const {
    if (v.name().empty() || program.find(v.name()) != absent)
      malformed(concat("value name '", v.name(), "' is taken"));
    const ValueId id = program.add_value(v.name());
    if (v.has_declared()) program[id].declared = read_spec(v.declared());
    if (v.has_constant()) program[id].constant = read_constant(v.constant());
  }

  Attr read_attr(const pb::Attr& a, size_t owner) {
    switch (a.value_case()) {
      case pb::Attr::kI: return a.i();
      case pb::Attr::kF: return a.f();
      case pb::Attr::kS: return a.s();
      case pb::Attr::kInts:
        return std::vector<int64_t>(a.ints().values().begin(), a.ints().values().end());
      case pb::Attr::kFloats:
        return std::vector<double>(a.floats().values().begin(), a.floats().values().end());
      case pb::Attr::kStrings:
        return std::vector<std::string>(a.strings().values().begin(), a.strings().values().end());
      case pb::Attr::kTensor: return read_constant(a.tensor());
      case pb::Attr::kBlock: return take_block(a.block(), owner);
      case pb::Attr::VALUE_NOT_SET: break;
    }
    malformed(concat("attribute '", a.name(), "' has no value"));
  }

  void read_op(const pb::Op& op, size_t owner, Program& program) {
    OpCall call;
    call.op = find_op(op.op());
    if (!call.op)
      fail(Code::unsupported, "program file: operator '", op.op(),
           "' is not known to this program");
    call.name = op.name();
    call.in.assign(op.in().begin(), op.in().end());
    call.out.assign(op.out().begin(), op.out().end());
    for (const pb::Attr& a : op.attrs()) call.attrs.set(a.name(), read_attr(a, owner));
    program.ops.push_back(std::move(call));
  }

  std::string_view bytes_, data_;
  std::shared_ptr<const void> owner_;
  std::vector<OwnBlock> blocks_;
};

}  // namespace

std::string to_bytes(const Program& program) { return Writer().write(program); }

Program program_from_bytes(std::string_view bytes, std::shared_ptr<const void> owner) {
  return Reader(bytes, std::move(owner)).read();
}

}  // namespace hub
