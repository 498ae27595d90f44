// The reference device: operators as they are defined, one after the other.
#include <cstring>

#include "base/error.h"
#include "runtime/block.h"
#include "runtime/device/device.h"
#include "runtime/empty.h"

namespace hub {
namespace {

/// The call with its tensors, made once: views of the plan's memory.
struct Bound {
  OpCall call;
  std::vector<Tensor> in, out;
  std::vector<const Tensor*> in_ptr;
  std::vector<Tensor*> out_ptr;
};

/// An operator with blocks, whose results have the shapes that were foreseen.
void run_blocks(Bound& b, Blocks& blocks) {
  const auto out = b.call.op->run(b.call.attrs, b.in_ptr, blocks.runner());
  for (size_t i = 0; i < b.out_ptr.size(); ++i) {
    if (b.out_ptr[i] == nullptr) continue;
    if (out.at(i).spec() != b.out[i].spec())
      fail(Code::refused, b.call.op->name, " '", b.call.name, "': result ", i, " is ",
           out[i].spec().str(), ", ", b.out[i].spec().str(), " was foreseen");
    std::memcpy(b.out[i].raw(), out[i].raw(), out[i].bytes());
  }
}

}  // namespace

Prepared Reference::prepare(const OpCall& call, std::span<const Operand> in,
                            std::span<const Spec> out) {
  Prepared p;
  p.in.resize(in.size());
  p.out.resize(out.size());
  p.how = "reference";
  p.in_place = call.op->in_place;
  std::vector<Spec> in_specs(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i].present) in_specs[i] = in[i].spec;
  }
  p.bind = [call, in_specs, device = std::string(name()),
            out_specs = std::vector<Spec>(out.begin(), out.end())](const Places& places) -> Step {
    auto b = std::make_shared<Bound>();
    b->call = call;
    for (size_t i = 0; i < in_specs.size(); ++i) {
      b->in.emplace_back(in_specs[i].dtype, in_specs[i].shape, nullptr, places.in[i]);
    }
    for (size_t i = 0; i < out_specs.size(); ++i) {
      b->out.emplace_back(out_specs[i].dtype, out_specs[i].shape, nullptr, places.out[i]);
    }
    for (size_t i = 0; i < b->in.size(); ++i) {
      b->in_ptr.push_back(in_specs[i].dtype == DType::none ? nullptr : &b->in[i]);
    }
    for (size_t i = 0; i < b->out.size(); ++i) {
      b->out_ptr.push_back(call.out[i] == absent ? nullptr : &b->out[i]);
    }
    if (b->call.op->run != nullptr)
      return [b, blocks = std::make_shared<Blocks>(device)] { run_blocks(*b, *blocks); };
    if (nothing_to_write(out_specs)) return [] {};
    return [b] { b->call.op->forward({b->call.attrs, b->in_ptr, b->out_ptr}); };
  };
  return p;
}

Step Reference::reorder(const Spec& spec, const LayoutPtr& from, const void* src,
                        const LayoutPtr& to, void* dst) {
  if (from || to) fail(Code::unsupported, "the reference device knows the plain layout only");
  return [src, dst, bytes = bytes_of(spec)] { std::memcpy(dst, src, bytes); };
}

}  // namespace hub
