// Reading by index; indices are int32 or int64, count from the back when negative, and are checked
// against the dimension.
//  gather(x, indices): along `axis` (0) the rows that indices names, whose shape stands in place of
//  the axis; gather_elements(x, indices): y[i…] = x with the index along `axis` replaced by
//  indices[i…]; gather_nd(x, indices): indices[…, k] name the first k dimensions after `batch_dims`
//  (0) shared ones.
//  gather_grad(indices, dy, like) and gather_nd_grad(indices, dy, like): each row of dy added to
//  where in something shaped like `like` it was read, zeros elsewhere.
#include <algorithm>

#include "runtime/ops/grad.h"
#include "runtime/ops/indices.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

Shape gathered(const Attrs& attrs, const Shape& from, const Shape& indices) {
  const size_t axis = axis_of(attrs.i("axis", 0), from.rank());
  Shape to;
  for (size_t d = 0; d < axis; ++d) to.push_back(from[d]);
  for (int64_t d : indices) to.push_back(d);
  for (size_t d = axis + 1; d < from.rank(); ++d) to.push_back(from[d]);
  return to;
}

std::vector<Spec> infer_gather(const Infer& in) {
  check_type(in, 1, IndexTypes{});
  return {{in.in(0).dtype, gathered(in.attrs, in.in(0).shape, in.in(1).shape)}};
}

void forward_gather(const Call& call) {
  const Tensor& x = call.x(0);
  const AxisView view(x.shape(), axis_of(call.attrs.i("axis", 0), x.shape().rank()));
  const auto rows = checked_indices(call.x(1), view.length);
  int64_t to = 0;
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t row : rows) {
      copy_elements(x, (o * view.length + row) * view.inner, view.inner, call.y(), to);
      to += view.inner;
    }
  }
}

void grad_gather(Grad& g) { g.dx(0, apply("gather_grad", {g.x(1), g.dy(), g.x(0)}, g.attrs)); }

/// The gradient of a gather whose result has the shape that `shape_of` gives.
template <auto shape_of>
std::vector<Spec> infer_back(const Infer& in) {
  check_type(in, 0, IndexTypes{});
  check_type(in, 1, Floats{});
  const Shape wanted = shape_of(in.attrs, in.in(2).shape, in.in(0).shape);
  if (in.in(1).shape != wanted)
    fail(Code::refused, "the gradient is ", in.in(1).str(), ", wanted ", wanted.str());
  return {{in.in(1).dtype, in.in(2).shape}};
}

/// Adds n elements.
template <class T>
void add_row(const T* from, int64_t n, T* to) {
  using W = wide_t<T>;
  for (int64_t i = 0; i < n; ++i)
    to[i] = static_cast<T>(static_cast<W>(to[i]) + static_cast<W>(from[i]));
}

/// Each thread owns rows of the result and adds to them in the order of the indices: the sums do
/// not depend on the number of threads.
void forward_gather_grad(const Call& call) {
  const Shape& shape = call.y().shape();
  const AxisView view(shape, axis_of(call.attrs.i("axis", 0), shape.rank()));
  const auto rows = checked_indices(call.x(0), view.length);
  const auto count = static_cast<int64_t>(rows.size());
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() {
    const T* dy = call.x(1).data<T>();
    T* dx = call.y().data<T>();
    const int64_t grain = std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, view.inner));
    parallel(view.outer * view.length, grain, [&](int64_t begin, int64_t end) {
      std::fill(dx + begin * view.inner, dx + end * view.inner, T(0));
      if (begin == end) return;
      for (int64_t o = begin / view.length; o * view.length < end; ++o) {
        for (int64_t k = 0; k < count; ++k) {
          const int64_t row = o * view.length + rows[static_cast<size_t>(k)];
          if (row >= begin && row < end)
            add_row(dy + (o * count + k) * view.inner, view.inner, dx + row * view.inner);
        }
      }
    });
  });
}

void grad_gather_grad(Grad& g) {
  g.dx(1, apply("gather", {g.dy(), g.x(0)}, {{"axis", g.attrs.i("axis", 0)}}));
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

void grad_gather_elements(Grad& g) {
  g.dx(0, apply("scatter_elements", {g.zeros(g.x(0)), g.x(1), g.dy()},
                {{"axis", g.attrs.i("axis", 0)}, {"reduction", "add"}}));
}

Shape gathered_nd(const Attrs& attrs, const Shape& from, const Shape& at) {
  const int64_t batch = attrs.i("batch_dims", 0);
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
  return to;
}

std::vector<Spec> infer_gather_nd(const Infer& in) {
  check_type(in, 1, IndexTypes{});
  return {{in.in(0).dtype, gathered_nd(in.attrs, in.in(0).shape, in.in(1).shape)}};
}

/// The slices that the tuples name in something of `shape`, batch by batch.
Tuples slices(const Call& call, const Tensor& indices, const Shape& shape) {
  const auto batch = static_cast<size_t>(call.attrs.i("batch_dims", 0));
  const int64_t batches = shape.numel(0, batch);
  Tuples tuples(indices, shape, batch);
  const int64_t per_batch = batches == 0 ? 0 : static_cast<int64_t>(tuples.starts.size()) / batches;
  const int64_t batch_size = shape.numel(batch, shape.rank());
  for (size_t i = 0; i < tuples.starts.size(); ++i)
    tuples.starts[i] += static_cast<int64_t>(i) / per_batch * batch_size;
  return tuples;
}

void forward_gather_nd(const Call& call) {
  const Tensor& x = call.x(0);
  const Tuples tuples = slices(call, call.x(1), x.shape());
  int64_t to = 0;
  for (int64_t start : tuples.starts) {
    copy_elements(x, start, tuples.slice, call.y(), to);
    to += tuples.slice;
  }
}

void grad_gather_nd(Grad& g) {
  g.dx(0, apply("gather_nd_grad", {g.x(1), g.dy(), g.x(0)}, g.attrs));
}

void forward_gather_nd_grad(const Call& call) {
  const Tuples tuples = slices(call, call.x(0), call.y().shape());
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() {
    const T* dy = call.x(1).data<T>();
    T* dx = call.y().data<T>();
    std::fill_n(dx, call.y().numel(), T(0));
    for (int64_t start : tuples.starts) {
      add_row(dy, tuples.slice, dx + start);
      dy += tuples.slice;
    }
  });
}

void grad_gather_nd_grad(Grad& g) { g.dx(1, apply("gather_nd", {g.dy(), g.x(0)}, g.attrs)); }

OpDef back(std::string_view name, std::vector<Spec> (*infer)(const Infer&),
           void (*forward)(const Call&), void (*grad)(Grad&)) {
  return {.name = name,
          .min_inputs = 3,
          .max_inputs = 3,
          .spec_only = 0b100,
          .infer = infer,
          .forward = forward,
          .grad = grad,
          .settings = 0b100};
}

// ---- import rules ----

void paddle_gather(ImportNode& n) {
  int64_t axis = n.attrs.i("axis", 0);
  if (const Var given = n.in("Axis")) axis = known_number(n, given).to_ints()[0];
  n.out("Out", apply("gather", {n.need("X"), n.need("Index")}, {{"axis", axis}}));
}

void paddle_index_select(ImportNode& n) {
  n.out("Out", apply("gather", {n.need("X"), n.need("Index")}, {{"axis", n.attrs.i("dim", 0)}}));
}

void paddle_gather_nd(ImportNode& n) {
  n.out("Out", apply("gather_nd", {n.need("X"), n.need("Index")}));
}

/// Positions of each row, as gather_elements reads them.
void paddle_index_sample(ImportNode& n) {
  n.out("Out", apply("gather_elements", {n.need("X"), n.need("Index")}, {{"axis", int64_t{1}}}));
}
void paddle_take_along_axis(ImportNode& n) {
  n.out("Result", apply("gather_elements", {n.need("Input"), n.need("Index")},
                        {{"axis", n.attrs.i("Axis")}}));
}

/// Each element along `dim` again and again: as often as Repeats, or its own number, says.
void paddle_repeat(ImportNode& n) {
  const Var x = n.need("X");
  const int64_t dim = n.attrs.i("dim", 0);
  const Var times = n.in("RepeatsTensor");
  std::vector<int64_t> counts;
  if (times) {
    counts = n.known(times).to_ints();
  } else {
    const Shape shape = shape_of(n, x);
    const int64_t length = shape[axis_of(dim, shape.rank())];
    if (length < 0) n.refuse("the length of dimension ", dim, " is not declared");
    if (length > int64_t{1} << 24) n.refuse("dimension ", dim, " has ", length, " elements");
    counts.assign(static_cast<size_t>(length), n.attrs.i("Repeats", 0));
  }
  std::vector<int64_t> places;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 0 || counts[i] > int64_t{1} << 20 || places.size() > size_t{1} << 24)
      n.refuse("element ", i, " is repeated ", counts[i], " times");
    places.insert(places.end(), static_cast<size_t>(counts[i]), static_cast<int64_t>(i));
  }
  n.out("Out", apply("gather", {x, ints(n, places)}, {{"axis", dim}}));
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

extern const OpDef gather_op = {
    .name = "gather",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_gather,
    .forward = forward_gather,
    .grad = grad_gather,
    .strings = true,
    .imports = {{"onnx:Gather", onnx_same<"gather">},
                {"paddle:gather", paddle_gather},
                {"paddle:index_select", paddle_index_select},
                {"paddle:repeat_interleave", paddle_repeat},
                {"paddle:lookup_table", paddle_lookup_table<true>},
                {"paddle:lookup_table_v2", paddle_lookup_table<false>}},
};

extern const OpDef gather_elements_op = {
    .name = "gather_elements",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_gather_elements,
    .forward = forward_gather_elements,
    .grad = grad_gather_elements,
    .strings = true,
    .imports = {{"onnx:GatherElements", onnx_same<"gather_elements">},
                {"paddle:index_sample", paddle_index_sample},
                {"paddle:take_along_axis", paddle_take_along_axis}},
};

extern const OpDef gather_nd_op = {
    .name = "gather_nd",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_gather_nd,
    .forward = forward_gather_nd,
    .grad = grad_gather_nd,
    .strings = true,
    .imports = {{"onnx:GatherND", onnx_same<"gather_nd">}, {"paddle:gather_nd", paddle_gather_nd}},
};

extern const std::vector<OpDef> gather_grad_ops = {
    back("gather_grad", infer_back<gathered>, forward_gather_grad, grad_gather_grad),
    back("gather_nd_grad", infer_back<gathered_nd>, forward_gather_nd_grad, grad_gather_nd_grad),
};

}  // namespace hub
