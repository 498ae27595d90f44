// Operators that only move numbers: views, transposes and nearest-neighbour enlargement of images.
#include <cstring>

#include "runtime/device/onednn/onednn.h"

namespace hub::onednn {

using dnnl::memory;

std::optional<Prepared> prepare_view(const OpCall&, std::span<const Operand> in,
                                     std::span<const Spec> out) {
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.out.assign(out.size(), nullptr);
  if (out.size() != 1) return {};
  p.alias = 0;
  p.how = "view";
  return p;
}

std::optional<Prepared> prepare_transpose(const OpCall& call, std::span<const Operand> in,
                                          std::span<const Spec> out) {
  if (!all_float(in, out)) return {};
  const Shape& x = in[0].spec.shape;
  const size_t rank = x.rank();
  if (rank == 0) return {};
  auto perm = call.attrs.ints("perm");
  if (perm.empty()) {
    for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  }
  // The source seen with the result's dimensions; it may be read straight out of blocks.
  memory::desc from = desc_of(in[0].spec, in[0].layout);
  std::vector<int> to_place(rank);
  for (size_t i = 0; i < rank; ++i) to_place[static_cast<size_t>(perm[i])] = static_cast<int>(i);
  const memory::desc seen = from.permute_axes(to_place);
  const memory::desc to = plain_desc(dims_of(out[0].shape));
  const dnnl::reorder::primitive_desc pd(engine(), seen, engine(), to);
  Prepared p;
  p.in = {in[0].layout};
  p.out = {nullptr};
  p.how = pd.impl_info_str();
  p.bind = [seen, to, primitive = dnnl::reorder(pd)](const Places& at) {
    return primitive_step(primitive,
                          {{DNNL_ARG_FROM, seen, at.in[0]}, {DNNL_ARG_TO, to, at.out[0]}});
  };
  return p;
}

std::optional<Prepared> prepare_resize(const OpCall& call, std::span<const Operand> in,
                                       std::span<const Spec> out) {
  const Shape& x = in[0].spec.shape;
  const Shape& y = out[0].shape;
  if (!all_float(in.subspan(0, 1), out) || x.rank() != 4 || x[0] != y[0] || x[1] != y[1]) return {};
  if (call.attrs.s("mode", "nearest") != "nearest" || y[2] % x[2] != 0 || y[3] % x[3] != 0)
    return {};
  // Enlarging by whole numbers: these spellings of "nearest" all pick pixel floor(i / factor).
  const std::string where = call.attrs.s("coordinate_transformation_mode", "half_pixel");
  const std::string round = call.attrs.s("nearest_mode", "round_prefer_floor");
  const bool floors = (where == "asymmetric" && round == "floor") ||
                      (where == "half_pixel" && round == "round_prefer_floor");
  if (!floors || !is_image_layout(x, in[0].layout)) return {};
  const int64_t block = channel_block();
  const int64_t groups = x[0] * ((x[1] + block - 1) / block);
  Prepared p;
  p.in.assign(in.size(), nullptr);
  p.in[0] = in[0].layout;
  p.out = {image_layout(y)};
  p.how = "loop";
  p.bind = [=, h = x[2], w = x[3], oh = y[2], ow = y[3]](const Places& at) -> Step {
    const auto* from = static_cast<const float*>(at.in[0]);
    auto* to = static_cast<float*>(at.out[0]);
    return [=] {
      const int64_t fy = oh / h;
      const int64_t fx = ow / w;
#pragma omp parallel for collapse(2)
      for (int64_t g = 0; g < groups; ++g) {
        for (int64_t r = 0; r < oh; ++r) {
          const float* row = from + (g * h + r / fy) * w * block;
          float* write = to + (g * oh + r) * ow * block;
          for (int64_t c = 0; c < w; ++c) {
            for (int64_t k = 0; k < fx; ++k, write += block) {
              std::memcpy(write, row + c * block, static_cast<size_t>(block) * sizeof(float));
            }
          }
        }
      }
    };
  };
  return p;
}

}  // namespace hub::onednn
