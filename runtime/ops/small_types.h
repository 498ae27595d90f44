// Element types of one byte that C++ does not have: the 8-bit floats and the 4-bit integers.
#pragma once

#include "runtime/tensor.h"

namespace hub {

bool is_float8(DType dtype);
bool is_small(DType dtype);  ///< a float8, int4 or uint4
/// The number that a byte stands for.
double from_small(DType dtype, uint8_t byte);
/// The nearest float8, halves to even: what is too large becomes the largest one, or, without
/// `saturate`, infinity (NaN where there is none). The integer towards zero, limited to its range;
/// 0 for NaN.
uint8_t to_small(DType dtype, double value, bool saturate = true);
/// All numbers of a tensor of plain numbers.
std::vector<double> numbers_of(const Tensor& t);
/// The numbers in the type of y.
void set_numbers(Tensor& y, const std::vector<double>& numbers, bool saturate = true);

}  // namespace hub
