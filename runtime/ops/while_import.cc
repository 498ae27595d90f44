// Loops of files: ONNX Loop is `while` as it is, Scan a loop over slices.
#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/while.h"

namespace hub {
namespace {

/// The parts of a Scan: loops over the slices of what is scanned, which they capture.
struct Scan {
  BlockPtr body;
  size_t carried, scanned, captured;
  std::vector<int64_t> axes, backward, out_axes, out_backward;

  explicit Scan(const ImportNode& n, size_t values)
      : body(n.attrs.block("body")), captured(n.captured("body").size()) {
    const int64_t count = n.attrs.i("num_scan_inputs");
    if (count < 1 || static_cast<size_t>(count) > values)
      n.refuse("it scans ", count, " of ", values, " inputs");
    scanned = static_cast<size_t>(count);
    carried = values - scanned;
    if (body->inputs.size() != values + captured || body->outputs.size() < carried)
      n.refuse("its body takes ", body->inputs.size(), " values and gives ", body->outputs.size());
    const auto list = [&](std::string_view name, size_t length) {
      auto items = n.attrs.ints(name);
      items.resize(length);
      return items;
    };
    const bool old = n.version < 9;
    axes = list("scan_input_axes", scanned);
    backward = list(old ? "directions" : "scan_input_directions", scanned);
    out_axes = list("scan_output_axes", body->outputs.size() - carried);
    out_backward = list("scan_output_directions", body->outputs.size() - carried);
  }

  /// Its results for the values of the node and what it captures; made in the program of `values`.
  Vars loop(const Vars& values) const;
};

/// The number of slices along an axis, without dimensions.
Var slices(Var x, int64_t axis) { return apply("squeeze", {length(x, axis)}); }

Vars Scan::loop(const Vars& values) const {
  auto round = std::make_shared<Program>();
  const auto input = [&] { return Var{round.get(), round->add_input({}, {})}; };
  const Var index = input();
  const Var condition = input();
  Vars x;
  for (size_t k = 0; k < carried; ++k) x.push_back(input());
  for (size_t k = 0; k < scanned; ++k) {
    const Var all = input();
    Var at = index;
    if (backward[k] != 0)
      at = sub(sub(slices(all, axes[k]), index), constant(*round, single<int64_t>(1)));
    x.push_back(apply("gather", {all, at}, {{"axis", axes[k]}}));
  }
  for (size_t k = 0; k < captured; ++k) x.push_back(input());
  round->outputs = {apply("identity", {condition}).id};
  for (const Var& y : append_block(*round, *body, x))
    round->outputs.push_back(apply("identity", {y}).id);
  Vars in{slices(values[carried], axes[0]), Var{}};
  in.insert(in.end(), values.begin(), values.end());
  return apply(*find_op("while"), in,
               {{"body", BlockPtr(round)}, {"carried", static_cast<int64_t>(carried)}},
               body->outputs.size());
}

/// Before operator set 9 everything has a first dimension of batches, with a loop of its own.
void onnx_scan8(ImportNode& n) {
  if (n.in(0)) n.refuse("sequences of different lengths are not supported");
  const Scan scan(n, n.inputs() - 1);
  auto batch = std::make_shared<Program>();
  const auto input = [&] { return Var{batch.get(), batch->add_input({}, {})}; };
  const Var index = input();
  const Var condition = input();
  Vars values;
  Vars in{slices(n.need(1), 0), Var{}};
  for (size_t i = 1; i < n.inputs(); ++i) {
    in.push_back(n.need(i));
    values.push_back(apply("gather", {input(), index}, {{"axis", int64_t{0}}}));
  }
  for (const Var& v : n.captured("body")) {
    in.push_back(v);
    values.push_back(input());
  }
  batch->outputs = {apply("identity", {condition}).id};
  for (const Var& y : scan.loop(values)) batch->outputs.push_back(y.id);
  const size_t count = scan.body->outputs.size();
  const Vars out =
      apply(*find_op("while"), in, {{"body", BlockPtr(batch)}, {"carried", int64_t{0}}}, count);
  for (size_t k = 0; k < count; ++k) n.out(k, out[k]);
}

}  // namespace

void onnx_loop(ImportNode& n) {
  Vars in{n.in(0), n.in(1)};
  for (size_t i = 2; i < n.inputs(); ++i) in.push_back(n.need(i));
  const auto carried = static_cast<int64_t>(in.size() - 2);
  const Vars captured = n.captured("body");
  in.insert(in.end(), captured.begin(), captured.end());
  const BlockPtr& body = n.attrs.block("body");
  if (body->outputs.size() < 2) n.refuse("its body gives a condition only");
  const Vars out = apply(*find_op("while"), in, {{"body", body}, {"carried", carried}},
                         body->outputs.size() - 1);
  for (size_t k = 0; k < out.size(); ++k) n.out(k, out[k]);
}

void onnx_scan(ImportNode& n) {
  if (n.version < 9) return onnx_scan8(n);
  const Scan scan(n, n.inputs());
  Vars values;
  for (size_t i = 0; i < n.inputs(); ++i) values.push_back(n.need(i));
  const Vars captured = n.captured("body");
  values.insert(values.end(), captured.begin(), captured.end());
  const Vars out = scan.loop(values);
  for (size_t k = 0; k < out.size(); ++k) {
    Var y = out[k];
    if (k >= scan.carried) {
      const Spec& one = (*scan.body)[scan.body->outputs[k]].declared;
      const int64_t axis = scan.out_axes[k - scan.carried];
      if (scan.out_backward[k - scan.carried] != 0)
        y = apply("slice", {y, ints(n, {-1}), ints(n, {INT64_MIN}), ints(n, {0}), ints(n, {-1})});
      if (axis != 0) {
        if (one.dtype == DType::none)
          n.refuse("it stacks result ", k, " on axis ", axis, " and does not say its shape");
        const size_t rank = one.shape.rank() + 1;
        std::vector<int64_t> perm;
        for (size_t d = 1; d < rank; ++d) perm.push_back(static_cast<int64_t>(d));
        perm.insert(perm.begin() + static_cast<std::ptrdiff_t>(axis_of(axis, rank)), 0);
        y = transpose(y, perm);
      }
    }
    n.out(k, y);
  }
}

}  // namespace hub
