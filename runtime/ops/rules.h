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
/// The element type whose number in the file's own counting attribute `name` holds.
DType onnx_type(const ImportNode& n, std::string_view name);
DType paddle_type(const ImportNode& n, std::string_view name);
/// A tensor of one number and no dimension.
Tensor scalar_of(DType dtype, double value);

}  // namespace hub
