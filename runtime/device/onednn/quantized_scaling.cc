#include <cmath>

#include "runtime/device/onednn/conv.h"
#include "runtime/device/onednn/quantized.h"

namespace hub::onednn {

using dnnl::memory;
using namespace quantized;

namespace {

std::optional<memory::data_type> type_of(DType dtype) {
  switch (dtype) {
    case DType::u8: return memory::data_type::u8;
    case DType::i8: return memory::data_type::s8;
    case DType::i32: return memory::data_type::s32;
    case DType::f32: return memory::data_type::f32;
    default: return {};
  }
}

}  // namespace

memory::desc typed(memory::desc desc, memory::data_type type) {
  desc.data.data_type = memory::convert_to_c(type);
  return desc;
}
memory::desc plain_of(const Spec& spec) {
  return typed(plain_desc(dims_of(spec.shape)), *type_of(spec.dtype));
}
memory::desc last_of(const Spec& spec) {
  using tag = memory::format_tag;
  const tag t = spec.shape.rank() == 3 ? tag::nwc : spec.shape.rank() == 4 ? tag::nhwc : tag::ndhwc;
  return {dims_of(spec.shape), *type_of(spec.dtype), t};
}
LayoutPtr channels_last(const Spec& spec) { return layout_of(last_of(spec), plain_of(spec)); }

std::optional<Steps> steps_of(std::span<const Operand> in, size_t i) {
  auto number = [&](size_t k) -> const Tensor* {
    return in[k].constant != nullptr && in[k].constant->numel() == 1 ? in[k].constant : nullptr;
  };
  const Tensor* scale = number(i);
  if (scale == nullptr || scale->dtype() != DType::f32) return {};
  Steps s{*scale->data<float>(), 0};
  if (i + 1 >= in.size() || !in[i + 1].present) return s;
  const Tensor* zero = number(i + 1);
  if (zero == nullptr || size_of(zero->dtype()) != 1) return {};
  s.zero = static_cast<int>(zero->to_ints()[0]);
  return s;
}

bool exact(const OpCall& call, const Spec& x) {
  constexpr int vnni = 0x440;
  if ((static_cast<int>(dnnl::get_effective_cpu_isa()) & vnni) != 0) return true;
  return x.dtype == DType::u8 && call.attrs.i("narrow", 0) != 0;
}

std::optional<Scaling> scaling_of(const OpCall& call, std::span<const Operand> in,
                                  const Spec& out) {
  Scaling s;
  const auto source = steps_of(in, x_scale);
  if (!source || in[w].constant == nullptr || in[w].spec.dtype != DType::i8) return {};
  if (in[w_scale].constant == nullptr || in[w_scale].spec.dtype != DType::f32) return {};
  if (in.size() > w_zero && in[w_zero].present) {
    if (in[w_zero].constant == nullptr) return {};
    for (int64_t z : in[w_zero].constant->to_ints())
      if (z != 0) return {};
  }
  s.source = *source;
  const bool rounds = in.size() > y_scale && in[y_scale].present;
  if (rounds) {
    const auto result = steps_of(in, y_scale);
    if (!result) return {};
    s.result = *result;
  }
  s.posts = read_post(call.attrs);
  // Bounds can be counted in steps of the result; other steps want the numbers themselves.
  bool bounds = true;
  for (const Post& p : s.posts) bounds = bounds && (p.kind == "relu" || p.kind == "clip");
  const float unit = bounds ? s.result.scale : 1.0F;
  for (float scale : in[w_scale].constant->values<float>())
    s.scales.push_back(s.source.scale * scale / unit);
  if (bounds) {
    for (Post& p : s.posts) {
      p.a /= unit;
      p.b /= unit;
    }
    // The least integer holds the result above zero anyway.
    const bool held = rounds && out.dtype == DType::u8 && s.result.zero == 0;
    if (held) std::erase_if(s.posts, [](const Post& p) { return p.kind == "relu"; });
  } else if (rounds) {
    s.posts.push_back({"linear", 1 / s.result.scale, 0});
  }
  if (steps_clash(s.posts)) return {};
  return s;
}

std::optional<Channels> image_of(const Shape& shape) {
  if (!image_rank(shape)) return {};
  return Channels{shape[0], shape[1], shape.numel(2, shape.rank()), channel_block()};
}

}  // namespace hub::onednn
