// Import rules that many operators share, and small helpers for those that write their own.
#pragma once

#include "runtime/import/node.h"
#include "runtime/ops.h"
#include "runtime/ops/kernel.h"

namespace hub {

/// An operator's name as a template argument.
template <size_t N>
struct Literal {
  char text[N];
  constexpr Literal(const char (&s)[N]) { std::copy_n(s, N, text); }
  std::string_view view() const { return {text, N - 1}; }
};

/// ONNX: all inputs and attributes as they are, one output.
template <Literal op>
void onnx_same(ImportNode& n) {
  n.out(0, apply(op.view(), n.positional_, n.attrs));
}

/// Paddle: slot X to slot Out without attributes.
template <Literal op>
void paddle_unary(ImportNode& n) {
  n.out("Out", apply(op.view(), {n.need("X")}));
}

/// One number in the element type of v: a constant when that type is known, cast when the program
/// runs otherwise.
Var scalar_like(ImportNode& n, Var v, double value);
Var ints(ImportNode& n, const std::vector<int64_t>& values);
/// ONNX moved many lists from attributes to inputs: input i, or else attribute `name` as a
/// constant, or else absent.
Var ints_input(ImportNode& n, size_t i, std::string_view name);
/// Paddle's attr < Tensor < TensorList: the list's members (each one number) joined, the tensor, or
/// the attribute.
Var ints_slot(ImportNode& n, std::string_view list, std::string_view tensor, std::string_view attr);
/// Paddle's results without dimensions: rank 0 since 2.5 (and in programs without a version), [1]
/// before.
bool paddle_rank_zero(const ImportNode& n);
Var paddle_scalar(const ImportNode& n, Var v);
/// The one number of an input that is constant in the file; refused when there are more or none.
const Tensor& known_number(const ImportNode& n, Var v);
/// v in another element type.
Var cast_to(Var v, DType dtype);
/// The declared dimensions of a value, -1 where they are open; refused where the file says nothing.
Shape shape_of(const ImportNode& n, Var v);
/// Whether 'data_format' or 'data_layout' puts the channels last; and the way there and back.
bool channels_last(const ImportNode& n);
Var channels_to_front(Var x, size_t rank);
Var channels_to_back(Var x, size_t rank);
/// The element type whose number in the file's own counting attribute `name` holds.
DType onnx_type(const ImportNode& n, std::string_view name);
DType paddle_type(const ImportNode& n, std::string_view name);
/// A tensor of one number and no dimension.
Tensor scalar_of(DType dtype, double value);
/// The numbers that a Paddle node holds under the first of `names` that is set, in its 'shape'.
Var written_numbers(ImportNode& n, DType dtype, std::initializer_list<const char*> names);

}  // namespace hub
