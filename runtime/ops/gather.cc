// Reading by index; indices are int32 or int64, count from the back when negative, and are checked
// against the dimension.
//  gather(x, indices): along `axis` (0) the rows that indices names, whose shape stands in place of
//  the axis; gather_elements(x, indices): y[i…] = x with the index along `axis` replaced by
//  indices[i…]; gather_nd(x, indices): indices[…, k] name the first k dimensions after `batch_dims`
//  (0) shared ones.
#include <algorithm>

#include "runtime/ops/indices.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

std::vector<Spec> infer_gather(const Infer& in) {
  check_type(in, 1, IndexTypes{});
  const Shape& from = in.in(0).shape;
  const size_t axis = axis_of(in.attrs.i("axis", 0), from.rank());
  Shape to;
  for (size_t d = 0; d < axis; ++d) to.push_back(from[d]);
  for (int64_t d : in.in(1).shape) to.push_back(d);
  for (size_t d = axis + 1; d < from.rank(); ++d) to.push_back(from[d]);
  return {{in.in(0).dtype, to}};
}

void forward_gather(const Call& call) {
  const Tensor& x = call.x(0);
  const AxisView view(x.shape(), axis_of(call.attrs.i("axis", 0), x.shape().rank()));
  const auto rows = checked_indices(call.x(1), view.length);
  const size_t bytes = static_cast<size_t>(view.inner) * size_of(x.dtype());
  std::byte* to = call.y().data<std::byte>();
  for (int64_t o = 0; o < view.outer; ++o) {
    const std::byte* from = x.data<std::byte>() + static_cast<size_t>(o * view.length) * bytes;
    for (int64_t row : rows) {
      std::copy_n(from + static_cast<size_t>(row) * bytes, bytes, to);
      to += bytes;
    }
  }
}

std::vector<Spec> infer_gather_elements(const Infer& in) {
  check_type(in, 1, IndexTypes{});
  check_inside(in, in.in(1).shape, axis_of(in.attrs.i("axis", 0), in.in(0).shape.rank()));
  return {{in.in(0).dtype, in.in(1).shape}};
}

void forward_gather_elements(const Call& call) {
  const Tensor& x = call.x(0);
  const size_t axis = axis_of(call.attrs.i("axis", 0), x.shape().rank());
  const auto rows = checked_indices(call.x(1), x.shape()[axis]);
  const int64_t stride = strides_of(x.shape())[axis];
  dispatch_size(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    T* to = call.y().data<T>();
    each_element_beside(call.x(1).shape(), x.shape(), axis,
                        [&](int64_t i, int64_t at) { to[i] = from[at + rows[i] * stride]; });
  });
}

std::vector<Spec> infer_gather_nd(const Infer& in) {
  check_type(in, 1, IndexTypes{});
  const Shape& from = in.in(0).shape;
  const Shape& at = in.in(1).shape;
  const int64_t batch = in.attrs.i("batch_dims", 0);
  if (at.rank() == 0 || batch < 0 ||
      static_cast<size_t>(batch) >= std::min(from.rank(), at.rank()) || at.back() < 0 ||
      static_cast<size_t>(at.back() + batch) > from.rank()) {
    fail(Code::refused, "indices ", at.str(), " with ", batch, " batch dimensions into ",
         from.str());
  }
  Shape to;
  for (size_t d = 0; d + 1 < at.rank(); ++d) {
    if (d < static_cast<size_t>(batch) && at[d] != from[d]) {
      fail(Code::refused, "batch dimension ", d, " of ", at.str(), " and ", from.str(), " differs");
    }
    to.push_back(at[d]);
  }
  for (size_t d = static_cast<size_t>(batch + at.back()); d < from.rank(); ++d)
    to.push_back(from[d]);
  return {{in.in(0).dtype, to}};
}

void forward_gather_nd(const Call& call) {
  const Tensor& x = call.x(0);
  const auto batch = static_cast<size_t>(call.attrs.i("batch_dims", 0));
  const int64_t batches = x.shape().numel(0, batch);
  const Tuples tuples(call.x(1), x.shape(), batch);
  const size_t bytes = static_cast<size_t>(tuples.slice) * size_of(x.dtype());
  const int64_t per_batch = batches == 0 ? 0 : static_cast<int64_t>(tuples.starts.size()) / batches;
  const int64_t batch_size = x.shape().numel(batch, x.shape().rank());
  std::byte* to = call.y().data<std::byte>();
  for (size_t i = 0; i < tuples.starts.size(); ++i) {
    const int64_t start = static_cast<int64_t>(i) / per_batch * batch_size + tuples.starts[i];
    std::copy_n(x.data<std::byte>() + static_cast<size_t>(start) * size_of(x.dtype()), bytes,
                to + i * bytes);
  }
}

// ---- import rules ----

void paddle_gather(ImportNode& n) {
  int64_t axis = n.attrs.i("axis", 0);
  if (const Var given = n.in("Axis")) axis = n.known(given).to_ints().at(0);
  n.out("Out", apply("gather", {n.need("X"), n.need("Index")}, {{"axis", axis}}));
}

void paddle_index_select(ImportNode& n) {
  n.out("Out", apply("gather", {n.need("X"), n.need("Index")}, {{"axis", n.attrs.i("dim", 0)}}));
}

void paddle_gather_nd(ImportNode& n) {
  n.out("Out", apply("gather_nd", {n.need("X"), n.need("Index")}));
}

/// Rows of the table W; the row padding_idx reads as zeros. The first version's Ids end in a
/// dimension of 1.
template <bool drops_last>
void paddle_lookup_table(ImportNode& n) {
  Var table = n.need("W");
  Var ids = n.need("Ids");
  if (const int64_t padding = n.attrs.i("padding_idx", -1); padding != -1) {
    // The row counts from the back when negative, as Paddle's own layer has it.
    Tensor zeroed = n.known(table).clone();
    const int64_t rows = zeroed.shape().rank() == 2 ? zeroed.shape()[0] : 0;
    const int64_t row = padding < 0 ? padding + rows : padding;
    if (row < 0 || row >= rows)
      n.refuse("padding_idx is ", padding, " in a table of ", rows, " rows");
    const size_t bytes = static_cast<size_t>(zeroed.shape()[1]) * size_of(zeroed.dtype());
    std::fill_n(zeroed.data<std::byte>() + static_cast<size_t>(row) * bytes, bytes, std::byte{0});
    table = constant(n.program, std::move(zeroed));
  }
  if (drops_last) ids = apply("squeeze", {ids, ints(n, {-1})});
  n.out("Out", embedding(table, ids));
}

}  // namespace

const OpDef gather_op = {
    .name = "gather",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_gather,
    .forward = forward_gather,
    .imports = {{"onnx:Gather", onnx_same<"gather">},
                {"paddle:gather", paddle_gather},
                {"paddle:index_select", paddle_index_select},
                {"paddle:lookup_table", paddle_lookup_table<true>},
                {"paddle:lookup_table_v2", paddle_lookup_table<false>}},
};

const OpDef gather_elements_op = {
    .name = "gather_elements",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_gather_elements,
    .forward = forward_gather_elements,
    .imports = {{"onnx:GatherElements", onnx_same<"gather_elements">}},
};

const OpDef gather_nd_op = {
    .name = "gather_nd",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_gather_nd,
    .forward = forward_gather_nd,
    .imports = {{"onnx:GatherND", onnx_same<"gather_nd">}, {"paddle:gather_nd", paddle_gather_nd}},
};

}  // namespace hub
