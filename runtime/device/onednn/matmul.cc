// Matrix products through oneDNN, weights in the layout that is fastest here.
#include "runtime/device/onednn/matmul.h"

namespace hub::onednn {

using dnnl::memory;
constexpr auto f32 = memory::data_type::f32;

memory::desc strided(const memory::dims& dims, const memory::dims& strides) {
  return {dims, f32, strides};
}

Product product(const memory::desc& a, const memory::desc& b, const memory::desc& c,
                const memory::desc& bias, const std::vector<Post>& posts) {
  Product p;
  const auto attr = post_attr(posts, c, p.sum);
  const auto desc = bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  p.pd = dnnl::matmul::primitive_desc(desc, attr, engine());
  return p;
}

namespace {

/// Row-major [.., rows, columns] whose last two dimensions are swapped when `transposed`.
memory::desc operand_desc(const Shape& shape, size_t rank, bool transposed) {
  memory::dims dims(rank, 1);
  memory::dims strides(rank, 1);
  const size_t lead = rank - shape.rank();
  for (size_t i = rank; i-- > 0;) {
    dims[i] = i < lead ? 1 : shape[i - lead];
    strides[i] = i + 1 == rank ? 1 : strides[i + 1] * dims[i + 1];
  }
  if (transposed) {
    std::swap(dims[rank - 1], dims[rank - 2]);
    std::swap(strides[rank - 1], strides[rank - 2]);
  }
  return strided(dims, strides);
}

/// How constant weights [K, N] are kept. With AVX-512 oneDNN packs them itself; its AVX2 product
/// wants plain rows, but slows to half when their length is a multiple of a page, so such rows are
/// kept 16 numbers apart.
memory::desc weight_desc(int64_t k, int64_t n) {
  if (channel_block() == 16) return {{k, n}, f32, memory::format_tag::any};
  return strided({k, n}, {n % 256 == 0 ? n + 16 : n, 1});
}

/// Whether products with row-major rows of n numbers are so slow (2.3 times at n = 3072) that
/// packing them first pays.
bool slow_rows(int64_t n, bool transposed) { return !transposed && n >= 2048 && n % 512 == 0; }

}  // namespace

std::optional<Prepared> prepare_matmul(const OpCall& call, std::span<const Operand> in,
                                       std::span<const Spec> out) {
  if (!all_float(in, out)) return {};
  const Shape& a = in[0].spec.shape;
  const Shape& b = in[1].spec.shape;
  if (a.rank() < 2 || b.rank() < 2) return {};
  if (auto panels = prepare_panel_matmul(call, in, out)) return panels;
  const bool trans_a = call.attrs.i("trans_a", 0) != 0;
  const bool trans_b = call.attrs.i("trans_b", 0) != 0;
  const bool bias = in.size() > 2 && in[2].present;
  const bool residual = in.size() > 3 && in[3].present;
  const double alpha = call.attrs.f("alpha", 1);
  if (alpha != 1 && bias) return {};
  auto posts = read_post(call.attrs);
  if (alpha != 1) posts.insert(posts.begin(), Post{"linear", alpha, 0});
  if (steps_clash(posts)) return {};
  const int64_t n = out[0].shape.back();
  memory::desc da;
  memory::desc db;
  memory::desc dc;
  memory::desc plain_b;
  bool packed = false;
  if (b.rank() == 2 && (a.rank() == 2 || !trans_a)) {
    // Leading dimensions of a are more rows.
    const int64_t k = trans_a ? a[0] : a.back();
    const int64_t m = trans_a ? a[1] : a.numel() / k;
    da = operand_desc(trans_a ? Shape{k, m} : Shape{m, k}, 2, trans_a);
    plain_b = operand_desc(b, 2, trans_b);
    packed = in[1].constant != nullptr || slow_rows(n, trans_b);
    db = packed ? weight_desc(k, n) : plain_b;
    dc = plain_desc({m, n});
  } else {
    const size_t rank = out[0].shape.rank();
    da = operand_desc(a, rank, trans_a);
    db = plain_b = operand_desc(b, rank, trans_b);
    dc = plain_desc(dims_of(out[0].shape));
  }
  memory::desc bias_desc;
  if (bias) {
    if (in[2].spec.shape != Shape{n}) return {};
    memory::dims dims(dc.dims().size(), 1);
    dims.back() = n;
    bias_desc = plain_desc(dims);
  }
  const Product made = product(da, db, dc, bias_desc, posts);
  Prepared p;
  p.in.assign(in.size(), nullptr);
  if (packed) p.in[1] = layout_of(made.pd.weights_desc(), plain_b);
  p.out = {nullptr};
  p.scratch = made.pd.scratchpad_desc().get_size();
  p.how = made.pd.impl_info_str();
  p.bind = [made, da, dc, bias, bias_desc, residual,
            primitive = dnnl::matmul(made.pd)](const Places& at) {
    std::vector<std::tuple<int, memory::desc, void*>> args = {
        {DNNL_ARG_SRC, da, at.in[0]},
        {DNNL_ARG_WEIGHTS, made.pd.weights_desc(), at.in[1]},
        {DNNL_ARG_DST, dc, at.out[0]},
        {DNNL_ARG_SCRATCHPAD, made.pd.scratchpad_desc(), at.scratch}};
    if (bias) args.emplace_back(DNNL_ARG_BIAS, bias_desc, at.in[2]);
    if (residual) {
      args.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(made.sum) | DNNL_ARG_SRC_1, dc, at.in[3]);
    }
    return primitive_step(primitive, std::move(args));
  };
  return p;
}

}  // namespace hub::onednn
