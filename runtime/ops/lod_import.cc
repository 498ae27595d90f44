// Sequences lie one behind the other in dimension 0; sequence i has the rows offsets[i] to
// offsets[i + 1]. What follows makes lists of indices from the offsets while the program runs.
#include "runtime/ops/lod_import.h"

#include <limits>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

constexpr int64_t to_end = std::numeric_limits<int64_t>::max();

Var number(ImportNode& n, int64_t v) {
  return constant(n.program, scalar_of(DType::i64, static_cast<double>(v)));
}
/// 0 to count, which is an int64 number of any shape.
Var counted(ImportNode& n, Var count) {
  return apply("range", {number(n, 0), reshape(count, {}), number(n, 1)});
}
Var join(const Vars& parts) { return apply("concat", parts, {{"axis", int64_t{0}}}); }

/// The sequences of a slot: where each begins and ends, how long it is, and of each row its number
/// in the whole and which sequence it belongs to. All int64 lists.
struct Sequences {
  Var begins, ends, lengths, row, of;
  Sequences(ImportNode& n, std::string_view slot) {
    const Var offsets = n.offsets(slot);
    begins = apply("slice", {offsets, ints(n, {0}), ints(n, {-1})});
    ends = apply("slice", {offsets, ints(n, {1}), ints(n, {to_end})});
    lengths = sub(ends, begins);
    row = counted(n, length(n.need(slot), 0));
    const Var behind = apply("greater_equal", {reshape(row, {-1, 1}), ends});
    of = apply("reduce_sum", {cast_to(behind, DType::i64), ints(n, {1})},
               {{"keepdims", int64_t{0}}});
  }
};

Var column(Var list) { return reshape(list, {-1, 1}); }
Var rows(Var x, Var at) { return apply("gather", {x, at}); }

/// One row for each sequence: x's rows joined by "add" or "max", starting from `first`.
Var pooled(ImportNode& n, const Sequences& s, Var x, double first, const char* how) {
  const Var shape = join({length(s.begins, 0), apply("shape", {x}, {{"start", int64_t{1}}})});
  const Var start = apply("expand", {scalar_like(n, x, first), shape});
  return apply("scatter_nd", {start, column(s.of), x}, {{"reduction", how}});
}

/// The dimensions of x, of which the first counts its rows.
size_t rank_of(const ImportNode& n, Var x) {
  const Shape shape = shape_of(n, x);
  if (shape.rank() < 1) n.refuse("sequences are rows; the input is ", shape.str());
  return shape.rank();
}

/// A list of one number for each sequence so that it multiplies [sequences, …].
Var beside(ImportNode& n, Var list, Var x) {
  std::vector<int64_t> shape(rank_of(n, x), 1);
  shape[0] = -1;
  return reshape(list, shape);
}

void paddle_pool(ImportNode& n) {
  const Var x = n.need("X");
  const Sequences s(n, "X");
  const std::string kind = n.attrs.s("pooltype", "AVERAGE");
  const Var empty = beside(n, apply("equal", {s.lengths, number(n, 0)}), x);
  const Var count = apply("cast", {beside(n, apply("max", {s.lengths, number(n, 1)}), x), x});
  const Var rows_there = sub(length(x, 0), number(n, 1));
  auto row = [&](Var at) {
    return rows(x, apply("max", {apply("min", {at, rows_there}), number(n, 0)}));
  };
  Var y;
  if (kind == "SUM") y = pooled(n, s, x, 0, "add");
  if (kind == "AVERAGE") y = div(pooled(n, s, x, 0, "add"), count);
  if (kind == "SQRT") y = div(pooled(n, s, x, 0, "add"), unary("sqrt", count));
  if (kind == "MAX") y = pooled(n, s, x, -std::numeric_limits<double>::infinity(), "max");
  if (kind == "FIRST") y = row(s.begins);
  if (kind == "LAST") y = row(sub(s.ends, number(n, 1)));
  if (!y) n.refuse("'pooltype' is '", kind, "'");
  n.out("Out", apply("where", {empty, scalar_like(n, x, n.attrs.f("pad_value", 0)), y}));
  n.set_offsets("Out", {});
}

void paddle_softmax(ImportNode& n) {
  const Var x = n.need("X");
  const Sequences s(n, "X");
  const Var most = pooled(n, s, x, -std::numeric_limits<double>::infinity(), "max");
  const Var e = unary("exp", sub(x, rows(most, s.of)));
  n.out("Out", div(e, rows(pooled(n, s, e, 0, "add"), s.of)));
}

/// Rows t + start, t + start + 1, … of the same sequence beside each other, zeros beyond its ends,
/// times the filter.
void paddle_conv(ImportNode& n) {
  const Var x = n.need("X");
  const Sequences s(n, "X");
  const int64_t count = n.attrs.i("contextLength");
  const int64_t start = n.attrs.i("contextStart", 0);
  if (n.attrs.i("contextStride", 1) != 1) n.refuse("'contextStride' is not 1");
  if (n.attrs.i("paddingTrainable", 0) != 0) n.refuse("'paddingTrainable' is on");
  if (count < 1 || count > 1024) n.refuse("'contextLength' is ", count);
  const Var first = rows(s.begins, s.of), last = sub(rows(s.ends, s.of), number(n, 1));
  Vars parts;
  for (int64_t k = 0; k < count; ++k) {
    const Var at = add(s.row, number(n, start + k));
    const Var inside =
        apply("and", {apply("greater_equal", {at, first}), apply("less_equal", {at, last})});
    const Var limited = apply("max", {apply("min", {at, last}), first});
    parts.push_back(apply("where", {column(inside), rows(x, limited), scalar_like(n, x, 0)}));
  }
  const Var windows = apply("concat", parts, {{"axis", int64_t{1}}});
  n.out("Out", matmul(windows, n.need("Filter")));
}

void paddle_reverse(ImportNode& n) {
  const Sequences s(n, "X");
  const Var both = sub(add(rows(s.begins, s.of), rows(s.ends, s.of)), number(n, 1));
  n.out("Y", rows(n.need("X"), sub(both, s.row)));
}

/// Each row of X as often as the sequence of Y with its number is long.
void paddle_expand(ImportNode& n) {
  if (n.in_offsets_.contains("X")) n.refuse("X holds sequences itself");
  const Sequences s(n, "Y");
  n.out("Out", rows(n.need("X"), s.of));
  n.set_offsets("Out", n.offsets("Y"));
}

/// Each sequence as a row of the longest one's length, or `padded_length`.
void paddle_pad(ImportNode& n) {
  const Var x = n.need("X");
  const Sequences s(n, "X");
  const int64_t fixed = n.attrs.i("padded_length", -1);
  const Var width = fixed > 0 ? number(n, fixed) : apply("reduce_max", {s.lengths});
  const Var place = counted(n, width);
  const Var inside = apply("less", {place, column(s.lengths)});
  const Var at = apply("min", {add(column(s.begins), place), sub(length(x, 0), number(n, 1))});
  std::vector<int64_t> shape(rank_of(n, x) + 1, 1);
  shape[0] = 0;
  shape[1] = -1;
  n.out("Out", apply("where", {reshape(inside, shape), rows(x, at), n.need("PadValue")}));
  n.out("Length", s.lengths);
  n.set_offsets("Out", {});
  n.set_offsets("Length", {});
}

void paddle_unpad(ImportNode& n) {
  const Var x = n.need("X");
  const Var lengths = reshape(cast_to(n.need("Length"), DType::i64), {-1});
  const Var inside = apply("less", {counted(n, length(x, 1)), column(lengths)});
  const Var at = apply("transpose", {apply("nonzero", {inside})});
  n.out("Out", apply("gather_nd", {x, at}));
  n.set_offsets("Out", offsets_of_counts(n, lengths));
}

void paddle_reshape(ImportNode& n) {
  const Var x = n.need("X");
  const int64_t to = n.attrs.i("new_dim");
  const Shape shape = shape_of(n, x);
  if (shape.rank() != 2 || shape[1] < 1 || to < 1) n.refuse("rows of ", shape.str());
  n.out("Out", reshape(x, {-1, to}));
  const Var numbers = mul(n.offsets("X"), number(n, shape[1]));
  n.set_offsets("Out", div(numbers, number(n, to)));
}

/// Ones up to each number, zeros behind, in rows of `maxlen` or of the largest number.
void paddle_mask(ImportNode& n) {
  const Var x = cast_to(n.need("X"), DType::i64);
  const int64_t fixed = n.attrs.i("maxlen", -1);
  const Var given = n.in("MaxLenTensor");
  const Var width = given       ? cast_to(given, DType::i64)
                    : fixed > 0 ? number(n, fixed)
                                : apply("reduce_max", {x});
  const Var inside = apply("less", {counted(n, width), apply("unsqueeze", {x, ints(n, {-1})})});
  n.out("Y", cast_to(inside, paddle_type(n, "out_dtype")));
  n.set_offsets("Y", {});
}

}  // namespace

Var offsets_of_counts(ImportNode& n, Var counts) {
  return join({ints(n, {0}), apply("cumsum", {cast_to(counts, DType::i64), number(n, 0)})});
}

const std::vector<Import>& lod_imports() {
  static const std::vector<Import> rules = {
      {"paddle:sequence_pool", paddle_pool},       {"paddle:sequence_softmax", paddle_softmax},
      {"paddle:sequence_conv", paddle_conv},       {"paddle:sequence_reverse", paddle_reverse},
      {"paddle:sequence_expand", paddle_expand},   {"paddle:sequence_expand_as", paddle_expand},
      {"paddle:sequence_pad", paddle_pad},         {"paddle:sequence_unpad", paddle_unpad},
      {"paddle:sequence_reshape", paddle_reshape}, {"paddle:sequence_mask", paddle_mask}};
  return rules;
}

}  // namespace hub
